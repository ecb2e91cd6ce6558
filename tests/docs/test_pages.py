"""The blocks of README and pages: they import what is there, and run as they are printed, one after the other."""

import ast
import importlib.util
import os
import re
from pathlib import Path

import page_blocks
import pytest
from page_blocks import Block, BlockError, blocks

from tests.docs import ROOT

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs" / "pages").rglob("*.md"))]
}
WITH_BLOCKS = [name for name, text in PAGES.items() if blocks(text)]


def left_out(block: Block) -> bool:
    return bool(block.words & {"slow", "unrun"}) or ("data" in block.words and "DYNSIM_DATA" not in os.environ)


def quick(name: str) -> bool:
    return any(not left_out(block) for block in blocks(PAGES[name]))


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_python_imports_what_is_there(name):
    for block in blocks(PAGES[name]):
        for line in ast.walk(ast.parse(block.code)) if block.language == "python" else ():
            if isinstance(line, ast.ImportFrom) and not block.words & {"unrun"}:
                module = importlib.import_module(line.module)
                assert all(hasattr(module, one.name) for one in line.names), block.code


DEAR = tuple(
    f"docs/pages/{name}.md"
    for name in (
        "start/first-trajectory",
        "start/own-system",
        "start/precision",
        "workbench/theorems",
        "workbench/equations",
        "workbench/hybrid-systems",
    )  # fmt: skip
) + tuple(name for name in PAGES if "workbench/theorems/" in name)
"""Pages that take long; `make docs` runs them, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in DEAR else []) for n in WITH_BLOCKS if quick(n)]
)
def test_quick_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "__main__"}
    for block in blocks(PAGES[name]):
        where = f"{name}, line {block.line}"
        if left_out(block):
            continue
        if block.language == "python":
            shown = page_blocks.run_python(names, where, block.code)
        else:
            shown = page_blocks.run_shell(where, block.code)
        page_blocks.check_same_everywhere(where, shown.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_whole_pages_run(name):
    skipped = ["unrun"] if "DYNSIM_DATA" in os.environ else ["unrun", "data"]
    page_blocks.run_page(name, PAGES[name], skipped)


@pytest.mark.parametrize("name", PAGES)
def test_files_that_a_page_names_are_there(name):
    for path in re.findall(r"`((?:dynsim|analysis|figures|tests|docs)/[\w/]*\w(?:\.\w+|/)?)`", PAGES[name]):
        if "<" not in path and not path.startswith("docs/ledger"):
            assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), path


OURS = r"`((?:ds|ad|dynsim|analysis|figures)(?:\.[A-Za-z_]\w*)+)"
SHORT = {"ds": "dynsim", "ad": "analysis.dynamics"}


def gone(name: str) -> bool:
    """Whether a dotted name of ours leads nowhere; its last parts may be attributes of a class."""
    first, *rest = name.split(".")
    found = importlib.import_module(SHORT.get(first, first))
    for part in rest:
        if not hasattr(found, part) and importlib.util.find_spec(f"{getattr(found, '__name__', '')}.{part}") is None:
            return True
        found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")
    return False


def test_functions_that_a_page_names_are_there():
    said = {name: re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S) for name, text in PAGES.items()}
    named = {(page, name) for page, text in said.items() for name in re.findall(OURS, text)}
    assert len(named) > 50
    assert {(page, name) for page, name in named if gone(name)} == set()
    assert gone("ad.periodic_points")
    assert gone("dynsim.nowhere.simulate")


def test_the_readme_is_short():
    assert len(PAGES["README.md"].splitlines()) <= 160


def test_every_page_has_one_title():
    without = {name: re.sub(r"^```.*?^```", "", text, flags=re.M | re.S) for name, text in PAGES.items()}
    assert {name for name, text in without.items() if len(re.findall(r"^# ", text, re.M)) != 1} == set()


PAGE = """# Page
```python
x = 2
print("two")
x + 1
```

```sh slow
echo three
```

![a picture](drawn.png)
"""


def test_a_block_shows_what_it_prints_and_its_last_value():
    shown, written = page_blocks.run_page("page.md", PAGE)
    assert [one.text for one in shown] == ["two\n3", "three"]
    assert written == {}


def test_blocks_share_their_names_and_figures_are_pictures():
    codes = ("import matplotlib.figure as f\nfig = f.Figure()\nnone = None", "fig", "none")
    text = "".join(f"```python\n{code}\n```\n" for code in codes)
    shown, _ = page_blocks.run_page("page.md", text)
    assert [len(one.pictures) for one in shown] == [0, 1, 0]
    assert shown[1].pictures[0].startswith(b"\x89PNG")
    assert shown[2].text == ""


def test_an_image_that_a_block_writes_is_kept_and_others_are_not():
    text = "```sh\necho 1 > drawn.png\necho 2 > other.png\n```\n![a picture](drawn.png)\n"
    assert page_blocks.run_page("page.md", text)[1] == {"drawn.png": b"1\n"}


def test_pages_begin_with_no_names_of_others_and_leave_the_folder_as_it_was():
    before = Path.cwd()
    page_blocks.run_page("one.md", "```python\nleft = 1\n```\n")
    with pytest.raises(BlockError, match="two.md, line 1: the block ends with NameError: name 'left' is not defined"):
        page_blocks.run_page("two.md", "```python\nprint(left)\n```\n")
    assert Path.cwd() == before


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("python\nimport os\nprint(os.getcwd())", "holds a path of this machine: `/"),
        ("python\nprint(object())", "holds the address of an object: `at 0x"),
        ("sh\ndate +%H:%M:%S", "holds a time of day: `"),
        ("sh\ndate -u +%F", "holds today's date: `"),
        ("python\nimport warnings\nwarnings.warn('odd')", "ends with UserWarning: odd"),
        ("python\nfrom dynsim import gone", "ends with ImportError: cannot import name 'gone'"),
        ("python\nx = ", "ends with SyntaxError"),
        ("sh\nfalse\necho after", "ends with exit status 1"),
        ("sh\nls nothing-here", "No such file or directory"),
    ],
)
def test_bad_blocks_are_named_with_page_and_line(code, said):
    with pytest.raises(BlockError, match=r"^page.md, line 3: ") as caught:
        page_blocks.run_page("page.md", f"# Page\n\n```{code}\n```\n")
    assert said in str(caught.value)


def test_commands_alone_run_in_the_process_of_the_page_and_others_in_bash():
    code = "cat > f.py <<'END'\ndynsim list\nEND\n"
    code += "dynsim a 'x|y' \"2 > 1\" \\\n  --b '$c$'  # (not read)\ndynsim a | tail -1\n"
    file, alone, piped = page_blocks.pieces(code)
    assert file == "cat > f.py <<'END'\ndynsim list\nEND"
    assert page_blocks.plain_command(alone) == ["a", "x|y", "2 > 1", "--b", "$c$"]
    assert page_blocks.plain_command(file) is page_blocks.plain_command(piped) is None
    assert page_blocks.piped_command(piped) == (["a"], False, " tail -1")
    assert page_blocks.piped_command("dynsim a 'x|y' 2>&1 | cat | cat") == (["a", "x|y"], True, " cat | cat")
    for other in ("echo dynsim", "dynsim a || true", "dynsim a $(ls)", 'dynsim "$HOME"', "dynsim a > b", "dynsim a &"):
        assert page_blocks.plain_command(other) is page_blocks.piped_command(other) is None, other


def test_variables_in_commands_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("PLACE", "a b/$c")
    assert page_blocks.plain_command("dynsim a $PLACE/d '$PLACE'") == ["a", "a b/$c/d", "$PLACE"]


def test_what_a_command_says_is_shown_and_its_error_ends_the_block(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = page_blocks.run_shell("here", "cat > f.txt <<'END'\none\nEND\ncat f.txt\ndynsim --version\n")
    assert re.fullmatch(r"one\ndynsim \S+", shown.text)
    assert (
        page_blocks.run_shell("here", "dynsim --version | tr y Y | cut -c1-6\ndynsim simulat 2>&1 | wc -l").text
        == "dYnsim\n1"
    )
    with pytest.raises(
        BlockError, match="exit status 2: dynsim: Argument `command` must be one of .* but is `simulat`"
    ):
        page_blocks.run_shell("here", "dynsim simulat\necho after")


def test_a_link_is_no_path_of_a_machine():
    page_blocks.check_same_everywhere("here", "https://example.org/a/b and figures/a/b and 1/2/3 and n/a")


def test_unknown_words_after_the_language_are_refused():
    with pytest.raises(BlockError, match="line 2: a block's words must be among slow, data, unrun, but `slwo` is not"):
        blocks("\n```python slwo\n1\n```\n")


def test_blocks_inside_lists_are_blocks():
    (block,) = blocks("- item\n\n    ```python\n    if True:\n        x = 1\n    ```\n")
    assert block.code == "if True:\n    x = 1\n"
    assert block.line == 3


def test_skipped_blocks_are_compiled():
    page_blocks.run_page("page.md", "```python unrun\nimport nothing_like_it\n```\n")
    with pytest.raises(SyntaxError):
        page_blocks.run_page("page.md", "```python unrun\nx =\n```\n")

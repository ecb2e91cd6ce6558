"""The documents: links lead to files and headings, what they name exists, and the examples of CONTRIBUTING.md work."""

import functools
import importlib
import re
import textwrap
from pathlib import Path

import jax.numpy as jnp
import pytest

from dynsim.__main__ import COMMANDS, main
from dynsim.simulation.simulate import simulate

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FOR_DEVELOPERS = ("CONTRIBUTING.md", "docs/pages/develop/architecture.md")
EXAMPLES = {"StuartLandau", "growth", "paper"}
"""Names that the examples define."""


def text_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as Markdown sites make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


WRITTEN = re.compile(
    r"docs/pages/(gallery/index|ledger/statements|ledger/\w+/.*|reference/(analysis|dynsim|figures|index|command).*)\.md$"
)
"""Pages that are written while the site is built, which checks the links to them."""


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no heading of it.

    Pictures that the blocks of a page write are left out: the site is not built without them.
    """
    broken, code = [], "".join(re.findall(r"^ *```sh.*?^ *```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        if path.endswith(".png") and Path(path).parts[0] in code:
            continue
        target = (page.parent / path).resolve() if path else page
        if WRITTEN.search(target.as_posix()):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@functools.cache
def words_of_the_code() -> frozenset[str]:
    files = [path for top in ("dynsim", "analysis", "figures", "tests") for path in (ROOT / top).rglob("*.py*")]
    texts = [
        path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".pyi") and path != Path(__file__)
    ]
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page):
    assert broken_links(page) == []


def test_a_link_to_nothing_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](page.md#one-two) [b](page.md#three) [c](none.md) [d](https://x.org/none.md)\n"
        "```sh\ndynsim figure --out out p.png\n```\n![drawn](p.png) ![in a folder](out/q.png) ![not drawn](r.png)\n"
    )
    assert broken_links(page) == ["page.md#three", "none.md", "r.png"]


@pytest.mark.parametrize("page", FOR_DEVELOPERS)
def test_targets_and_commands_that_are_named_exist(page):
    whole = (ROOT / page).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", whole, flags=re.MULTILINE)) <= targets
    assert set(re.findall(r"`dynsim ([a-z]+)", whole)) <= {*COMMANDS} | EXAMPLES


@pytest.mark.parametrize("page", FOR_DEVELOPERS)
def test_names_of_the_code_exist(page):
    named = re.findall(r"`([A-Za-z_]\w*)(?:\([^`]*\))?`", text_of(ROOT / page))
    known = words_of_the_code() | EXAMPLES | {path.name for path in ROOT.iterdir()}
    assert len(named) > 20
    assert [name for name in named if name not in known] == []


def test_every_target_is_described():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.search(r"\.PHONY: (.+)", (ROOT / "Makefile").read_text())[1].split():
        assert f"make {target}" in text, target


def examples() -> dict[str, str]:
    """Return the examples of CONTRIBUTING.md by the file that they belong to; those of one file follow each other."""
    found: dict[str, str] = {}
    whole = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for block in re.findall(r"^ *```python\n(.*?)^ *```$", whole, flags=re.MULTILINE | re.DOTALL):
        block = textwrap.dedent(block)
        name = re.match(r"# (\S+\.py)\n", block)
        found[name[1] if name else "test"] = found.get(name[1] if name else "test", "") + block + "\n"
    return found


def test_the_system_of_the_example_has_its_closed_form():
    module = "dynsim/systems/catalogue/oscillators.py"
    names = dict(vars(importlib.import_module(module.removesuffix(".py").replace("/", "."))))
    exec(compile(examples()[module], module, "exec"), names)
    names |= {"simulate": simulate, "jnp": jnp, "pytest": pytest}
    exec(compile(examples()["test"], "CONTRIBUTING.md", "exec"), names)
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test()


@pytest.mark.slow
def test_the_claim_of_the_example_is_supported_and_its_figure_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(examples()["mine.py"])
    assert main(["check", "mine.py", "--trials", "3"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("mine/lemma-1  "))
    assert re.search(r"SUPPORTED +3/3 +REFUTED", line)
    assert main(["figure", "mine.py", "--out", "out", "--formats", "svg"]) == 0
    assert Path("out/mine/growth.svg").is_file()


def test_the_command_of_the_example_prints_a_paper_and_refuses_another_word(capsys):
    names = {"__name__": "paper"}
    exec(compile(examples()["dynsim/cli/paper.py"], "paper.py", "exec"), names)
    assert names["main"](["hardmax"]) == 0
    assert "Clustering in pure-attention hardmax transformers" in capsys.readouterr().out
    with pytest.raises(ValueError, match="Argument `key` must be one of .* but is `hardmx`, did you mean `hardmax`"):
        names["main"](["hardmx"])

"""What the site is built of: outputs below blocks, the gallery, the reference and the notebooks."""

import io
import os
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import api_pages
import gallery_page
import nbformat
import notebooks
import page_runs
import pytest
from PIL import Image

from tests.docs import ROOT

hooks = pytest.importorskip("hooks", reason="the extra `docs` is not installed")
from page_blocks import Shown  # noqa: E402


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, format="PNG")
    return file.getvalue()


def test_outputs_stand_below_their_blocks_in_order():
    page = "# Page\n\n```python slow\nprint(1)\n```\n\n- item\n\n    ```sh\n    ls\n    ```\n\nEnd.\n"
    made = hooks.with_outputs(page, [Shown("1\n2", (b"a", b"b")), Shown("file", (b"c",))], "page")
    assert made.startswith("# Page\n\n```python\nprint(1)\n```\n\n``` { .text .output }\n1\n2\n```\n\n![Picture drawn")
    assert re.findall(r"\((page-\d\.png)\)\{ \.drawn #(\S+) width=\d+ \}", made) == [
        (f"page-{k}.png", f"page-picture-{k}") for k in (1, 2, 3)
    ]
    assert "\n    ```sh\n    ls\n    ```\n\n    ``` { .text .output }\n    file\n    ```\n" in made
    assert made.endswith("\n\nEnd.\n")


def test_a_block_without_output_has_nothing_below():
    assert hooks.with_outputs("```python\nx = 1\n```\n", [Shown()], "p") == "```python\nx = 1\n```\n"


def test_formulas_are_mathml_and_need_no_script():
    made = hooks.on_page_content('<p><span class="arithmatex">\\(x_1 &lt; 2\\)</span></p>')
    assert "<math" in made
    assert "<mo>&#x0003C;</mo>" in made
    assert 'display="inline"' in made
    assert 'display="block"' in hooks.on_page_content('<div class="arithmatex">\\[x\\]</div>')


def test_the_gallery_has_every_picture_with_a_link_to_its_code(tmp_path):
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "a.md").write_text("# Title A\n\n![A caption](b.png)\n")
    (tmp_path / "start" / "none.md").write_text("# None\n")
    page, made = gallery_page.page(
        tmp_path, {"start/a.md": ([png(960, 480)], {"b.png": png(10, 20)}), "start/none.md": ([], {})}
    )
    assert "2 pictures" in page
    assert '(../start/a.md#a-picture-1 "Title A, picture 1")' in page
    assert '(../start/a.md "A caption")' in page
    assert "None" not in page
    assert Image.open(io.BytesIO(made["gallery/a-1.webp"])).size == (480, 240)
    assert Image.open(io.BytesIO(made["gallery/a-2.webp"])).size == (10, 20)


def test_the_reference_has_every_name_that_a_face_promises():
    promised = api_pages.promised(ROOT / "analysis" / "dynamics" / "__init__.pyi", "analysis.dynamics")
    assert promised["phase_plane"] == "analysis.dynamics.portraits.plane.phase_plane"
    assert len(promised) > 70
    flat = api_pages.promised(ROOT / "dynsim" / "__init__.pyi", "dynsim")
    assert flat["simulate"] == "dynsim.simulation.simulate.simulate"
    assert "tokens" not in flat  # a namespace has a page of its own


def test_names_of_outer_packages_are_found(tmp_path):
    stub = tmp_path / "__init__.pyi"
    stub.write_text("from ..other import A as A\nfrom .b import c as d\nfrom top import E\nfrom . import f as f\n")
    assert api_pages.promised(stub, "x.y") == {"A": "x.other.A", "d": "x.y.b.c", "E": "top.E"}


def test_notebooks_have_the_cells_of_their_page():
    links = "See [this](other.md) and [that](https://example.org)."
    page = f"# Page\n\n{links}\n\n```python slow\nx = 1\n```\n\n```sh\nls\n```\n"
    made = notebooks.notebook(page)
    assert [cell.cell_type for cell in made.cells] == ["markdown", "code", "code"]
    assert made.cells[0].source.endswith("See this and [that](https://example.org).")
    assert [cell.source for cell in made.cells[1:]] == ["x = 1", "%%bash\nls"]
    nbformat.validate(made)
    assert notebooks.notebook(page) == made


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in notebooks.TUTORIALS if (ROOT / "docs" / "pages" / name).exists()])
def test_notebooks_run(name, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # has `dynsim`
    made = notebooks.notebook((ROOT / "docs" / "pages" / name).read_text(encoding="utf-8"))
    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    drawn = [
        out
        for cell in made.cells
        if cell.cell_type == "code"
        for out in cell.outputs
        if "image/png" in out.get("data", {})
    ]
    assert drawn


def test_a_page_that_fails_ends_the_build_with_one_sentence(monkeypatch):
    from mkdocs.exceptions import PluginError

    texts = {"none.md": "# None\n", "bad.md": "# Bad\n\n```python\n1 / 0\n```\n", "two.md": 2 * "```python\n2\n```\n"}
    runs = page_runs.PageRuns(texts)
    monkeypatch.setattr(hooks, "_runs", runs)
    try:
        assert runs.names == ["two.md", "bad.md"]
        assert [one.text for one in runs.result("two.md")[0]] == ["2", "2"]
        page = SimpleNamespace(file=SimpleNamespace(src_uri="bad.md"))
        said = "^bad.md, line 3: the block ends with ZeroDivisionError: division by zero$"
        with pytest.raises(PluginError, match=said):
            hooks.on_page_markdown(texts["bad.md"], page, None, [])
    finally:
        hooks.on_build_error()


def test_a_missing_extra_is_one_sentence(monkeypatch):
    from mkdocs.exceptions import PluginError

    monkeypatch.setitem(sys.modules, "jupytext", None)
    monkeypatch.delitem(sys.modules, "notebooks")
    with pytest.raises(PluginError, match="^The documentation needs the package `jupytext`: `pip install '.*docs"):
        runpy.run_path(hooks.__file__)


def test_a_ledger_of_another_version_ends_the_build_with_one_sentence(monkeypatch, tmp_path):
    from mkdocs.exceptions import PluginError

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ledger.json").write_text('{"format": "dynsim ledger", "version": 2}')
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    monkeypatch.setattr(api_pages, "pages", lambda root: {})
    try:
        with pytest.raises(PluginError, match="^Argument `path` must have version 1 of the format .* has version 2"):
            hooks.on_files(hooks.Files([]), None)
    finally:
        hooks.on_build_error()


def test_every_page_of_the_navigation_is_there():
    nav = (ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    folder = ROOT / "docs" / "pages"
    written = {"gallery/index.md", "ledger/statements.md", "reference/index.md", "reference/command-line.md"}
    named = set(re.findall(r"([\w/-]+\.md)", nav))
    assert {name for name in named - written if not (folder / name).exists()} == set()
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    assert there - named == set()

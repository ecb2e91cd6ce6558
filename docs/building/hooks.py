"""Hooks of the site: blocks of code are run and shown with their output, and pages are written from data."""

import html
import posixpath
import re
import textwrap
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

try:
    import api_pages
    import gallery_page
    import ledger_pages
    import notebooks
    import page_blocks
    import page_runs
    from latex2mathml.converter import convert
except ModuleNotFoundError as error:
    said = f"The documentation needs the package `{error.name}`: `pip install '.[docs]'` installs it."
    raise PluginError(said) from None

ROOT = Path(__file__).parents[2]
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)
FINDINGS = re.compile(r"^<!-- findings (\w+) -->$", re.M)

_runs: page_runs.PageRuns | None = None


def on_files(files, config):
    """Start to run the blocks of all pages, add the pages that are written from data, and put pages with blocks last.

    The other pages are rendered while the blocks run.
    """
    global _runs
    _runs = page_runs.PageRuns({file.src_uri: file.content_string for file in files.documentation_pages()})
    try:
        generated = {**api_pages.pages(ROOT), **ledger_pages.pages(ROOT), **notebooks.pages(ROOT / "docs" / "pages")}
    except ValueError as error:
        raise PluginError(str(error)) from None
    for name, content in (generated | {gallery_page.NAME: gallery_page.HEAD}).items():
        files.append(File.generated(config, name, content=content))
    last = [*_runs.names, gallery_page.NAME]
    order = {name: k for k, name in enumerate(last, 1)}
    return Files(sorted(files, key=lambda file: order.get(file.src_uri, 0)))


def on_env(env, **_):
    """End the processes that ran blocks."""
    on_build_error()
    return env


def on_build_error(**_):
    """End the processes that run blocks."""
    if _runs is not None:
        _runs.close()


def on_page_markdown(markdown, page, config, files):
    """Put what each block shows below it, and the findings on a paper where a comment asks for them."""
    name = page.file.src_uri
    added: dict[str, str | bytes] = {}
    if name in notebooks.TUTORIALS:
        link = posixpath.relpath(f"notebooks/{Path(name).stem}.ipynb", posixpath.dirname(name))
        markdown = re.sub(r"^(# .+)$", rf"\1\n\n[This page as a notebook]({link})", markdown, count=1, flags=re.M)
    markdown = FINDINGS.sub(lambda match: ledger_pages.findings_on(match[1], ROOT), markdown)
    if name == gallery_page.NAME and _runs is not None:
        drawn = {one: (_pictures(shown), _images(written)) for one, (shown, written) in _results(_runs.names).items()}
        markdown, added = gallery_page.page(ROOT / "docs" / "pages", drawn)
    elif _runs is not None and name in _runs.names:
        shown, written = _results([name])[name]
        pictures = {f"{Path(name).stem}-{k}.png": picture for k, picture in enumerate(_pictures(shown), 1)}
        added = {(Path(name).parent / image).as_posix(): content for image, content in (written | pictures).items()}
        markdown = with_outputs(markdown, shown, Path(name).stem)
    for path, content in added.items():
        files.append(File.generated(config, path, content=content))
    return markdown


def _results(names):
    """What the blocks of pages showed and wrote, as soon as they have run."""
    try:
        return {name: _runs.result(name) for name in names}
    except page_blocks.BlockError as error:
        raise PluginError(str(error)) from None


def with_outputs(markdown: str, shown: list[page_blocks.Shown], stem: str) -> str:
    """Return a page with the text and the pictures of each of its blocks below the block."""
    left, number = iter(shown), 0

    def block(match: re.Match[str]) -> str:
        nonlocal number
        one = next(left)
        parts = [f"```{match['language']}\n{textwrap.dedent(match['code']).rstrip()}\n```"]
        if one.text:
            parts.append(f"``` {{ .text .output }}\n{one.text}\n```")
        for picture in one.pictures:
            number += 1
            anchor = gallery_page.anchor(stem, number)
            where = f"{stem}-{number}.png){{ .drawn #{anchor} width={_width(picture)} }}"
            parts.append(f"![Picture drawn by the code above]({where}")
        indent = match["indent"]
        return "\n".join(f"{indent}{line}" if line else "" for line in "\n\n".join(parts).splitlines())

    return page_blocks.FENCE.sub(block, markdown)


def on_page_content(content, **_):
    """Write formulas as MathML, which browsers draw without a script."""

    def formula(match: re.Match[str]) -> str:
        return convert(html.unescape(match[3]), display="block" if match[2] == "[" else "inline")

    return FORMULA.sub(formula, content)


def _width(picture: bytes) -> int:
    """Return the width in which a PNG for dense screens is shown: half of that in its header."""
    return int.from_bytes(picture[16:20], "big") // 2


def _images(written: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in written.items() if not name.endswith(".html")}


def _pictures(shown: list[page_blocks.Shown]) -> list[bytes]:
    return [picture for one in shown for picture in one.pictures]

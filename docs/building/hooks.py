"""Hooks of the site: blocks of code are run and shown with their output, and pages are written from data."""

import html
import multiprocessing
import os
import posixpath
import re
import sys
import tempfile
import textwrap
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import api_pages
import gallery_page
import ledger_pages
import notebooks
import page_blocks
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)
FINDINGS = re.compile(r"^<!-- findings (\w+) -->$", re.M)

_shown: dict[str, list[page_blocks.Shown]] = {}


def on_files(files, config):
    """Run the blocks of all pages in parallel, and add the pictures and the pages that are written from data."""
    try:
        ran = run_pages({file.src_uri: file.content_string for file in files.documentation_pages()})
        generated = {**api_pages.pages(ROOT), **ledger_pages.pages(ROOT), **notebooks.pages(ROOT / "docs" / "pages")}
    except (page_blocks.BlockError, ValueError) as error:
        raise PluginError(str(error)) from None
    for name, (shown, written) in ran.items():
        _shown[name] = shown
        pictures = {f"{Path(name).stem}-{k}.png": picture for k, picture in enumerate(_pictures(shown), 1)}
        for image, content in (written | pictures).items():
            files.append(File.generated(config, (Path(name).parent / image).as_posix(), content=content))
    drawn = {name: (_pictures(shown), written) for name, (shown, written) in ran.items()}
    generated |= gallery_page.pages(ROOT / "docs" / "pages", drawn)
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    return files


def run_pages(texts: dict[str, str]) -> dict[str, tuple[list[page_blocks.Shown], dict[str, bytes]]]:
    """Run the blocks of the pages that have some, as many pages at once as there are processors."""
    skipped = ["unrun"] if os.environ.get("DYNSIM_DATA") else ["unrun", "data"]
    todo = {name: text for name, text in texts.items() if page_blocks.blocks(text)}
    order = sorted(todo, key=lambda name: -len(page_blocks.blocks(todo[name])))  # the longest first
    sys.path.insert(0, str(Path(__file__).parent))  # the processes that run pages find `page_blocks` there
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as compiled,
        ProcessPoolExecutor(
            min(len(todo) or 1, os.cpu_count() or 1),
            mp_context=context,
            initializer=page_blocks.prepare_process,
            initargs=(compiled,),
        ) as pool,
    ):
        futures = {name: pool.submit(page_blocks.run_page, name, todo[name], skipped) for name in order}
        return {name: futures[name].result() for name in todo}


def on_page_markdown(markdown, page, **_):
    """Put what each block shows below it, and the findings on a paper where a comment asks for them."""
    if page.file.src_uri in notebooks.TUTORIALS:
        link = posixpath.relpath(
            f"notebooks/{Path(page.file.src_uri).stem}.ipynb", posixpath.dirname(page.file.src_uri)
        )
        markdown = re.sub(r"^(# .+)$", rf"\1\n\n[This page as a notebook]({link})", markdown, count=1, flags=re.M)
    markdown = FINDINGS.sub(lambda match: ledger_pages.findings_on(match[1], ROOT), markdown)
    if page.file.src_uri not in _shown:
        return markdown
    return with_outputs(markdown, _shown[page.file.src_uri], Path(page.file.src_uri).stem)


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


def _pictures(shown: list[page_blocks.Shown]) -> list[bytes]:
    return [picture for one in shown for picture in one.pictures]

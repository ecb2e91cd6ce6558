"""The gallery: a thumbnail of every picture of the site in rows by page, each with a link to the code that draws it."""

import io
import re
from pathlib import Path, PurePosixPath

from PIL import Image

WIDTH = 480  # pixels of a thumbnail, twice what is shown
NAME = "gallery/index.md"
HEAD = "---\nhide: [toc]\n---\n\n# Gallery\n"


def page(folder: Path, drawn: dict[str, tuple[list[bytes], dict[str, bytes]]]) -> tuple[str, dict[str, str | bytes]]:
    """Return the text of the gallery's page, and its thumbnails by their paths.

    Args:
        folder: the folder of the pages.
        drawn: for each page the pictures that its blocks show, and the images that they wrote, by name.
    """
    files: dict[str, str | bytes] = {}
    rows, count = [], 0
    for name in sorted(drawn, key=_order):
        text = (folder / name).read_text(encoding="utf-8")
        stem = PurePosixPath(name).stem
        shown = [
            (picture, f"{title(text)}, picture {k}", f"#{anchor(stem, k)}")
            for k, picture in enumerate(drawn[name][0], 1)
        ]
        shown += [(picture, caption(text, image), "") for image, picture in drawn[name][1].items()]
        if not shown:
            continue
        rows.append(f'## {title(text)}\n\n<div class="gallery" markdown="1">\n')
        for k, (picture, said, place) in enumerate(shown, 1):
            files[f"gallery/{stem}-{k}.webp"] = thumbnail(picture)
            rows.append(f'[![{said}]({stem}-{k}.webp){{ loading=lazy }}](../{name}{place} "{said}")')
        rows.append("\n</div>\n")
        count += len(shown)
    head = f"# Gallery\n\n{count} pictures. Each leads to the lines of code that draw it.\n\n"
    return head + "\n".join(rows), files


def caption(text: str, image: str) -> str:
    """Return what a page says of an image."""
    found = re.search(rf"!\[([^\]]*)\]\({re.escape(image)}\)", text)
    return found[1] if found else image


def title(text: str) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.M)
    return found[1] if found else "Pictures"


def anchor(stem: str, number: int) -> str:
    """Return the anchor of a picture on its page."""
    return f"{stem}-picture-{number}"


def thumbnail(picture: bytes) -> bytes:
    """Return a picture as a small WebP file."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((WIDTH, WIDTH))
    file = io.BytesIO()
    image.save(file, format="WEBP", quality=80, method=4)
    return file.getvalue()


def _order(name: str) -> tuple[int, str]:
    rooms = ("index", "start", "workbench", "gallery", "papers", "how-to")
    first = PurePosixPath(name).parts[0].removesuffix(".md")
    return (rooms.index(first) if first in rooms else len(rooms), name)

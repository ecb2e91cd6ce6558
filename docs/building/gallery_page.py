"""The gallery: a thumbnail of every picture of the site in rows by page, each with a link to the code that draws it."""

import io
import re
from pathlib import Path, PurePosixPath

from PIL import Image

WIDTH = 480  # pixels of a thumbnail, twice what is shown


def pages(folder: Path, pictures: dict[str, list[bytes]]) -> dict[str, str | bytes]:
    """Return the gallery's page and its thumbnails, of the pictures of the pages of a folder."""
    files: dict[str, str | bytes] = {}
    rows = []
    for name in sorted((name for name, own in pictures.items() if own), key=_order):
        text = (folder / name).read_text(encoding="utf-8")
        stem = PurePosixPath(name).stem
        rows.append(f'## {title(text)}\n\n<div class="gallery" markdown="1">\n')
        for k, picture in enumerate(pictures[name], 1):
            small = f"gallery/{stem}-{k}.webp"
            files[small] = thumbnail(picture)
            rows.append(f"[![{title(text)}, picture {k}]({stem}-{k}.webp)](../{name}#{anchor(stem, k)})")
        rows.append("\n</div>\n")
    count = sum(map(len, pictures.values()))
    files["gallery/index.md"] = (
        f"---\nhide: [toc]\n---\n\n# Gallery\n\n{count} pictures. Each leads to the lines of code that draw it.\n\n"
        + "\n".join(rows)
    )
    return files


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

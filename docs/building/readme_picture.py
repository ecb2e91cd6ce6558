"""Draw the README's picture: its three results side by side. `python docs/building/readme_picture.py` writes it."""

import io
from pathlib import Path

import page_blocks
from PIL import Image

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "pages" / "assets" / "readme.png"


def beside(pictures: list[bytes]) -> Image.Image:
    """Return pictures side by side on white, centred."""
    images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    whole = Image.new("RGB", (sum(image.width for image in images), max(image.height for image in images)), "white")
    left = 0
    for image in images:
        whole.paste(image, (left, (whole.height - image.height) // 2))
        left += image.width
    return whole


if __name__ == "__main__":
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    python = text[: text.index("## The same on the command line")]
    shown, _ = page_blocks.run_page("README.md", python)
    beside([picture for one in shown for picture in one.pictures]).save(FILE, optimize=True)

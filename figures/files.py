"""Write figures to files: supported formats, atomic writes, and reproducible bytes."""

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import matplotlib.figure

from dynsim.errors import ArgumentError, nearest, reason
from dynsim.io.whole_files import whole_file
from figures.style import settings

FORMATS = ("pdf", "svg", "png")
DPI = 130  # resolution in which notebooks show a figure
DENSE = 2  # pixels of the file for each pixel shown, so that figures are sharp on dense screens

Picture = tuple[bytes, dict[str, int]]
"""A PNG, and the width and height in pixels in which notebooks show it."""


def check_format(name: str, path: Path) -> None:
    """Raise `ValueError`, naming the argument `name`, unless the suffix of `path` is a figure format."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise ArgumentError(name, f"end in .{', .'.join(FORMATS)}", f"is `{path}`{nearest(kind, FORMATS)}")


def check_formats(formats: Sequence[str]) -> None:
    """Raise `ValueError` for a format in which figures cannot be written."""
    for kind in formats:
        if kind not in (*FORMATS, "gif"):
            but = f"holds `{kind}`{nearest(kind, FORMATS)}"
            raise ArgumentError("formats", f"hold only {', '.join(FORMATS)}", but)


def write_figure(drawn: matplotlib.figure.Figure, file: Path, title: str, style: bool = True) -> None:
    """Write a drawing in the format of the file's suffix, with a title but no date, for reproducible bytes.

    The file is written atomically.

    Args:
        drawn: the drawing.
        file: the file; its suffix is one of `FORMATS`.
        title: title that is stored in the file.
        style: whether the settings of `figures.style` apply, as they should to our own figures.

    Raises:
        ValueError: if the file cannot be written.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from figures import canvas, write_figure
        >>> drawn, (axes,) = canvas()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_figure(drawn, Path(folder) / "empty.svg", "An empty figure")
        ...     (Path(folder) / "empty.svg").read_bytes()[:5]
        b'<?xml'
    """
    try:
        used = settings() if style else matplotlib.rc_context({"svg.hashsalt": "dynsim"})
        with used, whole_file(file, file.suffix) as part:
            drawn.savefig(part, metadata=_metadata(title, file.suffix.removeprefix(".")))
    except OSError as error:
        raise ArgumentError("folder", "be one that can be written", f"`{file}` is not ({reason(error)})") from None


def rendered(drawn: matplotlib.figure.Figure) -> Picture:
    """Render a figure as a PNG for notebooks on dense screens."""
    file = io.BytesIO()
    drawn.savefig(file, format="png", dpi=DENSE * DPI)
    width, height = (round(DPI * float(inches)) for inches in drawn.get_size_inches())
    return file.getvalue(), {"width": width, "height": height}


def _metadata(title: str, kind: str) -> dict[str, str | None]:
    maker = "dynsim"
    return {
        "pdf": {"Title": title, "Creator": maker, "Producer": maker, "CreationDate": None},
        "svg": {"Title": title, "Creator": maker, "Date": None},
        "png": {"Title": title, "Software": maker},
    }[kind]

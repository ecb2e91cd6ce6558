"""Pictures of results as PNG files in memory, for notebooks."""

import io
from typing import Any

import matplotlib.figure

from dynsim.errors import ArgumentError
from figures.plotting import drawing_of, plot

DPI = 130  # resolution at which a figure is shown in its size
DENSE = 2  # pixels of the file for each pixel shown, so that figures are sharp on dense screens

Picture = tuple[bytes, dict[str, int]]
"""A PNG, and the width and height in pixels in which it is shown."""


def png(result: Any) -> Picture | None:
    """Picture of a result, or None for a result without one, such as a run with matrices as states."""
    if drawing_of(result) is None:
        return None
    try:
        return rendered(plot(result).figure)
    except ArgumentError:  # it holds nothing that can be drawn
        return None


def rendered(drawn: matplotlib.figure.Figure) -> Picture:
    """Render a figure as a PNG for dense screens."""
    file = io.BytesIO()
    drawn.savefig(file, format="png", dpi=DENSE * DPI)
    width, height = (round(DPI * float(inches)) for inches in drawn.get_size_inches())
    return file.getvalue(), {"width": width, "height": height}

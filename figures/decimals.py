"""Write the numbers of a figure with a decimal comma."""

import re
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter


def with_comma(text: str) -> str:
    """A text whose numbers have a decimal comma; in formulas it is set without a space.

    ```python
    >>> with_comma("K = 0.5, $r = 1.25$")
    'K = 0,5, $r = 1{,}25$'
    ```
    """
    parts = re.split(r"(?<!\\)(\$)", text)
    inside, found = False, []
    for part in parts:
        inside ^= part == "$"
        found.append(re.sub(r"(?<=\d)\.(?=\d)", "{,}" if inside else ",", part))
    return "".join(found)


def comma(figure: Figure, kept: Sequence[str] = ()) -> None:
    """Give the numbers on axes, in labels, legends and texts of a figure a decimal comma, but not the texts `kept`."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis, *([ax.zaxis] if ax.name == "3d" else [])):  # pyright: ignore
            axis.set_major_formatter(_Comma(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_text() not in kept:
            text.set_text(with_comma(text.get_text()))


class _Comma(Formatter):
    """The labels of another formatter, with a decimal comma."""

    def __init__(self, other: Any):
        self.other = other

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Label a tick."""
        return with_comma(self.other(x, pos))

    def format_ticks(self, values: Any) -> list[str]:
        """Label all ticks together, which choose their common number of digits."""
        return [with_comma(text) for text in self.other.format_ticks(values)]

    def get_offset(self) -> str:
        """Get what is added to all labels."""
        return with_comma(self.other.get_offset())

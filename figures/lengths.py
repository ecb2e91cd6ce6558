"""Sizes of figures as journals and users state them: `nature`, `aps-2`, `85mm`."""

import re

from dynsim.errors import ArgumentError, nearest
from figures.style import WIDTHS

PER_INCH = {"mm": 25.4, "cm": 2.54, "in": 1.0, "pt": 72.0}
SMALLEST, LARGEST = 1.0, 40.0  # inches; labels and ticks of smaller figures do not fit beside the axes


def length(name: str, text: str) -> float:
    """Convert a length such as `85mm`, `8.5cm`, `3.375in` or `243pt` to inches.

    Raises:
        ValueError: for another text, or a length on which no figure fits.
    """
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)\s*({'|'.join(PER_INCH)})", text.strip())
    if found is None:
        raise ArgumentError(name, f"be a number with a unit ({', '.join(PER_INCH)}), such as 85mm", f"is `{text}`")
    inches = float(found[1]) / PER_INCH[found[2]]
    if not SMALLEST <= inches <= LARGEST:
        raise ArgumentError(name, f"be from {25.4 * SMALLEST:g}mm to {25.4 * LARGEST:g}mm", f"is `{text}`")
    return inches


def journal_width(size: str) -> float:
    """Width in inches of a column of a journal, such as `nature` (one column) or `aps-2` (two).

    Raises:
        ValueError: for an unknown name.
    """
    known = {name.removesuffix("-1"): width for name, width in WIDTHS.items()} | WIDTHS
    if size not in known:
        raise ArgumentError("size", f"be one of {', '.join(sorted(known))}", f"is `{size}`{nearest(size, known)}")
    return known[size]

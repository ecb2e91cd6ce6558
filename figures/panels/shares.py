"""Draw basin fractions against a parameter, as curves with confidence intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.basins import WORDS, shade
from figures.panels.curves import STYLES
from figures.style import large

DARKER = 0.75  # factor that darkens the fill colours of basins, because lines need more contrast


def share_curves(
    ax: Axes,
    parameters: ArrayLike,
    labels: ArrayLike,
    shares: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    parts: Sequence[str] = ("bands", "lines"),
    names: Mapping[int, str] | None = None,
    colours: Mapping[int, Any] | None = None,
) -> None:
    """Draw a curve with a confidence band for each basin, in its colour, and for starts outside all basins.

    Args:
        ax: the axes.
        parameters: the values of the parameter, (values,).
        labels: indices of basins, or negative labels, (labels,).
        shares: the basin fractions, (values, labels), NaN where an attractor does not exist.
        low: the lower ends of their intervals.
        high: the upper ends of their intervals.
        parts: what is drawn of these.
        names: texts by label for a legend; by default numbers.
        colours: colours of labels; by default those of the basins, darker.

    Raises:
        ValueError: if shapes do not match.
    """
    x, kinds = np.asarray(parameters, float), np.asarray(labels, int)
    tables = [np.asarray(table, float) for table in (shares, low, high)]
    for name, table in zip(("shares", "low", "high"), tables, strict=True):
        if table.shape != (len(x), len(kinds)):
            raise ArgumentError(name, f"have shape (values, labels) = {(len(x), len(kinds))}", f"has {table.shape}")
    for number, (label, middle, bottom, top) in enumerate(zip(kinds, *(table.T for table in tables), strict=True)):
        own = tuple(DARKER * part for part in shade(int(label))) if label >= 0 else (0.35, 0.35, 0.35)
        tint = (colours or {}).get(int(label), own)
        if "bands" in parts:
            said = "confidence interval" if number == 0 else None
            ax.fill_between(x, bottom, top, color=tint, alpha=0.25, linewidth=0.0, label=said)
        if "lines" in parts:
            text = (names or {}).get(int(label), WORDS.get(int(label), f"basin {label + 1}"))
            style, marker = STYLES[number % len(STYLES)], "osD^v"[number % 5]
            ax.plot(
                x, middle, color=tint, linestyle=style, marker=marker, markersize=large(2.5), label=text, clip_on=False
            )

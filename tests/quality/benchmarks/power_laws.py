"""Draw power laws: measurements at several sizes on logarithmic axes, with fitted lines and exponents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from dynsim._core.types import ArrayLike
from figures.panels.curves import STYLES
from figures.style import colour

MARKERS = ("o", "s", "^", "D")
ABOVE = 0.3  # space above the data for the legend, relative to their height, and once more for every three curves
FEW = 100.0  # if the sizes span less than this ratio, each size has a tick


class PowerLaw(NamedTuple):
    """A power law, `factor` times the size to the power `exponent`, with the standard error of the exponent."""

    exponent: float
    error: float
    factor: float


def power_laws(
    ax: Axes,
    sizes: ArrayLike,
    rows: Sequence[ArrayLike],
    laws: Sequence[PowerLaw],
    *,
    names: Sequence[str],
    roles: Sequence[tuple[str, int]],
    xlabel: str,
    ylabel: str,
) -> list[Line2D]:
    """Draw measured rows, (sizes,) each, as marks, their power laws as lines, and the exponents in a legend.

    Args:
        ax: the axes.
        sizes: positive sizes, (sizes,).
        rows: positive measurements, one array for each curve.
        laws: the fitted power laws of the curves.
        names: names of the curves.
        roles: for each curve a role, which determines the colour, and the index of a line style and a mark.
        xlabel: label of the sizes.
        ylabel: label of the measurements.
    """
    x = np.asarray(sizes, float)
    values = [np.asarray(row, float) for row in rows]
    found = []
    for row, law, name, (role, number) in zip(values, laws, names, roles, strict=True):
        label = rf"{name}: ${law.exponent:z.2f} \pm {law.error:.2f}$"
        ax.plot(x, law.factor * x**law.exponent, color=colour(role), linestyle=STYLES[number % len(STYLES)])
        (marks,) = ax.plot(x, row, MARKERS[number % len(MARKERS)], color=colour(role), markersize=3.0, label=label)
        found.append(marks)
    _name(ax, x, values, xlabel, ylabel)
    return found


def _name(ax: Axes, x: np.ndarray, values: Sequence[np.ndarray], xlabel: str, ylabel: str) -> None:
    """Set scales, labels and legend, with a power of ten at the lower end and space for the legend."""
    low, high = min(row.min() for row in values), max(row.max() for row in values)
    ratio = max(high / low, 10.0)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    ax.set_ylim(10 ** np.floor(np.log10(low / ratio**0.08)), high * ratio ** (ABOVE * (1 + len(values) / 3)))
    if x.max() < FEW * x.min():
        ax.set_xticks(x, labels=[f"{size:g}" for size in x])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())
    ax.legend(loc="upper left", handlelength=0.8, fontsize=6.0)

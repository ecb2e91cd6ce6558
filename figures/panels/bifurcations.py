"""Bifurcation diagrams: branches against a parameter, stable parts solid and unstable ones dashed, marks by kind."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from dynsim.errors import argument_error
from figures.style import colour

MARKS = {
    "fold": "s",
    "branch point": "D",
    "Hopf point": "o",
    "period doubling": "^",
    "Neimark-Sacker point": "v",
    "corner": "x",
    "cusp": "*",
    "Bogdanov-Takens point": "P",
}
"""The marks of bifurcations by kind."""
DASHED = (0, (4, 1.6))


def branch_lines(
    ax: Axes, parameters: ArrayLike, values: ArrayLike, stable: ArrayLike, *, role: str = "first", width: float = 1.1
) -> list[Line2D]:
    """Draw a branch: solid where it is stable, dashed elsewhere; return its pieces.

    Args:
        ax: the axes.
        parameters: (points,).
        values: (points,), or (points, curves) for several, such as the least and the largest value of an orbit.
        stable: (points - 1,), whether the solutions between two successive points are stable.
        role: of the branch, which decides the colour.
        width: of the lines, in points.

    Raises:
        ValueError: if the arrays do not fit each other.
    """
    x, y, solid = np.asarray(parameters, float), np.asarray(values, float), np.asarray(stable, bool)
    if len(y) != len(x):
        raise argument_error("values", f"have one entry for each of {len(x)} points", f"has {len(y)}")
    if len(solid) != len(x) - 1:
        raise argument_error("stable", f"have one entry for each of {len(x) - 1} intervals", f"has {len(solid)}")
    cuts = [0, *(np.flatnonzero(np.diff(solid)) + 1), len(solid)]
    parts = []
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        style = "-" if solid[begin] else DASHED
        piece = slice(begin, end + 1)
        parts += ax.plot(x[piece], y[piece], color=colour(role), linestyle=style, linewidth=width, zorder=2.0)
    return parts


def bifurcation_marks(ax: Axes, kinds: Sequence[str], parameters: ArrayLike, values: ArrayLike) -> None:
    """Mark bifurcations by their kinds, each labelled once for a legend.

    Raises:
        ValueError: for an unknown kind.
    """
    places = np.stack([np.asarray(parameters, float), np.asarray(values, float)], axis=-1).reshape(-1, 2)
    named = {line.get_label() for line in ax.lines}
    for kind, place in zip(kinds, places, strict=True):
        if kind not in MARKS:
            raise argument_error("kinds", f"hold only {', '.join(MARKS)}", f"holds `{kind}`")
        ax.plot(
            *place, marker=MARKS[kind], markersize=4.5, linestyle="none", color="black", markerfacecolor="white",
            markeredgewidth=0.9, zorder=5.0, label=None if kind in named else kind,
        )  # fmt: skip
        named.add(kind)


def stability_legend(ax: Axes) -> None:
    """Write the legend above the axes: the marks that were drawn, and both styles of line."""
    ax.plot([], [], color="black", linestyle="-", label="stable")
    ax.plot([], [], color="black", linestyle=DASHED, label="unstable")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

"""Mark attractors and other limit sets in the plane of a portrait or of basins."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from analysis.dynamics.attractors.classification import CURVE as FAMILY
from analysis.dynamics.attractors.limit_set import SURFACE
from figures.panels.bifurcations import DASHED
from figures.style import colour, large, thick

DOTTED = (0, (1, 1))
SCATTERED = ("recurrent set", "chaotic edge state")  # kinds of limit sets whose points are drawn as small dots
DOTS = 4000  # largest number of dots of a set that is not periodic
CURVE = 64  # a periodic orbit with more points than this is drawn as a line


class LimitMark(NamedTuple):
    """A limit set in the image plane: its points (points, 2), its kind, and whether it attracts (None if undecided).

    `projected` is true if it does not lie in the slice that the image shows.
    """

    points: np.ndarray
    kind: str
    attracts: bool | None = True
    projected: bool = False

    @property
    def is_curve(self) -> bool:
        """Whether it is drawn as a line through its points."""
        return self.kind == FAMILY or self.kind == "periodic orbit" and len(self.points) > CURVE

    @property
    def words(self) -> str:
        """Description of the limit set for a legend."""
        judged = f"{self.kind}, {'undecided' if self.attracts is None else 'not attracting'}"
        said = f"attracting {self.kind}" if self.attracts else judged
        return f"{said} (projected)" if self.projected else said


def in_window(mark: LimitMark, sides: Sequence[tuple[float, float]], turns: Mapping[int, float]) -> list[LimitMark]:
    """Copies of a mark within a window; along axes that are angles, it is shifted by whole turns.

    A mark outside the window gives no copies. The points of a curve stay together, closed up to whole turns; the points
    of other sets are shifted one by one.

    Args:
        mark: the mark, with points (points, axes), or (points,) for one axis.
        sides: lower and upper end of each axis of the window.
        turns: the periods of axes that are angles, by their index.
    """
    points = np.asarray(mark.points, float).reshape(len(mark.points), -1)
    if mark.is_curve and mark.kind != FAMILY:
        points = np.concatenate([points, points[:1]])
    moves = [(0.0,)] * points.shape[1]
    for k, period in turns.items():
        low, high = sides[k]
        along = points[:, k]
        along = np.unwrap(along, period=period) if mark.is_curve else low + np.mod(along - low, period)
        first, last = np.ceil((low - along.max()) / period), np.floor((high - along.min()) / period)
        points[:, k] = along
        moves[k] = tuple(period * np.arange(first, last + 1))
    low, high = np.array(sides).T
    moved = [points + np.array(move) for move in itertools.product(*moves)]
    return [mark._replace(points=p) for p in moved if np.all((p.min(axis=0) <= high) & (p.max(axis=0) >= low))]


def draw_mark(ax: Axes, mark: LimitMark) -> None:
    """Draw a mark from `in_window`, at half height if there is only one axis; each kind has one legend entry.

    Sets that do not attract, or might not, are open, dashed, or, if drawn as dots, purple. Projected sets are grey or
    dotted.
    """
    points = mark.points
    if points.shape[1] == 1:
        points = np.column_stack([points[:, 0], np.full(len(points), 0.5)])
    label = None if mark.words in {line.get_label() for line in ax.lines} else mark.words
    if mark.is_curve:
        style = DOTTED if mark.projected else "-" if mark.attracts else DASHED
        width = 2.2 if mark.kind == FAMILY else 1.1
        ax.plot(*points.T, color="black", linewidth=width, linestyle=style, zorder=3.0, label=label)
    elif mark.kind in SCATTERED:
        points = points[:: -(-len(points) // DOTS)]
        tint = "black" if mark.attracts else colour("undecided")
        ax.plot(*points.T, linestyle="none", marker=".", markersize=large(1.2), color=tint, markeredgewidth=0,
                zorder=3.0, label=label)  # fmt: skip
    else:
        faint = colour("reference") if mark.projected else "black"
        inner, edge = (faint, "black" if mark.projected else "white") if mark.attracts else ("white", faint)
        ax.plot(
            *points.T,
            linestyle="none",
            marker="o" if mark.kind in ("equilibrium", "fixed point", "relative equilibrium", SURFACE) else "s",
            markersize=large(4.5),
            color="black",
            markerfacecolor=inner,
            markeredgecolor=edge,
            markeredgewidth=thick(0.7),
            zorder=4.0,
            label=label,
        )

"""Marks of attractors and of other limits in the plane of a portrait or of basins."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

SCATTERED = ("recurrent set", "chaotic edge state")  # kinds of sets whose points are drawn as small dots
DOTS = 4000  # of a set that is not periodic, in a figure
CURVE = 64  # points of a periodic orbit from which it is drawn as a line


class Mark(NamedTuple):
    """An attractor in the plane of the image: its points (points, 2), its kind, and whether it attracts."""

    points: np.ndarray
    kind: str
    attracts: bool = True

    @property
    def is_curve(self) -> bool:
        """Whether it is drawn as a closed line through its points."""
        return self.kind == "periodic orbit" and len(self.points) > CURVE


def in_window(mark: Mark, sides: Sequence[tuple[float, float]], turns: Mapping[int, float]) -> list[Mark]:
    """Return a mark as it appears in a window: on axes that are angles it is moved by whole turns, and may recur.

    The points of a curve stay together, and close up to whole turns; those of other sets are moved one by one.

    Args:
        mark: with points (points, axes), or (points,) for one axis.
        sides: low and high of each axis of the window.
        turns: the periods of axes that are angles, by their number.
    """
    points = np.asarray(mark.points, float).reshape(len(mark.points), -1)
    if mark.is_curve:
        points = np.concatenate([points, points[:1]])
    moves = [(0.0,)] * points.shape[1]
    for k, period in turns.items():
        low, high = sides[k]
        along = points[:, k]
        along = np.unwrap(along, period=period) if mark.is_curve else low + np.mod(along - low, period)
        first, last = np.ceil((low - along.max()) / period), np.floor((high - along.min()) / period)
        points[:, k] = along
        moves[k] = tuple(period * np.arange(first, last + 1))
    return [mark._replace(points=points + np.array(move)) for move in itertools.product(*moves)]


def draw_mark(ax: Axes, mark: Mark) -> None:
    """Draw a mark, as `in_window` returns it; that of one axis at half the height."""
    points = mark.points
    if points.shape[1] == 1:
        points = np.column_stack([points[:, 0], np.full(len(points), 0.5)])
    if mark.is_curve:
        ax.plot(*points.T, color="black", linewidth=1.1, zorder=3.0)
    elif mark.kind in SCATTERED:
        points = points[:: -(-len(points) // DOTS)]
        ax.plot(*points.T, linestyle="none", marker=".", markersize=1.2, color="black", markeredgewidth=0, zorder=3.0)
    else:
        ax.plot(
            *points.T,
            linestyle="none",
            marker="o" if mark.kind in ("equilibrium", "fixed point", "relative equilibrium") else "s",
            markersize=4.5,
            color="black",
            markerfacecolor="black" if mark.attracts else "white",
            markeredgecolor="white" if mark.attracts else "black",
            markeredgewidth=0.7,
            zorder=4.0,
        )

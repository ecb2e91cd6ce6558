"""Draw distributions on three states as points of a triangle: flows, stationary distributions and orbits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.labels import in_lines
from figures.style import SERIES, colour, large, thick

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
LETTERS = 20  # largest number of letters in a line of a vertex's name
GAP = 0.06  # distance of a vertex from its name of several lines, relative to the side of the triangle
MARKS = ("s", "^", "v", "D")


def in_triangle(p: ArrayLike) -> np.ndarray:
    """Map distributions (..., 3) to points (..., 2) of the triangle whose vertices are the states.

    Raises:
        ValueError: unless the last axis has length 3.
    """
    p = np.asarray(p, float)
    if not p.ndim or p.shape[-1] != 3:
        raise ArgumentError("p", "have three states, shape (..., 3)", f"has shape {p.shape}")
    return p @ CORNERS


def simplex_portrait(
    ax: Axes, paths: ArrayLike, stationary: ArrayLike, *, states: Sequence[str] = ("1", "2", "3")
) -> LineCollection:
    """Draw the flow of a Markov chain on the simplex as trajectories with arrow heads.

    Args:
        ax: the axes.
        paths: trajectories, (paths, times, 3), from their initial distributions.
        stationary: stationary distributions, (distributions, 3), drawn as discs. Two of them are joined by a thick
            line, because their convex combinations are stationary too.
        states: names of the vertices.
    """
    drawn = trajectories_in_triangle(ax, paths)
    if len(np.atleast_1d(stationary)):
        stationary_points(ax, stationary)
    outline(ax, states)
    return drawn


def stationary_points(ax: Axes, stationary: ArrayLike) -> None:
    """Draw stationary distributions, (distributions, 3), as discs, which a line joins as their mixtures."""
    points = in_triangle(stationary).reshape(-1, 2)
    name = "stationary distribution" if len(points) == 1 else "stationary distributions"
    ax.plot(*points.T, marker="o", color=colour("stable"), linewidth=thick(2.0), markersize=large(4.5), zorder=6.0,
            linestyle="-" if len(points) > 1 else "none", label=name)  # fmt: skip


def trajectories_in_triangle(ax: Axes, paths: ArrayLike, tint: Any = None) -> LineCollection:
    """Draw trajectories of distributions, (paths, times, 3), with arrow heads, in one colour."""
    lines, tint = in_triangle(paths), tint or colour("field")
    drawn = LineCollection(list(lines), colors=[tint], linewidths=thick(0.7), zorder=1.5)
    ax.add_collection(drawn)
    for line in lines:
        _head(ax, line, tint)
    return drawn


def outline(ax: Axes, states: Sequence[str]) -> None:
    """Draw the triangle of distributions without axes, with the names of the states at its vertices."""
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=colour("surface"), linewidth=thick(0.8), zorder=1.0)
    middle = CORNERS.mean(axis=0)
    broken = [in_lines(word, LETTERS) for word in states]
    one = all(len(words) == 1 for words in broken)
    for place, corner, words in zip(CORNERS + 0.11 * (CORNERS - middle), CORNERS, broken, strict=True):
        side = "top" if corner[1] < middle[1] else "bottom"
        x, y = place if one else (corner[0], corner[1] + (GAP if side == "bottom" else -GAP))
        ax.text(float(x), float(y), "\n".join(words), ha="center", va="center" if one else side, fontsize=7)
    ax.set_aspect("equal")
    ax.set_xlim(-0.14, 1.14)
    ax.set_ylim(-0.13, 1.0)
    ax.set_axis_off()


def _head(ax: Axes, line: np.ndarray, tint: Any) -> None:
    """Draw an arrow head at a third of a trajectory's length, unless its length is nearly zero."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    if length[-1] < 0.05:
        return
    x, y = line.T
    at = lambda share: (np.interp(share * length[-1], length, x), np.interp(share * length[-1], length, y))
    arrow = {
        "arrowstyle": "-|>",
        "color": tint,
        "lw": thick(0.0),
        "mutation_scale": 6,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", at(0.36), at(0.33), arrowprops=arrow, zorder=1.6)


def orbits(ax: Axes, steps: Sequence[ArrayLike], *, labels: Sequence[str]) -> list[Line2D]:
    """Draw discrete orbits, (steps, 3) each, as markers joined by thin lines.

    Raises:
        ValueError: unless there is one label for each orbit, and at most four orbits.
    """
    if not len(steps) == len(labels) <= len(MARKS):
        raise ArgumentError("labels", f"name each of {len(steps)} orbits, at most {len(MARKS)}", f"are {len(labels)}")
    lines = []
    for orbit, label, mark, role in zip(steps, labels, MARKS, SERIES, strict=False):
        lines += ax.plot(*in_triangle(orbit).T, marker=mark, markersize=large(2.6), linewidth=thick(0.5),
                         color=colour(role), label=label, zorder=4.0)  # fmt: skip
    return lines

"""Draw prototypes among embeddings: their paths, portraits of two on a line, and paths of two measures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.streamplot import StreamplotSet

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.panels.phase import equilibria
from figures.style import SERIES, colour, large, thick

PARTS = ("embeddings", "start", "end", "lines")
START: dict[str, Any] = {"marker": "o", "markerfacecolor": "white", "markersize": 3.5, "zorder": 4.0}
END: dict[str, Any] = {
    "marker": "*", "markeredgecolor": "black", "markeredgewidth": 0.4, "markersize": 7.0, "zorder": 5.0
}  # fmt: skip


def prototype_paths(
    ax: Axes,
    embeddings: ArrayLike,
    paths: ArrayLike,
    ts: ArrayLike,
    *,
    colours: Sequence[Any] | None = None,
    parts: Sequence[str] = PARTS,
) -> list[Line2D]:
    """Draw the paths of prototypes in the plane of the first two coordinates, or over time in one dimension.

    Open circles are initial prototypes, and stars are final ones. Embeddings are grey dots, in one dimension at the
    final time. Each kind of mark has a label for a legend, and so has each path unless there are many.

    Args:
        ax: the axes.
        embeddings: the embeddings, (n, m).
        paths: the prototypes over time, (times, k, m); rows that are NaN, after a failure, are not drawn.
        ts: the times, (times,).
        colours: a colour for each prototype; by default those of our figures in turn.
        parts: which of `embeddings`, `start`, `end` and `lines` to draw.

    Raises:
        ValueError: if the shapes do not match.
    """
    z, p, t = np.asarray(embeddings, float), np.asarray(paths, float), np.asarray(ts, float)
    if z.ndim != 2 or p.ndim != 3 or p.shape[0] != len(t) or p.shape[2] != z.shape[1]:
        must = f"have shape (times, k, m) = ({len(t)}, k, {z.shape[-1]})"
        raise ArgumentError("paths", must, f"has shape {p.shape}")
    known = np.isfinite(p).all(axis=(1, 2))
    p, t = p[known], t[known]
    if z.shape[1] == 1:
        z, p = (
            np.column_stack([np.full(len(z), t[-1]), z]),
            np.concatenate([np.broadcast_to(t[:, None, None], p.shape), p], axis=2),
        )
        ax.set(xlabel="time $t$", ylabel="$p_k$")
    else:
        ax.set(xlabel="$z_1$", ylabel="$z_2$")
    if "embeddings" in parts:
        ax.plot(z[:, 0], z[:, 1], color=colour("surface"), marker=".", markersize=large(2.0), linestyle="none",
                alpha=0.5, markeredgewidth=0.0, rasterized=len(z) > 2000, zorder=1.0, label="embeddings")  # fmt: skip
    tints = colours or [colour(role) for role in SERIES]
    ways = [(p[:, k, :2], tints[k % len(tints)]) for k in range(p.shape[1])]
    for name, row, style in (("start", 0, START), ("end", -1, END)):
        if name in parts:
            size = {"markersize": large(style["markersize"]), "linestyle": "none"}
            ax.plot([], [], **(style | size), color=colour(name), label=name)
            for way, tint in ways:
                ax.plot(*way[row], **(style | size), color=tint)
    if "lines" not in parts:
        return []
    named = p.shape[1] <= len(SERIES) * len(STYLES)
    return [
        ax.plot(*way.T, color=tint, linestyle=STYLES[k // len(tints) % len(STYLES)], linewidth=thick(0.9), zorder=3.0,
                label=f"prototype {k}" if named else None)[0]
        for k, (way, tint) in enumerate(ways)
    ]  # fmt: skip


def pair_portrait(
    ax: Axes, side: ArrayLike, velocity: ArrayLike, embeddings: ArrayLike, *, places: ArrayLike, kinds: Sequence[str]
) -> StreamplotSet:
    """Draw the flow of two prototypes on a line, with its equilibria and streamlines.

    The diagonal, on which the prototypes coincide, is dashed. The embeddings are dots on both axes.

    Args:
        ax: the axes.
        side: evenly spaced grid of each prototype, (points,).
        velocity: the vector field on the grid, (points, points, 2), with the second prototype on the first axis.
        embeddings: the embeddings, (n,).
        places: positions of the equilibria, (equilibria, 2).
        kinds: stability of the equilibria, as in `equilibria`.

    Raises:
        ValueError: if `velocity` does not have the shape of the grid.
    """
    xs, field, z = np.asarray(side, float), np.asarray(velocity, float), np.asarray(embeddings, float)
    if field.shape != (len(xs), len(xs), 2):
        must = f"have shape (points, points, 2) = {(len(xs), len(xs), 2)}"
        raise ArgumentError("velocity", must, f"has shape {field.shape}")
    lines = ax.streamplot(xs, xs, field[..., 0], field[..., 1], color=colour("first"), linewidth=0.5, density=0.9,
                          arrowsize=0.6)  # fmt: skip
    ends = [xs[0], xs[-1]]
    ax.plot(ends, ends, color=colour("reference"), linestyle=(0, (4, 2)), linewidth=0.8, label="$p_1 = p_2$")
    for low, axis in ((xs[0], z), (z, xs[0])):
        marks = np.broadcast_arrays(axis, low)
        ax.plot(*marks, color=colour("surface"), marker="o", markersize=3.0, linestyle="none", clip_on=False,
                label="embeddings" if low is z else None, zorder=4.0)  # fmt: skip
    equilibria(ax, places, kinds)
    ax.set(xlim=ends, ylim=ends, aspect="equal")
    return lines


def timed_path(ax: Axes, x: ArrayLike, y: ArrayLike, ts: ArrayLike, *, last: float) -> LineCollection:
    """Draw a path in the plane of two measures, coloured by time, with an open circle at its start.

    Args:
        ax: the axes.
        x: first measure, (times,).
        y: second measure, (times,).
        ts: times, (times,).
        last: the time at the end of the colour scale, which begins at 0.

    Raises:
        ValueError: unless all three have the same shape (times,).
    """
    xs, ys, t = (np.asarray(part, float) for part in (x, y, ts))
    if not (xs.shape == ys.shape == t.shape and xs.ndim == 1):
        raise ArgumentError(
            "x", "have shape (times,) to match `y` and `ts`", f"has {xs.shape}, {ys.shape} and {t.shape}"
        )
    points = np.column_stack([xs, ys])
    segments = list(np.stack([points[:-1], points[1:]], axis=1))
    pieces = LineCollection(segments, cmap="cividis", linewidths=1.1, zorder=3.0)
    pieces.set_array((t[:-1] + t[1:]) / 2)
    pieces.set_clim(0.0, last)
    pieces.set_capstyle("round")
    ax.add_collection(pieces)
    ax.plot(*points[0], marker="o", markerfacecolor="white", color=colour("start"), markersize=3.5, linestyle="none",
            zorder=4.0)  # fmt: skip
    ax.plot(*points[-1], marker="o", color=colour("end"), markersize=3.0, linestyle="none", zorder=4.0)
    return pieces

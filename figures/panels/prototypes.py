"""Embeddings and the ways of prototypes among them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from dynsim.errors import argument_error
from figures.panels.curves import STYLES
from figures.style import SERIES, colour


def prototype_paths(ax: Axes, embeddings: ArrayLike, paths: ArrayLike, ts: ArrayLike) -> list[Line2D]:
    """Draw the ways of prototypes in the plane of the first two coordinates, or over time in one dimension.

    Open circles are initial prototypes, stars final ones; embeddings are grey dots, in one dimension at the last time.

    Args:
        ax: the axes.
        embeddings: (n, m).
        paths: (times, k, m); rows that are NaN, after a failure, are left out.
        ts: (times,).

    Raises:
        ValueError: unless the shapes match.
    """
    z, p, t = np.asarray(embeddings, float), np.asarray(paths, float), np.asarray(ts, float)
    if z.ndim != 2 or p.ndim != 3 or p.shape[0] != len(t) or p.shape[2] != z.shape[1]:
        must = f"have shape (times, k, m) = ({len(t)}, k, {z.shape[-1]})"
        raise argument_error("paths", must, f"has shape {p.shape}")
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
    ax.plot(z[:, 0], z[:, 1], color=colour("surface"), marker=".", markersize=2.0, linestyle="none", alpha=0.5,
            markeredgewidth=0.0, rasterized=len(z) > 2000, zorder=1.0)  # fmt: skip
    return [_way(ax, p[:, k, :2], k) for k in range(p.shape[1])]


def _way(ax: Axes, way: np.ndarray, number: int) -> Line2D:
    tint = colour(SERIES[number % len(SERIES)])
    style = STYLES[number // len(SERIES) % len(STYLES)]
    (line,) = ax.plot(*way.T, color=tint, linestyle=style, linewidth=0.9, zorder=3.0)
    ax.plot(*way[0], marker="o", markerfacecolor="white", color=tint, markersize=3.5, linestyle="none", zorder=4.0)
    ax.plot(*way[-1], marker="*", color=tint, markersize=7.0, markeredgecolor="black", markeredgewidth=0.4,
            linestyle="none", zorder=5.0)  # fmt: skip
    return line

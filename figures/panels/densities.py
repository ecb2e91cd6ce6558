"""Draw densities on the sphere, as equal-area maps, and on the circle over time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection, QuadMesh

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError

CMAP = "magma_r"


def sphere_density(ax: Axes, edges: ArrayLike, counts: ArrayLike, relative: ArrayLike, *, top: float) -> PolyCollection:
    """Draw a density on the sphere in the cylindrical equal-area map, longitude against the third coordinate.

    Args:
        ax: the axes.
        edges: edges of the rings, in the third coordinate, from -1 to 1.
        counts: the number of cells of each ring.
        relative: the density of each cell, relative to the uniform density.
        top: the relative density at the dark end of the colours.
    """
    edges, counts, values = np.asarray(edges, float), np.asarray(counts, int), np.asarray(relative, float)
    if len(values) != counts.sum():
        raise ArgumentError("relative", f"have one number for each of {counts.sum()} cells", f"has {len(values)}")
    low, high = np.repeat(edges[:-1], counts), np.repeat(edges[1:], counts)
    left = np.concatenate([2 * np.arange(k) / k for k in counts])
    right = left + np.repeat(2 / counts, counts)
    corners = np.stack([np.stack(p, axis=1) for p in ((left, low), (right, low), (right, high), (left, high))], axis=1)
    drawn = PolyCollection(list(corners), array=values, cmap=CMAP, edgecolors="face", linewidths=0.1, rasterized=True)
    drawn.set_clim(0, top)
    ax.add_collection(drawn)
    ax.set(xlim=(0, 2), ylim=(-1, 1), xlabel=r"longitude / $\pi$", ylabel=r"$x_3$")
    return drawn


def circle_density(ax: Axes, ts: ArrayLike, relative: ArrayLike, *, top: float) -> QuadMesh:
    """Draw a density on the circle over time, relative to the uniform density; `relative` is (times, arcs)."""
    ts, values = np.asarray(ts, float), np.asarray(relative, float)
    if values.shape[:1] != ts.shape or values.ndim != 2:
        raise ArgumentError("relative", f"have shape ({len(ts)}, arcs)", f"has shape {values.shape}")
    angles = 2 * (np.arange(values.shape[1]) + 0.5) / values.shape[1]
    drawn = ax.pcolormesh(ts, angles, values.T, cmap=CMAP, vmin=0, vmax=top, shading="nearest", rasterized=True)
    ax.set(xlabel="time $t$", ylabel=r"angle / $\pi$")
    return drawn

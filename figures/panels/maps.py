"""Draw Poincare sections, return maps, cobwebs and orbit diagrams."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.dynamics.poincare import SETTLED
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.growing_data import for_all, up_to
from figures.style import COLOURS, SERIES, large, thick

MANY = 2000  # with more points than this, they are drawn smaller
AROUND = 0.1  # extent of the axes around a single point, relative to the size of the states


def section(
    ax: Axes,
    points: ArrayLike,
    *,
    labels: tuple[str, str],
    directions: ArrayLike | None = None,
    until: float = 1.0,
    size: float = 0.0,
    colour: Any = None,
) -> None:
    """Draw the crossings of a Poincare surface, (crossings, 2), with downward ones in another colour.

    Crossings that coincide within errors are marked as a fixed point, on axes scaled to `size`.

    Args:
        ax: the axes.
        points: the crossings in order.
        labels: labels of the axes.
        directions: 1 or -1 for each crossing.
        until: the share of the crossings that is drawn, on axes for all of them.
        size: the size of the states, if it exceeds that of the points.
        colour: one colour for both directions.

    Raises:
        ValueError: for another shape.
    """
    places = np.asarray(points, float)
    if places.ndim != 2 or places.shape[1] != 2:
        raise ArgumentError("points", "have shape (crossings, 2)", f"has shape {places.shape}")
    ways = np.ones(len(places)) if directions is None else np.asarray(directions)
    known = up_to(places, until)
    for number, (sign, name) in enumerate(((1, "upwards"), (-1, "downwards"))):
        chosen = known[ways == sign]
        if len(chosen):
            both = len(np.unique(ways)) > 1
            tint = COLOURS[SERIES[number]] if colour is None else colour
            dots(ax, chosen[:, 0], chosen[:, 1], colour=tint, label=name if both else "")
    if not _fixed_point(ax, places, size):
        for_all(ax, places)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def _fixed_point(ax: Axes, points: np.ndarray, size: float) -> bool:
    """Mark points, (points, 2), as a fixed point if they coincide within errors; return whether they do."""
    if not len(points):
        return False
    reach = max(size, float(np.max(np.abs(points))))
    if np.max(np.ptp(points, axis=0)) > SETTLED * reach:
        return False
    x, y = np.mean(points, axis=0)
    half = AROUND * (reach or 1.0) / 2
    ax.plot(x, y, marker="o", markersize=large(4.5), linestyle="none", color=COLOURS["second"], label="fixed point")
    ax.set_xlim(x - half, x + half)
    ax.set_ylim(y - half, y + half)
    return True


def dots(ax: Axes, xs: ArrayLike, ys: ArrayLike, *, colour: Any, label: str = "") -> Line2D:
    """Draw points, smaller if they are many; many points become one raster image in a vector file."""
    x, y = np.asarray(xs, float), np.asarray(ys, float)
    size = large(0.35 if x.size > 20 * MANY else 0.8 if x.size > MANY else 1.6)
    (line,) = ax.plot(
        x.ravel(), y.ravel(), marker="o", markersize=size, markeredgewidth=0.0, linestyle="none", color=colour,
        label=label or None, rasterized=x.size > MANY,
    )  # fmt: skip
    return line


def orbits(ax: Axes, points: ArrayLike, *, labels: tuple[str, str], until: float = 1.0) -> None:
    """Draw orbits of a map, (orbits, steps, 2), each in its own colour, and label the axes.

    Only the share `until` of the steps is drawn, on axes for all of them.
    """
    paths = np.asarray(points, float)
    for number, path in enumerate(paths):
        dots(ax, *up_to(path, until).T, colour=COLOURS[SERIES[number % len(SERIES)]])
    for_all(ax, paths.reshape(-1, 2))
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def return_map(
    ax: Axes, pairs: ArrayLike, *, labels: tuple[str, str], until: float = 1.0, size: float = 0.0, colour: Any = None
) -> None:
    """Draw a coordinate at each return against its value at the previous one, (returns, 2).

    Only the share `until` of the returns is drawn, on axes for all of them. Returns that coincide within errors are
    marked as a fixed point, on axes scaled to `size`, the size of the states.
    """
    found = np.asarray(pairs, float).reshape(-1, 2)
    dots(ax, *up_to(found, until).T, colour=COLOURS["first"] if colour is None else colour)
    if not _fixed_point(ax, found, size):
        for_all(ax, found)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def diagonal(ax: Axes, pairs: ArrayLike) -> None:
    """Draw the diagonal of a return map, (returns, 2), across the points, or across the axes of a fixed point."""
    found = np.asarray(pairs, float).reshape(-1, 2)
    single = np.max(np.ptp(found, axis=0)) <= SETTLED * np.max(np.abs(found)) if len(found) else True
    _diagonal(ax, np.array([ax.get_xlim(), ax.get_ylim()]) if single else found)


def cobweb(ax: Axes, xs: ArrayLike, images: ArrayLike, orbit: ArrayLike, *, label: str, until: float = 1.0) -> None:
    """Draw a cobweb: the graph of a scalar map, (points,) each, the diagonal, and an orbit, (steps,).

    Only the share `until` of the orbit is drawn, on axes for all of it.

    Raises:
        ValueError: for an orbit of fewer than two steps.
    """
    steps = np.asarray(orbit, float).ravel()
    if len(steps) < 2:
        raise ArgumentError("orbit", "have at least two steps", f"has {len(steps)}")
    xs, images = np.asarray(xs, float), np.asarray(images, float)
    _diagonal(ax, np.stack([xs, images], axis=1))
    ax.plot(xs, images, color=COLOURS["first"], label="map")
    corners = np.repeat(steps, 2)
    corners = np.stack([corners[:-1], np.append(corners[1], corners[2:])], axis=1)
    ax.plot(*up_to(corners, until).T, color=COLOURS["second"], linewidth=thick(0.5), label="orbit")
    ax.plot(steps[0], steps[0], marker="o", linestyle="none", color=COLOURS["start"], fillstyle="none", label="start")
    for_all(ax, corners)
    ax.set_xlim(xs[0], xs[-1])
    ax.set_xlabel(f"{label} at step $k$")
    ax.set_ylabel(f"{label} at step $k + 1$")


def orbit_diagram(
    ax: Axes,
    parameters: ArrayLike,
    values: ArrayLike,
    *,
    labels: tuple[str, str],
    until: float = 1.0,
    colour: Any = None,
    label: str = "",
    larger: float = 1.0,
) -> Line2D:
    """Draw the values that orbits visit, (parameters, kept), against a parameter; NaN is not drawn.

    Only the share `until` of the parameters is drawn, on axes for all of them.

    Args:
        ax: the axes.
        parameters: the values of the parameter.
        values: the values that are visited.
        labels: labels of the axes.
        until: the share of the parameters that is drawn.
        colour: the colour of the points.
        label: the entry of the points in the legend.
        larger: factor by which the points are larger than usual.

    Raises:
        ValueError: for shapes that do not match.
    """
    x, y = np.asarray(parameters, float), np.asarray(values, float)
    if y.ndim != 2 or len(y) != len(x):
        raise ArgumentError("values", f"have shape ({len(x)}, kept)", f"has shape {y.shape}")
    tint = COLOURS["first"] if colour is None else colour
    line = dots(ax, np.repeat(x, y.shape[1]), up_to(y, until), colour=tint, label=label)
    line.set_markersize(larger * line.get_markersize())
    for_all(ax, np.stack([np.repeat(x, y.shape[1]), y.ravel()], axis=1))
    ax.set_xlim(x.min(), x.max())
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    return line


def _diagonal(ax: Axes, points: np.ndarray) -> None:
    low, high = float(np.nanmin(points)), float(np.nanmax(points))
    ax.plot([low, high], [low, high], color=COLOURS["reference"], linewidth=thick(0.6), linestyle="--", zorder=1.0)

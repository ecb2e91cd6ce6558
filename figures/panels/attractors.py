"""Draw trajectories in three dimensions, and their time series, with names and units."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.style import COLOURS as roles
from figures.style import large, thick

AZIMUTH, ELEVATION = -60.0, 22.0
FEW = 100  # a map with at most this many steps is drawn with lines between them
MARKS = ("o", "s", "^", "x")  # markers that distinguish states of maps in addition to colours


def space_axes(drawn: Figure, place: Any = 111) -> Any:
    """Add three-dimensional axes to a figure, at a place of a grid as for `Figure.add_subplot`."""
    ax = drawn.add_subplot(place, projection="3d")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):  # pyright: ignore[reportAttributeAccessIssue]
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color="#E3E3E3", linewidth=thick(0.4))
    return ax


def attractor(
    ax: Any,
    path: ArrayLike,
    *,
    labels: Sequence[str] = ("$x$", "$y$", "$z$"),
    colour: Any = None,
    dots: bool = False,
    azimuth: float = AZIMUTH,
    until: float = 1.0,
    own: bool = True,
) -> Any:
    """Draw a trajectory in three dimensions, coloured by time from dark to bright.

    Args:
        ax: axes from `space_axes`.
        path: states, (times, 3); nothing is drawn beside NaN.
        labels: labels of the coordinates.
        colour: one colour for the whole trajectory instead.
        dots: draw the states as points, not the lines between them.
        azimuth: azimuth of the viewer, in degrees.
        until: the share of the trajectory that is drawn, on axes for all of it.
        own: whether the view, the ticks and the places of labels are set, too.

    Raises:
        ValueError: for an array of the wrong shape.
    """
    points = np.asarray(path, float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise ArgumentError("path", "have shape (times, 3)", f"has shape {points.shape}")
    shown = points[: max(2, round(until * len(points)))]
    if dots:
        tint = roles["first"] if colour is None else colour
        (made,) = ax.plot(*shown.T, color=tint, marker=".", markersize=large(1.5), linestyle="none")
    else:
        made = Line3DCollection(np.stack([shown[:-1], shown[1:]], axis=1), cmap="cividis", linewidths=thick(0.5))
        if colour is None:
            made.set_array(np.arange(len(shown) - 1) / max(1, len(points) - 2))
            made.set_clim(0.0, 1.0)
        else:
            made.set_color(colour)
        ax.add_collection3d(made)
    for name, values, label in zip("xyz", points.T, labels, strict=True):
        low, high = ends(values)
        pad = 0.03 * (high - low) or 1.0
        getattr(ax, f"set_{name}lim")(low - pad, high + pad)
        getattr(ax, f"set_{name}label")(label, **({"labelpad": -4.0} if own else {}))
        if own:
            getattr(ax, f"{name}axis").set_tick_params(pad=-2.0)
            getattr(ax, f"{name}axis").set_major_locator(_few())
    if own:
        ax.view_init(ELEVATION, azimuth)
        ax.set_box_aspect((1.0, 1.0, 0.8), zoom=0.9)
    if until < 1.0:
        ax.plot(*shown[-1:].T, marker="o", color=roles["second"], markersize=large(3.0))
    return made


def ends(values: ArrayLike) -> tuple[float, float]:
    """The smallest and the largest finite value, or 0 and 0 if there is none."""
    found = np.asarray(values, float)
    found = found[np.isfinite(found)]
    return (float(found.min()), float(found.max())) if found.size else (0.0, 0.0)


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def time_series(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    colour: Any = None,
    label: str | None = None,
    steps: bool = False,
    number: int | None = None,
    until: float = 1.0,
) -> Line2D:
    """Draw a quantity over time, (times,); states of a map are points, joined by lines if they are few.

    Args:
        ax: the axes.
        ts: times, (times,).
        values: the quantity, (times,); nothing is drawn beside NaN.
        colour: the colour; by default the next one of the axes.
        label: name in a legend.
        steps: whether these are states of a map.
        number: number of the quantity among many in the axes, by which line styles or markers alternate.
        until: the share of the times that is drawn.
    """
    times, column = np.asarray(ts, float), np.asarray(values, float)
    shown = max(2, round(until * len(times)))
    style: dict[str, Any] = {"linewidth": thick(0.8)}
    if steps:
        style |= {"marker": ".", "markersize": large(1.5), "linestyle": "none" if len(times) > FEW else "-"}
    if number is not None and steps:
        style |= {"marker": MARKS[number % len(MARKS)], "markersize": large(2.5)}
    elif number is not None:
        style["linestyle"] = STYLES[number % len(STYLES)]
    (line,) = ax.plot(times[:shown], column[:shown], color=colour, label=label, **style)
    return line

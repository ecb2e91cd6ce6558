"""Draw trajectories in three dimensions, and their time series, with names and units."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from numpy.typing import ArrayLike

from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.panels.growing import head_colours
from figures.style import SERIES, colour

AZIMUTH, ELEVATION = -60.0, 22.0
FEW = 100  # a map with at most this many steps is drawn with lines between them
BEYOND = 0.15  # margin above and below, relative to the range of values; an error band may exceed it
MARKS = ("o", "s", "^", "x")  # markers that distinguish states of maps in addition to colours
NAMED = 12  # largest number of components in one panel that are all named in a legend


def space_axes(drawn: Figure, place: Any = 111) -> Any:
    """Add three-dimensional axes to a figure, at a place of a grid as for `Figure.add_subplot`."""
    ax = drawn.add_subplot(place, projection="3d")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):  # pyright: ignore[reportAttributeAccessIssue]
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis._axinfo["grid"].update(color="#E3E3E3", linewidth=0.4)
    return ax


def attractor(
    ax: Any,
    path: ArrayLike,
    *,
    labels: Sequence[str] = ("$x$", "$y$", "$z$"),
    azimuth: float = AZIMUTH,
    until: float = 1.0,
) -> Line3DCollection:
    """Draw a trajectory in three dimensions, coloured by time from dark to bright.

    Args:
        ax: axes from `space_axes`.
        path: states, (times, 3).
        labels: labels of the coordinates.
        azimuth: azimuth of the viewer, in degrees.
        until: the share of the trajectory that is drawn, on axes for all of it.

    Raises:
        ValueError: for an array of the wrong shape.
    """
    points = np.asarray(path, float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise ArgumentError("path", "have shape (times, 3)", f"has shape {points.shape}")
    shown = points[: max(2, round(until * len(points)))]
    lines = Line3DCollection(np.stack([shown[:-1], shown[1:]], axis=1), cmap="cividis", linewidths=0.5)
    lines.set_array(np.arange(len(shown) - 1) / max(1, len(points) - 2))
    lines.set_clim(0.0, 1.0)
    ax.add_collection3d(lines)
    for name, values, label in zip("xyz", points.T, labels, strict=True):
        low, high = ends(values)
        pad = 0.03 * (high - low) or 1.0
        getattr(ax, f"set_{name}lim")(low - pad, high + pad)
        getattr(ax, f"set_{name}label")(label, labelpad=-4.0)
        getattr(ax, f"{name}axis").set_tick_params(pad=-2.0)
        getattr(ax, f"{name}axis").set_major_locator(_few())
    ax.view_init(ELEVATION, azimuth)
    ax.set_box_aspect((1.0, 1.0, 0.8), zoom=0.9)
    if until < 1.0:
        ax.plot(*shown[-1:].T, marker="o", color=colour("second"), markersize=3.0)
    return lines


def ends(values: ArrayLike) -> tuple[float, float]:
    """The smallest and the largest finite value, or 0 and 0 if there is none."""
    found = np.asarray(values, float)
    found = found[np.isfinite(found)]
    return (float(found.min()), float(found.max())) if found.size else (0.0, 0.0)


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def time_series(
    axes: Sequence[Axes],
    ts: ArrayLike,
    values: ArrayLike,
    *,
    labels: Sequence[str],
    xlabel: str = "time $t$",
    error: ArrayLike | None = None,
    steps: bool = False,
    until: float = 1.0,
) -> None:
    """Draw components over time, (times, components), stacked with a common time axis.

    Args:
        axes: one axes object for each component.
        ts: times, (times,).
        values: the components, (times, components).
        labels: labels of the components, with units.
        xlabel: label of the times.
        error: estimated error of each value, drawn as a band around it, (times, components).
        steps: whether these are states of a map, which are drawn as points.
        until: the share of the times that is drawn.
    """
    times, columns = np.asarray(ts, float), np.asarray(values, float).T
    bands = None if error is None else np.asarray(error, float).T
    for number, (ax, column, label) in enumerate(zip(axes, columns, labels, strict=True)):
        tint = colour(SERIES[number % 3])
        shown = max(2, round(until * len(times)))
        ax.plot(times[:shown], column[:shown], color=tint, linewidth=0.8, **_marks(steps, times))
        low, high = ends(column)
        pad = BEYOND * (high - low) or 1.0
        if bands is not None:
            around = column - bands[number], column + bands[number]
            ax.fill_between(times, *around, color=tint, alpha=0.3, linewidth=0.0, label="estimated error")
            if number == 0:
                # above the axes, because data may be anywhere inside
                ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)
        ax.set_ylim(low - pad, high + pad)
        ax.set_ylabel(label)
        ax.set_xlim(times[0], times[-1])
        ax.tick_params(labelbottom=ax is axes[-1])
    axes[-1].set_xlabel(xlabel)


def many_series(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    labels: Sequence[str],
    ylabel: str,
    xlabel: str = "time $t$",
    error: ArrayLike | None = None,
    steps: bool = False,
    until: float = 1.0,
) -> None:
    """Draw many components over time, (times, components), in one panel, from dark to bright.

    Up to twelve components alternate in line style or marker and have labels for a legend; of more, only the first and
    the last are labelled. A band around each component shows its estimated error. The legend states the largest
    estimate, because a narrow band is hidden by the line.

    Args:
        ax: the axes.
        ts: times, (times,).
        values: the components, (times, components).
        labels: labels of the components, with units.
        ylabel: common label of all components.
        xlabel: label of the times.
        error: estimated error of each value, (times, components).
        steps: whether these are states of a map, which are drawn as points.
        until: the share of the times that is drawn, on axes for all of them.
    """
    times, columns = np.asarray(ts, float), np.asarray(values, float).T
    bands = None if error is None else np.asarray(error, float).T
    shown, count = max(2, round(until * len(times))), len(columns)
    tints = head_colours(count)
    for k, (column, label, tint) in enumerate(zip(columns, labels, tints, strict=True)):
        named = label if count <= NAMED or k in (0, count - 1) else None
        of = {"color": tint, "linewidth": 0.8, "label": named} | _marks(steps, times)
        if count <= NAMED and steps:
            of |= {"marker": MARKS[k % len(MARKS)], "markersize": 2.5}
        elif count <= NAMED:
            of["linestyle"] = STYLES[k % len(STYLES)]
        ax.plot(times[:shown], column[:shown], **of)
        if bands is not None:
            around = column - bands[k], column + bands[k]
            said = f"estimated error, at most {np.max(bands):.1e}" if k == count - 1 else None
            ax.fill_between(times, *around, color=tint, alpha=0.3, linewidth=0.0, label=said)
    low, high = ends(columns)
    pad = 0.05 * (high - low) or 1.0
    ax.set_xlim(times[0], times[-1])
    ax.set_ylim(low - pad, high + pad)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def _marks(steps: bool, times: np.ndarray) -> dict[str, Any]:
    """Markers for the points of a map, without lines between them if there are many."""
    joined = "none" if len(times) > FEW else "-"
    return {"marker": ".", "markersize": 1.5, "linestyle": joined} if steps else {}

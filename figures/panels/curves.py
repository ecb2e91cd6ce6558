"""Draw curves over time: one, several, or the quantiles of an ensemble."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import colour as role_colour
from figures.style import large, paler, thick

# distance in points between an axis without tick labels and its label, to align with a neighbour that has them
UNDER_TICKS = 9.0
# line styles that distinguish curves in addition to colours
STYLES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))


def over_time(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    role: str,
    ylabel: str,
    xlabel: str = "time $t$",
    label: str = "",
    style: int = 0,
) -> Line2D:
    """Draw a curve over time.

    Args:
        ax: the axes.
        ts: times, (times,).
        values: the values, (times,).
        role: role of the quantity, which determines the colour.
        ylabel: the quantity, with its unit if it has one.
        xlabel: label of `ts`, with its unit if it has one.
        label: label of the curve in a legend.
        style: index of the line style in `STYLES`.

    Raises:
        ValueError: unless `values` has the shape of `ts`.
    """
    ts, values = _pair(ts, values, 1)
    (line,) = ax.plot(ts, values, color=role_colour(role), linestyle=STYLES[style % len(STYLES)], label=label or None)
    _name(ax, ts, xlabel, ylabel)
    return line


def curves(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    roles: Sequence[str],
    labels: Sequence[str],
    ylabel: str,
    xlabel: str = "time $t$",
) -> list[Line2D]:
    """Draw several curves, (curves, times), with a legend, each in its role's colour and its own line style.

    Raises:
        ValueError: if shapes, roles or labels do not match.
    """
    ts, values = _pair(ts, values, 2)
    if not len(roles) == len(labels) == len(values):
        raise ArgumentError("labels", f"name each of {len(values)} curves to match `roles`", f"has {len(labels)} names")
    rows = zip(values, roles, labels, strict=True)
    lines = [
        over_time(ax, ts, row, role=role, ylabel=ylabel, xlabel=xlabel, label=label, style=number)
        for number, (row, role, label) in enumerate(rows)
    ]
    ax.legend()
    return lines


def bands(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    ylabel: str,
    xlabel: str = "time $t$",
    members: int = 100,
    quantiles: tuple[float, float] = (0.05, 0.95),
) -> Line2D:
    """Draw an ensemble over time: thin curves of members, a band between two quantiles, and the median.

    A member that becomes NaN, because its integration failed, is excluded from the quantiles from then on.

    Args:
        ax: the axes.
        ts: times, (times,).
        values: the values of the members, (members, times).
        ylabel: the quantity, with its unit if it has one.
        xlabel: label of `ts`, with its unit if it has one.
        members: the largest number of members drawn as curves.
        quantiles: lower and upper quantile of the band.

    Raises:
        ValueError: if shapes do not match, or the quantiles do not increase within [0, 1].
    """
    ts, values = _pair(ts, values, 2)
    member_curves(ax, ts, values, members=members)
    quantile_band(ax, ts, values, quantiles=quantiles)
    middle = np.nanmedian(values, axis=0)
    line = over_time(ax, ts, middle, role="median", ylabel=ylabel, xlabel=xlabel, label="median")
    ax.legend()
    return line


def member_curves(
    ax: Axes, ts: ArrayLike, values: ArrayLike, *, members: int = 100, colour: Any = None
) -> LineCollection:
    """Draw the first members of an ensemble, (members, times), as thin pale curves, by default in our colour."""
    ts, values = _pair(ts, values, 2)
    thin = [np.column_stack([ts, row]) for row in values[:members]]
    tint = paler(role_colour("member") if colour is None else to_hex(colour), 0.35 if colour is None else 0.6)
    lines = LineCollection(thin, colors=[tint], linewidths=thick(0.3), zorder=1.0)
    ax.add_collection(lines)
    return lines


def quantile_band(
    ax: Axes,
    ts: ArrayLike,
    values: ArrayLike,
    *,
    quantiles: tuple[float, float] = (0.05, 0.95),
    colour: Any = None,
    what: str = "",
) -> PolyCollection:
    """Draw a band between two quantiles of an ensemble, (members, times), named by them and by the quantity.

    Raises:
        ValueError: if shapes do not match, or the quantiles do not increase within [0, 1].
    """
    ts, values = _pair(ts, values, 2)
    low, high = quantiles
    if not 0 <= low < high <= 1:
        raise ArgumentError("quantiles", "be two increasing numbers in [0, 1]", f"is {quantiles}")
    bottom, top = np.nanquantile(values, [low, high], axis=0)
    text = f"{what}, " * bool(what) + f"{100 * low:.0f} to {100 * high:.0f} % of {len(values)}"
    tint, alpha = (role_colour("band"), 0.4) if colour is None else (colour, 0.25)
    return ax.fill_between(ts, bottom, top, color=tint, alpha=alpha, linewidth=0.0, label=text, zorder=2.0)


def beside(ax: Axes, values: ArrayLike, *, label: str) -> StepPatch:
    """Draw a histogram of values, (members,), to the right of axes, along their vertical axis.

    The number of bins, between the smallest and the largest value, is about the square root of the number of values.
    The area of a bar is the share of values in its bin.

    Args:
        ax: the axes, with limits.
        values: the values, (members,).
        label: label of the density axis.

    Raises:
        ValueError: if there are no values, or one is not finite.
    """
    y = np.asarray(values, float).ravel()
    if not y.size or not np.all(np.isfinite(y)):
        raise ArgumentError("values", "be finite numbers", f"are {y}")
    density, edges = np.histogram(y, bins=max(5, math.ceil(math.sqrt(len(y)))), density=True)
    side = ax.inset_axes((1.03, 0.0, 0.2, 1.0), sharey=ax)
    bars = side.stairs(density, edges, orientation="horizontal", fill=True, color=role_colour("median"))
    side.set_xlim(0.0, 1.05 * float(density.max()))
    side.set_xticks([])
    side.tick_params(labelleft=False)
    side.set_xlabel(label, labelpad=UNDER_TICKS)
    return bars


def with_range(
    ax: Axes, xs: ArrayLike, rows: ArrayLike, *, role: str, ylabel: str, xlabel: str, label: str = "", style: int = 0
) -> Line2D:
    """Draw the mean of repeated curves, (repeats, points), over a band from their minimum to their maximum.

    The other arguments are those of `over_time`, which draws the mean.

    Raises:
        ValueError: if shapes do not match.
    """
    xs, rows = _pair(xs, rows, 2)
    ax.fill_between(xs, rows.min(axis=0), rows.max(axis=0), color=role_colour(role), alpha=0.25, linewidth=0.0)
    return over_time(ax, xs, rows.mean(axis=0), role=role, ylabel=ylabel, xlabel=xlabel, label=label, style=style)


def over_sizes(ax: Axes, sizes: ArrayLike, values: ArrayLike, *, role: str, label: str, style: int = 0) -> Line2D:
    """Draw repeated values, (sizes, repeats), as points, and their means as a line.

    Raises:
        ValueError: if shapes do not match.
    """
    h, rows = np.asarray(sizes, float), np.asarray(values, float)
    if rows.ndim != 2 or rows.shape[0] != len(h):
        raise ArgumentError("values", f"have shape (sizes, repeats) = ({len(h)}, repeats)", f"has {rows.shape}")
    (line,) = ax.plot(h, rows.mean(axis=1), color=role_colour(role), linestyle=STYLES[style % len(STYLES)], label=label)
    marker = ("o", "s", "^", "D")[style % 4]
    ax.plot(np.repeat(h, rows.shape[1]), rows.ravel(), color=role_colour(role), marker=marker, markersize=large(3.0),
            alpha=0.7, linestyle="none")  # fmt: skip
    return line


def _pair(ts: ArrayLike, values: ArrayLike, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    ts, values = np.asarray(ts), np.asarray(values)
    if values.ndim != dimensions or ts.shape != values.shape[-1:]:
        shape = "(times,)" if dimensions == 1 else "(curves, times)"
        raise ArgumentError("values", f"have shape {shape} to match `ts`", f"has {values.shape}, and `ts` {ts.shape}")
    return ts, values


def _name(ax: Axes, ts: np.ndarray, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_xlim(ts[0], ts[-1])

"""Numbers over time: one curve, several, and the spread of an ensemble."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from dynsim.errors import argument_error
from figures.style import colour, paler

STYLES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))  # after colour, a second way to tell curves apart


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
    """Draw one curve and return it.

    Args:
        ax: the axes.
        ts: times, (times,).
        values: (times,).
        role: what it is, which decides its colour.
        ylabel: what is drawn, with its unit if it has one.
        xlabel: the unit of `ts`.
        label: the curve's name in a legend.
        style: the number of the line style.
    """
    ts, values = _pair(ts, values, 1)
    (line,) = ax.plot(ts, values, color=colour(role), linestyle=STYLES[style % len(STYLES)], label=label or None)
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
    """Draw several curves, `values` being (curves, times), each in its role's colour and its own line style."""
    ts, values = _pair(ts, values, 2)
    if not len(roles) == len(labels) == len(values):
        raise argument_error("labels", f"name each of {len(values)} curves, as `roles`", f"has {len(labels)} names")
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
    """Draw an ensemble (members, times): thin curves, the band between two quantiles, and the median; return that.

    A member that is NaN from some time on, since it failed, is left out of the quantiles from there on.
    """
    ts, values = _pair(ts, values, 2)
    low, high = quantiles
    if not 0 <= low < high <= 1:
        raise argument_error("quantiles", "be two increasing numbers in [0, 1]", f"is {quantiles}")
    thin = [np.column_stack([ts, row]) for row in values[:members]]
    ax.add_collection(LineCollection(thin, colors=[paler(colour("member"), 0.35)], linewidths=0.3, zorder=1.0))
    bottom, middle, top = np.nanquantile(values, [low, 0.5, high], axis=0)
    name = f"{100 * low:.0f} to {100 * high:.0f} % of {len(values)}"
    ax.fill_between(ts, bottom, top, color=colour("band"), alpha=0.4, linewidth=0.0, label=name, zorder=2.0)
    line = over_time(ax, ts, middle, role="median", ylabel=ylabel, xlabel=xlabel, label="median")
    ax.legend()
    return line


def _pair(ts: ArrayLike, values: ArrayLike, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    ts, values = np.asarray(ts), np.asarray(values)
    if values.ndim != dimensions or ts.shape != values.shape[-1:]:
        shape = "(times,)" if dimensions == 1 else "(curves, times)"
        raise argument_error("values", f"have shape {shape}, as `ts`", f"has {values.shape}, and `ts` {ts.shape}")
    return ts, values


def _name(ax: Axes, ts: np.ndarray, xlabel: str, ylabel: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_xlim(ts[0], ts[-1])

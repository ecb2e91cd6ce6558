"""Draw growing systems: temperatures and lifetimes of heads, levels against eigenvalues, and forces."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.style import COLOURS, colour, thick

DARKEST, PALEST = 0.0, 0.85  # range of the colour map: the first head is dark, the last still visible on white
NAMED = 11  # largest number of heads that are all named in a legend


def head_colours(count: int) -> np.ndarray:
    """Colours of heads in the order of growth, from dark blue to yellow-green, (count, 4)."""
    return matplotlib.colormaps["viridis"](np.linspace(DARKEST, PALEST, max(count, 2)))[:count]


def temperature_fan(
    ax: Axes,
    ts: ArrayLike,
    temperatures: ArrayLike,
    *,
    least: float,
    xlabel: str = "time $t$",
    colour: Any = None,
    parts: Sequence[str] = ("lines", "least"),
) -> list[Line2D]:
    """Draw the temperatures of heads, (times, heads), above the least one (dotted); NaN where a head does not exist.

    Lines have labels for a legend. If there are many heads, only the first and the last are labelled. `colour` is one
    for all heads, by default they go from dark to bright in the order of growth.

    Raises:
        ValueError: for shapes that do not match.
    """
    times, rows = np.asarray(ts, float), np.asarray(temperatures, float)
    if rows.ndim != 2 or times.shape != rows.shape[:1]:
        raise ArgumentError("temperatures", f"have shape ({times.size}, heads)", f"has shape {rows.shape}")
    shown = [k for k in range(rows.shape[1]) if np.any(np.isfinite(rows[:, k]))]
    colours = list(head_colours(len(shown))) if colour is None else [colour] * len(shown)
    named = shown if len(shown) <= NAMED else [shown[0], shown[-1]]
    lines = [
        ax.plot(times, rows[:, k], color=c, linewidth=thick(0.9), label=f"head {k}" if k in named else None)[0]
        for k, c in zip(shown, colours if "lines" in parts else (), strict=False)
    ]
    if "least" in parts:
        ax.axhline(least, color=COLOURS["bound"], linestyle=":", linewidth=thick(0.7), label="least $T$")
    ax.set(xlabel=xlabel, ylabel="temperature $T$", ylim=(0.0, 1.05 * np.nanmax(rows)))
    return lines


def head_lives(
    ax: Axes, births: ArrayLike, ends: ArrayLike, arrivals: ArrayLike, *, xlabel: str = "time $t$"
) -> list[Line2D]:
    """Draw the lifetime of each head as a bar, with a diamond where its temperature reaches the least one.

    Raises:
        ValueError: for arrays of different lengths.
    """
    start, stop, clips = (np.asarray(values, float) for values in (births, ends, arrivals))
    if not start.shape == stop.shape == clips.shape:
        raise ArgumentError(
            "ends", f"have shape {start.shape} to match `births` and `arrivals`", f"has shape {stop.shape}"
        )
    found = []
    for k, (a, b, c, shade) in enumerate(zip(start, stop, clips, head_colours(len(start)), strict=True)):
        found += ax.plot([a, b], [k + 1, k + 1], color=shade, linewidth=2.2, solid_capstyle="butt")
        ax.plot([a], [k + 1], color=shade, marker="|", markersize=6.0)
        if np.isfinite(c) and c <= b:
            ax.plot([c], [k + 1], color="white", marker="D", markersize=3.2, markeredgecolor="black", zorder=4.0)
    ax.set(xlabel=xlabel, ylabel="head", ylim=(len(start) + 0.6, 0.4))
    ax.set_yticks(range(1, len(start) + 1))
    return found


def levels(ax: Axes, found: ArrayLike, values: ArrayLike, *, threshold: float) -> BarContainer:
    """Draw the levels of heads as bars and eigenvalues as circles, on a logarithmic scale above the threshold."""
    bars, circles = np.asarray(found, float), np.asarray(values, float)
    places = np.arange(1, len(bars) + 1)
    drawn = ax.bar(places, bars, color=colour("follower"), width=0.7, label=r"$\lambda^{(h)}$")
    known = np.arange(1, len(circles) + 1)
    ax.plot(known, circles, color="black", marker="o", markerfacecolor="none", linestyle="none",
            label=r"$\lambda_k$ of $M_a$")  # fmt: skip
    ax.axhline(threshold, color=colour("bound"), linestyle=":", linewidth=0.7)
    ax.set(xlabel="head $h$", ylabel=r"$\lambda$", yscale="log", ylim=(threshold / 3, 2.5 * np.max(circles)))
    return drawn


def forces(ax: Axes, shares: Sequence[float] | ArrayLike, bound: ArrayLike) -> BarContainer:
    """Draw the heads' shares of the force as bars, and the shares predicted by the bound as circles."""
    bars, circles = np.asarray(shares, float), np.asarray(bound, float)
    places = np.arange(1, len(bars) + 1)
    drawn = ax.bar(places, bars, color=colour("follower"), width=0.7, label=r"$\mathcal{F}^{(h)}$")
    ax.plot(places, circles, color="black", marker="o", markerfacecolor="none", linestyle="none",
            label=r"$\propto \lambda^{(h)} / T^2$")  # fmt: skip
    ax.set(xlabel="head $h$", ylabel="share of the force", ylim=(0.0, 1.3 * max(np.max(bars), np.max(circles))))
    return drawn

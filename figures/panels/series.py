"""Draw power spectra, recurrence plots and the outcome of the 0-1 test."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from dynsim._core.types import ArrayLike
from figures.panels.labels import axis_label, symbol
from figures.style import COLOURS, large, thick

FLOOR = 1e-16
"""Least density that is drawn, relative to the largest: less is rounding."""
NARROW = "\N{NARROW NO-BREAK SPACE}"


def spectrum_labels(name: str, unit: str, time_unit: str) -> tuple[str, str]:
    """Labels of the axes of a power spectrum, with the units of frequency and density if they are known."""
    frequency = axis_label("frequency", f"1/{time_unit}" if time_unit else "")
    density = f"{unit}$^2${NARROW}{time_unit}" if unit and time_unit else f"{unit}$^2$" if unit else time_unit
    return frequency, axis_label(f"power density of {symbol(name)}", density)


def power_spectrum(
    ax: Axes,
    frequencies: ArrayLike,
    densities: ArrayLike,
    *,
    labels: tuple[str, str],
    bounds: tuple[float, float] | None = None,
    logarithmic: bool = False,
    colour: Any = None,
) -> None:
    """Draw power densities on a logarithmic axis against frequencies; what is below rounding is not drawn."""
    x, y = np.asarray(frequencies, float), np.asarray(densities, float)
    shown = np.where(y > FLOOR * np.max(y), y, np.nan)
    if logarithmic:
        x, shown = x[1:], shown[1:]
        ax.set_xscale("log")
    ax.set_yscale("log")
    ax.plot(x, shown, color=COLOURS["first"] if colour is None else colour, linewidth=thick(0.6))
    ax.set_xlim(*(bounds or (float(x[0]), float(x[np.flatnonzero(np.isfinite(shown))[-1]]))))
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def peaks(ax: Axes, frequencies: ArrayLike, densities: ArrayLike) -> None:
    """Mark peaks of a power spectrum."""
    ax.plot(frequencies, densities, marker="v", markersize=large(3.0), linestyle="none", color=COLOURS["second"],
            label="peak")  # fmt: skip


def recurrence(ax: Axes, times: ArrayLike, recurrences: ArrayLike, *, label: str, colour: Any = None) -> None:
    """Draw which pairs of states (times, times) recur, in the plane of both times.

    A recurrence covers the square of one sample around its times.
    """
    ts, points = np.asarray(times, float), np.asarray(recurrences, bool)
    half = (ts[1] - ts[0]) / 2
    ends = (ts[0] - half, ts[-1] + half)
    ink = ListedColormap(["white", COLOURS["first"] if colour is None else colour])
    ax.imshow(points.T.astype(float), cmap=ink, vmin=0, vmax=1, origin="lower", extent=(*ends, *ends),
              interpolation="antialiased", aspect="equal")  # fmt: skip
    ax.set_xlabel(label)
    ax.set_ylabel(label)


def correlations(ax: Axes, frequencies: ArrayLike, found: ArrayLike, *, colour: Any = None) -> None:
    """Draw the correlation of the 0-1 test at each frequency c."""
    ax.plot(frequencies, found, marker="o", markersize=large(2.0), linestyle="none",
            color=COLOURS["first"] if colour is None else colour, label=r"$K_c$")  # fmt: skip
    ax.set_ylim(min(-0.1, float(np.min(found)) - 0.1), 1.1)
    ax.set_xlabel("frequency $c$")
    ax.set_ylabel("correlation $K_c$")


def median(ax: Axes, value: float) -> None:
    """Draw the median of the correlations."""
    ax.axhline(value, color=COLOURS["second"], linewidth=thick(0.8), label=f"median $K = {value:.3f}$")

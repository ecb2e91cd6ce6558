"""Draw Lyapunov exponents with standard errors: running estimates, and values against a parameter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.panels.growing_data import for_all, up_to
from figures.panels.shown import usual_limits
from figures.style import COLOURS, SERIES, large, thick

BAND = "standard error at the end"
APART = 5.0  # ratio of sizes above which exponents are drawn in two panels
SURE = 3.0  # number of standard errors by which an exponent differs from zero
MOST_DIGITS = 6  # largest number of digits after the decimal point in a legend


def running_exponents(
    ax: Axes, times: ArrayLike, running: ArrayLike, errors: ArrayLike, *, xlabel: str = "time $t$",
    ylabel: str = "Lyapunov exponents", until: float = 1.0, which: Sequence[int] | None = None,
    parts: Sequence[str] = ("zero", "bands", "lines"), colours: Sequence[Any] | None = None,
) -> None:  # fmt: skip
    """Draw running estimates, (times, k), with the final standard errors as bands around the last values.

    If `until` is less than 1, only this share of the times is drawn, on axes for all of them, with the estimates at its
    end. `which` are the exponents that are drawn, all by default, in their `colours`, by default ours; `parts` are the
    line at zero, the bands and the curves.

    Raises:
        ValueError: for shapes that do not match.
    """
    ts, values, sigma = np.asarray(times, float), np.asarray(running, float), np.asarray(errors, float)
    if values.shape != (len(ts), len(sigma)):
        raise ArgumentError("running", f"have shape ({len(ts)}, {len(sigma)})", f"has shape {values.shape}")
    chosen = range(len(sigma)) if which is None else which
    if "zero" in parts:
        ax.axhline(0.0, color=COLOURS["reference"], linewidth=thick(0.6))
    for place, number in enumerate(chosen):
        row, error = values[:, number], sigma[number]
        tint = COLOURS[SERIES[number % len(SERIES)]] if colours is None else colours[number % len(colours)]
        known = up_to(row, until)
        last = known[np.isfinite(known)][-1:]
        found = float(last[0]) if len(last) else np.nan
        name = rf"$\lambda_{{{number + 1}}} = {measured(found, error) if until >= 1 else f'{found:.4g}'}$"
        if "lines" in parts:
            ax.plot(ts, known, color=tint, label=name, linestyle=STYLES[number % len(STYLES)])
        if "bands" in parts and until >= 1:
            said = BAND if place == 0 else None
            ax.fill_between(ts, row[-1] - error, row[-1] + error, color=tint, alpha=0.25, linewidth=0.0, label=said)
    rows = values[:, list(chosen)]
    within = np.concatenate([rows, rows[-1:] - sigma[list(chosen)], rows[-1:] + sigma[list(chosen)]]).ravel()
    for_all(ax, np.stack([np.full(within.shape, ts[-1]), within], axis=1))
    usual = usual_limits([(column, np.ones(len(ts))) for column in rows.T], within[-2 * len(rows.T) :])
    if usual is not None:  # the first estimates may be far from the others
        ax.set_ylim(*usual)
    ax.set_xlim(0.0, ts[-1])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def groups(values: ArrayLike, errors: ArrayLike) -> list[list[int]]:
    """Group exponents, (k,), for panels: all in one, or those that would look like zero beside the largest apart."""
    sizes, sigma = np.abs(np.asarray(values, float)), np.asarray(errors, float)
    every = list(range(len(sizes)))
    largest = np.max(sizes[np.isfinite(sizes)], initial=0.0)
    small = [k for k in every if APART * sizes[k] < largest]
    if not any(sizes[k] > SURE * sigma[k] for k in small):
        return [every]
    return [small, [k for k in every if k not in small]]


def exponents_against(
    ax: Axes,
    parameters: ArrayLike,
    exponents: ArrayLike,
    errors: ArrayLike,
    *,
    xlabel: str,
    converged: ArrayLike,
    ylabel: str = "Lyapunov exponents",
    until: float = 1.0,
    which: Sequence[int] | None = None,
) -> None:
    """Draw exponents, (parameters, k), against a parameter with two-standard-error bands; open if not converged.

    Only the share `until` of the parameters is drawn, on axes for all of them. `which` are the exponents that are
    drawn, all by default.

    Raises:
        ValueError: for shapes that do not match.
    """
    x, values, sigma = np.asarray(parameters, float), np.asarray(exponents, float), np.asarray(errors, float)
    if values.ndim != 2 or values.shape != sigma.shape or len(values) != len(x):
        raise ArgumentError("exponents", f"have shape ({len(x)}, k) to match `errors`", f"has shape {values.shape}")
    unsteady = ~np.asarray(converged, bool)
    ax.axhline(0.0, color=COLOURS["reference"], linewidth=thick(0.6))
    chosen = list(range(values.shape[1])) if which is None else list(which)
    for place, number in enumerate(chosen):
        row, error, tint = values[:, number], sigma[:, number], COLOURS[SERIES[number % len(SERIES)]]
        known, said = up_to(row, until), "two standard errors" if place == 0 else None
        ax.plot(x, known, color=tint, linewidth=thick(0.8), label=rf"$\lambda_{{{number + 1}}}$")
        ax.fill_between(x, known - 2 * error, known + 2 * error, color=tint, alpha=0.25, linewidth=0.0, label=said)
        if np.any(unsteady):
            ax.plot(x[unsteady], known[unsteady], marker="o", markersize=large(2.5), fillstyle="none",
                    linestyle="none", color=tint, label=None if place else "not converged")  # fmt: skip
    rows, around = values[:, chosen], 2 * sigma[:, chosen]
    within = np.concatenate([rows - around, rows + around])
    for_all(ax, np.stack([np.full(within.size, x[0]), within.ravel()], axis=1))
    usual = usual_limits([(column, np.ones(len(x))) for column in (*(rows - around).T, *(rows + around).T)], rows)
    if usual is not None:  # bands of errors of few runs may be far wider than the others
        ax.set_ylim(*usual)
    ax.set_xlim(x.min(), x.max())
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def measured(value: float, error: float) -> str:
    """A value with its standard error, both rounded to the first digit of the error."""
    if not 0 < error < np.inf:
        return rf"{value:.4g} \pm {error:.1g}"
    error = float(f"{error:.0e}")
    power = int(np.floor(np.log10(error)))
    if power < -MOST_DIGITS:
        factor = f"{error / 10.0**power:.0f}"
        return rf"{value:.{MOST_DIGITS}f} \pm {factor} \cdot 10^{{{power}}}"
    digits = max(0, -power)
    return rf"{round(value, -power):z.{digits}f} \pm {error:.{digits}f}"

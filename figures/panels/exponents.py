"""Draw Lyapunov exponents with standard errors: running estimates, and values against a parameter."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dynsim.errors import ArgumentError
from figures.panels.curves import STYLES
from figures.panels.growing_data import for_all, up_to
from figures.style import SERIES, colour

MOST_DIGITS = 6  # largest number of digits after the decimal point in a legend


def running_exponents(
    ax: Axes, times: ArrayLike, running: ArrayLike, errors: ArrayLike, *, xlabel: str = "time $t$",
    ylabel: str = "Lyapunov exponents", until: float = 1.0,
) -> None:  # fmt: skip
    """Draw running estimates, (times, k), with the final standard errors as bands around the last values.

    If `until` is less than 1, only this share of the times is drawn, on axes for all of them, with the estimates at its
    end.

    Raises:
        ValueError: for shapes that do not match.
    """
    ts, values, sigma = np.asarray(times, float), np.asarray(running, float), np.asarray(errors, float)
    if values.shape != (len(ts), len(sigma)):
        raise ArgumentError("running", f"have shape ({len(ts)}, {len(sigma)})", f"has shape {values.shape}")
    ax.axhline(0.0, color=colour("reference"), linewidth=0.6)
    for number, (row, error) in enumerate(zip(values.T, sigma, strict=True)):
        role = SERIES[number % len(SERIES)]
        known = up_to(row, until)
        last = known[np.isfinite(known)][-1:]
        found = float(last[0]) if len(last) else np.nan
        name = rf"$\lambda_{{{number + 1}}} = {_measured(found, error) if until >= 1 else f'{found:.4g}'}$"
        ax.plot(ts, known, color=colour(role), label=name, linestyle=STYLES[number % len(STYLES)])
        if until >= 1:
            ax.fill_between(ts, row[-1] - error, row[-1] + error, color=colour(role), alpha=0.25, linewidth=0.0)
    within = np.concatenate([values, values[-1:] - sigma, values[-1:] + sigma]).ravel()
    for_all(ax, np.stack([np.full(within.shape, ts[-1]), within], axis=1))
    ax.set_xlim(0.0, ts[-1])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


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
) -> None:
    """Draw exponents, (parameters, k), against a parameter with two-standard-error bands; open if not converged.

    Only the share `until` of the parameters is drawn, on axes for all of them.

    Raises:
        ValueError: for shapes that do not match.
    """
    x, values, sigma = np.asarray(parameters, float), np.asarray(exponents, float), np.asarray(errors, float)
    if values.ndim != 2 or values.shape != sigma.shape or len(values) != len(x):
        raise ArgumentError("exponents", f"have shape ({len(x)}, k) to match `errors`", f"has shape {values.shape}")
    unsteady = ~np.asarray(converged, bool)
    ax.axhline(0.0, color=colour("reference"), linewidth=0.6)
    for number, (row, error) in enumerate(zip(values.T, sigma.T, strict=True)):
        role = SERIES[number % len(SERIES)]
        known = up_to(row, until)
        ax.plot(x, known, color=colour(role), linewidth=0.8, label=rf"$\lambda_{{{number + 1}}}$")
        ax.fill_between(x, known - 2 * error, known + 2 * error, color=colour(role), alpha=0.25, linewidth=0.0)
        ax.plot(x[unsteady], known[unsteady], marker="o", markersize=2.5, fillstyle="none", linestyle="none",
                color=colour(role), label="not converged" if number == 0 and np.any(unsteady) else None)  # fmt: skip
    within = np.concatenate([values - 2 * sigma, values + 2 * sigma])
    for_all(ax, np.stack([np.full(within.size, x[0]), within.ravel()], axis=1))
    ax.set_xlim(x.min(), x.max())
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def _measured(value: float, error: float) -> str:
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

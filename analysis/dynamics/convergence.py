"""Estimate decay rates, orders of convergence and increases of a quantity along a trajectory, with errors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, Scalar, State
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, Scipy
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow

# Number of windows whose slopes give the standard error; residuals of a single fit would underestimate it.
WINDOWS = 5
# Smallest ratio of the residuals of the two decay laws at which one of them is chosen.
CLEARLY = 2.0


class Fit(NamedTuple):
    """Fitted rate with its standard error, the decay law, and the number of values used.

    `law` is `exponential` (values proportional to exp(-rate t), with the rate per time unit), `algebraic` (values
    proportional to t^-rate), or `undecided`, where the rate is that of the exponential fit.
    """

    rate: float
    error: float
    law: str
    num_points: int

    __repr__ = one_line
    __str__ = report


@checked
def decay_rate(ts: ArrayLike, values: ArrayLike, *, floor: float = 1e-12, skip: float = 0.5) -> Fit:
    """Fit the rate at which positive values decay, exponentially or algebraically.

    Values after a transient are used, up to the first that is not above `floor`. The standard error is computed from
    the slopes in five windows, so that it includes a systematic change of the slope.

    >>> import numpy as np
    >>> from analysis.dynamics import decay_rate
    >>> ts = np.linspace(0.0, 10.0, 101)
    >>> fit = decay_rate(ts, 3.0 * np.exp(-2.0 * ts))
    >>> round(fit.rate, 6), fit.law
    (2.0, 'exponential')

    Args:
        ts: increasing times.
        values: the quantity at these times, such as the distance from a limit, or an energy minus its limit.
        floor: level of rounding errors.
        skip: share of the usable time to discard as transient, in [0, 1).

    Raises:
        ValueError: if fewer than 15 values can be used, for times that do not increase, or for values that are NaN.
    """
    t, v = _series(ts, values)
    if not 0 <= skip < 1:
        raise ArgumentError("skip", "lie in [0, 1)", f"is {skip}")
    low = np.flatnonzero(~(v > floor))
    end = int(low[0]) if low.size else len(v)
    used = slice(int(np.searchsorted(t[:end], t[0] + skip * (t[end - 1] - t[0]))) if end else 0, end)
    t, v = t[used], np.log(v[used])
    if len(t) < 3 * WINDOWS:
        raise ArgumentError("values", f"have {3 * WINDOWS} entries above `floor` = {floor} to fit", f"have {len(t)}")
    linear, power = _residual(t, v), _residual(np.log(t), v) if t[0] > 0 else np.inf
    algebraic = power * CLEARLY < linear
    law = "algebraic" if algebraic else "exponential" if linear * CLEARLY < power else "undecided"
    slope, error = _slopes(np.log(t) if algebraic else t, v)
    return Fit(-slope, error, law, len(t))


@checked
def observed_order(step_sizes: ArrayLike, errors: ArrayLike) -> Fit:
    """Estimate the order p of errors proportional to h^p, from the slopes between successive step sizes.

    >>> from analysis.dynamics import observed_order
    >>> fit = observed_order([0.1, 0.05, 0.025], [1e-2, 2.5e-3, 6.25e-4])
    >>> round(fit.rate, 6)
    2.0

    Args:
        step_sizes: at least three positive step sizes, decreasing or increasing.
        errors: the positive error at each step size.

    Raises:
        ValueError: for fewer step sizes, or for values that are not positive and finite.
    """
    h, e = np.asarray(step_sizes, float), np.asarray(errors, float)
    if h.ndim != 1 or h.shape != e.shape or len(h) < 3:
        raise ArgumentError("errors", "have one entry for each of at least three step sizes", f"has shape {e.shape}")
    if not (np.all(h > 0) and np.all(e > 0) and np.all(np.isfinite(e))):
        raise ArgumentError("errors", "be positive and finite, as must the step sizes", "are not")
    slopes = np.diff(np.log(e)) / np.diff(np.log(h))
    return Fit(float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))), "algebraic", len(h))


def _series(ts: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    t, v = np.asarray(ts, float), np.asarray(values, float)
    if t.ndim != 1 or t.shape != v.shape:
        raise ArgumentError("values", f"have shape {t.shape}, as `ts`", f"has shape {v.shape}")
    if np.any(np.diff(t) <= 0):
        raise ArgumentError("ts", "increase", "does not")
    if np.any(np.isnan(v)):
        raise ArgumentError("values", "be numbers", "has NaN (a failed run?)")
    return t, v


def _residual(t: np.ndarray, v: np.ndarray) -> float:
    """Compute the root mean square residual of the least-squares line, plus a bound of rounding errors."""
    line = np.polynomial.Polynomial.fit(t, v, 1)
    return float(np.sqrt(np.mean((v - line(t)) ** 2))) + 1e-13 * float(np.max(np.abs(v)))


def _slopes(t: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    parts = zip(np.array_split(t, WINDOWS), np.array_split(v, WINDOWS), strict=True)
    slopes = [float(np.polynomial.Polynomial.fit(a, b, 1).convert().coef[1]) for a, b in parts]
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(WINDOWS))


class Increase(NamedTuple):
    """Largest increase of a quantity between two saved times, and the numerical `error` of that increase.

    `amount` is the increase from the time `start` to `end`; both times are equal if the quantity never increases.
    """

    amount: float
    start: float
    end: float
    error: float

    __repr__ = one_line
    __str__ = report

    @property
    def nonincreasing(self) -> bool:
        """Whether the quantity never increases by more than the error."""
        return bool(self.amount <= self.error)


@checked
def reference_solution(path: Trajectory, integrator: AbstractIntegrator = Scipy()) -> Trajectory:
    """Recompute a trajectory with another integrator: same flow, initial state and times.

    Args:
        path: the trajectory of a flow.
        integrator: the other integrator; the default is SciPy's DOP853.

    Raises:
        ValueError: for the trajectory of a map, which has no integration error.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import reference_solution
        >>> run = ds.simulate(ds.catalogue.VanDerPol(mu=1.0), [2.0, 0.0], [0.0, 5.0])
        >>> again = reference_solution(run)  # by SciPy's DOP853
        >>> float(np.abs(run.final - again.final).max()) < 1e-7
        True
    """
    if not isinstance(path.system, AbstractFlow):
        raise ArgumentError("path", "come from a flow", "comes from a map, which has no integration error")
    return simulate(path.system, path.initial, path.ts, integrator=integrator)


@checked
def worst_increase(
    path: Trajectory, energy: Callable[[State], Scalar], *, reference: Trajectory | None = None
) -> Increase:
    """Find the largest increase of `energy` from any saved time of a trajectory to any later time.

    The error is twice the largest difference between the energies of the trajectory and of the reference solution, plus
    rounding errors. NumPy: not for `jit`.

    Args:
        path: trajectory of a flow or a map; that of a map has rounding errors only.
        energy: a function of one state.
        reference: the same trajectory from another integrator; the default is `reference_solution(path)`.

    Raises:
        ValueError: unless the energy is one finite number at every time.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import worst_increase
        >>> run = ds.simulate(ds.FunctionFlow(lambda t, x: -x), [1.0, 2.0], np.linspace(0.0, 3.0, 31))
        >>> increase = worst_increase(run, lambda x: jnp.sum(x**2))
        >>> increase.nonincreasing
        True
    """
    values = np.asarray(path.along(energy), float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ArgumentError("energy", "return one finite number at every time", f"returns shape {values.shape[1:]}")
    error = 8 * np.finfo(float).eps * float(np.max(np.abs(values)))
    if isinstance(path.system, AbstractFlow):
        other = np.asarray((reference_solution(path) if reference is None else reference).along(energy), float)
        error += 2 * float(np.max(np.abs(values - other)))
    lowest = np.minimum.accumulate(values)
    end = int(np.argmax(values - lowest))
    start = int(np.argmin(values[: end + 1]))
    return Increase(float(values[end] - values[start]), float(path.ts[start]), float(path.ts[end]), error)

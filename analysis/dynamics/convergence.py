"""Decay rates of a quantity and orders of convergence of an approximation, with standard errors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, State
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, Scipy
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow

WINDOWS = 5  # windows whose slopes give the standard error, which residuals of one fit would underestimate
CLEARLY = 2.0  # one decay law is chosen if its residual is smaller than that of the other by this factor


class Fit(NamedTuple):
    """A fitted rate with its standard error, the decay law, and the number of values used.

    `law` is `exponential` (values proportional to exp(-rate t), with the rate per time unit), `algebraic` (proportional
    to t^-rate) or `undecided`; the rate is then that of the exponential fit.
    """

    rate: float
    error: float
    law: str
    num_points: int

    __repr__ = one_line
    __str__ = report


def decay_rate(ts: ArrayLike, values: ArrayLike, *, floor: float = 1e-12, skip: float = 0.5) -> Fit:
    """Return the rate at which positive values decay, exponentially or algebraically.

    Values are used up to the first that is not above `floor`, after a transient. The standard error is that of the mean
    of the slopes in five windows, so that it includes a systematic change of the slope.

    Args:
        ts: increasing times.
        values: the quantity at these times, such as a distance from a limit, or an energy minus its limit.
        floor: the level of rounding errors.
        skip: the fraction of the usable time that is left out as transient, in [0, 1).

    Raises:
        ValueError: if fewer than 15 values can be used, for times that do not increase, or values that are NaN.
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


def observed_order(step_sizes: ArrayLike, errors: ArrayLike) -> Fit:
    """Return the order p of errors proportional to h^p: the mean slope between successive step sizes on log scales.

    Args:
        step_sizes: at least three, positive, decreasing or increasing.
        errors: the error at each step size, positive.

    Raises:
        ValueError: for fewer, or for values that are not positive and finite.
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
    """Return the root mean square residual of the least-squares line, plus a bound of rounding."""
    line = np.polynomial.Polynomial.fit(t, v, 1)
    return float(np.sqrt(np.mean((v - line(t)) ** 2))) + 1e-13 * float(np.max(np.abs(v)))


def _slopes(t: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    parts = zip(np.array_split(t, WINDOWS), np.array_split(v, WINDOWS), strict=True)
    slopes = [float(np.polynomial.Polynomial.fit(a, b, 1).convert().coef[1]) for a, b in parts]
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(WINDOWS))


class Increase(NamedTuple):
    """The largest increase of a quantity between two saved times, and its numerical `error`.

    `amount` is the increase and `start` and `end` are the times; they are equal if the quantity never increases.
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


def reference_solution(path: Trajectory, integrator: AbstractIntegrator = Scipy()) -> Trajectory:
    """Return the trajectory recomputed with another integrator: same flow, initial state and times.

    Raises:
        ValueError: for the trajectory of a map, which has no integration error.
    """
    if not isinstance(path.system, AbstractFlow):
        raise ArgumentError("path", "come from a flow", "comes from a map, which has no integration error")
    return simulate(path.system, path.initial, path.ts, integrator=integrator)


def worst_increase(
    path: Trajectory, energy: Callable[[State], Scalar], *, reference: Trajectory | None = None
) -> Increase:
    """Return the largest increase of `energy` from any saved time of a trajectory to any later one.

    The error is twice the largest difference between the values along the trajectory and along the reference solution,
    plus rounding. NumPy: not for `jit`.

    Args:
        path: the trajectory of a flow or a map; that of a map has rounding errors only.
        energy: a function of one state.
        reference: the same trajectory by another integrator; by default `reference_solution(path)`.

    Raises:
        ValueError: unless the energy is one finite number at every time.
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

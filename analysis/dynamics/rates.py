"""How fast a quantity decays, and of which order an approximation is, each with a standard error."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynsim.errors import argument_error

WINDOWS = 5  # slopes over this many stretches: their scatter is the standard error, which residuals would understate
CLEARLY = 2.0  # one law is taken if its fit leaves less than half of what the other leaves


class Fit(NamedTuple):
    """A slope with its standard error, which law it belongs to, and how many values were used.

    `law` is `exponential` (values like exp(-rate t), the rate per time unit), `algebraic` (like t^-rate) or
    `undecided`, in which case the rate is that of the exponential.
    """

    rate: float
    error: float
    law: str
    num_points: int


def decay_rate(ts: ArrayLike, values: ArrayLike, *, floor: float = 1e-12, skip: float = 0.5) -> Fit:
    """Return the rate at which positive values decay, exponentially or algebraically.

    Only values above `floor`, up to the first that is not, count, and of these the last part: a value at rounding error
    has no rate. The error is that of a mean of slopes over five stretches: it also sees that a slope still drifts.

    Args:
        ts: increasing times, in the paper's time unit.
        values: at these times, like a distance or an energy above its limit.
        floor: where rounding begins.
        skip: the part of the usable times left out as transient, in [0, 1).

    Raises:
        ValueError: if fewer than 15 values can be used.
    """
    t, v = _series(ts, values)
    if not 0 <= skip < 1:
        raise argument_error("skip", "lie in [0, 1)", f"is {skip}")
    low = np.flatnonzero(~(v > floor))
    end = int(low[0]) if low.size else len(v)
    used = slice(int(np.searchsorted(t[:end], t[0] + skip * (t[end - 1] - t[0]))) if end else 0, end)
    t, v = t[used], np.log(v[used])
    if len(t) < 3 * WINDOWS:
        raise argument_error("values", f"have {3 * WINDOWS} entries above `floor` = {floor} to fit", f"have {len(t)}")
    linear, power = _residual(t, v), _residual(np.log(t), v) if t[0] > 0 else np.inf
    algebraic = power * CLEARLY < linear
    law = "algebraic" if algebraic else "exponential" if linear * CLEARLY < power else "undecided"
    slope, error = _slopes(np.log(t) if algebraic else t, v)
    return Fit(-slope, error, law, len(t))


def observed_order(step_sizes: ArrayLike, errors: ArrayLike) -> Fit:
    """Return the order p of errors like h^p, by slopes between neighbouring steps, and their standard error.

    Args:
        step_sizes: at least three, positive, decreasing or increasing.
        errors: one for each, positive.
    """
    h, e = np.asarray(step_sizes, float), np.asarray(errors, float)
    if h.ndim != 1 or h.shape != e.shape or len(h) < 3:
        raise argument_error("errors", "have one entry for each of at least three step sizes", f"has shape {e.shape}")
    if not (np.all(h > 0) and np.all(e > 0) and np.all(np.isfinite(e))):
        raise argument_error("errors", "be positive and finite, as must the step sizes", "are not")
    slopes = np.diff(np.log(e)) / np.diff(np.log(h))
    return Fit(float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))), "algebraic", len(h))


def _series(ts: ArrayLike, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    t, v = np.asarray(ts, float), np.asarray(values, float)
    if t.ndim != 1 or t.shape != v.shape:
        raise argument_error("values", f"have shape {t.shape}, as `ts`", f"has shape {v.shape}")
    if np.any(np.diff(t) <= 0):
        raise argument_error("ts", "increase", "does not")
    if np.any(np.isnan(v)):
        raise argument_error("values", "be numbers", "has NaN (a failed run?)")
    return t, v


def _residual(t: np.ndarray, v: np.ndarray) -> float:
    """Return the root mean square that the best line leaves, rounding included."""
    line = np.polynomial.Polynomial.fit(t, v, 1)
    return float(np.sqrt(np.mean((v - line(t)) ** 2))) + 1e-13 * float(np.max(np.abs(v)))


def _slopes(t: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    parts = zip(np.array_split(t, WINDOWS), np.array_split(v, WINDOWS), strict=True)
    slopes = [float(np.polynomial.Polynomial.fit(a, b, 1).convert().coef[1]) for a, b in parts]
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(WINDOWS))

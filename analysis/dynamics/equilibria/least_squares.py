"""Least squares from many starts at once by NumPy: the method of Levenberg and Marquardt."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

TOLERANCES = (1e-12, 1e-14)  # relative and absolute, of a step and of the change of the residuals
STEPS = 100
GOOD, BAD = 0.99, 0.01  # shares of the predicted reduction: of a step that allows longer ones, and of one that counts
FLATTEST = 1e-3  # least norm of a derivative by which a residual is divided, relative to the median over the starts
LONGER, SHORTER = 3.5, 0.25  # factors of the radius after such steps


def least_squares(
    residuals: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], starts: Float[np.ndarray, "starts n"]
) -> Float[np.ndarray, "starts n"]:
    """Find a local minimum of a sum of squares near each start; where none is found, the last point.

    Each residual is divided by the norm of its derivative at the start, so that residuals may have any units. The
    components of the points should have sizes of order one. The radius is the reciprocal of the damping, and rules for
    it are those of `optimistix.LevenbergMarquardt`: N. I. M. Gould et al., Sensitivity of trust-region algorithms to
    their parameters (2005).

    Args:
        residuals: the function of points (points, n) that returns residuals (points, m) and their derivatives
            (points, m, n).
        starts: points.
    """
    found = np.array(starts, float)
    which, radius = np.arange(len(found)), np.ones(len(found))
    with np.errstate(all="ignore"):
        r, J = residuals(found)
        slopes = np.sqrt(np.sum(J**2, axis=2))
        known = np.where(np.isfinite(slopes), slopes, 0.0)
        unit = np.maximum(known, FLATTEST * np.median(known, axis=0))
        unit = np.where(unit > 0, unit, 1.0)
        r, J, y = r / unit, J / unit[..., None], found.copy()
        for _ in range(STEPS - 1):
            step = _damped(r, J, radius)
            tried, (r1, J1) = y + step, residuals(y + step)
            r1, J1 = r1 / unit, J1 / unit[..., None]
            predicted = 0.5 * (_squares(np.einsum("kij,kj->ki", J, step) + r) - _squares(r))
            change = 0.5 * (_squares(r1) - _squares(r))
            counts = change <= BAD * predicted
            good = (change < GOOD * predicted) & (predicted < 0)
            radius = radius * np.where(counts, np.where(good, LONGER, 1.0), SHORTER)
            done = counts & _is_small(step, tried) & _is_small(r1 - r, r1)
            y, r = np.where(counts[:, None], tried, y), np.where(counts[:, None], r1, r)
            J = np.where(counts[:, None, None], J1, J)
            found[which] = y
            which, radius = which[~done], radius[~done]
            y, r, J, unit = (part[~done] for part in (y, r, J, unit))
            if not len(which):
                break
    return found


def _squares(r: np.ndarray) -> np.ndarray:
    return np.sum(r**2, axis=1)


def _is_small(change: np.ndarray, value: np.ndarray) -> np.ndarray:
    relative, absolute = TOLERANCES
    return np.max(np.abs(change) / (absolute + relative * np.abs(value)), axis=1) < 1


def _damped(r: np.ndarray, J: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Compute damped Gauss-Newton steps, with a damping of one over the radius; NaN if they do not exist."""
    known = np.all(np.isfinite(J), axis=(1, 2)) & np.all(np.isfinite(r), axis=1)
    left, sizes, right = np.linalg.svd(np.where(known[:, None, None], J, 0.0), full_matrices=False)
    eps, most = np.finfo(float).eps, np.finfo(float).max
    damping = np.where(radius > eps, 1 / np.where(radius > eps, radius, 1.0), most)[:, None]
    weights = sizes / (sizes**2 + damping)
    step = -np.einsum("kji,kj->ki", right, weights * np.einsum("kij,ki->kj", left, r))
    return np.where(known[:, None], step, np.nan)

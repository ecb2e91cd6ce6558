r"""Compute $e^{Qt} p$ by sparse products only: Chebyshev polynomials for reversible chains, uniformisation for all."""

import math

import numpy as np
import scipy.sparse
import scipy.special
from jaxtyping import Float

from dynsim.errors import ArgumentError

EPSILON = float(np.finfo(float).eps)
# Bound of the truncation error.
TAIL = 1e-15
# Number of terms of a series that are added by one matrix product.
BLOCK = 32
# Most coefficients of a series over all times that are kept, about a gigabyte, and products that are begun.
MOST = 10**8
# Distributions, and the error of each.
Solutions = tuple[Float[np.ndarray, "times k"], Float[np.ndarray, " times"]]


def chebyshev_terms(scaled_time: float, norm: float) -> int:
    """Count the terms that give a truncation error below 1e-15; `scaled_time` is exit rate times time.

    `norm` is the factor from the tail of the coefficients to the error.
    """
    depth = math.log(norm / TAIL) + 5
    enough = math.sqrt(2 * scaled_time * depth) + depth  # I_n(z) e^-z < 2 e^(-n^2 / 2 (z + n))
    check_terms("chebyshev", enough, 1)
    enough = int(enough)
    coefficients = 2 * scipy.special.ive(np.arange(enough), scaled_time)
    tails = np.cumsum(coefficients[::-1])[::-1]
    return max(2, int(np.searchsorted(-tails, -TAIL / norm)) + 1)


def by_chebyshev(
    Q: scipy.sparse.csr_array, p: np.ndarray, stationary: np.ndarray, ts: np.ndarray, exit_rate: float
) -> Solutions:
    r"""Compute $e^{Q t} p$ of a reversible chain at several times, (times, k), with a bound of each error.

    With z = t times the largest exit rate, the spectrum of $1 + Q t / z$ lies in [-1, 1] and

    $$ e^{Qt} = e^{-z} \Big( I_0(z) + 2 \sum_n I_n(z)\, T_n(1 + Q t/z) \Big). $$

    It is applied to $p - \pi$. The truncation error is bounded in the norm with weights $1 / \pi$, in which Q is
    symmetric, by the sum of the omitted coefficients times $|p - \pi|_{1/\pi} \max \sqrt{\pi}$. Added to it are
    rounding, z times the largest entry computed, and the deviation of the sum from one before it is corrected by a
    multiple of $\pi$.
    """
    start = p - stationary
    norm = max(1.0, math.sqrt(np.sum(start**2 / stationary) * np.max(stationary)))
    scaled = exit_rate * ts
    terms = chebyshev_terms(float(np.max(scaled)), norm)
    check_terms("chebyshev", terms, len(ts))
    series = 2 * scipy.special.ive(np.arange(terms)[None], scaled[:, None])
    series[:, 0] /= 2
    found, largest = _chebyshev_sum(Q / exit_rate, start, series)
    off = np.sum(found, axis=1)
    found = found - off[:, None] * stationary
    rounding = EPSILON * (scaled + 4) * largest
    return found + stationary, rounding + abs(off) + TAIL


def _chebyshev_sum(Q: scipy.sparse.csr_array, start: np.ndarray, series: np.ndarray) -> tuple[np.ndarray, float]:
    """Compute sum_n series[:, n] T_n(1 + Q) start, and the largest entry of a T_n(1 + Q) start."""
    twice = scipy.sparse.csr_array(2 * (scipy.sparse.eye_array(len(start)) + Q))
    found, kept, largest = np.zeros((len(series), len(start))), [], float(np.max(abs(start)))
    before, now = start, start + Q @ start
    for n in range(series.shape[1]):
        kept.append(before)
        if len(kept) == BLOCK or n == series.shape[1] - 1:
            found += series[:, n + 1 - len(kept) : n + 1] @ np.stack(kept)
            largest = max(largest, float(np.max(abs(before))))
            kept = []
        before, now = now, twice @ now - before
    return found, largest


def by_uniformisation(Q: scipy.sparse.csr_array, p: np.ndarray, ts: np.ndarray, exit_rate: float) -> Solutions:
    r"""Compute $e^{Qt} p = \sum_n e^{-z} z^n / n!\, (1 + Qt / z)^n p$ of any chain at several times, with errors.

    z is t times the largest exit rate. There are no subtractions and no negative entries; the truncation error is a
    tail probability of the Poisson distribution with mean z, and rounding accumulates at most in proportion to the
    number of terms. The number of products is slightly larger than the largest z.
    """
    scaled = exit_rate * ts
    needed = uniformisation_terms(float(np.max(scaled)))
    check_terms("uniformisation", needed, len(ts))
    terms = int(needed)
    series = np.stack([poisson_weights(z, terms) for z in scaled.tolist()])
    stay = scipy.sparse.csr_array(scipy.sparse.eye_array(len(p)) + Q / exit_rate)
    found, kept, now = np.zeros((len(ts), len(p))), [], p
    for k in range(terms):
        kept.append(now)
        if len(kept) == BLOCK or k == terms - 1:
            found += series[:, k + 1 - len(kept) : k + 1] @ np.stack(kept)
            kept = []
        now = stay @ now
        now = now / np.sum(now) if k % BLOCK == 0 else now
    tail = scipy.special.gammainc(terms, scaled)
    total = np.sum(found, axis=1)
    return found / total[:, None], abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(scaled))


def uniformisation_terms(scaled_time: float) -> float:
    """Count the terms of uniformisation; `scaled_time` is exit rate times time."""
    return scaled_time + 12 * math.sqrt(scaled_time) + 40


def check_terms(method: str, terms: float, times: int) -> None:
    """Raise `ValueError` if a method needs more terms for all times than memory and patience allow."""
    if not terms * times <= MOST:
        must = f"need at most {MOST:g} coefficients, as `shift-invert` does"
        raise ArgumentError("method", must, f"is `{method}`, which needs {terms * times:.3g}")


def poisson_weights(mean: float, terms: int) -> Float[np.ndarray, " terms"]:
    """Compute the Poisson probabilities of 0, ..., terms - 1, normalised, by ratios from the mode on."""
    if mean == 0:
        return np.eye(1, terms)[0]
    steps = np.log(mean / np.arange(1, terms))
    mode = min(int(mean), terms - 1)
    falling, rising = np.cumsum(steps[mode:]), np.cumsum(-steps[:mode][::-1])[::-1]
    weights = np.exp(np.concatenate([rising, [0.0], falling]))
    return weights / np.sum(weights)

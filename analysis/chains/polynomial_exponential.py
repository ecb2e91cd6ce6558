r"""$e^{Qt} p$ by sparse products alone: Chebyshev polynomials when reversible, uniformisation for any chain."""

import math

import numpy as np
import scipy.sparse
import scipy.special
from jaxtyping import Float

EPSILON = float(np.finfo(float).eps)
TAIL = 1e-15  # of the series that is left out, in the norm of the bound
BLOCK = 32  # polynomials that are added to the answers by one product
Several = tuple[Float[np.ndarray, "times k"], Float[np.ndarray, " times"]]


def chebyshev_terms(reach: float, spread: float) -> int:
    """Return how many terms leave a tail that times `spread` is below 1e-15; `reach` is exit rate times time."""
    depth = math.log(spread / TAIL) + 5
    enough = int(math.sqrt(2 * reach * depth) + depth)  # I_n(z) e^-z < 2 e^(-n^2 / 2 (z + n))
    coefficients = 2 * scipy.special.ive(np.arange(enough), reach)
    tails = np.cumsum(coefficients[::-1])[::-1]
    return max(2, int(np.searchsorted(-tails, -TAIL / spread)) + 1)


def by_chebyshev(
    Q: scipy.sparse.csr_array, p: np.ndarray, stationary: np.ndarray, ts: np.ndarray, exit_rate: float
) -> Several:
    r"""Return $e^{Q t} p$ of a reversible chain at several times, (times, k), and an error for each, in any entry.

    With z = t times the largest exit rate, the spectrum of $1 + Q t / z$ lies in [-1, 1] and

    $$ e^{Qt} = e^{-z} \Big( I_0(z) + 2 \sum_n I_n(z)\, T_n(1 + Q t/z) \Big). $$

    Applied to $p - \pi$. The tail is bounded in the norm with weights $1 / \pi$, in which Q is symmetric: by the sum
    of what is left out times $|p - \pi|_{1/\pi} \max \sqrt{\pi}$. To it come rounding, z times the largest entry seen,
    and what the sum of the answer is off before a multiple of pi makes it one.
    """
    start = p - stationary
    spread = max(1.0, math.sqrt(np.sum(start**2 / stationary) * np.max(stationary)))
    reaches = exit_rate * ts
    terms = chebyshev_terms(float(np.max(reaches)), spread)
    series = 2 * scipy.special.ive(np.arange(terms)[None], reaches[:, None])
    series[:, 0] /= 2
    found, largest = _chebyshev_sum(Q / exit_rate, start, series)
    off = np.sum(found, axis=1)
    found = found - off[:, None] * stationary
    rounding = EPSILON * (reaches + 4) * largest
    return found + stationary, rounding + abs(off) + TAIL


def _chebyshev_sum(Q: scipy.sparse.csr_array, start: np.ndarray, series: np.ndarray) -> tuple[np.ndarray, float]:
    """Return sum_n series[:, n] T_n(1 + Q) start, and the largest entry of a T_n(1 + Q) start."""
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


def by_uniformisation(Q: scipy.sparse.csr_array, p: np.ndarray, ts: np.ndarray, exit_rate: float) -> Several:
    r"""Return $e^{Qt} p = \sum_n e^{-z} z^n / n!\, (1 + Qt / z)^n p$ of any chain at several times, with errors.

    Nothing is subtracted and no entry is negative; the tail is that of the Poisson law with mean z, and rounding
    accumulates at most in proportion to the number of terms. As many products as the largest z, and a few.
    """
    reaches = exit_rate * ts
    terms = int(np.max(reaches) + 12 * math.sqrt(np.max(reaches)) + 40)
    series = np.stack([poisson_weights(z, terms) for z in reaches.tolist()])
    stay = scipy.sparse.csr_array(scipy.sparse.eye_array(len(p)) + Q / exit_rate)
    found, kept, now = np.zeros((len(ts), len(p))), [], p
    for k in range(terms):
        kept.append(now)
        if len(kept) == BLOCK or k == terms - 1:
            found += series[:, k + 1 - len(kept) : k + 1] @ np.stack(kept)
            kept = []
        now = stay @ now
        now = now / np.sum(now) if k % BLOCK == 0 else now
    tail = scipy.special.gammainc(terms, reaches)
    total = np.sum(found, axis=1)
    return found / total[:, None], abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(reaches))


def poisson_weights(mean: float, terms: int) -> Float[np.ndarray, " terms"]:
    """Return the Poisson probabilities of 0, ..., terms - 1, scaled to sum to one, by their ratios from the mode on."""
    if mean == 0:
        return np.eye(1, terms)[0]
    steps = np.log(mean / np.arange(1, terms))
    mode = min(int(mean), terms - 1)
    falling, rising = np.cumsum(steps[mode:]), np.cumsum(-steps[:mode][::-1])[::-1]
    weights = np.exp(np.concatenate([rising, [0.0], falling]))
    return weights / np.sum(weights)

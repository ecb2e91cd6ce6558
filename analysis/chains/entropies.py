"""Compute the relative entropy to the stationary distribution, its dissipation, and entropies of attention rows."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import entr, rel_entr

from dynsim._core.checked import checked
from dynsim.errors import ArgumentError
from dynsim.systems.master_equation.checks import (
    check_distribution,
    check_generator,
    check_transition,
    entries,
    num_states,
)

# Relative differences below this use a series of five terms, which is more accurate than the logarithm.
NEAR = 1e-3
Distribution = Float[np.ndarray, " k"]


@checked
def relative_entropy(p: Float[np.ndarray, "*batch k"], stationary: Distribution) -> np.ndarray:
    r"""Compute the relative entropy $D(p \| \pi) = \sum_i p_i \log(p_i / \pi_i)$ in nats, over the last axis.

    It is infinite if p is positive where $\pi$ is zero, and NaN if p has a negative entry. Adding $\pi_i - p_i$, which
    sums to zero, makes every term nonnegative and keeps the relative accuracy of small values near $\pi$.

    Args:
        p: distributions, (..., k).
        stationary: the distribution pi, (k,).

    Example:
        >>> import numpy as np
        >>> from analysis.chains import relative_entropy
        >>> round(float(relative_entropy(np.array([1.0, 0.0]), np.array([0.5, 0.5]))), 4)
        0.6931
    """
    p, pi = np.asarray(p, float), np.broadcast_to(np.asarray(stationary, float), np.shape(p))
    y = np.divide(p - pi, pi, out=np.ones(p.shape), where=pi > 0)
    near = abs(y) < NEAR
    close = pi * y**2 * (1 / 2 - y * (1 / 6 - y * (1 / 12 - y * (1 / 20 - y / 30))))
    middle = pi * ((1 + y) * np.log1p(np.clip(y, -0.5, 0.5)) - y)  # p - pi is exact, p log(p / pi) is not
    away = np.where(abs(y) < 0.5, middle, rel_entr(p, pi) - p + pi)
    return np.asarray(np.sum(np.where(p < 0, np.nan, np.where(near, close, away)), axis=-1))


@checked
def dissipation(generator: Any, p: Distribution, stationary: Distribution) -> float:
    r"""Compute the dissipation $-\frac{d}{dt} D(p \| \pi)$ along $\dot p = Q p$, in nats per time unit.

    $$ \sum_{i \ne j} Q_{ij}\, p_j\, \varphi\Big(\frac{p_i \pi_j}{\pi_i p_j}\Big), \quad \varphi(x) = x - 1 - \log x. $$

    No term is negative. It is infinite if probability flows into a state with $p_i = 0$. $\pi$ must be a stationary
    distribution with full support.

    Args:
        generator: Q, (k, k).
        p: distribution at which the dissipation is computed, (k,).
        stationary: the stationary distribution pi of Q, (k,).

    Raises:
        ValueError: if `stationary` has a zero entry, or is not stationary for Q.

    Source: MULTIRATE, Section 6.1.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import dissipation
        >>> Q = np.array([[-1.0, 1.0], [1.0, -1.0]])
        >>> round(dissipation(Q, np.array([0.75, 0.25]), np.array([0.5, 0.5])), 4)  # log(3) / 2
        0.5493
    """
    Q, p, pi = check_generator(generator), np.asarray(p, float), np.asarray(stationary, float)
    if len(pi) != num_states(Q):
        raise ArgumentError("stationary", f"have shape ({num_states(Q)},)", f"has shape {pi.shape}")
    if not np.all(pi > 0):
        raise ArgumentError("stationary", "be positive", f"is {pi[np.argmin(pi)]:.3g} in state {np.argmin(pi)}")
    rows, columns, values = entries(Q)
    away = rows != columns
    i, j, rate = rows[away], columns[away], values[away].astype(float)
    change = np.bincount(i, rate * pi[j], len(pi)) - np.bincount(j, rate * pi[j], len(pi))
    flux = np.bincount(j, rate * pi[j], len(pi))
    if np.any(abs(change) > 1e-6 * np.max(flux, initial=0.0)):
        but = f"changes at the rate {np.max(abs(change)):.3g}"
        raise ArgumentError("stationary", "be stationary for the generator", but)
    relative = p / pi
    # p_j phi(x) tends to p_i pi_j / pi_i as p_j tends to zero.
    some = p[j] > 0
    terms = np.where(some, np.where(some, p[j], 1.0) * _excess(relative[i], relative[j]), pi[j] * relative[i])
    return float(np.sum(rate * terms))


def _excess(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Compute phi(x) = x - 1 - log x at x = top / bottom, accurately near 1 and 0; a zero denominator counts as one."""
    bottom = np.where(bottom > 0, bottom, 1.0)
    y = (top - bottom) / bottom
    close = y**2 * (1 / 2 - y * (1 / 3 - y * (1 / 4 - y * (1 / 5 - y / 6))))
    with np.errstate(divide="ignore"):  # probability flows into a state with none: infinite
        far = y - np.where(y < -0.5, np.log(top / bottom), np.log1p(y))  # 1 + y has few digits near zero
    return np.where(abs(y) < NEAR, close, far)


def attention_entropy(weights: Any) -> Float[np.ndarray, " n"]:
    r"""Compute the entropy $-\sum_j A_{ij} \log A_{ij}$ of each row of an attention matrix, shape (n, n), in nats.

    It measures how spread out the weights of a row are, not the distance from the stationary distribution; for that see
    `relative_entropy`.

    Raises:
        ValueError: unless the matrix is row-stochastic.

    Source: MULTIRATE, Section 8.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import attention_entropy
        >>> attention_entropy(np.array([[0.5, 0.5], [0.25, 0.75]])).round(4).tolist()
        [0.6931, 0.5623]
    """
    A = check_transition(weights)
    dense = (A if isinstance(A, np.ndarray) else A.toarray()).astype(float)
    return np.sum(entr(dense), axis=1) + 0.0  # of one state with weight one the entropy is 0, not -0


@checked
def entropy_rate(weights: Any, stationary: Distribution) -> float:
    r"""Compute $\sum_i \pi_i H_i$, the mean row entropy under the stationary distribution, in nats per step.

    Args:
        weights: row-stochastic matrix, (n, n).
        stationary: its stationary distribution pi, (n,); that the matrix keeps it is not checked.

    Raises:
        ValueError: unless the matrix is row-stochastic, and pi a distribution on its states.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import entropy_rate
        >>> weights = np.array([[0.5, 0.5], [1.0, 0.0]])
        >>> round(entropy_rate(weights, np.array([2 / 3, 1 / 3])), 4)  # log(2) in two of three steps
        0.4621
    """
    entropies = attention_entropy(weights)
    return float(check_distribution(stationary, len(entropies), name="stationary").astype(float) @ entropies)

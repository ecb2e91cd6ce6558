"""Relative entropy along a chain and its dissipation; the entropy of attention rows, which is another quantity."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import rel_entr, xlogy

from dynsim.errors import argument_error
from dynsim.systems.master_equation.checks import check_generator, check_transition, entries

NEAR = 1e-3  # a relative difference below which five terms of a series are more precise than the logarithm
Law = Float[np.ndarray, " k"]


def relative_entropy(p: Float[np.ndarray, "*batch k"], stationary: Law) -> np.ndarray:
    r"""Return $D(p \| \pi) = \sum_i p_i \log(p_i / \pi_i)$, nats, over the last axis; infinite off $\pi$'s support.

    Each term is taken with $\pi_i - p_i$ added, which sums to zero: no term is then negative, and near $\pi$ the small
    difference keeps its relative precision. An entry below zero has no entropy: NaN.
    """
    p, law = np.asarray(p, float), np.broadcast_to(np.asarray(stationary, float), np.shape(p))
    y = np.divide(p - law, law, out=np.ones(p.shape), where=law > 0)
    near = abs(y) < NEAR
    close = law * y**2 * (1 / 2 - y * (1 / 6 - y * (1 / 12 - y * (1 / 20 - y / 30))))
    return np.asarray(np.sum(np.where(p < 0, np.nan, np.where(near, close, rel_entr(p, law) - p + law)), axis=-1))


def dissipation(generator: Any, p: Law, stationary: Law) -> float:
    r"""Return $-\frac{d}{dt} D(p \| \pi)$ along $\dot p = Q p$, in nats per time unit, in closed form.

    $$ \sum_{i \ne j} Q_{ij}\, p_j\, \varphi\Big(\frac{p_i \pi_j}{\pi_i p_j}\Big), \quad \varphi(x) = x - 1 - \log x. $$

    No term is negative and none cancels another. Infinite if mass flows into a state that has none. $\pi$ must be a
    stationary law that charges every state.

    Raises:
        ValueError: for a law with a zero, or that Q does not keep.

    Source: MULTIRATE, Section 6.1.
    """
    Q, p, law = check_generator(generator), np.asarray(p, float), np.asarray(stationary, float)
    if not np.all(law > 0):
        raise argument_error("stationary", "be positive", f"is {law[np.argmin(law)]:.3g} in state {np.argmin(law)}")
    rows, columns, values = entries(Q)
    away = rows != columns
    i, j, rate = rows[away], columns[away], values[away].astype(float)
    moved = np.bincount(i, rate * law[j], len(law)) - np.bincount(j, rate * law[j], len(law))
    flux = np.bincount(j, rate * law[j], len(law))
    if np.any(abs(moved) > 1e-6 * np.max(flux, initial=0.0)):
        raise argument_error("stationary", "be kept by the generator", f"moves at a rate of {np.max(abs(moved)):.3g}")
    relative = p / law
    # p_j phi(x) tends to p_i pi_j / pi_i as p_j tends to zero.
    terms = np.where(p[j] > 0, p[j] * _excess(relative[i], relative[j]), law[j] * relative[i])
    return float(np.sum(rate * terms))


def _excess(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return phi(x) = x - 1 - log x at x = top / bottom, to relative precision near 1; bottom zero counts as one."""
    bottom = np.where(bottom > 0, bottom, 1.0)
    y = (top - bottom) / bottom
    close = y**2 * (1 / 2 - y * (1 / 3 - y * (1 / 4 - y * (1 / 5 - y / 6))))
    with np.errstate(divide="ignore"):  # an empty state that is fed: infinite
        far = y - np.log1p(y)
    return np.where(abs(y) < NEAR, close, far)


def attention_entropy(weights: Any) -> Float[np.ndarray, " n"]:
    r"""Return $-\sum_j A_{ij} \log A_{ij}$ of each row of an attention matrix, in nats: how spread its attention is.

    It says nothing of how near a distribution is to the stationary law: that is `relative_entropy`.

    Source: MULTIRATE, Section 8.
    """
    A = check_transition(weights)
    dense = (A if isinstance(A, np.ndarray) else A.toarray()).astype(float)
    return -np.sum(xlogy(dense, dense), axis=1)


def entropy_rate(weights: Any, stationary: Law) -> float:
    r"""Return $\sum_i \pi_i H_i$, the mean of `attention_entropy` under the stationary law, in nats per step."""
    return float(np.asarray(stationary, float) @ attention_entropy(weights))

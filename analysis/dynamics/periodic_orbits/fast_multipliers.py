"""Compute the multipliers of orbits by collocation whose intervals do not resolve all decay across them."""

from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.collocation.intervals import LARGEST, CycleField, gauss_weights, rule
from analysis.dynamics.periodic_orbits.multipliers import product_eigenvalues, return_factors

# Decay in an interval, as the logarithm of a factor, above which the rule does not give a thousandth of the factor.
LOST = 2.0


def resolved_multipliers(
    field: CycleField,
    begins: Float[np.ndarray, " N"],
    durations: Float[np.ndarray, " N"],
    parameter: float,
    stages: Float[np.ndarray, "N stages n"],
    maps: Float[np.ndarray, "N n n"],
    velocities: Float[np.ndarray, "N n"] | None,
) -> Complex[np.ndarray, " d"]:
    r"""Compute the multipliers by decreasing modulus from the derivatives of the intervals, without the trivial one.

    The rule of an interval turns decay that is fast within it into a rational function, which tends to 1. Multipliers
    of the directions that decay so fast, in any interval, are those of intervals in which these directions are replaced
    by exponentials of the mean derivative of the field. They are then scaled together, so that the product of all
    multipliers is $\exp \oint \mathrm{tr} J$ (Liouville): a single one is exact, of several the product is.

    Args:
        field: the field.
        begins: times at which the intervals begin.
        durations: their durations.
        parameter: the value of the parameter.
        stages: states at the Gauss points.
        maps: derivatives of the ends of the intervals by their beginnings.
        velocities: velocities at the beginnings, None for a forced flow.
    """
    across = lambda factors: factors if velocities is None else return_factors(factors, velocities)
    count, n = stages.shape[1:]
    times = begins[:, None] + durations[:, None] * rule(count).c
    weights = durations[:, None] * gauss_weights(count)
    J = field.at(times, stages, np.asarray(parameter))[1][..., :-1]
    mean = np.einsum("kj,kjab->kab", weights, J)
    total = float(np.sum(np.trace(mean, axis1=1, axis2=2)))
    if n == (1 if velocities is None else 2):
        return np.exp(np.clip(total, -LARGEST, LARGEST))[None] + 0j
    values = product_eigenvalues(across(maps))
    rates: Any
    rates, vectors = np.linalg.eig(mean)
    fast = rates.real < -LOST
    lost = min(int(np.max(np.sum(fast, axis=1))), len(values))
    if not lost:
        return values
    try:
        duals = np.linalg.inv(vectors)
    except np.linalg.LinAlgError:
        return values
    onto = np.real(np.einsum("kaj,kj,kjb->kab", vectors, fast, duals))
    decayed = np.real(
        np.einsum("kaj,kj,kjb->kab", vectors, np.where(fast, np.exp(np.where(fast, rates, 0.0)), 0.0), duals)
    )
    other = product_eigenvalues(across((np.eye(n) - onto) @ maps @ (np.eye(n) - onto) + decayed))
    slow, last = _nearest(values, other[:-lost]), other[-lost:]
    with np.errstate(divide="ignore"):
        gap = total - float(np.sum(np.log(np.abs(np.append(slow, last)))))
    if np.isfinite(gap):
        sizes = np.log(np.abs(last)) + gap / lost
        own = np.abs(last)  # complex quotients of the least numbers overflow, real ones do not
        turns = np.real(last) / own + 1j * (np.imag(last) / own)
        last = turns * np.exp(np.clip(sizes, -LARGEST, LARGEST))
    found = np.append(slow, last)
    return found[np.argsort(-np.abs(found), kind="stable")]


def _nearest(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Choose a value for each of some others, each of them once, so that their distances are small."""
    import scipy.optimize

    if not len(others):
        return others
    apart = np.abs(values[:, None] - others) / np.maximum(
        np.abs(values[:, None]) + np.abs(others), np.finfo(float).tiny
    )
    return values[scipy.optimize.linear_sum_assignment(apart)[0]]

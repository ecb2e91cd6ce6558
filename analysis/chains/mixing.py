"""How long a chain takes to forget its start: the mixing time, measured for small chains and bounded for large ones."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.chains.dense_exponential import conserving, transition_matrix
from analysis.chains.spectra import reversibilised_gap, spectral_gap
from analysis.chains.stationary import stationary_distribution
from dynsim.errors import argument_error
from dynsim.systems.master_equation.checks import Matrix, check_generator, num_states

DENSE = 300  # states up to which e^{Qt} is formed for all starts
FINE = 16  # halvings between the first doubling and the step: a relative width of 2^-16 at most


@dataclass(frozen=True)
class MixingTime:
    r"""The first time at which every start is within `distance` of the stationary law, in total variation.

    It lies in [`lower`, `upper`], in the time unit of the generator. From `relaxation` the two are a bracket of
    measured distances; from `spectrum` they are $\log(1 / 2 d) / g$ and $\log(1 / (2 d \sqrt{\pi_{min}})) / g^*$, g
    being the gap of the chain and g* that of its additive reversibilisation.

    Source: Levin, Peres, Markov Chains and Mixing Times, Sections 12.2 and 20.2, in continuous time.
    """

    lower: float
    upper: float
    distance: float
    method: str


def mixing_time(generator: Any, *, distance: float = 0.25) -> MixingTime:
    """Return the mixing time of a generator, shape (k, k): measured up to 300 states, bounded by its spectrum above.

    Raises:
        ValueError: for several closed classes (there is no law that all starts reach), or a distance outside (0, 1/2).
    """
    if not 0 < distance < 0.5:
        raise argument_error("distance", "lie in (0, 1/2)", f"is {distance}")
    Q = check_generator(generator)
    law = stationary_distribution(Q).probabilities.astype(float)
    if num_states(Q) == 1:
        return MixingTime(0.0, 0.0, distance, "relaxation")
    return _measured(Q, law, distance) if num_states(Q) <= DENSE else mixing_bounds(Q, distance=distance)


def mixing_bounds(generator: Any, *, distance: float = 0.25) -> MixingTime:
    """Return what the spectrum says of the mixing time, for a chain of any size with one closed class."""
    Q = check_generator(generator)
    least = float(np.min(stationary_distribution(Q).probabilities))
    gap = spectral_gap(Q).value
    sideways = reversibilised_gap(Q)
    lower = math.log(1 / (2 * distance)) / gap if gap > 0 else math.inf
    upper = (-math.log(2 * distance) - math.log(least) / 2) / sideways if least > 0 and sideways > 0 else math.inf
    return MixingTime(lower, upper, distance, "spectrum")


def total_variation(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return half of the sum of |p - q| over the last axis."""
    return np.sum(abs(np.asarray(p, float) - np.asarray(q, float)), axis=-1) / 2


def _measured(Q: Matrix, law: np.ndarray, distance: float) -> MixingTime:
    """Return the bracket: double the time until all starts are near, then go back in halves, by products alone."""
    dense = (Q if isinstance(Q, np.ndarray) else Q.toarray()).astype(float)
    far = lambda P: float(np.max(total_variation(P.T, law))) > distance
    step = 1 / float(np.max(-np.diagonal(dense))) / 2**FINE
    powers = [transition_matrix(dense, step)[0]]
    while far(powers[-1]):
        powers.append(conserving(powers[-1] @ powers[-1]))
    before, passed = np.eye(len(dense)), 0
    for n in range(len(powers) - 2, max(-1, len(powers) - 2 - FINE), -1):
        tried = conserving(before @ powers[n])
        if far(tried):
            before, passed = tried, passed + 2**n
    width = 2 ** max(0, len(powers) - 1 - FINE)
    return MixingTime(passed * step, (passed + width) * step, distance, "relaxation")

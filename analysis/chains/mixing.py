"""Compute mixing times of a chain in total variation, or bound them by spectral gaps for large chains."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.chains.dense_exponential import column_stochastic, transition_matrix
from analysis.chains.spectra import gap_of_reversibilisation, spectral_gap
from analysis.chains.stationary import stationary_distribution
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError
from dynsim.systems.master_equation.checks import Matrix, check_generator, num_states

# Largest number of states for which e^{Qt} is formed, for all initial states at once.
DENSE = 300
# Number of bisections of the interval found by doubling, for a relative width of at most 2^-16.
HALVINGS = 16


@dataclass(frozen=True)
class MixingTime:
    r"""Bounds of the first time at which every initial state is within `distance` of the stationary distribution.

    The distance is that of total variation; the time lies in [`lower`, `upper`], in the time unit of the generator.
    With the method `relaxation` the bounds come from computed distances; with `spectrum` they are
    $\log(1 / 2 d) / g$ and $\log(1 / (2 d \sqrt{\pi_{min}})) / g^*$, where d is the distance, g the spectral gap of the
    chain and g* that of its additive reversibilisation.

    Source: Levin, Peres, Markov Chains and Mixing Times, Sections 12.2 and 20.2, in continuous time.
    """

    lower: float
    upper: float
    distance: float
    method: str

    __repr__ = one_line
    __str__ = report


@checked
def mixing_time(generator: Any, *, distance: float = 0.25) -> MixingTime:
    """Compute the mixing time of a generator, shape (k, k), up to 300 states; bound it by spectral gaps above.

    Args:
        generator: Q, (k, k), with one closed class.
        distance: total variation distance to which the slowest initial state must come, between 0 and 1/2.

    Raises:
        ValueError: for several closed classes (the limit depends on the initial state), or a distance outside (0, 1/2).

    Example:
        >>> import numpy as np
        >>> from analysis.chains import mixing_time
        >>> time = mixing_time(np.array([[-1.0, 1.0], [1.0, -1.0]]))  # the distance is exp(-2 t) / 2
        >>> round(time.lower, 4), round(time.upper, 4)
        (0.3466, 0.3466)
    """
    _check_distance(distance)
    Q = check_generator(generator)
    stationary = stationary_distribution(Q).probabilities.astype(float)
    if num_states(Q) == 1:
        return MixingTime(0.0, 0.0, distance, "relaxation")
    return _bracket(Q, stationary, distance) if num_states(Q) <= DENSE else mixing_bounds(Q, distance=distance)


@checked
def mixing_bounds(generator: Any, *, distance: float = 0.25) -> MixingTime:
    """Bound the mixing time by spectral gaps, for a generator, shape (k, k), with one closed class.

    Args:
        generator: Q, (k, k), with one closed class.
        distance: total variation distance, between 0 and 1/2.

    Raises:
        ValueError: for what is no generator, several closed classes, or a distance outside (0, 1/2).

    Example:
        >>> import numpy as np
        >>> from analysis.chains import mixing_bounds
        >>> time = mixing_bounds(np.array([[-1.0, 1.0], [1.0, -1.0]]))
        >>> round(time.lower, 4), round(time.upper, 4)  # log(2) / 2 and 3 log(2) / 4
        (0.3466, 0.5199)
    """
    _check_distance(distance)
    Q = check_generator(generator)
    least = float(np.min(stationary_distribution(Q).probabilities))
    gap, symmetric = spectral_gap(Q), gap_of_reversibilisation(Q)
    fastest, symmetric_gap = gap.value + gap.error, symmetric.value - symmetric.error  # a gap may be rounding error
    lower = math.log(1 / (2 * distance)) / fastest if fastest > 0 else math.inf
    upper = math.inf  # also with transient states, where the gap of the reversibilisation is 0
    if symmetric_gap > 0:
        upper = (-math.log(2 * distance) - math.log(least) / 2) / symmetric_gap
    return MixingTime(lower, upper, distance, "spectrum")


@checked
def total_variation(p: Float[np.ndarray, "*batch k"], q: Float[np.ndarray, "*others k"]) -> np.ndarray:
    """Compute the total variation distance: half of the sum of |p - q| over the last axis.

    Args:
        p: distributions, (..., k).
        q: distributions, (..., k), with other leading axes if these broadcast.

    Raises:
        ValueError: for shapes that do not fit together.

    Example:
        >>> import numpy as np
        >>> from analysis.chains import total_variation
        >>> float(total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
        0.5
    """
    return np.asarray(np.sum(abs(np.asarray(p, float) - np.asarray(q, float)), axis=-1) / 2)


def _check_distance(distance: float) -> None:
    if not 0 < distance < 0.5:
        raise ArgumentError("distance", "lie in (0, 1/2)", f"is {distance}")


def _bracket(Q: Matrix, stationary: np.ndarray, distance: float) -> MixingTime:
    """Bracket the mixing time by doubling the time until all initial states are near, then bisecting."""
    dense = (Q if isinstance(Q, np.ndarray) else Q.toarray()).astype(float)
    far = lambda P: float(np.max(total_variation(P.T, stationary))) > distance
    step = 1 / float(np.max(-np.diagonal(dense))) / 2**HALVINGS
    powers = [transition_matrix(dense, step)[0]]
    while far(powers[-1]):
        powers.append(column_stochastic(powers[-1] @ powers[-1]))
    before, passed = np.eye(len(dense)), 0
    for n in range(len(powers) - 2, max(-1, len(powers) - 2 - HALVINGS), -1):
        tried = column_stochastic(before @ powers[n])
        if far(tried):
            before, passed = tried, passed + 2**n
    width = 2 ** max(0, len(powers) - 1 - HALVINGS)
    return MixingTime(passed * step, (passed + width) * step, distance, "relaxation")

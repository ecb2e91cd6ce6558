"""Lyapunov exponents along given states, as of a trajectory that is kept on the edge of a basin and cannot be run."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.time_map import TimeMap
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.linearisation import tangent_basis
from dynsim.systems.base import AbstractMap

MOST = 8  # exponents
BLOCKS = 8  # of the states, from whose means errors are estimated
SURE = 3.0  # errors: an exponent that is further above zero is positive
NEAR_BY = (10.0, 1e-2)  # pairs of states are at least so many gaps, and at most so many extents apart
LATER = 8  # intervals: states of a pair are at least so far apart in time
PAIRS = 64  # at least, from which a rate is estimated
PART = 0.5  # of the only positive exponent: the least rate at which states of a chaotic set move apart


class EdgeExponents(NamedTuple):
    """The largest exponents, at most eight, per time unit or step, and their standard errors.

    `divergence` is the rate at which states that come near each other move apart, and its standard error.
    """

    values: Float[np.ndarray, " k"]
    errors: Float[np.ndarray, " k"]
    divergence: tuple[float, float] = (math.nan, math.nan)

    @property
    def chaotic(self) -> bool:
        """Whether the trajectory is chaotic beyond doubt: it grows along two directions, or near states move apart.

        With one positive exponent, which every edge has across it, states that come near each other must move apart at
        half of its rate at least: on a torus or in an approach to a cycle they do not.
        """
        rate, error = self.divergence
        return self.positive >= 2 or (self.positive == 1 and rate - SURE * error > PART * float(self.values[0]))

    @property
    def positive(self) -> int:
        """The number of exponents that are above zero beyond doubt."""
        return int(np.sum(self.values > SURE * self.errors))

    def __str__(self) -> str:
        """Return the exponents with their errors."""
        return ", ".join(f"{v:.4g} +- {e:.1g}" for v, e in zip(self.values, self.errors, strict=True))


def exponents_along(time_map: TimeMap, states: Float[np.ndarray, "samples n"], begun: int) -> EdgeExponents:
    """Return the exponents of the derivative of a map over intervals along states, the first quarter left out.

    Args:
        time_map: the system over an interval.
        states: states at successive intervals, up to small gaps.
        begun: the intervals before the first of them, for a forced flow.
    """
    basis = tangent_basis(time_map.system.space, time_map.restored(jnp.asarray(states[0])))
    begins = (begun + np.arange(len(states))) * float(time_map.interval)
    rates = np.asarray(_rates(time_map, jnp.asarray(states), jnp.asarray(begins), jnp.asarray(basis[:, :MOST])))
    values, errors = _means(rates[len(rates) // 4 :])
    order = np.argsort(-values, kind="stable")
    return EdgeExponents(values[order], errors[order])


def divergence(
    features: Float[np.ndarray, "samples m"], extent: Float[np.ndarray, " m"], gap: float, interval: float
) -> tuple[float, float]:
    """Return the rate at which states that come near each other move apart in an interval, and its standard error.

    On a chaotic set it is positive, on a torus zero, and on an approach to a cycle negative. The rate of each state and
    the nearest one of another time is the change of the logarithm of their distance; the error is that of the means of
    blocks. NaN from less than 64 pairs.

    Source: M. T. Rosenstein, J. J. Collins, C. J. De Luca, Physica D 65 (1993).

    Args:
        features: the states of a trajectory after each interval, in coordinates in which distances are measured.
        extent: the size of each coordinate.
        gap: by how much states may be off, in extents.
        interval: its duration.
    """
    scaled, found, nearest = features / extent, [], []
    for k, row in enumerate(scaled[:-1]):
        away = np.max(np.abs(scaled[:-1] - row), axis=1)
        away[max(0, k - LATER + 1) : k + LATER] = np.inf
        away[away < NEAR_BY[0] * gap] = np.inf
        other = int(np.argmin(away))
        if away[other] <= NEAR_BY[1]:
            found.append(k)
            nearest.append(other)
    if len(found) < PAIRS:
        return math.nan, math.nan
    one, other = np.array(found), np.array(nearest)
    before = np.linalg.norm(scaled[one] - scaled[other], axis=1)
    after = np.linalg.norm(scaled[one + 1] - scaled[other + 1], axis=1)
    rates = np.log(np.maximum(after, np.finfo(float).tiny) / before) / interval
    (mean,), (error,) = _means(rates[:, None])
    return float(mean), float(error)


def _means(rates: Float[np.ndarray, "samples k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return the means of rates over the samples and their standard errors, by the means of blocks."""
    blocks = np.stack([np.mean(part, axis=0) for part in np.array_split(rates, BLOCKS)])
    return np.mean(blocks, axis=0), np.std(blocks, axis=0, ddof=1) / np.sqrt(BLOCKS)


@eqx.filter_jit
def _rates(time_map: TimeMap, xs: Array, begins: Array, frame: Array) -> Array:
    """Return the rates at which a frame grows over each interval, (samples, k)."""
    pair, interval = Linearised(time_map.system, time_map.restored(xs[0]), time_map.solver), time_map.interval

    def over(V: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        x, begin = at
        if isinstance(time_map.system, AbstractMap):
            first, steps = jnp.round(begin).astype(int), jnp.round(interval).astype(int)
            V = pair.on_space(*jax.lax.fori_loop(0, steps, lambda k, y: pair.step(first + k, y), (x, V)))[1]
        else:
            V = pair.over(begin, begin + interval, interval / 50, x, V, time_map.rtol)[1]
        Q, R = jnp.linalg.qr(V)
        return Q, jnp.log(jnp.abs(jnp.diagonal(R))) / interval

    return jax.lax.scan(over, frame, (xs, begins))[1]

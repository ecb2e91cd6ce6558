"""Lyapunov exponents along given states, as of a trajectory that is kept on the edge of a basin and cannot be run."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.time_maps import TimeMap
from analysis.dynamics.variations import Linearised
from dynsim.systems.base import AbstractMap

MOST = 8  # exponents
BLOCKS = 8  # of the states, from whose means errors are estimated
SURE = 3.0  # errors: an exponent that is further above zero is positive


class EdgeExponents(NamedTuple):
    """The largest exponents, at most eight, per time unit or step, and their standard errors."""

    values: Float[np.ndarray, " k"]
    errors: Float[np.ndarray, " k"]

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
    blocks = np.stack([np.mean(part, axis=0) for part in np.array_split(rates[len(rates) // 4 :], BLOCKS)])
    values, errors = np.mean(blocks, axis=0), np.std(blocks, axis=0, ddof=1) / np.sqrt(BLOCKS)
    order = np.argsort(-values, kind="stable")
    return EdgeExponents(values[order], errors[order])


@eqx.filter_jit
def _rates(time_map: TimeMap, xs: Array, begins: Array, frame: Array) -> Array:
    """Return the rates at which a frame grows over each interval, (samples, k)."""
    pair, interval = Linearised(time_map.system, time_map.restored(xs[0])), time_map.interval

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

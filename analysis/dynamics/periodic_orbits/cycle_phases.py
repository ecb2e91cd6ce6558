"""The phases of cycles of a map: the states of a periodic orbit, of which a branch of its iterate holds one."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import real_parameter, with_parameter


def phases(
    system: AbstractFlow | AbstractMap,
    where: Callable[[Any], Any],
    states: State,
    parameters: Float[np.ndarray, " points"],
    iterate: int,
) -> list[State]:
    """Return states of cycles of a map with all of their images: as many lists of states as the iterate.

    Args:
        system: the map; the states of a flow have no other phases, and are returned alone.
        where: which leaf of it is the parameter.
        states: one of each cycle, on the first axis of every array.
        parameters: the parameter at each.
        iterate: the period of the cycles, of which that of each is a divisor.
    """
    found = [states]
    if isinstance(system, AbstractMap) and iterate > 1:
        take, _ = real_parameter("where", where, system)
        values = jnp.asarray(np.asarray(parameters, float))
        for k in range(iterate - 1):
            found.append(jax.tree.map(np.asarray, _images(take, system, jnp.asarray(k), found[-1], values)))
    return found


@eqx.filter_jit
def _images(where: Any, system: AbstractMap, k: Array, states: State, parameters: Array) -> State:
    image = lambda x, p: with_parameter(where, system, p).step(k, x)
    return jax.vmap(image)(jax.tree.map(jnp.asarray, states), parameters)

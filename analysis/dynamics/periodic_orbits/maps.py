"""Compute periodic orbits of maps by Newton's method, and their multipliers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.time_map import TimeMap, state_of
from analysis.dynamics.linearisation import eigenvalues, tangent_basis
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.linear_equations import least_squares
from dynsim._core.types import State
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter


def periodic_points(time_map: TimeMap, flat: np.ndarray, period: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the points of a periodic orbit, with the closing error as last row, its multipliers, and a scale.

    The scale is how far the last point moves, at most, where the first one moves by its size or that of the guess.
    """
    guess = flat
    steps = jnp.asarray(period * round(float(time_map.interval)))
    angles = flat_state(time_map.system.space.periods(state_of(time_map, flat)))
    closing = lambda image: nearest(image - flat, angles)  # modulo the periods of angles
    for _ in range(12):
        image, jacobian = (np.asarray(part) for part in _iterate(time_map, jnp.asarray(flat), steps))
        basis = tangent_basis(time_map.system.space, state_of(time_map, flat))
        inside = basis.T @ jacobian @ basis
        move = basis @ least_squares(np.eye(len(inside)) - inside, basis.T @ closing(image), 1e-12)
        flat = np.asarray(_projected(time_map, jnp.asarray(flat + move)))
        if np.all(np.abs(move) <= 1e-15 * np.abs(flat)):
            break
    points = [flat]
    for _ in range(int(steps) - 1):
        points.append(np.asarray(_iterate(time_map, jnp.asarray(points[-1]), jnp.asarray(1))[0]))
    image, jacobian = (np.asarray(part) for part in _iterate(time_map, jnp.asarray(flat), steps))
    basis = tangent_basis(time_map.system.space, state_of(time_map, flat))
    sizes = np.max(np.abs([guess, *points]), axis=0)
    values = np.asarray(eigenvalues(basis.T @ jacobian @ basis), complex)
    return np.stack([*points, closing(image)]), values, sizes + np.abs(jacobian) @ sizes


@eqx.filter_jit
def _iterate(time_map: TimeMap, flat: Array, steps: Array) -> tuple[Array, Array]:
    """Iterate the map, and differentiate the result by the start."""
    system: Any = time_map.system

    def image(x: Array) -> Array:
        once = lambda k, y: ravel_pytree(system.step(k, time_map.restored(y)))[0]
        return jax.lax.fori_loop(0, steps, once, x)

    return image(flat), jax.jacfwd(image)(flat)


@eqx.filter_jit
def _projected(time_map: TimeMap, flat: Array) -> Array:
    return ravel_pytree(time_map.system.space.project(time_map.restored(flat)))[0]


def phases(parameter: Parameter, states: State, values: Float[np.ndarray, " points"], iterate: int) -> list[State]:
    """Apply a map to states of its cycles, until all phases are found: as many lists of states as the iterate.

    Args:
        parameter: that of the map; the states of a flow have no other phases, and are returned alone.
        states: one of each cycle, on the first axis of every array.
        values: the value of the parameter at each.
        iterate: the period of the cycles, of which that of each is a divisor.
    """
    found, system = [states], parameter.system
    if isinstance(system, AbstractMap) and iterate > 1:
        at = jnp.asarray(np.asarray(values, float))
        for k in range(iterate - 1):
            found.append(jax.tree.map(np.asarray, _images(parameter.take, system, jnp.asarray(k), found[-1], at)))
    return found


@eqx.filter_jit
def _images(where: Any, system: AbstractMap, k: Array, states: State, parameters: Array) -> State:
    image = lambda x, p: with_parameter(where, system, p).step(k, x)
    return jax.vmap(image)(jax.tree.map(jnp.asarray, states), parameters)

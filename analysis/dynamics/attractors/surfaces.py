"""Decide whether equilibria lie on one surface of equilibria, by stepping along the surface from one to the other."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from analysis.dynamics.attractors.limit_set import ARRIVED, SURFACE, LimitSet
from analysis.dynamics.flow_maps.angles import OnCircles, entry_extents, whole_turns
from analysis.dynamics.flow_maps.time_map import FEW, TimeMap, state_itself, velocity_of
from analysis.dynamics.linearisation import NEAR_ZERO
from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.host import filled
from dynsim.systems.rescaled import is_flat

# Largest number of steps along a surface.
STEPS = 96
# Length of a step, relative to the extent.
STRIDE = 1 / 16
# Number of Newton corrections back to the surface after each step.
CORRECTIONS = 4
# Largest last correction, relative to the extent, that counts as converged.
EXACT = 1e-7


def can_walk(time_map: TimeMap) -> bool:
    """Test whether surfaces are supported: flows on flat spaces, with states compared directly or as angles."""
    direct = time_map.features is state_itself or isinstance(time_map.features, OnCircles)
    return direct and not time_map.is_map and is_flat(time_map.system.space)


def leads_to(
    time_map: TimeMap, begin: Float[np.ndarray, " n"], xs: Float[np.ndarray, "members n"], extent: np.ndarray
) -> Bool[np.ndarray, " members"]:
    """Test which states lie on the same surface of equilibria as `begin`. NumPy: not for `jit`.

    Newton's method moves each state to a nearby equilibrium, the target. Steps from `begin` then follow the null
    directions of the linearisation towards the target, with corrections back to the surface. All equilibria on the way
    must be of one type, with equally many null and unstable directions. If the steps do not reach the target, another
    path on the surface might; the state then counts as lying on a different surface.
    """
    found = [_leads_to(time_map, begin, xs[k : k + FEW], extent) for k in range(0, len(xs), FEW)]
    return np.concatenate([*found, np.empty(0, bool)])


def among_surfaces(time_map: TimeMap, limit: LimitSet, sets: Sequence[LimitSet], extent: np.ndarray) -> int:
    """Find which of some surfaces of equilibria contains another one; -1 if none does."""
    for place, known in enumerate(sets):
        if known.kind == limit.kind == SURFACE and known.stability == limit.stability:
            one, other = flat_states(known.states), flat_states(limit.states)
            if leads_to(time_map, one[0], other[:1], extent)[0]:
                return place
    return -1


def _leads_to(time_map: TimeMap, begin: np.ndarray, xs: np.ndarray, extent: np.ndarray) -> np.ndarray:
    extent, xs = entry_extents(time_map, extent, len(begin)), xs - whole_turns(time_map, xs - begin)
    some = jnp.asarray(filled(xs, FEW) / extent)
    off, gap, errors, jacobians = (
        np.asarray(part)[: len(xs)] for part in _walk(time_map, jnp.asarray(begin / extent), some, jnp.asarray(extent))
    )
    near = (off <= ARRIVED) & (gap <= EXACT) & (np.max(errors, axis=1) <= EXACT)
    sound = np.all(np.isfinite(jacobians), axis=(1, 2, 3)) & near
    found = np.zeros(len(xs), bool)
    found[sound] = [alike(J) for J in jacobians[sound]]
    return found


def alike(jacobians: Float[np.ndarray, "states n n"]) -> bool:
    """Test whether linearisations have equally many null directions, at least two, and equally many unstable ones.

    The answer is False if there are more zero eigenvalues than null directions, or a pair on the imaginary axis.
    """
    values, sizes = np.linalg.eigvals(jacobians), np.linalg.svd(jacobians, compute_uv=False)
    least = NEAR_ZERO * np.max(sizes, axis=1)[:, None]
    null = np.sum(sizes <= least, axis=1)
    real = np.take_along_axis(np.real(values), np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1)
    across = real[:, : real.shape[1] - null[0]]
    unstable = np.sum(across > least, axis=1)
    decided = np.all(np.abs(across) > least)
    return bool(null[0] > 1 and np.all(null == null[0]) and np.all(unstable == unstable[0]) and decided)


@eqx.filter_jit
def _walk(time_map: TimeMap, begin: Array, xs: Array, extent: Array) -> tuple[Array, Array, Array, Array]:
    """Step from `begin` towards states, and compute offsets, final gaps, corrections and Jacobians, per extent."""
    velocity = velocity_of(time_map)
    field = lambda z: velocity(jnp.zeros(()), z * extent) / extent
    jacobian = jax.jacfwd(field)

    def corrected(z: Array) -> tuple[Array, Array]:
        def once(z: Array, _: Any) -> tuple[Array, Array]:
            move = jnp.linalg.pinv(jacobian(z), rtol=NEAR_ZERO) @ field(z)
            return z - move, jnp.max(jnp.abs(move))

        z, moves = jax.lax.scan(once, z, length=CORRECTIONS)
        return z, moves[-1]

    def one(x: Array) -> tuple[Array, Array, Array, Array]:
        target, error = corrected(x)

        def step(z: Array, _: Any) -> tuple[Array, tuple[Array, Array]]:
            _, sizes, ways = jnp.linalg.svd(jacobian(z))
            along = ways.T @ jnp.where(sizes <= NEAR_ZERO * sizes[0], ways @ (target - z), 0.0)
            length = jnp.linalg.norm(along)
            z, error = corrected(z + along * jnp.minimum(1.0, STRIDE / jnp.maximum(length, STRIDE)))
            return z, (error, jacobian(z))

        z, (errors, jacobians) = jax.lax.scan(step, begin, length=STEPS)
        off, gap = jnp.max(jnp.abs(target - x)), jnp.max(jnp.abs(target - z))
        return off, gap, jnp.append(errors, error), jacobians

    return jax.vmap(one)(xs)

"""Distances of invariant sets, perturbations that come back to them, and the matching of attractors of two systems."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree

from analysis.dynamics.flat_states import flat_states
from analysis.dynamics.limit_sets import LimitSet, Record, states_of
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.time_maps import FEW, WINDOW, TimeMap
from analysis.dynamics.units import power_near
from dynsim.systems.base import AbstractMap

RADII = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # in extents: from where perturbations are to come back
PERTURBED = 32  # perturbations of each size
RETURN = 64  # windows in which they are to do so
DENSER = 32  # windows in which more points of a recurrent set are collected
APART = 1e-4  # of the extent: perturbations of the trajectories that do so
COVERED = 0.9  # of the late samples that are as close to a set as its points are to each other


def extent_of(features: Float[np.ndarray, "points f"]) -> Float[np.ndarray, " f"]:
    """Return the range of each feature, by which distances are measured, or the size of one that is constant.

    One that is always zero has a unit near the sizes of the others, which is 1 if these are of order one.
    """
    ranges, sizes = np.ptp(features, axis=0), np.max(np.abs(features), axis=0)
    floor = 1e-6 * np.max(ranges, initial=0.0)
    rest = max(floor, float(power_near(np.max(sizes, initial=0.0) / 4)))
    varies = ranges > max(floor, 1e-12 * np.max(sizes, initial=0.0))
    return np.where(varies, ranges, np.where(sizes > 0, np.maximum(sizes, floor), rest))


def stays_on(features: np.ndarray, known: LimitSet, extent: np.ndarray) -> bool:
    """Return whether the late samples are all on a known attractor."""
    tail = features[-max(WINDOW, len(features) // 4) :]
    near = KDTree(known.features / extent).query(tail / extent)[0]
    fine = max(known.radius / 4, 2 * resolution(known, extent))
    return bool(np.quantile(near, COVERED) <= fine and np.max(near) <= max(known.radius, fine))


def resolution(known: LimitSet, extent: np.ndarray) -> float:
    """Return how close points of a set are to those that represent it: 0 if it is these points only."""
    if known.period == 0 or len(known.features) < 65 or known.kind == "fixed point":
        return 0.0
    points = known.features / extent
    gaps = KDTree(points).query(points, k=2)[0][:, 1]
    return float(np.quantile(gaps, 0.99))


def widths(record: Record) -> np.ndarray:
    """Return the sizes of perturbations of the entries of a state that change the features by about an extent."""
    return np.full(record.states.shape[1], float(np.median(record.extent)))


def _on_space(time_map: TimeMap, xs: np.ndarray) -> np.ndarray:
    """Return flat states projected to the space."""
    project = lambda x: ravel_pytree(time_map.system.space.project(time_map.restored(x)))[0]
    return np.asarray(jax.vmap(project)(jnp.asarray(xs)))


def denser(time_map: TimeMap, limit: LimitSet) -> LimitSet:
    """Return a recurrent set with more points, from the trajectories of some of its own."""
    flat = flat_states(limit.states)
    some = flat[:: -(-len(flat) // FEW)]
    xs = some + APART * np.ptp(flat, axis=0) * np.random.default_rng(0).normal(size=some.shape)  # or they meet again
    xs, found = _on_space(time_map, xs), []
    for k in range(2 * DENSER):
        states = time_map.window(xs, k * WINDOW)
        xs = states[-1]
        if k >= DENSER:
            found.append(states.reshape(-1, flat.shape[1]))
    points = np.concatenate(found)
    return limit._replace(states=states_of(time_map, points), features=time_map.features_of(points))


def attraction_radius(time_map: TimeMap, limit: LimitSet, extent: np.ndarray, widths: np.ndarray) -> float:
    """Return the largest of `RADII` from which, as from all smaller ones, every perturbation came back; 0 for none."""
    rng = np.random.default_rng(0)
    flat = flat_states(limit.states)
    centres = flat[rng.integers(len(flat), size=(len(RADII), PERTURBED))]
    turned = rng.normal(size=centres.shape)
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    xs = (centres + np.asarray(RADII)[:, None, None] * widths * turned).reshape(-1, flat.shape[1])
    xs = _on_space(time_map, xs)
    tree, fine = KDTree(limit.features / extent), resolution(limit, extent)
    for k in range(RETURN):
        states = time_map.window(xs, k * WINDOW)
        xs = states[-1]
    ends = np.stack([tree.query(np.nan_to_num(time_map.features_of(s) / extent, nan=1e99))[0] for s in states])
    seen = np.quantile(ends, 0.75, axis=0) if np.isnan(limit.period) else np.max(ends, axis=0)
    ends = seen.reshape(len(RADII), PERTURBED)
    bounds = np.maximum(np.asarray(RADII) / 2, 3 * fine)
    good = np.all(ends <= bounds[:, None], axis=1) & (np.asarray(RADII) > 2 * fine)
    tried = np.asarray(RADII) > 2 * fine
    best = 0.0
    for radius, came_back in reversed(list(zip(RADII, good, strict=True))):
        if tried[RADII.index(radius)]:
            if not came_back:
                break
            best = radius
    return best


def keeps_volume(record: Record, few: int = 256) -> bool:
    """Return whether volumes are kept on average along a trajectory, as no attractor with a density can."""
    rows = record.states[:: max(1, len(record.states) // few)]
    bases = [tangent_basis(record.time_map.system.space, record.time_map.restored(jnp.asarray(x))) for x in rows]
    growth, size = (np.asarray(part) for part in _growth(record.time_map, jnp.asarray(rows), jnp.asarray(bases)))
    return abs(float(np.mean(growth))) <= 1e-6 * max(float(np.mean(size)), 1e-300)


@eqx.filter_jit
def _growth(time_map: TimeMap, rows: Array, bases: Array) -> tuple[Array, Array]:
    """Return the rates at which volumes grow, and sizes of the derivative to compare them with."""
    velocity: Callable
    system: Any = time_map.system
    if isinstance(system, AbstractMap):
        velocity = lambda x: ravel_pytree(system.step(jnp.asarray(0), time_map.restored(x)))[0]
    else:
        velocity = lambda x: ravel_pytree(system.vector_field(jnp.zeros(()), time_map.restored(x)))[0]

    def one(x: Array, basis: Array) -> tuple[Array, Array]:
        J = basis.T @ jax.jacfwd(velocity)(x) @ basis
        if isinstance(system, AbstractMap):
            return jnp.linalg.slogdet(J)[1], jnp.asarray(1.0)
        return jnp.trace(J), jnp.linalg.norm(J)

    return jax.vmap(one)(rows, bases)


def set_distance(one: LimitSet, other: LimitSet, extent: Float[np.ndarray, " f"]) -> float:
    """Return the Hausdorff distance of two sets of features, in extents."""
    a, b = one.features / extent, other.features / extent
    return float(max(np.max(KDTree(b).query(a)[0]), np.max(KDTree(a).query(b)[0])))


def match(
    before: Sequence[LimitSet], after: Sequence[LimitSet], extent: Float[np.ndarray, " f"], *, furthest: float = 0.2
) -> list[int]:
    """Return for each attractor of `after` the index of the one of `before` that it continues, -1 for a new one.

    Sets further apart than `furthest` extents are not paired. The pairs have the least sum of distances, where one that
    is left out counts as `furthest`.
    """
    found = [-1] * len(after)
    if before and after:
        costs = np.array([[set_distance(a, b, extent) for b in before] for a in after])
        for row, column in zip(*linear_sum_assignment(np.minimum(costs, furthest)), strict=True):
            if costs[row, column] <= furthest:
                found[row] = int(column)
    return found

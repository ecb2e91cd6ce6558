"""Sizes of the components of a state by what their moves do to the eigenvalues of the Jacobian.

A component is as large as the move that changes the eigenvalues by their own size: these do not depend on units of the
state. One on which they do not depend either is as large as the others make it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.scaling.samples import ranges
from analysis.dynamics.scaling.units import STATES, TIMES, Units, made_units, unit_of
from dynsim._core.types import State, Time
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat

SLOW = 0.03  # of the fastest rate, or of what is found at the bounds: rates that are not less count
CHANGED = 0.5  # of an eigenvalue: by which it changes over a component's size
TYPICAL = 4.0  # units: the size of a component that has a unit by its move
LEAST = TYPICAL / 1024  # size by its move that has the unit 1
ROUGH = (1 / 1024, 4096.0)  # sizes by the other components that have the unit 1
FAR = 1024.0  # times the unit of what moves a component: a unit that is larger is doubtful
ROUNDING = 1e-8  # of the largest range on an orbit: a smaller one may be an error of the solver
FURTHEST = 9  # powers of 1024 within which sizes are looked for
TINY = float(np.finfo(float).tiny)


class Local(NamedTuple):
    """The field and its Jacobian at a state and values of the parameters, and the eigenvalues."""

    field: np.ndarray
    J: np.ndarray
    values: np.ndarray


def trajectory_units(system: Any, state: State, t: Time = 0.0) -> Units:
    """Return units near the sizes that matter on a trajectory from a state, by the Jacobian beside it at a time.

    They are estimated as at an equilibrium, without a parameter.
    """
    if isinstance(system, NoisyFlow):
        return made_units(system)
    pair, (flat, restored) = Linearised(system, state), ravel_pytree(state)

    def local(x: np.ndarray) -> Local | None:
        J = np.asarray(_jacobian(pair, jnp.asarray(x, flat.dtype), jnp.asarray(t, float)), float)
        return Local(np.zeros(len(x)), J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    here = local(np.asarray(flat))
    if here is None:
        return made_units(system)
    rates, scale = LocalRates(here, []), np.ones(())
    if is_flat(system.space):
        sizes = unit_entries(local, np.asarray(flat, float), groups_of(state), here, rates)
        scale = scale_of(restored(jnp.asarray(sizes, flat.dtype)))
    return made_units(system, scale=scale, time=unit_of_rate(rates.fastest))


@eqx.filter_jit
def _jacobian(pair: Linearised, x: Array, t: Array) -> Array:
    """Return the Jacobian of a flow, or the derivative of the displacement by a map."""
    one = jnp.eye(x.shape[0], dtype=x.dtype)
    if isinstance(pair.system, AbstractFlow):
        return pair.field(t, (x, one))[1]
    return pair.step(t.astype(int), (x, one))[1] - one


def scale_of(sizes: State) -> State:
    """Return the units of a state by those of its entries: one for each of a vector, and one of another array."""
    return jax.tree.map(lambda part: np.asarray(part if part.ndim == 1 else part.ravel()[0], float), sizes)


def unit_of_rate(rate: float) -> float:
    """Return the unit of time of a rate."""
    return float(unit_of(1 / rate if rate > 0 else 1.0, TIMES))


def orbit_sizes(flow: AbstractFlow, states: State) -> State:
    """Return the ranges of states on an orbit, on the first axis, on Euclidean space; see `ranges`.

    One that may be that of errors, or is zero, is at least the size that matters on a trajectory from the first state.
    """
    sizes = ranges(states)
    most = max(float(np.max(size, initial=0.0)) for size in jax.tree.leaves(sizes))
    still = jax.tree.map(lambda part: np.max(np.abs(np.asarray(part)), axis=0) == 0, states)
    small = jax.tree.map(
        lambda size, zero: (size < ROUNDING * most) | (zero if np.ndim(size) else np.all(zero)), sizes, still
    )
    if not any(np.any(part) for part in jax.tree.leaves(small)):
        return sizes
    found = trajectory_units(flow, jax.tree.map(lambda part: jnp.asarray(part[0], float), states)).scale
    own = lambda low, size, zero, unit: np.where(
        low, np.where(zero if np.ndim(size) else np.all(zero), TYPICAL * unit, np.fmax(size, TYPICAL * unit)), size
    )
    return jax.tree.map(own, small, sizes, still, found)


def groups_of(state: State) -> list[np.ndarray]:
    """Return the indices in the flat state that have a unit together: each entry of a vector, or all of an array."""
    groups, count = [], 0
    for part in jax.tree.leaves(state):
        size, alone = int(np.size(part)), np.ndim(part) <= 1
        groups += [np.array([count + k]) for k in range(size)] if alone else [np.arange(count, count + size)]
        count += size
    return groups


class LocalRates:
    """Rates at a point: the fastest, one that is not much slower, and what the parameters add to velocities."""

    def __init__(self, here: Local, beyond: list[list[Local | None]]):
        known = [found for pair in beyond for found in pair if found is not None]
        sizes = np.array([np.sort(np.abs(found.values)) for found in (here, *known)])
        self.fastest = max(float(np.max(sizes[0])), SLOW * float(np.max(sizes)))
        self.slow = max(float(np.min(np.max(sizes, axis=0))), SLOW * self.fastest)
        pairs = [[found.field for found in pair if found is not None] for pair in beyond]
        moves = [np.abs(pair[1] - pair[0]) for pair in pairs if len(pair) == 2]
        self.forces = np.nan_to_num(np.max(moves, axis=0)) if moves else np.zeros(len(here.field))


def unit_entries(
    at: Callable[[np.ndarray], Local | None], x: np.ndarray, groups: list[np.ndarray], here: Local, rates: LocalRates
) -> np.ndarray:
    """Return the units of the entries of a flat state.

    Where a component tells nothing, or far less than what moves it, as one that is multiplied by another one that is
    zero, it is looked at once more from where the others have their sizes.
    """
    found = np.array([_unit(_changes(at, x, group, here, rates)) for group in groups])
    driven = _driven(found, groups, here.J, rates)
    doubted = np.isnan(found) | ((driven > 0) & (found > FAR * driven))
    if np.any(doubted) and not np.all(doubted):
        away = x.copy()
        for k in np.flatnonzero(~doubted):
            away[groups[k]] += TYPICAL / 2 * found[k]
        there = at(away)
        for k in np.flatnonzero(doubted):
            found[k] = np.nan if there is None else _unit(_changes(at, away, groups[k], there, rates))
    return _filled(found, x, groups, here.J, rates)


def _changes(
    at: Callable[[np.ndarray], Local | None], x: np.ndarray, group: np.ndarray, here: Local, rates: LocalRates
) -> Callable[[float], bool]:
    """Return whether a move of a size of some entries changes the eigenvalues, as a function of the size."""
    move, force = np.zeros(len(x)), float(np.max(rates.forces[group]))
    move[group] = np.cos(np.arange(len(group)))

    def changes(size: float) -> bool:
        moved = at(x + size * move)
        return moved is None or _differ(here.values, moved.values, max(rates.slow, force / size))

    return changes


def _unit(changes: Callable[[float], bool]) -> float:
    """Return the unit near the least size of moves that change eigenvalues, NaN if none does.

    It is 1 for sizes from `LEAST` to the largest of `STATES`.
    """
    if changes(LEAST):
        return next((1024.0**-k for k in range(1, FURTHEST) if not changes(1024.0**-k / 8)), 1024.0**-FURTHEST)
    if changes(STATES[1]):
        return 1.0
    return next((1024.0**k for k in range(1, FURTHEST) if changes(1024.0**k * 128)), np.nan)


def _differ(before: np.ndarray, after: np.ndarray, least: float) -> bool:
    """Return whether one of some eigenvalues is far from all others, in comparison with them or a least rate."""
    apart = np.abs(before[:, None] - after[None])
    nearest = np.abs(np.append(before, before[np.argmin(apart, axis=0)]))
    return bool(np.any(np.append(np.min(apart, axis=1), np.min(apart, axis=0)) >= CHANGED * np.fmax(nearest, least)))


def _among(groups: list[np.ndarray], J: np.ndarray, rates: LocalRates) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest derivatives of groups of entries by each other, and the rates at which these relax."""
    among = np.array([[np.max(np.abs(J[np.ix_(a, b)])) for b in groups] for a in groups])
    return among - np.diag(np.diag(among)), np.fmax(np.diag(among), SLOW * rates.fastest)


def _driven(units: np.ndarray, groups: list[np.ndarray], J: np.ndarray, rates: LocalRates) -> np.ndarray:
    """Return the units of the sizes to which the others and the parameters bring each component, 0 for none."""
    among, speeds = _among(groups, J, rates)
    forces = np.array([np.max(rates.forces[group]) for group in groups]) / TYPICAL
    return np.fmax(np.max(among * np.nan_to_num(units), axis=1), forces) / np.fmax(speeds, TINY)


def _filled(units: np.ndarray, x: np.ndarray, groups: list[np.ndarray], J: np.ndarray, rates: LocalRates) -> np.ndarray:
    """Return the units of the entries, those not found by what the others and the parameters do to them.

    Else they are by what they do to the others, or by the state itself.
    """
    among, speeds = _among(groups, J, rates)
    rough = units.copy()
    for _ in range(int(np.sum(np.isnan(units)))):
        driven = _driven(rough, groups, J, rates)
        rough = np.where(np.isnan(units) & (driven > 0), driven, rough)
    for k in np.flatnonzero(np.isnan(rough)):
        acted = np.flatnonzero((among[:, k] > 0) & np.isfinite(rough))
        own = float(np.max(np.abs(x[groups[k]]))) / TYPICAL
        rough[k] = np.min(rough[acted] * speeds[acted] / among[acted, k]) if acted.size else own
    units = np.where(np.isnan(units), unit_of(TYPICAL * rough, ROUGH, 1 / TYPICAL), units)
    entries = np.ones(len(x))
    for unit, group in zip(units, groups, strict=True):
        entries[group] = unit
    return entries

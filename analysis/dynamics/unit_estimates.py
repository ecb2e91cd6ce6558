"""Estimates of the units of curves of equilibria and of periodic orbits, from one point and the bounds of parameters.

At an equilibrium a component is as large as the move that changes the eigenvalues of the Jacobian by their own size:
they do not depend on units of the state. One on which they do not depend either is as large as the others make it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.branches import Bifurcation
from analysis.dynamics.equilibrium_curve import derivatives, with_parameter
from analysis.dynamics.orbit_curve import Cycle
from analysis.dynamics.own_units import STATES, TIMES, WIDTHS, CurveUnits, made_units, unit_of
from analysis.dynamics.periodic_orbits import TURN, passed
from analysis.dynamics.units import ranges
from analysis.dynamics.variations import Linearised
from dynsim._types import State, Time
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import real_parameter
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat

SLOW = 0.03  # of the fastest rate, or of what is found at the bounds: rates that are not less count
CHANGED = 0.5  # of an eigenvalue: by which it changes over a component's size
TYPICAL = 4.0  # units: the size of a component that has a unit by its move
ROUGH = (1 / 1024, 4096.0)  # sizes by the other components that have the unit 1
FAR = 1024.0  # times the unit of what moves a component: a unit that is larger is doubtful
TINY = float(np.finfo(float).tiny)
RTOL = 1e-10  # of the solver that finds the states of an orbit, as for `periodic_orbit`
FURTHEST = 9  # powers of 1024 within which sizes are looked for


class Local(NamedTuple):
    """The field and its Jacobian at a state and values of the parameters, and the eigenvalues."""

    field: np.ndarray
    J: np.ndarray
    values: np.ndarray


def curve_units(
    system: Any,
    where: Sequence[Callable[[Any], Any]],
    state: State,
    bounds: Sequence[Any],
    *,
    at: Sequence[float] | None = None,
) -> CurveUnits:
    """Return units near the sizes that matter on a curve of equilibria or fixed points through a state.

    Args:
        system: the flow, or the map.
        where: which leaves are its parameters.
        state: a state on the curve.
        bounds: the least and the largest value of each parameter; what is not two numbers has the unit 1.
        at: the parameters there, by default the system's own.
    """
    taken, own = zip(*(real_parameter("where", take, system) for take in where), strict=True)
    own = own if at is None else tuple(float(value) for value in at)
    ends = [_ends(pair) for pair in bounds]
    units = [float(unit_of(high - low, WIDTHS, 1 / TYPICAL)) for low, high in ends]
    if isinstance(system, NoisyFlow):
        return made_units(system, taken, 1.0, 1.0, units)
    flat, restored = ravel_pytree(jax.tree.map(lambda part: jnp.asarray(part, float), state))

    def local(x: np.ndarray, values: Sequence[float]) -> Local | None:
        moved = system
        for take, value in zip(taken[1:], values[1:], strict=True):
            moved = with_parameter(take, moved, jnp.asarray(value, float))
        found = derivatives(taken[0], moved, restored(jnp.asarray(x)), jnp.asarray(values[0], float))
        field, J = (np.asarray(part, float) for part in found[:2])
        return Local(field, J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    here = local(np.asarray(flat), own)
    if here is None:
        return made_units(system, taken, 1.0, 1.0, units)
    beyond = [[local(np.asarray(flat), (*own[:k], end, *own[k + 1 :])) for end in pair] for k, pair in enumerate(ends)]
    rates = _Rates(here, beyond)
    sizes, scale = np.ones(len(flat)), np.ones(())
    if is_flat(system.space):
        groups = _groups(state)
        sizes = _sizes(lambda x: local(x, own), np.asarray(flat), groups, here, rates)
        scale = _scale(restored(jnp.asarray(sizes)))
    rate = max(rates.fastest, SLOW * float(np.max(rates.forces / (TYPICAL * sizes), initial=0.0)))
    return made_units(system, taken, scale, _of_rate(rate), units)


def trajectory_units(system: Any, state: State, t: Time = 0.0) -> CurveUnits:
    """Return units near the sizes that matter on a trajectory from a state, by the Jacobian beside it at a time.

    They are estimated as at an equilibrium, without a parameter.
    """
    if isinstance(system, NoisyFlow):
        return made_units(system, (), 1.0, 1.0, ())
    pair, (flat, restored) = Linearised(system, state), ravel_pytree(state)

    def local(x: np.ndarray) -> Local | None:
        J = np.asarray(_jacobian(pair, jnp.asarray(x, flat.dtype), jnp.asarray(t, float)), float)
        return Local(np.zeros(len(x)), J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    here = local(np.asarray(flat))
    if here is None:
        return made_units(system, (), 1.0, 1.0, ())
    rates, scale = _Rates(here, []), np.ones(())
    if is_flat(system.space):
        sizes = _sizes(local, np.asarray(flat, float), _groups(state), here, rates)
        scale = _scale(restored(jnp.asarray(sizes, flat.dtype)))
    return made_units(system, (), scale, _of_rate(rates.fastest), ())


@eqx.filter_jit
def _jacobian(pair: Linearised, x: Array, t: Array) -> Array:
    """Return the Jacobian of a flow, or the derivative of the displacement by a map."""
    one = jnp.eye(x.shape[0], dtype=x.dtype)
    if isinstance(pair.system, AbstractFlow):
        return pair.field(t, (x, one))[1]
    return pair.step(t.astype(int), (x, one))[1] - one


def _scale(sizes: State) -> State:
    """Return the units of a state by those of its entries: one for each of a vector, and one of another array."""
    return jax.tree.map(lambda part: np.asarray(part if part.ndim == 1 else part.ravel()[0], float), sizes)


def _of_rate(rate: float) -> float:
    """Return the unit of time of a rate."""
    return float(unit_of(1 / rate if rate > 0 else 1.0, TIMES))


def orbit_units(
    flow: AbstractFlow, where: Sequence[Callable[[Any], Any]], cycle: Cycle, bounds: Sequence[Any]
) -> CurveUnits:
    """Return units near the ranges of the states of a periodic orbit, its period, and the ranges of parameters.

    An orbit of one or two nodes is followed from the first one.
    """
    taken = [real_parameter("where", take, flow)[0] for take in where]
    widths = [float(unit_of(high - low, WIDTHS, 1 / TYPICAL)) for low, high in map(_ends, bounds)]
    nodes, period, scale = cycle.nodes, float(cycle.period), np.ones(())
    if is_flat(flow.space):
        if len(jax.tree.leaves(nodes)[0]) < 3:
            start = jax.tree.map(lambda part: jnp.asarray(part[0], float), nodes)
            nodes = passed(Linearised(flow, start), ravel_pytree(start)[0], period, jnp.asarray(RTOL))
        scale = jax.tree.map(lambda size: unit_of(size, STATES, 1 / TYPICAL), ranges(nodes))
    return made_units(flow, taken, scale, _turn(period), widths)


def hopf_units(flow: AbstractFlow, where: Callable[[Any], Any], at: Bifurcation, bounds: Any) -> CurveUnits:
    """Return units near the sizes at a Hopf point, and the period of the orbits that begin there."""
    take, _ = real_parameter("where", where, flow)
    found = curve_units(flow, (take,), at.state, (bounds,), at=(at.parameter,))
    return made_units(flow, [take], found.scale, _turn(2 * np.pi / at.frequency), found.parameters)


def _turn(period: float) -> float:
    return float(unit_of(period / TURN, TIMES))


def _ends(pair: Any) -> tuple[float, float]:
    """Return two numbers; twice not a number for anything else."""
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        return np.nan, np.nan
    return low, high


def _groups(state: State) -> list[np.ndarray]:
    """Return the indices in the flat state that have a unit together: each entry of a vector, or all of an array."""
    groups, count = [], 0
    for part in jax.tree.leaves(state):
        size, alone = int(np.size(part)), np.ndim(part) <= 1
        groups += [np.array([count + k]) for k in range(size)] if alone else [np.arange(count, count + size)]
        count += size
    return groups


class _Rates:
    """Rates at a point: the fastest, one that is not much slower, and what the parameters add to velocities."""

    def __init__(self, here: Local, beyond: list[list[Local | None]]):
        known = [found for pair in beyond for found in pair if found is not None]
        sizes = np.array([np.sort(np.abs(found.values)) for found in (here, *known)])
        self.fastest = max(float(np.max(sizes[0])), SLOW * float(np.max(sizes)))
        self.slow = max(float(np.min(np.max(sizes, axis=0))), SLOW * self.fastest)
        pairs = [[found.field for found in pair if found is not None] for pair in beyond]
        moves = [np.abs(pair[1] - pair[0]) for pair in pairs if len(pair) == 2]
        self.forces = np.nan_to_num(np.max(moves, axis=0)) if moves else np.zeros(len(here.field))


def _sizes(
    at: Callable[[np.ndarray], Local | None], x: np.ndarray, groups: list[np.ndarray], here: Local, rates: _Rates
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
    at: Callable[[np.ndarray], Local | None], x: np.ndarray, group: np.ndarray, here: Local, rates: _Rates
) -> Callable[[float], bool]:
    """Return whether a move of a size of some entries changes the eigenvalues, as a function of the size."""
    move, force = np.zeros(len(x)), float(np.max(rates.forces[group]))
    move[group] = np.cos(np.arange(len(group)))

    def changes(size: float) -> bool:
        moved = at(x + size * move)
        return moved is None or _differ(here.values, moved.values, max(rates.slow, force / size))

    return changes


def _unit(changes: Callable[[float], bool]) -> float:
    """Return the unit near the least size of moves that change eigenvalues, NaN if none does; 1 within `STATES`."""
    if changes(STATES[0]):
        return next((1024.0**-k for k in range(1, FURTHEST) if not changes(1024.0**-k / 8)), 1024.0**-FURTHEST)
    if changes(STATES[1]):
        return 1.0
    return next((1024.0**k for k in range(1, FURTHEST) if changes(1024.0**k * 128)), np.nan)


def _differ(before: np.ndarray, after: np.ndarray, least: float) -> bool:
    """Return whether one of some eigenvalues is far from all others, in comparison with them or a least rate."""
    apart = np.abs(before[:, None] - after[None])
    nearest = np.abs(np.append(before, before[np.argmin(apart, axis=0)]))
    return bool(np.any(np.append(np.min(apart, axis=1), np.min(apart, axis=0)) >= CHANGED * np.fmax(nearest, least)))


def _among(groups: list[np.ndarray], J: np.ndarray, rates: _Rates) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest derivatives of groups of entries by each other, and the rates at which these relax."""
    among = np.array([[np.max(np.abs(J[np.ix_(a, b)])) for b in groups] for a in groups])
    return among - np.diag(np.diag(among)), np.fmax(np.diag(among), SLOW * rates.fastest)


def _driven(units: np.ndarray, groups: list[np.ndarray], J: np.ndarray, rates: _Rates) -> np.ndarray:
    """Return the units of the sizes to which the others and the parameters bring each component, 0 for none."""
    among, speeds = _among(groups, J, rates)
    forces = np.array([np.max(rates.forces[group]) for group in groups]) / TYPICAL
    return np.fmax(np.max(among * np.nan_to_num(units), axis=1), forces) / np.fmax(speeds, TINY)


def _filled(units: np.ndarray, x: np.ndarray, groups: list[np.ndarray], J: np.ndarray, rates: _Rates) -> np.ndarray:
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

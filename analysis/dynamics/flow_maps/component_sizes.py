"""Estimate the scale of each component of a state from its effect on the eigenvalues of the Jacobian.

The scale of a component is the displacement that changes the eigenvalues by their own size, since eigenvalues do not
depend on the units of the state. If a component has no effect on them, its scale follows from the other components.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.scaling.linear_equations import balanced
from analysis.dynamics.scaling.samples import ranges
from analysis.dynamics.scaling.units import STATES, TIMES, WIDTHS, Units, made_units, unit_of
from analysis.dynamics.sparse.matrices import SparseMatrix, row_sizes
from dynsim._core.types import State, Time
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Rates below this share of the fastest rate, or of the fastest at the ends of the parameter ranges, are ignored.
SLOW = 0.03
# Relative change of an eigenvalue over the scale of a component.
CHANGED = 0.5
# Scale of a component, in its unit, when it is found from its displacement.
TYPICAL = 4.0
# Smallest scale found from a displacement that keeps the unit 1.
LEAST = TYPICAL / 1024
# Ratio of successive units found from displacements.
BASE = 32.0
# Ratio of successive displacements that are tried in between: Hill's function of order 10 is steep over this ratio.
FINE = 1.7
# Largest displacement below which those in between are tried; from zero, they are down to this power of the base.
LARGE, SMALL = 1e8, 7
# Largest number of components whose units are found from one displacement each.
MANY = 24
# Rates below this share of the fastest are rounding errors.
NONE = 1e-14
# Scales found from other components that keep the unit 1.
ROUGH = (1 / 1024, 4096.0)
# Largest ratio of a component's unit to the unit that its driving terms suggest; larger units are checked again.
FAR = 1024.0
# Largest ratio of an equation to the same one nearby: that of derivatives which nearly underflow says nothing.
FARTHEST = 1e100
# Ranges on an orbit below this share of the largest range may be errors of the solver.
ROUNDING = 1e-8
# Rounding errors of a state whose effect on velocities is no force of a parameter.
ROUNDED = 16
# Shares of a displacement that are tried, too: after whole turns of an angle the eigenvalues are the same.
SHARES = (1.0, 0.79, 0.61)
# Largest power of the base that is tried as a scale.
FURTHEST = 18
# Share of a period that is near the unit of time.
TURN = 16
TINY = float(np.finfo(float).tiny)
HUGE = float(np.finfo(float).max) / TYPICAL


class Local(NamedTuple):
    """Vector field, Jacobian and eigenvalues at a state and parameter values; of a sparse one the rightmost ones."""

    field: np.ndarray
    J: Any
    values: np.ndarray


def trajectory_units(system: Any, state: State, t: Time = 0.0) -> Units:
    """Choose units near the scales of a trajectory that starts at a state, from the Jacobian near it at a time.

    They are estimated as at an equilibrium, without a parameter.
    """
    if isinstance(system, NoisyFlow):
        return made_units(system)
    pair, (flat, restored) = Linearised(system, state), ravel_pytree(state)

    def local(x: np.ndarray) -> Local | None:
        J = np.asarray(_jacobian(pair, jnp.asarray(x, flat.dtype), jnp.asarray(t, float), flat), float)
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
def _jacobian(pair: Linearised, x: Array, t: Array, start: Array) -> Array:
    """Compute the Jacobian of a flow, or of the displacement by a map.

    Of a field that jumps on surfaces of states it is that of the piece at the start.
    """
    if pair.switched is not None:
        piece, modes = pair.switched, pair.switched.at(t, start, None)[2]
        return jax.jacfwd(lambda z: piece.at(t, z, modes)[0])(x)
    one = jnp.eye(x.shape[0], dtype=x.dtype)
    if isinstance(pair.system, AbstractFlow):
        return pair.field(t, (x, one))[1]
    return pair.step(t.astype(int), (x, one))[1] - one


def scale_of(sizes: State) -> State:
    """Reduce units of the entries of a state to one for each entry of a vector, and one for any other array."""
    return jax.tree.map(lambda part: np.asarray(part if part.ndim == 1 else part.ravel()[0], float), sizes)


def unit_of_rate(rate: float) -> float:
    """Choose the unit of time for a rate."""
    return float(unit_of(1 / rate if rate > 0 else 1.0, TIMES))


def orbit_sizes(system: Any, states: State) -> State:
    """Compute the ranges of states on an orbit on Euclidean space, with states on the first axis; see `ranges`.

    A range that is zero, or so small that it may be an error of the solver, is raised to the scale of a trajectory from
    the first state.
    """
    sizes = ranges(states)
    most = max(float(np.max(size, initial=0.0)) for size in jax.tree.leaves(sizes))
    still = jax.tree.map(lambda part: np.max(np.abs(np.asarray(part)), axis=0) == 0, states)
    small = jax.tree.map(
        lambda size, zero: (size < ROUNDING * most) | (zero if np.ndim(size) else np.all(zero)), sizes, still
    )
    if not any(np.any(part) for part in jax.tree.leaves(small)):
        return sizes
    found = trajectory_units(system, jax.tree.map(lambda part: jnp.asarray(part[0], float), states)).scale
    own = lambda low, size, zero, unit: np.where(
        low, np.where(zero if np.ndim(size) else np.all(zero), TYPICAL * unit, np.fmax(size, TYPICAL * unit)), size
    )
    return jax.tree.map(own, small, sizes, still, found)


def orbit_scale(system: Any, states: State) -> State:
    """Choose the unit of each component from its range on an orbit, given states on the first axis."""
    return jax.tree.map(lambda size: unit_of(size, STATES, 1 / TYPICAL), orbit_sizes(system, states))


def turn_unit(period: float) -> float:
    """Choose the unit of time for a period."""
    return float(unit_of(period / TURN, TIMES))


def range_unit(parameter: Parameter) -> float:
    """Choose the unit of a parameter for the width of its range."""
    return float(unit_of(parameter.high - parameter.low, WIDTHS, 1 / TYPICAL))


def groups_of(state: State) -> list[np.ndarray]:
    """Group the indices of a flattened state that share a unit: each entry of a vector, or all of another array."""
    groups, count = [], 0
    for part in jax.tree.leaves(state):
        size, alone = int(np.size(part)), np.ndim(part) <= 1
        groups += [np.array([count + k]) for k in range(size)] if alone else [np.arange(count, count + size)]
        count += size
    return groups


def arrays_of(state: State) -> list[np.ndarray]:
    """Group the indices of a flattened state by its arrays."""
    ends = np.cumsum([0, *(int(np.size(part)) for part in jax.tree.leaves(state))])
    return [np.arange(begin, end) for begin, end in itertools.pairwise(ends)]


class LocalRates:
    """Rates at a point: the fastest, typical ones of all eigenvalues, and what the parameters add to velocities.

    The typical rate of an eigenvalue is the largest one at the point and at the ends of the parameter ranges, and at
    least a share of the slowest row of the Jacobian, since an eigenvalue is zero by chance at a fold. Where it vanishes
    at all of them, it is a share of the fastest rate.
    """

    def __init__(
        self, here: Local, beyond: list[list[Local | None]], beside: Sequence[Local | None] = (), x: Any = None
    ):
        """Compare the point with the ends of the ranges.

        Args:
            here: the point.
            beyond: the same state at both ends of the range of each parameter.
            beside: the same state at values of the parameters nearby, for the sizes of equations that vanish here.
            x: the flattened state. What its rounding errors add to velocities is nothing that parameters add.
        """
        if not isinstance(here.J, SparseMatrix):
            near = np.abs([one.J for one in (here, *beside) if one is not None])
            beyond = [[None if found is None else _as_near(found, near) for found in pair] for pair in beyond]
        known = [found for pair in beyond for found in pair if found is not None]
        sizes = np.array([np.sort(np.abs(found.values)) for found in (here, *known)])
        self.fastest = max(float(np.max(sizes[0])), SLOW * float(np.max(sizes)))
        rows = np.max([row_sizes(found.J) for found in (here, *known)], axis=0)
        slowest = float(np.min(rows[rows > 0], initial=np.inf))
        most = np.fmax(np.max(sizes, axis=0), SLOW * slowest if np.isfinite(slowest) else 0.0)
        self.typical = np.where(most > NONE * np.max(most), most, SLOW * self.fastest)
        self.slow = float(np.min(np.fmin(self.typical, SLOW * self.fastest)))
        pairs = [[found.field for found in pair if found is not None] for pair in beyond]
        moves = [np.abs(pair[1] - pair[0]) for pair in pairs if len(pair) == 2]
        self.forces = np.nan_to_num(np.max(moves, axis=0)) if moves else np.zeros(len(here.field))
        self.drives = _drives(here.J, [found.J for found in known])
        if x is not None:
            errors = [abs(found.J) @ np.abs(x) for found in (here, *known)]
            errors = ROUNDED * np.finfo(float).eps * np.max(np.nan_to_num(errors), axis=0)
            self.forces = np.where(self.forces > errors, self.forces, 0.0)


def _drives(here: Any, beyond: Sequence[Any]) -> Any:
    """Moduli of derivatives at a point, at least a share of those at the ends: one may be zero there by chance."""
    if not isinstance(here, SparseMatrix):
        return np.max([np.abs(here), *(SLOW * np.abs(J) for J in beyond)], axis=0)
    found = abs(here).matrix
    for J in beyond:
        found = found.maximum(SLOW * abs(J).matrix)
    return SparseMatrix(found)


def _as_near(found: Local, near: np.ndarray) -> Local:
    """Rescale equations at an end of a range that are multiples, by orders of magnitude, of those nearby.

    An equation that is multiplied by a function of the parameter, as by the rate of a reaction at a temperature, has
    the same solutions. All its derivatives have one ratio to those nearby.

    Args:
        found: the equations at an end.
        near: the moduli of the derivatives at the point, where they may vanish, and at others nearby.
    """
    known = (near > 0) & (found.J != 0) & np.isfinite(found.J)
    ratios = np.where(known, np.log(np.where(known, near, 1.0)) - np.log(np.where(known, np.abs(found.J), 1.0)), np.inf)
    ratios = np.concatenate(list(ratios), axis=1)  # the ratio nearest to one decides about each row
    ratios = np.take_along_axis(ratios, np.argmin(np.abs(ratios), axis=1)[:, None], axis=1)[:, 0]
    orders = np.abs(ratios)
    share = np.exp(np.where((orders > np.log(FAR)) & (orders < np.log(FARTHEST)), ratios, 0.0))
    if np.all(share == 1.0):
        return found
    J = share[:, None] * found.J
    return Local(share * found.field, J, np.linalg.eigvals(J))


class Reached:
    """Displacements of groups of entries by the parameters in a time, directly and through other groups.

    A group that only others drive is displaced in proportion to a power of the time: by a force on the velocity, as in
    mechanics, a position in the square of the time. Each group in between relaxes at its own rate.
    """

    def __init__(self, groups: list[np.ndarray], J: Any, rates: LocalRates):
        among = _among(groups, J)
        self.forces = np.array([np.max(rates.forces[group]) for group in groups])
        fastest, speeds = float(np.max(among, initial=0.0)), np.diag(among).copy()
        np.fill_diagonal(among, 0.0)
        self.rates = (fastest or 1.0) * 2.0 ** np.arange(60, -61, -1)
        drives = np.tile(self.forces, (len(self.rates), 1))
        for _ in range(len(groups) - 1):
            by = drives / (self.rates[:, None] + speeds)
            drives = np.fmax(drives, np.max(among * by[:, None, :], axis=2))
        self.moves = drives / self.rates[:, None]

    def within(self, k: int, size: float) -> float:
        """Compute the rate at which a group is displaced by a size; 0 if the parameters do not displace it."""
        some = self.moves[:, k] > 0
        if not np.any(some):
            return 0.0
        known = np.log(self.moves[some, k])
        return max(float(np.exp(np.interp(np.log(size), known, np.log(self.rates[some])))), self.forces[k] / size)


def unit_entries(
    at: Callable[[np.ndarray], Local | None],
    x: np.ndarray,
    groups: list[np.ndarray],
    here: Local,
    rates: LocalRates,
    most: float = STATES[1],
) -> np.ndarray:
    """Estimate the unit of each entry of a flattened state; it is 1 for scales from `LEAST` to `most`.

    A component that has no effect, or far less than its driving terms suggest, may be multiplied by another component
    that is zero. It is examined again at a state where the others have the size of their scales. Many components are
    displaced together, in proportion to the sizes at which the Jacobian is balanced.
    """
    if len(groups) > MANY:
        return _filled(_together(at, x, groups, here, rates, most), x, groups, rates.drives, rates)
    moved = Reached(groups, here.J, rates)

    def test(start: np.ndarray, k: int, there: Local = here) -> Callable[[float], bool]:
        return _changes(at, start, _along(x, groups[k]), there, rates, lambda size: moved.within(k, size))

    zero = [not x[group].any() for group in groups]
    found = np.array([_unit(test(x, k), most, at_zero=zero[k]) for k in range(len(groups))])
    driven = _driven(found, groups, rates.drives, rates)
    doubted = np.isnan(found) | ((driven > 0) & (found / FAR > driven))  # `driven` may be near overflow
    if np.any(doubted) and not np.all(doubted):
        away = x.copy()
        for k in np.flatnonzero(~doubted):
            away[groups[k]] += TYPICAL / 2 * found[k]
        there = at(away)
        for k in map(int, np.flatnonzero(doubted)):
            again = np.nan if there is None else _unit(test(away, k, there), most)
            found[k] = found[k] if np.isnan(again) else again  # the driving terms may be rounding errors
    natural = [moved.within(k, TYPICAL * float(unit)) for k, unit in enumerate(found) if np.isfinite(unit)]
    return _filled(found, x, groups, rates.drives, rates, max(natural, default=0.0))


def carried_entries(
    sizes: np.ndarray,
    groups: list[np.ndarray],
    here: Local,
    beyond: Sequence[tuple[Local, Callable[[np.ndarray], Local | None]]],
) -> np.ndarray:
    """Raise units that are far smaller than the way of an equilibrium over the ranges of the parameters.

    A component may have no effect on eigenvalues, and be driven by one that hardly moves: a position by the velocity of
    a body with stiff friction. The way is a Newton step, and counts if it leads to smaller velocities, unlike at folds.

    Args:
        sizes: the unit of each entry.
        groups: indices of the entries that share a unit.
        here: the equilibrium.
        beyond: the same state at the ends of the ranges, and the function of the displacement of the state there.
    """
    raised = sizes.copy()
    if isinstance(here.J, SparseMatrix) or not np.linalg.cond(here.J) < 1 / np.finfo(float).eps:
        return raised
    for found, moved_by in beyond:
        force = found.field - here.field
        step = np.linalg.solve(here.J, -force)
        moved = moved_by(step)
        if moved is None or not np.linalg.norm(moved.field) <= CHANGED * np.linalg.norm(force):
            continue
        for group in groups:
            way = float(np.max(np.abs(step[group])))
            if way > FAR * float(np.max(raised[group])):
                raised[group] = unit_of(way, STATES, 1 / TYPICAL)
    return raised


def _together(
    at: Callable[[np.ndarray], Local | None],
    x: np.ndarray,
    groups: list[np.ndarray],
    here: Local,
    rates: LocalRates,
    most: float,
) -> np.ndarray:
    """Estimate the units of many components from one displacement of all of them."""
    _, sizes = balanced(_among(groups, here.J))
    sizes = np.asarray(sizes, float) / float(np.exp(np.mean(np.log(sizes))))
    move = np.zeros(len(x))
    for size, group in zip(sizes, groups, strict=True):
        move[group] = size * np.cos(group)
    force = float(np.max(rates.forces, initial=0.0))
    unit = _unit(_changes(at, x, move, here, rates, lambda size: force / size), most)
    return BASE ** np.round(np.log(unit * sizes) / np.log(BASE))


def _along(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Build a displacement of a group of entries."""
    move = np.zeros(len(x))
    move[group] = np.cos(np.arange(len(group)))
    return move


def _changes(
    at: Callable[[np.ndarray], Local | None],
    x: np.ndarray,
    move: np.ndarray,
    here: Local,
    rates: LocalRates,
    reached: Callable[[float], float],
) -> Callable[[float], bool]:
    """Build the test whether a displacement by a size along a vector changes the eigenvalues.

    Changes are relative to the rate at which the parameters cause such a displacement, which `reached` gives.
    """
    order = np.argsort(np.argsort(np.abs(here.values), kind="stable"))

    def changes(size: float) -> bool:
        moved = at(x + size * move)
        if np.array_equal(x + size * move, x):  # smaller displacements are rounded away
            return True
        # a unit below 1 needs a change beside the fastest rate, since the slowest one may be small by chance
        slow = rates.typical[order] if size > 1 else np.fmax(rates.typical[order], SLOW * rates.fastest)
        return moved is None or _differ(here.values, moved.values, np.fmax(slow, reached(size)))

    return changes


def _unit(changes: Callable[[float], bool], most: float, *, at_zero: bool = False) -> float:
    """Find the unit near the smallest displacement that changes the eigenvalues; NaN if none does.

    The unit is 1 for sizes from `LEAST` to `most`, else a power of 32. A kink of the field at the state changes them
    for any displacement, and gives none. A steep switch, as Hill's function of a high order, has no effect far from
    its threshold, on either side: sizes in between are tried, too, and from a state at zero smaller ones.
    """

    def within(size: float) -> bool:
        return any(changes(share * size) for share in SHARES)

    def between(least: float, size: float) -> bool:
        if size > LARGE:
            return within(size)
        return any(changes(size * FINE**k) for k in range(-int(np.log(size / least) / np.log(FINE)), 1))

    if within(LEAST):
        return next((BASE**-k for k in range(1, FURTHEST) if not within(BASE**-k / 2)), np.nan)
    small = range(SMALL, 1, -1) if at_zero else ()
    ends = [*(BASE**-k / 2 for k in small), LEAST, *(BASE**k * most for k in range(FURTHEST))]
    units = [*(BASE**-k for k in small), *(BASE**k for k in range(FURTHEST))]
    return next((unit for unit, pair in zip(units, itertools.pairwise(ends), strict=True) if between(*pair)), np.nan)


def _differ(before: np.ndarray, after: np.ndarray, least: np.ndarray) -> bool:
    """Test whether some eigenvalue is far from all of the others, relative to its size or to a smallest rate."""
    apart = np.abs(before[:, None] - after[None])
    nearest = np.argmin(apart, axis=0)
    sizes = np.fmax(np.abs(before), least)
    return bool(
        np.any(np.min(apart, axis=1) >= CHANGED * sizes) or np.any(np.min(apart, axis=0) >= CHANGED * sizes[nearest])
    )


def _among(groups: list[np.ndarray], J: Any) -> np.ndarray:
    """Compute the largest derivatives of groups of successive entries by each other."""
    starts = [int(group[0]) for group in groups]
    if isinstance(J, SparseMatrix):
        return J.largest_in(starts)
    return np.maximum.reduceat(np.maximum.reduceat(np.abs(J), starts, axis=0), starts, axis=1)


def _coupled(
    groups: list[np.ndarray], J: Any, rates: LocalRates, natural: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the largest derivatives of groups of entries by each other, and their relaxation rates.

    They are at least the natural rate.
    """
    among = _among(groups, J)
    return among - np.diag(np.diag(among)), np.fmax(np.diag(among), max(rates.slow, natural))


def _driven(units: np.ndarray, groups: list[np.ndarray], J: Any, rates: LocalRates, natural: float = 0.0) -> np.ndarray:
    """Estimate the unit of each component from the terms that drive it; 0 if there are none."""
    among, speeds = _coupled(groups, J, rates, natural)
    forces = np.array([np.max(rates.forces[group]) for group in groups]) / TYPICAL
    with np.errstate(over="ignore"):
        return np.fmax(np.max(among * np.nan_to_num(units), axis=1), forces) / np.fmax(speeds, TINY)


def _filled(
    units: np.ndarray, x: np.ndarray, groups: list[np.ndarray], J: Any, rates: LocalRates, natural: float = 0.0
) -> np.ndarray:
    """Estimate the missing units of entries from the other components and parameters that drive them.

    If nothing drives a component, its effect on the others is used, or else the state itself. The natural rate is the
    fastest at which the parameters move a component with a known unit over its scale: it replaces slower relaxations.
    """
    among, speeds = _coupled(groups, J, rates, natural)
    rough = units.copy()
    for _ in range(int(np.sum(np.isnan(units)))):
        driven = _driven(rough, groups, J, rates, natural)
        new = np.where(np.isnan(units) & (driven > 0), driven, rough)
        if np.array_equal(new, rough, equal_nan=True):
            break
        rough = new
    for k in np.flatnonzero(np.isnan(rough)):
        acted = np.flatnonzero((among[:, k] > 0) & np.isfinite(rough))
        own = float(np.max(np.abs(x[groups[k]]))) / TYPICAL
        own = own if own > NONE * float(np.max(np.abs(x))) else 0.0  # the state may be zero up to rounding
        rough[k] = np.min(rough[acted] * speeds[acted] / among[acted, k]) if acted.size else own
    rough = np.fmin(rough, HUGE)  # what nothing slows down is driven without bound
    units = np.where(np.isnan(units), unit_of(TYPICAL * rough, ROUGH, 1 / TYPICAL), units)
    entries = np.ones(len(x))
    for unit, group in zip(units, groups, strict=True):
        entries[group] = unit
    return entries

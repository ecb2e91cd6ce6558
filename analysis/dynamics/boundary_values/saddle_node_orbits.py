"""Find homoclinic orbits to saddle-nodes where curves of orbits to saddles end, and orbits to saddles beside them."""

from typing import Any

import numpy as np

from analysis.dynamics.boundary_values.connecting import (
    ADDED,
    DISTANCE,
    INTERVALS,
    ConnectingOrbit,
    linear_part,
    on_mesh,
    prolonged,
)
from analysis.dynamics.boundary_values.connection_equations import (
    NON_CENTRAL,
    SaddleNodeCurve,
    on_path,
    orbit_units,
    units_along,
)
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.boundary_values.projections import folded, unfolded
from analysis.dynamics.boundary_values.saddle_nodes import SaddleNode, SaddleNodeConnection
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy, system_at
from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.scaling.flat import extents
from analysis.dynamics.scaling.units import Units
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

# Distance along the centre at which orbits to saddle-nodes are cut, relative to their size: their parameters hardly
# depend on it, as what is neglected there decays along the way.
CENTRE = 0.01
# Distance of the saddle from the saddle-node for the orbit beside a non-central one, relative to its size.
BESIDE = 0.02
# Largest distance of a non-central orbit from the end of a curve, relative to the ranges of the parameters.
NEAR = 0.1
# Direction across a curve of folds that is not known: the second parameter is kept.
FIXED = np.array([1.0, 0.0])
Pair = tuple[Parameter, Parameter]


def non_central(curve: CriticalCurve, parameters: Pair, k: int, rtol: float) -> Degeneracy | None:
    """Find the non-central homoclinic orbit to a saddle-node near the first (0) or last (-1) orbit of a curve."""
    states: Any = curve.states
    rows, times = np.asarray(states.states[k]), np.asarray(states.x[k]) * states.unknowns[k, 1]
    flow = system_at(parameters, curve.first[k], curve.second[k])
    both = parameters[0].of(flow), parameters[1].of(flow)
    units = orbit_units(both, times, rows)
    path, times = units.rescaled(rows), times / units.time
    value, other = (one / unit for one, unit in zip((curve.first[k], curve.second[k]), units.parameters, strict=True))
    values = np.linalg.eigvals(linear_part(CycleField(units.varied[0].at(value), None, path[0]))(path[0])[1])
    side = int(np.min(values.real[values.real > 0]) < -np.max(values.real[values.real < 0]))
    near = SaddleNode(path[side - 1], value, other, FIXED)
    problem = SaddleNodeConnection((units.varied[0], units.varied[1]), near, np.ones(2), 1.0, side)
    place = problem.end_equations(None, 2 * rows.shape[1] + 5).saddle_node(value, other)
    found = None if place is None else _solved(units, (times, path), place, side, rtol)
    if found is None:
        return None
    times, path, (first, second), _ = found
    first, second = first * units.parameters[0], second * units.parameters[1]
    widths = [one.high - one.low for one in parameters]
    if max(abs(first - curve.first[k]) / widths[0], abs(second - curve.second[k]) / widths[1]) > NEAR:
        return None
    profile = Profile(units.restored(path), np.array([first, times[-1] * units.time]), times / times[-1])
    return Degeneracy(NON_CENTRAL, profile, float(first), float(second))


def _solved(
    units: Units,
    path: tuple[np.ndarray, np.ndarray],
    place: SaddleNode,
    side: int,
    rtol: float,
    beside: tuple[np.ndarray, np.ndarray, float] | None = None,
) -> tuple[np.ndarray, np.ndarray, tuple[float, float], np.ndarray] | None:
    """Solve for a non-central orbit from a path near it, or for one beside: times, states, parameters, equilibrium."""
    times, states = path
    n = states.shape[1]
    far = np.linalg.norm(states - place.state, axis=1)
    kept = np.flatnonzero(far > CENTRE * np.max(far))
    cut = slice(kept[0], None) if side else slice(None, kept[-1] + 1)
    own = folded(times[cut] - times[cut][0], states[cut], INTERVALS)
    problem = SaddleNodeConnection((units.varied[0], units.varied[1]), place, own.durations, own.weight, side)
    problem.beside = beside
    try:
        found = on_mesh(problem, own, (place.first, place.second), rtol)
    except ArgumentError:
        return None
    times, states = unfolded(found.mesh, np.vstack([found.nodes, found.intervals.ends[-1:]]), n)
    values = float(found.nodes[0, 2 * n + 1]), float(found.nodes[0, 2 * n + 2])
    return times, states, values, problem.place.state


def _waiting(times: np.ndarray, states: np.ndarray, rest: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Let an orbit wait at its equilibrium at the beginning (0) or end (-1), so that both its halves take as long."""
    durations = folded(times, states, INTERVALS).durations
    more = abs(durations[0] - durations[1]) * np.arange(1, ADDED + 1) / ADDED
    still = np.tile(rest, (ADDED, 1))
    if k == 0:
        return np.append(more - more[0], times + more[-1] + more[0]), np.vstack([still, states])
    return np.append(times, times[-1] + more), np.vstack([states, still])


def _begun(parameters: Pair, at: Degeneracy) -> tuple[Pair, Units, tuple[np.ndarray, np.ndarray], Any, int]:
    """Set up a non-central orbit again: both parameters, units, times and states, the saddle-node, and its side."""
    profile: Any = at.state
    flow = system_at(parameters, at.first, at.second)
    both = parameters[0].of(flow), parameters[1].of(flow)
    times, rows = np.asarray(profile.x) * profile.unknowns[1], np.asarray(profile.states)
    units = orbit_units(both, times, rows)
    times, states = times / units.time, units.rescaled(rows)
    value, other = at.first / units.parameters[0], at.second / units.parameters[1]
    problem = SaddleNodeConnection(
        (units.varied[0], units.varied[1]), SaddleNode(states[-1], value, other, FIXED), np.ones(2), 1.0
    )
    conditions = problem.end_equations(None, 2 * states.shape[1] + 4)
    found = conditions.saddle_node(value, other)
    if found is None:
        raise ArgumentError("orbit", "be a homoclinic orbit to a saddle-node", "is one to no saddle-node of this flow")
    problem.place = found
    parts = np.abs(conditions.along_centre(np.concatenate([states[0], states[-1], [0.0, value]]), other))
    return both, units, (times, states), found, int(parts[1] < parts[0])


def central_curve(parameters: Pair, at: Degeneracy, rtol: float) -> tuple[SaddleNodeCurve, CurvePoint, Pair]:
    """Set up the curve of central homoclinic orbits to saddle-nodes from a non-central one, its first point."""
    both, units, path, place, side = _begun(parameters, at)
    times, states = _waiting(*path, place.state, -side)
    folds = folded(times, states, len(states) // 2)
    problem = SaddleNodeConnection((units.varied[0], units.varied[1]), place, folds.durations, folds.weight)
    along = units_along(units, states[0])
    curve = SaddleNodeCurve(problem, *on_path(units, folds, states.shape[1]), rtol, along)
    here = curve.at(folds.rows(folds.mesh[:-1], place.first), curve.value)
    if here is None:
        raise ArgumentError("orbit", "be a homoclinic orbit to a saddle-node of this flow", "is not found again")
    return curve, here, both


def orbit_to_saddle(parameters: Pair, at: Degeneracy, rtol: float) -> tuple[ConnectingOrbit, Pair]:
    """Find a homoclinic orbit to a saddle beside a non-central one to a saddle-node."""
    _, units, (times, states), place, side = _begun(parameters, at)
    way = place.right * np.sign(place.right @ (states[-1 + side] - place.state))
    far = BESIDE * float(np.max(np.linalg.norm(states - place.state, axis=1)))
    found = _solved(units, (times, states), place, side, rtol, (place.state, way, far))
    if found is None:
        raise ArgumentError("orbit", "have homoclinic orbits to a saddle beside it", "has none that is found")
    times, states, (first, second), rest = found
    first, second, rest = first * units.parameters[0], second * units.parameters[1], units.restored(rest)
    flow = system_at(parameters, first, second)
    both = parameters[0].of(flow), parameters[1].of(flow)
    J = linear_part(CycleField(both[0].system, None, rest))(rest)[1]
    times, states = times * units.time, units.restored(states)
    away = np.linalg.norm((states - rest) / extents(states), axis=1)
    kept = np.flatnonzero(away > DISTANCE * np.max(away))
    cut = slice(int(kept[0]), int(kept[-1]) + 1)
    times, states, away = times[cut] - times[cut][0], states[cut], away[cut]
    closer = np.maximum(away[[0, -1]] / (DISTANCE * np.max(away)), 1.0)
    times, states = prolonged(times, states, [rest, rest], [J, J], closer)
    values = np.tile(np.sort_complex(np.linalg.eigvals(J)), (2, 1))
    return ConnectingOrbit("homoclinic", first, times, states, rest, rest, values, rtol), both

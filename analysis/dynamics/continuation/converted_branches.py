"""Branches and bifurcations from the units in which they were found to those of the given system, and back."""

from typing import Any

import numpy as np

from analysis.dynamics.continuation.branches import Bifurcation, Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State


def branch_in_given(units: Units, found: Branch) -> Branch:
    """Return a branch in the units of the given system, with arclengths in that of the parameter.

    Coefficients of normal forms are in these units already.
    """
    return found if units.are_given else _branch(units, found, 1)


def branch_in_own(units: Units, given: Branch) -> Branch:
    """Return a branch of the given system in these units."""
    return given if units.are_given else _branch(units, given, -1)


def bifurcation_in_own(units: Units, at: Bifurcation) -> Bifurcation:
    """Return a bifurcation of the given system in these units, but for its coefficient."""
    return at if units.are_given else _bifurcation(units, at, -1)


def _branch(units: Units, branch: Branch, power: int) -> Branch:
    size = units.parameters[0] ** power
    return branch._replace(
        states=moved_states(units, branch.states, power),
        parameters=branch.parameters * size,
        arclengths=branch.arclengths * size,
        eigenvalues=branch.eigenvalues / _rate(units, branch.states, power),
        bifurcations=tuple(_bifurcation(units, at, power) for at in branch.bifurcations),
    )


def _bifurcation(units: Units, at: Bifurcation, power: int) -> Bifurcation:
    size, rate = units.parameters[0] ** power, _rate(units, at.state, power)
    away = at.direction * np.append(flat_sizes(units, at.state), units.parameters[0]) ** power
    return at._replace(
        state=moved_states(units, at.state, power),
        parameter=at.parameter * size,
        arclength=at.arclength * size,
        eigenvalues=at.eigenvalues / rate,
        frequency=at.frequency / (rate if at.kind == "Hopf point" else 1.0),
        direction=away / max(float(np.linalg.norm(away)), np.finfo(float).tiny),
    )


def _rate(units: Units, state: State, power: int) -> float:
    """Return the unit of time by which eigenvalues are divided: 1 for multipliers."""
    return 1.0 if isinstance(state, Cycle) else units.time**power


def cycle_in_own(units: Units, cycle: Cycle) -> Any:
    """Return an orbit, or orbits on the first axis, of the given system in these units."""
    return cycle if units.are_given else moved_states(units, cycle, -1)


def moved_states(units: Units, state: Any, power: int) -> Any:
    """Return states, or orbits, on any leading axes, in other units."""
    if isinstance(state, Cycle):
        nodes = units.moved(state.nodes, power)
        return Cycle(nodes, np.asarray(state.period * units.time**power))
    return units.moved(state, power)


def flat_sizes(units: Units, state: Any) -> np.ndarray:
    """Return the unit of each entry of a flat state, or of a flat orbit with its period."""
    if isinstance(state, Cycle):
        return np.append(units.flat(state.nodes), units.time)
    return units.flat(state)

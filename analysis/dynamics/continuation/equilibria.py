"""Equilibria of flows and fixed points of maps followed in a parameter, on any space, with their bifurcations."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.continuation.branches import (
    Bifurcation,
    Branch,
    bifurcation_in_own,
    branch,
    branch_in_given,
    branch_in_own,
)
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve, FixedPointCurve
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.stepping import Limits, both_ways, departing, limits, prolonged, two_bounds
from analysis.dynamics.continuation.switching import rays, ways_out
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.scaling.units import Units
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_start
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import real_parameter, with_parameter


def continue_equilibria(
    flow: AbstractFlow | AbstractMap,
    where: Callable[[Any], Any],
    start: State,
    bounds: tuple[float, float],
    *,
    iterate: int = 1,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> Branch:
    """Return the branch of equilibria through one of them, in both directions of the curve, within bounds.

    The curve is followed in the tangent space of the flow's space and the parameter, so that it passes folds. Length is
    measured there, in the norm of the state and the parameter together. Both, and time, have units there in which they
    are of order one (`curve_units`: 1 for systems that are of order one themselves, else powers of 1024); arclengths
    of the branch are in the unit of the parameter, all else in the units of the flow. Branches that pass each other are
    told from those that cross by residuals above 1e-11 there: an imperfection of this size is followed, with a smaller
    one a branch point is said.

    Args:
        flow: the system, autonomous at both bounds of the parameter, or a map, whose fixed points are followed.
        where: which leaf of the flow is the parameter, such as `lambda flow: flow.rho`; a real number.
        start: a state near an equilibrium at the flow's own value of the parameter.
        bounds: the least and the largest value of the parameter.
        iterate: of a map, how often it is applied: fixed points of its iterate, periodic points of the map.
        step: the first step along the curve, in its units: a share of the size of the state and the parameter.
        max_step: the largest one, by default four times the first, or, if that is more, the width of the bounds / 100.
        max_points: the cap on points in each direction; a branch that reaches it says so.
        symmetries: generators of continuous symmetries, along whose orbits equilibria are not isolated.

    Raises:
        ValueError: for bad input, or if no equilibrium is found near the start.
    """
    _curve(flow, where, iterate, symmetries)
    given = two_bounds(bounds)
    state = check_start("start", flow, start)
    if isinstance(flow, AbstractFlow):
        check_autonomous("flow", flow, where, state, given)
    units = curve_units(flow, (where,), state, (given,))
    curve, within = _curve_in(units, iterate, symmetries), limits(bounds, step, max_step, max_points, *units.parameters)
    state = units.rescaled(state)
    first = curve.at(state, curve.value)
    if first is None:
        at = curve.equations(state, curve.value, curve.basis(state))
        if not (np.all(np.isfinite(at.values)) and np.all(np.isfinite(at.J)) and np.all(np.isfinite(at.slope))):
            raise ArgumentError("flow", "have a finite field with finite derivatives at `start`", "has not")
        raise ArgumentError("start", "be near an equilibrium", "leads to none at the flow's own parameter")
    return branch_in_given(units, both_ways(curve, first, within))


def switch(
    flow: AbstractFlow | AbstractMap,
    where: Callable[[Any], Any],
    at: Bifurcation,
    bounds: tuple[float, float],
    *,
    iterate: int = 1,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> tuple[Branch, ...]:
    """Return the branches that leave a branch point across the branch on which it was found, one in each direction.

    They begin at the branch point. A direction in which no other equilibrium is found, or only that of the first
    branch, is left out. Where several eigenvalues cross, directions are looked for on a sphere (see `leaving.rays`).
    At a period doubling of a map the points of twice the period leave: give the `iterate` of the branch, not twice.

    Raises:
        ValueError: for bad input, or a bifurcation of another kind.
    """
    if at.kind not in ("branch point", "period doubling") or (isinstance(flow, AbstractFlow) and at.kind[0] == "p"):
        raise ArgumentError("at", "be a branch point", f"is a {at.kind}")
    repeats = (2 if at.kind == "period doubling" else 1) * integer("iterate", iterate, least=1)
    _curve(flow, where, repeats, symmetries)
    given = two_bounds(bounds)
    if isinstance(flow, AbstractFlow):
        check_autonomous("flow", flow, where, at.state, given)
    units = curve_units(flow, (where,), at.state, (given,), at=(at.parameter,))
    curve, within = _curve_in(units, repeats, symmetries), limits(bounds, step, max_step, max_points, *units.parameters)
    at = bifurcation_in_own(units, at)
    here = curve.measured(at.state, at.parameter)
    along, across = curve.crossing(here, at.direction)
    if len(across) > 1:
        ways = rays(curve, here, along, across, min(within.step, within.largest))
        left = [departing(curve, here, along, way, within) for way in ways]
    else:
        left = _leaving(curve, here, along, across[0], within, touches=at.multiplicity == 0)
    return tuple(branch_in_given(units, branch(curve, one[0], (at.kind, one[1]))) for one in left if one is not None)


def _leaving(
    curve: EquilibriumCurve, here: CurvePoint, along: Any, across: Any, within: Limits, *, touches: bool
) -> list[Any]:
    """Return what leaves a point in both senses of a direction across a curve, or, if nothing does, beside it.

    Beside it is where tangential branches are, and those that meet where an eigenvalue touches zero.
    """
    left: list[Any] = []
    for beside in (True,) if touches else (False, True):
        ways = [way for sign in (1, -1) for way in ways_out(along, sign * across, touches=beside)]
        left = [departing(curve, here, along, way, within) for way in ways]
        if any(left):
            break
    return left


def extend(
    flow: AbstractFlow | AbstractMap,
    where: Callable[[Any], Any],
    known: Branch,
    bounds: tuple[float, float],
    *,
    iterate: int = 1,
    step: float = 0.05,
    max_step: float | None = None,
    max_points: int = 1000,
    symmetries: Sequence[SymmetryGenerator] = (),
) -> Branch:
    """Return a branch, such as one read from a file, with what follows at those of its ends that can be continued.

    These are the ends at the bounds of the parameter, where the new bounds lie further out, and at the cap on points.

    Raises:
        ValueError: for bad input, or if the last states are no equilibria of this flow.
    """
    _curve(flow, where, iterate, symmetries)
    given = two_bounds(bounds)
    last, at = jax.tree.map(lambda part: part[-1], known.states), (float(known.parameters[-1]),)
    if isinstance(flow, AbstractFlow):
        check_autonomous("flow", flow, where, last, given)
    units = curve_units(flow, (where,), last, (given,), at=at)
    curve, within = _curve_in(units, iterate, symmetries), limits(bounds, step, max_step, max_points, *units.parameters)
    return branch_in_given(units, prolonged(curve, branch_in_own(units, known), within))


def check_autonomous(
    name: str, flow: AbstractFlow, where: Callable[[Any], Any], state: State, bounds: tuple[float, float]
) -> None:
    """Raise `ValueError` for the argument `name`, a flow that depends on time at one of two values of a parameter."""
    take, _ = real_parameter("where", where, flow)
    if any(depends_on_time(with_parameter(take, flow, jnp.asarray(end)), state) for end in bounds):
        but = "does (see `continue_orbits` with a `forcing`, and `dynsim basins --period`)"
        raise ArgumentError(name, "not depend on time to have equilibria", but)


def _curve_in(units: Units, iterate: int, symmetries: Sequence[SymmetryGenerator]) -> EquilibriumCurve:
    """Return the curve of a system in its units."""
    curve = _curve(units.system, units.where[0], iterate, units.acting(symmetries))
    curve.units = None if units.are_given else units
    return curve


def _curve(
    flow: AbstractFlow | AbstractMap, where: Callable, iterate: int, symmetries: Sequence[SymmetryGenerator]
) -> EquilibriumCurve:
    if isinstance(flow, AbstractMap):
        return FixedPointCurve(flow, where, iterate, symmetries)
    if iterate != 1:
        raise ArgumentError("iterate", "be 1 for a flow", f"is {iterate}")
    return EquilibriumCurve(flow, where, symmetries)

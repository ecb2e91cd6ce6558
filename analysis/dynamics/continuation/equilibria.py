"""Continue equilibria of flows and fixed points of maps in a parameter, locate bifurcations, and switch branches."""

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
    """Continue equilibria of a flow, or fixed points of a map, in a parameter, and locate their bifurcations.

    Pseudo-arclength continuation from one equilibrium goes in both directions of the curve, past folds, within bounds
    of the parameter. It works in the tangent space of the state space. Arclength is measured in the norm of state and
    parameter together. States, parameter and time are scaled to order one (`curve_units`); well-scaled systems are left
    unchanged. Arclengths of the branch are in the unit of the parameter, and everything else is in the units of the
    flow. A residual above 1e-11 in scaled units distinguishes two branches that pass each other from two that cross;
    smaller imperfections are reported as branch points.

    Args:
        flow: the system. A flow must be autonomous at both bounds of the parameter; of a map, fixed points are
            continued.
        where: selects the parameter, a real number, among the leaves of the flow, such as `lambda flow: flow.rho`.
        start: a state near an equilibrium at the flow's own parameter value.
        bounds: lower and upper bound of the parameter.
        iterate: number of applications of a map; fixed points of the iterate are periodic points of the map.
        step: first step along the curve, in scaled units, that is, relative to the sizes of state and parameter.
        max_step: largest step. The default is four times the first step or a hundredth of the width of the bounds, if
            that is larger.
        max_points: largest number of points in each direction; a branch that reaches it ends with `steps`.
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
    """Switch branches: continue the branches that cross a branch point, one for each direction.

    The new branches start at the branch point. Directions in which no other equilibrium is found are left out. If
    several eigenvalues cross, directions are searched on a sphere (see `switching.rays`). At a period doubling of a
    map, points of twice the period are continued; `iterate` is then that of the branch, not twice as much.

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
    """Continue the branches that leave a point in both senses of a direction, or, if there are none, close to it.

    The latter finds tangential branches, and branches that meet where an eigenvalue touches zero.
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
    """Continue a branch, such as one read from a file, beyond those of its ends that can be continued.

    These are ends at the bounds of the parameter, if the new bounds are wider, and ends at the limit on points.

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
    """Raise `ValueError` if a flow depends on time at one of two parameter values."""
    take, _ = real_parameter("where", where, flow)
    if any(depends_on_time(with_parameter(take, flow, jnp.asarray(end)), state) for end in bounds):
        but = "does (see `continue_orbits` with a `forcing`, and `dynsim basins --period`)"
        raise ArgumentError(name, "not depend on time to have equilibria", but)


def _curve_in(units: Units, iterate: int, symmetries: Sequence[SymmetryGenerator]) -> EquilibriumCurve:
    """Build the curve of a system in its units."""
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

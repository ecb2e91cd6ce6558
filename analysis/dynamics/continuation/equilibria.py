"""Continue equilibria of flows and fixed points of maps in a parameter, locate bifurcations, and switch branches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.dynamics.continuation.bifurcations import Bifurcation, moved_bifurcation
from analysis.dynamics.continuation.branches import Branch, branch
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve, FixedPointCurve
from analysis.dynamics.continuation.large_equilibria import LargeEquilibriumCurve, pattern_of
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.continuation.stepping import both_ways, departing
from analysis.dynamics.continuation.steps import Limits, Steps
from analysis.dynamics.continuation.switching import rays, ways_out
from analysis.dynamics.continuation.typical_sizes import SizesAlong, first_sizes
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.scaling.flat import flat_state
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.sparse.matrices import row_sizes
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow, check_start, double_state
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.parameter import Parameter

POINTS = 1000  # of a branch in each direction, by default
# Distance, relative to a state, over which a field must change by less than a share of its typical size, or it jumps.
BESIDE, JUMP = 1e-7, 1e-4


@checked
@on_host_by_default
def continue_equilibria(
    parameter: Parameter,
    start: State,
    *,
    iterate: int = 1,
    steps: Steps = Steps(),
    symmetries: Sequence[SymmetryGenerator] = (),
) -> Branch:
    """Continue equilibria, or fixed points of a map, in a parameter, from one of them in both directions of the curve.

    The curve is followed in the tangent space of the flow's space and the parameter, so that it passes folds. Length is
    measured there, in the norm of the state and the parameter together. Both, and time, have units there in which they
    are of order one (`curve_units`: 1 for systems that are of order one themselves, else powers of two); arclengths
    of the branch are in the unit of the parameter, all else in the units of the flow. Branches that pass each other are
    told from those that cross by residuals above 1e-11 there: an imperfection of this size is followed, with a smaller
    one a branch point is reported. Residuals are relative to typical sizes of the equations, and eigenvalues are judged
    by their own errors, so that slow components are as accurate beside fast ones.

    A step is searched on both sides of each fold and branch point in it, and for pairs of bifurcations after which as
    many eigenvalues grow as before. Derivatives of the eigenvalues along the branch show growth that oscillates faster
    than the steps follow each other; `Branch.undetermined` lists where doubt remains.

    Args:
        parameter: the parameter of a flow that is autonomous at both ends of its range, or of a map.
        start: a state near an equilibrium at the system's own value of the parameter; it is converted to float64.
        iterate: of a map, how often it is applied: fixed points of its iterate, periodic points of the map.
        steps: the steps along the curve.
        symmetries: generators of continuous symmetries, along whose orbits equilibria are not isolated.

    Raises:
        ValueError: for bad input, or if no equilibrium is found near the start.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_equilibria
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0: a - x**2, parameters={"a": 1.0})
        >>> branch = continue_equilibria(ds.Parameter(flow, "a", -1.0, 1.0), [1.0])
        >>> [(one.kind, round(float(one.parameter), 6) + 0.0) for one in branch.bifurcations]
        [('fold', 0.0)]
    """
    state = check_start("start", parameter.system, double_state("start", start))
    curve = equilibrium_curve(parameter, state, iterate, symmetries)
    state = curve.own(state)
    first = curve.at(state, curve.value)
    if jumps_at(curve, state if first is None else first.state):
        must = "lead to an equilibrium where the field is smooth"
        raise ArgumentError("start", must, "leads to a surface on which it jumps, where trajectories may slide")
    if first is None:
        at = curve.equations(state, curve.value, curve.basis(state))
        if not (
            np.all(np.isfinite(at.values)) and np.all(np.isfinite(row_sizes(at.J))) and np.all(np.isfinite(at.slope))
        ):
            raise ArgumentError("flow", "have a finite field with finite derivatives at `start`", "has not")
        raise ArgumentError("start", "be near an equilibrium", "leads to none at the flow's own parameter")
    return both_ways(curve, first, steps.limits(curve.parameter, POINTS, curve.unit))


@checked
@on_host_by_default
def switch(
    parameter: Parameter,
    at: Bifurcation,
    *,
    iterate: int = 1,
    steps: Steps = Steps(),
    symmetries: Sequence[SymmetryGenerator] = (),
) -> tuple[Branch, ...]:
    """Continue the branches that leave a branch point across the branch on which it was found, one in each direction.

    They begin at the branch point. A branch that returns there is closed, and is given once. A direction in which no
    other equilibrium is found, or only that of the first branch, is left out. Where several eigenvalues cross,
    directions are looked for on a sphere (see `switching.rays`).
    At a period doubling of a map the points of twice the period leave: give the `iterate` of the branch, not twice.

    Args:
        parameter: the parameter of the branch.
        at: a branch point, or a period doubling of a map.
        iterate: of a map, that of the branch on which the bifurcation was found.
        steps: the steps along the new branches.
        symmetries: generators of continuous symmetries.

    Raises:
        ValueError: for bad input, or a bifurcation of another kind.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_equilibria, switch
        >>> flow = ds.FunctionFlow(lambda t, x, a=-1.0: a * x - x**3, parameters={"a": -1.0})
        >>> a = ds.Parameter(flow, "a", -1.0, 1.0)
        >>> (pitchfork,) = continue_equilibria(a, [0.0]).bifurcations
        >>> [round(float(branch.states[-1, 0]), 4) for branch in switch(a, pitchfork)]
        [1.0, -1.0]
    """
    flips = at.kind == "period doubling" and not isinstance(parameter.system, AbstractFlow)
    if at.kind != "branch point" and not flips:
        raise ArgumentError("at", "be a branch point", f"is a {at.kind}")
    repeats = (2 if flips else 1) * integer("iterate", iterate, least=1)
    curve = equilibrium_curve(parameter, at.state, repeats, symmetries, at=(at.parameter,))
    within = steps.limits(curve.parameter, POINTS, curve.unit)
    at = at if curve.units is None else moved_bifurcation(curve.units, at)
    here = curve.measured(at.state, at.parameter)
    along, across = curve.crossing(here, at.direction)
    if len(across) > 1:
        ways = rays(curve, here, along, across, min(within.step, within.largest))
        left = [departing(curve, here, along, way, within) for way in ways]
    else:
        left = _leaving(curve, here, along, across[0], within, touches=at.multiplicity == 0)
    return tuple(branch(curve, one[0], (at.kind, one[1]), within.marks) for one in left if one is not None)


def _leaving(
    curve: EquilibriumCurve, here: CurvePoint, along: Any, across: Any, within: Limits, *, touches: bool
) -> list[Any]:
    """Continue the branches that leave a point in both senses of a direction, or, if there are none, close to it.

    The latter finds tangential branches, and branches that meet where an eigenvalue touches zero.
    """
    left: list[Any] = []
    for beside in (True,) if touches else (False, True):
        left = []
        for way in (way for sign in (1, -1) for way in ways_out(along, sign * across, touches=beside)):
            left.append(departing(curve, here, along, way, within))
            if not beside and left[-1] is not None and left[-1][1] == "closed":  # it returns in the other sense
                break
        if any(left):
            break
    return left


def equilibrium_curve(
    parameter: Parameter,
    state: State,
    iterate: int = 1,
    symmetries: Sequence[SymmetryGenerator] = (),
    *,
    at: Sequence[float] = (),
) -> EquilibriumCurve:
    """Set up the equations of equilibria or fixed points, rescaled by the sizes at a given state.

    Raises:
        ValueError: for a flow that depends on time, or an iterate of a flow.
    """
    system = parameter.system
    if isinstance(system, AbstractMap):
        units = curve_units((parameter,), state, at=at)
        curve = FixedPointCurve(units.varied[0], iterate, units.acting(symmetries), units)
        curve.note = pattern_of(parameter, state)[1]
        return _with_sizes(curve, units, state, at)
    check_flow(system)
    if iterate != 1:
        raise ArgumentError("iterate", "be 1 for a flow", f"is {iterate}")
    check_autonomous("flow", parameter, state)
    pattern, note = pattern_of(parameter, state, bool(symmetries))
    units = curve_units((parameter,), state, at=at, pattern=pattern)
    if pattern is not None:
        return _with_sizes(LargeEquilibriumCurve(units.varied[0], units, pattern), units, state, at)
    curve = EquilibriumCurve(units.varied[0], units.acting(symmetries), units)
    curve.note = note
    return _with_sizes(curve, units, state, at)


def jumps_at(curve: EquilibriumCurve, state: State) -> bool:
    """Test whether the field or the map jumps at a state, from its values on both sides in a direction of no symmetry.

    There a discontinuous function such as `sign` may be zero by its own convention, so that its root is no equilibrium.
    """
    if isinstance(curve, LargeEquilibriumCurve):
        return False
    basis, flat = curve.basis(state), flat_state(state)
    away = basis @ np.cos(np.arange(1.0, basis.shape[1] + 1))
    reach = BESIDE * (1 + float(np.max(np.abs(flat), initial=0.0)))
    sides = [curve.displaced(state, sign * reach * away) for sign in (1, -1)]
    before, after = (curve.equations(side, curve.value, basis) for side in sides)
    jump = np.abs(after.values - before.values) / before.typical
    return bool(np.max(jump, initial=0.0) > JUMP * reach / BESIDE)


def _with_sizes(curve: EquilibriumCurve, units: Units, state: State, at: Sequence[float]) -> EquilibriumCurve:
    """Set the typical sizes of the equations of a curve, given a state on it and the value of its parameter there."""
    own, basis = units.rescaled(state), curve.basis(units.rescaled(state))
    value = float(at[0]) / curve.unit if len(at) else curve.value
    sizes = first_sizes(lambda one: curve.equations(own, one, basis), value, curve.parameter.bounds, basis.shape[1])
    curve.sizes = SizesAlong(np.append(flat_state(own), value), sizes)
    return curve


def check_autonomous(name: str, parameter: Parameter, state: State) -> None:
    """Raise `ValueError` for the argument `name`, a flow that depends on time at an end of the range of a parameter."""
    if any(depends_on_time(parameter.at(end), state) for end in (parameter.low, parameter.high)):
        but = "does (see `continue_orbits` with a `forcing`, and `dynsim basins --period`)"
        raise ArgumentError(name, "not depend on time to have equilibria", but)

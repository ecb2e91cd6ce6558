"""Results that go on: branches, curves of bifurcations and diagrams are extended to a wider range of the parameter."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.continuation.branches import Branch, is_vertical, joined
from analysis.dynamics.continuation.curve import CurvePoint, direction_to, turned
from analysis.dynamics.continuation.equilibria import POINTS, equilibrium_curve
from analysis.dynamics.continuation.meshes import backwards, branch_of_parts, follow_on_meshes, on_one_mesh
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import RTOL, check_forcing, curve_of_orbits, mesh_of
from analysis.dynamics.continuation.scaling import orbit_units
from analysis.dynamics.continuation.stepping import can_go_on
from analysis.dynamics.continuation.steps import Steps
from dynsim._core.types import State, SymmetryGenerator
from dynsim.errors import ArgumentError, shown
from dynsim.systems.parameter import Parameter


@functools.singledispatch
def extend(known: Any, parameter: Any, *, steps: Steps = Steps()) -> Any:
    """Continue a result, such as one read from a file, to a wider range of its parameter.

    It goes on at its ends at a bound, where the new range lies further out, and at the cap on points. What kind of
    result it is decides what is continued, and which further options there are:

    - a `Branch` of equilibria or of fixed points takes `iterate` and `symmetries`, as `continue_equilibria` does;
    - a `Branch` of periodic orbits takes `forcing`, `max_period`, `rtol` and `atol`, as `continue_orbits` does, and
      goes on at its end at the longest period, too, by the method `auto`;
    - a `CriticalCurve` takes both of its parameters as a pair, and `forcing`, `max_period` and `rtol`, as
      `critical_curve` does;
    - a `Diagram` takes `symmetries` and `max_period`; its branches and orbits go on, its curves stay as they are.

    Args:
        known: the result.
        parameter: the parameter, with the new range, of the same system.
        steps: the steps along the curve.

    Raises:
        ValueError: for bad input, or a result of another system.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import continue_equilibria, extend
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0: a - x**2, parameters={"a": 1.0})
        >>> branch = continue_equilibria(ds.Parameter(flow, "a", 0.5, 1.0), [1.0])
        >>> longer = extend(branch, ds.Parameter(flow, "a", -1.0, 1.0))
        >>> len(branch.bifurcations), [one.kind for one in longer.bifurcations]
        (0, ['fold'])
    """
    del parameter, steps
    raise ArgumentError("known", "be a branch, a curve of bifurcations or a diagram", f"is {shown(known)}")


@extend.register
def _extend_branch(
    known: Branch,
    parameter: Parameter,
    *,
    iterate: int = 1,
    steps: Steps = Steps(),
    symmetries: Sequence[SymmetryGenerator] = (),
    forcing: Callable[[Any], Any] | None = None,
    max_period: float | None = None,
    rtol: float = RTOL,
    atol: float | None = None,
) -> Branch:
    """Extend a branch of equilibria or of periodic orbits at its open ends.

    Raises:
        ValueError: for bad input, or if the states at these ends are no solutions of this system.
    """
    last, at = jax.tree.map(lambda part: part[-1], known.states), float(known.parameters[-1])
    if isinstance(last, Cycle):
        units = orbit_units(parameter.system, last, (parameter,), at=(at,))
        start, count = jax.tree.map(lambda part: jnp.asarray(part[0]), last.nodes), len(jax.tree.leaves(last.nodes)[0])
        given = forcing, max_period, (rtol, atol), mesh_of("auto", last)
        curve = curve_of_orbits(units, start, count, *given, changes=True)
        check_forcing(parameter.at(at), last, forcing)
    else:
        curve = equilibrium_curve(parameter, last, iterate, symmetries, at=(at,))
    within = steps.limits(curve.parameter, POINTS, curve.unit)
    ends, made = list(known.ends), [([], known)]
    for side in (1, 0):
        last, before = (0, 1) if side == 0 else (-1, -2)
        is_open = can_go_on(ends[side], float(known.parameters[last]), parameter.bounds)
        if len(known.parameters) < 2 or not (is_open or _is_short(curve, known, side)):
            continue
        here, pair = _pair(curve, known, last, before)
        begin = here.at(*pair[0])
        if begin is None or not _beside(begin, *pair[0]):
            raise ArgumentError("known", "be a branch of this flow", "ends at a state that is no solution of it")
        towards = begin._replace(tangent=-direction_to(begin, begin._replace(state=pair[1][0], parameter=pair[1][1])))
        begin, _ = turned(begin, towards.tangent, begin)
        parts, ends[side] = follow_on_meshes(here, begin, begin.tangent, within)
        if parts and side:
            made.append((parts, branch_of_parts(parts, ("", ends[1]), within.marks)))
        elif parts:
            parts = backwards(parts)
            made.insert(0, (parts, branch_of_parts(parts, (ends[0], ""), within.marks)))
    found = joined(on_one_mesh(curve, made), (ends[0], ends[1]))
    return found._replace(vertical=is_vertical(curve, found.parameters, found.arclengths))


def _pair(curve: Any, known: Branch, last: int, before: int) -> tuple[Any, list[tuple[Any, float]]]:
    """Get the last two solutions of a branch, with their parameters, in the units of a curve, and the curve itself.

    Both orbits by collocation are on the mesh of the last one, which the curve gets.
    """
    states, values = known.states, [float(known.parameters[k]) / curve.unit for k in (last, before)]
    if not isinstance(states, Cycle) or states.times is None:
        own = (curve.own(jax.tree.map(lambda a, k=k: a[k], states)) for k in (last, before))
        return curve, [*zip(own, values, strict=True)]
    cycles = [jax.tree.map(lambda a, k=k: a[k], states) for k in (last, before)]
    here, other = (curve.on(np.append(cycle.times, 1.0)) for cycle in cycles)
    begin, beside = (curve.own(cycle) for cycle in cycles)
    rows = other.states_at(beside, values[1], here.mesh[:-1])
    return here, [(begin, values[0]), (here.cycle(rows, float(beside.period)), values[1])]


def _is_short(curve: Any, known: Branch, side: int) -> bool:
    """Test whether orbits ended at the longest period, and may now have a longer one."""
    if not isinstance(known.states, Cycle) or known.ends[side] != "period":
        return False
    return float(curve.own(jax.tree.map(lambda part: part[-side], known.states)).period) < curve.longest


def _beside(found: CurvePoint, state: State, parameter: float) -> bool:
    """Test whether Newton's method has not moved a state by more than the error of states in a file."""
    known = found._replace(state=state, parameter=parameter).flat
    return bool(np.linalg.norm(found.flat - known) <= 1e-6 * (1 + np.linalg.norm(known)))

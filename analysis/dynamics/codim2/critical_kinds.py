"""Which equations a bifurcation has in two parameters, and in which units: equilibria, orbits of maps and of flows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from analysis.dynamics.codim2.equilibria import AbstractCritical, FoldCurve, HopfCurve
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.continuation.branches import Bifurcation
from analysis.dynamics.continuation.equilibria import check_autonomous
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import RTOL, check_forcing, curve_of_orbits, forcing_in
from analysis.dynamics.continuation.scaling import curve_units, orbit_units
from analysis.dynamics.scaling.units import Units, made_units
from dynsim.errors import argument_error
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import real_parameter, with_parameter

OF_EQUILIBRIA, OF_ORBITS = ("fold", "Hopf point"), ("fold", "period doubling", "Neimark-Sacker point")
"""The kinds of bifurcations that are followed in two parameters."""


class Returning(NamedTuple):
    """How orbits return: the iterate of a map, the period of a forcing, the longest period, the solver's tolerance."""

    iterate: int = 1
    forcing: Callable[[Any], Any] | None = None
    max_period: float | None = None
    rtol: float = RTOL


def kinds_of(flow: Any, state: Any) -> tuple[str, ...]:
    """Return the kinds of bifurcations of such states that are followed in two parameters."""
    return OF_ORBITS if isinstance(flow, AbstractMap) or isinstance(state, Cycle) else OF_EQUILIBRIA


def check_kind(flow: Any, at: Bifurcation) -> None:
    """Raise `ValueError` for a bifurcation that is not followed in two parameters."""
    kinds = kinds_of(flow, at.state)
    if at.kind not in kinds:
        raise argument_error("at", f"be a {', a '.join(kinds[:-1])} or a {kinds[-1]}", f"is a {at.kind}")


def check_time(flow: Any, where: Any, state: Any, at: float, bounds: Any, returning: Returning) -> None:
    """Raise `ValueError` for a flow that depends on time without a forcing, and for another period than that of it."""
    if isinstance(state, Cycle):
        check_forcing(
            with_parameter(real_parameter("where", where[0], flow)[0], flow, jnp.asarray(at)), state, returning.forcing
        )
    elif not isinstance(flow, AbstractMap):
        check_autonomous("flow", flow, where[0], state, bounds[0])


def units_at(flow: Any, where: Any, state: Any, parameters: tuple[float, float], bounds: Any) -> Units:
    """Return the units of a curve through a state, or an orbit, at values of both parameters."""
    if not isinstance(flow, AbstractMap):
        check_flow(flow)
    if not isinstance(state, Cycle):
        return curve_units(flow, where, state, bounds, at=parameters)
    takes = [real_parameter("where", take, flow)[0] for take in where]
    moved: Any = flow
    for take, value in zip(takes, parameters, strict=True):
        moved = with_parameter(take, moved, jnp.asarray(value))
    units = orbit_units(moved, takes, state, bounds)
    return made_units(flow, takes, units.scale, units.time, units.parameters)


def equations_of(
    units: Units, kind: str, state: Any, bounds: tuple[float, float], returning: Returning
) -> AbstractCritical:
    """Return the equations of a kind of bifurcation beside a state in units, with bounds of the first parameter."""
    system, where = units.system, (units.where[0], units.where[1])
    if isinstance(state, Cycle):
        start, count = jax.tree.map(lambda a: jnp.asarray(a[0]), state.nodes), len(jax.tree.leaves(state.nodes)[0])
        _, forcing, longest, rtol = returning
        inner = curve_of_orbits(units, units.restored(start), count, forcing, longest, rtol)
        made = CriticalReturns(system, where, kind, inner, bounds, rtol, forcing_in(units, forcing), inner.longest)
    elif isinstance(system, AbstractMap):
        inner = FixedPointCurve(system, where[0], returning.iterate)
        inner.units = None if units.are_given else units
        made = CriticalReturns(system, where, kind, inner, bounds, returning.rtol)
    else:
        made = (FoldCurve if kind == "fold" else HopfCurve)(system, where, state, bounds)
    made.units = None if units.are_given else units
    return made

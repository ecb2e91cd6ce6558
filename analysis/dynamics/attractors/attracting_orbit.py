"""Compute the stable periodic orbit that a simulation or a search has reached, as a start for continuation."""

import contextlib
from typing import Any

import jax
import numpy as np

from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.search import FAILED, FATES, NOT_SETTLED, Attractors, find_attractors
from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.continuation.orbits import SEGMENTS
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.flow_maps.variational import Linearised, solver_of
from analysis.dynamics.periodic_orbits.approach import approach
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from analysis.dynamics.scaling.flat import flat_state, flat_states
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.integrators.switched_field import may_leave_out
from dynsim.simulation.checks import check_flow, check_start, double_state, shapes_explained
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

PERIODIC = "periodic orbit"
# Most entries of a state whose implicit steps cost little beside a search for attractors.
LARGEST = 64
# Mean modulus of the fastest eigenvalue on an orbit, times the period, from which an orbit is stiff.
STIFF = 1e3


@on_host_by_default
def attracting_orbit(
    flow: Any,  # checked here, in one sentence
    start: State | Trajectory | LimitSet,
    *,
    segments: int = SEGMENTS,
    search: Search = Search(),
) -> PeriodicOrbit:
    """Compute the stable periodic orbit that a trajectory approaches, and its period.

    The trajectory is integrated by an implicit method until it returns, however stiff the flow is, and the orbit is
    computed by collocation. Orbits on curved spaces, of forced flows and of fields that jump are found by
    `find_attractors` instead. An orbit that is not stiff is computed again by multiple shooting. `continue_orbits`
    continues it:

    >>> import dynsim as ds
    >>> from analysis.dynamics import Steps, attracting_orbit, continue_orbits
    >>> flow = ds.catalogue.VanDerPol(mu=1.0)
    >>> run = ds.simulate(flow, [0.1, 0.0], [0.0, 50.0])
    >>> orbit = attracting_orbit(flow, run)
    >>> round(orbit.period, 4)
    6.6633
    >>> cycles = continue_orbits(ds.Parameter(flow, "mu", 0.9, 1.1), orbit, steps=Steps(first=0.2))
    >>> set(cycles.kinds)
    {'stable'}

    Args:
        flow: the system.
        start: a state, or a run of this flow, whose final state is the start, or what `find_attractors` found.
        segments: number of segments of multiple shooting; use more for orbits with large multipliers.
        search: options of the search, such as the `period` of a forcing; `longest` is also the largest number of steps
            of the implicit method.

    Raises:
        ValueError: for bad input, or a start that leads to no stable periodic orbit; the sentence says where it leads.
    """
    check_flow(flow)
    found = start if isinstance(start, LimitSet) else limit_of(flow, start, segments=segments, search=search)
    if isinstance(found, PeriodicOrbit):
        return found
    if found.kind != PERIODIC or found.stability != "stable":
        raise ArgumentError("start", "lead to a stable periodic orbit", f"it leads to another limit: {found}")
    solver = solver_of(flow, search.integrator)
    return periodic_orbit(flow, found.state, found.period, segments=segments, forced=search.forced, solver=solver)


def limit_of(
    flow: AbstractFlow, start: State | Trajectory, *, segments: int = SEGMENTS, search: Search = Search()
) -> LimitSet | PeriodicOrbit:
    """Find the limit set, or the stable periodic orbit, that a start reaches; raise `ValueError` if it reaches none."""
    given = _end_of(flow, start) if isinstance(start, Trajectory) else start
    state = check_start("start", flow, double_state("start", given))
    with shapes_explained(flow, "start", state, (0.0,)):
        reached = approach(flow, state, search.longest) if _is_followed(flow, state, search) else None
        if reached is not None and reached.orbit is not None:
            return _by_shooting(flow, reached.orbit, segments, search)
        found = _search(flow, state, search)
        if found.labels[0] in (NOT_SETTLED, FAILED) and reached is not None and reached.rests:
            found = _search(flow, reached.state, search)
    label, other = int(found.labels[0]), int(found.other_reached[0])
    if label >= 0:
        return found.attractors[label]
    if other >= 0:
        return found.others[other]
    longer = f" (a larger `longest` than {search.longest} follows it further)" if label == NOT_SETTLED else ""
    time = max(found.longest * found.interval, 0.0 if reached is None else reached.time)
    raise ArgumentError(
        "start", "lead to a stable periodic orbit", f"it has {FATES[label]} after {time:.4g} units of time{longer}"
    )


def _search(flow: AbstractFlow, state: State, search: Search) -> Attractors:
    return find_attractors(flow, jax.tree.map(lambda part: np.asarray(part)[None], state), search=search)


def _is_followed(flow: AbstractFlow, state: State, search: Search) -> bool:
    """Test whether an implicit method and collocation serve: for small smooth autonomous flows on flat spaces."""
    plain = search.period is None and search.features is None and not search.symmetries and search.escape is None
    if not (plain and is_flat(flow.space)) or flat_state(state).size > LARGEST:
        return False
    smooth = Linearised(flow, state).switched is None and not may_leave_out(flow, state)
    return smooth and not depends_on_time(flow, state)


def _by_shooting(flow: AbstractFlow, orbit: PeriodicOrbit, segments: int, search: Search) -> PeriodicOrbit:
    """Compute an orbit by collocation again by shooting, unless an explicit method would take too many steps."""
    field, nodes, times = CycleField(flow, None, orbit.state), flat_states(orbit.nodes), np.asarray(orbit.times)
    J = field.at(np.zeros(()), nodes, np.zeros(()))[1][..., :-1]
    rates = np.max(np.abs(np.linalg.eigvals(J)), axis=1)
    if orbit.period * float(rates @ np.diff(times, append=1.0)) > STIFF and search.integrator is None:
        return orbit
    solver = solver_of(flow, search.integrator)
    with contextlib.suppress(ArgumentError, np.linalg.LinAlgError):
        found = periodic_orbit(flow, orbit.state, orbit.period, segments=segments, solver=solver)
        if found.stability == orbit.stability:
            return found
    return orbit


def _end_of(flow: AbstractFlow, run: Trajectory) -> State:
    """Get the final state of a run of this flow; raise `ValueError` for a run of another system."""
    if type(run.system) is not type(flow):
        has = f"is a run of {type(run.system).__name__}"
        raise ArgumentError("start", f"be a run of {type(flow).__name__}, or a state", has)
    return run.final

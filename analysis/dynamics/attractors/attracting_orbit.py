"""Compute the stable periodic orbit that a simulation or a search has reached, as a start for continuation."""

from typing import Any

import jax
import numpy as np

from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.search import FATES, NOT_SETTLED, find_attractors
from analysis.dynamics.continuation.orbits import SEGMENTS
from analysis.dynamics.flow_maps.variational import solver_of
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow, check_start, double_state, shapes_explained
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow

PERIODIC = "periodic orbit"


@on_host_by_default
def attracting_orbit(
    flow: Any,  # checked here, in one sentence
    start: State | Trajectory | LimitSet,
    *,
    segments: int = SEGMENTS,
    search: Search = Search(),
) -> PeriodicOrbit:
    """Compute the stable periodic orbit that a trajectory approaches, and its period.

    The trajectory is integrated until it is found to be periodic (see `find_attractors`), and the orbit is then refined
    by multiple shooting. `continue_orbits` continues it:

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
        search: options of the search, such as the `period` of a forcing.

    Raises:
        ValueError: for bad input, or a start that leads to no stable periodic orbit; the sentence says where it leads.
    """
    check_flow(flow)
    limit = start if isinstance(start, LimitSet) else limit_of(flow, start, search)
    if limit.kind != PERIODIC or limit.stability != "stable":
        raise ArgumentError("start", "lead to a stable periodic orbit", f"it leads to another limit: {limit}")
    solver = solver_of(flow, search.integrator)
    return periodic_orbit(flow, limit.state, limit.period, segments=segments, forced=search.forced, solver=solver)


def limit_of(flow: AbstractFlow, start: State | Trajectory, search: Search) -> LimitSet:
    """Find the limit set that a start reaches; raise `ValueError` if it reaches none."""
    given = _end_of(flow, start) if isinstance(start, Trajectory) else start
    state = check_start("start", flow, double_state("start", given))
    with shapes_explained(flow, "start", state, (0.0,)):
        found = find_attractors(flow, jax.tree.map(lambda part: np.asarray(part)[None], state), search=search)
    label, other = int(found.labels[0]), int(found.other_reached[0])
    if label >= 0:
        return found.attractors[label]
    if other >= 0:
        return found.others[other]
    longer = " (a longer run, or a larger `longest` of the search, may settle)" if label == NOT_SETTLED else ""
    time = found.longest * found.interval
    raise ArgumentError(
        "start", "lead to a stable periodic orbit", f"it has {FATES[label]} after {time:.4g} units of time{longer}"
    )


def _end_of(flow: AbstractFlow, run: Trajectory) -> State:
    """Get the final state of a run of this flow; raise `ValueError` for a run of another system."""
    if type(run.system) is not type(flow):
        has = f"is a run of {type(run.system).__name__}"
        raise ArgumentError("start", f"be a run of {type(flow).__name__}, or a state", has)
    return run.final

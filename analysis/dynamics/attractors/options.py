"""Options of a search for attractors, and the map over an interval that they make of a system."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.flow_maps.angles import OnCircles, angles_of
from analysis.dynamics.flow_maps.autonomy import change_in_time, check_period
from analysis.dynamics.flow_maps.time_map import Features, TimeMap, state_itself
from analysis.dynamics.flow_maps.variational import solver_of, tolerance_of
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.dynamics.scaling.flat import count_of, flat_states
from analysis.dynamics.scaling.samples import norms, units_near
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError, reason, shown
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.checks import double_state, start_on
from dynsim.systems.base import AbstractFlow, AbstractMap

ROUND = 128  # intervals of the first round; the others are each twice as long as the one before
LOOKED_AT = 1_000_000  # entries of states at which a dependence on time is looked for
SHARE = 0.05  # of the slowest time: the interval of an implicit solver
ZERO = 1e-12  # of the largest eigenvalue: those below are zero
FAR = 1e4  # times the size of the starts: where a state may have escaped, and its square: where it has


@dataclasses.dataclass(frozen=True)
class Search:
    """Options of a search for attractors, as used by `find_attractors`, `basins`, basin fractions and edge states.

    Attributes:
        period: that of the forcing, for a flow that depends on time: its attractors are those of the map over a period.
        interval: the time between two samples, by default half of one over the median norm of the Jacobian, made longer
            on the way where trajectories hardly move in it, as those of two time scales; with an implicit solver a
            twentieth of one over the modulus of the eigenvalue next to zero.
        features: a function of the state in JAX, by whose values states are compared, such as invariants of a symmetry;
            by default the state, with angles of its space compared modulo their periods.
        symmetries: generators of symmetries, whose zero eigenvalues are left out; see `spectrum`.
        longest: the most intervals, or steps of a map, for which a start is followed.
        longest_period: the longest period that is looked for, of a map, in steps, or of a forced flow, in periods.
        escape: a state with a larger feature has escaped; by default one hundred million times the size of the starts,
            or ten thousand times where the solver fails from there on, as before a blow-up.
        rtol: the relative tolerance of the solver.
        atol: the absolute tolerance for every entry of the state; by default a hundredth of `rtol`, in units near the
            ranges of the starts.
        exponents: whether to compute the largest Lyapunov exponent of sets that are not periodic.
        integrator: for a flow, instead of Tsit5 at `rtol`: of a stiff one `Diffrax(Kvaerno4(), rtol=1e-8)`, with
            diffrax's `Kvaerno4`. Its solver and its relative tolerance count.
    """

    period: float | None = None
    interval: float | None = None
    features: Features | None = None
    symmetries: Sequence[SymmetryGenerator] = ()
    longest: int = 4096
    longest_period: int = 64
    escape: float | None = None
    rtol: float = 1e-6
    atol: float | None = None
    exponents: bool = False
    integrator: AbstractIntegrator | None = None

    def __post_init__(self):
        """Raise `ValueError` for caps that are too small."""
        integer("longest", self.longest, least=2 * ROUND)
        integer("longest_period", self.longest_period, least=1)
        if self.atol is not None:
            number("atol", self.atol)

    @property
    def forced(self) -> bool:
        """Whether the period of a forcing is given."""
        return self.period is not None

    def may_adapt(self, time_map: TimeMap) -> bool:
        """Test whether the search may lengthen the interval; for a map or a forced flow it is fixed."""
        return self.interval is None and not self.forced and not time_map.is_map


def set_up(
    system: Any,  # checked here, in one sentence
    starts: State,
    search: Search,
) -> tuple[TimeMap, Float[np.ndarray, "starts n"]]:
    """Check the input of a search, and set up the map over an interval and flattened starts."""
    if not isinstance(system, AbstractFlow | AbstractMap):
        raise ArgumentError("system", "be a flow or a map", f"is {shown(system)}")
    if isinstance(system, AbstractMap) and system.on_host:
        raise ArgumentError("system", "be a map in JAX", f"is {type(system).__name__}, which runs on the host")
    starts = double_state("starts", starts)
    count_of("starts", starts)
    try:
        placed = jax.vmap(lambda y: start_on(system.space, y))(starts)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        must = "fit the space of the system, with the starts on the first axis of every array"
        raise ArgumentError("starts", must, f"do not ({reason(error)})") from None
    flat = np.asarray(flat_states(placed), float)
    starts = jax.tree.map(np.asarray, starts)  # on the host, where nothing is compiled
    if not np.all(np.isfinite(flat)):
        raise ArgumentError("starts", "be finite", "has an entry that is not")
    first = jax.tree.map(lambda y: y[0], starts)
    angles = angles_of(system.space, first)
    chosen: Features = OnCircles(angles) if angles else state_itself
    if search.features is not None:
        chosen = function("features", search.features, "the state")
    solver = solver_of(system, search.integrator)
    length = _interval(system, starts, search, isinstance(solver, dfx.AbstractImplicitSolver))
    tolerance = tolerance_of(search.rtol, search.integrator)
    sizes = units_near(system.space, starts)
    time_map = TimeMap(system, first, chosen, length, tolerance, np.inf, sizes, solver=solver, atol=search.atol)
    time_map = time_map.resolving(tolerance, flat, np.ptp(flat, axis=0))
    size = float(np.max(np.abs(time_map.features_of(flat))))
    bound = FAR * (1 + size) if search.escape is None else number("escape", search.escape)
    beyond = FAR * bound if search.escape is None else bound
    return eqx.tree_at(lambda m: (m.bound, m.beyond), time_map, (jnp.asarray(bound), jnp.asarray(beyond))), flat


def _interval(system: Any, starts: State, search: Search, implicit: bool) -> float:
    """Choose the interval: the period of the forcing, a given one, or a time in which the flow changes direction."""
    period, interval = search.period, search.interval
    if isinstance(system, AbstractMap):
        if period is not None:
            raise ArgumentError("period", "be left out for a map", f"is {shown(period)}")
        return float(1 if interval is None else integer("interval", interval, least=1))
    if period is not None:
        if interval is not None:
            raise ArgumentError("interval", "be left out if the period of the forcing is given", f"is {interval}")
        check_period("period", system, _some(starts, count_of("starts", starts), 32), number("period", period))
        return number("period", period)
    count = count_of("starts", starts)
    entries = sum(np.size(y) for y in jax.tree.leaves(starts)) // count
    change, size = change_in_time(system, _some(starts, count, max(32, LOOKED_AT // entries)))
    if change > 1e-9 * size:
        must = "be given for a flow that depends on time (attractors are those of the map over a period)"
        raise ArgumentError("period", must, "is not")
    if interval is not None:
        return number("interval", interval)
    if implicit:
        return _slow_interval(system, _some(starts, count, 32))
    rates = norms(system, _some(starts, count, 32))
    rate = float(np.median(rates)) if rates.size else 0.0
    return 0.5 / rate if rate > 0 else 1.0


def _slow_interval(flow: AbstractFlow, starts: State) -> float:
    """Compute a twentieth of the time scale of the slowest direction at the starts, by the lower quartile of rates."""
    slowest = []
    for k in range(count_of("starts", starts)):
        sizes = np.abs(eigenvalues(tangent_jacobian(flow, jax.tree.map(lambda y, k=k: y[k], starts))))
        slowest += [float(np.min(sizes[sizes > ZERO * np.max(sizes)]))] if np.max(sizes, initial=0.0) > 0 else []
    return SHARE / float(np.quantile(slowest, 0.25, method="lower")) if slowest else 1.0


def _some(starts: State, count: int, most: int) -> State:
    """Select about `count` evenly spaced starts, or all if there are fewer than twice as many."""
    return jax.tree.map(lambda y: y[:: max(1, count // most)], starts)

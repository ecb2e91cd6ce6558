"""Attractors of flows and maps, found from many starts, told from saddles, centres and slow transients."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from analysis.dynamics.attractors.classification import Record, limit_of, recurrent_set
from analysis.dynamics.attractors.distances import (
    extent_of,
    extent_of_paths,
    one_curve,
    resolution,
    same_set,
    set_distance,
    stays_on,
    volume_growth,
)
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet, Slow
from analysis.dynamics.attractors.perturbation import Attraction, attraction_of, attraction_of_orbit, widths, windows_of
from analysis.dynamics.attractors.sampling import relieved, suited
from analysis.dynamics.attractors.surfaces import among_surfaces
from analysis.dynamics.flow_maps.angles import Wrapped
from analysis.dynamics.flow_maps.autonomy import change_in_time, check_period
from analysis.dynamics.flow_maps.flat import count_of, flat_states
from analysis.dynamics.flow_maps.time_map import WINDOW, Features, TimeMap, state_itself
from analysis.dynamics.flow_maps.variational import solver_of, tolerance_of
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.scaling.samples import norms, units_near
from dynsim._core.printing import one_line
from dynsim._core.types import State, SymmetryGenerator
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError, shown
from dynsim.integrators import AbstractIntegrator, Diffrax
from dynsim.simulation.checks import as_state, start_on
from dynsim.systems.base import AbstractFlow, AbstractMap

NOT_SETTLED, ESCAPED, NOT_ATTRACTING, FAILED, UNDECIDED = -1, -2, -3, -4, -5


FATES = {
    NOT_SETTLED: "not settled",
    ESCAPED: "escaped",
    NOT_ATTRACTING: "at a limit that does not attract",
    FAILED: "left the domain, or failed",
    UNDECIDED: "at a limit whose attraction is undecided",
}
"""Labels of starts that do not lead to an attractor."""


STIFF = "trajectories hardly move in the longest intervals that the solver can follow: take one for stiff flows"


IN_PYTHON = ", such as `integrator=Diffrax(Kvaerno4())`"  # how one is taken


ROUND = 128  # intervals of the first round; the others are each twice as long as the one before


ENOUGH = 2048  # samples from which a set is taken as recurrent without being periodic; of a flow, twice as many


SAME = 1e-6  # of the extent: sets nearer to each other, but for the gaps between their points, are one


HYPERBOLIC = 1e-3  # multipliers have moduli below one minus this, or decide only with perturbations that come back


NEUTRAL = 4  # neutral equilibria or periodic orbits that do not attract: others are of their family


LYAPUNOV = 2000.0  # intervals over which a Lyapunov exponent is averaged


class Attractors(NamedTuple):
    """The attractors found, and for each start the index of its own, or a negative label of `FATES`.

    Equilibria that are not isolated are one attractor if they are a curve to which states beside it move, or a surface
    along which steps lead from one to the other (see `leads_to`).
    `others` are limits that do not attract (saddles, centres, conservative sets), or for which this is open (their
    `stability` is `undecided`); `other_reached` (starts,) says which of them a start has come to, -1 for none. `rates`
    (starts,) is the speed per time unit of what has not settled, NaN elsewhere. At most `longest` intervals, the last
    ones of the length `interval`, were run, and periods up to `longest_period` of them were looked for. `time_map` and
    `extent` are those of the search. `is_stiff` says that trajectories hardly moved in the longest intervals that an
    explicit solver can follow: an implicit one would take longer steps.
    """

    attractors: tuple[LimitSet, ...]
    others: tuple[LimitSet, ...]
    labels: Int[np.ndarray, " starts"]
    other_reached: Int[np.ndarray, " starts"]
    rates: Float[np.ndarray, " starts"]
    interval: float
    longest: int
    longest_period: int
    time_map: TimeMap
    extent: Float[np.ndarray, " f"]
    is_stiff: bool = False

    __repr__ = one_line

    def __str__(self) -> str:
        """Return the counts and the caps in a line."""
        counts = {f"{word} {np.sum(self.labels == code)}": np.sum(self.labels == code) for code, word in FATES.items()}
        rest = "".join(f", {text}" for text, count in counts.items() if count)
        kinds = "; ".join(str(a) for a in self.attractors) or "none"
        caps = f"after at most {self.longest} intervals of {self.interval:.4g}, periods up to {self.longest_period}"
        stiff = held_back(self.is_stiff, self.labels)
        first = f"{len(self.attractors)} attractors of {len(self.labels)} starts{rest} ({caps}): {kinds}"
        return "; ".join(filter(None, (first, stiff)))


def held_back(is_stiff: bool, labels: Any, how: str = IN_PYTHON) -> str:
    """Return the sentence on a solver that kept starts from settling, and how to take another one; "" if none did."""
    return STIFF + how if is_stiff and NOT_SETTLED in labels else ""


class Settings(NamedTuple):
    """What a search is told: see `find_attractors`."""

    forced: bool
    longest: int
    longest_period: int
    symmetries: Sequence[SymmetryGenerator]
    exponents: bool
    adapts: bool = False  # whether intervals may become longer

    def may_adapt(self, time_map: TimeMap) -> bool:
        """Return whether the intervals of a system may become longer: those of a map or of a period are given."""
        return self.adapts and not self.forced and not time_map.is_map


class Search:
    """The state of a search: the sets found so far, and the label, limit and rate of each start."""

    def __init__(self, time_map: TimeMap, flat: np.ndarray, told: Settings, known: Sequence[LimitSet] = ()):
        """Begin with starts, and with attractors that are known."""
        self.time_map, self.told, self.attractors = time_map, told, list(known)
        self.others: list[LimitSet] = []
        self.labels = np.full(len(flat), NOT_SETTLED)
        self.other_reached = np.full(len(flat), -1)
        self.rates = np.full(len(flat), np.nan)
        self.pending = np.arange(len(flat))
        self.neutral = 0  # neutral limits whose perturbations stayed away
        self.extent = extent_of(time_map.features_of(flat))
        self.is_stiff = False

    def found(self) -> Attractors:
        """Return what was found."""
        told, time_map = self.told, self.time_map
        return Attractors(
            tuple(self.attractors), tuple(self.others), self.labels, self.other_reached, self.rates,
            float(time_map.interval), told.longest, told.longest_period, time_map, self.extent, self.is_stiff,
        )  # fmt: skip

    def judge(self, start: int, states: np.ndarray, last: bool) -> bool:
        """Label a start by its last round of states, (samples, n), and return whether that is settled."""
        if self.has_arrived(start, states):
            return True
        features, told = self.time_map.features_of(states), self.told
        for place, other in enumerate(self.others):
            if other.kind == CURVE and stays_on(features, other, self.extent):
                return self._leave(start, place, last)
        record = Record(self.time_map, states, features, self.extent, told.forced, told.longest_period, told.symmetries)
        limit = limit_of(record)
        if isinstance(limit, Slow):
            self.rates[start] = limit.rate
            return False
        if limit is None and (last or len(states) >= ENOUGH * (2 if record.flow_at_rest else 1)):
            limit = recurrent_set(record)
        if limit is None:
            if last:
                self.rates[start] = float(np.max(record.apart(features[-1], features[-2]))) / record.time_map.interval
            return False
        return self._keep(start, limit, record, last)

    def has_arrived(self, start: int, states: np.ndarray) -> bool:
        """Label a start that has stayed on a known attractor, and return whether it has."""
        features = self.time_map.features_of(states)
        for place, known in enumerate(self.attractors):
            if stays_on(features, known, self.extent, self.attractors):
                self.labels[start], self.other_reached[start] = place, -1
                return True
        return False

    def _keep(self, start: int, limit: LimitSet, record: Record, last: bool) -> bool:
        """Add a limit to the attractors if it attracts, else to the others; return whether that is settled."""
        if np.isnan(limit.period) and (known := among_attractors(limit, self.attractors, self.extent)) >= 0:
            self.labels[start] = known
            return True
        known = among_others(self.time_map, limit, self.others, self.extent)
        if known >= 0:
            return self._leave(start, known, last)
        limit, found = self._attraction(limit, record)
        if found.attracts:
            limit = limit._replace(stability="stable", radius=found.radius)
            if self.told.exponents and np.isnan(limit.period):
                limit = limit._replace(exponent=_largest_exponent(record))
            self.labels[start] = self._place(limit)
            return True
        if found.left:  # a transient
            return False
        if found.attracts is False and limit.stability == "undecided":
            limit = limit._replace(stability="not attracting")
        self.others.append(limit)
        return self._leave(start, len(self.others) - 1, last)

    def _attraction(self, limit: LimitSet, record: Record) -> tuple[LimitSet, Attraction]:
        """Return a limit, with more points if it is not periodic, and whether it attracts."""
        if np.isnan(limit.period):
            growth = volume_growth(record)
            if growth.is_none:
                return limit, Attraction(False, 0.0)
            limit, found = attraction_of(record, limit)
            brief = growth.is_brief(windows_of(record) * WINDOW * float(self.time_map.interval))
            is_open = not growth.is_clear if found.attracts else brief
            return limit, found._replace(attracts=None) if is_open else found
        if limit.stability in ("saddle", "unstable"):
            return limit, Attraction(False, 0.0)
        if limit.kind == SURFACE:  # perturbations come back elsewhere on it
            return limit, Attraction(True, 0.0)
        sizes, neutral = np.abs(limit.values), limit.stability == "undecided" and limit.values.size > 0
        sure = limit.stability == "stable" and (limit.period == 0 or np.max(sizes, initial=0.0) < 1 - HYPERBOLIC)
        if neutral and self.neutral == NEUTRAL:
            return limit, Attraction(False, 0.0)
        if not limit.values.size and limit.period > 0 and volume_growth(record).is_none:
            return limit, Attraction(False, 0.0)
        found = attraction_of_orbit(self.time_map, limit, self.extent, widths(record))
        if sure:
            return limit, found._replace(attracts=True)
        self.neutral += neutral and found.attracts is False
        if neutral and found.attracts:  # of a higher order, if at all
            found = Attraction(None, 0.0)
        return limit if found.attracts else limit._replace(stability="undecided"), found

    def _leave(self, start: int, place: int, last: bool) -> bool:
        """Label a start that has come to a limit that does not attract; what is undecided goes on until the end."""
        open_still = undecided_set(self.others[place])
        self.labels[start] = UNDECIDED if self.others[place].stability == "undecided" else NOT_ATTRACTING
        self.other_reached[start] = place
        return last or not open_still

    def next_round(self) -> None:
        """Forget the sets whose attraction is open: their starts are followed for longer."""
        self.labels[self.pending], self.other_reached[self.pending] = NOT_SETTLED, -1
        self._keep_others([k for k, known in enumerate(self.others) if not undecided_set(known)])

    def _keep_others(self, kept: Sequence[int]) -> None:
        """Forget the other limits, but for some by their places."""
        renamed = {place: new for new, place in enumerate(kept)}
        self.other_reached = np.array([renamed.get(int(k), -1) for k in self.other_reached], int)
        self.others = [self.others[k] for k in kept]

    def adapt(self, states: np.ndarray) -> None:
        """Take longer or shorter intervals where those of the last round do not suit its states."""
        if states.shape[1] and self.told.may_adapt(self.time_map):
            self.time_map, self.is_stiff = suited(self.time_map, states, states[-1], self.extent)

    def end(self) -> None:
        """Give up the sets whose attraction was open and that turned out to be attractors, to which their starts go."""
        own = lambda other: among_attractors(other, self.attractors, self.extent) if undecided_set(other) else -1
        found = [own(other) for other in self.others]
        for place, known in enumerate(found):
            if known >= 0:
                self.labels[self.other_reached == place] = known
        self._keep_others([place for place, known in enumerate(found) if known < 0])

    def _place(self, limit: LimitSet) -> int:
        """Return the index of an attractor, which is added unless it is known, or resolves a recurrent set.

        A trajectory that reaches a known one late, as one that has passed the remnant of a fold, leads here too.
        """
        surface = among_surfaces(self.time_map, limit, self.attractors, self.extent)
        for place, known in enumerate(self.attractors):
            near = SAME + 2 * resolution(known, self.extent)
            if known.kind == limit.kind and set_distance(known, limit, self.extent) <= near:
                return place
            if one_curve(known, limit, self.extent) or place == surface:
                return place
            if np.isnan(known.period) and stays_on(limit.features, known, self.extent):
                self.attractors[place] = limit if limit.period > 0 else known
                return place
        self.attractors.append(limit)
        return len(self.attractors) - 1


def undecided_set(limit: LimitSet) -> bool:
    """Return whether a limit is a set that is not periodic and of which it is undecided whether it attracts."""
    return limit.stability == "undecided" and bool(np.isnan(limit.period))


def among_others(time_map: TimeMap, limit: LimitSet, others: Sequence[LimitSet], extent: np.ndarray) -> int:
    """Return which of some limits that do not attract one is, -1 for none."""
    for place, known in enumerate(others):
        if np.isnan(limit.period) and np.isnan(known.period):
            if same_set(known, limit, extent):
                return place
        elif set_distance(known, limit, extent) < 1e-4 or one_curve(known, limit, extent):
            return place
    return among_surfaces(time_map, limit, others, extent)


def among_attractors(limit: LimitSet, attractors: Sequence[LimitSet], extent: np.ndarray) -> int:
    """Return which attractor a recurrent set is or lies on, -1 for none."""
    for place, known in enumerate(attractors):
        if np.isnan(known.period) and (same_set(known, limit, extent) or stays_on(limit.features, known, extent)):
            return place
    return -1


def search(
    time_map: TimeMap,
    flat: np.ndarray,
    told: Settings,
    known: Sequence[LimitSet] = (),
    extent: np.ndarray | None = None,
) -> Attractors:
    """Return the attractors to which flat starts lead, in rounds each twice as long as the one before.

    With `known` attractors give the `extent` in which their radii are measured: that of a few starts may be far less.
    """
    run = Search(time_map, flat, told, known)
    run.extent = run.extent if extent is None else extent
    xs, begun, length = flat.copy(), 0, ROUND
    while run.pending.size and begun < told.longest:
        states = _round(run, xs, begun, min(length, told.longest - begun))
        begun += len(states)
        escaped, failed = run.time_map.lost(xs[run.pending])
        run.labels[run.pending[escaped]], run.labels[run.pending[failed]] = ESCAPED, FAILED
        here = ~escaped & ~failed
        if begun == ROUND and np.any(here) and extent is None:
            run.extent = extent_of_paths(np.stack([time_map.features_of(s[here]) for s in states]))
        last = begun >= told.longest - WINDOW
        kept = np.array(
            [here[j] and not run.judge(int(i), states[:, j], last) for j, i in enumerate(run.pending)], bool
        )
        run.pending, late = run.pending[kept], states[:, kept]
        arrived = np.array([run.has_arrived(int(i), late[:, j]) for j, i in enumerate(run.pending)], bool)
        run.pending = run.pending[~arrived]
        if not last:
            run.next_round()
            run.adapt(late[:, ~arrived])
        length = begun
    run.end()
    run.rates[run.labels != NOT_SETTLED] = np.nan
    return run.found()


def _round(run: Search, xs: np.ndarray, begun: int, length: int) -> np.ndarray:
    """Move the pending ones of some states on, and return what they pass, until intervals are too long for a solver."""
    states = np.empty((length // WINDOW * WINDOW, run.pending.size, xs.shape[1]))
    for k in range(0, len(states), WINDOW):
        states[k : k + WINDOW] = run.time_map.window(xs[run.pending], begun + k)
        xs[run.pending] = states[k + WINDOW - 1]
        if relieved(run.time_map, xs[run.pending]) is not run.time_map:
            return states[: k + WINDOW]
    return states


def _largest_exponent(record: Record) -> float:
    """Return the largest Lyapunov exponent of a set by the solver, and the tolerance, of the search."""
    time_map: Any = record.time_map
    interval, solver = float(time_map.interval), time_map.solver
    integrator = None if solver is None else Diffrax(solver, rtol=time_map.rtol)
    found = lyapunov_spectrum(
        time_map.system, record.state(-1), LYAPUNOV * interval, count=1, interval=interval, integrator=integrator
    )
    return float(found.exponents[0])


LOOKED_AT = 1_000_000  # entries of states at which a dependence on time is looked for
SHARE = 0.05  # of the slowest time: the interval of an implicit solver
ZERO = 1e-12  # of the largest eigenvalue: those below are zero
FAR = 1e4  # times the size of the starts: where a state may have escaped, and its square: where it has


def find_attractors(
    system: Any,  # checked here, in one sentence
    starts: State,
    *,
    period: float | None = None,
    interval: float | None = None,
    features: Features | None = None,
    wrapped: Mapping[int, float] | None = None,
    symmetries: Sequence[SymmetryGenerator] = (),
    longest: int = 2**14,
    longest_period: int = 64,
    escape: float | None = None,
    rtol: float = 1e-8,
    exponents: bool = False,
    integrator: AbstractIntegrator | None = None,
) -> Attractors:
    """Return the attractors to which starts lead, and what becomes of the starts that lead to none.

    Equilibria and periodic orbits are found to rounding by Newton's method, and are attractors if and only if their
    spectrum is stable; their radius is 0 if no perturbations of the sizes tried came back in time. Other recurrent sets
    are attractors if nine in ten perturbed trajectories come as close to them as unperturbed ones of the set, and
    volumes are not conserved. They do not attract if perturbations stay away; if the points of a set are too far apart
    to tell, or the time was too short, its starts are labelled as undecided. What still moves slowly after the longest
    time is not settled. A chaotic transient longer than that cannot be told from an attractor.

    Args:
        system: a flow, or a map in JAX.
        starts: states, on the first axis of every array.
        period: that of the forcing, for a flow that depends on time: its attractors are those of the map over a period.
        interval: the time between two samples, by default half of one over the median norm of the Jacobian, made longer
            on the way where trajectories hardly move in it, as those of two time scales; with an implicit solver a
            twentieth of one over the modulus of the eigenvalue next to zero.
        features: a function of the state in JAX, by whose values states are compared, such as invariants of a symmetry.
        wrapped: periods of the entries of a vector that are angles, by their index; instead of `features`.
        symmetries: generators of symmetries, whose zero eigenvalues are left out; see `spectrum`.
        longest: the most intervals, or steps of a map.
        longest_period: the longest period that is looked for, of a map, in steps, or of a forced flow, in periods.
        escape: a state with a larger feature has escaped; by default one hundred million times the size of the starts,
            or ten thousand times where the solver fails from there on, as before a blow-up.
        rtol: the relative tolerance of the solver; the absolute one is a hundredth of it, in units near the ranges of
            the starts.
        exponents: whether to compute the largest Lyapunov exponent of sets that are not periodic.
        integrator: for a flow, instead of Tsit5 at `rtol`: of a stiff one `Diffrax(Kvaerno4(), rtol=1e-8)`, with
            diffrax's `Kvaerno4`. Its solver and its relative tolerance count.

    Raises:
        ValueError: for bad input, or a flow that depends on time without a `period`.
    """
    told = Settings(
        period is not None,
        integer("longest", longest, least=2 * ROUND),
        integer("longest_period", longest_period, least=1),
        tuple(symmetries),
        exponents,
        interval is None,
    )
    time_map, flat = prepared(system, starts, period, interval, features, wrapped, escape, rtol, integrator)
    return search(time_map, flat, told)


def prepared(
    system: Any,  # checked here, in one sentence
    starts: State,
    period: float | None,
    interval: float | None,
    features: Features | None,
    wrapped: Mapping[int, float] | None,
    escape: float | None,
    rtol: float,
    integrator: AbstractIntegrator | None = None,
) -> tuple[TimeMap, Float[np.ndarray, "starts n"]]:
    """Return the map over an interval and flat starts, checked; raise `ValueError` for bad input."""
    if not isinstance(system, AbstractFlow | AbstractMap):
        raise ArgumentError("system", "be a flow or a map", f"is {shown(system)}")
    if isinstance(system, AbstractMap) and system.on_host:
        raise ArgumentError("system", "be a map in JAX", f"is {type(system).__name__}, which runs on the host")
    starts = as_state("starts", starts)
    count_of("starts", starts)
    flat = np.asarray(flat_states(jax.vmap(lambda y: start_on(system.space, y))(starts)), float)
    starts = jax.tree.map(np.asarray, starts)  # on the host, where nothing is compiled
    if not np.all(np.isfinite(flat)):
        raise ArgumentError("starts", "be finite", "has an entry that is not")
    if features is not None and wrapped is not None:
        raise ArgumentError("wrapped", "be left out if `features` are given", "is given too")
    chosen = state_itself if features is None else function("features", features, "the state")
    if wrapped is not None:
        chosen = _wrapped(wrapped, flat.shape[1])
    first = jax.tree.map(lambda y: y[0], starts)
    solver = solver_of(system, integrator)
    length = _interval(system, starts, period, interval, isinstance(solver, dfx.AbstractImplicitSolver))
    tolerance = tolerance_of(rtol, integrator)
    sizes = units_near(system.space, starts)
    time_map = TimeMap(system, first, chosen, length, tolerance, np.inf, sizes, solver=solver)
    size = float(np.max(np.abs(time_map.features_of(flat))))
    bound = FAR * (1 + size) if escape is None else number("escape", escape)
    beyond = FAR * bound if escape is None else bound
    return eqx.tree_at(lambda m: (m.bound, m.beyond), time_map, (jnp.asarray(bound), jnp.asarray(beyond))), flat


def _wrapped(wrapped: Mapping[int, float], n: int) -> Wrapped:
    for k, period in wrapped.items():
        if not 0 <= k < n:
            raise ArgumentError("wrapped", f"have indices of the {n} entries of the state", f"has {k}")
        number("wrapped", period)
    return Wrapped(tuple(sorted((int(k), float(period)) for k, period in wrapped.items())))


def _interval(
    system: Any, starts: State, period: float | None, interval: float | None, implicit: bool = False
) -> float:
    """Return the interval: the period of the forcing, what was given, or a time in which a flow changes its course."""
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
    """Return a twentieth of the time in which the slowest direction at a start changes, the lower quartile of rates."""
    slowest = []
    for k in range(count_of("starts", starts)):
        sizes = np.abs(eigenvalues(tangent_jacobian(flow, jax.tree.map(lambda y, k=k: y[k], starts))))
        slowest += [float(np.min(sizes[sizes > ZERO * np.max(sizes)]))] if np.max(sizes, initial=0.0) > 0 else []
    return SHARE / float(np.quantile(slowest, 0.25, method="lower")) if slowest else 1.0


def _some(starts: State, count: int, most: int) -> State:
    """Return starts at equal distances in their order: about so many, or all if there are less than twice as many."""
    return jax.tree.map(lambda y: y[:: max(1, count // most)], starts)

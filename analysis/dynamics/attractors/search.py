"""Find the attractors of a flow or map from many starts, and tell them from saddles, centres and slow transients."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from analysis.dynamics.attractors.classification import TrajectoryRecord, limit_of, recurrent_set
from analysis.dynamics.attractors.distances import (
    extent_of,
    extent_of_paths,
    one_curve,
    same_limit,
    same_set,
    set_distance,
    stays_on,
    volume_growth,
)
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet, Slow
from analysis.dynamics.attractors.options import ROUND, Search, set_up
from analysis.dynamics.attractors.perturbation import Attraction, attraction_of, attraction_of_orbit, widths, windows_of
from analysis.dynamics.attractors.sampling import relieved, suited
from analysis.dynamics.attractors.surfaces import among_surfaces
from analysis.dynamics.flow_maps.angles import entry_extents
from analysis.dynamics.flow_maps.time_map import WINDOW, TimeMap
from analysis.dynamics.flow_maps.variational import tolerance_of
from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim.errors import counted
from dynsim.integrators import Diffrax

NOT_SETTLED, ESCAPED, NOT_ATTRACTING, FAILED, UNDECIDED = -1, -2, -3, -4, -5


FATES = {
    NOT_SETTLED: "not settled",
    ESCAPED: "escaped",
    NOT_ATTRACTING: "at a limit that does not attract",
    FAILED: "left the domain, or failed",
    UNDECIDED: "at a limit whose attraction is undecided",
}
"""Labels of starts that lead to no attractor."""


STIFF = "trajectories hardly move in the longest intervals at which the solver is stable: use one for stiff flows"


# Ends the sentence `STIFF` for users of the Python interface.
IN_PYTHON = ", such as `Search(integrator=Diffrax(Kvaerno4()))`"


# Number of samples after which a nonperiodic recurrent set is accepted; flows need twice as many.
ENOUGH = 2048


# Largest distance, relative to the extent, at which two sets count as one, apart from the gaps between their points.
SAME = 1e-6


# Multipliers decide about stability only if their moduli are below one minus this; otherwise perturbations must return.
HYPERBOLIC = 1e-3


# Smallest extent of trajectories, relative to that of their starts; those that slide to a point at once have none.
ARRIVED_AT_ONCE = 1e-9


# Number of neutral limits found not to attract after which further ones are assumed to be of the same family.
NEUTRAL = 4


# Number of intervals over which the largest Lyapunov exponent is averaged.
LYAPUNOV = 2000.0


class Attractors(NamedTuple):
    """Attractors found by a search, and the label of each start: the index of its attractor, or a key of `FATES`.

    Equilibria that are not isolated count as one attractor if they form a curve that attracts nearby states, or a
    surface along which one can step from one to the other (see `leads_to`).

    Attributes:
        attractors: the attractors.
        others: limits that do not attract (saddles, centres, conservative sets), or for which this remains `undecided`.
        labels: for each start the index of its attractor, or a negative key of `FATES`.
        other_reached: for each start the index in `others` of the limit that it reached, or -1.
        rates: speed, per time unit, of starts that have not settled; NaN for the others.
        interval: length of the last sampling intervals, in time units or steps.
        longest: largest number of intervals integrated.
        longest_period: longest period, in intervals, that was looked for.
        time_map: the system over one interval.
        extent: size of each feature, by which distances are divided.
        is_stiff: whether trajectories hardly moved in the longest intervals that an explicit solver can integrate
            stably, so that an implicit solver would take longer steps.
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
        """Describe the attractors, the other outcomes and the limits of the search in one line."""
        counts = {f"{word} {np.sum(self.labels == code)}": np.sum(self.labels == code) for code, word in FATES.items()}
        rest = "".join(f", {text}" for text, count in counts.items() if count)
        kinds = "; ".join(str(a) for a in self.attractors) or "none"
        caps = f"after at most {self.longest} intervals of {self.interval:.4g}, periods up to {self.longest_period}"
        stiff = held_back(self.is_stiff, self.labels)
        found, starts = counted(len(self.attractors), "attractor"), counted(len(self.labels), "start")
        first = f"{found} of {starts}{rest} ({caps}): {kinds}"
        return "; ".join(filter(None, (first, stiff)))


def held_back(is_stiff: bool, labels: Any, how: str = IN_PYTHON) -> str:
    """Explain that stiffness kept starts from settling, and name a solver to use; "" if it did not."""
    return STIFF + how if is_stiff and NOT_SETTLED in labels else ""


class AttractorSearch:
    """The state of a search: the sets found so far, and the label, limit and rate of each start."""

    def __init__(self, time_map: TimeMap, flat: np.ndarray, told: Search, known: Sequence[LimitSet] = ()):
        """Begin with starts, and with attractors that are known."""
        self.time_map, self.told, self.attractors = time_map, told, list(known)
        self.others: list[LimitSet] = []
        self.labels = np.full(len(flat), NOT_SETTLED)
        self.other_reached = np.full(len(flat), -1)
        self.rates = np.full(len(flat), np.nan)
        self.pending = np.arange(len(flat))
        self.neutral = 0  # number of neutral limits to which perturbations did not return
        self.extent = extent_of(time_map.features_of(flat))
        self.is_stiff = False

    def found(self) -> Attractors:
        """Collect the results of the search."""
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
        record = TrajectoryRecord(
            self.time_map, states, features, self.extent, told.forced, told.longest_period, told.symmetries
        )
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

    def _keep(self, start: int, limit: LimitSet, record: TrajectoryRecord, last: bool) -> bool:
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
        if found.left:  # the trajectory is a transient
            return False
        if found.attracts is False and limit.stability == "undecided":
            limit = limit._replace(stability="not attracting")
        self.others.append(limit)
        return self._leave(start, len(self.others) - 1, last)

    def _attraction(self, limit: LimitSet, record: TrajectoryRecord) -> tuple[LimitSet, Attraction]:
        """Test whether a limit set attracts; a nonperiodic set is sampled at more points first."""
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
        # perturbations settle elsewhere on the surface, so that their return need not be tested
        if limit.kind == SURFACE:
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
        if neutral and found.attracts:  # any attraction is of higher order, which the search cannot confirm
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
        """Lengthen or shorten the intervals if those of the last round were too short or too long for its states."""
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
        """Get the index of an attractor, adding it if it is new or resolves a recurrent set.

        A trajectory that reaches a known one late, as one that has passed the remnant of a fold, leads here too.
        """
        surface = among_surfaces(self.time_map, limit, self.attractors, self.extent)
        for place, known in enumerate(self.attractors):
            if same_limit(known, limit, self.extent, SAME):
                return place
            if one_curve(known, limit, self.extent) or place == surface:
                return place
            if np.isnan(known.period) and stays_on(limit.features, known, self.extent):
                self.attractors[place] = limit if limit.period > 0 else known
                return place
        self.attractors.append(limit)
        return len(self.attractors) - 1


def undecided_set(limit: LimitSet) -> bool:
    """Test whether a limit is a nonperiodic set whose attraction is undecided."""
    return limit.stability == "undecided" and bool(np.isnan(limit.period))


def among_others(time_map: TimeMap, limit: LimitSet, others: Sequence[LimitSet], extent: np.ndarray) -> int:
    """Find the index of a limit among the known limits that do not attract; -1 if it is new."""
    for place, known in enumerate(others):
        if np.isnan(limit.period) and np.isnan(known.period):
            if same_set(known, limit, extent):
                return place
        elif set_distance(known, limit, extent) < 1e-4 or one_curve(known, limit, extent):
            return place
    return among_surfaces(time_map, limit, others, extent)


def among_attractors(limit: LimitSet, attractors: Sequence[LimitSet], extent: np.ndarray) -> int:
    """Find the index of the attractor that a recurrent set equals or lies on; -1 if there is none."""
    for place, known in enumerate(attractors):
        if np.isnan(known.period) and (same_set(known, limit, extent) or stays_on(limit.features, known, extent)):
            return place
    return -1


def attractors_of(
    time_map: TimeMap,
    flat: np.ndarray,
    told: Search,
    known: Sequence[LimitSet] = (),
    extent: np.ndarray | None = None,
) -> Attractors:
    """Find the attractors of flattened starts, in rounds of doubling length.

    With `known` attractors give the `extent` in which their radii are measured: that of a few starts may be far less.
    """
    run = AttractorSearch(time_map, flat, told, known)
    run.extent = run.extent if extent is None else extent
    xs, begun, length = flat.copy(), 0, ROUND
    while run.pending.size and begun < told.longest:
        states = _round(run, xs, begun, min(length, told.longest - begun))
        begun += len(states)
        escaped, failed = run.time_map.lost(xs[run.pending])
        run.labels[run.pending[escaped]], run.labels[run.pending[failed]] = ESCAPED, FAILED
        here = ~escaped & ~failed
        if begun == ROUND and np.any(here) and extent is None:
            paths = extent_of_paths(np.stack([time_map.features_of(s[here]) for s in states]))
            run.extent = np.maximum(paths, ARRIVED_AT_ONCE * run.extent)
            entries = entry_extents(time_map, run.extent, flat.shape[1])
            rtol = tolerance_of(told.rtol, told.integrator)
            run.time_map = run.time_map.resolving(rtol, states[:, here], entries)
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


def _round(run: AttractorSearch, xs: np.ndarray, begun: int, length: int) -> np.ndarray:
    """Integrate the pending starts for a round, or until the intervals become too long for the solver."""
    states = np.empty((length // WINDOW * WINDOW, run.pending.size, xs.shape[1]))
    for k in range(0, len(states), WINDOW):
        states[k : k + WINDOW] = run.time_map.window(xs[run.pending], begun + k)
        xs[run.pending] = states[k + WINDOW - 1]
        if relieved(run.time_map, xs[run.pending]) is not run.time_map:
            return states[: k + WINDOW]
    return states


def _largest_exponent(record: TrajectoryRecord) -> float:
    """Compute the largest Lyapunov exponent of a set, with the solver and the tolerance of the search."""
    time_map: Any = record.time_map
    interval, solver = float(time_map.interval), time_map.solver
    integrator = None if solver is None else Diffrax(solver, rtol=time_map.rtol)
    atol = None if time_map.atol is None else float(time_map.atol)
    found = lyapunov_spectrum(
        time_map.system, record.state(-1), LYAPUNOV * interval, count=1, interval=interval, atol=atol,
        integrator=integrator,
    )  # fmt: skip
    return float(found.exponents[0])


@on_host_by_default
def find_attractors(
    system: Any,  # checked here, in one sentence
    starts: State,
    *,
    search: Search = Search(),
) -> Attractors:
    """Find the attractors that starts lead to, and classify the starts that reach none.

    Equilibria and periodic orbits are found to rounding by Newton's method, and are attractors if and only if their
    spectrum is stable; their radius is 0 if no perturbations of the sizes tried came back in time. Other recurrent sets
    are attractors if nine in ten perturbed trajectories come as close to them as unperturbed ones of the set, and
    volumes are not conserved. They do not attract if perturbations stay away; if the points of a set are too far apart
    to tell, or the time was too short, its starts are labelled as undecided. What still moves slowly after the longest
    time is not settled. A chaotic transient longer than that cannot be told from an attractor.

    Args:
        system: a flow, or a map in JAX.
        starts: states, on the first axis of every array; they are converted to float64.
        search: the options of the search.

    Raises:
        ValueError: for bad input, or a flow that depends on time without a `period`.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import find_attractors
        >>> found = find_attractors(ds.FunctionFlow(lambda t, x: x - x**3), np.array([[-0.5], [0.3], [2.0]]))
        >>> [(one.kind, round(float(one.state[0]), 6)) for one in found.attractors], found.labels.tolist()
        ([('equilibrium', -1.0), ('equilibrium', 1.0)], [0, 1, 1])
    """
    return attractors_of(*set_up(system, starts, search), search)

"""Track the edge state, a saddle or a chaotic set, on the boundary between two basins by repeated bisection."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int
from scipy.spatial import KDTree

from analysis.dynamics.attractors.basins import labels_of
from analysis.dynamics.attractors.classification import NEAR, TrajectoryRecord, limit_of
from analysis.dynamics.attractors.limit_set import LimitSet, with_principal_angles
from analysis.dynamics.attractors.options import ROUND, Search, set_up
from analysis.dynamics.attractors.search import FATES, NOT_SETTLED, Attractors, attractors_of
from analysis.dynamics.flow_maps.time_map import FEW, TimeMap, states_of
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.linearisation import tangent_basis, tangent_jacobian
from analysis.dynamics.scaling.flat import flat_states
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import State
from dynsim._core.validation import integer, number
from dynsim.errors import ArgumentError, counted
from dynsim.simulation.checks import as_state
from dynsim.systems.base import AbstractFlow, AbstractMap

# Largest number of Lyapunov exponents computed along the edge.
MOST = 8


# Number of blocks of the trajectory from whose means standard errors are estimated.
BLOCKS = 8


# Number of standard errors above zero from which on an exponent counts as positive.
SURE = 3.0


# Distance of a pair of states: at least this many gaps, and at most this many extents.
NEAR_BY = (10.0, 1e-2)


# Number of intervals by which the states of a pair are separated in time, at least.
LATER = 8


# Smallest number of pairs from which a rate of divergence is estimated.
PAIRS = 64


# Smallest rate of divergence on a chaotic set, relative to the only positive exponent.
PART = 0.5


class EdgeExponents(NamedTuple):
    """Largest Lyapunov exponents along an edge, at most eight, per time unit or step, with standard errors.

    `divergence` is the rate at which states that come near each other separate, and its standard error.
    """

    values: Float[np.ndarray, " k"]
    errors: Float[np.ndarray, " k"]
    divergence: tuple[float, float] = (math.nan, math.nan)

    __repr__ = one_line

    @property
    def chaotic(self) -> bool:
        """Whether the trajectory is certainly chaotic: two exponents are positive, or one is and near states separate.

        Every edge state has one positive exponent across the boundary. With no other one, near states must separate at
        least at half of its rate; on a torus, or during the approach to a cycle, they do not.
        """
        rate, error = self.divergence
        return self.positive >= 2 or (self.positive == 1 and rate - SURE * error > PART * float(self.values[0]))

    @property
    def positive(self) -> int:
        """Number of exponents that are certainly above zero."""
        return int(np.sum(self.values > SURE * self.errors))

    def __str__(self) -> str:
        """List the exponents with their errors."""
        return ", ".join(f"{v:.4g} +- {e:.1g}" for v, e in zip(self.values, self.errors, strict=True))


def exponents_along(time_map: TimeMap, states: Float[np.ndarray, "samples n"], begun: int) -> EdgeExponents:
    """Compute Lyapunov exponents along a sequence of states, ignoring the first quarter.

    Args:
        time_map: the system over one interval.
        states: states at successive intervals, up to small gaps.
        begun: number of intervals before the first state, for a forced flow.
    """
    basis = tangent_basis(time_map.system.space, time_map.restored(jnp.asarray(states[0])))
    begins = (begun + np.arange(len(states))) * float(time_map.interval)
    rates = np.asarray(_rates(time_map, jnp.asarray(states), jnp.asarray(begins), jnp.asarray(basis[:, :MOST])))
    values, errors = _means(rates[len(rates) // 4 :])
    order = np.argsort(-values, kind="stable")
    return EdgeExponents(values[order], errors[order])


def divergence(
    features: Float[np.ndarray, "samples m"], extent: Float[np.ndarray, " m"], gap: float, interval: float
) -> tuple[float, float]:
    """Estimate the rate at which states that come near each other separate, and its standard error.

    It is positive on a chaotic set, zero on a torus, and negative during the approach to a cycle. For each state and
    its nearest neighbour from another time, the rate is the change of the logarithm of their distance over an interval.
    The standard error is estimated from means of blocks. Both are NaN with fewer than 64 pairs.

    Source: M. T. Rosenstein, J. J. Collins, C. J. De Luca, Physica D 65 (1993).

    Args:
        features: states of a trajectory after each interval, in the coordinates in which distances are measured.
        extent: size of each coordinate.
        gap: uncertainty of the states, relative to the extent.
        interval: duration of an interval.
    """
    scaled, found, nearest = features / extent, [], []
    for k, row in enumerate(scaled[:-1]):
        away = np.max(np.abs(scaled[:-1] - row), axis=1)
        away[max(0, k - LATER + 1) : k + LATER] = np.inf
        away[away < NEAR_BY[0] * gap] = np.inf
        other = int(np.argmin(away))
        if away[other] <= NEAR_BY[1]:
            found.append(k)
            nearest.append(other)
    if len(found) < PAIRS:
        return math.nan, math.nan
    one, other = np.array(found), np.array(nearest)
    before = np.linalg.norm(scaled[one] - scaled[other], axis=1)
    after = np.linalg.norm(scaled[one + 1] - scaled[other + 1], axis=1)
    rates = np.log(np.maximum(after, np.finfo(float).tiny) / before) / interval
    (mean,), (error,) = _means(rates[:, None])
    return float(mean), float(error)


def _means(rates: Float[np.ndarray, "samples k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Average rates over the samples; standard errors come from means of blocks."""
    blocks = np.stack([np.mean(part, axis=0) for part in np.array_split(rates, BLOCKS)])
    return np.mean(blocks, axis=0), np.std(blocks, axis=0, ddof=1) / np.sqrt(BLOCKS)


@eqx.filter_jit
def _rates(time_map: TimeMap, xs: Array, begins: Array, frame: Array) -> Array:
    """Compute the growth rates of an orthonormal frame over each interval, (samples, k)."""
    pair = Linearised(time_map.system, time_map.restored(xs[0]), time_map.solver, time_map.atol)
    interval = time_map.interval

    def over(V: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        x, begin = at
        if isinstance(time_map.system, AbstractMap):
            first, steps = jnp.round(begin).astype(int), jnp.round(interval).astype(int)
            V = pair.on_space(*jax.lax.fori_loop(0, steps, lambda k, y: pair.step(first + k, y), (x, V)))[1]
        else:
            V = pair.over(begin, begin + interval, interval / 50, x, V, time_map.rtol)[1]
        Q, R = jnp.linalg.qr(V)
        return Q, jnp.log(jnp.abs(jnp.diagonal(R))) / interval

    return jax.lax.scan(over, frame, (xs, begins))[1]


class OutcomeBracket(NamedTuple):
    """An interval [low, high] of a parameter, with different outcomes at its ends.

    If each outcome holds on an open set of parameters (as a limit does in its basin of attraction), some parameter in
    the interval has neither of the two.
    """

    low: float
    high: float
    at_low: Hashable
    at_high: Hashable

    __repr__ = one_line
    __str__ = report

    @property
    def middle(self) -> float:
        """The midpoint of the interval."""
        return (self.low + self.high) / 2


def bisect_outcome(
    outcome: Callable[[float], Hashable], low: float, high: float, *, width: float = 1e-9, max_steps: int = 200
) -> OutcomeBracket:
    """Bisect [low, high] down to `width`, keeping different outcomes at the ends.

    The outcome of a parameter is any value with equality, such as the index of the limit that `simulate` or `settle`
    reaches. A parameter with a third outcome becomes the upper end. Bisection stops after `max_steps`, or when no
    floating-point number lies between the ends. NumPy: not for `jit`.

    >>> bracket = bisect_outcome(lambda x: x**2 > 2, 1.0, 2.0, width=1e-6)
    >>> round(bracket.middle, 5)
    1.41421

    Raises:
        ValueError: unless low < high and the width is positive, or if both ends have the same outcome.
    """
    return divide_outcomes(lambda xs: [outcome(x) for x in xs], low, high, width=width, max_steps=max_steps)


def divide_outcomes(
    outcomes: Callable[[list[float]], Sequence[Hashable]],
    low: float,
    high: float,
    *,
    parts: int = 2,
    width: float = 1e-9,
    max_steps: int = 200,
    at_ends: tuple[Hashable, Hashable] | None = None,
) -> OutcomeBracket:
    """Do the same as `bisect_outcome` for a function of many parameters at once, dividing into `parts`.

    The next interval is the first part whose upper end has a different outcome from `low`. `at_ends` are the outcomes
    at both ends, if they are known.

    Raises:
        ValueError: as for `bisect_outcome`.
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ArgumentError("high", f"be finite and above `low` = {low}", f"is {high}")
    if not width > 0:
        raise ArgumentError("width", "be positive", f"is {width}")
    left, right = outcomes([low, high]) if at_ends is None else at_ends
    if left == right:
        raise ArgumentError("outcome", "differ between `low` and `high`", f"is {left!r} at both")
    for _ in range(max_steps):
        inside = [low + (high - low) * k / parts for k in range(1, parts)]
        if high - low <= width or not (low < inside[0] and inside[-1] < high):
            break
        ends = [low, *inside, high]
        found = [left, *outcomes(inside), right]
        change = next(k for k, one in enumerate(found) if one != left)
        low, high, right = ends[change - 1], ends[change], found[change]
    return OutcomeBracket(low, high, left, right)


# Width of the bracket, relative to the extent, at which bisection stops.
NARROW = 1e-9
# Number of samples of the edge trajectory between attempts to find its limit.
LEAST = 64
# Number of last samples that must lie near the limit; a chaotic trajectory would leave it again.
STAYED = 16
# Distances beyond the ends of the last pair, relative to its length, where the boundary is searched if it is lost.
WIDER = (0.0, 1.0, 10.0, 100.0)
# Step along the unstable direction to both sides, relative to the extent.
PUSH = 1e-4


class EdgeState(NamedTuple):
    """Limit of a trajectory on the boundary between two basins.

    If the basins meet in a smooth boundary, `limit` is a saddle with one unstable direction. On a chaotic edge the
    trajectory approaches no equilibrium or cycle, and `limit` is a `chaotic edge state`, represented by the second half
    of the track. It then has two positive Lyapunov exponents or more, or one, as on a homoclinic tangle in the plane,
    with nearby states that separate.

    Attributes:
        limit: the edge state.
        unstable: unit vector of the unstable direction in the flattened state; for a chaotic edge state, the direction
            across the boundary at the end of the track.
        leads_to: labels reached by small steps along the unstable direction, forwards and backwards.
        labels: labels of the two starts.
        track: states along the edge at successive intervals, stacked along the first axis.
        width: uncertainty of each state of the track.
        attractors: result of the search for attractors.
        exponents: Lyapunov exponents along the track of a chaotic edge state.
    """

    limit: LimitSet
    unstable: Float[np.ndarray, " n"]
    leads_to: tuple[int, int]
    labels: tuple[int, int]
    track: State
    width: float
    attractors: Attractors
    exponents: EdgeExponents | None = None

    __repr__ = one_line

    @property
    def spread(self) -> Float[np.ndarray, " n"]:
        """Standard deviation of each entry of the state over the limit; 0 for an equilibrium."""
        return np.std(flat_states(self.limit.states), axis=0)

    @property
    def unstable_dimension(self) -> int:
        """Number of unstable directions; one for an edge state that is an equilibrium or a cycle."""
        if self.exponents is not None:
            return self.exponents.positive
        values = self.limit.values
        grow = np.real(values) > 0 if self.limit.kind == "equilibrium" else np.abs(values) > 1
        return int(np.sum(grow))

    def __str__(self) -> str:
        """Describe the edge state in one line."""
        a, b = (FATES[k] if k in FATES else str(self.attractors.attractors[k]) for k in self.labels)
        dimension = counted(self.unstable_dimension, "unstable direction")
        words = f"between the basins of {a} and of {b}: {self.limit}, {dimension}, known to {self.width:.1g}"
        return words if self.exponents is None else f"{words}; exponents {self.exponents}"


@on_host_by_default
def edge_state(
    system: Any,  # checked here, in one sentence
    one: State,
    other: State,
    *,
    apart: float = 1e-4,
    longest: int = 2048,
    search: Search = Search(),
) -> EdgeState:
    """Find the edge state on the boundary between the basins of two starts, by edge tracking.

    A point of the boundary on the segment between the starts is bracketed by bisection; both ends of the bracket are
    followed until they are `apart`, and bracketed again. What the trajectory tends to is found by Newton's method; if
    it has come to no equilibrium or cycle after the most intervals, it may be chaotic.

    Args:
        system: a flow, or a map in JAX.
        one: a start in one basin.
        other: a start in another.
        apart: the distance of the two trajectories, in extents, at which they are bracketed again.
        longest: the most intervals along the edge, which a chaotic edge state takes.
        search: the options of the search for the attractors; `period` for a forced flow.

    Raises:
        ValueError: if both starts have the same limit, if the boundary is lost, or if the edge trajectory has neither
            come to an equilibrium or a periodic orbit nor is chaotic beyond doubt, with its exponents.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import edge_state
        >>> found = edge_state(ds.FunctionFlow(lambda t, x: x - x**3 + 0.1), [-1.0], [1.2])
        >>> found.unstable_dimension, round(float(found.limit.state[0]), 4)
        (1, -0.101)
    """
    pair = as_state("one", one), as_state("other", other)
    if jax.tree.map(jnp.shape, pair[0]) != jax.tree.map(jnp.shape, pair[1]):
        raise ArgumentError("other", "have the shape of `one`", "has another")
    ends = jax.tree.map(lambda a, b: jnp.stack([jnp.asarray(a, float), jnp.asarray(b, float)]), *pair)
    time_map, flat = set_up(system, ends, search)
    number("apart", apart)
    most = integer("longest", longest, least=LEAST)
    known = attractors_of(time_map, _between(time_map, flat, np.linspace(0, 1, FEW)), search)
    time_map = known.time_map
    labels = labels_of(time_map, flat, known, search)
    if labels[0] == labels[1]:
        raise ArgumentError("other", "lie in another basin than `one`", f"has the same label, {labels[0]}")
    tracked: list[np.ndarray] = []
    begun, bracket = 0, _bracketed(time_map, flat, known, search, 0)
    while True:
        new, pair = _followed(time_map, bracket.ends, begun, apart, known.extent)
        tracked += new
        begun += len(new)
        if len(tracked) >= LEAST and (len(tracked) // LEAST > (len(tracked) - len(new)) // LEAST):
            track = np.stack(tracked)
            limit = _limit(time_map, track[-max(LEAST, len(track) // 2) :], known, search)
            found = None if limit is None else _found(time_map, limit, labels, track, bracket.width, known, search)
            if found is not None:
                return found
        bracket = _bracketed(time_map, pair, known, search, begun)
        if len(tracked) >= most:
            return _chaotic(time_map, bracket, labels, np.stack(tracked), known, apart)


def _between(time_map: TimeMap, pair: np.ndarray, shares: Any) -> np.ndarray:
    """Interpolate between two states, and project to the space."""
    points = pair[0] + np.asarray(shares, float)[:, None] * (pair[1] - pair[0])
    project = lambda x: ravel_pytree(time_map.system.space.project(time_map.restored(x)))[0]
    return np.asarray(jax.vmap(project)(jnp.asarray(points)))


class Bracketed(NamedTuple):
    """Two states on either side of the boundary, their distance, and the labels that they reach."""

    ends: Float[np.ndarray, "two n"]
    width: float
    labels: tuple[int, int]


def _bracketed(time_map: TimeMap, pair: np.ndarray, known: Attractors, told: Search, begun: int) -> Bracketed:
    """Bisect the segment between two states to a bracket of the boundary, no wider than `NARROW` extents.

    If both ends have moved to the same side, as can happen at a fractal boundary, the search extends beyond them.
    """
    length = float(np.max(np.abs(pair[1] - pair[0]) / np.max(known.extent)))
    outcomes = lambda shares: labels_of(time_map, _between(time_map, pair, shares), known, told).tolist()
    for reach in WIDER:
        shares = np.linspace(-reach, 1 + reach, FEW)
        labels = outcomes(shares)
        changes = [k for k in range(1, FEW) if labels[k] != labels[k - 1]]
        if changes:
            # take a middle change: on a chaotic set the outermost one lies on a periodic orbit
            change = min(changes, key=lambda k: abs(2 * k - FEW))
            width, sides = max(NARROW / max(length, NARROW), 1e-14), (labels[change - 1], labels[change])
            # keep the labels of the ends, which rounding may change if they are solved again among other states
            low, high = shares[change - 1], shares[change]
            found = divide_outcomes(outcomes, low, high, parts=FEW, width=width, at_ends=sides)
            ends = _between(time_map, pair, [found.low, found.high])
            reached: Any = (found.at_low, found.at_high)
            return Bracketed(ends, float(np.max(np.abs(ends[1] - ends[0]))), reached)
    must = "have a boundary between these basins that can be tracked"
    raise ArgumentError("system", must, f"it is lost after {begun} intervals, where all states nearby lead to one")


def _followed(
    time_map: TimeMap, pair: np.ndarray, begun: int, apart: float, extent: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Integrate two close trajectories for an interval or until they separate; give midpoints and the last pair."""
    tracked: list[np.ndarray] = []
    while True:
        for states in time_map.window(pair, begun + len(tracked)):
            gap = np.abs(np.diff(time_map.features_of(states), axis=0)) / extent
            if np.max(gap) > apart and tracked:
                return tracked, pair
            pair = states
            tracked.append(np.mean(states, axis=0))
            if np.max(gap) > apart or len(tracked) >= ROUND:
                return tracked, pair


def _limit(time_map: TimeMap, states: np.ndarray, known: Attractors, told: Search) -> LimitSet | None:
    """Find the unstable equilibrium or cycle at which states on the edge have stayed; None if there is none."""
    features = time_map.features_of(states)
    moves = told.symmetries
    record = TrajectoryRecord(
        time_map, states, features, known.extent, told.forced, told.longest_period, moves, edge=True
    )
    limit = limit_of(record)
    if not isinstance(limit, LimitSet) or limit.stability not in ("saddle", "unstable"):
        return None
    near = KDTree(limit.features / known.extent).query(features[-STAYED:] / known.extent)[0]
    return limit if np.max(near) <= NEAR else None


def _found(
    time_map: TimeMap,
    limit: LimitSet,
    labels: Int[np.ndarray, " two"],
    track: np.ndarray,
    width: float,
    known: Attractors,
    told: Search,
) -> EdgeState | None:
    """Describe the edge state with its unstable direction, and where that direction leads on both sides.

    The result is None if one side leads to several attractors. The boundary then has more points close to the limit, as
    near an orbit within a chaotic set, and trajectories on the boundary leave the limit again.
    """
    x = np.asarray(ravel_pytree(limit.state)[0])
    direction = _unstable(time_map, limit, x)
    push = PUSH * float(np.median(known.extent)) * direction
    shares = np.arange(1, FEW // 2 + 1)[::-1, None] / (FEW // 2)
    ends = labels_of(time_map, np.concatenate([x + shares * push, x - shares * push]), known, told)
    if any(np.unique(side[side != NOT_SETTLED]).size > 1 for side in np.split(ends, 2)):
        return None
    states = states_of(time_map, track)
    one, other = (int(k) for k in labels)
    return EdgeState(limit, direction, (int(ends[0]), int(ends[FEW // 2])), (one, other), states, width, known)


def _chaotic(
    time_map: TimeMap,
    bracket: Bracketed,
    labels: Int[np.ndarray, " two"],
    track: np.ndarray,
    known: Attractors,
    apart: float,
) -> EdgeState:
    """Describe a track that reached no equilibrium or cycle; raise `ValueError` unless it is chaotic."""
    features = time_map.features_of(track)
    rate = divergence(features, known.extent, apart, float(time_map.interval))
    exponents = exponents_along(time_map, track, 1)._replace(divergence=rate)
    if not exponents.chaotic:
        must = "have a boundary whose trajectories tend to an equilibrium or a periodic orbit, or are chaotic"
        found = f"within {len(track)} intervals they come to none, and the exponents along them are {exponents}"
        moving = f"states near each other moving apart at the rate {rate[0]:.3g} +- {rate[1]:.1g}"
        raise ArgumentError("system", must, f"{found}, {moving}: a torus or a slow approach; raise `longest`")
    late = track[len(track) // 2 :]
    limit = LimitSet(
        "chaotic edge state", "saddle", states_of(time_map, late), time_map.features_of(late), float("nan"),
        np.empty(0, complex), exponent=float(exponents.values[0]),
    )  # fmt: skip
    limit = with_principal_angles(time_map, limit)
    across, (left, right) = bracket.ends[1] - bracket.ends[0], bracket.labels
    one, other = (int(k) for k in labels)
    return EdgeState(
        limit, across / np.linalg.norm(across), (right, left), (one, other), states_of(time_map, track),
        bracket.width, known, exponents,
    )  # fmt: skip


def _unstable(time_map: TimeMap, limit: LimitSet, x: np.ndarray) -> np.ndarray:
    """Compute the unit vector that grows fastest near a point of a set, with its largest entry positive."""
    system, state = time_map.system, time_map.restored(jnp.asarray(x))
    basis = tangent_basis(system.space, state)
    if limit.kind == "equilibrium":
        assert isinstance(system, AbstractFlow)
        matrix = tangent_jacobian(system, state)
        values, vectors = np.linalg.eig(matrix)
        best = np.argmax(np.real(values))
    else:
        matrix = basis.T @ _derivative(time_map, x, basis, limit.period)
        values, vectors = np.linalg.eig(matrix)
        best = np.argmax(np.abs(values))
    vector = np.real(basis @ vectors[:, best])
    vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
    return vector / np.linalg.norm(vector)


def _derivative(time_map: TimeMap, x: np.ndarray, basis: np.ndarray, period: float) -> np.ndarray:
    """Compute the derivative of a flow or map over a period along the columns of a basis."""
    pair = Linearised(time_map.system, time_map.restored(jnp.asarray(x)), time_map.solver)
    flat, V = jnp.asarray(x), jnp.asarray(basis)
    if isinstance(time_map.system, AbstractMap):
        for k in range(round(period)):
            flat, V = pair.step(k, (flat, V))
        return np.asarray(V)
    begin, end = jnp.asarray(0.0), jnp.asarray(period)
    return np.asarray(pair.over(begin, end, end / 100, flat, V, jnp.asarray(1e-9))[1])

"""Compute homoclinic and heteroclinic orbits by projection boundary conditions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.boundary_values.projections import (
    Connection,
    Folded,
    equilibrium_near,
    folded,
    halves_of,
    left_subspace,
    lengths,
    monotone_norm,
    unfolded,
)
from analysis.dynamics.collocation.intervals import CycleField
from analysis.dynamics.collocation.solver import BoundaryProblem, Collocated, collocated, gauss_points
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.flow_maps.component_sizes import orbit_scale, range_unit, trajectory_units, turn_unit
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.flat import extents, flat_state, flat_states
from analysis.dynamics.scaling.units import Units, made_units
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import instance, number
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import check_flow, double_state
from dynsim.spaces.base import nearest
from dynsim.systems.named import components
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    from figures.artists import Artists

# Distance of both ends from the equilibria, relative to the size of the orbit; errors of the parameter are smaller.
DISTANCE = 1e-4
# Distance at which an orbit is first solved for, as a multiple of that of the guess, and its bound relative to that of
# the farthest point; the largest reduction of the distance at once.
FIRST, FAR, CLOSER = 5.0, 0.3, 10.0
# Number of intervals of the first mesh of both halves, and of the pieces that are added at the ends.
INTERVALS, ADDED = 20, 8
# Largest distance from the last equilibrium, relative to the ranges of the trajectory, at which it is approached; for a
# return, relative to the largest distance before.
CLOSEST = 0.5
# Longest search along a direction, in units of its rate, and distance at which one for a return ends, in units.
LONGEST, AWAY = 40.0, 1e3
# Largest number of paths that are tried.
MANY = 4


class ConnectingOrbit(NamedTuple):
    """Orbit that leads from one equilibrium to another one, or back to the same.

    Attributes:
        kind: `homoclinic` or `heteroclinic`.
        parameter: the value of the parameter at which the orbit exists.
        times: times from 0.
        states: the states, (times, n), from beside the first equilibrium to beside the last one.
        begin: the first equilibrium.
        end: the last equilibrium.
        eigenvalues: those at both equilibria, (2, n), by increasing real part.
        error: estimate of the largest error of the states, relative to their sizes.
        names: names of the components.
        units: their units.
        time_unit: the unit of times.
    """

    kind: str
    parameter: float
    times: Float[np.ndarray, " times"]
    states: Float[np.ndarray, "times n"]
    begin: Float[np.ndarray, " n"]
    end: Float[np.ndarray, " n"]
    eigenvalues: Complex[np.ndarray, "2 n"]
    error: float
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    time_unit: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the orbit and its equilibria in the plane of two components, or its components against time, into axes.

        In given axes your style sheet holds, and a legend is drawn only on request. Without axes, a figure is made in
        the style of `figures`.

        Args:
            ax: axes of matplotlib; without any, a figure is made.
            options: the parts `lines` and `equilibria`. A part is left out by False, and styled by properties of
                matplotlib, `lines={"linewidth": 2}`. Also `colour`, `legend`, `labels`, `limits` and `title`, which may
                all be switched off; `components`, the names or indices of the two that are the axes, by default the
                first two; `over_time=True` for the components against time.

        Returns:
            The artists of each part by name, such as `drawn.lines`.

        Raises:
            ValueError: for axes of another projection, an unknown option, or unknown components.
        """
        return plot(self, ax, **options)

    @property
    def saddle_quantity(self) -> float:
        """Sum of the real parts of the leading eigenvalues at the end: the least unstable, the least stable.

        Where it is negative, one stable periodic orbit leaves a homoclinic orbit to a saddle.
        """
        rates = self.eigenvalues[1].real
        return float(np.min(rates[rates > 0]) + np.max(rates[rates < 0]))

    def __str__(self) -> str:
        """Describe kind, parameter and duration in one line."""
        return f"{self.kind} orbit at {self.parameter:.10g}, over a time of {self.times[-1]:.5g}"


@on_host_by_default
def homoclinic_orbit(
    parameter: Parameter, orbit: PeriodicOrbit, *, distance: float = DISTANCE, rtol: float = 1e-7
) -> ConnectingOrbit:
    """Compute the homoclinic orbit to a saddle beside a periodic orbit of long period, and the parameter value there.

    The periodic orbit must spend most of its time beside the saddle, as at the end of a branch on which the period
    grows at nearly one value of the parameter; see `period_limit`. `orbit_of` gives orbits of a branch.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import homoclinic_orbit, periodic_orbit
    >>> def loop(t, s, a=0.02):  # for a = 0, the energy y^2 / 2 - x^2 / 2 + x^3 / 3 is 0 on the loop
    ...     energy = s[1] ** 2 / 2 - s[0] ** 2 / 2 + s[0] ** 3 / 3
    ...     return jnp.stack([s[1], s[0] - s[0] ** 2 - (energy + a) * s[1]])
    >>> flow = ds.FunctionFlow(loop, parameters={"a": 0.001})
    >>> orbit = periodic_orbit(flow, [1.45, 0.0], 11.0, method="collocation")
    >>> print(homoclinic_orbit(ds.Parameter(flow, "a", -0.1, 0.1), orbit).kind)
    homoclinic

    Args:
        parameter: the parameter that is solved for; its system has the value of the orbit.
        orbit: a periodic orbit, best by collocation.
        distance: distance of both ends from the saddle, relative to the size of the orbit.
        rtol: largest error of the states, relative to the size of each component.

    Raises:
        ValueError: for bad input, or if no homoclinic orbit is found.

    Source: W.-J. Beyn, The numerical computation of connecting orbits in dynamical systems (1990).
    """
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    check_connection(parameter, given.state)
    units = connection_units(parameter, flat_states(given.nodes), given.period)
    (own,), nodes, period = units.varied, units.rescaled(flat_states(given.nodes)), given.period / units.time
    field, count = CycleField(own.system, None, nodes[0]), len(nodes)
    times = np.arange(count) / count if given.times is None else np.asarray(given.times)
    angles = flat_state(own.system.space.periods(nodes[0]))
    speeds = np.linalg.norm(field.at(np.zeros(()), nodes, np.zeros(()))[0] / extents(nodes), axis=1)
    slowest = int(np.argmin(speeds))
    rest = equilibrium_near(linear_part(field), nodes[slowest])
    if rest is None:
        raise ArgumentError("orbit", "pass close to an equilibrium", "passes close to none")
    turned = np.roll(nodes, -slowest, axis=0)
    later = period * np.append((np.roll(times, -slowest) - times[slowest]) % 1.0, 1.0)
    rows = turned[0] + np.cumsum(np.vstack([np.zeros_like(rest), nearest(np.diff(turned, axis=0), angles)]), axis=0)
    last = rows[-1] + nearest(turned[0] - turned[-1], angles)
    end = rest + (last - rows[0])
    return solved_from(units, field, (later, np.vstack([rows, last])), (rest, end), distance, rtol)


@on_host_by_default
def connecting_orbit(
    parameter: Parameter,
    begin: Any,
    end: Any,
    *,
    guess: tuple[Any, Any] | None = None,
    distance: float = DISTANCE,
    rtol: float = 1e-7,
) -> ConnectingOrbit:
    """Compute an orbit that leads from one equilibrium to another one, and the parameter value at which it exists.

    Without a guess, the trajectory along the unstable direction of the first equilibrium that comes closest to the last
    one is taken, or the one along the stable direction of the last one, backwards in time. For a homoclinic orbit,
    close returns to the equilibrium are tried one after another.

    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import connecting_orbit
    >>> def front(z, s, c=-0.3, a=0.25):  # u'' + c u' + u (1 - u) (u - a) = 0, Nagumo's equation
    ...     return jnp.stack([s[1], -c * s[1] - s[0] * (1 - s[0]) * (s[0] - a)])
    >>> flow = ds.FunctionFlow(front, parameters={"c": -0.3, "a": 0.25})
    >>> found = connecting_orbit(ds.Parameter(flow, "c", -1.0, 1.0), [0.0, 0.0], [1.0, 0.0])
    >>> round(found.parameter, 6)  # - (1 - 2 a) / sqrt 2
    -0.353553

    Args:
        parameter: the parameter that is solved for; its system has a value near that of the orbit.
        begin: a state near the first equilibrium.
        end: a state near the last one.
        guess: times, and states there, (times, n).
        distance: distance of both ends from the equilibria, relative to the size of the orbit.
        rtol: largest error of the states, relative to the size of each component.

    Raises:
        ValueError: for bad input, or if no such orbit is found.
    """
    check_connection(parameter, begin)
    given = [flat_state(double_state(name, state)) for name, state in (("begin", begin), ("end", end))]
    paths: list[tuple[np.ndarray, np.ndarray]] = []
    if guess is not None:
        paths = [(np.ravel(np.asarray(guess[0], float)), np.asarray(guess[1], float))]
        times, states = paths[0]
        if states.shape != (len(times), len(given[0])) or not np.all(np.diff(times) > 0):
            must = f"be increasing times and an array (times, {len(given[0])})"
            raise ArgumentError("guess", must, f"has shapes {times.shape} and {states.shape}")
    else:
        units = connection_units(parameter, np.stack(given))
        field, rests = rests_near(units, given)
        found = _paths_along(field, rests[0], rests[1], distance)
        paths = [(times * units.time, units.restored(states)) for times, states in found]
    solve = lambda path: _solved_along(parameter, given, path, distance, rtol)
    for path in paths[:-1]:
        try:
            return solve(path)
        except ArgumentError:  # of several paths, the next one may lead to an orbit
            continue
    return solve(paths[-1])


def _solved_along(
    parameter: Parameter, given: list[np.ndarray], path: tuple[np.ndarray, np.ndarray], distance: float, rtol: float
) -> ConnectingOrbit:
    """Solve for a connecting orbit from times and states of a path, in units of the latter."""
    times, states = path
    units = connection_units(parameter, states, float(np.ptp(times)))
    field, rests = rests_near(units, given)
    return solved_from(units, field, (times / units.time, units.rescaled(states)), rests, distance, rtol)


def rests_near(units: Units, given: list[np.ndarray]) -> tuple[CycleField, tuple[np.ndarray, np.ndarray]]:
    """Find the equilibria near the first and the last state, in units; give the field, too."""
    field, rests = CycleField(units.varied[0].system, None, given[0]), []
    for name, state in zip(("begin", "end"), given, strict=True):
        rest = equilibrium_near(linear_part(field), units.rescaled(state))
        if rest is None:
            raise ArgumentError(name, "be near an equilibrium", "leads to none by Newton's method")
        rests.append(rest)
    return field, (rests[0], rests[1])


def connection_units(parameter: Parameter, rows: Float[np.ndarray, "k n"], duration: float | None = None) -> Units:
    """Choose units near the ranges of the states of a connecting orbit, of its duration and of the parameter.

    Without a duration the unit of time is near the inverse of the fastest rate at the first state.
    """
    flow = parameter.system
    scale = orbit_scale(flow, rows)
    time = trajectory_units(flow, jnp.asarray(rows[0])).time if duration is None else turn_unit(duration)
    return made_units(flow, (parameter,), scale, time, [range_unit(parameter)])


def check_connection(parameter: Parameter, state: Any) -> None:
    """Check that the parameter is one of an autonomous flow on a flat space."""
    flow = parameter.system
    check_flow(flow)
    if not is_flat(flow.space):
        has = f"its flow is on {type(flow.space).__name__}"
        raise ArgumentError("parameter", "be one of a flow on a flat space", has)
    start = double_state("begin", state)
    if depends_on_time(flow, start):
        raise ArgumentError("parameter", "be one of an autonomous flow", "its flow depends on time")


def linear_part(field: CycleField) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Build the function that evaluates a field and its derivative by the state."""

    def linear(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f, J = field.at(np.zeros(()), x, np.zeros(()))
        return f, J[:, :-1]

    return linear


def _paths_along(
    field: CycleField, begin: np.ndarray, end: np.ndarray, distance: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Integrate along the unstable direction of the first equilibrium; give the paths that come close to the last one.

    If it has several, and the last equilibrium has one stable direction, go along that one backwards in time.
    """
    spectra: list[Any] = [np.linalg.eig(linear_part(field)(rest)[1]) for rest in (begin, end)]
    counts = int(np.sum(spectra[0][0].real > 0)), int(np.sum(spectra[1][0].real < 0))
    if 1 not in counts:
        must = "be given unless the first equilibrium has one unstable direction, or the last one stable direction"
        raise ArgumentError("guess", must, f"is not, and they have {counts[0]} and {counts[1]}")
    ahead = counts[0] == 1
    (values, vectors), origin, aim = (spectra[0], begin, end) if ahead else (spectra[1], end, begin)
    sign = 1.0 if ahead else -1.0
    k = int(np.argmax(sign * values.real))
    rate, way = abs(float(values[k].real)), np.real(vectors[:, k])
    rows = lambda t, x: sign * field.at(np.zeros(()), x, np.zeros(()))[0]
    both = [_approaches(rows, origin, aim, side * way, rate, distance) for side in (1.0, -1.0)]
    found = sorted((path for paths in both for path in paths), key=lambda one: one[0])
    if not found:
        along = "unstable direction of `begin`" if ahead else "stable direction of `end`, backwards"
        raise ArgumentError("end" if ahead else "begin", f"be approached along the {along}", "is not: try a `guess`")
    chosen = [(times, states) for _, times, states in found[:MANY]]
    return chosen if ahead else [(times[-1] - times[::-1], states[::-1]) for times, states in chosen]


def _approaches(
    rows: Callable[[float, np.ndarray], np.ndarray],
    origin: np.ndarray,
    aim: np.ndarray,
    way: np.ndarray,
    rate: float,
    distance: float,
) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Integrate from beside an equilibrium; cut the path where it is nearest to another one, if it comes close to it.

    For a path back to the same equilibrium, cut it at each close return. Give a number by which paths are compared, the
    distance or the time, with times and states.
    """
    import scipy.integrate

    returns = bool(np.all(aim == origin))
    apart = np.ones(len(aim)) if returns else np.abs(aim - origin)
    moved, size = apart > 0, 1.0 if returns else float(np.linalg.norm(apart))  # the units of the others are uncertain
    most = AWAY if returns else 10.0
    far = lambda t, x: most - float(np.max(np.abs(x - origin)[moved] / apart[moved]))
    far.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
    start = origin + max(distance, 1e-3) * size * way
    path = scipy.integrate.solve_ivp(
        rows, (0.0, LONGEST / rate), start, rtol=1e-8, atol=1e-10 * size, dense_output=True, events=far
    )
    times = np.linspace(0.0, path.t[-1], 2001)
    states = path.sol(times).T
    near = np.all(np.abs(states - origin)[:, moved] <= 2 * apart[moved], axis=1)
    gaps = np.linalg.norm((states - aim) / extents(states if returns else states[near]), axis=1)
    ends = _returns(gaps) if returns else [int(np.argmin(gaps))] * bool(np.min(gaps) < CLOSEST)
    cut = lambda k: (float(times[k] if returns else gaps[k]), times[: k + 1], states[: k + 1])
    return [cut(k) for k in ends if k > 8]


def _returns(gaps: Float[np.ndarray, " times"]) -> list[int]:
    """Find where a path returns to where it began, given its distances from there: once for each excursion."""
    most, ends = np.maximum.accumulate(gaps), []
    lows = np.flatnonzero((gaps[1:-1] <= gaps[:-2]) & (gaps[1:-1] < gaps[2:])) + 1
    for k in lows[gaps[lows] < CLOSEST * most[lows]].tolist():
        if not ends or np.max(gaps[ends[-1] : k]) >= CLOSEST * most[k]:
            ends.append(k)
        elif gaps[k] < gaps[ends[-1]]:
            ends[-1] = k
    return ends


def solved_from(
    units: Units,
    field: CycleField,
    path: tuple[np.ndarray, np.ndarray],
    rests: tuple[np.ndarray, np.ndarray],
    distance: float,
    rtol: float,
    *,
    by_time: bool = False,
) -> ConnectingOrbit:
    """Solve for a connecting orbit from a path, with ends that are moved towards the equilibria step by step.

    The field, the path and the equilibria are in units; the orbit is in those of the given system. With `by_time` the
    path is taken as it is: it is first solved for over its own time, for which a rough path is enough, and from there
    on between given distances.
    """
    (parameter,), (times, states) = units.varied, path
    size = float(np.max(np.ptp(states, axis=0)))
    aim, accuracy = number("distance", distance) * size, number("rtol", rtol)
    linear = [linear_part(field)(rest)[1] for rest in rests]
    across = [left_subspace(J, stable=k == 0) for k, J in enumerate(linear)]
    counts = [len(rows) for rows in across]
    n = field.size
    if sum(counts) != n:
        must = "lead between equilibria whose unstable and stable directions are as many as components"
        unstable, stable = n - counts[0], n - counts[1]
        raise ArgumentError("orbit", must, f"leads from {unstable} unstable to {stable} stable directions of {n}")
    away = [
        lengths(states - rest, monotone_norm(J, stable=k == 1) + rows.T @ rows)
        for k, (rest, J, rows) in enumerate(zip(rests, linear, across, strict=True))
    ]
    middle = int(np.argmax(np.minimum(away[0] / size, away[1] / size)))
    least = np.array([np.min(away[0][: middle + 1]), np.min(away[1][middle:])])
    starts = np.maximum(
        np.minimum((1.0 if by_time else FIRST) * least, FAR * np.array([one[middle] for one in away])),
        np.maximum(least, aim),
    )
    keep_first = int(np.flatnonzero(away[0][: middle + 1] <= starts[0])[-1])
    keep_last = middle + int(np.flatnonzero(away[1][middle:] <= starts[1])[0])
    times, states = times[keep_first : keep_last + 1] - times[keep_first], states[keep_first : keep_last + 1]
    value, found, known = float(parameter.value), None, list(rests)
    while True:
        starts = np.maximum(starts, aim)
        own = folded(times, states, INTERVALS)
        far = [float(np.linalg.norm(own.middle - rest)) for rest in known]
        distances = float(starts[0]) / far[0], float(starts[1]) / far[1]
        problem = Connection(parameter, known[0], known[1], distances, own.weight)
        problem.durations = own.durations if by_time and found is None else None
        found = on_mesh(problem, own, (value,), accuracy)
        value = float(found.nodes[0, 2 * n + 1])
        ends = problem.end_equations(None, found.nodes.shape[1])
        known = [ends.equilibrium(rest, value) for rest in known]
        times, states = unfolded(found.mesh, np.vstack([found.nodes, found.intervals.ends[-1:]]), n)
        linear = [ends.linear(rest, value, 0.0)[1] for rest in known]
        if np.all(starts <= aim):
            break
        closer = np.maximum(starts / CLOSER, aim)
        times, states = prolonged(times, states, known, linear, starts / closer)
        starts = closer
    values = np.array([sorted(np.linalg.eigvals(J), key=lambda one: one.real) for J in linear], complex)
    apart = nearest(known[1] - known[0], flat_state(parameter.system.space.periods(jnp.asarray(known[0]))))
    kind = "homoclinic" if np.linalg.norm(apart) < aim else "heteroclinic"
    states, first, last = units.restored(states), units.restored(known[0]), units.restored(known[1])
    value, times, values = value * units.parameters[0], times * units.time, values / units.time
    named = components(units.given(parameter.system), np.zeros(n))
    return ConnectingOrbit(kind, value, times, states, first, last, values, found.error, *named)


def on_mesh(problem: Connection, path: Folded, unknowns: tuple[float, ...], accuracy: float) -> Collocated:
    """Solve for a connecting orbit from a path and guesses of unknown parameters, on a mesh that is adapted."""
    inner = gauss_points(path.mesh)
    nodes, stages = path.rows(path.mesh[:-1], *unknowns), path.rows(inner.ravel(), *unknowns)
    size = nodes.shape[1]
    field = CycleField(problem.extended(problem.flow), None, np.zeros(size))
    ends = problem.end_equations(None, size)
    least = np.append(np.zeros(2 * halves_of(size, len(unknowns))), np.ones(3 + len(unknowns)))
    equations = BoundaryProblem(field, lambda first, last: ends.at(first, last, 0.0)[0], least=least)
    return collocated(equations, path.mesh, nodes, stages.reshape(*inner.shape, -1), 1.0, accuracy)


def prolonged(
    times: np.ndarray, states: np.ndarray, rests: list[np.ndarray], linear: list[np.ndarray], closer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add the linear parts of an orbit beside both equilibria, until it is closer to them by some factors."""
    rates = [np.linalg.eigvals(J).real for J in linear]
    before = float(np.log(closer[0]) / np.min(rates[0][rates[0] > 0]))
    after = float(np.log(closer[1]) / -np.max(rates[1][rates[1] < 0]))
    shares = np.arange(1, ADDED + 1) / ADDED
    if closer[0] > 1:
        new = _linear(linear[0], rests[0], states[0], -before * shares, stable=False)
        times, states = np.append(before * (1 - shares[::-1]), times + before), np.vstack([new[::-1], states])
    if closer[1] > 1:
        new = _linear(linear[1], rests[1], states[-1], after * shares, stable=True)
        times, states = np.append(times, times[-1] + after * shares), np.vstack([states, new])
    return times, states


def _linear(J: np.ndarray, rest: np.ndarray, state: np.ndarray, times: np.ndarray, *, stable: bool) -> np.ndarray:
    """Follow the linear flow beside an equilibrium within a subspace, in which alone a state close to it stays."""
    import scipy.linalg

    basis = left_subspace(J.T, stable=stable)
    inside, own = basis @ (state - rest), basis @ J @ basis.T
    return rest + np.array([scipy.linalg.expm(t * own) @ inside for t in times]) @ basis

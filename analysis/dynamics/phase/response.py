"""Compute infinitesimal phase response curves of periodic orbits by the adjoint equation, and asymptotic phases."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.collocation.intervals import CycleField, cubic, evaluated, refined_mesh, rule
from analysis.dynamics.collocation.solver import (
    BoundaryProblem,
    Collocated,
    collocated,
    gauss_points,
    moved,
    periodic,
)
from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.flow_maps.numpy_solver import follow
from analysis.dynamics.periodic_orbits.collocated_orbit import FEWEST, collocated_orbit, guessed_orbit
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.flat import flat_state, flat_states
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.validation import instance, integer, number, reals
from dynsim.errors import ArgumentError
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import check_flow
from dynsim.spaces.base import nearest
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components
from dynsim.systems.rescaled import is_flat

if TYPE_CHECKING:
    from figures.artists import Artists

# Largest error of the orbit, relative to the ranges of its states.
ACCURACY = 1e-9
# Largest ratio of the smaller to the larger of delay and advance at which a response is of type I.
TYPE_I = 0.1
# Distance of a state from the orbit, relative to its ranges, at which its phase is that of the linear approximation.
NEAR = 1e-4
# Number of places on the orbit from which the nearest phase is found.
PLACES = 400
# Phases this close to 1 are 0.
LATEST = 1e-9
# Change of a phase, as a share of the period, in the last step of its correction; most steps.
SETTLED, CORRECTIONS = 1e-12, 30
# Relative tolerance of the trajectories that lead to the orbit; the absolute one is relative to the states' ranges.
RTOL = 1e-9


class PhaseResponse(NamedTuple):
    """Phase response curve of a periodic orbit: how a small kick advances the phase, at phases of the orbit.

    A kick by the vector d, small against the orbit, lets the oscillator arrive earlier by the time `values @ d`. Times
    the frequency 2 pi / period this is the advance in radians, and divided by the period in cycles.

    Attributes:
        phases: shares of the period in [0, 1]; the first is that of the orbit's first state.
        values: advance in time per unit of each component, (phases, n).
        states: states of the orbit at these phases, (phases, n).
        period: the period.
        error: estimate of the largest error of `values`, relative to the largest response to each component: the change
            from the curve on a mesh with half as many intervals.
        names: names of the components.
        units: their units.
        time_unit: unit of time.
    """

    phases: Float[np.ndarray, " phases"]
    values: Float[np.ndarray, "phases n"]
    states: Float[np.ndarray, "phases n"]
    period: float
    error: float
    names: tuple[str, ...]
    units: tuple[str, ...] = ()
    time_unit: str = ""

    __repr__ = one_line
    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the response of each component against the phase into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`.
            options: those of `figures.plot`, of the part `lines`; `colour`; `component`, the name or index of the only
                one that is drawn; `phase`, the unit of the advance: `time`, `radians` or `cycles`.
        """
        return plot(self, ax, **options)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Type of each component: `I` if kicks always advance or always delay, `II` if they do both."""
        low, high = np.min(self.values, axis=0), np.max(self.values, axis=0)
        both = np.minimum(-low, high) > TYPE_I * np.maximum(-low, high)
        return tuple("II" if one else "I" for one in both)

    def at(self, phases: Any) -> Float[np.ndarray, "k n"]:
        """Interpolate the response at phases of any size, which are taken modulo 1, by periodic cubic splines."""
        from scipy.interpolate import CubicSpline

        asked = np.ravel(np.asarray(phases, float))
        closed = np.vstack([self.values[:-1], self.values[:1]])
        return CubicSpline(self.phases, closed, bc_type="periodic")(asked % 1.0)

    def __str__(self) -> str:
        """Describe the period, the type and the range of the response of each component in one line."""
        ranges = [
            f"{name} {low:.5g} to {high:.5g} (type {kind})"
            for name, low, high, kind in zip(
                self.names, np.min(self.values, axis=0), np.max(self.values, axis=0), self.kinds, strict=True
            )
        ]
        unit = f" {self.time_unit}" if self.time_unit else ""
        about = f"an orbit of period {self.period:.8g}{unit}, with an error of {self.error:.1g}"
        return f"phase response of {about}: {', '.join(ranges)}"


@on_host_by_default
def phase_response(flow: AbstractFlow, orbit: PeriodicOrbit, *, points: int = 401) -> PhaseResponse:
    """Compute the infinitesimal phase response curve of a periodic orbit of an autonomous flow by the adjoint equation.

    The curve is the periodic solution Z of Z' = - Df(x(t))^T Z with Z . f = 1. On the mesh of collocation the monodromy
    matrix is not formed: the adjoint of the equations of the orbit is solved, so that orbits may be stable or unstable,
    with multipliers of any size.

    >>> import numpy as np
    >>> import jax.numpy as jnp
    >>> import dynsim as ds
    >>> from analysis.dynamics import periodic_orbit, phase_response
    >>> def clock(t, x):  # turns once in 2 pi, on every radius
    ...     return (1 - x @ x) * x + jnp.stack([-x[1], x[0]])
    >>> flow = ds.FunctionFlow(clock, names=("x", "y"))
    >>> response = phase_response(flow, periodic_orbit(flow, [1.0, 0.0], 2 * np.pi))
    >>> angle = 2 * np.pi * response.phases
    >>> exact = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    >>> bool(np.allclose(response.values, exact, atol=1e-7)), response.kinds
    (True, ('II', 'II'))

    Args:
        flow: the system, on a flat space (angles are allowed).
        orbit: what `periodic_orbit` or `orbit_of` found, by either method.
        points: number of phases, evenly spaced over the period with both ends.

    Raises:
        ValueError: for bad input, or a flow that depends on time.

    Source: G. B. Ermentrout and D. H. Terman, Mathematical Foundations of Neuroscience (2010), chapter 8.
    """
    one, known = Oscillator(flow, orbit), components(flow, orbit.state)
    phases = np.linspace(0.0, 1.0, integer("points", points, least=8))
    named = known.names, known.units, known.time_unit
    return PhaseResponse(phases, one.response(phases), one.states(phases), one.period, one.error, *named)


class Oscillator:
    """Periodic orbit with its phase: states and phase responses at phases, of which 0 is that of the given state."""

    def __init__(self, flow: AbstractFlow, orbit: PeriodicOrbit):
        """Compute the orbit again, on a mesh, with the solution of the adjoint equation."""
        self.field, self._orbit = _resolved(flow, orbit)
        self.period, self.angles = self._orbit.period, flat_state(flow.space.periods(orbit.state))
        ranges = np.ptp(self._orbit.nodes, axis=0)
        self.ranges = np.where(ranges > 0, ranges, 1.0)
        self.middle = np.min(self._orbit.nodes, axis=0) + ranges / 2
        coarse, angles = self._orbit, self.angles
        rough = _adjoint(self.field, coarse)
        self._orbit = _halved(self.field, coarse, angles)
        self._adjoint = _adjoint(self.field, self._orbit)
        self.error = _difference((coarse.mesh, *rough), (self._orbit.mesh, *self._adjoint))
        self._first = 0.0
        self._first = float(self.nearest_phase(flat_state(orbit.state)[None])[0])

    def states(self, phases: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the orbit at phases, which are taken modulo 1."""
        orbit = self._orbit
        return evaluated(orbit.mesh, orbit.nodes, orbit.intervals.stages, (self._first + phases) % 1.0)

    def response(self, phases: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the advance in time per unit of each component."""
        return evaluated(self._orbit.mesh, *self._adjoint, (self._first + phases) % 1.0)

    def velocity(self, states: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "k n"]:
        """Evaluate the field."""
        return self.field.at(np.zeros(()), states, np.zeros(()))[0]

    def followed(
        self, states: Float[np.ndarray, "k n"], times: Float[np.ndarray, " k"], rtol: float, atol: float,
        *, sign: float = 1.0, goes_on: Callable[[np.ndarray], np.ndarray] = lambda states: np.array(True),
    ) -> Float[np.ndarray, "k n"]:  # fmt: skip
        """Move states by the flow for some times, with tolerances relative to the ranges of the orbit.

        Args:
            states: the states.
            times: the times, positive.
            rtol: relative tolerance, for the distance from the middle of the orbit.
            atol: absolute tolerance.
            sign: -1 to go backwards in time.
            goes_on: which of some states are followed; it gives NaN for the others.
        """
        middle, ranges = self.middle[:, None], self.ranges[:, None]

        def rows(which: np.ndarray, t: np.ndarray, z: np.ndarray) -> np.ndarray:
            del which, t
            x = (z * ranges + middle).T
            return np.where(goes_on(x), sign * self.velocity(x).T / ranges, np.nan)

        starts = (states - self.middle) / self.ranges
        ends = follow(rows, starts, np.zeros(len(times)), times, rtol=rtol, atol=atol).ends
        return ends * self.ranges + self.middle

    def away(self, states: Float[np.ndarray, "k n"], phases: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k n"]:
        """Compute the differences of states from those of the orbit, without whole turns of angles."""
        return nearest(states - self.states(phases), self.angles)

    def nearest_phase(self, states: Float[np.ndarray, "k n"]) -> Float[np.ndarray, " k"]:
        """Find the phases of the linear approximation: where the distance from the orbit has no part along Z."""
        grid = np.linspace(0.0, 1.0, PLACES, endpoint=False)
        apart = nearest(states[:, None] - self.states(grid)[None], self.angles) / self.ranges
        sizes = np.sum(np.where(np.isfinite(apart), apart, np.inf) ** 2, axis=2)
        phases = grid[np.argmin(sizes, axis=1)]
        for _ in range(CORRECTIONS):
            change = np.sum(self.response(phases) * self.away(states, phases), axis=1) / self.period
            change = np.clip(np.nan_to_num(change), -0.01, 0.01)
            phases = (phases + change) % 1.0
            if np.max(np.abs(change), initial=0.0) <= SETTLED:
                break
        return phases


def _resolved(flow: AbstractFlow, orbit: PeriodicOrbit) -> tuple[CycleField, Collocated]:
    """Compute a periodic orbit of an autonomous flow on a flat space again by collocation, to a small error."""
    check_flow(flow)
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    if not is_flat(flow.space):
        raise ArgumentError("flow", "have a flat space for its phase", f"is on {type(flow.space).__name__}")
    if depends_on_time(flow, jax.tree.map(jnp.asarray, given.state)):
        raise ArgumentError("flow", "be autonomous: the phase of a forced orbit is fixed", "depends on time")
    field, nodes = CycleField(flow, None, given.state), flat_states(given.nodes)
    angles = flat_state(flow.space.periods(given.state))
    count, period = len(nodes), float(given.period)
    if given.times is None and count < FEWEST:
        guess = guessed_orbit(field, flat_state(given.state), period, angles, 2 * FEWEST, forced=False)
        return field, collocated_orbit(field, guess, angles, forced=False, accuracy=ACCURACY)
    mesh = np.append(np.arange(count) / count if given.times is None else np.asarray(given.times), 1.0)
    ends = np.roll(nodes, -1, axis=0)
    turn = np.sum(nearest(ends - nodes, angles), axis=0)
    ends[-1] += turn
    speeds = field.at(np.zeros(()), np.vstack([nodes, nodes[:1]]), np.zeros(()))[0]
    stages = cubic(nodes, nearest(ends - nodes, angles), speeds, period * np.diff(mesh))
    return field, collocated(
        BoundaryProblem(field, periodic(turn), free=True, periodic=True), mesh, nodes, stages, period, ACCURACY
    )


def _halved(field: CycleField, orbit: Collocated, angles: np.ndarray) -> Collocated:
    """Compute an orbit again with all intervals halved."""
    mesh = refined_mesh(orbit.mesh, 2 * len(orbit.nodes))
    away = orbit.intervals.ends[-1] - orbit.nodes[0]
    problem = BoundaryProblem(field, periodic(away - nearest(away, angles)), free=True, periodic=True)
    nodes, stages = moved(orbit, mesh)
    return collocated(problem, mesh, nodes, stages, orbit.period, np.inf)


def _difference(
    one: tuple[np.ndarray, np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> float:
    """Compute the largest difference of two curves, each a mesh with values at nodes and Gauss points.

    It is taken at the Gauss points of the first one, and is relative to the largest value of each component.
    """
    places = gauss_points(one[0]).ravel()
    first, second = (evaluated(*part, places) for part in (one, other))
    most = np.max(np.abs(second), axis=0)
    return float(np.max(np.max(np.abs(first - second), axis=0)[most > 0] / most[most > 0], initial=0.0))


def _adjoint(field: CycleField, orbit: Collocated) -> tuple[np.ndarray, np.ndarray]:
    """Solve the adjoint equation along an orbit, at nodes and at Gauss points.

    The derivatives A of the equations of an orbit have the velocities as null vector. Z is that of the transposed ones,
    and the system with both as border is regular.
    """
    import scipy.sparse.linalg

    maps, speeds = orbit.intervals.maps, orbit.speeds
    N, n = orbit.nodes.shape
    begins = np.roll(speeds, 1, axis=0)
    k, after = np.arange(N), np.roll(np.arange(N), -1)
    rows = np.broadcast_to((k * n)[:, None, None] + np.arange(n)[:, None], (N, n, n))
    into = np.broadcast_to((after * n)[:, None, None] + np.arange(n), (N, n, n))
    every, last = np.arange(N * n), np.full(N * n, N * n)
    scale = np.linalg.norm(begins)
    entries = [np.ones(N * n), -np.swapaxes(maps, 1, 2).ravel(), begins.ravel() / scale, begins.ravel() / scale]
    at = (np.concatenate([every, rows.ravel(), last, every]), np.concatenate([every, into.ravel(), every, last]))
    matrix = scipy.sparse.csc_array((np.concatenate(entries), at), shape=(N * n + 1, N * n + 1))
    found = scipy.sparse.linalg.splu(matrix).solve(np.append(np.zeros(N * n), N / scale))
    Z = found[:-1].reshape(N, n)
    products = np.sum(Z * begins, axis=1)
    Z = Z / np.mean(products)
    times = orbit.period * gauss_points(orbit.mesh)
    _, J = field.at(times, orbit.intervals.stages, np.zeros(()))
    h, A = (orbit.period * np.diff(orbit.mesh))[:, None], rule().A
    turned = np.swapaxes(J[..., :n], 2, 3)  # Z_i = Z + h sum_j A_ij (- J_j^T) Z_j at the Gauss points
    m = len(A)
    system = np.einsum("ij,kjab->kiajb", A, h[..., None, None] * turned).reshape(N, m * n, m * n) + np.eye(m * n)
    inner = np.linalg.solve(system, np.tile(Z, (1, m))[..., None]).reshape(N, m, n)
    return Z, inner


@on_host_by_default
def asymptotic_phase(
    flow: AbstractFlow, orbit: PeriodicOrbit, states: Any, *, longest: float | None = None
) -> Float[np.ndarray, " states"]:
    """Compute the phases, shares of the period, of the orbit's states that states in its basin approach.

    States are followed to a stable orbit, and the rest of the way is that of the linear approximation. The difference
    of the phases after and before a kick of any size is the finite phase response.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import dynsim as ds
    >>> from analysis.dynamics import asymptotic_phase, periodic_orbit
    >>> flow = ds.FunctionFlow(lambda t, x: (1 - x @ x) * x + jnp.stack([-x[1], x[0]]))
    >>> orbit = periodic_orbit(flow, [1.0, 0.0], 2 * np.pi)
    >>> np.round(asymptotic_phase(flow, orbit, [[0.5, 0.0], [0.0, 2.0], [-0.1, 0.0]]), 6).tolist()
    [0.0, 0.25, 0.5]

    Args:
        flow: the system.
        orbit: a stable periodic orbit, with phase 0 at its first state.
        states: the states, (states, n).
        longest: the longest time over which they are followed; by default 100 periods.

    Returns:
        The phases in [0, 1), NaN for states that do not reach the orbit.

    Raises:
        ValueError: for bad input, or an orbit that is not stable.
    """
    one = Oscillator(flow, orbit)
    if orbit.stability != "stable":
        raise ArgumentError("orbit", "be stable", f"is {orbit.stability}")
    x = np.array(np.atleast_2d(reals("states", states)), float)
    if x.ndim != 2 or x.shape[1] != one.field.size:
        raise ArgumentError("states", f"have shape (states, {one.field.size})", f"have shape {x.shape}")
    most = 100 * one.period if longest is None else number("longest", longest)
    before = np.full(x.shape, np.nan)
    phases, left, time = np.full(len(x), np.nan), np.arange(len(x)), 0.0
    while len(left):
        phase = one.nearest_phase(x[left])
        near = np.max(np.abs(one.away(x[left], phase)) / one.ranges, axis=1) <= NEAR
        phases[left[near]] = phase[near]
        left = left[~near & np.all(np.isfinite(x[left]), axis=1)]
        left = left[np.any(x[left] != before[left], axis=1)]  # not at rest
        if time >= most or not len(left):
            break
        before[left] = x[left]
        x[left] = one.followed(x[left], np.full(len(left), one.period), RTOL, RTOL)  # whole turns keep the phase
        time += one.period
    return np.where(phases > 1 - LATEST, 0.0, phases)

"""Collocation at Gauss points: intervals of a mesh, their derivatives, and adapted meshes."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.scaling.flat import extents
from dynsim._core.host import filled
from dynsim._core.types import State
from dynsim.programs import NumpyEvaluator, program_or_none
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter

METHODS = ("shooting", "collocation")
"""Methods by which periodic orbits are computed."""
ACCURATE = 1e3
"""Largest error of an orbit by collocation, in units of the relative tolerance; shooting reaches as much."""
# Number of Gauss points in an interval, as in AUTO by default: orbits are of order 8 at the ends of intervals.
STAGES = 4
# Most operations of a field, with its derivatives, that is evaluated in NumPy instead of being compiled.
LIMIT = 4000
# The same for derivatives along vectors, which are evaluated a few times for an orbit.
DIRECTIONAL = 40_000
# Most Newton steps for the stages of an interval; they start from a prediction.
ITERATIONS = 10
# Change of the stages, relative to their size, in the last Newton step; the next one would leave rounding errors.
LAST = 1e-9
# Number of states that compiled fields evaluate together.
ROWS = 64
# Largest logarithm of a multiplier.
LARGEST = 700.0
# Error of a state, relative to the largest value of its component.
ROUNDED = 16 * float(np.finfo(float).eps)
# Share of the mean density of a mesh that every part of an orbit has, so that no interval becomes very long.
EVENLY = 0.1


class _Rule(NamedTuple):
    """Gauss points c in [0, 1], the matrix of the stages A, and the weights that extrapolate them to the end."""

    c: Float[np.ndarray, " stages"]
    A: Float[np.ndarray, "stages stages"]
    ends: Float[np.ndarray, " stages"]


@functools.cache
def rule(stages: int = STAGES) -> _Rule:
    """Compute the rule of collocation by polynomials at the Gauss points of [0, 1].

    The polynomial of an interval takes the value x at its beginning, and its derivative is h f at the Gauss points. Its
    values there are x + h A f, and that at the end is a combination of x and these.

    Source: E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential Equations I, section II.7.
    """
    c = (np.polynomial.legendre.leggauss(stages)[0] + 1) / 2
    powers = np.arange(stages)
    A = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(c[:, None] ** powers)
    return _Rule(c, A, lagrange(np.append(0.0, c), np.ones(1))[0, 1:])


@functools.cache
def gauss_weights(stages: int) -> Float[np.ndarray, " stages"]:
    """Compute the weights of integrals over [0, 1] by values at the Gauss points."""
    return np.polynomial.legendre.leggauss(stages)[1] / 2


def lagrange(places: Float[np.ndarray, " m"], at: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k m"]:
    """Evaluate the Lagrange polynomials of some places at others."""
    apart = places[:, None] - places
    np.fill_diagonal(apart, 1.0)
    terms = np.where(np.eye(len(places), dtype=bool), 1.0, (at[:, None, None] - places) / apart)
    return np.prod(terms, axis=2)


class CycleField:
    """Field of a flow and its derivatives by the state and a parameter, at many times and flattened states at once."""

    def __init__(self, flow: AbstractFlow, take: Callable[[Any], Any] | None, like: State):
        """Store the field, which is evaluated by its scalar program, or compiled if it has none.

        Args:
            flow: the flow.
            take: selects its parameter; without one, derivatives by it are zero.
            like: a state, for its structure.
        """
        restored = ravel_pytree(jax.tree.map(jnp.asarray, like))[1]
        self.size = sum(int(np.size(part)) for part in jax.tree.leaves(like))
        self._given = (flow, take, jax.tree_util.Partial(restored))
        self._programs: dict[int, NumpyEvaluator | None] = {}

    def at(
        self, t: np.ndarray, x: Float[np.ndarray, "*batch n"], parameter: np.ndarray
    ) -> tuple[Float[np.ndarray, "*batch n"], Float[np.ndarray, "*batch n n+1"]]:
        """Evaluate the field, and its derivatives by the state and, in the last column, by the parameter.

        Times and parameters are numbers, or broadcast to the leading axes of the states.
        """
        f, J = self._evaluated(t, x, parameter)
        return f.reshape(x.shape), J.reshape(*x.shape, self.size + 1)

    def directional(
        self, t: np.ndarray, x: Float[np.ndarray, "*batch n"], parameter: np.ndarray, *vectors: np.ndarray
    ) -> Float[np.ndarray, "*batch n"]:
        """Apply the derivative of the field of order k by the state to k vectors at every state."""
        return np.asarray(self._evaluated(t, x, parameter, *vectors)).reshape(x.shape)

    def _evaluated(self, t: np.ndarray, x: np.ndarray, parameter: np.ndarray, *vectors: np.ndarray) -> Any:
        """Evaluate the field and its first derivatives, or a derivative of higher order along vectors, as rows."""
        shape, k = x.shape[:-1], len(vectors)
        values = np.broadcast_to(parameter, shape)[..., None]
        rows = np.concatenate([x, values, *vectors], axis=-1).reshape(-1, (k + 1) * self.size + 1)
        times = np.broadcast_to(t, shape).ravel()
        if k not in self._programs:
            one = lambda t, z: _of_field(*self._given, k, t, z)
            made = program_or_none(one, (), (rows.shape[1],), drop_zeros=True, limit=DIRECTIONAL if k else LIMIT)
            self._programs[k] = None if made is None else NumpyEvaluator(made)
        if (program := self._programs[k]) is not None:
            return program(times, rows)
        room = -(-len(rows) // ROWS) * ROWS
        found = _of_fields(*self._given, k, filled(times.astype(float), room), filled(rows, room))
        return jax.tree.map(lambda part: np.asarray(part)[: len(rows)], found)


def _of_field(flow: Any, take: Any, restored: Any, order: int, t: Any, z: Any) -> Any:
    """Evaluate a field and its first derivatives, or for an order its derivative along as many vectors.

    The vectors follow the state and the parameter in z.
    """
    n = (len(z) - 1) // (order + 1)

    def field(z: Any) -> Any:
        moved = flow if take is None else with_parameter(take, flow, z[n])
        return ravel_pytree(moved.vector_field(t, restored(z[:n])))[0]

    if not order:
        return field(z), jax.jacfwd(field)(z)
    along: Any = lambda x: field(jnp.append(x, z[n]))
    for k in range(order):
        along = _derived(along, z[n + 1 + k * n : n + 1 + (k + 1) * n])
    return along(z[:n])


def _derived(f: Any, v: Any) -> Any:
    return lambda x: jax.jvp(f, (x,), (v,))[1]


@compiled
def _of_fields(flow: Any, take: Any, restored: Any, order: int, t: Array, z: Array) -> Any:
    return jax.vmap(lambda t, z: _of_field(flow, take, restored, order, t, z))(t, z)


class Intervals(NamedTuple):
    """Solutions of the N intervals of a mesh from their first states: stages, ends, and their derivatives.

    Attributes:
        stages: states at the Gauss points, (N, stages, n).
        moves: derivatives of the stages by the first state, the parameter and the duration, (N, stages, n, n + 2).
        ends: states at the ends, (N, n).
        maps: derivatives of the ends by the first states, (N, n, n).
        slopes: derivatives of the ends by the parameter, (N, n).
        rates: derivatives of the ends by the durations, (N, n), at fixed times of a field that depends on time.
        is_solved: whether the last Newton step of the stages was small, so that they satisfy the equations.
    """

    stages: np.ndarray
    moves: np.ndarray
    ends: np.ndarray
    maps: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray
    is_solved: bool = True


def solved(
    field: CycleField,
    begins: Float[np.ndarray, " N"],
    durations: Float[np.ndarray, " N"],
    nodes: Float[np.ndarray, "N n"],
    parameter: Float[np.ndarray, " N"] | float,
    stages: Float[np.ndarray, "N stages n"],
    *,
    far: float = np.inf,
) -> Intervals:
    """Solve the collocation equations of all intervals from their first states by Newton's method.

    Where it does not converge, or the field is not finite, the ends are NaN.

    Args:
        field: the field.
        begins: times at which the intervals begin.
        durations: their durations.
        nodes: the states at their beginnings.
        parameter: the value of the parameter, or one for each interval.
        stages: a guess of the stages.
        far: change of the stages in the first Newton step, relative to their sizes, above which it is the only one.
            Nodes and stages then move together, if the nodes move with the ends; with 0 this is the first step.
    """
    c, A, weights = rule(stages.shape[1])
    (N, m, n), h = stages.shape, durations[:, None, None]
    times, at = begins[:, None] + durations[:, None] * c, np.broadcast_to(parameter, (N,))[:, None]
    sizes = np.max(np.abs(nodes), axis=0) + np.ptp(nodes, axis=0)
    sizes = np.maximum(sizes, np.finfo(float).eps * float(np.max(sizes)) or 1.0)
    right = np.zeros((N, m, n, n + 3))
    right[:, :, np.arange(n), 1 + np.arange(n)] = 1.0
    matrix = np.empty((N, m, n, m, n))
    for step in range(ITERATIONS):
        f, J = field.at(times, stages, at)
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(J))):
            break
        scaled = h[..., None] * A[:, :, None]  # (N, m, m, 1)
        np.negative(scaled[:, :, None] * np.moveaxis(J[..., :n], 1, 2)[:, None], out=matrix)
        matrix.reshape(N, m * n, m * n)[:, np.arange(m * n), np.arange(m * n)] += 1.0
        weighted = A @ f
        right[..., 0] = nodes[:, None] + h * weighted - stages
        right[..., -2], right[..., -1] = h * (A @ J[..., n]), weighted
        try:
            moves = np.linalg.solve(matrix.reshape(N, m * n, m * n), right.reshape(N, m * n, n + 3))
        except np.linalg.LinAlgError:
            break
        moves = moves.reshape(N, m, n, n + 3)
        stages = stages + moves[..., 0]
        change = np.abs(moves[..., 0])
        if not np.all(np.isfinite(change)):
            break
        # a component at rest at zero, as a velocity, moves by the rounding errors of the forces that balance
        forces = np.max(h * np.einsum("kmij,kmj->kmi", np.abs(J[..., :n]), np.abs(stages)), axis=(0, 1))
        change = float(np.max(change / np.maximum(sizes, ROUNDED / LAST * forces)))
        is_solved = change <= LAST
        if is_solved or (step == 0 and change > far):
            by = moves[..., 1:]
            moved = np.einsum("j,kjab->kab", weights, by)
            rest = 1 - float(np.sum(weights))
            ends = rest * nodes + np.einsum("j,kja->ka", weights, stages)
            maps = moved[..., :n] + rest * np.eye(n)
            return Intervals(stages, by, ends, maps, moved[..., n], moved[..., n + 1], is_solved)
    nothing = np.full((N, n), np.nan)
    maps = np.full((N, n, n), np.nan)
    return Intervals(stages, np.zeros((N, m, n, n + 2)), nothing, maps, nothing, nothing, False)


def halved(
    field: CycleField,
    begins: Float[np.ndarray, " N"],
    durations: Float[np.ndarray, " N"],
    nodes: Float[np.ndarray, "N n"],
    parameter: Float[np.ndarray, " N"] | float,
    stages: Float[np.ndarray, "N stages n"],
    *,
    far: float = np.inf,
) -> Intervals:
    """Solve all intervals in two halves each, whose error is smaller by a factor of 2 to twice the number of stages.

    With a bound `far` both take a single Newton step where the stages would move further; see `solved`.
    """
    c = rule(stages.shape[1]).c
    known = np.concatenate([nodes[:, None], stages], axis=1)
    places, half = np.append(0.0, c), durations / 2
    early, late = (lagrange(places, share) @ known for share in (c / 2, (1 + c) / 2))
    first = solved(field, begins, half, nodes, parameter, early, far=far)
    last = solved(field, begins + half, half, first.ends, parameter, late, far=far)
    maps = last.maps @ first.maps
    through = lambda part: np.einsum("kij,kj->ki", last.maps, part)
    rates = (last.rates + through(first.rates)) / 2
    slopes = last.slopes + through(first.slopes)
    return Intervals(first.stages, first.moves, last.ends, maps, slopes, rates, first.is_solved and last.is_solved)


def evaluated(
    mesh: Float[np.ndarray, " edges"],
    nodes: Float[np.ndarray, "N n"],
    stages: Float[np.ndarray, "N stages n"],
    shares: Float[np.ndarray, " k"],
) -> Float[np.ndarray, "k n"]:
    """Evaluate the polynomials of an orbit at shares of its period in [0, 1]; `mesh` has those of the intervals."""
    which = np.clip(np.searchsorted(mesh, shares, side="right") - 1, 0, len(nodes) - 1)
    at = (shares - mesh[which]) / np.diff(mesh)[which]
    weights = lagrange(np.append(0.0, rule(stages.shape[1]).c), at)
    known = np.concatenate([nodes[:, None], stages], axis=1)
    return np.einsum("kj,kja->ka", weights, known[which])


def cubic(
    nodes: Float[np.ndarray, "N n"],
    away: Float[np.ndarray, "N n"],
    speeds: Float[np.ndarray, "edges n"],
    durations: Float[np.ndarray, " N"],
) -> Float[np.ndarray, "N stages n"]:
    """Interpolate states at Gauss points by the cubic polynomials of intervals, from differences and velocities."""
    c, h = rule().c[:, None], durations[:, None, None]
    first, last = h * speeds[:-1, None], h * speeds[1:, None]
    return nodes[:, None] + c**2 * (3 - 2 * c) * away[:, None] + c * (1 - c) ** 2 * first - c**2 * (1 - c) * last


def adapted_mesh(
    mesh: Float[np.ndarray, " edges"],
    nodes: Float[np.ndarray, "N n"],
    stages: Float[np.ndarray, "N stages n"],
    count: int,
    *,
    periodic: bool = True,
) -> Float[np.ndarray, " new"]:
    """Choose a mesh of `count` intervals in which the errors of all intervals are about equal.

    The error in an interval of length h is that of polynomials of degree m, proportional to the derivative of order
    m + 1 times h to the power m + 1. The derivative of order m is constant in each interval; its differences between
    neighbouring intervals give the next one; the last interval has the first one as its neighbour if the solution is
    periodic. Components count relative to their ranges; differences that may be rounding errors do not count, as those
    of a component that is constant.

    Source: C. de Boor, Good approximation by splines with variable knots II (1974), as in AUTO: E. Doedel, H. B. Keller
    and J. P. Kernevez, Numerical analysis and control of bifurcation problems II (1991).
    """
    m, lengths = stages.shape[1], np.diff(mesh)
    known = np.concatenate([nodes[:, None], stages], axis=1)
    ranges = extents(known.reshape(-1, known.shape[2]))
    places = np.append(0.0, rule(m).c)
    apart = places[:, None] - places
    np.fill_diagonal(apart, 1.0)
    weights = 1 / np.prod(apart, axis=1)
    highest = np.einsum("j,kja->ka", weights, known / ranges) / lengths[:, None] ** m  # over m!
    noise = np.sum(np.abs(weights)) * ROUNDED * np.max(np.abs(known), axis=(0, 1)) / ranges / lengths[:, None] ** m
    changes = np.abs(highest - np.roll(highest, 1, axis=0))
    changes = np.where(changes > noise + np.roll(noise, 1, axis=0), changes, 0.0)
    jumps = np.linalg.norm(changes, axis=1) / (lengths + np.roll(lengths, 1))  # at the beginnings, up to a factor
    if not periodic:
        jumps[0] = jumps[1]
    density = (jumps + (np.roll(jumps, -1) if periodic else np.append(jumps[1:], jumps[-1]))) ** (1 / (m + 1))
    mean = float(np.sum(density * lengths))
    density = density + EVENLY * mean if mean > 0 else np.ones(len(nodes))
    total = np.append(0.0, np.cumsum(density * lengths))
    found = np.interp(np.linspace(0.0, total[-1], count + 1), total, mesh)
    found[0], found[-1] = 0.0, 1.0
    return found


def refined_mesh(mesh: Float[np.ndarray, " edges"], count: int) -> Float[np.ndarray, " new"]:
    """Divide the intervals of a mesh into equal parts, as evenly as possible, until there are `count`."""
    N = len(mesh) - 1
    parts = np.full(N, count // N) + (np.arange(N) < count % N)
    pieces = [low + (high - low) * np.arange(k) / k for low, high, k in zip(mesh[:-1], mesh[1:], parts, strict=True)]
    return np.append(np.concatenate(pieces), mesh[-1])

"""Find equilibria of a flow from given starts, by least squares and Newton's method."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.equilibria.centres import centre_type
from analysis.dynamics.equilibria.field_rows import LEFT, OF_ROWS, FieldRows, newton_steps
from analysis.dynamics.equilibrium_types import CENTRE
from analysis.dynamics.flow_maps.angles import modulo, turned_by
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.linearisation import (
    NEAR_ZERO,
    Spectrum,
    tangent_basis,
    tangent_jacobian,
    transverse_jacobian,
)
from analysis.dynamics.scaling.flat import count_of, flat_state
from analysis.dynamics.scaling.linear_equations import least_squares
from analysis.dynamics.scaling.samples import ranges
from analysis.dynamics.scaling.units import Units, made_units, power_near
from dynsim._core.checked import checked
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import Key, State, SymmetryGenerator, Time
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow, double_state
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat

# Singular values of a Jacobian below this share count as zero.
RANK = 1e-9
# Units of states are powers of two to this, near a quarter of the range of the starts.
UNIT = 4
# Number of states between two equilibria at which the speed is looked at, and the multiple of its rounding error that
# counts as zero there.
BETWEEN, FLAT = 9, 16.0
# Number of equilibria that are all kept. Of more with a singular derivative, so many are kept as are at some distance
# from each other, this one, in units of the starts, or twice as much and so on.
FEW, MOST, APART = 16, 64, 1 / 16
# Largest number of starts that go on by least squares where Newton's method fails.
AGAIN = 128
# Shares of a state, and of its unit, by which a degenerate equilibrium is uncertain at least.
ROOT, LEAST = 1e-7, 1e-12
# Multiple of the step along the weakest direction within which a double root lies, and the largest such step.
SURELY, FARTHEST = 1.5, 1e-6
# Equilibria closer than this, in units of the starts, with no speed between them count as one degenerate equilibrium.
CLOSE = 1e-2
# Largest number of Newton steps from a single state.
CORRECTIONS = 20
# Largest number of Newton steps; at degenerate equilibria each step only gains a fixed factor.
STEPS = 60
# Largest distance, in units of the starts, at which two equilibria count as one, unless both are known far better.
SAME = 1e-6
# Newton step, relative to the distance of two equilibria, below which both are known well enough to be told apart.
KNOWN = 1e-3


class Equilibrium(NamedTuple):
    """Equilibrium: the state, the remaining speed there, its spectrum, and how many starts converged to it."""

    state: State
    speed: float
    spectrum: Spectrum
    times_found: int

    __repr__ = one_line
    __str__ = report

    @property
    def kind(self) -> str:
        """Stability type from the spectrum: `stable`, `saddle`, `unstable` or `undecided`."""
        return self.spectrum.kind

    @property
    def description(self) -> str:
        """Type in words, such as `stable focus`, `saddle of index 2` or `centre of the linearisation`."""
        return self.spectrum.description

    @property
    def order(self) -> tuple[int, int]:
        """Sort key that puts stable equilibria first, then those with few unstable directions."""
        return ("stable", "saddle", "unstable", "undecided").index(self.kind), self.spectrum.index


@on_host_by_default
def equilibria(
    flow: AbstractFlow,
    starts: State,
    t: Time = 0.0,
    *,
    symmetries: Sequence[SymmetryGenerator] = (),
    invariant: Callable[[State], Array] | None = None,
    radius: float | None = None,
) -> list[Equilibrium]:
    """Find equilibria from given starts, by Newton's method; `find_equilibria` searches a region without starts.

    They are classified, the stable ones first, and listed once modulo the periods of angles. There may be others, which
    more starts may find. Local minima of the speed that are not zero are left out. Each component has the range of the
    starts as its unit. NumPy: not for `jit`.

    Args:
        flow: the system; a time-dependent field is frozen at `t`.
        starts: initial points, on the first axis of every array, such as `random_starts(flow, key, shape, num_starts)`;
            they are converted to float64.
        t: the time at which the field is evaluated.
        symmetries: generators of symmetries, whose zero eigenvalues are left out of the spectra; see `spectrum`.
        invariant: a function of the state; two equilibria are identified if its values differ by at most `radius` in
            every entry. By default the state itself. With symmetries take an invariant of them, such as the sorted
            entries of the Gram matrix.
        radius: that tolerance; by default 1e-6, for states in units of the starts.

    Raises:
        ValueError: for a radius that is not positive, for starts without a common first axis, or that are not finite.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import equilibria
        >>> found = equilibria(ds.FunctionFlow(lambda t, x: x - x**3), [[-0.9], [0.1], [1.2]])
        >>> [(round(float(one.state[0]), 6) + 0.0, one.kind) for one in found]
        [(-1.0, 'stable'), (1.0, 'stable'), (0.0, 'unstable')]
    """
    check_flow(flow)
    starts = jax.tree.map(np.asarray, double_state("starts", starts))
    count_of("starts", starts)
    if not all(np.all(np.isfinite(np.asarray(y))) for y in jax.tree.leaves(starts)):
        raise ArgumentError("starts", "be finite", "has an entry that is not")
    near = None if radius is None else number("radius", radius)
    search = Finder(start_units(flow, starts, t), starts, t, invariant=invariant, radius=near, symmetries=symmetries)
    search.round(search.units.rescaled(starts))
    return once_modulo_turns(search.rows, search.classified())


def once_modulo_turns(rows: FieldRows, found: Sequence[Equilibrium]) -> list[Equilibrium]:
    """Keep one of the equilibria that differ only by whole turns of angles, the one nearest to zero, in their order."""
    if not found:
        return []
    angles = flat_state(rows.flow.space.periods(found[0].state))
    points = np.stack([flat_state(e.state) for e in found])
    kept = modulo(points, angles, rows.scale)
    turned = lambda k: [e for e, x in zip(found, points, strict=True) if turned_by(x, points[k], angles, rows.scale)]
    return [found[k]._replace(times_found=sum(e.times_found for e in (found[k], *turned(k)))) for k in kept]


def start_units(flow: AbstractFlow, starts: State, t: Time = 0.0, sizes: State | None = None) -> Units:
    """Choose units of a search near the ranges of its starts, and near the inverse norm of the Jacobian there.

    Other `sizes` of the components may be given in place of the ranges.
    """
    if isinstance(flow, NoisyFlow):
        return made_units(flow)
    sizes = (ranges(starts) if sizes is None else sizes) if is_flat(flow.space) else 1.0
    scale = jax.tree.map(lambda size: power_near(size / 4, UNIT), sizes)
    rows = FieldRows(made_units(flow, scale=scale), starts, t)
    slopes = rows(rows.flattened(starts) / rows.scale)[1]
    norms = np.linalg.norm(slopes, axis=(1, 2)) / np.sqrt(slopes.shape[1])
    known = norms[np.isfinite(norms)]
    rate = float(np.median(known)) if len(known) else 0.0
    return made_units(flow, scale=scale, time=float(power_near(1 / rate if rate > 0 else 1.0)))


class Finder:
    """The different equilibria that a search has found, in rescaled units."""

    def __init__(
        self,
        units: Units,
        sample: State,
        t: Time = 0.0,
        *,
        invariant: Callable[[State], Array] | None = None,
        radius: float | None = None,
        symmetries: Sequence[SymmetryGenerator] = (),
    ):
        """Store what is searched; `sample` are states in the flow's units, on the first axis of every array."""
        self.units, self.t, self.symmetries = units, t, tuple(symmetries)
        self.compare = EquilibriumComparison(units, invariant, radius)
        self.rows = FieldRows(units, sample, t)
        self.points: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.speeds: list[float] = []
        self.times: list[int] = []

    def round(self, starts: State, *, deflated: bool = False) -> None:
        """Add the equilibria that starts in these units lead to; if `deflated`, away from those that are known."""
        known = np.reshape(self.points, (-1, len(self.rows.scale))) if deflated else np.empty((0, len(self.rows.scale)))
        self.from_rows(self.rows.flattened(starts), known)

    def from_rows(self, starts: np.ndarray, known: np.ndarray | None = None) -> None:
        """Add the equilibria that flattened starts lead to, by least squares and Newton's method."""
        if len(starts):
            none = np.empty((0, starts.shape[1]))
            self.add_rows(*self.rows.polished(self.rows.least(starts, none if known is None else known), STEPS))

    def from_near(self, starts: np.ndarray) -> None:
        """Add the equilibria near flattened starts; by least squares only where Newton's method fails."""
        if len(starts):
            found, rest = self.rows.polished(starts, STEPS)
            self.add_rows(found, rest)
            left = starts[~rest]
            self.from_rows(left[:: max(1, -(-len(left) // AGAIN))])

    def add_rows(self, found: np.ndarray, rest: np.ndarray) -> None:
        """Add equilibria, of those on curves or surfaces of equilibria only some."""
        found = found[rest]
        if len(found) > FEW:
            slopes, changes = jacobians(self.rows, found)
            weakest = np.linalg.svd(slopes)[1]
            uncertain = np.maximum(NEAR_ZERO * weakest[:, 0], np.linalg.norm(changes, ord=2, axis=(1, 2)))
            singular = np.flatnonzero(weakest[:, -1] <= uncertain)
            apart, first = APART, np.arange(len(singular))
            while len(first) > MOST:
                first = np.unique(np.round(found[singular] / apart), axis=0, return_index=True)[1]
                apart *= 2
            found = np.delete(found, np.delete(singular, first), axis=0)
        speeds = np.max(np.abs(self.rows.field(found)), axis=1, initial=0.0)
        for x, speed in zip(found, speeds, strict=True):
            self.add(x, float(speed))

    def add(self, x: np.ndarray, speed: float) -> None:
        """Add an equilibrium unless it is known."""
        value = self.compare.value(self.rows.state(x))
        k, same = self.place(x, value)
        if k is None:
            self.append(x, value, speed)
        else:
            self.merge(k, x, value, speed, same)

    def place(self, x: np.ndarray, value: np.ndarray) -> tuple[int | None, bool]:
        """Find the known equilibrium that is the same, or is joined to this one by states at rest."""
        if not self.points:
            return None, False
        apart = np.max(np.abs(np.asarray(self.values) - value), axis=1, initial=0.0)
        k = int(np.argmin(apart))
        if self.compare.are_same(value, self.values[k]) and not self.are_apart(x, self.points[k]):
            return k, True
        gaps = np.max(np.abs(np.asarray(self.points) - x), axis=1)
        for k in np.flatnonzero(gaps <= CLOSE):
            if self.is_flat_between(x, self.points[k]):
                return int(k), False
        return None, False

    def are_apart(self, x: np.ndarray, other: np.ndarray) -> bool:
        """Test whether close equilibria differ, as a pair just after a fold: far from each other by Newton's steps."""
        gap = float(np.linalg.norm(x - other))
        if self.compare.is_given or gap <= LEAST:
            return False
        steps = np.linalg.norm(newton_steps(*self.rows(np.stack([x, other]))), axis=1)
        return bool(np.all(steps <= KNOWN * gap)) and not self.is_flat_between(x, other)

    def is_in(self, x: np.ndarray, box: np.ndarray) -> bool:
        """Test whether an equilibrium is in a box, (2, d) in the flow's units."""
        return in_box(x * self.rows.scale, *box)

    def is_flat_between(self, x: np.ndarray, other: np.ndarray) -> bool:
        """Test whether states between two close equilibria are at rest, as near a degenerate one."""
        between = self.rows.projected(x + np.linspace(0.0, 1.0, BETWEEN)[:, None] * (other - x))[0]
        if np.all(self.rows.are_at_rest(between)):
            return True
        own, error, terms = self.rows.rounding(between)
        return bool(np.all(own <= FLAT * np.max(error, axis=0) + LEFT * terms))

    def append(self, x: np.ndarray, value: np.ndarray, speed: float) -> None:
        """Add a new equilibrium."""
        self.points.append(x)
        self.values.append(value)
        self.speeds.append(speed)
        self.times.append(1)

    def merge(self, k: int, x: np.ndarray, value: np.ndarray, speed: float, same: bool) -> None:
        """Count a known equilibrium again; of two that are joined, keep the one with the smaller speed."""
        self.times[k] += 1
        if speed < self.speeds[k] and not same:
            self.points[k], self.values[k], self.speeds[k] = x, value, speed

    def classified(self) -> list[Equilibrium]:
        """Classify the equilibria, stable ones first."""
        found = [self.one(k) for k in range(len(self.points))]
        return sorted(found, key=lambda e: e.order)

    def one(self, k: int) -> Equilibrium:
        """Classify an equilibrium."""
        return classified(self.rows, self.units, self.points[k], self.speeds[k], self.symmetries, self.times[k])


# Type of an equilibrium at which the field has no derivative, as that of y^2 / x at the origin; the least size of a
# Jacobian, in units in which rates are of order one, and its least change, relative to it, that count as such.
NO_DERIVATIVE = "undecided (the derivative changes within rounding)"
SMALL, JUMPS = 1e-3, 0.1


class EquilibriumComparison(NamedTuple):
    """Comparison of equilibria, by their states in rescaled units or by an invariant in its own unit."""

    units: Units
    invariant: Callable[[State], Array] | None
    radius: float | None

    @property
    def is_given(self) -> bool:
        """Whether the caller chooses when two equilibria are the same."""
        return self.invariant is not None or self.radius is not None

    def value(self, z: State) -> np.ndarray:
        """Compute the vector by which a state in these units is compared."""
        if self.invariant is not None:
            return flat_state(self.invariant(self.units.restored(z)))
        return flat_state(z if self.radius is None else self.units.restored(z))

    def are_same(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Test whether two such vectors belong to one equilibrium."""
        return bool(np.max(np.abs(one - other), initial=0.0) <= (SAME if self.radius is None else self.radius))


def in_box(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Test whether a flattened state is in a box; its boundary is included up to rounding."""
    edge = SAME * (high - low)
    return bool(np.all((x >= low - edge) & (x <= high + edge)))


def classified(
    rows: FieldRows, units: Units, x: np.ndarray, speed: float, symmetries: Sequence[SymmetryGenerator], times: int
) -> Equilibrium:
    """Classify an equilibrium computed in rescaled units, and convert it to the units of the given flow.

    Eigenvalues may be zero within their own errors, to which the change of the Jacobian belongs over the distance by
    which the equilibrium is uncertain; see `zero_tolerance`.
    """
    z = jax.device_put(rows.state(x))
    (slopes,), (changes,) = jacobians(rows, x[None])
    errors = changes + OF_ROWS * np.max(np.abs(slopes), initial=0.0)  # a row this small is rounding for the search, too
    near = transverse_jacobian(units.system, z, float(rows.t) / units.time, units.acting(symmetries), errors)
    found = near.spectrum()
    vectors = found.vectors * rows.scale[:, None]
    own = found._replace(
        values=found.values / units.time,
        tolerance=found.tolerance / units.time,
        vectors=vectors / np.linalg.norm(vectors, axis=0),
        description=(
            centre_type(rows, x, near.matrix, units.system, z)
            if found.description == CENTRE
            else NO_DERIVATIVE
            if found.kind == "undecided" and _jumps(slopes, changes)
            else found.description
        ),
    )
    state = units.restored(z)
    fastest = speed if units.are_given else float(np.max(np.abs(rows.field(x[None]) * rows.scale / rows.time)))
    return Equilibrium(state, fastest, own, times)


def _jumps(slopes: np.ndarray, changes: np.ndarray) -> bool:
    """Whether a Jacobian that is not small changes by a tenth within rounding of the equilibrium."""
    sizes = [float(np.linalg.norm(matrix, 2)) for matrix in (slopes, changes)]
    return sizes[0] > SMALL and sizes[1] > JUMPS * sizes[0]


def jacobians(rows: FieldRows, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute Jacobians at equilibria, and how uncertain their entries are, both (points, d, d).

    This is their change along the weakest direction, over twice the Newton step, or over the square root of rounding.
    Newton steps leave that direction out where it is hardly stretched: a double root is as far as its part of the step.
    """
    field, slopes = rows(points)
    left, sizes, right = np.linalg.svd(slopes)
    weak, least = right[:, -1], sizes[:, -1]
    along = np.abs(np.sum(left[:, :, -1] * field, axis=1)) / np.where(least > 0, least, np.inf)
    steps = np.linalg.norm(newton_steps(field, slopes), axis=1) + SURELY * np.minimum(along, FARTHEST)
    reach = (LEAST + 2 * steps + ROOT * np.linalg.norm(points * weak, axis=1))[:, None] * weak
    changes = np.stack([np.abs(rows(points + move)[1] - slopes) for move in (reach, -reach)])
    return slopes, np.max(np.where(np.isfinite(changes), changes, 0.0), axis=0)


def weak_directions(rows: FieldRows, x: np.ndarray, axes: slice | list[int] = slice(None)) -> np.ndarray:
    """Compute the directions along which the field does not change near an equilibrium, (directions, d).

    A direction counts if the derivative along it is rounding of the Jacobian, or within the uncertainty of this.
    """
    (slopes,), (changes,) = jacobians(rows, x[None])
    basis = tangent_basis(rows.flow.space, rows.state(x))
    along = basis[:, axes]
    _, sizes, right = np.linalg.svd(basis.T @ slopes @ along)
    if not len(sizes):
        return np.empty((0, len(x)))
    return right[sizes <= max(NEAR_ZERO * sizes[0], float(np.linalg.norm(changes, 2)))] @ along.T


@checked
@on_host_by_default
def random_starts(flow: AbstractFlow, key: Key, shape: tuple[int, ...], num_starts: int) -> State:
    """Sample random points of the flow's space, each of `shape`, stacked along a new first axis.

    Args:
        flow: the flow on whose space the points lie.
        key: random key.
        shape: shape of one point, such as (3,) or (tokens, 3).
        num_starts: number of points.

    Raises:
        ValueError: if `num_starts` is less than one.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import random_starts
        >>> flow = ds.FunctionFlow(lambda t, x: x * 0, ds.Sphere())
        >>> starts = random_starts(flow, ds.random_key(0, "starts"), (3,), 5)
        >>> starts.shape, bool(np.allclose(np.linalg.norm(starts, axis=1), 1.0))
        ((5, 3), True)
    """
    if num_starts < 1:
        raise ArgumentError("num_starts", "be at least 1", f"is {num_starts}")
    return jax.vmap(lambda k: flow.space.sample(k, shape))(jax.random.split(key, num_starts))


def newton(flow: AbstractFlow, x: State, t: Time = 0.0) -> tuple[State, float]:
    """Find an equilibrium near `x` by minimum-norm Newton steps in the tangent space; give it and its speed.

    A minimum-norm step does not move along the orbit of a symmetry, where the Jacobian is singular. Iteration stops
    when a step does not reduce the speed, or after 20 steps. NumPy: not for `jit`.
    """
    x, when = double_state("x", x), np.asarray(t, float)
    field = np.asarray(field_at(flow, x, when))
    for _ in range(CORRECTIONS):
        basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, t)
        step = basis @ np.linalg.lstsq(J, -basis.T @ field, rcond=1e-9)[0]
        moved = displaced(flow.space, x, step)
        after = np.asarray(field_at(flow, moved, when))
        if not np.max(np.abs(after)) < np.max(np.abs(field)):
            break
        x, field = moved, after
    return jax.tree.map(jnp.asarray, x), float(np.max(np.abs(field)))


def max_speed(flow: AbstractFlow, x: State, t: Time = 0.0) -> float:
    """Compute the largest absolute entry of the vector field at `x`. NumPy: not for `jit`."""
    return float(np.max(np.abs(field_at(flow, double_state("x", x), np.asarray(t, float)))))


@compiled
def field_at(flow: AbstractFlow, x: State, t: Array) -> Array:
    """Evaluate the vector field at a state, flattened."""
    return jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0]


def step_to_rest(flow: AbstractFlow, x: State, t: Time = 0.0) -> np.ndarray:
    """Compute a Newton step from a state to an equilibrium, flattened in ambient coordinates, also of a family."""
    basis, field = tangent_basis(flow.space, x), np.asarray(field_at(flow, x, np.asarray(t, float)))
    return basis @ least_squares(tangent_jacobian(flow, x, t), -basis.T @ field, RANK)


def displaced(space: AbstractSpace, x: State, step: Array | np.ndarray) -> State:
    """Move a point of a space by a flattened ambient vector, and project it. NumPy: not for `jit`."""
    if not is_flat(space):
        return _displaced(space, x, np.asarray(step))
    if isinstance(x, np.ndarray):
        return np.asarray(x + np.reshape(step, x.shape))
    leaves, tree = jax.tree.flatten(x)
    parts = np.split(np.asarray(step), np.cumsum([np.size(leaf) for leaf in leaves])[:-1])
    moved = [
        np.asarray(np.asarray(leaf) + part.reshape(np.shape(leaf))) for leaf, part in zip(leaves, parts, strict=True)
    ]
    return tree.unflatten(moved)


@compiled
def _displaced(space: AbstractSpace, x: State, step: Array) -> State:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    return space.project(unravel(flat + step))

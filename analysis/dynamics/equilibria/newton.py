"""Find equilibria of a flow from given starts, by least squares and Newton's method."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.equilibria.least_squares import least_squares
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.flat import count_of, flat_state
from analysis.dynamics.linearisation import Spectrum, spectrum, tangent_basis, tangent_jacobian
from analysis.dynamics.scaling.samples import sample_units
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, report
from dynsim._core.types import Key, State, SymmetryGenerator, Time
from dynsim._core.validation import number
from dynsim.errors import ArgumentError
from dynsim.programs import Programmed
from dynsim.simulation.checks import as_state, start_on
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

# Largest speed, in units of the starts, that counts as zero up to rounding.
AT_REST = 1e-10
# Equilibria closer than this, in units of the starts, with no speed between them count as one degenerate equilibrium.
CLOSE = 1e-2
# Largest number of Newton steps; at degenerate equilibria each step only gains a fixed factor.
STEPS = 60
# Number of known equilibria by which a search is deflated; further ones are left out.
PADDING = 32
# Largest distance, in units of the starts, at which two equilibria count as one.
SAME = 1e-6


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
    def order(self) -> tuple[int, int]:
        """Sort key that puts stable equilibria first, then those with few unstable directions."""
        return ("stable", "saddle", "unstable", "undecided").index(self.kind), self.spectrum.index


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

    They are classified, the stable ones first. There may be others, which more starts may find. Local minima of the
    speed that are not zero are left out. Tolerances hold in `sample_units` of the starts. NumPy: not for `jit`.

    Args:
        flow: the system; a time-dependent field is frozen at `t`.
        starts: initial points, on the first axis of every array, such as `random_starts(flow, key, shape, num_starts)`.
        t: the time at which the field is evaluated.
        symmetries: generators of symmetries, whose zero eigenvalues are left out of the spectra; see `spectrum`.
        invariant: a function of the state; two equilibria are identified if its values differ by at most `radius` in
            every entry. By default the state itself. With symmetries take an invariant of them, such as the sorted
            entries of the Gram matrix.
        radius: that tolerance; by default 1e-6, for states in units of the starts.

    Raises:
        ValueError: for a radius that is not positive, for starts without a common first axis, or that are not finite.
    """
    starts = jax.tree.map(lambda y: np.asarray(y, float), as_state("starts", starts))
    count = count_of("starts", starts)
    if not all(np.all(np.isfinite(np.asarray(y))) for y in jax.tree.leaves(starts)):
        raise ArgumentError("starts", "be finite", "has an entry that is not")
    near_value = None if radius is None else number("radius", radius)
    compare = EquilibriumComparison(sample_units(flow, starts, t), invariant, near_value)
    scaled, when = compare.units.system, jnp.asarray(np.asarray(t / compare.units.time, float))
    begin = compare.units.rescaled(starts)
    # the same shape as in `find_equilibria`, so that one compiled program serves both
    none = np.full((PADDING, _size(starts)), np.inf)
    near, scale = jax.device_get(least_speed(scaled, begin, when, none))
    found: list[tuple[State, np.ndarray, float, int]] = []
    for k in range(count):
        x, speed = newton(scaled, jax.tree.map(lambda y, k=k: y[k], near), when, max_steps=STEPS)
        if not at_rest(scaled, x, speed, float(scale), when):
            continue
        value = compare.value(x)
        for place, (known, other, slowest, times) in enumerate(found):
            same = compare.are_same(value, other)
            if same or is_flat_between(scaled, x, known, float(scale), when):
                nearer = speed < slowest and not same  # closer to the degenerate equilibrium
                found[place] = (x, value, speed, times + 1) if nearer else (known, other, slowest, times + 1)
                break
        else:
            found.append((x, value, speed, 1))
    result = [classified(compare.units, x, speed, symmetries, times, t) for x, _, speed, times in found]
    return sorted(result, key=lambda e: e.order)


class EquilibriumComparison(NamedTuple):
    """Comparison of equilibria, by their states in rescaled units or by an invariant in its own unit."""

    units: Units
    invariant: Callable[[State], Array] | None
    radius: float | None

    def value(self, z: State) -> np.ndarray:
        """Compute the vector by which a state in these units is compared."""
        if self.invariant is not None:
            return flat_state(self.invariant(self.units.restored(z)))
        return flat_state(z if self.radius is None else self.units.restored(z))

    def are_same(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Test whether two such vectors belong to one equilibrium."""
        return bool(np.max(np.abs(one - other), initial=0.0) <= (SAME if self.radius is None else self.radius))


def at_rest(flow: AbstractFlow, x: State, speed: float, scale: float, t: Time = 0.0) -> bool:
    """Test whether a low speed is zero up to rounding, in units in which rates are of order one.

    If the typical speed `scale` exceeds one, the speed may be low only relative to it, at a nonzero minimum. A Newton
    step must then predict a lower speed.
    """
    if not (speed <= AT_REST * max(1.0, scale) and np.all(np.isfinite(flat_state(x)))):
        return False
    if speed <= AT_REST:
        return True
    field = np.asarray(field_at(flow, x, np.asarray(t, float)))
    basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, t)
    along = basis.T @ field
    step = np.linalg.lstsq(J, -along, rcond=1e-9)[0]
    left = float(np.max(np.abs(along + J @ step)))
    return left <= speed / 2 and float(np.max(np.abs(step))) <= SAME * (1 + float(np.max(np.abs(flat_state(x)))))


def is_flat_between(flow: AbstractFlow, x: State, other: State, scale: float, t: Time = 0.0) -> bool:
    """Test whether the speed vanishes, up to rounding, between two close equilibria, as near a degenerate one."""
    apart = flat_state(other) - flat_state(x)
    if float(np.max(np.abs(apart))) > CLOSE:
        return False
    between = [displaced(flow.space, x, share * apart) for share in (0.25, 0.5, 0.75)]
    return max(max_speed(flow, y, t) for y in between) <= AT_REST * max(1.0, scale)


def in_box(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Test whether a flattened state is in a box; its boundary is included up to rounding."""
    edge = SAME * (high - low)
    return bool(np.all((x >= low - edge) & (x <= high + edge)))


def classified(
    units: Units, z: State, speed: float, symmetries: Sequence[SymmetryGenerator], times: int, t: Time = 0.0
) -> Equilibrium:
    """Classify an equilibrium computed in rescaled units, and convert it to the units of the given flow."""
    found = spectrum(units.system, z, t / units.time, symmetries=units.acting(symmetries))
    values, tolerance = found.values / units.time, found.tolerance / units.time
    x = units.restored(z)
    fastest = speed if units.are_given else max_speed(units.given(units.system), x, t)
    return Equilibrium(x, fastest, found._replace(values=values, tolerance=tolerance), times)


def random_starts(flow: AbstractFlow, key: Key, shape: tuple[int, ...], num_starts: int) -> State:
    """Sample random points of the flow's space, each of `shape`, stacked along a new first axis.

    Raises:
        ValueError: if `num_starts` is less than one.
    """
    if num_starts < 1:
        raise ArgumentError("num_starts", "be at least 1", f"is {num_starts}")
    return jax.vmap(lambda k: flow.space.sample(k, shape))(jax.random.split(key, num_starts))


def newton(flow: AbstractFlow, x: State, t: Time = 0.0, *, max_steps: int = 20) -> tuple[State, float]:
    """Find an equilibrium near `x` by minimum-norm Newton steps in the tangent space; give it and its speed.

    A minimum-norm step does not move along the orbit of a symmetry, where the Jacobian is singular. Iteration stops
    when a step does not reduce the speed, or after `max_steps`. NumPy: not for `jit`.
    """
    x, when = as_state("x", x), np.asarray(t, float)
    field = np.asarray(field_at(flow, x, when))
    for _ in range(max_steps):
        basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, t)
        step = basis @ np.linalg.lstsq(J, -basis.T @ field, rcond=1e-9)[0]
        moved = displaced(flow.space, x, step)
        after = np.asarray(field_at(flow, moved, when))
        if not np.max(np.abs(after)) < np.max(np.abs(field)):
            break
        x, field = moved, after
    return jax.tree.map(jnp.asarray, x), float(np.max(np.abs(field)))


def _size(states: State) -> int:
    return sum(y.size // len(y) for y in jax.tree.leaves(states))


def max_speed(flow: AbstractFlow, x: State, t: Time = 0.0) -> float:
    """Compute the largest absolute entry of the vector field at `x`. NumPy: not for `jit`."""
    return float(np.max(np.abs(field_at(flow, as_state("x", x), np.asarray(t, float)))))


@compiled
def field_at(flow: AbstractFlow, x: State, t: Array) -> Array:
    """Evaluate the vector field at a state, flattened."""
    return jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0]


def displaced(space: AbstractSpace, x: State, step: Array | np.ndarray) -> State:
    """Move a point of a space by a flattened ambient vector, and project it. NumPy: not for `jit`."""
    if not is_flat(space):
        return _displaced(space, x, np.asarray(step))
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


def least_speed(
    flow: AbstractFlow, starts: State, t: Array | np.ndarray, known: Array | np.ndarray
) -> tuple[State, Array | np.ndarray | float]:
    """Minimise the speed locally from each start, and compute the median speed at the starts.

    The speed is deflated: it is multiplied by a factor that grows near the `known` equilibria, given as flattened rows.
    Rows with infinite entries are padding and have no effect.
    """
    rows = np.asarray(known, float)
    leaves, tree = jax.tree.flatten(starts)
    one = jax.tree.unflatten(tree, [np.asarray(leaf)[0] for leaf in leaves])
    finite = rows[np.all(np.isfinite(rows), axis=1)]
    residuals = (
        _RESIDUAL.rows((flow, np.asarray(t), finite, one), np.zeros(rows.shape[1:])) if is_flat(flow.space) else None
    )
    speeds = _SPEED.rows((flow,), np.zeros(()), one)
    if residuals is None or speeds is None:
        return _least_speed(flow, starts, jnp.asarray(t), known)
    flat = np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1) for leaf in leaves], axis=1)
    found, edges = least_squares(residuals, flat), np.cumsum([np.asarray(leaf)[0].size for leaf in leaves])[:-1]
    parts = [part.reshape(np.shape(leaf)) for part, leaf in zip(np.split(found, edges, axis=1), leaves, strict=True)]
    with np.errstate(all="ignore"):
        middle = np.nanmedian(speeds(np.asarray(t), *leaves))
    return jax.tree.unflatten(tree, parts), middle


def _residual(flow: AbstractFlow, t: Array, known: Array | np.ndarray, shape: State, y: Array) -> Array:
    """Evaluate the field at a flattened state, deflated: multiplied by a factor that grows near known equilibria."""
    unravel = jax.flatten_util.ravel_pytree(shape)[1]
    point = jax.flatten_util.ravel_pytree(flow.space.project(unravel(y)))[0]
    there = jnp.all(jnp.isfinite(known), axis=1)
    away = jnp.sum((point[None] - jnp.where(there[:, None], known, 0.0)) ** 2, axis=1)
    logs = jnp.where(there, jnp.log1p(1 / (away + 1e-300)), 0.0)  # the derivative of a product compiles slowly
    field = jax.flatten_util.ravel_pytree(flow.vector_field(t, unravel(y)))[0]
    return field * jnp.exp(jnp.sum(logs))


def _with_slopes(flow: AbstractFlow, t: Array, known: Array, shape: State, y: Array) -> tuple[Array, Array]:
    residual = lambda y: _residual(flow, t, known, shape, y)
    return residual(y), jax.jacfwd(residual)(y)


def _speed(flow: AbstractFlow, t: Array, x: State) -> Array:
    return jnp.max(jnp.abs(jax.flatten_util.ravel_pytree(flow.vector_field(t, x))[0]))


_RESIDUAL, _SPEED = Programmed(_with_slopes), Programmed(_speed)


@eqx.filter_jit
def _least_speed(flow: AbstractFlow, starts: State, t: Array, known: Array | np.ndarray) -> tuple[State, Array]:
    import optimistix as optx

    def nearest(start: State) -> State:
        flat, unravel = jax.flatten_util.ravel_pytree(start_on(flow.space, start))
        residual = lambda y, args: _residual(flow, t, known, start, y)
        solver = optx.LevenbergMarquardt(1e-12, 1e-14)
        solution = optx.least_squares(residual, solver, flat, max_steps=100, throw=False)
        return flow.space.project(unravel(solution.value))

    speeds = jax.vmap(lambda x: _speed(flow, t, x))(starts)
    return jax.vmap(nearest)(starts), jnp.nanmedian(speeds)

"""Evaluate the field of a flow and its Jacobian at many states at once, and take Newton steps from all of them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from analysis.dynamics.equilibria.least_squares import least_squares
from analysis.dynamics.flow_maps.autonomy import PROGRAMMED, fields
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.scaling.units import Units
from dynsim._core.host import filled, room_for
from dynsim._core.types import State, Time
from dynsim.programs import NumpyEvaluator, Programmed
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

# Number of entries of the Jacobians computed at once, and the bounds of the number of states.
ENTRIES, ROWS = 2**15, (8, 512)
# Singular values below this share of the largest one are left out of Newton steps.
RANK = 1e-9
OF_ROWS = 8 * float(np.finfo(float).eps)  # a row of the Jacobian this share of the largest one is rounding
# Longest Newton step, relative to the state and its unit, from a state that counts as an equilibrium.
STEP = 1e-7
# Largest part of the field that a Newton step cannot remove, relative to the terms of its linearisation.
LEFT = 1e-12
# Speed, relative to that at the starts, that is zero in every case, as where a component vanishes with its derivative.
NOTHING = 1e-18
# Relative changes of a state by which the rounding error of the field is estimated, and the multiple that counts.
CHANGES, ROUNDING = 2.0**-38 * np.array([-3.1, -2.3, -1.2, -0.4, 0.7, 1.6, 2.2, 2.9]), 4.0
# Speed, relative to the change of the field over a unit, that Newton's method leaves in components that are not small.
TINY = 1e-16

Rows = Float[np.ndarray, "points d"]


class FieldRows:
    """Field and Jacobian of a flow at flattened states, (points, d), in units in which they are of order one.

    The field is that of the flow in its own units, so that one compiled program serves all units.
    """

    def __init__(self, units: Units, samples: State, t: Time = 0.0):
        """Store the flow, the units, the shape of sample states, (samples, ...), and typical speeds at them.

        States are in the flow's own units, and so is the time.
        """
        sample = jax.tree.map(lambda y: np.asarray(y, float)[0], samples)
        self.flow, self.t = units.given(units.system), np.asarray(t, float)
        self.is_flat, self.scale, self.time = is_flat(self.flow.space), units.flat(sample), units.time
        self._evaluators: dict[Programmed, NumpyEvaluator | None] = {}
        leaves, self._tree = jax.tree.flatten(sample)
        self._shapes = [leaf.shape for leaf in leaves]
        self._edges = np.cumsum([leaf.size for leaf in leaves])[:-1]
        speeds = np.abs(self.field(self.flattened(samples) / self.scale))
        self.typical = np.median(np.where(np.isfinite(speeds), speeds, 0.0), axis=0)

    def states(self, points: Rows) -> State:
        """Unflatten states, with the points on the first axis of every array."""
        parts = np.split(np.asarray(points, float), self._edges, axis=1)
        shaped = [part.reshape(len(part), *shape) for part, shape in zip(parts, self._shapes, strict=True)]
        return jax.tree.unflatten(self._tree, shaped)

    def state(self, point: Float[np.ndarray, " d"]) -> State:
        """Unflatten one state."""
        return jax.tree.map(lambda a: a[0], self.states(np.asarray(point)[None]))

    def flattened(self, states: State) -> Rows:
        """Flatten states that are on the first axis of every array."""
        leaves = [np.asarray(leaf, float) for leaf in jax.tree.leaves(states)]
        return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)

    def field(self, points: Rows) -> Rows:
        """Evaluate the field."""
        if not len(points):
            return np.empty(points.shape)
        states = self.states(points * self.scale)
        evaluate = self._evaluator(PROGRAMMED, states)
        with np.errstate(all="ignore"):
            if evaluate is None:
                return fields(self.flow, states, self.t) * (self.time / self.scale)
            return evaluate(np.full(len(points), self.t), *jax.tree.leaves(states)) * (self.time / self.scale)

    def __call__(self, points: Rows) -> tuple[Rows, Float[np.ndarray, "points d d"]]:
        """Evaluate the field and its Jacobian."""
        found = self._evaluated(_LINEAR, _linear, points * self.scale) * (self.time / self.scale)
        return found[:, 0], np.swapaxes(found[:, 1:], 1, 2) * self.scale

    def projected(self, points: Rows) -> tuple[Rows, Float[np.ndarray, "points d d"]]:
        """Project states to the space, with the Jacobian of the projection."""
        if self.is_flat:
            return points, np.broadcast_to(np.eye(points.shape[1]), (*points.shape, points.shape[1]))
        found = self._evaluated(_PROJECTION, _projection, points)
        return found[:, 0], np.swapaxes(found[:, 1:], 1, 2)

    def _evaluated(self, programmed: Programmed, many: Callable[..., Any], points: Rows) -> np.ndarray:
        """Evaluate values and derivatives, (points, 1 + d, d): first the values, then the derivative by each entry."""
        d = points.shape[1]
        if not len(points):
            return np.empty((0, 1 + d, d))
        states = self.states(points)
        evaluate = self._evaluator(programmed, states)
        if evaluate is not None:
            with np.errstate(all="ignore"):
                return evaluate(np.full(len(points), self.t), *jax.tree.leaves(states))
        block = int(np.clip(ENTRIES // room_for(d * d), *ROWS))
        rows = filled(np.asarray(points, float), -(-len(points) // block) * block)
        parts = [
            np.asarray(many(self.flow, self.t, self.states(rows[k : k + block]))) for k in range(0, len(rows), block)
        ]
        return np.concatenate(parts)[: len(points)]

    def _evaluator(self, programmed: Programmed, states: State) -> NumpyEvaluator | None:
        """Return the evaluator of a program of the flow at times and states; None if there is none."""
        if programmed not in self._evaluators:
            example = jax.tree.map(lambda a: a[0], states)
            self._evaluators[programmed] = programmed.rows((self.flow,), np.zeros(()), example)
        return self._evaluators[programmed]

    def least(self, starts: Rows, known: Float[np.ndarray, "known d"]) -> Rows:
        """Find a local minimum of the speed near each start, on the space.

        The speed is deflated: it is multiplied by a factor that grows near `known` states.
        """

        def residuals(points: Rows) -> tuple[np.ndarray, np.ndarray]:
            field, slopes = self(points)
            if not len(known):
                return field, slopes
            places, moves = self.projected(points)
            apart = places[:, None] - known[None]
            away = np.sum(apart**2, axis=2) + 1e-300
            factor = np.exp(np.sum(np.log1p(1 / away), axis=1))
            along = np.einsum("pkj,pji->pi", -2 * apart / (away * (1 + away))[..., None], moves)
            return factor[:, None] * field, factor[:, None, None] * (slopes + field[:, :, None] * along[:, None])

        return self.projected(least_squares(residuals, self.projected(starts)[0]))[0]

    def polished(
        self, points: Rows, steps: int, axes: slice | list[int] = slice(None)
    ) -> tuple[Rows, Bool[np.ndarray, " points"]]:
        """Take Newton steps from states, of the given entries, while they reduce the field; tell which are at rest."""
        found, left = np.array(points, float), np.flatnonzero(np.all(np.isfinite(points), axis=1))
        with np.errstate(all="ignore"):
            field, slopes = self(found[left])
            rows = np.sum(np.abs(slopes), axis=2)
            weights = 1 / np.where(rows > 0, rows, 1.0)
            for _ in range(steps):
                if not len(left):
                    break
                moved = found[left]
                moved[:, axes] += newton_steps(field, slopes[..., axes])
                aim = self.projected(moved)[0]
                after, next_slopes = self(aim)
                size, before = (np.max(np.abs(f) * weights, axis=1) for f in (after, field))
                better = size < before
                left, field, slopes, weights = left[better], after[better], next_slopes[better], weights[better]
                found[left] = aim[better]
        return found, self.are_at_rest(found)

    def are_at_rest(self, points: Rows) -> Bool[np.ndarray, " points"]:
        """Test whether states are equilibria up to rounding, whatever the scales of the components of the field.

        A Newton step from an equilibrium is short, and removes the field. Where the derivative vanishes too, or nearly,
        the field must not exceed its own rounding error.
        """
        rest = np.zeros(len(points), bool)
        sound = np.flatnonzero(np.all(np.isfinite(points), axis=1))
        with np.errstate(all="ignore"):
            field, slopes = self(points[sound])
            finite = np.all(np.isfinite(field), axis=1) & np.all(np.isfinite(slopes), axis=(1, 2))
            sound, field, slopes = sound[finite], field[finite], slopes[finite]
            step, regular = _steps(field, slopes)
            short = np.all(np.abs(step) <= STEP * (1 + np.abs(points[sound])), axis=1)
            kept = np.abs(field + np.einsum("pij,pj->pi", slopes, step))
            terms = np.einsum("pij,pj->pi", np.abs(slopes), np.abs(points[sound]))
            rest[sound] = short & (regular | np.all(kept <= LEFT * terms + NOTHING * self.typical, axis=1))
        others = sound[~rest[sound]]
        own, error, terms = self.rounding(points[others])
        rest[others] = np.all(own <= ROUNDING * error + TINY * terms, axis=1)
        return rest

    def rounding(self, points: Rows) -> tuple[Rows, Rows, Rows]:
        """Compute absolute values of the field, their rounding errors, and the changes of the field over a unit.

        Rounding errors are estimated by small changes of the states.
        """
        near = (points[None] * (1 + CHANGES[:, None, None])).reshape(-1, points.shape[1])
        own, slopes = self(points)
        with np.errstate(all="ignore"):
            spread = np.abs(self.field(near).reshape(len(CHANGES), *own.shape) - own)
        return np.abs(own), np.max(spread, axis=0), np.sum(np.abs(slopes), axis=2)


def newton_steps(field: Rows, slopes: Float[np.ndarray, "points d axes"]) -> Float[np.ndarray, "points axes"]:
    """Compute minimum-norm Newton steps from the field and its Jacobian at states; NaN where they are not finite.

    The Jacobian may have the columns of some entries only, those that vary.
    """
    return _steps(field, slopes)[0]


def _steps(field: Rows, slopes: Float[np.ndarray, "points d axes"]) -> tuple[np.ndarray, np.ndarray]:
    """Compute Newton steps, and whether the Jacobian, with rows of equal norm, is regular at each state.

    A row that is rounding of the largest one counts as zero: where a component of the field does not change at all, its
    derivatives are rounding, and a step of rounding divided by rounding would lead anywhere.
    """
    known = np.all(np.isfinite(field), axis=1) & np.all(np.isfinite(slopes), axis=(1, 2))
    rows = np.sqrt(np.sum(slopes**2, axis=2))
    counts = known[:, None] & (rows > OF_ROWS * np.max(rows, axis=1, keepdims=True))
    weights = np.where(counts, 1 / np.where(counts, rows, 1.0), 0.0)
    matrix = np.where(known[:, None, None], slopes * weights[..., None], 0.0)
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > RANK * sizes[:, :1]
    along = np.einsum("pik,pi->pk", left, np.where(known[:, None], field * weights, 0.0))
    step = -np.einsum("pkj,pk->pj", right, np.where(kept, along / np.where(kept, sizes, 1.0), 0.0))
    return np.where(known[:, None], step, np.nan), np.all(kept, axis=1)


def _linear_at(flow: AbstractFlow, t: Array, x: State) -> Array:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    field = lambda y: jax.flatten_util.ravel_pytree(flow.vector_field(t, unravel(y)))[0]
    return jnp.concatenate([field(flat)[None], jax.jacfwd(field)(flat).T])


def _projection_at(flow: AbstractFlow, t: Array, x: State) -> Array:
    del t
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    onto = lambda y: jax.flatten_util.ravel_pytree(flow.space.project(unravel(y)))[0]
    return jnp.concatenate([onto(flat)[None], jax.jacfwd(onto)(flat).T])


_LINEAR, _PROJECTION = Programmed(_linear_at), Programmed(_projection_at)


@compiled
def _linear(flow: AbstractFlow, t: Array, states: State) -> Array:
    return jax.vmap(lambda x: _linear_at(flow, t, x))(states)


@compiled
def _projection(flow: AbstractFlow, t: Array, states: State) -> Array:
    return jax.vmap(lambda x: _projection_at(flow, t, x))(states)

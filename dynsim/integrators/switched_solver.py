"""Integrate the variational equation of a field that jumps on surfaces of states, with saltation matrices there.

Between surfaces the field is that of one piece. A surface is located by steps that end on it. Across it, tangent
vectors are multiplied by the saltation matrix I + (f+ - f-) (grad g)^T / (dg/dt along f-). Where the pieces on both
sides point to the surface, the trajectory slides on it with Filippov's combination of their fields, which is tangent to
the surface, until one of them points away. The saltation matrix onto the surface is singular.

Source: M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems (2008), ch. 2; A. F.
Filippov, Differential Equations with Discontinuous Righthand Sides (1988).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim.integrators.dop853 import MAX_STEPS, REJECTIONS, STAGES, A, C, next_step, step_error
from dynsim.integrators.switched_field import SwitchedField

# Places in a step, relative to its length, at which the sides of the surfaces are looked at.
PLACES = np.arange(1, 9) / 8
# Most steps to the place of a surface, and their relative accuracy.
TURNS, CLOSEST = 60, 4e-16
# Most trials in a row at one time: more than rejections and the search for a surface take. Where the distance from a
# surface jumps in time, so that no place is on it, they would go on to the largest number of steps.
WAITS = 1000
# Relative size of a distance from a surface, and of a rate of crossing, that counts as rounding.
NEAR = 1e-11
TOUCHES = 1e-9
# Sine of the angle between the normals of two surfaces below which they are one.
PARALLEL = 1e-6
# Time, relative to one plus the time, within which surfaces of several directions are passed at once.
AT_ONCE = 1e-14
# Crossings accumulate where so many in a row are each a shorter way apart than this, relative to one plus the size of
# the state, and the last way is a smaller part of the first one than this. The number is that of whole cycles of 2, 3,
# 4 or 6 crossings. Distances that are squares of the way are still above rounding.
IN_A_ROW, BRIEF, SHRINKS = 12, 1e-7, 0.999


class SwitchedEnd(NamedTuple):
    """The end of a trajectory of a switched field.

    Attributes:
        t: the last time.
        x: the state there.
        V: the tangent vectors there.
        steps: number of accepted steps.
        failed: whether the solver failed.
        blocked: whether it stopped where it comes to slide on two surfaces at once, or where crossings accumulate.
        slid: whether the trajectory slid on a surface, so that the derivative is singular.
        accumulates: whether it stopped where infinitely many crossings accumulate.
    """

    t: Array
    x: Array
    V: Array
    steps: Array
    failed: Array
    blocked: Array
    slid: Array
    accumulates: Any = False

    __repr__ = one_line


class _Stepping(NamedTuple):
    """Where an integration is.

    Attributes:
        t: the time.
        y: the state, and the entries of the tangent vectors.
        sides: the modes of the piece, twice, or those of both sides of a surface on which it slides, (2, surfaces).
        h: the next step.
        bracket: lengths of steps that end before and behind a surface, and the distances from it there.
        turn: 0 for a step forward; else the number of the step to a surface.
        accepted: number of accepted steps.
        rejected: number of steps rejected since.
        waiting: number of trials since the time last moved on.
        slid: whether it slid.
        blocked: whether it would slide on two surfaces.
        ways: lengths of the ways between the last crossings, infinite before the last step without one.
        accumulates: whether crossings accumulate.
    """

    t: Array
    y: Array
    sides: Array
    h: Array
    bracket: Array
    turn: Array
    accepted: Array
    rejected: Array
    waiting: Array
    slid: Array
    blocked: Array
    ways: Array
    accumulates: Array


def switched_over(
    field: SwitchedField,
    begin: Array,
    end: Array,
    first: Array,
    x: Array,
    V: Array,
    rtol: Array,
    longest: Any,
    *,
    atol: Any = None,
    sizes: Any = 1.0,
    stops: Callable[[Array], Any] = lambda x: False,
    sides: Array | None = None,
    most: Array | int = MAX_STEPS,
) -> SwitchedEnd:
    """Integrate a state and tangent vectors over an interval, by Filippov's convention on the surfaces.

    The absolute tolerance is by default a hundredth of `rtol`, for the state in units of `sizes`. A state for which
    `stops` is true stays where it is. `sides` are the modes at the start, (2, surfaces), by default those ahead of it.
    More than `most` steps fail.
    """
    n = x.shape[0]
    advances = lambda s: (s.rejected <= REJECTIONS) & (s.waiting <= WAITS) & (s.accepted < most)
    able = lambda s: advances(s) & ~s.blocked & ~s.accumulates
    going = lambda s: (s.t < end) & able(s) & ~jnp.asarray(stops(s.y[:n]))
    small = (rtol / 100 if atol is None else atol) * jnp.concatenate(
        [jnp.broadcast_to(sizes, x.shape), jnp.ones(V.size)]
    )
    none, no, no_ways = jnp.asarray(0), jnp.asarray(False), jnp.full(IN_A_ROW, jnp.inf)
    y = jnp.concatenate([x, jnp.ravel(V)])
    sides = jnp.stack(2 * [field.ahead(begin, x)]) if sides is None else sides
    begun = _Stepping(begin, y, sides, first, jnp.zeros(4), none - 1, none, none, none, no, no, no_ways, no)
    last = jax.lax.while_loop(going, lambda s: _advanced(field, s, end, longest, (small, rtol), n), begun)
    ends = last.y[:n], last.y[n:].reshape(V.shape)
    blocked = last.blocked | last.accumulates
    failed = (last.t < end) & ~blocked & ~jnp.asarray(stops(last.y[:n]))
    return SwitchedEnd(last.t, *ends, last.accepted, failed, blocked, last.slid, last.accumulates)


def switched_velocity(field: SwitchedField, t: Array, x: Array) -> Array:
    """Compute the velocity at a state, by Filippov's convention on a surface."""
    sides = jnp.stack(2 * [field.ahead(t, x)])
    return _onwards(field, t, x, x.shape[0], sides, jnp.asarray(True)).velocity


def sliding(field: SwitchedField, t: Array, x: Array, sides: Array) -> tuple[Array, Array, Array]:
    """Compute the velocity along the surface between two pieces, when it holds, and the distance from the surface.

    It holds where two numbers are positive; `sides` are the modes of the pieces, (2, surfaces).
    """
    velocity, distances = _motion(field, t, x, sides)
    return velocity, distances[-2:], field.at(t, x, sides[0])[1][jnp.argmax(sides[0] != sides[1])]


def _slides(sides: Array) -> Array:
    return jnp.any(sides[0] != sides[1])


def _motion(field: SwitchedField, t: Array, x: Array, sides: Array) -> tuple[Array, Array]:
    """Compute the velocity, and the distances to where the motion ends, positive before.

    The distances are those from each surface, and two that are positive as long as both fields point to the surface on
    which the trajectory slides.
    """
    k = jnp.argmax(sides[0] != sides[1])
    both = lambda t, x: jax.vmap(lambda modes: field.at(t, x, modes)[:2])(sides)
    (velocities, inside), changes = jax.linearize(both, t, x)
    rates = jax.vmap(lambda v: changes(jnp.ones_like(t), v)[1][0, k])(velocities)
    velocity, exits = _combined(velocities, rates, _slides(sides))
    return velocity, jnp.concatenate([jnp.where(sides[0] != sides[1], jnp.inf, jnp.min(inside, axis=0)), exits])


def _derivative(field: SwitchedField, t: Array, y: Array, n: int, sides: Array) -> Array:
    """Compute the velocity of a state and its tangent vectors, flattened."""
    at = lambda z: _motion(field, t, z, sides)[0]
    if y.shape[0] == n:
        return at(y)
    velocity, along = jax.linearize(at, y[:n])
    return jnp.concatenate([velocity, jnp.ravel(jax.vmap(along, in_axes=1, out_axes=1)(y[n:].reshape(n, -1)))])


def _advanced(field: SwitchedField, s: _Stepping, end: Array, longest: Any, tolerances: Any, n: int) -> _Stepping:
    """Try a step forward, or one to the end of the motion; where it ends, go on beyond."""
    starts, forward = s.turn < 0, s.turn == 0
    last = forward & (s.t + jnp.minimum(s.h, longest) >= end)
    h = jnp.where(last, end - s.t, jnp.where(forward, jnp.minimum(s.h, longest), _between(s)))
    K = _stages(field, s, h, n)
    y = s.y + h * (jnp.asarray(A[STAGES, : STAGES + 1]) @ K)
    error = step_error(K, h, tolerances[0] + tolerances[1] * jnp.maximum(jnp.abs(s.y), jnp.abs(y)))
    accepted = ~forward | ((error < 1) & jnp.all(jnp.isfinite(K[STAGES])))
    path = lambda place: _cubic(s.y[:n], y[:n], h * K[0, :n], h * K[STAGES, :n], place)
    at = lambda place: jnp.min(_motion(field, s.t + place * h, path(place), s.sides)[1])
    away = jax.vmap(at)(jnp.asarray(PLACES))
    meets = forward & accepted & jnp.any(away < 0)
    bracket, closed = _narrowed(s, h, away, meets)
    moves = accepted & ~meets & (forward | starts | closed)
    ends = starts | (moves & ~forward & (away[-1] < 0))
    t = jnp.where(last, end, s.t + h)
    unchanged = lambda: _Onwards(y, K[STAGES, :n], s.sides, jnp.asarray(False))
    after = jax.lax.cond(
        moves & (ends | _slides(s.sides)), lambda: _onwards(field, t, y, n, s.sides, ends, starts), unchanged
    )
    next_h = next_step(h, error, accepted, s.rejected)
    pick = lambda new, old: jnp.where(moves, new, old)
    crosses, way = moves & ends & ~starts, jnp.max(jnp.abs(y[:n] - s.y[:n]))
    ways = jnp.where(crosses, jnp.append(s.ways[1:], way), jnp.where(moves & forward, jnp.inf, s.ways))
    brief = jnp.all(ways <= BRIEF * (1 + jnp.max(jnp.abs(y[:n])))) & (ways[-1] < SHRINKS * ways[0])
    return _Stepping(
        pick(t, s.t), pick(after.y, s.y), pick(after.sides, s.sides), jnp.where(forward & ~meets, next_h, s.h), bracket,
        jnp.where(moves | (forward & ~meets), 0, s.turn + 1), s.accepted + (moves & ~starts).astype(int),
        jnp.where(accepted, 0, s.rejected + 1), jnp.where(moves & (t > s.t), 0, s.waiting + 1),
        s.slid | _slides(after.sides), s.blocked | after.blocked, ways, crosses & brief,
    )  # fmt: skip


def _stages(field: SwitchedField, s: _Stepping, h: Array, n: int) -> Array:
    """Compute the derivatives at the stages of a step, the last one at its end."""
    weights, times = jnp.asarray(A[: STAGES + 1, : STAGES + 1]), jnp.asarray(C[: STAGES + 1])
    at = lambda k, K: _derivative(field, s.t + times[k] * h, s.y + h * (weights[k] @ K), n, s.sides)
    return jax.lax.fori_loop(0, STAGES + 1, lambda k, K: K.at[k].set(at(k, K)), jnp.zeros((STAGES + 1, *s.y.shape)))


def _between(s: _Stepping) -> Array:
    """The length of a step to a surface: first the longer one of the bracket, then one inside of it."""
    low, high, below, above = s.bracket
    share = jnp.where((s.turn % 3 == 1) | (below <= above), 0.5, below / (below - above))
    found = low + jnp.clip(share, 1e-3, 1 - 1e-3) * (high - low)
    return jnp.where((s.turn == 1) | _is_narrow(s), high, found)


def _is_narrow(s: _Stepping) -> Array:
    """Whether the next step is the last one, to the first place behind the surface."""
    low, high, _, _ = s.bracket
    return (s.turn > 1) & ((high - low <= CLOSEST * high) | (s.turn >= TURNS))


def _narrowed(s: _Stepping, h: Array, away: Array, meets: Array) -> tuple[Array, Array]:
    """Narrow the bracket of a surface by a step; also tell whether this was the last one."""
    low, high, below, above = s.bracket
    places, k = jnp.asarray(PLACES) * h, jnp.argmax(away < 0)
    before = lambda values: jnp.where(k > 0, values[k - 1], 0.0)
    begun = jnp.stack([before(places), places[k], before(away), away[k]])
    inside = away[-1] >= 0
    smaller = jnp.where(inside, jnp.stack([h, high, away[-1], above]), jnp.stack([low, h, below, away[-1]]))
    missed = (s.turn == 1) & inside  # there is no surface where one seemed to be
    return jnp.where(meets, begun, smaller), _is_narrow(s) | missed


class _Pieces(NamedTuple):
    """Two pieces at a state: modes, velocities, and distances from surfaces with their time derivatives and slopes."""

    modes: Array
    velocities: Array
    inside: Array
    late: Array
    slopes: Array
    beyond: Array

    def rates(self, v: Array) -> Array:
        """The rates of the distances along a velocity, for the first piece."""
        return self.late[0] + self.slopes[0] @ v

    def combined(self) -> tuple[Array, Array]:
        """The velocity, and the two numbers that are positive while it slides."""
        k = jnp.argmax(self.modes[0] != self.modes[1])
        rates = self.late[0, k] + self.velocities @ self.slopes[0, k]
        return _combined(self.velocities, rates, _slides(self.modes))


def _seen(field: SwitchedField, t: Array, x: Array, modes: Array) -> _Pieces:
    both = lambda t, x: jax.vmap(lambda m: field.at(t, x, m))(modes)
    (velocities, inside, _, beyond), changes = jax.linearize(both, t, x)
    late = changes(jnp.ones_like(t), jnp.zeros_like(x))[1]
    slopes = jax.vmap(lambda e: changes(jnp.zeros_like(t), e)[1], out_axes=2)(jnp.eye(x.shape[0]))
    return _Pieces(modes, velocities, inside, late, slopes, beyond)


class _Onwards(NamedTuple):
    """How the motion goes on: the state with tangent vectors, the velocity, the modes, and whether it is blocked."""

    y: Array
    velocity: Array
    sides: Array
    blocked: Array


def _onwards(
    field: SwitchedField, t: Array, y: Array, n: int, sides: Array, ends: Array, starts: Array | bool = False
) -> _Onwards:
    """Go on where the motion ends, on a surface or beyond; otherwise project to the surface on which it slides.

    A start passes only surfaces on which it lies. The vectors are multiplied by the saltation matrix. It is blocked
    where it would slide on two surfaces.
    """
    x, V = y[:n], y[n:].reshape(n, -1)

    def passes(here: _Pieces) -> Array:
        rates, inside = here.rates(here.combined()[0]), jnp.min(here.inside, axis=0)
        away = jnp.where(here.modes[0] == here.modes[1], inside, jnp.inf)
        at_once, k = away <= -rates * AT_ONCE * (1 + jnp.abs(t)), jnp.argmin(away)
        at_once = at_once | (~_apart(here.slopes[0], k) & (at_once[k] | ~jnp.asarray(starts)))
        return ends & (rates < 0) & at_once & (away <= NEAR * (1 + jnp.max(jnp.abs(x))))

    def look(k: Any, carry: tuple[Array, _Pieces]) -> tuple[Array, _Pieces]:
        """See the pieces of some modes, and find those behind the surfaces that are passed."""
        seen = _seen(field, t, x, carry[0])
        kept = jax.tree.map(lambda rows, row: rows.at[k].set(row), carry[1], seen)
        return jnp.where(passes(seen), seen.beyond, seen.modes), kept

    shapes = jax.eval_shape(lambda: _seen(field, t, x, sides))
    room = jax.tree.map(lambda a: jnp.zeros((2, *a.shape), a.dtype), shapes)
    _, both = jax.lax.fori_loop(0, 2, look, (sides, room))
    here, there = (jax.tree.map(lambda rows, k=k: rows[k], both) for k in (0, 1))
    (velocity, exits), (after, exits_after) = here.combined(), there.combined()
    passed, rates, was_sliding = passes(here), here.rates(velocity), _slides(sides)
    k, crosses = jnp.argmin(jnp.where(passed, rates, jnp.inf)), jnp.any(passed)
    back = here.rates(after)[k]  # the field behind the surface points back to it
    leaves = ends & (jnp.min(exits) <= 0)
    returns, normal = crosses & (back >= 0) & ~leaves, here.slopes[0, k]
    apart = jnp.any(passed & _apart(here.slopes[0], k))
    sliding = _combined(jnp.stack([velocity, after]), jnp.stack([rates[k], back]), returns)[0]
    cases = [leaves, returns, crosses & (jnp.min(exits_after) <= 0), crosses]
    one = lambda pieces, exits: (
        pieces.velocities[jnp.argmin(exits)],
        jnp.broadcast_to(pieces.modes[jnp.argmin(exits)], sides.shape),
    )
    onto = sliding, jnp.stack([sides[0], there.modes[0]])
    ways = [one(here, exits), onto, one(there, exits_after), (after, there.modes), (velocity, sides)]
    found, new = (jax.lax.select_n(jnp.argmax(jnp.stack([*cases, True])), *way) for way in zip(*ways, strict=True))
    touched = jnp.abs(rates[k]) <= TOUCHES * (jnp.linalg.norm(normal) * jnp.linalg.norm(velocity) + 1e-300)
    jumps = crosses & ~leaves & ~touched
    V = V + jnp.outer(found - velocity, jnp.where(jumps, normal, 0.0) @ V / jnp.where(jumps, rates[k], 1.0))
    # the surface on which it slides from here
    at, on = jnp.argmax(new[0] != new[1]), _slides(new)
    gap, normal = (jnp.where(was_sliding, part[1], part[0]) for part in (both.inside[:, 0, at], both.slopes[:, 0, at]))
    unit = jnp.where(on, normal, 0.0) / jnp.where(on, jnp.sum(normal**2), 1.0)
    x, V = x - gap * unit, V - jnp.outer(unit, normal @ V)
    return _Onwards(jnp.concatenate([x, jnp.ravel(V)]), found, new, returns & (was_sliding | apart))


def _apart(slopes: Array, k: Array) -> Array:
    """Which of some slopes have another direction than one of them."""
    sizes = jnp.linalg.norm(slopes, axis=1)
    return 1 - (slopes @ slopes[k] / jnp.maximum(sizes * sizes[k], 1e-300)) ** 2 > PARALLEL**2


def _combined(velocities: Array, rates: Array, sliding: Array) -> tuple[Array, Array]:
    """Filippov's combination of two velocities with given rates of the distance, and when it holds.

    It holds while two numbers are positive. Without sliding it is the first velocity.
    """
    share = jnp.where(sliding, rates[0] / jnp.where(sliding, rates[0] - rates[1], 1.0), 0.0)
    exits = jnp.where(sliding, jnp.stack([-rates[0], rates[1]]), jnp.inf)
    return velocities[0] + share * (velocities[1] - velocities[0]), exits


def _cubic(y0: Array, y1: Array, k0: Array, k1: Array, place: Any) -> Array:
    """The cubic through two states with given changes over the step."""
    change = y1 - y0
    return y0 + place * (change + (1 - place) * ((1 - 2 * place) * -change + (1 - place) * k0 - place * k1))

"""Integrate the variational equation of a field that jumps on surfaces of states, with saltation matrices there.

Between surfaces the field is that of one piece. A surface is located by steps that end on it. Across it, tangent
vectors are multiplied by the saltation matrix I + (f+ - f-) (grad g)^T / (dg/dt along f-).

Source: M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems (2008), ch. 2.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.dynamics.flow_maps.dop853 import STAGES, A, C
from analysis.dynamics.flow_maps.rolled_solver import MAX_STEPS, REJECTIONS, _begun, _State, _step
from analysis.dynamics.flow_maps.switched_field import SwitchedField

# Places in a step, relative to its length, at which the sides of the surfaces are looked at.
PLACES = np.arange(1, 9) / 8
# Turns of the search for the place of a surface in a step, each with a step that ends there.
TURNS = 60
# Relative size of a distance from a surface, and of a rate of crossing, that counts as rounding.
NEAR = 1e-11
TOUCHES = 1e-9


class _Reached(NamedTuple):
    step: _State
    modes: Array
    slides: Array


def switched_over(
    field: SwitchedField,
    begin: Array,
    end: Array,
    first: Array,
    x: Array,
    V: Array,
    rtol: Array,
    atol: Array,
    longest: Any,
) -> tuple[Array, Array, Array, Array, Array]:
    """Integrate a state and tangent vectors; give steps, whether it failed, and whether it slides on a surface, too.

    A trajectory slides where the field points to a surface from both sides. It is not followed further.
    """
    n = x.shape[0]

    def moving(t: Array, y: Array, modes: Array) -> Array:
        at = lambda z: field.at(t, z, modes)[0]
        turned = jax.vmap(lambda v: jax.jvp(at, (y[:n],), (v,))[1], in_axes=1, out_axes=1)(y[n:].reshape(V.shape))
        return jnp.concatenate([at(y[:n]), jnp.ravel(turned)])

    def once(carry: _Reached) -> _Reached:
        s, modes, slides = carry
        now = lambda t, y: moving(t, y, modes)
        after, h, _, accepted = _step(now, s, end, longest, rtol, atol, STAGES + 1)
        path = lambda place: _cubic(s.y[:n], after.y[:n], h * s.f[:n], h * after.f[:n], place)
        away = jax.vmap(lambda place: jnp.min(field.at(s.t + place * h, path(place), modes)[1]))(jnp.asarray(PLACES))
        outside = away < 0
        crosses = accepted & jnp.any(outside)
        whole = _Reached(after, modes, slides)
        first = jnp.argmax(outside)
        low = jnp.where(first > 0, jnp.asarray(PLACES)[first - 1], 0.0)
        cut = lambda: _crossed(field, now, carry, h, low, jnp.asarray(PLACES)[first], n)
        return jax.lax.cond(crosses, cut, lambda: whole)

    going = lambda c: (c.step.t < end) & (c.step.rejected <= REJECTIONS) & (c.step.accepted < MAX_STEPS) & ~c.slides
    modes = _first_modes(field, begin, x)
    start = jnp.concatenate([x, jnp.ravel(V)])
    begun = _begun(lambda t, y: moving(t, y, modes), begin, start, first)
    last, _, slides = jax.lax.while_loop(going, once, _Reached(begun, modes, jnp.asarray(False)))
    return last.y[:n], last.y[n:].reshape(V.shape), last.accepted, last.t < end, slides


def _first_modes(field: SwitchedField, t: Array, x: Array) -> Array:
    """The modes of a state; of a state on a surface those of the side to which the field of that side leads."""
    modes = field.at(t, x, None)[2]
    velocity, inside, _, beyond = field.at(t, x, modes)
    rates = jax.jvp(lambda s, z: field.at(s, z, modes)[1], (t, x), (jnp.ones_like(t), velocity))[1]
    on = (jnp.abs(inside) <= NEAR * (1 + jnp.max(jnp.abs(x)))) & (rates < 0)
    return jnp.where(on, beyond, modes)


def _crossed(field: SwitchedField, now: Any, carry: _Reached, h: Array, low: Array, high: Array, n: int) -> _Reached:
    """Cut a step at the first surface, and cross it; without one in exact steps, cut it where one seemed to be."""
    s, modes, slides = carry
    retaken = lambda place: _taken(now, s, place * h)
    distance = lambda place: jnp.min(field.at(s.t + place * h, retaken(place)[:n], modes)[1])

    def narrowed(k: Array, bracket: tuple[Array, ...]) -> tuple[Array, ...]:
        low, high, below, above = bracket
        share = jnp.where((k % 3 == 2) | (below <= above), 0.5, below / (below - above))
        middle = low + jnp.clip(share, 1e-3, 1 - 1e-3) * (high - low)
        value = distance(middle)
        inside = value > 0
        pick = lambda a, b: jnp.where(inside, a, b)
        return pick(middle, low), pick(high, middle), pick(value, below), pick(above, value)

    above = distance(high)
    open = lambda b: (b[0][1] - b[0][0] > 4e-16 * jnp.abs(b[0][1])) & (b[1] < TURNS) & (above < 0)
    turn = lambda b: (narrowed(b[1], b[0]), b[1] + 1)
    bracket = (low, high, jnp.maximum(distance(low), 0.0), above)
    (low, high, _, _), _ = jax.lax.while_loop(open, turn, (bracket, jnp.asarray(0)))
    t, y = s.t + high * h, retaken(high)
    x, V = y[:n], y[n:].reshape(n, -1)
    velocity, inside, _, beyond = field.at(t, x, modes)
    at = lambda t, z: field.at(t, z, modes)[1]
    rates = jax.jvp(at, (t, x), (jnp.ones_like(t), velocity))[1]
    size = NEAR * (1 + jnp.max(jnp.abs(x)))
    passed = (above < 0) & (inside <= size) & (rates < 0)
    other = jnp.where(passed, beyond, modes)
    after = field.at(t, x, other)[0]
    k = jnp.argmin(jnp.where(passed, rates, jnp.inf))
    gradient = jax.grad(lambda z: at(t, z)[k])(x)
    rate, rate_after = rates[k], jax.jvp(lambda t, z: at(t, z)[k], (t, x), (jnp.ones_like(t), after))[1]
    any_passed = jnp.any(passed)
    touched = jnp.abs(rate) <= TOUCHES * (jnp.linalg.norm(gradient) * jnp.linalg.norm(velocity) + 1e-300)
    jumps = jnp.where(any_passed & ~touched, 1.0, 0.0) / jnp.where(any_passed & ~touched, rate, 1.0)
    V = V + jnp.outer(after - velocity, jumps * (gradient @ V))
    modes = jnp.where(any_passed, other, modes)
    y = jnp.concatenate([x, jnp.ravel(V)])
    found = field.at(t, x, modes)[0]
    turned = jax.vmap(lambda v: jax.jvp(lambda z: field.at(t, z, modes)[0], (x,), (v,))[1], in_axes=1, out_axes=1)(V)
    f = jnp.concatenate([found, jnp.ravel(turned)])
    step = _State(t, y, f, s.h, s.accepted + 1, jnp.zeros_like(s.rejected))
    return _Reached(step, modes, slides | (any_passed & (rate_after >= 0)))


def _taken(now: Any, s: _State, h: Array) -> Array:
    """The state after a step of a given length."""
    weights, times = jnp.asarray(A[: STAGES + 1, : STAGES + 1]), jnp.asarray(C[: STAGES + 1])
    stage = lambda k, K: K.at[k].set(now(s.t + times[k] * h, s.y + h * (weights[k] @ K)))
    K = jax.lax.fori_loop(1, STAGES, stage, jnp.zeros((STAGES + 1, s.y.shape[0])).at[0].set(s.f))
    return s.y + h * (weights[STAGES] @ K)


def _cubic(y0: Array, y1: Array, k0: Array, k1: Array, place: Any) -> Array:
    """The cubic through two states with given changes over the step."""
    change = y1 - y0
    return y0 + place * (change + (1 - place) * ((1 - 2 * place) * -change + (1 - place) * k0 - place * k1))

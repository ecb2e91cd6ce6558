"""The method DOP853 in JAX with a loop over its stages, in which the field stands once: it compiles in 0.3 s.

diffrax, with its choice of solvers, controllers and outputs, takes 3 to 5 s.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.autonomy import PROGRAMMED
from analysis.dynamics.flow_maps.python_solver import StuckError, steps
from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators.dop853 import (
    DENSE,
    EXTENDED,
    MAX_STEPS,
    REJECTIONS,
    STAGES,
    A,
    C,
    between,
    next_step,
    step_error,
)
from dynsim.integrators.sliding import jumping
from dynsim.systems.base import AbstractFlow

NEWTON = 4  # steps to an extreme of the dense output
ROOM = 2048  # steps that one call keeps

Field = Callable[[Any, Array], Array]


class _State(NamedTuple):
    """Where an integration is: its time, state, field there and next step, and how it went."""

    t: Array
    y: Array
    f: Array
    h: Array
    accepted: Array
    rejected: Array


def advanced(
    field: Field,
    begin: Array,
    end: Array,
    y: Array,
    first: Array,
    rtol: Array | float,
    atol: Array | float,
    longest: Array | float = math.inf,
    most: Array | int = MAX_STEPS,
) -> tuple[Array, Array, Array]:
    """Integrate to the final state in at most so many steps, with their number, and whether the solver failed."""
    going = lambda s: (s.t < end) & (s.rejected <= REJECTIONS) & (s.accepted < most)
    once = lambda s: _step(field, s, end, longest, rtol, atol, STAGES + 1)[0]
    last = jax.lax.while_loop(going, once, _begun(field, begin, y, first))
    return last.y, last.accepted, last.t < end


def extremes(
    field: Field, begin: Array, end: Array, y: Array, first: Array, rtol: Array | float, atol: Array | float,
    component: Array, samples: int,
) -> Array:  # fmt: skip
    """Compute the least and the largest value of a component between two times, from the dense output of each step.

    It is evaluated at `samples` places of each step, and the largest one of them is refined by Newton's method for the
    zero of the derivative. Both are NaN if the end is not reached.
    """

    def once(carry: tuple[_State, Array]) -> tuple[_State, Array]:
        s, found = carry
        after, h, K, accepted = _step(field, s, end, math.inf, rtol, atol, EXTENDED)
        rows = h * (jnp.asarray(DENSE) @ K[:, component])
        here = jax.vmap(lambda sign: sign * _peak(sign * s.y[component], sign * rows, samples))(jnp.array([-1.0, 1.0]))
        both = jnp.stack([jnp.minimum(found[0], here[0]), jnp.maximum(found[1], here[1])])
        return after, jnp.where(accepted, both, found)

    going = lambda c: (c[0].t < end) & (c[0].rejected <= REJECTIONS) & (c[0].accepted < MAX_STEPS)
    last, found = jax.lax.while_loop(going, once, (_begun(field, begin, y, first), jnp.full(2, y[component])))
    return jnp.where(last.t < end, jnp.nan, found)


def _peak(begin: Array, rows: Array, samples: int) -> Array:
    """Compute the largest value of the dense output of a step, as `between` evaluates it."""

    def at(x: Array) -> tuple[Array, Array, Array]:
        """The polynomial and its first two derivatives, by hand: `jax.grad` of it takes a second to trace."""
        y, slope, bend = jnp.zeros((3, *x.shape))
        for i in range(6, -1, -1):
            factor, sign = (x, 1.0) if i % 2 == 0 else (1 - x, -1.0)
            y = y + rows[i]
            y, slope, bend = y * factor, slope * factor + sign * y, bend * factor + 2 * sign * slope
        return begin + y, slope, bend

    def step(_: Any, x: Array) -> Array:
        _, slope, bend = at(x)
        return jnp.clip(jnp.where(bend < 0, x - slope / jnp.where(bend < 0, bend, 1.0), x), 0.0, 1.0)

    xs = jnp.linspace(0.0, 1.0, samples + 1)
    values = at(xs)[0]
    x = jax.lax.fori_loop(0, NEWTON, step, xs[jnp.argmax(values)])
    return jnp.maximum(jnp.max(values), at(x)[0])


def _begun(field: Field, t: Array, y: Array, first: Array) -> _State:
    return _State(t, y, field(t, y), first, jnp.asarray(0), jnp.asarray(0))


def _step(
    field: Field, s: _State, end: Array, longest: Any, rtol: Any, atol: Any, stages: int
) -> tuple[_State, Array, Array, Array]:
    """Try a step; return the state after it, its length, its stages, and whether it was accepted."""
    last = s.t + jnp.minimum(s.h, longest) >= end
    h = jnp.where(last, end - s.t, jnp.minimum(s.h, longest))
    weights, times = jnp.asarray(A[:stages, :stages]), jnp.asarray(C[:stages])
    stage = lambda k, K: K.at[k].set(field(s.t + times[k] * h, s.y + h * (weights[k] @ K)))
    K = jax.lax.fori_loop(1, stages, stage, jnp.zeros((stages, s.y.shape[0])).at[0].set(s.f))
    y = s.y + h * (weights[STAGES] @ K)
    error = step_error(K, h, atol + rtol * jnp.maximum(jnp.abs(s.y), jnp.abs(y)))
    accepted = (error < 1) & jnp.all(jnp.isfinite(K[STAGES]))
    pick = lambda new, old: jnp.where(accepted, new, old)
    after = _State(
        pick(jnp.where(last, end, s.t + h), s.t), pick(y, s.y), pick(K[STAGES], s.f),
        next_step(h, error, accepted, s.rejected),
        s.accepted + accepted.astype(int), jnp.where(accepted, 0, s.rejected + 1),
    )  # fmt: skip
    return after, h, K, accepted


class Path(NamedTuple):
    """A trajectory as polynomials of its steps: their beginnings, lengths, states, and coefficients (steps, 7, n)."""

    begins: Float[np.ndarray, " steps"]
    lengths: Float[np.ndarray, " steps"]
    states: Float[np.ndarray, "steps n"]
    coefficients: Float[np.ndarray, "steps 7 n"]

    def states_at(self, ts: np.ndarray) -> Float[np.ndarray, "times n"]:
        """Evaluate the states at times in any order."""
        k = np.clip(np.searchsorted(self.begins, ts, side="right") - 1, 0, len(self.begins) - 1)
        shares = ((ts - self.begins[k]) / self.lengths[k])[:, None]
        return between(self.states[k], self.coefficients[k].swapaxes(0, 1), shares)

    def __call__(self, t: float) -> Float[np.ndarray, " n"]:
        """Evaluate the state at a time."""
        return self.states_at(np.array([t]))[0]


def followed_path(
    flow: AbstractFlow, start: Any, begin: float, end: float, *, rtol: float, atol: float, longest: float = math.inf
) -> Path:
    """Follow a flow of vectors on Euclidean space from a state at a time to another time.

    Raises:
        IntegrationError: if the end is not reached.
    """
    quick = _path_in_python(flow, np.asarray(start, float), begin, end, rtol=rtol, atol=atol, longest=longest)
    if quick is not None:
        return quick
    state, parts, done = None, [], 0
    y, first = jnp.asarray(start, float), jnp.asarray(min(1e-3 * (end - begin), longest))
    while state is None or float(state.t) < end:
        if state is None:
            state = _first(flow, jnp.asarray(begin), y, first)
        state, count, *kept = _kept(flow, state, *map(jnp.asarray, (end, longest, rtol, atol)))
        parts.append([np.asarray(part)[: int(count)] for part in kept])
        done += int(count)
        if int(state.rejected) > REJECTIONS or done > MAX_STEPS:
            raise _stuck(flow, y, float(state.t), int(state.rejected) > REJECTIONS)
    return Path(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def _path_in_python(flow: AbstractFlow, start: np.ndarray, begin: float, end: float, **options: float) -> Path | None:
    """Follow a flow without compiling; None if its field has no short program or more steps are needed."""
    field = PROGRAMMED.numbers((flow,), np.zeros(()), np.zeros(start.shape))
    if field is None:
        return None
    first = min(1e-3 * (end - begin), options["longest"])
    try:
        taken = list(steps(field, begin, end, start, first, dense=True, **options))
    except StuckError as stuck:
        if stuck.rejected:
            raise _stuck(flow, jnp.asarray(start), stuck.t, True) from None
        return None
    begins, ends, states, _, stages = map(np.stack, zip(*taken, strict=True))
    lengths = ends - begins
    return Path(begins, lengths, states, lengths[:, None, None] * (DENSE @ stages))


def _stuck(flow: AbstractFlow, y: Array, t: float, rejected: bool) -> IntegrationError:
    said = f"The solver cannot go on at t = {t:.6g}: take another start, or a stiff integrator."
    said = " ".join(filter(None, (said, jumping(flow, y))))
    return IntegrationError(said, outcome=Outcome.STEP_UNDERFLOW if rejected else Outcome.MAX_STEPS)


@eqx.filter_jit
def _first(flow: AbstractFlow, t: Array, y: Array, h: Array) -> _State:
    return _begun(flow.vector_field, t, y, h)


@eqx.filter_jit
def _kept(flow: AbstractFlow, begun: _State, end: Array, longest: Array, rtol: Array, atol: Array) -> tuple[Any, ...]:
    """Take steps up to the end, or as many as there is room for; return them as polynomials with their number."""
    n = begun.y.shape[0]

    def once(carry: Any) -> Any:
        s, count, begins, lengths, states, coefficients = carry
        after, h, K, accepted = _step(flow.vector_field, s, end, longest, rtol, atol, EXTENDED)
        found = h * (jnp.asarray(DENSE) @ K)
        kept = (begins, s.t), (lengths, h), (states, s.y), (coefficients, found)  # written over where it is rejected
        return after, count + accepted.astype(int), *(rows.at[count].set(row) for rows, row in kept)

    going = lambda c: (c[0].t < end) & (c[1] < ROOM) & (c[0].rejected <= REJECTIONS)
    empty = jnp.zeros(ROOM), jnp.zeros(ROOM), jnp.zeros((ROOM, n)), jnp.zeros((ROOM, 7, n))
    return jax.lax.while_loop(going, once, (begun, jnp.asarray(0), *empty))

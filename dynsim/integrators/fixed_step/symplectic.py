"""Symplectic integration of separable Hamiltonian systems by Stoermer-Verlet or Yoshida's fourth-order method."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.types import Scalar, State, Time, Times
from dynsim.errors import ArgumentError, Outcome, shown
from dynsim.integrators.base import (
    AbstractIntegrator,
    Coordinates,
    Event,
    Stats,
    masked,
    program_form,
    stacked,
    unchanged,
)
from dynsim.integrators.fixed_step.base import STEP, announce_steps, grid, step_size, steps_between
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, in_precision_of

OUTER = 1 / (2 - 2 ** (1 / 3))  # first and last of Yoshida's three substeps, relative to the whole step
SUBSTEPS = {2: (1.0,), 4: (OUTER, 1 - 2 * OUTER, OUTER)}


def _order(value: Any) -> int:
    if value not in SUBSTEPS:
        raise ArgumentError("order", "be 2 or 4", f"is {shown(value)}")
    return int(value)


class Symplectic(AbstractIntegrator):
    r"""A fixed-step symplectic method for $H(q, p, t) = T(p) + V(q, t)$: the energy error stays bounded.

    The first half of the last axis of a state is q, and the second half is p, as in `Pendulum` and `HenonHeiles`. The
    flow must be on a flat space and of the form $\dot q = a(p)$, $\dot p = b(t, q)$, which is checked at the start
    and at a point away from it. Steps are Stoermer-Verlet steps (order 2), or three of them by Yoshida (order 4).

    All output intervals have the same number of equal steps, chosen so that none is longer than `step_size`, in the
    flow's time unit. Steps do not stop at jumps of the field. There is no error control; `error_estimate` solves again
    with steps for a tenth of the error.

    Source: H. Yoshida, Construction of higher order symplectic integrators, Phys. Lett. A 150 (1990).
    """

    step_size: float = eqx.field(static=True, converter=step_size, default=STEP)
    order: int = eqx.field(static=True, converter=_order, default=4)

    @property
    def batched(self) -> bool:
        """True: many initial states can be solved together."""
        return True

    def step(self, flow: AbstractFlow, t: Time, h: Scalar, x: Array) -> Array:
        """State after a step of length `h`."""
        q, p = jnp.split(x, 2, axis=-1)
        velocity = lambda t: jnp.split(flow.vector_field(t, jnp.concatenate([q, p], axis=-1)), 2, axis=-1)
        for share in SUBSTEPS[self.order]:
            part = h * jnp.asarray(share, x.dtype)
            p = p + part / 2 * velocity(t)[1]
            q = q + part * velocity(t)[0]
            t = t + part
            p = p + part / 2 * velocity(t)[1]
        return jnp.concatenate([q, p], axis=-1)

    def tightened(self, factor: float = 10.0) -> "Symplectic":
        """The same method with steps for errors that are smaller by a factor."""
        return dataclasses.replace(self, step_size=self.step_size / factor ** (1 / self.order))

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the states at `ts`, and statistics; NaN from the first state that is not finite."""
        steps = _checked(self, flow, y0, ts)
        announce_steps(steps * (len(ts) - 1), self.step_size)
        ys, _, stats = _integrate(self, program_form(flow), y0, jnp.asarray(ts), steps)
        return ys, stats

    def observe(
        self,
        flows: Sequence[AbstractFlow],
        y0s: State,
        ts: Times,
        fn: Callable[[Time, State], Any],
        *,
        coordinates: Coordinates = unchanged,
    ) -> tuple[Any, State, Stats]:
        """Evaluate `fn(t, x)` at `ts` for each initial state in one program; also final states and statistics."""
        if coordinates is not unchanged:
            raise ArgumentError("coordinates", "be left out for a symplectic method", "is given")
        first = jax.tree.map(lambda y: jnp.asarray(y[0]), y0s)
        steps = max(_checked(self, flow, first, ts) for flow in flows)
        flow, axes = stacked([program_form(flow) for flow in flows])
        return _observe(self, flow, axes, y0s, jnp.asarray(ts), steps, fn)

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, int]:
        """Raise `ValueError`, because there is no dense output between the steps."""
        raise ArgumentError("integrator", "be able to locate events", "is Symplectic, which has no dense output")


def _checked(method: Symplectic, flow: AbstractFlow, y0: State, ts: Times) -> int:
    """Number of steps between two output times; raise `ValueError` for a flow that is not separable."""
    if not isinstance(flow.space, Flat):
        must = "be on a flat space for `Symplectic`"
        raise ArgumentError("flow", must, f"is on {type(flow.space).__name__}")
    if not isinstance(y0, jax.Array) or not y0.ndim or y0.shape[-1] % 2:
        what = f"has shape {y0.shape}" if isinstance(y0, jax.Array) else "is a named tuple"
        raise ArgumentError("y0", "be one array with equally many positions and momenta on its last axis", what)
    if isinstance(ts, Tracer):
        raise ArgumentError("ts", "not be traced for `Symplectic`", "is")
    mixed = _mixed(program_form(flow), jnp.asarray(ts)[0], y0)
    if not isinstance(mixed[0], Tracer):
        for found, but in zip(mixed, ("positions depends on them or on time", "momenta depends on them"), strict=True):
            if found:
                must = "have the form q' = a(p), p' = b(t, q) for `Symplectic`"
                raise ArgumentError("flow", must, f"the velocity of its {but}")
    return steps_between(ts, method.step_size)


@eqx.filter_jit
def _mixed(flow: AbstractFlow, t: Array, x: Array) -> tuple[Array, Array]:
    """Whether q' depends on q or t, and whether p' depends on p, by derivatives at the start and away from it."""
    waves = jnp.cos(jnp.arange(1.0, x.size + 1)).reshape(x.shape).astype(x.dtype)  # a generic direction
    half = x.shape[-1] // 2
    beside = x + (1 + jnp.max(jnp.abs(x))) * waves
    of_p, of_q = waves.at[..., :half].set(0), waves.at[..., half:].set(0)
    ahead = jnp.ones_like(t)

    def moved(point: Array, time: Array, along: Array) -> Array:
        change = jax.jvp(flow.vector_field, (t, point), (time, along))[1]
        return jnp.where(jnp.isfinite(change), jnp.abs(change), 0)

    q_moves = [jnp.max(moved(point, ahead, of_q)[..., :half], initial=0) for point in (x, beside)]
    p_moves = [jnp.max(moved(point, 0 * t, of_p)[..., half:], initial=0) for point in (x, beside)]
    return jnp.max(jnp.stack(q_moves)) > 0, jnp.max(jnp.stack(p_moves)) > 0


def _solve(method: Symplectic, flow: AbstractFlow, y0: Array, ts: Array, steps: int, fn: Any) -> tuple[Any, Any, Stats]:
    """Evaluate `fn(t, x)` at `ts`; also the final state and statistics."""
    flow = in_precision_of(y0, flow)  # once, not in every step

    def one(x: Array, ends: tuple[Array, Array]) -> tuple[Array, None]:
        return method.step(flow, ends[0], ends[1] - ends[0], x), None

    def interval(x: Array, ends: tuple[Array, Array]) -> tuple[Array, tuple[Any, Array]]:
        times = grid(*ends, steps)
        x, _ = jax.lax.scan(one, x, (times[:-1], times[1:]))
        return x, (fn(ends[1], x), jnp.all(jnp.isfinite(x)))

    final, (values, finite) = jax.lax.scan(interval, y0, (ts[:-1], ts[1:]))
    values = jax.tree.map(lambda a, v: jnp.concatenate([jnp.asarray(a, v.dtype)[None], v]), fn(ts[0], y0), values)
    going = jnp.cumprod(finite.astype(int))
    reached = jnp.sum(going)
    outcome = jnp.where(jnp.all(finite), int(Outcome.FINISHED), int(Outcome.NON_FINITE))
    none = jnp.zeros((), int)
    stats = Stats(jnp.all(finite), outcome, steps * reached, none, jnp.zeros((), ts.dtype), ts[reached])
    return masked(values, ts, stats), jnp.where(stats.succeeded, final, jnp.nan), stats


@eqx.filter_jit
def _integrate(method, flow, y0, ts, steps):
    return _solve(method, flow, y0, ts, steps, lambda t, x: x)


@eqx.filter_jit
def _observe(method, flow, axes, y0s, ts, steps, fn):
    one = lambda flow, y0: _solve(method, flow, y0, ts, steps, fn)
    return eqx.filter_vmap(one, in_axes=(axes, 0))(flow, y0s)

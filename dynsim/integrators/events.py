"""Locate events by their signs at samples of a step, narrowing the bracket to neighbouring floats."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynsim._core.host import as_array
from dynsim._core.types import Scalar, State, Time
from dynsim.errors import ArgumentError, reason
from dynsim.integrators.base import Event
from dynsim.integrators.lanes.brackets import Bracket, first_crossing, narrowed
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import in_precision_of

QUIET = 4  # rounding errors of time for which the sign of an event that leaves its zero is not looked at
NOISE = 32  # a start this many rounding errors of state and time off an event's zero counts as on it


class AfterReset(Event):
    """An event on a path that starts after a reset, with the state before the reset and the event's sign then.

    An event is located up to rounding of the time, during which the state before the reset may have moved much farther
    than the state after it does. An event that `waits` may be this close to its zero without having occurred, a time
    `since` ago.
    """

    before: State = None
    side: Any = 0.0  # 0 for events that did not occur, or that count in both directions
    waits: Any = 0.0
    since: Any = 0.0


def values(events: Sequence[Event], space: AbstractSpace, ts: Array, ys: State) -> Float[Array, "times events"]:
    """Values of the events' functions at ambient states, times first.

    Raises:
        ValueError: unless each function is traceable and returns one real number.
    """
    return jax.vmap(lambda t, y: values_at(events, space, t, y))(ts, ys)


def values_at(events: Sequence[Event], space: AbstractSpace, t: Time, y: State) -> Float[Array, " events"]:
    """Values of the events' functions at one ambient state."""
    return jnp.stack([_value(k, event, t, space.project(y)) for k, event in enumerate(events)])


def _value(index: int, event: Event, t: Time, x: State) -> Scalar:
    fn, t = in_precision_of(x, (event.fn, t))
    try:
        value = fn(t, x)
    except jax.errors.JAXTypeError as error:
        must, but = "be functions that JAX can trace", f"number {index} is not ({reason(error)})"
        raise ArgumentError("events", must, but) from None
    kind = f"shape {jnp.shape(value)}" if eqx.is_array_like(value) else type(value).__name__
    if kind == "shape ()" and jnp.isdtype(jnp.result_type(value), ("real floating", "integral")):
        return jnp.asarray(value).astype(float)
    kind = jnp.result_type(value).name if kind == "shape ()" else kind
    must = "return real numbers, which change sign at the event (`x[0] - 1`, not `x[0] > 1`)"
    raise ArgumentError("events", must, f"number {index} returns {kind}")


def signs(
    events: Sequence[Event], space: AbstractSpace, t: Array, y: State, velocity: State
) -> tuple[Float[Array, " events"], Float[Array, " events"]]:
    """Signs of the events at one state, 0 where rounding could change them, and their rates of change.

    The state at which an event was located has sign 0, because a path from there would meet the event again at once.
    """
    value, noise = _noise(events, space, t, y, velocity, NOISE)
    rates = _rates(events, space, t, jax.tree.map(lambda x: x[None], y), velocity)[0]
    return jnp.where(jnp.abs(value) <= noise, 0, jnp.sign(value)), rates


def before_reset(events: Sequence[Event], y0: State) -> State:
    """The state before the reset from which a path starts, or the start itself without a reset."""
    return next((event.before for event in events if isinstance(event, AfterReset)), y0)


def first_signs(
    events: Sequence[Event], space: AbstractSpace, t: Array, y: State, velocity: State, velocity_before: State
) -> tuple[Float[Array, " events"], Float[Array, " events"], Float[Array, " events"]]:
    """Values of the events at the start of a path, their signs just after it, 0 if unknown, and when they show.

    For an event that is zero at the start, up to rounding, the sign is that of its derivative along the flow. If the
    derivative is zero too, an event that occurred before the reset keeps its sign from before. `velocity_before` is the
    velocity of `before_reset(events, y)`. An event that waits on its zero takes its sign from before the reset if that
    sign is the opposite one, so that it occurs. The last result is the time up to which rounding decides about the sign
    of an event that leaves its zero, and the start for all others.
    """
    value, noise, smooth = _near(events, space, t, y, velocity)
    ks = jnp.arange(9, dtype=t.dtype)
    around = jax.vmap(lambda k: rounded(y, k, NOISE))(ks)
    ahead = jnp.sign(_rates(events, space, t, around, velocity))
    ahead = jnp.where(jnp.all(ahead == ahead[:1], axis=0), ahead[0], 0)
    before = before_reset(events, y)
    rates = _rates(events, space, t, jax.tree.map(lambda x: x[None], before), velocity_before)[0]
    zero = _unit(y, NOISE) * jnp.abs(t).astype(value.dtype) * jnp.abs(rates)
    told = lambda name, rest: jnp.stack([jnp.asarray(getattr(event, name, rest), ahead.dtype) for event in events])
    turned = ahead
    if any(isinstance(event, AfterReset) for event in events):
        held, rounding, continuous = _near(events, space, t, before, velocity_before)
        new = told("since", 0) > 4 * jnp.maximum(rounding, zero) / jnp.abs(rates)
        crossing = jnp.where(new, -jnp.sign(rates), 0)
        sides = jnp.where(continuous & (jnp.abs(held) <= rounding), crossing, jnp.sign(held))
        waits = (told("waits", 0) > 0) & (told("direction", 0) * ahead >= 0) & (sides == -ahead)
        turned = jnp.where(waits, -ahead, ahead)
    on_zero = smooth & (jnp.abs(value) <= jnp.maximum(noise, zero))
    leaves = on_zero & (ahead != 0) & (turned == ahead)
    quiet = jnp.where(leaves, t + QUIET * jnp.finfo(t.dtype).eps * jnp.abs(t), t)
    ahead = jnp.where(ahead == 0, told("side", 0), turned)
    unknown = jnp.where(jnp.abs(value) <= noise, 0, jnp.sign(value))
    return value, jnp.where(on_zero, ahead, unknown), quiet


def occurring(
    events: Sequence[Event], space: AbstractSpace, found: Bracket, y: State, velocity: State
) -> Bool[Array, " events"]:
    """Which events occur at the end of a bracket: the located one, and those whose time differs by rounding alone."""
    value, noise, smooth = _near(events, space, found.end, y, velocity)
    rates = _rates(events, space, found.end, jax.tree.map(lambda x: x[None], y), velocity)[0]
    directions = np.array([float(event.direction) for event in events])
    reaches = smooth & (jnp.abs(value) <= noise) & (found.sides * rates <= 0)
    hits = ((found.sides * value <= 0) | reaches) & (found.sides != 0) & (found.sides * directions <= 0)
    hits &= found.end > found.quiet
    return hits | (jnp.arange(len(events)) == found.event)


def _near(
    events: Sequence[Event], space: AbstractSpace, t: Array, y: State, velocity: State
) -> tuple[Float[Array, " events"], Float[Array, " events"], Bool[Array, " events"]]:
    """Values of the events, their noise, and whether they are continuous at this state.

    Near a jump or a pole, the change over twice the distance is no larger.
    """
    value, noise = _noise(events, space, t, y, velocity, NOISE)
    return value, noise, _noise(events, space, t, y, velocity, 2 * NOISE)[1] >= 1.5 * noise


def _unit(y: State, units: float) -> float:
    return units * max(float(jnp.finfo(leaf.dtype).eps) for leaf in jax.tree.leaves(y))


def rounded(y: State, k: Array, units: float) -> State:
    """A state moved by `units` rounding errors, in another direction for each k; unchanged for k = 0."""

    move = lambda x: x + _unit(y, units) * jnp.max(jnp.abs(x), initial=0) * _pattern(x, k)
    return jax.tree.map(move, y)


def _pattern(x: Array, k: Array) -> Array:
    """Numbers between -1 and 1 in the shape of an array, others for each k; zeros for k = 0."""
    return jnp.sin(k * jnp.arange(1, x.size + 1, dtype=k.dtype)).astype(x.dtype).reshape(x.shape)


def _noise(
    events: Sequence[Event], space: AbstractSpace, t: Array, y: State, velocity: State, units: float
) -> tuple[Float[Array, " events"], Float[Array, " events"]]:
    """Values of the events, and how much `units` rounding errors of state and time change them."""
    unit = _unit(y, units)
    size = lambda x: jnp.max(jnp.abs(x), initial=0)
    largest = lambda tree: jnp.max(jnp.stack([size(leaf).astype(t.dtype) for leaf in jax.tree.leaves(tree)]))
    late = jnp.abs(t) + largest(y) / jnp.maximum(largest(velocity), jnp.finfo(t.dtype).tiny)

    def near(k: Array) -> tuple[Array, State]:
        move = lambda x, v: x + unit * (jnp.sin(k) * late).astype(x.dtype) * v
        return t + unit * jnp.sin(k) * jnp.abs(t), jax.tree.map(move, rounded(y, k, units), velocity)

    moved = values(events, space, *jax.vmap(near)(jnp.arange(9, dtype=t.dtype)))
    noise = jnp.abs(moved - moved[:1])  # the first is the unperturbed state
    return moved[0], jnp.max(jnp.where(jnp.isfinite(noise), noise, 0), axis=0)


def _rates(
    events: Sequence[Event], space: AbstractSpace, t: Array, ys: State, velocity: State
) -> Float[Array, "states events"]:
    """Derivatives of the events' functions along the flow at states; 0 where JAX cannot differentiate."""

    def rate(event: Event, y: State) -> Array:
        at = lambda t, y: _value(0, event, t, space.project(y))
        try:
            return jax.jvp(at, (t, y), (jnp.ones_like(t), velocity))[1]
        except (TypeError, ValueError, NotImplementedError):  # a callback, or a function with only a reverse mode
            return jnp.zeros(())

    return jax.vmap(lambda y: jnp.stack([rate(event, y) for event in events]))(ys)


_occurring = eqx.filter_jit(occurring)


def events_at(
    events: tuple[Event, ...], space: AbstractSpace, found: Bracket, y: State, velocity: State
) -> tuple[int, ...]:
    """Indices of the events that occur at the end of a bracket with the state `y`, none without a located one."""
    first = int(found.event)
    if first < 0 or len(events) == 1:
        return (first,) if first >= 0 else ()
    found = jax.tree.map(as_array, found)
    return tuple(np.flatnonzero(np.asarray(_occurring(events, space, found, y, velocity))).tolist())


def located(events: Sequence[Event], space: AbstractSpace, step: Bracket, path: Callable[[Array], State]) -> Bracket:
    """Locate the first event within a step with states `path(t)`, between neighbouring floats, under `jit`."""
    return first_crossing(events, step, lambda ts: values(events, space, ts, jax.vmap(path)(ts)))


def at_end(
    events: Sequence[Event],
    last: Bracket,
    signs: Float[Array | np.ndarray, " events"],
    rates: Float[Array | np.ndarray, " events"],
) -> Bracket:
    """The event found on a path, or else an event that is zero, up to rounding, at its end and does not leave its zero.

    It must count here, because it will not count as the start of another path.
    """
    leaves = (signs == 0) & (last.sides * rates > 0)
    signs = signs.__array_namespace__().where(leaves, last.sides, signs)
    reached = narrowed(events, last, last.end[None], signs[None])
    return jax.tree.map(lambda a, b: signs.__array_namespace__().where(last.event < 0, a, b), reached, last)


def check_begin(values: Array | np.ndarray) -> None:
    """Raise `ValueError` unless the events are finite at the start."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise ArgumentError("events", "be finite at the start", f"number {wrong[0]} is {float(values[wrong[0]])}")


def check_end(found: Bracket) -> None:
    """Raise `ValueError` if the located event is NaN."""
    if np.isnan(found.value):
        where = f"number {int(found.event)} is NaN at t = {float(found.end):.6g}"
        raise ArgumentError("events", "not be NaN anywhere on the path", where)

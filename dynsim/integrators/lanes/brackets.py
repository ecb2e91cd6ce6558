"""Search a step for the first event by signs at samples, and narrow the bracket to neighbouring floats."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


class Bracket(NamedTuple):
    """An interval of time and the first event that has occurred by its end (-1 for none), with its value.

    `sides` is the last sign of each event before the interval, or 0 for an event that has been zero since the start.
    An event that has started on its zero keeps this sign up to the time `quiet`, before which rounding decides.
    """

    begin: Any
    end: Any
    sides: Any
    event: Any
    value: Any
    quiet: Any

    @property
    def splits(self) -> Any:
        """Whether the interval contains an event and a float strictly between its ends."""
        middle = self.begin + (self.end - self.begin) / 2
        return (self.event >= 0) & (self.begin < middle) & (middle < self.end)

    def samples(self, events: Sequence[Any]) -> Any:
        """Equidistant sample times; the last one is the end."""
        count = max(event.samples for event in events)
        left = (np.arange(count - 1, -1, -1) / count).astype(self.end.dtype)
        return self.end - (self.end - self.begin) * left


def untouched(begin: Any, end: Any, sides: Any, quiet: Any) -> Bracket:
    """The bracket of an interval that has not been searched yet."""
    return Bracket(begin, end, sides, np.asarray(-1), np.asarray(0.0), quiet)


def narrowed(events: Sequence[Any], bracket: Bracket, ts: Any, values: Any) -> Bracket:
    """Narrow a bracket to the samples just before and at the first event; works in NumPy and JAX.

    An event occurs where its value is zero, has changed sign, or is NaN. Without any event the bracket becomes empty,
    and what was known at its end is kept.
    """
    xp = values.__array_namespace__()
    directions = np.array([[float(event.direction) for event in events]])
    running_maximum = np.maximum.accumulate if xp is np else jax.lax.cummax
    sides = xp.asarray(bracket.sides)[None]
    shows = ts[:, None] > xp.asarray(bracket.quiet)[None]
    signs = xp.concat([sides, xp.where(shows, xp.sign(values), sides)])
    latest = running_maximum(xp.where(signs != 0, np.arange(len(signs))[:, None], 0))
    sides = xp.take_along_axis(signs, latest, axis=0)
    before, after = sides[:-1], signs[1:]
    crossed = (before * after < 0) | ((before != 0) & (after == 0))
    hits = (crossed & (before * directions <= 0)) | xp.isnan(values)
    first = xp.argmax(xp.any(hits, axis=1))
    event, hit = xp.argmax(hits[first]), xp.any(hits)
    begin = xp.where(first > 0, ts[first - 1], bracket.begin)
    return Bracket(
        xp.where(hit, begin, bracket.end),
        xp.where(hit, ts[first], bracket.end),
        xp.where(hit, before[first], sides[-1]),
        xp.where(hit, event, bracket.event),
        xp.where(hit, values[first, event], bracket.value),
        bracket.quiet,
    )


def first_crossing(events: Sequence[Any], step: Bracket, values: Callable[[Array], Array]) -> Bracket:
    """Locate the first event within a step between neighbouring floats, from values (times, events), under `jit`."""

    def narrow(looked: tuple[Array, Bracket]) -> tuple[Array, Bracket]:
        bracket = looked[1]
        ts = bracket.samples(events)
        return jnp.asarray(True), narrowed(events, bracket, ts, values(ts))

    whole = jax.tree.map(jnp.asarray, step)
    return jax.lax.while_loop(lambda looked: ~looked[0] | looked[1].splits, narrow, (jnp.asarray(False), whole))[1]


def sampled(bracket: Bracket, directions: tuple[int, ...], t: Any, values: Array) -> Bracket:
    """Take into account the values of the events at the next sample, as `narrowed` does for all samples together.

    `begin` is the last sample before, and `end` the time of a found event; once one is found, nothing changes.
    """
    kind, places = values.dtype.type, np.arange(len(directions), dtype=np.int32)
    sides, ways = bracket.sides, np.asarray(directions, kind)
    signs = jnp.where(t > bracket.quiet, jnp.sign(values), sides)
    crossed = (sides * signs < 0) | ((sides != 0) & (signs == 0))
    hits = (crossed & (sides * ways <= 0)) | jnp.isnan(values)
    first = jnp.min(jnp.where(hits, places, np.int32(len(directions))))
    hit = first < np.int32(len(directions))
    value = jnp.sum(jnp.where(places == first, values, kind(0)))
    found = Bracket(
        jnp.where(hit, bracket.begin, t),
        jnp.where(hit, t, bracket.end),
        jnp.where(hit | (signs == 0), sides, signs),
        jnp.where(hit, first, np.int32(-1)),
        jnp.where(hit, value, bracket.value),
        bracket.quiet,
    )
    return Bracket(*(jnp.where(bracket.event < 0, a, b) for a, b in zip(found, bracket, strict=True)))

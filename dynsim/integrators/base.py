"""The interface of integrators, with events and statistics of a solution."""

import abc
import dataclasses
import functools
import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from dynsim._core.host import has_values, on_host
from dynsim._core.placement import where
from dynsim._core.printing import one_line, report
from dynsim._core.shared_functions import shared
from dynsim._core.types import ArrayLike, Scalar, State, Time, Times
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError, Outcome, counted, shown
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.schedules import AbstractSchedule


def _strong(value: ArrayLike) -> Array:
    """An array without weak type, which would be lost in a checkpoint and change the bytes of a run file."""
    if isinstance(value, jax.Array) and not isinstance(value, Tracer) and not value.weak_type:
        return value
    return jnp.asarray(value, jnp.result_type(value))


class Stats(eqx.Module):
    """Statistics of an integration; every field is an array, with one value per member of an ensemble.

    `outcome` is a value of `Outcome`. `max_defect` is the largest distance of the solver's own states from the space,
    before projection. `last_time` is the last time reached. `error`, if requested, estimates the error of every saved
    number: its difference from a solution with a ten times smaller tolerance. `event`, of an ensemble with events, is
    the index of the event that ended the run at `last_time`, or -1.
    """

    succeeded: Array = eqx.field(converter=_strong)
    outcome: Int[Array, "..."] = eqx.field(converter=_strong)
    num_steps: Int[Array, "..."] = eqx.field(converter=_strong)
    num_rejected: Int[Array, "..."] = eqx.field(converter=_strong)
    max_defect: Float[Array, "..."] = eqx.field(converter=_strong)
    last_time: Float[Array, "..."] = eqx.field(converter=_strong)
    error: State | None = None
    event: Int[Array, "..."] | None = None

    __repr__ = one_line

    @property
    def max_error(self) -> float:
        """Largest estimated error of a saved number; NaN if it was not estimated."""
        leaves = jax.tree.leaves(self.error)
        return max((float(jnp.nanmax(leaf)) for leaf in leaves if leaf.size), default=float("nan"))

    def __str__(self) -> str:
        """Say in one sentence which time was reached, what stopped the integration, and what to try."""
        return self.since(math.nan)

    def since(self, begin: float) -> str:
        """Say the same, and where the steps were used up how long they were on average since the time `begin`."""
        if not has_values(self.outcome):  # traced
            return report(self)
        if jnp.ndim(self.outcome):
            return self._of_members()
        outcome, taken = Outcome(int(self.outcome)), int(self.num_steps) - int(self.num_rejected)
        reached = f"reached t = {float(self.last_time):.6g} after {int(self.num_steps)} steps"
        rejected = f"{int(self.num_rejected)} of them rejected"
        if outcome is Outcome.FINISHED:
            twice = f" A solution with a tenth of the tolerance differs by at most {self.max_error:.2g}."
            place = f" It ran on {device}." if (device := where(self.outcome)) else ""
            return f"The integration finished: it {reached}, {rejected}.{place}" + (
                twice if self.error is not None else ""
            )
        if outcome is Outcome.MAX_STEPS and math.isfinite(begin) and taken > 0:
            rejected += f", the others {abs(float(self.last_time) - begin) / taken:.3g} long on average"
        return f"The integration only {reached}, {rejected}: {outcome.sentence}: {outcome.advice}."

    def _of_members(self) -> str:
        """Say how many members of an ensemble finished, how many steps they took, and what stopped the others."""
        outcomes, steps = np.ravel(self.outcome), np.ravel(self.num_steps)
        events = np.ravel([] if self.event is None else self.event)
        low, high = int(steps.min()), int(steps.max())
        took = f"{low} steps each" if low == high else f"{low} to {high} steps"
        said = [f"{np.sum(outcomes == Outcome.FINISHED)} of {len(outcomes)} members finished, in {took}."]
        if np.any(events >= 0):
            said.append(f"An event ended {np.sum(events >= 0)} of them.")
        if self.error is not None:
            said.append(f"Solutions with a tenth of the tolerance differ by at most {self.max_error:.2g}.")
        for outcome in map(Outcome, np.unique(outcomes[outcomes != Outcome.FINISHED])):
            count = int(np.sum(outcomes == outcome))
            said.append(f"For {counted(count, 'member')}, {outcome.sentence}: {outcome.advice}.")
        return " ".join(said)


class Event(eqx.Module):
    """A zero of `fn(t, x)`; `direction` +1 or -1 counts only up- or down-crossings, 0 counts both.

    `fn` is traced by JAX and must return one real number; a boolean is refused. The event occurs at the first time at
    which this number is zero or its sign has changed, whether continuously, by a jump, or at a pole. It is searched for
    at `samples` equidistant times of every step, in the step's dense output. With several events the largest `samples`
    applies to all. It is then located between neighbouring floats, as accurately as the dense output is.

    A start on a zero, up to rounding, does not count, because the previous path may have ended at this very event. The
    path first leaves the zero to the side given by the derivative along the flow, and the next crossing counts. A zero
    at the final time counts up to rounding.

    The search misses an even number of crossings between neighbouring samples, and a zero without a change of sign
    unless a sample hits it. It also misses an excursion across zero that is smaller than the error of the dense output.
    After a start on a zero with zero derivative, it misses an odd number of crossings before the first sample.
    """

    fn: Callable[[Time, State], Scalar]
    direction: int = eqx.field(static=True, default=0)
    samples: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        function("fn", self.fn, "(t, x)", 2)
        if not isinstance(self.direction, int) or self.direction not in (-1, 0, 1):
            raise ArgumentError("direction", "be -1, 0 or 1", f"is {shown(self.direction)}")
        integer("samples", self.samples, least=2)


Coordinates = Callable[[AbstractFlow, State], tuple[AbstractFlow, State, Callable[[State], State]]]
"""A change of coordinates: from a flow and a start to another flow, its start, and the map back to states."""


StatesAt = Callable[[Times], State]
"""States of a solution, in the ambient space, at times between its ends in any order; times are the first axis."""


def unchanged(flow: AbstractFlow, y0: State) -> tuple[AbstractFlow, State, Callable[[State], State]]:
    """The identity change of coordinates."""
    return flow, y0, _identity


def _identity(x: State) -> State:
    return x


class AbstractIntegrator(eqx.Module):
    """A numerical method with its tolerances; if `batched`, `observe` solves many initial states in one call."""

    __repr__ = one_line
    __str__ = one_line

    @property
    def batched(self) -> bool:
        """Whether many initial states can be solved together."""
        return False

    @abc.abstractmethod
    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the states at `ts`, projected to the space, times first; NaN after a failure."""

    def tightened(self, factor: float = 10.0) -> "AbstractIntegrator":
        """The same method with tolerances divided by a factor; raise `ValueError` if it has none."""
        if not (hasattr(self, "rtol") and hasattr(self, "atol")):
            raise ArgumentError("integrator", "have tolerances `rtol` and `atol`", f"is {shown(self)}")
        tighter = {name: getattr(self, name) / factor for name in ("rtol", "atol")}
        return dataclasses.replace(self, **tighter)  # pyright: ignore[reportArgumentType]

    def observe(
        self,
        flows: Sequence[AbstractFlow],
        y0s: State,
        ts: Times,
        fn: Callable[[Time, State], Any],
        *,
        coordinates: Coordinates = unchanged,
    ) -> tuple[Any, State, Stats]:
        """Evaluate `fn(t, x)` at `ts` for each initial state of `y0s`, without keeping trajectories.

        `flows` holds one flow for all members, or one for each. Returns the values, the final states and statistics,
        with members as first axis, and NaN after a failure. The equation is solved in `coordinates`, but `fn` and the
        final states refer to the states of the flow.
        """
        raise NotImplementedError(f"`{type(self).__name__}` keeps the trajectory: use `integrate`")

    def lanes(self, flows: Sequence[Any], y0s: State, ts: Any, events: Sequence[Event] = ()) -> Any:
        """Find out how `observe` solves members in lanes, each with its own steps, or say in a sentence why not."""
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((flows, y0s, ts))):
            return "it is part of another JAX program"
        return self._ways(flows, one_member(y0s), ts, events)

    def _ways(self, flows: Sequence[Any], y0: Any, ts: Any, events: Sequence[Event]) -> Any:
        """The same for arrays that are known, and the shapes and types of a member's state."""
        return f"the integrator is {type(self).__name__}"

    def dense(self, flow: AbstractFlow, y0: State, t0: float, t1: float) -> tuple[StatesAt, Stats]:
        """Solve from `t0` to `t1` and return a function for the states at any times between, and statistics."""
        raise NotImplementedError(f"`{type(self).__name__}` has no dense output")

    @abc.abstractmethod
    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, tuple[int, ...]]:
        """Integrate up to the first event.

        Returns:
            The states at `ts` (NaN after the event), statistics, final time and state, and the indices of the events
            that occur at this time, in their order; none if the last time was reached without any.
        """


def one_member(y0s: State) -> Any:
    """Shapes and types of the state of one member, from the states of all."""
    return jax.tree.map(lambda y: jax.ShapeDtypeStruct(jnp.shape(y)[1:], y.dtype), y0s)


def program_form(flow: Any) -> Any:
    """The system that shares a program with all that differ in the periods of schedules, or in equal functions."""
    schedule = lambda part: isinstance(part, AbstractSchedule)
    return shared(jax.tree.map(lambda part: part.without_period() if schedule(part) else part, flow, is_leaf=schedule))


class FlowParts(NamedTuple):
    """The program form of a flow: its arrays, and all else, which flows of one kind share."""

    leaves: list[Array]
    tree: Any
    static: tuple[Any, ...]
    rest: Any


def taken_apart(flow: AbstractFlow) -> FlowParts:
    """Take the program form of a flow apart; of a flow that has not changed since the last time it is remembered."""
    given, structure = jax.tree.flatten(flow)
    given = shared(given)
    known = _apart.get(id(flow))
    if known is not None and known.flow() is flow and known.matches(given, structure):
        return known.parts
    # a flow with a dictionary is not hashable, but its parts are
    arrays, others = eqx.partition(program_form(flow), eqx.is_array)
    (leaves, tree), (static, rest) = jax.tree.flatten(arrays), jax.tree.flatten(others)
    parts = FlowParts(leaves, tree, tuple(static), rest)
    if not any(isinstance(leaf, Tracer) for leaf in given):
        place = id(flow)
        _apart[place] = _Apart(weakref.ref(flow, lambda _: _apart.pop(place, None)), structure, given, parts)
        if len(_apart) > REMEMBERED:
            _apart.pop(next(iter(_apart)), None)
    return parts


def of_one_kind(cached: Any, parts: FlowParts, *given: Any) -> Any:
    """What a cached function makes of the parts of a flow without its arrays, which flows of one kind share."""
    key = parts[1:]
    try:
        return cached(*key, *given)
    except TypeError:  # a static part is not hashable
        return cached.__wrapped__(*key, *given)


def put_together(leaves: Sequence[Any], tree: Any, static: tuple[Any, ...], rest: Any) -> Any:
    """The flow of given parts."""
    return eqx.combine(jax.tree.unflatten(tree, leaves), jax.tree.unflatten(rest, static))


def velocity_like(flow: AbstractFlow, t: Any, y: Any) -> Any:
    """Shapes and types of the vector field at a state, which JAX traces once for flows of one kind.

    Raises:
        Exception: whatever the flow raises when it is traced.
    """
    parts = taken_apart(flow)
    return of_one_kind(_traced, parts).eval_shape(parts.leaves, t, y)


@functools.lru_cache(maxsize=64)
def _traced(tree: Any, static: tuple, rest: Any) -> Any:
    """The vector field of flows of one kind, as a function of their arrays, time and state, for JAX to trace."""
    return jax.jit(lambda leaves, t, y: put_together(leaves, tree, static, rest).vector_field(t, y))


class _Apart(NamedTuple):
    """A flow that was taken apart, with its leaves and their structure at that time."""

    flow: weakref.ref[AbstractFlow]
    structure: Any
    given: list[Any]
    parts: FlowParts

    def matches(self, given: list[Any], structure: Any) -> bool:
        """Whether the flow still has these very leaves."""
        return self.structure == structure and all(map(operator.is_, self.given, given))


REMEMBERED = 32  # most flows whose parts are kept while they live
_apart: dict[int, _Apart] = {}


def stacked(flows: Sequence[Any]) -> tuple[Any, Any]:
    """Stack flows into one whose arrays have a leading member axis where they differ, and mark these arrays."""
    differs = lambda *leaves: 0 if any(leaf is not leaves[0] for leaf in leaves) and eqx.is_array(leaves[0]) else None
    axes = jax.tree.map(differs, *flows)
    join = lambda axis, *leaves: leaves[0] if axis is None else _joined(leaves)
    return jax.tree.map(join, axes, *flows, is_leaf=lambda axis: axis is None), axes


def _joined(leaves: Sequence[Array]) -> Array:
    """Join arrays along a new first axis on the host; random keys, which NumPy lacks, stay on their device."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return on_host(lambda xp, *parts: xp.stack(parts), *leaves)


ROUNDINGS = 8  # rounding errors of a number, relative to it: smaller tolerances cannot be reached in float32


def least_rtol(state: State) -> float:
    """Smallest relative tolerance that a solver of this state can reach; zero in float64, where users choose it."""
    eps = max(float(jnp.finfo(leaf.dtype).eps) for leaf in jax.tree.leaves(state))
    return ROUNDINGS * eps if eps > jnp.finfo(float).eps else 0.0


def step_limit(integrator: AbstractIntegrator, flow: AbstractFlow) -> float:
    """Longest step: the integrator's `longest_step` if given, otherwise the flow's step limit."""
    own = getattr(integrator, "longest_step", None)
    return flow.step_limit() if own is None else own


def check_longest_step(value: float | None) -> float | None:
    """Check a limit on step lengths; raise `ValueError` unless it is None or positive."""
    return None if value is None else number("longest_step", value, infinite=True)


def on_space(space: AbstractSpace, ys: State) -> tuple[State, Scalar]:
    """Project the states of a trajectory to the space, and return the largest defect before.

    The first state is left unchanged, because a rerun needs the initial state bit for bit.
    """
    defects = jax.vmap(space.defect)(ys)
    projected = jax.vmap(space.project)(ys)
    kept = jax.tree.map(lambda x, y: x.at[0].set(y[0]), projected, ys)
    return kept, jnp.max(jnp.where(jnp.isfinite(defects), defects, 0))


def ended_by(stats: Stats, event: Any, defined: Any, begin: Any) -> Stats:
    """Add the index of the event that ended a run, or -1; the run has failed if no event is `defined` at its start."""
    stats = dataclasses.replace(
        stats,
        succeeded=stats.succeeded & defined,
        outcome=jnp.where(defined, stats.outcome, int(Outcome.NON_FINITE)),
        last_time=jnp.where(defined, stats.last_time, begin),
    )
    return dataclasses.replace(stats, event=_strong(jnp.where(stats.succeeded, event, -1)))


def masked(values: Any, ts: Array, stats: Stats) -> Any:
    """Replace saved values by NaN at all times that a run did not reach before it failed or was ended by an event."""
    whole = stats.succeeded if stats.event is None else stats.succeeded & (stats.event < 0)
    reached = whole | (ts <= stats.last_time.astype(ts.dtype))

    def blank(v: Array) -> Array:
        kept = reached.reshape(reached.shape + (1,) * (v.ndim - 1))
        return jnp.where(kept, v, jnp.nan) if jnp.issubdtype(v.dtype, jnp.inexact) else v

    return jax.tree.map(blank, values)

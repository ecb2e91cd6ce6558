"""The interface of integrators: events, statistics, and what every integrator must offer."""

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from dynsim._core.host import has_values, on_host
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, State, Time, Times
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError, Outcome, shown
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.schedules import AbstractSchedule


def _strong(value: ArrayLike) -> Array:
    """Return an array of fixed type: weak types would be lost in a checkpoint and change the bytes of a run file."""
    return jnp.asarray(value, jnp.result_type(value))


class Stats(eqx.Module):
    """Statistics of an integration; every field is an array, so that an ensemble has one value for each member.

    `outcome` is a value of `Outcome`; `max_defect` is the distance of the solver's own states from the space, before
    they are projected to it; `last_time` is the last time that was reached. `error`, if it was asked for, is an
    estimate of the error of every saved number: how far a solution at a tenth of the tolerance is from it.
    """

    succeeded: Array = eqx.field(converter=_strong)
    outcome: Int[Array, "..."] = eqx.field(converter=_strong)
    num_steps: Int[Array, "..."] = eqx.field(converter=_strong)
    num_rejected: Int[Array, "..."] = eqx.field(converter=_strong)
    max_defect: Float[Array, "..."] = eqx.field(converter=_strong)
    last_time: Float[Array, "..."] = eqx.field(converter=_strong)
    error: State | None = None

    __repr__ = one_line

    @property
    def max_error(self) -> float:
        """The largest estimated error of a saved number; NaN if it was not estimated."""
        leaves = jax.tree.leaves(self.error)
        return max((float(jnp.nanmax(leaf)) for leaf in leaves if leaf.size), default=float("nan"))

    def __str__(self) -> str:
        """Say in one sentence which time was reached, what stopped the integration, and what to try."""
        return self.since(math.nan)

    def since(self, begin: float) -> str:
        """Say the same, and where the steps were used up how long they were on average since the time `begin`."""
        if not has_values(self.outcome) or jnp.ndim(self.outcome):  # traced, or those of an ensemble
            return report(self)
        outcome, taken = Outcome(int(self.outcome)), int(self.num_steps) - int(self.num_rejected)
        reached = f"reached t = {float(self.last_time):.6g} after {int(self.num_steps)} steps"
        rejected = f"{int(self.num_rejected)} of them rejected"
        if outcome is Outcome.FINISHED:
            twice = f" Solved again at a tenth of the tolerance, it differs by at most {self.max_error:.2g}."
            return f"The integration finished: it {reached}, {rejected}." + (twice if self.error is not None else "")
        if outcome is Outcome.MAX_STEPS and math.isfinite(begin) and taken > 0:
            rejected += f", the others {(float(self.last_time) - begin) / taken:.3g} long on average"
        return f"The integration only {reached}, {rejected}: {outcome.sentence}: {outcome.advice}."


class Event(eqx.Module):
    """A zero of `fn(t, x)`; `direction` +1 or -1 counts only up- or down-crossings, 0 counts both.

    `fn` is traced by JAX and returns one real number; a boolean is refused. The event occurs at the first time at which
    the number is zero or has another sign than before, be it by a jump or a pole. It is looked for at `samples`
    equidistant times of every step (of several events, the largest `samples` holds for all) in the step's dense output,
    and then located there up to neighbouring floats, as accurately as the dense output is.

    A start on a zero, up to rounding, as the end of a path to the same event is, does not count: it is left first, to
    the side of the derivative along the flow, and the next crossing counts. At the last time a zero counts up to
    rounding.

    These are missed: an even number of crossings between two neighbouring samples; a zero without change of sign,
    unless a sample hits it; after a start on a zero at which the derivative is zero, too, an odd number of crossings
    before the first sample; and an excursion across zero that is shallower than the error of the dense output.
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
"""A change of coordinates: from a flow and a start to another flow, its start, and the way back to states."""


StatesAt = Callable[[Times], State]
"""The states of a solution, in the ambient space, at times between its ends in any order, times first."""


def unchanged(flow: AbstractFlow, y0: State) -> tuple[AbstractFlow, State, Callable[[State], State]]:
    """Return the coordinates of the flow itself."""
    return flow, y0, _identity


def _identity(x: State) -> State:
    return x


class AbstractIntegrator(eqx.Module):
    """A numerical method with its tolerances; if `batched`, it solves many starts in one call of `observe`."""

    @property
    def batched(self) -> bool:
        """Whether many starts can be solved together."""
        return False

    @abc.abstractmethod
    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Return the states at `ts`, projected to the space, times first, and statistics; NaN from a failure on."""

    def tightened(self, factor: float = 10.0) -> "AbstractIntegrator":
        """Return the method with tolerances that are smaller by a factor; raise `ValueError` if it has none."""
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
        """Return `fn(t, x)` at `ts`, the last state and statistics for each start of `y0s`, members first.

        `flows` is one flow for all, or one for each; no trajectory is kept; NaN after a failure. The equation is solved
        in `coordinates`; `fn` and the last state see states of the flow.
        """
        raise NotImplementedError(f"`{type(self).__name__}` keeps the trajectory: use `integrate`")

    def dense(self, flow: AbstractFlow, y0: State, t0: float, t1: float) -> tuple[StatesAt, Stats]:
        """Return the states at any times between `t0` and `t1`, NaN from a failure on, and statistics."""
        raise NotImplementedError(f"`{type(self).__name__}` has no dense output")

    @abc.abstractmethod
    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, int]:
        """Integrate up to the first event.

        Returns:
            The states at `ts`, NaN after the event, statistics, time and state of the end, and the index of the event,
            -1 for none.
        """


def without_periods(flow: AbstractFlow) -> AbstractFlow:
    """Return the flow that a solver is compiled for, the step limit being an argument: one program for all periods."""
    schedule = lambda part: isinstance(part, AbstractSchedule)
    return jax.tree.map(lambda part: part.without_period() if schedule(part) else part, flow, is_leaf=schedule)


def stacked(flows: Sequence[AbstractFlow]) -> tuple[AbstractFlow, Any]:
    """Return one flow whose arrays have the members first wherever the flows differ, and which arrays these are."""
    differs = lambda *leaves: 0 if any(leaf is not leaves[0] for leaf in leaves) and eqx.is_array(leaves[0]) else None
    axes = jax.tree.map(differs, *flows)
    join = lambda axis, *leaves: leaves[0] if axis is None else _joined(leaves)
    return jax.tree.map(join, axes, *flows, is_leaf=lambda axis: axis is None), axes


def _joined(leaves: Sequence[Array]) -> Array:
    """Return arrays on a new first axis, joined on the host; random keys, which NumPy has not, where they are."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return on_host(lambda xp, *parts: xp.stack(parts), *leaves)


def step_limit(integrator: AbstractIntegrator, flow: AbstractFlow) -> float:
    """Return the longest step: the integrator's `longest_step` if it has one, else what the flow asks for."""
    own = getattr(integrator, "longest_step", None)
    return flow.step_limit() if own is None else own


def check_longest_step(value: float | None) -> float | None:
    """Return the cap on steps as a number; raise `ValueError` unless it is positive."""
    return None if value is None else number("longest_step", value, infinite=True)


def on_space(space: AbstractSpace, ys: State) -> tuple[State, Scalar]:
    """Return the states of a trajectory projected to the space, and the largest defect before.

    The first is left as it is: it is the start that was integrated from, and a rerun needs its very bits.
    """
    defects = jax.vmap(space.defect)(ys)
    projected = jax.vmap(space.project)(ys)
    kept = jax.tree.map(lambda x, y: x.at[0].set(y[0]), projected, ys)
    return kept, jnp.max(jnp.where(jnp.isfinite(defects), defects, 0))


def masked(values: Any, ts: Array, stats: Stats) -> Any:
    """Return saved values with NaN at every time that a failed run did not reach."""
    reached = stats.succeeded | (ts <= stats.last_time.astype(ts.dtype))

    def blank(v: Array) -> Array:
        kept = reached.reshape(reached.shape + (1,) * (v.ndim - 1))
        return jnp.where(kept, v, jnp.nan) if jnp.issubdtype(v.dtype, jnp.inexact) else v

    return jax.tree.map(blank, values)

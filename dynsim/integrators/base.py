"""What an integrator takes and gives, and why it may stop."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dynsim._types import Scalar, State, Time, Times
from dynsim.errors import argument_error
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow

CAUSES = ("finished", "max_steps", "non_finite", "step_underflow", "implicit_solver")

ADVICE = {
    "max_steps": "all {steps} allowed steps were used: take a stiff solver (`stiff()`, "
    "`Diffrax(solver=Kvaerno5())`), a shorter horizon or more `max_steps`",
    "non_finite": "the field is not finite on every step tried, however short: look for a zero token, "
    "an overflow, a finite escape time or a manifold that ends at a fold",
    "step_underflow": "the step size fell to rounding error: the state escapes to infinity there, the field jumps "
    "where no breakpoint is declared or is singular, a manifold ends at a fold, or the tolerances are below what its "
    "precision allows",
    "implicit_solver": "the implicit stage equations were not solved: take float64 states or looser tolerances",
}


class Stats(eqx.Module):
    """How an integration went; every field is an array, so that an ensemble has one for each member.

    `cause` is an index of `CAUSES`; `max_defect` is the distance of the solver's own states from the space.
    """

    succeeded: Array
    cause: Int[Array, "..."]
    num_steps: Int[Array, "..."]
    num_rejected: Int[Array, "..."]
    max_defect: Float[Array, "..."]
    last_time: Float[Array, "..."]

    def explain(self) -> str:
        """Return one sentence: how far it came, what stopped it and what to try."""
        cause = CAUSES[int(self.cause)]
        reached = f"reached t = {float(self.last_time):.6g} after {int(self.num_steps)} steps"
        rejected = f"{int(self.num_rejected)} of them rejected"
        if cause == "finished":
            return f"The integration finished: it {reached}, {rejected}."
        return f"The integration only {reached}, {rejected}: {ADVICE[cause].format(steps=int(self.num_steps))}."


class Event(eqx.Module):
    """A zero of `fn(t, x)`; `direction` +1 or -1 counts only up- or down-crossings, 0 counts both."""

    fn: Callable[[Time, State], Scalar]
    direction: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        if self.direction not in (-1, 0, 1):
            raise argument_error("direction", "be -1, 0 or 1", f"is {self.direction}")

    def crosses(self, before: float, after: float) -> bool:
        """Return whether the event lies between two values of `fn`."""
        up, down = before < 0 <= after, before > 0 >= after
        return (up and self.direction >= 0) or (down and self.direction <= 0)


class AbstractIntegrator(eqx.Module):
    """A method with its tolerances; `batched` says whether it works under `vmap`, and then it has `observe`."""

    @property
    def batched(self) -> bool:
        """Whether many starts can be solved together."""
        return False

    @abc.abstractmethod
    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Return the states at `ts`, on the space, times first, and how it went; NaN from a failure on."""

    def observe(
        self, flows: Sequence[AbstractFlow], y0s: State, ts: Times, fn: Callable[[Time, State], Any]
    ) -> tuple[Any, State, Stats]:
        """Return `fn(t, x)` at `ts`, the last state and how it went for each start of `y0s`, members first.

        `flows` is one flow for all, or one for each; no trajectory is kept; NaN after a failure.
        """
        raise NotImplementedError(f"`{type(self).__name__}` keeps the trajectory: use `integrate`")

    @abc.abstractmethod
    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, int]:
        """Integrate up to the first event: states at `ts`, how it went, time and state of the end, which event (-1)."""


def step_limit(integrator: AbstractIntegrator, flow: AbstractFlow) -> float:
    """Return the longest step: the integrator's `longest_step` if it has one, else what the flow asks for."""
    own = getattr(integrator, "longest_step", None)
    return type(flow).step_limit(flow) if own is None else own  # a bound method of a module costs 20 microseconds


def check_longest_step(value: float | None) -> float | None:
    """Return the cap on steps as a number; raise `ValueError` unless it is positive."""
    if value is not None and not value > 0:
        raise argument_error("longest_step", "be positive", f"is {value}")
    return None if value is None else float(value)


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
    reached = stats.succeeded | (ts <= stats.last_time)

    def blank(v: Array) -> Array:
        kept = reached.reshape(reached.shape + (1,) * (v.ndim - 1))
        return jnp.where(kept, v, jnp.nan) if jnp.issubdtype(v.dtype, jnp.inexact) else v

    return jax.tree.map(blank, values)

"""Integrate token flows with U = c I in the span of the initial tokens: the same states with less work."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dynsim._core.types import State, Time, Times
from dynsim.errors import ArgumentError
from dynsim.integrators.backwards import Backwards
from dynsim.integrators.base import AbstractIntegrator, Coordinates, Event, StatesAt, Stats, unchanged
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.systems.base import AbstractFlow
from dynsim.systems.tokens.span_form import SpanForm, check_spannable


class InSpan(AbstractIntegrator):
    """Solve a token flow with U = c I in its span form by another integrator; states are returned as tokens.

    Exact up to the solver's tolerance, which applies to the coordinates. Worthwhile for fewer tokens than dimensions.
    """

    inner: AbstractIntegrator

    def __init__(self, inner: AbstractIntegrator | None = None):
        """Store the inner integrator; `Diffrax()` by default."""
        self.inner = Diffrax() if inner is None else inner

    @property
    def batched(self) -> bool:
        """Whether many initial states can be solved together."""
        return self.inner.batched

    def tightened(self, factor: float = 10.0) -> "InSpan":
        """The same method with tighter tolerances of the inner integrator."""
        return InSpan(self.inner.tightened(factor))

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the tokens at `ts`, and statistics."""
        form = _form(flow, y0)
        ys, stats = self.inner.integrate(_as_given(flow, form), form.start, ts)
        return _tokens(form, ys).at[0].set(y0), stats

    def dense(self, flow: AbstractFlow, y0: State, t0: float, t1: float) -> tuple[StatesAt, Stats]:
        """Solve from `t0` to `t1` and return a function for the tokens at any times between, and statistics."""
        form = _form(flow, y0)
        states, stats = self.inner.dense(_as_given(flow, form), form.start, t0, t1)
        return _TokensAt(states, form), stats

    def observe(
        self,
        flows: Sequence[AbstractFlow],
        y0s: State,
        ts: Times,
        fn: Callable[[Time, State], Any],
        *,
        coordinates: Coordinates = unchanged,
    ) -> tuple[Any, State, Stats]:
        """Evaluate `fn(t, x)` of the tokens x at `ts` for each initial state; also final tokens and statistics."""
        if coordinates is not unchanged:
            raise ArgumentError("coordinates", "be left out: `InSpan` has its own", "is given")
        for flow in flows:
            check_spannable(flow)
        return self.inner.observe(flows, y0s, ts, fn, coordinates=_span)

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, tuple[int, ...]]:
        """Integrate up to the first event, evaluated on the tokens."""
        form = _form(flow, y0)
        on_tokens = [Event(_OnTokens(event.fn, form), event.direction, event.samples) for event in events]
        ys, stats, t, final, fired = self.inner.locate(_as_given(flow, form), form.start, ts, on_tokens)
        return _tokens(form, ys).at[0].set(y0), stats, t, form.tokens(final), fired


def _span(flow: AbstractFlow, y0: State) -> tuple[AbstractFlow, State, Callable[[State], State]]:
    form = SpanForm(flow, y0)  # pyright: ignore[reportArgumentType]
    return form, form.start, form.tokens


class _OnTokens(eqx.Module):
    fn: Callable[[Time, State], Any]
    form: SpanForm

    def __call__(self, t: Time, coordinates: State) -> Any:
        return self.fn(t, self.form.tokens(coordinates))


class _TokensAt(eqx.Module):
    states: StatesAt
    form: SpanForm

    def __call__(self, ts: Times) -> State:
        return _tokens(self.form, self.states(ts))


@eqx.filter_jit
def _form(flow: AbstractFlow, y0: State) -> SpanForm:
    return SpanForm(flow.flow if isinstance(flow, Backwards) else flow, y0)  # pyright: ignore[reportArgumentType]


def _as_given(flow: AbstractFlow, form: SpanForm) -> AbstractFlow:
    """The span form of a flow, in the direction of time of the flow."""
    return Backwards(form) if isinstance(flow, Backwards) else form


@eqx.filter_jit
def _tokens(form: SpanForm, ys: State) -> jax.Array:
    return jnp.einsum("tij,jd->tid", ys, form.start_tokens)

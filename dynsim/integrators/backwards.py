"""Integrate backwards in time: along the reversed flow, whose time is minus the time of the flow."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State, Time, Times
from dynsim.integrators.base import AbstractIntegrator, Event, Stats
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow


class Backwards(AbstractFlow):
    r"""The reversed flow, $dx / ds = -f(-s, x)$ in the time s = -t."""

    flow: AbstractFlow

    def __init__(self, flow: AbstractFlow):
        """Store the flow."""
        self.flow = flow

    @property
    def space(self) -> AbstractSpace:
        """The space of the flow."""
        return self.flow.space

    def velocity(self, t: Time, x: State) -> State:
        """The velocity of the flow at minus the time, reversed."""
        return jax.tree.map(lambda v: -v, self.flow.velocity(-t, x))

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Those of the flow, in the reversed time."""
        return -self.flow.breakpoints(-t1, -t0)[::-1]

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the flow does not cover these reversed times."""
        self.flow.check_horizon(-t1, -t0)

    def step_limit(self) -> float:
        """That of the flow."""
        return self.flow.step_limit()


class InReversedTime(eqx.Module):
    """A function of time and state, or of times, at minus the time."""

    fn: Callable[..., Any]

    def __call__(self, t: Any, *state: Any) -> Any:
        """The value of the function at minus the time."""
        return self.fn(-t, *state)


def decrease(ts: Times) -> bool:
    """Whether times are known to decrease from the first to the last; traced times are taken to increase."""
    if isinstance(ts, Tracer):
        return False
    times = np.asarray(ts)  # indexing on the device would be a call of its own
    return bool(times[-1] < times[0])


def forwards(stats: Stats) -> Stats:
    """Statistics of a run in reversed time, in the time of the flow."""
    return dataclasses.replace(stats, last_time=0.0 - stats.last_time)


def mirrored(events: Sequence[Event]) -> tuple[Event, ...]:
    """Events in the reversed time; their directions are those along the path."""
    return tuple(dataclasses.replace(event, fn=InReversedTime(event.fn)) for event in events)


def along(flow: AbstractFlow, y0: State, ts: Times) -> tuple[AbstractFlow, State, Times]:
    """Flow, start and increasing times of a run in either direction of time."""
    return (Backwards(flow), y0, 0.0 - ts) if decrease(ts) else (flow, y0, ts)


def integrate(integrator: AbstractIntegrator, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
    """Solve for the states at times that increase or decrease, and statistics."""
    if not decrease(ts):
        return integrator.integrate(flow, y0, ts)
    ys, stats = integrator.integrate(Backwards(flow), y0, 0.0 - ts)
    return ys, forwards(stats)


def locate(
    integrator: AbstractIntegrator, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
) -> tuple[State, Stats, float, State, tuple[int, ...]]:
    """Integrate up to the first event, whose direction is that along the path, in either direction of time."""
    if not decrease(ts):
        return integrator.locate(flow, y0, ts, events)
    ys, stats, t, y, fired = integrator.locate(Backwards(flow), y0, 0.0 - ts, mirrored(events))
    return ys, forwards(stats), 0.0 - t, y, fired

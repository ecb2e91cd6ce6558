"""Times at which components of a state pass values: the option `--event` of `dynsim simulate`."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.parsing.options import say
from dynsim.cli.parsing.outputs import write_out
from dynsim.errors import ArgumentError, counted
from dynsim.integrators.base import Event
from dynsim.io.tables import Table
from dynsim.simulation.hybrid import crossings
from dynsim.simulation.hybrid_trajectory import Ending, Jump
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Components, components

DIRECTIONS = {"": 0, "up": 1, "down": -1}
MOST = 10_000  # largest number of events of a run
SHOWN = 5  # number of times that are printed


class Asked(NamedTuple):
    """An event of the option: its function, the index of the component, and the direction in which that passes."""

    event: Event
    component: int
    way: int


def events_of(words: Sequence[str], known: Components, periods: Sequence[float] = ()) -> list[Asked]:
    """Parse events NAME=VALUE, NAME=VALUE:up or NAME=VALUE:down of the components of a state.

    A component with a finite period is an angle, which passes the value in every turn.
    """
    found = []
    for word in words:
        name, equals, rest = word.partition("=")
        value, _, way = rest.partition(":")
        try:
            level = float(value)
        except ValueError:
            level = math.nan
        if not equals or not math.isfinite(level) or way not in DIRECTIONS:
            must = f"be NAME=VALUE, NAME=VALUE:up or NAME=VALUE:down with one of {', '.join(known.names)}"
            raise ArgumentError("event", must, f"is `{word}`")
        k = known.index(name, "event")
        turn = float(periods[k]) if len(periods) else math.inf
        if math.isfinite(turn):
            above = lambda t, x, k=k, level=level, turn=turn: jnp.sin(jnp.pi * (x[k] - level) / turn)
        else:
            above = lambda t, x, k=k, level=level: x[k] - level
        found.append(Asked(Event(above, 0 if math.isfinite(turn) else DIRECTIONS[way]), k, DIRECTIONS[way]))
    return found


def tell_events(o: Simulate, flow: AbstractFlow, x: Any, ts: np.ndarray, asked: list[Asked], integrator: Any) -> None:
    """Find the events of a run, print their numbers and first times, and write them as a table."""
    found = crossings(flow, x, ts[[0, -1]], [one.event for one in asked], max_crossings=MOST, integrator=integrator)
    jumps = [jump for jump in found.jumps if _is_asked(flow, jump, asked[jump.index])]
    tell_times(o.event, jumps, "event")
    if found.ending is Ending.CAPPED:
        say(f"only the first {MOST} events are listed")
    write_out(o.events_out, event_table(o.event, jumps, components(flow, x)))


def _is_asked(flow: AbstractFlow, jump: Jump, asked: Asked) -> bool:
    """Test whether the component passes in the direction asked for: functions of angles change sign both ways."""
    if asked.event.direction or not asked.way:
        return True
    return float(flow.vector_field(jnp.asarray(jump.time), jump.before)[asked.component]) * asked.way > 0


def tell_times(labels: Sequence[str], jumps: Sequence[Jump], what: str) -> None:
    """Print the number and the first times of the jumps with each index, which `labels` describe."""
    for k, label in enumerate(labels):
        times = [jump.time for jump in jumps if jump.index == k]
        listed = ", ".join(f"{t:.6g}" for t in times[:SHOWN]) + ", ..." * (len(times) > SHOWN)
        mean = f", {np.mean(np.diff(times)):.6g} apart on average" if len(times) > 1 else ""
        say(f"{label}: {counted(len(times), what)}{f' at t = {listed}' if times else ''}{mean}")


def event_table(labels: Sequence[str], jumps: Sequence[Jump], known: Components) -> Table:
    """Make a table of jumps: what occurred, the time, and the state before it."""
    rows = np.array([np.asarray(jump.before, float) for jump in jumps]).reshape(-1, len(known.names))
    columns = {"event": [labels[jump.index] for jump in jumps], "t": [jump.time for jump in jumps]}
    columns |= {name: rows[:, k] for k, name in enumerate(known.names)}
    return Table(columns, {"t": known.time_unit} | dict(zip(known.names, known.units, strict=True)))

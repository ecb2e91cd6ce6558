"""Hybrid systems from equations as text, whose statements `when(...)` are transitions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import instance
from dynsim.equations.files import text_of
from dynsim.equations.flows import EquationFlow
from dynsim.equations.system import system
from dynsim.equations.transitions import WhenStatement, with_transitions
from dynsim.errors import ArgumentError, nearest
from dynsim.integrators.base import Event
from dynsim.simulation.hybrid import Transition
from dynsim.systems.named import changed


class HybridSystem(NamedTuple):
    """A flow from equations as text, with its transitions.

    Attributes:
        flow: the flow of the first phase.
        transitions: a function that returns the transitions of a phase from its flow, as `simulate_hybrid` takes it.
        names: names of the transitions.
        conditions: the comparison of each transition, as the text has it.
    """

    flow: EquationFlow
    transitions: "_Transitions"
    names: tuple[str, ...]
    conditions: tuple[str, ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        return str(self.flow)


def hybrid_system(text: str | Path, parameters: Mapping[str, Any] | None = None, **values: Any) -> HybridSystem:
    """Make a hybrid system from equations as text with statements `when(...)`, or from an `.ode` file with `global`.

    ```python
    >>> import dynsim as ds
    >>> neuron = ds.hybrid_system("v' = I - v; when(v > 1, v = 0)", I=2.0)
    >>> run = ds.simulate_hybrid(neuron.flow, [0.0], [0.0, 2.0], neuron.transitions)
    >>> [round(float(jump.time), 6) for jump in run.jumps]
    [0.693147, 1.386294]
    ```

    `when(v > vt, v = c, u = u + d)` occurs where v - vt crosses zero from below, `<` from above, and `==` in both ways.
    All values are computed from the state before the transition, and set components or parameters; `stop` among
    them, as in `when(h < 0, stop)`, ends the run. The guard and the values are quantities of the flow, `when1`,
    `when1_v`, and so on; those that are numbers are parameters.

    Args:
        text: equations as in `system`, with statements `when(...)`.
        parameters: values of parameters by name, for names that are not keywords of Python.
        values: values of parameters by name.

    Raises:
        ArgumentError: as `system` does; for equations of a map or with noise; for a text without `when`.
    """
    instance("text", text, str | Path, "a text or the path of a file")
    read = with_transitions(text_of(text))
    if not read.statements:
        raise ArgumentError("text", "have a statement such as `when(v > 1, v = 0)`", "has none")
    flow = system(read.text, parameters, **values)
    if not isinstance(flow, EquationFlow):
        raise ArgumentError("text", "be equations of a flow without noise", "is not")
    known = {**dict.fromkeys(flow.names), **flow.parameters}
    for one in read.statements:
        for target in one.targets:
            if target not in known:
                raise ArgumentError("text", "set components or parameters", f"sets `{target}`{nearest(target, known)}")
    names = tuple(one.name for one in read.statements)
    return HybridSystem(flow, _Transitions(read.statements), names, read.conditions)


class _Transitions(eqx.Module):
    """The transitions of a phase, from its flow."""

    statements: tuple[WhenStatement, ...] = eqx.field(static=True)

    def __call__(self, flow: Any) -> list[Transition]:
        return [
            Transition(one.name, Event(_Guard(flow, one.name), one.direction), _Reset(one), terminal=one.terminal)
            for one in self.statements
        ]


class _Guard(eqx.Module):
    """The number whose zero is a transition."""

    flow: EquationFlow
    name: str = eqx.field(static=True)

    def __call__(self, t: Time, x: State) -> Scalar:
        return _value(self.flow, self.name, t, x)


class _Reset(eqx.Module):
    """The flow and the state after a transition."""

    statement: WhenStatement = eqx.field(static=True)

    def __call__(self, flow: Any, t: Any, x: Any) -> tuple[Any, Any]:
        one = self.statement
        found = {name: _value(flow, f"{one.name}_{name}", t, x) for name in one.targets}
        after = jnp.asarray(x)
        for name, value in found.items():
            if name in flow.names:
                after = after.at[flow.names.index(name)].set(value)
        moved = {name: np.asarray(value) for name, value in found.items() if name not in flow.names}
        return changed(flow, moved) if moved else flow, after


def _value(flow: EquationFlow, name: str, t: Any, x: Any) -> Array:
    """A quantity of a flow; one that is a number is a parameter."""
    return flow.parameters[name] if name in flow.parameters else flow.quantity(name, t, x)

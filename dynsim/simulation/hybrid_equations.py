"""Hybrid systems from equations as text, whose statements `when(...)` are transitions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.printing import one_line
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import instance
from dynsim.equations.characters import PlainText, source
from dynsim.equations.files import text_of
from dynsim.equations.flows import EquationFlow
from dynsim.equations.system import system
from dynsim.equations.tokens import CLOSED, OPEN, Token, statements
from dynsim.errors import ArgumentError, nearest
from dynsim.integrators.base import Event
from dynsim.simulation.hybrid import Transition
from dynsim.systems.named import changed

DIRECTIONS = {">": 1, ">=": 1, "<": -1, "<=": -1, "==": 0}
STOP = "stop"


class WhenStatement(NamedTuple):
    """A statement `when(guard, name = value, ...)`: its name, direction, what it sets, and whether runs end."""

    name: str
    direction: int
    targets: tuple[str, ...]
    terminal: bool


class HybridSystem(NamedTuple):
    """A flow from equations as text, with its transitions.

    Attributes:
        flow: the flow of the first phase.
        transitions: a function that returns the transitions of a phase from its flow, as `simulate_hybrid` takes it.
        names: names of the transitions.
    """

    flow: EquationFlow
    transitions: "_Transitions"
    names: tuple[str, ...]

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
    plain = source(text_of(text))
    found: list[WhenStatement] = []
    lines = [_line(plain, part.tokens, found) for part in statements(plain) if part.tokens]
    if not found:
        raise ArgumentError("text", "have a statement such as `when(v > 1, v = 0)`", "has none")
    comments = [f"# {part.comment}" for part in statements(plain) if part.comment and not part.tokens]
    flow = system("\n".join([*lines, *comments]), parameters, **values)
    if not isinstance(flow, EquationFlow):
        raise ArgumentError("text", "be equations of a flow without noise", "is not")
    known = {**dict.fromkeys(flow.names), **flow.parameters}
    for one in found:
        for target in one.targets:
            if target not in known:
                raise ArgumentError("text", "set components or parameters", f"sets `{target}`{nearest(target, known)}")
    return HybridSystem(flow, _Transitions(tuple(found)), tuple(one.name for one in found))


def _line(text: PlainText, words: Sequence[Token], found: list[WhenStatement]) -> str:
    """A statement as it is, or the definitions that a statement `when(...)` stands for."""
    end = words[-1].at + len(words[-1].text)
    is_when = words[0].text == "when" and len(words) > 1 and words[1].text == "("
    if not is_when:
        rest = text.plain[end:].split("\n", 1)[0]
        comment = rest[rest.index("#") :] if "#" in rest and ";" not in rest.split("#")[0] else ""
        return f"{text.plain[words[0].at : end]} {comment}"
    guard, *sets = _arguments(words[2:-1])
    name = f"when{len(found) + 1}"
    signs = [k for k, word in enumerate(guard) if word.text in DIRECTIONS]
    if len(signs) != 1 or not 0 < signs[0] < len(guard) - 1 or words[-1].text != ")":
        raise text.error(words[0].at, "give `when` a comparison first, as in `when(v > 1, v = 0)`", "gives another one")
    left, right = (_joined(text, part) for part in (guard[: signs[0]], guard[signs[0] + 1 :]))
    terminal = any([word.text for word in part] == [STOP] for part in sets)
    sets = [part for part in sets if [word.text for word in part] != [STOP]]
    lines, targets = [f"{name} = ({left}) - ({right})"], list[str]()
    for part in sets:
        if len(part) < 3 or part[0].kind != "name" or part[1].text != "=":
            raise text.error(part[0].at if part else words[0].at, "set names, as in `v = 0`, or `stop`", "does not")
        targets.append(part[0].text)
        lines.append(f"{name}_{part[0].text} = {_joined(text, part[2:])}")
    if len(set(targets)) < len(targets):
        raise text.error(words[0].at, "set each name once in a transition", "sets one twice")
    found.append(WhenStatement(name, DIRECTIONS[guard[signs[0]].text], tuple(targets), terminal))
    return "\n".join(lines)


def _arguments(words: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the commas that are not in brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.text in OPEN) - (word.text in CLOSED)
        if word.text == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _joined(text: PlainText, words: Sequence[Token]) -> str:
    """The text of some tokens."""
    return text.plain[words[0].at : words[-1].at + len(words[-1].text)].replace("\n", " ")


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

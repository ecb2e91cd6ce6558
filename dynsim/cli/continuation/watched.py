"""Marks and stops of `dynsim continue`: formulas of components and parameters as functions along branches."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dynsim.cli.continuation.options import Continue
from dynsim.errors import ArgumentError

if TYPE_CHECKING:
    from analysis.dynamics.continuation.steps import Steps
    from dynsim.systems.parameter import Parameter

PERIOD = "period"  # name of the period of an orbit in a formula
SIDES = re.compile(r"([^<>=!]+)(=|<|>)([^<>=!]+)")
NAME = re.compile(r"[^\W\d]\w*'*(?![\w'(])")  # not that of a function
CONSTANTS = ("pi", "e")


def check_watched(o: Continue) -> None:
    """Raise `ValueError` for a mark or a stop that is no formula of its kind."""
    for text in o.mark:
        _sides("mark", text)
    for text in o.stop:
        if _sides("stop", text)[1] not in ("<", ">"):
            raise ArgumentError("stop", "be a condition such as `x > 3`, with < or >", f"is `{text}`")


def watched(
    steps: "Steps", o: Continue, parameter: "Parameter", state: Callable[[], Any], *, orbits: bool = False
) -> "Steps":
    """Add the functions of `--mark` and `--stop` to the steps along branches of equilibria, or of periodic orbits.

    `state` gives a state of the system, by which its components are named. Along equilibria these are the formulas
    without the period, along periodic orbits those without components.

    Raises:
        ValueError: for a formula with an unknown name, or with the period and a component.
    """
    if not (o.mark or o.stop):
        return steps
    functions = lambda name, texts: _functions(name, texts, parameter, state(), orbits)
    return replace(steps, marks=functions("mark", o.mark), stops=functions("stop", o.stop))


def _functions(
    option: str, texts: tuple[str, ...], parameter: "Parameter", state: Any, orbits: bool
) -> dict[str, Callable[[Any, float], Any]]:
    """Build the functions of an option that apply along equilibria, or along periodic orbits."""
    import numpy as np

    from dynsim.systems.named import components, listed, parameters

    names = components(parameter.system, state).names
    known = {name: float(np.ravel(a)[0]) for name, a in parameters(parameter.system).items() if np.size(a) == 1}
    known = {name: value for name, value in known.items() if name.isidentifier() and name not in names}
    known[parameter.name] = parameter.value
    made = {}
    for text in texts:
        left, sign, right = _sides(option, text)
        formula = f"({right}) - ({left})" if sign == "<" else f"({left}) - ({right})"
        words = set(NAME.findall(formula))
        if unknown := sorted(words - {*names, *known, PERIOD, *CONSTANTS}):
            must = f"be a formula of {listed((*names, *known))}, and of `{PERIOD}` along periodic orbits"
            raise ArgumentError(option, must, f"`{text}` names `{unknown[0]}`")
        timed, placed = PERIOD in words and PERIOD not in {*names, *known}, bool(words & {*names})
        if timed and placed:
            raise ArgumentError(option, "have no component beside the period, along which it varies", f"is `{text}`")
        if orbits and not placed:
            made[text] = _function(option, formula, (PERIOD,) if timed else (), known, parameter.name)
        elif not orbits and not timed:
            made[text] = _function(option, formula, names, known, parameter.name)
    return made


def _function(
    option: str, formula: str, names: tuple[str, ...], known: dict[str, float], varied: str
) -> Callable[[Any, float], Any]:
    """Build a function of a state, or of an orbit with its period, and of the parameter from a formula of names."""
    import numpy as np
    from jax.flatten_util import ravel_pytree

    from dynsim.cli.parsing.options import typed_as
    from dynsim.equations.system import system
    from dynsim.systems.named import changed

    orders = {name: f"{name}'" for name in names if f"{name}'" not in names}  # the highest derivative of each name
    lines = [f"{rate} = 0" for rate in orders.values()] or ["unused' = 0"]
    lines += [f"{name} = {value!r}" for name, value in known.items()]
    with typed_as(text=option):
        made: Any = system("; ".join([*lines, f"watched = 0*{varied} + {formula}"]))

    def value(state: Any, at: float) -> Any:
        rows = np.ravel(state.period) if hasattr(state, "period") else np.asarray(ravel_pytree(state)[0])
        return changed(made, {varied: at}).quantity("watched", 0.0, rows)

    return value


def _sides(option: str, text: str) -> tuple[str, str, str]:
    """Split a formula at its sign of comparison: both sides, and the sign; a formula without one is compared with 0."""
    found = SIDES.fullmatch(text)
    if found is None and re.search("[<>=!]", text) is None and text.strip():
        return text, "=", "0"
    if found is None:
        must = "be a formula that vanishes, such as `x - 1` or `x = 1`" if option == "mark" else "be a condition"
        raise ArgumentError(option, must, f"is `{text}`")
    return found[1].strip(), found[2], found[3].strip()

"""Write equations as a model in SBML."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynsim.equations.flows import EquationFlow
from dynsim.equations.lines import EquationLine
from dynsim.equations.sbml_math import constant, libsbml, name, node_of, operated
from dynsim.equations.transitions import TransitionRule
from dynsim.equations.writing import Format
from dynsim.errors import ArgumentError

LEVEL, VERSION = 3, 2  # the first with min and max


def to_sbml(system: Any, parts: Sequence[EquationLine], form: Format, rules: Sequence[TransitionRule]) -> str:
    """Equations as a model whose variables are parameters with rate rules and assignment rules, and events.

    Functions are written out, because those of SBML cannot use other quantities.
    """
    if any(rule.terminal for rule in rules):
        raise ArgumentError("to", "be xpp for transitions that end the run, which SBML does not have", "is `sbml`")
    if not isinstance(system, EquationFlow):
        raise ArgumentError("to", "be another format for a map", "is `sbml`")
    library = libsbml()
    states, numbers = list(system.names), system.parameters
    own = {*states, *numbers, *(line.name for line in parts)}
    renamed = lambda body: tuple(
        one._replace(value=form.name(str(one.value))) if one.kind == "name" else one for one in body
    )
    functions = {line.name: (line.arguments, renamed(line.body)) for line in parts if line.kind == "function"}
    document = library.SBMLDocument(LEVEL, VERSION)
    model = document.createModel()
    model.setId("model")

    def declared(word: str, value: float | None, *, constant: bool) -> None:
        one = model.createParameter()
        if one.setId(form.name(word)) != library.LIBSBML_OPERATION_SUCCESS or model.getNumParameters() > len(ids):
            raise ArgumentError("to", "be another format for names that SBML does not allow", f"is `sbml` for `{word}`")
        one.setConstant(constant)
        if value is not None:
            one.setValue(value)

    definitions = [line for line in parts if line.kind == "definition"]
    ids = {form.name(word) for word in (*numbers, *states, *(line.name for line in definitions))}
    set_by_rules = {word for rule in rules for word in rule.sets}
    for word, value in numbers.items():
        declared(word, float(np.asarray(value)), constant=word not in set_by_rules)
    for word, value in zip(states, system.start or (0.0,) * len(states), strict=True):
        declared(word, value, constant=False)
    for line in definitions:
        declared(line.name, None, constant=False)

    def given(part: Any, body: Any) -> None:
        if part.setMath(node_of(renamed(body), functions, own)) != library.LIBSBML_OPERATION_SUCCESS:
            raise ArgumentError("to", "be another format for formulas that libSBML refuses", "is `sbml`")

    def ruled(rule: Any, word: str, body: Any) -> None:
        rule.setVariable(form.name(word))
        given(rule, body)

    for line in definitions:
        ruled(model.createAssignmentRule(), line.name, line.body)
    for line in parts:
        if line.kind == "derivative":
            for k in range(1, line.order):
                ruled(model.createRateRule(), line.name + "'" * (k - 1), name(line.name + "'" * k))
            ruled(model.createRateRule(), line.name + "'" * max(0, line.order - 1), line.body)
    for rule in rules:
        for sign in [rule.direction] if rule.direction else [1, -1]:
            event = model.createEvent()
            event.setUseValuesFromTriggerTime(True)
            trigger = event.createTrigger()
            trigger.setInitialValue(True)  # it occurs where the condition becomes true, not at a start where it is
            trigger.setPersistent(True)
            given(trigger, operated("gt" if sign > 0 else "lt", rule.guard, constant(0)))
            for word, body in rule.sets.items():
                ruled(event.createEventAssignment(), word, body)
    return library.writeSBMLToString(document).rstrip()

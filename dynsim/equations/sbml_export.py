"""Write equations as a model in SBML."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynsim.equations.flows import EquationFlow
from dynsim.equations.lines import EquationLine
from dynsim.equations.sbml_math import libsbml, name, node_of
from dynsim.equations.writing import Format
from dynsim.errors import ArgumentError

LEVEL, VERSION = 3, 2  # the first with min and max


def to_sbml(system: Any, parts: Sequence[EquationLine], form: Format) -> str:
    """Equations as a model whose variables are parameters with rate rules and assignment rules.

    Functions are written out, because those of SBML cannot use other quantities.
    """
    if not isinstance(system, EquationFlow):
        raise ArgumentError("to", "be another format for a map", "is `sbml`")
    library = libsbml()
    states, numbers = list(system.names), system.parameters
    own = {*states, *numbers, *(line.name for line in parts)}
    functions = {line.name: (line.arguments, line.body) for line in parts if line.kind == "function"}
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
    for word, value in numbers.items():
        declared(word, float(np.asarray(value)), constant=True)
    for word, value in zip(states, system.start or (0.0,) * len(states), strict=True):
        declared(word, value, constant=False)
    for line in definitions:
        declared(line.name, None, constant=False)

    def ruled(rule: Any, word: str, body: Any) -> None:
        rule.setVariable(form.name(word))
        rule.setMath(node_of([one._replace(value=form.name(str(one.value))) if one.kind == "name" else one
                              for one in body], functions, own))  # fmt: skip

    for line in definitions:
        ruled(model.createAssignmentRule(), line.name, line.body)
    for line in parts:
        if line.kind == "derivative":
            for k in range(1, line.order):
                ruled(model.createRateRule(), line.name + "'" * (k - 1), name(line.name + "'" * k))
            ruled(model.createRateRule(), line.name + "'" * max(0, line.order - 1), line.body)
    return library.writeSBMLToString(document).rstrip()

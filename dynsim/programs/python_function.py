"""Short programs as Python functions of numbers, which take a few microseconds where a compiled call takes ten."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynsim.programs.program import COMPARING, Operation, Program

LONGEST = 250
"""Most operations: with more a compiled call is faster."""
SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
NAMED = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt")
FORMS = {
    "add": "{0} + {1}", "add_any": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "neg": "-{0}", "square": "{0} * {0}", "abs": "abs({0})", "pow": "math.pow({0}, {1})",
    "rsqrt": "1.0 / math.sqrt({0})",
    "logistic": "1.0 / (1.0 + math.exp(-{0}))", "sign": "1.0 if {0} > 0 else -1.0 if {0} < 0 else 0.0 * {0}",
    "max": "{0} if {0} > {1} or {0} != {0} else {1}", "min": "{0} if {0} < {1} or {0} != {0} else {1}",
    "clamp": "{2} if {1} > {2} or {0} > {2} else {0} if {1} < {0} else {1}",
    "floor": "float(math.floor({0}))",
    "is_finite": "math.isfinite({0})",
    **{name: f"math.{name}({{0}})" for name in NAMED},
    **{name: f"{{0}} {SYMBOLS[name]} {{1}}" for name in COMPARING},
}  # fmt: skip
"""Python expressions of operations on floats."""
LOGIC = {"and": "{0} and {1}", "or": "{0} or {1}", "xor": "{0} != {1}", "not": "not {0}"}
"""Python expressions of operations on truth values."""


def python_function(program: Program, longest: int = LONGEST) -> Callable[[Sequence[float]], list[float]] | None:
    """A Python function from all input entries to all output entries, or None if a program is long or has others.

    Its results are those of compiled programs up to rounding. Where a number is not finite it may raise
    `ArithmeticError` or `ValueError`, as Python's `math` does.
    """
    body = _body(program, longest)
    if body is None:
        return None
    names, lines, outputs = body
    lines = [f"{_listed(names)} = x", *lines] if names else lines
    source = "\n    ".join(["def function(x):", *lines, f"return [{', '.join(outputs)}]"])
    return _made(source)["function"]


Field = Callable[[float, np.ndarray], np.ndarray]


def field_maker(program: Program) -> Callable[[Sequence[float], Field], Field] | None:
    """The same as a function of a time and a vector, from the other inputs and a function that serves where it cannot.

    It returns a vector of the outputs. The other function is called where a number is not finite.
    """
    names, lines, outputs = _body(program, LONGEST) or ([], [], [])
    if not outputs:
        return None
    count = int(np.prod(program.shapes[1], dtype=int))
    ahead = [f"{_listed(names[1 + count :])} = fixed"] if names[1 + count :] else []
    state = [f"{_listed(names[1 : 1 + count])} = y.tolist()"] if count else []
    checked = ["try:", *(f"    {line}" for line in (*state, *lines)), f"    found = {_listed(outputs)}",
               f"    if ({' + '.join(outputs)}) * 0.0 == 0.0:", "        return array(found)",
               "except (ArithmeticError, ValueError):", "    pass", f"return otherwise({names[0]}, y)"]  # fmt: skip
    made = [f"def function({names[0]}, y):", *(f"    {line}" for line in checked), "return function"]
    return _made("\n    ".join(["def make(fixed, otherwise):", *ahead, *made]))["make"]


def _made(source: str) -> dict[str, Any]:
    """The functions of a text."""
    found: dict[str, Any] = {}
    exec(compile("import math\nfrom numpy import array\n" + source, "<program>", "exec"), found)
    return found


def _listed(names: Sequence[str]) -> str:
    """A tuple of names, of any length but zero."""
    return f"{', '.join(names)},"


def _body(program: Program, longest: int) -> tuple[list[str], list[str], list[str]] | None:
    """Names of the inputs, a line for each operation, and expressions of the outputs; None if one has no expression."""
    if len(program.operations) > longest or any(dtype != np.float64 for dtype in (*program.dtypes, *_results(program))):
        return None
    names = [f"x{k}" for k in range(program.num_inputs)]
    inputs, lines = names.copy(), []
    for constant in program.constants:
        names.append(repr(bool(constant)) if constant.dtype.kind == "b" else f"({float(constant)!r})")
        if constant.dtype.kind not in "fb" or not np.isfinite(constant):
            return None
    kinds = program.types
    for k, operation in enumerate(program.operations, program.first_operation):
        expression = _expression(operation, [kinds[j] for j in operation.operands])
        if expression is None:
            return None
        lines.append(f"v{k} = {expression.format(*(names[j] for j in operation.operands))}")
        names.append(f"v{k}")
    return inputs, lines, [names[k] for output in program.outputs for k in output.ravel().tolist()]


def _results(program: Program) -> list[np.dtype]:
    """Types of the results of all operations but truth values."""
    return [operation.dtype for operation in program.operations if operation.dtype.kind != "b"]


def _expression(operation: Operation, kinds: list[np.dtype]) -> str | None:
    """Python expression of an operation, with its operands as places; None if it has none."""
    name, truths = operation.name, [kind.kind == "b" for kind in kinds]
    if name == "select_n" and truths[0]:
        return "{2} if {0} else {1}"
    if name == "convert_element_type":
        return "float({0})" if operation.dtype.kind == "f" else "{0} != 0"
    if name == "integer_pow":
        power = operation.parameter
        return " * ".join(["{0}"] * power) if 0 < power <= 4 else f"math.pow({{0}}, {float(power)})"
    if all(truths):
        return LOGIC.get(name)
    return FORMS.get(name)

"""Write programs as statements of C++, for kernels that evaluate them on one thread."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynsim.programs.program import Operation, Program, ProgramError

TYPES = {
    "float64": "double", "float32": "float", "int64": "long long", "int32": "int", "int16": "short",
    "int8": "signed char", "uint64": "unsigned long long", "uint32": "unsigned", "uint16": "unsigned short",
    "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip
"""C++ type for each data type."""
INFIX = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
SAME = (
    "pow", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "floor", "ceil", "nextafter",
)  # fmt: skip
CALLS = {**{name: name for name in SAME}, "abs": "fabs", "is_finite": "isfinite"}
"""Functions of floating-point numbers that C++ has under a name of its own, for both types."""


def statements(program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Write a program as a block that reads variables and assigns others.

    ```python
    >>> print(statements(scalar_program(lambda x: x[0] * x[1] + 2.0, (2,)), ["x", "y"], ["z"]))
    {
    const double v3 = x * y;
    const double v4 = v3 + 2.0;
    z = v4;
    }
    ```

    All outputs are assigned after everything has been computed, so that they may be inputs.

    Args:
        program: the program.
        inputs: an expression for each entry of the inputs, in their order.
        outputs: an expression for each entry of the outputs that can be assigned to, in their order.

    Raises:
        ProgramError: for an operation that C++ has no function for, or numbers of another type, by its name.
    """
    names = [*inputs, *map(literal, program.constants)]
    lines = []
    for k, operation in enumerate(program.operations, program.first_operation):
        text = _expression(operation, [names[j] for j in operation.operands], program.types[operation.operands[0]])
        lines.append(f"const {type_name(operation.dtype)} v{k} = {text};")
        names.append(f"v{k}")
    places = [k for output in program.outputs for k in output.ravel().tolist()]
    for k in sorted({k for k in places if k < program.num_inputs}):  # the input may be assigned to before it is read
        lines.append(f"const {type_name(program.types[k])} v{k} = {names[k]};")
        names[k] = f"v{k}"
    lines += [f"{target} = {names[k]};" for target, k in zip(outputs, places, strict=True)]
    return "\n".join(["{", *lines, "}"])


def type_name(dtype: Any) -> str:
    """Name the C++ type of numbers."""
    if np.dtype(dtype).name not in TYPES:
        raise ProgramError(f"numbers of type {np.dtype(dtype)}")
    return TYPES[np.dtype(dtype).name]


def literal(value: Any) -> str:
    """Write a number exactly."""
    dtype = np.asarray(value).dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return f"(({type_name(dtype)}) {int(value)}LL)"
    number, single = float(value), dtype.itemsize == 4
    if not math.isfinite(number):
        name = "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "-INFINITY"
        return f"(({type_name(dtype)}) {name})"
    text = str(np.float32(value)) if single else repr(number)
    text += "" if any(c in text for c in ".e") else ".0"
    text += "f" if single else ""
    return f"({text})" if math.copysign(1, number) < 0 else text


def _expression(operation: Operation, given: list[str], kind: np.dtype) -> str:
    """Write one operation on expressions of a type."""
    name = operation.name
    if name in SPECIAL:
        return SPECIAL[name](operation, given, kind)
    if name in INFIX:
        return f"{given[0]} {INFIX[name]} {given[1]}"
    if name in CALLS and kind.kind == "f":
        return f"{CALLS[name]}({', '.join(given)})"
    raise ProgramError(f"`{name}` of numbers of type {kind}, which kernels do not have")


def _integer_power(operation: Operation, given: list[str], kind: np.dtype) -> str:
    exponent, one = operation.parameter, literal(kind.type(1))
    if exponent < 0:
        return f"{one} / ({_power_text(given[0], -exponent)})"
    return _power_text(given[0], exponent) if exponent else one


def _power_text(base: str, exponent: int) -> str:
    """Write a positive integer power by repeated squaring."""
    if exponent == 1:
        return base
    half = _power_text(base, exponent // 2)
    square = f"({half}) * ({half})"
    return f"({square}) * {base}" if exponent % 2 else square


def _selected(_: Operation, given: list[str], kind: np.dtype) -> str:
    which, *cases = given
    if kind.kind == "b":
        return f"{which} ? {cases[1]} : {cases[0]}"
    text = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        text = f"({which} <= {k} ? {cases[k]} : {text})"
    return text


def _converted(operation: Operation, given: list[str], kind: np.dtype) -> str:
    if operation.dtype.kind == "b":
        return f"{given[0]} != {literal(kind.type(0))}"
    if operation.dtype.kind in "iu" and kind.kind == "f":
        raise ProgramError(f"`convert_element_type` of numbers of type {kind}, which kernels do not have")
    return f"({type_name(operation.dtype)}) {given[0]}"


def _larger(sign: str) -> Callable[..., str]:
    return lambda operation, given, kind: (
        f"({given[0]} {sign} {given[1]} || {given[0]} != {given[0]}) ? {given[0]} : {given[1]}"
    )


def _clamped(_: Operation, given: list[str], __: np.dtype) -> str:
    low, a, high = given
    raised = f"(({a} < {low}) ? {low} : {a})"
    undefined = " : ".join(f"({x} != {x}) ? {x}" for x in (a, low, high))
    return f"{undefined} : (({raised} > {high}) ? {high} : {raised})"


def _logistic(_: Operation, given: list[str], kind: np.dtype) -> str:
    one = literal(kind.type(1))
    return f"{one} / ({one} + exp(-{given[0]}))"


def _one_minus_square(_: Operation, given: list[str], kind: np.dtype) -> str:
    one = literal(kind.type(1))
    return f"({one} - {given[0]}) * ({one} + {given[0]})"


def _sign(_: Operation, given: list[str], kind: np.dtype) -> str:
    a, zero = given[0], literal(kind.type(0))
    return f"({a} > {zero}) ? {literal(kind.type(1))} : (({a} < {zero}) ? {literal(kind.type(-1))} : {a})"


def _only_floats(text: Callable[[list[str]], str]) -> Callable[..., str]:
    def write(operation: Operation, given: list[str], kind: np.dtype) -> str:
        if kind.kind != "f":
            raise ProgramError(f"`{operation.name}` of numbers of type {kind}, which kernels do not have")
        return text(given)

    return write


SPECIAL: Mapping[str, Callable[..., str]] = {
    "neg": lambda operation, given, kind: f"-{given[0]}",
    "not": lambda operation, given, kind: f"{'!' if kind.kind == 'b' else '~'}{given[0]}",
    "div": _only_floats(lambda given: f"{given[0]} / {given[1]}"),
    "rem": _only_floats(lambda given: f"fmod({given[0]}, {given[1]})"),
    "round": lambda operation, given, kind: f"{'rint' if operation.parameter == 1 else 'round'}({given[0]})",
    "rsqrt": lambda operation, given, kind: f"{literal(kind.type(1))} / sqrt({given[0]})",
    "square": lambda operation, given, kind: f"{given[0]} * {given[0]}",
    "integer_pow": _integer_power, "select_n": _selected, "convert_element_type": _converted, "clamp": _clamped,
    "logistic": _logistic, "one_minus_square": _one_minus_square, "sign": _sign,
    "max": _larger(">"), "min": _larger("<"),
}  # fmt: skip
"""Operations that are written in another way than as an operator or a call."""

"""Write programs as statements of C++, for kernels that evaluate them on one thread."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynsim.programs.braces import INFIX, SHARED, Language, block
from dynsim.programs.program import Operation, Program, ProgramError

TYPES = {
    "float64": "double", "float32": "float", "int64": "long long", "int32": "int", "int16": "short",
    "int8": "signed char", "uint64": "unsigned long long", "uint32": "unsigned", "uint16": "unsigned short",
    "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip
"""C++ type for each data type."""
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
    return block(Language(literal, lambda dtype: f"const {type_name(dtype)}", _expression), program, inputs, outputs)


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
    if name in SHARED:
        return SHARED[name](operation, given, kind, literal)
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


def _converted(operation: Operation, given: list[str], kind: np.dtype) -> str:
    if operation.dtype.kind == "b":
        return f"{given[0]} != {literal(kind.type(0))}"
    if operation.dtype.kind in "iu" and kind.kind == "f":
        raise ProgramError(f"`convert_element_type` of numbers of type {kind}, which kernels do not have")
    return f"({type_name(operation.dtype)}) {given[0]}"


def _divided(real: Callable[[str, str], str], whole: Callable[[str, str, str], str]) -> Callable[..., str]:
    """Write a quotient or remainder; of whole numbers JAX gives -1 and the number itself where the divisor is zero."""

    def write(_: Operation, given: list[str], kind: np.dtype) -> str:
        if kind.kind == "f":
            return real(*given)
        return whole(given[0], given[1], literal(kind.type(1)))

    return write


def _shifted(sign: str) -> Callable[..., str]:
    def write(operation: Operation, given: list[str], kind: np.dtype) -> str:
        if kind.kind != "u":
            raise ProgramError(f"`{operation.name}` of numbers of type {kind}, which kernels do not have")
        return f"{given[0]} {sign} {given[1]}"

    return write


SPECIAL: Mapping[str, Callable[[Operation, list[str], np.dtype], str]] = {
    "not": lambda operation, given, kind: f"{'!' if kind.kind == 'b' else '~'}{given[0]}",
    "div": _divided(lambda a, b: f"{a} / {b}", lambda a, b, one: f"{b} == 0 ? -{one} : {a} / {b}"),
    "rem": _divided(lambda a, b: f"fmod({a}, {b})", lambda a, b, one: f"{b} == 0 ? {a} : {a} % {b}"),
    "round": lambda operation, given, kind: f"{'rint' if operation.parameter == 1 else 'round'}({given[0]})",
    "integer_pow": _integer_power, "convert_element_type": _converted,
    "erf_inv": lambda operation, given, kind: f"erfinv{'f' if kind.itemsize == 4 else ''}({given[0]})",  # of CUDA
    "shift_left": _shifted("<<"), "shift_right_logical": _shifted(">>"),
}  # fmt: skip
"""Operations that C++ writes in its own way."""

"""Write programs as JavaScript, which does the operations of the NumPy evaluator in the same order."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynsim.programs.braces import INFIX, SHARED, Language, block
from dynsim.programs.program import COMPARING, Operation, Program, ProgramError

SAME = (
    "pow", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erf_inv", "lgamma", "digamma", "igamma",
    "igammac", "bessel_i0e", "bessel_i1e", "floor", "ceil", "is_finite",
)  # fmt: skip
"""Operations that are calls of functions of `FUNCTIONS`, under their own names."""


def functions() -> str:
    """The JavaScript functions that the generated text calls, such as `erf`; it comes first on a page."""
    return Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def statements(program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Write a program as a block of JavaScript that reads variables and assigns others.

    ```python
    >>> print(statements(scalar_program(lambda x: x[0] * x[1] + 2.0, (2,)), ["x", "y"], ["z"]))
    {
    const v3 = x * y;
    const v4 = v3 + 2.0;
    z = v4;
    }
    ```

    Sums, products, quotients and roots equal NumPy's to the last bit, other functions to rounding. Numbers of single
    precision are rounded after each operation. Integers of up to 32 bits wrap around as in JAX; longer ones are exact
    up to 2^53, and NaN beyond. All outputs are assigned after everything has been computed.

    Args:
        program: the program.
        inputs: an expression for each entry of the inputs, in their order.
        outputs: an expression for each entry of the outputs that can be assigned to, in their order.

    Raises:
        ProgramError: for an operation or a type of numbers that JavaScript does not have, by its name.
    """
    for kind in program.types:
        _check_type(kind)
    return block(Language(literal, lambda _: "const", _expression), program, inputs, outputs)


def literal(value: Any) -> str:
    """Write a number exactly."""
    dtype = np.asarray(value).dtype
    _check_type(dtype)
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        if abs(int(value)) > 2**53:
            raise ProgramError(f"the integer {int(value)}, which JavaScript does not have exactly")
        return f"({int(value)})"
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "(-Infinity)"
    return f"({number!r})" if math.copysign(1, number) < 0 else repr(number)


def _check_type(kind: np.dtype) -> None:
    if kind.kind not in "biuf" or kind.kind == "f" and kind.itemsize not in (4, 8):
        raise ProgramError(f"numbers of type {kind}, which JavaScript does not have")


def _expression(operation: Operation, given: list[str], kind: np.dtype) -> str:
    """Write one operation, with its result rounded or wrapped to its type."""
    text, result = _written(operation, given, kind), operation.dtype
    if operation.name in COMPARING or operation.name in ("select_n", "is_finite") or result.kind == "b":
        return text
    if result.kind == "f":
        return text if result.itemsize == 8 else f"fround({text})"
    if result.itemsize == 8:
        return f"whole({text}, {'0' if result.kind == 'u' else '-LARGEST'})"
    bits = 32 - 8 * result.itemsize
    shift = ">>>" if result.kind == "u" else ">>"
    return f"({text} << {bits}) {shift} {bits}" if bits else f"({text}) {shift} 0"


def _written(operation: Operation, given: list[str], kind: np.dtype) -> str:
    name = operation.name
    if name in SPECIAL:
        return SPECIAL[name](operation, given, kind)
    if name in ("and", "or", "xor") and kind.kind != "b" and kind.itemsize == 8:
        raise ProgramError(f"`{name}` of numbers of type {kind}, which JavaScript does not have")
    if name in SHARED:
        return SHARED[name](operation, given, kind, literal)
    if name in INFIX:
        return f"{given[0]} {INFIX[name]} {given[1]}"
    if name in SAME and kind.kind == "f":
        return f"{name}({', '.join(given)})"
    raise ProgramError(f"`{name}` of numbers of type {kind}, which JavaScript does not have")


def _product(_: Operation, given: list[str], kind: np.dtype) -> str:
    return f"imul({given[0]}, {given[1]})" if kind.kind in "iu" and kind.itemsize < 8 else f"{given[0]} * {given[1]}"


def _quotient(_: Operation, given: list[str], kind: np.dtype) -> str:
    return f"{given[0]} / {given[1]}" if kind.kind == "f" else f"quotient({given[0]}, {given[1]})"


def _remainder(_: Operation, given: list[str], kind: np.dtype) -> str:
    text = f"{given[0]} % {given[1]}"
    return text if kind.kind == "f" else f"{given[1]} == 0 ? {given[0]} : {text}"


def _integer_power(operation: Operation, given: list[str], kind: np.dtype) -> str:
    """Write an integer power by repeated squaring, in the order of NumPy's."""
    a, exponent = given[0], operation.parameter
    if 2 <= exponent <= 4 and kind == np.float64:
        return (f"{a} * {a}", f"{a} * ({a} * {a})", f"({a} * {a}) * ({a} * {a})")[exponent - 2]
    if kind.kind != "f":
        raise ProgramError(f"`integer_pow` of numbers of type {kind}, which JavaScript does not have")
    return f"integer_pow({a}, {exponent}, {'fround' if kind.itemsize == 4 else 'unchanged'})"


def _shifted(sign: str) -> Callable[..., str]:
    def write(operation: Operation, given: list[str], kind: np.dtype) -> str:
        if kind.kind != "u" or kind.itemsize == 8:
            raise ProgramError(f"`{operation.name}` of numbers of type {kind}, which JavaScript does not have")
        return f"{given[0]} {sign} {given[1]}"

    return write


def _not(_: Operation, given: list[str], kind: np.dtype) -> str:
    return f"!{given[0]}" if kind.kind == "b" else f"-1 - {given[0]}"


def _converted(operation: Operation, given: list[str], kind: np.dtype) -> str:
    """Convert numbers; for an integer type, floats saturate at its bounds, and NaN becomes zero."""
    to = operation.dtype
    if to.kind == "b":
        return f"{given[0]} != 0"
    if to.kind in "iu" and kind.kind == "f":
        ends = np.iinfo(to)
        return f"saturated({given[0]}, {int(ends.min)}, {int(ends.max)})"
    return f"+{given[0]}"


def _rounded(operation: Operation, given: list[str], _: np.dtype) -> str:
    return f"{'rint' if operation.parameter == 1 else 'round_away'}({given[0]})"


def _next(_: Operation, given: list[str], kind: np.dtype) -> str:
    return f"nextafter({given[0]}, {given[1]}, {'ONE_SINGLE' if kind.itemsize == 4 else 'ONE_DOUBLE'})"


SPECIAL: Mapping[str, Callable[[Operation, list[str], np.dtype], str]] = {
    "mul": _product, "div": _quotient, "rem": _remainder, "integer_pow": _integer_power, "not": _not,
    "abs": lambda _, given, __: f"abs({given[0]})",
    "convert_element_type": _converted, "round": _rounded, "nextafter": _next,
    "shift_left": _shifted("<<"), "shift_right_logical": _shifted(">>>"),
}  # fmt: skip
"""Operations that JavaScript writes in its own way."""

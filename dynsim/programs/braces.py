"""Write programs as statements of languages with the syntax of C, each given by its numbers and its functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynsim.programs.program import Operation, Program

INFIX = {
    "add": "+", "add_any": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
Writer = Callable[[Operation, list[str], np.dtype, Callable[[Any], str]], str]
"""A function of an operation, the texts and the type of its operands, and the function that writes numbers."""


class Language(NamedTuple):
    """What a language writes in its own way.

    Attributes:
        literal: the text of a number.
        declared: the words before the name of a new value of a type.
        expression: the text of an operation, from the texts and the type of its operands.
    """

    literal: Callable[[Any], str]
    declared: Callable[[Any], str]
    expression: Callable[[Operation, list[str], np.dtype], str]


def block(language: Language, program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """Write a program as a block that reads variables and assigns others, all of them after everything is computed.

    Args:
        language: the language.
        program: the program.
        inputs: an expression for each entry of the inputs, in their order.
        outputs: an expression for each entry of the outputs that can be assigned to, in their order.

    Raises:
        ProgramError: for an operation or a type of numbers that the language does not have, by its name.
    """
    names = [*inputs, *map(language.literal, program.constants)]
    lines = []
    for k, operation in enumerate(program.operations, program.first_operation):
        given = [names[j] for j in operation.operands]
        text = language.expression(operation, given, program.types[operation.operands[0]])
        lines.append(f"{language.declared(operation.dtype)} v{k} = {text};")
        names.append(f"v{k}")
    places = [k for output in program.outputs for k in output.ravel().tolist()]
    for k in sorted({k for k in places if k < program.num_inputs}):  # the input may be assigned to before it is read
        lines.append(f"{language.declared(program.types[k])} v{k} = {names[k]};")
        names[k] = f"v{k}"
    lines += [f"{target} = {names[k]};" for target, k in zip(outputs, places, strict=True)]
    return "\n".join(["{", *lines, "}"])


def _selected(_: Operation, given: list[str], kind: np.dtype, __: Any) -> str:
    which, *cases = given
    if kind.kind == "b":
        return f"{which} ? {cases[1]} : {cases[0]}"
    text = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        text = f"({which} <= {k} ? {cases[k]} : {text})"
    return text


def _larger(sign: str) -> Writer:
    return lambda operation, given, kind, literal: (
        f"({given[0]} {sign} {given[1]} || {given[0]} != {given[0]}) ? {given[0]} : {given[1]}"
    )


def _clamped(_: Operation, given: list[str], __: np.dtype, ___: Any) -> str:
    low, a, high = given
    raised = f"(({a} < {low}) ? {low} : {a})"
    undefined = " : ".join(f"({x} != {x}) ? {x}" for x in (a, low, high))
    return f"{undefined} : (({raised} > {high}) ? {high} : {raised})"


def _logistic(_: Operation, given: list[str], kind: np.dtype, literal: Callable[[Any], str]) -> str:
    one = literal(kind.type(1))
    return f"{one} / ({one} + exp(-{given[0]}))"


def _one_minus_square(_: Operation, given: list[str], kind: np.dtype, literal: Callable[[Any], str]) -> str:
    one = literal(kind.type(1))
    return f"({one} - {given[0]}) * ({one} + {given[0]})"


def _sign(_: Operation, given: list[str], kind: np.dtype, literal: Callable[[Any], str]) -> str:
    a, zero = given[0], literal(kind.type(0))
    return f"({a} > {zero}) ? {literal(kind.type(1))} : (({a} < {zero}) ? {literal(kind.type(-1))} : {a})"


SHARED: Mapping[str, Writer] = {
    "neg": lambda operation, given, kind, literal: f"-{given[0]}",
    "rsqrt": lambda operation, given, kind, literal: f"{literal(kind.type(1))} / sqrt({given[0]})",
    "square": lambda operation, given, kind, literal: f"{given[0]} * {given[0]}",
    "select_n": _selected, "clamp": _clamped, "logistic": _logistic, "one_minus_square": _one_minus_square,
    "sign": _sign, "max": _larger(">"), "min": _larger("<"),
}  # fmt: skip
"""Operations that are written in the same way in all of these languages, and neither as an operator nor as a call."""

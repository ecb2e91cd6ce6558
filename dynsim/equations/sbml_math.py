"""Expressions of SBML, which are MathML, as instructions of our grammar, and back."""

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dynsim.equations.characters import source
from dynsim.equations.expressions import Instruction, expression
from dynsim.equations.functions import ALIASES
from dynsim.equations.graph import MOST
from dynsim.equations.tokens import tokens
from dynsim.errors import ArgumentError

Body = tuple[Instruction, ...]

OPERATORS = {
    "MINUS": "sub", "DIVIDE": "div", "POWER": "pow", "FUNCTION_POWER": "pow", "LOGICAL_NOT": "not",
    "RELATIONAL_EQ": "eq", "RELATIONAL_NEQ": "ne", "RELATIONAL_GT": "gt", "RELATIONAL_GEQ": "ge",
    "RELATIONAL_LT": "lt", "RELATIONAL_LEQ": "le", "PLUS": "add", "TIMES": "mul", "LOGICAL_AND": "and",
    "LOGICAL_OR": "or",
}  # fmt: skip
"""Operators of MathML, and what the grammar calls them."""
NEUTRAL = {"add": 0.0, "mul": 1.0, "and": 1.0, "or": 0.0}
"""Operators that MathML applies to any number of arguments, and their values for none."""
CALLS = {
    **{f"FUNCTION_{name.upper()}": name for name in (
        "sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "sech", "csch", "coth", "exp", "abs",
        "floor", "min", "max",
    )}, **{f"FUNCTION_ARC{name.upper()}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "FUNCTION_LN": "log", "FUNCTION_CEILING": "ceil",
}  # fmt: skip
"""Functions of MathML that the grammar has."""
FORMULAS = {
    "FUNCTION_ARCCOT": "atan(1/u)", "FUNCTION_ARCSEC": "acos(1/u)", "FUNCTION_ARCCSC": "asin(1/u)",
    "FUNCTION_ARCCOTH": "atanh(1/u)", "FUNCTION_ARCSECH": "acosh(1/u)", "FUNCTION_ARCCSCH": "asinh(1/u)",
    "FUNCTION_FACTORIAL": "round(exp(lgamma(u + 1)))", "LOGICAL_IMPLIES": "not u or v",
    "FUNCTION_QUOTIENT": "if(u/v < 0, ceil(u/v), floor(u/v))",
    "FUNCTION_REM": "u - v*if(u/v < 0, ceil(u/v), floor(u/v))", "LOGICAL_XOR": "u and not v or v and not u",
}  # fmt: skip
"""Functions of MathML that the grammar lacks, as formulas in u and v."""
FORMULAS_OF_OURS = {
    "heaviside": "if(u >= 0, 1, 0)", "mod": "u - v*floor(u/v)", "hypot": "sqrt(u^2 + v^2)",
    "cbrt": "if(u < 0, -1, 1)*abs(u)^(1/3)", "sign": "if(u > 0, 1, if(u < 0, -1, 0))", "log2": "log(u)/log(2)",
    "power": "u^v",
    "round": "if(abs(u - floor(u) - 0.5) > 0, floor(u + 0.5), 2*floor(u/2 + 0.5))",
    "atan2": "if(v > 0, atan(u/v), if(v < 0, atan(u/v) + if(u < 0, -pi, pi), if(u > 0, pi/2, if(u < 0, -pi/2, 0))))",
}  # fmt: skip
"""Functions of the grammar that MathML in SBML lacks, as formulas in u and v."""
REFUSED = {"FUNCTION_DELAY": "delays", "FUNCTION_RATE_OF": "rates of change in formulas (`rateOf`)"}
"""What has no formula, and its name."""
VALUES = {
    "CONSTANT_TRUE": 1.0, "CONSTANT_FALSE": 0.0, "CONSTANT_E": math.e,
    "NAME_AVOGADRO": 6.02214179e23,
}  # fmt: skip
NUMBERS = ("INTEGER", "REAL", "REAL_E", "RATIONAL")


def libsbml() -> Any:
    """The library that reads SBML; raise `ArgumentError` if it is not installed."""
    try:
        import libsbml as found
    except ImportError:
        must = "be read and written with libSBML (`pip install dynsim[sbml]`) if it is SBML"
        raise ArgumentError("path", must, "python-libsbml is not installed") from None
    return found


def refused(what: str, where: str = "") -> ArgumentError:
    """The error for a model that has something that dynsim does not have."""
    return ArgumentError("path", "name a model without what dynsim does not have", f"has {what}{where}")


def name(word: str) -> Body:
    """A name as an expression."""
    return (Instruction("name", word, 0, 0),)


def constant(value: float) -> Body:
    """A number as an expression; a negative one is a number with a sign."""
    if not math.isfinite(value):
        raise refused("numbers that are not finite")
    found = (Instruction("number", abs(float(value)), 0, 0),)
    return operated("neg", found) if value < 0 else found


def operated(operator: str, *given: Body) -> Body:
    """An operator applied to expressions."""
    return (*(one for body in given for one in body), Instruction("operator", operator, len(given), 0))


def called(function: str, *given: Body) -> Body:
    """A function applied to expressions."""
    return (*(one for body in given for one in body), Instruction("call", function, len(given), 0))


def substituted(body: Sequence[Instruction], given: Mapping[str, Body]) -> Body:
    """An expression with expressions in place of some names."""
    found: list[Instruction] = []
    for one in body:
        found.extend(given.get(str(one.value), (one,)) if one.kind == "name" else (one,))
    return tuple(found)


@functools.cache
def parsed(text: str) -> Body:
    """An expression of our grammar."""
    plain = source(text)
    return expression(plain, tokens(plain), len(text))


def formula(text: str, *given: Body) -> Body:
    """A formula in u and v with expressions in their place."""
    return substituted(parsed(text), dict(zip("uv", given, strict=False)))


def _folded(text: str, given: Sequence[Body]) -> Body:
    """A formula in u, or in u and v with any number of expressions from left to right."""
    return functools.reduce(lambda u, v: formula(text, u, v), given) if len(given) > 1 else formula(text, *given)


@functools.cache
def _kinds() -> dict[int, str]:
    """Names of the types of nodes, without their prefix."""
    known = [*OPERATORS, *CALLS, *FORMULAS, *REFUSED, *VALUES, *NUMBERS, "NAME", "NAME_TIME", "CONSTANT_PI", "FUNCTION",
             "FUNCTION_PIECEWISE", "FUNCTION_LOG", "FUNCTION_ROOT"]  # fmt: skip
    return {getattr(libsbml(), f"AST_{one}"): one for one in known}


def body_of(node: Any, named: Callable[[str], str]) -> Body:
    """The expression of a node of MathML, whose names are looked up by a function.

    Raises:
        ArgumentError: for delays, and functions and operators that SBML packages add.
    """
    kind = _kinds().get(node.getType(), "")
    if kind in NUMBERS:
        return constant(node.getValue())
    if kind in VALUES:
        return constant(VALUES[kind])
    if kind in ("NAME_TIME", "CONSTANT_PI"):
        return name("t" if kind == "NAME_TIME" else "pi")
    if kind == "NAME":
        return name(named(node.getName()))
    if kind in REFUSED:
        raise refused(REFUSED[kind])
    given = [body_of(node.getChild(k), named) for k in range(node.getNumChildren())]
    if kind in CALLS:
        return given[0] if kind in ("FUNCTION_MIN", "FUNCTION_MAX") and len(given) == 1 else called(CALLS[kind], *given)
    if kind in OPERATORS:
        return _operation(OPERATORS[kind], given)
    if kind == "LOGICAL_XOR" and len(given) < 2:
        return given[0] if given else constant(0)
    if kind in FORMULAS:
        return _folded(FORMULAS[kind], given)
    if kind == "FUNCTION":
        called_name = named(node.getName())
        return called(called_name, *given) if given else name(called_name)
    if kind == "FUNCTION_PIECEWISE":
        return _piecewise(given)
    if kind == "FUNCTION_LOG":
        base = given[0] if len(given) > 1 else constant(10)
        return called("log10", given[-1]) if base == constant(10) else formula("log(u)/log(v)", given[-1], base)
    if kind == "FUNCTION_ROOT":
        degree = given[0] if len(given) > 1 else constant(2)
        return called("sqrt", given[-1]) if degree == constant(2) else formula("u^(1/v)", given[-1], degree)
    raise refused(f"the function `{node.getName() or node.getOperatorName() or 'of a package'}`")


def _operation(operator: str, given: Sequence[Body]) -> Body:
    if operator in NEUTRAL:
        return functools.reduce(lambda u, v: operated(operator, u, v), given) if given else constant(NEUTRAL[operator])
    if operator == "sub" and len(given) == 1:
        return operated("neg", given[0])
    if len(given) > 2:  # a chain of comparisons
        pairs = [operated(operator, u, v) for u, v in zip(given, given[1:], strict=False)]
        return functools.reduce(lambda u, v: operated("and", u, v), pairs)
    return operated(operator, *given)


def _piecewise(given: Sequence[Body]) -> Body:
    if len(given) % 2 == 0:
        raise refused("a piecewise formula without a value for all other cases")
    found = given[-1]
    for k in range(len(given) - 3, -1, -2):
        found = called("if", given[k + 1], given[k], found)
    return found


def guard_of(node: Any, named: Callable[[str], str]) -> Body:
    """A number that is positive where the condition of an event is true, and continuous if its parts are."""
    kind = OPERATORS.get(_kinds().get(node.getType(), ""), _kinds().get(node.getType(), ""))
    children = [node.getChild(k) for k in range(node.getNumChildren())]
    if kind in ("gt", "ge", "lt", "le") and len(children) == 2:
        left, right = (body_of(one, named) for one in children)
        return operated("sub", left, right) if kind in ("gt", "ge") else operated("sub", right, left)
    if kind in ("and", "or", "not", "LOGICAL_XOR") and children:
        parts = [guard_of(one, named) for one in children]
        if kind == "not":
            return operated("neg", parts[0])
        if kind == "LOGICAL_XOR":
            return functools.reduce(lambda u, v: formula("max(min(u, -v), min(v, -u))", u, v), parts)
        return called("min" if kind == "and" else "max", *parts) if len(parts) > 1 else parts[0]
    if kind in ("CONSTANT_TRUE", "CONSTANT_FALSE"):
        return constant(1 if kind == "CONSTANT_TRUE" else -1)
    raise refused("the trigger of an event that is not made of <, <=, > and >=")


def node_of(
    body: Sequence[Instruction], functions: Mapping[str, tuple[Sequence[str], Body]], own: Collection[str]
) -> Any:
    """The MathML of an expression; functions of the text, and those that SBML lacks, are written out.

    `own` are the names that the text defines, before which `t` and `pi` have their usual meaning.

    Raises:
        ArgumentError: for a function that cannot be written in SBML, or a sum.
    """
    library = libsbml()
    inverse = {ours: kind for kind, ours in {**OPERATORS, **CALLS}.items()}
    inverse |= {"neg": "MINUS", "pow": "POWER", "if": "FUNCTION_PIECEWISE", "sqrt": "FUNCTION_ROOT",
                "log10": "FUNCTION_LOG"}  # fmt: skip
    stack: list[Any] = []
    for one in _without_functions(body, functions):
        word: Any = ALIASES.get(str(one.value), one.value) if one.kind == "call" else one.value
        if one.kind in ("sum", "element") or one.kind == "call" and word not in inverse:
            raise ArgumentError("to", "be another format for sums, `erf`, `erfc` and `lgamma`", "is `sbml`")
        if one.kind == "number":
            node = library.ASTNode(library.AST_REAL)
            if word.is_integer() and abs(word) < 2**31:
                node = library.ASTNode(library.AST_INTEGER)
            node.setValue(int(word) if node.getType() == library.AST_INTEGER else word)
        elif one.kind == "name":
            kind = "NAME" if word in own else {"t": "NAME_TIME", "pi": "CONSTANT_PI"}.get(word, "NAME")
            node = library.ASTNode(getattr(library, f"AST_{kind}"))
            if kind == "NAME":
                node.setName(word)
        else:
            node = library.ASTNode(getattr(library, f"AST_{inverse[word]}"))
            given = stack[len(stack) - one.count :]
            del stack[len(stack) - one.count :]
            given = [given[1], given[0], given[2]] if word == "if" else given
            if word == "log10":
                base = library.ASTNode(library.AST_INTEGER)
                base.setValue(10)
                given = [base, *given]
            for child in given:
                node.addChild(child)
        stack.append(node)
    return stack[0]


def _without_functions(body: Sequence[Instruction], functions: Mapping[str, tuple[Sequence[str], Body]]) -> Body:
    """An expression with functions of the text, and those that SBML lacks, written out."""
    stack: list[Body] = []
    for one in body:
        word = ALIASES.get(str(one.value), str(one.value)) if one.kind == "call" else ""
        given = stack[len(stack) - one.count :] if one.kind in ("call", "operator", "element") else []
        del stack[len(stack) - len(given) :]
        if one.kind == "call" and str(one.value) in functions:
            arguments, inside = functions[str(one.value)]
            written_out = substituted(inside, dict(zip(arguments, given, strict=True)))
            stack.append(_without_functions(written_out, functions))
        elif word in FORMULAS_OF_OURS:
            stack.append(_folded(FORMULAS_OF_OURS[word], given))
        else:
            stack.append((*(part for each in given for part in each), one))
        if len(stack[-1]) > MOST:
            raise ArgumentError("to", "be another format for functions inside functions", "is `sbml`")
    return stack[0]

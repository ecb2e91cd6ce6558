"""List the small errors that a function may have: a sign, a boundary, a branch, a reduction, a default, a factor.

Code that no result depends on is left alone: docstrings, annotations, checks of input, and the text of errors, with
what is computed for it.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from tests.quality.source_index import Place, Source

CHECKS = ("error", "check", "require", "warn", "instance")
"""Parts of the names of calls that refuse bad input."""
CONVERSIONS = ("integer", "real", "finite", "hasattr", "callable")
"""Parts of the names of functions that do so where they are called by name, not as a method or of a module."""
TEXTS = ("one_line", "report", "__repr__", "__str__", "_repr_html_")
"""Functions that only say something."""
NEUTRAL = ("strict", "inline", "check_finite")
"""Options that change nothing in code without other errors."""
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
PAIRS = (
    "max min", "maximum minimum", "sum mean", "argmax argmin", "any all", "sin cos", "sinh cosh", "exp expm1",
    "log log1p", "floor ceil", "logical_and logical_or", "cumsum cumprod", "real imag",
)  # fmt: skip
OTHER = {a: b for pair in map(str.split, PAIRS) for a, b in (pair, pair[::-1])} | {"median": "mean", "prod": "sum"}
BUILT_IN = ("max", "min", "any", "all")
TOLERANCE = 1e-3
"""Smaller numbers are tolerances: twice such a number is as good, a thousand times is not."""


@dataclass(frozen=True)
class SmallError:
    """An error in a function: where, and what stands there instead."""

    function: str
    place: Place
    new: ast.AST

    def __str__(self) -> str:
        (old,), new, place = self.place.nodes, self.new, self.place
        if isinstance(place.parent, (ast.expr, ast.keyword)) and isinstance(old, ast.Constant):
            old, new = place.parent, copy.copy(place.parent)  # a number alone does not say which one it is
            setattr(new, place.field, place.filled([self.new]))
        return f"{self.function}: {_text(old)} -> {_text(new)}"

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the module with the error."""
        return self.place.replaced([self.new])


def errors_of(source: Source) -> Iterator[SmallError]:
    """Yield the small errors in all functions of a module."""
    for name, nodes in source.definitions.items():
        for node in nodes:
            if not isinstance(node, ast.FunctionDef) or node.name in TEXTS:
                continue
            for parent, field, k, old in _defaults(node.args):
                for new in changes(old, option=True):
                    yield SmallError(name, Place(source, parent, field, k, k + 1), new)
            for parent, field, k, old in _nodes(node, ("body",)):
                for new in changes(old, option=isinstance(parent, ast.keyword) and parent.arg not in NEUTRAL):
                    stop = None if k is None else k + 1
                    yield SmallError(name, Place(source, parent, field, k, stop), new)


def changes(node: ast.AST, *, option: bool = False) -> Iterator[ast.AST]:
    """Yield what an expression or a statement may become by a small error; a truth value only as an option's."""
    match node:
        case ast.BinOp():
            yield from _of_operation(node)
        case ast.Compare(left, [op], right):
            for other in COMPARISONS.get(type(op), ()):
                yield ast.Compare(left, [other()], right)
        case ast.Constant(bool(value)) if option:
            yield ast.Constant(not value)
        case ast.Constant(bool() | str() | bytes() | None):
            return
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield ast.Constant(_other_number(value))
        case ast.UnaryOp(ast.USub() | ast.Not(), operand) if not _is_check(operand):
            yield operand
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield values[0]
        case ast.Attribute(value, "T" | "mT"):
            yield value
        case ast.Attribute(value, name, context) if name in OTHER:
            yield ast.Attribute(value, OTHER[name], context)
        case ast.Call(ast.Name(name), arguments, keywords) if name in BUILT_IN:
            yield ast.Call(ast.Name(OTHER[name], ast.Load()), arguments, keywords)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.AugAssign(target, op, value) if type(op) in OPERATORS:
            yield ast.AugAssign(target, OPERATORS[type(op)](), value)
        case ast.If(test, body, orelse) if not isinstance(body[-1], ast.Raise) and not _has_check(test):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)


def _of_operation(node: ast.BinOp) -> Iterator[ast.expr]:
    left, right = node.left, node.right
    if isinstance(node.op, ast.MatMult):
        if isinstance(left, ast.BinOp) and _is_vector(left) and _is_vector(right):
            return  # x @ P @ y is a number
        if _is_vector(right) and not _is_vector(left):
            yield ast.BinOp(ast.Attribute(left, "T", ast.Load()), node.op, right)
        else:
            yield ast.BinOp(left, node.op, ast.Attribute(right, "T", ast.Load()))
    elif isinstance(node.op, ast.Pow):
        yield left
    elif type(node.op) in OPERATORS and not isinstance(left, ast.JoinedStr):
        yield ast.BinOp(left, OPERATORS[type(node.op)](), right)
        yield left
        if isinstance(node.op, (ast.Add, ast.Mult)):
            yield right


def _is_vector(node: ast.expr) -> bool:
    """Whether a factor has a small letter, as vectors have, whose transposes are themselves, or consists of such."""
    if isinstance(node, ast.BinOp):
        return _is_vector(node.left) and (isinstance(node.op, ast.MatMult) or _is_vector(node.right))
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else "T"
    return name[:1].islower()


def _other_number(value: float) -> float:
    if value == 0:
        return 1.0
    return 1000 * value if abs(value) < TOLERANCE else 2 * value


def _nodes(parent: ast.AST, fields: tuple[str, ...] = ()) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield the expressions and statements below a node that results depend on, without those of functions in it."""
    for field, value in ast.iter_fields(parent):
        if (fields and field not in fields) or (field == "body" and _only_raises(parent)):
            continue
        for k, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or _is_left_alone(parent, field, child):
                continue
            if isinstance(child, (ast.expr, ast.AugAssign, ast.If)):
                yield parent, field, k if isinstance(value, list) else None, child
            yield from _nodes(child)


def _is_left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    match child:
        case ast.Raise() | ast.Assert() | ast.FunctionDef() | ast.ClassDef() | ast.arguments() | ast.JoinedStr():
            return True
        case ast.Expr(ast.Constant()):
            return True
        case ast.expr() if isinstance(parent, ast.AnnAssign) and field == "annotation":
            return True
        case ast.expr():
            return _is_check(child)
    return False


def _only_raises(node: ast.AST) -> bool:
    """Whether the body of a branch, or of a handler, does nothing but raise an error, with a text computed for it."""
    if not isinstance(node, ast.If | ast.ExceptHandler) or not isinstance(node.body[-1], ast.Raise):
        return False
    parts = (part for statement in node.body for part in ast.walk(statement))
    return not any(
        isinstance(part, ast.Return | ast.Yield | ast.YieldFrom | ast.Break | ast.Continue) for part in parts
    )


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.AST, str, int, ast.expr]]:
    for field in ("defaults", "kw_defaults"):
        for k, value in enumerate(getattr(arguments, field)):
            number = value.operand if isinstance(value, ast.UnaryOp) else value
            if isinstance(number, ast.Constant):
                yield arguments, field, k, value


def _is_check(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).split(".")[-1]
    called = isinstance(node.func, ast.Name) and any(word in name for word in CONVERSIONS)
    return called or any(word in name for word in CHECKS)


def _has_check(node: ast.AST) -> bool:
    return any(_is_check(part) for part in ast.walk(node))


def _text(node: ast.AST, width: int = 80) -> str:
    if isinstance(node, ast.If):
        return f"if {_text(node.test, width)}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}={_text(node.value, width)}"
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= width else text[: width - 3] + "..."

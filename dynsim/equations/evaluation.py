"""Evaluate the operations of equations in JAX."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jsp

from dynsim._core import settings as _settings  # noqa: F401  (made before the first array exists)
from dynsim.equations.graph import Graph, Node

LARGEST_POWER = 64
"""Largest whole exponent that is computed by multiplication."""

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater, "ge": jnp.greater_equal, "eq": jnp.equal,
    "ne": jnp.not_equal, "and": jnp.logical_and, "or": jnp.logical_or, "not": jnp.logical_not,
    "if": jnp.where, "truth": lambda c: jnp.where(c, 1.0, 0.0),
    "heaviside": lambda a: jnp.where(jnp.greater_equal(a, 0.0), 1.0, 0.0),
    "min": jnp.minimum, "max": jnp.maximum, "mod": jnp.mod, "hypot": jnp.hypot, "atan2": jnp.arctan2,
    "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "asinh": jnp.arcsinh, "acosh": jnp.arccosh,
    "atanh": jnp.arctanh, "sec": lambda a: 1 / jnp.cos(a), "csc": lambda a: 1 / jnp.sin(a),
    "cot": lambda a: 1 / jnp.tan(a), "sech": lambda a: 1 / jnp.cosh(a), "csch": lambda a: 1 / jnp.sinh(a),
    "coth": lambda a: 1 / jnp.tanh(a), "erf": jsp.erf, "erfc": jsp.erfc, "lgamma": jsp.gammaln,
    **{name: getattr(jnp, name) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log10", "log2", "sqrt", "cbrt", "abs", "sign",
        "floor", "ceil", "round",
    )},
}  # fmt: skip
"""Every operation of the grammar but powers."""


def values(graph: Graph, outputs: Sequence[int], t: Any, x: Any, parameters: Mapping[str, Any]) -> list[Any]:
    """Values of some nodes of a graph at a time and a state, as numbers or as arrays over the index of a family."""
    if type(t) in (int, float):  # of Python, whose numbers raise errors and become complex where those of JAX do not
        t = jnp.asarray(t, x.dtype if type(t) is float else None)
    found: dict[int, Any] = {}
    for k in graph.used(outputs):
        node = graph.nodes[k]
        found[k] = _value(graph, node, [found[j] for j in node.operands], t, x, parameters)
    return [found[k] for k in outputs]


def _value(graph: Graph, node: Node, given: list[Any], t: Any, x: Any, parameters: Mapping[str, Any]) -> Any:
    kind, value = node.kind, node.value
    if kind == "number":
        return value
    if kind == "time":
        return t
    if kind == "parameter":
        return parameters[value]
    if kind in ("state", "slice"):
        whole = given[0] if given else x
        return whole[value] if isinstance(value, int) else whole[slice(*value)]
    if kind == "join":
        return jnp.concatenate([jnp.atleast_1d(jnp.asarray(part, x.dtype)) for part in given])
    if kind == "spread":
        return jnp.broadcast_to(jnp.asarray(given[0], x.dtype), (value,))
    if kind == "index":
        return jnp.arange(*value, dtype=x.dtype)
    if kind == "pow":
        return _power(given[0], given[1], graph.constant(node.operands[1]))
    return OPERATIONS[kind](*given)


def _power(base: Any, exponent: Any, constant: float | None) -> Any:
    """A power: whole exponents by multiplication, which takes negative numbers and has all derivatives."""
    if constant is None:
        return jnp.power(base, exponent)
    if constant.is_integer() and abs(constant) <= LARGEST_POWER:
        return jnp.asarray(base) ** int(constant)
    return jnp.sqrt(base) if constant == 0.5 else jnp.power(base, constant)


def joined(x: Any, parts: Sequence[tuple[Any, int]]) -> Any:
    """One array of the type of `x` from values and the number of components that each gives."""
    if all(size == 1 for _, size in parts):
        return jnp.stack([jnp.reshape(jnp.asarray(part, x.dtype), ()) for part, _ in parts])
    whole = [jnp.broadcast_to(jnp.asarray(part, x.dtype), (size,)) for part, size in parts]
    return jnp.concatenate(whole)

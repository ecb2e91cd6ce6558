"""Expressions as a list of operations on numbered values, in which equal ones occur once."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dynsim.equations.functions import TRUTHS
from dynsim.errors import ArgumentError

MOST = 200_000
"""Most operations: more take too long to compile, and repeated functions could make any number of them."""


class Node(NamedTuple):
    """One value: how it is made, a constant that this needs, and the numbers of its operands.

    `kind` is number, state, time, parameter, argument, slice, join, index or the name of an operation. The value of a
    slice, and of a state, is the range of its entries; a single entry has a whole number instead of a range.
    """

    kind: str
    value: Any = None
    operands: tuple[int, ...] = ()


class Graph:
    """Values in an order in which operands come first."""

    def __init__(self):
        """Begin without values."""
        self.nodes: list[Node] = []
        self.places: dict[Node, int] = {}

    def add(self, kind: str, value: Any = None, operands: Sequence[int] = ()) -> int:
        """Add a value unless it exists, and return its number; operations on numbers are carried out."""
        operands = tuple(operands)
        folded = self._folded(kind, operands)
        node = Node("number", folded) if folded is not None else Node(kind, value, operands)
        key = node if node.kind != "number" else node._replace(operands=(math.copysign(1, node.value),))
        if key not in self.places:
            if len(self.nodes) >= MOST:
                must = f"consist of at most {MOST:,} operations once functions, sums and ranges are written out"
                raise ArgumentError("text", must, "consists of more")
            self.places[key] = len(self.nodes)
            self.nodes.append(node)
        return self.places[key]

    def number(self, value: float) -> int:
        """The number of a constant."""
        return self.add("number", float(value))

    def _folded(self, kind: str, operands: tuple[int, ...]) -> float | None:
        if kind not in FOLDED or any(self.nodes[k].kind != "number" for k in operands):
            return None
        try:
            value = FOLDED[kind](*(self.nodes[k].value for k in operands))
        except (ArithmeticError, ValueError):
            return None
        return float(value) if isinstance(value, float) and math.isfinite(value) else None

    def constant(self, k: int) -> float | None:
        """The value of a constant, or None."""
        return self.nodes[k].value if self.nodes[k].kind == "number" else None

    def is_truth(self, k: int) -> bool:
        """Whether a value is true or false rather than a number."""
        return self.nodes[k].kind in TRUTHS

    def copied(self, other: "Graph", operands: Sequence[int]) -> list[int]:
        """Add the values of another graph, whose arguments are values of this one; return all their numbers."""
        numbers: list[int] = []
        for node in other.nodes:
            if node.kind == "argument":
                numbers.append(operands[node.value])
            else:
                numbers.append(self.add(node.kind, node.value, [numbers[k] for k in node.operands]))
        return numbers

    def used(self, outputs: Sequence[int]) -> list[int]:
        """Numbers of the values that the outputs need, in order."""
        needed, todo = set(outputs), list(outputs)
        while todo:
            ahead = [j for j in self.nodes[todo.pop()].operands if j not in needed]
            needed.update(ahead)
            todo.extend(ahead)
        return sorted(needed)


FOLDED: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "pow": lambda a, b: math.pow(a, b), "sqrt": math.sqrt, "exp": math.exp, "log": math.log,
    "sin": math.sin, "cos": math.cos,
}  # fmt: skip
"""Operations that are carried out on constants while the text is read."""

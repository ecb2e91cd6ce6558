"""Data structure of a function as an ordered list of scalar operations on numbered values."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

from dynsim.errors import ArgumentError, counted

COMPARING = ("lt", "le", "gt", "ge", "eq", "ne")
SMOOTH = (
    "add", "add_any", "sub", "mul", "div", "neg", "square", "integer_pow", "exp", "exp2", "expm1", "log", "log1p",
    "log2", "one_minus_square",
    "logistic", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "lgamma", "digamma",
)  # fmt: skip
"""Operations that have all derivatives where they are defined; roots have none at zero, and `sqrt(x * x)` is |x|."""

CONTINUOUS = (
    *SMOOTH, "abs", "max", "min", "clamp", "sqrt", "rsqrt", "cbrt", "pow", "asin", "acos", "acosh", "atanh",
)  # fmt: skip
"""Operations that are continuous where they are defined; choices, comparisons and roundings may jump."""


class ProgramError(ValueError):
    """A function has no scalar program; `uses` names the unsupported operation or the exceeded limit."""

    def __init__(self, uses: str):
        super().__init__(str(ArgumentError("fn", "consist of scalar operations on its input", f"uses {uses}")))
        self.uses = uses

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.uses,)


class Operation(NamedTuple):
    """One scalar operation: the name of a JAX primitive, the numbers of its operands, and the type of its result.

    `parameter` is the exponent of `integer_pow`, the new type of `convert_element_type` or the method of `round`, and
    None for all others.
    """

    name: str
    operands: tuple[int, ...]
    dtype: np.dtype
    parameter: Any = None


class Comparison(NamedTuple):
    """Comparison of two values that depend on the input: its name, and the numbers of both operands and the result."""

    name: str
    left: int
    right: int
    result: int


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Program:
    """The scalar operations of a function of arrays, in order.

    Values are numbered: first the entries of the inputs, one array after the other, then the constants, then the result
    of each operation. Equal operations occur once.

    Attributes:
        shapes: the shape of each input array.
        dtypes: the type of each input array.
        structure: how the input arrays make up the arguments.
        constants: numbers, each in the type in which it was traced.
        operations: the operations; each uses earlier values only.
        outputs: for each output array the numbers of its entries.
        output_dtypes: the type of each output array.
        output_structure: how the output arrays make up the result.
    """

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]
    structure: Any
    constants: tuple[Any, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[np.ndarray, ...]
    output_dtypes: tuple[np.dtype, ...]
    output_structure: Any

    @functools.cached_property
    def num_inputs(self) -> int:
        """Total number of entries of the input arrays."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def first_operation(self) -> int:
        """Number of the first operation's result."""
        return self.num_inputs + len(self.constants)

    @functools.cached_property
    def types(self) -> tuple[np.dtype, ...]:
        """Data type of each value."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        inputs = [dtype for dtype, size in zip(self.dtypes, sizes, strict=True) for _ in range(size)]
        return (*inputs, *(np.dtype(type(c)) for c in self.constants), *(o.dtype for o in self.operations))

    @functools.cached_property
    def varies(self) -> np.ndarray:
        """Whether each value depends on the input."""
        found = np.zeros(self.first_operation + len(self.operations), bool)
        found[: self.num_inputs] = True
        for k, operation in enumerate(self.operations, self.first_operation):
            found[k] = any(found[j] for j in operation.operands)
        return found

    @functools.cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Comparisons of values that depend on the input, at which the function may have a jump or a kink.

        Tests for NaN (`x != x`) are left out. `sign`, `abs`, `max`, `min`, `clamp`, `floor`, `ceil`, `round` and `rem`
        also compare, but are not listed.
        """
        listed = enumerate(self.operations, self.first_operation)
        return tuple(
            Comparison(o.name, o.operands[0], o.operands[1], k)
            for k, o in listed
            if o.name in COMPARING and self.varies[k] and o.operands[0] != o.operands[1]
        )

    @functools.cached_property
    def is_smooth(self) -> bool:
        """Whether the function has all derivatives wherever it is defined, because each of its operations has them."""
        return self._only_uses(SMOOTH)

    @property
    def is_continuous(self) -> bool:
        """Whether the function is continuous wherever it is defined, because each of its operations is."""
        return self._only_uses(CONTINUOUS)

    def _only_uses(self, names: tuple[str, ...]) -> bool:
        floats = lambda o: o.name == "convert_element_type" and np.dtype(o.parameter).kind in "fc"
        listed = enumerate(self.operations, self.first_operation)
        return all(o.name in names or floats(o) for k, o in listed if self.varies[k])

    def __repr__(self) -> str:
        sizes = ", ".join(str(shape) for shape in self.shapes)
        constants = counted(len(self.constants), "constant")
        return f"Program of ({sizes}): {counted(len(self.operations), 'operation')}, {constants}"

    def __str__(self) -> str:
        """List the program with one value per line."""
        lines, first = [repr(self)], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            size = int(np.prod(shape))
            lines.append(f"  input {_numbers(range(first, first + size))}: {dtype}{list(shape)}")
            first += size
        lines += [f"  {_number(first + k)} = {value}" for k, value in enumerate(self.constants)]
        for k, operation in enumerate(self.operations, self.first_operation):
            name = operation.name if operation.parameter is None else f"{operation.name}[{operation.parameter}]"
            lines.append(f"  {_number(k)} = {name} {' '.join(map(_number, operation.operands))}")
        lines += [f"  output {list(o.shape)}: {_numbers(o.ravel().tolist())}" for o in self.outputs]
        return "\n".join(lines)


def _number(k: int) -> str:
    return f"%{k}"


def _numbers(many: Any) -> str:
    return " ".join(map(_number, many)) or "nothing"

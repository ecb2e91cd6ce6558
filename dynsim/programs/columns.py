"""Evaluate programs in JAX on columns: one array for each number of the input, such as one entry for each member."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dynsim.programs.program import Operation, Program

RENAMED = {"add_any": "add", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not"}
"""Operations whose function in `jax.lax` has another name than the primitive."""
SPECIAL: Mapping[str, Callable[..., Any]] = {
    "integer_pow": lax.integer_pow,
    "convert_element_type": lax.convert_element_type,
    "round": lambda a, method: lax.round(a, lax.RoundingMethod(method)),
    "exp2": jnp.exp2,
    "logistic": jax.nn.sigmoid,
}


def on_columns(program: Program, *columns: Any) -> list[Any]:
    """Evaluate a program at many inputs at once, with the same values as the traced function up to rounding.

    Args:
        program: the program.
        columns: one array or number for each entry of the inputs, in their order; they broadcast.

    Returns:
        One array or number for each entry of the outputs, in their order.
    """
    values: list[Any] = [*columns, *program.constants]
    for operation in program.operations:
        values.append(_applied(operation, [values[k] for k in operation.operands]))
    return [values[k] for output in program.outputs for k in output.ravel().tolist()]


def _applied(operation: Operation, operands: Sequence[Any]) -> Any:
    """Apply one operation to operands whose shapes broadcast."""
    shape = np.broadcast_shapes(*(np.shape(a) for a in operands))
    spread = [a if np.shape(a) == shape else jnp.broadcast_to(a, shape) for a in operands]
    found = _function(operation.name)
    return found(*spread) if operation.parameter is None else found(*spread, operation.parameter)


@functools.cache
def _function(name: str) -> Callable[..., Any]:
    return SPECIAL[name] if name in SPECIAL else getattr(lax, RENAMED.get(name, name))

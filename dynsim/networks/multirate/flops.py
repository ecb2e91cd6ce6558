"""Count the floating-point operations in the matrix products of a function, from its JAX program."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from dynsim._core.checked import checked
from dynsim._core.validation import size
from dynsim.networks.multirate.network import MultirateNetwork


@checked
def matmul_flops(function: Callable[..., Any], *arguments: Any) -> int:
    """Count the multiplications and additions in all matrix products of `function` by tracing it.

    The body of a loop counts once per iteration, or once if the number of iterations is unknown. Attention scores
    hidden by a mask count too, because they are computed.

    Args:
        function: a function in JAX.
        arguments: its arguments; only the shapes of arrays matter.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> ds.networks.matmul_flops(lambda a, b: a @ b, jnp.ones((2, 3)), jnp.ones((3, 4)))  # 2 * 2 * 3 * 4
        48
    """
    moving, still = eqx.partition(arguments, eqx.is_array)
    traced = jax.make_jaxpr(lambda moving: function(*eqx.combine(moving, still)))(moving)
    return _counted(traced.jaxpr)


@checked
def layer_equivalents(model: MultirateNetwork, n: int) -> float:
    """Operations of a forward pass of `n` symbols, without embeddings, in units of one layer on the tokens.

    `layer_equivalent_cost` is the paper's formula for it.

    Args:
        model: the network.
        n: number of symbols.

    Raises:
        ValueError: if `n` is less than 1.

    Example:
        >>> import dynsim as ds
        >>> config = ds.networks.MultirateConfig(vocabulary=3, width=8, hidden=4, layers_before=2, rounds=0)
        >>> ds.networks.layer_equivalents(ds.networks.draw_multirate(ds.random_key(0, "model"), config), 5)
        2.0
    """
    x = jnp.zeros((size("n", n), model.token_embedding.shape[1]), model.token_embedding.dtype)
    layer = next(iter((*model.before, *(layer for r in model.rounds for layer in r.after))))
    return matmul_flops(model.apply_layers, x) / matmul_flops(layer, x)


def _counted(program: Jaxpr) -> int:
    total = 0
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            terms = math.prod(_shape(equation.invars[0])[axis] for axis in contracted)
            total += 2 * terms * math.prod(_shape(equation.outvars[0]))
        inner = sum(_counted(part) for part in _programs(equation.params.values()))
        total += inner * (equation.params["length"] if equation.primitive.name == "scan" else 1)
    return total


def _shape(variable: Any) -> tuple[int, ...]:
    return variable.aval.shape


def _programs(values: Iterable[Any]) -> Iterator[Jaxpr]:
    parts = (part for value in values for part in (value if isinstance(value, tuple | list) else (value,)))
    for part in parts:
        if isinstance(part, ClosedJaxpr):
            yield part.jaxpr
        elif isinstance(part, Jaxpr):
            yield part

"""Find float64 arrays in the program of a function of float32 arrays."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params


def single(tree: Any) -> Any:
    """Cast the arrays of a tree, or a list of numbers, to float32 arrays."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), tree, is_leaf=lambda part: isinstance(part, list))


def types_of(tree: Any) -> set[str]:
    """Names of the floating-point types in a tree."""
    return {leaf.dtype.name for leaf in jax.tree.leaves(tree) if np.issubdtype(leaf.dtype, np.floating)}


def doubles(fn: Any, *given: Any) -> list[str]:
    """List the operations of a function's program with a float64 array of more than one number as their result."""
    return [*_doubles(jax.make_jaxpr(fn)(*given).jaxpr)]


def _doubles(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        found = [out.aval for out in equation.outvars if getattr(out.aval, "dtype", None) == np.float64]
        yield from (f"{equation.primitive.name}{aval.shape}" for aval in found if aval.size > 1)
        for inner in jaxprs_in_params(equation.params):
            yield from _doubles(inner)

"""First integrals: a function that is constant along all solutions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import identically_zero, not_zero_somewhere
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import BoxLike
from dynsim._core.validation import function
from dynsim.systems.base import AbstractFlow


@theorem
def conserved(flow: AbstractFlow, H: Callable[[Any], Any], region: Region | BoxLike) -> Conditions:
    """Check whether a function is conserved: a first integral, constant along all solutions in a region.

    The derivative along solutions, grad H . f, is cancelled exactly. Elementary functions count as variables of their
    own, so that an identity between them, such as sin(x)^2 + cos(x)^2 = 1, stays undecided.

    Args:
        flow: an autonomous flow on Euclidean space.
        H: the function, a scalar function of a state in JAX.
        region: the region, or a box, in which points are tried where H may change.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.

    Source: P. Olver, Applications of Lie Groups to Differential Equations, Springer 1993, section 2.1.

    Example:
        >>> import jax.numpy as jnp
        >>> import dynsim as ds
        >>> from analysis.theorems import conserved
        >>> pendulum = ds.system("x' = y; y' = -sin(x)")
        >>> conserved(pendulum, lambda s: s[1] ** 2 / 2 - jnp.cos(s[0]), [(-3.0, 3.0), (-3.0, 3.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, given = field_of(flow, n, "a first integral"), function("H", H, "a state")
    slope = jax.grad(lambda x: jnp.reshape(given(x), ()))
    return Conditions(
        "First integral",
        (
            smooth(lambda x: jnp.append(field(x), given(x)), n, "the field with H"),
            not_zero_somewhere("H is not constant", "grad H != 0 at a point", slope, where),
            identically_zero(
                "H does not change along solutions", "grad H . f = 0",
                lambda x: jnp.reshape(jnp.dot(slope(x), field(x)), (1,)), where,
            ),
        ),
        "H is constant along every solution, so that each level of H is invariant",
        "H is not conserved",
        where, flow,
    )  # fmt: skip

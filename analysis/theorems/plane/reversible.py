"""Reversible flows: an involution takes solutions to solutions that run backwards in time."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import Conditions, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import Region, as_region
from dynsim._core.types import BoxLike
from dynsim._core.validation import function, reals
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


@theorem
def reversible(flow: AbstractFlow, R: Any, region: Region | BoxLike) -> Conditions:
    """Check whether a flow is reversible: DR(x) f(x) = -f(R(x)) for an involution R, by exact cancellation.

    Args:
        flow: an autonomous flow on Euclidean space.
        R: the involution: a matrix, (n, n), or a function of a state in JAX, (n,) to (n,).
        region: the region, or a box, in which points are tried where the identity may fail.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.

    Source: J. Lamb and J. Roberts, Time-reversal symmetry in dynamical systems: a survey, Physica D 112 (1998) 1;
    S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2015, section 6.6.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import reversible
        >>> flow = ds.system("x' = y - y^3; y' = -x - y^2")
        >>> reversible(flow, np.diag([1.0, -1.0]), [(-2.0, 2.0), (-2.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, turn = field_of(flow, n, "the theorem on reversible flows"), _involution(R, n)
    back = lambda x: jax.jvp(turn, (x,), (field(x),))[1] + field(turn(x))
    return Conditions(
        "Reversible flow",
        (
            smooth(lambda x: jnp.concatenate([field(x), turn(x)]), n, "the field with R"),
            identically_zero("R is an involution", "R(R(x)) = x", lambda x: turn(turn(x)) - x, where),
            identically_zero("R turns the field back", "DR(x) f(x) = -f(R(x))", back, where),
        ),
        "R takes solutions to solutions that run backwards; one that meets the fixed points of R twice is periodic, "
        "and in the plane an equilibrium among them with imaginary eigenvalues is a centre",
        "the flow is not reversible by R",
        where, flow,
    )  # fmt: skip


def _involution(R: Any, n: int) -> Callable[[Any], Any]:
    if callable(R):
        given = function("R", R, "a state")
        return lambda x: jnp.reshape(given(x), (n,))
    matrix = np.asarray(reals("R", R), float)
    if matrix.shape != (n, n):
        raise ArgumentError("R", f"be a matrix ({n}, {n}) or a function of a state", f"has shape {matrix.shape}")
    return lambda x: jnp.asarray(matrix) @ x

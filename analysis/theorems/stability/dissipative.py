"""Dissipativity with a given storage function: no more is stored than is supplied."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from analysis.theorems.conditions import Conditions, decided, theorem
from analysis.theorems.fields import driven_field, lengthened, smooth
from analysis.theorems.regions import Region, as_region
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import BoxLike
from dynsim._core.validation import function
from dynsim.systems.parameter import Parameter


@theorem
def dissipative(
    parameter: Parameter,
    V: Callable[[Any], Any],
    supply: Callable[[Any, Any], Any],
    region: Region | BoxLike,
    *,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether a flow with an input is dissipative: a storage function V grows no faster than is supplied.

    With the supply u y the flow is passive from the input u to the output y; with g^2 u^2 - y^2 its gain is at most g.

    Args:
        parameter: the parameter of an autonomous flow that is the input u, with its range, which holds zero.
        V: the storage function, a scalar function of a state in JAX.
        supply: the rate of supply, a function of a state and the input in JAX.
        region: the region of states, or a box.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.

    Source: J. Willems, Archive for Rational Mechanics and Analysis 45 (1972) 321, definition 2 and theorem 1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import dissipative
        >>> force = ds.Parameter(ds.system("x' = y; y' = -x - x^3 + u", u=0.0), "u", -1.0, 1.0)
        >>> energy = lambda s: s[1] ** 2 / 2 + s[0] ** 2 / 2 + s[0] ** 4 / 4
        >>> dissipative(force, energy, lambda s, u: s[1] * u, [(-2.0, 2.0), (-2.0, 2.0)]).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field = driven_field(parameter, n, "the theorem on dissipativity")
    given, supplied = function("V", V, "a state"), function("supply", supply, "a state and the input", 2)
    height = lambda x: jnp.reshape(given(x), ())
    joint = lengthened(where, parameter.low, parameter.high)
    gap = lambda z: jnp.reshape(supplied(z[:n], z[n]), ()) - jnp.dot(jax.grad(height)(z[:n]), field(z))
    stored = positive(height, where, strictly=False, budget=budget)
    supplies = positive(gap, joint, strictly=False, budget=budget)
    return Conditions(
        "Dissipativity", (
            smooth(lambda z: jnp.append(field(z), height(z[:n])), n + 1, "the field with V"),
            decided("the storage is not negative", "V >= 0", stored),
            decided("no more is stored than is supplied", "V' <= supply", supplies),
        ),
        "V(t) - V(0) is at most the integral of the supply, as long as the state stays in the region",
        "more may be stored than is supplied", where, parameter.system,
    )  # fmt: skip

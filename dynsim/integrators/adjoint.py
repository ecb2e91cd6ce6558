"""Values whose derivatives in reverse mode are zero where the values do not count."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array


@jax.custom_vjp
def _entered(values: Any, token: Array) -> Any:
    """Return values and a number, whose cotangent tells whether those of the values count."""
    return values, token


def _entered_forwards(values: Any, token: Array) -> Any:
    return (values, token), None


def _entered_backwards(_: None, cotangents: Any) -> Any:
    values, token = cotangents
    return jax.tree.map(lambda c: jnp.where(token > 0, c, jnp.zeros_like(c)), values), jnp.zeros_like(token)


_entered.defvjp(_entered_forwards, _entered_backwards)


@jax.custom_vjp
def _left(values: Any, token: Array, counts: Array) -> Any:
    """Return values; the cotangent of the number is 1 where they count."""
    del token, counts
    return values


def _left_forwards(values: Any, token: Array, counts: Array) -> Any:
    del token
    return values, counts


def _left_backwards(counts: Array, cotangents: Any) -> Any:
    return cotangents, counts.astype(float), None


_left.defvjp(_left_forwards, _left_backwards)


def without_derivative_unless(function: Callable[..., Any], given: Any) -> Any:
    """Return the values of `function(given)`, a tree and whether it counts; what does not has derivatives zero.

    Without this the derivative in reverse mode of a value that is not finite is NaN, even where nothing depends on it.
    """
    inexact, rest = eqx.partition(given, eqx.is_inexact_array)
    inexact, token = _entered(inexact, jnp.ones(()))
    values, counts = function(eqx.combine(inexact, rest))
    inexact, rest = eqx.partition(values, eqx.is_inexact_array)
    return eqx.combine(_left(inexact, token, counts), rest), counts

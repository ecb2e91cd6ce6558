"""Set reverse-mode derivatives to zero for results that are not used, to avoid NaN gradients."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array


@jax.custom_vjp
def _entered(values: Any, token: Array) -> Any:
    """Pass values through with a token, whose cotangent tells in the backward pass whether the values are used."""
    return values, token


def _entered_forwards(values: Any, token: Array) -> Any:
    return (values, token), None


def _entered_backwards(_: None, cotangents: Any) -> Any:
    values, token = cotangents
    return jax.tree.map(lambda c: jnp.where(token > 0, c, jnp.zeros_like(c)), values), jnp.zeros_like(token)


_entered.defvjp(_entered_forwards, _entered_backwards)


@jax.custom_vjp
def _left(values: Any, token: Array, counts: Array) -> Any:
    """Pass values through; the backward pass sets the token's cotangent to 1 if they are used."""
    del token, counts
    return values


def _left_forwards(values: Any, token: Array, counts: Array) -> Any:
    del token
    return values, counts


def _left_backwards(counts: Array, cotangents: Any) -> Any:
    return cotangents, counts.astype(float), None


_left.defvjp(_left_forwards, _left_backwards)


def without_derivative_unless(function: Callable[..., Any], given: Any) -> Any:
    """Evaluate `function(given)`, values and whether they are used, with zero derivatives if they are not.

    Otherwise the reverse-mode derivative of a value that is not finite is NaN, even if nothing depends on it.
    """
    inexact, rest = eqx.partition(given, eqx.is_inexact_array)
    inexact, token = _entered(inexact, jnp.ones(()))
    values, counts = function(eqx.combine(inexact, rest))
    inexact, rest = eqx.partition(values, eqx.is_inexact_array)
    return eqx.combine(_left(inexact, token, counts), rest), counts

"""Powers of two for attention weights, with fewer operations on a CPU than XLA's exponential."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LOG2_E = math.log2(math.e)  # e^s = 2^(LOG2_E s)
DEGREE = {4: 7, 8: 12}  # degree of the series of 2^f for |f| <= 1/2, by bytes: error below half a last digit


@jax.custom_jvp
def power_of_two(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Compute 2^t up to rounding, for t up to 127 in float32 and up to 1023 in float64.

    Results below the smallest normal number are flushed to zero. NaN stays NaN.
    """
    return jax.lax.platform_dependent(t, cpu=_by_exponent, default=jnp.exp2)


@power_of_two.defjvp
def _derivative(at: tuple[Any, ...], along: tuple[Any, ...]) -> tuple[Array, Array]:
    value = power_of_two(at[0])
    return value, value * math.log(2) * along[0]


def _by_exponent(t: Array) -> Array:
    """Compute 2^t = 2^k 2^f with the nearest integer k in the exponent bits and a series for 2^f, f = t - k."""
    kind = np.finfo(t.dtype)
    integer = np.dtype(f"i{t.dtype.itemsize}")
    rounder = np.asarray(1.5 * 2.0**kind.nmant, t.dtype)  # the sum with it has the rounded integer in its last bits
    t = jnp.maximum(t, kind.minexp - 1)
    k = jax.lax.bitcast_convert_type(t + rounder, integer) - rounder.view(integer)
    f = t - k.astype(np.int32).astype(t.dtype)
    power = jnp.zeros_like(f)
    for order in range(DEGREE[t.dtype.itemsize], -1, -1):
        power = power * f + np.asarray(math.log(2) ** order / math.factorial(order), t.dtype)
    scale = jax.lax.shift_left(k - np.asarray(kind.minexp - 1, integer), np.asarray(kind.nmant, integer))
    return power * jax.lax.bitcast_convert_type(scale, t.dtype)

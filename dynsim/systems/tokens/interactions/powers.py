"""Powers of two, for the weights of attention: fewer operations than the exponential of XLA on a CPU."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LOG2_E = math.log2(math.e)  # e^s is 2^(LOG2_E s)
DEGREE = {4: 7, 8: 12}  # of the series of 2^f for |f| <= 1/2, by the bytes of a number: below half a last digit


@jax.custom_jvp
def power_of_two(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return 2^t up to rounding, for t up to 127 in float32 and 1023 in float64.

    What is below the smallest normal number is zero; NaN stays NaN.
    """
    return jax.lax.platform_dependent(t, cpu=_by_exponent, default=jnp.exp2)


@power_of_two.defjvp
def _derivative(at: tuple[Any, ...], along: tuple[Any, ...]) -> tuple[Array, Array]:
    value = power_of_two(at[0])
    return value, value * math.log(2) * along[0]


def _by_exponent(t: Array) -> Array:
    """Return 2^k times the series of 2^f, f = t - k, with the nearest integer k in the exponent of a number."""
    kind = np.finfo(t.dtype)
    integer = np.dtype(f"i{t.dtype.itemsize}")
    rounder = np.asarray(1.5 * 2.0**kind.nmant, t.dtype)  # numbers of its size are integers, in their last bits
    t = jnp.maximum(t, kind.minexp - 1)
    k = jax.lax.bitcast_convert_type(t + rounder, integer) - rounder.view(integer)
    f = t - k.astype(np.int32).astype(t.dtype)
    power = jnp.zeros_like(f)
    for order in range(DEGREE[t.dtype.itemsize], -1, -1):
        power = power * f + np.asarray(math.log(2) ** order / math.factorial(order), t.dtype)
    scale = jax.lax.shift_left(k - np.asarray(kind.minexp - 1, integer), np.asarray(kind.nmant, integer))
    return power * jax.lax.bitcast_convert_type(scale, t.dtype)

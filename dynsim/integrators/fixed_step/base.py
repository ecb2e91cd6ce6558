"""Fixed steps between output times, of schemes that have no error control."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import Times
from dynsim._core.validation import number
from dynsim._runtime.progress import announce

STEP = 0.01  # by default, in the flow's time unit
MANY = 10_000_000  # steps: of more their number is told before, since they take minutes at least


def step_size(value: Any) -> float:
    """Return the length of a step; raise `ValueError` unless it is a positive number."""
    return number("step_size", value)


def steps_between(ts: Times, longest: float) -> int:
    """Return the number of equal steps between two output times: of the longest interval none exceeds `longest`."""
    return max(1, math.ceil(float(np.max(np.diff(np.asarray(ts)))) / longest * (1 - 1e-9)))


def announce_steps(count: int, longest: float) -> None:
    """Announce a run of many steps before it begins."""
    if count > MANY:
        announce(f"simulate: {count:.3g} steps, each of at most {longest:g} (`step_size`)")


def grid(t0: Array, t1: Array, steps: int) -> Array:
    """Return the ends of equal steps from one output time to the next, both included to the bit."""
    shares = jnp.arange(steps + 1).astype(t0.dtype) / steps
    return (t0 + shares * (t1 - t0)).at[-1].set(t1)

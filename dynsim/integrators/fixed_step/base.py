"""Fixed steps between output times, for schemes without error control."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dynsim._core.types import Times
from dynsim._core.validation import number
from dynsim._runtime.progress import announce
from dynsim.errors import ArgumentError

STEP = 0.01  # default step, in the flow's time unit
MANY = 10_000_000  # larger numbers of steps are announced, because they take at least minutes


def step_size(value: Any) -> float:
    """Check a step size; raise `ValueError` unless it is a positive number."""
    return number("step_size", value)


def steps_between(ts: Times, longest: float) -> int:
    """Number of equal steps per output interval such that none exceeds `longest`.

    Raises:
        ValueError: for steps shorter than the rounding of times.
    """
    times = np.asarray(ts, float)
    if longest < np.finfo(float).eps * np.max(np.abs(times)):
        must = f"be longer than the rounding of times up to {np.max(np.abs(times)):g}"
        raise ArgumentError("step_size", must, f"is {longest:g}")
    return max(1, math.ceil(float(np.max(np.diff(times))) / longest * (1 - 1e-9)))


def announce_steps(count: int, longest: float) -> None:
    """Announce a run of many steps before it begins."""
    if count > MANY:
        announce(f"simulate: {count:.3g} steps, each of at most {longest:g} (`step_size`)")


def grid(t0: Array, t1: Array, steps: int) -> Array:
    """Ends of equal steps from one output time to the next; both output times are included exactly."""
    shares = jnp.arange(steps + 1).astype(t0.dtype) / steps
    return (t0 + shares * (t1 - t0)).at[-1].set(t1)

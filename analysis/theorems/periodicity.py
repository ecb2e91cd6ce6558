"""Whether a function repeats after a period that is told: refuted at points, otherwise taken from the call."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.theorems.conditions import FAILS, HOLDS, Hypothesis

POINTS = 64
"""Number of points at which values a period apart are compared."""
CLOSE = 1e-9
"""Largest difference, relative to one plus the size of the values, that counts as rounding."""


def repeats(
    words: str,
    inequality: str,
    fn: Callable[[Any], Any],
    shift: Float[np.ndarray, " n"],
    gain: Callable[[Any], Any],
    sides: Float[np.ndarray, "n 2"],
) -> Hypothesis:
    """State whether f(z + shift) - f(z) is as expected; a period such as 2 pi is no float, so that no proof is tried.

    Args:
        words: the condition in words.
        inequality: the condition as an equation.
        fn: the function of vectors, (n,) to (m,).
        shift: the period, as a vector.
        gain: what is left of the difference f(z + shift) - f(z), (m,), after what is expected is taken away.
        sides: the box in which points are taken, (low, high) for each component.
    """
    share = np.random.default_rng(0).uniform(size=(POINTS, len(sides)))
    points = jnp.asarray(sides[:, 0] + share * (sides[:, 1] - sides[:, 0]))

    def compared(z: jax.Array) -> tuple[jax.Array, jax.Array]:
        first, second = fn(z), fn(z + shift)
        return jnp.max(jnp.abs(gain(second - first))), 1 + jnp.max(jnp.abs(second))

    gaps, sizes = (np.asarray(part) for part in jax.vmap(compared)(points))
    worst = int(np.argmax(gaps / sizes))
    if gaps[worst] <= CLOSE * sizes[worst]:
        return Hypothesis(words, inequality, HOLDS, decided="told")
    return Hypothesis(words, inequality, FAILS, -float(gaps[worst]), "floats", witness=np.asarray(points[worst]))

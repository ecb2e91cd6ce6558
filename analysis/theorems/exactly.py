"""Values at a point in ball arithmetic: zero exactly, or different from zero."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, Balls, balls
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from analysis.theorems.regions import written

BITS = 512
"""Precision of the balls, in which sums and products of a few binary fractions are exact."""


def in_balls(fn: Callable[[Any], Any], at: Balls) -> Any:
    """Enclose a scalar function on balls."""
    return BallFunction(lambda z: jnp.reshape(fn(z), (1,)), len(at))(at)[0]


def vanishes(words: str, inequality: str, fn: Callable[[Any], Any], at: np.ndarray) -> Hypothesis:
    """Decide whether all entries of a function vanish at a point.

    Sums and products of binary fractions are exact in balls of enough bits; a value that is only small is undecided.

    Raises:
        ValueError: for a function that balls cannot enclose.
        UnavailableError: without python-flint.
    """
    with arithmetic(BITS, 1):
        values = list(BallFunction(fn, len(at))(balls(at)).ravel())
        exact = all(bool(v == 0) for v in values)
        wrong = any(bool(v != 0) for v in values)
        size = max(float(abs(v).upper()) for v in values)
    if exact:
        return Hypothesis(words, inequality, HOLDS, decided="balls")
    witness = np.array(at) if wrong else None
    status = FAILS if wrong else UNDECIDED
    return Hypothesis(words, f"{inequality} at {written(at)}", status, -size, "balls", witness=witness)

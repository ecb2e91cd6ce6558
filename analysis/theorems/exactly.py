"""Decide in balls or by exact cancellation: signs, values at a point, and functions that are zero everywhere."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, Balls, balls
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from analysis.theorems.regions import Region, written
from analysis.theorems.subdivision import positive

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


def above_zero(words: str, inequality: str, value: Any) -> Hypothesis:
    """Decide whether a ball is positive."""
    status = HOLDS if bool(value > 0) else FAILS if bool(value <= 0) else UNDECIDED
    return Hypothesis(words, inequality, status, float(value.lower() if status == HOLDS else value.upper()), "balls")


def different_from_zero(words: str, inequality: str, value: Any) -> Hypothesis:
    """Decide whether a ball excludes zero; one that is exactly zero fails, and a wider one about zero is undecided."""
    status = HOLDS if bool(value != 0) else FAILS if bool(value == 0) else UNDECIDED
    return Hypothesis(words, inequality, status, float(abs(value).lower()), "balls")


TRIED = 2_000
"""Largest number of boxes in which a point is looked for at which a function is not zero."""


def identically_zero(words: str, inequality: str, fn: Callable[[Any], Any], region: Region) -> Hypothesis:
    """Decide whether all entries of a function vanish in a region.

    Exact cancellation shows that they do; a point of the region shows that they do not; otherwise it is undecided.
    """
    if is_zero(fn, region.dimension):
        return Hypothesis(words, inequality, HOLDS, decided="algebra")
    found = positive(lambda x: -jnp.sum(fn(x) ** 2), region, strictly=False, budget=TRIED)
    margin = -((-found.observed) ** 0.5) if found.status == FAILS else float("nan")
    status = FAILS if found.status == FAILS else UNDECIDED
    return Hypothesis(words, inequality, status, margin, boxes=found.boxes, witness=found.witness)


def not_zero_somewhere(words: str, inequality: str, fn: Callable[[Any], Any], region: Region) -> Hypothesis:
    """Decide whether some entry of a function is different from zero at some point of a region."""
    found = identically_zero(words, inequality, fn, region)
    status = {HOLDS: FAILS, FAILS: HOLDS}.get(found.status, UNDECIDED)
    return found._replace(status=status, margin=abs(found.margin), witness=None)

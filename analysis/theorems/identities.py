"""Decide whether a function is zero everywhere: by exact cancellation, or refuted at a point."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from analysis.theorems.regions import Region
from analysis.theorems.subdivision import positive

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

"""Whether a function repeats after a period that is told: refuted at points, otherwise taken from the call."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.dynamics.validated.intervals import IntervalFunction
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
    left: Callable[[Any], Any],
    sides: Float[np.ndarray, "n 2"],
    name: str = "flow",
) -> Hypothesis:
    """State whether f(z + shift) - f(z) is as expected; a period such as 2 pi is no float, so that no proof is tried.

    Args:
        words: the condition in words.
        inequality: the condition as an equation.
        fn: the function of vectors in JAX, (n,) to (m,).
        shift: the period, as a vector.
        left: what is left of differences f(z + shift) - f(z), (points, m), without what is expected.
        sides: the box in which points are taken, (low, high) for each component.
        name: the argument that is named if the function cannot be evaluated.
    """
    share = np.random.default_rng(0).uniform(size=(POINTS, len(sides)))
    points = sides[:, 0] + share * (sides[:, 1] - sides[:, 0])
    values = values_at(fn, np.concatenate([points, points + shift]), name)
    first, second = np.split(values, 2)
    gaps, sizes = np.max(np.abs(left(second - first)), axis=1), 1 + np.max(np.abs(values))
    worst = int(np.argmax(gaps))
    if gaps[worst] <= CLOSE * sizes:
        return Hypothesis(words, inequality, HOLDS, decided="told")
    return Hypothesis(words, inequality, FAILS, -float(gaps[worst]), "floats", witness=points[worst])


def values_at(
    fn: Callable[[Any], Any], points: Float[np.ndarray, "points n"], name: str = "flow"
) -> Float[np.ndarray, "points m"]:
    """Evaluate a function of vectors at points to rounding errors, without compiling."""
    found = IntervalFunction(fn, points.shape[1], name).values(np.stack([points, points], axis=2))
    return found.mean(axis=2)

"""Random numbers of many small shapes from one compiled program, the same to the bit as draws of each shape."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def first_of_one_draw(draw: Callable[..., Any], count: int = 4096) -> Callable[..., Any]:
    """Replace a draw by one whose calls outside of programs give the first numbers of a longer draw, compiled once.

    An entry depends on the key and on its position alone: the numbers are those of a draw of the shape, to the bit.
    """

    @functools.wraps(draw)
    def drawn(key, shape=(), dtype=float, *places, **bounds):
        size, numbers = math.prod(shape), all(isinstance(bound, int | float) for bound in bounds.values())
        if isinstance(key, jax.core.Tracer) or key.ndim or places or not numbers or size > count:
            return draw(key, shape, dtype, *places, **bounds)
        first = draw(key, (count,), dtype, **bounds)
        if isinstance(first, jax.core.Tracer):  # of a constant key in a program
            return draw(key, shape, dtype, **bounds)
        return jnp.asarray(np.asarray(first)[:size].reshape(shape))

    return drawn


def check_normal(parts: list[tuple[Any, float]]) -> None:
    """Check that arrays have independent normal entries of given standard deviations, no number twice among them.

    The mean, the variance and the fourth moment of the numbers of each array lie within six standard errors.
    """
    units = [np.asarray(part, float).ravel() / deviation for part, deviation in parts]
    for z in units:
        for power, moment, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (4, 3.0, 96.0)):
            assert abs(np.mean(z**power) - moment) < 6 * math.sqrt(variance / z.size)
    assert len(np.unique(np.abs(np.concatenate(units)))) == sum(z.size for z in units)

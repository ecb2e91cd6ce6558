"""Averages over time of functions of a state and the time, enclosed by Taylor series of balls."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.ball_operations import ball, flint, is_series
from analysis.dynamics.validated.balls import BallFunction, Balls, entries

PARTS = 8
"""Number of parts of the period, on each of which a Taylor series is integrated."""
ORDER = 20
"""Number of terms of a series, even, so that the remainder has the sign of its coefficient."""


class Average:
    """The average of a function over a period, as a function of the state in balls; see `arithmetic` for the bits."""

    def __init__(self, fn: Callable[[Any], Any], size: int, period: float):
        """Trace the function of a state and the time, (size + 1,) to a vector; see `BallFunction` for the errors.

        The period counts as any number within one unit in the last place of the one given, because that of a sine is
        no float.
        """
        self._fn = BallFunction(fn, size + 1)
        self._half = ball(float(period), float(np.spacing(period))) / (2 * PARTS)

    def __call__(self, x: Balls) -> Balls:
        """Enclose the averages at all points of a box."""
        half = self._half
        across = half * ball(0.0, 1.0)
        total: Any = None
        for k in range(PARTS):
            middle = half * (2 * k + 1)
            known, rest = self._terms(x, middle, ORDER), self._terms(x, middle + across, ORDER + 1)
            mean = [
                sum((c[j] * half**j / (j + 1) for j in range(0, ORDER, 2)), r[ORDER] * half**ORDER / (ORDER + 1))
                for c, r in zip(known, rest, strict=True)
            ]
            total = mean if total is None else [a + b for a, b in zip(total, mean, strict=True)]
        return entries((v / PARTS for v in total), (len(total),))

    def may_jump(self, x: Balls) -> bool:
        """Test whether the function may be discontinuous in a box at some time."""
        return self._fn.may_jump([*x, self._half * PARTS * (1 + ball(0.0, 1.0))])

    def _terms(self, x: Balls, time: Any, count: int) -> list[list[Any]]:
        """Taylor coefficients in time of all entries."""
        made = flint().arb_series
        flint().ctx.cap = count
        series = [made([v], prec=count) for v in x] + [made([time, 1], prec=count)]
        found = []
        for value in self._fn.values(series):
            terms = value.coeffs() if is_series(value) else [value]
            found.append(terms + [ball(0.0)] * (count - len(terms)))
        return found


class AveragedField:
    """The average over a period of a field as equations for its zeros, with their Jacobian, in balls."""

    def __init__(self, field: Callable[[Any], Any], size: int, period: float):
        """Trace the field of a state and the time, (size + 1,) to (size,)."""
        self._size = size
        self._values = Average(field, size, period)
        self._slopes = Average(lambda z: jnp.ravel(jax.jacfwd(field)(z)[:, :size]), size, period)

    def __call__(self, x: Balls) -> Balls:
        """Enclose the averages on a box."""
        return self._values(x)

    def jacobian(self, x: Balls) -> Balls:
        """Enclose the derivatives of the averages on a box."""
        return np.reshape(self._slopes(x), (self._size, self._size))

    def may_jump(self, x: Balls) -> bool:
        """Test whether the field may be discontinuous in a box at some time."""
        return self._values.may_jump(x)

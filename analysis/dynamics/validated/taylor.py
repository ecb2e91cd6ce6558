"""Validated Taylor steps of an autonomous field: enclosures of its flow and of the derivative of the flow, in balls.

Source: R. J. Lohner, Computation of guaranteed enclosures (1992); G. F. Corliss and R. Rihm, Validating an a priori
enclosure using high-order Taylor series (1996), for the enclosure over a step.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from analysis.dynamics.validated.ball_operations import ball, flint, is_series
from analysis.dynamics.validated.balls import BallFunction, Balls, entries

ATTEMPTS = 4  # at an enclosure over a step, each wider than the last
SLACK = 2.0**-20  # of the radius: balls keep about 30 bits of their radii

Series = list[list[Any]]
"""Taylor coefficients, for each component from the constant one on."""


class Step(NamedTuple):
    """Enclosures of the state after a step, of the state during it and, if requested, of the flow's derivative.

    `remainder` is the largest entry of the remainder of the Taylor polynomial.
    """

    end: Balls
    during: Balls
    derivative: Any
    remainder: float


@contextlib.contextmanager
def arithmetic(bits: int, terms: int) -> Iterator[None]:
    """Compute with balls of this many bits, and with series of at most this many terms."""
    context = flint().ctx
    before = context.prec, context.cap
    context.prec, context.cap = bits, terms
    try:
        yield
    finally:
        context.prec, context.cap = before


class TaylorSteps:
    """Steps of one order along solutions of x' = f(x)."""

    def __init__(self, fn: Callable[[Any], Any], size: int, order: int):
        """Trace the field of vectors of this size; see `BallFunction` for the errors."""
        self.field, self.size, self.order = BallFunction(fn, size), size, order
        self._zero, self._matrix, self._polynomial = ball(0.0), flint().arb_mat, flint().arb_poly

    def coefficients(self, x: Iterable[Any], order: int) -> Series:
        """Compute the Taylor coefficients 0, ..., `order` of the solutions that start in a box.

        Newton's method for x' = f(x) on power series doubles their number: if x holds the first m, then x + e the first
        2 m, where e' = Df(x) e + f(x) - x' and e = O(t^m).
        """
        found = [[v] for v in x]
        for known in (2**k for k in range(order.bit_length())):
            wanted = min(2 * known, order + 1)
            values = [_terms(v, wanted - 1) for v in self.field.values(self._series(found, wanted))]
            J, fresh = self._slopes(found, wanted - 1 - known), []
            for k in range(known - 1, wanted - 1):
                total = self._matrix(self.size, 1, [v[k] for v in values])
                for slope, e in zip(J, fresh[::-1], strict=False):
                    total = total + slope * e
                fresh.append(total / (k + 1))
            for i, terms in enumerate(found):
                terms.extend(e[i, 0] for e in fresh)
        return found

    def natural(self, series: Series, share: float) -> float:
        """Estimate the time at which the highest-order term reaches a share of the state, from the last two terms."""
        sizes = [max(abs(float(c[k].mid())) for c in series) for k in (0, 1, self.order - 1, self.order)]
        scale, last = max(sizes[:2]), zip((self.order - 1, self.order), sizes[2:], strict=True)
        return min(((share * scale / size) ** (1 / k) for k, size in last if size > 0), default=np.inf)

    def at(self, series: Series, h: Any) -> Balls:
        """Evaluate the Taylor polynomials of an order."""
        return entries((self._polynomial(c[: self.order + 1])(h) for c in series), (self.size,))

    def linearised(self, x: Balls, h: Any) -> tuple[Balls, Any]:
        """Evaluate the Taylor polynomials of the state and of its derivative after a time h, without remainder."""
        series = self.coefficients(x, self.order)
        return self.at(series, h), _horner(self._variations(series, self.order), h)

    def step(self, x: Balls, h: Any, *, derivative: bool = False) -> Step | None:
        """Enclose the solutions for all starts in a box and all times in the ball h > 0; None if that fails."""
        try:
            return self._enclosed(x, h, derivative)
        except ZeroDivisionError:  # of series: the box is too wide
            return None

    def _enclosed(self, x: Balls, h: Any, derivative: bool) -> Step | None:
        order, over = self.order, self._zero.union(h)
        series = self.coefficients(x, order)
        polynomial = self.at(series, over)
        width = [
            _about_zero(2 * c[order] * h**order + v.rad() * SLACK) for v, c in zip(polynomial, series, strict=True)
        ]
        for _ in range(ATTEMPTS):
            during = [v + w for v, w in zip(polynomial, width, strict=True)]
            inner = self.coefficients(during, order + 1)
            rest = [c[order + 1] * over ** (order + 1) for c in inner]
            reached = [v + r for v, r in zip(polynomial, rest, strict=True)]
            if not all(r.is_finite() for r in reached):
                return None
            if all(d.contains_interior(r) for d, r in zip(during, reached, strict=True)):
                last = entries((c[order + 1] * h ** (order + 1) for c in inner), (self.size,))
                slope = self._derivative(series, inner, h) if derivative else None
                remainder = max(float(abs(v).upper()) for v in last)
                return Step(self.at(series, h) + last, entries(reached, (self.size,)), slope, remainder)
            width = [_about_zero(4 * (w + r)) for w, r in zip(width, rest, strict=True)]
        return None

    def _derivative(self, series: Series, during: Series, h: Any) -> Any:
        """Enclose the derivative of the flow over a step, V' = Df(x) V with V(0) = 1, including the remainder."""
        order, count = self.order, self.size
        norm = self._zero
        for row in self.field.jacobian(entries((c[0] for c in during), (count,))):
            norm = norm.max(sum((abs(entry).upper() for entry in row), start=self._zero))
        growth = ((norm * h).exp() - 1).upper()  # |V(t) - 1| <= exp(L t) - 1 in the maximum norm
        near = [[ball(float(i == j)) + growth * ball(0.0, 1.0) for j in range(count)] for i in range(count)]
        rest = self._variations(during, order + 1)[order + 1] * self._matrix(near)
        return _horner(self._variations(series, order), h) + rest * h ** (order + 1)

    def _variations(self, series: Series, order: int) -> list[Any]:
        """Compute the Taylor coefficients of the derivative of solutions by their start, matrices (n, n)."""
        J = self._slopes(series, order)
        found = [self._matrix(np.eye(self.size).tolist())]
        for k in range(order):
            total = J[0] * found[k]
            for slope, V in zip(J[1:], found[:k][::-1], strict=False):
                total = total + slope * V
            found.append(total / (k + 1))
        return found

    def _slopes(self, series: Series, count: int) -> list[Any]:
        """Compute the first Taylor coefficients of the Jacobian along solutions, matrices (n, n)."""
        if count <= 0:
            return []
        parts = [_terms(v, count) for v in self.field.slopes(self._series(series, count))]
        return [self._matrix(self.size, self.size, [part[k] for part in parts]) for k in range(count)]

    def _series(self, series: Series, terms: int) -> list[Any]:
        made = flint().arb_series
        return [made(c[:terms], prec=terms) for c in series]


def _terms(value: Any, count: int) -> list[Any]:
    """Get the first Taylor coefficients of a value, which may be constant in time."""
    if not is_series(value):
        return [value] + [ball(0.0)] * (count - 1)
    found = value.coeffs()
    return found + [ball(0.0)] * (count - len(found))


def _horner(coefficients: list[Any], h: Any) -> Any:
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = c + total * h
    return total


def _about_zero(value: Any) -> Any:
    """Build a ball around zero that contains a given ball with a margin."""
    return ball(0.0, 1.0) * (abs(value).upper() + ball(2.0) ** -100)

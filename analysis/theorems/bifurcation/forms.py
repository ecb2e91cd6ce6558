"""Derivatives of all orders of a field along vectors, enclosed in balls, from one record of its operations.

Along a line x + t u the field is a power series in t, which its operations compute; mixed derivatives follow by
polarisation.
"""

import collections
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import ball, flint, is_series
from analysis.dynamics.validated.balls import BallFunction, Balls, balls, entries


class Forms:
    """The values and the symmetric derivatives D^k f(x)[u1, ..., uk] of a function of one vector, in balls.

    Series must have room for as many terms: see `arithmetic`.
    """

    def __init__(self, fn: Callable[[Any], Any], size: int):
        """Trace the function of vectors of this size; see `BallFunction` for the errors."""
        self.field, self.size, self._enclosed = fn, size, BallFunction(fn, size)

    def __call__(self, x: Balls, *along: Balls) -> Balls:
        """Enclose the derivative along vectors, or the values without any; missing last components are zero."""
        if not along:
            return self._enclosed(x)
        counts = collections.Counter(map(id, along))
        whole = {id(u): np.concatenate([u, balls(np.zeros(self.size - len(u)))]) for u in along}
        if len(counts) == 1:
            return self.coefficient(x, list(whole.values()), len(along)) * math.factorial(len(along))
        total: Balls = np.zeros((), int)
        for some in itertools.product(*(range(count + 1) for count in counts.values())):
            if any(some):
                weight = (-1) ** (len(along) - sum(some))
                weight *= math.prod(math.comb(count, k) for count, k in zip(counts.values(), some, strict=True))
                direction = sum((k * whole[name] for name, k in zip(counts, some, strict=True) if k), start=0)
                total = total + weight * self.coefficient(x, [direction], len(along))
        return total

    def coefficient(self, x: Balls, curve: Sequence[Balls], order: int) -> Balls:
        """Enclose the coefficient of t^order in f(x + t c1 + t^2 c2 + ...)."""
        made, inputs = flint().arb_series, []
        for k, start in enumerate(x):
            rest = [c[k] if k < len(c) else ball(0.0) for c in curve]
            moves = any(not bool(v == 0) for v in rest)
            inputs.append(made([start, *rest][: order + 1], prec=order + 1) if moves else start)
        values = self._enclosed.values(inputs)
        return entries((v[order] if is_series(v) else ball(0.0) for v in values), (len(values),))

    def jacobian(self, x: Balls) -> Balls:
        """Enclose the first derivatives by all components."""
        return np.stack([self(x, unit) for unit in balls(np.eye(self.size))], axis=1)

    def may_jump(self, x: Balls) -> bool:
        """Test whether the function may be discontinuous in a box."""
        return self._enclosed.may_jump(x)


class Varying:
    """A vector in balls with its derivatives by the unknowns of some equations.

    Attributes:
        value: the vector, (k,).
        slope: its derivatives, (k, unknowns).
    """

    def __init__(self, value: Balls, slope: Balls):
        """Take over the vector and its derivatives."""
        self.value, self.slope = value, slope

    def __getitem__(self, part: slice) -> "Varying":
        return Varying(self.value[part], self.slope[part])

    def __neg__(self) -> "Varying":
        return Varying(-self.value, -self.slope)

    def __add__(self, other: "Varying | float") -> "Varying":
        if not isinstance(other, Varying):
            return Varying(self.value + other, self.slope)
        return Varying(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: "Varying | float") -> "Varying":
        return self + (-other)

    def __mul__(self, other: "Varying | float") -> "Varying":
        if not isinstance(other, Varying):
            return Varying(self.value * other, self.slope * other)
        slope = self.value[:, None] * other.slope + other.value[:, None] * self.slope
        return Varying(self.value * other.value, slope)

    __rmul__ = __mul__

    def fixed(self, values: Any) -> "Varying":
        """Make a vector of numbers that does not depend on the same unknowns."""
        found = balls(values)
        return Varying(found, balls(np.zeros((len(found), self.slope.shape[1]))))


def joined(*parts: Varying) -> Varying:
    """Join vectors."""
    return Varying(np.concatenate([p.value for p in parts]), np.concatenate([p.slope for p in parts]))


def along(forms: Forms, x: Varying, *vectors: Varying) -> Varying:
    """Enclose a derivative along vectors with its own derivatives by the unknowns, by the product rule."""
    given = [u.value for u in vectors]
    value = forms(x.value, *given)
    slope = balls(np.zeros((len(value), x.slope.shape[1])))
    for j in range(slope.shape[1]):
        changes = [(x.slope[:, j], given)]
        changes += [(u.slope[:, j], given[:i] + given[i + 1 :]) for i, u in enumerate(vectors)]
        for change, rest in changes:
            if any(not bool(v == 0) for v in change):
                slope[:, j] = slope[:, j] + forms(x.value, *rest, change)
    return Varying(value, slope)

"""Cycles of maps: the iterate of which one is a fixed point, its least period, and a length that all points share."""

from typing import Any

import numpy as np
import sympy

from analysis.dynamics.validated.balls import Balls, balls
from analysis.dynamics.validated.enclosures import is_inside
from analysis.dynamics.validated.krawczyk import krawczyk
from analysis.theorems.bifurcation.eigenspaces import complexes, inner
from analysis.theorems.bifurcation.extended import forms_of, numbers
from analysis.theorems.bifurcation.forms import Forms
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis
from dynsim._core.validation import integer
from dynsim.systems.parameter import Parameter

NEAR = 1e-6
"""Half the side of the box about a point of a cycle in which a point of a lower period is looked for."""


class _FixedPoint:
    """The equations f(x, a) - x = 0 for all parameters a in a ball."""

    def __init__(self, forms: Forms, parameter: Any):
        self._forms, self._parameter = forms, parameter

    def __call__(self, x: Balls) -> Balls:
        return self._forms(np.append(x, self._parameter)) - x

    def jacobian(self, x: Balls) -> Balls:
        n = len(x)
        return self._forms.jacobian(np.append(x, self._parameter))[:, :n] - balls(np.eye(n))

    def may_jump(self, x: Balls) -> bool:
        return self._forms.may_jump(np.append(x, self._parameter))


class CycleForms:
    """A cycle of a map with one parameter, as a fixed point of an iterate.

    Attributes:
        period: the number of points of the cycle.
        forms: the derivatives of the iterate by the state and the parameter.
    """

    def __init__(self, parameter: Parameter, dimension: int, theorem: str, period: int):
        """Trace one step and the iterate.

        Raises:
            ValueError: for a flow or a curved space, or a period that is no positive integer.
        """
        self.period, self._given = integer("period", period, least=1), (parameter, dimension, theorem)
        self._step = self._iterate(1)
        self.forms = self._step if self.period == 1 else self._iterate(self.period)

    def _iterate(self, steps: int) -> Forms:
        parameter, dimension, theorem = self._given
        return forms_of((parameter,), dimension, theorem, is_map=True, steps=steps)

    @property
    def object(self) -> str:
        """What the iterate has as a fixed point."""
        return "fixed point" if self.period == 1 else f"cycle of period {self.period}"

    @property
    def equation(self) -> str:
        """The equation of the fixed point."""
        return "f = x" if self.period == 1 else f"f^{self.period} = x"

    def least_period(self, x: Balls) -> list[Hypothesis]:
        """Decide whether the period is the least one, at a state followed by the parameter; nothing for period one."""
        divisors = [self.period // q for q in sympy.primefactors(self.period)]
        statuses = [self._moves(self._iterate(d), x) for d in divisors]
        status = FAILS if FAILS in statuses else UNDECIDED if UNDECIDED in statuses else HOLDS
        sense = " and ".join("f(x) != x" if d == 1 else f"f^{d}(x) != x" for d in divisors)
        return [Hypothesis(f"the least period is {self.period}", sense, status, decided="balls")] if divisors else []

    def _moves(self, iterate: Forms, x: Balls) -> str:
        """Decide whether an iterate of a lower period moves a point of the cycle.

        It does not if both iterates have just one fixed point in a box about the point.
        """
        if any(bool(v != 0) for v in iterate(x) - x[:-1]):
            return HOLDS
        at = numbers(x[:-1])
        half = NEAR * (1 + np.abs(at))
        found = [krawczyk(_FixedPoint(one, x[-1]), at - half, at + half) for one in (iterate, self.forms)]
        alone = all(one is not None and is_inside(one[1], one[0]) for one in found)
        return FAILS if alone else UNDECIDED

    def mean_square(self, x: Balls, q: Balls) -> Any:
        """Enclose the mean squared length of an eigenvector along the cycle, the same at each of its points.

        Args:
            x: a point of the cycle, followed by the parameter.
            q: the eigenvector there, (n,), maybe complex.
        """
        n, total = len(q), inner(q, q).real
        for _ in range(self.period - 1):
            q = complexes(self._step.jacobian(x)[:, :n]) @ complexes(q)
            x = np.append(self._step(x), x[n:])
            total = total + inner(q, q).real
        return total / self.period

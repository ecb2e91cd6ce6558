"""Bifurcations of an equilibrium that rests for all parameters: where an eigenvalue is zero, certified in balls."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import Balls, balls
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.theorems.algebra import is_zero
from analysis.theorems.bifurcation.eigenspaces import NullSpace, inner, real_parts, shifted
from analysis.theorems.bifurcation.extended import ExtendedSystem, largest, no_zero, numbers
from analysis.theorems.bifurcation.forms import Forms, Varying, along, joined
from analysis.theorems.conditions import Hypothesis, known
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import written
from dynsim._core.validation import real


@dataclasses.dataclass(frozen=True)
class RestingPoint:
    """A parameter at which an equilibrium that does not move has a zero eigenvalue, with its null vectors.

    Attributes:
        forms: the derivatives of the field by the state and the parameter.
        at: the equilibrium, (n,).
        name: name of the parameter.
        found: balls of the parameter and of the null vector q, or None.
    """

    forms: Forms
    at: np.ndarray
    name: str
    found: Balls | None

    @property
    def value(self) -> float:
        """The parameter."""
        assert self.found is not None
        return float(self.found[0].mid())

    @property
    def null_space(self) -> NullSpace:
        """The null vectors of both sides."""
        assert self.found is not None
        return NullSpace(shifted(self.forms.jacobian(self._place)[:, : len(self.at)], 0), self.found[1:])

    @property
    def _place(self) -> Balls:
        assert self.found is not None
        return np.append(balls(self.at), self.found[0])

    def rows(self) -> list[Hypothesis]:
        """Decide whether the state rests, and whether one eigenvalue is zero."""
        still = is_zero(lambda a: self.forms.field(jnp.append(jnp.asarray(self.at), a)), 1)
        rests = known("the state is an equilibrium for all parameters", f"f({written(self.at)}, a) = 0", still)
        words, sense = "an eigenvalue is zero, and only one", "A q = 0, |q| = 1"
        if self.found is None:
            return [rests, *no_zero(words, sense)]
        place = f"{sense} at {self.name} = {self.value:.8g}"
        return [rests, different_from_zero(words, place, self.null_space.determinant)]

    def coefficients(self) -> tuple[Any, Any, Any]:
        """Enclose those of u' = speed (a - a0) u + bend u^2 + cubic u^3; the cubic one is meant where bend is zero.

        Raises:
            ZeroDivisionError: if the eigenvalue may not be simple.
        """
        assert self.found is not None
        null, q, x, n = self.null_space, self.found[1:], self._place, len(self.at)
        speed = inner(null.p, self.forms(x, q, balls(np.eye(n + 1)[n]))).real
        square = self.forms(x, q, q)
        bend = inner(null.p, square).real / 2 / null.size.sqrt()
        h = real_parts(null.solve(square))
        cubic = inner(null.p, self.forms(x, q, q, q) - 3 * self.forms(x, q, h)).real / 6 / null.size
        return speed, bend, cubic


def resting_point(forms: Forms, name: str, value: float, at: np.ndarray) -> RestingPoint:
    """Certify the parameter near a value at which an equilibrium that does not move has a zero eigenvalue.

    Unknown are the parameter and the null vector, A q = 0.

    Args:
        forms: the derivatives of the field by the state and the parameter.
        name: name of the parameter.
        value: the parameter nearby.
        at: the equilibrium, (n,).

    Raises:
        ValueError: for a value that is no number.
    """
    n, start = len(at), float(real("value", value))
    q = np.linalg.svd(numbers(forms.jacobian(balls([*at, start])))[:, :n])[2][-1]
    k = largest(q)

    def equations(z: Varying) -> Varying:
        x, q = joined(z.fixed(at), z[:1]), z[1:]
        return joined(along(forms, x, q), q[k : k + 1] - 1.0)

    found = zero_near(ExtendedSystem(forms, equations, at), np.append(start, q / q[k]))
    return RestingPoint(forms, at, name, found)

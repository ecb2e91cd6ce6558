"""Bifurcations of an equilibrium that rests for all parameters: where an eigenvalue is zero, certified in balls."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import Balls, balls
from analysis.theorems.algebra import is_zero
from analysis.theorems.bifurcation.extended import (
    Family,
    bordered_determinant,
    certified_zero,
    derivatives,
    family_of,
    in_balls,
)
from analysis.theorems.conditions import UNDECIDED, Hypothesis, known
from analysis.theorems.regions import point, written
from analysis.theorems.signs import different_from_zero
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter


@dataclasses.dataclass(frozen=True)
class RestingPoint:
    """A parameter at which an equilibrium that does not move has a zero eigenvalue, with what coefficients need.

    Unknown are q and p with A q = 0, A' p = 0, |q| = 1 and <p, q> = 1, the parameter, the vector h with
    A h = B(q, q) - <p, B(q, q)> q and <p, h> = 0, and two slacks.

    Attributes:
        family: the field of a state and the parameter.
        at: the equilibrium, (n,).
        name: name of the parameter.
        found: balls of the unknowns, or None.
    """

    family: Family
    at: np.ndarray
    name: str
    found: Balls | None

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.at)

    @property
    def value(self) -> float:
        """The parameter."""
        assert self.found is not None
        return float(self.found[2 * self.n].mid())

    @property
    def null_vector(self) -> Balls:
        """Balls of q."""
        assert self.found is not None
        return self.found[: self.n]

    def rows(self) -> list[Hypothesis]:
        """Decide whether the state rests, and whether one eigenvalue is zero."""
        still = is_zero(lambda a: self.family(jnp.asarray(self.at), a[0]), 1)
        rests = known("the state is an equilibrium for all parameters", f"f({written(self.at)}, a) = 0", still)
        words, sense = "an eigenvalue is zero, and only one", "A q = 0, |q| = 1"
        if self.found is None:
            return [rests, Hypothesis(words, f"{sense} has a regular zero nearby", UNDECIDED, decided="balls")]
        n, place = self.n, np.append(balls(self.at), self.found[2 * self.n])
        simple = bordered_determinant(self.family, place, self.found[:n], self.found[n : 2 * n])
        return [rests, different_from_zero(words, f"{sense} at {self.name} = {self.value:.8g}", simple)]

    def coefficients(self) -> tuple[Any, Any, Any]:
        """Enclose those of u' = speed (a - a0) u + bend u^2 + cubic u^3; the cubic one is meant where bend is zero."""
        assert self.found is not None
        A, B, C, _ = derivatives(self.family)
        n, x = self.n, jnp.asarray(self.at)

        def speed(z: jax.Array) -> jax.Array:
            return jnp.dot(z[n : 2 * n], jax.jvp(lambda a: A(x, a, z[:n]), (z[2 * n],), (jnp.ones(()),))[1])

        def bend(z: jax.Array) -> jax.Array:
            return jnp.dot(z[n : 2 * n], B(x, z[2 * n], z[:n], z[:n])) / 2

        def cubic(z: jax.Array) -> jax.Array:
            q, p, a, h = z[:n], z[n : 2 * n], z[2 * n], z[2 * n + 1 : 3 * n + 1]
            return jnp.dot(p, C(x, a, q, q, q) - 3 * B(x, a, q, h)) / 6

        return in_balls(speed, self.found), in_balls(bend, self.found), in_balls(cubic, self.found)


def resting_point(parameter: Parameter, value: float, state: ArrayLike, theorem: str) -> RestingPoint:
    """Certify the parameter near a value at which an equilibrium that does not move has a zero eigenvalue.

    Raises:
        ValueError: for bad input, naming the theorem, or a field that balls cannot enclose.
    """
    at, start = point("state", state), float(real("value", value))
    n, x = len(at), jnp.asarray(at)
    family = family_of(parameter, n, theorem)
    A, B, _, _ = derivatives(family)

    def equations(z: jax.Array) -> jax.Array:
        q, p, a, h = z[:n], z[n : 2 * n], z[2 * n], z[2 * n + 1 : 3 * n + 1]
        slack, other = z[3 * n + 1], z[3 * n + 2]
        turned = jax.vjp(lambda y: family(y, a), x)[1](p)[0]  # A' p
        norms = jnp.stack([jnp.dot(q, q) - 1, jnp.dot(p, q) - 1, jnp.dot(p, h)])
        return jnp.concatenate([A(x, a, q), turned + slack * q, A(x, a, h) - B(x, a, q, q) + other * q, norms])

    J = np.asarray(jax.jacfwd(lambda y: family(y, jnp.asarray(start)))(x))
    left, _, right = np.linalg.svd(J)
    q, p = right[-1], left[:, -1]
    p = p / (float(p @ q) if abs(float(p @ q)) > 1e-8 else 1.0)
    second = np.asarray(B(x, jnp.asarray(start), jnp.asarray(q), jnp.asarray(q)))
    border = np.block([[J, q[:, None]], [p[None, :], np.zeros((1, 1))]])
    h = np.linalg.lstsq(border, np.append(second, 0.0), rcond=None)[0]
    guess = np.concatenate([q, p, [start], h[:n], [0.0, h[n]]])
    return RestingPoint(family, at, parameter.name, certified_zero(equations, guess))

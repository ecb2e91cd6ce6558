"""Flows with strange attractors or chaotic seas: Lorenz, Roessler, Henon-Heiles."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Scalar, State, Time
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.parameters import parameter


class Lorenz(AbstractFlow):
    r"""The Lorenz system, $\dot x = \sigma (y - x)$, $\dot y = x (\rho - z) - y$, $\dot z = x y - \beta z$.

    The origin has a pitchfork bifurcation at rho = 1. The other equilibria $(\pm s, \pm s, \rho - 1)$,
    $s^2 = \beta (\rho - 1)$, lose stability in a subcritical Hopf bifurcation at
    $\rho = \sigma (\sigma + \beta + 3) / (\sigma - \beta - 1)$, which is 24.7368 for the default sigma and beta. For
    the defaults the Lyapunov exponents are .9056, 0, -14.5723; their sum is exactly $-(\sigma + 1 + \beta)$.

    Source: E. N. Lorenz, Deterministic nonperiodic flow, J. Atmos. Sci. 20 (1963); exponents: J. C. Sprott, Chaos and
    Time-Series Analysis (2003).
    """

    sigma: Float[Array, ""] = parameter("sigma", 10.0)
    rho: Float[Array, ""] = parameter("rho", 28.0)
    beta: Float[Array, ""] = parameter("beta", 8 / 3)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        a, b, c = x[0], x[1], x[2]
        return jnp.stack([self.sigma * (b - a), a * (self.rho - c) - b, a * b - self.beta * c])


class Roessler(AbstractFlow):
    r"""The Roessler system, $\dot x = -y - z$, $\dot y = x + a y$, $\dot z = b + z (x - c)$.

    For a = b = .2, c = 5.7 the Lyapunov exponents are .0714, 0, -5.3943. As c increases, the limit cycle undergoes its
    first period doubling at c = 2.83.

    Source: O. E. Roessler, An equation for continuous chaos, Phys. Lett. A 57 (1976); exponents: J. C. Sprott (2003).
    """

    a: Float[Array, ""] = parameter("a", 0.2)
    b: Float[Array, ""] = parameter("b", 0.2)
    c: Float[Array, ""] = parameter("c", 5.7)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return jnp.stack([-x[1] - x[2], x[0] + self.a * x[1], self.b + x[2] * (x[0] - self.c)])


class HenonHeiles(AbstractFlow):
    r"""The Henon-Heiles system, a star in the potential $V = (x^2 + y^2)/2 + x^2 y - y^3/3$; state (x, y, p_x, p_y).

    The energy is conserved. The potential has saddles at the energy 1/6, above which orbits may escape.

    Source: M. Henon and C. Heiles, The applicability of the third integral of motion, Astron. J. 69 (1964).
    """

    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y", "p_x", "p_y")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side, Hamilton's equations."""
        a, b = x[0], x[1]
        return jnp.stack([x[2], x[3], -a - 2 * a * b, -b - a**2 + b**2])

    def energy(self, x: State) -> Scalar:
        """The conserved energy."""
        return (x[2] ** 2 + x[3] ** 2 + x[0] ** 2 + x[1] ** 2) / 2 + x[0] ** 2 * x[1] - x[1] ** 3 / 3

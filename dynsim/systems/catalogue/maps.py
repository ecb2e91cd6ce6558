"""Discrete maps: logistic, Henon, standard, Ikeda."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import State, Step
from dynsim.spaces import Euclidean, Torus
from dynsim.systems.base import AbstractMap
from dynsim.systems.catalogue.parameters import parameter


class Logistic(AbstractMap):
    r"""The logistic map, $x \mapsto r x (1 - x)$ on [0, 1]; state (x,).

    Period 2 begins at r = 3, period 4 at $1 + \sqrt 6$, and chaos at 3.569946. Ratios of successive distances between
    period doublings tend to Feigenbaum's constant 4.669201. At r = 4 the Lyapunov exponent is log 2.

    Source: R. M. May, Nature 261 (1976); M. J. Feigenbaum, J. Stat. Phys. 19 (1978).
    """

    r: Float[Array, ""] = parameter("r", 4.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x",)

    def step(self, k: Step, x: State) -> State:
        """The next state."""
        return self.r * x * (1 - x)


class Henon(AbstractMap):
    r"""Henon's map, $(x, y) \mapsto (1 - a x^2 + y, b x)$.

    For a = 1.4, b = .3 the Lyapunov exponents are .41922 and -1.62319; their sum is exactly log |b|.

    Source: M. Henon, A two-dimensional mapping with a strange attractor, Comm. Math. Phys. 50 (1976).
    """

    a: Float[Array, ""] = parameter("a", 1.4)
    b: Float[Array, ""] = parameter("b", 0.3)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y")

    def step(self, k: Step, x: State) -> State:
        """The next state."""
        return jnp.stack([1 - self.a * x[0] ** 2 + x[1], self.b * x[0]])


class Standard(AbstractMap):
    r"""Chirikov's standard map, $p' = p + K \sin\theta$, $\theta' = \theta + p'$; state (theta, p) in [0, 2 pi)^2.

    The map preserves area. The last invariant circle around the cylinder breaks at K = .971635. For large K the largest
    Lyapunov exponent is about log(K / 2).

    Source: B. V. Chirikov, Phys. Rep. 52 (1979); J. M. Greene, J. Math. Phys. 20 (1979).
    """

    K: Float[Array, ""] = parameter("K", 0.971635)
    space: Torus = Torus(2)
    names: ClassVar[tuple[str, ...]] = ("theta", "p")

    def step(self, k: Step, x: State) -> State:
        """The next state, reduced to [0, 2 pi)."""
        p = x[1] + self.K * jnp.sin(x[0])
        return jnp.mod(jnp.stack([x[0] + p, p]), 2 * jnp.pi)


class CircleMap(AbstractMap):
    r"""Arnold's circle map, $\theta' = \theta + \Omega - \frac{K}{2 \pi} \sin 2 \pi \theta$ modulo 1; state (theta,).

    It has fixed points for $|\Omega| \le K / 2 \pi$, the tongue of the rotation number 0. At K = 1 the map has a
    critical point at 0, and for $\Omega = 0.606661063470$ the golden rotation number $(\sqrt 5 - 1) / 2$; distances of
    the iterates at Fibonacci numbers from 0 then shrink by the factor -1.28857.

    Source: V. I. Arnold, Small denominators I, Izv. Akad. Nauk SSSR 25 (1961); S. J. Shenker, Scaling behavior in a map
    of a circle onto itself, Physica D 5 (1982).
    """

    Omega: Float[Array, ""] = parameter("Omega", 0.606661063470)
    K: Float[Array, ""] = parameter("K", 1.0)
    space: Torus = Torus(1, 1.0)
    names: ClassVar[tuple[str, ...]] = ("theta",)

    def step(self, k: Step, x: State) -> State:
        """The next state, reduced to [0, 1)."""
        return jnp.mod(x + self.Omega - self.K / (2 * jnp.pi) * jnp.sin(2 * jnp.pi * x), 1.0)


class Ikeda(AbstractMap):
    r"""Ikeda's map of light in a ring cavity, $z \mapsto 1 + u z e^{i \tau}$, $\tau = .4 - 6 / (1 + |z|^2)$.

    The state is (x, y), z = x + i y. The map contracts areas by u^2 at every step. For u = .9 it has a strange
    attractor with Lyapunov exponents .507 and -.718, whose sum is exactly 2 log u.

    Source: K. Ikeda, Opt. Comm. 30 (1979); S. M. Hammel, C. Jones and J. Moloney, J. Opt. Soc. Am. B 2 (1985).
    """

    u: Float[Array, ""] = parameter("u", 0.9)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y")

    def step(self, k: Step, x: State) -> State:
        """The next state."""
        turn = 0.4 - 6 / (1 + jnp.sum(x**2))
        c, s = jnp.cos(turn), jnp.sin(turn)
        return jnp.stack([1 + self.u * (x[0] * c - x[1] * s), self.u * (x[0] * s + x[1] * c)])

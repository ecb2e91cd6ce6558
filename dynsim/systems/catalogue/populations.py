"""Populations and reactions: Lotka-Volterra, the Brusselator, and Kuramoto's phase oscillators."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Scalar, State, Time
from dynsim._core.validation import real, reals
from dynsim.errors import ArgumentError
from dynsim.spaces import Circle, Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.parameters import parameter


class LotkaVolterra(AbstractFlow):
    r"""Lotka-Volterra prey and predators, $\dot x = x (a - b y)$, $\dot y = y (c x - d)$; state (x, y), both positive.

    $c x - d \log x + b y - a \log y$ is conserved. The equilibrium (d/c, a/b) is a centre with angular frequency
    $\sqrt{a d}$.

    Source: A. J. Lotka, Elements of Physical Biology (1925); V. Volterra (1926).
    """

    a: Float[Array, ""] = parameter("a", 1.0)
    b: Float[Array, ""] = parameter("b", 1.0)
    c: Float[Array, ""] = parameter("c", 1.0)
    d: Float[Array, ""] = parameter("d", 1.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("prey", "predators")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return jnp.stack([x[0] * (self.a - self.b * x[1]), x[1] * (self.c * x[0] - self.d)])

    def conserved(self, x: State) -> Scalar:
        """The conserved quantity $c x - d \\log x + b y - a \\log y$."""
        return self.c * x[0] - self.d * jnp.log(x[0]) + self.b * x[1] - self.a * jnp.log(x[1])


class Brusselator(AbstractFlow):
    r"""The Brusselator, $\dot x = a + x^2 y - (b + 1) x$, $\dot y = b x - x^2 y$; state (x, y).

    The equilibrium (a, b/a) has a supercritical Hopf bifurcation at $b = 1 + a^2$, with angular frequency a.

    Source: I. Prigogine and R. Lefever, J. Chem. Phys. 48 (1968).
    """

    a: Float[Array, ""] = parameter("a", 1.0)
    b: Float[Array, ""] = parameter("b", 3.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        production = x[0] ** 2 * x[1]
        return jnp.stack([self.a + production - (self.b + 1) * x[0], self.b * x[0] - production])


class Kuramoto(AbstractFlow):
    r"""Kuramoto's phase oscillators, $\dot\theta_i = \omega_i + \frac{K}{n} \sum_j \sin(\theta_j - \theta_i)$.

    The state is the vector of phases (n,), in radians and not reduced modulo 2 pi. Two oscillators lock if and only if
    $K \ge |\omega_1 - \omega_2|$. If the frequencies have a Cauchy distribution of width g, the incoherent state loses
    stability at K = 2 g in the limit of large n, and beyond it the order parameter is $\sqrt{1 - 2 g / K}$.

    Source: Y. Kuramoto, Chemical Oscillations, Waves, and Turbulence (1984).
    """

    frequencies: Float[Array, " n"]
    coupling: Float[Array, ""]
    space: Circle = Circle()

    def __init__(self, frequencies: ArrayLike = (-1.0, 0.0, 1.0), coupling: ArrayLike = 1.0):
        """Store the natural frequencies omega (n,) and the coupling K; raise `ValueError` for other shapes."""
        found = reals("frequencies", frequencies)
        if found.ndim != 1 or not len(found):
            raise ArgumentError("frequencies", "have shape (n,) with n at least 1", f"has shape {found.shape}")
        self.frequencies, self.coupling = jnp.asarray(found, float), real("coupling", coupling)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the phases."""
        return tuple(f"theta_{k + 1}" for k in range(len(self.frequencies)))

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side, evaluated through the order parameter."""
        c, s = jnp.cos(x), jnp.sin(x)
        return self.frequencies + self.coupling * (jnp.mean(s) * c - jnp.mean(c) * s)

    def order(self, x: State) -> Scalar:
        """Order parameter $|n^{-1} sum_j e^{i theta_j}|$, between 0 and 1."""
        return jnp.hypot(jnp.mean(jnp.cos(x)), jnp.mean(jnp.sin(x)))

"""Oscillators: van der Pol, FitzHugh-Nagumo, Duffing, pendulums, Josephson's junction, and the double well."""

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Scalar, State, Time
from dynsim.spaces import Cylinder, Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.parameters import parameter


class VanDerPol(AbstractFlow):
    r"""Van der Pol's oscillator, $\dot x = y$, $\dot y = \mu (1 - x^2) y - x$; state (x, y).

    For every mu > 0 the origin is unstable and one limit cycle is attracting. Its period is
    $2 \pi (1 + \mu^2 / 16 + O(\mu^4))$, 6.6632869 for mu = 1, and $(3 - 2 \log 2) \mu$ to leading order for large mu.

    Source: B. van der Pol, On relaxation-oscillations, Phil. Mag. 2 (1926).
    """

    mu: Float[Array, ""] = parameter("mu", 1.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "y")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return jnp.stack([x[1], self.mu * (1 - x[0] ** 2) * x[1] - x[0]])


class FitzHughNagumo(AbstractFlow):
    r"""FitzHugh-Nagumo model of a neuron, $\dot v = v - v^3/3 - w + I$, $\dot w = (v + a - b w) / \tau$; state (v, w).

    For a = .7, b = .8, tau = 12.5 the equilibrium loses stability in Hopf bifurcations at the currents I = .331281 and
    1.418719, where $1 - v^2 = b / \tau$.

    Source: R. FitzHugh, Impulses and physiological states, Biophys. J. 1 (1961).
    """

    current: Float[Array, ""] = parameter("current", 0.5)
    a: Float[Array, ""] = parameter("a", 0.7)
    b: Float[Array, ""] = parameter("b", 0.8)
    tau: Float[Array, ""] = parameter("tau", 12.5, positive=True)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("v", "w")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        v, w = x[0], x[1]
        return jnp.stack([v - v**3 / 3 - w + self.current, (v + self.a - self.b * w) / self.tau])


class Duffing(AbstractFlow):
    r"""Duffing's oscillator, $\ddot x + \delta \dot x + \alpha x + \beta x^3 = \gamma \cos(\omega t)$; state (x, v).

    Without forcing (gamma = 0), for alpha < 0 < beta, it has two wells at $\pm\sqrt{-\alpha / \beta}$ and a saddle at
    0. The default parameters, with forcing gamma = .3 and omega = 1, are chaotic.

    Source: P. Holmes, A nonlinear oscillator with a strange attractor, Phil. Trans. R. Soc. A 292 (1979).
    """

    delta: Float[Array, ""] = parameter("delta", 0.25)
    alpha: Float[Array, ""] = parameter("alpha", -1.0)
    beta: Float[Array, ""] = parameter("beta", 1.0)
    gamma: Float[Array, ""] = parameter("gamma", 0.3)
    omega: Float[Array, ""] = parameter("omega", 1.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x", "v")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        force = self.gamma * jnp.cos(self.omega * t)
        return jnp.stack([x[1], force - self.delta * x[1] - self.alpha * x[0] - self.beta * x[0] ** 3])

    def step_limit(self) -> float:
        """Longest step for a solver: half a period of the forcing, infinite without forcing."""
        return float(jnp.pi / jnp.abs(self.omega)) if float(self.gamma) else float("inf")


class Pendulum(AbstractFlow):
    r"""The pendulum, $\ddot\theta = -\sin\theta - \gamma \dot\theta$; state (angle, velocity), the angle in radians.

    Without friction the period at amplitude A is $4 K(\sin^2(A / 2))$, where K is the complete elliptic integral as a
    function of the parameter. Time is in units of $\sqrt{l / g}$.
    """

    friction: Float[Array, ""] = parameter("friction", 0.0)
    space: Cylinder = Cylinder({0: 2 * math.pi})
    names: ClassVar[tuple[str, ...]] = ("angle", "velocity")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return jnp.stack([x[1], -jnp.sin(x[0]) - self.friction * x[1]])


class Josephson(AbstractFlow):
    r"""Josephson's junction with a shunt, $\ddot\phi + \alpha \dot\phi + \sin\phi = I$; state (phase phi, voltage v).

    The phase is an angle, and v its velocity. For I > 1 the phase runs around the circle. For small alpha it may also
    run for smaller I, down to $4 \alpha / \pi$ to leading order, where the junction may rest as well: its voltage has
    hysteresis. Over a period of a running orbit, power and loss balance: $I \langle v \rangle = \alpha \langle v^2
    \rangle$. Time is in units of the reciprocal plasma frequency.

    Source: S. H. Strogatz, Nonlinear Dynamics and Chaos, sections 4.6 and 8.5.
    """

    current: Float[Array, ""] = parameter("current", 1.2)
    alpha: Float[Array, ""] = parameter("alpha", 0.5)
    space: Cylinder = Cylinder({0: 2 * math.pi})
    names: ClassVar[tuple[str, ...]] = ("phi", "v")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return jnp.stack([x[1], self.current - jnp.sin(x[0]) - self.alpha * x[1]])


class DoublePendulum(AbstractFlow):
    r"""The double pendulum in a plane: two masses on massless rods; state (theta_1, theta_2, omega_1, omega_2).

    Angles are measured from the vertical, omega_1 and omega_2 are their velocities. The energy is conserved. The
    frequencies of small oscillations are, with $M = m_1 + m_2$ and $L = l_1 + l_2$,
    $\omega^2 = g (M L \pm \sqrt{M (M L^2 - 4 m_1 l_1 l_2)}) / (2 m_1 l_1 l_2)$, for equal masses and lengths
    $(2 \pm \sqrt 2) g / l$.

    Source: L. D. Landau and E. M. Lifshitz, Mechanics, section 5, problem 1, and section 23, problem 2.
    """

    mass_1: Float[Array, ""] = parameter("mass_1", 1.0, positive=True)
    mass_2: Float[Array, ""] = parameter("mass_2", 1.0, positive=True)
    length_1: Float[Array, ""] = parameter("length_1", 1.0, positive=True)
    length_2: Float[Array, ""] = parameter("length_2", 1.0, positive=True)
    gravity: Float[Array, ""] = parameter("gravity", 1.0)
    space: Cylinder = Cylinder({0: 2 * math.pi, 1: 2 * math.pi})
    names: ClassVar[tuple[str, ...]] = ("theta_1", "theta_2", "omega_1", "omega_2")

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side: both accelerations from Lagrange's equations, by Cramer's rule."""
        m, l_1, l_2, g = self.mass_2 / (self.mass_1 + self.mass_2), self.length_1, self.length_2, self.gravity
        first, second, w_1, w_2 = x[0], x[1], x[2], x[3]
        c, s = jnp.cos(first - second), jnp.sin(first - second)
        pull_1 = -m * l_2 * w_2**2 * s - g * jnp.sin(first)  # l_1 a_1 + m l_2 c a_2 = pull_1
        pull_2 = l_1 * w_1**2 * s - g * jnp.sin(second)  # l_1 c a_1 + l_2 a_2 = pull_2
        determinant = 1 - m * c**2
        a_1 = (pull_1 - m * c * pull_2) / (l_1 * determinant)
        a_2 = (pull_2 - c * pull_1) / (l_2 * determinant)
        return jnp.stack([w_1, w_2, a_1, a_2])

    def energy(self, x: State) -> Scalar:
        """Compute the conserved energy, which is 0 where both pendulums are horizontal and at rest."""
        m_1, m_2, l_1, l_2 = self.mass_1, self.mass_2, self.length_1, self.length_2
        v_1, v_2 = l_1 * x[2], l_2 * x[3]
        kinetic = (m_1 + m_2) * v_1**2 / 2 + m_2 * v_2**2 / 2 + m_2 * v_1 * v_2 * jnp.cos(x[0] - x[1])
        return kinetic - self.gravity * ((m_1 + m_2) * l_1 * jnp.cos(x[0]) + m_2 * l_2 * jnp.cos(x[1]))


class DoubleWell(AbstractFlow):
    r"""Gradient motion in the double well $V(x) = x^4/4 - a x^2/2 - h x$, $\dot x = a x - x^3 + h$; state (x,).

    Without the field h there is a pitchfork bifurcation at a = 0. For a > 0 there are folds at
    $h = \pm 2 (a/3)^{3/2}$, where $x = \mp \sqrt{a/3}$.
    """

    a: Float[Array, ""] = parameter("a", 1.0)
    h: Float[Array, ""] = parameter("h", 0.0)
    space: Euclidean = Euclidean()
    names: ClassVar[tuple[str, ...]] = ("x",)

    def velocity(self, t: Time, x: State) -> State:
        """Right-hand side."""
        return self.a * x - x**3 + self.h

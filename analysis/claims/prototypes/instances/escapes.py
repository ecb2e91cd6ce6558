"""Two prototypes on a line with one embedding between them, started so far apart that the barrier drives them to
infinity: a region that no trajectory leaves, by rational inequalities.
"""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from dynsim._core.types import Key, State
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import FreeEmbeddings
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import AbstractTemperature

PAIRS = 1
"""The number of pairs of two prototypes, the binomial coefficient of the printed condition on lambda."""


class Escape(NamedTuple):
    r"""The region $0 \le a \le a_0$, $b \ge b_0$ for prototypes at z - a and z + b, with one embedding z.

    With $\Delta = b^2 - a^2$, $x = \Delta / T$ and $q = 1 / (1 + e^x)$, the assignment of the far prototype, its weight
    in the gradient is $w = q$ (frozen) or $w = q (1 - (1 - q) x)$ (full), and with $g = a + b$

    $$
        \dot a = -2 (\eta_\theta + \eta) (1 - w) a + 2 \eta_\theta w b + 2 \eta \lambda g^{-3}, \qquad
        \dot b = -2 (\eta_\theta + \eta) w b + 2 \eta_\theta (1 - w) a + 2 \eta \lambda g^{-3}
    $$

    With a fixed encoder $\eta_\theta = 0$.
    """

    mode: str
    barrier: Fraction
    rate: Fraction
    encoder_rate: Fraction
    temperature: Fraction
    a0: Fraction
    b0: Fraction

    def witness(self) -> dict[str, object]:
        """Return the parameters by the paper's names."""
        rates = {"lambda": self.barrier, "eta_P": self.rate, "eta_theta": self.encoder_rate}
        return {"mode": self.mode, **rates, "T": self.temperature, "a_0": self.a0, "b_0": self.b0}

    @property
    def condition(self) -> bool:
        """Whether lambda exceeds 2 eta_P times the number of pairs."""
        return self.barrier > 2 * self.rate * PAIRS

    @property
    def invariant(self) -> bool:
        r"""Whether no trajectory leaves the region, and in it $\dot b \ge \eta \lambda g^{-3}$, at T or below.

        At x >= 2 the weight of mode `full` is negative, since (1 - q) x >= 2 - 2 e^-2 > 1, and at a = 0 its size is
        less than x e^-x < 24 / x^3, so that a moves inwards for 24 T^3 eta_theta <= eta lambda b_0^2. In mode `frozen`
        q < e^-x < 6 / x^3, so that w b g^3 < 6 T^3 (b + a_0) / (b - a_0)^3, which decreases in b and at b_0 is at most
        half of lambda eta / (eta_theta + eta); and w < 1/2. Either way the field points inwards at a = a_0.
        """
        a0, b0, T = self.a0, self.b0, self.temperature
        apart = 0 < a0 < b0 and b0**2 - a0**2 >= 2 * T
        if self.mode == "full":
            inwards = 24 * T**3 * self.encoder_rate <= self.rate * self.barrier * b0**2
            return apart and inwards and a0 * b0**3 >= self.barrier
        share = self.rate / (self.rate + self.encoder_rate)
        weak = 6 * T**3 * (b0 + a0) / (b0 - a0) ** 3 <= self.barrier * share / 2
        return apart and weak and a0 * b0**3 >= 2 * self.barrier

    def flow(self, temperature: AbstractTemperature | None = None) -> PrototypeFlow | CoupledFlow:
        """Return the flow that ships: of the prototypes alone if the encoder's rate is zero, else of both."""
        loss = PrototypeLoss(self.mode, barrier=float(self.barrier))
        T = float(self.temperature) if temperature is None else temperature
        if self.encoder_rate == 0:
            return PrototypeFlow(np.zeros((1, 1)), T, loss=loss, rate=float(self.rate))
        rates = {"encoder_rate": float(self.encoder_rate), "prototype_rate": float(self.rate)}
        return CoupledFlow(np.zeros((1, 1)), FreeEmbeddings(1, 1), T, loss=loss, **rates)

    def state(self, a: float, b: float) -> State:
        """Return the state with the embedding at 0 and the prototypes at -a and b."""
        p = jnp.asarray([[-a], [b]], float)
        return p if self.encoder_rate == 0 else Coupled(jnp.zeros((1, 1)), p)

    def speeds(self, a: float, b: float, temperature: AbstractTemperature | None = None) -> tuple[float, float]:
        """Return da/dt and db/dt of the flow that ships, at time 0."""
        v = self.flow(temperature).velocity(0.0, self.state(a, b))
        p, z = (v, 0.0) if self.encoder_rate == 0 else (v.prototypes, float(v.encoder[0, 0]))
        return z - float(p[0, 0]), float(p[1, 0]) - z

    def lowest_speed(self, key: Key, temperature: AbstractTemperature | None = None) -> float:
        r"""Return the least of $\dot b g^3 / (\eta \lambda) - 1$, $-\dot a$ at a_0 and $\dot a$ at 0, at some points.

        In the region none is negative.
        """
        rng = numpy_rng(key, "points")
        a0, b0 = float(self.a0), float(self.b0)
        strength = float(self.rate * self.barrier)
        found = []
        for b in (b0, *(b0 * (1 + 9 * rng.uniform(size=3)))):
            inside = a0 * rng.uniform()
            outward = self.speeds(inside, b, temperature)[1] * (inside + b) ** 3 / strength - 1
            ends = (self.speeds(0.0, b, temperature)[0], -self.speeds(a0, b, temperature)[0])
            found += [outward, *(end * b**3 / strength for end in ends)]
        return min(found)


def escape(key: Key, *, mode: str, coupled: bool) -> Escape:
    """Return a region for random rational parameters with lambda > 2 eta_P, far enough to be invariant."""
    rng = numpy_rng(key, "escape")
    eta = Fraction(int(rng.integers(1, 9)), 8)
    lam = 2 * eta * PAIRS + Fraction(int(rng.integers(1, 33)), 8)
    slow = Fraction(int(rng.integers(1, 17)), 16) * eta if coupled else Fraction(0)
    T = Fraction(int(rng.integers(1, 13)), 4)
    b0 = Fraction(2)
    while not (found := Escape(mode, lam, eta, slow, T, 2 * lam / b0**3, b0)).invariant:
        b0 *= 2
    return found

r"""Two heads whose tokens are the corners of a rectangle: what temperatures and prototypes do is known in closed form.

The four tokens are $(\pm c_1, \pm c_2, 0, 0)$, the directed attention has the planes (1, 3) and (2, 4) with values
$\lambda_1 > \lambda_2$, and head h is born with the prototypes $\pm a_h e_h$ in the direction $e_h$. By symmetry they
keep this form, and with $x = 2 a c / T$, losses averaged over tokens and gradients through the assignments,

$$
    \dot a = -\eta_P (a - c \tanh x - c x / \cosh^2 x), \qquad \sigma = 4 a^2 c^2 / \cosh^2 x .
$$

Two bounds follow. (i) If $c^2 \ge T_{init}$, $\dot a > 0$ at $a = c / 2$, since $\tanh x \ge x / (1 + x) \ge 1 / 2$
there, and $\dot a < 0$ at $a = 3 c / 2$, since $x / \cosh^2 x < 1 / 2$: a stays between, sigma is at least
$c^4 / \cosh^2(3 c^2 / T_{min})$, and the temperature reaches the least one in finite time. (ii) If
$4 c^2 < T_{min}$, $\dot a \le -\kappa a$ with $\kappa = \eta_P (1 - 4 c^2 / T_{min})$, since $\tanh x \le x$, and the
integral of sigma over all times is at most $2 a_0^2 c^2 / \kappa$. Both hold in the mode frozen too, and also if heads
see the tokens as they are; but then the prototypes of (ii), once close, leave each other along the other side if that
is long, after any perturbation.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.ledger.evidence import ROUNDING, Measurement, agrees, at_least, at_most, equal, holds
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import random_key
from dynsim.simulation.growing import simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.losses import PrototypeLoss

rates_of_change = eqx.filter_jit(lambda flow, x: (flow.velocity(jnp.zeros(()), x), flow.activity(x)))
"""The velocity of a growing flow and the activities of its heads, compiled."""

TIMES = 65  # states saved; one number, so that one program serves all runs


def two_heads(
    tokens: np.ndarray,
    interaction: np.ndarray,
    *,
    spread: float,
    temperatures: tuple[float, float],
    rates: tuple[float, float],
    reduction: str = "mean",
) -> tuple[GrowingFlow, Growing]:
    """Return a flow of four tokens of dimension 4 with two heads of two prototypes, and its state at their birth.

    `temperatures` are T_init and T_min, `rates` those of prototypes and temperatures; losses are averaged, or
    summed. Each head sees the tokens projected on its own direction, as (B2) has it.
    """
    rules = GrowthRules(
        capacity=2,
        prototypes=2,
        head_input="projected",
        spread=spread,
        initial_temperature=temperatures[0],
        least_temperature=temperatures[1],
    )
    loss = PrototypeLoss(reduction=reduction)
    flow = GrowingFlow(tokens, interaction, rules=rules, loss=loss, prototype_rate=rates[0], temperature_rate=rates[1])
    x = flow.start(random_key(0, "no random part"))
    for _ in range(2):
        flow, x = grow(flow, 0.0, x)
    return flow, x


class Box(NamedTuple):
    """The half sides c, the half distances a of the prototypes, T_init, T_min, eta_P, eta_T and the values lambda."""

    sides: tuple[Fraction, Fraction]
    half: Fraction
    start: Fraction
    least: Fraction
    prototype_rate: Fraction
    rate: Fraction
    values: tuple[Fraction, Fraction] = (Fraction(2), Fraction(1))

    def system(self) -> tuple[GrowingFlow, Growing]:
        """Return the flow that ships and its state after both heads have been added."""
        c = [float(side) for side in self.sides]
        tokens = np.array([[s * c[0], t * c[1], 0, 0] for s in (1, -1) for t in (1, -1)])
        m = np.zeros((4, 4))
        for j, value in enumerate(self.values):
            m[j, j + 2], m[j + 2, j] = float(value), -float(value)
        temperatures = (float(self.start), float(self.least))
        rates = (float(self.prototype_rate), float(self.rate))
        return two_heads(tokens, m, spread=float(self.half), temperatures=temperatures, rates=rates)

    def cools(self, h: int) -> bool:
        """Whether head h is in the case (i)."""
        c = self.sides[h]
        return c**2 >= self.start and c / 2 <= self.half <= 3 * c / 2

    def arrival(self, h: int) -> Fraction:
        """Return an upper bound of the time at which the temperature of head h in the case (i) is the least one.

        It uses exp(y) <= 2^(3 y / 2), as e^2 < 8.
        """
        c, budget = self.sides[h], (self.start**3 - self.least**3) / (3 * self.rate)
        return budget * 2 ** math.ceil(9 * c**2 / self.least) / c**4

    def stalls(self, h: int) -> bool:
        """Whether head h is in the case (ii) and the bound of its sigma keeps it above T_min."""
        return 4 * self.sides[h] ** 2 < self.least and self.cube_left(h) > self.least**3

    def cube_left(self, h: int) -> Fraction:
        """Return a lower bound of the cube of the temperature of head h at all times, in the case (ii)."""
        c = self.sides[h]
        decay = self.prototype_rate * (1 - 4 * c**2 / self.least)
        return self.start**3 - 3 * self.rate * 2 * self.half**2 * c**2 / decay

    def closed_form(self, h: int, T: float, a: float) -> tuple[float, float]:
        """Return the velocity of a and sigma of head h at a temperature and a half distance."""
        c = float(self.sides[h])
        x = 2 * a * c / T
        pull = a - c * math.tanh(x) - c * x / math.cosh(x) ** 2
        return -float(self.prototype_rate) * pull, 4 * a**2 * c**2 / math.cosh(x) ** 2

    def as_shipped(self) -> tuple[Measurement, ...]:
        """Measure that the flow that ships has this velocity and sigma, and (B1) and (B2) of the paper."""
        flow, x = self.system()
        v, sigma = rates_of_change(flow, x)
        a, T = float(self.half), float(self.start)
        expected = [self.closed_form(h, T, a) for h in range(2)]
        wanted = np.zeros((2, 2, 4))
        for h, (speed, _) in enumerate(expected):
            wanted[h, 0, h], wanted[h, 1, h] = -speed, speed
        return (
            agrees("velocities of the prototypes that ship", v.prototypes, wanted),
            agrees("sigma that ships", sigma, np.array([s for _, s in expected])),
            agrees("S(P) of both heads", [separation(p) for p in x.prototypes], np.full(2, 4 * a**2)),
            equal("<u_1, u_2>", jnp.dot(*flow.frames[:, 0]), 0.0, tolerance=1e-12),
            holds("eta_T > 0, T_init > T_min > 0", self.rate > 0 and self.start > self.least > 0),
        )

    def trapped(self, h: int) -> tuple[Measurement, ...]:
        """Measure (i) in the flow that ships: the signs of the velocity of a at both ends, at T_init and T_min."""
        found = []
        for factor, inward in ((Fraction(1, 2), 1), (Fraction(3, 2), -1)):
            flow, x = self._replace(half=factor * self.sides[h]).system()
            for T in (self.start, self.least):
                v, _ = rates_of_change(flow, x._replace(cubes=jnp.full(2, float(T) ** 3)))
                what = f"inward velocity of a at {factor} c and T = {float(T):.3g}"
                found.append(at_least(what, inward * float(v.prototypes[h, 1, h]), 0.0, tolerance=ROUNDING))
        return tuple(found)

    def collapsing(self, h: int) -> tuple[Measurement, ...]:
        """Measure (ii) in the flow that ships: the rate of decay of a and sigma, at T_init and T_min and two a."""
        found, kappa = [], self.prototype_rate * (1 - 4 * self.sides[h] ** 2 / self.least)
        for half in (self.half, self.half / 8):
            flow, x = self._replace(half=half).system()
            for T in (self.start, self.least):
                v, sigma = rates_of_change(flow, x._replace(cubes=jnp.full(2, float(T) ** 3)))
                rate, size = float(v.prototypes[h, 0, h]) / float(half), 4 * float(half * self.sides[h]) ** 2
                at = f"at a = {float(half):.3g} and T = {float(T):.3g}"
                found.append(at_least(f"rate of decay of a, less kappa, {at}", rate, kappa, tolerance=ROUNDING))
                found.append(at_most(f"sigma over 4 a^2 c^2 {at}", sigma[h] / size, 1.0, tolerance=ROUNDING))
        return tuple(found)

    def run(self, end: float, integrator: AbstractIntegrator) -> HybridTrajectory:
        """Return the run of the system that ships until a time."""
        return simulate_growing(*self.system(), np.linspace(0.0, end, TIMES), integrator=integrator)

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        names = ("c", "a", "T_init", "T_min", "eta_P", "eta_T", "lambda")
        return dict(zip(names, self, strict=True))


def final_temperatures(path: HybridTrajectory) -> np.ndarray:
    """Return the temperatures at the end of a run."""
    return np.cbrt(np.asarray(path.final.cubes))


def arrivals(path: HybridTrajectory, least: float) -> np.ndarray:
    """Return the times at which the heads of a run reach the least temperature, infinite for those that do not."""
    found = np.full(len(path.final.cubes), np.inf)
    for jump in path.jumps:
        if jump.name == "clip":
            there = np.asarray(jump.after.cubes) <= least**3 * (1 + 1e-12)
            found = np.where(there, np.minimum(found, jump.time), found)
    return found


def activities(flow: GrowingFlow, path: HybridTrajectory) -> list[tuple[float, np.ndarray]]:
    """Return the saved times of a run and the activities there; state by state, as the lengths of phases vary."""
    found = []
    for phase in path.phases:
        ys = jax.tree.map(np.asarray, phase.ys)
        for k, t in enumerate(np.asarray(phase.ts)):
            x = jax.tree.map(lambda y, k=k: y[k], ys)
            found.append((float(t), np.asarray(rates_of_change(flow, x)[1])))
    return found

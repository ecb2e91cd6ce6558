"""Claims of Section 5.2 on the equation of trained temperatures: Lemmas 6 and 7."""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.boxes import Box, rates_of_change, two_heads
from analysis.claims.growing.instances.interactions import in_planes
from analysis.claims.prototype_banks import RationalBank, distances
from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.assignments import competitive_loss, free_energy


def random_heads(
    rng: np.random.Generator, *, rate: float = 0.1, start: float = 1.0, least: float = 0.5
) -> tuple[GrowingFlow, Growing]:
    """Return a flow with random tokens and two heads, and its state: random prototypes near their first lines.

    `rate` is eta_T, `start` T_init, and `least` the ratio of T_min and T_init.
    """
    m, _ = in_planes(rng, [2.0, 1.0], 4)
    temperatures, rates = (start, start * least), (rng.uniform(0.2, 1.0), rate)
    flow, x = two_heads(
        rng.normal(size=(4, 4)), m, spread=rng.uniform(0.5, 1.5), temperatures=temperatures, rates=rates
    )
    return flow, x._replace(prototypes=x.prototypes + 0.3 * rng.normal(size=x.prototypes.shape))


class LatticeHead(NamedTuple):
    """A head on integer tokens (4, 4) and prototypes (2, 4) at T = 1 / log b, where assignments are rational.

    It sees the first coordinate of the tokens, the direction of its head; the bank has them so.
    """

    bank: RationalBank
    rate: Fraction

    @property
    def variances(self) -> Exact:
        """The variances of the squared distances under the assignments, one for each token."""
        q, d = self.bank.q, distances(self.bank.z, self.bank.p)
        return np.sum(q * (d - np.sum(q * d, axis=1)[:, None]) ** 2, axis=1)

    def moved(self, reduction: str) -> tuple[np.ndarray, float, float]:
        """Return the velocities of the bank, dT/dt and sigma of the flow that ships, for a sum or a mean."""
        z, p, T = (np.asarray(part) for part in self.bank.floats)
        m = np.array([[0, 0, 2, 0], [0, 0, 0, 1], [-2, 0, 0, 0], [0, -1, 0, 0]])
        start = float(T)
        rates = (1.0, float(self.rate))
        flow, x = two_heads(z, m, spread=1.0, temperatures=(start, start / 2), rates=rates, reduction=reduction)
        v, sigma = rates_of_change(flow, x._replace(prototypes=x.prototypes.at[0].set(p)))
        return np.asarray(v.prototypes[0]), float(v.cubes[0]) / (3 * start**2), float(sigma[0])


def _lattice_head(key: Key) -> LatticeHead:
    rng = numpy_rng(key, "lattice")
    z, p = np.zeros((4, 4), int), np.zeros((2, 4), int)
    z[:, 0], p[0, 0] = (1, *rng.integers(-2, 3, 3)), 1
    p[1, :2] = rng.integers(-1, 1), 1
    return LatticeHead(
        RationalBank(matrix(z), matrix(p), Fraction(int(rng.integers(3, 9)), 2)), Fraction(int(rng.integers(1, 9)), 100)
    )


@certified(
    "growing/lemma-6",
    num_trials=2,
    note="with the Lq of (2), a sum over tokens, dLq/dT = N sigma / T^2 for the sigma of (21), a mean: (22) lacks a "
    "factor N",
)
def temperature_equation(key: Key) -> Trial:
    """Gradient descent at the rate eta_T on Lq, the sum (2), is dT/dt = -eta_T sigma / T^2, sigma being the mean (21).

    The instance: four integer tokens on a line and two prototypes, T = 1 / log b.
    """
    at = _lattice_head(key)
    T, total = at.bank.temperature, np.sum(at.variances)
    _, found, sigma = at.moved("sum")
    by_temperature = float(jax.grad(competitive_loss, 2)(*at.bank.floats))
    return Trial(
        hypotheses=(
            agrees("sigma that ships", sigma, float(total / 4)),
            agrees("dLq/dT that ships, times T^2", by_temperature * T**2, float(total)),
            agrees("dT/dt that ships, times -T^2 / eta_T", -found * T**2 / float(at.rate), float(total)),
            holds("the rate is positive", at.rate > 0),
        ),
        conclusions=(holds("T^2 dLq/dT = sigma", total == total / 4),),
        witness={"z": at.bank.z, "p": at.bank.p, "b": at.bank.base, "sigma": total / 4},
    )


def _rate_trial(key: Key, reduction: str) -> Trial:
    """Compare the rate of cooling that ships with -eta_T sigma / T^2, and with the derivative of the flow's loss."""
    at = _lattice_head(key)
    T, sigma = at.bank.temperature, float(np.mean(at.variances))
    (bank, found, shipped), (bank_of_sum, of_sum, _) = at.moved(reduction), at.moved("sum")
    flow, x = random_heads(numpy_rng(key, "heads"), start=T)
    v, activities = rates_of_change(flow, x)
    temperatures = np.cbrt(np.asarray(x.cubes))
    slopes = np.asarray(_by_cubes(flow, x)) * 3 * temperatures**2
    return Trial(
        hypotheses=(at_least("T", min(T, *temperatures), 0.0, tolerance=ROUNDING),),
        conclusions=(
            agrees("sigma that ships", shipped, sigma),
            agrees("dT/dt over eta_T", found / float(at.rate), -sigma / T**2),
            agrees("dT/dt of the sum over tokens, over N eta_T", of_sum / 4 / float(at.rate), -sigma / T**2),
            agrees("velocities of prototypes of the sum, over N", bank_of_sum / 4, bank),
            agrees("dT/dt, against the loss of the flow", v.cubes / (3 * temperatures**2), -0.1 * slopes),
            agrees("and against its activities", v.cubes / (3 * temperatures**2), -0.1 * activities / temperatures**2),
        ),
        witness={"z": at.bank.z, "p": at.bank.p, "b": at.bank.base},
        parameters={"T": T},
    )


@eqx.filter_jit
def _by_cubes(flow: GrowingFlow, x: Growing) -> jax.Array:
    return jax.grad(lambda cubes: flow.value(jnp.zeros(()), x._replace(cubes=cubes)))(x.cubes)


temperature_equation_of_the_mean = claim(
    "growing/lemma-6/corrected",
    statement="Gradient descent at the rate eta_T on Lq / N is dT/dt = -eta_T sigma / T^2, with sigma of (21).",
    trial=partial(_rate_trial, reduction="mean"),
    control=partial(_rate_trial, reduction="sum"),  # The sum Lq.
    num_trials=4,
    note="changed: Lq / N, the mean over tokens, or equally sigma without 1 / N. The derivative by T is the full one; "
    "at fixed assignments it is zero",
)


@jax.jit
def _slopes(z: jax.Array, p: jax.Array, T: Scalar) -> jax.Array:
    return jnp.stack([jax.grad(energy, 2)(z, p, T) for energy in (competitive_loss, free_energy)])


def _monotone_trial(key: Key, energy: int) -> Trial:
    """Measure the sign of the derivative of an energy by T, hot and cold, with tokens equidistant from prototypes."""
    rng = numpy_rng(key, "bank")
    z, p = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    level = p / np.linalg.norm(p, axis=1)[:, None]
    at = lambda points, bank, T: float(_slopes(jnp.asarray(points), jnp.asarray(bank), jnp.asarray(T))[energy])
    generic = [at(z, p, T) for T in (0.05, 0.3, 1.0, 5.0, 50.0)]
    flow, x = random_heads(rng)
    return Trial(
        hypotheses=(at_least("T", 0.05, 0.0, tolerance=ROUNDING),),
        conclusions=(
            at_least("least derivative by T", min(generic), 0.0, tolerance=ROUNDING),
            equal("that with tokens equidistant from all prototypes", at(0 * z, level, 1.0), 0.0, tolerance=ROUNDING),
            at_most("largest d(T^3)/dt of the flow that ships", jnp.max(rates_of_change(flow, x)[0].cubes), 0.0,
                    tolerance=ROUNDING),
        ),
        witness={"z": z, "p": p, "derivatives": generic},
    )  # fmt: skip


temperatures_do_not_increase = claim(
    "growing/lemma-6-monotone",
    statement="Under gradient descent on Lq temperatures never increase: dLq/dT >= 0, zero for equidistant prototypes.",
    trial=partial(_monotone_trial, energy=0),
    control=partial(_monotone_trial, energy=1),  # The free energy F in place of Lq.
    num_trials=8,
    note="whatever prototypes and embeddings do; sum or mean. For F, whose gradient by P the mode frozen descends, "
    "temperatures would rise",
)


@eqx.filter_jit
def _lead(flow: GrowingFlow, x: Growing, signs: jax.Array) -> jax.Array:
    """Return the signed sum of the dT/dt, a time step in which it changes little, and its values after four steps."""
    lead = lambda y: jnp.sum(signs * flow.velocity(jnp.zeros(()), y).cubes / (3 * flow.temperatures(y) ** 2))
    velocity = lambda y: flow.velocity(jnp.zeros(()), y)
    first, slope = jax.jvp(lead, (x,), (velocity(x),))
    step = jnp.abs(first) / (8 * (jnp.abs(slope) + jnp.abs(first)))

    def heun(y: Growing, _: None) -> tuple[Growing, jax.Array]:
        v = velocity(y)
        ahead = velocity(jax.tree.map(lambda a, b: a + step * b, y, v))
        y = jax.tree.map(lambda a, b, c: a + step * (b + c) / 2, y, v, ahead)
        return y, lead(y)

    _, later = jax.lax.scan(heun, x, None, length=4)
    return jnp.concatenate([jnp.stack([first, step]), later])


def _decay_trial(key: Key, heat: float) -> Trial:
    """Compare the speeds of two temperatures at first, from the same one or with the more active head hotter."""
    rng = numpy_rng(key, "decay")
    if heat > 1 or rng.integers(2):  # two boxes that hardly differ, with 2 a c / T below 1
        c = Fraction(int(rng.integers(8, 13)), 8)
        sides = (c * Fraction(1001, 1000), c)
        flow, x = Box(sides, c / 2, 2 * c**2, c**2, Fraction(1, 2), Fraction(1, 10)).system()
        kind = "nearly equal"
    else:
        (flow, x), kind = random_heads(rng, start=rng.uniform(0.5, 3.0)), "random"
    sigma = np.asarray(rates_of_change(flow, x)[1])
    more = int(np.argmax(sigma))
    less, signs = 1 - more, np.where(np.arange(2) == more, 1.0, -1.0)
    x = x._replace(cubes=x.cubes * jnp.where(jnp.arange(2) == more, heat**3, 1.0))
    lead = np.asarray(_lead(flow, x, jnp.asarray(signs)))
    v, sigma = rates_of_change(flow, x)
    sigma, squares = np.asarray(sigma), np.cbrt(np.asarray(x.cubes)) ** 2
    speeds = np.asarray(v.cubes) / (3 * squares)
    return Trial(
        hypotheses=(at_least("sigma_1(0) - sigma_2(0)", sigma[more] - sigma[less], 0.0, tolerance=ROUNDING),),
        conclusions=(
            at_most("dT_1/dt - dT_2/dt at t = 0", lead[0], 0.0, tolerance=ROUNDING),
            at_least("length of the interval", 4 * lead[1], 0.0, tolerance=ROUNDING),
            at_most("largest dT_1/dt - dT_2/dt on it", max(lead[2:]), 0.0, tolerance=ROUNDING),
            at_most("dT_2/dt", speeds[less], 0.0, tolerance=ROUNDING),
            agrees("dT/dt at t = 0", speeds * squares, -0.1 * sigma),
        ),
        witness={"prototypes": x.prototypes, "sigma": sigma},
        parameters={"heads": kind, "delta": float(4 * lead[1])},
    )


more_active_heads_cool_faster_at_first = claim(
    "growing/lemma-7",
    statement="""If sigma_1(0) > sigma_2(0), there is a delta > 0 such that dT_1/dt < dT_2/dt <= 0 on [0, delta].

    Read: T_1(0) = T_2(0). Prototypes are trained too.
    """,
    trial=partial(_decay_trial, heat=1.0),
    control=partial(_decay_trial, heat=1.4),  # The more active head starts at a temperature 1.4 times as high.
    num_trials=8,
    note="both heads start at T_init, as in the proof; heads of the Algorithm born at different times do not. A factor "
    "N makes no difference if all heads see the same tokens. Mode full",
)

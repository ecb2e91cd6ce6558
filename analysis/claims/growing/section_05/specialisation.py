"""Claims of Section 5.2: activities as temperatures fall, and which heads reach the least temperature, and when."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.boxes import (
    TIMES,
    Box,
    activities,
    arrivals,
    final_temperatures,
    rates_of_change,
    two_heads,
)
from analysis.claims.growing.section_05.temperatures import random_heads
from analysis.growing.temperatures import activity, hitting_time, printed_hitting_time
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key, Scalar
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import simulate_growing
from dynsim.systems.growing.flow import Growing, GrowingFlow


def cooling_box(key: Key, *, least_ratio: Fraction = Fraction(1)) -> Box:
    """Return a box in which both heads cool, with c^2 at least `least_ratio` T_init."""
    rng = numpy_rng(key, "cooling")
    start = Fraction(int(rng.integers(2, 7)), 4)
    side = Fraction(math.ceil(8 * math.sqrt(least_ratio * start)), 8)
    sides = (side, side + Fraction(int(rng.integers(1, 3)), 8))
    eta_P, eta_T = (Fraction(int(k), 8) for k in rng.integers(1, 9, 2))
    return Box(sides, sides[1] / 2, start, start * Fraction(int(rng.integers(2, 4)), 4), eta_P, eta_T)


@certified(
    "growing/theorem-3-divergence",
    num_trials=2,
    note="the paper's own Fig. 1 has all eight heads at T_min. Head h reaches T_min if and only if the integral of "
    "sigma_h over time reaches (T_init^3 - T_min^3) / (3 eta_T); (B1)-(B3) say nothing on it. Modes full and frozen",
)
def heads_split_into_local_and_global_ones(key: Key) -> Trial:
    """Under (B1)-(B3) some head tends to T_min, and some to a temperature above it.

    The instance: tokens at the corners of a rectangle, two heads of two prototypes along its sides 2 c_h, c_h^2 >=
    T_init. a_h stays in [c_h / 2, 3 c_h / 2], so that sigma_h is bounded below: both reach T_min in finite time.
    """
    at = cooling_box(key)
    sigma = np.asarray(rates_of_change(*at.system())[1])
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            *(m for h in range(2) for m in at.trapped(h)),
            at_least("(B3): |sigma_1(0) - sigma_2(0)|", abs(sigma[0] - sigma[1]), 0.0, tolerance=ROUNDING),
            holds("(B1): S(P) >= c^2 > 0 for ever", min(at.sides) > 0),
        ),
        conclusions=(holds("some head is not bound to reach T_min", not (at.cools(0) and at.cools(1))),),
        witness={**at.witness(), "latest arrivals": [at.arrival(h) for h in range(2)]},
    )


def mixed_box(key: Key, order: tuple[int, int]) -> Box:
    """Return a box with one head that cools and one that stalls, in places given by `order`."""
    rng = numpy_rng(key, "mixed")
    large = Fraction(int(rng.integers(8, 13)), 8)
    start = large**2 * Fraction(int(rng.integers(14, 17)), 16)
    least = start * Fraction(int(rng.integers(12, 15)), 16)
    small = Fraction(math.floor(64 * math.sqrt(least / 8)), 64)
    sides = (large, small)
    return Box((sides[order[0]], sides[order[1]]), large / 2, start, least, Fraction(1), Fraction(1, 2))


def _split_trial(key: Key, integrator: AbstractIntegrator, order: tuple[int, int], *, first: int) -> Trial:
    """Run two heads, of which that along the long side should cool and that along the short one should not."""
    at = mixed_box(key, order)
    cool, warm = (0, 1) if first == 0 else (1, 0)
    least, latest, left = float(at.least), float(at.arrival(order[0])), float(at.cube_left(order[1]))
    path = at.run(latest, integrator)
    T, when = final_temperatures(path), arrivals(path, least)
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            holds("one head is in the case (i), the other one in (ii)", at.cools(order[0]) and at.stalls(order[1])),
        ),
        conclusions=(
            at_most("time at which the local head arrives, over its bound", when[cool] / latest, 1.0, tolerance=SOLVER),
            agrees("its temperature at the end", T[cool], least),
            at_least("T^3 of the global head over its lower bound", T[warm] ** 3 / left, 1.0, tolerance=SOLVER),
            at_most(
                "its a over a_0", jnp.max(jnp.abs(path.final.prototypes[warm])) / float(at.half), 1e-4, tolerance=0.0
            ),
        ),
        witness={**at.witness(), "T": T, "arrivals": when},
        parameters={"T_min / T_init": float(at.least / at.start), "first head": ("long", "short")[order[0]]},
    )


@claim(
    "growing/theorem-3-divergence/corrected",
    num_trials=3,
    note="added: tokens at the corners of a rectangle, losses averaged, two prototypes a head; c^2 >= T_init along one "
    "head and 4 c^2 < T_min along the other, eta_T / eta_P small. What decides is the variance of the tokens along the "
    "direction against the temperature. Mode full",
)
def heads_split_by_the_variance_of_tokens(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The head with c^2 >= T_init reaches T_min; that with 4 c^2 < T_min stays above it, since its prototypes collapse.

    T^3 of the latter stays above T_init^3 - 6 eta_T a_0^2 c^2 / kappa with kappa = eta_P (1 - 4 c^2 / T_min), if that
    is above T_min^3.
    """
    swapped = bool(numpy_rng(key, "order").integers(2))
    return _split_trial(key, integrator, (1, 0) if swapped else (0, 1), first=int(swapped))


@heads_split_by_the_variance_of_tokens.with_control
def heads_split_by_the_variance_of_tokens(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The heads exchanged."""
    swapped = bool(numpy_rng(key, "order").integers(2))
    return _split_trial(key, integrator, (1, 0) if swapped else (0, 1), first=int(not swapped))


@certified(
    "growing/corollary-3",
    num_trials=2,
    note="(1) holds, see lemma-25-interlacing; (2) and (3) do not: lambda, of M_a, says nothing on the tokens that the "
    "temperatures see, and with the readings data and tokens, too, M_a can make lambda_1 the larger one. (4) rests on "
    "theorem-2",
)
def first_heads_are_local(key: Key) -> Trial:
    """Heads are added in decreasing order of lambda, the first ones become local, and the last ones global.

    The instance: tokens at the corners of a rectangle, its short side along the first head, 4 c_1^2 < T_min, its long
    side along the second one, c_2^2 >= T_init: the first is global, and the second local.
    """
    at = mixed_box(key, (1, 0))
    flow, _ = at.system()
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            *at.trapped(1),
            agrees("lambda at the births", flow.levels, np.array([float(v) for v in at.values])),
            holds("lambda_1 > lambda_2", at.values[0] > at.values[1]),
        ),
        conclusions=(
            holds("the first head is not bound to stay above T_min", not at.stalls(0)),
            holds("the last head is not bound to reach T_min", not at.cools(1)),
        ),
        witness={**at.witness(), "least T_1^3": at.cube_left(0), "latest arrival of head 2": at.arrival(1)},
    )


def _order_trial(key: Key, order: tuple[int, int]) -> Trial:
    """Measure that the first of two heads cools and the last one stalls, and the order of their births."""
    at = mixed_box(key, order)
    flow, _ = at.system()
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            holds("c_h^2 >= T_init for one head", at.cools(0) or at.cools(1)),
            holds("4 c_h^2 < T_min for the other one", at.stalls(0) or at.stalls(1)),
        ),
        conclusions=(
            agrees("lambda at the births", flow.levels, np.array([float(v) for v in at.values])),
            holds("it decreases", at.values[0] > at.values[1]),
            holds("the first head reaches T_min in a bounded time", at.cools(0)),
            *at.trapped(0),
            holds("T_2^3 is bounded below above T_min^3", at.stalls(1)),
            *at.collapsing(1),
        ),
        witness=at.witness(),
        parameters={"T_min / T_init": float(at.least / at.start)},
    )


first_heads_are_local_if_tokens_vary_along_them = certified(
    "growing/corollary-3/corrected",
    statement="With c_1^2 >= T_init and 4 c_2^2 < T_min, heads are added in decreasing order of lambda, the first one "
    "becomes local and the last one global.",
    trial=partial(_order_trial, order=(0, 1)),
    control=partial(_order_trial, order=(1, 0)),  # The short side along the head of the larger lambda.
    num_trials=2,
    note="added: as in theorem-3-divergence/corrected, with the long side along the head of the larger lambda; left "
    "out: (4). Mode full",
)


@certified(
    "growing/theorem-3-hitting-time",
    num_trials=2,
    note="sigma falls with T. For prototypes at rest the time is a quadrature, for trained ones the inequality is "
    "strict all the same",
)
def local_heads_arrive_by_the_printed_time(key: Key) -> Trial:
    """A local head reaches T_min by t* = (T_init^3 - T_min^3) / (3 eta_T sigma_0), sigma_0 its initial activity.

    The instance: a box with x_0 = 2 a_0 c / T_init, a_0 <= c x_0 / (1 + x_0) and x_0^2 / (1 + x_0) >= 1. As tanh x >=
    x / (1 + x), a does not fall below a_0, and sigma = 4 a^2 c^2 / cosh^2(2 a c / T) decreases with a for x tanh x >= 1
    and increases with T: it is below sigma_0 at all t > 0, and the time exceeds t*.
    """
    at = cooling_box(key, least_ratio=Fraction(2))
    at = at._replace(half=at.sides[0] / 2)
    c, a0 = at.sides[0], at.half
    x0 = 2 * a0 * c / at.start
    sigma = at.closed_form(0, float(at.start), float(a0))[1]
    start, least, rate = float(at.start), float(at.least), float(at.rate)
    z, p = np.array([[float(c)], [-float(c)]]), np.array([[float(a0)], [-float(a0)]])
    at_rest = hitting_time(z, p, start=start, least=least, rate=rate)
    return Trial(
        hypotheses=(
            *at.as_shipped(),
            agrees("sigma_0, along the first side alone", activity(*map(jnp.asarray, (z, p, start))), sigma),
            holds("the head is local", at.cools(0)),
            holds("a_0 <= c x_0 / (1 + x_0)", a0 <= c * x0 / (1 + x0)),
        ),
        conclusions=(
            at_most("time at fixed prototypes over t*", at_rest / printed_hitting_time(start, least, rate, sigma), 1.0,
                    tolerance=SOLVER),
            holds("sigma is not below sigma_0 on the way", not x0**2 / (1 + x0) >= 1),
        ),
        witness={**at.witness(), "x_0": x0},
    )  # fmt: skip


class Arrival(NamedTuple):
    """The arrival of the first head of a run at T_min: its time, activities on the way, and the time at rest.

    If none arrives the time is twice the length of the run.
    """

    time: float
    end: float
    activities: np.ndarray
    budget: float
    at_rest: float


def _arrival(flow: GrowingFlow, x: Growing, end: float, integrator: AbstractIntegrator) -> Arrival:
    """Return the arrival of the first head of a run until `end`; the budget is (T_init^3 - T_min^3) / (3 eta_T)."""
    rules = flow.rules
    T0, Tm, eta = (float(v) for v in (rules.initial_temperature, rules.least_temperature, flow.temperature_rate))
    path = simulate_growing(flow, x, np.linspace(0.0, end, TIMES), integrator=integrator)
    when = arrivals(path, Tm)
    h = int(np.argmin(when))
    at_rest = hitting_time(flow.head_inputs(x)[h], x.prototypes[h], start=T0, least=Tm, rate=eta)
    sigma = [s[h] for t, s in activities(flow, path) if t <= when[h]]
    return Arrival(min(float(when[h]), 2 * end), end, np.array(sigma), printed_hitting_time(T0, Tm, eta, 1.0), at_rest)


def _arrival_trial(key: Key, integrator: AbstractIntegrator, *, by_first: bool) -> Trial:
    """Compare the time at which a temperature arrives with bounds by the activities on the way, and with quadrature."""
    rng = numpy_rng(key, "arrival")
    flow, x = random_heads(rng, rate=rng.uniform(0.5, 2.0), start=rng.uniform(1.5, 3.0), least=rng.uniform(0.6, 0.8))
    rest = by_first or bool(rng.integers(2))
    if rest:
        flow = eqx.tree_at(lambda f: f.prototype_rate, flow, jnp.zeros(()))
    T0, Tm = (float(v) for v in (flow.rules.initial_temperature, flow.rules.least_temperature))
    coldest = np.asarray(rates_of_change(flow, x._replace(cubes=jnp.full(2, Tm**3)))[1])
    found = _arrival(flow, x, 2 * printed_hitting_time(T0, Tm, float(flow.temperature_rate), max(coldest)), integrator)
    share, sigma = found.time / found.budget, found.activities[:1] if by_first else found.activities
    z, p = 0.05 * np.asarray(flow.data), 0.05 * np.asarray(x.prototypes[0])
    hot = hitting_time(z, p, start=T0, least=Tm, rate=1.0)
    coolest = float(activity(jnp.asarray(z), jnp.asarray(p), jnp.asarray(Tm)))
    return Trial(
        hypotheses=(
            at_most("time of the arrival over the length of the run", found.time / found.end, 1.0, tolerance=0.0),
            at_least("least activity on the way", np.min(found.activities), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("time over its bound by the least sigma", share * np.min(sigma), 1.0, tolerance=1e-3),
            at_least("time over its bound by the largest sigma", share * np.max(sigma), 1.0, tolerance=1e-3),
            *([equal("time over the quadrature", found.time / found.at_rest, 1.0, tolerance=1e-8)] if rest else []),
            equal("time over its bound for close points", hot / printed_hitting_time(T0, Tm, 1.0, coolest), 1.0,
                  tolerance=0.01),
        ),
        witness={"data": flow.data, "prototypes": x.prototypes, "time": found.time},
        parameters={"eta_P": float(flow.prototype_rate), "time / t*": share * float(found.activities[0])},
    )  # fmt: skip


local_heads_arrive_by_the_least_activity = claim(
    "growing/theorem-3-hitting-time/corrected",
    statement="""A head whose activity is at least s until then reaches T_min by (T_init^3 - T_min^3) / (3 eta_T s).

    Nor earlier than by the largest activity; both bounds are attained as the squared distances become small against T.
    For prototypes at rest the time is the integral of T^2 / (eta_T sigma(T)) over T.
    """,
    trial=partial(_arrival_trial, by_first=False),
    control=partial(_arrival_trial, by_first=True),  # The initial activity in place of the least one.
    num_trials=4,
    note="changed: sigma_0 is the least activity on the way, as the proof uses it. Mode full, prototypes at rest and "
    "trained",
)


@certified(
    "growing/lemma-8",
    num_trials=4,
    note="sigma tends to 0 with T at every token without a tie, and so does the difference: the limit in the proof is "
    "not that of the variance. Any eta_P >= 0, modes full and frozen, sum or mean",
)
def scale_separation_is_amplified(key: Key) -> Trial:
    """Of heads on orthogonal directions with sigma_1(0) > sigma_2(0), sigma_1 - sigma_2 does not decrease.

    The instance: tokens at 0, prototypes 0 and a e_1 of head 1, +-e_2 of head 2, so that sigma_2 = 0 for ever, and T =
    a^2 / log b with 1 < b <= 8/3 < e. With q = b / (1 + b), s = log b < 1, sigma_1 = a^4 q (1 - q) decreases with T,
    since its derivative by T is a^6 q (1 - q) (2 q - 1) / T^2 > 0, and with a, which shrinks as 1 - s q > 0 (full), and
    whose derivative 2 a^3 q (1 - q) (2 - s (2 q - 1)) is positive.
    """
    rng = numpy_rng(key, "instance")
    a, b = Fraction(int(rng.integers(2, 9)), 4), Fraction(8, 3) - Fraction(int(rng.integers(0, 20)), 15)
    eta_P, eta_T = (Fraction(int(k), 8) for k in rng.integers(1, 9, 2))
    q, s = b / (1 + b), math.log(b)
    T, square = float(a**2) / s, a**2
    m = np.zeros((4, 4))
    m[0, 2], m[2, 0], m[1, 3], m[3, 1] = 2, -2, 1, -1
    flow, x = two_heads(np.zeros((4, 4)), m, spread=1.0, temperatures=(T, T / 4), rates=(float(eta_P), float(eta_T)))
    x = x._replace(prototypes=x.prototypes.at[0].set(jnp.zeros((2, 4)).at[1, 0].set(float(a))))
    sigma, third = square**2 * q * (1 - q), square**3 * q * (1 - q) * (2 * q - 1)
    by_temperature = -float(eta_T * sigma * third) / T**4
    shrinking = -2 * float(eta_P * (1 - q) * a) * (1 - s * float(q))
    by_prototypes = 2 * float(a**3 * q * (1 - q)) * (2 - s * float(2 * q - 1)) * shrinking
    found = np.asarray(activity_slopes(flow, x))
    return Trial(
        hypotheses=(
            holds("1 < b <= 8/3, so that 0 < log b < 1", 1 < b <= Fraction(8, 3)),
            holds("sigma_1(0) > sigma_2(0) = 0, and S(P) > 0", sigma > 0 and a > 0),
            equal("<u_1, u_2>", jnp.dot(*flow.frames[:, 0]), 0.0, tolerance=ROUNDING),
            agrees("sigma that ships", rates_of_change(flow, x)[1], np.array([float(sigma), 0.0])),
            agrees("d sigma/dt that ships", found, np.array([by_temperature + by_prototypes, 0.0])),
        ),
        conclusions=(
            holds("d(sigma_1 - sigma_2)/dt is not negative at t = 0", not (2 * q - 1 > 0 and 1 - q > 0 and third > 0)),
        ),
        witness={"a": a, "b": b, "eta_P": eta_P, "eta_T": eta_T},
    )


@eqx.filter_jit
def activity_slopes(flow: GrowingFlow, x: Growing) -> jax.Array:
    """Return the derivatives of the activities along the flow."""
    return jax.jvp(flow.activity, (x,), (flow.velocity(jnp.zeros(()), x),))[1]


@jax.jit
def _activity_and_slope(z: jax.Array, p: jax.Array, T: Scalar) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(activity, 2)(z, p, T)


def _third_moments(z: np.ndarray, p: np.ndarray, T: float) -> float:
    """Return the mean over tokens of the third central moment of the squared distances."""
    d = np.sum((z[:, None] - p[None]) ** 2, axis=-1)
    q = np.exp(-(d - np.min(d, axis=1, keepdims=True)) / T)
    q = q / np.sum(q, axis=1, keepdims=True)
    return float(np.mean(np.sum(q * (d - np.sum(q * d, axis=1, keepdims=True)) ** 3, axis=1)))


def _amplification_trial(key: Key, chill: float) -> Trial:
    """Compare d(sigma_1 - sigma_2)/dt at fixed prototypes with third moments, for heads in which these have signs."""
    rng = numpy_rng(key, "skewed")
    a = rng.uniform(0.7, 1.4)
    b = a * rng.uniform(0.3, 0.5)
    z = 0.02 * rng.normal(size=(4, 4))
    wide = a * np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [-1, 0, 0, 0]])  # q = (1, r, r) / (1 + 2 r)
    other = b * np.array([[0.0, 0, 0, 0], [0, 1, 0, 0], [0, 30, 0, 0]])  # in effect two prototypes
    hot = a**2 / rng.uniform(0.2, 0.5)
    temperatures = np.array([hot * chill, hot])
    states = [
        _activity_and_slope(*map(jnp.asarray, (z, p, T))) for p, T in zip((wide, other), temperatures, strict=True)
    ]
    sigma, by_temperature = (np.array([float(s[j]) for s in states]) for j in range(2))
    third = np.array([_third_moments(z, p, T) for p, T in zip((wide, other), temperatures, strict=True)])
    slopes = -by_temperature * sigma / temperatures**2  # eta_T = 1
    skew, scale = _third_moments(z, wide, hot), 1 + float(np.max(np.abs(third)))
    return Trial(
        hypotheses=(
            at_least("sigma_1 - sigma_2", sigma[0] - sigma[1], 0.0, tolerance=ROUNDING),
            at_most("third moment of head 1, hot", skew, 0.0, tolerance=ROUNDING),
            at_least("third moment of head 2", third[1], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            agrees("T^2 d sigma/dT over its size", by_temperature * temperatures**2 / scale, third / scale),
            at_least("d(sigma_1 - sigma_2)/dt", slopes[0] - slopes[1], 0.0, tolerance=ROUNDING),
            at_least("d sigma_1/dt, strictly", slopes[0], 1e-6, tolerance=ROUNDING),
        ),
        witness={"z": z, "a": a, "b": b, "T": temperatures, "third moments": third},
        parameters={"a^2 / T": float(a**2 / temperatures[0])},
    )


scale_separation_is_amplified_while_hot = claim(
    "growing/lemma-8/corrected",
    statement="""
    At fixed prototypes T^2 d sigma/dT is the mean third central moment k, so that d sigma/dt = -eta_T sigma k / T^4.

    So sigma_1 - sigma_2 does not decrease while k_1 <= 0 <= k_2. Instances: head 1 with one near and two far prototypes
    at equal distances, hot; head 2 in effect with two.
    """,
    trial=partial(_amplification_trial, chill=1.0),
    control=partial(_amplification_trial, chill=1 / 6),  # Head 1 at a sixth of that temperature.
    num_trials=8,
    note="added: prototypes at rest, and third central moments of the squared distances, averaged over tokens, at most "
    "0 for head 1 and at least 0 for head 2; the former needs three prototypes, and ends when T_1 is low enough",
)

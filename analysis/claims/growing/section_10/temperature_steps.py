"""Claims of Section 10 on temperatures in discrete time, Lemma 17, and of Remark 3 on the number of their steps."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.section_11.lyapunov import random_heads
from analysis.growing.temperatures import printed_hitting_time, printed_step_bound, step_bound
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.descent import GrowingStep, temperature_step
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

PRINTED = (Fraction(1), Fraction(1, 10), Fraction(1, 100), Fraction(1, 10))  # T_init, T_min, eta_T, sigma_0


@certified(
    "growing/remark-3",
    num_trials=1,
    note="t* = 333 for the printed values: 33.3 would need eta_T sigma_0 = 0.01, as for sigma_0 = 1",
)
def dwell_time_is_33_steps(key: Key) -> Trial:
    """For T_init = 1, T_min = 0.1, eta_T = 0.01 and sigma_0 = 0.1, t* is about 33: read, between 30 and 36."""
    found = printed_hitting_time(*PRINTED)
    return Trial(
        hypotheses=(holds("t* is that of (D1)", found == (1 - Fraction(1, 1000)) / (3 * PRINTED[2] * PRINTED[3])),),
        conclusions=(holds("30 <= t* <= 36", 30 <= found <= 36),),
        witness={"T_init": PRINTED[0], "T_min": PRINTED[1], "eta_T": PRINTED[2], "sigma_0": PRINTED[3], "t*": found},
    )


def _dwell_trial(expected: Fraction) -> Trial:
    """Compare t* for the printed values with a number, and with the steps at constant activity."""
    steps = _steps_down([float(v) for v in PRINTED[:3]], [float(PRINTED[3])] * 500)
    return Trial(
        hypotheses=(holds("the values are positive", min(PRINTED) > 0),),
        conclusions=(
            holds(f"t* = {expected}", printed_hitting_time(*PRINTED) == expected),
            at_most("steps at constant activity", steps, expected + 3, tolerance=0.0),
            at_least("those steps", steps, expected, tolerance=0.0),
        ),
        witness={"steps": steps},
    )


@certified("growing/remark-3/corrected", num_trials=1, note="changed: 333 in place of 33")
def dwell_time_is_333_steps(key: Key) -> Trial:
    """For the printed values t* = 333, and about 2 more steps of (37) at constant activity reach T_min."""
    return _dwell_trial(Fraction(333))


@dwell_time_is_333_steps.with_control
def dwell_time_is_333_steps(key: Key) -> Trial:
    """That time with the squares of the temperatures in place of their cubes, 495."""
    start, least, rate, sigma = PRINTED
    return _dwell_trial((start**2 - least**2) / (2 * rate * sigma))


def _steps_down(numbers: Sequence[float], activities: Iterable[float]) -> float:
    """Return the number of steps of (37) until T is at most T_min; infinite if there are too few activities."""
    temperature, least, rate = numbers
    for k, sigma in enumerate(activities):
        if temperature <= least:
            return k
        temperature = float(temperature_step(temperature, sigma, rate))
    return math.inf


def _exact_rates(key: Key, share: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return T_min, a start above it, sigma_max, and an eta_T below `share` T_min^3 / sigma_max, all rational."""
    rng = numpy_rng(key, "rates")
    least, above, sigma = (Fraction(int(rng.integers(1, 17)), d) for d in (8, 400, 4))
    return least, least * (1 + above), sigma, share * Fraction(99, 100) * least**3 / sigma


@certified(
    "growing/lemma-17-i",
    num_trials=2,
    note="(37) has no clip; with the clip of the proof (E1) is not needed, see `clip`",
)
def temperatures_stay_above_the_least_one(key: Key) -> Trial:
    """Under eta_T < T_min^3 / (3 sigma_max), T_s >= T_min for all steps of (37).

    The instance: T_init just above T_min, sigma = sigma_max, and one step.
    """
    least, start, sigma, rate = _exact_rates(key, Fraction(1, 3))
    after = temperature_step(start, sigma, rate)
    return Trial(
        hypotheses=(
            holds("T_init > T_min > 0", start > least > 0),
            holds("0 < eta_T < T_min^3 / (3 sigma_max)", 0 < rate < least**3 / (3 * sigma)),
        ),
        conclusions=(holds("T_1 >= T_min", after >= least),),
        witness={"T_init": start, "T_min": least, "sigma": sigma, "eta_T": rate, "T_1": after},
    )


def _written_temperatures(flow: GrowingFlow, x: Growing) -> np.ndarray:
    """Return T - eta_T c N sigma / T^2 of heads that are not clipped, in NumPy, and T of those that are."""
    T, z = np.cbrt(np.asarray(x.cubes)), np.asarray(flow.embed(x))
    d = np.sum((z[None, :, None] - np.asarray(x.prototypes)[:, None]) ** 2, axis=-1)
    q = np.exp(-d / T[:, None, None])
    q = q / np.sum(q, axis=2, keepdims=True)
    variances = np.sum(q * d**2, axis=2) - np.sum(q * d, axis=2) ** 2
    total = np.sum(variances, axis=1) if flow.loss.reduction == "sum" else np.mean(variances, axis=1)
    return np.where(np.asarray(flow.clipped), T, T - float(flow.temperature_rate) * total / T**2)


@eqx.filter_jit
def _stepped(step: GrowingStep, x: Growing) -> tuple[Growing, Growing]:
    """Return the state after a step, and the derivative of the flow's loss before it."""
    loss = lambda y: step.flow.value(jnp.zeros(()), y)
    return step.step(jnp.zeros((), int), x), jax.grad(loss)(x)


def _step_of_the_algorithm(key: Key) -> tuple[Measurement, ...]:
    """Measure a step of the Algorithm that ships, with the clip and without, for a head near T_min and one at it."""
    rng = numpy_rng(key, "step")
    flow, x = random_heads(key, clipped=(False, True))
    reduction, old = ("sum", "mean")[int(rng.integers(2))], flow.loss
    loss = PrototypeLoss("full", barrier=old.barrier, ridge=old.ridge, reduction=reduction)
    flow, least = eqx.tree_at(lambda f: f.loss, flow, loss), float(flow.rules.least_temperature)
    x = x._replace(cubes=x.cubes.at[0].set((least * rng.uniform(1.01, 2.0)) ** 3))
    after, found = _written_temperatures(flow, x), []
    for clipping in (True, False):
        moved, slope = _stepped(GrowingStep(flow, clipping=clipping), x)
        kind = "with the clip" if clipping else "without it"
        T = np.maximum(after, least) if clipping else after
        found += [
            agrees(f"cubes of temperatures after a step {kind}", moved.cubes, T**3),
            agrees("prototypes after it", moved.prototypes, x.prototypes - flow.prototype_rate * slope.prototypes),
            agrees("encoder after it", moved.encoder, x.encoder - flow.encoder_rate * slope.encoder),
            agrees("clock after it", moved.clock, x.clock + 1),
        ]
    return tuple(found)


def _clip_trial(key: Key, *, clipped: bool) -> Trial:
    """Iterate (37) with random activities, at rates far above (E1), with or without the clip."""
    rng = numpy_rng(key, "clip")
    least, T, _, rate = _exact_rates(key, Fraction(10))
    temperatures = [T]
    for _ in range(6):
        sigma = Fraction(int(rng.integers(0, 17)), 4)
        temperatures.append(temperature_step(temperatures[-1], sigma, rate, least if clipped else None))
        if temperatures[-1] <= 0:
            break
    return Trial(
        hypotheses=(holds("T_init > T_min > 0", T > least > 0),),
        conclusions=(
            holds("T_s >= T_min", min(temperatures) >= least),
            holds("T_s <= T_{s-1}", all(b <= a for a, b in zip(temperatures, temperatures[1:], strict=False))),
            *_step_of_the_algorithm(key),
        ),
        witness={"T_min": least, "temperatures": temperatures[:3], "eta_T": rate},
    )


clipped_temperatures_stay_above_the_least_one = certified(
    "growing/lemma-17-i/clip",
    statement="With the clip T_s >= T_min for all s, whatever eta_T is.",
    trial=partial(_clip_trial, clipped=True),
    control=partial(_clip_trial, clipped=False),  # Without the clip.
    variant="reading",
    num_trials=4,
    note="read: (37) is followed by T <- max(T, T_min), as in the proof; trivially true, for every rate. Measured as "
    "well: a step of the Algorithm, of temperatures, prototypes and encoder, with the clip and without",
)


def _overshoot_trial(key: Key, share: Fraction) -> Trial:
    """Measure how far below T_min the first step leads that crosses it, for generic starts and nearly the worst one."""
    rng = numpy_rng(key, "overshoot")
    least, _, largest, rate = _exact_rates(key, share)
    crossed = []
    for start in (least * Fraction(int(rng.integers(101, 300)), 100), least * (1 + Fraction(1, 10**6))):
        T = start
        while least < T:
            sigma = largest * Fraction(int(rng.integers(5, 11)), 10) if start > least * Fraction(101, 100) else largest
            moved = temperature_step(T, sigma, rate)
            T = Fraction(math.floor(moved * 2**80), 2**80) if moved > least else moved
        crossed.append(T / least)
    return Trial(
        hypotheses=(
            holds("sigma_s <= sigma_max", largest > 0),
            holds(f"0 < eta_T < {share} T_min^3 / sigma_max", 0 < rate < share * least**3 / largest),
        ),
        conclusions=(
            holds("T_s > 2 T_min / 3 up to the first step at or below T_min", min(crossed) > Fraction(2, 3)),
            holds("it comes near that bound", crossed[1] < Fraction(2, 3) + Fraction(1, 100)),
        ),
        witness={"T_min": least, "sigma_max": largest, "eta_T": rate, "T / T_min": crossed},
    )


temperatures_stay_above_two_thirds = certified(
    "growing/lemma-17-i/corrected",
    statement="Under eta_T < T_min^3 / (3 sigma_max), T_s > 2 T_min / 3 up to the first step that leads to T_min or "
    "below.",
    trial=partial(_overshoot_trial, share=Fraction(1, 3)),
    control=partial(_overshoot_trial, share=Fraction(1, 2)),  # eta_T just below T_min^3 / (2 sigma_max).
    num_trials=4,
    note="changed: 2 T_min / 3 in place of T_min, and up to the first step at or below T_min; the constant is sharp, "
    "and a further step can lead below zero",
)


@certified(
    "growing/lemma-17-iii",
    num_trials=2,
    note="the decrement of T^3 is less than 3 eta_T sigma, about 3 eta_T sigma (1 - eta_T sigma / T^3): that is about "
    "log(T_init / T_min) more steps, 2.3 for the paper's ratio 10",
)
def temperatures_arrive_within_the_printed_steps(key: Key) -> Trial:
    """Under eta_T < T_min^3 / (3 sigma_max), T_s is at most T_min after ceil(t*) + 1 steps if sigma_s >= sigma_0.

    The instance: T_init / T_min = 10 or more, sigma_s = sigma_0 = sigma_max, eta_T just below the bound. The steps are
    followed from below: T - eta_T sigma / T^2 increases with T, and every T is rounded down to a multiple of 2^-80.
    """
    rng = numpy_rng(key, "ratio")
    least, sigma = (Fraction(int(rng.integers(1, 17)), 8) for _ in range(2))
    start = least * int(rng.integers(10, 15))
    rate = Fraction(95, 100) * least**3 / (3 * sigma)
    count, below = printed_step_bound(start, least, rate, sigma), start
    for _ in range(count):
        if below <= least:
            break
        below = Fraction(math.floor(temperature_step(below, sigma, rate) * 2**80), 2**80)
    return Trial(
        hypotheses=(
            holds("T_init > T_min > 0", start > least > 0),
            holds("0 < eta_T < T_min^3 / (3 sigma_max)", 0 < rate < least**3 / (3 * sigma)),
        ),
        conclusions=(holds("T is at most T_min after ceil(t*) + 1 steps", below <= least),),
        witness={"T_init": start, "T_min": least, "sigma": sigma, "eta_T": rate, "steps": count, "T": below},
    )


def _steps_trial(key: Key, *, with_logarithm: bool) -> Trial:
    """Count steps at random and at constant activities, and compare with the bound."""
    rng = numpy_rng(key, "steps")
    least, sigma, ratio = rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0), float(np.exp(rng.uniform(1.8, 3.0)))
    start = least * ratio
    rate = rng.uniform(0.25, 0.33) * least**3 / sigma
    bound = (step_bound if with_logarithm else printed_step_bound)(start, least, rate, sigma)
    constant = _steps_down((start, least, rate), np.full(2 * bound, sigma))
    varied = _steps_down((start, least, rate / 2), sigma * rng.uniform(1.0, 2.0, 4 * bound))
    looser = (step_bound if with_logarithm else printed_step_bound)(start, least, rate / 2, sigma)
    ideal = (start**3 - least**3) / (3 * rate * sigma)
    printed, proved = printed_step_bound(start, least, rate, sigma), step_bound(start, least, rate, sigma)
    return Trial(
        hypotheses=(
            at_least("T_min", least, 0.0, tolerance=ROUNDING),
            at_most("eta_T sigma_max over T_min^3 / 3", 3 * rate * sigma / least**3, 1.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("steps at constant activity", constant, bound, tolerance=0.0),
            at_least("steps at constant activity: the bound is nearly attained", constant, bound - 1, tolerance=0.0),
            at_most("steps at activities between sigma_0 and twice that", varied, looser, tolerance=0.0),
            equal("printed bound less t* + 3/2", printed - ideal - 1.5, 0.0, tolerance=0.5 + 1e-9),
            equal("bound less t* + log + 1/2", proved - ideal - math.log(ratio) - 0.5, 0.0, tolerance=0.5 + 1e-9),
        ),
        witness={"T_init": start, "T_min": least, "eta_T": rate, "sigma_0": sigma, "steps": constant},
        parameters={"T_init / T_min": ratio, "steps": constant},
    )


temperatures_arrive_with_a_logarithm_more = claim(
    "growing/lemma-17-iii/corrected",
    statement="""Under eta_T < T_min^3 / (3 sigma_max), T_s <= T_min after floor(t* + log(T_init / T_min)) + 1 steps.

    For activities at least sigma_0; at constant ones the bound is exceeded by no more than a step from below.
    """,
    trial=partial(_steps_trial, with_logarithm=True),
    control=partial(_steps_trial, with_logarithm=False),  # Without the logarithm, ceil(t*) + 1.
    num_trials=8,
    note="added: log(T_init / T_min). Proof: a step takes at least 3 e (1 - e / T_s^3), e = eta_T sigma_0, off T^3, "
    "where e / T_s^3 <= log(T_s / T_{s+1})",
)

"""Claims of Section 10 on the error of discrete temperatures, Lemma 17 (ii), and on the dwell time, Lemma 19."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.small_clouds import DIMENSION, growing_system, with_values
from analysis.growing.temperatures import activity, printed_hitting_time, printed_step_bound, step_bound
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.simulation.growing import descend, simulate_growing
from dynsim.systems.growing.descent import GrowingStep, temperature_step
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.residual import dominant_plane
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.losses import PrototypeLoss

GRID, STEPS, SHIPPED, FINER = 2**80, 30, 6, 4
VALUES, NEAR = (3.0, 2.0, 1.0), 1e-3


def _rounded(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return multiples of 2^-80 that enclose an interval."""
    return Fraction(math.floor(low * GRID), GRID), Fraction(math.ceil(high * GRID), GRID)


def _enclosed(
    start: Fraction, drops: list[Fraction], clips: tuple[Fraction | None, Fraction | None], *, exact: bool
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return bounds of T_s of (37) and the cube of T(s), for s = 1, 2, ... as long as that is positive.

    `drops` are eta_T sigma_s, constant from s to s + 1, so that T^3 falls by three times that. `clips` are the T_min of
    T_s and of T(s), or None. T - eta_T sigma / T^2 increases with T > 0, so that bounds remain bounds.
    """
    low, high, cube, found = start, start, start**3, []
    for drop in drops:
        low, high = (temperature_step(T, drop, Fraction(1), clips[0]) for T in (low, high))
        if not exact:
            low, high = _rounded(low, high)
        cube = cube - 3 * drop if clips[1] is None else max(cube - 3 * drop, clips[1] ** 3)
        if cube <= 0:
            break
        found.append((low, high, cube))
    return found


def _close(found: list[tuple[Fraction, Fraction, Fraction]], slope: Fraction) -> bool:
    """Return whether |T_s - T(s)| is at most `slope` s for all s, decided by the cubes."""
    return all(
        (low + slope * s) ** 3 >= cube and (high - slope * s) ** 3 <= cube
        for s, (low, high, cube) in enumerate(found, 1)
    )


def _of_the_algorithm(key: Key, integrator: AbstractIntegrator) -> tuple[Measurement, ...]:
    """Measure the temperature of a head of the Algorithm that ships against that of the flow, all else moving too."""
    cold, hot = 0.5, 0.6
    given: dict[str, Any] = {"initial_temperature": hot, "least_temperature": cold, "spread": 0.5}
    flow = growing_system(key, VALUES, width=0.5, rates=(0.02, 1.0), threshold=0.01, **given)
    flow, x = grow(flow, 0.0, flow.start(random_key(0, "start")))
    z, p = flow.head_inputs(x)[0], x.prototypes[0]
    largest = 2 * max(float(activity(z, p, jnp.asarray(T))) for T in (hot, cold))
    rate = 0.3 * cold**3 / largest
    flow = eqx.tree_at(lambda f: f.temperature_rate, flow, jnp.asarray(rate))
    flow = eqx.tree_at(lambda f: f.rules.threshold, flow, jnp.asarray(10.0))
    steps = descend(flow, x, SHIPPED, every=1)
    path = simulate_growing(flow, x, np.linspace(0.0, SHIPPED, SHIPPED + 1), integrator=integrator)
    of = lambda y: (flow.temperatures(y)[0], flow.activity(y)[0])
    (ts, (T, sigma)), (us, (U, tau)) = steps.along(of), path.along(of)
    by_flow = lambda times: np.asarray(U)[[int(np.flatnonzero(np.asarray(us) == t)[-1]) for t in np.asarray(times)]]
    error = np.abs(np.asarray(T) - by_flow(ts))
    bound = largest / cold**2 * rate * np.asarray(ts)
    rates = lambda f: (f.temperature_rate, f.prototype_rate)
    slow = eqx.tree_at(rates, flow, tuple(each / FINER for each in rates(flow)))
    vs, V = descend(slow, x, FINER * SHIPPED, every=FINER).along(lambda y: slow.temperatures(y)[0])
    finer = np.abs(np.asarray(V) - by_flow(vs / FINER))
    return (
        at_most("sigma on both paths over sigma_max", max(map(np.max, (sigma, tau))) / largest, 1.0, tolerance=0.0),
        at_most(
            "|T_s - T(s)| that ships, less sigma_max / T_min^2 eta_T s", np.max(error - bound), 0.0, tolerance=SOLVER
        ),
        at_least("it is an error", np.max(error), 1e-5, tolerance=0.0),
        at_most("that of steps a fourth as long, over it", np.max(finer) / np.max(error), 0.5, tolerance=0.0),
    )


def _error_trial(key: Key, integrator: AbstractIntegrator, *, clipped: bool) -> Trial:
    """Compare (37) with the flow of (22) for activities that change at every step, with T_min in both or in one."""
    rng = numpy_rng(key, "error")
    least, sigma = (Fraction(int(rng.integers(1, 17)), d) for d in (8, 4))
    rate = least**3 / (3 * sigma) * Fraction(99, 100)
    start = least * (1 + Fraction(int(rng.integers(1, 17)), 400))
    shares = [Fraction(1)] * 3
    if clipped:
        rate, start = rate / int(rng.integers(1, 5)), start * int(rng.integers(1, 3))
        shares = [Fraction(int(k), 8) for k in rng.integers(0, 9, STEPS)]
    drops, unit = [rate * sigma * share for share in shares], rate * sigma / least**2
    first = _enclosed(start, drops, (least if clipped else None, least), exact=not clipped)
    free = _enclosed(start, drops, (None, None), exact=False) if clipped else []
    return Trial(
        (
            holds("T_init > T_min > 0", start > least > 0),
            holds("0 < eta_T < T_min^3 / (3 sigma_max)", 0 < rate < least**3 / (3 * sigma)),
        ),
        (
            holds("with T_min in both: |T_s - T(s)| <= sigma_max / T_min^2 eta_T s", _close(first, unit)),
            holds("without T_min, as long as T(s) > 0: three times that", _close(free, 3 * unit)),
            *(_of_the_algorithm(key, integrator) if clipped else ()),
        ),
        {"T_min": least, "T_init": start, "eta_T": rate, "sigma_max": sigma, "shares of sigma_max": shares[:4]},
        parameters={"steps": len(first), "T_init / T_min": float(start / least)},
    )


discrete_temperatures_follow_the_flow = certified(
    "growing/lemma-17-ii",
    statement="Under (E1) |T_s - T(s)| <= C_disc eta_T s, with C_disc = sigma_max / T_min^2 if both stop at T_min, "
    "and three times that if neither does and T(s) exists.",
    trial=partial(_error_trial, clipped=True),
    control=partial(_error_trial, clipped=False),  # T(s) stops at T_min, and T_s of (37) does not.
    num_trials=3,
    note="Delta t = 1. True for a trivial reason: if both stop at T_min neither moves by more than sigma_max / T_min^2 "
    "eta_T a step; if neither does, T(s) <= T_s <= T_init as long as T(s) exists, and T_init - T(s) is at most three "
    "times that. No truncation error is needed. If T(s) alone stops at T_min it fails, as (i) does",
)


@certified(
    "growing/lemma-19",
    num_trials=2,
    note="s* is that of Lemma 17 (iii), too small by about log(T_init / T_min) steps. Settled: T_s <= T_min for a head "
    "with sigma_s >= sigma_0, and an angle below eps_gate between the gate and the top plane (v_1 is not unique, "
    "lemma-23), for which N_gate steps suffice by its definition. Global heads need not settle in any number of steps. "
    "Under (E4) N_gate must be that of the interval at hand: with steps eta / (s + 1) it grows in proportion to the "
    "steps made before",
)
def printed_dwell_time_settles(key: Key) -> Trial:
    """If N_min > max(N_gate, s*), gate and temperatures have settled after N_min steps.

    The instance: T_init / T_min of 25 or more, sigma constant, eta_T just below (E1) such that t* is an integer, a gate
    that rests in the top plane, so that N_gate = 1, and N_min = s* + 1. The steps are followed from below.
    """
    rng = numpy_rng(key, "dwell")
    least, sigma = (Fraction(int(rng.integers(1, 17)), 8) for _ in range(2))
    ratio = int(rng.integers(25, 29))
    count = math.ceil(Fraction(100, 95) * (ratio**3 - 1))
    start, rate = least * ratio, least**3 * (ratio**3 - 1) / (3 * sigma * count)
    wait, below = printed_step_bound(start, least, rate, sigma) + 1, start
    for _ in range(wait):
        if below <= least:
            break
        below = Fraction(math.floor(temperature_step(below, sigma, rate) * GRID), GRID)
    flow, x = _gated(key, "oja")
    plane = dominant_plane(np.asarray(flow.tracked))
    x = x._replace(gate=jnp.asarray(plane[0]))
    moved = GrowingStep(flow, gate_power=1.0).step(jnp.zeros((), int), x).gate
    return Trial(
        (
            holds("T_init > T_min > 0", start > least > 0),
            holds("(E1)", 0 < rate < least**3 / (3 * sigma)),
            agrees("the gate after a step that ships: N_gate = 1", moved, plane[0]),
            holds(
                "N_min > max(N_gate, s*)", wait > max(1, math.ceil(printed_hitting_time(start, least, rate, sigma)) + 1)
            ),
        ),
        (holds("T is at most T_min after N_min steps", below <= least),),
        {"T_init": start, "T_min": least, "sigma": sigma, "eta_T": rate, "N_gate": 1, "N_min": wait, "T": below},
    )


def _gated(key: Key, word: str) -> tuple[GrowingFlow, Growing]:
    """Return one grown head on tokens near a point, and a gate that tracks the residual of the other two planes."""
    z = NEAR * numpy_rng(key, "tokens").normal(size=(4, DIMENSION))
    rules = GrowthRules(0.5, capacity=2, prototypes=2, gate=word, spread=NEAR)  # pyright: ignore[reportArgumentType]
    loss = PrototypeLoss("full", reduction="mean")
    flow = GrowingFlow(z, with_values(key, VALUES), rules=rules, loss=loss, prototype_rate=0.0, gate_rate=0.05)
    return grow(flow, 0.0, flow.start(random_key(0, "start")))


@eqx.filter_jit
def _after(step: GrowingStep, x: Growing, count: jax.Array) -> Growing:
    return jax.lax.fori_loop(0, count, lambda k, y: step.step(k, y), x)  # a bound method cannot be hashed


def _slope(w: jax.Array, plane: np.ndarray) -> float:
    """Return the tangent of the angle between a vector and a plane."""
    inside = plane @ np.asarray(w)
    return float(np.linalg.norm(np.asarray(w) - inside @ plane) / np.linalg.norm(inside))


def _settled_trial(key: Key, *, with_logarithm: bool) -> Trial:
    """Run the Algorithm for N_gate steps and for the dwell time, and measure the gate and the temperature."""
    rng = numpy_rng(key, "settled")
    word = str(rng.choice(["oja", "exin"]))
    flow, x = _gated(key, word)
    rules, ratio = flow.rules, float(rng.uniform(24, 27))
    cold = float(rules.initial_temperature) / ratio
    hot, z, p = cold * ratio, flow.head_inputs(x)[0], x.prototypes[0]
    sigmas = [float(activity(z, p, jnp.asarray(T))) for T in (hot, cold)]
    whole = math.ceil((ratio**3 - 1) / 0.95) - 0.02  # t*, just below an integer
    rate = (hot**3 - cold**3) / (3 * min(sigmas) * whole)
    flow = eqx.tree_at(
        lambda f: (f.temperature_rate, f.rules.least_temperature), flow, (jnp.asarray(rate), jnp.asarray(cold))
    )
    plane, epsilon = dominant_plane(np.asarray(flow.tracked)), 1e-3
    start = _slope(x.gate, plane)
    tracked, eta = np.asarray(flow.tracked), float(flow.gate_rate)
    E = np.linalg.eigvalsh(tracked.T @ tracked)[[-1, -3]]
    factor = 1 - eta * (E[0] - E[1]) / (1 + eta * E[0])
    gate_steps = math.ceil(math.log(start / epsilon) / -math.log(factor))
    least_steps = (step_bound if with_logarithm else printed_step_bound)(hot, cold, rate, min(sigmas))
    wait = max(gate_steps, least_steps) + 1
    step = GrowingStep(flow)
    settled = _after(step, x, jnp.asarray(wait))
    T = float(flow.temperatures(settled)[0])
    return Trial(
        (
            at_most("eta_T sigma_max over T_min^3 / 3", 3 * rate * max(sigmas) / cold**3, 1.0, tolerance=ROUNDING),
            at_most("spread of the activities", max(sigmas) / min(sigmas) - 1, 1e-4, tolerance=0.0),
            at_least("gap of E", E[0] - E[1], 1e-2, tolerance=ROUNDING),
            at_least("the gate's slope at first", start, 2 * epsilon, tolerance=0.0),
        ),
        (
            at_most("T / T_min after the dwell time", T / cold, 1.0, tolerance=ROUNDING),
            at_most("the gate's slope after N_gate steps", _slope(_after(step, x, jnp.asarray(gate_steps)).gate, plane),
                    epsilon, tolerance=ROUNDING),
            at_most("that after the dwell time", _slope(settled.gate, plane), epsilon, tolerance=ROUNDING),
            equal("length of the gate", float(jnp.linalg.norm(settled.gate)), 1.0, tolerance=1e-12),
        ),
        {"T_init": hot, "T_min": cold, "eta_T": rate, "sigma": sigmas, "N_gate": gate_steps, "N_min": wait},
        parameters={"N_min": wait, "N_gate": gate_steps, "gate": word},
    )  # fmt: skip


dwell_time_with_the_logarithm_settles = claim(
    "growing/lemma-19/corrected",
    statement="If N_min > max(N_gate, floor(t* + log(T_init / T_min)) + 1), gate and temperatures have settled by "
    "then.",
    trial=partial(_settled_trial, with_logarithm=True),
    control=partial(_settled_trial, with_logarithm=False),  # s* = ceil(t*) + 1, as printed.
    num_trials=3,
    note="changed: the steps with the logarithm, as in lemma-17-iii/corrected, in place of s*, for a head with sigma_s "
    ">= sigma_0; and N_gate is written out for constant steps eta of the gate, with E = A^T A: the slope against the "
    "top plane shrinks by 1 - eta (s_1^2 - s_2^2) / (1 + eta s_1^2) or less. One step of the Algorithm for both",
)

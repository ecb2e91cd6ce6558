"""Claims of Section 10 on discrete time: what a step does to the separation force, and the step-size conditions."""

import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.two_prototypes import TwoPrototypes, contracting_head, expanding_head
from analysis.claims.prototypes.instances.clouds import MODES
from analysis.growing.separation import expanded, expansion_derivatives, separation_force
from analysis.growing.step_sizes import (
    SEGMENTS,
    Condition,
    GateSteps,
    Measured,
    StepSizes,
    common_bound,
    cooling_steps,
    exchange_lipschitz,
    step_conditions,
)
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import descend
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.transitions import prune
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.losses import PrototypeLoss


def temperatures(head: TwoPrototypes) -> tuple[Fraction, Fraction]:
    """Return T_init and T_min of a head: rational numbers just above its temperature, and near half of it."""
    T = math.floor(1000 * head.bank().temperature)
    return Fraction(T + 1, 1000), Fraction(T, 2000)


def measured_at(head: TwoPrototypes, mode: str = "frozen") -> Measured:
    """Return what the conditions compare step sizes with, for a head that cools to about half of its temperature."""
    flow, x = head.system()
    (hot, cold), sigma = temperatures(head), float(flow.activity(x)[0])
    gradient, curvature = float(np.sqrt(2) * abs(head.slope(mode).high)), float(head.second_derivative.low)
    return Measured(float(hot), float(cold), sigma, sigma / 10, float(head.steepest(mode)), gradient, curvature, 10)


def slow_rate(rate: Fraction | float, head: TwoPrototypes) -> Fraction:
    """Return a rate of temperatures: a hundredth of that of the prototypes, and half of the bound of (E1) at most."""
    return min(Fraction(rate) / 100, temperatures(head)[1] ** 3 / (6 * head.activity))


def separated_rates(rate: Fraction | float, head: TwoPrototypes, steps: int) -> StepSizes:
    """Return rates with ratios 0.01 and at most 0.1 over some steps, and gate steps that decrease as 1 / s."""
    return StepSizes(float(slow_rate(rate, head)), float(rate), GateSteps(10 * float(rate) * steps, 1.0))


def met(conditions: tuple[Condition, ...]) -> tuple[Measurement, ...]:
    """Measure that conditions are met."""
    return tuple(holds(f"({c.name})", c.met) for c in conditions)


class ForceExpansion(NamedTuple):
    """A force, its derivatives as the tokens move out along a line, and the force after that and a step."""

    force: jax.Array
    first: jax.Array
    second: jax.Array
    after: jax.Array


@eqx.filter_jit
def _expansion(step: GrowingStep, x: Any, u: jax.Array) -> ForceExpansion:
    z, p, T = step.flow.head_inputs(x)[0], x.prototypes[0], step.flow.temperatures(x)[0]
    moved = step.step(jnp.zeros((), int), x).prototypes[0]
    after = separation_force(moved, expanded(z, u, jnp.ones(())), T)
    return ForceExpansion(separation_force(p, z, T), *expansion_derivatives(p, z, u, T), after)


def _shipped(head: TwoPrototypes, mode: str, rate: Fraction, after: Fraction) -> tuple[Measurement, ...]:
    """Measure that what ships computes the forces, the derivatives and the step of a head in a mode as they are."""
    flow, x = head.system(float(rate), mode)
    found = _expansion(GrowingStep(flow), x, flow.frames[0, 0])
    return (
        agrees("F_sep that ships", found.force, float(head.force())),
        agrees("phi'(0) that ships", found.first, float(head.first_derivative.low)),
        agrees("phi''(0) that ships", found.second, float(head.second_derivative.low)),
        agrees(f"F_sep after expansion and step that ships, {mode}", found.after, float(after)),
    )


def _small_step(head: TwoPrototypes, shift: int) -> tuple[Fraction, Fraction]:
    """Return F_sep after a step that moves prototypes by `shift`, and a lower bound of what (40) lacks."""
    after = head.force(2 * head.a, head.v - shift)
    return after, head.force() + head.first_derivative.low + head.second_derivative.low / 2 - after


@certified(
    "growing/lemma-18",
    num_trials=4,
    note="tokens at +-a, prototypes at +-v on the line of the expansion: it hardens the assignments, so that F_sep "
    "falls, although phi''(0) > 0 and any small step is allowed; phi(1) is not its Taylor polynomial, and the step "
    "adds a term of first order, -eta_P <grad F_sep, grad L_q>. Both modes",
)
def step_keeps_the_amplification(key: Key) -> Trial:
    """If eta_P < 2 / L_P, F_sep(P_(s+1), Z_(s+1)) >= F_sep(P_s, Z_s) + phi'(0) + phi''(0) / 2 - R, R = O(eta_P^2).

    If also eta_P < sqrt(phi''(0) / (L_P |grad L_q|^2)), then F_sep(P_(s+1), Z_(s+1)) > F_sep(P_s, Z_s).
    """
    head, shift = expanding_head(key), 2
    (after, lacking), (_, then) = _small_step(head, shift), _small_step(head, 1)
    rates = {mode: head.rate(mode, shift) for mode in MODES}
    return Trial(
        (
            holds("S(P) > 0, and prototypes differ along u", head.v > 0),
            *(m for mode in MODES for m in _allowed(head, mode, shift)),
            *(m for mode in MODES for m in _shipped(head, mode, rates[mode].low, after)),
        ),
        (
            holds("the net gain is positive", after > head.force()),
            holds("R at half the step is at most a quarter of R", lacking <= 0 or 4 * then <= lacking),
        ),
        {**head.witness(), "shift": shift, "F_sep": float(head.force()), "after": float(after)},
        parameters={"n": 2 * head.copies, "k": 2, "eta_P": float(rates["full"].low)},
    )


def _allowed(head: TwoPrototypes, mode: str, shift: int) -> tuple[Measurement, ...]:
    """Measure (E2) and (E3), exactly, for the step size that moves prototypes by `shift` in a mode.

    That step size times the norm of the gradient is sqrt(2) times the shift.
    """
    L, rate = head.steepest(mode), head.rate(mode, shift)
    return (
        holds(f"(E2), exactly: 0 < eta_P < 2 / L_P, {mode}", rate.low > 0 and rate.high < 2 / L),
        holds(f"(E3), exactly, {mode}", 2 * shift**2 * L < head.second_derivative.low),
    )


@jax.jit
def _remainders(z: Any, p: Any, T: Any, u: Any, rates: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return, for step sizes, F_sep after expansion and step less phi(1); its first derivative, half its second one."""
    G = PrototypeLoss("full").gradients(z, p, T)[1]
    after = lambda rate: separation_force(p - rate * G, expanded(z, u, jnp.ones(())), T)
    slope = jax.grad(after)
    return jax.vmap(after)(rates) - after(jnp.zeros(())), slope(jnp.zeros(())), jax.grad(slope)(jnp.zeros(())) / 2


def _remainder_trial(key: Key, *, first_order: bool) -> Trial:
    """Measure R / eta_P^2 against its limit, with the term of first order or without."""
    rng = numpy_rng(key, "step")
    z, p, u = (jnp.asarray(rng.normal(size=shape)) for shape in ((5, 3), (3, 3), (3,)))
    u, T = u / jnp.linalg.norm(u), jnp.asarray(rng.uniform(1.0, 3.0))
    rates = jnp.asarray([1e-3, 5e-4])
    changes, slope, limit = (np.asarray(v) for v in _remainders(z, p, T, u, rates))
    ratios = (changes - (np.asarray(rates) * slope if first_order else 0.0)) / np.asarray(rates) ** 2
    change = abs(ratios[0] - ratios[1]) * float(rates[0]) / abs(slope)
    error = 4 * abs(ratios[0] - ratios[1]) if first_order else 1e-2 * abs(slope)
    return Trial(
        (at_least("the derivative by the step size, in size", abs(slope), 1e-3, tolerance=ROUNDING),),
        (
            equal("R / eta_P^2", ratios[1], limit, tolerance=float(error) + 1e-6),
            at_most("its change at half the step, over slope / eta_P", change, 0.05, tolerance=0.0),
        ),
        {"slope": float(slope), "ratios": ratios, "T": float(T)},
        parameters={"n": 5, "k": 3, "eta_P": "0.001 and half of it"},
    )


step_keeps_the_force_to_second_order = claim(
    "growing/lemma-18/corrected",
    statement="""
    F_sep(P_(s+1), Z_(s+1)) = phi(1) - eta_P <grad_P F_sep(P_s, Z_(s+1)), grad L_q(P_s, Z_s)> + R, R = O(eta_P^2).

    Changed: phi(1) for its Taylor polynomial. Added: the term of first order. R / eta_P^2 converges.
    """,
    trial=partial(_remainder_trial, first_order=True),
    control=partial(_remainder_trial, first_order=False),  # Without the term of first order, as printed.
    num_trials=8,
    note="mode full; phi(1) is the force after the expansion alone. The net gain is positive if phi(1) - phi(0) "
    "exceeds the term of first order and R",
)


@certified(
    "growing/theorem-7",
    num_trials=4,
    note="part (v): with eta_P between 1 / L_P and 2 / L_P one step may put two prototypes into one point, where they "
    "stay, while no flow does. (i) falls with Lemma 18. (E4) has the gate's steps tend to 0 and (E5) bounds "
    "eta_P over them, so that for constant eta_P all of (E1)-(E6) hold for finitely many steps only. L_P is that of "
    "the segment between the states: no constant serves all banks in the mode full. Both modes; no control: the "
    "corrected claim is the positive case",
)
def discrete_pruning_is_safe(key: Key) -> Trial:
    """Under (E1)-(E6) S(P_h) > 0 for every survivor h of a pruning at all later steps, as in continuous time."""
    head = contracting_head(key)
    parts = [_meeting(head, mode) for mode in MODES]
    rate = head.v / head.gradient
    hot, cold = temperatures(head)
    exact = {"eta_P": rate, "eta_T": slow_rate(rate, head), "eta+": 20 * rate, "T_init": hot, "T_min": cold}
    waits = [wait for *_, wait in parts]
    return Trial(
        tuple(m for hypotheses, *_ in parts for m in hypotheses),
        tuple(m for _, conclusions, _ in parts for m in conclusions),
        {**head.witness(), **exact, "N_gate": measured_at(head).gate_steps, "N_min": max(waits)},
        parameters={"n": 2 * head.copies, "k": 2, "eta_P L_P": float(head.rate("full", head.v).low * 2 * head.copies)},
    )


def _meeting(head: TwoPrototypes, mode: str) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...], int]:
    """Measure (E1)-(E6), and that prototypes are apart after a step that takes both to 0 in a mode; return N_min too.

    Its size is v over the derivative by the coordinate of a prototype, of which both are enclosed.
    """
    size, slope = head.rate(mode, head.v), head.slope(mode)
    rate = size.low
    flow, x = head.system(float(rate), mode)
    survivor, y = prune(flow, 0.0, x, 1)
    then = GrowingStep(survivor).step(jnp.zeros((), int), y).prototypes[0]
    rates, measured = separated_rates(rate, head, 1), measured_at(head, mode)
    wait = 3 + max(measured.gate_steps, cooling_steps(rates, measured))
    return (
        (
            holds("S(P) > 0 at the pruning", bool(survivor.active[0]) and head.v > 0),
            *_allowed(head, mode, head.v),
            *met(step_conditions(rates, measured, least_steps=wait)),
            agrees(f"the prototypes after the step that ships, {mode}", then, np.zeros(then.shape)),
        ),
        (holds(f"S(P) > 0 after one step, {mode}", not size.low * slope.low <= head.v <= size.high * slope.high),),
        wait,
    )


_gradients = jax.jit(
    lambda z, banks, T: [
        jax.vmap(lambda p, mode=mode: PrototypeLoss(mode).gradients(z, p, T)[1])(banks) for mode in MODES
    ]
)


def _lipschitz_by_differences(key: Key) -> Measurement:
    """Measure L_P of three prototypes that ships against differences of the gradient, in one of the modes."""
    rng = numpy_rng(key, "differences")
    z, p, T, mode = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), rng.uniform(0.5, 2.0), int(rng.integers(2))
    swapped = [p[list(order)] for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1))]
    banks = np.stack([p + share * (other - p) for share in np.linspace(0, 1, SEGMENTS) for other in swapped])
    moved = 1e-5 * np.eye(p.size).reshape(-1, *p.shape)
    ends = np.concatenate([banks[:, None] + moved, banks[:, None] - moved]).reshape(-1, *p.shape)
    up, down = np.split(np.asarray(_gradients(z, jnp.asarray(ends), T)[mode]).reshape(-1, p.size, p.size), 2)
    expected = np.max(np.linalg.norm((up - down) / 2e-5, ord=2, axis=(1, 2)))
    loss = PrototypeLoss(MODES[mode])
    found = float(exchange_lipschitz(loss, *map(jnp.asarray, (z, p, T))))
    return equal("L_P over that by differences", found / expected, 1.0, tolerance=1e-6)


def _contraction_trial(key: Key, *, factor: float) -> Trial:
    """Measure S after a step against (1 - factor eta_P L_P)^2 S, and the heads that a run of the Algorithm grows."""
    rng = numpy_rng(key, "contraction")
    head = contracting_head(key)
    flow, x = head.system()
    kind = "line" if factor < 1 else str(rng.choice(["line", "random"]))
    if kind == "random":
        x = x._replace(prototypes=x.prototypes + head.a * jnp.asarray(rng.normal(size=x.prototypes.shape)))
    T = flow.temperatures(x)[0]
    L = float(exchange_lipschitz(flow.loss, flow.head_inputs(x)[0], x.prototypes[0], T))
    share = float(head.v / head.gradient) * L if factor < 1 else float(rng.uniform(0.3, 0.95))
    flow = eqx.tree_at(lambda f: f.prototype_rate, flow, jnp.asarray(share / L))
    survivor, y = prune(flow, 0.0, x, 1)
    before = float(separation(y.prototypes[0]))
    after = float(separation(GrowingStep(survivor).step(jnp.zeros((), int), y).prototypes[0]))
    path = descend(survivor, y, 40, every=10)
    least = min(float(jnp.min(jax.vmap(lambda p: separation(p[0]))(phase.ys.prototypes))) for phase in path.phases)
    return Trial(
        (at_most("eta_P L_P", share, 1 / factor, tolerance=ROUNDING), at_least("S(P)", before, 0, tolerance=ROUNDING)),
        (
            at_least("S after a step over S", after / before, (1 - factor * share) ** 2, tolerance=ROUNDING),
            holds("S stays positive", least > 0),
            _lipschitz_by_differences(key),
        ),
        {**head.witness(), "eta_P": share / L, "L_P": L},
        parameters={"k": 2, "eta_P L_P": share, "prototypes": kind},
    )


discrete_pruning_is_safe_for_short_steps = claim(
    "growing/theorem-6-iv/discrete",
    statement="""S(P_h) > 0 for every survivor at all later steps, and a step leaves at least (1 - eta_P L_P)^2 S(P_h).

    With eta_P < 1 / L_P in place of (E2), with L_P on the segments between banks with two prototypes exchanged.
    """,
    trial=partial(_contraction_trial, factor=1.0),
    control=partial(_contraction_trial, factor=0.5),  # 2 / L_P in place of 1 / L_P, as in (E2).
    variant="reading",
    num_trials=6,
    note="read: in discrete time, as Theorem 7 (v) has it; exchanging two prototypes exchanges their gradients, which "
    "therefore differ by at most L_P times the distance of the two",
)


def _potential_rise(head: TwoPrototypes, rate: float, steps: int, mode: str = "frozen") -> float:
    """Return the largest rise of the potential of the first head in steps from a bank a little off the line."""
    flow, x = head.system(rate, mode)
    off = np.zeros(x.prototypes.shape)
    off[0, 0, (head.axis + 1) % 3] = 1e-3
    survivor, y = prune(flow, 0.0, x._replace(prototypes=x.prototypes + off), 1)
    path = descend(survivor, y, steps, every=1)
    values = [np.asarray(_potentials(survivor, phase.ys)) for phase in path.phases]
    return float(np.max(np.diff(np.concatenate(values)), initial=-np.inf))


@eqx.filter_jit
def _potentials(flow: Any, ys: Any) -> jax.Array:
    one = lambda y: flow.loss.potential(flow.head_inputs(y)[0], y.prototypes[0], flow.temperatures(y)[0])
    return jax.vmap(one)(ys)


@certified(
    "growing/corollary-9",
    num_trials=4,
    note="times a common factor the rates keep their ratios, and N_min its bound, while (E1) and (E2) fail; the "
    "descent then diverges. With constant rates (E4) fails, and with (E4) the gate's steps tend to 0, so that eta_P << "
    "eta+ fails for constant eta_P after finitely many steps. Both modes",
)
def conditions_are_a_rule_of_ratios(key: Key) -> Trial:
    """If eta_T << eta_P << eta+, ratios in [0.01, 0.1], and N_min > max(N_gate, s*), then (E1)-(E6) hold, stably."""
    head = expanding_head(key)
    steps, factor = 5, int(numpy_rng(key, "factor").integers(3, 5))
    rate = Fraction(factor, 2 * head.copies)
    rates, measured = (separated_rates(rate, head, steps)._replace(temperatures=float(rate) / 100), measured_at(head))
    wait = 1 + max(measured.gate_steps, cooling_steps(rates, measured))
    found = {c.name: c.met for c in step_conditions(rates, measured, least_steps=wait, num_steps=steps)}
    rises = {mode: _potential_rise(head, float(rate), steps, mode) for mode in MODES}
    return Trial(
        tuple(holds(f"({name})", found[name]) for name in ("E4", "E5, temperatures", "E5, prototypes", "E6")),
        (
            holds("(E2), as L_P is at least 2 r across the line", rate * 2 * head.copies < 2),
            holds("(E2) and (E1) in what ships", found["E1"] and found["E2"]),
            *(at_most(f"rise of the potential, {mode}", rise, 0.0, tolerance=1e-6) for mode, rise in rises.items()),
        ),
        {**head.witness(), "eta_P": rate, "eta_T": rate / 100, "eta+": 10 * rate},
        parameters={"eta_P": float(rate), "eta_T / eta_P": 0.01},
    )


def _printed_conditions(rates: StepSizes, m: Measured, longest: int, steps: int) -> tuple[Measurement, ...]:
    """Compare both sides of each condition that ships with those printed, and its strictness; the gate's power is 1."""
    eta, found = rates.prototypes, step_conditions(rates, m, least_steps=longest, num_steps=steps)
    bounds = [
        m.least_temperature**3 / 3 / m.activity,
        2 / m.lipschitz,
        m.gradient**-1 * (m.curvature / m.lipschitz) ** 0.5,
    ]
    values = [rates.temperatures, eta, eta, 1.0, rates.temperatures / eta, eta * steps / rates.gate.scale, longest]
    ends = {power: GateSteps(rates.gate.scale, power) for power in (0.5, 0.75, 1.0, 1.25)}
    summable = [step_conditions(rates._replace(gate=gate), m, least_steps=1)[3].met for gate in ends.values()]
    longer = step_conditions(rates, m, least_steps=longest + 1)[-1].met
    return (
        agrees("the values that (E1)-(E6) limit", [c.value for c in found], np.array(values)),
        agrees("the bounds of (E1)-(E3)", [c.bound for c in found[:3]], np.array(bounds)),
        holds("(E4) for powers above 1/2, up to 1", summable == [False, True, True, False]),
        holds("(E6) for more than max(N_gate, s*) steps", longer and not found[-1].met),
    )


def _bounded_trial(key: Key, low: float, high: float) -> Trial:
    rng = numpy_rng(key, "bounded")
    head, steps = expanding_head(key), 20
    measured, base = measured_at(head), separated_rates(float(rng.uniform(0.1, 10.0)), head, steps)
    bound = common_bound(base, measured)
    rates = base.times(float(rng.uniform(low, high)) * bound)
    wait = 1 + max(measured.gate_steps, cooling_steps(rates, measured))
    return Trial(
        (
            at_most("eta_T / eta_P", rates.temperatures / rates.prototypes, 0.1, tolerance=ROUNDING),
            at_most("eta_P / eta+", rates.prototypes / rates.gate.at(steps - 1), 0.1 + 1e-6, tolerance=ROUNDING),
        ),
        (
            *met(step_conditions(rates, measured, least_steps=wait, num_steps=steps, separated=0.1 + 1e-6)),
            *_printed_conditions(rates, measured, wait - 1, steps),
            at_most("rise of the potential", _potential_rise(head, rates.prototypes, steps), 0.0, tolerance=1e-9),
        ),
        {**head.witness(), "rates": rates},
        parameters={"eta_P L_P": rates.prototypes * measured.lipschitz, "steps": steps},
    )


conditions_are_a_rule_of_ratios_below_a_bound = claim(
    "growing/corollary-9/corrected",
    statement="""If eta_T << eta_P << eta+ and N_min > max(N_gate, s*), then (E1)-(E6) hold over a finite run.

    Added: all rates are below a common bound: c times given rates with c below the least of the bounds of (E1)-(E3)
    over the rates; gate steps c / s.
    """,
    trial=partial(_bounded_trial, low=0.5, high=0.99),
    control=partial(_bounded_trial, low=1.01, high=1.05),  # Up to a twentieth above the bound.
    num_trials=6,
    note="the bound is sharp; the gate's steps decrease as 1 / s, and the ratio is met at all steps of the run. Along "
    "the run the potential falls",
)

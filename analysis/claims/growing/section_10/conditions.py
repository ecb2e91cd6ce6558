"""Claims of Section 10 on the rule to which the step-size conditions are said to reduce."""

from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np

from analysis.claims.growing.instances.steps import measured_at, met, separated_rates
from analysis.claims.growing.instances.two_prototypes import TwoPrototypes, expanding_head
from analysis.claims.prototypes.instances.clouds import MODES
from analysis.growing.step_sizes import GateSteps, Measured, StepSizes, common_bound, cooling_steps, step_conditions
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.simulation.growing import descend
from dynsim.systems.growing.transitions import prune

POSITIVE_CASE = "no control: the corrected claim is the positive case"


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
    GROWING.at("Corollary 9", "(41)"),
    num_trials=4,
    note="times a common factor the rates keep their ratios, and N_min its bound, while (E1) and (E2) fail; the "
    "descent then diverges. With constant rates (E4) fails, and with (E4) the gate's steps tend to 0, so that eta_P "
    "<< eta+ fails for constant eta_P after finitely many steps. Both modes. " + POSITIVE_CASE,
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
    GROWING.at("Corollary 9", "(41)"),
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

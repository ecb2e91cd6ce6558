"""Claims of Corollary 10: the four levels of stability results, and what each has of the one before."""

from fractions import Fraction
from functools import partial

import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import rotated
from analysis.claims.growing.instances.lattice_heads import LatticeHeads, lattice_heads
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.limits import pair_of_prototypes
from analysis.claims.growing.section_11.lyapunov import shipped_activities, slow_rates
from analysis.claims.prototypes.section_04_lyapunov import derivatives, loss_value
from analysis.growing.functionals import piecewise_free_energy, rate_of_change
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing


def _first_level(at: LatticeHeads, flow: GrowingFlow, x: Growing) -> float:
    """Return dW/dt of the prototypes of both heads, each with fixed embeddings and a fixed temperature."""
    found = 0.0
    for head in (0, 1):
        T = float(flow.temperatures(x)[head])
        alone = PrototypeFlow(at.z.astype(float), T, loss=flow.loss, rate=flow.prototype_rate)
        found -= float(jnp.sum(alone.velocity(0.0, x.prototypes[head]) ** 2) / flow.prototype_rate)
    return found


@certified(
    "growing/corollary-10",
    num_trials=2,
    note="read as Corollary 1 of the DDCL-Attention paper, whose proof has each level as a special case of the next. "
    "(i) and (ii) are no case of (iv): as T becomes constant, Phi adds sum sigma to dW/dt, whatever eta_T; nor is "
    "(iii), since (47) has no free schedule. That (iv) is Theorem 8, which closes the open problem: its parts fail "
    "(theorem-8-monotone, -bounded, -limit-set, -iv). The lattice state is that of lemma-20; new here: the levels side "
    "by side. Mode full; prototypes/corollary-1 has the chain of (i) to (iii)",
)
def levels_extend_each_other(key: Key) -> Trial:
    """Where (i), a frozen encoder, a fixed T and heads, has a decreasing W, so has (iv) as T becomes constant; and the
    decreasing schedules of (iii) are among the temperatures of (iv).

    The instances: two heads on integer points at T = 1 / log 2, as eta_T tends to 0; and one token at 0 with prototypes
    at -b and b, where sigma = 0, so that a trained T stays, while that of (iii) falls.
    """
    at, rng = lattice_heads(key), numpy_rng(key, "pair")
    eta, eta_T, bound = slow_rates(at)  # the bound of dW/dt holds for this eta_T and all smaller ones
    rates = [eta_T, eta_T / 10, eta_T / 100]
    flows = [
        at.flow(barrier=float(at.barrier), prototype_rate=float(eta), temperature_rate=float(r), clipped=False)
        for r in rates
    ]
    x, total = at.state(), float(sum(at.activities))
    found = [rate_of_change(flow, x) for flow in flows]
    fixed = _first_level(at, flows[0], x)
    b, hot = (Fraction(int(k), 4) for k in rng.integers(4, 12, 2))
    cold = hot * Fraction(int(rng.integers(1, 8)), 8)
    rules = GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=float(hot), least_temperature=float(cold))
    pair = pair_of_prototypes(
        np.zeros((1, 2)), float(b), float(b), float(hot), rules=rules, loss=PrototypeLoss("full"), rate=1.0
    )
    schedule, speed = Annealing(float(hot), float(cold), 1.0), jnp.max(jnp.abs(measured(*pair)[0].cubes))
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            shipped_activities(at, flows[0]),
            at_least("fall of W at level (i), over eta_P", -fixed / float(eta), 0.0, tolerance=1e-6),
            *(agrees(f"fall of W of (iv) but for Phi, eta_T / {k}", f.state, fixed)
              for k, f in zip((1, 10, 100), found, strict=True)),
            *(agrees(f"dPhi/dt over sum sigma, eta_T / {k}", f.potentials / total, 1.0)
              for k, f in zip((1, 10, 100), found, strict=True)),
            at_least("least dW/dt of (iv) over the bound", min(float(f.total) for f in found) / float(bound), 1.0,
                     tolerance=0.0),
            at_most("speed of the trained T of the pair", speed, 1e-20, tolerance=0.0),
            agrees("its T over the first one of (iii)", pair[0].temperatures(pair[1])[0] / schedule(0.0), 1.0),
            agrees("the last one of (iii)", schedule.limit(), float(cold)),
        ),
        conclusions=(
            holds("dW/dt <= 0 at level (iv) for small eta_T", bound <= 0),
            holds("T_init at all times, trained, is the schedule of (iii)", cold >= hot),
        ),
        witness={**at.witness(), "eta_P": eta, "eta_T": eta_T, "b": b, "T of (iii)": [hot, cold], "bound": bound},
    )  # fmt: skip


def _levels_trial(key: Key, potential: str) -> Trial:
    """Compare one head of a growing flow with the coupled flow, with annealed and fixed T, and the frozen encoder."""
    rng = numpy_rng(key, "levels")
    loss = PrototypeLoss("full", barrier=rng.uniform(0.1, 2), ridge=rng.uniform(0, 1), reduction="mean")
    data, rates = rng.normal(size=(5, 4)), rng.uniform(0.1, 2, size=2)
    T, encoder, eta_T = float(rng.uniform(0.3, 0.9)), LinearEncoder(4, 4), 1e-9
    given = {"loss": loss, "encoder_rate": rates[0], "prototype_rate": rates[1]}
    rules = GrowthRules(capacity=1, prototypes=3, first="random", least_temperature=0.1)
    flow = GrowingFlow(data, rotated(rng, [2.0, 1.0]), rules=rules, encoder=encoder, temperature_rate=eta_T, **given)
    x = flow.start(key)._replace(cubes=jnp.full(1, T**3))
    y = Coupled(x.encoder, x.prototypes[0])
    v, sigma = measured(flow, x)
    sigma = float(sigma[0])
    second = CoupledFlow(data, encoder, T, **given)
    third = CoupledFlow(data, encoder, Annealing(T, T / 10, T**3 / (eta_T * sigma)), **given)
    alone = second.frozen_encoder(x.encoder)
    fixed, annealed = (derivatives(f, 0.0, y, loss_value) for f in (second, third))
    found, w = rate_of_change(flow, x, potential=potential), second.velocity(0.0, y)
    static, scale = piecewise_free_energy(flow, x, potential="none"), 1 + abs(float(fixed.along))
    return Trial(
        hypotheses=(
            at_least("sigma", sigma, 0.0, tolerance=1e-6),
            at_least("fall of W at level (ii)", -float(fixed.along), 0.0, tolerance=1e-6),
        ),
        conclusions=(
            agrees("velocity of the encoder, (ii)", v.encoder, np.asarray(w.encoder)),
            agrees("velocity of the prototypes, (ii)", v.prototypes[0], np.asarray(w.prototypes)),
            agrees("W but for Phi, (ii)", static, float(second.value(0.0, y))),
            agrees("velocity of the prototypes, (i)", v.prototypes[0], np.asarray(alone.velocity(0.0, y.prototypes))),
            agrees("W but for Phi, (i)", static, float(alone.value(0.0, y.prototypes))),
            agrees("dW/dt but for Phi, over that of (iii)", (found.state + found.temperatures) / annealed.along, 1.0),
            agrees("its part by T, over that of (iii)", found.temperatures / annealed.by_time, 1.0),
            agrees("dW/dt of (iv), less that of (ii), over its size", (found.total - fixed.along) / scale,
                   -(sigma + eta_T * sigma**2 / T**4) / scale),
            at_most("dW/dt of (iv)", found.total / scale, 0.0, tolerance=ROUNDING),
        ),
        witness={"state": x, "dW/dt": [float(found.total), float(fixed.along), float(annealed.along)]},
    )  # fmt: skip


levels_have_one_functional_but_for_the_potential = claim(
    "growing/corollary-10/corrected",
    statement="Between events one head of (iv) moves as in (ii) at its T, and with a frozen encoder as in (i); W less "
    "Phi is theirs, and has the derivative of (iii) with the trained T as its schedule; dW/dt is that of (ii) less "
    "sigma, and so not positive.",
    trial=partial(_levels_trial, potential="repaired"),
    control=partial(_levels_trial, potential="printed"),  # The printed potential.
    num_trials=8,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T), and (iii) for the one schedule that is trained; no events. The "
    "descent of (ii) is prototypes/theorem-2-decrease, that of (iii) prototypes/theorem-3-monotone; the functional of "
    "(iv) keeps the constant part -sigma however small eta_T is. Mode full",
)

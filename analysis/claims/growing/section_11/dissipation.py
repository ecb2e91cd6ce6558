"""Claims of Theorem 9 on the rate at which the functional W decreases."""

from fractions import Fraction
from functools import partial

import jax.numpy as jnp

from analysis.claims.growing.instances.lattice_heads import lattice_heads
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.lyapunov import random_heads, shipped_activities, slow_rates
from analysis.growing.functionals import rate_of_change
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING

THEOREM_9 = GROWING.at("Theorem 9")


def _bound_trial(key: Key, clipped: tuple[bool, bool]) -> Trial:
    """Compare dW/dt with the bound by the squared derivatives and the activities of all heads, at equal rates."""
    rng = numpy_rng(key, "rate")
    flow, x = random_heads(key, clipped=clipped, rate=rng.uniform(0.1, 0.9))
    found = rate_of_change(flow, x, potential="repaired", loss=flow.loss)
    least = min(float(flow.encoder_rate), float(flow.prototype_rate), 1.0)
    sigma = measured(flow, x)[1]
    total, warm = float(jnp.sum(sigma)), float(jnp.sum(jnp.where(jnp.asarray(clipped), 0.0, sigma)))
    squares = float(found.encoder + found.prototypes)
    bracket = squares + total
    return Trial(
        hypotheses=(
            at_least("least rate", least, 0.0, tolerance=ROUNDING),
            at_least("sum of the activities, over the bracket", total / bracket, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("dW/dt over the bracket", found.total / bracket, -least, tolerance=ROUNDING),
            agrees("the bracket that ships, of heads above T_min", found.dissipation, squares + warm),
            at_least(
                "the part of D, at equal rates, over its bound",
                found.state / -(least * (found.encoder + found.prototypes)),
                1.0,
                tolerance=1e-9,
            ),
        ),
        witness={"state": x, "dW/dt": float(found.total)},
    )


functional_dissipates = claim(
    "growing/theorem-9/corrected",
    THEOREM_9,
    statement="On a dwell interval dW/dt <= -min(eta_theta, eta_P, 1) (|grad_theta W|^2 + |grad_P W|^2 + sum sigma), "
    "the sum being over heads with T > T_min, for any rates.",
    trial=partial(_bound_trial, clipped=(False, False)),
    control=partial(_bound_trial, clipped=(True, True)),  # Both heads are at T_min, and their activities in the sum.
    num_trials=8,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T); prototypes and encoder descend W; no coupling condition. Heads "
    "at T_min do not count: their sigma is positive where all derivatives vanish. Mode full",
)


@certified(
    "growing/theorem-9",
    THEOREM_9,
    num_trials=4,
    note="with (III) = +sigma; (55) is homogeneous of degree one in the rates: it holds for all small multiples of "
    "them once it holds, while dW/dt tends to sum sigma > 0. The constants, which the paper does not give, are drawn. "
    "Both modes, fixed embeddings, so that C_3 = 0; no control: the corrected claim is the positive case",
)
def coupling_condition_bounds_the_rate(key: Key) -> Trial:
    """If C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, then dW/dt <= 0 on every dwell interval.

    The instance: that of Lemma 20, C_1 and C_2 being eta_P times random constants, and c_0 = eta_P mu_P / 2.
    """
    at, rng = lattice_heads(key), numpy_rng(key, "constants")
    eta, eta_T, bound = slow_rates(at)
    c1, c2, mu = (Fraction(int(rng.integers(1, 65)), 16) for _ in range(3))
    gate = max(10 * eta, 5 * c1 * eta / mu)
    eta_T = min(eta_T, eta * mu / (5 * c2))
    flow = at.flow(barrier=float(at.barrier), prototype_rate=float(eta), temperature_rate=float(eta_T), clipped=False)
    found = rate_of_change(flow, at.state())
    coupled = eta * (c1 * eta / gate + c2 * eta_T / eta)
    return Trial(
        hypotheses=(
            holds("C_1 eps_1 + C_2 eps_2 < c_0", coupled < eta * mu / 2),
            holds("eps_1, eps_2 <= 1 / 10", max(eta / gate, eta_T / eta) <= Fraction(1, 10)),
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            shipped_activities(at, flow),
            at_least("dW/dt of the flow that ships, over the bound", found.total / float(bound), 1.0, tolerance=0.0),
        ),
        conclusions=(holds("dW/dt <= 0", bound <= 0),),
        witness={**at.witness(), "eta_P": eta, "eta_T": eta_T, "eta_plus": gate}
        | {"c_1": c1, "c_2": c2, "mu_P": mu, "bound": bound},
    )

"""Claims of Section 9 on heads along a run: the temperature of a head to be pruned, and the survivors' prototypes."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.small_clouds import TIMES, growing_system, run
from analysis.growing.pruning import heads_at
from analysis.growing.step_sizes import exchange_lipschitz
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.papers import GROWING
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.transitions import grow, prune
from dynsim.systems.prototypes.assignments import separation

PHI, THRESHOLD = 1e-3, 0.5
COOLING: dict[str, Any] = {"initial_temperature": 0.5, "least_temperature": 0.2}


@claim(
    "growing/lemma-15",
    GROWING.at("Lemma 15"),
    num_trials=2,
    note="Gamma depends on M_a alone and sigma does not depend on M_a: with values 2000, 1000 and 1 of M_a the third "
    "head is grown at theta_w = 1/2, cools to T_min, and has Gamma < phi_g = 1/1000. Nor is a head with S(P) < phi_g "
    "global: it cools as long as its prototypes differ and tokens see it; no control: the corrected claim is the "
    "positive case",
)
def pruned_heads_are_global(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A head with Gamma < phi_g < theta_w is global: it is not among those whose temperature reaches T_min."""
    flow = growing_system(key, (2000.0, 1000.0, 1.0), width=0.5, threshold=THRESHOLD, spread=0.5, dwell=4.0, **COOLING)
    path = run(flow, 14.0, integrator)
    last, x = flow_of(path.phases[-1]), path.final
    found = heads_at(last, x)
    T, least = np.asarray(last.temperatures(x)), float(last.rules.least_temperature)
    weak = int(np.argmin(np.where(np.asarray(last.active), found.energies, np.inf)))
    return Trial(
        (
            holds("Gamma is below phi_g", float(found.energies[weak]) < PHI < THRESHOLD),
            holds("the head was added above theta_w", float(last.levels[weak]) > THRESHOLD),
            at_least("S(P)", found.separations[weak], 0.0, tolerance=SOLVER),
            at_least("sigma", found.activities[weak], 0.0, tolerance=SOLVER),
        ),
        (holds("the temperature has not reached T_min", not bool(last.clipped[weak]) and T[weak] > least),),
        {"T": T, "sigma": np.asarray(found.activities), "events": [jump.name for jump in path.jumps]},
        parameters={"heads": int(np.sum(np.asarray(last.active))), "values of M_a": "2000, 1000, 1"},
    )


@eqx.filter_jit
def _largest_rate(flow: GrowingFlow, xs: Any, head: int) -> jax.Array:
    """Return the Lipschitz constant that limits how fast prototypes of a head approach each other, along a path."""
    inputs = lambda x: (flow.head_inputs(x)[head], x.prototypes[head], flow.temperatures(x)[head])
    return jnp.max(jax.vmap(lambda x: exchange_lipschitz(flow.loss, *inputs(x)))(xs))


def _survival_trial(key: Key, integrator: AbstractIntegrator, bound: str) -> Trial:
    """Measure S(P) of a survivor of a pruning, while its prototypes approach each other at a high temperature."""
    rng = numpy_rng(key, "survivor")
    heat: dict[str, Any] = {"initial_temperature": 1.0, "least_temperature": 0.6, "spread": 0.4}
    flow = growing_system(key, (3.0, 2.0, 1.0), width=0.2, rates=(1.0, 1.0), threshold=10.0, **heat)
    x = flow.start(random_key(0, "start"))
    for _ in range(2):
        flow, x = grow(flow, 0.0, x)
    noise = 0.1 * rng.normal(size=x.prototypes.shape)
    x = x._replace(prototypes=x.prototypes + noise)
    gone = int(rng.integers(2))
    after, y = prune(flow, 0.0, x, gone)
    path = simulate_growing(after, y, np.linspace(0.0, 14.0, TIMES), integrator=integrator)
    ts, S = path.along(lambda x: separation(x.prototypes[1 - gone]))
    S = np.asarray(S)
    L = max(float(_largest_rate(after, phase.ys, 1 - gone)) for phase in path.phases)
    rate = float(after.prototype_rate) * L
    least = {"exponential": -2 * rate * ts, "constant": np.log(1e-3) + 0 * ts}[bound]
    return Trial(
        (at_least("S(P) at the pruning", S[0], 0.0, tolerance=ROUNDING), _moving(after, y, 1 - gone)),
        (
            at_least("log of S(t) / S(0) less its bound", np.min((np.log(S / S[0]) - least)[1:]), 0, tolerance=SOLVER),
            holds("S(t) is positive", bool(np.all(S > 0))),
        ),
        {"S": S, "t": ts, "eta_P L": rate},
        parameters={"k": 3, "S at the end over S at the pruning": float(S[-1] / S[0])},
    )


def _moving(flow: GrowingFlow, x, head: int) -> Measurement:
    """Measure that coincident prototypes of a head have the same velocity: they stay together, in both directions."""
    together = x._replace(prototypes=x.prototypes.at[head, 1].set(x.prototypes[head, 0]))
    v = flow.velocity(jnp.zeros(()), together).prototypes[head]
    return holds("coincident prototypes have one velocity", bool(jnp.all(v[0] == v[1])))


separations_stay_positive = claim(
    "growing/theorem-6-iv",
    GROWING.at("Theorem 6 (iv)"),
    statement="S(P_h)(t) > 0 for every survivor h and every t after the pruning; S(t) >= S(0) exp(-2 eta_P L t).",
    trial=partial(_survival_trial, bound="exponential"),
    control=partial(_survival_trial, bound="constant"),  # S(t) stays above a thousandth of its value at the pruning.
    num_trials=3,
    note="at every finite time, whether or not a head was pruned, by uniqueness of solutions: prototypes that coincide "
    "have coincided forever. S is not bounded away from 0: above the critical temperature, as here, it decays "
    "exponentially, at no more than twice the Lipschitz constant of the velocity. In discrete time see Theorem 7",
)

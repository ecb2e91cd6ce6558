"""Claims of Theorem 8 (iv): temperatures, separations and the architecture at the points of A*."""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks, rotated
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.events import FRAMES, small_flow, without_heads
from analysis.growing.functionals import rate_of_change
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.residual import dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import GrowthGuard, PruningGuard, grow, prune
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss


def in_the_set(flow: GrowingFlow, x: Growing, small: float) -> tuple[Measurement, ...]:
    """Measure that a state is in A* of (44): critical for W by theta and P, sigma = 0, distinct prototypes."""
    found, heads = rate_of_change(flow, x), np.flatnonzero(np.asarray(flow.active))
    apart = [float(separation(x.prototypes[h])) for h in heads]
    return (
        at_most("squared derivatives of W by theta", found.encoder, small, tolerance=0.0),
        at_most("squared derivatives of W by P", found.prototypes, small, tolerance=0.0),
        at_most("largest sigma", jnp.max(flow.activity(x)), small, tolerance=0.0),
        at_least("least S(P)", min(apart, default=1.0), 0.0, tolerance=ROUNDING),
    )


def left_over(flow: GrowingFlow, without: int | None = None) -> float:
    """Return the dominant value of M_a outside the directions of the heads, or of all heads but one."""
    kept = np.asarray(flow.active) & (np.arange(len(flow.active)) != (-1 if without is None else without))
    return dominant_value(
        residual_matrix(flow.interaction, np.asarray(flow.frames)[kept].reshape(-1, len(flow.plane.T)))
    )


class Pruned(NamedTuple):
    """Two heads at embeddings 0: prototypes at a / 2 and -a / 4 along one direction, at -a and a along the other one.

    lambda = 4 a^4, with which the second bank is at rest; eta_P = a^4, S = 9 a^2 / 16 < phi_g = 2 a^2 < theta_w =
    3 a^2, values 5 a^2 and 4 a^2 of M_a, and T_min = a^2 < T = T_init = 4 a^2.
    """

    a: Fraction

    def system(self) -> tuple[GrowingFlow, Growing]:
        """Return the flow that ships, its dwell time over, and the state before the first head is removed."""
        a = float(self.a)
        rules = GrowthRules(
            3 * a**2, 2 * a**2, capacity=2, prototypes=2, initial_temperature=4 * a**2, least_temperature=a**2,
            spread=a, dwell=1.0,
        )  # fmt: skip
        flow = GrowingFlow(
            np.array([[1.0, 2, 0, 1], [-1, -2, 0, -1], [0, 1, 1, 0], [0, -1, -1, 0]]),
            blocks([5 * a**2, 4 * a**2]),
            rules=rules,
            loss=PrototypeLoss("full", barrier=4 * a**4, reduction="mean"),
            encoder=LinearEncoder(4, 4),
            encoder_rate=0.1,
            prototype_rate=a**4,
            temperature_rate=0.01,
            regulariser=1.0,
        )
        x = flow.start(jax.random.key(0))._replace(encoder=jnp.zeros((4, 4)))
        for _ in range(2):
            flow, x = grow(flow, 0.0, x)
        first = x.prototypes[0] * jnp.asarray([[0.25], [0.5]])
        return flow, x._replace(prototypes=x.prototypes.at[0].set(first), clock=jnp.asarray(2.0))


@certified(
    "growing/theorem-8-iv",
    num_trials=2,
    note="the architecture fails: a head with 0 < S(P) < phi_g is removed, and its direction stays captured, as in the "
    "Algorithm; if directions are given back growth need not end (theorem-5). The rest is trivial: S(P) > 0 is in the "
    "definition of A*, and T* is T_inf itself. Sufficient: a residual of at most theta_w outside the directions of the "
    "final heads, as in theorem-5, whose part (iii) the proof cites; new here: at a point of A*, with (B3), (F1) and "
    "(F2). Mode full",
)
def architecture_is_sufficient_in_the_set(key: Key) -> Trial:
    """At every point of A* T_min <= T <= T_inf, S(P) > 0, and the architecture is minimal and sufficient.

    The instance: a linear encoder at 0, centred tokens, and two heads, of which the first, whose prototypes are not
    equally far from 0, is removed at once. From then on the system rests in A*, with one head, and without one for
    the larger value of M_a, which exceeds theta_w.
    """
    at = Pruned(Fraction(int(numpy_rng(key, "a").integers(2, 9)), 4))
    square = at.a**2
    flow, x = at.system()
    sigma = np.asarray(flow.activity(x))
    due = PruningGuard(flow)(0.0, x)
    last, y = prune(flow, 0.0, x)
    kept, T = np.flatnonzero(np.asarray(last.active)), float(last.temperatures(y)[1])
    v, later = measured(last, y)[0], y._replace(clock=jnp.asarray(2.0))
    speed = max(float(jnp.max(jnp.abs(part))) for part in (v.encoder, v.prototypes, v.cubes))
    return Trial(
        hypotheses=(
            holds("lambda = 4 a^4 > 2 eta_P C(2, 2)", 4 * square**2 > 2 * square**2),
            holds("phi_g < theta_w", 2 * square < 3 * square),
            at_least("S of the first head", separation(x.prototypes[0]), 0.0, tolerance=ROUNDING),
            at_least("(B3): sigma of the first head, less the other one", sigma[0] - sigma[1], 0.0, tolerance=ROUNDING),
            equal("(B2): <u_1, u_2>", jnp.dot(*flow.frames[:, 0]), 0.0, tolerance=ROUNDING),
            at_least("margin of the pruning", due, 0.0, tolerance=ROUNDING),
            holds("the second head is left", kept.tolist() == [1]),
            at_most("speed of the system from then on", speed, 1e-20, tolerance=0.0),
            at_most("margin of pruning after the dwell time", PruningGuard(last)(0.0, later), 0.0, tolerance=ROUNDING),
            at_most("margin of growth after it", GrowthGuard(last)(0.0, later), 0.0, tolerance=ROUNDING),
            *in_the_set(last, y, 1e-20),
            at_most("what triggers growth", last.dominant, last.rules.threshold, tolerance=ROUNDING),
            agrees("residual outside the final direction, over a^2", left_over(last) / float(square), 5.0),
        ),
        conclusions=(
            at_least("T less T_min", T - float(square), 0.0, tolerance=ROUNDING),
            at_most("T less T_init", T - 4 * float(square), 0.0, tolerance=ROUNDING),
            holds("the residual is at most theta_w", 5 * square <= 3 * square),
        ),
        witness={"a": at.a, "lambda": 4 * square**2, "eta_P": square**2, "first bank": [at.a / 2, -at.a / 4]}
        | {"phi_g": 2 * square, "theta_w": 3 * square, "values": [5 * square, 4 * square]},
    )  # fmt: skip


LONG = 80.0
STRONG = 20.0  # lambda_theta with which the embeddings tend to 0


def _limit_trial(key: Key, integrator: AbstractIntegrator, *, first: bool) -> Trial:
    """Follow a growing system whose embeddings tend to 0 to a point of A*; `first` keeps the random first head."""
    rng = numpy_rng(key, "limit")
    above = int(rng.integers(1, 3))
    values = 0.5 * np.where(np.arange(2) < above, rng.uniform([1.5, 1.1], [2.5, 1.4]), rng.uniform(0.55, 0.9, size=2))
    flow = small_flow(rng.normal(size=(5, 4)), rotated(rng, values), barrier=0.05)
    rates = [jnp.asarray(v, float) for v in (0.5, 1.0, STRONG)]
    flow = eqx.tree_at(lambda f: [f.encoder_rate, f.prototype_rate, f.regulariser], flow, rates)
    if not first:
        flow = without_heads(flow)
    x = flow.start(key)
    x = x._replace(encoder=x.encoder / 4, prototypes=x.prototypes.at[0].set(x.prototypes[0] / 4))
    path = simulate_growing(flow, x, np.linspace(0.0, LONG, FRAMES), integrator=integrator)
    last, x = flow_of(path.phases[-1]), path.final
    heads = np.flatnonzero(np.asarray(last.active))
    T, theta = np.asarray(last.temperatures(x))[heads], float(last.rules.threshold)
    cold, hot = (float(v) for v in (last.rules.least_temperature, last.rules.initial_temperature))
    resting = np.sqrt(float(last.loss.barrier) / (1 + float(last.loss.ridge)))
    apart = np.array([float(separation(x.prototypes[h])) for h in heads])
    error = np.max(np.abs(apart / (2 * resting) - 1), initial=0.0)
    return Trial(
        hypotheses=(
            *in_the_set(last, x, 1e-12),
            at_least("distance of the values from theta_w", np.min(np.abs(values - theta)), 0.0, tolerance=1e-3),
            holds("no head has been removed", len(path.times("prune")) == 0),
        ),
        conclusions=(
            at_least("least T over T_min", np.min(T, initial=hot) / cold, 1.0, tolerance=SOLVER),
            at_most("largest T over T_init", np.max(T, initial=cold) / hot, 1.0, tolerance=SOLVER),
            equal("largest error of S over 2 sqrt(lambda / (1 + rho))", error, 0.0, tolerance=1e-5),
            at_most("residual outside the directions of the heads", left_over(last), theta, tolerance=ROUNDING),
            *(at_least(f"that without head {h}", left_over(last, int(h)), theta, tolerance=0.0) for h in heads),
        ),
        witness={"values": values, "T": T, "S": apart},
        parameters={"heads": len(heads)},
    )  # fmt: skip


architecture_is_minimal_without_pruning = claim(
    "growing/theorem-8-iv/corrected",
    statement="At limit points in A* T_min <= T <= T_init, the residual is at most theta_w outside the directions of "
    "the heads, and above it outside those of all heads but one; for embeddings at 0, S(P) = 2 sqrt(lambda / (1 + "
    "rho)).",
    trial=partial(_limit_trial, first=False),
    control=partial(_limit_trial, first=True),  # With the random first head of the Algorithm, which has no direction.
    num_trials=3,
    note="added: no head is removed, each has a direction, prototypes and encoder descend W, and a ridge. Changed: T* "
    "is at most T_init, as no T_inf is given for a point of A*. The limit is in A* as a strong regulariser takes all "
    "embeddings to 0; else sigma > 0 at T_min (theorem-8-limit-set). Mode full, K = 2",
)

"""Claims of Theorems 5.1 and 6.1 for P(t) that jumps: bounded, as they ask, but not continuous, as their lemmas ask."""

from analysis.claims.consensus.instances.modulated_heads import growing_heads, jumping_heads
from analysis.claims.consensus.section_05_causal import HEADS, D, stability_trial
from analysis.claims.consensus.section_06_value_matrix import convergence_trial
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS

END = 30


@claim(
    "consensus/theorem-5.1-stability/jumps",
    CONSENSUS.at("Theorem 5.1", "(15)"),
    num_trials=4,
    note="the proof applies Lemma 5.1, whose rate is continuously differentiable, which it is not where P jumps; the "
    "measurement is that of `theorem-5.1-stability`, for other P",
)
def consensus_set_is_stable_for_jumping_heads(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If sup |P_h(t)| < b for some b, the consensus set is asymptotically stable for (15), with limit (y_1, ..., y_1).

    Evaluated for P(t) that takes three values in turn.
    """
    return stability_trial(key, integrator, heads=jumping_heads(key, HEADS, D))


@consensus_set_is_stable_for_jumping_heads.with_control
def consensus_set_is_stable_for_jumping_heads(key: Key, integrator: AbstractIntegrator) -> Trial:
    """P(t) without a bound, 16^k I for k <= t < k + 1: tokens attend to themselves before they meet."""
    return stability_trial(key, integrator, heads=growing_heads(HEADS, D, END), bounded=False)


@claim(
    "consensus/theorem-6.1/jumps",
    CONSENSUS.at("Theorem 6.1", "(21)"),
    num_trials=6,
    note="as for `theorem-5.1-stability/jumps`; the measurement is that of `theorem-6.1`, for other P",
)
def tokens_reach_the_top_eigenvector_for_jumping_heads(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Let U be symmetric with simple top eigenvalue lambda > 0, eigenvector v, and sup |P(t)| < b: every solution of
    (21) with initial values v^T y_i > 0 for all i converges to (v, ..., v).

    Evaluated for P(t) that takes three values in turn.
    """
    return convergence_trial(key, integrator, heads=jumping_heads(key, 1, D))


@tokens_reach_the_top_eigenvector_for_jumping_heads.with_control
def tokens_reach_the_top_eigenvector_for_jumping_heads(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A double top eigenvalue: tokens reach another of its eigenvectors."""
    return convergence_trial(key, integrator, simple=False, heads=jumping_heads(key, 1, D))

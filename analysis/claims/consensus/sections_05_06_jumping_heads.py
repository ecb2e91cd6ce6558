"""Claims of Theorems 5.1 and 6.1 for P(t) that jumps: bounded, as they ask, but not continuous, as their lemmas ask."""

from analysis.claims.consensus.instances.modulated_heads import growing_heads, jumping_heads
from analysis.claims.consensus.section_05_causal import HEADS, D, stability_trial
from analysis.claims.consensus.section_06_value_matrix import convergence_trial
from analysis.ledger.claim import claim

END = 30


consensus_set_is_stable_for_jumping_heads = claim(
    "consensus/theorem-5.1-stability/jumps",
    statement="""
    If sup |P_h(t)| < b for some b, the consensus set is asymptotically stable for (15), with limit (y_1, ..., y_1).

    Evaluated for P(t) that takes three values in turn.
    """,
    trial=lambda key, integrator: stability_trial(key, integrator, heads=jumping_heads(key, HEADS, D)),
    # P(t) without a bound, 16^k I for k <= t < k + 1: tokens attend to themselves before they meet.
    control=lambda key, integrator: stability_trial(key, integrator, heads=growing_heads(HEADS, D, END), bounded=False),
    num_trials=4,
    note="the proof applies Lemma 5.1, whose rate is continuously differentiable, which it is not where P jumps; the "
    "measurement is that of `theorem-5.1-stability`, for other P",
)


tokens_reach_the_top_eigenvector_for_jumping_heads = claim(
    "consensus/theorem-6.1/jumps",
    statement="""
    Let U be symmetric with simple top eigenvalue lambda > 0, eigenvector v, and sup |P(t)| < b: every solution of
    (21) with initial values v^T y_i > 0 for all i converges to (v, ..., v).

    Evaluated for P(t) that takes three values in turn.
    """,
    trial=lambda key, integrator: convergence_trial(key, integrator, heads=jumping_heads(key, 1, D)),
    # A double top eigenvalue: tokens reach another of its eigenvectors.
    control=lambda key, integrator: convergence_trial(key, integrator, simple=False, heads=jumping_heads(key, 1, D)),
    num_trials=6,
    note="as for `theorem-5.1-stability/jumps`; the measurement is that of `theorem-6.1`, for other P",
)

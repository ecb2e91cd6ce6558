"""The claim of Section 7.5, on the record of a trained network passed over and over."""

import numpy as np

from analysis.claim import claim
from analysis.evidence import Measurement, Trial, at_least, at_most, equal
from analysis.experiments import best_record
from analysis.experiments.consensus import PASSES
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS

SINGLE = 1e-3  # E in float32, the states being sums of thousands of layers


def _passes_trial(variant: str, *, each: bool) -> Trial:
    """Measure E along the passes of a variant: whether it falls at each, or whether it ends below a tenth."""
    try:
        kept = best_record(PASSES)
    except ValueError as error:  # no data, no record: the sentence says which file is missing
        return Trial.unfinished(str(error))
    E = kept.arrays[variant][:, 0]
    single = kept.arrays["trained, float32"][:, 0]
    rises = np.diff(E)
    end: Measurement = at_most("E after the last pass", E[-1], 0.1 * E[0], tolerance=SINGLE)
    falls = at_most("largest rise of E from one pass to the next", np.max(rises), 0.0, tolerance=SINGLE)
    again = at_most("the same in float32", np.max(np.diff(single)), 0.0, tolerance=SINGLE)
    return Trial(
        hypotheses=(
            at_least("E before the first pass", E[0], 0.1, tolerance=SINGLE),
            at_least("number of passes", len(rises), 100 - 0.5, tolerance=0.0),
            equal("E before the first pass in both precisions", E[0], single[0], tolerance=SINGLE),
        ),
        conclusions=(falls, again) if each else (end,),
        witness={
            "network": PASSES.quick.network,
            "size": kept.size,
            "variant": variant,
            "E": E[:: max(1, len(E) // 20)],
        },
    )


@claim(
    "consensus/experiment-7.5",
    CONSENSUS.at("Section 7.5, Figure 6"),
    num_trials=1,
    note="decided on the trained network at hand (5 layers, 8 heads, 260,000 weights), not on the paper's GPT-2 XL: "
    "with its feed-forward parts E neither falls at each pass nor tends to zero; no control: the attention alone, on "
    "the same record, is the positive case",
)
def passes_through_a_trained_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """E of (25) decreases with each pass through the trained network, and so the tokens converge to consensus."""
    return _passes_trial("trained", each=True)


@claim(
    "consensus/experiment-7.5/attention-only",
    CONSENSUS.at("Section 7.5, Figure 7"),
    variant="special case",
    num_trials=1,
    note="on the trained network at hand, one prompt; E ends below a tenth of its start but does not fall at each pass",
)
def passes_through_trained_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the feed-forward parts repeated passes through the trained network drive E down, to consensus.

    Added: the feed-forward parts are left out. Changed: in the end, not at each pass.
    """
    return _passes_trial("trained, attention only", each=False)


@passes_through_trained_attention.with_control
def passes_through_trained_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the feed-forward parts."""
    return _passes_trial("trained", each=False)

"""The claims of Section 7.5, on the records of trained networks passed over and over."""

import numpy as np

from analysis.experiments import Experiment, best_record
from analysis.experiments.consensus.simulations import PASSES, SORTING
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, at_least, at_most, equal
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS

SINGLE = 1e-3  # E in float32, the states being sums of thousands of layers


def _passes_trial(experiment: Experiment, variants: tuple[str, ...], *, each: bool) -> Trial:
    """Measure E along the passes of some variants: whether it falls at each, or whether all end below a tenth."""
    try:
        kept = best_record(experiment)
    except ValueError as error:  # no data, no record: the sentence says which file is missing
        return Trial.unfinished(str(error))
    E = np.stack([kept.arrays[variant][:, 0] for variant in variants])
    double, single = (kept.arrays[name][:, 0] for name in ("trained", "trained, float32"))
    rises, ends = np.diff(E), E[:, -1] / E[:, 0]
    end: Measurement = at_most("E after the last pass, over the first", np.max(ends), 0.1, tolerance=SINGLE)
    falls = at_most("largest rise of E from one pass to the next", np.max(rises), 0.0, tolerance=SINGLE)
    again = at_most("the same in float32, first prompt", np.max(np.diff(single)), 0.0, tolerance=SINGLE)
    return Trial(
        hypotheses=(
            at_least("E before the first pass", np.min(E[:, 0]), 0.1, tolerance=SINGLE),
            at_least("number of passes", rises.shape[1], 100 - 0.5, tolerance=0.0),
            equal("E before the first pass in both precisions", double[0], single[0], tolerance=SINGLE),
        ),
        conclusions=(falls, again) if each else (end,),
        witness={
            "network": experiment.quick.network,
            "size": kept.size,
            "variants": variants,
            "E": E[:, :: max(1, E.shape[1] // 20)],
        },
    )


@claim(
    "consensus/experiment-7.5",
    CONSENSUS.at("Section 7.5, Figure 6"),
    num_trials=1,
    note="decided on the trained networks at hand, not on the paper's GPT-2 XL: on one with 5 layers, 8 heads and "
    "260,000 weights that tells stories, with its feed-forward parts E neither falls at each pass nor tends to zero; "
    "no control: the attention alone, on the same record, is the positive case",
)
def passes_through_a_trained_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """E of (25) decreases with each pass through the trained network, and so the tokens converge to consensus."""
    return _passes_trial(PASSES, ("trained",), each=True)


@claim(
    "consensus/experiment-7.5/sorting-network",
    CONSENSUS.at("Section 7.5, Figure 6"),
    variant="reading",
    num_trials=1,
    note="on a second one, 3 layers, 3 heads and 85,728 weights that sort six letters, with its feed-forward parts E "
    "rises at some passes, although for two of its three reference inputs it ends near zero; for the third the first "
    "token stays apart from the others; no control: as for the first network",
)
def passes_through_a_sorting_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """E of (25) decreases with each pass through the trained network, and so the tokens converge to consensus.

    Read: on a network trained to sort letters, for each of the inputs that it came with.
    """
    return _passes_trial(SORTING, ("trained", *(f"trained, prompt {k}" for k in (1, 2, 3))), each=True)


@claim(
    "consensus/experiment-7.5/attention-only",
    CONSENSUS.at("Section 7.5, Figure 7"),
    variant="special case",
    num_trials=1,
    note="on the network that tells stories, one prompt; E ends below a tenth of its start but does not fall at each "
    "pass",
)
def passes_through_trained_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the feed-forward parts repeated passes through the trained network drive E down, to consensus.

    Added: the feed-forward parts are left out. Changed: in the end, not at each pass.
    """
    return _passes_trial(PASSES, ("trained, attention only",), each=False)


@passes_through_trained_attention.with_control
def passes_through_trained_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the feed-forward parts."""
    return _passes_trial(PASSES, ("trained",), each=False)

"""Claims of Section 7.5 on repeated passes through trained networks, from the records of the experiment."""

import numpy as np

from analysis.experiments import Experiment, best_record
from analysis.experiments.consensus.simulations import PASSES, SORTING
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, at_least, at_most, equal
from dynsim._core.types import Key

SINGLE = 1e-3  # error of E in float32 after thousands of layers


def _passes_trial(experiment: Experiment, variants: tuple[str, ...], *, each: bool) -> Trial:
    """Measure whether E decreases at every pass (`each`), or else ends below a tenth of its initial value.

    E ignores signs; where all cosines are positive it is zero at consensus only.
    """
    kept = best_record(experiment)
    E, cosines = (np.stack([kept.arrays[variant][:, k] for variant in variants]) for k in (0, 1))
    double, single = (kept.arrays[name][:, 0] for name in ("trained", "trained, float32"))
    rises, ends = np.diff(E), E[:, -1] / E[:, 0]
    end: Measurement = at_most(
        "largest E after the last pass over E before the first", np.max(ends), 0.1, tolerance=SINGLE
    )
    falls = at_most("largest increase of E from one pass to the next", np.max(rises), 0.0, tolerance=SINGLE)
    alike = at_least(
        "least cosine of two tokens after the last pass", np.min(cosines[:, -1]), 0.0, tolerance=SINGLE, within=(-1, 1)
    )
    again = at_most("the same in float32, first prompt", np.max(np.diff(single)), 0.0, tolerance=SINGLE)
    return Trial(
        hypotheses=(
            at_least("E before the first pass", np.min(E[:, 0]), 0.1, tolerance=SINGLE),
            at_least("number of passes", rises.shape[1], 100 - 0.5, tolerance=0.0),
            equal("E before the first pass in both precisions", double[0], single[0], tolerance=SINGLE),
        ),
        conclusions=(falls, again, alike) if each else (end, alike),
        witness={
            "network": experiment.quick.network,
            "size": kept.size,
            "variants": variants,
            "E": E[:, :: max(1, E.shape[1] // 20)],
        },
        parameters={"size": kept.size, "passes": rises.shape[1], "network": experiment.quick.network},
    )


GPT_2_XL = "gpt2-xl.safetensors"


@claim(
    "consensus/experiment-7.5",
    num_trials=1,
    decided_by=f"dynsim experiment consensus/7.5 --size paper, with its network replaced by {GPT_2_XL}",
    note="Figure 6 shows GPT-2 XL, and its weights, which are not among the data files, are what would decide it; "
    "no other network can confirm or refute it. That consensus `does not depend on the chosen weight matrices`, which "
    "the section infers from it, is what the readings try, on two small trained networks; no control: attention alone, "
    "in the same measurement, is the positive case",
)
def passes_through_gpt_2_xl(key: Key) -> Trial:
    """E of (25) decreases with each pass through GPT-2 XL, and so the tokens converge to consensus."""
    network = PASSES.paper.network
    if network != GPT_2_XL:
        return Trial.unfinished(f"the network of the experiment is `{network}`, and not `{GPT_2_XL}`")
    return _passes_trial(PASSES, ("trained",), each=True)


@claim(
    "consensus/experiment-7.5/story-generator",
    variant="reading",
    num_trials=1,
    note="on a network with 5 layers, 8 heads and 260,000 weights, feed-forward sublayers included, E neither "
    "decreases at each pass nor tends to zero; no control: attention alone, on the same record, is the positive case",
)
def passes_through_a_story_generator(key: Key) -> Trial:
    """E of (25) decreases with each pass through the trained network, and so the tokens converge to consensus.

    Read: for a small network trained to tell stories.
    """
    return _passes_trial(PASSES, ("trained",), each=True)


@claim(
    "consensus/experiment-7.5/sorting-network",
    variant="reading",
    num_trials=1,
    note="on a second network, with 3 layers, 3 heads and 85,728 weights, trained to sort six letters, feed-forward "
    "sublayers included, E increases at some passes, although for two of its three reference inputs it ends near zero; "
    "for the third the first token stays apart from the others; no control: as for the first network",
)
def passes_through_a_sorting_network(key: Key) -> Trial:
    """E of (25) decreases with each pass through the trained network, and so the tokens converge to consensus.

    Read: for a network trained to sort letters, for each of its reference inputs.
    """
    return _passes_trial(SORTING, ("trained", *(f"trained, prompt {k}" for k in (1, 2, 3))), each=True)


passes_through_trained_attention = claim(
    "consensus/experiment-7.5/attention-only",
    statement="""
    Without feed-forward sublayers repeated passes through the trained network decrease E, towards consensus.

    Added: the feed-forward sublayers are left out. Changed: E decreases over all passes, not at each pass.
    """,
    trial=lambda key: _passes_trial(PASSES, ("trained, attention only",), each=False),
    control=lambda key: _passes_trial(PASSES, ("trained",), each=False),  # With the feed-forward sublayers.
    variant="special case",
    num_trials=1,
    note="on the story generator, one prompt; E ends below a tenth of its initial value, and all cosines of tokens are "
    "then positive",
)

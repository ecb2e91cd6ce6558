"""Figures 6 to 8 of `consensus`: a trained network passed over and over, from the record of experiment 7.5.

The paper's network is GPT-2 XL; ours is the one that the experiment names. Beside E, which sees no signs, the least
cosine of two tokens.
"""

import matplotlib.figure
import numpy as np

from analysis.experiments import Size, record
from analysis.experiments.consensus import MEASURES, PASSES
from dynsim._types import Key
from dynsim.papers import CONSENSUS
from figures import panels
from figures.figure import Numbers, figure
from figures.style import COLUMN, canvas, letter

ROLES = ("first", "second", "third", "follower", "undecided")
TRAINED = ("trained", "random")
REDRAWN = ("redrawn", "redrawn, attention only")
PROMPTED = tuple(f"prompt {k}" for k in range(1, 6))


def _variants(names: tuple[str, ...], size: Size) -> Numbers:
    """Return E and the least cosine of some variants, (variants, passes + 1), and the passes."""
    arrays = record(PASSES, size).arrays
    columns = (MEASURES.index("E"), MEASURES.index("least cosine"))
    E, cosine = (np.stack([arrays[name][:, k] for name in names]) for k in columns)
    return {"passes": np.asarray(arrays["passes"], float), "E": E, "cosine": cosine, "names": np.array(names)}


def _drawn(data: Numbers) -> matplotlib.figure.Figure:
    drawn, (left, right) = canvas(COLUMN, 0.5, columns=2)
    names = data["names"].tolist()
    for ax, key, label in ((left, "E", "$E$"), (right, "cosine", "least cosine")):
        options = {"roles": ROLES[: len(names)], "labels": names, "ylabel": label, "xlabel": "passes"}
        panels.curves(ax, data["passes"], data[key], **options)
    right.legend().remove()
    left.set_ylim(0.0, 1.0)
    letter([left, right])
    return drawn


@figure("consensus/figure-6", CONSENSUS.at("Figure 6"))
def passes_figure(key: Key) -> Numbers:
    """(a) E of (25) and (b) the least cosine of two tokens after each pass, with trained and with random weights.

    Feed-forward parts included. Size `quick`: 100 passes; `paper`: 2000.
    """
    del key
    return _variants(TRAINED, "quick")


@passes_figure.with_larger
def passes_figure(key: Key) -> Numbers:
    """Compute Figure 6 at the paper's number of passes."""
    del key
    return _variants(TRAINED, "paper")


@passes_figure.with_drawing
def passes_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 6."""
    return _drawn(data)


@figure("consensus/figure-7", CONSENSUS.at("Figure 7"))
def redrawn_figure(key: Key) -> Numbers:
    """As Figure 6, with weights drawn anew at every pass, with and without the feed-forward parts."""
    del key
    return _variants(REDRAWN, "quick")


@redrawn_figure.with_larger
def redrawn_figure(key: Key) -> Numbers:
    """Compute Figure 7 at the paper's number of passes."""
    del key
    return _variants(REDRAWN, "paper")


@redrawn_figure.with_drawing
def redrawn_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 7."""
    return _drawn(data)


@figure("consensus/figure-8", CONSENSUS.at("Figure 8"))
def prompts_figure(key: Key) -> Numbers:
    """As Figure 6, with random weights (deviation 0.02), for the five prompts of Table 2, each at its own length."""
    del key
    return _variants(PROMPTED, "quick")


@prompts_figure.with_larger
def prompts_figure(key: Key) -> Numbers:
    """Compute Figure 8 at the paper's number of passes."""
    del key
    return _variants(PROMPTED, "paper")


@prompts_figure.with_drawing
def prompts_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 8."""
    return _drawn(data)

"""Figures 6 to 8 of `consensus`, from the record of experiment 7.5, and two on the weights of the trained network.

The paper's network is GPT-2 XL; here it is the one named in the experiment. Besides E, which ignores signs, the figures
show the least cosine of two tokens.
"""

import matplotlib.figure
import numpy as np

from analysis.experiments import Size, record
from analysis.experiments.consensus.prompts import FIRST_PROMPT
from analysis.experiments.consensus.simulations import MEASURES, PASSES, states_after
from dynsim._types import Key
from dynsim.data import data_file
from dynsim.networks.decoder.attention_flow import attention_schedules
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.tokenizer import load_tokenizer
from dynsim.papers import CONSENSUS
from figures import panels
from figures.figure import Numbers, figure
from figures.style import COLUMN, canvas, colour, letter

ROLES = ("first", "second", "third", "follower", "undecided")
TRAINED = ("trained", "random")
REDRAWN = ("redrawn", "redrawn, attention only")
PROMPTED = tuple(f"prompt {k}" for k in range(1, 6))


def _variants(names: tuple[str, ...], size: Size) -> Numbers:
    """Return E and the least cosine of the named variants, (variants, passes + 1), and the numbers of passes."""
    arrays = record(PASSES, size).arrays
    columns = (MEASURES.index("E"), MEASURES.index("least cosine"))
    E, cosine = (np.stack([arrays[name][:, k] for name in names]) for k in columns)
    return {"passes": np.asarray(arrays["passes"], float), "E": E, "cosine": cosine, "names": np.array(names)}


def _drawn(data: Numbers) -> matplotlib.figure.Figure:
    drawn, (left, right) = canvas(COLUMN, 0.58, columns=2)
    names = data["names"].tolist()
    for ax, key, label in ((left, "E", "$E$"), (right, "cosine", "least cosine")):
        options = {"roles": ROLES[: len(names)], "labels": names, "ylabel": label, "xlabel": "passes"}
        panels.curves(ax, data["passes"], data[key], **options)
    left.legend().remove()
    right.legend().remove()
    drawn.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=min(3, len(names)))
    left.set_ylim(0.0, 1.0)
    letter([left, right])
    return drawn


@figure("consensus/figure-6", CONSENSUS.at("Figure 6"))
def passes_figure(key: Key) -> Numbers:
    """(a) E of (25) and (b) the least cosine of two tokens after each pass, with trained and with random weights.

    With feed-forward sublayers. Size `quick`: 100 passes; `paper`: 2000.
    """
    del key
    return _variants(TRAINED, "quick")


passes_figure = passes_figure.with_paper_size(lambda key: _variants(TRAINED, "paper")).with_drawing(_drawn)


@figure("consensus/figure-7", CONSENSUS.at("Figure 7"))
def redrawn_figure(key: Key) -> Numbers:
    """As Figure 6, with new random weights at every pass, with and without feed-forward sublayers."""
    del key
    return _variants(REDRAWN, "quick")


redrawn_figure = redrawn_figure.with_paper_size(lambda key: _variants(REDRAWN, "paper")).with_drawing(_drawn)


@figure("consensus/figure-8", CONSENSUS.at("Figure 8"))
def prompts_figure(key: Key) -> Numbers:
    """As Figure 6, with random weights (standard deviation 0.02), for the zero-padded prompts of Table 2."""
    del key
    return _variants(PROMPTED, "quick")


prompts_figure = prompts_figure.with_paper_size(lambda key: _variants(PROMPTED, "paper")).with_drawing(_drawn)


PASSES_SHOWN = (1, 10, 100)


@figure("consensus/trained-attention", CONSENSUS.at("Section 7.5"))
def attention_figure(key: Key) -> Numbers:
    """Attention weights of the trained network, averaged over heads, at passes 1, 10 and 100 (first prompt).

    One column of panels for each layer. In each matrix rows are queries and columns are keys: entry (i, j) is the
    weight that token i places on token j. The colour scale is the square root of the weight, from 0 to 1.
    """
    del key
    path = data_file(PASSES.quick.network)
    network = load_transformer(path)
    start = network.embed(load_tokenizer(path).encode(FIRST_PROMPT))
    found = []
    for x in states_after(network, start, [shown - 1 for shown in PASSES_SHOWN]):
        before = [x, *network.states(x)[:-1]]
        pairs = zip(network.blocks, before, strict=True)
        seen = (block.attention.weights(block.attention_norm(y)) for block, y in pairs)
        found.append(np.stack([np.asarray(A).mean(axis=0) for A in seen]))
    return {"weights": np.stack(found), "passes": np.array(PASSES_SHOWN)}


@attention_figure.with_drawing
def attention_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the matrices."""
    rows, columns = data["weights"].shape[:2]
    drawn, axes = canvas(COLUMN, 0.66, rows=rows, columns=columns)
    for k, ax in enumerate(axes):
        row, layer = divmod(k, columns)
        panels.attention(ax, data["weights"][row, layer], label=f"layer {layer + 1}" if row == 0 else "")
        ax.set_ylabel(f"pass {data['passes'][row]}" if layer == 0 else " ")
        ax.set_xlabel(" ")
    return drawn


@figure("consensus/trained-spectra", CONSENSUS.at("Sections 3 to 6"))
def spectra_figure(key: Key) -> Numbers:
    """Hypotheses of the theorems for the matrices of a trained network: one marker for each head and layer.

    (a) P: Theorem 3.2 assumes that it is symmetric (asymmetry 0) and positive definite (positive least eigenvalue of
    the symmetric part). (b) U: Theorem 6.1 assumes that it is symmetric with a simple positive top eigenvalue, Sections
    3 to 5 that it is the identity. Eigenvalues are those of the symmetric part divided by its spectral norm; the
    asymmetry is |M - M^T| / |M + M^T| in the Frobenius norm.
    """
    del key
    P, U = attention_schedules(load_transformer(data_file(PASSES.quick.network)))
    both = {"P": _conditions(np.asarray(P.values)), "U": _conditions(np.asarray(U.values))}
    return {f"{name} {kind}": values for name, found in both.items() for kind, values in found.items()}


def _conditions(M: np.ndarray) -> Numbers:
    """Return the asymmetry and the extreme eigenvalues of the symmetric part over its norm, each (layers, heads)."""
    transposed = np.swapaxes(M, -1, -2)
    values = np.linalg.eigvalsh((M + transposed) / 2)
    size = np.max(np.abs(values), axis=-1)
    norm = lambda A: np.linalg.norm(A, axis=(-2, -1))
    return {
        "asymmetry": norm(M - transposed) / norm(M + transposed),
        "least": values[..., 0] / size,
        "greatest": values[..., -1] / size,
    }


@spectra_figure.with_drawing
def spectra_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both scatter plots."""
    drawn, axes = canvas(COLUMN, 0.62, columns=2)
    for ax, name, kind in ((axes[0], "P", "least"), (axes[1], "U", "greatest")):
        for layer, marker in zip(range(len(data["P least"])), "o^sDv", strict=False):
            role = ROLES[layer % len(ROLES)]
            x, y = data[f"{name} asymmetry"][layer], data[f"{name} {kind}"][layer]
            ax.plot(x, y, marker, markersize=3, color=colour(role), label=f"layer {layer + 1}")
        ax.axvline(0.0, color=colour("bound"), linewidth=0.6)
        ax.axhline(0.0, color=colour("bound"), linewidth=0.6)
        ax.set_xlabel(f"asymmetry of ${name}$")
        ax.set_ylabel(f"{kind} eigenvalue, ${name}$")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    letter(axes)
    return drawn

"""Figures 6 to 8 of `consensus`, from the record of experiment 7.5, and two on a trained network's weights.

The paper's network is GPT-2 XL; here it is the one named in the experiment. In addition to E, which ignores signs, the
figures show the smallest cosine between two tokens.
"""

from pathlib import Path

import matplotlib.figure
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.experiments import Size, record
from analysis.experiments.consensus.prompts import FIRST_PROMPT
from analysis.experiments.consensus.simulations import MEASURES, PASSES, states_after
from dynsim._core.types import Key
from dynsim.io.data import data_file
from dynsim.networks.decoder.attention_flow import attention_schedules
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.tokenizer import load_tokenizer
from dynsim.papers import CONSENSUS
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import COLUMN, NO_BASIN, PAGE, canvas, colour, letter

ROLES = ("first", "second", "third", "follower", "undecided")
TRAINED = ("trained", "random")
REDRAWN = ("redrawn", "redrawn, attention only")
PROMPTED = tuple(f"prompt {k}" for k in range(1, 6))


def _variants(names: tuple[str, ...], size: Size) -> Numbers:
    """E and the smallest cosine for the named variants, (variants, passes + 1), and the numbers of passes."""
    found = record(PASSES, size)
    arrays = found.arrays
    columns = (MEASURES.index("E"), MEASURES.index("least cosine"))
    E, cosine = (np.stack([arrays[name][:, k] for name in names]) for k in columns)
    run = run_size(found, (found.config["passes"], f"passes through {Path(found.config['network']).stem}"))
    return {**run, "passes": np.asarray(arrays["passes"], float), "E": E, "cosine": cosine, "names": np.array(names)}


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
    write_run_size(drawn, data)
    return drawn


@figure("consensus/figure-6", CONSENSUS.at("Figure 6"))
def passes_figure(key: Key) -> Numbers:
    """(a) E of (25) and (b) the smallest cosine between two tokens after each pass, for trained and random weights.

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

    One column of panels for each layer. In each matrix rows are query tokens and columns are key tokens: entry (i, j)
    is the weight that token i places on token j. Hatched entries, j > i, are excluded by the causal mask. The colour
    scale is the square root of the weight, from 0 to 1.
    """
    del key
    path = data_file(PASSES.quick.network)
    network = load_transformer(path)
    start = network.embed(load_tokenizer(path).encode(FIRST_PROMPT))
    found, heads = [], 0
    for x in states_after(network, start, [shown - 1 for shown in PASSES_SHOWN]):
        before = [x, *network.states(x)[:-1]]
        pairs = zip(network.blocks, before, strict=True)
        seen = (block.attention_weights(y) for block, y in pairs)
        weights = np.stack([np.asarray(A) for A in seen])
        heads = weights.shape[1]
        found.append(weights.mean(axis=1))
    return {
        "weights": np.stack(found),
        "passes": np.array(PASSES_SHOWN),
        **_network_size((len(network.blocks), heads), path.stem),
    }


@attention_figure.with_drawing
def attention_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the attention matrices."""
    rows, columns = data["weights"].shape[:2]
    drawn, axes = canvas(PAGE, 0.56, rows=rows, columns=columns)
    masked = np.all(data["weights"] == 0, axis=(0, 1))  # softmax weights are positive where the mask allows
    images = []
    for k, ax in enumerate(axes):
        row, layer = divmod(k, columns)
        label = f"layer {layer + 1}" if row == 0 else ""
        images.append(panels.attention(ax, data["weights"][row, layer], masked=masked, label=label))
        ax.set_ylabel(f"pass {data['passes'][row]}\nquery token" if layer == 0 else "")
        ax.set_xlabel("key token" if row == rows - 1 else "")
    panels.weight_bar(axes, images[0])
    drawn.legend(handles=[Patch(facecolor=NO_BASIN, edgecolor=colour("surface"), hatch="////", label="masked")],
                 loc="outside upper right")  # fmt: skip
    write_run_size(drawn, data)
    return drawn


@figure("consensus/trained-spectra", CONSENSUS.at("Sections 3 to 6"))
def spectra_figure(key: Key) -> Numbers:
    """Hypotheses of the theorems for the matrices of a trained network: one marker for each head, by layer.

    (a), (c) P: Theorem 3.2 assumes that it is symmetric (asymmetry 0) and positive definite (positive smallest
    eigenvalue of the symmetric part). (b), (d) U: Theorem 6.1 assumes that it is symmetric with a simple positive top
    eigenvalue, and Sections 3 to 5 assume that it is the identity. Eigenvalues are those of the symmetric part divided
    by its spectral norm. The asymmetry is |M - M^T| / |M + M^T| in the Frobenius norm. Dashed: zero; bars: medians over
    heads.
    """
    del key
    path = data_file(PASSES.quick.network)
    P, U = attention_schedules(load_transformer(path))
    both = {"P": _conditions(np.asarray(P.values)), "U": _conditions(np.asarray(U.values))}
    kept = {f"{name} {kind}": values for name, found in both.items() for kind, values in found.items()}
    return {**kept, **_network_size(P.values.shape[:2], path.stem)}


def _network_size(shape: tuple[int, ...], name: str) -> Numbers:
    """The numbers of layers and heads of the network as the text `run`; the paper uses another network."""
    layers, heads = shape
    return {"run": np.array(f"network {name}: {layers} layers of {heads} heads; the paper's is GPT-2 XL")}


def _conditions(M: np.ndarray) -> Numbers:
    """Asymmetry, and extreme eigenvalues of the symmetric part over its norm, each (layers, heads)."""
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
    """Draw four quantities as strips of heads, one strip for each layer."""
    drawn, axes = canvas(COLUMN, 0.95, rows=2, columns=2)
    for ax, (name, kind) in zip(axes, (("P", "asymmetry"), ("U", "asymmetry"), ("P", "least"), ("U", "greatest")),
                                strict=True):  # fmt: skip
        values = data[f"{name} {kind}"]
        heads = np.linspace(-0.3, 0.3, values.shape[1]) if values.shape[1] > 1 else np.zeros(1)
        for layer, row in enumerate(values):
            ax.plot(layer + 1 + heads, row, "o", markersize=2.5, color=colour("token"), clip_on=False)
            ax.plot(layer + 1 + np.array([-0.36, 0.36]), np.full(2, np.median(row)), color=colour("second"))
        ax.axhline(0.0, color=colour("bound"), linewidth=0.6, linestyle="--")
        ax.set_xticks(np.arange(1, len(values) + 1))
        ax.set_xlabel("layer")
        ax.set_ylabel(f"asymmetry of ${name}$" if kind == "asymmetry" else f"{kind} eigenvalue of ${name}$")
    for ax in axes[:2]:
        ax.set_ylim(-0.1, 1.3)
    axes[2].set_ylim(-1.1, 0.2)
    axes[3].set_ylim(-0.1, 1.1)
    marks = [
        Line2D([], [], marker="o", linestyle="none", markersize=2.5, color=colour("token"), label="head"),
        Line2D([], [], color=colour("second"), label="median of heads"),
        Line2D([], [], color=colour("bound"), linewidth=0.6, linestyle="--", label="zero"),
    ]
    drawn.legend(handles=marks, loc="outside upper center", ncols=3)
    letter(axes)
    write_run_size(drawn, data)
    return drawn

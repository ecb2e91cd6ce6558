"""Figures of `multirate` on its network: sensitivities between positions, and the training study of Section 9."""

import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.experiments import Size, names_in, record
from analysis.experiments.multirate.training_study import SECTION_9
from analysis.networks.leaks import leak_matrix
from dynsim._core.types import Key
from dynsim.networks.multirate.config import MultirateConfig
from dynsim.networks.multirate.network import draw_multirate, with_gates
from dynsim.papers import MULTIRATE
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, SERIES, WIDTHS, canvas, colour, letter, power_of_ten

BLOCK, LENGTH, SYMBOLS, GATE = 4, 26, 32, 1.0
MASKS = {"causal": GATE, "full": GATE, "gate closed": 0.0}
SMOOTHED = 25  # number of steps over which the training loss is averaged, fewer for short training runs


@figure("multirate/leak-matrices", MULTIRATE.at("Proposition 21"))
def leaks_figure(key: Key) -> Numbers:
    """Sensitivity of the logits at symbol s (rows) to the embedding of symbol t (columns), with blocks of four symbols.

    Untrained network. The colour is the largest derivative, and entries that are exactly zero are white. (a) Causal
    slow
    mask: no entry above the diagonal, hence no leak from the future. (b) Full slow mask: from the second block on, the
    logits depend on all symbols. (c) The network of (b) with its gates at zero has no leak. The last block is partial.
    """
    draw, text = jax.random.split(key)
    ids = jax.random.randint(text, (LENGTH,), 0, SYMBOLS)
    found = {}
    for name, gate in MASKS.items():
        mask = "causal" if name == "causal" else "full"
        numbers = MultirateConfig(vocabulary=SYMBOLS, width=32, hidden=64, block=BLOCK, slow_mask=mask)
        model = with_gates(draw_multirate(draw, numbers, dtype=jnp.float64), gate)
        found[name] = np.asarray(leak_matrix(model, ids))
    return found


@leaks_figure.with_drawing
def leaks_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the three matrices on one scale."""
    drawn, axes = canvas(PAGE, 0.36, columns=3)
    top = max(float(np.max(data[name])) for name in MASKS)
    images = [panels.leaks(ax, data[name], block=BLOCK, top=top) for ax, name in zip(axes, MASKS, strict=True)]
    axes[0].set_ylabel("logits at symbol $s$")
    for ax in axes:
        ax.set_xlabel("embedding of symbol $t$")
    bar = drawn.colorbar(images[0], ax=axes, shrink=0.85, pad=0.01, aspect=25)
    bar.set_label("largest derivative")
    letter(axes, ["slow mask causal", "slow mask full", "gate closed"])
    return drawn


def _study(size: Size) -> Numbers:
    found = record(SECTION_9, size)
    arrays, known = found.arrays, names_in(found.arrays, "parameters")
    run = run_size(found, (found.config["steps"], "steps"), (found.config["seeds"], "seeds"))
    kept: Numbers = {**run, "names": np.array(known), "steps": arrays["steps"], "gates": arrays[f"{known[0]}: gates"]}
    for name in known:
        kept |= {f"{name}: {curve}": arrays[f"{name}: {curve}"] for curve in ("training loss", "validation loss")}
    return kept


@figure("multirate/training", MULTIRATE.at("Section 9"))
def training_figure(key: Key) -> Numbers:
    """Byte-level training on Shakespeare's plays: the coupled network, and networks without its slow path.

    (a) The training loss, averaged over 25 steps (a fifth of a shorter training). (b) The loss on held-out text. (c)
    The held-out loss minus that of the frozen network, in which the gates are held at zero, with the same seed:
    negative values are an advantage over the frozen network. Lines: means over seeds; bands: from minimum to maximum.
    (d) The gate alpha of the coupled network, which scales its slow path and starts at zero: one line for each seed.
    Size `quick`: 40 steps, two seeds.
    """
    del key
    return _study("quick")


@training_figure.with_drawing
def training_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the four panels."""
    drawn, axes = canvas(WIDTHS["nature-1.5"], 0.85, rows=2, columns=2)
    training, held_out, beside, gates = axes
    known = [str(name) for name in data["names"]]
    for number, name in enumerate(known):
        losses = data[f"{name}: training loss"]
        window = min(SMOOTHED, losses.shape[1] // 5)
        smooth = np.stack([np.convolve(row, np.full(window, 1 / window), "valid") for row in losses])
        _spread(training, np.arange(smooth.shape[1]) + window, smooth, number, name)
        losses = data[f"{name}: validation loss"]
        _spread(held_out, data["steps"], losses, number, name)
        if name != "frozen":
            _spread(beside, data["steps"], losses - data["frozen: validation loss"], number, name)
    training.set_ylabel("loss (nats per byte)")
    held_out.set_ylabel("loss (nats per byte)")
    beside.set_ylabel("difference (nats per byte)")
    drawn.legend(*training.get_legend_handles_labels(), loc="outside upper center", ncols=min(4, len(known)))
    for k, row in enumerate(data["gates"]):
        for number, part in enumerate(row.T):
            label = f"seed {k}" if number == 0 else ""
            panels.over_time(gates, data["steps"], part, role="first", xlabel="step", ylabel=r"gate $\alpha$",
                             label=label, style=k)  # fmt: skip
    gates.legend()
    power_of_ten(gates.yaxis, data["gates"])
    for ax in (beside, gates):
        ax.axhline(0.0, color=colour("reference"), linewidth=0.6, zorder=0.5)
    letter(axes, ("training text", "held-out text", "held-out, minus frozen", "gate of the coupled network"))
    write_run_size(drawn, data)
    return drawn


def _spread(ax: Axes, steps: np.ndarray, losses: np.ndarray, number: int, name: str) -> None:
    role = SERIES[number % len(SERIES)]
    ax.fill_between(steps, losses.min(axis=0), losses.max(axis=0), color=colour(role), alpha=0.25, linewidth=0.0)
    panels.over_time(ax, steps, losses.mean(axis=0), role=role, xlabel="step", ylabel="loss", label=name, style=number)


training_figure = training_figure.with_paper_size(lambda key: _study("paper"))

"""Figures 2 and 3 of `growing`: heads removed from a frozen encoder, and a classifier trained as its heads grow."""

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.experiments import Size, names_in, record
from analysis.experiments.growing.pruning import PRUNING, separation_changes
from analysis.experiments.growing.training import TRAINING
from analysis.experiments.growing.training_records import READINGS, events
from dynsim._core.types import Key
from dynsim.papers import GROWING
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, SERIES, canvas, colour, letter

MARKS = ("o", "s", "^", "D")
LEAST_FORCE = 1e-12  # smaller forces are drawn at this value
LEAST_CHANGE = 1e-16  # a change of zero is drawn at this value


def _removals(size: Size) -> Numbers:
    found = record(PRUNING, size)
    names = names_in(found.arrays, "own")
    kept = {**run_size(found, (len(found.arrays[f"{names[0]}: own"]), "removals")), "names": np.array(names)}
    for name in names:
        of = lambda what, name=name: found.arrays[f"{name}: {what}"]
        totals = np.sum(of("forces"), axis=2)
        kept |= {f"{name}: energies": of("energies")[0], f"{name}: own": of("own")}
        kept |= {
            f"{name}: falls": totals[:, 0] - totals[:, 1],
            f"{name}: changes": separation_changes(found.arrays, name),
        }
    return kept


@figure("growing/figure-2", GROWING.at("Figure 2"))
def removals_figure(key: Key) -> Numbers:
    """Heads grown on the frozen features of SST-2 and removed one by one, for a trained or a random encoder.

    (a) The directional energy of each head. (b) At each removal, the largest change of the separation S of a remaining
    head, where 0 is drawn at 1e-16. (c) The decrease of F_sep (circles) and F_sep of the removed head (crosses). Size
    `quick`: an encoder trained on 640 sentences for one epoch.
    """
    del key
    return _removals("quick")


@removals_figure.with_drawing
def removals_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the three panels."""
    drawn, (energy, change, force) = canvas(PAGE, 0.34, columns=3)
    for k, name in enumerate(str(name) for name in data["names"]):
        tint, of = colour(SERIES[k]), lambda what, name=name: data[f"{name}: {what}"]
        heads, removals = np.arange(len(of("energies"))) + 1, np.arange(len(of("own"))) + 1
        energy.plot(heads, of("energies"), color=tint, marker=MARKS[k], linestyle="none", label=f"{name} encoder")
        shown = np.maximum(of("changes"), LEAST_CHANGE)
        change.plot(removals, shown, color=tint, marker=MARKS[k], linestyle="none", fillstyle=("full", "none")[k % 2])
        falls, own = (np.maximum(of(what), LEAST_FORCE) for what in ("falls", "own"))
        force.plot(removals, falls, color=tint, marker="o", fillstyle="none", linestyle="none", markersize=6.0)
        force.plot(removals, own, color=tint, marker="x", linestyle="none", markersize=4.0)
    energy.set(xlabel="head", ylabel=r"$\Gamma_h$", ylim=(0.0, None))
    change.set(xlabel="removal", ylabel=r"$\max |\Delta S|$", yscale="log", ylim=(LEAST_CHANGE / 10, 1.0))
    force.set(xlabel="removal", ylabel=r"$\Delta F_{\mathrm{sep}}$", yscale="log")
    energy.legend(loc="lower left")
    letter((energy, change, force))
    write_run_size(drawn, data)
    return drawn


removals_figure = removals_figure.with_paper_size(lambda key: _removals("paper"))


def _training(size: Size) -> Numbers:
    found = record(TRAINING, size)
    seeds = len(found.config["seeds"])
    counts = ((found.config["epochs"], "epochs"), (seeds, "seed" if seeds == 1 else "seeds"))
    names = [
        name for name in names_in(found.arrays, "accuracy") if name in ("ordered", "ordered, data", "unordered, data")
    ]
    kept = {**run_size(found, *counts), "names": np.array(names), "threshold": np.array(found.config["threshold"])}
    kept |= {"seeds": np.array(found.config["seeds"])}
    for name in names:
        of = lambda what, name=name: found.arrays[f"{name}: {what}"]
        reading = READINGS.index("data" if name.endswith("data") else "features")
        steps = [events(found.arrays, name, row) for row in range(seeds)]
        per_epoch = found.arrays[f"{name}: sentences"][0] // found.config["batch"]
        kept |= {f"{name}: {what}": of(what) for what in ("losses", "accuracy", "share")}
        kept |= {f"{name}: residual": of("residuals")[:, :, reading]}
        for row, one in enumerate(steps):
            kept |= {f"{name}: {row}: epochs": one.steps / per_epoch, f"{name}: {row}: values": one.values}
    active = found.arrays["ordered: active"][:, -1]
    for what in ("separation", "forces"):
        kept |= {f"ordered: {what}": np.where(active, found.arrays[f"ordered: {what}"][:, -1], np.nan)}
    return kept


@figure("growing/figure-3", GROWING.at("Figure 3"))
def training_figure(key: Key) -> Numbers:
    """A classifier of sentences trained while its heads grow, with seeds as in the paper and choices made here.

    (a) The loss, and (b) the validation accuracy with that of a constant answer (dotted); lines: means over seeds;
    bands: from minimum to maximum. (c) The dominant value of the residual after each epoch (lines) and at the growth
    events (marks, before the head is added), with theta_w (dashed), in the reading `features`. (d) The same in the
    reading `data`, with the condition on the order (full) and without it (open marks, dotted). (e) The separation S and
    (f) the separation force of each head at the end, in the order of growth; head 1 is the random one. Forces below
    1e-12 are drawn there. Size `quick`: 1,600 sentences, three epochs, one seed, only the reading `features`.
    """
    del key
    return _training("quick")


@training_figure.with_drawing
def training_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the six panels."""
    drawn, axes = canvas(PAGE, 0.66, rows=2, columns=3)
    loss, accuracy, features, tokens, apart, force = axes
    losses, found = data["ordered: losses"], data["ordered: accuracy"]
    panels.with_range(loss, np.arange(losses.shape[1]) + 1, losses, role="first", xlabel="epoch", ylabel="loss")
    for ax in (loss, accuracy):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels.with_range(accuracy, np.arange(found.shape[1]), found, role="first", xlabel="epoch", ylabel="accuracy")
    accuracy.axhline(float(data["ordered: share"]), color=colour("first"), linestyle=":", linewidth=0.8)
    _residuals(features, data, "ordered", labelled=True)
    for name in ("ordered, data", "unordered, data"):
        if f"{name}: residual" in data:
            _residuals(tokens, data, name)
    tokens.set_visible("ordered, data: residual" in data)
    for ax in (features, tokens):
        ax.axhline(float(data["threshold"]), color="black", linestyle="--", linewidth=0.7)
        ax.set(xlabel="epoch", ylabel=r"$\lambda_{\max}$", ylim=(0.0, None))
    for ax, what, name in ((apart, "separation", "$S$"), (force, "forces", r"$F_{\mathrm{sep}}$")):
        for row, values in enumerate(data[f"ordered: {what}"]):
            shown = (
                values if what == "separation" else np.where(np.isnan(values), np.nan, np.maximum(values, LEAST_FORCE))
            )
            ax.plot(np.arange(len(values)) + 1, shown, color=colour(SERIES[row]), marker=MARKS[row], linestyle="none")
        ax.set(xlabel="head", ylabel=name, yscale="log", xlim=(0.5, 0.5 + _most_heads(data)))
    drawn.legend(*features.get_legend_handles_labels(), loc="outside upper center", ncols=len(data["seeds"]))
    letter(axes)
    write_run_size(drawn, data)
    return drawn


def _most_heads(data: Numbers) -> int:
    return int(np.max(np.sum(np.isfinite(data["ordered: separation"]), axis=1)))


def _residuals(ax: Axes, data: Numbers, name: str, *, labelled: bool = False) -> None:
    """Draw the dominant values after each check, and at growth."""
    open_marks = name.startswith("unordered")
    for row, values in enumerate(data[f"{name}: residual"]):
        tint = colour(SERIES[row])
        ax.plot(np.arange(len(values)), values, color=tint, linewidth=0.8, linestyle=":" if open_marks else "-")
        ax.plot(
            data[f"{name}: {row}: epochs"],
            data[f"{name}: {row}: values"],
            color=tint,
            marker=MARKS[row],
            linestyle="none",
            fillstyle="none" if open_marks else "full",
            markersize=6.0 if open_marks else 4.0,
            label=f"seed {int(data['seeds'][row])}" if labelled else "",
        )


training_figure = training_figure.with_paper_size(lambda key: _training("paper"))

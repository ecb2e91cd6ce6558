"""Figures 2 to 5 of `prototypes`, from the records on text read-out, quantisation and two levels."""

import matplotlib
import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.experiments import Experiment, Size, names_in, record
from analysis.experiments.prototypes.hierarchy import HIERARCHY
from analysis.experiments.prototypes.neighbour_maps import neighbour_map
from analysis.experiments.prototypes.quantisation import QUANTISATION
from analysis.experiments.prototypes.text import TEXT
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.encoders import principal_components
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import COLUMN, PAGE, SERIES, canvas, colour, letter

SCORES = ("ACC", "NMI", "ARI")
LABELS = {"variance": "variance $V/N$"}
COLOURS = matplotlib.colormaps["tab20"].colors  # pyright: ignore[reportAttributeAccessIssue]
LABELLED = 0.02  # smallest share of documents for which a prototype's number is written
TASKS = ("SST-2", "IMDb", "20 Newsgroups")  # shown in the figure; the record also has them with other inputs


def _kept(experiment: Experiment, size: Size, measures: tuple[str, ...]) -> Numbers:
    """Select some measures from a record, by the name of what was trained, with these names."""
    found = record(experiment, size)
    names = names_in(found.arrays, measures[0])
    run = run_size(found, (found.config["epochs"], "epochs"), (found.config["seeds"], "seeds"))
    kept = {f"{name}: {what}": found.arrays[f"{name}: {what}"] for name in names for what in measures}
    return {**run, "names": np.array(names), **kept}


def _text(size: Size) -> Numbers:
    data = _kept(TEXT, size, ("loss", "variance", "separation", "entropy", "scores"))
    mine = lambda name: any(name.startswith(f"{task}:") for task in TASKS)
    kept = {name: part for name, part in data.items() if mine(name)}
    return {"run": data["run"], "names": np.array([task for task in TASKS if f"{task}: loss" in kept]), **kept}


@figure("prototypes/figure-2", PROTOTYPES.at("Figure 2"))
def text_figure(key: Key) -> Numbers:
    """Read-out of texts by prototypes, on the test set: one row for each task, from our run with GloVe word vectors.

    From left to right: L_q and V, means over embeddings; the separation S; the entropy H of the assignments, in nats;
    accuracy, mutual information and Rand index of the clusters; the path of S (upwards) over V, one for each seed, from
    the open circle. Lines: means over seeds; bands: from minimum to maximum. Size `quick`: two of the tasks.
    """
    del key
    return _text("quick")


@text_figure.with_drawing
def text_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw a row of panels for each task."""
    names = [str(name) for name in data["names"]]
    drawn, axes = canvas(PAGE, 0.24 * len(names) + 0.1, rows=len(names), columns=5)
    titles = ("losses", "$S$", "$H$", "clusters", "$S$ over $V$")
    for row, name in enumerate(names):
        _task(axes[5 * row : 5 * row + 5], data, name)
        axes[5 * row].set_ylabel(name)
    for ax in axes[:-5]:
        ax.set_xlabel("")
    letter(axes, titles * len(names))
    handles = [pair for ax in (axes[0], axes[3]) for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
    drawn.legend([h for h, _ in handles], [label for _, label in handles], loc="outside upper center", ncols=5)
    write_run_size(drawn, data)
    return drawn


def _task(axes: list, data: Numbers, name: str) -> None:
    loss, separation, entropy, clustering, path = axes
    of = lambda what: data[f"{name}: {what}"]
    epochs = np.arange(of("loss").shape[1])
    for k, (what, label) in enumerate((("loss", "$L_q$"), ("variance", "$V$"))):
        panels.with_range(loss, epochs, of(what), role=SERIES[k], style=k, label=label, xlabel="epoch", ylabel="")
    panels.with_range(separation, epochs, of("separation"), role="first", xlabel="epoch", ylabel="")
    panels.with_range(entropy, epochs, of("entropy"), role="first", xlabel="epoch", ylabel="")
    for k, label in enumerate(SCORES):
        panels.with_range(
            clustering, epochs, of("scores")[..., k], role=SERIES[k], style=k, label=label, xlabel="epoch", ylabel=""
        )
    clustering.set_ylim(min(0.0, float(np.min(of("scores")))), 1.0)
    panels.relaxations(path, list(of("variance")), list(of("separation")), labels=[""] * len(of("variance")))
    path.set_xlabel("$V$")
    separation.set_ylim(0.0, 1.1 * float(np.max(of("separation"))))


text_figure = text_figure.with_paper_size(lambda key: _text("paper"))


def _bank(size: Size) -> Numbers:
    found = record(TEXT, size)
    bank = np.asarray(found.arrays["20 Newsgroups: codebook"][0], float)
    axes = principal_components(bank, 2)
    places = bank @ np.asarray(axes.weight).T + np.asarray(axes.bias)
    run = run_size(found, (found.config["epochs"], "epochs"))
    return {**run, "places": places, "shares": np.var(places, axis=0) / np.sum(np.var(bank, axis=0))}


@figure("prototypes/figure-3", PROTOTYPES.at("Figure 3"))
def bank_figure(key: Key) -> Numbers:
    """The twenty prototypes learned on 20 Newsgroups, in the plane of their first two principal components.

    Prototypes too close to be distinguished share one mark with their number. The percentages beside the axes are the
    shares of the variance. First seed. Size `quick`: two epochs.
    """
    del key
    return _bank("quick")


@bank_figure.with_drawing
def bank_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the prototypes with their numbers, with coinciding ones as one."""
    drawn, (ax,) = canvas(COLUMN, 0.9)
    ax.plot(*data["places"].T, marker="*", markersize=6.0, color=colour("first"), linestyle="none")
    shares = [f"{100 * float(share):.0f} %" for share in data["shares"]]
    ax.set(xlabel=f"first principal component ({shares[0]})", ylabel=f"second principal component ({shares[1]})")
    ax.margins(0.12)
    write_run_size(drawn, data)
    groups = _coinciding(data["places"])
    names = [str(group[0] + 1) if len(group) == 1 else f"{len(group)} prototypes" for group in groups]
    panels.place_names(ax, [data["places"][group[0]] for group in groups], names, size=6.0, fontsize=6.0)
    return drawn


def _coinciding(places: np.ndarray) -> list[list[int]]:
    """Group points within a hundredth of the extent of the first point of a group; indices of each group."""
    groups: list[list[int]] = []
    extent = np.ptp(places, axis=0)
    for k, place in enumerate(places):
        near = [group for group in groups if np.all(np.abs(places[group[0]] - place) <= 0.01 * extent)]
        if near:
            near[0].append(k)
        else:
            groups.append([k])
    return groups


bank_figure = bank_figure.with_paper_size(lambda key: _bank("paper"))


def _quantisers(size: Size) -> Numbers:
    return _kept(QUANTISATION, size, ("utilisation", "utilisation by nearest", "held-out error", "variance", "entropy"))


@figure("prototypes/figure-4", PROTOTYPES.at("Figure 4"))
def quantisers_figure(key: Key) -> Numbers:
    """Soft and hard vector quantisation on CIFAR-10 from the same initial networks, on held-out images.

    (a) The utilisation, the share of prototypes whose mean assignment exceeds 0.01. (b) The share of prototypes that
    are the nearest one for more than 0.01 of the tokens, computed alike for both quantisers. (c) The reconstruction
    error, a mean over pixels and channels. (d) The variance V / N. Lines: means over seeds; bands: from minimum to
    maximum. Size `quick`: 200 images, two epochs.
    """
    del key
    return _quantisers("quick")


@quantisers_figure.with_drawing
def quantisers_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the four panels."""
    drawn, axes = canvas(PAGE, 0.62, rows=2, columns=2)
    measures = ("utilisation", "utilisation by nearest", "held-out error", "variance")
    names = [str(name) for name in data["names"]]
    for ax, what in zip(axes, measures, strict=True):
        for k, name in enumerate(names):
            rows = data[f"{name}: {what}"]
            panels.with_range(ax, np.arange(rows.shape[1]), rows, role=SERIES[k % len(SERIES)], style=k,
                              label=name, xlabel="epoch", ylabel=LABELS.get(what, what))  # fmt: skip
    for ax in axes[:2]:
        ax.set_ylim(0.0, 1.05)
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=min(4, len(names)))
    letter(axes)
    write_run_size(drawn, data)
    return drawn


quantisers_figure = quantisers_figure.with_paper_size(lambda key: _quantisers("paper"))


def _levels(size: Size) -> Numbers:
    found = record(HIERARCHY, size)
    data = _kept(HIERARCHY, size, ("variance", "separation", "entropy", "scores", "chance"))
    of = lambda what: found.arrays[f"{data['names'][0]}: mapped{what}"]
    return {**data, "map": neighbour_map(of("")), "assignments": of(" assignments"), "labels": of(" labels")}


@figure("prototypes/figure-5", PROTOTYPES.at("Figure 5"))
def levels_figure(key: Key) -> Numbers:
    """Two levels of prototypes on 20 Newsgroups, on the test set, with and without the gradient from level 2 to 1.

    (a-c) Variance, separation and entropy of each level: means over seeds, and bands from minimum to maximum. (d) The
    clustering accuracy at level 2, with the upper end of the band expected by chance (dotted). (e, f) A t-SNE map of
    some test documents as embedded by level 2 after the last epoch (with the gradient, first seed), coloured by the
    prototype with the largest assignment, whose number is written amid its documents, and by the newsgroup. Size
    `quick`: 400 documents, two epochs.
    """
    del key
    return _levels("quick")


@levels_figure.with_drawing
def levels_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the curves of both levels, and the map in two colourings."""
    drawn, axes = canvas(PAGE, 0.62, rows=2, columns=3)
    *curves, accuracy, by_prototype, by_group = axes
    names = [str(name) for name in data["names"]][: len(SERIES) // 2]
    for ax, what in zip(curves, ("variance", "separation", "entropy"), strict=True):
        for k, name in enumerate(names):
            for level in (0, 1):
                rows = data[f"{name}: {what}"][:, :, level]
                panels.with_range(ax, np.arange(rows.shape[1]), rows, role=SERIES[2 * level + k], style=2 * level + k,
                                  label=f"{name}, level {level + 1}", xlabel="epoch", ylabel=what)  # fmt: skip
    curves[1].set_yscale("log")
    for k, name in enumerate(names):
        rows = data[f"{name}: scores"][..., 0]
        panels.with_range(accuracy, np.arange(rows.shape[1]), rows, role=SERIES[2 + k], style=2 + k, xlabel="epoch",
                          ylabel="ACC")  # fmt: skip
        accuracy.axhline(float(data[f"{name}: chance"][2]), color=colour(SERIES[2 + k]), linestyle=":", linewidth=0.8)
    accuracy.set_ylim(0.0, None)
    drawn.legend(*curves[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    letter(axes, ("", "", "", "", "by prototype", "by newsgroup"))
    write_run_size(drawn, data)
    _coloured(by_prototype, data["map"], data["assignments"])
    _coloured(by_group, data["map"], data["labels"])
    numbers, counts = np.unique(data["assignments"], return_counts=True)
    large = numbers[counts >= LABELLED * len(data["map"])]
    middles = [np.median(data["map"][data["assignments"] == k], axis=0) for k in large]
    panels.place_names(by_prototype, middles, [str(k + 1) for k in large], size=0.0, fontsize=6.0)
    return drawn


def _coloured(ax: Axes, places: np.ndarray, numbers: np.ndarray) -> None:
    """Draw points on a map, each in the colour of its number."""
    for number in np.unique(numbers):
        ax.plot(*places[numbers == number].T, color=COLOURS[number % 20], marker="o", markersize=1.6, alpha=0.8,
                markeredgewidth=0.0, linestyle="none", rasterized=True)  # fmt: skip
    ax.set(xticks=[], yticks=[], xlabel="t-SNE map", ylabel="")


levels_figure = levels_figure.with_paper_size(lambda key: _levels("paper"))

"""Figures 1 and 6 of `prototypes`: orbital debris, and the ablation of the ratio of learning rates."""

import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.experiments import Size, record
from analysis.experiments.prototypes.debris import DebrisConfig, Descent, descent
from analysis.experiments.prototypes.kmeans import kmeans, nearest
from analysis.experiments.prototypes.learning_rates import LEARNING_RATES
from analysis.experiments.prototypes.orbits import REGIMES, draw_objects, standardised
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import iterate
from dynsim.systems.prototypes.encoders import principal_components
from figures import panels
from figures.figure import Numbers, figure
from figures.prototypes.portraits import MODES
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, SERIES, canvas, colour, letter

MARKS = ("o", "s", "^", "D")
SHOWN = (0.01, 0.1, 1.0)  # ratios whose paths are drawn


@figure("prototypes/figure-1", PROTOTYPES.at("Figure 1"))
def debris_figure(key: Key) -> Numbers:
    """Orbital debris in the plane of its first two principal components, after 500 epochs with the full gradient.

    (a) By orbital regime. (b) By the nearest of the four prototypes (stars), in all five components. Choices that the
    paper leaves open are those of the reference of the experiment `prototypes/debris`, which varies them.
    """
    config = DebrisConfig()
    objects = draw_objects(jax.random.fold_in(key, 0), config.catalogue)
    z, prototypes = _moved(jax.random.fold_in(key, 1), objects.features, config.descent)
    clusters = np.asarray(nearest(jnp.asarray(z), jnp.asarray(prototypes)))
    return {"z": z[:, :2], "prototypes": prototypes[:, :2], "regimes": objects.labels, "clusters": clusters}


def _moved(key: Key, features: np.ndarray, options: Descent) -> tuple[np.ndarray, np.ndarray]:
    """Principal components of the objects, and the prototypes after descent from k-means."""
    x = standardised(features)
    z = x @ np.asarray(principal_components(x, options.components).weight).T
    start = kmeans(key, jnp.asarray(z), options.clusters, restarts=options.restarts).centroids
    path = iterate(descent(z, "full", options), start, options.epochs, every=options.epochs)
    return z, np.asarray(path.final)


@debris_figure.with_drawing
def debris_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both colourings."""
    drawn, axes = canvas(PAGE, 0.45, columns=2)
    names = (REGIMES, [f"prototype {k + 1}" for k in range(len(data["prototypes"]))])
    for ax, numbers, labels in zip(axes, (data["regimes"], data["clusters"]), names, strict=True):
        for k, label in enumerate(labels):
            x, y = data["z"][numbers == k].T
            ax.plot(x, y, color=colour(SERIES[k]), marker=MARKS[k], markersize=2.2, alpha=0.6, linestyle="none",
                    markeredgewidth=0.0, rasterized=True, label=label)  # fmt: skip
        ax.set_xlabel("first principal component")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2.0, handletextpad=0.2)
    x, y = data["prototypes"].T
    axes[1].plot(x, y, marker="*", markersize=9.0, color="white", markeredgecolor="black", markeredgewidth=0.8,
                 linestyle="none", zorder=5.0)  # fmt: skip
    axes[0].set_ylabel("second principal component")
    letter(axes, ("orbital regime", "nearest prototype"))
    return drawn


def _ablation(size: Size) -> Numbers:
    found = record(LEARNING_RATES, size)
    variants = {v["name"]: v for v in found.config["variants"]}
    seeds = variants["full"]["seeds"]
    counts = ((found.config["epochs"], "epochs"), (seeds, "seed" if seeds == 1 else "seeds"))
    kept = {**run_size(found, *counts)}
    for mode in MODES:
        of = lambda what, mode=mode: found.arrays[f"{mode}: {what}"]
        kept |= {f"{mode}: {what}": of(what) for what in ("eps", "V/N", "spread")}
        kept[f"{mode}: S"] = of("S")[..., :: found.config["every"]]  # S is recorded more often
        kept |= {f"{mode}: ACC": of("scores")[..., 0], f"{mode}: chance": of("chance")[..., 2]}
    return kept


@figure("prototypes/figure-6", PROTOTYPES.at("Figure 6"))
def ablation_figure(key: Key) -> Numbers:
    """Encoder and prototypes on MNIST digits at several ratios epsilon of the learning rates, in both modes.

    (a) The clustering accuracy in the final epoch (points: seeds; lines: means), with the upper end of the band
    expected by chance (dotted). (b) The final separation S relative to its initial value, and (c) the same for S
    relative to the spread of the embeddings. (d, e) The paths of V / N and S over the epochs, from the open circle,
    first seed. Size `quick`: 500 images, 30 epochs, one seed.
    """
    del key
    return _ablation("quick")


@ablation_figure.with_drawing
def ablation_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw accuracies, separations and paths."""
    drawn, axes = canvas(PAGE, 0.62, rows=2, columns=3)
    accuracy, separation, relative, full, frozen, unused = axes
    unused.set_axis_off()
    for k, mode in enumerate(MODES):
        eps, S, spread = (data[f"{mode}: {what}"] for what in ("eps", "S", "spread"))
        scaled = S / spread
        rows = (data[f"{mode}: ACC"][..., -1], S[..., -1] / S[..., 0], scaled[..., -1] / scaled[..., 0])
        for ax, values in zip((accuracy, separation, relative), rows, strict=True):
            panels.over_sizes(ax, eps, values, label=mode, role=SERIES[k], style=k)
        bound = data[f"{mode}: chance"].mean(axis=1)
        accuracy.plot(eps, bound, color=colour(SERIES[k]), linestyle=":", linewidth=0.8)
    for ax, name in ((accuracy, "final ACC"), (separation, "final $S$ over first"), (relative, "$S$ over spread")):
        ax.set(xlabel=r"$\varepsilon$", ylabel=name, xscale="log")
    accuracy.set_ylim(0.0, 1.0)
    for ax in (separation, relative):
        ax.set_ylim(0.0, 1.08 * ax.dataLim.y1)
    _paths(full, data, "full")
    _paths(frozen, data, "frozen")
    unused.legend(*frozen.get_legend_handles_labels(), loc="upper left")
    drawn.legend(*accuracy.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    letter(axes[:5], ("", "", "", *MODES))
    write_run_size(drawn, data)
    return drawn


def _paths(ax: Axes, data: Numbers, mode: str) -> None:
    chosen = [k for k, eps in enumerate(data[f"{mode}: eps"]) if float(eps) in SHOWN]
    V, S = (data[f"{mode}: {what}"][chosen, 0] for what in ("V/N", "S"))
    labels = [rf"$\varepsilon = {float(data[f'{mode}: eps'][k]):g}$" for k in chosen]
    panels.relaxations(ax, list(V), list(S), labels=labels)
    ax.set(xlabel="variance $V/N$", ylabel="separation $S$", ylim=(0.0, 1.08 * np.max(S)))


ablation_figure = ablation_figure.with_paper_size(lambda key: _ablation("paper"))

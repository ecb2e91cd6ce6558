"""Clustering of tokens against noise, from the record of the experiment `tokens/noise`."""

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.experiments import Size, record
from analysis.experiments.tokens.noise import NOISE
from analysis.tokens.noise import critical_amplitude, stationary_polarisation
from dynsim._core.types import Key
from dynsim.papers import CONSENSUS
from figures import panels
from figures.figure import Numbers, figure
from figures.panels.shown import cell_edges
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, SERIES, canvas, colour, letter

FINE = 121  # number of amplitudes on the mean-field curves
SHOWN = 4  # number of values of beta with a curve


def _numbers(size: Size) -> Numbers:
    """Order parameters on the circle, and mean-field curves."""
    found = record(NOISE, size)
    arrays = {name: np.asarray(array) for name, array in found.arrays.items()}
    betas, amplitudes = arrays["betas"], arrays["amplitudes"]
    fine, dense = np.linspace(amplitudes[0], amplitudes[-1], FINE), np.geomspace(betas[0] / 1.5, betas[-1] * 1.5, FINE)
    shown = np.unique(np.linspace(0, len(betas) - 1, SHOWN).round().astype(int))
    return {
        **run_size(found, (found.config["tokens"], "tokens"), (found.config["seeds"], "seeds")),
        "betas": betas,
        "amplitudes": amplitudes,
        "order": arrays["order_2"],
        "shown": shown,
        "fine": fine,
        "mean_field": stationary_polarisation(betas[shown], fine),
        "dense": dense,
        "critical": np.array([critical_amplitude(beta) for beta in dense]),
    }


@figure("consensus/noise", CONSENSUS.at("eq. (7)"))
def noise_figure(key: Key) -> Numbers:
    """Tokens on the circle with noise: the norm of their mean, averaged over late times, against beta and sigma.

    Self-attention with P = beta I and U = I, weights that sum to one, and Brownian motion of amplitude sigma. (a) From
    independent uniform starts, averaged over the seeds. The line is the noise above which the uniform density is stable
    in the limit of many tokens. Below it, at large beta, several clusters outlast the run. (b) From one cluster: mean
    over the seeds, with a band from minimum to maximum; dashed, the stationary density of the mean field.
    """
    del key
    return _numbers("quick")


noise_figure = noise_figure.with_paper_size(lambda key: _numbers("paper"))


@noise_figure.with_drawing
def noise_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the map for uniform starts, and the curves from one cluster."""
    drawn, (left, right) = canvas(PAGE, 0.42, columns=2)
    _map(left, data)
    for role, row, k in zip(SERIES, data["mean_field"], data["shown"], strict=False):
        rows = data["order"][k, :, :, 1].T
        label = rf"$\beta = {data['betas'][k]:g}$"
        panels.with_range(
            right, data["amplitudes"], rows, role=role, label=label, xlabel=r"noise $\sigma$", ylabel="norm of the mean"
        )
        right.plot(data["fine"], row, color=colour(role), linestyle=(0, (4, 1.5)), linewidth=0.8)
    right.set_ylim(0.0, 1.02)
    right.legend(loc="upper right")
    letter([left, right])
    write_run_size(drawn, data)
    return drawn


def _map(ax: Axes, data: Numbers) -> None:
    """Draw the order parameter in cells around the grid points, and the stability threshold."""
    x, y = cell_edges(data["betas"], True), cell_edges(data["amplitudes"], False)
    shade = data["order"][..., 0].mean(axis=2).T
    image = ax.pcolormesh(x, y, shade, cmap="cividis", vmin=0.0, vmax=1.0, rasterized=True)
    ax.plot(data["dense"], data["critical"], color="white", linewidth=2.2)
    ax.plot(
        data["dense"], data["critical"], color=colour("second"), linewidth=1.2, label="uniform density stable above"
    )
    ax.set(xscale="log", xlim=x[[0, -1]], ylim=y[[0, -1]], xlabel=r"$\beta$", ylabel=r"noise $\sigma$")
    ax.set_xticks(data["betas"], labels=[f"{beta:g}" for beta in data["betas"]])
    ax.minorticks_off()
    ax.legend(loc="upper right")
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, aspect=25)
    bar.set_label("norm of the mean")

"""Clusters of many tokens on the circle against beta, from the record of the experiment `tokens/density`."""

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from analysis.experiments import Size, record
from analysis.experiments.tokens.density import DENSITIES
from analysis.tokens.growth_rates import fastest_degree, uniform_growth_rates
from dynsim._core.types import Key
from dynsim.papers import CONSENSUS
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, SERIES, canvas, colour, letter

FINE = 121  # number of values of beta on the mean-field curves
QUARTERS = (0.25, 0.5, 0.75)
MARKERS = ("o", "s", "^", "D", "v")
APART = 1.1  # ratio between the positions of neighbouring token numbers, so that their bars do not overlap


def _numbers(size: Size) -> Numbers:
    """Quartiles of the recorded quantities, and the mean-field growth rates."""
    found = record(DENSITIES, size)
    arrays = {name: np.asarray(array) for name, array in found.arrays.items()}
    betas, end = arrays["beta"], arrays["ts"][-1]
    fine = np.geomspace(betas.min() / 1.5, betas.max() * 1.5, FINE)
    degrees = np.arange(1, fastest_degree(fine[-1], 2) + 1)
    rates = np.stack([uniform_growth_rates(b, 2, len(degrees), scale=2**-0.5)[1:] for b in fine], axis=1)
    unfinished = np.isnan(arrays["time to one"])
    return {
        **run_size(found, (len(betas), "values of beta"), (found.config["members"], "starts of each")),
        "betas": betas,
        "tokens": arrays["tokens"],
        "end": end,
        "fine": fine,
        "degree rates": rates,
        "fastest": rates.max(axis=0),
        "rate": _quartiles(arrays["rate"]),
        "time": _quartiles(np.where(unfinished, end, arrays["time to one"])),
        "unfinished": unfinished.mean(axis=-1),
        "plateau": _quartiles(arrays["plateau"]),
    }


def _quartiles(values: np.ndarray) -> np.ndarray:
    """Quartiles over the last axis, ignoring NaN, on a new first axis; NaN where all values are NaN."""
    known = np.isfinite(values).any(axis=-1)
    found = np.full((3, *known.shape), np.nan)
    found[:, known] = np.nanquantile(values[known], QUARTERS, axis=-1)
    return found


@figure("consensus/density", CONSENSUS.at("Section 3, eq. (8)"))
def density_figure(key: Key) -> Numbers:
    r"""Clusters of many tokens on the circle, from independent uniform starts with P = beta I and U = I, against beta.

    Marks are medians, and bars the middle half of the starts. (a) The initial growth rate of the Fourier coefficient
    that grows fastest in the mean-field limit. The line is the mean field, the limit of many tokens from the uniform
    density, and the pale lines are its degrees 1, 2, ... one by one. (b) The time at which nine tenths of the tokens
    are in one cluster. Starts that still have several clusters at the final time (dotted line) are counted with that
    time, and marks are open where these are at least half of the starts. (c) The longest time for which the number of
    clusters stays constant at two or more, up to the final time.
    """
    del key
    return _numbers("quick")


density_figure = density_figure.with_paper_size(lambda key: _numbers("paper"))


@density_figure.with_drawing
def density_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the growth rates, the times to one cluster and the plateaus."""
    drawn, (left, middle, right) = canvas(PAGE, 0.36, columns=3)
    for row in data["degree rates"]:
        left.plot(data["fine"], row, color=colour("field"), linewidth=0.5, alpha=0.5)
    left.plot(data["fine"], data["fastest"], color=colour("bound"), linewidth=0.9, label="mean field")
    _marks(left, data, "rate")
    left.set(ylim=(0, 1.5 * data["fastest"].max()), ylabel="growth rate", xlim=data["fine"][[0, -1]])
    end = float(data["end"])
    left.legend(loc="upper left", ncols=2, columnspacing=1.0)
    for ax, name, label in ((middle, "time", "time to one cluster"), (right, "plateau", "longest plateau")):
        _marks(ax, data, name)
        ax.axhline(end, color=colour("reference"), linestyle=(0, (1, 1.5)), linewidth=0.8)
        least = data[name][data[name] > 0].min(initial=end)
        bottom = 10.0 ** np.floor(np.log10(least / 1.5))
        ax.set(yscale="log", ylabel=label, xlim=data["fine"][[0, -1]], ylim=(bottom, 1.5 * end))
    for ax in (left, middle, right):
        ax.set(xscale="log", xlabel=r"$\beta$")
        ax.set_xticks(data["betas"], labels=[f"{beta:g}" for beta in data["betas"]])
        ax.minorticks_off()
    letter([left, middle, right])
    write_run_size(drawn, data)
    return drawn


def _marks(ax: Axes, data: Numbers, name: str) -> None:
    """Draw medians and middle halves for every number of tokens, side by side."""
    low, middle, high = data[name]
    counts = data["tokens"]
    for k, (count, role, marker) in enumerate(zip(counts, SERIES, MARKERS, strict=False)):
        place = data["betas"] * APART ** (k - (len(counts) - 1) / 2)
        ax.vlines(place, low[:, k], high[:, k], color=colour(role), linewidth=1.0)
        open_ = data["unfinished"][:, k] >= 0.5 if name == "time" else np.zeros(len(place), bool)
        for chosen, face in ((~open_, colour(role)), (open_, "white")):
            label = f"{count:,} tokens" if face != "white" else None
            ax.plot(place[chosen], middle[chosen, k], marker, color=colour(role), markerfacecolor=face, label=label)

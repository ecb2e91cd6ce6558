"""Figure 1 of `growing`: Experiments 1 to 3 on synthetic tokens, for two readings of the paper's open choices."""

import matplotlib.figure
import numpy as np

from analysis.experiments import Size, record
from analysis.experiments.growing.outcomes import coverages
from analysis.experiments.growing.synthetic import SHOWN, SYNTHETIC, outcomes
from dynsim._core.types import Key
from dynsim.papers import GROWING
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import PAGE, canvas, colour, letter


def _numbers(size: Size) -> Numbers:
    found = record(SYNTHETIC, size)
    kept: dict[str, np.ndarray] = {
        **run_size(found, (found.config["seeds"], "seed" if found.config["seeds"] == 1 else "seeds")),
        "values": found.arrays["spectrum"],
        "threshold": found.arrays["threshold"],
        "least": np.array(found.config["setting"]["least_temperature"]),
    }
    for name in ("reference", SHOWN):
        first = outcomes(found.arrays, name)[0]
        kept |= {f"{name}: ts": found.arrays[f"{name}: ts"], f"{name}: fan": first.fan, f"{name}: levels": first.levels}
        bound = first.levels / first.temperatures**2
        kept |= {f"{name}: forces": first.forces / np.sum(first.forces), f"{name}: bound": bound / np.sum(bound)}
        covered = [coverages(first.levels[: k + 1], kept["values"]) for k in range(len(first.levels))]
        for way in ("as printed", "2 lambda^2"):
            kept[f"{name}: {way}"] = np.array([share[way] for share in covered])
    return kept


@figure("growing/figure-1", GROWING.at("Figure 1"))
def synthetic_figure(key: Key) -> Numbers:
    """Experiments 1 to 3 at the printed numbers (N = 500, d = 64, K = 4), one seed, for two sets of open choices.

    Above: tokens drawn independently of M_a, banks of one size, prototypes that descend the mean loss. Below: the
        tokens'
    variance in each plane of M_a is proportional to its eigenvalue, and small banks, .01 of the tokens' deviation, keep
    their initial positions. (a, d) The levels of the heads are the eigenvalues of M_a (circles). The lines are
    coverages by 2 lambda^2 (solid) and by lambda as printed (dashed) over |M_a|_F^2, with the printed bound .899
    (dotted). (b, e) Temperatures, first head dark; all reach T_min. (c, f) Shares of the forces when all heads have
    reached T_min (bars), and shares with the ratios of the bound (66) (circles).
    """
    del key
    return _numbers("quick")


@synthetic_figure.with_drawing
def synthetic_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both rows."""
    drawn, axes = canvas(PAGE, 0.6, rows=2, columns=3)
    for row, name in enumerate(("reference", SHOWN)):
        left, centre, right = axes[3 * row : 3 * row + 3]
        panels.levels(left, data[f"{name}: levels"], data["values"][:11], threshold=float(data["threshold"]))
        share, places = left.twinx(), np.arange(1, len(data[f"{name}: levels"]) + 1)
        for way, style in (("2 lambda^2", "-"), ("as printed", "--")):
            share.plot(places, data[f"{name}: {way}"], color=colour("second"), linestyle=style)
        share.axhline(0.899, color=colour("second"), linestyle=":", linewidth=0.7)
        share.set(ylabel="coverage", ylim=(0.0, 1.08))
        share.spines["right"].set_visible(True)
        panels.temperature_fan(centre, data[f"{name}: ts"], data[f"{name}: fan"], least=float(data["least"]))
        centre.set(xscale="log")
        panels.forces(right, data[f"{name}: forces"], data[f"{name}: bound"])
        if row == 0:
            for ax in (left, right):
                ax.set_xlabel("")
            centre.set_xlabel("")
            drawn.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    letter(axes)
    write_run_size(drawn, data)
    return drawn


synthetic_figure = synthetic_figure.with_paper_size(lambda key: _numbers("paper"))

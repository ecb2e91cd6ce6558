"""Two time scales of `prototypes`: equilibria of the prototypes against the encoder's slope, and trajectories."""

import matplotlib.figure
import numpy as np

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.fast_slow.critical_manifold import KINDS
from analysis.prototypes.collapse import critical_temperature
from dynsim._core.types import Key
from dynsim.integrators import stiff
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.flow import FastSubsystem
from dynsim.systems.parameter import Parameter
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss
from figures import panels
from figures.figure import Numbers, figure
from figures.prototypes.portraits import EMBEDDINGS, MODES
from figures.style import PAGE, canvas, letter

RATIOS = (0.5, 0.05, 0.005)
LARGEST = 1.8  # slope of the encoder z = w x
ABOVE = 1e-3  # start of the branch of separate prototypes above the slope at which they merge
START = np.array([[1.6], [0.4]])
END = 12.0  # in the encoder's time


def scalar_flow(mode: GradientMode) -> CoupledFlow:
    """The flow of two prototypes and the slope w of the encoder z = w x, at temperature 1."""
    loss = PrototypeLoss(mode, reduction="mean")
    return CoupledFlow(EMBEDDINGS, LinearEncoder(1, 1), 1.0, loss=loss)


@figure("prototypes/slow-manifold", PROTOTYPES.at("Theorem 1", equation="(A.6)"))
def manifold_figure(key: Key) -> Numbers:
    """The first of two prototypes on a line against the slope w of the encoder z = w x, in both modes, at T = 1.

    Black: equilibria of the prototypes at fixed w, solid where attracting, dash-dotted at saddles. At w_c (the diamond)
    the branch of separate prototypes meets collapse. Coloured: trajectories at three ratios epsilon of the encoder's
    learning rate to the prototypes', from the open circle. For small epsilon they follow the attracting branch, which
    is the slow manifold. With frozen assignments w decreases to 0 along it, and the prototypes collapse on the way;
    with the full gradient w comes to rest.
    """
    del key
    found: dict[str, np.ndarray] = {}
    for mode in MODES:
        flow = scalar_flow(mode)
        # At slope w the critical temperature is w^2 times that of the data; the temperature is 1.
        meeting = float(1 / np.sqrt(critical_temperature(EMBEDDINGS, flow.loss)))
        branch = _branch(flow, meeting)
        found |= {
            f"{mode} meeting": np.array(meeting),
            f"{mode} separate": np.column_stack([branch.parameters, branch.states[:, 0, 0]])[::-1],
            f"{mode} separate kinds": np.array([KINDS[word] for word in branch.kinds[::-1]]),
        }
        for k, ratio in enumerate(RATIOS):
            y0 = Coupled(np.array([[1.6]]), START)
            ts = np.unique([*np.geomspace(1e-2, END / ratio, 300), *np.linspace(0.0, END / ratio, 601)])
            path = simulate(flow.with_ratio(ratio), y0, ts, integrator=stiff(1e-7))
            found[f"{mode} path {k}"] = np.column_stack([path.ys.encoder[:, 0, 0], path.ys.prototypes[:, 0, 0]])
    return found


def _branch(flow: CoupledFlow, meeting: float) -> Branch:
    """Equilibria with separate prototypes, from just above the slope at which they merge to the largest slope."""
    slope = np.array([[LARGEST]])
    fast = FastSubsystem(flow.fast_slow(slope), slope[0])
    weight = Parameter(fast, lambda system: system.slow, meeting + ABOVE, LARGEST)
    return continue_equilibria(weight, START, steps=Steps(first=0.01, largest=0.04))


@manifold_figure.with_drawing
def manifold_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both manifolds."""
    drawn, axes = canvas(PAGE, 0.42, columns=2)
    for ax, mode in zip(axes, MODES, strict=True):
        meeting = np.array([[float(data[f"{mode} meeting"]), 0.0]])
        separate, kinds = data[f"{mode} separate"], [str(word) for word in data[f"{mode} separate kinds"]]
        for sign in (1, -1):
            ends = np.concatenate([separate, meeting]) * [1, sign]
            panels.critical_manifold(ax, ends[:, 0], ends[:, 1], [*kinds, "undecided"])
        for side, word in ((0.0, "attracting"), (LARGEST, "saddle")):
            panels.critical_manifold(ax, [side, meeting[0, 0]], [0.0, 0.0], [word, "undecided"])
        ax.plot(*meeting[0], marker="D", color="black", markersize=4.0, linestyle="none", zorder=4.0, label="$w_c$")
        paths = [data[f"{mode} path {k}"] for k in range(len(RATIOS))]
        labels = [rf"$\varepsilon = {ratio:g}$" for ratio in RATIOS]
        panels.relaxations(ax, [p[:, 0] for p in paths], [p[:, 1] for p in paths], labels=labels)
        ax.set(xlabel="slope $w$ of the encoder", ylabel="prototype $p_1$", xlim=(0.0, LARGEST))
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    letter(axes, MODES)
    return drawn

"""Bifurcation figure of `prototypes`: equilibria of two prototypes on a line against the temperature."""

import jax.numpy as jnp
import matplotlib.figure
import numpy as np

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.steps import Steps
from analysis.fast_slow.critical_manifold import KINDS
from analysis.prototypes.bifurcations import branch_in_temperature
from analysis.prototypes.collapse import critical_temperature
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.parameter import Parameter
from dynsim.systems.prototypes.losses import GradientMode
from figures import panels
from figures.figure import Numbers, figure
from figures.prototypes.portraits import EMBEDDINGS, MODES, pair_flow
from figures.style import PAGE, canvas, letter

LARGEST, LEAST = 6.0, 0.4  # temperatures relative to the variance of the embeddings
APART, FAR = (1.0, -1.0), ((3.2, -0.1), (-3.2, 0.1))  # guesses of equilibria at the lowest temperature, and at `FROM`
FROM = 5.0
VARIANCE = float(np.var(EMBEDDINGS))
STEP = 0.1  # largest step along a branch, in the norm of prototypes and temperature together


@figure("prototypes/bifurcations", PROTOTYPES.at("Section 2.2"))
def bifurcations_figure(key: Key) -> Numbers:
    r"""Equilibria of two prototypes on a line against the temperature, in units of the variance of the embeddings.

    The difference of the prototypes is drawn, which is zero at collapse. Solid: stable; dash-dotted: saddles. Collapse
    is stable above 4 (full) or 2 (frozen), at the diamonds, where branches of separate prototypes begin. In the mode
    `full` there are also saddles with one prototype far from all embeddings: the outer branches, two for each sign.
    """
    del key
    found: dict[str, np.ndarray] = {}
    for mode in MODES:
        meeting = critical_temperature(EMBEDDINGS, pair_flow(mode, 1.0).loss) / VARIANCE
        starts = [(APART, LEAST)] + ([(guess, FROM) for guess in FAR] if mode == "full" else [])
        found |= {f"{mode} meeting": np.array(meeting), f"{mode} branches": np.array(len(starts))}
        for k, (guess, share) in enumerate(starts):
            branch = _branch(mode, guess, share)
            found[f"{mode} {k}"] = np.column_stack([branch.parameters / VARIANCE, branch.states[:, :, 0]])
            found[f"{mode} {k} kinds"] = np.array([KINDS[word] for word in branch.kinds])
    return found


def _branch(mode: GradientMode, guess: tuple[float, ...], share: float) -> Branch:
    """The branch through an equilibrium near a guess, from the lowest to the highest temperature."""
    temperature = Parameter(pair_flow(mode, share), "value", LEAST * VARIANCE, LARGEST * VARIANCE)
    return branch_in_temperature(temperature, jnp.asarray(guess)[:, None], steps=Steps(first=STEP / 4, largest=STEP))


@bifurcations_figure.with_drawing
def bifurcations_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both diagrams."""
    drawn, axes = canvas(PAGE, 0.42, columns=2)
    for ax, mode in zip(axes, MODES, strict=True):
        meeting = float(data[f"{mode} meeting"])
        for side, word in ((LEAST, "saddle"), (LARGEST, "attracting")):
            panels.critical_manifold(ax, [side, meeting], [0.0, 0.0], [word, "undecided"])
        for k in range(int(data[f"{mode} branches"])):
            rows, kinds = data[f"{mode} {k}"], [str(word) for word in data[f"{mode} {k} kinds"]]
            for sign in (1, -1) if k else (1,):  # the first branch ends at its mirror image
                panels.critical_manifold(ax, rows[:, 0], sign * (rows[:, 1] - rows[:, 2]), kinds)
        ax.plot(meeting, 0.0, marker="D", color="black", markersize=4.0, linestyle="none", zorder=4.0,
                label="critical temperature")  # fmt: skip
        ax.set(
            xlabel=r"temperature $T/\lambda$", ylabel="difference $p_1 - p_2$", xlim=(0.0, LARGEST), ylim=(-4.0, 4.0)
        )
    names = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    drawn.legend(list(names.values()), ["stable" if n == "attracting" else n for n in names],
                 loc="outside upper center", ncols=3)  # fmt: skip
    letter(axes, MODES)
    return drawn

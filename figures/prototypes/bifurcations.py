"""Figure of `prototypes` on its bifurcations: equilibria of two prototypes on a line against the temperature."""

from collections.abc import Iterator

import jax.numpy as jnp
import matplotlib.figure
import numpy as np

from analysis.dynamics.equilibria import newton
from analysis.dynamics.linearisation import spectrum
from analysis.prototypes.collapse import critical_temperature
from dynsim._types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.losses import GradientMode
from figures import panels
from figures.figure import Numbers, figure
from figures.prototypes.portraits import EMBEDDINGS, MODES, pair_flow
from figures.style import PAGE, canvas, letter

LARGEST, LEAST = 6.0, 0.4  # temperatures over the variance of the embeddings
APART, FAR = (1.0, -1.0), ((3.2, -0.1), (-3.2, 0.1))  # guesses of equilibria at the least temperature, and at 5
KINDS = {"stable": "attracting", "saddle": "saddle", "unstable": "repelling", "undecided": "undecided"}


@figure("prototypes/bifurcations", PROTOTYPES.at("Section 2.2"))
def bifurcations_figure(key: Key) -> Numbers:
    r"""Equilibria of two prototypes on a line against the temperature, in units of the variance of the embeddings.

    Drawn is the difference of the prototypes, zero at collapse. Solid: stable; dash-dotted: saddles. Collapse is stable
    above 4 (full) or 2 (frozen), the diamonds, where branches of separate prototypes begin. In the mode `full` there
    are also saddles with one prototype far from all embeddings, the outer branches, two of them at each sign.
    """
    del key
    found: dict[str, np.ndarray] = {}
    for mode in MODES:
        meeting = critical_temperature(EMBEDDINGS, pair_flow(mode, 1.0).loss) / float(np.var(EMBEDDINGS))
        paths = [(APART, meeting - (meeting - LEAST) * np.linspace(1.0, 0.04, 32) ** 2)]
        if mode == "full":
            paths += [(guess, shares) for guess in FAR for shares in (np.linspace(5, LARGEST, 4), FALLING)]
        found |= {f"{mode} meeting": np.array(meeting), f"{mode} branches": np.array(len(paths))}
        for k, (guess, shares) in enumerate(paths):
            rows = list(_branch(mode, guess, shares))
            found[f"{mode} {k}"] = np.array([(share, *place) for share, place, _ in rows])
            found[f"{mode} {k} kinds"] = np.array([kind for *_, kind in rows])
    return found


FALLING = np.linspace(5.0, LEAST, 24)


def _branch(
    mode: GradientMode, guess: tuple[float, ...], shares: np.ndarray
) -> Iterator[tuple[float, np.ndarray, str]]:
    """Yield temperatures, prototypes at rest, each found from those before, and their kinds."""
    at = jnp.asarray(guess)[:, None]
    for share in shares:
        flow = pair_flow(mode, float(share))
        at, _ = newton(flow, at)
        yield float(share), np.asarray(at)[:, 0], KINDS[spectrum(flow, at).kind]


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
            for sign in (1, -1):
                shares, places = rows[:, 0], sign * (rows[:, 1] - rows[:, 2])
                if k == 0:
                    shares, places = np.append(shares, meeting), np.append(places, 0.0)
                panels.critical_manifold(ax, shares, places, [*kinds, "undecided"] if k == 0 else kinds)
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

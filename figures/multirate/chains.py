"""Figures of `multirate` on the master equation: three-state chains, and the decay of relative entropy."""

from typing import Any

import matplotlib.figure
import numpy as np

from analysis.chains.entropies import dissipation, relative_entropy
from analysis.chains.integrator import Exponential
from analysis.chains.spectra import spectral_gap
from analysis.chains.stationary import stationary_distribution, stationary_distributions
from dynsim._core.types import Key
from dynsim.papers import MULTIRATE
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap, step_bound
from dynsim.systems.master_equation.generators import (
    attention_generator,
    birth_death,
    generator_from_rates,
    random_generator,
)
from figures import panels
from figures.figure import Numbers, figure
from figures.style import PAGE, SERIES, WIDTHS, canvas, colour, letter

SHARES = (0.25, 1.0)  # relative to the largest step for which forward Euler preserves positivity
DECAYS = (0.25, 0.9, 1.0)
STARTS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [4, 4, 0], [0, 4, 4], [4, 0, 4], [6, 2, 0], [0, 6, 2], [2, 0, 6]])
ORBIT_START = np.array([0.0, 0.08, 0.92])
CYCLE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
ATTENTION = np.array([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.2, 0.5, 0.3]])
CHAINS = {
    "reversible": birth_death([1.0, 0.5], [0.6, 1.5]),
    "cycle": generator_from_rates(CYCLE),
    "causal attention": attention_generator(ATTENTION),
    "two closed classes": generator_from_rates([[0.0, 0.0, 0.7], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
}


def _path(Q: Any, p0: np.ndarray, end: float, count: int) -> np.ndarray:
    path = simulate(MasterEquationFlow(Q), p0, np.linspace(0.0, end, count), integrator=Exponential())
    return np.asarray(path.ys)


def _orbit(Q: Any, p0: np.ndarray, share: float, num_steps: int) -> np.ndarray:
    return np.asarray(iterate(MasterEquationMap(Q, share * step_bound(Q)), p0, num_steps).ys)


@figure("multirate/simplex", MULTIRATE.at("Section 6", equation="(26)"))
def simplex_figure(key: Key) -> Numbers:
    """The master equation on three states: solutions, stationary distributions, and forward-Euler orbits.

    Lines: solutions from nine initial distributions on the boundary. Black: stationary distributions. Markers: orbits
    of forward Euler with steps tau*/4 and tau*, the largest step that preserves positivity.

    (a) A reversible chain, with real eigenvalues. (b) A cycle, with complex eigenvalues: solutions spiral, and at tau*
    the Euler orbit is periodic and does not converge. (c) A causal attention matrix of three tokens: all probability
    flows to the first token. (d) Two closed classes: every convex combination of their stationary distributions is
    stationary, and the limit depends on the initial distribution.
    """
    del key
    found = {}
    for name, Q in CHAINS.items():
        end = 8 / spectral_gap(Q).value
        found[f"{name} paths"] = np.stack([_path(Q, p / p.sum(), end, 401) for p in STARTS.astype(float)])
        stationary = stationary_distributions(Q).distributions
        found[f"{name} stationary"] = np.stack([one.probabilities for one in stationary]).astype(float)
        for share in SHARES:
            found[f"{name} orbit {share}"] = _orbit(Q, ORBIT_START, share, 48)
    return found


@simplex_figure.with_drawing
def simplex_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the four portraits."""
    drawn, axes = canvas(WIDTHS["nature-1.5"], 0.88, rows=2, columns=2)
    labels = [r"$\tau = \tau^*/4$", r"$\tau = \tau^*$"]
    for ax, name in zip(axes, CHAINS, strict=True):
        panels.simplex_portrait(ax, data[f"{name} paths"], data[f"{name} stationary"])
        panels.orbits(ax, [data[f"{name} orbit {share}"] for share in SHARES], labels=labels)
    axes[0].legend(loc="upper left", bbox_to_anchor=(-0.12, 1.0), fontsize=6)
    letter(axes, list(CHAINS))
    return drawn


@figure("multirate/entropy-decay", MULTIRATE.at("Section 6.1"))
def entropy_figure(key: Key) -> Numbers:
    r"""Relative entropy to the stationary distribution decreases along the master equation.

    (a) A random chain of six states from four initial distributions, and decay at the rate 2 g, where g is the spectral
    gap. (b) The dissipation rate along one solution: closed form (line) and finite differences (rings). (c) Forward
    Euler on a cycle of three states: at tau*, the largest step that preserves positivity, the entropy is constant.
    """
    Q = random_generator(key, 6)
    stationary, gap = stationary_distribution(Q).probabilities, spectral_gap(Q).value
    ts = np.linspace(0.0, 6 / gap, 601)
    paths = np.stack([_path(Q, p, ts[-1], len(ts)) for p in np.eye(6)[:4]])
    mixed = _path(Q, 0.9 * np.eye(6)[0] + 0.1 * stationary, ts[-1], len(ts))
    entropy = relative_entropy(mixed, stationary)
    cycle = CHAINS["cycle"]
    even = stationary_distribution(cycle).probabilities
    return {
        "ts": ts,
        "entropies": relative_entropy(paths, stationary),
        "gap": np.array(gap),
        "dissipation": np.array([dissipation(Q, p, stationary) for p in mixed]),
        "differences": -np.gradient(entropy, ts),
    } | {f"orbit {share}": relative_entropy(_orbit(cycle, ORBIT_START, share, 24), even) for share in DECAYS}


@entropy_figure.with_drawing
def entropy_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the three panels."""
    drawn, (fall, rate, steps) = canvas(PAGE, 0.36, columns=3)
    ts, entropies = data["ts"], data["entropies"]
    labels = [f"from state {k + 1}" for k in range(len(entropies))]
    panels.curves(fall, ts, entropies, roles=SERIES[: len(labels)], labels=labels,
                  ylabel=r"$D(p \| \pi)$ (nats)")  # fmt: skip
    guide = 0.3 * np.min(entropies[:, 0]) * np.exp(-2 * float(data["gap"]) * ts)
    panels.over_time(fall, ts, guide, role="reference", ylabel=r"$D(p \| \pi)$ (nats)", label="rate $2g$", style=2)
    fall.legend(fontsize=6)
    panels.over_time(
        rate, ts, data["dissipation"], role="first", ylabel=r"$-\dot D$ (nats per time)", label="closed form"
    )
    some = slice(5, -5, 45)
    (rings,) = rate.plot(ts[some], data["differences"][some], "o", label="differences")
    rings.set(color=colour("second"), markerfacecolor="none")
    rate.legend()
    for number, (share, role) in enumerate(zip(DECAYS, ("first", "third", "second"), strict=True)):
        values = data[f"orbit {share}"]
        label = r"$\tau = \tau^*$" if share == 1 else rf"$\tau = {share:g}\,\tau^*$"
        line = panels.over_time(steps, np.arange(len(values)), values, role=role, xlabel="step", label=label,
                                ylabel=r"$D(p \| \pi)$ (nats)", style=number)  # fmt: skip
        line.set(marker=".", markersize=3.0)
    steps.legend(loc="lower left")
    for ax in (fall, rate, steps):
        ax.set_yscale("log")
    letter([fall, rate, steps])
    return drawn

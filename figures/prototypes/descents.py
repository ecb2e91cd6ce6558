"""Figures of `prototypes` along flows in both modes: Lyapunov candidates, and paths of V / N and S."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import Key
from dynsim.integrators import Scipy
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import prototype_variance, separation
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing
from figures import panels
from figures.figure import Numbers, figure
from figures.prototypes.portraits import EMBEDDINGS, MODES
from figures.style import WIDTHS, canvas, letter

VARIANCE = float(np.var(EMBEDDINGS))
# temperatures relative to the variance of the embeddings; time constant of the annealing
WARM, COLD, CLOCK = 3.0, 0.3, 4.0
BARRIER = 0.02
COMPILED_SOON = Scipy(rtol=1e-9, atol=1e-11)  # compiles fast, for small single runs
END = 12.0
PATHS, POINTS, BANK, SPREAD, LATE = 6, 60, 3, 0.25, 40.0


def _annealing(clock: float) -> Annealing:
    return Annealing(WARM * VARIANCE, COLD * VARIANCE, clock)


def _constant() -> Annealing:
    """A constant temperature written as an annealing, so that all flows share one compiled program."""
    return Annealing(WARM * VARIANCE, WARM * VARIANCE, CLOCK)


@figure("prototypes/lyapunov", PROTOTYPES.at("Theorems 2-3", equation="(16)"))
def lyapunov_figure(key: Key) -> Numbers:
    """Two Lyapunov candidates along flows of two prototypes, in both modes, at constant and annealed temperature.

    W is the mean of L_q with the barrier (lambda = 0.02), and F the free energy with the same barrier. At constant
    temperature the full gradient descends W, while F rises here; frozen assignments descend F, while W rises. As the
    temperature falls, W gains a term that is never positive, and F one that is never negative, so F rises in both
    modes. The temperature falls from 3 to 0.3 times the variance of the embeddings, which it reaches at the dotted
    line.
    """
    del key
    ts, start = np.linspace(0.0, END, 301), np.array([[-0.5], [0.9]])
    found: dict[str, np.ndarray] = {"ts": ts, "arrival": np.array(_annealing(CLOCK).arrival())}
    for mode in MODES:
        for name, cooling in (("constant", _constant()), ("annealed", _annealing(CLOCK))):
            loss = PrototypeLoss(mode, barrier=BARRIER, reduction="mean")
            path = simulate(PrototypeFlow(EMBEDDINGS, cooling, loss=loss), start, ts, integrator=COMPILED_SOON)
            found |= dict(zip((f"{mode} {name} {symbol}" for symbol in "WF"), _candidates(path).T, strict=True))
    return found


@eqx.filter_jit
def _candidates(path: Trajectory) -> Float[Array, "times 2"]:
    """W and F along a path, both with the barrier of its flow."""
    flow: Any = path.system
    W, F = (PrototypeLoss(mode, barrier=flow.loss.barrier, reduction="mean") for mode in MODES)
    return path.along_time(
        lambda t, p: jnp.stack([one.potential(flow.embeddings, p, flow.temperature(t)) for one in (W, F)])
    )


@lyapunov_figure.with_drawing
def lyapunov_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the four panels."""
    drawn, axes = canvas(WIDTHS["nature-1.5"], 0.75, rows=2, columns=2)
    cases = [(mode, name) for mode in MODES for name in ("constant", "annealed")]
    for number, (ax, (mode, name)) in enumerate(zip(axes, cases, strict=True)):
        for k, (symbol, role) in enumerate((("W", "lyapunov"), ("F", "energy"))):
            panels.over_time(ax, data["ts"], data[f"{mode} {name} {symbol}"], role=role, style=k,
                             ylabel="per embedding" if number % 2 == 0 else "", label=f"${symbol}$",
                             xlabel="time $t$" if number >= 2 else "")  # fmt: skip
        if name == "annealed":
            ax.axvline(float(data["arrival"]), color="black", linestyle=":", linewidth=0.7)
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    letter(axes, [f"{mode}, $T$ {name}" for mode, name in cases])
    return drawn


@figure("prototypes/separation-paths", PROTOTYPES.at("Section 3.3", equation="(8)"))
def variance_figure(key: Key) -> Numbers:
    """The variance V / N and the separation S of three prototypes in the plane, from six starts, in both modes.

    The embeddings are sixty points in three clusters. The temperature is annealed as in Section 7.1, from 2 to 0.3,
    with time constant 20. Open circles: starts; filled circles: ends, at time 40; the colour is the time. S increases
    monotonically in neither mode.
    """
    places, noise, starts = jax.random.split(key, 3)
    turns = 2 * np.pi * (np.arange(3) / 3 + np.asarray(jax.random.uniform(places)))
    centres = 1.2 * np.column_stack([np.cos(turns), np.sin(turns)])
    z = np.repeat(centres, POINTS // 3, axis=0) + SPREAD * np.asarray(jax.random.normal(noise, (POINTS, 2)))
    ts = np.concatenate([[0.0], np.geomspace(1e-2, LATE, 300)])
    found: dict[str, np.ndarray] = {"ts": ts}
    for mode in MODES:
        flow = PrototypeFlow(z, Annealing(2.0, 0.3, 20.0), loss=PrototypeLoss(mode, reduction="mean"))
        for k in range(PATHS):
            p0 = jax.random.normal(jax.random.fold_in(starts, k), (BANK, 2))
            found[f"{mode} {k}"] = np.asarray(_plane(simulate(flow, p0, ts, integrator=COMPILED_SOON)))
    return found


@eqx.filter_jit
def _plane(path: Trajectory) -> Float[Array, "times 2"]:
    """V / N and S along a path."""
    flow: Any = path.system
    variance = lambda t, p: prototype_variance(flow.embeddings, p, flow.temperature(t)) / POINTS
    return path.along_time(lambda t, p: jnp.stack([variance(t, p), separation(p)]))


@variance_figure.with_drawing
def variance_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the paths in both modes."""
    drawn, axes = canvas(WIDTHS["nature-1.5"], 0.5, columns=2)
    pieces = []
    for ax, mode in zip(axes, MODES, strict=True):
        for k in range(PATHS):
            path = data[f"{mode} {k}"]
            pieces.append(panels.timed_path(ax, path[:, 0], path[:, 1], data["ts"], last=float(data["ts"][-1])))
        ax.autoscale_view()
        ax.set_xlabel("variance $V/N$")
    axes[0].set_ylabel("separation $S$")
    bar = drawn.colorbar(pieces[-1], ax=axes, shrink=0.9, aspect=25, pad=0.02)
    bar.set_label("time $t$")
    letter(axes, MODES)
    return drawn

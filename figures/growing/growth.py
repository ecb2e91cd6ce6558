"""Figures of `growing` along runs: lifetimes of heads, temperatures and the functional; spectra; expansions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np

from analysis.experiments.growing.instances import Choices, Setting, growing_flow
from analysis.growing.functionals import energy_along
from analysis.growing.separation import expansion
from dynsim._core.types import Key
from dynsim.integrators import Scipy
from dynsim.papers import GROWING
from dynsim.simulation.growing import simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.transitions import grow, may_grow
from figures import panels
from figures.figure import Numbers, figure
from figures.style import COLUMN, WIDTHS, canvas, colour, letter

COMPILED_SOON = Scipy(rtol=1e-8, atol=1e-10)  # compiles fast, for small single runs
SMALL = Setting(tokens=40, dimension=8, decay=0.55, capacity=4, prototypes=2, temperature_rate=0.03)
PRUNING = 0.02  # phi_g: a head is removed if S is below it
PROJECTED = Choices(law="aligned", exact=True, head_input="projected", dwell=4.0)
END = 200.0
POTENTIALS = ("printed", "repaired")
STEPS = np.linspace(0.0, 3.0, 241)
PANELS = {
    "two prototypes": ([[-1.0], [1.0]], [[1.0], [-1.0]], (0.5, 1.0, 2.0, 4.0)),
    "three prototypes": ([[-1.0], [0.0], [1.5]], [[0.3], [-0.4], [1.2]], (0.5, 1.0, 2.0, 4.0)),
}


@figure("growing/timeline", GROWING.at("Definition 2", equation="(42)-(43)"))
def timeline_figure(key: Key) -> Numbers:
    """A run of the growing system: lifetimes of its heads, their temperatures, and the functional W with its jumps.

    Heads with two prototypes see 40 tokens projected on their own plane, whose variance there is proportional to its
    eigenvalue. (a) Each head from its birth on; diamonds: its temperature has reached T_min. The last head collapses,
    and is removed when the squared distance S of its prototypes is below .02. (b) Temperatures, first head dark. (c) W
    with the printed potential of the temperatures, and with the repaired one. Each growth adds the terms of the new
    head, so both jump up; between events only the repaired one decreases. Mode full, mean over tokens.
    """
    flow = growing_flow(key, SMALL, PROJECTED)
    flow = eqx.tree_at(lambda f: f.rules.pruning, flow, jnp.asarray(PRUNING))
    path = simulate_growing(flow, flow.start(key), np.linspace(0.0, END, 161), integrator=COMPILED_SOON)
    ts = np.concatenate([np.asarray(phase.ts) for phase in path.phases])
    fans = [np.where(phase.system.active, np.cbrt(phase.ys.cubes), -1.0) for phase in path.phases]  # pyright: ignore
    found: dict[str, np.ndarray] = {"ts": ts, "temperatures": np.concatenate(fans)}
    found |= {"births": path.times("grow"), **{name: _times(path, name) for name in ("clip", "prune")}}
    for potential in POTENTIALS:
        found[f"W {potential}"] = energy_along(path, potential=potential).values
    return found


def _times(path: HybridTrajectory, name: str) -> np.ndarray:
    """Time at which an event occurred to each head; twice the end of the run if it did not occur."""
    found = np.full(SMALL.capacity, 2 * END)
    for jump in path.jumps:
        if jump.name == name:
            part = "cubes" if name == "clip" else "prototypes"
            before, after = (np.asarray(getattr(x, part)) for x in (jump.before, jump.after))
            found[np.any((before != after).reshape(len(before), -1), axis=1)] = jump.time
    return found


@timeline_figure.with_drawing
def timeline_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the three panels, stacked."""
    drawn, axes = canvas(COLUMN, 1.35, rows=3)
    lives, fan, energy = axes
    panels.head_lives(lives, data["births"], np.minimum(data["prune"], END), data["clip"], xlabel="")
    T = np.where(data["temperatures"] < 0, np.nan, data["temperatures"])
    panels.temperature_fan(fan, data["ts"], T, least=SMALL.least_temperature, xlabel="")
    for k, (potential, role) in enumerate(zip(POTENTIALS, ("lyapunov", "energy"), strict=True)):
        panels.over_time(energy, data["ts"], data[f"W {potential}"], role=role, style=k, ylabel=r"$\mathcal{W}$",
                         label=potential)  # fmt: skip
    energy.legend(loc="center right")
    for ax in axes:
        ax.set_xlim(-0.02 * END, 1.02 * END)
    letter(axes)
    return drawn


@figure("growing/residual-spectra", GROWING.at("Section 3.2", equation="(3)"))
def spectra_figure(key: Key) -> Numbers:
    """The singular values of the residual matrix as heads are added, for the printed spectrum of Experiment 1.

    They come in equal pairs, of which one point is drawn. Each head takes the largest pair, whether it captures a
    direction or a plane, until the largest remaining value is below theta_w (line). In the reading `features` (circles)
    the remaining values do not change; weighted by 500 normal tokens (crosses) they do.
    """
    found: dict[str, np.ndarray] = {"threshold": np.array(Setting().threshold)}
    for reading in ("features", "data"):
        flow = growing_flow(key, Setting(capacity=12), Choices(prototype_rate=0.0, reading=reading))
        x, rows = flow.start(key), []
        while True:
            rows.append(np.linalg.svd(np.asarray(flow.residual), compute_uv=False)[::2])
            if not bool(may_grow(flow)):
                break
            flow, x = grow(flow, 0.0, x)
        found[reading] = np.stack(rows)
    return found


@spectra_figure.with_drawing
def spectra_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the singular values against the number of heads."""
    drawn, (ax,) = canvas(COLUMN, 0.75)
    least = 1e-2
    for reading, mark, shift, role in (("features", "o", -0.12, "first"), ("data", "x", 0.12, "second")):
        for heads, values in enumerate(data[reading]):
            shown = values[values > least]
            ax.plot(np.full(len(shown), heads + shift), shown, color=colour(role), marker=mark, markersize=3.0,
                    markerfacecolor="none", linestyle="none", label=reading if heads == 0 else None)  # fmt: skip
    ax.axhline(float(data["threshold"]), color=colour("bound"), linewidth=0.7)
    ax.set(xlabel="number of heads", ylabel="singular values", yscale="log", ylim=(least, 4.0))
    drawn.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return drawn


@figure("growing/expansion", GROWING.at("Theorem 1"))
def expansion_figure(key: Key) -> Numbers:
    r"""The separation force along an expansion, phi(epsilon) / phi(0), at four temperatures.

    Tokens move away from 0 along the line of the prototypes, z(epsilon) = (1 + epsilon) z. (a) Prototypes at -1 and 1,
    tokens at -1 and 1: assignments harden, and the force decreases at every temperature. (b) Prototypes at -1, 0 and
    1.5, tokens at -.4, .3 and 1.2: it decreases as well, but at T = .5 it exceeds its initial value in between, and is
    convex in one part and concave in another.
    """
    del key
    found: dict[str, np.ndarray] = {"steps": STEPS}
    for name, (p, z, temperatures) in PANELS.items():
        bank, tokens = jnp.asarray(p), jnp.asarray(z)
        phi = jax.jit(
            jax.vmap(jax.vmap(lambda T, s, p=bank, z=tokens: expansion(p, z, jnp.ones(1), T, s), (None, 0)), (0, None))
        )
        values = np.asarray(phi(jnp.asarray(temperatures), jnp.asarray(STEPS)))
        found[name] = values / values[:, :1]
    return found


@expansion_figure.with_drawing
def expansion_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both banks."""
    drawn, axes = canvas(WIDTHS["nature-1.5"], 0.45, columns=2)
    roles = ("first", "second", "third", "undecided")
    for ax, (name, (_, _, temperatures)) in zip(axes, PANELS.items(), strict=True):
        for k, (T, role) in enumerate(zip(temperatures, roles, strict=True)):
            quantity = r"$\phi(\epsilon) / \phi(0)$" if ax is axes[0] else ""
            panels.over_time(ax, data["steps"], data[name][k], role=role, style=k, xlabel=r"expansion $\epsilon$",
                             ylabel=quantity, label=f"$T = {T:g}$")  # fmt: skip
        ax.set_ylim(0.0, 1.08 * np.max(data[name]))
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    letter(axes, tuple(PANELS))
    return drawn

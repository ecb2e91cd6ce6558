"""Figures of `consensus`: simulations of Section 7, spectra of two equilibria, and two phase portraits.

The paper states neither initial tokens nor final times. Initial tokens are drawn from the figure's key, and final times
are long enough to show convergence.
"""

import math

import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np

from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.dynamics.portraits.curved import circle_portrait, sphere_portrait
from analysis.experiments import Size, record
from analysis.experiments.consensus.simulations import ENSEMBLE
from analysis.tokens.energies import consensus_potential, hemisphere_lyapunov
from dynsim._core.orientation import oriented
from dynsim._core.types import Key
from dynsim.integrators import Scipy
from dynsim.papers import CONSENSUS
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import gradient_token_flow
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.published import (
    GRADIENT_MATRIX,
    HEMISPHERE_AXIS,
    SYMMETRIC_VALUE,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)
from figures import panels
from figures.figure import Numbers, figure
from figures.run_size import run_size, write_run_size
from figures.style import COLUMN, canvas, colour, letter

TOKENS = 10
ARROWS = 260  # number of arrows of the vector field on the sphere
TS_GRADIENT = np.linspace(0.0, 15.0, 301)
TS_HEMISPHERE = np.linspace(0.0, 5.0, 501)
TS_SYMMETRIC = np.linspace(0.0, 20.0, 1001)


def _arrays(path: Trajectory) -> Numbers:
    return {"ts": np.asarray(path.ts), "paths": np.asarray(path.ys)}


def _view(data: Numbers) -> panels.View:
    """A view in which the final positions of the tokens are visible."""
    return panels.View.facing(np.mean(data["paths"][-1], axis=0))


@figure("consensus/figure-1", CONSENSUS.at("Figure 1"))
def gradient_figure(key: Key) -> Numbers:
    """Ten tokens under the gradient flow (8) on the ellipsoid of the printed P.

    (a) Trajectories from random initial points (open) to final points (filled), paler on the hidden side; the principal
    axes of the ellipsoid are dotted. (b) The potential (10) along the same solution, and its minimum, attained at
    consensus.
    """
    flow = published_gradient_flow()
    path = simulate(flow, initial_tokens("box", key, (TOKENS, 3), flow.space), TS_GRADIENT, integrator=Scipy())
    potential = path.along(lambda x: consensus_potential(x, jnp.asarray(GRADIENT_MATRIX)))
    least = -0.5 * TOKENS**2 * math.e  # exp(y^T P y) = e for every pair
    return {
        "ts": np.asarray(path.ts),
        "paths": np.asarray(path.ys),
        "matrix": GRADIENT_MATRIX,
        "potential": np.asarray(potential),
        "least": np.array(least),
    }


@gradient_figure.with_drawing
def gradient_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 1."""
    drawn, (left, right) = canvas(COLUMN, 0.52, columns=2)
    panels.token_paths(left, data["paths"], matrix=data["matrix"], view=_view(data))
    panels.over_time(right, data["ts"], data["potential"], role="potential", ylabel="potential $V_P$", label="$V_P$")
    right.axhline(float(data["least"]), color=colour("bound"), linewidth=0.6, linestyle=":", label=r"$-\ell^2 e/2$")
    right.legend()
    letter([left, right])
    return drawn


@figure("consensus/figure-2", CONSENSUS.at("Figure 2"))
def norm_figure(key: Key) -> Numbers:
    """The Frobenius norms of the matrices P_1(t) and P_2(t) of Section 7.2, over one common period."""
    del key
    flow, ts = published_hemisphere_flow(), np.linspace(0.0, 1.0, 601)
    norms = jax.vmap(lambda t: jnp.linalg.norm(flow.query_key(t), axis=(1, 2)))(ts)
    return {"ts": ts, "norms": np.asarray(norms).T}


@norm_figure.with_drawing
def norm_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 2."""
    drawn, (ax,) = canvas(COLUMN, 0.55)
    panels.curves(
        ax, data["ts"], data["norms"], roles=("first", "second"), labels=("$P_1$", "$P_2$"), ylabel=r"$\|P_h(t)\|_F$"
    )
    ax.set_ylim(bottom=0.0)
    return drawn


@figure("consensus/figure-3", CONSENSUS.at("Figure 3"))
def hemisphere_figure(key: Key) -> Numbers:
    """Ten tokens under the flow (11) with two heads, P_1(t) and P_2(t), initially in the hemisphere of v = (1, 0, 0).

    (a) Trajectories on the sphere. (b) The Lyapunov function (13) for this v.
    """
    flow, v = published_hemisphere_flow(), jnp.asarray(HEMISPHERE_AXIS)
    path = simulate(flow, initial_tokens("hemisphere", key, (TOKENS, 3)), TS_HEMISPHERE, integrator=Scipy())
    return {**_arrays(path), "lyapunov": np.asarray(path.along(lambda x: hemisphere_lyapunov(x, v)))}


@hemisphere_figure.with_drawing
def hemisphere_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 3."""
    drawn, (left, right) = canvas(COLUMN, 0.52, columns=2)
    panels.token_paths(left, data["paths"], view=_view(data))
    panels.over_time(right, data["ts"], data["lyapunov"], role="lyapunov", ylabel="Lyapunov function $V$")
    right.set_ylim(bottom=0.0)
    letter([left, right])
    return drawn


@hemisphere_figure.with_animation
def hemisphere_figure(data: Numbers, phase: float) -> matplotlib.figure.Figure:
    """Draw Figure 3 (a), with the sphere rotated by the phase in [0, 1) of a full turn."""
    drawn, (ax,) = canvas(COLUMN, 1.0)
    start = _view(data)
    panels.token_paths(ax, data["paths"], view=panels.View(start.elevation, start.azimuth + 360 * phase))
    drawn.set_layout_engine("none")  # keeps the frame fixed in every phase, whatever the labels
    ax.set(position=(0.0, 0.0, 1.0, 1.0), xlim=(-1.3, 1.1), ylim=(-1.3, 1.1))
    return drawn


@figure("consensus/figure-4", CONSENSUS.at("Figure 4"))
def symmetric_figure(key: Key) -> Numbers:
    """Ten tokens under the causal flow (21) with the printed U and P(t), initially in the hemisphere of v.

    Here v is the eigenvector of U for its largest eigenvalue. (a) Trajectories; the first token, in red, evolves
    independently of the others. (b) V_i = 1 - v^T y_i for the first two tokens; V_2 need not decrease.
    """
    flow, v = published_symmetric_flow(), oriented(np.linalg.eigh(SYMMETRIC_VALUE)[1][:, -1])
    x0 = initial_tokens("uniform", key, (TOKENS, 3))
    x0 = jnp.where(x0 @ v[:, None] < 0, -x0, x0)  # reflects tokens into the hemisphere of v
    path = simulate(flow, x0, TS_SYMMETRIC, integrator=Scipy())
    return {**_arrays(path), "axis": v, "distances": np.asarray(path.along(lambda x: 1 - x[:2] @ v)).T}


@symmetric_figure.with_drawing
def symmetric_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 4."""
    drawn, (left, right) = canvas(COLUMN, 0.52, columns=2)
    panels.token_paths(left, data["paths"], view=_view(data), roles=("leader", "follower"))
    panels.curves(
        right,
        data["ts"],
        data["distances"],
        roles=("leader", "follower"),
        labels=("$V_1$", "$V_2$"),
        ylabel="$V_1$, $V_2$",
    )
    right.set_ylim(bottom=0.0)
    letter([left, right])
    return drawn


def _misalignment(size: Size) -> Numbers:
    """E of (25) along the solutions in the record of experiment 7.4, (members, times)."""
    found = record(ENSEMBLE, size)
    tokens = np.array([found.config["tokens"], found.config["dimension"]])
    run = run_size(found, (found.config["members"], "solutions"), (found.config["dimension"], "dimensions"))
    return {
        "ts": np.asarray(found.arrays["ts"]),
        "misalignment": np.asarray(found.arrays["E"]),
        "tokens": tokens,
        **run,
    }


@figure("consensus/figure-5", CONSENSUS.at("Figure 5"))
def ensemble_figure(key: Key) -> Numbers:
    """E of (25) along solutions of (15), causal with two heads, from random initial tokens (experiment 7.4).

    The entries of initial tokens are uniform in ]-0.5, 0.5[ before projection to the sphere. Size `quick`: 24 solutions
    of 50 tokens in dimension 50, to t = 63. Size `paper`: 100 solutions of 50 tokens in dimension 500, to t = 200. The
    final times are proportional to sqrt(d), because of the factor 1/sqrt(d) in (15).
    """
    del key
    return _misalignment("quick")


@ensemble_figure.with_paper_size
def ensemble_figure(key: Key) -> Numbers:
    """Compute Figure 5 at the paper's size."""
    del key
    return _misalignment("paper")


@ensemble_figure.with_drawing
def ensemble_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw Figure 5."""
    drawn, (ax,) = canvas(COLUMN, 0.62)
    panels.bands(ax, data["ts"], data["misalignment"], ylabel="$E$")
    ax.set_ylim(bottom=0.0)
    write_run_size(drawn, data)
    return drawn


@figure("consensus/spectrum", CONSENSUS.at("Section 3"))
def spectrum_figure(key: Key) -> Numbers:
    """Eigenvalues of the linearisation of (8) with P = I, in the tangent space, at two equilibria of six tokens on S^2.

    (a) Consensus: two zero eigenvalues, from rotations of the consensus point; all others are negative. (b) The regular
    hexagon on a great circle: three zero eigenvalues, from rotations, and positive ones (filled), so it is unstable.
    """
    del key
    flow = gradient_token_flow(np.eye(3))
    turns = np.arange(6) * np.pi / 3
    consensus = np.tile([1.0, 0.0, 0.0], (6, 1))
    hexagon = np.stack([np.cos(turns), np.sin(turns), np.zeros(6)], axis=1)
    places = {"consensus": jnp.asarray(consensus), "hexagon": jnp.asarray(hexagon)}
    spectra = {name: eigenvalues(tangent_jacobian(flow, x)) for name, x in places.items()}
    speeds = [float(jnp.max(jnp.abs(flow.vector_field(0.0, x)))) for x in places.values()]
    return {**spectra, "speeds": np.array(speeds)}


@spectrum_figure.with_drawing
def spectrum_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the spectra."""
    drawn, (top, bottom) = canvas(COLUMN, 0.62, rows=2)
    panels.eigenvalues(top, data["consensus"], role="first")
    panels.eigenvalues(bottom, data["hexagon"], role="second")
    low, high = np.transpose([top.get_xlim(), bottom.get_xlim()])
    for ax in (top, bottom):
        ax.set_xlim(low.min(), high.max())
    top.set_xlabel("")
    letter([top, bottom], ("consensus", "regular hexagon"))
    return drawn


@figure("consensus/portrait-circle", CONSENSUS.at("Theorem 6.1", "(21)"))
def circle_figure(key: Key) -> Numbers:
    """The flow (21) of the second token on the circle, with the first at the top eigenvector (1, 0) of U.

    P = 0 and U = diag(1, -1.5). The curve shows the angular velocity, and lies outside the circle where this is
    positive. Arcs have the colour of the limit. Two equilibria lie at y_1 = -0.4; between them the antipode (-1, 0) is
    attracting.
    """
    del key
    U, rest = jnp.diag(jnp.array([1.0, -1.5])), jnp.array([1.0, 0.0])
    flow = FunctionFlow(lambda t, x: (rest + x) @ U / (2 * jnp.sqrt(2.0)), Sphere())
    return circle_portrait(flow, 180).arrays()


@circle_figure.with_drawing
def circle_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the portrait on the circle."""
    drawn, (ax,) = canvas(COLUMN, 0.9)
    points, places = data["points"], data["equilibrium_points"]
    known = np.unique(data["limits"][data["limits"] >= 0])
    panels.circle_portrait(
        ax,
        np.unwrap(np.arctan2(points[:, 1], points[:, 0])),
        points[:, 0] * data["field"][:, 1] - points[:, 1] * data["field"][:, 0],
        limits=data["limits"],
        equilibrium_angles=np.arctan2(places[:, 1], places[:, 0]),
        kinds=data["kinds"].tolist(),
        names={int(k): f"$({places[k, 0]:.0f}, {np.abs(places[k, 1]):.0f})$" for k in known},
    )
    drawn.legend(loc="outside upper center", ncols=3)
    return drawn


@figure("consensus/portrait-sphere", CONSENSUS.at("Section 7.3", "(22)"))
def sphere_figure(key: Key) -> Numbers:
    """The flow (22) of the first token of (21) on the sphere, with U of Section 7.3: field, equilibria and basins.

    The equilibria are the unit eigenvectors of U and their negatives. The basins of the two top eigenvectors v and -v
    are the hemispheres of v and -v.
    """
    del key
    U = jnp.asarray(SYMMETRIC_VALUE) / jnp.sqrt(3.0)
    found = sphere_portrait(FunctionFlow(lambda t, x: x @ U, Sphere()), 3200).arrays()
    return {**found, "axis": oriented(np.linalg.eigh(SYMMETRIC_VALUE)[1][:, -1])}


@sphere_figure.with_drawing
def sphere_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the portrait on the sphere."""
    drawn, (ax,) = canvas(COLUMN, 0.95)
    known = np.unique(data["limits"][data["limits"] >= 0])
    arrows = _spread(data["points"], ARROWS)
    panels.sphere_portrait(
        ax,
        data["points"],
        data["limits"],
        field_points=data["points"][arrows],
        field=data["field"][arrows],
        equilibrium_points=data["equilibrium_points"],
        kinds=data["kinds"].tolist(),
        names={int(k): "$v$" if data["equilibrium_points"][k] @ data["axis"] > 0 else "$-v$" for k in known},
    )
    drawn.legend(loc="outside upper center", ncols=3)
    return drawn


def _spread(points: np.ndarray, count: int) -> np.ndarray:
    """Indices of `count` well-spread points, each the farthest from those chosen before it."""
    chosen = [0]
    gaps = np.full(len(points), np.inf)
    while len(chosen) < count:
        gaps = np.minimum(gaps, np.linalg.norm(points - points[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(gaps)))
    return np.array(chosen)

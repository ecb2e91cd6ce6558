"""Phase portraits of two prototypes on a line, at several temperatures and in both gradient modes."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
from jaxtyping import Array, Float

from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.linearisation import spectrum
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss
from figures import panels
from figures.figure import Numbers, figure
from figures.style import PAGE, canvas, letter

EMBEDDINGS = np.array([-1.2, -1.0, -0.7, 0.8, 1.0, 1.1])[:, None]  # two clusters, with mean zero
SHARES = (5.0, 3.0, 1.5)  # temperatures relative to the variance of the embeddings
MODES: tuple[GradientMode, ...] = ("full", "frozen")
SIDE = np.linspace(-4.0, 4.0, 41)  # the grid of the portraits


def pair_flow(mode: GradientMode, share: float) -> PrototypeFlow:
    """The flow of prototypes at a temperature of `share` times the variance of the embeddings."""
    loss = PrototypeLoss(mode, reduction="mean")
    return PrototypeFlow(EMBEDDINGS, jnp.asarray(share * np.var(EMBEDDINGS)), loss=loss)


@figure("prototypes/phase-portraits", PROTOTYPES.at("Section 2.2"))
def portraits_figure(key: Key) -> Numbers:
    """Two prototypes on a line compete for six embeddings in two clusters, at three temperatures, in both modes.

    Grey: the embeddings, on both axes; dashed: the diagonal, on which the prototypes coincide. Collapse, at the mean of
    the embeddings, is stable above 2 (frozen assignments, lower row) or 4 (full gradient, upper row) times the variance
    of the embeddings, and a saddle below, so between 2 and 4 the mode decides. Far from the embeddings the full
    gradient is repelling: beyond the outer saddles a prototype escapes. Filled circles: stable; half-filled: saddles.
    """
    del key
    square = np.stack(np.meshgrid(SIDE, SIDE), axis=-1)
    found: dict[str, np.ndarray] = {"side": SIDE, "embeddings": EMBEDDINGS[:, 0], "shares": np.array(SHARES)}
    for mode in MODES:
        for share in SHARES:
            flow = pair_flow(mode, share)
            field = np.asarray(_field(flow, jnp.asarray(square[..., None])))[..., 0]
            places = list(_equilibria(flow, square, field))
            found[f"{mode} {share:g} field"] = field
            found[f"{mode} {share:g} places"] = np.array([place for place, _ in places])
            found[f"{mode} {share:g} kinds"] = np.array([kind for _, kind in places])
    return found


@eqx.filter_jit
def _field(flow: PrototypeFlow, squares: Float[Array, "rows columns 2 1"]) -> Float[Array, "rows columns 2 1"]:
    """Velocities of pairs of prototypes on a grid."""
    return jax.vmap(jax.vmap(lambda p: flow.velocity(0.0, p)))(squares)


def _equilibria(flow: PrototypeFlow, square: np.ndarray, field: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the equilibria found by Newton's method from the grid cells in which both velocities change sign."""
    known: list[np.ndarray] = []
    corners = np.stack([field[i : len(field) - 1 + i, j : len(field) - 1 + j] for i in (0, 1) for j in (0, 1)])
    crossed = np.all((corners.min(axis=0) <= 0) & (corners.max(axis=0) >= 0), axis=-1)
    for row, column in np.argwhere(crossed):
        centre = (square[row, column] + square[row + 1, column + 1]) / 2
        state, speed = newton(flow, jnp.asarray(centre[:, None]))
        place = np.asarray(state)[:, 0]
        near = any(np.max(np.abs(place - other)) < 1e-6 for other in known)
        if speed < 1e-12 and np.max(np.abs(place)) <= SIDE[-1] and not near:
            known.append(place)
            yield place, spectrum(flow, state).kind


@portraits_figure.with_drawing
def portraits_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the six portraits."""
    drawn, axes = canvas(PAGE, 0.68, rows=2, columns=3)
    cases = [(mode, f"{mode} {share:g}", share) for mode in MODES for share in data["shares"]]
    for ax, (_, case, _) in zip(axes, cases, strict=True):
        panels.pair_portrait(ax, data["side"], data[f"{case} field"], data["embeddings"],
                             places=data[f"{case} places"], kinds=data[f"{case} kinds"].tolist())  # fmt: skip
    for k, ax in enumerate(axes):
        ax.set_xlabel("$p_1$" if k >= 3 else "")
        ax.set_ylabel("$p_2$" if k % 3 == 0 else "")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    letter(axes, [rf"{mode}, $T = {share:g}\,\lambda$" for mode, _, share in cases])
    return drawn

"""The conditions of theorems in the plane: the region, the field, and where conditions fail or are open."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from analysis.theorems.conditions import Conditions
from analysis.theorems.regions import Region
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components
from figures.artists import Artists, Part, sheet
from figures.panels.labels import axis_labels
from figures.style import COLOURS

POINTS = 301  # points per side at which the region is tested
ARROWS = 21  # arrows of the field per side


def conditions(
    found: Conditions,
    ax: Any = None,
    *,
    region: Part = True,
    field: Part = True,
    undecided: Part = True,
    witnesses: Part = True,
    colour: Any = None,
    legend: Part | None = None,
    labels: bool = True,
    limits: bool = True,
    title: str = "",
) -> Artists:
    """Draw the conditions of a theorem; see `Conditions.plot`."""
    where = found.region
    if where is None or where.dimension != 2:
        raise ArgumentError("result", "be of a theorem with a region in the plane", "has none")
    shade = COLOURS["token"] if colour is None else colour
    with sheet(ax, legend=legend, labels=labels, limits=limits, title=title) as drawn:
        panel = drawn.axes[0]
        drawn.draw("region", region, _region, where, shade)
        if isinstance(found.system, AbstractFlow):
            drawn.draw("field", field, _field, found.system, where)
        drawn.draw("undecided", undecided, _boxes, [one.left for one in found.hypotheses if one.status == "undecided"])
        points = [one.witness for one in found.hypotheses if one.witness is not None]
        drawn.draw("witnesses", witnesses, _points, np.array(points).reshape(-1, 2))
        if labels:
            known = components(found.system, np.zeros(2))
            panel.set_xlabel(axis_labels(known.names, known.units or ("", ""))[0])
            panel.set_ylabel(axis_labels(known.names, known.units or ("", ""))[1])
        if drawn.own and not where.has_faces:
            panel.set_aspect("equal")
        if limits:
            pad = 0.04 * (where.sides[:, 1] - where.sides[:, 0])
            panel.set_xlim(where.sides[0, 0] - pad[0], where.sides[0, 1] + pad[0])
            panel.set_ylim(where.sides[1, 0] - pad[1], where.sides[1, 1] + pad[1])
    return drawn


def _inside(where: Region, x: np.ndarray) -> np.ndarray:
    """The least of the functions that bound the region, and of the distances to the faces, (points,)."""
    values = [np.asarray(jax.vmap(g)(jnp.asarray(x))) for g in where.inside]
    if where.has_faces:
        values += [x[:, k] - where.sides[k, 0] for k in (0, 1)] + [where.sides[k, 1] - x[:, k] for k in (0, 1)]
    return np.min(values, axis=0)


def _grid(where: Region, count: int, pad: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = where.sides + pad * (where.sides[:, 1] - where.sides[:, 0])[:, None] * np.array([-1.0, 1.0])
    first, second = (np.linspace(low, high, count) for low, high in ends)
    X, Y = np.meshgrid(first, second)
    return X, Y, np.stack([X.ravel(), Y.ravel()], axis=1)


def _region(panel: Any, where: Region, shade: Any) -> None:
    X, Y, x = _grid(where, POINTS, 0.02)
    values = _inside(where, x).reshape(X.shape)
    panel.contourf(X, Y, values, levels=[0.0, np.inf], colors=[shade], alpha=0.18)
    panel.contour(X, Y, values, levels=[0.0], colors=[shade], linewidths=1.2)


def _field(panel: Any, flow: AbstractFlow, where: Region) -> None:
    X, Y, x = _grid(where, ARROWS, 0.0)
    speed = np.asarray(jax.vmap(lambda y: flow.vector_field(jnp.zeros(()), y))(jnp.asarray(x)))
    size = np.linalg.norm(speed, axis=1, keepdims=True)
    scale = np.max(np.abs(where.sides[:, 1] - where.sides[:, 0]))
    span = (where.sides[:, 1] - where.sides[:, 0]) / scale
    way = speed / span  # the direction as it is seen in the axes
    way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    way = np.where(np.isfinite(way) & (size > 0), way, 0.0)
    panel.quiver(x[:, 0], x[:, 1], way[:, 0], way[:, 1], angles="uv", scale=1.5 * ARROWS, width=0.003, color="0.45")


def _boxes(panel: Any, left: list[np.ndarray]) -> None:
    boxes = [box for some in left for box in some]
    if boxes:
        patches = [Rectangle((b[0, 0], b[1, 0]), b[0, 1] - b[0, 0], b[1, 1] - b[1, 0]) for b in boxes]
        panel.add_collection(
            PatchCollection(patches, facecolor=COLOURS["follower"], edgecolor="none", label="undecided")
        )


def _points(panel: Any, points: np.ndarray) -> None:
    if len(points):
        panel.plot(points[:, 0], points[:, 1], "X", color=COLOURS["leader"], markersize=7, markeredgecolor="white",
                   label="a condition fails")  # fmt: skip

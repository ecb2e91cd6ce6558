"""The conditions of theorems in the plane: the region, the field, and where conditions fail or are open."""

import dataclasses
from typing import Any, Unpack

import jax.numpy as jnp
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from analysis.theorems.conditions import Conditions
from analysis.theorems.periodicity import values_at
from analysis.theorems.regions import Region
from analysis.theorems.subdivision import bounds_on
from dynsim.errors import ArgumentError
from dynsim.integrators.time_structure import uses_time
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components
from figures.artists import Artists, Frame, Part, sheet
from figures.panels.labels import axis_labels
from figures.style import COLOURS, paler

POINTS = 301  # points per side at which the region is tested
ARROWS = 21  # arrows of the field per side
CELLS = 120  # cells per side on which the signs of conditions are bounded
SIGNS = (
    ("a condition fails", paler(COLOURS["leader"], 0.6), "xxxx"),
    ("not decided on these cells", paler(COLOURS["undecided"], 0.6), "...."),
    ("all conditions hold", paler(COLOURS["follower"], 0.75), ""),
)
LINES = ("-", "--", "-.", ":")


def conditions(
    found: Conditions,
    ax: Any = None,
    *,
    region: Part = True,
    signs: Part = True,
    field: Part = True,
    curves: Part = True,
    undecided: Part = True,
    witnesses: Part = True,
    colour: Any = None,
    **frame: Unpack[Frame],
) -> Artists:
    """Draw the conditions of a theorem; see `Conditions.plot`."""
    where = found.region
    if where is None or where.dimension != 2:
        raise ArgumentError("result", "be of a theorem with a region in the plane", "has none")
    shade = COLOURS["token"] if colour is None else colour
    with sheet(ax, **frame) as drawn:
        panel = drawn.axes[0]
        drawn.draw("region", region, _region, where, shade)
        functions = [fn for one in found.hypotheses for fn in one.signs]
        if functions:
            drawn.draw("signs", signs, _signs, where, functions)
        points = np.array([one.witness for one in found.hypotheses if one.witness is not None]).reshape(-1, 2)
        through = [given for given in found.curves.values() if not callable(given)]
        shown = Region(_around(np.concatenate([where.sides.T, points, *through])))
        drawn.draw("curves", curves, _curves, found.curves, shown)
        if isinstance(found.system, AbstractFlow) and not uses_time(found.system, np.zeros(2)):
            drawn.draw("field", field, _field, found.system, shown)
        drawn.draw("undecided", undecided, _boxes, [one.left for one in found.hypotheses if one.status == "undecided"])
        drawn.draw("witnesses", witnesses, _points, points)
        if frame.get("labels", True):
            known = components(found.system, np.zeros(2))
            panel.set_xlabel(axis_labels(known.names, known.units or ("", ""))[0])
            panel.set_ylabel(axis_labels(known.names, known.units or ("", ""))[1])
        if drawn.own and not where.has_faces and not through:
            panel.set_aspect("equal")
        if frame.get("limits", True):
            pad = 0.04 * (shown.sides[:, 1] - shown.sides[:, 0])
            panel.set_xlim(shown.sides[0, 0] - pad[0], shown.sides[0, 1] + pad[0])
            panel.set_ylim(shown.sides[1, 0] - pad[1], shown.sides[1, 1] + pad[1])
    return drawn


def _values(fn: Any, x: np.ndarray) -> np.ndarray:
    """The entries of a function at points, (points, entries)."""
    return values_at(lambda y: jnp.ravel(fn(y)), x)


def _around(points: np.ndarray) -> np.ndarray:
    """The sides of the smallest box that holds points."""
    return np.stack([np.min(points, axis=0), np.max(points, axis=0)], axis=1)


def _inside(where: Region, x: np.ndarray) -> np.ndarray:
    """The least of the functions that bound the region, and of the distances to the faces, (points,)."""
    values = [_values(g, x)[:, 0] for g in where.inside]
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


def _signs(panel: Any, where: Region, functions: list[Any]) -> None:
    """Fill where all functions are positive, where one is not, and where intervals on cells do not tell."""
    ends = [np.linspace(low, high, CELLS + 1) for low, high in where.sides]
    sides = [np.stack([end[:-1], end[1:]], axis=1) for end in ends]
    cells = np.stack([np.tile(sides[0], (CELLS, 1)), np.repeat(sides[1], CELLS, axis=0)], axis=1)
    middle = cells.mean(axis=2)
    least = np.full((len(cells), 2), np.inf)
    for function, part in functions:
        counts = _inside(dataclasses.replace(part, has_faces=True), middle) >= 0
        found = bounds_on(function, cells[counts])
        least[counts] = np.minimum(least[counts], found)
    sign = np.where(least[:, 0] > 0, 1.0, np.where(least[:, 1] < 0, -1.0, 0.0))
    inside = _inside(where, middle) >= 0
    shape = (CELLS, CELLS)
    shown = np.ma.masked_where(~inside.reshape(shape), sign.reshape(shape))
    drawn = panel.contourf(
        *(side.mean(axis=1) for side in sides), shown, levels=[-1.5, -0.5, 0.5, 1.5],
        colors=[colour for _, colour, _ in SIGNS], hatches=[hatch for _, _, hatch in SIGNS],
    )  # fmt: skip
    drawn.set_edgecolor("0.35")
    drawn.set_linewidth(0.0)
    for value, (label, colour, hatch) in zip((-1.0, 0.0, 1.0), SIGNS, strict=True):
        if np.any(shown == value):
            panel.fill([], [], facecolor=colour, hatch=hatch, edgecolor="0.35", linewidth=0.0, label=label)


def _curves(panel: Any, curves: dict[str, Any], where: Region) -> None:
    """Draw curves given by points, or as the zero level of a function."""
    for number, (name, given) in enumerate(curves.items()):
        style: dict[str, Any] = {"linestyle": LINES[number % len(LINES)], "color": COLOURS["bound"], "label": name}
        if callable(given):
            X, Y, x = _grid(where, POINTS, 0.0)
            values = _values(given, x).reshape(X.shape)
            panel.contour(X, Y, values, levels=[0.0], colors=[style["color"]], linestyles=[style["linestyle"]])
            panel.plot([], [], **style)
        else:
            panel.plot(given[:, 0], given[:, 1], **style)


def _field(panel: Any, flow: AbstractFlow, where: Region) -> None:
    X, Y, x = _grid(where, ARROWS, 0.0)
    speed = _values(lambda y: flow.vector_field(jnp.zeros(()), y), x)
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
            PatchCollection(patches, facecolor=COLOURS["undecided"], edgecolor="none", label="undecided")
        )


def _points(panel: Any, points: np.ndarray) -> None:
    if len(points):
        panel.plot(points[:, 0], points[:, 1], "X", color=COLOURS["leader"], markersize=7, markeredgecolor="white",
                   label="witness")  # fmt: skip

"""Find a convex polygon that no solution leaves: grow it from a part of a box until the field crosses no edge."""

import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.existence.invariance import nagumo
from analysis.theorems.fields import field_of, in_plane, smooth
from analysis.theorems.regions import Region, box, written
from analysis.theorems.samples import Values
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import BoxLike
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import components

SLOPES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0)
"""Slopes of the normals of edges, and their inverses, beside those of the axes, after scaling by powers of two."""
LEVELS = (32, 128)
"""Numbers of positions of each edge between the corners of the box, one after the other."""
PARTS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Parts of the box, about the mean of the equilibria, that the polygon has to hold: the largest comes first."""
ON_EDGE = 33
MARGIN = 1e-3
"""Least sine of the angle at which the field has to cross an oblique edge at the points that are tried."""
WORDS = "a convex polygon was found"


@theorem
def trapping_polygon(flow: AbstractFlow, sides: BoxLike, *, strictly: bool = False, budget: int = BUDGET) -> Conditions:
    """Find a convex polygon in a box of the plane that no solution leaves, and certify it by Nagumo's theorem.

    Each edge has one of 48 normals. The polygon begins as the hull of the equilibria and a part of the box, and each
    edge that the field crosses outwards moves out, until none is crossed: this gives the smallest polygon with these
    edges. The largest part of the box from which it stays in the box counts. A region for the theorem of Poincare and
    Bendixson is the polygon without a ball about an unstable equilibrium: `found.region.without(centre, radius)`.

    Args:
        flow: a flow in the plane, autonomous.
        sides: (low, high) for each component, (2, 2).
        strictly: ask that the field points inwards; otherwise it may be tangent, as along invariant axes.
        budget: largest number of boxes for each piece of the boundary.

    Returns:
        The conditions of Nagumo's theorem for the polygon, which is `region`; `curves` hold its corners. They are
        undecided if none was found, which does not say that there is none.

    Raises:
        ValueError: for bad input, or a field that intervals cannot enclose.

    Source: F. Blanchini, Automatica 35 (1999) 1747, theorem 3.1; S. Strogatz, Nonlinear Dynamics and Chaos, Westview
    2014, example 7.3.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import trapping_polygon
        >>> found = trapping_polygon(ds.system("x'' = (1 - x^2)*x' - x"), [(-4.0, 4.0), (-6.0, 6.0)])
        >>> found.applies
        True
    """
    bounds = box(sides)
    in_plane(bounds.dimension, "a trapping polygon")
    field = field_of(flow, 2, "Nagumo's theorem")
    names = components(flow, np.zeros(2)).names
    values, found = Values(field, 2), None
    at = _equilibria(values, bounds.sides)
    for part in PARTS:
        for levels in LEVELS:
            polygon = _Edges(bounds.sides, levels).grown(values, _start(bounds.sides, at, part), strictly)
            if polygon is None:
                continue
            found = _named(nagumo(flow, polygon[0], strictly=strictly, budget=budget), *polygon[1:], names)
            if found.applies:
                return found
    if found is not None:
        return found
    row = Hypothesis(WORDS, "f . n >= 0 on edges with 48 normals", UNDECIDED, decided="floats")
    return Conditions(
        "Nagumo's theorem", (row, smooth(field, 2)), "every solution from the region stays in it",
        "solutions may leave the region", bounds, flow,
    )  # fmt: skip


class _Edges:
    """Half planes n . x <= h with fixed normals, whose heights h are on a grid."""

    def __init__(self, sides: np.ndarray, levels: int):
        self.sides, self.levels = sides, levels
        # Powers of two keep the axes, and slopes that are powers of two, exact.
        unit = 2.0 ** np.round(np.log2(sides[:, 1] - sides[:, 0]))
        slopes = [(1.0, 0.0), (0.0, 1.0), *((1.0, s) for s in SLOPES), *((s, 1.0) for s in SLOPES if s < 1)]
        signs = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
        self.normals = np.unique((signs[:, None] * np.array(slopes)).reshape(-1, 2), axis=0) / unit
        corners = _corners(sides)
        across = corners @ self.normals.T
        self.top = np.max(across, axis=0)
        self.step = (self.top - np.min(across, axis=0)) / levels
        self.along = np.stack([-self.normals[:, 1], self.normals[:, 0]], axis=1)
        self.is_flat = np.any(self.normals == 0, axis=1)

    def heights(self, moved: np.ndarray) -> np.ndarray:
        """The heights of edges that are so many steps inside of the corners of the box."""
        return self.top - moved * self.step

    def edges(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The length of each edge of the polygon, 0 for none, and its ends, (edges, 2, 2)."""
        h = self.heights(moved)
        base = self.normals * (h / np.sum(self.normals**2, axis=1))[:, None]
        rate = self.along @ self.normals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            at = (h[None, :] - base @ self.normals.T) / rate
        high = np.min(np.where(rate > 0, at, np.inf), axis=1)
        low = np.max(np.where(rate < 0, at, -np.inf), axis=1)
        lengths = (high - low) * np.linalg.norm(self.along, axis=1)
        ends = np.stack([base + low[:, None] * self.along, base + high[:, None] * self.along], axis=1)
        return np.where(lengths > 1e-9 * np.max(np.diff(self.sides)), lengths, 0.0), ends

    def grown(self, values: Values, start: np.ndarray, strictly: bool) -> tuple[Region, np.ndarray, np.ndarray] | None:
        """Grow the hull of some points until the field crosses no edge: the region, its corners and its inequalities.

        Each step moves out only edges that every trapping polygon around the present one has farther out. In the end
        oblique edges are left out, the shortest first, as long as the field crosses none of the others.
        """
        room = (self.top - np.max(start @ self.normals.T, axis=0)) / self.step
        moved = np.clip(np.floor(room + 1e-9) - 1, 0, self.levels)  # one outwards, so that it has an inside
        while len(crossed := self._crossed(values, moved, strictly)):
            if np.any(moved[crossed] < 1):
                return None
            moved[crossed] -= 1
        lengths, _ = self.edges(moved)
        for k in np.argsort(lengths):
            fewer = np.where(np.arange(len(moved)) == k, 0, moved)
            if lengths[k] > 0 and not self.is_flat[k] and not len(self._crossed(values, fewer, strictly)):
                moved = fewer
        return self._region(moved)

    def _crossed(self, values: Values, moved: np.ndarray, strictly: bool) -> np.ndarray:
        """Indices of the edges that the field crosses outwards, or nearly so, at some of its points."""
        lengths, ends = self.edges(moved)
        edges = np.flatnonzero(lengths)
        spread = np.linspace(0.0, 1.0, ON_EDGE)[:, None]
        points = ends[edges, None, 0] * (1 - spread) + ends[edges, None, 1] * spread
        points = np.clip(points, *self.sides.T)
        f = values(points.reshape(-1, 2)).reshape(points.shape)
        out = np.einsum("kpi,ki->kp", f, self.normals[edges])
        size = np.linalg.norm(f, axis=2) * np.linalg.norm(self.normals[edges], axis=1)[:, None]
        most = np.where(self.is_flat[edges, None] & (not strictly), 0.0, -MARGIN * size)
        return edges[~np.all(out <= most, axis=1) | (strictly & np.any(out >= 0, axis=1))]

    def _region(self, moved: np.ndarray) -> tuple[Region, np.ndarray, np.ndarray]:
        """The polygon as a region: edges along the axes are faces of its box, and inequalities give the others."""
        lengths, ends = self.edges(moved)
        is_edge = lengths > 0
        order = np.flatnonzero(is_edge)[np.argsort(np.arctan2(*self.normals[is_edge].T[::-1]))]
        corners = ends[order, 0] + 0.0  # no -0
        h = self.heights(moved)
        sides = np.array(self.sides)
        for j in range(2):
            for end, way in ((0, -1.0), (1, 1.0)):
                (k,) = np.flatnonzero((self.normals[:, j] * way > 0) & (self.normals[:, 1 - j] == 0))
                if is_edge[k]:
                    sides[j, end] = h[k] / self.normals[k, j] + 0.0
                else:  # a face without a point of the polygon
                    sides[j, end] = way * np.max(way * corners[:, j]) + way * 0.05 * np.ptp(corners[:, j])
        scale = 2.0 ** np.floor(np.log2(np.max(np.abs(self.normals), axis=1)))
        lines = np.column_stack([self.normals, h]) / scale[:, None]
        lines = lines[order][~self.is_flat[order]]
        inside = tuple((lambda x, n=line[:2], c=float(line[2]): c - jnp.dot(n, x)) for line in lines)
        label = "the polygon with corners " + ", ".join(written(np.round(one, 12)) for one in corners)
        return Region(sides, inside, True, label, True, True), corners, lines


def _corners(sides: np.ndarray) -> np.ndarray:
    return np.array([(x, y) for x in sides[0] for y in sides[1]])


def _start(sides: np.ndarray, equilibria: np.ndarray, part: float) -> np.ndarray:
    """The equilibria, and the corners of a part of the box about their mean."""
    middle = equilibria.mean(axis=0) if len(equilibria) else sides.mean(axis=1)
    return np.concatenate([equilibria, middle + part * (_corners(sides) - middle)])


def _equilibria(values: Values, sides: np.ndarray) -> np.ndarray:
    """Zeros of the field in a box, by Newton's method from a grid."""
    low, high = sides.T
    x = low + np.indices((8, 8)).reshape(2, -1).T / 7 * (high - low)
    for _ in range(30):
        J, f = values.slopes(x), values(x)
        good = np.all(np.isfinite(J), axis=(1, 2)) & np.all(np.isfinite(f), axis=1)
        good &= np.abs(J[:, 0, 0] * J[:, 1, 1] - J[:, 0, 1] * J[:, 1, 0]) > 1e-12 * (1e-300 + np.sum(J**2, axis=(1, 2)))
        x, J, f = x[good], J[good], f[good]
        x = x - np.linalg.solve(J, f[..., None])[..., 0]
    wide = 1e-9 * (high - low)
    x = x[np.all((x >= low - wide) & (x <= high + wide), axis=1)]
    small = np.linalg.norm(values(x), axis=1) < 1e-9 if len(x) else np.zeros(0, bool)
    return np.clip(np.unique(np.round(x[small] / (high - low), 9), axis=0) * (high - low), low, high)


def _named(found: Conditions, corners: np.ndarray, lines: np.ndarray, names: tuple[str, ...]) -> Conditions:
    said = [f"{c:.12g} - {a:g}*{names[0]} - {b:g}*{names[1]}".replace("- -", "+ ") for a, b, c in lines]
    assert found.region is not None
    sense = str(box(found.region.sides)) + "".join(f", {one} >= 0" for one in said)
    row = Hypothesis(WORDS, sense, HOLDS, decided="algebra")
    closed = np.concatenate([corners, corners[:1]])
    return found._replace(hypotheses=(row, *found.hypotheses), curves={"polygon": closed})

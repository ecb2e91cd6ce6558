"""Search an interval or a rectangle where nullclines cross, and compare the result with the degree of the field."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.newton import Finder, jacobians
from dynsim._core.printing import one_line

# Cells on each side of the grid, which is halved once, on which nullclines are looked for: at first, and where it is
# too coarse.
CELLS = (48, 96, 192)
# Distances of further grid lines from the edges and from zero, where states are often small, relative to the sides.
NEARER = 2.0 ** -np.array([7.0, 9.0, 12.0, 15.0, 18.0])
# Share of cells in which a component changes sign, from which the grid is too coarse.
CROWDED = 0.35
# Places in cells at which the sign of the field is compared with that at their corners, and the share of cells with
# another sign, relative to those in which it changes, from which the grid does not resolve the field.
INSIDE, ALIASED = np.random.default_rng(0).uniform(0.1, 0.9, (61, 2)), 0.1
# Margins of the box, relative to its sides: one within which equilibria on the edge are, and one inside of the edge
# for fields that are not defined outside.
MARGINS = (2.7e-6, -0.0031)
# Halvings of cells that both nullclines meet, and the number of cells at which they end.
HALVINGS, MOST_CELLS = 7, 4096
# Estimated minimum of a component between grid points, relative to its values there, that may be a zero.
TOUCHING = 0.25
# Largest turn of the field between successive points of a closed curve, and the most points of it.
TURN, MOST_POINTS = np.pi / 4, 2**16
# Divisions of a rectangle whose degree is not explained, the most rectangles, and starts on a side of each.
DIVISIONS, MOST_PARTS, SIDE = 40, 64, 5
# Speed, relative to that in the box, above which what is left of it holds a pole or a jump.
CONTINUOUS = 1e-3
# Where a side is divided; the others are for zeros on the dividing line.
SHARES = (0.4871, 0.5373, 0.4519)

Field = Callable[[Float[np.ndarray, "points d"]], Float[np.ndarray, "points d"]]


class Completeness(NamedTuple):
    """How far the equilibria found in a box explain the field on its edge.

    Attributes:
        degree: winding number of the field around the box, for one component the number of sign changes from - to +
            less that of the others; None if the field vanishes on the edge, or is not continuous there.
        indices: sum of the indices of the equilibria found; None if one is not isolated.
        resolved: whether a grid twice as fine shows the same crossings of nullclines.
    """

    degree: int | None = None
    indices: int | None = None
    resolved: bool = True

    __repr__ = one_line

    @property
    def is_sure(self) -> bool:
        """Whether the degree agrees with the indices, and the grid resolves the nullclines.

        What is missed then has the total index 0, as a pair that is closer together than the grid shows.
        """
        return self.resolved and self.degree is not None and self.degree == self.indices

    @property
    def is_doubtful(self) -> bool:
        """Whether the degree says that others are missed, or the grid does not resolve the nullclines."""
        return not self.resolved or (None not in (self.degree, self.indices) and self.degree != self.indices)

    def __str__(self) -> str:
        """Say in words how sure the search is."""
        if not self.resolved:
            return "the field varies too fast for the search, others may be missed"
        if self.degree is None or self.indices is None:
            return "others may be missed"
        if self.degree != self.indices:
            found = f"their indices add up to {self.indices}"
            return f"others are missed: {found}, the degree of the field is {self.degree}"
        return "their indices add up to the degree of the field on the edge: others could be missed in pairs only"


def search_box(finder: Finder, low: np.ndarray, high: np.ndarray) -> Completeness:
    """Add the equilibria of a flow of one or two components in a box, both in the units of the finder.

    Starts are where both components change sign, or touch zero, on a grid that is refined there. If the degree of the
    field on the edge is not the sum of the indices of what is found, the parts of the box for which this is so are
    divided and searched again.
    """
    margin = MARGINS[0] * (high - low)
    starts, resolved = crossings(finder.rows.field, low - margin, high + margin, (low, high))
    finder.from_near(starts)
    return completed(finder, low, high, Completeness(resolved=resolved))


def completed(finder: Finder, low: np.ndarray, high: np.ndarray, found: Completeness) -> Completeness:
    """Compare the equilibria found with the degree of the field; where they differ, divide the box and search on."""
    field, sides = finder.rows.field, high - low
    for margin in MARGINS:
        box = low - margin * sides, high + margin * sides
        degree = box_degree(field, *box)
        if degree is not None:
            points, indices = found_indices(finder)
            if indices is not None and degree != int(np.sum(indices[_inside(points, *box)])):
                if _divide(finder, *box, degree):
                    return Completeness(resolved=found.resolved)
                points, indices = found_indices(finder)
            total = None if indices is None else int(np.sum(indices[_inside(points, *box)]))
            return Completeness(degree, total, found.resolved)
    return Completeness(resolved=found.resolved)


def crossings(
    field: Field, low: np.ndarray, high: np.ndarray, edges: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[Float[np.ndarray, "points d"], bool]:
    """Find points near which all components of a field vanish, on a grid that is refined where they change sign.

    Also tell whether the grid resolves them: a coarser one shows the same. Grid lines go through `edges`.
    """
    for count in CELLS:
        coarse = [_axis(*ends, count) for ends in zip(low, high, *(edges or (low, high)), strict=True)]
        axes = [np.insert(axis, np.arange(1, len(axis)), (axis[1:] + axis[:-1]) / 2) for axis in coarse]
        values = _on_grid(field, axes)
        signs = _changes(values)
        before = np.all(_changes(values[(slice(None, None, 2),) * len(axes)]), axis=-1)
        strictly = _strict_changes(values)
        fresh = np.all(strictly, axis=-1) & ~_spread(before)
        resolved = not np.any(fresh) and not _is_aliased(field, axes, values, strictly)
        if resolved:
            break
    both = np.all(signs, axis=-1)
    touching = np.all(signs | (touched := _touches(values)), axis=-1) & np.any(touched, axis=-1)
    starts = [np.mean(_cells(axes, touching & ~both), axis=0)[: MOST_CELLS // 4]]
    starts.append(_refined(field, *_cells(axes, both)))
    return np.concatenate(starts), resolved


def _axis(low: float, high: float, first: float, last: float, cells: int) -> np.ndarray:
    """Divide an interval into cells, smaller ones towards two points near its ends, and towards zero."""
    inner, near = np.linspace(first, last, cells + 1), (last - first) * NEARER
    parts = [[low, 0.0, high], inner, first + near, last - near, near, -near]
    found = np.unique(np.concatenate(parts))
    return found[(found >= low) & (found <= high)]


def _strict_changes(values: np.ndarray) -> np.ndarray:
    """Find the cells at whose corners a component has both signs."""
    corners = _corners(values)
    return np.any(corners < 0, axis=0) & np.any(corners > 0, axis=0)


def _is_aliased(field: Field, axes: list[np.ndarray], values: np.ndarray, signs: np.ndarray) -> bool:
    """Test whether a component changes sign in many cells, or inside of cells with one sign at all corners."""
    d = values.shape[-1]
    if np.any(np.mean(signs, axis=tuple(range(d))) > CROWDED):
        return True
    low, high = _cells(axes, np.ones(signs.shape[:-1], bool))
    inside = field(low + (high - low) * (INSIDE[:, :d][np.arange(len(low)) % len(INSIDE)])).reshape(signs.shape)
    other = ~signs & (inside * _corners(values)[0] < 0)
    count = np.sum(other, axis=tuple(range(d)))
    return bool(np.any(count > ALIASED * (np.sum(signs, axis=tuple(range(d))) + len(axes[0]))))


def _on_grid(field: Field, axes: list[np.ndarray]) -> np.ndarray:
    """Evaluate a field on a grid, (points, ..., d)."""
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = field(points.reshape(-1, len(axes))).reshape(points.shape)
    return np.where(np.all(np.isfinite(values), axis=-1, keepdims=True), values, np.nan)


def _corners(values: np.ndarray) -> np.ndarray:
    """Collect the values at the corners of the cells of a grid, (corners, ..., cells, ..., d); grids may be many."""
    d = values.shape[-1]
    sizes = values.shape[-1 - d : -1]
    parts = [[slice(k >> axis & 1, size - 1 + (k >> axis & 1)) for axis, size in enumerate(sizes)] for k in range(2**d)]
    return np.stack([values[(..., *part, slice(None))] for part in parts])


def _changes(values: np.ndarray) -> np.ndarray:
    """Find the cells at whose corners a component changes sign or is zero, or is not finite at some."""
    corners = _corners(values)
    unknown = np.isnan(corners)
    low, high = np.min(np.where(unknown, np.inf, corners), axis=0), np.max(np.where(unknown, -np.inf, corners), axis=0)
    return ((low <= 0) & (high >= 0)) | (np.any(unknown, axis=0) & ~np.all(unknown, axis=0))


def _touches(values: np.ndarray) -> np.ndarray:
    """Find the cells beside whose corners a component may touch zero without a change of sign."""
    return np.any(_corners(np.any([may_touch(values, axis) for axis in range(values.shape[-1])], axis=0)), axis=0)


def may_touch(values: np.ndarray, axis: int) -> np.ndarray:
    """Find the points of a grid beside which a component may touch zero on a grid line, without a change of sign."""
    points = np.zeros(values.shape, bool)
    moved = np.moveaxis(values, axis, 0)
    before, here, after = np.abs(moved[:-2]), np.abs(moved[1:-1]), np.abs(moved[2:])
    with np.errstate(all="ignore"):
        same = (moved[:-2] * moved[2:] > 0) & (moved[:-2] * moved[1:-1] >= 0)
        bend = (before - 2 * here + after) / 2
        least = here - ((after - before) / 2) ** 2 / (4 * bend)
    low = same & (here <= before) & (here <= after) & (bend > 0) & (least <= TOUCHING * np.maximum(before, after))
    np.moveaxis(points, axis, 0)[1:-1] = low
    return points


def _spread(coarse: np.ndarray) -> np.ndarray:
    """Mark the cells of a grid twice as fine that lie in marked cells or beside them."""
    wide = coarse.copy()
    for axis in range(coarse.ndim):
        moved = np.moveaxis(wide, axis, 0)
        beside = moved.copy()
        beside[1:] |= moved[:-1]
        beside[:-1] |= moved[1:]
        wide = np.moveaxis(beside, 0, axis)
    for axis in range(coarse.ndim):
        wide = np.repeat(wide, 2, axis=axis)
    return wide


def _cells(axes: list[np.ndarray], marked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Collect the lower and the upper corners of marked cells, (cells, d)."""
    places = np.argwhere(marked)
    return tuple(np.stack([axis[places[:, k] + upper] for k, axis in enumerate(axes)], axis=1) for upper in (0, 1))  # pyright: ignore[reportReturnType]


def _refined(field: Field, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Halve cells as long as all components change sign in some part, and give the middles of these parts.

    A part that shows no change where its cell does is left out, unless no part shows any; then the cell counts.
    """
    ended = [np.empty((0, low.shape[1]))]
    d = low.shape[1]
    steps = np.stack(np.meshgrid(*[np.arange(3)] * d, indexing="ij"), axis=-1).reshape(-1, d) / 2
    for _ in range(HALVINGS):
        if not 0 < len(low) <= MOST_CELLS:
            break
        points = low[:, None] + (high - low)[:, None] * steps
        values = field(points.reshape(-1, d)).reshape(len(low), *[3] * d, d)
        values = np.where(np.all(np.isfinite(values), axis=-1, keepdims=True), values, np.nan)
        marked = np.all(_changes(values), axis=-1)
        none = ~np.any(marked.reshape(len(low), -1), axis=1)
        ended.append((low[none] + high[none]) / 2)
        places = np.argwhere(marked)
        size = (high - low)[places[:, 0]] / 2
        low = low[places[:, 0]] + size * places[:, 1:]
        high = low + size
    some = slice(None, None, max(1, len(low) // MOST_CELLS))
    return np.concatenate([*ended, (low + high)[some] / 2])


def box_degree(field: Field, low: np.ndarray, high: np.ndarray) -> int | None:
    """Compute the degree of a field of one or two components on the edge of a box; None if it is not defined.

    For two components it is the winding number of the field around the box.
    """
    if len(low) == 1:
        first, last = np.sign(field(np.array([low, high]))[:, 0])
        return int(last - first) // 2 if first * last != 0 and np.isfinite(first * last) else None
    corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
    at = lambda s: corners[(k := np.minimum(s.astype(int), 3))] + (s - k)[:, None] * (corners[k + 1] - corners[k])
    sides = [_axis(*ends, *ends, 2 * CELLS[0]) for ends in zip(low, high, strict=True)]
    shares = [(side - side[0]) / (side[-1] - side[0]) for side in sides]
    s = np.concatenate([shares[0], 1 + shares[1][1:], 3 - shares[0][-2::-1], 4 - shares[1][-2::-1]])
    values = field(at(s))
    while len(s) < MOST_POINTS and np.all(np.isfinite(values)):
        unit = np.median(np.abs(values), axis=0)
        if not np.all(unit > 0):
            unit = np.max(np.abs(values), axis=0)
        if not np.all(unit > 0) or np.any(np.all(values == 0, axis=1)):
            return None
        angles = np.arctan2(values[:, 1] / unit[1], values[:, 0] / unit[0])
        turns = np.mod(np.diff(angles) + np.pi, 2 * np.pi) - np.pi
        wide = np.flatnonzero(np.abs(turns) > TURN)
        if not len(wide):
            return round(float(np.sum(turns)) / (2 * np.pi))
        middles = (s[wide] + s[wide + 1]) / 2
        if np.any((middles == s[wide]) | (middles == s[wide + 1])):
            return None
        s, values = np.insert(s, wide + 1, middles), np.insert(values, wide + 1, field(at(middles)), axis=0)
    return None


def found_indices(finder: Finder) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute the indices of the equilibria found; None if one is not isolated, or has none."""
    points = np.reshape(finder.points, (-1, len(finder.rows.scale)))
    if not len(points):
        return points, np.zeros(0, int)
    slopes, changes = jacobians(finder.rows, points)
    norms = np.linalg.norm(slopes, axis=2, keepdims=True)
    slopes, changes = (a / np.where(norms > 0, norms, 1.0) for a in (slopes, changes))
    indices = np.sign(np.linalg.det(slopes)).astype(int)
    weakest = np.linalg.svd(slopes)[1][:, -1]
    for k in np.flatnonzero(weakest <= np.linalg.norm(changes, ord=2, axis=(1, 2))):
        gap = np.min(np.max(np.abs(np.delete(points, k, axis=0) - points[k]), axis=1), initial=1.0)
        degree = box_degree(finder.rows.field, points[k] - 0.3 * gap, points[k] + 0.3 * gap)
        if degree is None:
            return points, None
        indices[k] = degree
    return points, indices


def _inside(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.all((points > low) & (points < high), axis=1)


def spread(low: np.ndarray, high: np.ndarray, side: int) -> np.ndarray:
    """Compute midpoints of side^d cells of a box, shifted so that none lies on an axis of symmetry."""
    parts = (np.arange(side) + 0.5 + 0.07 / np.sqrt(2)) / side
    return low + (high - low) * np.stack(np.meshgrid(*[parts] * len(low)), axis=-1).reshape(-1, len(low))


def _divide(finder: Finder, low: np.ndarray, high: np.ndarray, degree: int) -> bool:
    """Divide a box whose degree is not explained, and search the parts for which this is so, again and again.

    Tell whether the field does not become small in what is left, as at a pole or a jump.
    """
    parts, speeds = [(low, high, degree)], np.zeros((1, len(low)))
    whole = np.nanmedian(np.abs(finder.rows.field(spread(low, high, SIDE))), axis=0)
    for _ in range(DIVISIONS):
        starts = np.concatenate([spread(a, b, SIDE) for a, b, _ in parts])
        speeds = np.abs(finder.rows.field(starts))
        finder.from_near(starts)
        points, known = found_indices(finder)
        if known is None:
            return False
        left = lambda a, b, w, points=points, known=known: w != int(np.sum(known[_inside(points, a, b)]))
        parts = [part for one in parts if left(*one) for part in _halves(finder.rows, *one) if left(*part)]
        if not 0 < len(parts) <= MOST_PARTS:
            return False
    return bool(np.any(np.nanmin(speeds, axis=0) > CONTINUOUS * whole))


def _halves(rows: FieldRows, low: np.ndarray, high: np.ndarray, degree: int) -> list[tuple]:
    """Divide a box in two across its longer side, with the degree of each part; none where it is not defined."""
    axis = int(np.argmax(high - low))
    for share in SHARES:
        cut = low[axis] + share * (high[axis] - low[axis])
        middle_high, middle_low = high.copy(), low.copy()
        middle_high[axis] = middle_low[axis] = cut
        first = box_degree(rows.field, low, middle_high)
        if first is not None:
            return [(low, middle_high, first), (middle_low, high, degree - first)]
    return []

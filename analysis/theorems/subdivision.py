"""Decide whether a function is positive everywhere in a region, by intervals on boxes that are halved where needed."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.validated.intervals import IntervalFunction, middles
from analysis.theorems.algebra import cancelled_entries, sharper
from analysis.theorems.regions import Region
from dynsim._core.printing import one_line, report

BUDGET = 200_000
"""Largest number of boxes that are examined for one condition."""
SMALLEST = 1e-9
"""Side, relative to the region, below which a box is left undecided."""
AT_ONCE = 20_000


class Decision(NamedTuple):
    """Whether a function is positive in a region.

    Attributes:
        status: "holds", "fails" or "undecided".
        least: a lower bound of the function on the boxes that were decided.
        observed: the least value at the points that were tried.
        boxes: number of boxes examined.
        left: sides of boxes in which it is undecided, (left, n, 2).
        witness: a point at which it fails, (n,), or None.
        is_empty: whether no box of the region holds one of its points, as far as intervals tell.
        sign_of: the function and the region, if all points of it count, for figures of its sign.
    """

    status: str
    least: float
    observed: float
    boxes: int
    left: Float[np.ndarray, "left n 2"]
    witness: Float[np.ndarray, " n"] | None = None
    is_empty: bool = False
    sign_of: tuple[Callable[[Any], Any], Region] | None = None

    __repr__ = one_line
    __str__ = report


def positive(
    value: Callable[[Any], Any],
    region: Region,
    *,
    strictly: bool = True,
    on: int | None = None,
    faces: Sequence[tuple[int, int]] = (),
    budget: int = BUDGET,
    name: str = "flow",
) -> Decision:
    """Decide whether a function is positive, or at least zero, at all points of a region.

    "holds" and "fails" are proved by intervals: each box of a cover has only positive values or no point of the region,
    or all values on some box, which has a point of the region, are not positive.

    Args:
        value: a scalar function of a state in JAX; of a vector of values the largest counts at each point.
        region: the region.
        strictly: whether zero is not enough.
        on: index of one of the functions of the region; only the points at which it is zero count.
        faces: only the points of these faces of the box count: pairs of a component and 0 for its low or 1 for its
            high end.
        budget: largest number of boxes.
        name: the argument that is named if the function uses what intervals cannot enclose.

    Raises:
        ValueError: for a function that cannot be enclosed.
    """
    search = _Cover(value, region, strictly, on, budget, name)
    starts = [_face(region.sides, *face) for face in faces] or [region.sides]
    found = search.run(np.array(starts, float))
    return found if faces or on is not None else found._replace(sign_of=(value, region))


def _face(sides: np.ndarray, component: int, end: int) -> np.ndarray:
    found = np.array(sides, float)
    found[component] = sides[component, end]
    return found


class _Enclosure:
    """The largest entry of a function on boxes, by its operations and by its cancelled form."""

    def __init__(self, value: Callable[[Any], Any], size: int, name: str):
        fn = lambda x: jnp.ravel(value(x))
        self.by_operations = IntervalFunction(fn, size, name)
        self.cancelled = cancelled_entries(self.by_operations.values_program.program)

    def values(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the largest entry on each box, (boxes, 2)."""
        found = self.by_operations.values(boxes)
        if self.cancelled is not None:
            found = _both(found, np.concatenate([one.values(boxes) for one in self.cancelled], axis=1))
        return np.max(found, axis=1)

    def enclosed(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the largest entry on each box also by the mean value theorem, (boxes, 2)."""
        if self.cancelled is None:
            return np.max(self.by_operations.enclosed(boxes), axis=1)
        found = np.concatenate([one.enclosed(boxes) for one in self.cancelled], axis=1)
        return np.max(_both(self.by_operations.values(boxes), found), axis=1)

    def least(self, boxes: np.ndarray) -> np.ndarray:
        """Bound a smooth scalar function from below on each box, (boxes,).

        Components in which it is monotone are set to the end of the box at which it is least.
        """
        if not len(boxes) or not self.by_operations.is_smooth or self.cancelled is None or len(self.cancelled) > 1:
            return np.full(len(boxes), -np.inf)
        slopes = self.cancelled[0].slopes(boxes)
        if slopes is None:
            return np.full(len(boxes), -np.inf)
        rises, falls = slopes[..., 0] >= 0, slopes[..., 1] <= 0
        low, high = np.moveaxis(boxes, 2, 0)
        ends = np.stack([np.where(falls & ~rises, high, low), np.where(rises, low, high)], axis=2)
        found = self.enclosed(ends)[:, 0]
        return np.where(np.isnan(self.by_operations.values(boxes)[:, 0, 0]), -np.inf, found)


def _least(values: np.ndarray) -> float:
    """The least of values that are known; infinite without any."""
    return float(np.fmin.reduce(values, initial=np.inf))


def _both(as_coded: np.ndarray, cancelled: np.ndarray) -> np.ndarray:
    """Join both; where the function as it is coded may be undefined, nothing is known."""
    return np.where(np.isnan(as_coded), np.nan, sharper(as_coded, cancelled))


@dataclasses.dataclass
class _Cover:
    """Boxes of one decision; those that are not decided are halved, the most at once that memory allows."""

    value: Callable[[Any], Any]
    region: Region
    strictly: bool
    on: int | None
    budget: int
    name: str

    def __post_init__(self) -> None:
        n = self.region.dimension
        self.target = _Enclosure(self.value, n, self.name)
        self.bounds = self.region.bounds
        self.count, self.least, self.observed = 0, np.inf, np.inf
        self.small = SMALLEST * (self.region.sides[:, 1] - self.region.sides[:, 0])
        self.widths = np.where(self.small > 0, self.small / SMALLEST, 1.0)

    def run(self, waiting: np.ndarray) -> Decision:
        left: list[np.ndarray] = []
        while len(waiting) and self.count < self.budget:
            boxes, waiting = waiting[-AT_ONCE:], waiting[:-AT_ONCE]
            self.count += len(boxes)
            boxes, surely = self._meeting(boxes)
            if not len(boxes):
                continue
            found = self.target.enclosed(boxes)
            holds = found[:, 0] > 0 if self.strictly else found[:, 0] >= 0
            if not self.strictly and not np.all(holds):
                found[~holds, 0] = np.fmax(found[~holds, 0], self.target.least(boxes[~holds]))
                holds = found[:, 0] >= 0
            if np.any(holds):
                self.least = min(self.least, float(np.min(found[holds, 0])))
            witness = self._witness(boxes[~holds], found[~holds], surely[~holds])
            if witness is not None:
                return self._decision("fails", [*left, waiting, boxes[~holds]], witness)
            waiting = np.concatenate([waiting, self._halves(boxes[~holds], left)])
        if len(waiting):
            left.append(waiting)
        return self._decision("undecided" if left else "holds", left, None)

    def _decision(self, status: str, left: list[np.ndarray], witness: np.ndarray | None) -> Decision:
        n = self.region.dimension
        rest = np.concatenate(left) if left else np.empty((0, n, 2))
        empty = status == "holds" and not np.isfinite(self.least)
        return Decision(status, self.least, self.observed, self.count, rest, witness, empty)

    def _meeting(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leave out boxes without points of the region, and tell which boxes surely hold one."""
        if self.bounds is None:
            return boxes, np.ones(len(boxes), bool)
        low, high = np.moveaxis(self.bounds.enclosed(boxes), 2, 0)
        outside = np.any(high < 0, axis=1)
        if self.on is None:
            surely = np.all(low >= 0, axis=1)
        else:
            outside |= low[:, self.on] > 0
            surely = np.all(np.delete(low, self.on, axis=1) >= 0, axis=1) & self._crossed(boxes)
        return boxes[~outside], surely[~outside]

    def _crossed(self, boxes: np.ndarray) -> np.ndarray:
        """Tell for which boxes the function `on` changes its sign between two corners, so that it is zero between."""
        assert self.bounds is not None
        ends = []
        for end in self._corners(boxes):
            at = self.bounds.values(np.stack([end, end], axis=2))[:, self.on]
            ends.append(np.where(at[:, 0] >= 0, 1, np.where(at[:, 1] <= 0, -1, 0)))
        signs = np.stack(ends, axis=1)
        return np.any(signs > 0, axis=1) & np.any(signs < 0, axis=1)

    def _corners(self, boxes: np.ndarray) -> list[np.ndarray]:
        """Corners of each box: all in up to four dimensions, otherwise those that differ in one component."""
        n = boxes.shape[1]
        masks = np.indices((2,) * n).reshape(n, -1).T if n <= 4 else np.vstack([np.zeros(n, int), np.eye(n, dtype=int)])
        return [np.where(mask, boxes[..., 1], boxes[..., 0]) for mask in masks]

    def _witness(self, boxes: np.ndarray, found: np.ndarray, surely: np.ndarray) -> np.ndarray | None:
        """Look for a point of the region at which the function is not positive, and prove it."""
        fails = found[:, 1] <= 0 if self.strictly else found[:, 1] < 0
        proved = np.flatnonzero(fails & surely)
        if proved.size:
            k = proved[np.argmin(found[proved, 0])]
            self.observed = min(self.observed, float(found[k, 1]))
            return self._point_of(boxes[k])
        if not len(boxes) or self.on is not None:
            return None
        points, values = self._middles(boxes)
        self.observed = min(self.observed, _least(values[:, 1]))
        bad = values[:, 1] <= 0 if self.strictly else values[:, 1] < 0
        return points[bad][np.argmin(values[bad, 0]), :, 0] if np.any(bad) else None

    def _middles(self, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The middles of boxes that are points of the region, as boxes, and the values there."""
        points = middles(boxes)
        if self.bounds is not None:
            points = points[np.all(self.bounds.values(points)[..., 0] >= 0, axis=1)]
        return points, self.target.values(points)

    def _point_of(self, one: np.ndarray) -> np.ndarray:
        """A point of the region in a box; where `on` counts, the middle of a small box in which it is zero."""
        while self.on is not None:
            halves = self._halves(one[None], [])
            crossed = np.flatnonzero(self._crossed(halves)) if len(halves) else []
            if not len(crossed):
                break
            one = halves[crossed[0]]
        return one.mean(axis=1)

    def _halves(self, boxes: np.ndarray, left: list[np.ndarray]) -> np.ndarray:
        """Halve boxes along their longest sides, relative to the region; the smallest stay undecided."""
        widths = (boxes[..., 1] - boxes[..., 0]) / self.widths
        axis, rows = np.argmax(widths, axis=1), np.arange(len(boxes))
        small = widths[rows, axis] < SMALLEST
        if np.any(small):
            left.append(boxes[small])
            boxes, axis, rows = boxes[~small], axis[~small], np.arange(int(np.sum(~small)))
        middle = boxes[rows, axis].mean(axis=1)
        first, second = boxes.copy(), boxes.copy()
        first[rows, axis, 1] = second[rows, axis, 0] = middle
        return np.concatenate([first, second])


def least_value(
    value: Callable[[Any], Any],
    region: Region,
    *,
    on: int | None = None,
    faces: Sequence[tuple[int, int]] = (),
    rtol: float = 1e-2,
    budget: int = BUDGET,
) -> tuple[float, float]:
    """Enclose the least value of a function in a region: a proven lower bound, and the least value that was seen.

    Boxes are halved until both agree to `rtol`, or the budget ends.

    Args:
        value: a scalar function of a state in JAX.
        region: the region; where it may be empty, the least value is infinite.
        on: index of one of the functions of the region; only the points at which it is zero count.
        faces: only the points of these faces of the box count, as in `positive`.
        rtol: largest difference, relative to the value.
        budget: largest number of boxes.
    """
    search = _Cover(value, region, True, on, budget, "flow")
    waiting = np.array([_face(region.sides, *face) for face in faces] or [region.sides], float)
    seen, floor = np.inf, np.inf
    while len(waiting):
        search.count += len(waiting)
        boxes, surely = search._meeting(waiting)
        if not len(boxes):
            break
        found = search.target.enclosed(boxes)
        low = np.where(np.isnan(found[:, 0]), -np.inf, found[:, 0])
        if np.any(surely):
            seen = min(seen, float(np.min(found[surely, 1])))
        if on is None:
            seen = min(seen, _least(search._middles(boxes)[1][:, 1]))
        close = low >= seen - rtol * abs(seen)
        floor = min(floor, float(np.min(low[close], initial=np.inf)))
        boxes = boxes[~close & (low <= seen)]
        if search.count > budget:
            return float(min(floor, np.min(low))), seen
        left: list[np.ndarray] = []
        waiting = search._halves(boxes, left)
        if left:
            return float(min(floor, np.min(low))), seen
    return floor, seen


def bounds_on(value: Callable[[Any], Any], boxes: Float[np.ndarray, "boxes n 2"]) -> Float[np.ndarray, "boxes 2"]:
    """Enclose the largest entry of a function on each of some boxes, as decisions do."""
    return _Enclosure(value, boxes.shape[1], "function").enclosed(boxes)


def equal_parts(sides: Float[np.ndarray, "n 2"], parts: int) -> Float[np.ndarray, "boxes n 2"]:
    """Cut a box into about so many equal boxes."""
    n = len(sides)
    count = max(1, round(parts ** (1 / n)))
    cuts = [np.linspace(low, high, count + 1) for low, high in sides]
    places = np.indices((count,) * n).reshape(n, -1)
    ends = [np.stack([cut[k], cut[k + 1]], axis=1) for cut, k in zip(cuts, places, strict=True)]
    return np.stack(ends, axis=1)

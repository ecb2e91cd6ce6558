"""Smale's horseshoe in the plane, by covering relations between parallelograms."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.theorems.conditions import Conditions, Hypothesis, known, theorem, together
from analysis.theorems.fields import Field, continuous, step_of
from analysis.theorems.periodicity import values_at
from analysis.theorems.regions import Region, box, written
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike
from dynsim._core.validation import integer, reals
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractMap

NAME = "Smale's horseshoe by covering relations"
SQUARE = ((-1.0, 1.0), (-1.0, 1.0))


@theorem
def horseshoe(
    system: AbstractMap,
    sets: ArrayLike,
    *,
    covers: Sequence[tuple[int, int]] | None = None,
    iterates: int = 1,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether parallelograms in the plane are stretched across each other, so that a map has a horseshoe.

    A parallelogram N covers M under f if f takes one exit edge of N to the left of M and the other to its right, beyond
    the exit edges of M, and no point of N across or onto an entry edge of M. Every sequence of sets in which each
    covers the next is then followed by an orbit, and every periodic one by a periodic orbit.

    Args:
        system: a map of two components.
        sets: for each parallelogram its centre, the vector from there to the middle of an exit edge, and that to the
            middle of an entry edge, (sets, 3, 2).
        covers: pairs of indices (i, j) such that set i covers set j; all pairs by default.
        iterates: number of steps of the map that count as one.
        budget: largest number of boxes for each condition.

    Raises:
        ValueError: for bad input, or a map that intervals cannot enclose.

    Source: P. Zgliczynski and M. Gidea, Covering relations for multidimensional dynamical systems, J. Differential
    Equations 202 (2004) 32.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import horseshoe
        >>> henon = ds.system("x[n+1] = 5 - x^2 + 0.3*y; y[n+1] = x")
        >>> found = horseshoe(henon, [[[-2, 0], [1, 0], [0, 3]], [[2, 0], [1, 0], [0, 3]]])
        >>> found.applies, round(found.numbers["entropy"], 4)
        (True, 0.6931)
    """
    places = _sets(sets)
    step = step_of(system, 2, NAME)
    steps, count = integer("iterates", iterates, least=1), len(places)
    pairs = list(itertools.product(range(count), repeat=2)) if covers is None else _pairs(covers, count)
    matrix = np.zeros((count, count))
    for i, j in pairs:
        matrix[i, j] = 1.0
    growth = spectral_radius(matrix)
    power = "f" if steps == 1 else f"f^{steps}"
    rows = (
        continuous(step, 2, "the map"),
        known("the sets are disjoint", "a line separates each two", _disjoint(places)),
        *(_covering(step, places, i, j, steps, budget) for i, j in pairs),
        known("the transition matrix has entropy", "spectral radius > 1", bool(growth > 1)),
    )
    images = {f"{power} of set {i + 1}": _image(step, places[i], steps) for i in range(count)}
    return Conditions(
        NAME, rows,
        f"{power} has an invariant set in the sets that is semi-conjugate to the subshift of the transition matrix: "
        "each allowed sequence of sets is followed by an orbit, and each periodic one by a periodic orbit",
        "a horseshoe on these sets is not implied",
        _union(places), system, {"entropy": math.nextafter(math.log(growth) / steps, 0.0)} if growth > 1 else {},
        images,
    )  # fmt: skip


def _sets(sets: Any) -> np.ndarray:
    places = np.asarray(reals("sets", sets), float)
    if places.ndim != 3 or places.shape[1:] != (3, 2) or not len(places) or not np.all(np.isfinite(places)):
        raise ArgumentError("sets", "have a centre and two vectors of the plane for each set, (sets, 3, 2)",
                            f"has shape {places.shape}")  # fmt: skip
    if any(_determinant(*one[1:]) == 0 for one in places):
        raise ArgumentError("sets", "have an area", "has parallel vectors")
    return places


def _pairs(covers: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    pairs = [(integer("covers", i, least=0), integer("covers", j, least=0)) for i, j in covers]
    if not pairs or any(max(pair) >= count for pair in pairs):
        raise ArgumentError("covers", f"name sets by indices below {count}", f"is {list(covers)}")
    return pairs


def _determinant(u: np.ndarray, v: np.ndarray) -> Fraction:
    """The determinant of two vectors, exactly."""
    a, b, c, d = (Fraction(float(value)) for value in (*u, *v))
    return a * d - b * c


def _rounded(value: Fraction, way: float) -> float:
    """A float that is not less than a fraction, if `way` is infinite, or not more, if it is minus infinite."""
    near = float(value)
    gap = Fraction(near) - value
    return near if gap == 0 or (gap > 0) == (way > 0) else math.nextafter(near, way)


def _covering(step: Field, places: np.ndarray, i: int, j: int, steps: int, budget: int) -> Hypothesis:
    """Decide whether set i covers set j."""
    (centre, u, s), (middle, across, along) = places[i], places[j]
    area = _determinant(across, along)
    sign = 1.0 if area > 0 else -1.0
    most, least = _rounded(abs(area), math.inf), _rounded(abs(area), -math.inf)

    iterate = _iterate(step, steps)
    point = lambda p: iterate(centre + p[0] * u + p[1] * s) - middle
    x_of = lambda p: sign * (point(p)[0] * along[1] - point(p)[1] * along[0])
    y_of = lambda p: sign * (across[0] * point(p)[1] - across[1] * point(p)[0])
    first, last = values_at(lambda p: jnp.reshape(x_of(p), (1,)), np.array([[-1.0, 0.0], [1.0, 0.0]]), "system")[:, 0]
    way = 1.0 if last > first else -1.0
    square = box(SQUARE)
    parts = [
        positive(lambda p: -way * x_of(p) - most, square, faces=[(0, 0)], budget=budget, name="system"),
        positive(lambda p: way * x_of(p) - most, square, faces=[(0, 1)], budget=budget, name="system"),
        positive(
            lambda p: jnp.stack([x_of(p) ** 2 / most - most, least - y_of(p) ** 2 / least]), square, budget=budget,
            name="system",
        ),
    ]  # fmt: skip
    row = together(
        f"set {i + 1} covers set {j + 1}", "exit edges beyond both sides, no point on an entry edge",
        [part._replace(sign_of=None) for part in parts],
    )  # fmt: skip
    there = lambda p: centre + p[0] * u + p[1] * s
    middles, halves = row.left.mean(axis=2), (row.left[..., 1] - row.left[..., 0]) / 2
    at = centre + middles @ np.stack([u, s])
    reach = halves @ np.abs(np.stack([u, s]))
    return row._replace(
        margin=row.margin / most, left=np.stack([at - reach, at + reach], axis=2),
        witness=None if row.witness is None else there(row.witness),
    )  # fmt: skip


def _disjoint(places: np.ndarray) -> bool:
    """Whether no two parallelograms meet: exactly, by a line along a side that separates them."""
    corners = [
        [[Fraction(float(c)) + p * Fraction(float(a)) + q * Fraction(float(b)) for c, a, b in one.T]
         for p, q in itertools.product((1, -1), repeat=2)]
        for one in places
    ]  # fmt: skip

    def apart(i: int, j: int) -> bool:
        for x, y in (*places[i][1:], *places[j][1:]):
            normal = -Fraction(float(y)), Fraction(float(x))
            first, second = ([normal[0] * corner[0] + normal[1] * corner[1] for corner in corners[k]] for k in (i, j))
            if max(first) < min(second) or max(second) < min(first):
                return True
        return False

    return all(apart(i, j) for i, j in itertools.combinations(range(len(places)), 2))


def spectral_radius(matrix: np.ndarray) -> float:
    """A lower bound of the spectral radius of a matrix of zeros and ones, by Collatz and Wielandt; 1 if not above 1."""
    n, best = len(matrix), 1.0
    for vector in np.linalg.eig(matrix)[1].T:
        v = np.where(np.abs(vector) > 1e-9, np.abs(vector), 0.0)
        some = v > 0
        ratios = (matrix @ v)[some] / v[some]
        best = max(best, float(np.min(ratios)) * (1 - 4 * n * np.finfo(float).eps))
    return best if best > 1 + 1e-9 else 1.0  # one above 1 is at least the n-th root of 2


def _union(places: np.ndarray) -> Region:
    """The sets as one region, for figures."""
    reach = np.abs(places[:, 1]) + np.abs(places[:, 2])
    low, high = np.min(places[:, 0] - reach, axis=0), np.max(places[:, 0] + reach, axis=0)
    inverses = [np.linalg.inv(one[1:].T) for one in places]

    def inside(x: Any) -> Any:
        depths = [jnp.min(1 - jnp.abs(A @ (x - one[0]))) for A, one in zip(inverses, places, strict=True)]
        return jnp.max(jnp.stack(depths))

    label = f"{len(places)} sets about " + " and ".join(written(one[0]) for one in places)
    return Region(np.stack([low, high], axis=1), (inside,), False, label)


def _image(step: Field, one: np.ndarray, steps: int) -> Float[np.ndarray, "points 2"]:
    """The image of the boundary of a parallelogram, as a closed curve."""
    t = np.linspace(-1.0, 1.0, 101)
    ones = np.ones_like(t)
    p = np.concatenate([np.stack(side, 1) for side in ((t, -ones), (ones, t), (-t, ones), (-ones, -t))])
    return values_at(_iterate(step, steps), one[0] + p @ one[1:], "system")


def _iterate(step: Field, steps: int) -> Field:
    def iterate(x: Any) -> Any:
        for _ in range(steps):
            x = step(x)
        return x

    return iterate

"""The boundary of a region, piece by piece, and how a field crosses it."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.intervals import middles
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis, decided, known, together
from analysis.theorems.fields import Field, is_smooth
from analysis.theorems.regions import Region
from analysis.theorems.subdivision import BUDGET, Decision, positive


def pointing_inwards(
    field: Field, region: Region, *, strictly: bool, outwards: bool = False, budget: int = BUDGET
) -> Hypothesis:
    """Decide whether a field points into a region, or out of it, everywhere on its boundary."""
    sign = -1.0 if outwards else 1.0
    parts: list[Decision] = []
    for k, inside in enumerate(region.inside):
        across: Callable[[Any], Any] = lambda x, g=inside: sign * jnp.dot(jax.grad(g)(x), field(x))
        parts.append(positive(across, region, strictly=strictly, on=k, budget=budget))
    for k, end in region.faces:
        over: Callable[[Any], Any] = lambda x, k=k, s=1.0 - 2.0 * end: sign * s * field(x)[k]
        parts.append(positive(over, region, strictly=strictly, faces=[(k, end)], budget=budget))
    way = "out of" if outwards else "into"
    normal = "outer" if outwards else "inner"
    sense = f"f . n {'>' if strictly else '>='} 0 with the {normal} normal n"
    return together(f"the field points {way} the region on its boundary", sense, parts)


def bounded(region: Region, budget: int = BUDGET, *, corners: bool = True) -> list[Hypothesis]:
    """Decide whether inequalities bound a region as theorems about its boundary need it.

    They are smooth with gradients different from zero where they bound it, keep it off the faces of a box that only
    holds it, and, with `corners`, some direction points inwards across all pieces that meet.
    """
    if not region.inside:
        return []
    meeting = [_corners(region, budget)] if corners and len(region.inside) + region.has_faces > 1 else []
    return [_regular(region, budget), *kept_in_box(region, budget), *meeting]


def _regular(region: Region, budget: int) -> Hypothesis:
    size: Callable[[Any], Callable[[Any], Any]] = lambda g: lambda x: jnp.sum(jax.grad(g)(x) ** 2)
    words, sense = "the boundary is regular", "grad g is not 0 where g = 0"
    if not all(is_smooth(lambda x, g=g: jnp.reshape(g(x), (1,)), region.dimension) for g in region.inside):
        return known(words, "each inequality is smooth", None)
    return together(words, sense, [positive(size(g), region, on=k, budget=budget) for k, g in enumerate(region.inside)])


def kept_in_box(region: Region, budget: int = BUDGET) -> list[Hypothesis]:
    """Decide whether a region has no point on the faces of a box that only holds it; nothing if the faces bound it."""
    if region.has_faces:
        return []
    faces = dataclasses.replace(region, has_faces=True).faces
    found = positive(_NOWHERE, region, faces=faces, budget=budget)
    row = decided("the box holds the region", "no point with all g >= 0 on its faces", found)
    return [row._replace(status=HOLDS if found.is_empty else row.status, margin=np.nan)]


def keeps(step: Field, region: Region, what: str, budget: int = BUDGET) -> Hypothesis:
    """Decide whether a map takes a box, named in words, into itself."""
    parts = [
        positive(
            lambda x, k=k, s=s, end=end: s * (step(x)[k] - end), region, strictly=False, budget=budget, name="system"
        )
        for k in range(region.dimension)
        for s, end in zip((1.0, -1.0), region.sides[k], strict=True)
    ]
    return together(f"the map keeps the {what}", "low <= f(x) <= high", parts)


def simply_connected(region: Region, told: bool | None) -> Hypothesis:
    """State whether a region has no holes: as it is told, or by its form."""
    if told is None:
        return known("the region has no holes", "simply connected", region.is_simply_connected or None)
    return known("the region has no holes", "simply connected", told, "told")


def has_a_point(region: Region, budget: int = BUDGET) -> Hypothesis:
    """Decide whether a region has a point, of which one is proved."""
    found = positive(_NOWHERE, region, budget=budget)
    status = HOLDS if found.status == FAILS else FAILS if found.is_empty else UNDECIDED
    return Hypothesis("the region is not empty", "all g >= 0 at a point", status, boxes=found.boxes)


_NOWHERE: Callable[[Any], Any] = lambda x: jnp.full((), -1.0)  # so that each point of a region is a counterexample


def _corners(region: Region, budget: int) -> Hypothesis:
    """Decide whether the sum of the unit normals of pieces that meet points inwards across each of them."""
    words, sense = "pieces of the boundary meet in corners that have an inside", "sum of unit normals . n > 0"
    if region.is_convex and _has_inner_middle(region):
        # With a ball around the middle in the region and gradients that are not 0, the way to it points inwards.
        return known(words, "the region is convex with a point inside", True, "intervals")
    n, count, faces = region.dimension, len(region.inside), region.faces
    parts: list[Decision] = []
    apart: list[set[int]] = []
    for size in range(2, n + 1):
        for some in itertools.combinations(range(count + len(faces)), size):
            flat = [faces[k - count] for k in some if k >= count]
            if some[0] >= count or len({j for j, _ in flat}) < len(flat) or any(one <= set(some) for one in apart):
                continue
            found = _corner(region, [k for k in some if k < count], flat, budget)
            if found.is_empty:
                apart.append(set(some))
            else:
                parts.append(found)
    if not parts:
        return known(words, "no pieces meet", True, "intervals")
    row = together(words, sense, parts)
    return row._replace(status=UNDECIDED, witness=None) if row.status == FAILS and n > 2 else row


def _has_inner_middle(region: Region) -> bool:
    """Whether the inequalities of a region are proved to be strict in the middle of its box."""
    assert region.bounds is not None
    return bool(np.all(region.bounds.values(middles(region.sides[None]))[..., 0] > 0))


def _corner(region: Region, curved: list[int], flat: list[tuple[int, int]], budget: int) -> Decision:
    sides = np.array(region.sides)
    for j, end in flat:
        sides[j] = sides[j, end]
    given = [region.inside[k] for k in curved]
    met = [lambda x, g=g: -g(x) for g in given[1:]]
    where = dataclasses.replace(region, sides=sides, inside=(*region.inside, *met))
    straight = np.zeros((len(flat), region.dimension))
    for row, (j, end) in enumerate(flat):
        straight[row, j] = -1.0 if end else 1.0

    def inwards(x: Any) -> Any:
        slopes = [jax.grad(g)(x) for g in given]
        normals = [*(s / jnp.sqrt(jnp.sum(s**2)) for s in slopes), *jnp.asarray(straight)]
        total = sum(normals[1:], normals[0])
        least = jnp.dot(normals[0], total)
        for normal in normals[1:]:
            least = jnp.minimum(least, jnp.dot(normal, total))
        return least

    return positive(inwards, where, on=curved[0], budget=budget)

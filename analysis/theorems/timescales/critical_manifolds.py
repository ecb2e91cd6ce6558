"""The critical manifold of a system with two time scales: the points at which the fast components are at rest."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from analysis.theorems.fields import Field
from analysis.theorems.regions import Region
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError


def fast_components(fast: Sequence[int], dimension: int, most: int) -> list[int]:
    """Read the indices of the fast components.

    Raises:
        ValueError: for no index or too many, equal ones, or one that is no component.
    """
    found = [integer("fast", k, least=0) for k in fast]
    if not 1 <= len(found) <= most or len(set(found)) != len(found) or max(found) >= dimension:
        many = ("one index", "one or two different indices")[most > 1]
        raise ArgumentError("fast", f"be {many} below {dimension}", f"is {list(fast)}")
    return found


def critical_curve(region: Region, field: Field, fast: Sequence[int]) -> dict[str, Any]:
    """The critical manifold as a curve of the plane for figures; nothing in other dimensions."""
    return {"critical manifold": lambda x: field(x)[fast[0]]} if region.dimension == 2 and len(fast) == 1 else {}


def at_rest(region: Region, field: Field, fast: Sequence[int]) -> tuple[Region, int]:
    """The part of a region in which the fast components rest, and the index of the function that is zero there."""
    rests = [lambda x, k=k: field(x)[k] for k in fast]
    both = [lambda x, g=g: -g(x) for g in rests[1:]]
    return dataclasses.replace(region, inside=(*region.inside, *rests, *both)), len(region.inside)

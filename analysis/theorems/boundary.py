"""The boundary of a region, piece by piece, and how a field crosses it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from analysis.theorems.conditions import Hypothesis, together
from analysis.theorems.fields import Field
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
    if region.has_faces:
        for component in range(region.dimension):
            for end, inner in ((0, 1.0), (1, -1.0)):
                over: Callable[[Any], Any] = lambda x, j=component, s=inner: sign * s * field(x)[j]
                parts.append(positive(over, region, strictly=strictly, faces=[(component, end)], budget=budget))
    way = "out of" if outwards else "into"
    normal = "outer" if outwards else "inner"
    sense = f"f . n {'>' if strictly else '>='} 0 with the {normal} normal n"
    return together(f"the field points {way} the region on its boundary", sense, parts)


def regular(region: Region, budget: int = BUDGET) -> Hypothesis:
    """Decide whether the gradient of each function that bounds a region is different from zero on its part."""
    size: Callable[[Any], Callable[[Any], Any]] = lambda g: lambda x: jnp.sum(jax.grad(g)(x) ** 2)
    parts = [positive(size(g), region, on=k, budget=budget) for k, g in enumerate(region.inside)]
    return together("the boundary is regular", "grad g is not 0 where g = 0", parts)

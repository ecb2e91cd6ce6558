"""Functions that vanish at a point and are positive elsewhere, proved by Hessians near it and directly farther off."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import Hypothesis
from analysis.theorems.exactly import vanishes
from analysis.theorems.linear import leading_minors
from analysis.theorems.regions import Region, box
from analysis.theorems.subdivision import Decision, least_value, positive
from dynsim._core.validation import number
from dynsim.errors import ArgumentError

BESIDE = 20_000
"""Largest number of boxes in which a failure is looked for where Hessians do not decide."""


def core_of(region: Region, at: np.ndarray, cut: float | None) -> Region:
    """The box about a point inside a region in which Hessians are used; by default a twentieth of its least side.

    Raises:
        ValueError: for a point that is not inside the region.
    """
    size = 0.05 * float(np.min(region.sides[:, 1] - region.sides[:, 0])) if cut is None else number("cut", cut)
    if not all(float(g(jnp.asarray(at))) > 0 for g in region.inside) or np.any(
        (region.sides[:, 0] >= at) | (region.sides[:, 1] <= at)
    ):
        raise ArgumentError("equilibrium", "be inside the region", f"is {at.tolist()}")
    return box(np.stack([at - size, at + size], axis=1))


def above(fn: Callable[[Any], Any], at: np.ndarray) -> Callable[[Any], Any]:
    """A function as a scalar, less its value at a point."""
    base = jnp.reshape(fn(jnp.asarray(at)), ())
    return lambda x: jnp.reshape(fn(x), ()) - base


def stationary(height: Callable[[Any], Any], at: np.ndarray, name: str = "V") -> Hypothesis:
    """Decide whether a function has no slope at a point, as `definite` needs it."""
    return vanishes(f"{name} is stationary there", f"grad {name}(x*) = 0", jax.grad(height), at)


def definite(value: Callable[[Any], Any], region: Region, near: Region, budget: int) -> list[Decision]:
    """Decide whether a function that vanishes to first order in the middle of a box is positive elsewhere in a region.

    A Hessian that is not definite near the point decides nothing; the function may still be seen to fail beside it.
    """
    middle, half = near.sides.mean(axis=1), (near.sides[:, 1] - near.sides[:, 0]) / 2
    outside = without_box(region, near)
    minors = leading_minors(jax.hessian(value), near.dimension)
    inner = [positive(minor, near, budget=budget) for minor in minors]
    if all(one.status == "holds" for one in inner):
        return [*(positive(value, part, budget=budget) for part in outside), *inner]
    small = float(np.min(half)) / 16
    beside = without_box(near, box(np.stack([middle - small, middle + small], axis=1)))
    seen = [positive(value, part, budget=BESIDE) for part in [*outside, *beside]]
    if any(one.status == "fails" for one in seen):
        return seen
    return [*seen, *(one._replace(status="undecided", witness=None) for one in inner if one.status != "holds")]


def without_box(region: Region, near: Region) -> list[Region]:
    """Cover the region outside of a box by boxes beside it: two for each component."""
    parts, sides = [], np.array(region.sides)
    for k, (lower, upper) in enumerate(near.sides):
        for low, high in ((sides[k, 0], lower), (upper, sides[k, 1])):
            if low < high:
                part = sides.copy()
                part[k] = low, high
                parts.append(dataclasses.replace(region, sides=part))
        sides[k] = max(sides[k, 0], lower), min(sides[k, 1], upper)
    return parts


def largest_level(
    height: Callable[[Any], Any], region: Region, budget: int, domain: Sequence[Callable[[Any], Any]] = ()
) -> dict[str, float]:
    """The largest value of V - V(x*) whose sublevel set is known to stay away from the boundary of the region.

    Only states count at which the functions of a domain are nonnegative.
    """
    inner = dataclasses.replace(region, inside=(*region.inside, *domain))
    lows = [least_value(height, inner, on=k, budget=budget)[0] for k in range(len(region.inside))]
    lows += [least_value(height, inner, faces=(face,), budget=budget)[0] for face in region.faces]
    return {"c": float(min(lows))}

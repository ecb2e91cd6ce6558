"""Regions of state space: a box, and inequalities that cut a part out of it."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.validated.intervals import IntervalFunction
from dynsim._core.checked import checked
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import box_sides, number, reals
from dynsim.errors import ArgumentError

Condition = Callable[[Any], Any]
"""A scalar function of a state in JAX."""


@dataclasses.dataclass(frozen=True, repr=False)
class Region:
    """The points of a box at which all of some functions are at least zero.

    Attributes:
        sides: (low, high) for each component, (n, 2).
        inside: scalar functions of a state in JAX; a point of the box belongs to the region where none is negative.
        has_faces: whether the faces of the box belong to the boundary of the region; otherwise the box only bounds it.
        label: the region in words.
        is_convex: whether the region is known to be convex.
        is_simply_connected: whether it is known to be connected and without holes.
    """

    sides: Float[np.ndarray, "n 2"]
    inside: tuple[Condition, ...] = ()
    has_faces: bool = True
    label: str = "the region"
    is_convex: bool = False
    is_simply_connected: bool = False

    __repr__ = one_line

    @property
    def dimension(self) -> int:
        """Number of components of a state."""
        return len(self.sides)

    def __str__(self) -> str:
        return self.label

    @property
    def faces(self) -> list[tuple[int, int]]:
        """Component and end, 0 or 1, of each side of the box that belongs to the boundary."""
        return [(k, end) for k in range(self.dimension) for end in (0, 1)] if self.has_faces else []

    @property
    def inequalities(self) -> tuple[Condition, ...]:
        """Functions that are nonnegative exactly in the region: `inside`, and the distances from the faces."""
        lower: Callable[[int, float], Condition] = lambda k, c: lambda x: x[k] - c
        upper: Callable[[int, float], Condition] = lambda k, c: lambda x: c - x[k]
        return (*self.inside, *((lower, upper)[end](k, self.sides[k, end]) for k, end in self.faces))

    @functools.cached_property
    def bounds(self) -> IntervalFunction | None:
        """The functions of the region on boxes, traced once for all conditions; None without any."""
        stacked = lambda x: jnp.stack([jnp.reshape(g(x), ()) for g in self.inside])
        return IntervalFunction(stacked, self.dimension, "region") if self.inside else None

    def without(self, centre: ArrayLike, radius: float) -> "Region":
        """The region without an open ball around a point, as where a function vanishes at an equilibrium.

        Raises:
            ValueError: for a centre of another dimension or a radius that is not positive.
        """
        about, size = point("centre", centre, self.dimension), number("radius", radius)
        hole = lambda x: jnp.sum((x - about) ** 2) - size**2
        label = f"{self.label} without the ball of radius {size:g} about {written(about)}"
        return dataclasses.replace(
            self, inside=(*self.inside, hole), label=label, is_convex=False, is_simply_connected=False
        )


@checked
def box(sides: BoxLike) -> Region:
    """The region of all points of a box.

    Args:
        sides: (low, high) for each component.

    Raises:
        ValueError: for sides that are no box.

    Example:
        >>> from analysis.theorems import box
        >>> print(box([(-1.0, 1.0), (0.0, 2.0)]))
        the box [-1, 1] x [0, 2]
    """
    ends = box_sides("sides", sides).T
    label = "the box " + " x ".join(f"[{low:.6g}, {high:.6g}]" for low, high in ends)
    return Region(ends, label=label, is_convex=True, is_simply_connected=True)


@checked
def ball(centre: ArrayLike, radius: float) -> Region:
    """The region of all points within a distance of a centre.

    Args:
        centre: the centre, (n,).
        radius: the largest distance.

    Raises:
        ValueError: for a radius that is not positive.

    Example:
        >>> from analysis.theorems import ball
        >>> print(ball([0.0, 1.0], 2.0))
        the ball of radius 2 about (0, 1)
    """
    about, size = point("centre", centre), number("radius", radius)
    inside = lambda x: size**2 - jnp.sum((x - about) ** 2)
    label = f"the ball of radius {size:g} about {written(about)}"
    return Region(_around(about, size), (inside,), False, label, True, True)


@checked
def annulus(centre: ArrayLike, inner: float, outer: float) -> Region:
    """The region between two circles, or two spheres, about a centre.

    Args:
        centre: the centre, (n,).
        inner: the radius of the inner circle.
        outer: the radius of the outer circle.

    Raises:
        ValueError: for radii that are not positive, or an inner one that is not the smaller.

    Example:
        >>> from analysis.theorems import annulus
        >>> print(annulus([0.0, 0.0], 0.5, 1.5))
        the annulus of radii 0.5 and 1.5 about (0, 0)
    """
    about, small, large = point("centre", centre), number("inner", inner), number("outer", outer)
    if not small < large:
        raise ArgumentError("inner", f"be smaller than `outer` = {large:g}", f"is {small:g}")
    squares = lambda x: jnp.sum((x - about) ** 2)
    bounds = (lambda x: large**2 - squares(x), lambda x: squares(x) - small**2)
    label = f"the annulus of radii {small:g} and {large:g} about {written(about)}"
    return Region(_around(about, large), bounds, False, label)


@checked
def where(sides: BoxLike, *inside: Condition, label: str = "", bounds: bool = True) -> Region:
    """The region of the points of a box at which each of some functions is at least zero.

    Args:
        sides: (low, high) for each component.
        inside: scalar functions of a state in JAX.
        label: the region in words.
        bounds: whether the faces of the box bound the region, too; False if the inequalities alone do, so that the box
            only has to hold them.

    Raises:
        ValueError: for sides that are no box, or no function.

    Example:
        >>> from analysis.theorems import where
        >>> print(where([(0.0, 1.0), (0.0, 1.0)], lambda x: 1 - x[0] - x[1], label="a triangle"))
        a triangle
    """
    if not inside:
        raise ArgumentError("inside", "be at least one function of a state", "is missing")
    ends = box_sides("sides", sides).T
    said = label or f"the part of {box(ends)} given by {len(inside)} inequalities"
    return Region(ends, inside, bounds, said)


def as_region(region: Any, dimension: int | None = None, name: str = "region") -> Region:
    """Read a region, or a box given by its sides.

    Raises:
        ValueError: for what is neither, or has another dimension.
    """
    found = region if isinstance(region, Region) else box(region)
    if dimension is not None and found.dimension != dimension:
        must = f"have the dimension of the states, {dimension}"
        raise ArgumentError(name, must, f"has {found.dimension}")
    return found


def point(name: str, value: Any, dimension: int | None = None) -> np.ndarray:
    """Read a point of state space: a vector of finite numbers.

    Raises:
        ValueError: for anything else, or another number of components.
    """
    found = np.atleast_1d(np.asarray(reals(name, value), float))
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise ArgumentError(name, "be a vector of finite numbers", f"is {found}")
    if dimension is not None and len(found) != dimension:
        raise ArgumentError(name, f"have {dimension} components", f"has {len(found)}")
    return found


def positive_weights(weights: ArrayLike | None, dimension: int) -> np.ndarray:
    """Read positive weights of components; without any they are 1.

    Raises:
        ValueError: for anything else.
    """
    w = np.ones(dimension) if weights is None else point("weights", weights, dimension)
    if not np.all(w > 0):
        raise ArgumentError("weights", "be positive", f"are {w.tolist()}")
    return w


def _around(centre: np.ndarray, radius: float) -> np.ndarray:
    """The sides of a box that holds a ball, with room."""
    return np.stack([centre - 1.02 * radius, centre + 1.02 * radius], axis=1)


def written(point: Sequence[float] | np.ndarray) -> str:
    """Write a point in brackets."""
    return "(" + ", ".join(f"{float(v):.6g}" for v in point) + ")"

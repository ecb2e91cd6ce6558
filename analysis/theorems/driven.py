"""Fields with an input, or with time, as functions of the state and one more component."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.theorems.fields import Field, field_of
from analysis.theorems.regions import Region
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter


def driven_field(parameter: Any, dimension: int, theorem: str) -> Field:
    """The field of a flow whose parameter is an input, as a function of the state and the input, (n + 1,) to (n,).

    Raises:
        ValueError: for what is no parameter with a range around zero, or a system that the theorem is not about.
    """
    if not isinstance(parameter, Parameter):
        raise ArgumentError("parameter", "be a `dynsim.Parameter` with the range of the input", f"is {parameter!r}")
    if not parameter.low <= 0 <= parameter.high:
        raise ArgumentError("parameter", "have a range that holds zero", f"has {parameter.low:g} to {parameter.high:g}")
    field_of(parameter.system, dimension, theorem)
    return lambda z: jnp.reshape(
        parameter.at(z[dimension]).vector_field(jnp.zeros(()), z[:dimension]), (dimension,)
    )  # fmt: skip


def lengthened(region: Region, low: float, high: float) -> Region:
    """The states of a region with one more component, between two bounds, that does not bound it."""
    n = region.dimension
    inside = [lambda z, g=g: g(z[:n]) for g in region.inside]
    sides = region.sides
    if region.has_faces:
        for k, (lower, upper) in enumerate(region.sides):
            inside += [lambda z, k=k, c=lower: z[k] - c, lambda z, k=k, c=upper: c - z[k]]
        room = 0.02 * (sides[:, 1] - sides[:, 0])[:, None] * np.array([-1.0, 1.0])
        sides = sides + room
    return Region(np.vstack([sides, [low, high]]), tuple(inside), False, region.label)

"""The vector field of an autonomous flow, or the step of a map, as a function of a vector, for theorems."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import Hypothesis, known
from analysis.theorems.regions import Region
from dynsim.errors import ArgumentError
from dynsim.integrators.time_structure import uses_time
from dynsim.programs import ProgramError, evaluate, scalar_program
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

Field = Callable[[Any], Any]


def field_of(flow: Any, dimension: int, theorem: str) -> Field:
    """The field of an autonomous flow on Euclidean space as a function of vectors, (n,) to (n,).

    Raises:
        ValueError: for a map, a curved space, or a field that depends on time, naming the theorem.
    """
    timed_field_of(flow, dimension, theorem)
    like = np.zeros(dimension)
    if uses_time(flow, like):
        raise ArgumentError("flow", f"be autonomous, because {theorem} is about autonomous fields", "depends on time")
    return lambda x: jnp.reshape(flow.vector_field(jnp.zeros(()), x), (dimension,))


def timed_field_of(flow: Any, dimension: int, theorem: str) -> Field:
    """The field of a flow on Euclidean space as a function of the state and the time, (n + 1,) to (n,).

    Raises:
        ValueError: for a map or a curved space, naming the theorem.
    """
    if not isinstance(flow, AbstractFlow):
        raise ArgumentError("flow", f"be a flow, because {theorem} is about differential equations", _kind(flow))
    if not is_flat(flow.space):
        raise ArgumentError("flow", f"be on Euclidean space for {theorem}", f"is on {flow.space}")
    return lambda z: jnp.reshape(flow.vector_field(z[dimension], z[:dimension]), (dimension,))


def step_of(system: Any, dimension: int, theorem: str) -> Field:
    """The step of a map on Euclidean space as a function of vectors, (n,) to (n,).

    Raises:
        ValueError: for a flow or a curved space, naming the theorem.
    """
    if not isinstance(system, AbstractMap):
        raise ArgumentError("system", f"be a map, because {theorem} is about maps", _kind(system))
    if not is_flat(system.space):
        raise ArgumentError("system", f"be on Euclidean space for {theorem}", f"is on {system.space}")
    return lambda x: jnp.reshape(system.step(jnp.zeros((), int), x), (dimension,))


def in_plane(dimension: int, theorem: str) -> None:
    """Check that a theorem about the plane is asked of two components.

    Raises:
        ValueError: otherwise.
    """
    if dimension != 2:
        raise ArgumentError("flow", f"be in the plane for {theorem}", f"has {dimension} components")


def is_smooth(field: Field, dimension: int) -> bool:
    """Whether each operation of a function has all derivatives where it is defined."""
    try:
        return scalar_program(field, (dimension,)).is_smooth
    except ProgramError:
        return False


def smooth(field: Field, dimension: int, what: str = "the field") -> Hypothesis:
    """State whether a function has all derivatives where it is defined, by its operations; undecided if one may not."""
    return known(f"{what} is smooth", "each operation has all derivatives", is_smooth(field, dimension) or None)


def smooth_both(field: Field, V: Field, dimension: int) -> Hypothesis:
    """State whether a field and a scalar function have all derivatives."""
    return smooth(lambda x: jnp.append(field(x), V(x)), dimension, "the field with V")


def continuous(field: Field, dimension: int, what: str = "the field") -> Hypothesis:
    """State whether a function is continuous where it is defined, by its operations; undecided if one may jump."""
    try:
        has_no_jump = scalar_program(field, (dimension,)).is_continuous
    except ProgramError:
        has_no_jump = False
    return known(f"{what} is continuous", "no operation jumps", has_no_jump or None)


def value_at(fn: Field, at: np.ndarray) -> np.ndarray:
    """Evaluate a function at a point by its operations, without compiling any of them.

    Raises:
        ValueError: for a function that is no list of scalar operations.
    """
    try:
        return np.asarray(evaluate(scalar_program(fn, (len(at),)), at))
    except ProgramError as error:
        raise ArgumentError("flow", "use only operations that intervals can enclose", f"uses {error.uses}") from None


def divergence(field: Field) -> Field:
    """The divergence of a field."""
    return lambda x: jnp.trace(jax.jacfwd(field)(x))


def _kind(system: Any) -> str:
    word = "a map" if isinstance(system, AbstractMap) else "a flow" if isinstance(system, AbstractFlow) else None
    return f"is {word or type(system).__name__}"


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
    inside = tuple(lambda z, g=g: g(z[:n]) for g in region.inequalities)
    room = 0.02 * region.has_faces * np.diff(region.sides) * np.array([-1.0, 1.0])
    return Region(np.vstack([region.sides + room, [low, high]]), inside, False, region.label)

"""A parameter of a system with the range in which it varies: what continuation, diagrams and basins are drawn over."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from dynsim.errors import ArgumentError, shown
from dynsim.systems.named import Leaf, heading, parameter_unit, real_parameter, where, with_parameter


@dataclasses.dataclass(frozen=True, init=False, eq=False, repr=False)
class Parameter:
    """A real parameter of a flow or a map, and the range in which it varies.

    It is resolved and checked once, here; `at(value)` is the system at another value.

    Example:
        >>> import dynsim as ds
        >>> ds.Parameter(ds.catalogue.Lorenz(rho=0.5), "rho", 0.0, 30.0)
        Parameter rho of Lorenz: 0.5, from 0 to 30
    """

    system: Any
    take: Callable[[Any], Any]
    value: float
    low: float
    high: float
    name: str
    unit: str

    def __init__(
        self,
        system: Any,
        parameter: str | Callable[[Any], Any],
        low: float,
        high: float,
        *,
        name: str = "",
        unit: str = "",
    ):
        """Find the parameter and check its range.

        Args:
            system: the flow or the map, at its own value of the parameter.
            parameter: the name of the parameter, as `parameters(system)` lists it, or a function that takes it from the
                system, such as `lambda flow: flow.rho`.
            low: the least value.
            high: the largest value.
            name: what axes and tables call it; by default the name of the field.
            unit: its unit, for axes; by default the one that equations give in a comment.

        Raises:
            ValueError: if the system has no such real number, naming the nearest one, or for a range that is empty.
        """
        named = where(system, parameter) if isinstance(parameter, str) else parameter
        take, value = real_parameter("parameter", named, system)
        low, high = _range(low, high)
        unit = unit or parameter_unit(system, parameter) if isinstance(parameter, str) else unit
        word = name or (parameter if isinstance(parameter, str) else _field(take))
        for field, found in zip(
            dataclasses.fields(self), (system, take, value, low, high, word, unit), strict=True
        ):  # fmt: skip
            object.__setattr__(self, field.name, found)

    def __repr__(self) -> str:
        """Describe the parameter: its name, its system, the system's own value, and the range."""
        system = type(self.system).__name__
        return f"Parameter {self.name} of {system}: {self.value:g}, from {self.low:g} to {self.high:g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value."""
        return self.low, self.high

    @property
    def units(self) -> tuple[tuple[str, str], ...]:
        """The known units of this and the other parameters of the system, as (name, unit)."""
        others = tuple(getattr(self.system, "parameter_units", ()))
        return tuple({**dict(others), **({self.name: self.unit} if self.unit else {})}.items())

    @property
    def label(self) -> str:
        """The name with the unit in brackets, if it has one, as the label of an axis."""
        return heading(self.name, self.unit)

    def at(self, value: Any) -> Any:
        """The system at a value of the parameter."""
        return with_parameter(self.take, self.system, jnp.asarray(value))

    def of(self, system: Any) -> "Parameter":
        """The parameter of another system of the same kind, with the same range."""
        return Parameter(system, self.take, self.low, self.high, name=self.name, unit=self.unit)


def _range(low: Any, high: Any) -> tuple[float, float]:
    """Check a range of two increasing numbers; raise `ValueError` for anything else."""
    try:
        ends = float(low), float(high)
    except (TypeError, ValueError):
        raise ArgumentError(["low", "high"], "be numbers", f"are {shown(low)} and {shown(high)}") from None
    if not ends[0] < ends[1]:
        raise ArgumentError(["low", "high"], "be in increasing order", f"are {ends[0]:g} and {ends[1]:g}")
    return ends


def _field(take: Any) -> str:
    """Find the name of the field that a function selects; `parameter` if it is unknown."""
    return str(take.path[-1]) if isinstance(take, Leaf) and take.path else "parameter"

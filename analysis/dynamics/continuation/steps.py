"""Steps along a curve: the first one, the largest one, and the cap on points."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from dynsim._core.validation import function, instance, integer, number
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

LEAST = 1e-6  # of the first step: a branch that needs smaller ones ends
WIDE = 0.01  # of the width of the range of the parameter: steps become as large at least


@dataclasses.dataclass(frozen=True)
class Steps:
    """Steps of a continuation, in the norm of the state and the parameter together.

    State and parameter have units there in which they are of order one, so that steps are shares of their sizes; see
    `continue_equilibria`.

    Attributes:
        first: the first step.
        largest: the largest step; by default four times the first, or, if that is more, a hundredth of the range of the
            parameter.
        points: the cap on points in each direction, by default 1000, or 500 for curves of bifurcations; a branch that
            reaches it says so.
        marks: functions of the state and the parameter, by name: where one of them vanishes, the branch has a
            `Mark`, located like a bifurcation. Along periodic orbits they get a `Cycle(nodes, period)`.
        stops: such functions that end the branch where they become positive.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import Steps, continue_equilibria
        >>> flow = ds.FunctionFlow(lambda t, x, a=1.0: a - x**2, parameters={"a": 1.0})
        >>> watched = Steps(marks={"x = 0.5": lambda x, a: x[0] - 0.5}, stops={"x < -0.5": lambda x, a: -0.5 - x[0]})
        >>> branch = continue_equilibria(ds.Parameter(flow, "a", -1.0, 1.0), [1.0], steps=watched)
        >>> [(mark.name, round(mark.parameter, 6)) for mark in branch.marks], branch.ends[0]
        ([('x = 0.5', 0.25)], 'stop: x < -0.5')
    """

    first: float = 0.05
    largest: float | None = None
    points: int | None = None
    marks: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    stops: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        """Raise `ValueError` for steps that are not positive, less than two points, or what is no function."""
        for name in ("marks", "stops"):
            for one in instance(name, getattr(self, name), Mapping, "a dictionary of functions by name").values():
                function(name, one, "the state and the parameter", 2)
        number("first", self.first)
        if self.largest is not None:
            number("largest", self.largest)
        if self.points is not None:
            integer("points", self.points, least=2)

    def limits(self, parameter: Parameter, points: int, unit: float = 1.0) -> "Limits":
        """Collect the bounds and step sizes of a curve in a parameter; `points` is the default number of points."""
        low, high, size = parameter.low, parameter.high, float(self.first)
        if high - low < LEAST * size:
            must = f"have a range wider than {LEAST:g} of the first step" + (f", whose unit is {unit:g}" * (unit != 1))
            but = f"goes from {low * unit:g} to {high * unit:g}, with a first step of {size:g}"
            raise ArgumentError("parameter", must, but)
        largest = max(4 * size, WIDE * (high - low)) if self.largest is None else float(self.largest)
        cap = points if self.points is None else self.points
        return Limits((low, high), size, largest, cap, unit, self.largest is None, self.marks, self.stops)


class Limits(NamedTuple):
    """How far a curve is followed: bounds of the parameter, the first and the largest step, and the cap on points.

    The bounds are in the unit of the parameter of the curve. `free` says that the largest step is a default, which a
    curve may raise where its solutions are large. `marks` and `stops` are those of `Steps`.
    """

    bounds: tuple[float, float]
    step: float
    largest: float
    points: int
    unit: float = 1.0
    free: bool = False
    marks: Mapping[str, Any] = {}
    stops: Mapping[str, Any] = {}

"""The systems, regions, functions and numbers that the options of `dynsim theorem` name."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dynsim.cli.theorem.options import Theorem
from dynsim.errors import ArgumentError


class TheoremInput:
    """The system, the region and the functions that the options name."""

    def __init__(self, o: Theorem, made: Any):
        self.o, self.system, self._made = o, made.system, made
        self._start = made.state()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        from dynsim.systems.named import components

        size = self._start if self._start is not None else np.zeros(self._dimension())
        return components(self.system, size).names

    def _dimension(self) -> int:
        o = self.o
        if self.system.names:
            return len(self.system.names)
        if o.box:
            return len(o.box) // 2
        if o.ball or o.annulus:
            return len(o.ball) - 1 if o.ball else len(o.annulus) - 2
        return 2 if o.sets else len(o.near)

    def region(self) -> Any:
        """The region.

        Raises:
            ValueError: if there is none or more than one, or numbers are missing.
        """
        return self._region(self.o.where)

    def _region(self, inside: tuple[str, ...]) -> Any:
        """The box, ball or annulus, with these inequalities."""
        from analysis.theorems.regions import annulus, ball, box, where

        o = self.o
        given = [name for name in ("box", "ball", "annulus") if getattr(o, name)]
        if len(given) != 1:
            said = " and ".join(f"`--{name}`" for name in given) or "none"
            raise ArgumentError("region", "be given by one of `--box`, `--ball` and `--annulus`", f"has {said}")
        if inside and not o.box:
            raise ArgumentError("where", "come with bounds in `--box`", "does not")
        if o.ball:
            return ball(list(self._numbers("ball", 1)[:-1]), o.ball[-1])
        if o.annulus:
            return annulus(list(self._numbers("annulus", 2)[:-2]), *o.annulus[-2:])
        sides = self.sides()
        return where(sides, *map(self.text, inside), label=" and ".join(f"{one} >= 0" for one in inside)) if inside \
            else box(sides)  # fmt: skip

    def _numbers(self, name: str, more: int) -> tuple[float, ...]:
        given, count = getattr(self.o, name), len(self.names) + more
        if len(given) != count:
            raise ArgumentError(name, f"hold {count} numbers for {len(self.names)} components", f"holds {len(given)}")
        return given

    def sides(self) -> list[tuple[float, float]]:
        """The sides of the box."""
        if not self.o.box or len(self.o.box) % 2 or len(self.o.box) != 2 * len(self.names):
            must = f"hold a lower and an upper bound of each of {len(self.names)} components"
            raise ArgumentError("box", must, f"holds {len(self.o.box)} numbers")
        return list(zip(self.o.box[::2], self.o.box[1::2], strict=True))

    def near(self) -> list[float]:
        """The point of `--near`."""
        if not self.o.near:
            raise ArgumentError("near", "be given", "is missing")
        return list(self._numbers("near", 0))

    def points(self) -> list[list[float]]:
        """The points of `--near`, one after the other."""
        near, n = self.o.near, len(self.names)
        if not near or len(near) % n:
            raise ArgumentError("near", f"hold {n} numbers for each equilibrium", f"holds {len(near)}")
        return [list(near[k : k + n]) for k in range(0, len(near), n)]

    def function(self) -> Callable[[Any], Any]:
        """The function of `--function`."""
        if not self.o.function:
            raise ArgumentError("function", "be given as a text", "is missing")
        return self.text(self.o.function)

    def drive(self) -> Any:
        """The input of `--drive`."""
        from dynsim.cli.parsing.ranges import named_range
        from dynsim.systems.parameter import Parameter

        return Parameter(self.system, *named_range(self.o.drive, "drive", ascending=True))

    def supply(self) -> Callable[[Any, Any], Any]:
        """The text of `--supply` as a function of the state and the input."""
        from dynsim.systems.parameter import Parameter

        if not self.o.supply:
            raise ArgumentError("supply", "be given as a text", "is missing")
        name, flow = self.drive().name, self._value_of(self.o.supply)
        if name not in flow.parameters:
            return lambda x, u: flow.quantity("value_of_text", 0.0, x)
        driven = Parameter(flow, name, -1.0, 1.0)
        return lambda x, u: driven.at(u).quantity("value_of_text", 0.0, x)

    def modes(self) -> list[Any]:
        """The system at each value of `--modes`."""
        from dynsim.systems.parameter import Parameter

        name, _, values = self.o.modes.partition("=")
        try:
            found = [float(value) for value in values.split(",")]
        except ValueError:
            raise ArgumentError("modes", "be NAME=VALUE,VALUE", f"is `{self.o.modes}`") from None
        if len(set(found)) < 2:
            raise ArgumentError("modes", "hold two or more different values", f"is `{self.o.modes}`")
        parameter = Parameter(self.system, name, min(found), max(found))
        return [parameter.at(value) for value in found]

    def hybrid_parts(self) -> dict[str, Any]:
        """The modes of a hybrid system, with the functions and the domains of each, whose texts may name parameters."""
        from analysis.theorems.switching.hybrid_modes import hybrid_modes

        flows, switches = hybrid_modes(self._made.hybrid)
        modes = [TheoremInput(self.o, self._made._replace(system=flow)) for flow in flows]
        return {
            "modes": flows, "V": [one.function() for one in modes], "region": self._region(()),
            "equilibrium": self.near(), "switches": switches,
            "domains": [[one.text(text) for text in self.o.where] for one in modes],
        }  # fmt: skip

    def jumps(self) -> tuple[list[list[int]], Callable[[Any], Any]]:
        """The changes of `--jump` and their rates as a function of the state."""
        import jax.numpy as jnp

        if not self.o.jump:
            raise ArgumentError("jump", "be given as RATE:CHANGES", "is missing")
        changes, rates = [], []
        for one in self.o.jump:
            rate, _, step = one.rpartition(":")
            try:
                changes.append([int(part) for part in step.split(",")])
            except ValueError:
                raise ArgumentError(
                    "jump", "be RATE:CHANGES with integers, such as `g*x:-1,0`", f"is `{one}`"
                ) from None
            if len(changes[-1]) != len(self.names):
                raise ArgumentError("jump", f"change {len(self.names)} components", f"is `{one}`")
            rates.append(self.text(rate))
        return changes, lambda x: jnp.stack([jnp.reshape(rate(x), ()) for rate in rates])

    def text(self, text: str) -> Callable[[Any], Any]:
        """A text as a function of the state."""
        flow = self._value_of(text)
        return lambda x: flow.quantity("value_of_text", 0.0, x)

    def _value_of(self, text: str) -> Any:
        """A system of text with the quantity `value_of_text`."""
        import dynsim as ds
        from dynsim.systems.named import parameters

        words = set(re.findall(r"[^\W\d]\w*", text))
        values = {name: float(v) for name, v in parameters(self.system).items() if name in words and np.ndim(v) == 0}
        rest = "; ".join(f"{name}' = 0" for name in self.names)
        if "value_of_text" in words or "\n" in text or ";" in text or "=" in text:
            raise ArgumentError("function", "be one expression", f"is {text!r}")
        first = "value_of_text = "
        try:
            return ds.system(f"{first}{text}; {rest}", **values)  # pyright: ignore[reportArgumentType]
        except ArgumentError as error:
            column = lambda found: f"column {int(found[1]) - len(first)}"
            but = re.sub(r"(?:line 1, )?column (\d+)", column, error.but).replace(f"; {rest}", "the end")
            raise ArgumentError("function", error.must, but) from None

    def parameter(self) -> tuple[Any, float]:
        """The parameter of `--parameter` and its value."""
        (one,), (value,) = self.parameters(1)
        return one, value

    def parameters(self, count: int = 2) -> tuple[tuple[Any, ...], list[float]]:
        """The parameters of `--parameter` and their values."""
        from dynsim.systems.parameter import Parameter

        given = self.o.parameter
        if len(given) != count:
            must = "be NAME=VALUE" if count == 1 else f"be NAME=VALUE {count} times"
            raise ArgumentError("parameter", must, f"is {' '.join(given)!r}")
        found, values = [], []
        for one in given:
            name, sign, value = one.partition("=")
            if not sign:
                raise ArgumentError("parameter", "be NAME=VALUE", f"is {one!r}")
            try:
                values.append(float(value))
            except ValueError:
                raise ArgumentError("parameter", "be NAME=VALUE with a number", f"is {one!r}") from None
            reach = 1.0 + abs(values[-1])
            found.append(Parameter(self.system, name, values[-1] - reach, values[-1] + reach))
        return tuple(found), values

    def period(self, default: float | None = None) -> float:
        """The number of `--period`."""
        if self.o.period is None:
            if default is None:
                raise ArgumentError("period", "be given", "is missing")
            return default
        return self.o.period

    def steps(self, default: int) -> int:
        """The number of `--period` as a number of steps."""
        value = self.period(default)
        if value != int(value):
            raise ArgumentError("period", "be a number of steps", f"is {value:g}")
        return int(value)

    def circle(self) -> tuple[list[tuple[float, float]], float]:
        """The range of the action and the period of the angle, from the sides of the box."""
        (first, last), action = self.sides()[0], self.sides()[1:]
        return action, last - first

    def sets(self) -> np.ndarray:
        """The parallelograms of `--sets`."""
        if not self.o.sets or len(self.o.sets) % 6:
            raise ArgumentError("sets", "hold six numbers for each set", f"holds {len(self.o.sets)}")
        return np.reshape(self.o.sets, (-1, 3, 2))

    def covers(self) -> list[tuple[int, int]] | None:
        """The pairs of `--covers`, counted from 0."""
        pairs = []
        for pair in self.o.covers:
            found = re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", pair)
            if not found:
                raise ArgumentError("covers", "be pairs of sets such as 1-2", f"has {pair!r}")
            pairs.append((int(found[1]) - 1, int(found[2]) - 1))
        return pairs or None

    def fast(self) -> list[int]:
        """Indices of the fast components."""
        return self._indices("fast") or [0]

    def reflection(self) -> np.ndarray:
        """The symmetry of `--turned`: minus one for each component that is turned around, by default for all."""
        turned = self._indices("turned")
        return np.diag([-1.0 if k in turned or not turned else 1.0 for k in range(len(self.names))])

    def _indices(self, option: str) -> list[int]:
        names, given = self.names, getattr(self.o, option)
        for name in given:
            if name not in names:
                raise ArgumentError(option, f"name components, of {', '.join(names)}", f"has {name}")
        return [names.index(name) for name in given]

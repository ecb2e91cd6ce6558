"""Flows and maps from equations as text."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim._core.types import State, Step, Time
from dynsim.equations.evaluation import joined, values
from dynsim.equations.model import Model, model
from dynsim.errors import ArgumentError, nearest
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.noisy import NoisyFlow


class EquationText(eqx.Module):
    """The right-hand side of equations as a function of time, state and parameters.

    Two of them are equal if their texts are equal up to spaces and other spellings, and then share compiled programs.
    """

    text: str = eqx.field(static=True)
    given: tuple[str, ...] = eqx.field(static=True)

    @property
    def model(self) -> Model:
        """The operations of the text, which is read once."""
        return model(self.text, self.given)

    def __call__(self, t: Time | Step, x: State, /, **parameters: Any) -> jax.Array:
        """Derivatives of the components, or their next values."""
        made, x = self.model, self.checked(x)
        found = values(made.graph, [k for k, _ in made.outputs], t, x, parameters)
        return joined(x, [(value, size) for value, (_, size) in zip(found, made.outputs, strict=True)])

    def checked(self, x: Any) -> Any:
        """The state; raise `ArgumentError` unless it is a vector of the components."""
        size = len(self.model.names)
        if np.shape(x) != (size,):
            must = f"have one entry for each component, {', '.join(self.model.names[:8])}"
            raise ArgumentError("y0", must, f"has shape {np.shape(x)}")
        return x

    def amplitudes(self, t: Time, x: Any, parameters: Mapping[str, Any]) -> jax.Array:
        """Amplitude of the noise of each component, (n,), or directions of m noises, (n, m).

        There is one for each component if no two components share a noise and no component has two.
        """
        made, x = self.model, self.checked(x)
        numbers = [k for one in made.noise for k in one.values()]
        found = iter(values(made.graph, numbers, t, x, parameters))
        rows = [{name: next(found) for name in one} for one in made.noise]
        names = [name for row in rows for name in row]
        sizes = [size for _, size in made.outputs]
        if len(set(names)) == len(names) and max(map(len, rows)) <= 1 and self.own:
            return joined(x, [(next(iter(row.values()), 0.0), size) for row, size in zip(rows, sizes, strict=True)])
        columns: list[jax.Array] = []
        for name in dict.fromkeys(names):
            parts = [(row.get(name, 0.0), size) for row, size in zip(rows, sizes, strict=True)]
            whole = joined(x, parts)
            columns.append(jnp.diag(whole) if name.endswith("[]") else whole[:, None])
        return jnp.concatenate(columns, axis=1)

    @property
    def own(self) -> bool:
        """Whether each component of a family that has noise has noise of its own."""
        made = self.model
        return all(
            size == 1 or all(n.endswith("[]") for n in row)
            for row, (_, size) in zip(made.noise, made.outputs, strict=True)
        )


class FromText(eqx.Module):
    """What a text says about a system beside its equations, which `print` shows.

    `start` holds the initial values that the text gives, or is empty; `ranges` holds those of components, of parameters
    and of the time `t`, as (name, low, high), and `parameter_units` the units of parameters, as (name, unit).
    `defaults` holds options of `dynsim simulate` that the text gives, as (name, value). Errors call the system by its
    `word`.
    """

    word: ClassVar[str] = "the equations"
    start: tuple[float, ...] = eqx.field(static=True)
    ranges: tuple[tuple[str, float, float], ...] = eqx.field(static=True)
    parameter_units: tuple[tuple[str, str], ...] = eqx.field(static=True)
    defaults: tuple[tuple[str, str], ...] = eqx.field(static=True)

    def __init__(
        self,
        equations: EquationText,
        *,
        start: Sequence[float] = (),
        ranges: Sequence[Any] = (),
        parameter_units: Sequence[tuple[str, str]] = (),
        defaults: Sequence[tuple[str, str]] = (),
        **described: Any,
    ):
        """Store the right-hand side or the step, and what the text says about components and parameters."""
        super().__init__(equations, names=equations.model.names, **described)  # pyright: ignore[reportCallIssue]
        self.start, self.ranges = tuple(start), tuple(ranges)
        self.parameter_units, self.defaults = tuple(parameter_units), tuple(defaults)

    @property
    def equations(self) -> EquationText:
        """The right-hand side of a flow, or the step of a map."""
        return self.rhs if isinstance(self, FunctionFlow) else self.step_function  # pyright: ignore

    def quantity(self, name: str, t: Time | Step, x: State) -> jax.Array:
        """The value of an auxiliary quantity of the text at a time or a step, and a state."""
        return _quantity(self.equations, name, t, x, self.parameters)  # pyright: ignore

    def __str__(self) -> str:
        return written(self, self.equations)


class EquationFlow(FromText, FunctionFlow):
    """A flow from equations as text; `dynsim.system` makes it, and `print` shows its equations."""


class EquationMap(FromText, FunctionMap):
    """A map from equations as text; `dynsim.system` makes it, and `print` shows its equations."""


class EquationNoise(eqx.Module):
    """The noise of equations as text; its parameters are those of the flow."""

    equations: EquationText

    def __call__(self, t: Time, x: State) -> State:
        """Raise `ArgumentError`, because the parameters of the flow are needed."""
        raise ArgumentError("noise", "be evaluated with the parameters of its flow", "is evaluated alone")


class NoisyEquationFlow(NoisyFlow):
    """A stochastic differential equation from a text with terms such as `+ sigma*dW1`."""

    def __init__(self, flow: EquationFlow, *, calculus: str):
        """Store the flow without noise, whose parameters are also those of the noise."""
        super().__init__(flow, EquationNoise(flow.rhs), calculus=calculus)  # pyright: ignore[reportArgumentType]

    @property
    def start(self) -> tuple[float, ...]:
        """The initial values that the text gives."""
        return self.flow.start  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def ranges(self) -> tuple[tuple[str, float, float], ...]:
        """The ranges that the text gives."""
        return self.flow.ranges  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def parameter_units(self) -> tuple[tuple[str, str], ...]:
        """The units of parameters that the text gives."""
        return self.flow.parameter_units  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def defaults(self) -> tuple[tuple[str, str], ...]:
        """Options of `dynsim simulate` that the text gives."""
        return self.flow.defaults  # pyright: ignore[reportAttributeAccessIssue]

    def amplitude(self, t: Time, x: State) -> State:
        """Amplitude of the noise, with the parameters of the flow."""
        flow: Any = self.flow
        return self.noise.equations.amplitudes(t, x, flow.parameters)

    def __str__(self) -> str:
        return f"{self.flow}\n# noise in the sense of {self.calculus.capitalize()}"


def _quantity(rhs: Any, name: str, t: Any, x: Any, parameters: Mapping[str, Any]) -> jax.Array:
    known = rhs.model.quantities
    if name not in known:
        must = f"name a quantity that the text defines, {', '.join(known) or 'which has none'}"
        raise ArgumentError("name", must, f"is `{name}`{nearest(name, known)}")
    return jnp.asarray(values(rhs.model.graph, [known[name]], t, jnp.asarray(x), parameters)[0])


def written(system: Any, rhs: Any) -> str:
    """Equations, parameters and starts of a system, as a text from which `dynsim.system` makes it again."""
    units = {**dict(zip(system.names, system.units, strict=False)), **dict(system.parameter_units)}
    ranges = {name: (low, high) for name, low, high in system.ranges}
    remarks = {}
    for name in {*units, *ranges, *system.parameters}:
        unit = f" [{units[name]}]" if units.get(name) else ""
        bounds = " {:g}..{:g}".format(*ranges[name]) if name in ranges else ""
        remarks[name] = f"  #{unit}{bounds}" if unit or bounds else ""
    heads = dict(zip(system.names, (re.split(r"['(]", one)[0] for one in rhs.model.spelled), strict=True))
    found = []
    for line in rhs.text.split("\n"):
        head = re.split(r"['(\[]", line)[0]
        name = next((name for name, one in heads.items() if re.split(r"\[", one)[0] == head), "")
        found.append(line + remarks.get(name, ""))
    for name, value in system.parameters.items():
        if isinstance(value, Tracer):
            continue
        if np.ndim(value) == 0:
            found.append(f"{name} = {float(value):.12g}{remarks[name]}")
        else:
            found.append(f"# {name} = {', '.join(f'{entry:.6g}' for entry in np.asarray(value).tolist())}")
    found += [f"{one}(0) = {value:.12g}" for one, value in zip(rhs.model.spelled, system.start, strict=False)]
    unit = getattr(system, "time_unit", "")
    times = " {:g}..{:g}".format(*ranges["t"]) if "t" in ranges else ""
    found += [f"# t [{unit}]{times}"] if unit else [f"# t:{times}"] if times else []
    options = ", ".join(f"{name}={value}" for name, value in system.defaults)
    return "\n".join([*found, *([f"# simulate: {options}"] if options else [])])

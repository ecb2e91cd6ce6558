"""What a page must know about a system: its names, numbers and ranges, and its field as JavaScript."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dynsim._core.validation import instance, number
from dynsim.equations.functions import GREEK
from dynsim.errors import ArgumentError, nearest, reason
from dynsim.keys import random_key
from dynsim.programs import Program, ProgramError, jacobian_program, scalar_program
from dynsim.programs.javascript import statements
from dynsim.simulation.checks import as_state
from dynsim.spaces.euclidean import Flat
from dynsim.systems.base import AbstractFlow, AbstractMap, jax_errors
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.named import components, listed, parameter_unit, parameters, where
from dynsim.systems.noisy import NoisyFlow

MOST = 12
"""Most components of a state: a page with more has no room for their sliders."""
ENTRIES = 12
"""Most entries of an array that has a slider for each; the numbers of larger ones are fixed."""
STEPS = {1: 50}
MANY_STEPS = 1000
HORIZON = 50.0


class PageModel(NamedTuple):
    """A system as a page sees it.

    Attributes:
        described: names, labels, values and ranges, ready for JSON.
        script: the JavaScript functions `field` and `jacobian` of (t, x, p, y), which write their values to y.
    """

    described: dict[str, Any]
    script: str


def model(
    system: Any,
    start: Any = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    plane: Sequence[str] = (),
    horizon: float | None = None,
) -> PageModel:
    """Describe a system for a page.

    Args:
        system: the flow or the map.
        start: the initial state; by default the one that the system has, or a random one if its components have names.
        ranges: lower and upper end for parameters and components by name; others are chosen by their values.
        plane: names of the two components that are drawn; by default the first two.
        horizon: length of trajectories in time units or steps; by default that of the time in equations, or 50 (1,000
            for maps of several components).

    Raises:
        ArgumentError: for a system that a page cannot hold, and for unknown names or empty ranges.
    """
    check_system(system)
    x = _start(system, start)
    flat, restored = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), x))
    d = int(flat.size)
    if not 1 <= d <= MOST:
        raise ArgumentError("system", f"have from 1 to {MOST} components to be explored", f"has {d}")
    known, values = components(system, x), _values(system)
    names = _distinct(known.names, values)
    given = _ranges({} if ranges is None else ranges, [*values, *names])
    own = {name: (low, high) for name, low, high in getattr(system, "ranges", ())}
    chosen = {**{name: ends for name, ends in own.items() if name in values or name in names}, **given}
    box = _box(system, names, np.asarray(flat), chosen)
    script, forced = _functions(system, values, d, restored)
    described: dict[str, Any] = {
        "isMap": isinstance(system, AbstractMap),
        "names": [*known.names],
        "labels": [label(name) for name in known.names],
        "units": [*known.units],
        "timeUnit": known.time_unit,
        "parameters": [
            {
                "name": name,
                "label": label(name),
                "unit": parameter_unit(system, name.partition("[")[0]),
                "value": value,
                "range": _range(value, chosen.get(name)),
            }
            for name, value in values.items()
        ],  # fmt: skip
        "start": [float(a) for a in flat],
        "box": box,
        "periods": [p if math.isfinite(p) else None for p in _periods(system, x)],
        "plane": _plane(known, plane),
        "horizon": _horizon(system, d, horizon),
        "swept": next((k for k, name in enumerate(values) if name in chosen), 0),
        "forced": forced,
        "forcing": _forcing(system),
    }
    return PageModel(described, script)


def check_system(system: Any) -> None:
    """Raise `ArgumentError` for a system that has no page: one with noise, on a curved space, or evaluated in NumPy."""
    instance("system", system, AbstractFlow | AbstractMap, "a flow or a map")
    if isinstance(system, NoisyFlow):
        raise ArgumentError("system", "be deterministic to be explored", "is a flow with noise")
    if not isinstance(system.space, Flat):
        kind = type(system.space).__name__.lower()
        raise ArgumentError("system", "be on Euclidean space or have angles to be explored", f"is on the {kind}")
    if getattr(system, "on_host", False):
        raise ArgumentError("system", "be a map in JAX to be explored", "is evaluated in NumPy")


def component_names(system: Any, start: Any) -> list[str]:
    """Names by which ranges of the components are given: with (0) behind those that a parameter has, too."""
    check_system(system)
    return _distinct(components(system, _start(system, start)).names, _values(system))


def _distinct(names: Sequence[str], values: Mapping[str, float]) -> list[str]:
    return [f"{name}(0)" if name in values else name for name in names]


def label(name: str) -> str:
    """A name with Greek letters in place of their names, such as `omega_1` as ω_1."""
    letter, under, rest = name.partition("_")
    if letter not in GREEK:
        return name
    import unicodedata

    spelled = letter if letter != "lambda" else "lamda"
    kind = "CAPITAL" if letter[0].isupper() else "SMALL"
    return f"{unicodedata.lookup(f'GREEK {kind} LETTER {spelled.upper()}')}{under}{rest}"


def _start(system: Any, start: Any) -> Any:
    if start is not None:
        return as_state("start", start)
    if getattr(system, "start", ()):
        return jnp.asarray(system.start)
    for entry in CATALOGUE.values():
        if entry.kind is type(system) and len(entry.start) == len(system.names):
            return jnp.asarray(entry.start)
    if not system.names:
        raise ArgumentError("start", "be given for a system whose components have no names", "is not")
    return jnp.round(system.space.sample(random_key(0, "start"), (len(system.names),)), 2)


def _arrays(system: Any) -> dict[str, Any]:
    """Parameters that have sliders, in the order in which the system declares them."""
    found = {name: leaf for name, leaf in parameters(system).items() if leaf.size <= ENTRIES}
    declared = [name for name in getattr(system, "parameters", ()) if name in found]
    return {name: found[name] for name in (*declared, *(found.keys() - {*declared} if declared else found))}


def _values(system: Any) -> dict[str, float]:
    """Numbers that have sliders, by name: parameters, and entries of short arrays."""
    found = {}
    for name, leaf in _arrays(system).items():
        for place in np.ndindex(leaf.shape):
            index = f"[{','.join(str(k + 1) for k in place)}]" if place else ""
            found[name + index] = float(leaf[place])
    return found


def _with_values(system: Any, given: jax.Array) -> Any:
    """The system with new numbers, in the order of `_values`; to be traced."""
    first = 0
    for name, leaf in _arrays(system).items():
        entries = given[first : first + leaf.size].reshape(leaf.shape).astype(leaf.dtype)
        system, first = eqx.tree_at(where(system, name), system, entries), first + leaf.size
    return system


def _ranges(ranges: Mapping[str, Sequence[float]], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, ends in ranges.items():
        if name not in names:
            must = f"name a parameter or a component, {listed(tuple(names))}"
            raise ArgumentError("ranges", must, f"names `{name}`{nearest(name, names)}")
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low, high = math.nan, math.nan
        if not (low < high and math.isfinite(low) and math.isfinite(high)):
            raise ArgumentError("ranges", "hold a lower and a higher number for each name", f"hold {ends} for `{name}`")
        found[name] = low, high
    return found


def _range(value: float, ends: tuple[float, float] | None) -> list[float]:
    """Ends of the slider of a parameter; by default from zero to twice its value."""
    reach = 2 * abs(value) or 1.0
    low, high = ends or ((0.0, reach) if value > 0 else (-reach, reach))
    return [min(low, value), max(high, value)]


def _box(
    system: Any, names: Sequence[str], flat: np.ndarray, ranges: Mapping[str, tuple[float, float]]
) -> list[list[float]]:
    """The window of each component: its range, the catalogue's, or three times the largest start around zero."""
    entry = next((e for e in CATALOGUE.values() if e.kind is type(system) and len(e.box) == 2 * len(names)), None)
    reach = 3 * float(np.max(np.abs(flat), initial=1.0))
    found = []
    for k, name in enumerate(names):
        ends = ranges.get(name) or (entry.box[2 * k : 2 * k + 2] if entry else (-reach, reach))
        found.append([float(end) for end in ends])
    return found


def _periods(system: Any, x: Any) -> list[float]:
    return [float(p) for leaf in jax.tree.leaves(system.space.periods(x)) for p in np.ravel(leaf)]


def _plane(known: Any, plane: Sequence[str]) -> list[int]:
    d = len(known.names)
    if not plane:
        return [0, min(1, d - 1)]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ArgumentError("plane", "name two different components", f"is {', '.join(plane)}")
    return [known.index(name, "plane") for name in plane]


def _horizon(system: Any, d: int, horizon: float | None) -> float:
    if horizon is None:
        if isinstance(system, AbstractMap):
            return STEPS.get(d, MANY_STEPS)
        low, high = {name: ends for name, *ends in getattr(system, "ranges", ())}.get("t", (0.0, HORIZON))
        return high - low
    return number("horizon", horizon, must="be a positive number")


def _forcing(system: Any) -> dict[str, Any]:
    """The period of the forcing: 2 pi over a parameter called omega, twice the step limit, or 2 pi."""
    limit = getattr(system, "step_limit", lambda: math.inf)()
    if "omega" in _values(system):
        return {"by": "omega", "period": 2 * math.pi}
    return {"by": "", "period": 2 * limit if math.isfinite(limit) else 2 * math.pi}


def _functions(system: Any, values: Mapping[str, float], d: int, restored: Any) -> tuple[str, bool]:
    """The field and its Jacobian as JavaScript, and whether the field depends on time."""
    count = len(values)
    is_map = isinstance(system, AbstractMap)

    def field(x: jax.Array, t: jax.Array, p: jax.Array) -> jax.Array:
        made = _with_values(system, p)
        state = restored(x)
        moved = made.image(t, state) if is_map else made.vector_field(t, state)
        return ravel_pytree(moved)[0]

    shapes = (d,), jax.ShapeDtypeStruct((), int if is_map else float), (count,)
    try:
        with jax_errors():
            program = scalar_program(field, *shapes)
            slopes = jacobian_program(field, *shapes, drop_zeros=True)
        text = _function("field", program, d, count), _function("jacobian", slopes, d, count)
    except ProgramError as error:
        raise ArgumentError("system", "consist of scalar operations to be explored", f"uses {error.uses}") from None
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        must = "be a function in JAX to be explored"
        raise ArgumentError("system", must, f"raises {type(error).__name__}: {reason(error)}") from None
    return "\n".join(text), _depends_on(program, d)


def _function(name: str, program: Program, d: int, count: int) -> str:
    inputs = [*(f"x[{k}]" for k in range(d)), "t", *(f"p[{k}]" for k in range(count))]
    size = sum(output.size for output in program.outputs)
    return f"function {name}(t, x, p, y) {statements(program, inputs, [f'y[{k}]' for k in range(size)])}"


def _depends_on(program: Program, k: int) -> bool:
    """Whether an output of a program depends on an entry of the input."""
    found = {k}
    for number_, operation in enumerate(program.operations, program.first_operation):
        if not found.isdisjoint(operation.operands):
            found.add(number_)
    return any(not found.isdisjoint(output.ravel().tolist()) for output in program.outputs)

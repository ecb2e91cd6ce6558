"""Names and units of the components of a state, and parameters of a system by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import State
from dynsim._core.validation import function, reals
from dynsim.errors import ArgumentError, nearest, shown


class Components(NamedTuple):
    """Names and units of the components of a flat state, in the order of `ravel_pytree`; "" means no unit."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    time_unit: str = ""

    def headings(self) -> tuple[str, ...]:
        """Column headings of a table: the names, with units in brackets."""
        return tuple(heading(name, unit) for name, unit in zip(self.names, self.units, strict=True))

    def index(self, name: str, argument: str = "component") -> int:
        """Index of a component by name; raise `ValueError` with the nearest name if there is none."""
        if name not in self.names:
            must = f"name a component of the state, {listed(self.names)}"
            raise ArgumentError(argument, must, f"is `{name}`{nearest(name, self.names)}")
        return self.names.index(name)

    def place(self, one: str | int, argument: str = "component") -> int:
        """Index of a component that is given by its name or its index; raise `ValueError` if there is none."""
        if isinstance(one, str):
            return self.index(one, argument)
        if not 0 <= one < len(self.names):
            raise ArgumentError(
                argument, f"be from 0 to {len(self.names) - 1}, or of {listed(self.names)}", f"is {one}"
            )
        return one


def heading(name: str, unit: str) -> str:
    """A name with its unit in brackets, if it has one."""
    return f"{name} ({unit})" if unit else name


def parameter_unit(system: Any, name: str) -> str:
    """The unit of a parameter, as equations declare it, or ""."""
    return dict(getattr(system, "parameter_units", ())).get(name, "")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names separated by commas; of many names only the first `most`."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def components(system: Any, state: State) -> Components:
    """Names and units of the components of a state, as the system declares them.

    A system declares one name for each component of a vector, or for each column of a matrix. Undeclared components are
    called x_1, x_2, ..., and entries of a matrix x_1,1, x_1,2, .... In a named tuple the field replaces x.

    Raises:
        ValueError: if the number of names or units does not match the state.
    """
    given: tuple[str, ...] = tuple(getattr(system, "names", ()))
    units: tuple[str, ...] = tuple(getattr(system, "units", ()))
    shapes = {name: tuple(np.shape(leaf)) for name, leaf in _leaves(state)}
    size = sum(int(np.prod(shape)) for shape in shapes.values())
    names = tuple(name for leaf, shape in shapes.items() for name in _numbered(leaf, shape))
    columns = {shape[-1] if shape else 1 for shape in shapes.values()} if len(shapes) == 1 else {size}
    for word, found in (("names", given), ("units", units)):
        if found and len(found) != size and {len(found)} != columns:
            raise ArgumentError(word, f"have one entry for each of {size} components", f"has {len(found)}")
    if given:
        rows = size // len(given)
        names = given if rows == 1 else tuple(f"{name}_{row + 1}" for row in range(rows) for name in given)
    units = units * (size // len(units)) if units else ("",) * size
    return Components(names, units, str(getattr(system, "time_unit", "")))


def _leaves(state: State) -> list[tuple[str, Any]]:
    """The arrays of a state with the names of its parts, or x for a state that is one array."""
    paths = jax.tree_util.tree_flatten_with_path(state)[0]
    word: Any = lambda path: ".".join(str(getattr(key, "name", getattr(key, "idx", key))) for key in path)
    return [(word(path) or "x", leaf) for path, leaf in paths]


def _numbered(name: str, shape: tuple[int, ...]) -> list[str]:
    places = np.ndindex(*shape)
    return [f"{name}_{','.join(str(k + 1) for k in place)}" if place else name for place in places]


def declared(name: str, values: Any) -> tuple[str, ...]:
    """Check names or units and return them as a tuple; raise `ValueError` for another type or a repeated name."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(v, str) for v in values):
        raise ArgumentError(name, "be a sequence of words", f"is {shown(values)}")
    if name == "names" and len(set(values)) < len(values):
        twice = next(value for k, value in enumerate(values) if value in values[:k])
        raise ArgumentError(name, "be different", f"`{twice}` is given twice")
    return tuple(values)


def declared_parameters(values: Any) -> dict[str, jax.Array]:
    """Check the parameters of a user's function and return them as arrays by name."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise ArgumentError("parameters", "be a mapping of names to numbers", f"is {shown(values)}")
    return {name: jnp.asarray(reals(f"parameters[{name!r}]", value), float) for name, value in values.items()}


def parameters(system: Any) -> dict[str, jax.Array]:
    """Parameters of a system by name: all its floating-point arrays, including those of its parts.

    A parameter is called by its own name if this is unique, otherwise by its path, such as `rhs.rate`.

    Example:
        >>> from dynsim.catalogue import Lorenz
        >>> sorted(parameters(Lorenz()))
        ['beta', 'rho', 'sigma']
    """
    found = _located(system)
    return {name: leaf for name, (_, leaf) in found.items()}


class Leaf(eqx.Module):
    """The leaf at a path of attributes and keys; leaves of equal paths compare equal, which avoids recompilation."""

    path: tuple[str | int, ...] = eqx.field(static=True)

    def __call__(self, system: Any) -> Any:
        """The leaf of the given system."""
        for key in self.path:
            system = system[key] if isinstance(key, int) or isinstance(system, Mapping) else getattr(system, key)
        return system


class InUnit(eqx.Module):
    """A parameter that varies in multiples of a unit, as in continuation; see `real_parameter`."""

    take: Callable[[Any], Any] = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    def __call__(self, system: Any) -> Any:
        """The leaf itself, in its original unit."""
        return self.take(system)


def where(system: Any, name: str, argument: str = "parameter") -> Leaf:
    """Function that selects a parameter of a system by name, for `eqx.tree_at` and continuation.

    Raises:
        ValueError: if there is no such parameter; the sentence names the nearest one.
    """
    found = _located(system)
    if name not in found:
        word = getattr(type(system), "word", type(system).__name__)
        must = f"name a parameter of {word}, {listed(tuple(found)) or 'which has none'}"
        raise ArgumentError(argument, must, f"is `{name}`{nearest(name, found)}")
    path = found[name][0]
    return Leaf(path)


def changed(system: Any, values: Mapping[str, Any]) -> Any:
    """The system with new values of some parameters.

    Raises:
        ValueError: for a parameter that does not exist, or a value of the wrong shape.

    Example:
        >>> from dynsim.catalogue import Lorenz
        >>> float(changed(Lorenz(), {"rho": 0.5}).rho)
        0.5
    """
    for name, value in values.items():
        take = where(system, name, name)
        old, new = take(system), reals(name, value)
        if new.shape != old.shape:
            raise ArgumentError(name, f"have shape {old.shape}", f"has shape {new.shape}")
        system = eqx.tree_at(take, system, jnp.asarray(new, old.dtype))
    return system


def real_parameter(name: str, where: Any, system: Any) -> tuple[Callable[[Any], Any], float]:
    """Function that selects a real parameter of a system, and its value, in its unit if it has one.

    If `where` selects a leaf, the returned function compares equal to every other one with the same path. A new lambda
    at every call, such as `where=lambda flow: flow.mu`, therefore causes no recompilation.

    Raises:
        ValueError: if `where` finds no real number; the sentence names the argument `name` and the nearest field.
    """
    if isinstance(where, InUnit):
        take, value = real_parameter(name, where.take, system)
        return InUnit(take, where.unit), value / where.unit
    function(name, where, "the flow")
    must = "return a real number of the flow"
    try:
        found = where(system)
        value = np.asarray(found, float)
    except AttributeError as error:
        declared = [f'parameters["{k}"]' for k in getattr(error.obj, "parameters", {}) if k == error.name]
        fields = [k for k in getattr(error.obj, "__dataclass_fields__", {}) if k != "space"]
        meant = f", did you mean `{declared[0]}`?" if declared else nearest(str(error.name), fields)
        missing = f"has no `{error.name}`{meant}"
        raise ArgumentError(name, must, f"{type(error.obj).__name__} {missing}") from None
    except KeyError as error:
        key = str(error.args[0])
        raise ArgumentError(name, must, f"finds no `{key}`{nearest(key, _located(system))}") from None
    except (TypeError, ValueError, IndexError):
        raise ArgumentError(name, must, "does not") from None
    if value.size != 1:
        raise ArgumentError(name, "return one real number of the flow", f"returns shape {value.shape}")
    if not np.isfinite(value).all():
        raise ArgumentError(name, "return a finite number of the flow", f"returns {shown(value.item())}")
    if isinstance(where, Leaf):
        return where, float(value.item())
    paths = [path for path, leaf in _places(system) if leaf is found]
    return Leaf(paths[0]) if len(paths) == 1 else where, float(value.item())


def with_parameter(where: Any, system: Any, value: Any) -> Any:
    """The system with a new value of a real parameter, in its unit if it has one; see `real_parameter`."""
    if isinstance(where, InUnit):
        where, value = where.take, where.unit * value
    return eqx.tree_at(where, system, jnp.reshape(value, jnp.shape(where(system))))


def _places(system: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    """Path and value of each leaf that can be reached by attributes and keys."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(system)[0]:
        keys = tuple(getattr(key, "name", getattr(key, "key", getattr(key, "idx", None))) for key in path)
        if None not in keys:
            found.append((keys, leaf))
    return found


def _located(system: Any) -> dict[str, tuple[tuple[str | int, ...], Any]]:
    """Path and value of each parameter, by name."""
    places = [
        (keys, leaf)
        for keys, leaf in _places(system)
        if isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    short = [str(keys[-1]) for keys, _ in places]
    names = [
        word if short.count(word) == 1 and isinstance(keys[-1], str) else ".".join(map(str, keys))
        for word, (keys, _) in zip(short, places, strict=True)
    ]
    return dict(zip(names, places, strict=True))

"""Names: of the components of a state, with their units, and of the parameters of a system."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import State
from dynsim._core.validation import function, reals
from dynsim.errors import argument_error, nearest, shown


class Components(NamedTuple):
    """Names and units of the components of a flat state, in the order of `ravel_pytree`; a unit is "" for none."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    time_unit: str = ""

    def headings(self) -> tuple[str, ...]:
        """Return the names with their units in brackets, as headings of a table."""
        return tuple(heading(name, unit) for name, unit in zip(self.names, self.units, strict=True))

    def index(self, name: str, argument: str = "component") -> int:
        """Return the index of a component; raise `ValueError`, naming the argument and the nearest name, for no one."""
        if name not in self.names:
            must = f"name a component of the state, {listed(self.names)}"
            raise argument_error(argument, must, f"is `{name}`{nearest(name, self.names)}")
        return self.names.index(name)


def heading(name: str, unit: str) -> str:
    """Return a name with its unit in brackets, if it has one."""
    return f"{name} ({unit})" if unit else name


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names in a row, of many the first."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def components(system: Any, state: State) -> Components:
    """Return the names and units of the components of a state, as the system declares them.

    A system declares one name for each component of a vector, or for each column of a matrix. Without a declaration
    they are x_1, x_2, ...; entries of a matrix are x_1,1, x_1,2, ..., and those of a named tuple begin with its fields.

    Raises:
        ValueError: if the numbers of names or units do not fit the state.
    """
    given: tuple[str, ...] = tuple(getattr(system, "names", ()))
    units: tuple[str, ...] = tuple(getattr(system, "units", ()))
    shapes = {name: tuple(np.shape(leaf)) for name, leaf in _leaves(state)}
    size = sum(int(np.prod(shape)) for shape in shapes.values())
    names = tuple(name for leaf, shape in shapes.items() for name in _numbered(leaf, shape))
    columns = {shape[-1] if shape else 1 for shape in shapes.values()} if len(shapes) == 1 else {size}
    for word, found in (("names", given), ("units", units)):
        if found and len(found) != size and {len(found)} != columns:
            raise argument_error(word, f"have one entry for each of {size} components", f"has {len(found)}")
    if given:
        rows = size // len(given)
        names = given if rows == 1 else tuple(f"{name}_{row + 1}" for row in range(rows) for name in given)
    units = units * (size // len(units)) if units else ("",) * size
    return Components(names, units, str(getattr(system, "time_unit", "")))


def _leaves(state: State) -> list[tuple[str, Any]]:
    """Return the arrays of a state with the names of its parts, x for a state that is one array."""
    paths = jax.tree_util.tree_flatten_with_path(state)[0]
    word: Any = lambda path: ".".join(str(getattr(key, "name", getattr(key, "idx", key))) for key in path)
    return [(word(path) or "x", leaf) for path, leaf in paths]


def _numbered(name: str, shape: tuple[int, ...]) -> list[str]:
    places = np.ndindex(*shape)
    return [f"{name}_{','.join(str(k + 1) for k in place)}" if place else name for place in places]


def declared(name: str, values: Any) -> tuple[str, ...]:
    """Return names or units as a tuple of words; raise `ValueError` for anything else, or a name given twice."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(v, str) for v in values):
        raise argument_error(name, "be a sequence of words", f"is {shown(values)}")
    if name == "names" and len(set(values)) < len(values):
        twice = next(value for k, value in enumerate(values) if value in values[:k])
        raise argument_error(name, "be different", f"`{twice}` is given twice")
    return tuple(values)


def declared_parameters(values: Any) -> dict[str, jax.Array]:
    """Return parameters of a user's function as arrays by name; raise `ValueError` for anything else."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise argument_error("parameters", "be a mapping of names to numbers", f"is {shown(values)}")
    return {name: jnp.asarray(reals(f"parameters[{name!r}]", value), float) for name, value in values.items()}


def parameters(system: Any) -> dict[str, jax.Array]:
    """Return the parameters of a system by name: its arrays of real numbers, and those of its parts.

    A part's parameter has its own name if no other has the same, else the path to it, such as `rhs.rate`.
    """
    found = _located(system)
    return {name: leaf for name, (_, leaf) in found.items()}


class Leaf(eqx.Module):
    """The leaf at a path of attributes and keys; equal paths are equal functions, so that nothing is compiled twice."""

    path: tuple[str | int, ...] = eqx.field(static=True)

    def __call__(self, system: Any) -> Any:
        """Return the leaf."""
        for key in self.path:
            system = system[key] if isinstance(key, int) or isinstance(system, Mapping) else getattr(system, key)
        return system


class InUnit(eqx.Module):
    """A leaf, taken by a function, whose values are multiples of a unit where it varies; see `real_parameter`."""

    take: Callable[[Any], Any] = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    def __call__(self, system: Any) -> Any:
        """Return the leaf itself."""
        return self.take(system)


def where(system: Any, name: str, argument: str = "parameter") -> Leaf:
    """Return the function that takes a parameter out of such a system, as `eqx.tree_at` and continuation use it.

    Raises:
        ValueError: for no such parameter, naming the nearest one.
    """
    found = _located(system)
    if name not in found:
        must = f"name a parameter of {type(system).__name__}, {listed(tuple(found)) or 'which has none'}"
        raise argument_error(argument, must, f"is `{name}`{nearest(name, found)}")
    path = found[name][0]
    return Leaf(path)


def changed(system: Any, values: Mapping[str, Any]) -> Any:
    """Return the system with other values of some parameters.

    Raises:
        ValueError: for a parameter that does not exist, or a value of another shape.
    """
    for name, value in values.items():
        take = where(system, name, name)
        old, new = take(system), reals(name, value)
        if new.shape != old.shape:
            raise argument_error(name, f"have shape {old.shape}", f"has shape {new.shape}")
        system = eqx.tree_at(take, system, jnp.asarray(new, old.dtype))
    return system


def real_parameter(name: str, where: Any, system: Any) -> tuple[Callable[[Any], Any], float]:
    """Return a function that takes a real number of a system, and the number, in its unit if it has one.

    If `where` takes a leaf, the function has its path, and equals others that have it: `where=lambda flow: flow.mu`, a
    new function at every call, compiles nothing twice.

    Raises:
        ValueError: if it finds none, with the nearest name of a field; `name` is that of the argument.
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
        raise argument_error(name, must, f"{type(error.obj).__name__} {missing}") from None
    except KeyError as error:
        key = str(error.args[0])
        raise argument_error(name, must, f"finds no `{key}`{nearest(key, _located(system))}") from None
    except (TypeError, ValueError, IndexError):
        raise argument_error(name, must, "does not") from None
    if value.size != 1:
        raise argument_error(name, "return one real number of the flow", f"returns shape {value.shape}")
    if not np.isfinite(value).all():
        raise argument_error(name, "return a finite number of the flow", f"returns {shown(value.item())}")
    if isinstance(where, Leaf):
        return where, float(value.item())
    paths = [path for path, leaf in _places(system) if leaf is found]
    return Leaf(paths[0]) if len(paths) == 1 else where, float(value.item())


def with_parameter(where: Any, system: Any, value: Any) -> Any:
    """Return a system with another value of a real parameter, in its unit if it has one; see `real_parameter`."""
    if isinstance(where, InUnit):
        where, value = where.take, where.unit * value
    return eqx.tree_at(where, system, jnp.reshape(value, jnp.shape(where(system))))


def _places(system: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return the path and the value of each leaf that attributes and keys lead to."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(system)[0]:
        keys = tuple(getattr(key, "name", getattr(key, "key", getattr(key, "idx", None))) for key in path)
        if None not in keys:
            found.append((keys, leaf))
    return found


def _located(system: Any) -> dict[str, tuple[tuple[str | int, ...], Any]]:
    """Return the path and the value of each parameter by name."""
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

"""The points of a sweep: a grid or a list of parameters with seeds, and what tells two sweeps apart."""

import dataclasses
import hashlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.validation import integer
from dynsim.errors import argument_error, shown
from dynsim.simulation.run_files import versions

TAKEN = ("key", "seed", "point", "status", "cause")  # names that parameters cannot have


@dataclass(frozen=True)
class Points:
    """The points: their parameters and seeds, the names and lengths of the dimensions, the coordinates on them."""

    values: tuple[dict[str, Any], ...]
    seeds: tuple[int | None, ...]
    dims: dict[str, int]
    coords: dict[str, tuple[str, list[Any]]]


def points_of(parameters: Any, seeds: Any) -> Points:
    """Return the points of a grid or a list, the seeds innermost; raise `ValueError` for anything else, or for none."""
    if isinstance(parameters, Mapping):
        axes = {_name(name): _sequence(name, values) for name, values in parameters.items()}
        values = [dict(zip(axes, combined, strict=True)) for combined in itertools.product(*axes.values())]
        dims = {name: len(entries) for name, entries in axes.items()}
        coords = {name: (name, entries) for name, entries in axes.items()}
    elif isinstance(parameters, Sequence) and parameters and all(isinstance(p, Mapping) for p in parameters):
        values = [{_name(name): _plain(value) for name, value in point.items()} for point in parameters]
        if len({tuple(sorted(point)) for point in values}) > 1:
            raise argument_error("parameters", "give every point the same names", "gives different ones")
        dims = {"point": len(values)}
        coords = {name: ("point", [point[name] for point in values]) for name in values[0]}
    else:
        must = "be a mapping from names to values, or a list of points, each a mapping"
        raise argument_error("parameters", must, f"is {shown(parameters)}")
    given = _seeds(seeds)
    if given != (None,):
        dims["seed"], coords["seed"] = len(given), ("seed", list(given))
    if not values or not given:
        raise argument_error("parameters", "have at least one point", "has none")
    pairs = list(itertools.product(values, given))
    return Points(tuple(p for p, _ in pairs), tuple(s for _, s in pairs), dims, coords)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in TAKEN:
        must = f"be named as arguments of a function, and not {', '.join(TAKEN)}"
        raise argument_error("parameters", must, f"has {shown(name)}")
    return name


def _sequence(name: str, values: Any) -> list[Any]:
    """Return the values of a parameter as plain numbers and texts."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise argument_error("parameters", f"give `{name}` as a sequence of values", f"gives {shown(values)}")
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Return a number or a text, of NumPy or JAX too, as one of Python; raise `ValueError` for anything else."""
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.ndim(value) == 0:
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise argument_error("parameters", "have numbers or texts as values", f"has {shown(value)}")
    return value


def _seeds(seeds: Any) -> tuple[int | None, ...]:
    if seeds is None:
        return (None,)
    if isinstance(seeds, Iterable) and getattr(seeds, "ndim", 1) == 1:
        return tuple(integer("seeds", seed, least=0) for seed in seeds)
    return tuple(range(integer("seeds", seeds, least=1)))


def digest(function: Callable[..., Any], points: Points, size: int, vectorised: bool) -> str:
    """Return a digest of the function, the points, their division into parts, and versions."""
    given = (versions(), points.values, points.seeds, list(points.dims.items()), size, vectorised)
    found = hashlib.sha256(repr(given).encode())
    for leaf in _identity(function):
        found.update(
            repr(leaf).encode() if not isinstance(leaf, np.ndarray) else repr(leaf.shape).encode() + leaf.tobytes()
        )
    return found.hexdigest()


def _identity(thing: Any, inside: tuple[int, ...] = ()) -> Iterator[Any]:
    """Yield what a function is made of: its source, its defaults, what it closes over, and fields of an object.

    A function that wraps another without being one of Python's, as those of `jax.jit` do, is what it wraps. `inside`
    are the objects that hold this one: of one that holds itself nothing is said twice.
    """
    if isinstance(thing, jax.Array | np.ndarray | np.generic):
        if isinstance(thing, jax.Array) and jnp.issubdtype(thing.dtype, jax.dtypes.prng_key):
            thing = jax.random.key_data(thing)
        yield np.asarray(thing)
    elif isinstance(thing, bool | int | float | str | bytes | None):
        yield thing
    elif id(thing) not in inside:
        own, parts = _parts(thing)
        yield from own
        for part in parts:
            yield from _identity(part, (*inside, id(thing)))


def _parts(thing: Any) -> tuple[list[Any], list[Any]]:
    """Return what is said of an object itself, and the parts on which it depends."""
    if inspect.isfunction(thing):
        try:
            source = inspect.getsource(thing)
        except (OSError, TypeError):
            source = thing.__code__.co_code
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        defaults = (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
        return [thing.__qualname__, source], [*defaults, *cells]
    if inspect.ismethod(thing):
        return [], [thing.__func__, *_fields(thing.__self__)]
    if callable(thing) and hasattr(thing, "__wrapped__"):
        return [], [thing.__wrapped__]
    if hasattr(thing, "func") and hasattr(thing, "keywords"):  # of functools
        return [], [thing.func, *thing.args, *itertools.chain(*sorted(thing.keywords.items()))]
    own = [f"{type(thing).__module__}.{type(thing).__qualname__}"]
    if isinstance(thing, type):
        return own, []
    if isinstance(thing, Mapping):
        return own, list(itertools.chain(*sorted(thing.items(), key=lambda item: str(item[0]))))
    if isinstance(thing, list | tuple):
        return own, list(thing)
    if callable(thing):
        return own, [type(thing).__call__, *_fields(thing)]
    if dataclasses.is_dataclass(thing):
        return own, _fields(thing)
    return own, [part for part in jax.tree.leaves(thing) if part is not thing]


def _fields(thing: Any) -> list[Any]:
    """Return the names and values of the fields of an object."""
    return list(itertools.chain(*sorted(getattr(thing, "__dict__", {}).items())))

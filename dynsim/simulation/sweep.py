"""Sweeps: evaluate a function on a grid of parameters and for several seeds, resumably, as an xarray Dataset."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.host import filled
from dynsim._core.validation import function as as_function
from dynsim._core.validation import instance, integer, reals
from dynsim._runtime.executors import Call, as_executor, finished
from dynsim.errors import ArgumentError, reason, shown
from dynsim.integrators.derivatives import check_not_traced
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.locks import held
from dynsim.io.npz import writable_folder
from dynsim.io.parts import collected
from dynsim.keys import random_key
from dynsim.simulation.run_files import versions

if TYPE_CHECKING:
    import xarray
import dataclasses
import hashlib
import inspect
import itertools
from collections.abc import Iterable

TAKEN = ("key", "seed", "point", "status", "cause")  # names that parameters cannot have


@dataclass(frozen=True)
class Points:
    """Points of a sweep: their parameters and seeds, the lengths of the dimensions, and the coordinates on them."""

    values: tuple[dict[str, Any], ...]
    seeds: tuple[int | None, ...]
    dims: dict[str, int]
    coords: dict[str, tuple[str, list[Any]]]


def points_of(parameters: Any, seeds: Any) -> Points:
    """Make the points of a grid or a list, with seeds varying fastest; raise `ValueError` for anything else."""
    if isinstance(parameters, Mapping):
        axes = {_name(name): _sequence(name, values) for name, values in parameters.items()}
        values = [dict(zip(axes, combined, strict=True)) for combined in itertools.product(*axes.values())]
        dims = {name: len(entries) for name, entries in axes.items()}
        coords = {name: (name, entries) for name, entries in axes.items()}
    elif isinstance(parameters, Sequence) and parameters and all(isinstance(p, Mapping) for p in parameters):
        values = [{_name(name): _plain(value) for name, value in point.items()} for point in parameters]
        if len({tuple(sorted(point)) for point in values}) > 1:
            raise ArgumentError("parameters", "give every point the same names", "gives different ones")
        dims = {"point": len(values)}
        coords = {name: ("point", [point[name] for point in values]) for name in values[0]}
    else:
        must = "be a mapping from names to values, or a list of points, each a mapping"
        raise ArgumentError("parameters", must, f"is {shown(parameters)}")
    given = _seeds(seeds)
    if given != (None,):
        dims["seed"], coords["seed"] = len(given), ("seed", list(given))
    if not values or not given:
        raise ArgumentError("parameters", "have at least one point", "has none")
    pairs = list(itertools.product(values, given))
    return Points(tuple(p for p, _ in pairs), tuple(s for _, s in pairs), dims, coords)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or name in TAKEN:
        must = f"be named as arguments of a function, and not {', '.join(TAKEN)}"
        raise ArgumentError("parameters", must, f"has {shown(name)}")
    return name


def _sequence(name: str, values: Any) -> list[Any]:
    """Values of a parameter as plain numbers and strings."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise ArgumentError("parameters", f"give `{name}` as a sequence of values", f"gives {shown(values)}")
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """Convert a number or string, also of NumPy or JAX, to Python; raise `ValueError` for anything else."""
    if isinstance(value, np.generic | np.ndarray | jax.Array) and np.ndim(value) == 0:
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise ArgumentError("parameters", "have numbers or strings as values", f"has {shown(value)}")
    return value


def _seeds(seeds: Any) -> tuple[int | None, ...]:
    if seeds is None:
        return (None,)
    if isinstance(seeds, Iterable) and getattr(seeds, "ndim", 1) == 1:
        return tuple(integer("seeds", seed, least=0) for seed in seeds)
    return tuple(range(integer("seeds", seeds, least=1)))


def digest(function: Callable[..., Any], points: Points, size: int, vectorised: bool) -> str:
    """Digest of the function, the points, their division into parts, and versions."""
    given = (versions(), points.values, points.seeds, list(points.dims.items()), size, vectorised)
    found = hashlib.sha256(repr(given).encode())
    for leaf in _identity(function):
        found.update(
            repr(leaf).encode() if not isinstance(leaf, np.ndarray) else repr(leaf.shape).encode() + leaf.tobytes()
        )
    return found.hexdigest()


def _identity(thing: Any, inside: tuple[int, ...] = ()) -> Iterator[Any]:
    """Yield what a function consists of: its source, defaults, closure, and the fields of objects.

    A wrapper that is not a Python function, such as those of `jax.jit`, counts as what it wraps. `inside` holds the
    objects that contain this one, so that an object that contains itself is visited once.
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
    """Description of an object itself, and the parts on which it depends."""
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
    if hasattr(thing, "func") and hasattr(thing, "keywords"):  # `functools.partial`
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
    """Names and values of the fields of an object."""
    return list(itertools.chain(*sorted(getattr(thing, "__dict__", {}).items())))


PARTS = 64  # least number of parts, if there are as many points
MOST = 256  # largest default number of points in a part
NOT_FINITE = "a value is not finite"
SAME = "the same function, parameters, seeds and options"
Arrays = dict[str, np.ndarray]


def sweep(
    function: Callable[..., Any],
    parameters: Mapping[str, Sequence[Any] | np.ndarray | jax.Array] | Sequence[Mapping[str, Any]],
    *,
    seeds: int | Sequence[int] | None = None,
    units: Mapping[str, str] | None = None,
    vectorised: bool = False,
    chunk: int | None = None,
    folder: str | Path | None = None,
    executor: Executor | None = None,
    shown: bool | None = None,
) -> "xarray.Dataset":
    """Evaluate a function on a grid or a list of parameter points, and return an xarray Dataset.

    A point at which the function raises gets NaN, the status "failed" and the cause. A point with a value that is not
    finite gets the same status, but keeps the value. Other points are not affected.

    Args:
        function: takes the parameters by name, and with `seeds` also a random key as `key`. It returns a number, an
            array, or a mapping or named tuple of these, with the same shapes at all points. If it has a method
            `together`, this is called with a list of points first, each a mapping with its key; None in the list that
            it returns stands for a point that the function evaluates by itself.
        parameters: the values of each parameter, whose product is the grid; or a list of points.
        seeds: the number of seeds, or the seeds themselves. The key of a seed is `random_key(seed, "sweep")`
            everywhere.
        units: the units of parameters and results, by name.
        vectorised: evaluate each chunk in one compiled call under `vmap`; requires a JAX function of numbers.
        chunk: the number of points evaluated together; by default at most 256, such that there are 64 chunks.
        folder: for finished chunks; the same call with the same folder resumes, with the same bits. The function is
            identified by its source, its defaults and its closure, but not by the functions that it calls.
        executor: any `concurrent.futures.Executor`, on which chunks are evaluated, several at a time.
        shown: whether to show a progress bar; by default on terminals only.

    Raises:
        ValueError: for a grid without points, a function that returns something else, a folder that is in use or holds
            chunks of another sweep, and if xarray is not installed.
        KeyboardInterrupt: on Ctrl-C, with a sentence that says which points are kept.

    Example:
        >>> import dynsim as ds
        >>> table = ds.sweep(lambda a, b: a * b, {"a": [1.0, 2.0], "b": [3.0, 4.0, 5.0]})
        >>> table["value"].values.tolist()
        [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]
    """
    _check_xarray()
    points = points_of(parameters, seeds)
    as_function("function", function, "the parameters", None)
    check_not_traced("function", "depend on known numbers", "`sweep` runs outside of JAX", function)
    named: Mapping[str, str] = (
        {} if units is None else instance("units", units, Mapping, "a mapping from names to units")
    )
    apart = not hasattr(function, "together") or executor is not None
    size = _size(len(points.values), chunk, PARTS if apart else 1)
    parts = [np.arange(k, min(k + size, len(points.values))) for k in range(0, len(points.values), size)]
    evaluate = _together if vectorised else _one_by_one
    work = [_Part(evaluate, function, _columns(points, part, vectorised), points, part, size) for part in parts]
    names = [*points.values[0], *(() if seeds is None else ("key",))]
    if not names:
        raise ArgumentError("parameters", "name at least one parameter", "is empty")
    as_function("function", function, f"the parameters by name, {', '.join(names)}", 0, names)
    with contextlib.ExitStack() as stack:
        checkpoints = None
        if folder is not None:
            place = writable_folder("folder", Path(instance("folder", folder, str | Path, "a path")))
            stack.enter_context(held("folder", place))
            checkpoints = Checkpoints(place, digest(function, points, size, vectorised), None, of=SAME)
            checkpoints.check()
        found = _evaluated(work, checkpoints, executor, shown)
    return _dataset(function, points, parts, found, named)


@dataclass(frozen=True)
class _Part:
    """The evaluation of some points, with everything that another process needs for it."""

    evaluate: Callable[..., Arrays]
    function: Callable[..., Any]
    columns: Any
    points: Points
    part: np.ndarray
    size: int

    def call(self) -> Call:
        return self.evaluate, (self.function, self.columns, [self.points.seeds[k] for k in self.part], self.size)

    def done(self) -> Arrays:
        evaluate, arguments = self.call()
        return evaluate(*arguments)


def _check_xarray() -> None:
    try:
        import xarray  # noqa: F401
    except ImportError:
        raise ArgumentError(
            "sweep", "return an xarray Dataset (`pip install dynsim[io]`)", "xarray is not installed"
        ) from None


def _size(points: int, chunk: int | None, parts: int = PARTS) -> int:
    """Number of points in a part."""
    return max(1, min(points // parts, MOST)) if chunk is None else min(integer("chunk", chunk, least=1), points)


def _columns(points: Points, part: np.ndarray, vectorised: bool) -> Any:
    """Parameters of some points: point by point, or as one array per name if vectorised."""
    rows = [points.values[k] for k in part]
    if not vectorised:
        return rows
    columns = {name: np.asarray([row[name] for row in rows]) for name in rows[0]}
    for name, column in columns.items():
        if column.dtype.kind not in "biuf":
            raise ArgumentError("vectorised", "be left out for parameters that are strings", f"`{name}` has strings")
    return columns


def _one_by_one(function: Callable[..., Any], rows: list[dict], seeds: list[int | None], size: int) -> Arrays:
    """Evaluate some points one by one, with the causes of failures."""
    del size
    found, causes = [], []
    given = [
        row if seed is None else row | {"key": random_key(seed, "sweep")} for row, seed in zip(rows, seeds, strict=True)
    ]
    made = function.together(given) if hasattr(function, "together") else [None] * len(given)
    for row, known in zip(given, made, strict=True):
        cause, outputs = "", None
        try:
            returned = function(**row) if known is None else known
        except Exception as error:  # noqa: BLE001  (the function may raise anything)
            cause = f"{type(error).__name__}: {reason(error)}"
        else:
            outputs = _outputs(returned)
        found.append(outputs)
        causes.append(cause)
    return _joined(found, causes)


def _together(function: Callable[..., Any], columns: Arrays, seeds: list[int | None], size: int) -> Arrays:
    """Evaluate some points in one program, with the last point repeated up to the common size."""
    keys = None
    if seeds[0] is not None:
        keys = jnp.stack([random_key(int(seed), "sweep") for seed in filled(np.asarray(seeds), size)])
    given = {name: jnp.asarray(filled(column, size)) for name, column in columns.items()}
    try:
        made = _program(function, given, keys)
    except jax.errors.JAXTypeError as error:
        must = "be left out for a function that calls NumPy or `float`, or branches by `if`, on its parameters"
        raise ArgumentError("vectorised", must, "is given") from error
    except Exception as error:
        if isinstance(error, ArgumentError):
            raise
        must, but = "accept its parameters as JAX arrays where it is `vectorised`", type(error).__name__
        raise ArgumentError("function", must, f"raises {but}: {reason(error)}") from error
    found = jax.tree.map(lambda a: np.asarray(a)[: len(seeds)], made)
    return _with_causes(found, [""] * len(seeds))


@eqx.filter_jit
def _program(function: Callable[..., Any], columns: Any, keys: Any) -> Any:
    def one(row: Any, key: Any) -> Any:
        return _outputs(function(**row, **({} if key is None else {"key": key})), jnp)

    return jax.vmap(one)(columns, keys)


def _outputs(found: Any, numpy: Any = np) -> dict[str, Any]:
    """Convert what the function returned to arrays of floats by name; raise `ValueError` for anything else."""
    if hasattr(found, "_asdict"):
        found = found._asdict()
    named = found if isinstance(found, Mapping) else {"value": found}
    outputs = {}
    for name, value in named.items():
        try:
            array = reals("function", value)
        except ArgumentError:
            must = "return numbers, arrays of numbers, or a mapping of these"
            raise ArgumentError("function", must, f"returns {shown(value)} as `{name}`") from None
        outputs[str(name)] = numpy.asarray(array, np.float32 if array.dtype == np.float32 else float)
    return outputs


def _joined(found: list[dict[str, np.ndarray] | None], causes: list[str]) -> Arrays:
    """Stack the values of some points, with NaN where there are none; raise `ValueError` for unequal shapes."""
    good = [outputs for outputs in found if outputs is not None]
    values: Arrays = {}
    for outputs in good[:1]:
        for name, first in outputs.items():
            blank = np.full_like(first, np.nan)
            for other in good:
                _check_alike(name, first.shape, None if name not in other else other[name].shape)
            values[name] = np.stack([blank if one is None else one[name] for one in found])
    if any(outputs.keys() != values.keys() for outputs in good):
        raise ArgumentError("function", "return the same names at all points", "returns different ones")
    return _with_causes(values, causes)


def _check_alike(name: str, first: tuple[int, ...], other: tuple[int, ...] | None) -> None:
    if first != other:
        but = f"`{name}` is missing at some" if other is None else f"`{name}` has {first} and {other}"
        raise ArgumentError("function", "return the same shapes at all points", but)


def _with_causes(values: Arrays, causes: list[str]) -> Arrays:
    """Values by name, with the causes of failure, including values that are not finite."""
    said = list(causes)
    for array in values.values():
        for k in np.flatnonzero(~np.isfinite(array.reshape(len(said), -1)).all(axis=1)):
            said[k] = said[k] or NOT_FINITE
    return {"cause": np.array(said, dtype=str), **{f"value {name}": array for name, array in values.items()}}


def _evaluated(
    work: list[_Part], checkpoints: Checkpoints | None, executor: Executor | None, shown: bool | None
) -> list[Arrays]:
    """Values of all parts; stored parts are read."""
    sizes = [len(one.part) for one in work]
    run = lambda todo, kept: _finished({k: work[k] for k in todo}, executor, kept)
    return collected("sweep", "points", sizes, run, checkpoints, Checkpoints.read, Checkpoints.write, shown)


def _finished(
    work: dict[int, _Part], executor: Executor | None, kept: Callable[[], str]
) -> Iterator[tuple[int, Arrays]]:
    """Yield the parts with their numbers as they finish."""
    if executor is None:
        yield from ((index, one.done()) for index, one in work.items())
        return
    yield from finished(as_executor(executor), {index: one.call() for index, one in work.items()}, kept)


def _dataset(
    function: Callable[..., Any],
    points: Points,
    parts: list[np.ndarray],
    found: list[Arrays],
    units: Mapping[str, str],
) -> "xarray.Dataset":
    """Assemble the values of all parts into a Dataset."""
    import xarray

    lengths, names = tuple(points.dims.values()), tuple(points.dims)
    causes = np.concatenate([arrays["cause"] for arrays in found]).astype(str)
    data: dict[str, Any] = {}
    for label in sorted({label for arrays in found for label in arrays if label.startswith("value ")}):
        name = label.removeprefix("value ")
        first = next(arrays[label] for arrays in found if label in arrays)
        whole = np.full((len(causes), *first.shape[1:]), np.nan, first.dtype)
        for part, arrays in zip(parts, found, strict=True):
            if label in arrays:
                _check_alike(name, first.shape[1:], arrays[label].shape[1:])
                whole[part] = arrays[label]
        axes = tuple(f"{name}_{axis}" for axis in range(first.ndim - 1))
        data[name] = ((*names, *axes), whole.reshape(*lengths, *first.shape[1:]))
    clash = data.keys() & {*points.coords, "status", "cause"}
    if clash:
        raise ArgumentError("function", "return names that no parameter has", f"returns `{min(clash)}`")
    status = np.where(causes == "", "ok", "failed")
    data |= {"status": (names, status.reshape(lengths)), "cause": (names, causes.reshape(lengths))}
    coords = {name: (dim, np.asarray(values)) for name, (dim, values) in points.coords.items()}
    unknown = sorted(units.keys() - data.keys() - coords.keys())
    if unknown and np.any(causes == ""):  # where every point failed, the results are not known
        raise ArgumentError("units", "name parameters and results", f"names `{unknown[0]}`")
    attributes = {"function": getattr(function, "__name__", type(function).__name__)}
    attributes |= {f"version_{k}": v for k, v in versions().items()}
    made = xarray.Dataset(data, coords=coords, attrs=attributes)
    for name in (name for name in units if name in made):
        made[name].attrs["units"] = units[name]
    return made

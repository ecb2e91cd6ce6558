"""`dynsim sweep`: evaluate a function, or measure a long run of a system, at every point of a parameter grid."""

import dataclasses
import functools
import hashlib
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynsim.cli.parsing.options import (
    OUT_ENDINGS,
    check_outputs,
    nearest_option,
    parts_beside,
    refuse_unused,
    say,
    typed_as,
)
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import MOST, check_times
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.cli.sweep.figure import check_figure, check_shown, draw
from dynsim.cli.sweep.measures import IN_LANES, KINDS
from dynsim.cli.sweep.options import Sweep
from dynsim.errors import ArgumentError, check_at_least, check_positive, counted
from dynsim.io.whole_files import whole_file

if TYPE_CHECKING:
    import xarray

    from dynsim.systems.named import Components

OF_FLOWS = ("begin", "frames", "rtol", "atol", "max_steps")
OF_RUNS = ("end", "start", "names", "space", "map", "breaks", "longest_step", "seed", "angle", "reduced", *OF_FLOWS)
VALUES = 11  # default number of values of a parameter given by its range
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
COPIES = 8  # copies of the output times, and of each component there, that exist at the same time
PARTS = ".parts"  # ending of the folder of finished points beside `--out`
SHOWN = 5  # largest number of failed points that are printed


def main(words: Sequence[str]) -> int:
    """Evaluate the parameter grid, print a summary, write the requested files, and return 1 if a point failed."""
    o = parse_system(Sweep, words, "sweep")
    if bool(o.system) == bool(o.function):
        must = "be left out with `--function`" if o.system else "be given as the first word (see `dynsim sweep --help`)"
        raise ArgumentError("system", must, f"is `{o.system}`" if o.system else "is missing")
    check_outputs(o.force, out=o.out, figure=o.figure, out_endings=(".nc", *OUT_ENDINGS), parts=PARTS)
    check_at_least(0, seeds=o.seeds)
    check_times(o.begin, o.end)
    check_memory(lambda frames: FLOAT * COPIES * frames, frames=o.frames)
    grid, units = _grid(o.parameters), _units(o)
    from dynsim._runtime.executors import cluster
    from dynsim.simulation.sweep import sweep

    function = Built(o, tuple((name, values[0] if values else None) for name, values in grid.items()))
    grid = {name: values for name, values in grid.items() if values}  # without switches
    if not grid:
        raise ArgumentError("parameters", "be given with values, such as `--beta 1 2 4`", "are not")
    points = math.prod(map(len, grid.values()))
    if points > MOST:
        raise ArgumentError(grid, f"have at most {MOST} points together", f"have {points}")
    check_figure(o, grid)
    known = function.components
    if known is not None:
        check_shown(o, [*known.names, *(f"{name}_{kind}" for name in known.names for kind in KINDS)])
        measured = {f"{name}_{kind}": unit for name, unit in zip(known.names, known.units, strict=True) if unit
                    for kind in KINDS}  # fmt: skip
        units = measured | function.units | units
    with (
        parts_beside(o.out, PARTS) as folder,
        cluster(o.cluster) as executor,
        typed_as(function="function" if o.function else "system"),
    ):
        found = sweep(
            function,
            grid,
            seeds=o.seeds or None,
            units=units,
            vectorised=o.vectorised,
            chunk=o.chunk,
            folder=folder,
            executor=executor,
        )
    found.attrs["function"] = o.what
    if function.solved:
        found.attrs["solved"] = function.solved
    _print(found)
    if o.out is not None and o.out.suffix == ".nc":
        write_netcdf(o.out, found)
        say(f"file {o.out}")
    else:
        write_out(o.out, found)
    if o.figure is not None:
        draw(o, found, known)
    return int(bool((found["status"] == "failed").any()))


def write_netcdf(path: Path, found: "xarray.Dataset") -> None:
    """Write a Dataset to a netCDF file atomically."""
    with whole_file(path) as part:
        found.to_netcdf(part, engine="scipy")


def _grid(words: Sequence[str]) -> dict[str, list[Any]]:
    """Parse the values of each parameter, whole numbers as integers; a name without values has an empty list.

    Raises:
        ValueError: for a value that is not a number.
    """
    grid: dict[str, list[Any]] = {}
    for word in words:
        name, _, values = word.partition("=")
        grid[name] = [number for value in values.split(",") if value for number in _numbers(name, value)]
    if not grid:
        raise ArgumentError("parameters", "be given, such as `--beta 1 2 4`", "are not")
    return grid


def _numbers(name: str, word: str) -> list[int | float]:
    """Parse one value, or evenly spaced values LOW:HIGH or LOW:HIGH:COUNT."""
    from dynsim.cli.parsing.ranges import named_values

    if "=" in word:
        option = word.partition("=")[0].replace("_", "-")
        takes = f"`sweep` takes `--{option} VALUES`, such as `--{option} 1 2 4` or `0:1`"
        must = f"be values of a parameter of this name; {takes}"
        raise ArgumentError(name, must, f"has `{word}`")
    if ":" in word:
        return [*named_values(f"{name}={word}", VALUES, name)[1]]
    return [_number(name, word)]


def _number(name: str, word: str) -> int | float:
    from dynsim.cli.parsing.tables import number

    try:
        return int(word) if re.fullmatch(r"[+-]?\d+", word) else float(number(word))
    except (ValueError, OverflowError):
        must = f"be numbers separated by spaces, such as `--{name.replace('_', '-')} 1 2 4`, or a range such as `0:1`"
        raise ArgumentError(name, must, f"has `{word}`") from None


def _units(o: Sweep) -> dict[str, str]:
    """Collect the units of parameters and results, which are given as NAME=UNIT; others are those of components."""
    pairs = [word.partition("=") for word in o.units]
    for name, equals, _ in pairs:
        if not equals and o.function:
            raise ArgumentError("units", "be given as NAME=UNIT", f"has `{name}`")
    return {name: unit for name, equals, unit in pairs if equals}


class Built:
    """Picklable function of a sweep: another process builds it again from the options of the command.

    Neither a function in the user's file nor a closure over a system can be pickled itself.
    """

    def __init__(self, options: Sweep, first: tuple[tuple[str, Any], ...]):
        """Store the options and the first point, and build the function."""
        self._made = options, first
        self.__wrapped__, self.components, self.units = _function(options, dict(first))
        self.solved = ""
        if self.components is not None:
            self.solved = self.__wrapped__.explain(dict(first))
            if self.solved == IN_LANES:
                self.together = self.__wrapped__.together

    def __call__(self, **values: Any) -> Any:
        """Evaluate the function at a point."""
        return self.__wrapped__(**values)

    def __reduce__(self) -> tuple[Callable[..., "Built"], tuple]:
        """Pickle the options with the absolute path of the user's file, so that any working folder will do."""
        options, first = self._made
        file = _file(options)
        if file is not None:
            path = f"{file.resolve()}:{options.what.rpartition(':')[2]}"
            options = dataclasses.replace(options, **{"function" if options.function else "system": path})
        return _built_again, (options, first, _digest(file))


@functools.lru_cache(1)
def _built_again(options: Sweep, first: tuple[tuple[str, Any], ...], digest: str) -> Built:
    """Build the function of a sweep once per process; raise `ValueError` if the user's file differs there."""
    file = _file(options)
    if file is not None and (not file.is_file() or _digest(file) != digest):
        must = "be in a file that is the same on every worker"
        raise ArgumentError("system", must, f"`{file}` {'differs' if file.is_file() else 'does not exist'} on one")
    return Built(options, first)


def _file(options: Sweep) -> Path | None:
    """Get the file of the user's function or system, or None."""
    file, colon, _ = options.what.rpartition(":")
    return Path(file) if colon and file.endswith(".py") else None


def _digest(file: Path | None) -> str:
    return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()


def _function(o: Sweep, first: dict[str, Any]) -> "tuple[Callable[..., Any], Components | None, dict[str, str]]":
    """Build the function to evaluate at every point, with the quantities that it measures and units of parameters.

    An unknown parameter, or one without values (None in `first`), is an error of the sweep, not of each point.
    """
    from dynsim.cli.building.own_code import imported

    if o.function:
        refuse_unused(o, OF_RUNS, "with `--function`, on which it has no effect")
        made = imported(o.function, "function")
        _check_arguments(made, first, bool(o.seeds), o.function)
        return made, None, {}
    if o.vectorised:
        raise ArgumentError("vectorised", "be left out for a system", "is given")
    check_at_least(2, frames=o.frames)
    return _measured(o, first)


def _check_arguments(function: Any, first: dict[str, Any], seeded: bool, where: str) -> None:
    """Raise `ValueError` unless the parameters of the `first` point are exactly the arguments that a function needs."""
    if not callable(function):
        raise ArgumentError("function", "be a function of the parameters", f"`{where}` is a {type(function).__name__}")
    from dynsim._core.validation import signature_of

    given = (*first, "key") if seeded else tuple(first)
    arguments = signature_of(function).parameters
    free = any(one.kind is one.VAR_KEYWORD for one in arguments.values())
    unknown = [name for name in given if name not in arguments and not free]
    if unknown:
        must = f"be an argument of `{where}` ({', '.join(arguments)})"
        raise ArgumentError(unknown[0], must, f"is not{nearest_option(unknown[0], arguments)}")
    for name in (name for name, value in first.items() if value is None):
        raise ArgumentError(name, "be given with values", "is given without")
    needed = [name for name, one in arguments.items() if one.default is one.empty and one.kind not in VARIADIC]
    missing = [name for name in needed if name not in given]
    if missing:
        advice = " (`--seeds` gives `key`)" if "key" in missing else ""
        if not advice and missing == list(arguments)[:2]:
            advice = f" (a right-hand side is a system: `dynsim sweep {where}` without `--function`)"
        raise ArgumentError("parameters", f"be all that `{where}` needs", f"lack {' and '.join(missing)}{advice}")


def _measured(o: Sweep, first: dict[str, Any]) -> "tuple[Callable[..., dict[str, Any]], Components, dict[str, str]]":
    """Build the function that measures a run of the system, name its quantities, and list units of parameters."""
    import numpy as np

    from dynsim.cli.building.equations import is_code
    from dynsim.cli.building.systems import found
    from dynsim.cli.sweep.measures import Run, RunMeasures, quantities
    from dynsim.systems.base import AbstractMap
    from dynsim.systems.named import changed

    given = {field.name: getattr(o, field.name) for field in dataclasses.fields(SystemOptions)}
    given["units"] = tuple(word for word in o.units if "=" not in word)
    options, run = SystemOptions(**given), Run(*(getattr(o, name) for name in Run._fields))
    switches = tuple(f"{name}=" for name, value in first.items() if value is None)

    def named(values: dict[str, Any]) -> Any:
        words = tuple(f"{name}={value!r}" for name, value in values.items() if value is not None)
        return found(dataclasses.replace(options, parameters=(*words, *switches)), "sweep")

    try:
        made = named(first)
    except ArgumentError:
        _refuse_parameters_alone(o, first)
        raise
    if isinstance(made.system, AbstractMap):
        refuse_unused(o, OF_FLOWS, "for a map")
        if not o.end.is_integer():
            raise ArgumentError("end", "be a whole number of steps for a map", f"is {o.end:g}")
        check_positive(end=o.end)
    run.solver(made.system)  # raises here for options that would fail at every point
    if o.reduced and not np.isfinite(run.periods(made.system, made.begun())).any():
        raise ArgumentError("reduced", "be left out for a system without angles (`--angle`)", "is given")

    def system(values: dict[str, Any]) -> Any:
        return made._replace(system=changed(made.system, values)) if is_code(o.system) else named(values)

    units = {name: unit for name, unit in getattr(made.system, "parameter_units", ()) if name in first}
    return RunMeasures(system, run), quantities(made.system, made.begun()), units


def _refuse_parameters_alone(o: Sweep, first: dict[str, Any]) -> None:
    """Raise `ValueError` for a user's function whose first argument is a parameter of the grid, not the time."""
    from dynsim._core.validation import signature_of
    from dynsim.cli.building.equations import is_code
    from dynsim.cli.building.own_code import imported
    from dynsim.systems.base import AbstractFlow, AbstractMap

    made = imported(o.system) if is_code(o.system) else None
    if not callable(made) or isinstance(made, type | AbstractFlow | AbstractMap):
        return
    arguments = list(signature_of(made).parameters)
    if arguments and arguments[0] in first:
        must = f"take time and state (`--function {o.system}` evaluates a function of the parameters)"
        raise ArgumentError("system", must, f"takes `{arguments[0]}` first")


def _print(found: "xarray.Dataset") -> None:
    """Print the size of the grid, the range of each result, and the first failures."""
    import numpy as np

    failed = found["status"].values == "failed"
    sizes = " x ".join(f"{name} {size}" for name, size in found["status"].sizes.items())
    say(f"{counted(failed.size, 'point')} ({sizes}): {failed.size - failed.sum()} ok, {failed.sum()} failed")
    for name in (name for name in found.data_vars if name not in ("status", "cause")):
        values = found[name].values
        if np.isfinite(values).any():
            finite = values[np.isfinite(values)]
            unit = found[name].attrs.get("units", "")
            say(f"{name}: from {finite.min():.6g} to {finite.max():.6g}{f' {unit}' if unit else ''}")
    for where in list(_places(failed))[:SHOWN]:
        point = found["cause"][where]
        at = ", ".join(f"{name} = {point.coords[name].item()}" for name in point.coords)
        say(f"failed at {at}: {point.item()}")
    if failed.sum() > SHOWN:
        say(f"and {failed.sum() - SHOWN} more failed")
    if "solved" in found.attrs:
        say(f"solved {found.attrs['solved']}")


def _places(failed: Any) -> Iterator[tuple[int, ...]]:
    import numpy as np

    yield from (tuple(int(k) for k in place) for place in np.argwhere(failed))

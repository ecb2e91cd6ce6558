"""Parse the options of a command into a frozen dataclass, from flags or from a TOML file."""

import contextlib
import dataclasses
import io
import itertools
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import tyro

from dynsim.errors import ArgumentError, OtherRunError, check_positive, nearest, reason, shown

Options = TypeVar("Options")

Force = Annotated[bool, tyro.conf.arg(help="replace existing files that dynsim did not write")]
Frames = Annotated[int, tyro.conf.arg(help="number of output times, evenly spaced")]
Rtol = Annotated[float, tyro.conf.arg(help="relative tolerance of the solver")]
Atol = Annotated[float | None, tyro.conf.arg(help="absolute tolerance; by default a hundredth of the relative one")]
Data = Annotated[Path | None, tyro.conf.arg(help="the folder of data files; by default the one that DYNSIM_DATA names")]
RECORDS = "the folder of experiment records; by default the one that DYNSIM_RESULTS names, or results/experiments"
Results = Annotated[Path | None, tyro.conf.arg(help=RECORDS)]

OUT_ENDINGS = (".npz", ".csv", ".parquet")
"""Endings of the file of `--out` where the result can also be written as a table."""
SAME_MEANING = (
    ("end", "duration", "longest", "time", "horizon", "t-end", "tend", "t-max", "tmax", "t-final", "tf", "until"),
    ("begin", "t-start", "t-begin", "t0", "t-min"),
    ("start", "x0", "y0", "u0", "ic", "init", "initial", "initial-state", "initial-condition"),
    ("figure", "fig", "plot", "image", "output", "save", "pdf", "png", "svg"),
    ("out", "output", "save", "csv", "table", "export", "data"),
    ("box", "bounds", "limits", "lim", "region", "domain", "xlim", "ylim", "range"),
    ("shape", "grid", "resolution", "n", "size"),
    ("frames", "points", "samples", "n-points", "num", "num-points", "n"),
    ("count", "returns", "members", "iterations", "iterates", "crossings", "n-points", "num"),
    ("integrator", "solver", "scheme", "algorithm", "method"),
    ("step-size", "longest-step", "step", "dt", "max-step", "h"),
    ("transient", "burn-in", "burnin", "discard", "skip", "settle", "warmup"),
    ("rtol", "reltol", "rel-tol", "relative-tolerance", "tol", "tolerance", "eps"),
    ("atol", "abstol", "abs-tol", "absolute-tolerance"),
    ("parameter", "against", "vary", "param", "par", "free"),
    ("angle", "periodic", "wrap", "wrapped", "mod", "torus"),
)
"""Words that mean the same: for an unknown option, the first word of its row that the command knows is advised."""
PLAIN_NAMES = {str: "a text", Path: "a text", int: "a whole number", float: "a number", bool: "true or false"}
"""What the types of options are called in sentences about TOML files."""
SEEDS = 2**63  # seeds are below this, because random keys take 63 bits


def parse(options: type[Options], words: Sequence[str], command: str, *, named: bool = False) -> Options:
    """Parse the arguments of a command into an instance of the dataclass `options`.

    Args:
        options: the dataclass, whose fields are the options and whose field docstrings are their help texts.
        words: the arguments of the command; `--config FILE` names a TOML file whose values flags override.
        command: the name of the command, for its help text.
        named: whether the TOML file may hold names that are not options; `other_words` returns them.

    Raises:
        ValueError: for an unknown or ill-typed option, a seed or tolerance out of range, or an unreadable TOML file.
    """
    rest, file = _without_file(words)
    _check_several(options, rest)
    default = None if file is None else from_toml(options, file, named=named)
    parsed = _parsed(options, rest, f"dynsim {command}", default)
    required = [one for one in dataclasses.fields(options) if one.default is dataclasses.MISSING]  # pyright: ignore[reportArgumentType]
    for field in required:
        if file is not None and getattr(parsed, field.name) == _kind(field)() and field.name not in _table(file):
            must = f"be given as the first word (see `dynsim {command} --help`)"
            raise ArgumentError(field.name, must, "is missing")
    seed = getattr(parsed, "seed", 0)
    if not 0 <= seed < SEEDS:
        raise ArgumentError("seed", f"be from 0 to {SEEDS - 1}", f"is {seed}")
    check_positive(atol=getattr(parsed, "atol", None))
    rtol = getattr(parsed, "rtol", None)
    if rtol is not None and not math.isfinite(rtol):
        raise ArgumentError("rtol", "be a finite number", f"is {rtol}")
    if rtol is not None and rtol >= 1:
        raise ArgumentError("rtol", "be less than 1, because it is relative to the state", f"is {rtol:g}")
    if rtol is not None and 0 < rtol < sys.float_info.epsilon:
        must = f"be at least {sys.float_info.epsilon:.2g}, the rounding of numbers"
        raise ArgumentError("rtol", must, f"is {rtol:g}")
    return parsed


def other_words(options: Any, words: Sequence[str]) -> tuple[str, ...]:
    """List the names in the TOML file of a command that are not options, as NAME=VALUE or NAME=1,2,3.

    Raises:
        ValueError: for a file that cannot be read, or a value that is not a number, a text, or a list of these.
    """
    _, file = _without_file(words)
    names = {field.name.rstrip("_") for field in dataclasses.fields(options)}
    table = {} if file is None else _table(file)
    return tuple(
        f"{name}={_text(name, value, file)}" for name, value in table.items() if name.replace("-", "_") not in names
    )


def _text(name: str, value: object, path: Path | None) -> str:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(entry, int | float | str) for entry in values):
        must = f"give `{name}` as a number, a text, true or false, or a list of these"
        raise ArgumentError("--config", must, f"`{path}` gives {shown(value)}")
    return ",".join(str(entry).lower() if isinstance(entry, bool) else str(entry) for entry in values)


def _check_several(options: Any, words: Sequence[str]) -> None:
    """Raise `ValueError` for an option that takes several values and is given twice, or without a value."""
    seen: set[str] = set()
    several = {field.name.rstrip("_") for field in dataclasses.fields(options) if get_origin(_kind(field)) is tuple}
    for word, after in zip(words, (*words, "--none")[1:], strict=True):
        name, equals, value = word.removeprefix("--").partition("=")
        alone, name = not value if equals else re.match(r"--[A-Za-z]|-h$", after), name.replace("-", "_")
        if not word.startswith("--") or name not in several:
            continue
        if alone:
            raise ArgumentError(name, "be given with a value", "is given without")
        if name in seen:  # argparse would silently keep the last values only
            raise ArgumentError(name, "be given once, with all of its values", "is given again")
        seen.add(name)


def _kind(field: dataclasses.Field) -> Any:
    """Get the type of a dataclass field without its annotations."""
    return get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type


def _without_file(words: Sequence[str]) -> tuple[list[str], Path | None]:
    """Split off `--config FILE` from the arguments; raise `ValueError` if the file name is missing."""
    rest = [part for word in words for part in (_split(word) if word.startswith("--config=") else (word,))]
    if "--config" not in rest:
        return rest, None
    where = rest.index("--config")
    if where + 1 == len(rest):
        raise ArgumentError("--config", "be followed by a TOML file", "is not")
    return [*rest[:where], *rest[where + 2 :]], Path(rest[where + 1])


def _parsed(options: type[Options], words: list[str], program: str, default: Options | None) -> Options:
    """Parse options with tyro, and turn its framed error text into one sentence."""
    framed = io.StringIO()
    try:
        with contextlib.redirect_stderr(framed):
            if default is None:
                return tyro.cli(options, args=words, prog=program)
            return tyro.cli(options, args=words, prog=program, default=default)
    except SystemExit as stop:
        if not stop.code:
            raise
    rows = [line.strip("│ ") for line in framed.getvalue().splitlines() if not line.startswith(("╭", "╰"))]
    rules = [k for k, row in enumerate(rows) if row and set(row) <= {"─", "-"}] + [len(rows)]
    titled = "╭" not in framed.getvalue()  # without a frame, as on an ASCII terminal, the title is the first line
    said = " ".join(rows[2 : rules[1]] if titled else rows[: rules[0]]).split(" Got errors")[0].strip(" .")
    names = [field.name for field in dataclasses.fields(options)]  # pyright: ignore[reportArgumentType]
    if (unknown := re.match(r"Unrecognized options: ([^ ,]+)", said)) is not None:
        raise _unknown(unknown[1], words, program, options)
    if (without := re.match(r"Missing value for argument '--([a-z-]+)", said)) is not None:
        raise ArgumentError(without[1].replace("-", "_"), "be given with a value", "is given without")
    required = [f.name for f in dataclasses.fields(options) if f.default is dataclasses.MISSING]  # pyright: ignore[reportArgumentType]
    if said.startswith("Missing"):
        given = "be given as the first word" if required == ["system"] else "be given"
        raise ArgumentError(required or names, f"{given} (see `{program} --help`)", "is missing")
    found = re.search(r"--([a-z-]+)", said)
    name = names[0] if found is None else found[1].removeprefix("no-").replace("-", "_")
    must, but = _expected(options, name, words) or (f"be as `{program} --help` describes it", f"is not ({said})")
    after = ", and follow SYSTEM" if required == ["system"] and words[0].startswith("-") else ""
    raise ArgumentError(name, f"{must}{after}", but)


def _unknown(word: str, words: Sequence[str], program: str, options: Any) -> ArgumentError:
    """The error for a word that is no option, or is the value of none."""
    fields = dataclasses.fields(options)
    positional = [field.name for field in fields if "Positional" in str(field.type)]
    name, parts = word.partition("=")[0], [part for one in words for part in _split(one)]
    if name.removeprefix("--") in positional:
        return ArgumentError(name.removeprefix("--"), f"be a word of its own, without `{name}`", "is not")
    if word.startswith("-") or word not in parts:
        near = nearest_option(name, [field.name for field in fields if field.name not in positional])
        return ArgumentError(word, f"be an option of `{program}`", f"is not{near}")
    before = parts[: parts.index(word)]
    begin = max((k for k, one in enumerate(before) if one.startswith("--")), default=len(before))
    but = f"follows `{' '.join(before[begin:])}`" if before[begin:] else "does not"
    return ArgumentError(word, f"belong to an option (see `{program} --help`)", but)


def _split(word: str) -> list[str]:
    """An option with its value, as in `--seed=1`, as two words."""
    return word.split("=", 1) if word.startswith("--") else [word]


def _expected(options: Any, name: str, words: Sequence[str]) -> tuple[str, str] | None:
    """What the value of an option must be, and what it is, or None for an option that takes any words."""
    field = next((one for one in dataclasses.fields(options) if one.name.rstrip("_") == name), None)
    option = f"--{name.replace('_', '-')}"
    parts = [part for word in words for part in _split(word)]
    rest = parts[parts.index(option) + 1 :] if option in parts else []
    values = list(itertools.takewhile(lambda word: not re.match(r"--?[A-Za-z]", word), rest))
    if field is None or not (values or "Positional" in str(field.type)):
        return None
    kinds, several = _kinds(field)
    choices = [one for one in kinds if isinstance(one, str)]
    value = " ".join(values) if values else next(word for word in words if not word.startswith("-"))
    but = f"is `{value if len(value) <= 60 else value[:60] + '...'}`"
    if choices:
        return f"be one of {', '.join(choices)}", but + nearest(value, choices)
    if int not in kinds and float not in kinds:
        return None
    plain, example = ("whole number", "10 20") if float not in kinds else ("number", "0.5 -2")
    if several:
        found = re.findall(r"[-+]?\d+" if float not in kinds else r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", value)
        must = f"be {plain}s with spaces between them, as in `{option} {' '.join(found[:6]) or example}`"
        return must, but
    return f"be a {plain}", but


def _kinds(field: dataclasses.Field) -> tuple[tuple[Any, ...], bool]:
    """The types and the choices of an option, without None, and whether it takes several."""
    kind = _kind(field)
    several = get_origin(kind) is tuple
    given = get_args(kind)[:1] if several else get_args(kind) or (kind,)
    parts = (get_args(one) if get_origin(one) is Literal else (one,) for one in given)  # choices, or None by default
    return tuple(one for part in parts for one in part if one is not type(None)), several


def nearest_option(word: str, names: Iterable[str]) -> str:
    """Build a hint with the option that means the same as `word`, or whose name is closest, spelled with two dashes."""
    dashed, bare = {name.replace("_", "-") for name in names}, word.lstrip("-").replace("_", "-")
    alike = next((k for words in SAME_MEANING if bare.lower() in words for k in words if k in dashed), None)
    return f", did you mean `--{alike}`?" if alike else nearest(bare, dashed, prefix="--")


def refuse_unused(options: Any, unused: Iterable[str], where: str) -> None:
    """Raise `ValueError` if one of these options is given although it has no effect.

    Args:
        options: the options of a command.
        unused: the names of the options without effect.
        where: the words that follow "must be left out", such as "for a run file".
    """
    for field in dataclasses.fields(options):
        if field.name in unused and getattr(options, field.name) != field.default:
            raise ArgumentError(
                field.name.rstrip("_"), f"be left out {where}", f"is {_shown(getattr(options, field.name))}"
            )


OF_SOLVERS = ("rtol", "atol", "integrator", "max_steps")  # options that only a flow has


def refuse_solvers(options: Any, system: Any) -> None:
    """Raise `ValueError` if a solver of flows is chosen for a map."""
    from dynsim.systems.base import AbstractMap

    if isinstance(system, AbstractMap):
        refuse_unused(options, OF_SOLVERS, "for a map")


def _shown(value: object) -> str:
    if value is True:
        return "given"
    return f"`{value}`" if isinstance(value, str | Path) else str(value)


def check_outputs(
    force: bool,
    *,
    figure: Path | None = None,
    out_endings: tuple[str, ...] = OUT_ENDINGS,
    parts: str = "",
    **files: Path | None,
) -> None:
    """Raise `ValueError` for an output file that cannot be written; called before any computation.

    Args:
        force: whether files that dynsim did not write are replaced.
        figure: the figure, in one of the formats of figures.
        out_endings: the endings that the file `out` may have.
        parts: the ending of a folder of finished parts beside `out`; where it exists, `out` is the file of that run,
            which a run that found another file there would not have begun.
        files: other files by the names of their options.
    """
    from dynsim.io.outputs import check_output

    endings = {"out": out_endings, "events_out": OUT_ENDINGS, "movie": (".gif",)}
    for name, path in files.items():
        if path is not None:
            if path.suffix not in endings.get(name, (path.suffix,)):
                *others, last = endings[name]
                must = f"end in {', '.join(others)} or {last}" if others else f"end in {last}"
                picture = name == "out" and ".csv" in out_endings and path.suffix in (".pdf", ".svg", ".png")
                drawn = f" (`--figure {path}` draws a picture)" if picture else ""
                raise ArgumentError(name, must, f"is `{path}`{drawn}")
            if path.suffix == ".parquet":
                from dynsim.io.tables import check_table_file  # slow: it imports JAX

                check_table_file(name, path)
            resumed = name == "out" and parts != "" and path.with_suffix(parts).is_dir()
            check_output(name, path, force=force or resumed)
    if figure is not None:
        from figures.files import check_format

        check_format("figure", figure)
        check_output("figure", figure, force=force)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError("--config", "be a file that can be read", f"`{path}` is not ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested too deep
        raise ArgumentError("--config", "be TOML", f"`{path}` is not ({reason(error)})") from None


@contextlib.contextmanager
def typed_as(**options: str) -> Iterator[None]:
    """Name the option, not the argument it was passed to, in errors of this context: `typed_as(cells="density")`."""
    try:
        yield
    except ArgumentError as error:
        if options.keys().isdisjoint(error.names):
            raise
        renamed = type(error)([options.get(name, name) for name in error.names], error.must, error.but)
        for note in getattr(error, "__notes__", ()):
            renamed.add_note(note)
        raise renamed from error


@contextlib.contextmanager
def parts_beside(out: Path | None, ending: str) -> Iterator[Path | None]:
    """Yield the folder for finished parts beside an output file, or None without a file.

    Errors about this folder name `--out`, and say what to do.
    """
    folder = None if out is None else out.with_suffix(ending)
    try:
        with typed_as(folder="out"):
            yield folder
    except OtherRunError:
        must = f"name a file beside which `{folder}` holds parts of this very run"
        raise ArgumentError(
            "out", must, "it holds parts of another: delete this folder, or give another `--out`"
        ) from None


def from_toml(options: type[Options], path: Path, *, named: bool) -> Options:
    """Read options from a TOML file; raise `ValueError` for an unknown, missing or ill-typed option.

    With `named`, names that are not options are ignored.
    """
    table = _table(path)
    fields = {f.name.rstrip("_"): f for f in dataclasses.fields(options)}  # pyright: ignore[reportArgumentType]
    for name in table:
        if name.replace("-", "_") not in fields and not named:
            must = f"hold only {', '.join(fields)}"
            raise ArgumentError("--config", must, f"`{path}` holds `{name}`{nearest(name, fields)}")
    given = {name.replace("-", "_"): value for name, value in table.items()}
    given = {name: value for name, value in given.items() if name in fields}
    typed = {fields[name].name: _typed(fields[name], value, path) for name, value in given.items()}
    missing = [f for f in fields.values() if f.default is dataclasses.MISSING and f.name not in typed]
    return options(**typed, **{f.name: _kind(f)() for f in missing})  # empty: the first word must give it


def _typed(field: dataclasses.Field, value: object, path: Path) -> object:
    """Convert a TOML value to the type of its field; raise `ValueError` if it has another type."""
    kinds, several = _kinds(field)
    values = value if several and isinstance(value, list) else [value]
    if several and value == []:
        raise ArgumentError("--config", f"give `{field.name}` with a value", f"`{path}` gives []")
    if several != isinstance(value, list) or not all(_is_one_of(kinds, entry) for entry in values):
        names = [PLAIN_NAMES[one] if isinstance(one, type) else f"`{one}`" for one in kinds]
        several_names = " or ".join(f"{one.removeprefix('a ')}s" for one in names)
        must = f"give `{field.name}` as {f'a list of {several_names}' if several else ' or '.join(names)}"
        raise ArgumentError("--config", must, f"`{path}` gives {value!r}")
    typed = [_converted(kinds, entry) for entry in values]
    return tuple(typed) if several else typed[0]


def _is_one_of(kinds: tuple[Any, ...], value: object) -> bool:
    """Test whether a TOML value is a choice of a `Literal`, has one of the types, or converts to one without loss."""
    also = {Path: str, float: int}
    if isinstance(value, str) and value in kinds:
        return True
    return type(value) in kinds or any(type(value) is also.get(kind) for kind in kinds)


def _converted(kinds: tuple[Any, ...], value: object) -> object:
    if Path in kinds and isinstance(value, str):
        return Path(value)
    if float in kinds and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ArgumentError(
                "--config", "hold numbers that floats can hold", f"holds one of {value.bit_length()} bits"
            ) from None
    return value


def say(text: str) -> None:
    """Print a line of results and flush the output."""
    print(text)
    sys.stdout.flush()


def warn(sentences: Iterable[str]) -> None:
    """Print warnings on stderr."""
    for sentence in sentences:
        print(f"dynsim: {' '.join(sentence.split())}", file=sys.stderr)

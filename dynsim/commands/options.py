"""Parsing of the options of a command into a frozen dataclass, from flags or from a TOML file."""

import dataclasses
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

import tyro

from dynsim.errors import argument_error, nearest

Options = TypeVar("Options")


def parse(options: type[Options], words: Sequence[str], command: str) -> Options:
    """Return the options of a command as an instance of the dataclass `options`.

    Args:
        options: the dataclass, whose fields are the options and whose field docstrings are their help texts.
        words: the arguments of the command; `--config FILE` names a TOML file whose values flags override.
        command: the name of the command, for its help text.

    Raises:
        ValueError: if the TOML file is missing, malformed, or holds an unknown or ill-typed option.
    """
    words = list(words)
    default = None
    if "--config" in words:
        where = words.index("--config")
        if where + 1 == len(words):
            raise argument_error("--config", "be followed by a TOML file", "is not")
        default = from_toml(options, Path(words[where + 1]))
        del words[where : where + 2]
    if default is None:
        return tyro.cli(options, args=words, prog=f"dynsim {command}")
    return tyro.cli(options, args=words, default=default, prog=f"dynsim {command}")


def check_outputs(force: bool, *, figure: Path | None = None, **files: Path | None) -> None:
    """Raise `ValueError`, naming the option, unless all output files may be written; called before any computation."""
    from dynsim.io.outputs import check_output

    for name, path in files.items():
        if path is not None:
            check_output(name, path, force=force)
    if figure is not None:
        from figures.files import check_format

        check_format("figure", figure)
        check_output("figure", figure, force=force)


def from_toml(options: type[Options], path: Path) -> Options:
    """Return options from a TOML file; raise `ValueError` for an unknown, missing or ill-typed option."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise argument_error("--config", "be a file that can be read", f"`{path}` is not ({error.strerror})") from None
    except tomllib.TOMLDecodeError as error:
        raise argument_error("--config", "be TOML", f"`{path}` is not ({error})") from None
    fields = {f.name: f for f in dataclasses.fields(options)}  # pyright: ignore[reportArgumentType]
    for name in table:
        if name.replace("-", "_") not in fields:
            must = f"hold only {', '.join(fields)}"
            raise argument_error("--config", must, f"`{path}` holds `{name}`{nearest(name, fields)}")
    given = {name.replace("-", "_"): value for name, value in table.items()}
    typed = {name: _typed(fields[name], value, path) for name, value in given.items()}
    missing = [f.name for f in fields.values() if f.default is dataclasses.MISSING and f.name not in typed]
    if missing:
        raise argument_error("--config", f"hold `{missing[0]}`", f"`{path}` does not")
    return options(**typed)


def _typed(field: dataclasses.Field, value: object, path: Path) -> object:
    """Return a TOML value converted to the type of its field; raise `ValueError` if it has another type."""
    kinds = get_args(field.type) or (field.type,)
    if Path in kinds and isinstance(value, str):
        return Path(value)
    if float in kinds and type(value) is int:
        return float(value)
    if isinstance(value, list):
        return tuple(value)
    if value not in kinds and type(value) not in kinds:  # a value of a `Literal`, or of one of the types
        names = " or ".join(kind.__name__ if isinstance(kind, type) else f"`{kind}`" for kind in kinds)
        raise argument_error("--config", f"give `{field.name}` as {names}", f"`{path}` gives {value!r}")
    return value


def say(text: str) -> None:
    """Print a line of results and flush the output."""
    print(text)
    sys.stdout.flush()

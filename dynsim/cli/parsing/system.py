"""Options for a system, its parameters and its initial state, shared by the commands that study a system.

A command's dataclass extends `SystemOptions`, `parse_system` reads it, and `dynsim.cli.building.systems.found` builds
the system. This module loads nothing heavy.
"""

import dataclasses
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import tyro

from dynsim.cli.parsing.options import other_words, parse
from dynsim.errors import ArgumentError

NUMBER = r"(-?\.?\d[^:]*)(:-?\.?\d[^:]*)*"  # begins like a number, or a range; `2d.py:name` is a system
SINGLE = r"-(?!h$|inf|nan)[A-Za-z].*"  # an option with one dash, which is refused with the closest name


@dataclass(frozen=True)
class SystemOptions:
    """Options for a system, its parameters and its initial state.

    SYSTEM is a name that `dynsim list systems` shows, equations such as "x' = y; y' = -x", or a file of them (.ode,
    .xml in SBML, .toml, .txt), or `file.py:name` or `module:name` of yours: a function f(t, x), whose further arguments
    with defaults are parameters, or a flow or a map, or a class of these. Every parameter of the system is an option of
    its own, such as `--rho 28` for `lorenz`; an argument that is True or False by default is set by `--NAME` and
    `--no-NAME`.
    """

    system: Annotated[str, tyro.conf.Positional]
    """name of a system of the catalogue or of a paper (`dynsim list systems`), equations, or `file.py:name`"""
    parameters: tuple[str, ...] = ()
    """parameters of the system as NAME=VALUE (or NAME=1,2,3), for a parameter that has the name of an option"""
    start: tuple[float, ...] = ()
    """initial state, one number per component; by default the catalogue's, or a random one"""
    names: tuple[str, ...] = ()
    """names of the components, for a function of yours"""
    units: tuple[str, ...] = ()
    """units of the components, for a function of yours"""
    space: str = ""
    """state space of a function of yours: euclidean (default), sphere, simplex or ellipsoid:FILE"""
    angle: tuple[str, ...] = ()
    """components that are angles: NAME for a period of 2 pi, or NAME=PERIOD such as theta=360"""
    map: bool = False
    """iterate a function of yours as a map, x <- f(k, x)"""
    breaks: tuple[float, ...] = ()
    """times at which a function of yours jumps, such as the ends of a pulse; steps end there"""
    longest_step: float | None = None
    """longest step in time of a function of yours, so that a short pulse is not stepped over"""
    seed: int = 0
    """seed of all random numbers"""


Options = TypeVar("Options", bound=SystemOptions)


def parse_system(
    options: type[Options], words: Sequence[str], command: str, of_system: Collection[str] = ()
) -> Options:
    """Parse the options of a command; unknown options become `parameters` of the system, to be checked later.

    So do names in a TOML file that are not options, which flags override, and flags whose names are in `of_system`.

    Raises:
        ValueError: for an ill-typed option.
    """
    known = tuple(field.name.rstrip("_") for field in dataclasses.fields(options) if field.name not in of_system)
    rest, extra = separated(words, known)
    try:
        parsed = parse(options, rest, command, named=True)
    except ArgumentError as error:
        name = next((name for name in error.names if name in known and _assigns(words, name)), None)
        if name is None or name == "system":
            raise
        also = f"the parameter `{name}` of the system is set by `--parameters {name}=VALUE`"
        raise ArgumentError(error.names, error.must, f"{error.but} ({also})") from None
    return dataclasses.replace(parsed, parameters=(*other_words(options, words), *parsed.parameters, *extra))


def _assigns(words: Sequence[str], name: str) -> bool:
    """Test whether the text or the file of the system, the first word, gives a name a value, as a parameter has one."""
    path = Path(words[0].partition(":")[0]) if words else Path()
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else words[0] if words else ""
    except (OSError, ValueError):  # a name that is too long, or no text
        text = words[0]
    return re.search(rf"(?<![\w']){re.escape(name)}\s*(:\s*\w+\s*)?=(?!=)", text) is not None


def separated(words: Sequence[str], fields: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Separate the words of known options from the others, which are returned as NAME=VALUE.

    An option with a single dash keeps it in its name, by which it is refused later, when the system's parameters are
    known.
    """
    known = {*fields, *(f"no_{name}" for name in fields), "config", "help"}
    rest: list[str] = []
    extra: list[tuple[str, list[str]]] = []
    taken: list[str] = rest
    is_named = bool(words) and not words[0].startswith("-")
    for word in words:
        if re.match(r"--[A-Za-z]", word) or re.fullmatch(SINGLE, word, re.IGNORECASE):
            name, equals, value = word.removeprefix("--").partition("=")
            if name.replace("-", "_") in known:
                taken = rest
                rest.append(word)
            else:
                taken = [value] if equals else []
                extra.append((name[0] + name[1:].replace("-", "_"), taken))
        elif word == "-h" or not (is_named or taken is rest or re.fullmatch(NUMBER, word) or not taken):
            rest.append(word)  # the system may be named after its parameters
        else:
            taken.append(word)
    names = [name for name, _ in extra]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise ArgumentError(twice, "be given once, with all of its values", "is given again")
    return rest, tuple(f"{name}={','.join(values)}" for name, values in extra)

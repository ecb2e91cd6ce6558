"""Build the system of a command whose name is a text of equations, or a file with one."""

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dynsim.cli.parsing.options import typed_as
from dynsim.errors import shown

ENDINGS = (".ode", ".toml", ".txt", ".xml", ".sbml")
"""Files that hold equations."""


def is_equations(word: str) -> bool:
    """Whether the name of a system is a text of equations, or a file with one."""
    return word.endswith(ENDINGS) or "=" in word and re.search(r"\.py:\w+$", word) is None


def is_code(word: str) -> bool:
    """Whether the name of a system is that of code, `file.py:name` or `module:name`."""
    return ":" in word and not is_equations(word)


def title(word: str) -> str:
    """A short name for a figure: a file's name, or the beginning of a text."""
    return Path(word).name if word.endswith(ENDINGS) else shown(" ".join(word.split())).strip("\"'")


def names(word: str) -> tuple[str, ...]:
    """Names in the equations that are parameters, or that need a value."""
    from dynsim.equations.files import text_of
    from dynsim.equations.system import parameter_names
    from dynsim.equations.transitions import with_transitions

    with typed_as(text="system", path="system"):
        return parameter_names(with_transitions(text_of(word)).text)


def has_value(word: str, name: str) -> bool:
    """Whether the equations give a parameter its value."""
    from dynsim.equations.files import text_of

    return re.search(rf"(?:^|[\n;,])\s*{re.escape(name)}\s*=", text_of(word)) is not None


def unused_options(word: str) -> str:
    """Names of the options `@` of an `.ode` file that have no effect here, or ""."""
    from dynsim.equations.files import text_of
    from dynsim.equations.ode_options import UNUSED

    last = text_of(word).rpartition("\n")[2] if word.endswith(".ode") else ""
    return last.removeprefix(UNUSED) if last.startswith(UNUSED) else ""


def first_value(options: Any, name: str) -> float | None:
    """The first value of a parameter in an option, as in `--parameter mu=0:2` or `mu=0`; None if no option has one."""
    for value in vars(options).values():
        for word in value if isinstance(value, tuple) else (value,):
            found = re.match(rf"{re.escape(name)}=([^:,]+)(?:[:,]|$)", word) if isinstance(word, str) else None
            if found:
                with contextlib.suppress(ValueError):
                    return float(found[1])
    return None


def from_text(word: str, given: Mapping[str, Any], calculus: str | None, *, hybrid: bool) -> Any:
    """The flow or the map of a text or a file with these parameters; a hybrid system if it has transitions.

    Raises:
        ArgumentError: for a text that is none of these, or has transitions unless `hybrid`.
    """
    from dynsim.equations.files import text_of
    from dynsim.equations.system import system
    from dynsim.equations.transitions import with_transitions

    with typed_as(text="system", path="system"):
        text = text_of(word)
        if hybrid and with_transitions(text).statements:
            from dynsim.simulation.hybrid_equations import hybrid_system

            return hybrid_system(text, given)
        return system(text, given, calculus=calculus or "ito")

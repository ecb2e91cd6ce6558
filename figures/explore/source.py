"""How a system is named on the command line and in Python, so that a page can write what reproduces its view."""

import shlex
from typing import Any, NamedTuple

from dynsim.equations.flows import EquationFlow, EquationMap
from dynsim.systems.catalogue.entries import CATALOGUE


class SystemSource(NamedTuple):
    """Where a system comes from.

    Attributes:
        words: the words of the command line that name it, quoted for a shell; empty if there are none.
        imports: lines of Python that import what `before` uses.
        before: the Python expression up to its parameters.
        after: the rest of the expression.
        keywords: whether parameters are keywords, `mu=1.0`, or else a dictionary.
    """

    words: str
    imports: tuple[str, ...]
    before: str
    after: str
    keywords: bool


def source_of(system: Any) -> SystemSource:
    """The source of a system of the catalogue, of one from equations, or of the variable `system` of a notebook."""
    for name, entry in CATALOGUE.items():
        if entry.kind is type(system):
            return SystemSource(name, (), f"ds.catalogue.{type(system).__name__}(", ")", True)
    if isinstance(system, EquationFlow | EquationMap):
        rhs: Any = system.rhs if isinstance(system, EquationFlow) else system.step_function
        text = "; ".join(rhs.text.splitlines())
        return SystemSource(shlex.quote(text), (), f"ds.system({text!r}, ", ")", False)
    return SystemSource("", ("from dynsim.systems.named import changed",), "changed(system, ", ")", False)


def source_of_own(place: str, made: Any, options: dict[str, tuple[str, ...]], is_map: bool) -> SystemSource:
    """The source of a system that `file.py:name` names, in the folder of the file.

    Args:
        place: the file or the module, and the name.
        made: what the name stands for: a function, a system or a class of systems.
        options: words of further options by the names of the options.
        is_map: whether a function is a map.
    """
    file, _, name = place.rpartition(":")
    file = file.replace("\\", "/").rpartition("/")[2]
    module = file.removesuffix(".py")
    words = [
        f"{file}:{name}",
        *(word for option, given in options.items() if given for word in (f"--{option}", *given)),
    ]
    if is_map and callable(made) and not isinstance(made, type):
        words.append("--map")
    changed = "from dynsim.systems.named import changed"
    imports, text = (f"from {module} import {name}",), shlex.join(words)
    if isinstance(made, type):
        return SystemSource(text, (*imports, changed), f"changed({name}(), ", ")", False)
    if not callable(made) or hasattr(made, "space"):
        return SystemSource(text, (*imports, changed), f"changed({name}, ", ")", False)
    kind = "FunctionMap" if is_map else "FunctionFlow"
    names = f"names={options['names']!r}, " if options.get("names") else ""
    return SystemSource(text, imports, f"ds.{kind}({name}, {names}parameters=", ")", False)

"""Read equations from files: plain text, TOML, `.ode` files of XPPAUT, and SBML."""

import tomllib
from pathlib import Path
from typing import Any

from dynsim.equations.ode import from_ode
from dynsim.equations.sbml import from_sbml
from dynsim.errors import ArgumentError, reason, shown

TABLES = ("equations", "parameters", "start", "units", "ranges", "time_unit")


def text_of(text_or_path: str | Path) -> str:
    """The equations of a file, or the text itself.

    A `.txt` file holds the text. A TOML file has the text as `equations`, and may have tables `parameters`, `start`,
    `units` and `ranges` by name, and `time_unit`. An `.ode` file is one of XPPAUT, and `.xml` and `.sbml`
    files are models in SBML.
    """
    path = Path(text_or_path)
    readers = {".txt": str, ".toml": from_toml, ".ode": from_ode, ".xml": from_sbml, ".sbml": from_sbml}
    if isinstance(text_or_path, str) and path.suffix not in readers:
        return text_or_path
    if path.suffix not in readers:
        raise ArgumentError("path", f"end in {', '.join(readers)}", f"is `{path}`")
    try:
        return readers[path.suffix](path.read_text(encoding="utf-8-sig", errors="replace"))
    except OSError as error:
        raise ArgumentError("path", "name a text file that can be read", f"`{path}` cannot ({reason(error)})") from None


def from_toml(content: str) -> str:
    """The text of equations that a TOML file stands for."""
    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError("path", "name a file in TOML", f"does not ({reason(error)})") from None
    for name in table:
        if name not in TABLES:
            raise ArgumentError("path", f"name a file with {', '.join(TABLES)} only", f"has `{name}`")
    units, ranges = _table(table, "units"), _table(table, "ranges")
    found = [str(table.get("equations", ""))]
    for name, value in _table(table, "parameters").items():
        found.append(f"{name} = {_number(name, value)}{_remark(name, units, ranges)}")
    found += [f"{name}(0) = {_number(name, value)}" for name, value in _table(table, "start").items()]
    states = "\n".join(found)
    for name in {*units, *ranges} - set(_table(table, "parameters")):
        states += f"\n# {name}:{_remark(name, units, ranges)}"
    return states + (f"\n# t [{table['time_unit']}]" if "time_unit" in table else "")


def _table(table: dict[str, Any], name: str) -> dict[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise ArgumentError("path", f"have a table `{name}`", f"has {shown(found)}")
    return found


def _number(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError("path", f"give a number for `{name}`", f"gives {shown(value)}")
    return repr(float(value))


def _remark(name: str, units: dict[str, Any], ranges: dict[str, Any]) -> str:
    unit = f" [{units[name]}]" if name in units else ""
    bounds = ranges.get(name)
    if bounds is None:
        return f"  #{unit}" if unit else ""
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ArgumentError("path", f"give two numbers as the range of `{name}`", f"gives {shown(bounds)}")
    low, high = (_number(name, one) for one in bounds)
    return f"  #{unit} {low}..{high}"

"""Make axis labels from the names and units that a system declares."""

import contextlib
import contextvars
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dynsim.equations.functions import GREEK

_GIVEN: contextvars.ContextVar["Given | None"] = contextvars.ContextVar("given", default=None)
NO_BREAK = "\N{NO-BREAK SPACE}"  # prevents a line break
FEW = 4  # a label lists the values of at most this many components


class Given(NamedTuple):
    """Labels and units of a user's by the names of components and parameters, and the names that were looked up."""

    labels: Mapping[str, str]
    units: Mapping[str, str]
    used: set[str]


@contextlib.contextmanager
def relabelled(labels: Mapping[str, str], units: Mapping[str, str]) -> Iterator[set[str]]:
    """Label components and parameters otherwise within this context; gives the names that figures look up.

    Args:
        labels: labels by name, with formulas between dollar signs.
        units: units by name.
    """
    given = Given(labels, units, set())
    token = _GIVEN.set(given)
    try:
        yield given.used
    finally:
        _GIVEN.reset(token)


def parsed(text: str) -> str:
    """A text with formulas between dollar signs; what cannot be typeset is shown as it is, with a warning."""
    from matplotlib.mathtext import MathTextParser

    if text.count("$") - text.count(r"\$") < 1:
        return text
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        warnings.warn(f"The text `{text}` is no formula that can be typeset, and is shown as it is.", stacklevel=2)
        return text.replace(r"\$", "$").replace("$", r"\$")
    return text


def symbol(name: str) -> str:
    r"""Typeset a name: a letter with subscripts and primes in italics, such as `theta_1` as $\theta_1$; words stay.

    A name that contains a dollar sign is left as it is.
    """
    given = _GIVEN.get()
    if given is not None:
        given.used.add(name)
        if name in given.labels:
            return parsed(given.labels[name])
    found = re.fullmatch(r"(" + "|".join(GREEK) + r"|[A-Za-z])(_[\w,]+|\d*)('*)", name)
    if "$" in name or found is None:
        return parsed(name) if "$" in name else name.replace("_", " ")
    letter = rf"\{found[1]}" if len(found[1]) > 1 else found[1]
    below = found[2].lstrip("_")
    return rf"${letter}{found[3]}_{{{below}}}$" if below else f"${letter}{found[3]}$"


def dotted(label: str) -> str:
    r"""The time derivative of a symbol, with the dot over its letter, such as $\dot{x}_{1}$, without dollar signs."""
    found = re.fullmatch(r"\$(\\?[A-Za-z]+)(.*)\$", label.split(" (")[0])
    return rf"\dot{{{found[1]}}}{found[2]}" if found else ""


def at_rest(label: str) -> str:
    r"""Name of a nullcline: $\dot{x} = 0$ for a symbol, or "... at rest" for a word."""
    return f"${derivative} = 0$" if (derivative := dotted(label)) else f"{label.split(' (')[0]} at rest"


def size_label(labels: Sequence[str], units: Sequence[str], time_unit: str = "") -> str:
    r"""Label of the size of a vector field: a speed if its components share a unit, or else $|(\dot{x}, \dot{y})|$.

    It is empty if the components have different units, whose squares cannot be added.
    """
    unit = shared_unit(units)
    if len(set(units)) > 1:
        return ""
    if unit:
        return rate_label("speed", unit, time_unit)
    derivatives = [dotted(label) for label in labels]
    name = f"$|({', '.join(derivatives)})|$" if all(derivatives) else "size of the field"
    return rate_label(name, "", time_unit)


def axis_label(name: str, unit: str = "") -> str:
    """Axis label: the symbol of a name, with its unit in brackets if it has one."""
    unit = _unit(name, unit)
    return f"{symbol(name)} ({unit})" if unit else symbol(name)


def _unit(name: str, unit: str) -> str:
    """The unit of a name, as the user gives it or else as declared."""
    given = _GIVEN.get()
    return unit if given is None else given.units.get(name, unit)


def axis_labels(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Labels of several axes."""
    return [axis_label(name, unit) for name, unit in zip(names, units, strict=True)]


def rate_label(name: str, unit: str, time_unit: str) -> str:
    """Label of a rate of change, with the unit of a component per unit of time, as far as these are known."""
    return axis_label(name, _per_time(unit, time_unit))


def velocity_label(name: str, unit: str, time_unit: str) -> str:
    """Label of the velocity of a component, with its unit per unit of time, as far as these are known."""
    per_time = _per_time(_unit(name, unit), time_unit)
    return f"velocity of {symbol(name)}" + (f" ({per_time})" if per_time else "")


def _per_time(unit: str, time_unit: str) -> str:
    if unit and not time_unit:
        return f"{unit} per unit of time"
    return f"{unit or 1} / {time_unit}" if time_unit else ""


def shared_unit(units: Sequence[str]) -> str:
    """The unit that all components share, or "" if they do not."""
    return units[0] if len(set(units)) == 1 else ""


def of_many(what: str, names: Sequence[str], units: Sequence[str]) -> tuple[list[str], str]:
    """Labels of several curves and of their common axis, which carries the unit if they share one."""
    units = [_unit(name, unit) for name, unit in zip(names, units, strict=True)]
    unit = shared_unit(units)
    if unit:
        return [symbol(name) for name in names], axis_label(what, unit)
    return axis_labels(names, units), axis_label(what)


def slice_label(names: Sequence[str], values: Sequence[float], units: Sequence[str] = ()) -> str:
    """Position of a slice: the values of the components held fixed, or their number if there are many."""
    given = zip(values, units or [""] * len(names), strict=True)
    words = [f"{number_text(value)}{NO_BREAK}{unit}" if unit else number_text(value) for value, unit in given]
    if len(words) <= FEW:
        return ", ".join(f"{symbol(name)} = {word}" for name, word in zip(names, words, strict=True))
    same = words.count(words[0]) == len(words)
    return f"{len(words)} other components " + (f"= {words[0]}" if same else "held fixed")


def number_text(value: float) -> str:
    """A number with three digits and a typographic minus sign."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def time_label(unit: str = "") -> str:
    """Label of a time axis."""
    return f"time $t$ ({unit})" if unit else "time $t$"


def letters(text: str) -> str:
    """A text of about the length that the given text has when typeset."""
    return re.sub(r"\\[a-z]+|[${}\\^_]", "", text)


def in_lines(text: str, most: float) -> list[str]:
    """Break a text into as few lines of at most `most` letters as possible, of about equal length."""
    lines = _filled(text, most)
    for fewer in range(int(most), 0, -1):
        found = _filled(text, fewer)
        if len(found) > len(lines):
            break
        lines = found
    return lines


def _filled(text: str, most: float) -> list[str]:
    """Fill lines with words up to `most` letters; a longer word gets its own line."""
    lines = [""]
    for word in re.findall(rf"(?:\$[^$]*\$|[^\s]|{NO_BREAK})+", text):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(letters(longer)) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines

"""Labels of axes from the names and units that a system declares."""

import re
from collections.abc import Sequence

GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "mu", "nu", "omega", "phi", "psi", "rho",
         "sigma", "tau", "xi", "zeta", "eta", "kappa")  # fmt: skip

NO_BREAK = "\N{NO-BREAK SPACE}"  # at which no line ends
FEW = 4  # components of which a label has the values


def symbol(name: str) -> str:
    r"""Return a name as it is set: a letter with or without subscripts in italics, `theta_1` as $\theta_1$, else words.

    A dollar in a name is left to its owner.
    """
    found = re.fullmatch(r"(" + "|".join(GREEK) + r"|[A-Za-z])(_[\w,]+|\d*)", name)
    if "$" in name or found is None:
        return name if "$" in name else name.replace("_", " ")
    letter = rf"\{found[1]}" if len(found[1]) > 1 else found[1]
    below = found[2].lstrip("_")
    return rf"${letter}_{{{below}}}$" if below else f"${letter}$"


def axis_label(name: str, unit: str = "") -> str:
    """Return the label of an axis: the symbol of a name, and its unit in brackets if it has one."""
    return f"{symbol(name)} ({unit})" if unit else symbol(name)


def axis_labels(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """Return the labels of several axes."""
    return [axis_label(name, unit) for name, unit in zip(names, units, strict=True)]


def rate_label(name: str, unit: str, time_unit: str) -> str:
    """Return the label of a quantity in units of a component by those of time, as far as they are known."""
    if unit and not time_unit:
        return axis_label(name, f"{unit} per unit of time")
    return axis_label(name, f"{unit or 1} / {time_unit}" if time_unit else "")


def shared_unit(units: Sequence[str]) -> str:
    """Return the unit that all components have, or "" if there is none."""
    return units[0] if len(set(units)) == 1 else ""


def of_many(what: str, names: Sequence[str], units: Sequence[str]) -> tuple[list[str], str]:
    """Return the labels of several curves and that of their axis, which has their unit if it is the same."""
    unit = shared_unit(units)
    return axis_labels(names, [""] * len(names) if unit else units), axis_label(what, unit)


def slice_label(names: Sequence[str], values: Sequence[float], units: Sequence[str] = ()) -> str:
    """Return where a slice cuts, the values of the components that it holds fixed; of many equal ones their number."""
    given = zip(values, units or [""] * len(names), strict=True)
    words = [f"{number_text(value)}{NO_BREAK}{unit}" if unit else number_text(value) for value, unit in given]
    if len(words) <= FEW:
        return ", ".join(f"{symbol(name)} = {word}" for name, word in zip(names, words, strict=True))
    same = words.count(words[0]) == len(words)
    return f"{len(words)} other components " + (f"= {words[0]}" if same else "held fixed")


def number_text(value: float) -> str:
    """Return a number in three digits, with the sign of a minus."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def time_label(unit: str = "") -> str:
    """Return the label of an axis of time."""
    return f"time $t$ ({unit})" if unit else "time $t$"


def letters(text: str) -> str:
    """Return what is about as long as a text when it is set."""
    return re.sub(r"\\[a-z]+|[${}\\^_]", "", text)


def in_lines(text: str, most: float) -> list[str]:
    """Return the words of a text in as few lines of so many letters as there can be, of about the same length."""
    lines = _filled(text, most)
    for fewer in range(int(most), 0, -1):
        found = _filled(text, fewer)
        if len(found) > len(lines):
            break
        lines = found
    return lines


def _filled(text: str, most: float) -> list[str]:
    """Return the words of a text in lines of so many letters at most; one that is longer has its own."""
    lines = [""]
    for word in re.findall(rf"(?:\$[^$]*\$|[^\s]|{NO_BREAK})+", text):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and len(letters(longer)) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines

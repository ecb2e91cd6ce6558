"""Labels of axes from the names and units that a system declares."""

import re
from collections.abc import Sequence

GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "mu", "nu", "omega", "phi", "psi", "rho",
         "sigma", "tau", "xi", "zeta", "eta", "kappa")  # fmt: skip

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


def slice_label(names: Sequence[str], values: Sequence[float]) -> str:
    """Return where a slice cuts, the values of the components that it holds fixed; of many equal ones their number."""
    words = [f"{value:.3g}" for value in values]
    if len(words) <= FEW:
        return ", ".join(f"{symbol(name)} = {word}" for name, word in zip(names, words, strict=True))
    same = words.count(words[0]) == len(words)
    return f"{len(words)} other components " + (f"= {words[0]}" if same else "held fixed")


def time_label(unit: str = "") -> str:
    """Return the label of an axis of time."""
    return f"time $t$ ({unit})" if unit else "time $t$"

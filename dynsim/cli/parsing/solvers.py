"""The integrators that an option of the command line names."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynsim.errors import Outcome

if TYPE_CHECKING:
    from dynsim.integrators import AbstractIntegrator


def integrator(name: str, rtol: float, max_steps: int | None = None) -> "AbstractIntegrator":
    """Return an integrator by its word, with the absolute tolerance a hundredth of the relative one.

    The implicit one, `stiff`, has its own choice of the absolute tolerance. Without a cap on steps it is that of the
    integrator.
    """
    from dynsim.integrators import RKC2, Diffrax, Scipy, stiff

    if name == "stiff":
        made: Diffrax | Scipy = stiff(rtol)
    elif name == "scipy":
        made = Scipy(rtol=rtol, atol=rtol / 100)
    else:
        made = Diffrax(RKC2() if name == "rkc2" else None, rtol=rtol, atol=rtol / 100)
    return made if max_steps is None else dataclasses.replace(made, max_steps=max_steps)


def of_many(name: str, rtol: float) -> "AbstractIntegrator | None":
    """Return the integrator of many starts, or of tangent vectors, by its word: None for the one that they have."""
    from dynsim.integrators.presets import implicit

    return implicit(rtol) if name == "stiff" else None


SOLVERS = {
    "basins": ("rtol", "integrator", "stiff"),
    "lyapunov": ("rtol", "integrator", "stiff"),
    "section": ("rtol", "max_steps", "integrator", "stiff"),
    "sweep": ("rtol", "max_steps"),
    "simulate": ("rtol", "max_steps", "integrator", "stiff", "step_size"),
    "simulate fast-slow": ("rtol", "max_steps"),
    "simulate growing": ("rtol", "max_steps", "integrator"),
    "simulate prototypes": ("rtol", "max_steps", "integrator", "stiff"),
}
"""The options of solvers that commands have; `stiff` is a choice of `--integrator`."""


STIFF_OPTION = " by `--integrator stiff`"  # how a search takes an implicit solver


LONGER = 4  # times as many intervals are advised


def unsettled(is_stiff: bool, labels: Any, longest: int) -> str:
    """Return the sentence on what a search for attractors could do about starts that have not settled; "" for none.

    Args:
        is_stiff: whether an explicit solver held them back.
        labels: labels of the starts, or all labels that occur.
        longest: the number of intervals for which they were followed.
    """
    from analysis.dynamics.attractors.search import NOT_SETTLED, held_back

    if NOT_SETTLED not in labels or is_stiff:
        return held_back(is_stiff, labels, STIFF_OPTION)
    more = f"`--longest {LONGER * longest}` follows them for longer"
    return f"starts that have not settled still move: {more} (what conserves an energy or a volume never settles)"


def in_options(said: str, command: str, words: Sequence[str] = ()) -> str:
    """Return what was said about an integration with its advice in terms of the options of a command.

    Args:
        said: a sentence that may hold the advice of outcomes.
        command: the name of the command.
        words: its arguments; the first one may name a system with options of its own.
    """
    system = f"{command} {words[0].partition('/')[0]}" if words else command
    options = SOLVERS.get(system, SOLVERS.get(command, ()))
    for outcome, advice in _advice(options).items():
        said = said.replace(outcome.advice, advice)
    return said


def _advice(options: Sequence[str]) -> dict[Outcome, str]:
    """Return what to try next for each outcome with advice of its own at the command line."""
    steps = ["a shorter run"]
    steps += ["a larger `--rtol`"] * ("rtol" in options) + ["more `--max-steps`"] * ("max_steps" in options)
    stiff = ", or `--integrator stiff` where accuracy alone would allow longer steps" if "stiff" in options else ""
    solver = ["a larger `--rtol`"] * ("rtol" in options) + ["another `--integrator`"] * ("integrator" in options)
    found = {Outcome.MAX_STEPS: f"take {_either(steps)}{stiff}"}
    if solver:
        found[Outcome.IMPLICIT_SOLVER] = f"take {_either(solver)}"
    if "step_size" in options:
        vanishing = "noise that vanishes at the boundary"
        found[Outcome.LEFT_DOMAIN] = f"take {vanishing}, a shorter `--step-size`, or other variables such as logarithms"
    return found


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

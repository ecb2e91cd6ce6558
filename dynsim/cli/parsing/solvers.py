"""Integrators by the names of the command line, and advice after a failed integration in terms of its options."""

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dynsim.errors import Outcome, advising

if TYPE_CHECKING:
    from dynsim.integrators import AbstractIntegrator


def integrator(name: str, rtol: float, max_steps: int | None = None, atol: float | None = None) -> "AbstractIntegrator":
    """Build an integrator by its name.

    Without `atol` the absolute tolerance is a hundredth of the relative one; without `max_steps` the integrator's own
    limit on the number of steps holds.
    """
    from dynsim.integrators import RKC2, Diffrax, Scipy, stiff

    made: Diffrax | Scipy
    absolute = rtol / 100 if atol is None else atol
    if name == "stiff":
        made = dataclasses.replace(stiff(rtol), atol=absolute)
    elif name == "scipy":
        made = Scipy(rtol=rtol, atol=absolute)
    else:
        made = Diffrax(RKC2() if name == "rkc2" else None, rtol=rtol, atol=absolute)
    return made if max_steps is None else dataclasses.replace(made, max_steps=max_steps)


def of_many(name: str, rtol: float) -> "AbstractIntegrator | None":
    """Build the integrator of many starts or of tangent vectors by its name; None stands for their default."""
    if name != "stiff":
        return None
    from dynsim.integrators.presets import implicit

    return implicit(rtol)


SOLVERS = {
    "basins": ("rtol", "integrator", "stiff"),
    "lyapunov": ("rtol", "integrator", "stiff"),
    "section": ("rtol", "max_steps", "integrator", "stiff"),
    "spectrum": ("rtol", "max_steps", "integrator", "stiff"),
    "recurrence": ("rtol", "max_steps", "integrator", "stiff"),
    "chaos": ("rtol", "max_steps", "integrator", "stiff"),
    "sweep": ("rtol", "max_steps"),
    "simulate": ("rtol", "max_steps", "integrator", "stiff", "step_size"),
    "simulate fast-slow": ("rtol", "max_steps"),
    "simulate growing": ("rtol", "max_steps", "integrator"),
    "simulate prototypes": ("rtol", "max_steps", "integrator", "stiff"),
}
"""The solver options that each command has; `stiff` stands for the choice `--integrator stiff`."""


STIFF_OPTION = " by `--integrator stiff`"  # how the command line selects an implicit solver


LONGER = 4  # factor by which the advice raises the number of intervals


def unsettled(is_stiff: bool, labels: Any, longest: int) -> str:
    """Advise what to do about starts that have not settled in a search for attractors; "" if all have.

    Args:
        is_stiff: whether an explicit solver held them back.
        labels: labels of the starts, or all labels that occur.
        longest: the number of intervals for which they were integrated.
    """
    from analysis.dynamics.attractors.search import NOT_SETTLED, held_back

    if NOT_SETTLED not in labels or is_stiff:
        return held_back(is_stiff, labels, STIFF_OPTION)
    more = f"`--longest {LONGER * longest}` integrates them for longer"
    return f"some starts have not settled: {more} (a system that conserves energy or volume never settles)"


def advising_options(command: str, words: Sequence[str] = ()) -> AbstractContextManager[None]:
    """Word the advice after failed integrations in terms of the options of a command, in this context.

    Args:
        command: the name of the command.
        words: the arguments of the command; the first one may name a system with its own options.
    """
    system = f"{command} {words[0].partition('/')[0]}" if words else command
    return advising(_advice(SOLVERS.get(system, SOLVERS.get(command, ()))))


def _advice(options: Sequence[str]) -> dict[Outcome, str]:
    """Word the advice for each outcome that a command can act on by its options."""
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

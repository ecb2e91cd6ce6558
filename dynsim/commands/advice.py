"""Advice on integrations that failed, in terms of the options that a command has."""

from collections.abc import Sequence

from dynsim.outcome import Outcome

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

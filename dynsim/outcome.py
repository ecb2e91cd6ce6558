"""How an integration ended, as one enumeration: each value with its sentence and what to try next."""

import enum


class Outcome(enum.IntEnum):
    """How an integration ended; the value is what `Stats.outcome` stores, one for each member of an ensemble."""

    sentence: str
    advice: str

    def __new__(cls, value: int, sentence: str, advice: str = ""):
        """Return the member with its sentence and its advice."""
        member = int.__new__(cls, value)
        member._value_, member.sentence, member.advice = value, sentence, advice
        return member

    FINISHED = 0, "the last time was reached"
    MAX_STEPS = (
        1,
        "all allowed steps were used",
        "take more `max_steps`, a shorter horizon, looser tolerances or, where accuracy alone would allow longer "
        "steps, a stiff solver (`stiff()`, `Diffrax(solver=Kvaerno5())`)",
    )
    NON_FINITE = (
        2,
        "the field is not finite on every step tried, however short",
        "look for a zero token, an overflow, a finite escape time or a manifold that ends at a fold",
    )
    STEP_UNDERFLOW = (
        3,
        "the step size fell to rounding error",
        "the state escapes to infinity there, the field jumps where no breakpoint is declared or is singular, a "
        "manifold ends at a fold, or the tolerances are below what its precision allows",
    )
    IMPLICIT_SOLVER = (
        4,
        "the implicit stage equations were not solved",
        "take float64 states or looser tolerances",
    )
    LEFT_DOMAIN = (
        5,
        "the noise left the domain (an entry of a simplex below zero, or a negative `domain`)",
        "take noise that vanishes at the boundary, shorter steps, or other variables such as logarithms",
    )


IN_OPTIONS = {
    Outcome.MAX_STEPS: "take a shorter run, a larger `--rtol` or, of `dynsim simulate`, `dynsim section` and `dynsim "
    "sweep`, more `--max-steps`, or, of `dynsim simulate`, `--integrator stiff` where accuracy alone would allow "
    "longer steps",
    Outcome.IMPLICIT_SOLVER: "take a larger `--rtol` or another `--integrator`",
    Outcome.LEFT_DOMAIN: "take noise that vanishes at the boundary, a shorter `--step-size`, or other variables such "
    "as logarithms",
}
"""What to try next in terms of the options of commands, where they are others than those of functions."""


def in_options(said: str) -> str:
    """Return what was said about an integration with its advice in terms of the options of commands."""
    for outcome, advice in IN_OPTIONS.items():
        said = said.replace(outcome.advice, advice)
    return said

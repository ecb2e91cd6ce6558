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

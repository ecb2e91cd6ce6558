"""The exceptions of the library, and the sentences of their messages."""

import difflib
import enum
import math
from collections.abc import Iterable


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


LONGEST = 60  # characters of a value in a sentence
CLOSE = 8  # names that are compared letter by letter with one that does not exist


class IntegrationError(RuntimeError):
    """An integration stopped before its last time.

    `outcome` says what stopped it.
    """

    def __init__(self, message: str, *, outcome: Outcome):
        super().__init__(message)
        self.outcome = outcome


class ArgumentError(ValueError):
    """Arguments that break a requirement: "Argument `x` must ..., but ...".

    The command line prints this sentence; any other `ValueError` is an error in the program.

    Args:
        names: the name of the argument, or the names of several with one requirement.
        must: the requirement, a verb phrase that follows "must".
        but: the verb phrase or clause that follows "but": the value that was given.
    """

    def __init__(self, names: str | Iterable[str], must: str, but: str):
        self.names = (names,) if isinstance(names, str) else tuple(names)
        self.must = must
        self.but = " ".join(but.split())
        super().__init__(self.names, must, but)  # what a copy in another process is made from

    def __str__(self) -> str:
        *others, last = (f"`{name}`" for name in self.names)
        subject = f"Arguments {', '.join(others)} and {last}" if others else f"Argument {last}"
        # what is quoted may end in a full stop or in dots of its own
        but = self.but if self.but.endswith("..") else self.but.removesuffix(".")
        return f"{subject} must {self.must}, but {but}{'' if but.endswith('?') else '.'}"


class UnavailableError(ValueError):
    """A data file, a record of an experiment or an optional package that a computation needs is not available.

    A claim that needs it is undecided, for this reason.
    """


class OtherRunError(ArgumentError):
    """A folder of finished parts holds those of another run."""


class TrainingError(RuntimeError):
    """Training stopped before its last step because the loss is not finite."""


def counted(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: `1 branch`, `2 branches`; without `several` the plural has an s."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def shown(value: object) -> str:
    """Return a value as it is written in a program, on one line and not longer than 60 characters."""
    if callable(value) and hasattr(value, "__name__"):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_at_least(least: float, **values: float) -> None:
    """Raise `ValueError`, naming the first value that is too small, unless all these arguments are at least `least`."""
    low = next((name for name, value in values.items() if not value >= least), None)
    if low is not None:
        which = f"`{low}` is" if len(values) > 1 else "is"
        raise ArgumentError(values, f"be at least {least:g}", f"{which} {values[low]}")


def check_positive(**values: float | None) -> None:
    """Raise `ValueError`, naming the first that is not, unless all these arguments are positive and finite, or None."""
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise ArgumentError(name, "be a positive number", f"is {value}")


def reason(error: BaseException) -> str:
    """Return the message of an exception on one line without its full stop, or the exception's type if it has none."""
    said = getattr(error, "strerror", None) or str(error)
    return said.splitlines()[0].rstrip(".") if said.strip() else type(error).__name__


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ", did you mean `x`?" with the choice x closest in spelling to `word`, or "" if none is close."""
    close = difflib.get_close_matches(word, list(choices), n=CLOSE, cutoff=0.5)
    best = min(close, key=lambda choice: _edits(word, choice) / max(len(word), len(choice)), default="")
    return f", did you mean `{best}`?" if best else ""


def _edits(word: str, other: str) -> int:
    """Return how many letters must be inserted, deleted, replaced or swapped to make one word of the other."""
    rows = [list(range(len(other) + 1))]
    for k, letter in enumerate(word, 1):
        rows.append([k])
        for j, to in enumerate(other, 1):
            counts = [rows[-2][j] + 1, rows[-1][j - 1] + 1, rows[-2][j - 1] + (letter != to)]
            if k > 1 and j > 1 and letter == other[j - 2] and word[k - 2] == to:
                counts.append(rows[-3][j - 2] + 1)
            rows[-1].append(min(counts))
    return rows[-1][-1]

"""Exceptions of the library, and helpers that word their messages."""

import contextlib
import difflib
import enum
import math
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType

_advice: ContextVar[Mapping["Outcome", str]] = ContextVar("advice", default=MappingProxyType({}))


class Outcome(enum.IntEnum):
    """How an integration ended; `Stats.outcome` stores this value, one for each member of an ensemble."""

    sentence: str
    _default: str

    def __new__(cls, value: int, sentence: str, advice: str = ""):
        """Create a member with its sentence and its advice."""
        member = int.__new__(cls, value)
        member._value_, member.sentence, member._default = value, sentence, advice
        return member

    @property
    def advice(self) -> str:
        """What to try after this outcome, in terms of the library's arguments unless the context is `advising`."""
        return _advice.get().get(self, self._default)

    FINISHED = 0, "the last time was reached"
    MAX_STEPS = (
        1,
        "all allowed steps were used",
        "increase `max_steps`, shorten the horizon, loosen the tolerances or, where stability limits the steps, use a "
        "stiff solver (`stiff()`, `Diffrax(solver=Kvaerno5())`)",
    )
    NON_FINITE = (
        2,
        "the vector field is not finite on every step tried, however short",
        "check for a zero token, an overflow, a finite escape time or a manifold that ends at a fold",
    )
    STEP_UNDERFLOW = (
        3,
        "the step size fell to rounding error",
        "the state may escape to infinity there, the field may be singular or jump without a declared breakpoint, a "
        "manifold may end at a fold, or the tolerances may be below what the precision allows",
    )
    IMPLICIT_SOLVER = (
        4,
        "the implicit stage equations were not solved",
        "use float64 states or looser tolerances",
    )
    LEFT_DOMAIN = (
        5,
        "the noise left the domain (an entry of a simplex below zero, or a negative `domain`)",
        "use noise that vanishes at the boundary, shorter steps, or other variables such as logarithms",
    )


@contextlib.contextmanager
def advising(advice: Mapping[Outcome, str]) -> Iterator[None]:
    """Replace the advice of some outcomes in this context, for example by the options of a command."""
    token = _advice.set(MappingProxyType({**advice}))
    try:
        yield
    finally:
        _advice.reset(token)


LONGEST = 60  # largest number of characters of a value in a message, so that it stays one line
CLOSE = 8  # number of similar names whose edit distance to an unknown name is computed
FAR = 0.6
"""Most edits per letter of a name that is advised; `rtol` is 0.625 from `duration`."""


class IntegrationError(RuntimeError):
    """An integration stopped before its final time.

    `outcome` says why, and `reached` is the last time that was reached, where it is known.
    """

    def __init__(self, message: str, *, outcome: Outcome, reached: float = math.nan):
        super().__init__(message)
        self.outcome, self.reached = outcome, reached


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
    """A data file, a record of an experiment or an optional package that a computation needs is missing.

    A claim that needs it is reported as undecided, for this reason.
    """


class OtherRunError(ArgumentError):
    """The given folder holds finished parts of another run."""


class TrainingError(RuntimeError):
    """Training stopped before its last step because the loss is not finite."""


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun, such as `1 branch` or `2 branches`; the plural adds an s unless given."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def shown(value: object) -> str:
    """A value as written in a program, on one line and cut after 60 characters."""
    if callable(value) and hasattr(value, "__name__"):
        return f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_at_least(least: float, **values: float) -> None:
    """Raise `ValueError` for the first argument that is less than `least`."""
    low = next((name for name, value in values.items() if not value >= least), None)
    if low is not None:
        which = f"`{low}` is" if len(values) > 1 else "is"
        raise ArgumentError(values, f"be at least {least:g}", f"{which} {values[low]}")


def check_positive(**values: float | None) -> None:
    """Raise `ValueError` for the first argument that is neither None nor positive and finite."""
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise ArgumentError(name, "be a positive number", f"is {value}")


def reason(error: BaseException) -> str:
    """The message of an exception on one line without its full stop, or its type if it has no message."""
    said = getattr(error, "strerror", None) or str(error)
    return said.splitlines()[0].rstrip(".") if said.strip() else type(error).__name__


def nearest(word: str, choices: Iterable[str], *, prefix: str = "") -> str:
    """A hint ", did you mean `x`?" with the choice closest in spelling to `word`, or "" if none is close.

    The choice is written after `prefix`, which does not count in the comparison.
    """
    close = difflib.get_close_matches(word, list(choices), n=CLOSE, cutoff=0.5)
    best = min(close, key=lambda choice: _edits(word, choice) / max(len(word), len(choice)), default="")
    far = _edits(word, best) / max(len(word), len(best), 1) > FAR and not best.startswith(word)
    return "" if far or not best else f", did you mean `{prefix}{best}`?"


def _edits(word: str, other: str) -> int:
    """Edit distance of two words: the number of letters inserted, deleted, replaced or swapped."""
    rows = [list(range(len(other) + 1))]
    for k, letter in enumerate(word, 1):
        rows.append([k])
        for j, to in enumerate(other, 1):
            counts = [rows[-2][j] + 1, rows[-1][j - 1] + 1, rows[-2][j - 1] + (letter != to)]
            if k > 1 and j > 1 and letter == other[j - 2] and word[k - 2] == to:
                counts.append(rows[-3][j - 2] + 1)
            rows[-1].append(min(counts))
    return rows[-1][-1]

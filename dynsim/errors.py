"""What goes wrong, and the sentence in which it is said."""

import difflib
from collections.abc import Iterable


class IntegrationError(RuntimeError):
    """A trajectory could not be followed to its last time.

    `cause` is the short name of what stopped it, one of the values of `dynsim.integrators.CAUSES`.
    """

    def __init__(self, message: str, *, cause: str = "unknown"):
        super().__init__(message)
        self.cause = cause


class TrainingError(RuntimeError):
    """A model could not be trained to its last step, because its loss is not finite."""

    cause = "non_finite"


def argument_error(name: str, must: str, but: str) -> ValueError:
    """Return the error of a bad argument: what it must be, what it is."""
    return ValueError(f"Argument `{name}` must {must}, but {but}{'' if but.endswith('?') else '.'}")


def reason(error: BaseException) -> str:
    """Return what an error says, in one line that fits into brackets: its kind if it says nothing."""
    said = getattr(error, "strerror", None) or str(error)
    return said.splitlines()[0].rstrip(".") if said.strip() else type(error).__name__


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return `", did you mean `x`?"` for the choice closest to `word`, or an empty string."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f", did you mean `{close[0]}`?" if close else ""

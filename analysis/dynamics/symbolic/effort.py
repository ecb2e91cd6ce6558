"""Bound the work of symbolic computations by a count, which is the same on every machine.

Almost all time goes into the arithmetic of polynomials, most of it into common divisors of coefficients. It compares
monomials by a key that is chosen with the order of monomials: here one that counts its calls.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from dynsim.errors import ArgumentError

MOST = 1_000_000
"""Most comparisons of monomials for one result, which take from one second to twenty."""
LARGEST = 3000
"""Most operations in an expression that is factored, which takes seconds."""

_LEFT: ContextVar[list[int] | None] = ContextVar("_LEFT", default=None)


@contextlib.contextmanager
def bounded_effort(most: int = MOST) -> Iterator[None]:
    """Raise `ArgumentError` in this context once polynomials have been compared `most` times."""
    left = [most]
    token = _LEFT.set(left)
    try:
        yield
    except _ExceededError:
        if left[0] >= 0:  # of a context around this one
            raise
        must = f"have results that are found within {most:,} comparisons of monomials (some seconds)"
        raise ArgumentError("system", must, "needs more: give more parameters their numbers") from None
    finally:
        _LEFT.reset(token)


class _ExceededError(Exception):
    """The limit of the innermost context is exceeded."""


def check_size(e: Any) -> Any:
    """Return an expression; raise as an exceeded limit does if it is too large to be factored."""
    left = _LEFT.get()
    if left is not None and e.count_ops() > LARGEST:
        left[0] = -1
        raise _ExceededError
    return e


class CountedOrder:
    """An order of monomials for sympy, whose comparisons are counted."""

    def __init__(self, key: Callable[[Any], Any], alias: str):
        """Store the key by which monomials are compared, and the name that sympy asks for."""
        self.key, self.alias, self.is_global = key, alias, True

    def __call__(self, monomial: Any) -> Any:
        """The key of a monomial; raise beyond the limit of the context."""
        left = _LEFT.get()
        if left is not None:
            left[0] -= 1
            if left[0] < 0:
                raise _ExceededError
        return self.key(monomial)


LEX: Any = CountedOrder(lambda monomial: monomial, "counted lex")
"""Lexicographic order."""
GREVLEX: Any = CountedOrder(
    lambda monomial: (sum(monomial), tuple(-power for power in reversed(monomial))), "counted grevlex"
)
"""Order by the total degree, then reversely lexicographic."""

"""The criterion of Foster and Lyapunov: a drift towards a finite set makes a chain positive recurrent."""

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, known, theorem
from analysis.theorems.squares import Polynomial, added, polynomials, product
from dynsim._core.types import ArrayLike
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError

DEPTH = 60
"""Largest number of integers by which a range is shifted in the search for a form without negative coefficients."""


@theorem
def foster(
    jumps: ArrayLike,
    rates: Callable[[Any], Any],
    V: Callable[[Any], Any],
    *,
    beyond: int,
    drift: float = 1.0,
) -> Conditions:
    """Check whether a chain on the states 0, 1, 2, ... of several components is positive recurrent (Foster, Lyapunov).

    The chain jumps by `jumps[r]` at the rate `rates(x)[r]`. Outside the finite set of states below `beyond`, V must
    fall in the mean: sum_r rates_r(x) (V(x + jumps_r) - V(x)) <= -drift. Polynomials are compared at all integers
    exactly: after a shift, none of their coefficients is negative.

    Args:
        jumps: changes of the state, integers, (r, d).
        rates: the rates of the jumps, a function of a state in JAX with polynomial entries, (d,) to (r,).
        V: a polynomial function of a state in JAX.
        beyond: the finite set holds the states with all components below this number.
        drift: the rate at which V falls in the mean outside of it.

    Raises:
        ValueError: for bad input.

    Source: S. Meyn and R. Tweedie, Advances in Applied Probability 25 (1993) 518, theorem 4.2.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.theorems import foster
        >>> queue = lambda x: jnp.array([3.0, x[0]])  # births at the rate 3, deaths at the rate x
        >>> foster([[1], [-1]], queue, lambda x: x[0], beyond=4).applies
        True
    """
    steps = np.atleast_2d(np.asarray(jumps, float))
    if steps.ndim != 2 or not np.array_equal(steps, np.round(steps)):
        raise ArgumentError("jumps", "be integers, one row for each jump", f"are {np.asarray(jumps).tolist()}")
    d, first, fall = steps.shape[1], integer("beyond", beyond, least=1), Fraction(number("drift", drift))
    speeds, given = function("rates", rates, "a state"), function("V", V, "a state")
    a = polynomials(lambda x: jnp.ravel(speeds(x)), d)
    changes = polynomials(lambda x: jnp.stack([_at(given, x + step) - _at(given, x) for step in steps]), d)
    height = polynomials(lambda x: jnp.reshape(given(x), (1,)), d)
    rows = [known("rates and V are polynomials", "after cancellation", None not in (a, changes, height))]
    if a is not None and changes is not None and height is not None:
        if len(a) != len(steps):
            raise ArgumentError("rates", f"give one rate for each of {len(steps)} jumps", f"give {len(a)}")
        mean = added(*((1, product(rate, change)) for rate, change in zip(a, changes, strict=True)))
        falls = added((-1, mean), (-fall, {(0,) * d: Fraction(1)}))
        outside = [tuple(first if j == k else 0 for j in range(d)) for k in range(d)]
        rows += [
            _everywhere("no rate is negative", "rates >= 0 at all states", a, [(0,) * d]),
            _stays(a, steps),
            _norm_like(height[0], d),
            _everywhere("V falls in the mean outside a finite set", f"sum a_r (V(x + j_r) - V(x)) <= -{float(fall):g} "
                        f"where a component >= {first}", [falls], outside),
        ]  # fmt: skip
    return Conditions(
        "Criterion of Foster and Lyapunov", tuple(rows),
        "the chain does not explode and returns to the finite set in a finite mean time; if it is irreducible, it has "
        "one stationary distribution",
        "V does not show that the chain is recurrent",
    )  # fmt: skip


def _at(V: Callable[[Any], Any], x: Any) -> Any:
    return jnp.reshape(V(x), ())


def _everywhere(words: str, sense: str, values: Sequence[Polynomial], corners: Sequence[tuple[int, ...]]) -> Hypothesis:
    """Decide whether polynomials are at least zero at all integers at or above one of some corners."""
    found = [_not_negative(p, corner, DEPTH) for p in values for corner in corners]
    witness = next((np.array(one, float) for one in found if isinstance(one, tuple)), None)
    status = FAILS if witness is not None else HOLDS if all(one is True for one in found) else UNDECIDED
    return Hypothesis(words, sense, status, decided="algebra", witness=witness)


def _not_negative(p: Polynomial, corner: tuple[int, ...], depth: int) -> bool | tuple[int, ...] | None:
    """Decide whether a polynomial is at least zero at all integers at or above a corner; a point if not.

    Where a coefficient after the shift is negative, one component is fixed at its least value, and the rest shifted.
    """
    moved = _shifted(p, corner)
    if all(v >= 0 for v in moved.values()):
        return True
    if moved.get((0,) * len(corner), Fraction(0)) < 0:
        return corner
    if not depth:
        return None
    worst = min(moved, key=lambda powers: moved[powers])
    k = next(j for j, e in enumerate(worst) if e)
    higher = _not_negative(p, (*corner[:k], corner[k] + 1, *corner[k + 1 :]), depth - 1)
    if isinstance(higher, tuple):
        return higher
    at = {powers: v for powers, v in moved.items() if not powers[k]}
    rest = _not_negative(at, (0,) * len(corner), depth - 1)
    if isinstance(rest, tuple):
        return tuple(c + r for c, r in zip(corner, rest, strict=True))
    return True if higher is True and rest is True else None


def _shifted(p: Polynomial, corner: tuple[int, ...]) -> Polynomial:
    """The polynomial of y at x = corner + y."""
    d = len(corner)
    unit = lambda k: tuple(int(j == k) for j in range(d))
    total: Polynomial = {}
    for powers, v in p.items():
        terms = [{unit(k): Fraction(1)} | ({(0,) * d: Fraction(c)} if c else {}) for k, c in enumerate(corner)]
        factors = [terms[k] for k, e in enumerate(powers) for _ in range(e)]
        total = added((1, total), (v, functools.reduce(product, factors, {(0,) * d: Fraction(1)})))
    return total


def _stays(a: Sequence[Polynomial], steps: np.ndarray) -> Hypothesis:
    """Decide whether no jump leaves the states: its rate is zero where a component is too small for it."""
    words, sense = "no jump makes a component negative", "a_r = 0 where x + j_r has a negative entry"
    for rate, step in zip(a, steps, strict=True):
        for k, jump in enumerate(step):
            for low in range(-int(jump)):
                corner = tuple(low if j == k else 0 for j in range(len(step)))
                if any(not powers[k] for powers in _shifted(rate, corner)):
                    return Hypothesis(words, sense, FAILS, decided="algebra", witness=np.array(corner, float))
    return known(words, sense, True)


def _norm_like(V: Polynomial, d: int) -> Hypothesis:
    """Decide whether V is not negative and grows beyond all bounds, by its coefficients."""
    alone = {next(k for k, e in enumerate(p) if e) for p, v in V.items() if sum(e > 0 for e in p) == 1 and v > 0}
    grows = len(alone) == d and all(v >= 0 for v in V.values())
    return known("V grows beyond all bounds", "no coefficient is negative, each component occurs", grows or None)

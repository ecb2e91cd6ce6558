"""Polynomial Lyapunov functions: proved by sums of squares for all states or in a ball, and found if none is given."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, decided, known, theorem
from analysis.theorems.definite import above, largest_level
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import Field, field_of
from analysis.theorems.linear import linear_part
from analysis.theorems.quadratic import is_unstable
from analysis.theorems.regions import Region, ball, point
from analysis.theorems.squares import (
    MatrixFamily,
    Polynomial,
    added,
    along,
    degree_of,
    monomials,
    polynomials,
    product,
    weights_of_squares,
)
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike
from dynsim._core.validation import function, integer, number
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

TRIED = 20_000
"""Largest number of boxes in which a point is looked for at which a function is no Lyapunov function."""


@theorem
def lyapunov_polynomial(
    flow: AbstractFlow,
    equilibrium: ArrayLike,
    *,
    V: Callable[[Any], Any] | None = None,
    degree: int = 2,
    radius: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check by sums of squares whether a polynomial is a Lyapunov function for all states or in a ball, or find one.

    V and -V', or -V' - s(x) (radius^2 - |x - x*|^2) with a further sum of squares s, are written as z' G z with
    monomials z. A cone solver finds the matrices G; they are rounded to rational numbers that give the polynomials
    exactly, and exact elimination shows them to be positive definite.

    Args:
        flow: an autonomous flow on Euclidean space with a polynomial field.
        equilibrium: the equilibrium, (n,), at which the field is exactly zero.
        V: a polynomial function of a state in JAX; by default one is looked for.
        degree: the degree of a function that is looked for, even.
        radius: radius of the ball about the equilibrium; by default all states count.
        budget: largest number of boxes with which the level of a ball is found.

    Returns:
        The conditions; in a ball, `numbers` holds a level c of which the sublevel set lies in the basin. The
        coefficients of a function that was found are named by powers of u = (x - x*) / radius: "V[2,0]" is that of the
        square of the first component.

    Raises:
        ValueError: for bad input.
        UnavailableError: without clarabel or python-flint.

    Source: P. Parrilo, thesis, Caltech 2000, chapter 7; H. Khalil, Nonlinear Systems, Prentice Hall 2002, theorem 4.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import lyapunov_polynomial
        >>> lyapunov_polynomial(ds.catalogue.Lorenz(rho=0.9), [0.0, 0.0, 0.0]).applies  # for all states
        True
    """
    at = point("equilibrium", equilibrium)
    n, size = len(at), 1.0 if radius is None else number("radius", radius)
    field, most = field_of(flow, n, "Lyapunov's theorem"), integer("degree", degree, least=2)
    if most % 2:
        raise ArgumentError("degree", "be even", f"is {most}")
    region = None if radius is None else ball(at, size)
    f = polynomials(lambda u: field(at + size * u), n)
    rows = [
        known("the field is a polynomial", "each entry, after cancellation", f is not None),
        vanishes("the point is an equilibrium", "f(x*) = 0", field, at),
    ]
    if V is not None:
        height = above(function("V", V, "a state"), at)
        p = polynomials(lambda u: jnp.reshape(height(at + size * u), (1,)), n)
        rows.append(known("V is a polynomial", "after cancellation", p is not None))
        if f is None or p is None:
            return _conditions(flow, rows, region, {})
        tried = ball(at, 10 * (1 + float(np.max(np.abs(at))))) if region is None else region
        fall = lambda x: -jax.jvp(height, (x,), (field(x),))[1]
        up = weights_of_squares([MatrixFamily(p[0])], n) is not None
        down = weights_of_squares(_falling(p[0], f, n, radius is not None), n) is not None
        tried = tried.without(at, size / 1e3)
        rows += [
            _proved("V is larger elsewhere", "V(x) - V(x*) is a sum of squares", up, height, tried),
            _proved("V falls along solutions", _sense(radius), down, fall, tried),
        ]
        numbers = largest_level(height, region, budget) if region is not None and _all_hold(rows) else {}
        return _conditions(flow, rows, region, numbers)
    if f is None:
        return _conditions(flow, rows, region, {})
    found = _found(f, n, most, radius is not None)
    rows.append(_joint(found, f, most, radius))
    if found is None:
        return _conditions(flow, rows, region, {})
    numbers = {f"V[{','.join(map(str, a))}]": float(v) for a, v in found.items()}
    if region is not None:
        numbers = _level(found, at, size, region, budget) | numbers
    return _conditions(flow, rows, region, numbers)


def _conditions(flow: Any, rows: list[Hypothesis], region: Region | None, numbers: dict[str, float]) -> Conditions:
    follows = (
        "the equilibrium is globally asymptotically stable, as V grows without bounds with |x|"
        if region is None
        else "the equilibrium is asymptotically stable, and {V - V(x*) < c} is in its basin"
    )
    return Conditions(
        "Lyapunov's theorem with a polynomial", tuple(rows), follows,
        "V shows nothing about stability" + ("" if region is None else " in the ball"), region, flow, numbers,
    )  # fmt: skip


def _all_hold(rows: list[Hypothesis]) -> bool:
    return all(one.status == HOLDS for one in rows)


def _sense(radius: float | None) -> str:
    return f"-V'{'' if radius is None else ' - s (r^2 - |x - x*|^2)'} is a sum of squares"


def _proved(words: str, sense: str, holds: bool, value: Field, region: Region) -> Hypothesis:
    """State what sums of squares prove; where they do not, look for a point at which the condition fails."""
    if holds:
        return known(words, sense, True)
    row = decided(words, sense, positive(value, region, budget=TRIED))
    return row if row.status == FAILS else row._replace(status=UNDECIDED, margin=np.nan)


def _joint(found: Polynomial | None, f: Sequence[Polynomial], most: int, radius: float | None) -> Hypothesis:
    """State whether a function was found; none exists if an eigenvalue has a positive real part."""
    words = "V is larger elsewhere and falls along solutions"
    if found is not None:
        return known(words, f"V and {_sense(radius).replace(' is a sum', ' are sums')}", True)
    if is_unstable(linear_part(f)):
        return known(words, "an eigenvalue has a positive real part, so that there is no such V", False)
    return known(words, f"no sums of squares were found for a V of degree {most}", None, "floats")


def _falling(V: Polynomial, f: Sequence[Polynomial], n: int, in_ball: bool) -> list[MatrixFamily]:
    """The families of -V' and, in the unit ball, of -V' - s (1 - |u|^2) and s."""
    falls = added((-1, along(V, f)))
    if not in_ball:
        return [MatrixFamily(falls)]
    some = _multiplier(degree_of(falls), n)
    return [MatrixFamily({}, some), MatrixFamily(falls, tuple(map(_times_ball, some)))]


def _multiplier(of_degree: int, n: int) -> tuple[Polynomial, ...]:
    """The monomials of a factor of the ball with which a polynomial of this degree may be positive in it."""
    return tuple({a: Fraction(1)} for a in monomials(n, 2, max(2, of_degree + of_degree % 2 - 2)))


def _times_ball(s: Polynomial) -> Polynomial:
    """Compute -s (1 - |u|^2)."""
    n = len(next(iter(s)))
    squares = {tuple(2 * (j == k) for j in range(n)): Fraction(1) for k in range(n)}
    return added((-1, s), (1, product(s, squares)))


def _found(f: Sequence[Polynomial], n: int, most: int, in_ball: bool) -> Polynomial | None:
    """Look for a polynomial of a degree that is a sum of squares and of which -V' is one."""
    parts = [{a: Fraction(1)} for a in monomials(n, 2, most)]
    falls = [added((-1, along(one, f))) for one in parts]
    some = _multiplier(degree_of(*falls), n) if in_ball else ()
    none = ({},) * len(some)
    families = [MatrixFamily({}, (*parts, *none)), MatrixFamily({}, (*falls, *map(_times_ball, some)))]
    if in_ball:
        families.append(MatrixFamily({}, (*(({},) * len(parts)), *some)))
    weights = weights_of_squares(families, n)
    return None if weights is None else added(*zip(weights, parts, strict=False))


def _level(V: Polynomial, at: np.ndarray, size: float, region: Region, budget: int) -> dict[str, float]:
    """A level of the exact polynomial of which the sublevel set stays away from the sphere."""
    near = {a: float(v) for a, v in V.items()}

    def height(x: Any) -> Any:
        u = (x - at) / size
        terms = [v * jnp.prod(jnp.stack([u[k] ** e for k, e in enumerate(a) if e])) for a, v in near.items()]
        return sum(terms[1:], terms[0])

    wrong = sum((abs(V[a] - Fraction(v)) for a, v in near.items()), Fraction(0))  # as |u| <= 1
    return {name: c - 2 * float(wrong) for name, c in largest_level(height, region, budget).items()}

"""Common Lyapunov functions: one function that falls in every mode shows stability for any switching."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import HOLDS, Conditions, Hypothesis, known, theorem, together
from analysis.theorems.definite import above, core_of, definite, largest_level, stationary
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import Field, field_of, smooth_both
from analysis.theorems.linear import linear_part
from analysis.theorems.quadratic import is_unstable
from analysis.theorems.regions import Region, as_region, point
from analysis.theorems.squares import MatrixFamily, Polynomial, added, along, monomials, polynomials, weights_of_squares
from analysis.theorems.subdivision import BUDGET
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

UP = "V is larger elsewhere"
SHARES = tuple(Fraction(k, 8) for k in range(9))
"""Shares of modes in the mixtures that are tried."""


@theorem
def common_lyapunov(
    modes: Sequence[AbstractFlow],
    equilibrium: ArrayLike,
    *,
    V: Callable[[Any], Any] | None = None,
    region: Region | BoxLike | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether several modes have a common Lyapunov function, so that no switching between them is unstable.

    Without a region, all modes are polynomial, and sums of squares prove that V is positive and falls in each mode for
    all states. In a region the modes may be any, and V is proved by intervals. A quadratic V is looked for if none is
    given, in a region that of the linear parts.

    Args:
        modes: two or more autonomous flows on Euclidean space.
        equilibrium: the common equilibrium, (n,), at which all fields are exactly zero.
        V: the function, a scalar function of a state in JAX; by default a quadratic one is looked for.
        region: a region with the equilibrium inside; by default all states count.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; in a region, `numbers` holds a level c of which the sublevel set lies in the basin. The
        coefficients of a function that was found are named by powers of the components of x - x*.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.
        UnavailableError: without clarabel, unless V and a region are given.

    Source: D. Liberzon, Switching in Systems and Control, Birkhaeuser 2003, theorem 2.1 and section 2.2.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import common_lyapunov
        >>> modes = [ds.system(f"x' = -x + {a}*y; y' = -y") for a in (0, 1)]
        >>> common_lyapunov(modes, [0.0, 0.0]).applies
        True
    """
    if len(modes) < 2:
        raise ArgumentError("modes", "be two or more flows", f"are {len(modes)}")
    at = point("equilibrium", equilibrium)
    n = len(at)
    fields = [field_of(one, n, "the theorem on common Lyapunov functions") for one in modes]
    parts = [polynomials(lambda u, f=f: f(at + u), n) for f in fields]
    rows = [vanishes(f"mode {k} rests", "f(x*) = 0", f, at) for k, f in enumerate(fields, 1)]
    where = None if region is None else as_region(region, n)
    height = None if V is None else above(function("V", V, "a state"), at)
    numbers: dict[str, float] = {}
    if any(row.status != HOLDS for row in rows):
        return _conditions(modes, rows, where, {})
    if height is None:
        linear = [
            _linear(f, at) if one is None or where is not None else one for f, one in zip(fields, parts, strict=True)
        ]
        found = _found(linear, n)
        if found is None:
            return _conditions(modes, [*rows, _missing(linear)], where, {})
        numbers = {f"V[{','.join(map(str, a))}]": float(v) for a, v in found.items()}
        height = _quadratic(found, at)
    if where is None:
        rows += _by_squares(height, parts, at)
    else:
        near = core_of(where, at, None)
        rows += [*(smooth_both(f, height, n) for f in fields), *kept_in_box(where, budget), stationary(height, at)]
        rows.append(together(UP, "V(x) > V(x*)", definite(height, where, near, budget)))
        for k, f in enumerate(fields, 1):
            fall = lambda x, f=f: -jnp.dot(jax.grad(height)(x), f(x))
            rows.append(together(f"V falls in mode {k}", "grad V . f < 0 off x*", definite(fall, where, near, budget)))
        if all(one.status == HOLDS for one in rows):
            numbers = largest_level(height, where, budget) | numbers
    return _conditions(modes, rows, where, numbers)


def _conditions(modes: Any, rows: list[Hypothesis], region: Region | None, numbers: dict[str, float]) -> Conditions:
    inside = "" if region is None else " from {V - V(x*) < c}"
    return Conditions(
        "Common Lyapunov function", tuple(rows),
        f"all solutions{inside} tend to the equilibrium, uniformly, however the modes are switched",
        "V does not show stability under all switching", region, modes[0], numbers,
    )  # fmt: skip


def _linear(field: Field, at: np.ndarray) -> list[Polynomial]:
    """The linear part of a field at a point, with coefficients as they are computed."""
    A, n = np.asarray(jax.jacfwd(field)(jnp.asarray(at))), len(at)
    powers = [tuple(int(j == k) for j in range(n)) for k in range(n)]
    return [{a: Fraction(float(v)) for a, v in zip(powers, row, strict=True) if v} for row in A]


def _found(fields: Sequence[list[Polynomial]], n: int) -> Polynomial | None:
    """Look for a quadratic function that falls in all modes."""
    parts = [{a: Fraction(1)} for a in monomials(n, 2, 2)]
    falls = [MatrixFamily({}, tuple(added((-1, along(one, f))) for one in parts)) for f in fields]
    weights = weights_of_squares([MatrixFamily({}, tuple(parts)), *falls], n)
    return None if weights is None else added(*zip(weights, parts, strict=True))


def _quadratic(V: Polynomial, at: np.ndarray) -> Field:
    """A quadratic polynomial as a function in JAX, with coefficients rounded to floating-point numbers."""
    P = np.zeros((len(at), len(at)))
    for a, v in V.items():
        i, j = [k for k, e in enumerate(a) for _ in range(e)]
        P[i, j] += float(v) / 2
        P[j, i] += float(v) / 2
    return lambda x: (x - at) @ P @ (x - at)


def _missing(fields: Sequence[list[Polynomial]]) -> Hypothesis:
    """State that no function was found; none exists if a mixture of the modes is unstable."""
    words = "V is larger elsewhere and falls in every mode"
    matrices = [linear_part(one) for one in fields]
    for (i, A), (j, B) in itertools.combinations(enumerate(matrices, 1), 2):
        for share in SHARES:
            if is_unstable(share * A + (1 - share) * B):
                mixed = f"{float(share):g} of mode {i} and {float(1 - share):g} of mode {j}"
                return known(words, f"{mixed} together are unstable, so that there is no such V", False)
    return known(words, "no quadratic V was found", None, "floats")


def _by_squares(height: Field, parts: Sequence[list[Polynomial] | None], at: np.ndarray) -> list[Hypothesis]:
    """Prove by sums of squares that V is positive and falls in each mode for all states."""
    n = len(at)
    V = polynomials(lambda u: jnp.reshape(height(at + u), (1,)), n)
    polynomial = known("V and all modes are polynomials", "after cancellation", V is not None and None not in parts)
    if V is None or polynomial.status != HOLDS:
        return [polynomial]
    proved = lambda p: weights_of_squares([MatrixFamily(p)], n) is not None or None
    rows = [polynomial, known(UP, "V(x) - V(x*) is a sum of squares", proved(V[0]))]
    for k, f in enumerate(parts, 1):
        assert f is not None
        falls = proved(added((-1, along(V[0], f))))
        rows.append(known(f"V falls in mode {k}", "-V' is a sum of squares", falls))
    return rows

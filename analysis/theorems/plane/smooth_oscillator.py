"""Conditions of Lienard's theorem for forces that are no polynomials: by intervals up to a reach, and beyond it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.algebra import cancelled_entries
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Hypothesis, known, together
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import Field
from analysis.theorems.regions import box
from analysis.theorems.subdivision import positive
from dynsim.programs import ProgramError, scalar_program

Scalar = Callable[[Any], Any]
"""A scalar function of a number in JAX."""
REACHES = tuple(4.0**k for k in range(1, 6))
"""Distances beyond which the behaviour at infinity is asked for, until it is decided."""
CELLS = 1024
"""Number of parts of the reach in the first of `ROUNDS` attempts; each next one has eight times as many."""
ROUNDS = 3
DERIVATIVES = 5
"""Largest number of derivatives by which a sign is carried to infinity."""
NEAR = 8
"""Number of times by which the part of the reach in which the force must grow is made smaller."""
POWERS = 4
"""Powers of x, less one, by which a decaying force is multiplied to see its sign at infinity."""


class LienardFunctions(NamedTuple):
    """The functions of x'' + f(x) x' + g(x) = 0; g may be multiplied by a positive constant.

    Attributes:
        damping: f.
        force: g.
    """

    damping: Scalar
    force: Scalar


def oscillator_of(field: Field) -> tuple[Hypothesis, LienardFunctions]:
    """Read f and g from a field of the plane, and decide whether it has one of the two forms of Lienard's systems."""
    second = jax.hessian(field)
    mixed = lambda z: jnp.stack([second(z)[0, 0, 1], second(z)[0, 1, 1], second(z)[1, 1, 1]])
    on_axis = lambda x: jnp.stack([x, jnp.zeros_like(x)])
    slope = jax.jacfwd(field)
    zero = lambda fn, n: identically_zero("", "", fn, box([(-REACHES[0], REACHES[0])] * n)).status
    ways = zero(lambda x: field(on_axis(x[0]))[:1], 1), zero(lambda z: slope(z)[1, 1:], 2)
    c = IntervalFunction(lambda z: slope(z)[0, 1:], 2).values(np.zeros((1, 2, 2)))[0, 0]
    linear = zero(mixed, 2)
    form = None
    if linear == FAILS or ways == (FAILS, FAILS) or c[1] <= 0:
        form = False
    elif linear == HOLDS and HOLDS in ways and c[0] > 0:
        form = True

    def damping(x: Any) -> Any:
        J = slope(on_axis(x))
        return -(J[0, 0] + J[1, 1])

    found = LienardFunctions(damping, lambda x: -field(on_axis(x))[1])
    return known("the flow is a Lienard system", "x'' + f(x) x' + g(x) = 0", form), found


def conditions_of(
    found: LienardFunctions, reach: float | None, budget: int
) -> tuple[list[Hypothesis], dict[str, float]]:
    """Decide the conditions of Lienard's theorem but its form.

    Returns:
        The conditions, and the zero of the integrated damping if there is one.
    """
    for far in REACHES if reach is None else (reach,):
        rows, numbers = _up_to(found, far, budget)
        if any(row.status == FAILS for row in rows) or all(row.status == HOLDS for row in rows):
            break
    return rows, numbers


def _up_to(found: LienardFunctions, far: float, budget: int) -> tuple[list[Hypothesis], dict[str, float]]:
    f, g = found
    damped, pulled = sign_beyond(lambda x: x * f(x), far), sign_beyond(g, far, POWERS)
    where = box([(0.0, far)])
    rows = [
        identically_zero("the restoring force is odd", "g(-x) = -g(x)", lambda x: g(-x[0]) + g(x[0]), where),
        _follows_x(g, far, budget),
        _beyond("the restoring force pulls back at infinity", f"g(x) > 0 for x > {far:g}", pulled),
        identically_zero("the damping is even", "f(-x) = f(x)", lambda x: f(-x[0]) - f(x[0]), where),
    ]
    if any(row.status == FAILS for row in rows):
        return rows, {}
    zero, monotone, numbers = _integrated(f, far, damped)
    # the integral of f grows like d log x or faster
    at_infinity = _beyond("the damping does not end at infinity", f"x f(x) >= d > 0 for x > {far:g}", damped)
    return [*rows, zero, *monotone, *([] if zero.status == FAILS else [at_infinity])], numbers


def _beyond(words: str, sense: str, sign: int) -> Hypothesis:
    return Hypothesis(words, sense, {1: HOLDS, -1: FAILS}.get(sign, UNDECIDED))


def sign_beyond(fn: Scalar, far: float, powers: int = 1) -> int:
    """Decide the sign of a function beyond a distance: 1 or -1 if it stays away from zero there, otherwise 0.

    It is enclosed on [far, oo], and as a function of 1/x on [0, 1/far]; or it begins with the sign of its derivative,
    which is decided in the same way.

    Args:
        fn: a scalar function of a number in JAX.
        far: the distance, positive.
        powers: number of powers of x by which it may be multiplied to stay away from zero.
    """
    if np.any(np.isnan(_up_to_infinity(fn, far))):  # it may be undefined somewhere, also where that would cancel
        return 0
    for k in range(powers):
        if sign := _sign_of(lambda x, k=k: x**k * fn(x), far):
            return sign
    begins = 0
    for _ in range(DERIVATIVES):
        low, high = IntervalFunction(lambda x, fn=fn: fn(x[0])[None], 1).values(np.full((1, 1, 2), far))[0, 0]
        start = int(low > 0) - int(high < 0)
        if not start or begins not in (0, start):
            return 0
        begins, fn = start, jax.grad(fn)
        if sign := _sign_of(fn, far):
            return begins if sign == begins else 0
    return 0


def _up_to_infinity(fn: Scalar, far: float) -> np.ndarray:
    """Enclose a function on [far, oo]."""
    return IntervalFunction(lambda x: jnp.reshape(fn(x[0]), (1,)), 1).values(np.array([[[far, np.inf]]]))[0, 0]


def _sign_of(fn: Scalar, far: float) -> int:
    found = [_up_to_infinity(fn, far)]
    try:
        program = scalar_program(lambda u: jnp.reshape(fn(1 / u[0]), (1,)), (1,), drop_zeros=True)
    except ProgramError:
        program = None
    cancelled = None if program is None else cancelled_entries(program)
    if cancelled:
        with np.errstate(all="ignore"):  # 1/u may be infinite
            found.append(cancelled[0].values(np.array([[[0.0, np.nextafter(1 / far, np.inf)]]]))[0, 0])
    return 1 if any(low > 0 for low, _ in found) else -1 if any(high < 0 for _, high in found) else 0


def _follows_x(g: Scalar, far: float, budget: int) -> Hypothesis:
    """Decide whether an odd g is positive up to a distance: by a derivative near zero, by its values beyond."""
    derivative = _first_derivative(g)
    slope: Scalar = lambda x: derivative(x[0])
    near, first = far, positive(slope, box([(0.0, far)]), budget=budget)
    for _ in range(NEAR):
        if first.status == HOLDS:
            break
        near /= 4
        first = positive(slope, box([(0.0, near)]), budget=budget)
    parts = [first, positive(lambda x: g(x[0]), box([(near, far)]), budget=budget)] if near < far else [first]
    if parts[0].status == FAILS:  # the slope alone refutes nothing
        seen = positive(lambda x: g(x[0]), box([(near / 1024, near)]), budget=budget)
        parts[0] = seen if seen.status == FAILS else parts[0]._replace(status=UNDECIDED, witness=None)
    return together("the restoring force pulls back", f"g(x) > 0 for 0 < x <= {far:g}", parts)


def _first_derivative(g: Scalar) -> Scalar:
    """The derivative of the lowest odd order of an odd function that is not known to vanish at zero."""
    for _ in range(POWERS):
        g = jax.grad(g)
        if np.any(IntervalFunction(lambda x, g=g: g(x[0])[None], 1).values(np.zeros((1, 1, 2)))):
            return g
        g = jax.grad(g)
    return g


class EnclosedIntegral:
    """Enclosures of a smooth f on equal parts of [0, far], and of its integral F from 0.

    On each part the integral is that of the midpoint rule, with its remainder from the second derivative.

    Attributes:
        ends: ends of the parts, (parts + 1,).
        damping: enclosures of f on the parts, (parts, 2).
        sums: enclosures of F at the ends, (parts + 1, 2).
    """

    def __init__(self, f: Scalar, far: float, count: int):
        """Enclose a scalar function of a number in JAX, and its integral, on so many parts."""
        ends = np.linspace(0.0, far, count + 1)
        cells = np.stack([ends[:-1], ends[1:]], axis=1)[:, None]
        curve = jax.grad(jax.grad(f))
        on = lambda fn: IntervalFunction(lambda x: jnp.reshape(fn(x[0]), (1,)), 1)
        middle = cells.mean(axis=2, keepdims=True) * np.ones(2)
        self.ends, self.damping = ends, on(f).enclosed(cells)[:, 0]
        h = ends[1:] - ends[:-1]
        rounding = 1e-14  # relative, of the lengths, the middles and the products; the sums have an error of their own
        at, bend = on(f).values(middle)[:, 0], on(curve).values(cells)[:, 0]
        size = np.max(np.abs(self.damping), axis=1)
        room = rounding * h * (size + np.max(np.abs(bend), axis=1) * h**2) + h * _slack(on(f), cells, ends)
        parts = np.stack([h * at[:, k] + h**3 / 24 * bend[:, k] for k in (0, 1)], axis=1)
        parts += room[:, None] * np.array([-1.0, 1.0])
        sums = np.vstack([np.zeros((1, 2)), np.cumsum(parts, axis=0)])
        error = 1e-15 * np.arange(count + 1) * np.max(np.abs(sums)) if np.all(np.isfinite(sums)) else np.nan
        self.sums = np.stack([sums[:, 0] - error, sums[:, 1] + error], axis=1)

    @property
    def over_cells(self) -> Float[np.ndarray, "cells 2"]:
        """Enclosures of F on the parts."""
        h = (self.ends[1:] - self.ends[:-1])[:, None] * (1 + 1e-14)
        return self.sums[:-1] + h * np.stack([np.minimum(self.damping[:, 0], 0), np.maximum(self.damping[:, 1], 0)], 1)


def _slack(f: IntervalFunction, cells: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How far f at the rounded middle of a cell may be from f at its middle."""
    slopes = f.slopes(cells)[:, 0, 0]
    return np.max(np.abs(slopes), axis=1) * 4 * np.spacing(ends[1:])


def _integrated(f: Scalar, far: float, beyond: int) -> tuple[Hypothesis, list[Hypothesis], dict[str, float]]:
    """Decide whether F has one positive zero, and does not fall after it, by finer and finer parts."""
    for k in range(ROUNDS):
        integral = EnclosedIntegral(f, far, CELLS * 8**k)
        zero, monotone, numbers = _one_zero(integral, far, beyond)
        if zero.status != UNDECIDED and all(row.status != UNDECIDED for row in monotone):
            break
    return zero, monotone, numbers


def _one_zero(
    integral: EnclosedIntegral, far: float, beyond: int
) -> tuple[Hypothesis, list[Hypothesis], dict[str, float]]:
    words, sense = "the integrated damping has exactly one positive zero a", "F < 0 on (0, a), F > 0 on (a, oo)"
    row = lambda status, said=sense, at=None: Hypothesis(
        words, said, status, boxes=len(integral.damping), witness=None if at is None else np.array([at])
    )
    f, F, ends = integral.damping, integral.over_cells, integral.ends
    low, high = integral.sums[1:].T
    negative, above = high < 0, low > 0
    if np.any(np.isnan(F)) or not (f[0, 1] < 0 or f[0, 0] > 0):
        return row(UNDECIDED), [], {}
    if f[0, 0] > 0:
        return row(FAILS, f"{sense}; F > 0 beside 0", ends[1]), [], {}
    falls_back = np.flatnonzero(negative & (np.cumsum(above) > 0))
    if len(falls_back):
        return row(FAILS, f"{sense}; F has more zeros", ends[1 + falls_back[0]]), [], {}
    if np.all(F[1:, 1] < 0) and beyond < 0:
        return row(FAILS, f"{sense}; it has 0 positive zeros", far), [], {}
    unclear = np.flatnonzero(F[1:, 1] >= 0)
    if not len(unclear) or not np.any(above):
        return row(UNDECIDED), [], {}
    first, last = 1 + int(unclear[0]), int(np.flatnonzero(above)[0])
    if not np.all(f[first : last + 1, 0] > 0):
        return row(UNDECIDED), [], {}
    after = f[last + 1 :]
    rises = Hypothesis("the integrated damping does not fall beyond a", f"f(x) >= 0 for a < x <= {far:g}", HOLDS)
    block = slice(first, last + 2)
    numbers = {"a": float(np.interp(0.0, integral.sums[block].mean(axis=1), ends[block]))}
    if np.any(after[:, 1] < 0):
        at = ends[last + 2 + int(np.flatnonzero(after[:, 1] < 0)[0])]
        rises = rises._replace(status=FAILS, witness=np.array([at]), margin=float(np.min(after[:, 1])))
    elif not np.all(after[:, 0] >= 0):
        rises = rises._replace(status=UNDECIDED)
    if rises.status != HOLDS:
        positive_still = np.all(F[last + 1 :, 0] > 0) and beyond > 0
        return row(HOLDS if positive_still else UNDECIDED), [rises], numbers
    margin = float(np.min(after[:, 0])) if len(after) else math.nan
    if beyond < 0:
        return row(FAILS, f"{sense}; the damping ends at infinity"), [], {}
    found = f"{sense}, {ends[first]:.6g} < a < {ends[last + 1]:.6g}"
    return row(HOLDS if beyond > 0 else UNDECIDED, found), [rises._replace(margin=margin)], numbers

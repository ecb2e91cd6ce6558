"""Lienard's theorem: an oscillator with odd restoring force and even damping has exactly one periodic orbit."""

from typing import Any

import numpy as np

from analysis.theorems.algebra import rational
from analysis.theorems.conditions import FAILS, HOLDS, Conditions, Hypothesis, known, theorem
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.plane.smooth_oscillator import conditions_of, oscillator_of
from analysis.theorems.subdivision import BUDGET
from dynsim._core.validation import number
from dynsim.systems.base import AbstractFlow

NAME = "Lienard's theorem"


@theorem
def lienard(flow: AbstractFlow, *, reach: float | None = None, budget: int = BUDGET) -> Conditions:
    """Check whether Lienard's theorem gives exactly one periodic orbit, which attracts, of x'' + f(x) x' + g(x) = 0.

    The flow has two components, either x' = c y, y' = -f(x) y - g(x) / c, or x' = c y - F(x), y' = -g(x) / c with the
    integral F of f and c > 0. For polynomials f and g all conditions are decided exactly on the whole line, by counting
    roots with Sturm's theorem. Other smooth functions are enclosed by intervals up to a reach; beyond it signs follow
    from enclosures on [reach, oo], in 1/x, or of derivatives, and stay undecided if none of these decides.

    Args:
        flow: a flow of two components, autonomous, such as `ds.system("x'' = mu*(1 - x^2)*x' - x", mu=1.0)`.
        reach: the largest |x| that counts as near, for functions that are no polynomials; by default several are tried.
        budget: largest number of boxes for each condition that is decided by intervals.

    Raises:
        ValueError: for a map, a curved space, a field that depends on time, or one that intervals cannot enclose.

    Source: S. Strogatz, Nonlinear Dynamics and Chaos, Westview 2015, section 7.4; L. Perko, Differential Equations and
    Dynamical Systems, Springer 2001, section 3.8, theorem 1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import lienard
        >>> found = lienard(ds.system("x'' = mu*(1 - x^2)*x' - x", mu=5.0))
        >>> found.applies, round(found.numbers["a"], 6)
        (True, 1.732051)
        >>> lienard(ds.system("x'' = (1 - x^2)*x' - sinh(x)")).applies
        True
    """
    field = field_of(flow, 2, NAME)
    far = None if reach is None else number("reach", reach)
    form, F, g = _lienard_form(rational(field, 2))
    numbers: dict[str, float] = {}
    if form is None:
        row, found = oscillator_of(field)
        rows = [row]
        if row.status != FAILS:
            more, numbers = conditions_of(found, far, budget)
            rows += [smooth(field, 2), *more]
    else:
        words, sense = "the flow is a Lienard system", "x'' + f(x) x' + g(x) = 0 with polynomials f and g"
        rows = [known(words, sense, form)]
    if form:
        positive, zero = _one_positive_zero(F)
        rows += [
            known("the restoring force is odd", "g(-x) = -g(x)", _is_odd(g)),
            _follows_x(g),
            known("the damping is even", "f(-x) = f(x)", _is_odd(F)),
            positive,
        ]
        if zero is not None:
            rows.append(_grows_beyond(F, zero))
            numbers = {"a": _middle(zero)}
    return Conditions(
        NAME, tuple(rows),
        "there is exactly one periodic orbit; it surrounds the origin and attracts all other solutions but the origin",
        "a unique periodic orbit is not implied",
        None, flow, numbers,
    )  # fmt: skip


def _lienard_form(entries: list[Any] | None) -> tuple[bool | None, Any, Any]:
    """Find F, with F(0) = 0, and g as polynomials of x; None unless the field is polynomial, False for another form."""
    from sympy import Poly, symbols

    if entries is None or not all(entry.denom.is_ground for entry in entries):
        return None, None, None
    x, y = symbols("x0 x1")
    first, second = (Poly(entry.as_expr(), y, domain="QQ[x0]") for entry in entries)
    if first.degree() > 1 or second.degree() > 1:
        return False, None, None
    (c, rest), (slope, force) = ([one.coeff_monomial(y**k) for k in (1, 0)] for one in (first, second))
    c, rest, slope, force = (Poly(one, x, domain="QQ") for one in (c, rest, slope, force))
    if not c.is_ground or c.LC() <= 0 or not (rest.is_zero or slope.is_zero):
        return False, None, None
    damping = -(rest if slope.is_zero else slope.integrate())
    return True, damping - damping.eval(0), -force * c.LC()


def _is_odd(polynomial: Any) -> bool:
    return all(degree % 2 for (degree,), _ in polynomial.terms()) or polynomial.is_zero


def _follows_x(g: Any) -> Hypothesis:
    """Decide whether x g(x) > 0 for x > 0."""
    words, sense = "the restoring force pulls back", "g(x) > 0 for x > 0"
    roots = _positive_roots(g)
    if not g.is_zero and g.LC() > 0 and not roots:
        return Hypothesis(words, sense, HOLDS, decided="algebra")
    return Hypothesis(words, sense, FAILS, decided="algebra", witness=np.array([_middle(roots[0]) if roots else 1.0]))


def _one_positive_zero(F: Any) -> tuple[Hypothesis, Any]:
    """Decide whether F has one positive zero a, and is negative before it and positive beyond."""
    words, sense = "the integrated damping has exactly one positive zero a", "F < 0 on (0, a), F > 0 on (a, oo)"
    roots = [] if F.is_zero else _positive_roots(F)
    holds = len(roots) == 1 and F.LC() > 0 and F.terms()[-1][1] < 0
    if holds:
        return Hypothesis(words, f"{sense}, a = {_middle(roots[0]):.8g}", HOLDS, decided="algebra"), roots[0]
    said = f"{sense}; it has {len(roots)} positive zeros" if len(roots) != 1 else f"{sense}; the signs are others"
    witness = np.array([_middle(roots[1])]) if len(roots) > 1 else None
    return Hypothesis(words, said, FAILS, decided="algebra", witness=witness), None


def _grows_beyond(F: Any, zero: Any) -> Hypothesis:
    """Decide whether F does not fall beyond its zero, and tends to infinity; f may touch zero without a change of sign.

    Where f changes its sign it is not zero at the zero of F, whose multiplicity is odd.
    """
    words, sense = "the integrated damping grows without bounds beyond a", "f(x) >= 0 for x > a, F -> oo"
    changes, simple = _odd_part(F.diff()), F.sqf_part()
    low, high = zero
    while changes.count_roots(low, high):
        low, high = simple.refine_root(low, high, steps=8)
    if not changes.count_roots(high):
        return Hypothesis(words, sense, HOLDS, decided="algebra")
    falls = np.mean([_middle(root) for root in _positive_roots(changes)[-2:]])  # F grows beyond the last two
    return Hypothesis(words, sense, FAILS, decided="algebra", witness=np.array([falls]))


def _odd_part(polynomial: Any) -> Any:
    """The product of the factors of odd multiplicity, at whose zeros a polynomial changes its sign."""
    found = polynomial.one
    for factor, power in polynomial.sqf_list()[1]:
        if power % 2:
            found = found * factor
    return found


def _positive_roots(polynomial: Any) -> list[tuple[Any, Any]]:
    """Small intervals that each hold one positive zero, in order."""
    from sympy import Rational

    simple = polynomial.terms_gcd()[1].sqf_part()  # without the zero at 0
    return [ends for ends, _ in simple.intervals(inf=0, eps=Rational(1, 10**15))]


def _middle(ends: tuple[Any, Any]) -> float:
    return float((ends[0] + ends[1]) / 2)

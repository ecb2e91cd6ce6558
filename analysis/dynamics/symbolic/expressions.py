"""Simplify expressions of sympy, and solve those that are linear or quadratic in a symbol."""

from typing import Any

from analysis.dynamics.symbolic.effort import LEX, check_size


def factors_with(e: Any, states: set[Any]) -> list[Any]:
    """Factors of an expression that depend on some symbols and may vanish."""
    import sympy as sp

    above = check_size(sp.fraction(sp.together(e))[0])
    return [factor for factor, _ in sp.factor_list(above)[1] if factor.free_symbols & states and _may_vanish(factor)]


def _may_vanish(factor: Any) -> bool:
    """Whether a factor has real zeros, as far as that is known."""
    import sympy as sp

    if factor.is_nonzero or len(factor.free_symbols) > 1 or not factor.is_polynomial():
        return not factor.is_nonzero
    poly = sp.Poly(factor, *factor.free_symbols)
    return not (poly.domain.is_QQ or poly.domain.is_ZZ) or bool(poly.count_roots() > 0)


def solved_for(e: Any, variable: Any) -> list[tuple[Any, Any]]:
    """Solve an expression that is linear or quadratic in a variable; nothing otherwise, or if it does not occur."""
    import sympy as sp

    if e.is_polynomial(variable) and sp.degree(e, variable) > 2:
        return []
    first = sp.diff(e, variable)
    second: Any = simplified(sp.diff(first, variable))
    if first == 0 or second.has(variable):
        return []
    a: Any = second / 2
    b: Any = first.subs(variable, 0)
    c: Any = e.subs(variable, 0)
    if a == 0:
        return [(variable, tidied(-c / b))]
    spread = root_of(b**2 - 4 * a * c)
    return [(variable, tidied((-b - spread) / (2 * a))), (variable, tidied((-b + spread) / (2 * a)))]


def tidied(e: Any) -> Any:
    """The shorter one of an expression and of its simplifications."""
    import sympy as sp

    check_size(e)
    quick = [sp.expand(e), sp.factor(e), sp.cancel(e)] if e.is_rational_function() else [e, sp.factor(e)]
    return min(quick, key=sp.count_ops)


def simplified(e: Any) -> Any:
    """Cancel common factors; functions count as symbols."""
    import sympy as sp

    return sp.cancel(sp.together(check_size(sp.sympify(e))), order=LEX)


def root_of(e: Any) -> Any:
    """A square root of a rational expression, of either sign, with the squares in it taken out."""
    import sympy as sp

    inside, outside = sp.Integer(1), sp.Integer(1)
    for part, sign in zip(sp.fraction(sp.together(e)), (1, -1), strict=True):
        c, factors = sp.factor_list(part)[:2]
        whole, rest = sp.sqrt(abs(c)).as_coeff_Mul()
        outside, inside = outside * whole**sign, inside * (sp.sign(c) * rest**2) ** sign
        for factor, power in factors:
            outside *= factor ** (sign * (power // 2))
            inside *= factor ** (sign * (power % 2))
    return outside * sp.sqrt(inside)

"""Scalar operations on balls, and on Taylor series whose coefficients are balls. Needs python-flint.

What a condition says about a box is True, False, or a ball about [0, 1] where points of the box differ.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from dynsim.errors import ArgumentError, UnavailableError
from dynsim.programs.program import COMPARING, Operation


def flint() -> Any:
    """Import python-flint; raise `UnavailableError` if it is not installed."""
    try:
        import flint as package
    except ImportError:
        said = "Ball arithmetic needs the package python-flint: install `dynsim[rigorous]`."
        raise UnavailableError(said) from None
    return package


def ball(middle: float, radius: float = 0.0) -> Any:
    """Convert a number to a ball of radius zero."""
    return flint().arb(middle, radius) if radius else flint().arb(middle)


def is_series(a: Any) -> bool:
    """Test whether a value is a Taylor series."""
    return hasattr(a, "coeffs")


def power(a: Any, exponent: int) -> Any:
    """Compute an integer power; an even power of a ball around zero is nonnegative."""
    if exponent < 0:
        return _quotient(ball(1.0), power(a, -exponent))
    if exponent == 0:
        return ball(1.0)
    if is_series(a):
        return _repeated(a, exponent)
    ends = (a.abs_lower(), a.abs_upper()) if exponent % 2 == 0 else (a.lower(), a.upper())
    low, high = (_repeated(end, exponent) for end in ends)  # monotone in between
    return low.union(high)


def selected(which: Any, *cases: Any) -> Any:
    """Select a case by its index, or enclose both cases if a condition is undecided."""
    chosen = _truth(which) if len(cases) == 2 else int(float(which.mid()))
    if isinstance(chosen, bool | int):
        return cases[int(chosen)]
    if any(is_series(case) for case in cases):
        raise _not_smooth()
    return _as_ball(cases[0]).union(_as_ball(cases[1]))


def _repeated(a: Any, exponent: int) -> Any:
    found = a
    for _ in range(exponent - 1):
        found = found * a
    return found


def _not_smooth() -> ArgumentError:
    return ArgumentError("flow", "be smooth along its orbit", "cannot be shown to be")


def _as_ball(a: Any) -> Any:
    return ball(float(a)) if isinstance(a, bool) else a


def _first(a: Any) -> Any:
    """Get the constant term of a series, or the ball itself."""
    return a[0] if is_series(a) else a


def _quotient(a: Any, b: Any) -> Any:
    """Compute a quotient; for series, raise `ZeroDivisionError` if the divisor's constant term may be zero."""
    if is_series(b) and b[0].contains(0):
        raise ZeroDivisionError
    return a / b


def _inverse_root(a: Any) -> Any:
    return _quotient(ball(1.0), a.sqrt()) if is_series(a) else a.rsqrt()


def _square(a: Any) -> Any:
    return power(a, 2)


def _absolute(a: Any) -> Any:
    if not is_series(a):
        return a.abs_lower().union(a.abs_upper())
    if a[0] > 0:
        return a
    if a[0] < 0:
        return -a
    raise _not_smooth()


def _larger(a: Any, b: Any) -> Any:
    if not is_series(a) and not is_series(b):
        return a.max(b)
    if _first(a) > _first(b):
        return a
    if _first(a) < _first(b):
        return b
    raise _not_smooth()


def _smaller(a: Any, b: Any) -> Any:
    return -_larger(-a, -b) if is_series(a) or is_series(b) else a.min(b)


def _angle(y: Any, x: Any) -> Any:
    """Compute atan2 of balls, or of series by integrating (x y' - y x') / (x^2 + y^2)."""
    if not is_series(y) and not is_series(x):
        return flint().arb.atan2(y, x)
    order = (y if is_series(y) else x).prec
    Y, X = (a if is_series(a) else flint().arb_series([a], prec=order) for a in (y, x))
    rate = _quotient(X * Y.derivative() - Y * X.derivative(), X * X + Y * Y)
    return rate.integral() + flint().arb.atan2(_first(y), _first(x))


def _cubic_root(a: Any) -> Any:
    if not is_series(a):
        return a.root(3) if a > 0 else -((-a).root(3)) if a < 0 else ball(float("nan"))
    return (a.log() / 3).exp() if a[0] > 0 else -((-a).log() / 3).exp()


def _hyperbolic(name: str, series: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Extend a hyperbolic function from balls to series, through exp(a) and exp(-a)."""
    return lambda a: series(a.exp(), (-a).exp()) if is_series(a) else getattr(a, name)()


def _method(name: str) -> Callable[[Any], Any]:
    return operator.methodcaller(name)


def _compare(true: Callable[[Any, Any], Any], false: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Build a comparison of balls from the conditions under which it is true, or false, for all of their points."""

    def said(a: Any, b: Any) -> Any:
        x, y = _as_ball(_first(a)), _as_ball(_first(b))
        yes, no = bool(true(x, y)), bool(false(x, y))
        if yes == no and (is_series(a) or is_series(b)):
            raise _not_smooth()
        return yes if yes != no else ball(0.5, 0.5)

    return said


def _sign(a: Any) -> Any:
    x = _first(a)
    yes, no = bool(x > 0), bool(x < 0)
    if yes == no and is_series(a):
        raise _not_smooth()
    return ball(1.0 if yes else -1.0) if yes != no else ball(0.0, 1.0)


def _truth(a: Any) -> Any:
    """Convert a truth value to True, False, or a ball around [0, 1] if it is undecided."""
    if isinstance(a, bool):
        return a
    return bool(a != 0) if bool(a == 0) != bool(a != 0) else a


def _not(a: Any) -> Any:
    return not _truth(a) if isinstance(_truth(a), bool) else a


def _both(a: Any, b: Any) -> Any:
    first, second = _truth(a), _truth(b)
    if first is False or second is False:
        return False
    return second if first is True else first


def _either(a: Any, b: Any) -> Any:
    return _not(_both(_not(a), _not(b)))


ENTRYWISE: dict[str, Callable[..., Any]] = {
    "add": operator.add, "add_any": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient,
    "neg": operator.neg, "abs": _absolute, "square": _square, "pow": operator.pow, "max": _larger, "min": _smaller,
    "sin": _method("sin"), "cos": _method("cos"), "tan": _method("tan"), "asin": _method("asin"),
    "acos": _method("acos"), "atan": _method("atan"), "atan2": _angle, "exp": _method("exp"), "log": _method("log"),
    "sqrt": _method("sqrt"), "rsqrt": _inverse_root, "erf": _method("erf"), "cbrt": _cubic_root,
    "sinh": _hyperbolic("sinh", lambda p, m: (p - m) / 2), "cosh": _hyperbolic("cosh", lambda p, m: (p + m) / 2),
    "tanh": _hyperbolic("tanh", lambda p, m: (p - m) / (p + m)), "expm1": _hyperbolic("expm1", lambda p, m: p - 1),
    "log1p": lambda a: (1 + a).log() if is_series(a) else a.log1p(),
    "log2": lambda a: a.log() / flint().arb(2).log(), "one_minus_square": lambda a: (1 - a) * (1 + a),
    "exp2": lambda a: (a * flint().arb(2).log()).exp(), "logistic": lambda a: 1 / (1 + (-a).exp()),
    "and": _both, "or": _either, "not": _not, "sign": _sign,
    "lt": _compare(operator.lt, operator.ge), "le": _compare(operator.le, operator.gt),
    "gt": _compare(operator.gt, operator.le), "ge": _compare(operator.ge, operator.lt),
    "eq": _compare(operator.eq, operator.ne), "ne": _compare(operator.ne, operator.eq),
    "convert_element_type": lambda a, dtype: _as_ball(a), "select_n": selected, "integer_pow": power,
    "clamp": lambda low, a, high: _smaller(_larger(a, low), high),
}  # fmt: skip
"""The arithmetic of the operations of programs."""


def may_jump(operation: Operation, operands: Sequence[Any], found: Any) -> bool:
    """Test whether an operation may be discontinuous on balls: a comparison, a sign, or an angle at its branch cut."""
    if operation.name in COMPARING:
        return not isinstance(found, bool)
    if operation.name == "sign":
        return not (operands[0] > 0 or operands[0] < 0)
    return operation.name == "atan2" and bool(operands[0].contains(0)) and not operands[1] > 0

"""Rational functions, cancelled exactly, so that what cancels is gone before intervals see it."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from analysis.dynamics.validated.intervals import INTERVALS, IntervalArray, mean_value, middles
from dynsim.programs import Program, ProgramError, Tabulated, scalar_program

MOST = 300
"""Largest number of terms of a numerator or a denominator."""


class _NotRational(Exception):
    pass


def rational(fn: Callable[[Any], Any], size: int) -> list[Any] | None:
    """Compute the entries of a function of a vector of this size as elements of a field of rational functions.

    Floating-point constants are taken as the binary fractions that they are.

    Returns:
        The entries; None if they are no rational functions, or too long.
    """
    program = _program(fn, size)
    return None if program is None else rational_entries(program)


def rational_entries(program: Program) -> list[Any] | None:
    """Compute the entries of a program of one vector as `rational` does those of a function."""
    return _entries(program, _TABLE, 0)


def _program(fn: Callable[[Any], Any], size: int) -> Program | None:
    try:
        return scalar_program(fn, (size,), drop_zeros=True)
    except ProgramError:
        return None


def _entries(program: Program, table: dict[str, Callable[..., Any]], more: int) -> list[Any] | None:
    """Compute entries as rational functions of the components and of `more` values that the table may name."""
    from sympy import QQ
    from sympy.polys.fields import field

    size = program.num_inputs
    made, *variables = field([f"x{k}" for k in range(size + more)], QQ)

    def constant(value: Any) -> Any:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if not np.isfinite(value):
            raise _NotRational
        return made(QQ(*float(value).as_integer_ratio()))

    try:
        return Tabulated(program, table, constant).run(variables[:size])
    except (ProgramError, _NotRational, ZeroDivisionError):
        return None


def is_zero(fn: Callable[[Any], Any], size: int) -> bool | None:
    """Whether all entries of a function are zero wherever they are defined; None if that is not known.

    Values of elementary functions, such as sin(x), count as further variables: what cancels with them is zero, but the
    rest may be zero for another reason, such as sin(x)^2 + cos(x)^2 = 1.
    """
    program = _program(fn, size)
    if program is None:
        return None
    found = rational_entries(program)
    if found is not None:
        return all(entry == 0 for entry in found)
    with_values = _entries(program, _TABLE | _ElementaryValues(size).table(), VALUES)
    return True if with_values is not None and all(entry == 0 for entry in with_values) else None


VALUES = 16
"""Largest number of different values of elementary functions that are told apart."""


_ODD = frozenset({"sin", "tan", "tanh", "sinh", "atan", "erf"})
_EVEN = frozenset({"cos", "cosh"})


class _ElementaryValues:
    """Values of elementary functions as variables of their own, one for each function and argument."""

    def __init__(self, size: int):
        self._size = size
        self._known: dict[tuple[str, Any], int] = {}

    def table(self) -> dict[str, Callable[..., Any]]:
        names = ("sin", "cos", "tan", "exp", "log", "tanh", "logistic", "sinh", "cosh", "atan", "sqrt", "erf")
        return {name: functools.partial(self._value, name) for name in names}

    def _value(self, name: str, a: Any) -> Any:
        if a.numer.LC < 0 and (name in _ODD or name in _EVEN):
            return -self._value(name, -a) if name in _ODD else self._value(name, -a)
        place = self._known.setdefault((name, a), len(self._known))
        if place >= VALUES:
            raise _NotRational
        return a.field.gens[self._size + place]


class RationalFunction:
    """A cancelled rational function on many boxes at once: its terms and its derivatives in interval arithmetic."""

    def __init__(self, element: Any):
        """Take over an element of a field of rational functions."""
        self._element = element
        self._above, self._below = _FactoredPolynomial(element.numer), _FactoredPolynomial(element.denom)
        self._size = len(element.numer.ring.gens)

    @functools.cached_property
    def _slopes(self) -> list[Any]:
        gens = self._element.field.gens
        return [RationalFunction(self._element.diff(x)) for x in gens]

    def interval(self, boxes: np.ndarray) -> IntervalArray:
        """Enclose the values on each box."""
        columns = [IntervalArray(boxes[:, k, 0], boxes[:, k, 1]) for k in range(self._size)]
        with np.errstate(all="ignore"):
            return INTERVALS["div"](self._above.on(columns), self._below.on(columns))

    def values(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the values on each box, (boxes, 1, 2)."""
        return _ends(self.interval(boxes), len(boxes))

    def enclosed(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the values on each box also by the mean value theorem, (boxes, 1, 2)."""
        found = self.values(boxes)
        if not len(boxes):
            return found
        total = mean_value(self.interval(middles(boxes)), [slope.interval(boxes) for slope in self._slopes], boxes)
        return sharper(found, _ends(total, len(boxes)))


class _FactoredPolynomial:
    """A polynomial as a product of powers of factors, each a sum of terms with enclosed coefficients."""

    def __init__(self, polynomial: Any):
        unit, factors = (polynomial, []) if len(polynomial) > FACTORED else _factored(polynomial)
        self.factors = [(_terms(one), power) for one, power in factors]
        if polynomial.is_ground or factors:
            self.unit = _enclosed(unit)
        else:
            self.unit, self.factors = _enclosed(1), [(_terms(polynomial), 1)]

    def on(self, columns: list[IntervalArray]) -> IntervalArray:
        """Enclose the values on boxes."""
        total: IntervalArray | None = None
        for terms, power in self.factors:
            value: IntervalArray | None = None
            for coefficient, powers in terms:
                term: IntervalArray | None = None
                for k, exponent in powers:
                    term = _times(term, INTERVALS["integer_pow"](columns[k], exponent))
                term = _scaled(coefficient, term)
                value = term if value is None else INTERVALS["add"](value, term)
            assert value is not None
            total = _times(total, INTERVALS["integer_pow"](value, power))
        return _scaled(self.unit, total)


def _times(a: IntervalArray | None, b: IntervalArray) -> IntervalArray:
    return b if a is None else INTERVALS["mul"](a, b)


def _scaled(coefficient: IntervalArray, a: IntervalArray | None) -> IntervalArray:
    """Multiply by a number; without rounding by 1 and -1."""
    if a is None or coefficient.low != coefficient.high or abs(coefficient.low) != 1:
        return coefficient if a is None else INTERVALS["mul"](coefficient, a)
    return a if coefficient.low > 0 else INTERVALS["neg"](a)


FACTORED = 40
"""Largest number of terms of a polynomial that is factored."""


def _factored(polynomial: Any) -> tuple[Any, list[tuple[Any, int]]]:
    if polynomial.is_ground:
        return (polynomial.LC if polynomial else 0), []
    return polynomial.factor_list()


def _terms(polynomial: Any) -> list[tuple[IntervalArray, list[tuple[int, int]]]]:
    return [
        (_enclosed(coefficient), [(k, int(e)) for k, e in enumerate(powers) if e])
        for powers, coefficient in polynomial.terms()
    ]


def _enclosed(value: Any) -> IntervalArray:
    """Enclose a rational number."""
    exact = Fraction(int(getattr(value, "numerator", value)), int(getattr(value, "denominator", 1)))
    near = float(exact)
    low = near if Fraction(near) <= exact else np.nextafter(near, -np.inf)
    high = near if Fraction(near) >= exact else np.nextafter(near, np.inf)
    return IntervalArray(np.float64(low), np.float64(high))


def _ends(a: IntervalArray, count: int) -> np.ndarray:
    return np.stack([np.broadcast_to(end, count) for end in a], axis=1)[:, None]


def sharper(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Intersect two enclosures; one that is not known says nothing."""
    return np.stack([np.fmax(one[..., 0], other[..., 0]), np.fmin(one[..., 1], other[..., 1])], axis=-1)


def _checked(a: Any) -> Any:
    if len(a.numer) > MOST or len(a.denom) > MOST:
        raise _NotRational
    return a


def _raised(a: Any, exponent: int) -> Any:
    if exponent < 0 and a == 0:
        raise ZeroDivisionError
    return _checked(a**exponent)


def _real_power(a: Any, b: Any) -> Any:
    if b == 0:
        return _raised(a, 0)
    if not (b.numer.is_ground and b.denom.is_ground):
        raise _NotRational
    exponent = b.numer.LC / b.denom.LC
    if int(exponent) != exponent:
        raise _NotRational
    return _raised(a, int(exponent))


def _selected(which: Any, *cases: Any) -> Any:
    if not isinstance(which, bool):
        raise _NotRational
    return cases[which]


def _converted(a: Any, dtype: Any) -> Any:
    if np.dtype(dtype).kind != "f":
        raise _NotRational
    return a


_TABLE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: _checked(a + b), "add_any": lambda a, b: _checked(a + b), "sub": lambda a, b: _checked(a - b),
    "mul": lambda a, b: _checked(a * b), "div": lambda a, b: _checked(a / b), "neg": lambda a: -a,
    "square": lambda a: _checked(a * a), "one_minus_square": lambda a: _checked(1 - a * a),
    "integer_pow": _raised, "pow": _real_power,
    "convert_element_type": _converted, "select_n": _selected,
}  # fmt: skip

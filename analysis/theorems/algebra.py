"""Rational functions, cancelled exactly, so that what cancels is gone before intervals see it."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from analysis.dynamics.validated.intervals import mean_value, middles
from dynsim.programs import Program, ProgramError, Tabulated, scalar_program
from dynsim.programs.intervals import INTERVALS, IntervalArray

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
        self.size = size
        self.known: dict[tuple[str, Any], int] = {}

    def table(self) -> dict[str, Callable[..., Any]]:
        return {name: functools.partial(self.value, name) for name in (*_DERIVATIVES, "erf")}

    def value(self, name: str, a: Any) -> Any:
        """The variable that stands for a function of an argument; odd and even functions of -a are those of a."""
        if a.numer.LC < 0 and (name in _ODD or name in _EVEN):
            return -self.value(name, -a) if name in _ODD else self.value(name, -a)
        place = self.known.setdefault((name, a), len(self.known))
        if place >= VALUES:
            raise _NotRational
        return a.field.gens[self.size + place]

    def derivative(self, element: Any, k: int) -> Any:
        """The derivative of a function by component k, by the chain rule."""
        gens = element.field.gens
        total = element.diff(gens[k])
        for (name, a), place in list(self.known.items()):
            outer = element.diff(gens[self.size + place])
            inner = 0 if outer == 0 else self.derivative(a, k)
            if inner != 0:
                if name not in _DERIVATIVES:
                    raise _NotRational
                total = total + outer * _DERIVATIVES[name](self, a, gens[self.size + place]) * inner
        return _checked(total)


_DERIVATIVES: dict[str, Callable[[_ElementaryValues, Any, Any], Any]] = {
    "sin": lambda values, a, v: values.value("cos", a), "cos": lambda values, a, v: -values.value("sin", a),
    "sinh": lambda values, a, v: values.value("cosh", a), "cosh": lambda values, a, v: values.value("sinh", a),
    "tan": lambda values, a, v: 1 + v**2, "tanh": lambda values, a, v: 1 - v**2, "exp": lambda values, a, v: v,
    "log": lambda values, a, v: 1 / a, "logistic": lambda values, a, v: v * (1 - v),
    "atan": lambda values, a, v: 1 / (1 + a**2), "sqrt": lambda values, a, v: 1 / (2 * v),
}  # fmt: skip
"""The derivative of each elementary function at an argument a with the value v."""


def cancelled_entries(program: Program) -> "list[RationalFunction] | None":
    """Compute the entries of a program of one vector, cancelled as far as they are rational in elementary functions.

    Returns:
        The entries; None if they use anything else, or are too long.
    """
    found = rational_entries(program)
    if found is not None:
        return [RationalFunction(one) for one in found]
    values = _ElementaryValues(program.num_inputs)
    found = _entries(program, _TABLE | values.table(), VALUES)
    return None if found is None else [RationalFunction(one, values) for one in found]


class RationalFunction:
    """A cancelled rational function on many boxes at once: its terms and its derivatives in interval arithmetic.

    Its variables are the components and, after them, values of elementary functions.
    """

    def __init__(self, element: Any, values: _ElementaryValues | None = None):
        """Take over an element of a field of rational functions, and what its further variables stand for."""
        self._element = element
        self._above, self._below = _FactoredPolynomial(element.numer), _FactoredPolynomial(element.denom)
        self._values = _ElementaryValues(len(element.numer.ring.gens)) if values is None else values

    @functools.cached_property
    def _slopes(self) -> "list[RationalFunction] | None":
        values = self._values
        try:
            return [RationalFunction(values.derivative(self._element, k), values) for k in range(values.size)]
        except _NotRational:
            return None

    @functools.cached_property
    def _arguments(self) -> "dict[int, tuple[str, RationalFunction]]":
        """Of each variable that stands for the value of an elementary function: the function and its argument."""
        size, gens = self._values.size, self._element.field.gens
        return {
            size + place: (name, RationalFunction(a, self._values))
            for (name, a), place in self._values.known.items()
            if self._element.diff(gens[size + place]) != 0
        }

    def interval(self, boxes: np.ndarray) -> IntervalArray:
        """Enclose the values on each box."""
        columns = {k: IntervalArray(boxes[:, k, 0], boxes[:, k, 1]) for k in range(self._values.size)}
        with np.errstate(all="ignore"):
            columns |= {k: INTERVALS[name](a.interval(boxes)) for k, (name, a) in self._arguments.items()}
            return INTERVALS["div"](self._above.on(columns), self._below.on(columns))

    def values(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the values on each box, (boxes, 1, 2)."""
        return _ends(self.interval(boxes), len(boxes))

    def slopes(self, boxes: np.ndarray) -> np.ndarray | None:
        """Enclose the derivatives by all components on each box, (boxes, n, 2); None if they are not known."""
        found = self._slopes
        return None if found is None else np.concatenate([slope.values(boxes) for slope in found], axis=1)

    def enclosed(self, boxes: np.ndarray) -> np.ndarray:
        """Enclose the values on each box also by the mean value theorem, (boxes, 1, 2)."""
        found, slopes = self.values(boxes), self._slopes
        if not len(boxes) or slopes is None:
            return found
        total = mean_value(self.interval(middles(boxes)), [slope.interval(boxes) for slope in slopes], boxes)
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

    def on(self, columns: dict[int, IntervalArray]) -> IntervalArray:
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

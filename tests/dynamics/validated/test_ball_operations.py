"""Operations on balls and on Taylor series of balls, against the values and the Taylor coefficients of mpmath."""

import mpmath
import numpy as np
import pytest

from analysis.dynamics.validated.ball_operations import ENTRYWISE, ball, flint, is_series, may_jump, power, selected
from dynsim.errors import ArgumentError
from dynsim.programs.program import Operation

pytest.importorskip("flint")
ORDER = 5
ONE = {
    "neg": lambda x: -x, "abs": lambda x: -x, "square": lambda x: x**2, "sin": mpmath.sin, "cos": mpmath.cos,
    "tan": mpmath.tan, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "exp": mpmath.exp,
    "erf": mpmath.erf, "cbrt": lambda x: -mpmath.cbrt(-x), "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "expm1": mpmath.expm1, "log1p": lambda x: mpmath.log(1 + x),
    "one_minus_square": lambda x: 1 - x**2, "exp2": lambda x: 2**x, "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
}  # fmt: skip
POSITIVE = {
    "log": mpmath.log, "log2": lambda x: mpmath.log(x) / mpmath.log(2), "sqrt": mpmath.sqrt, "abs": lambda x: x,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "cbrt": mpmath.cbrt,
}  # fmt: skip
TWO = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "max": lambda a, b: b, "min": lambda a, b: a, "atan2": mpmath.atan2, "pow": lambda a, b: a**b,
}  # fmt: skip


def series(*coefficients):
    return flint().arb_series([ball(c) for c in coefficients], prec=ORDER)


def numbers(found):
    """The coefficients of a series, of which trailing zeros are left out."""
    given = [float(c.mid()) for c in found.coeffs()]
    return np.array(given + [0.0] * (ORDER - len(given)))[:ORDER]


def coefficients(fn, at):
    with mpmath.workdps(30):
        return np.array([float(c) for c in mpmath.taylor(fn, mpmath.mpf(at), ORDER - 1)])


@pytest.mark.parametrize(("name", "fn", "at"), [*((k, f, -0.3) for k, f in ONE.items()),
                                                *((k, f, 0.7) for k, f in POSITIVE.items())])  # fmt: skip
def test_a_function_of_one_number_has_its_values_and_taylor_coefficients(name, fn, at):
    found = ENTRYWISE[name](ball(at, 0.125))
    for x in np.linspace(at - 0.125, at + 0.125, 5):
        assert float(found.lower()) <= float(fn(mpmath.mpf(float(x)))) + 1e-15
        assert float(found.upper()) >= float(fn(mpmath.mpf(float(x)))) - 1e-15
    assert float(found.rad()) < 0.5
    assert float(ENTRYWISE[name](ball(at)).mid()) == pytest.approx(float(fn(mpmath.mpf(at))), rel=1e-14)
    np.testing.assert_allclose(numbers(ENTRYWISE[name](series(at, 1.0))), coefficients(fn, at), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_numbers_has_its_values_and_taylor_coefficients(name):
    """Of 0.4 + 2 t and 0.9 - t, and where one of them is a number."""
    fn = TWO[name]
    assert float(ENTRYWISE[name](ball(0.4), ball(0.9)).mid()) == pytest.approx(float(fn(0.4, 0.9)), rel=1e-14)
    cases = [
        (series(0.4, 2.0), series(0.9, -1.0), lambda t: fn(mpmath.mpf(0.4) + 2 * t, mpmath.mpf(0.9) - t)),
        (series(0.4, 2.0), ball(0.9), lambda t: fn(mpmath.mpf(0.4) + 2 * t, mpmath.mpf(0.9))),
        (ball(0.4), series(0.9, -1.0), lambda t: fn(mpmath.mpf(0.4), mpmath.mpf(0.9) - t)),
    ]
    for a, b, along in cases:
        found = ENTRYWISE[name](a, b)
        given = numbers(found) if is_series(found) else np.array([float(found.mid()), *[0.0] * (ORDER - 1)])
        np.testing.assert_allclose(given, coefficients(along, 0.0), rtol=1e-11, atol=1e-12)


def test_extremes_of_balls_enclose_those_of_their_points_and_of_series_are_one_of_them():
    low, high = ball(0.0, 1.0), ball(0.5, 1.0)
    largest, least = ENTRYWISE["max"](low, high), ENTRYWISE["min"](low, high)
    assert [float(largest.lower()), float(largest.upper())] == pytest.approx([-0.5, 1.5], abs=1e-6)
    assert [float(least.lower()), float(least.upper())] == pytest.approx([-1.0, 1.0], abs=1e-6)
    wide = ENTRYWISE["abs"](ball(0.5, 1.0))
    assert [float(wide.lower()), float(wide.upper())] == pytest.approx([0.0, 1.5], abs=1e-6)
    for name in ("max", "min"):
        with pytest.raises(ArgumentError, match="be smooth along its orbit"):
            ENTRYWISE[name](series(0.5, 1.0), series(0.5, 2.0))
    with pytest.raises(ArgumentError, match="be smooth"):
        ENTRYWISE["abs"](series(0.0, 1.0))
    a, b = series(2.0, 1.0), series(1.0, 5.0)
    assert ENTRYWISE["max"](a, b) is ENTRYWISE["max"](b, a) is a
    clamped = [numbers(ENTRYWISE["clamp"](ball(0.0), series(x, 1.0), ball(1.0)) + series(0.0))[0] for x in (-1, 0.5, 2)]
    assert clamped == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("exponent", "low", "high"), [(2, 0.0, 4.0), (3, -8.0, 1.0), (4, 0.0, 16.0), (0, 1.0, 1.0)])
def test_powers_of_a_ball_about_zero_are_those_of_its_points(exponent, low, high):
    found = power(ball(-0.5, 1.5), exponent)
    assert [float(found.lower()), float(found.upper())] == pytest.approx([low, high], abs=1e-6)
    inverse = power(ball(-2.0), -exponent)
    assert float(inverse.mid()) == pytest.approx((-2.0) ** -exponent)
    np.testing.assert_allclose(numbers(power(series(-0.5, 1.0), exponent) + series(0.0)),
                               coefficients(lambda x: x**exponent, -0.5), atol=1e-12)  # fmt: skip


def test_a_quotient_by_what_may_be_zero_is_refused_for_series():
    with pytest.raises(ZeroDivisionError):
        ENTRYWISE["div"](ball(1.0), flint().arb_series([ball(0.1, 0.2), ball(1.0)], prec=ORDER))
    assert not ENTRYWISE["div"](ball(1.0), ball(0.1, 0.2)).is_finite()


APART, TOUCHING = (ball(0.0, 0.25), ball(1.0, 0.25)), (ball(0.0, 0.75), ball(1.0, 0.75))


SAID = {"lt": (True, False), "le": (True, False), "gt": (False, True), "ge": (False, True), "eq": (False, False),
        "ne": (True, True)}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_comparisons_hold_for_all_points_or_are_open(name):
    compare, (below, above) = ENTRYWISE[name], SAID[name]
    assert (compare(*APART), compare(*APART[::-1])) == (below, above)
    open_ = compare(*TOUCHING)
    assert (float(open_.mid()), float(open_.rad())) == (0.5, pytest.approx(0.5))
    assert compare(series(0.0, 9.0), ball(1.0)) is below
    with pytest.raises(ArgumentError, match="be smooth"):
        compare(flint().arb_series([ball(0.0, 2.0)], prec=ORDER), ball(1.0))
    equal = compare(ball(1.0), ball(1.0))
    assert equal is (name in ("le", "ge", "eq"))


def test_truth_values_are_joined_and_decide_between_cases():
    open_ = ball(0.5, 0.5)
    both, either, no = ENTRYWISE["and"], ENTRYWISE["or"], ENTRYWISE["not"]
    assert [both(a, b) for a in (True, False) for b in (True, False)] == [True, False, False, False]
    assert [either(a, b) for a in (True, False) for b in (True, False)] == [True, True, True, False]
    assert (both(False, open_), both(open_, False)) == (False, False)
    assert (either(True, open_), either(open_, True)) == (True, True)
    assert both(True, open_) is both(open_, True) is open_
    assert no(open_) is open_
    assert (no(True), no(ball(0.0)), no(ball(2.0))) == (False, True, False)
    first, second = ball(1.0), ball(3.0)
    assert (selected(False, first, second), selected(True, first, second)) == (first, second)
    wide = selected(open_, first, second)
    assert [float(wide.lower()), float(wide.upper())] == pytest.approx([1.0, 3.0], abs=1e-6)
    assert selected(ball(2.0), first, second, wide) is wide
    mixed = selected(open_, True, second)
    assert float(mixed.lower()) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ArgumentError, match="be smooth"):
        selected(open_, first, series(1.0, 2.0))


def test_signs_and_jumps_of_balls_that_may_be_zero_are_open():
    sign = ENTRYWISE["sign"]
    assert [float(sign(ball(x)).mid()) for x in (2.0, -2.0)] == [1.0, -1.0]
    assert float(sign(ball(0.1, 0.2)).rad()) == pytest.approx(1.0)
    assert float(sign(series(-1.0, 5.0)).mid()) == -1.0
    with pytest.raises(ArgumentError, match="be smooth"):
        sign(series(0.0, 5.0))
    jumps = lambda name, operands, found=None: may_jump(Operation(name, (), np.dtype(float)), operands, found)
    assert [jumps("sign", [one]) for one in (ball(0.1, 0.2), ball(0.1), ball(-0.1))] == [True, False, False]
    assert (jumps("lt", [], True), jumps("lt", [], ball(0.5, 0.5))) == (False, True)
    at_zero = ball(0.0, 1.0)
    angles = [(at_zero, ball(-1.0)), (at_zero, ball(1.0)), (ball(2.0, 1.0), ball(-1.0)), (ball(0.0), at_zero)]
    assert [jumps("atan2", one) for one in angles] == [True, False, False, True]
    assert not jumps("add", [ball(0.0), ball(0.0)])

"""IntervalArray arithmetic on arrays: every value of a function at a point of a box lies in the enclosure."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.validated.intervals import IntervalFunction
from dynsim.programs.arrays import NUMPY
from dynsim.programs.intervals import INTERVALS, WITH_JUMPS, IntervalArray

RNG = np.random.default_rng(0)
UNARY = {
    "neg": (-3, 3), "abs": (-3, 3), "square": (-3, 3), "sqrt": (0, 9), "rsqrt": (0.1, 9), "cbrt": (-3, 3),
    "exp": (-5, 5), "exp2": (-5, 5), "expm1": (-3, 3), "log": (0.01, 9), "log1p": (-0.9, 9), "log2": (0.01, 9),
    "logistic": (-9, 9), "tanh": (-4, 4), "sinh": (-4, 4), "cosh": (-4, 4), "asin": (-1, 1), "acos": (-1, 1),
    "atan": (-9, 9), "asinh": (-9, 9), "acosh": (1, 9), "atanh": (-0.99, 0.99), "erf": (-3, 3), "erfc": (-3, 3),
    "sin": (-20, 20), "cos": (-20, 20), "tan": (-1.5, 1.5), "one_minus_square": (-3, 3), "sign": (-1, 1),
}  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "max", "min", "atan2", "pow")


def boxes(low, high, count=400):
    """Intervals of widths from tiny to large, some of them points, some ending at a bound or at zero."""
    a, width = RNG.uniform(low, high, count), 10 ** RNG.uniform(-12, 1, count)
    first, second = np.maximum(a - width, low), np.minimum(a + width, high)
    second[: count // 8] = first[: count // 8]
    if low < 0 < high:
        first[count // 8 : count // 4] = np.minimum(first[count // 8 : count // 4], 0)
        second[count // 8 : count // 4] = 0.0
    return IntervalArray(first, np.maximum(first, second))


def inside(a):
    """Points of intervals: ends and others."""
    for share in (0.0, 1.0, *RNG.uniform(0, 1, 6)):
        yield np.clip(a.low + share * (a.high - a.low), a.low, a.high)


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_number_is_enclosed(name):
    a = boxes(*UNARY[name])
    found = INTERVALS[name](a)
    for x in inside(a):
        y = NUMPY[name](x)  # of its own error, which is that of the comparison
        assert np.all((found.low <= y + 2 * np.spacing(1 + abs(y))) & (y - 2 * np.spacing(1 + abs(y)) <= found.high))
    thin = a.high - a.low < 1e-9
    sharp = (found.high - found.low)[thin] <= 1e-6 * (1 + np.abs(found.high[thin]))
    assert np.mean(sharp) > 0.8  # and not by far too much


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_numbers_is_enclosed(name):
    ends = {"div": (0.1, 3), "pow": (0.1, 3)}.get(name, (-3, 3))
    a, b = boxes(-3 if name == "div" else ends[0], 3), boxes(*((-2, 2) if name == "pow" else ends))
    found = INTERVALS[name](a, b)
    for x, y in itertools.product(inside(a), inside(b)):
        z = NUMPY[name](x, y)
        assert np.all((found.low <= z) & (z <= found.high))


@pytest.mark.parametrize("size", [2.0, -0.7])
def test_remainders_and_rounded_numbers_are_enclosed_and_sharp_between_their_jumps(size):
    a, b = boxes(-5, 5), IntervalArray(np.float64(size), np.float64(size))
    for name, given in (("rem", (b,)), ("round", (0,)), ("round", (1,)), ("floor", ()), ("ceil", ())):
        found = WITH_JUMPS[name](a, *given)
        for x in inside(a):
            y = NUMPY[name](x, *(np.float64(size) if one is b else one for one in given))
            assert np.all((found.low <= y) & (y <= found.high))
    found = WITH_JUMPS["rem"](a, b)
    same = np.trunc(a.low / size) == np.trunc(a.high / size)
    assert np.all(
        (found.high - found.low)[same & (a.low * a.high >= 0)] <= (a.high - a.low)[same & (a.low * a.high >= 0)] + 1e-15
    )
    assert np.all(np.isnan(WITH_JUMPS["rem"](a, IntervalArray(np.float64(1.0), np.float64(2.0))).low))


@pytest.mark.parametrize("exponent", [-3, -2, 0, 1, 2, 3, 4, 7])
def test_powers_are_enclosed_and_even_ones_begin_at_zero(exponent):
    a = boxes(-2, 2) if exponent >= 0 else boxes(0.2, 2)
    found = INTERVALS["integer_pow"](a, exponent)
    for x in inside(a):
        y = x.astype(float) ** exponent
        assert np.all((found.low <= y) & (y <= found.high))
    if exponent in (2, 4):
        assert INTERVALS["integer_pow"](IntervalArray(np.array([-1.0]), np.array([2.0])), exponent).low[0] == 0


def test_sums_and_products_enclose_the_exact_results():
    x, y = RNG.standard_normal((2, 500)) * 10.0 ** RNG.integers(-9, 9, (2, 500))
    for name, exact in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b)):
        found = INTERVALS[name](IntervalArray(x, x), IntervalArray(y, y))
        for k in range(len(x)):
            value = exact(Fraction(x[k]), Fraction(y[k]))
            assert Fraction(found.low[k]) <= value <= Fraction(found.high[k])


@np.errstate(all="ignore")
def test_an_exact_sum_and_a_product_with_zero_are_not_widened():
    one, half, zero = (IntervalArray(np.array([v]), np.array([v])) for v in (1.0, 0.5, 0.0))
    assert INTERVALS["sub"](one, one) == (0.0, 0.0)
    assert INTERVALS["add"](one, half) == (1.5, 1.5)
    assert INTERVALS["mul"](zero, IntervalArray(np.array([-np.inf]), np.array([np.inf]))) == (0.0, 0.0)
    low, high = INTERVALS["mul"](half, IntervalArray(np.array([0.0]), np.array([5e-324])))
    assert low <= 0 < high  # half of the smallest number does not vanish


@pytest.mark.parametrize("name", ["sqrt", "cbrt", "expm1", "log1p", "tanh", "sinh", "asin", "atan", "asinh", "erf"])
def test_zero_is_not_widened_where_it_is_mapped_to_zero(name):
    """What underflows to zero is: exp(-1000), or the fourth power of 1e-200."""
    zero = IntervalArray(np.zeros(1), np.zeros(1))
    assert [float(end[0]) for end in INTERVALS[name](zero)] == [0.0, 0.0]
    for power in (4, 5):
        assert [float(end[0]) for end in INTERVALS["integer_pow"](zero, power)] == [0.0, 0.0]
        assert float(INTERVALS["integer_pow"](IntervalArray(np.zeros(1), np.full(1, 1e-200)), power).high[0]) > 0
    assert float(INTERVALS["exp"](IntervalArray(np.full(1, -1e3), np.full(1, -1e3))).high[0]) > 0


@np.errstate(all="ignore")
def test_what_may_be_undefined_is_not_known():
    wide = IntervalArray(np.array([-1.0]), np.array([4.0]))
    for name in ("sqrt", "log", "rsqrt"):
        assert all(np.isnan(end[0]) for end in INTERVALS[name](wide))
    assert all(np.isnan(end[0]) for end in INTERVALS["div"](wide, wide))
    assert all(np.isnan(end[0]) for end in INTERVALS["tan"](wide))
    positive_where_defined = IntervalFunction(lambda x: jnp.exp(jnp.sqrt(x)), 1)
    assert np.all(np.isnan(positive_where_defined.enclosed(np.array([[[-1.0, 4.0]]]))))


def test_a_branch_is_taken_where_it_is_decided_and_both_where_not():
    fn = IntervalFunction(lambda x: jnp.where(x > 1, 5 + 0 * x, jnp.where(x != 0, jnp.sin(x) / x, 1.0)), 1)
    found = fn.values(np.array([[[2.0, 3.0]], [[0.5, 0.6]], [[0.5, 2.0]], [[0.0, 0.0]]]))[:, 0]
    assert np.array_equal(found[0], [5, 5])
    assert found[1, 0] > 0.75
    assert found[1, 1] < 1.2
    assert found[2, 0] < 0.9
    assert found[2, 1] == 5
    assert np.array_equal(found[3], [1, 1])


@pytest.mark.parametrize(
    ("fn", "ends", "expected"),
    [
        (lambda x: (x > 0).astype(float) * x, (0.5, 1.0), (0.5, 1.0)),
        (lambda x: (x > 0).astype(float) * x, (-1.0, 1.0), (-1.0, 1.0)),
        (lambda x: jnp.where(x > 0, 1, 2).astype(float) * x, (-1.0, 1.0), (-2.0, 2.0)),
        (lambda x: jnp.sum(x > 0).astype(float) * x, (-1.0, 1.0), (np.nan, np.nan)),
        (lambda x: x.astype(int).astype(float), (0.5, 1.0), (np.nan, np.nan)),
    ],
)
def test_truth_values_and_whole_numbers_are_enclosed_or_not_known(fn, ends, expected):
    assert IntervalFunction(fn, 1).values(np.array([[ends]]))[0, 0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("end", [-np.pi, -np.pi / 2, 0.0, np.pi / 2, np.pi, 1e5, 3e9])
def test_extremes_of_sines_between_the_ends_are_included(end):
    for width in (1e-3, 1.0, 3.0, 7.0):
        a = IntervalArray(np.array([end - width]), np.array([end + width]))
        for name, fn in (("sin", np.sin), ("cos", np.cos)):
            found = INTERVALS[name](a)
            values = fn(np.linspace(a.low[0], a.high[0], 1001))
            assert found.low[0] <= values.min()
            assert values.max() <= found.high[0]
            assert found.low[0] >= -1
            assert found.high[0] <= 1


def test_the_mean_value_theorem_is_sharper_on_small_boxes_and_holds():
    fn = lambda x: jnp.array([x[0] ** 3 - 3 * x[0] * x[1] + jnp.exp(x[1]) - x[1] * x[0] ** 2])
    made = IntervalFunction(fn, 2)
    middle, half = RNG.uniform(-1, 1, (200, 2)), 1e-3
    small = np.stack([middle - half, middle + half], axis=2)
    found, plain = made.enclosed(small)[:, 0], made.values(small)[:, 0]
    assert np.all(found[:, 0] >= plain[:, 0])
    assert np.all(found[:, 1] <= plain[:, 1])
    assert np.median((found[:, 1] - found[:, 0]) / (plain[:, 1] - plain[:, 0])) < 0.7
    for x in (small[..., 0], small[..., 1], middle):
        y = np.asarray(jax.vmap(fn)(x))[:, 0]
        assert np.all((found[:, 0] <= y) & (y <= found[:, 1]))


def test_what_intervals_cannot_enclose_is_refused():
    with pytest.raises(ValueError, match="`flow` must use only operations that intervals can enclose"):
        IntervalFunction(lambda x: jnp.floor(x), 1)

"""Exact rational numbers: conversion without rounding, common denominators, signs of pivots, and text of any length."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynsim.exact import (
    CHUNK,
    fraction_of,
    fraction_text,
    integers,
    nearest_floats,
    positive_definite,
    rational,
    rationals,
)

LONG = st.integers(3 * CHUNK, 5 * CHUNK).flatmap(
    lambda digits: st.integers(-9, 9).map(lambda n: n * 10**digits + (7 if n >= 0 else -7))
)


def test_numbers_of_every_type_are_converted_without_rounding():
    for given_, expected in (
        ("0.1", Fraction(1, 10)),
        ("-2/6", Fraction(-1, 3)),
        (Decimal("0.3"), Fraction(3, 10)),
        (0.1, Fraction(3602879701896397, 36028797018963968)),
        (np.float32(0.1), Fraction(13421773, 134217728)),
        (np.int64(-3), Fraction(-3)),
        (7, Fraction(7)),
    ):
        assert rational("x", given_) == expected
    found = rationals("x", [["1/3", 2], [0.5, Decimal("1.5")]])
    assert found.shape == (2, 2)
    assert found.dtype == object
    assert found.tolist() == [[Fraction(1, 3), 2], [Fraction(1, 2), Fraction(3, 2)]]
    assert all(isinstance(entry, Fraction) for entry in found.flat)


@pytest.mark.parametrize("value", [True, np.True_, 1j, None, [1]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="`x` must hold ints, fractions, floats or decimal strings, but holds"):
        rational("x", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, "1/0", "one", Decimal("NaN"), np.float32("inf")])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="`x` must hold finite numbers, but holds"):
        rational("x", value)


def test_the_common_denominator_is_the_least_one():
    numerators, denominator = integers(rationals("x", [["1/4", "-1/6"], [2, "0"]]))
    assert denominator == 12
    assert numerators.tolist() == [[3, -2], [24, 0]]
    assert all(type(entry) is int for entry in numerators.flat)
    assert integers(rationals("x", [3, 5]))[1] == 1
    assert integers(rationals("x", []))[1] == 1


def test_floats_and_their_scale_stay_in_range_at_any_size():
    for size in (Fraction(10) ** 400, Fraction(1, 10**400), Fraction(1)):
        exact = rationals("x", [[Fraction(1, 3) * size, -2 * size], [Fraction(0), size / 7]])
        floats, scale = nearest_floats(exact)
        assert scale == 2 * size
        np.testing.assert_array_equal(floats, [[1 / 6, -1.0], [0.0, 1 / 14]])
    floats, scale = nearest_floats(rationals("x", [0, 0]))
    assert (floats.tolist(), scale) == ([0.0, 0.0], 1)


@pytest.mark.parametrize(
    ("matrix", "positive"),
    [
        ([[1]], True),
        ([[0]], False),
        ([[-1]], False),
        ([[1, 1], [1, 1]], False),  # singular
        ([[1, 2], [2, 1]], False),  # indefinite with a positive diagonal
        ([[1, "999999999999999999/1000000000000000000"], ["999999999999999999/1000000000000000000", 1]], True),
        ([[2, -1, 0], [-1, 2, -1], [0, -1, 2]], True),
        ([[2, -1, -1], [-1, 2, -1], [-1, -1, 2]], False),  # the last pivot is zero
        ([[4, 2, 2], [2, 5, 3], [2, 3, 1]], False),  # the last pivot is negative
        ([[4, 2, 2], [2, 5, 3], [2, 3, 3]], True),
    ],
)
def test_definiteness_is_decided_by_the_pivots(matrix, positive):
    given_ = rationals("a", matrix)
    before = given_.copy()
    assert positive_definite(given_) is positive
    assert np.all(given_ == before)


@given(p=st.one_of(st.integers(), LONG), q=st.integers(1, 10**6))
def test_a_fraction_is_read_as_it_was_written(p, q):
    text = fraction_text(Fraction(p, q))
    assert fraction_of(text) == Fraction(p, q)
    assert text.count("/") == (Fraction(p, q).denominator > 1)


@pytest.mark.parametrize("digits", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1, 4300, 4301, 12_345])
def test_long_integers_have_their_digits(digits):
    """The digits are pinned by an integer whose decimal digits are known: Python itself refuses to print it."""
    number = (10**digits - 1) // 9  # 111...1
    assert fraction_text(number) == "1" * digits
    assert fraction_text(-number) == "-" + "1" * digits
    assert fraction_text(10**digits) == "1" + "0" * digits
    assert fraction_of("1" + "0" * digits) == 10**digits
    assert fraction_text(Fraction(-(10**digits), 10**digits + 1)) == f"-1{'0' * digits}/1{'0' * (digits - 1)}1"


def test_other_text_is_no_fraction():
    for text in ("1/2/3", "one", "", "1.5", "1/", "--1", "1/-2", "1/0", " 1", "1_0", "+1", "1\n"):
        with pytest.raises(ValueError, match=f"`{re.escape(text)}` is not a fraction such as `1/3`."):
            fraction_of(text)

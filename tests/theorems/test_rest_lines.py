"""Functions that rest on a line that is not an axis, and fields across it, in numbers worked out by hand."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.theorems import lasalle, where
from analysis.theorems.regions import box
from analysis.theorems.stability.lasalle import _moved
from analysis.theorems.stability.rest_lines import SHARE, RestLine

AT = np.array([0.25, -0.5])
REGION = box([(-1.0, 2.0), (-2.5, 1.0)])
LINE = RestLine(AT, np.array([1.0, 2.0]), REGION)
BUDGET = 3000


def beside(x):
    """The distance from the line along the first component: x = x* + t (1, 2) + w (1, 0)."""
    return x[0] - 0.25 - (x[1] + 0.5) / 2


def statuses(rows):
    return [row.status for row in rows]


def test_coordinates_along_a_line_and_beside_it():
    np.testing.assert_allclose(LINE.place(jnp.array([0.5, 0.125])), [0.875, 0.5])
    assert LINE.along == pytest.approx((-1.0 - 1.75e-6, 0.75 + 1.75e-6), abs=1e-12)
    turned = RestLine(AT, np.array([-4.0, 1.0]), REGION)
    assert turned.along == pytest.approx((-0.4375 - 7.5e-7, 0.3125 + 7.5e-7), abs=1e-12)
    np.testing.assert_allclose(turned.place(jnp.array([0.25, 0.125])), [-0.75, -0.125])
    assert float(LINE._beside(LINE.place(jnp.array([0.5, 0.125])), 0)) == pytest.approx(0.125)
    np.testing.assert_allclose(LINE.widths, [3 * SHARE, 3.5 * SHARE])
    space = RestLine(np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 4.0]), box([(0.0, 4.0)] * 3))
    np.testing.assert_allclose(space.place(jnp.array([0.5, 0.25, 0.75])), [1.75, 2.25, 5.0])
    assert [float(space._beside(jnp.array([1.75, 2.25, 5.0]), k)) for k in (0, 1)] == [0.25, 0.75]


WIDE = 3 * SHARE  # half the width of the tube


@pytest.mark.parametrize(
    ("fall", "expected"),
    [
        (lambda x: beside(x) ** 2 * (2 + x[0]), ["holds", "holds"]),
        (lambda x: beside(x) ** 2 / (1 + beside(x) ** 2 / (4 * WIDE**2)), ["holds", "holds"]),  # convex in the tube
        (lambda x: beside(x) ** 2 / (1 + beside(x) ** 2 / (2 * WIDE**2)), ["holds", "fails"]),  # only near the line
        (lambda x: beside(x) ** 2 * (0.5 + beside(x)), ["holds", "fails"]),
        (lambda x: beside(x) ** 2 * (0.5 - beside(x)), ["holds", "fails"]),
        (lambda x: beside(x) ** 2 + 0.001, ["fails", "holds"]),
        (lambda x: beside(x) ** 2 + 0.001 * beside(x), ["fails", "holds"]),
    ],
)
def test_a_function_rests_on_the_line_and_falls_beside_it(fall, expected):
    rows = LINE.falls(lambda x: -fall(x), BUDGET)
    assert statuses(rows) == expected


def test_the_field_across_the_line_is_monotone_along_it():
    across = lambda a, b, c: lambda x: jnp.array([a * x[0] + b * x[1] + c * x[0] ** 2, x[0] + 3 * x[1]])
    for a, b, slope in ((5.0, 1.0, 3.5), (1.0, -2.0, -6.5)):  # a + 2 b - (1 + 6) / 2
        found = LINE.is_left(across(a, b, 0.0), BUDGET)
        assert (found.status, found.margin) == ("holds", pytest.approx(abs(slope)))
    assert LINE.is_left(across(1.5, 1.0, 0.0), BUDGET).status == "undecided"
    assert LINE.is_left(across(2.5, 1.0, 1.0), BUDGET).status == "undecided"  # turns at t = -3/4


def test_a_line_through_the_only_equilibrium_of_a_damped_oscillator():
    V = lambda s: (s[0] ** 2 + s[1] ** 2) / 2
    disc = where([(-1.1, 1.1), (-1.1, 1.1)], lambda s: 0.5 - V(s), bounds=False)
    rows = lambda text, region=disc: {
        one.words: one
        for one in lasalle(ds.system(text), V, region, [0.0, 0.0], rests_along=[1.0, 0.0], budget=BUDGET).hypotheses
    }
    damped = rows("x' = y; y' = -x - y")
    assert {one.status for one in damped.values()} == {"holds"}
    assert damped["the field points into the region on its boundary"].inequality == "the region is a sublevel set of V"
    boxed = rows("x' = y; y' = -x - y", [(-1.0, 1.0), (-1.0, 1.0)])["the field points into the region on its boundary"]
    assert (boxed.status, boxed.decided) == ("fails", "intervals")


def test_sides_about_a_point_hold_all_of_the_box():
    sides, at = np.array([[0.001, 5.3], [-1.0, 1.0]]), np.array([0.7, 0.5])
    moved = _moved(sides, at)
    assert moved[1].tolist() == [-1.5, 0.5]
    low, high = (Fraction(side) - Fraction(0.7) for side in sides[0])
    assert Fraction(moved[0, 0]) < low < Fraction(np.nextafter(moved[0, 0], 1.0)) + Fraction(1, 10**15)
    assert Fraction(np.nextafter(moved[0, 1], 0.0)) - Fraction(1, 10**15) < high < Fraction(moved[0, 1])

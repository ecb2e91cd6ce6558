"""Parallelograms, growth of transitions and images of horseshoes, by hand."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.theorems.maps.horseshoe import (
    _determinant,
    _disjoint,
    _image,
    _iterate,
    _rounded,
    _union,
    horseshoe,
    spectral_radius,
)

SQUARE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
SLANTED = [[1.0, -1.0], [2.0, 0.0], [0.5, 1.0]]


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        ([[2.25, 0.0], [1.0, 0.0], [0.0, 1.0]], True),
        ([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], False),  # one edge belongs to both
        ([[0.0, -2.0], [1.0, 0.0], [0.0, 1.0]], False),
        ([[2.0, 2.0], [1.0, 0.0], [0.0, 1.0]], False),  # one corner
        ([[0.0, -2.25], [0.0, 1.0], [-1.0, 0.0]], True),
        ([[0.25, 0.0], [0.25, 0.0], [0.0, 0.25]], False),  # inside
        ([[1.75, 1.75], [0.75, -0.75], [0.5, 0.5]], True),  # apart by a slanted line alone
        ([[1.25, 1.25], [0.75, -0.75], [0.5, 0.5]], False),
    ],
)
def test_parallelograms_are_disjoint_if_a_line_along_a_side_separates_them(other, apart):
    assert _disjoint(np.array([SQUARE, other])) == _disjoint(np.array([other, SQUARE])) == apart


def test_numbers_are_rounded_to_the_side_that_is_asked():
    third = Fraction(1, 3)
    assert Fraction(_rounded(third, -np.inf)) < third < Fraction(_rounded(third, np.inf))
    assert np.nextafter(_rounded(third, -np.inf), 1.0) == _rounded(third, np.inf)
    tenth = Fraction(1, 10)  # a float is above it, where that of a third is below
    assert Fraction(_rounded(tenth, -np.inf)) < tenth < Fraction(_rounded(tenth, np.inf))
    assert _rounded(Fraction(3, 4), np.inf) == _rounded(Fraction(3, 4), -np.inf) == 0.75
    assert _determinant(np.array([2.0, 3.0]), np.array([5.0, 0.5])) == -14


def test_the_growth_of_sequences_is_that_of_the_transitions():
    of = lambda *rows: spectral_radius(np.array(rows, float))
    assert of([1, 1], [1, 0]) == pytest.approx((1 + 5**0.5) / 2, abs=1e-13)
    assert of([1, 1], [1, 0]) < (1 + 5**0.5) / 2
    assert of([1, 1, 1], [1, 1, 1], [1, 1, 1]) == pytest.approx(3.0, abs=1e-13)
    assert of([0, 1], [1, 0]) == of([1, 1], [0, 1]) == of([0, 1], [0, 0]) == 1.0
    assert of([0, 1, 0], [0, 0, 1], [1, 1, 0]) == pytest.approx(1.32471795724475, abs=1e-13)  # the plastic number


def test_the_union_of_sets_is_deep_at_their_centres_and_zero_on_their_edges():
    union = _union(np.array([SLANTED, [[6.0, 0.0], [0.0, 1.0], [1.0, 0.0]]]))
    np.testing.assert_allclose(union.sides, [[-1.5, 7.0], [-2.0, 1.0]])
    depth = union.inside[0]
    at = lambda p, q: jnp.array([1.0 + 2 * p + 0.5 * q, -1.0 + q])
    for p, q, value in (
        (0, 0, 1.0),
        (0.5, 0, 0.5),
        (0, -0.75, 0.25),
        (1, 0.5, 0.0),
        (0.5, 1.5, -0.5),
        (-1.25, 0, -0.25),
    ):
        assert float(depth(at(p, q))) == pytest.approx(value, abs=1e-12)
    assert float(depth(jnp.array([6.5, 0.25]))) == pytest.approx(0.5)
    assert str(union) == "2 sets about (1, -1) and (6, 0)"


def test_images_of_sets_are_closed_curves_through_the_images_of_their_corners():
    shift = lambda x: x + jnp.array([1.0, 2.0])
    np.testing.assert_allclose(_iterate(shift, 3)(jnp.zeros(2)), [3.0, 6.0])
    curve = _image(shift, np.array(SLANTED), 3)
    assert curve.shape == (404, 2)
    corners = np.array([[4 - 2 - 0.5, 5 - 1], [4 + 2 - 0.5, 5 - 1], [4 + 2 + 0.5, 5 + 1], [4 - 2 + 0.5, 5 + 1]])
    np.testing.assert_allclose(curve[[0, 101, 202, 303]], corners)
    np.testing.assert_allclose(curve[[100, 201, 302, 403]], corners[[1, 2, 3, 0]])


@pytest.mark.parametrize(
    ("factors", "status", "margin"),
    [
        ((3.0, 0.5), "holds", 0.75),  # 1 - 1/4 where the image is above the set
        ((-3.0, 0.5), "holds", 0.75),
        ((1.5, 0.25), "holds", 0.5),  # 3/2 - 1 beyond the edge
        ((0.875, 0.5), "fails", -0.125),
        ((3.0, 1.25), "fails", None),
    ],
)
@pytest.mark.parametrize("one", [SQUARE, SLANTED, [[0.5, 0.25], [0.0, 2.0], [3.0, 0.5]]])
def test_a_linear_map_stretches_its_parallelogram_by_its_factors(one, factors, status, margin):
    centre, sides = np.array(one[0]), np.array(one[1:]).T
    A = sides @ np.diag(factors) @ np.linalg.inv(sides)
    step = ds.FunctionMap(lambda k, x: centre + A @ (x - centre))
    found = horseshoe(step, [one], budget=500)
    assert found.hypotheses[2].status == status
    if margin is not None:
        assert found.hypotheses[2].margin == pytest.approx(margin, abs=0.02)

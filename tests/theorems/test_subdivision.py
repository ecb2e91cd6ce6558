"""Decisions about functions on regions: proved, refuted at a point of the region, or left open."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.theorems.algebra import RationalFunction, cancelled_entries, is_zero, rational
from analysis.theorems.regions import annulus, ball, box, where
from analysis.theorems.subdivision import _Enclosure, least_value, positive
from dynsim.programs import scalar_program

SQUARE = box([(-1.0, 1.0), (-1.0, 1.0)])


def test_a_positive_function_holds_with_a_proven_bound():
    found = positive(lambda x: x[0] ** 2 + x[1] ** 2 + 0.25, SQUARE)
    assert found.status == "holds"
    assert 0 < found.least <= 0.25


def test_a_function_that_is_negative_at_few_points_fails_at_one_of_them():
    found = positive(lambda x: x[0] ** 2 + (x[1] - 0.3) ** 2 - 1e-4, SQUARE)
    assert found.status == "fails"
    assert found.witness is not None
    assert found.witness[0] ** 2 + (found.witness[1] - 0.3) ** 2 <= 1e-4
    assert found.observed <= 0


@pytest.mark.parametrize(("strictly", "status"), [(True, "fails"), (False, "holds")])
def test_zero_at_one_point_holds_only_if_it_may(strictly, status):
    assert positive(lambda x: x[0] ** 2 + x[1] ** 2, SQUARE, strictly=strictly).status == status


def test_a_zero_that_no_midpoint_meets_is_left_open_with_its_boxes():
    found = positive(lambda x: (x[0] - 1 / 3) ** 2 + (x[1] - 1 / 7) ** 2, SQUARE, budget=2000)
    assert found.status == "undecided"
    assert len(found.left)
    assert any(np.all((b[:, 0] <= [1 / 3, 1 / 7]) & (b[:, 1] >= [1 / 3, 1 / 7])) for b in found.left)


def test_points_outside_of_the_region_do_not_count():
    value = lambda x: x[0] ** 2 + x[1] ** 2 - 0.9
    assert positive(value, annulus([0.0, 0.0], 1.0, 2.0)).status == "holds"
    assert positive(value, annulus([0.0, 0.0], 0.9, 2.0)).status == "fails"
    assert positive(value, ball([0.0, 0.0], 2.0).without([0.0, 0.0], 1.0)).status == "holds"


@pytest.mark.parametrize(("level", "status"), [(1.01, "holds"), (0.99, "fails")])
def test_only_the_boundary_counts_where_it_is_asked_for(level, status):
    found = positive(lambda x: level - x[0], ball([0.0, 0.0], 1.0), on=0)
    assert found.status == status
    if status == "fails":
        assert found.witness is not None
        assert np.hypot(*found.witness) == pytest.approx(1, abs=1e-6)
        assert found.witness[0] > 0.98


def test_only_the_given_faces_count():
    value = lambda x: x[0] + 0.5
    assert positive(value, SQUARE, faces=[(0, 1)]).status == "holds"
    assert positive(value, SQUARE, faces=[(0, 1), (0, 0)]).status == "fails"
    assert positive(value, SQUARE, faces=[(1, 1)]).status == "fails"


def test_an_empty_region_is_told():
    assert positive(lambda x: x[0], where([(-1.0, 1.0)], lambda x: x[0] - 2)).is_empty


def test_where_a_function_is_not_defined_it_does_not_hold():
    assert positive(lambda x: 2 + jnp.sqrt(x[0]), box([(-1.0, 1.0)]), budget=500).status == "undecided"
    assert positive(lambda x: 1 / x[0] ** 2, box([(-1.0, 1.0)]), budget=500).status == "undecided"


def test_the_least_value_is_enclosed_in_regions_on_boundaries_and_on_faces():
    value = lambda x: x[0] ** 2 + 2 * x[1] ** 2
    for region, options, exact in (
        (SQUARE, {"faces": [(0, 1), (0, 0)]}, 1.0), (SQUARE, {"faces": [(1, 0)]}, 2.0),
        (annulus([0.0, 0.0], 0.5, 1.0), {}, 0.25), (ball([0.0, 0.0], 1.5), {"on": 0}, 2.25),
    ):  # fmt: skip
        low, seen = least_value(value, region, **options)  # pyright: ignore[reportArgumentType]
        assert low <= exact <= seen * (1 + 1e-12) or options.get("on") == 0
        assert low == pytest.approx(exact, rel=0.03)


# --- rational functions ---


def test_rational_functions_are_cancelled_exactly():
    found = rational(lambda x: jnp.array([(x[0] ** 2 - x[1] ** 2) / (x[0] - x[1]), x[0] * 0.1 - x[0] * 0.1]), 2)
    assert found is not None
    assert str(found[0]) == "x0 + x1"
    assert found[1] == 0
    assert is_zero(lambda x: x[0] * x[1] - x[1] * x[0], 2)
    assert is_zero(lambda x: x[0] * x[1] - x[1] * x[0] * 1.0000000000000002, 2) is False
    assert is_zero(lambda x: jnp.sin(x[0]), 2) is None


def test_coefficients_that_are_no_floats_are_enclosed():
    found = rational(lambda x: jnp.array([0.1 * (x[0] * 3.0) + x[0] / 7.0]), 1)
    assert found is not None
    function = RationalFunction(found[0])
    low, high = function.values(np.array([[[1.0, 1.0]]]))[0, 0]
    assert low < high <= low + 1e-15
    assert low <= 0.1 * 3 + 1 / 7 <= high + 1e-16


def test_factors_keep_signs_that_terms_lose():
    found = rational(lambda x: jnp.array([x[0] ** 2 * x[1] - 2 * x[0] * x[1] + x[1]]), 2)
    assert found is not None
    low = RationalFunction(found[0]).values(np.array([[[0.9, 1.2], [0.0, 3.0]]]))[0, 0, 0]
    assert low == 0  # (x - 1)^2 y


def test_the_derivatives_of_a_rational_function_bound_its_changes():
    fn = lambda x: jnp.array([x[0] * x[1] / (1 + x[0] ** 2) - x[1] ** 3])
    found = rational(fn, 2)
    assert found is not None
    function, rng = RationalFunction(found[0]), np.random.default_rng(1)
    middle = rng.uniform(-2, 2, (100, 2))
    boxes = np.stack([middle - 0.01, middle + 0.01], axis=2)
    ends = function.enclosed(boxes)[:, 0]
    for share in rng.uniform(0, 1, (20, 100, 2)):
        x = boxes[..., 0] + share * 0.02
        y = x[:, 0] * x[:, 1] / (1 + x[:, 0] ** 2) - x[:, 1] ** 3
        assert np.all((ends[:, 0] <= y) & (y <= ends[:, 1]))


def test_elementary_functions_cancel_and_their_derivatives_bound_changes():
    fn = lambda x: x[1] * jnp.sin(x[0]) + jnp.exp(-x[0] * x[1]) - x[1] * jnp.sin(x[0]) + jnp.tanh(jnp.cos(x[0]))
    [entry] = cancelled_entries(scalar_program(lambda x: jnp.reshape(fn(x), (1,)), (2,))) or []
    sides = np.array([[[0.3, 0.31], [-0.5, -0.49]]])
    low, high = entry.enclosed(sides)[0, 0]
    x = np.stack(np.meshgrid(*[np.linspace(low, high, 9) for low, high in sides[0]]))
    values = np.exp(-x[0] * x[1]) + np.tanh(np.cos(x[0]))
    assert low <= np.min(values) <= np.max(values) <= high
    assert high - low < 1.05 * np.ptp(values)  # sin x is gone
    assert is_zero(lambda x: jnp.sin(x[0]) * x[1] - x[1] * jnp.sin(x[0]), 2)


def test_a_witness_lies_where_no_function_of_the_region_is_negative():
    region = where([(0.0, 1.0)] * 2, lambda x: 1 + x[0], lambda x: x[1] - 0.75)
    found = positive(lambda x: 0 * x[0] - 1, region)
    assert (found.status, found.witness is not None and found.witness[1] >= 0.75) == ("fails", True)


def test_ends_at_which_a_function_is_least_are_taken_for_a_scalar_alone():
    boxes = np.array([[[1.0, 2.0]]])
    assert _Enclosure(lambda x: x[0] ** 2, 1, "").least(boxes).tolist() == pytest.approx([1.0])
    assert _Enclosure(lambda x: jnp.stack([x[0] ** 2, -x[0]]), 1, "").least(boxes).tolist() == [-np.inf]

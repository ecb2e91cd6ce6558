"""Functions, polygons, norms and orders that are found: known systems, near misses without one, and bad input."""

import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.regions import as_region
from analysis.theorems.samples import Values, points_of
from analysis.theorems.synthesis.contraction_norm import _norms
from analysis.theorems.synthesis.dulac_function import _function
from analysis.theorems.synthesis.monotone import _loop, _orthant
from analysis.theorems.synthesis.trapping_polygon import WORDS as POLYGON
from analysis.theorems.synthesis.trapping_polygon import _Edges
from tests.theorems.reports import flow

RIVALS = "x' = x*(1 - x - 0.5*y); y' = y*(1 - y - 0.3*x)"
FIRST_QUADRANT = [(0.01, 3.0), (0.01, 3.0)]
CELL = "v' = v - v^3/3 - w + 0.5; w' = 0.08*(v + 0.7 - 0.8*w)"
GLYCOLYSIS = "x' = -x + 0.08*y + x^2*y; y' = 0.6 - 0.08*y - x^2*y"
TOGGLE = "x' = 2/(1 + y^2) - x; y' = 2/(1 + x^2) - y"


def status(found, words):
    return next(row.status for row in found.hypotheses if words in row.words)


# Dulac functions


@pytest.mark.parametrize(
    ("text", "sides", "numbers"),
    [
        (RIVALS, FIRST_QUADRANT, {"power of y": -2.0}),
        ("x' = x*(2 - y - 0.1*x); y' = y*(x - 1)", FIRST_QUADRANT, {"power of x": -1.0, "power of y": -1.0}),
        ("x' = x*(2 + y + 0.1*x); y' = y*(-x - 1)", [(-3.0, -0.01)] * 2, {"power of x": -1.0, "power of y": -1.0}),
        ("s' = 2 - s - s*b/(0.5 + s); b' = b*(s/(0.5 + s) - 1)", FIRST_QUADRANT, {}),  # a chemostat, by Bendixson
        ("x' = y; y' = x - x^3 + 0.1*y", [(-2.0, 2.0)] * 2, {}),  # the divergence is positive
    ],
)
def test_a_dulac_function_is_found(text, sides, numbers):
    found = th.dulac_function(flow(text), sides)
    assert found.applies
    assert found.is_certified
    assert found.numbers == numbers


def test_a_dulac_function_with_an_exponential_is_the_one_that_is_told():
    """Perko, section 3.9, with B = exp(-2 x); the exponents that are found do as well."""
    text = flow("x' = y; y' = -x - y + x^2 + y^2")
    found = th.dulac_function(text, [(-3.0, 3.0), (-3.0, 3.0)])
    a, b = (found.numbers.get(f"rate of {name}", 0.0) for name in "xy")
    x, y = np.random.default_rng(0).uniform(-3, 3, (2, 200))
    assert np.all(-1 + 2 * y + a * y + b * (-x - y + x**2 + y**2) < 0)
    assert found.applies
    assert th.bendixson_dulac(text, [(-3.0, 3.0), (-3.0, 3.0)]).status == "fails"


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("x' = x*(2 - y); y' = y*(x - 1)", [(0.01, 5.0), (0.01, 5.0)]),  # closed orbits
        ("x' = x*(1 - x/5 - y/(1 + x)); y' = y*(x/(1 + x) - 0.3)", [(0.01, 5.0), (0.01, 5.0)]),  # a cycle
        (RIVALS, [(0.0, 3.0), (0.0, 3.0)]),  # the axes leave no powers
        ("x' = y; y' = -x", [(-1.0, 1.0), (-1.0, 1.0)]),  # the quotient is zero at a point for all exponents
    ],
)
def test_no_dulac_function_is_found(text, sides):
    found = th.dulac_function(flow(text), sides)
    assert [(row.words, row.status) for row in found.hypotheses if row.status != "holds"] == [
        ("a Dulac function was found", "undecided")
    ]


# Trapping polygons


def test_a_polygon_for_glycolysis_has_a_periodic_orbit():
    """Sel'kov; S. Strogatz, Nonlinear Dynamics and Chaos, example 7.3.2."""
    found = th.trapping_polygon(flow(GLYCOLYSIS), [(0.0, 10.0), (0.0, 10.0)])
    assert found.applies
    assert found.region is not None
    corners = found.curves["polygon"]
    assert np.array_equal(corners[0], corners[-1])
    assert np.max(corners, axis=0) == pytest.approx([7.3828125, 4.6875])  # on the right there is a corner, and no edge
    edges, nexts = np.diff(corners, axis=0), np.roll(np.diff(corners, axis=0), -1, axis=0)
    assert np.all(edges[:, 0] * nexts[:, 1] - edges[:, 1] * nexts[:, 0] > 0)  # convex
    room = [g(one) for g in found.region.inside for one in corners]
    assert min(room) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_a_polygon_for_van_der_pol_has_a_periodic_orbit():
    oscillator = flow("x'' = (1 - x^2)*x' - x")
    found = th.trapping_polygon(oscillator, [(-4.0, 4.0), (-6.0, 6.0)], strictly=True)
    assert found.applies
    assert found.region is not None
    ring = found.region.without([0.0, 0.0], 0.5)
    assert th.poincare_bendixson(oscillator, ring).applies


def test_a_polygon_is_a_box_where_that_will_do():
    cell = th.trapping_polygon(flow(CELL), [(-3.0, 3.0), (-3.0, 5.0)])
    assert cell.applies
    assert cell.region is not None
    assert cell.region.sides.tolist() == [[-3.0, 3.0], [-3.0, 5.0]]
    assert th.trapping_polygon(flow("x' = -x; y' = -y"), [(-1.0, 1.0), (-1.0, 1.0)], strictly=True).applies
    rivals = th.trapping_polygon(flow(RIVALS), [(0.0, 3.0), (0.0, 3.0)])
    assert rivals.applies  # tangent along both axes
    assert not th.trapping_polygon(flow(RIVALS), [(0.0, 3.0), (0.0, 3.0)], strictly=True).applies


@pytest.mark.parametrize("text", ["x' = x - y; y' = x + y", "x' = y; y' = -x"])
def test_no_polygon_is_found(text):
    found = th.trapping_polygon(flow(text), [(-2.0, 2.0), (-2.0, 2.0)])
    assert found.status == "undecided"
    assert status(found, POLYGON) == "undecided"


def test_a_convex_region_with_a_point_inside_needs_no_corners():
    cut = th.where([(-1.0, 1.0), (-1.0, 1.0)], lambda x: 1.5 - x[0] - x[1])
    corners = lambda region: status(th.nagumo(flow("x' = -x; y' = -y"), region, budget=500), "corners")
    assert corners(cut) == "holds"
    thin = th.Region(cut.sides, (lambda x: -((x[0] + x[1]) ** 2), lambda x: 2 - x[0]), True, "a line", True, True)
    assert corners(thin) != "holds"


# Norms of contraction


def test_weights_and_a_rate_are_found():
    """The flow contracts at the rate 1 - sqrt(0.5) at most, with weights of the quotient sqrt(50)."""
    found = th.contraction_norm(flow("x' = -x + 5*tanh(y); y' = -y + 0.1*sin(x)"), [(-6.0, 6.0), (-1.0, 1.0)])
    assert found.applies
    assert found.numbers["rate"] == pytest.approx(0.26)
    assert found.numbers["w1"] / found.numbers["w2"] == pytest.approx(50**0.5, rel=0.02)
    plain = th.contraction(flow("x' = -x + 5*tanh(y); y' = -y + 0.1*sin(x)"), [(-6.0, 6.0), (-1.0, 1.0)], norm="inf")
    assert plain.status == "fails"


def test_a_metric_is_found_where_weights_do_not_help():
    found = th.contraction_norm(flow("x' = y; y' = -x - 2*y - 0.1*sin(x)"), th.ball([0.0, 0.0], 1.0))
    assert found.hypotheses[-1].status == "holds"
    assert "P11" in found.numbers


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("x' = -x + 5*tanh(y); y' = -y + 0.3*sin(x)", 0.0),  # a saddle
        ("x' = -x + 5*tanh(y); y' = -y + 0.1*sin(x)", 0.5),  # faster than the slow direction
    ],
)
def test_no_norm_is_found(text, rate):
    found = th.contraction_norm(flow(text), [(-6.0, 6.0), (-1.0, 1.0)], rate=rate)
    assert status(found, "a norm was found") == "undecided"


# Orders


@pytest.mark.parametrize(
    ("text", "competitive", "signs"),
    [
        (TOGGLE, False, [1.0, -1.0]),
        ("x' = z^2/(1 + z^2) - x; y' = x - y; z' = y - z", False, [1.0, 1.0, 1.0]),  # Goodwin's cycle, positive
        ("x' = 1/(1 + z^2) - x; y' = x - y; z' = 1/(1 + y) - z", False, [1.0, 1.0, -1.0]),
        ("x' = x*(1 - x - y - z); y' = y*(1 - y - x - z); z' = z*(1 - z - x - y)", True, [1.0, 1.0, 1.0]),
        ("x' = -x; y' = -y", False, [1.0, 1.0]),
    ],
)
def test_an_order_is_found(text, competitive, signs):
    found = th.monotone(flow(text), [(0.0, 1.0)] * text.count("'"), competitive=competitive)
    assert found.applies
    assert list(found.numbers.values()) == signs


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("x' = 1/(1 + z^2) - x; y' = x - y; z' = y - z", {"x", "y", "z"}),  # Goodwin's cycle, negative
        ("x' = x*(1 - x - y); y' = y*(x - 0.5)", {"x", "y"}),  # predator and prey
        ("x' = (y - 0.5)^2 - x; y' = -y", {"x", "y"}),  # an interaction of two signs
    ],
)
def test_a_loop_without_an_order_is_named(text, loop):
    found = th.monotone(flow(text), [(0.0, 1.0)] * text.count("'"))
    assert [row.status for row in found.hypotheses].count("fails") == 1
    (row,) = found.failing
    assert set(row.inequality.split("loop ")[1].split(" - ")) == loop
    assert found.is_certified


def test_signs_come_from_all_points_and_both_directions():
    bounds = np.zeros((2, 3, 3, 2))
    bounds[1, 2, 0] = -2.0, -1.0
    bounds[0, 1, 2] = 1.0, 2.0
    signs, loop, _ = _orthant(bounds)
    assert loop == []
    assert signs.tolist() == [1.0, -1.0, -1.0]
    bounds[1, 0, 1] = 0.5, 0.75
    assert set(_orthant(bounds)[1]) == {0, 1, 2}
    bounds[1, 0, 1] = -0.5, 0.75  # no proven sign
    assert _orthant(bounds)[1] == []


def test_an_order_that_is_given_is_checked():
    held, missed = (th.cooperative(flow(TOGGLE), [(0.0, 3.0)] * 2, signs=s) for s in ([-1.0, 1.0], [1.0, 1.0]))
    assert held.applies
    assert "in the order of signs -1, +1" in held.conclusion
    assert missed.status == "fails"


def test_bad_input_is_named():
    three = flow("x' = -x; y' = -y; z' = -z")
    with pytest.raises(ValueError, match="`flow` must be in the plane for Dulac's criterion"):
        th.dulac_function(three, [(0.0, 1.0)] * 3)
    with pytest.raises(ValueError, match="`flow` must be in the plane for a trapping polygon"):
        th.trapping_polygon(three, [(0.0, 1.0)] * 3)
    with pytest.raises(ValueError, match="`rate` must be at least 0"):
        th.contraction_norm(three, [(0.0, 1.0)] * 3, rate=-1.0)
    with pytest.raises(ValueError, match="`signs` must be 1 or -1"):
        th.cooperative(three, [(0.0, 1.0)] * 3, signs=[1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="`flow` must be a flow"):
        th.monotone(ds.system("x[n+1] = x/2"), [(0.0, 1.0)])  # pyright: ignore[reportArgumentType]


def test_edges_are_scaled_by_the_box_and_a_field_at_rest_on_one_does_not_point_inwards():
    edges, wide = (_Edges(np.array([(0.0, 1.0), (0.0, high)]), 32) for high in (1.0, 1024.0))
    np.testing.assert_array_equal(wide.normals * [1.0, 1024.0], edges.normals)
    rest, moved = Values(lambda x: 0.0 * x, 2), np.where(edges.is_flat, 0.0, 8.0)
    present = np.flatnonzero(edges.edges(moved)[0])
    np.testing.assert_array_equal(edges._crossed(rest, moved, True), present)
    assert not len(edges._crossed(rest, moved, False))


def test_a_loop_goes_down_its_other_branch_from_the_top():
    assert _loop(np.array([-1, 0, 1, 0, 3]), 2, 4) == [2, 1, 0, 3, 4, 2]


def test_points_of_a_box_include_its_corners_in_few_dimensions():
    for n, more in ((2, 9), (4, 81), (5, 0)):
        points = points_of(as_region([(-1.0, 3.0)] * n), 10)
        assert len(points) == 10 + more
        assert bool(np.any(np.all(points == 3.0, axis=1))) is bool(more)
        assert bool(np.any(np.all(points == 1.0, axis=1))) is bool(more)
        assert np.all((points >= -1) & (points <= 3))


def test_weights_of_the_norm_1_are_those_of_columns():
    """Both norms contract at the rate of the Perron vector, 1 - sqrt(0.5)."""
    found = {norm: (rate, given) for rate, norm, given in _norms(np.array([[[-1.0, 5.0], [0.1, -1.0]]]))}
    for norm, ratio in (("inf", 50**0.5), ("1", 50**-0.5)):
        rate, given = found[norm]
        assert rate == pytest.approx(1 - 0.5**0.5, rel=0.02)
        assert given["weights"][0] / given["weights"][1] == pytest.approx(ratio, rel=0.02)


def test_powers_of_negative_components_are_those_of_their_sizes():
    B = _function(np.array([-0.5, 2.0]), np.array([0.0, 0.5]), np.array([-1.0, 1.0]))
    assert float(B(np.array([-4.0, 3.0]))) == pytest.approx(0.5 * 9 * np.exp(1.5))

"""Each condition counts, and each number is the closed form: small systems, unequal entries, and ends of ranges."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.boundary import bounded
from analysis.theorems.conditions import Conditions, Hypothesis, decided, together
from analysis.theorems.definite import definite
from analysis.theorems.linear import leading_minors
from analysis.theorems.maps.periods import point_of_period
from analysis.theorems.subdivision import positive
from analysis.theorems.switching.parts import RegionPart
from tests.theorems.reports import flow, not_holding

LINE, SQUARE = [(-1.0, 1.0)], [(-1.0, 1.0), (-1.0, 1.0)]
SQUARES = lambda x: x @ x


def driven(text, low, high):
    return ds.Parameter(flow(text, u=0.0), "u", low, high)


def parameter(text, name="a"):
    return ds.Parameter(flow(text, **{name: 0.25}), name, -2.0, 2.0)


# Decisions and tables


def test_only_a_region_without_points_is_empty():
    fails = positive(lambda x: x[0] - 2, th.box(LINE))
    assert (fails.status, fails.is_empty) == ("fails", False)
    assert together("a", "b", [fails, positive(lambda x: x[0] + 2, th.box(LINE))]).status == "fails"
    left = positive(lambda x: x[0], th.box([(-0.3, 1.0)]), strictly=False, budget=0)
    assert (left.status, left.is_empty, len(left.left)) == ("undecided", False, 1)
    nowhere = positive(lambda x: x[0], th.where(LINE, lambda x: -1.0 - x[0] ** 2, bounds=False))
    assert (nowhere.status, nowhere.is_empty) == ("holds", True)


def test_a_table_keeps_every_number_of_its_rows():
    row = Hypothesis(
        "words", "a > 0", "fails", -2.0, "floats", 0.5, 7, np.zeros((3, 1, 2)), np.array([0.25])
    )  # fmt: skip
    sure = Hypothesis("more", "b", "undecided", float("nan"), "balls")
    made = Conditions("T", (row, sure), "C", "O", th.box(LINE), None, {"n": 4.0, "far": float("inf")}, source="S")
    assert json.loads(made.to_json()) == {
        "theorem": "T", "source": "S", "status": "fails", "certified": False, "region": "the box [-1, 1]",
        "hypotheses": [
            {"words": "words", "inequality": "a > 0", "status": "fails", "margin": -2.0, "error": 0.5,
             "decided": "floats", "boxes": 7, "left": 3, "witness": [0.25]},
            {"words": "more", "inequality": "b", "status": "undecided", "margin": None, "error": 0.0,
             "decided": "balls", "boxes": 0, "left": 0, "witness": None},
        ],
        "conclusion": "C", "otherwise": "O", "numbers": {"n": 4.0, "far": None},
    }  # fmt: skip
    assert made.failing == (row,)
    assert not made.applies
    assert str(row) == "fails     words: a > 0 (fails at (0.25) by 2, by floats on 7 boxes)"
    assert str(row._replace(witness=None)) == "fails     words: a > 0 (off by 2 +- 0.5, by floats on 7 boxes)"
    assert str(row._replace(status="undecided", witness=None)).endswith("(3 boxes left, by floats on 7 boxes)")
    assert str(row._replace(status="holds", witness=None, boxes=1)).endswith("(margin -2 +- 0.5, by floats)")


def test_corners_count_unless_they_are_left_out():
    cut = th.where(SQUARE, lambda x: 1.5 - x[0] - x[1])
    words = "pieces of the boundary meet in corners that have an inside"
    assert words in [row.words for row in bounded(cut, 2000)]
    assert words not in [row.words for row in bounded(cut, 2000, corners=False)]


# Existence


def test_the_numbers_of_picard_and_lindelof_are_those_of_the_largest_component():
    found = th.picard_lindelof(flow("x' = 2*x; y' = 5*y"), [(-1.0, 3.0), (-2.0, 1.0)], [2.0, 0.5])
    assert found.applies
    numbers = found.numbers
    assert numbers["L"] == pytest.approx(5, rel=1e-12)
    assert numbers["M"] == pytest.approx(10, rel=1e-12)
    assert numbers["T"] == pytest.approx(0.05, rel=1e-12)
    assert numbers["f(start)"] == pytest.approx(4, rel=1e-12)


def test_the_numbers_of_newton_and_kantorovich_are_exact_where_they_can_be():
    quarter = th.newton_kantorovich(ds.FunctionFlow(lambda t, x: x**2 - 0.25), [1.0], reach=1.0)
    assert quarter.applies
    assert quarter.numbers == {
        "eta": 0.375, "K": 1.0, "h": 0.375, "radius": np.nextafter(0.5, 1), "alone": 1.5
    }  # fmt: skip
    line = th.newton_kantorovich(flow("x' = 3*x - 0.03"), [0.0])
    assert line.numbers["alone"] == np.inf
    two = ds.FunctionFlow(lambda t, x: jnp.stack([x[0] ** 2 - 0.25, 2 * x[1] - 0.5 + 2 * x[1] ** 2 * 0]))
    assert th.newton_kantorovich(two, [1.0, 0.25], reach=1.0).numbers["alone"] == 1.5


# Structure


@pytest.mark.parametrize(("competitive", "word", "sense"), [(False, "cooperative", ">="), (True, "competitive", "<=")])
def test_the_order_that_a_flow_keeps_is_named(competitive, word, sense):
    sign = "-" if competitive else ""
    found = th.cooperative(flow(f"x' = {sign}y; y' = {sign}2*x"), SQUARE, competitive=competitive)
    assert found.applies
    assert found.theorem == f"Kamke's theorem ({word} flow)"
    assert found.conclusion.startswith(f"the flow is {word}: ")
    assert ("backwards" in found.conclusion) == competitive
    assert found.hypotheses[-1].words == f"no interaction is {'positive' if competitive else 'negative'}"
    assert found.hypotheses[-1].inequality == f"df_i/dx_j {sense} 0 for i != j"
    other = th.cooperative(flow(f"x' = {sign}y; y' = {sign}2*x"), SQUARE, competitive=not competitive)
    assert other.status == "fails"


# Stability


def test_a_function_that_is_kept_does_not_grow():
    turning = flow("x' = y; y' = -x")
    kept = th.lyapunov(turning, SQUARES, SQUARE, [0, 0], semidefinite=True)
    assert not_holding(kept) == []
    assert kept.conclusion == "the equilibrium is stable"
    assert kept.numbers["c"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        ("x' = -x; y' = -2*y", {"rate": 0.99}, "holds"),
        ("x' = -x; y' = -2*y", {"rate": 1.01}, "fails"),
        ("x' = -x + 3*y; y' = -2*y", {"norm": "inf", "weights": [4.0, 1.0]}, "holds"),
        ("x' = -x + 3*y; y' = -2*y", {"norm": "1", "weights": [1.0, 2.0]}, "holds"),
        ("x' = -x + 3*y; y' = -2*y", {"norm": "inf", "weights": [1.0, 2.0]}, "fails"),
        ("x' = -x + 3*y; y' = -2*y", {"norm": "1", "weights": [4.0, 1.0]}, "fails"),
        ("x' = -x - 3*y; y' = -2*y", {"norm": "inf"}, "fails"),
        ("x' = -x; y' = -2*y - 3*x", {"norm": "1"}, "fails"),
    ],
)
def test_weights_rates_and_signs_of_matrix_measures(text, options, status):
    found = th.contraction(flow(text), SQUARE, **options)
    assert found.hypotheses[-1].status == status


def test_a_region_with_a_hole_is_not_convex():
    ring = th.annulus([0, 0], 0.5, 1.0)
    flows = flow("x' = -x; y' = -y")
    for found in (th.contraction(flows, ring, budget=500), th.cooperative(flows, ring, budget=500)):
        assert ("the region is convex", "undecided") in not_holding(found)


def test_what_is_supplied_counts_on_both_sides_of_zero():
    V, supply = SQUARES, lambda x, u: 2 * u * x[0] + u  # V' = -2 x^2 + 2 u x
    assert th.dissipative(driven("x' = -x + u", 0.0, 0.5), V, supply, LINE).applies
    found = th.dissipative(driven("x' = -x + u", -0.5, 0.5), V, supply, LINE)
    assert not_holding(found) == [("no more is stored than is supplied", "fails")]
    low = th.dissipative(driven("x' = -x + u", -0.5, 0.5), lambda x: -(x[0] ** 2), lambda x, u: 9 + u, LINE)
    assert not_holding(low) == [("the storage is not negative", "fails")]


def test_constants_of_exponential_stability_are_on_the_safe_side():
    found = th.exponential_stability(flow("x' = -x"), lambda x: x[0] ** 2 + x[0] ** 4, LINE, [0.0], cut=0.3)
    c1, c2, c3 = (found.numbers[name] for name in ("c1", "c2", "c3"))  # 1, 2 and 2, since V' = -2 x^2 - 4 x^4
    assert 0.9 < c1 <= 1
    assert 2 <= c2 < 2.2
    assert 1.8 < c3 <= 2
    assert found.numbers["gain"] == pytest.approx(np.sqrt(c2 / c1), rel=1e-12)
    assert found.numbers["rate"] == pytest.approx(c3 / (2 * c2), rel=1e-12)


@pytest.mark.parametrize(
    ("low", "high", "bound", "status"),
    [(-0.8, 0.1, 1.8 * 0.64, "undecided")],
)
def test_inputs_of_both_signs_bound_the_states(low, high, bound, status):
    found = th.input_to_state(driven("x' = -x + u", low, high), SQUARES, LINE, [0.0], rate=0.5, gain=0.9, cut=0.3)
    assert found.numbers["bound"] == pytest.approx(bound, rel=1e-12)
    assert found.numbers["c"] == pytest.approx(1, rel=1e-3)
    assert [one.status for one in found.hypotheses[-2:]] == ["holds", status]


WELL, HEIGHT = flow("x' = x - x^3"), lambda x: x[0] ** 4 / 4 - x[0] ** 2 / 2
WIDE = [(-2.0, 2.0)]
CUT = th.where(LINE, lambda x: 4 - x[0] ** 2, bounds=False)
HELD = ("the box holds the region", "fails")


def test_each_of_several_equilibria_is_checked():
    found = th.lasalle(WELL, HEIGHT, WIDE, [[-1.0], [0.0], [0.99]], budget=200)
    assert ("the point is an equilibrium", "fails") in not_holding(found)
    with pytest.raises(ValueError, match="`cut` must be less than half the least distance of two equilibria, 1"):
        th.lasalle(WELL, HEIGHT, WIDE, [[-1.0], [0.0], [1.0]], cut=0.5)


def test_a_region_that_goes_on_beyond_its_box_is_not_enough():
    sink = flow("x' = -x")
    for found in (
        th.lasalle(sink, SQUARES, CUT, [[0.0]], budget=200), th.barbalat(sink, SQUARES, CUT, budget=200),
        th.lyapunov(sink, SQUARES, CUT, [0.0], budget=200),
    ):  # fmt: skip
        assert HELD in not_holding(found)


def test_a_slope_at_the_equilibrium_is_seen_inside_of_the_core():
    tilted = lambda x: x[0] ** 2 + 0.01 * x[0]
    assert not_holding(th.lyapunov(flow("x' = -x"), tilted, LINE, [0.0])) == [("V is stationary there", "fails")]


def test_one_unstable_component_is_seen():
    for text, start in (("x' = x", [0.0]), ("x' = -x; y' = y", [0.0, 0.0]), ("x' = y; y' = -x + y", [0.0, 0.0])):
        found = th.routh_hurwitz(flow(text), start)
        assert found.status == "fails"
        assert len(found.hypotheses) == 1 + len(start)
    assert th.routh_hurwitz(flow("x' = -x"), [0.0]).applies


def test_a_field_that_points_outwards_at_another_time_leaves():
    found = th.barbalat(flow("x' = -x/2 + sin(t)"), lambda x: 0 * x[0], LINE, period=2 * np.pi)
    assert not_holding(found) == [("the field points into the region on its boundary", "fails")]


def test_a_function_that_is_largest_at_the_equilibrium_shows_no_instability():
    found = th.chetaev(flow("x' = -x"), lambda x: -(x[0] ** 2), LINE, [0.0])
    assert not_holding(found) == [("V is larger at points arbitrarily near", "fails")]


# The plane


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x' = -x + y; y' = -0.8*x - 3*y", "a stable node"),
        ("x' = -x + y; y' = -1.5*x - 3*y", "a stable focus"),
        ("x' = x + y; y' = -1.5*x + 3*y", "an unstable focus"),
        ("x' = x; y' = -y", "a saddle with 1 stable and 1 unstable directions"),
    ],
)
def test_types_of_equilibria_in_the_plane(text, kind):
    assert th.hartman_grobman(flow(text), [0.0, 0.0]).conclusion.endswith(kind)


POSITIVE_ZERO = "the integrated damping has exactly one positive zero a"
GROWING = "the integrated damping grows without bounds beyond a"


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("x' = 2*y; y' = -x - (x^2 - 1)*y", []),
        ("x' = 0*y; y' = -x - (x^2 - 1)*y", ["the flow is a Lienard system"]),
        ("x' = y; y' = x - (x^2 - 1)*y", ["the restoring force pulls back"]),
        ("x' = y; y' = -x - (5*x^4 - 6*x^2 + 1)*y", [POSITIVE_ZERO]),  # F = x (x^2 - 1)^2
        ("x' = y; y' = -x + (x^2 - 1)*y", [POSITIVE_ZERO]),
        ("x' = y; y' = -x - (x^2 - 1)*(x^2 - 9)^2*y", []),  # touches zero
        ("x' = y; y' = -x - (x^2 - 1)*(x^2 - 9)*(x^2 - 10)*y", [GROWING]),
        ("x' = y; y' = -x - (x^2 - 0.25)*(x^2 - 9)^3*(x^2 - 10)^3*y", [GROWING]),
    ],
)
def test_each_condition_of_lienard_counts(text, bad):
    found = th.lienard(flow(text))
    assert not_holding(found) == [(words, "fails") for words in bad]


def test_an_equilibrium_that_is_degenerate_is_not_counted():
    found = th.index_theory(flow("x' = x^2 + y^2; y' = x*y"), SQUARE, budget=100)
    assert not found.applies


# Bifurcations


def test_coefficients_are_those_of_null_vectors_of_length_one():
    found = th.transcritical(parameter("x' = a*x - x^2; y' = 2*x - y"), 0.0, [0.0, 0.0])  # q = (1, 2) / sqrt(5)
    assert not_holding(found) == []
    assert found.numbers == pytest.approx({"a": 0.0, "speed": 1.0, "bend": -1 / np.sqrt(5)}, abs=1e-12)
    found = th.fold(parameter("x' = 3*a - x^2; y' = 2*x - y"), 0.0, [0.1, 0.1])
    margins = {one.words: one.margin for one in found.hypotheses}
    assert margins["the quadratic coefficient is not zero"] == pytest.approx(1 / np.sqrt(5), rel=1e-9)
    assert margins["the parameter unfolds the point"] == pytest.approx(3 * np.sqrt(5), rel=1e-9)
    found = th.flip(parameter("x[n+1] = -(1 + a)*x + x^3; y[n+1] = -2*x + y/2"), 0.1, [0.0, 0.0])  # q = (3, 4) / 5
    assert found.numbers == pytest.approx({"a": 0.0, "cubic": 0.36, "speed": -1.0}, abs=1e-12)


# Maps


def test_a_cycle_that_meets_both_ends_of_the_interval_is_left_open():
    step = lambda x: 1 - x**2  # takes 0 to 1 and 1 to 0
    assert point_of_period(step, th.box([(0.0, 1.0)]), 2, 10_000).status == "undecided"
    assert point_of_period(step, th.box([(-1.0, 1.0)]), 2, 10_000).status == "holds"
    assert point_of_period(step, th.box([(0.1, 0.9)]), 2, 10_000).status == "fails"


@pytest.mark.parametrize(("move", "holds"), [("p", True), ("2*p", True), ("0.5*p", False), ("1.5*p", False)])
def test_the_angle_repeats_by_whole_turns(move, holds):
    found = th.twist(flow(f"p = y + 0.5*sin(x); x[n+1] = x + {move}; y[n+1] = p"), [(-np.pi, np.pi)])
    assert not_holding(found) == ([] if holds else [("the map repeats in y", "fails")])


def test_coefficients_at_a_hopf_point_of_another_frequency():
    text = "x' = a*x - 2*y - x*(x^2 + y^2); y' = 2*x + a*y - y*(x^2 + y^2)"
    found = th.hopf(parameter(text), 0.1, [0.0, 0.0])
    assert found.numbers == pytest.approx({"a": 0.0, "l1": -1.0, "speed": 1.0}, abs=1e-12)
    assert [one.status for one in th.hopf(parameter(text + "; z' = -z"), 0.1, [0.0] * 3).hypotheses] == ["holds"] * 4
    for more in ("z' = x^2 - z^3", "z' = x^2 - z^3; w' = -w"):
        found = th.hopf(parameter(f"{text}; {more}"), 0.1, [0.0] * (3 + more.count(";")))
        assert any(one.status != "holds" for one in found.hypotheses[:2])  # a third eigenvalue is zero


def test_the_fixed_point_of_a_flip_moves_with_the_parameter():
    found = th.flip(parameter("x[n+1] = (3 + a)*x*(1 - x)"), 0.1, [0.66])
    assert found.numbers == pytest.approx({"a": 0.0, "cubic": 9.0, "speed": -1.0}, abs=1e-12)
    others = [
        th.flip(parameter(f"x[n+1] = -(1 + a)*x + x^3; y[n+1] = {step}"), 0.1, [0.0, 0.0]).hypotheses[1].status
        for step in ("y/2", "y + x^2", "3*y")
    ]
    assert others == ["holds", "fails", "holds"]


TURN = "x[n+1] = r*(0.6*x - 0.8*y); y[n+1] = r*(0.8*x + 0.6*y); r = 1 + a - x^2 - y^2"


def test_other_multipliers_on_the_circle_and_inside_of_it_are_told_apart():
    for rest, n, status in (("z[n+1] = z/2", 3, "holds"), ("z[n+1] = -z + x^2", 3, "undecided")):
        found = th.neimark_sacker(parameter(f"{TURN}; {rest}"), 0.01, [0.0] * n)
        assert found.hypotheses[1].status == status
    pair = "z[n+1] = 0.3*z - 0.4*w; w[n+1] = 0.4*z + 0.3*w"
    assert not_holding(th.neimark_sacker(parameter(f"{TURN}; {pair}"), 0.01, [0.0] * 4)) == []


def test_parameters_that_unfold_a_cusp_only_without_the_second_component():
    flows = flow("x' = a + b + b*x + x*y - x^3; y' = a - y", a=0.1, b=0.1)
    both = [ds.Parameter(flows, name, -1.0, 1.0) for name in ("a", "b")]
    found = th.cusp(both, [0.01, 0.01], [0.0, 0.0])
    assert not_holding(found) == [("the parameters unfold the point", "fails")]


def test_the_unfolding_of_a_bautin_point_is_measured_with_a_vector_of_length_one():
    flows = flow("x' = a*x - 2*y + x*s; y' = 2*x + a*y + y*s; s = b*(x^2 + y^2) - (x^2 + y^2)^2", a=0.1, b=0.1)
    found = th.bautin([ds.Parameter(flows, name, -1.0, 1.0) for name in ("a", "b")], [0.01, 0.01], [0.0, 0.0])
    assert not_holding(found) == []
    assert found.numbers["l2"] == pytest.approx(-2, rel=1e-9)
    assert found.hypotheses[-1].margin == pytest.approx(2, rel=1e-9)


def test_a_symmetry_that_keeps_the_null_vector_gives_no_pitchfork():
    found = th.pitchfork(parameter("x' = a*x - x^3; y' = -y"), 0.1, [0.0, 0.0], symmetry=[[1.0, 0.0], [0.0, -1.0]])
    assert not_holding(found) == [("the symmetry turns the null vector around", "fails")]


def test_a_boundary_along_which_solutions_run_is_not_crossed():
    found = th.poincare_bendixson(flow("x' = -y; y' = x"), th.annulus([0.0, 0.0], 0.5, 1.0), budget=2000)
    assert not_holding(found) == []


def test_the_factor_of_the_schwarzian_derivative():
    found = th.singer(flow("x[n+1] = 0.3*x + 0.3*x^2 + 0.45*x^3"), [(-0.01, 0.01)])  # between 3/2 and 3
    assert not_holding(found) == [("the Schwarzian derivative is negative", "fails")]


@pytest.mark.parametrize(
    ("text", "action"),
    [("x[n+1] = x + y; y[n+1] = 2*y", (0.0, 1.0)), ("x[n+1] = x + 3.141592653589793*y; y[n+1] = 1.5*y", (-1.0, 1.0))],
)
def test_both_ends_and_both_components_of_a_twist_map_count(text, action):
    assert ("the map repeats in y", "fails") in not_holding(th.twist(flow(text), [action], budget=500))


def test_holes_and_poles_are_seen():
    turning = th.hamiltonian(flow("x' = -y; y' = x"), th.annulus([0.0, 0.0], 0.5, 1.0))
    assert not_holding(turning) == [("the region has no holes", "undecided")]
    assert not th.positivity(flow("x' = y/(1 - y); y' = 1"), [(0.0, 2.0)] * 2, budget=500).applies
    with pytest.raises(ValueError, match="be a box that begins at 0 in each component"):
        th.positivity(flow("x' = y; y' = x"), [(0.0, 1.0), (0.5, 1.0)])


def test_the_level_is_that_of_the_nearest_face():
    found = th.lyapunov(flow("x' = -x"), SQUARES, [(-1.0, 2.0)], [0.0])
    assert found.numbers["c"] == pytest.approx(1, rel=0.02)


def test_what_is_zero_is_not_negative():
    """The bounds on [0, 1] are -1 and 0, and the value is 0 everywhere."""
    found = positive(lambda x: jnp.minimum(jnp.abs(x[0]) - x[0], 0.0), th.box([(0.0, 1.0)]), strictly=False, budget=9)
    assert found.status != "fails"


def test_a_box_beside_the_region_is_no_witness():
    """The ellipse ends at x = 1.1547, which its bounds on the box from 1.2 to 2.4 do not show."""
    ellipse = th.where([(-2.4, 2.4)] * 2, lambda s: 1 - s[0] ** 2 + s[0] * s[1] - s[1] ** 2, bounds=False)
    assert positive(lambda s: 1.2 - s[0], ellipse).status == "holds"


def test_a_saddle_of_v_inside_of_the_core_is_seen():
    dented = lambda x: x[0] ** 2 - 1e-4 * x[1] ** 2 + x[1] ** 4
    found = th.lyapunov(flow("x' = -x; y' = -y"), dented, SQUARE, [0.0, 0.0])
    assert ("V is larger elsewhere", "fails") in not_holding(found)


def test_a_minimum_whose_hessian_is_singular_is_left_open():
    near, quartic = th.box([(-0.1, 0.1)]), lambda x: x[0] ** 4
    statuses = lambda found: [one.status for one in found]
    assert statuses(definite(quartic, th.box(LINE), near, 200)) == ["holds"] * 4 + ["undecided"]
    part = RegionPart(th.box(LINE), np.zeros(1), near)
    assert statuses(part.positive_off(quartic, 200)) == ["holds"] * 2 + ["undecided"]


def test_a_first_step_of_newton_that_is_too_long():
    """For 2 - x^2 the product of step and curvature at the start x is |2 - x^2| / (2 x^2)."""
    found = th.newton_kantorovich(flow("x' = 2 - x^2"), [0.9], reach=2.0)
    assert not_holding(found) == [("the first step is short against the curvature", "fails")]
    assert found.numbers["h"] == pytest.approx(1.19 / 1.62)


def test_a_row_takes_over_all_that_intervals_decided():
    line = th.box(LINE)
    held, missed = (decided("a", "b", positive(lambda x, c=c: x[0] + c, line)) for c in (2.0, -2.0))
    assert (held.status, held.margin, held.error, held.boxes, held.decided) == ("holds", 1.0, 0.0, 1, "intervals")
    assert (held.left.shape, held.witness, len(held.signs)) == ((0, 1, 2), None, 1)
    assert (missed.status, missed.error) == ("fails", 0.0)
    assert missed.margin <= -1
    assert missed.witness is not None
    nowhere = decided("a", "b", positive(lambda x: x[0], th.where(LINE, lambda x: -1.0 - x[0] ** 2, bounds=False)))
    assert nowhere.status == "undecided"
    assert np.isnan(nowhere.margin)
    open_ = decided("a", "b", positive(lambda x: x[0], th.box([(0.0, 1.0)]), budget=3))
    assert (open_.status, len(open_.left) > 0) == ("undecided", True)
    assert np.isfinite(open_.margin)


def test_determinants_and_minors_of_matrices_of_functions():
    A = np.array([[2.0, -1.0, 0.5, 3.0], [0.0, 1.5, 1.0, -2.0], [4.0, 1.0, -1.0, 0.25], [1.0, 2.0, 3.0, 5.0]])
    matrix = lambda x: x[0] * jnp.asarray(A)
    minors = [float(minor(jnp.ones(1))) for minor in leading_minors(matrix, 4)]
    assert minors == pytest.approx([np.linalg.det(A[:k, :k]) for k in range(1, 5)])


def test_conditions_have_the_source_of_the_docstring():
    found = th.gradient(flow("x' = -x"), LINE)
    book = "Differential Equations, Dynamical Systems, and an Introduction to Chaos"
    assert found.source == f"M. Hirsch, S. Smale and R. Devaney, {book}, Elsevier 2013, section 9.3"

"""Theorems about maps: periods of interval maps, horseshoes, twist maps and saddle foci."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.algebra import is_zero
from analysis.theorems.maps.horseshoe import _disjoint, _union, spectral_radius
from analysis.theorems.maps.periods import point_of_period
from analysis.theorems.maps.sharkovskii import implied_periods
from tests.theorems.reports import flow, not_holding

UNIT = [(0.0, 1.0)]
RANGE = [(-np.pi, np.pi)]
SETS = np.array([[[-2.0, 0], [1, 0], [0, 3]], [[2, 0], [1, 0], [0, 3]]])
SPIRAL = "x' = {r}*x - 2*y; y' = 2*x + {r}*y; z' = {c}*z + x*y"


def logistic(r):
    return flow("x[n+1] = r*x*(1 - x)", r=r)


def henon(a, b=0.3):
    return flow("x[n+1] = a - x^2 + b*y; y[n+1] = x", a=a, b=b)


def standard(force, move="p"):
    return flow(f"p = {force}; x[n+1] = x + {move}; y[n+1] = p")


def saddle_focus(r, c):
    return th.shilnikov(flow(SPIRAL.format(r=r, c=c)), [0, 0, 0], homoclinic=True)


def quadrangles():
    """Two sets about the unstable direction of a fixed point of Henon's map at the usual parameters."""
    at, along, across = np.array([0.6314, 0.1894]), np.array([-0.988, 0.154]) * 0.2353, [-0.02154, -0.04144]
    return [[at + middle * along, half * along, across] for middle, half in ((-0.8, 0.075), (0.0, 0.024))]


APPLIES = {
    "period three": lambda: th.li_yorke(logistic(3.83), UNIT),
    "period three, just born": lambda: th.li_yorke(logistic(3.8284272), UNIT),  # at 1 + sqrt(8) = 3.82842712...
    "period five without three": lambda: th.sharkovskii(logistic(3.74), UNIT, period=5),
    "period six": lambda: th.sharkovskii(logistic(3.63), UNIT, period=6),
    "period eight": lambda: th.sharkovskii(logistic(3.55), UNIT, period=8),
    "a map with a kink": lambda: th.li_yorke(ds.FunctionMap(lambda n, x: 0.99 - 0.98 * jnp.abs(1 - 2 * x)), UNIT),
    "Henon's map, stretched": lambda: th.horseshoe(henon(5.0), SETS),
    "the standard map": lambda: th.twist(standard("y + 0.97*sin(x)"), RANGE),
    "between two circles": lambda: th.twist(
        flow("x[n+1] = x + 0.1*y*y + 0.3*y; y[n+1] = y"), [(0.0, 1.0)], period=1.0
    ),
    "a saddle focus": lambda: saddle_focus(-1, 2),
    "a saddle focus backwards in time": lambda: saddle_focus(1, -2),
}  # fmt: skip


SLOW = {"period six", "period eight", "a saddle focus backwards in time", "a double fixed point", "an equality"}


def marked(cases):
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in cases]


@pytest.mark.parametrize("name", marked(APPLIES))
def test_a_theorem_applies_where_it_is_known_to(name):
    found = APPLIES[name]()
    assert not_holding(found) == []
    assert found.is_certified


MISSES = {
    "before period three": (
        lambda: th.li_yorke(logistic(3.828427), UNIT), "there is a point of least period three", "fails",
    ),
    "period five without three": (
        lambda: th.li_yorke(logistic(3.74), UNIT), "there is a point of least period three", "fails",
    ),
    "period two without four": (
        lambda: th.sharkovskii(logistic(3.2), UNIT, period=4), "there is a point of least period four", "fails",
    ),
    "a flux that is zero for no reason that is looked for": (
        lambda: th.twist(standard("y + 0.5*cos(x)"), RANGE), "no net area crosses a circle", "undecided",
    ),
    "a double fixed point": (
        lambda: th.sharkovskii(logistic(3.0), UNIT, period=2), "there is a point of least period two", "undecided",
    ),
    "a map that leaves the interval": (
        lambda: th.li_yorke(logistic(4.01), UNIT), "the map keeps the interval", "fails",
    ),
    "a map that jumps": (
        lambda: th.li_yorke(ds.FunctionMap(lambda n, x: jnp.where(x < 0.7, x + 0.25, x - 0.625)), UNIT),
        "the map is continuous", "undecided",
    ),
    "a height that is too small": (
        lambda: th.horseshoe(henon(4.8), SETS, covers=[(0, 0), (0, 1), (1, 0)]), "set 1 covers set 2", "fails",
    ),
    "a set that covers itself only": (
        lambda: th.horseshoe(henon(5.0), SETS[:1]), "the transition matrix has entropy", "fails",
    ),
    "a twist that ends": (
        lambda: th.twist(standard("y + 0.5*sin(x)", "sin(p)"), RANGE), "the map twists", "fails",
    ),
    "areas that change": (
        lambda: th.twist(standard("y + 0.5*sin(x) + 0.1*sin(y)"), RANGE), "the map keeps areas", "fails",
    ),
    "a flux": (
        lambda: th.twist(standard("y + 0.5*sin(x) + 0.001"), RANGE), "no net area crosses a circle", "fails",
    ),
    "ends that are not those of a repetition": (
        lambda: th.twist(standard("y + 0.5*sin(x)"), [(-1.0, 1.0)]), "the map repeats in y", "fails",
    ),
    "a saddle focus that attracts more": (lambda: saddle_focus(-1, 0.9), "Shilnikov's inequality", "fails"),
    "an equality": (lambda: saddle_focus(-0.1, 0.1), "Shilnikov's inequality", "fails"),
    "an orbit that nobody has shown": (
        lambda: th.shilnikov(flow("x' = -y - z; y' = x + 0.2*y; z' = 0.2 + z*(x - 5.7)"), [0, 0, 0]),
        "an orbit leads from the equilibrium to itself", "undecided",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", marked(MISSES))
def test_a_near_miss_names_the_one_condition(name):
    call, words, status = MISSES[name]
    found = call()
    assert not_holding(found) == [(words, status)]
    assert not found.applies


@pytest.mark.parametrize(("gap", "apart"), [(2.0**-50, True), (0.0, False), (-0.5, False)])
def test_parallelograms_that_touch_are_not_disjoint(gap, apart):
    """Two parallelograms with a side along x + y = 0, the third one far away; in any order."""
    one = np.array([[0.0, 0.0], [1.0, -1.0], [0.5, 0.5]])
    other, far = one + np.array([[1.0 + gap, 1.0], [0, 0], [0, 0]]), one + np.array([[9.0, 0.0], [0, 0], [0, 0]])
    assert [_disjoint(np.array(order)) for order in ([one, other, far], [far, other, one])] == [apart] * 2


@pytest.mark.slow
def test_henons_map_at_the_usual_parameters_has_a_horseshoe_in_six_steps():
    found = th.horseshoe(flow("x[n+1] = 1 - 1.4*x^2 + y; y[n+1] = 0.3*x"), quadrangles(), iterates=6)
    assert found.applies
    assert np.log(2) / 6 * (1 - 1e-12) < found.numbers["entropy"] < np.log(2) / 6


@pytest.mark.parametrize(
    ("matrix", "entropy"),
    [
        ([[1, 1], [1, 1]], np.log(2)), ([[1, 1], [1, 0]], np.log((1 + np.sqrt(5)) / 2)),
        ([[0, 1, 0], [0, 0, 1], [1, 1, 0]], np.log(1.324717957244746)),
        ([[1, 1], [0, 1]], 0.0), ([[0, 1], [1, 0]], 0.0),
        ([[1, 0, 0], [1, 1, 1], [0, 1, 1]], np.log(2)),
    ],
)  # fmt: skip
def test_entropies_of_shifts_are_bounded_from_below(matrix, entropy):
    found = np.log(spectral_radius(np.array(matrix, float)))
    assert entropy - 1e-12 < found <= entropy


@pytest.mark.parametrize(
    ("a", "b", "height", "status"),
    [
        pytest.param(5.25, 0.25, 3.0, "undecided", id="an exit edge is met exactly"),
        pytest.param(5.15, 0.3, 3.0, "fails", id="the left exit edge is not reached"),
        pytest.param(5.0, 0.3, 2.5, "fails", id="an entry edge is crossed"),
    ],
)
def test_one_set_covers_itself_or_not(a, b, height, status):
    found = th.horseshoe(henon(a, b), [[[-2.0, 0], [1, 0], [0, height]]], budget=60)
    assert {one.words: one.status for one in found.hypotheses}["set 1 covers set 1"] == status


def test_the_entropy_of_a_power_is_shared_by_its_steps():
    both = [[[2.52, 0.0], [0.26, 0.0], [0.0, 1.0]], [[1.25, 0.0], [-0.95, 0.0], [0.0, -1.0]]]
    found = th.horseshoe(flow("x[n+1] = 5 - x^2; y[n+1] = y/4"), both, iterates=2)
    assert found.applies
    assert found.numbers["entropy"] == pytest.approx(np.log(2) / 2, rel=1e-12)


def test_what_is_left_of_a_set_lies_in_it():
    one = np.array([[-2.0, 0.0], [1.0, -4.0], [-1.6, 3.0]])
    found = th.horseshoe(henon(5.25, 0.25), [one], budget=8)
    left = next(row.left for row in found.hypotheses if row.words == "set 1 covers set 1")
    reach = np.abs(one[1]) + np.abs(one[2])
    assert len(left)
    assert np.all(left[..., 0] < left[..., 1])
    assert np.all(np.abs(left - one[0][:, None]) <= reach[:, None] + 1e-12)


def test_a_cycle_whose_period_is_a_divisor_is_none_of_the_whole_period():
    step = lambda x: 3.3 * x * (1 - x)  # a fixed point and a cycle of period two, 2 of the divisors 3 and 2 of 6
    assert point_of_period(step, th.box([(0.0, 1.0)]), 6, 10_000).status == "fails"


def test_the_oddness_of_a_twist_map_counts_in_a_range_about_zero():
    odd = flow("p = y + 0.5*sin(x); x[n+1] = x + p; y[n+1] = p")
    rows = [th.twist(odd, [(low, low + 2 * np.pi)], budget=4000).hypotheses[-1] for low in (-np.pi, 0.5)]
    assert [(row.status, row.decided) for row in rows] == [("holds", "algebra"), ("undecided", "intervals")]


def test_periodic_points_are_looked_for_in_the_interval_only_and_beside_fixed_points():
    step = lambda r: lambda x: r * x * (1 - x)
    assert point_of_period(step(3.2), th.box([(0.5131, 0.7994)]), 2, 10_000).status == "fails"  # 0.51304 and 0.79946
    assert point_of_period(step(3.83), th.box([(-40.0, 40.0)]), 3, 10_000).status == "holds"  # all in one box at first


def test_other_equilibria_are_no_saddle_foci():
    saddle = th.shilnikov(flow("x' = -x; y' = -4*y; z' = 2*z"), [0, 0, 0])
    assert "the eigenvalues are a real one and a complex pair" in [one.words for one in saddle.failing]
    assert [one.words for one in saddle_focus(1, 2).failing] == ["the pair attracts"]
    turned = th.shilnikov(flow("x' = 0.1*x - 3*y; y' = 3*x + 0.1*y; z' = -2*z"), [0, 0, 0])
    assert turned.numbers == pytest.approx({"c": -2.0, "r": 0.1, "speed": 3.0})


def test_eigenvalues_that_differ_by_less_than_rounding_are_told_apart():
    assert not saddle_focus(-0.1, 0.1).applies
    assert saddle_focus(-0.1, "0.10000000000000002").applies


@pytest.mark.parametrize(
    ("a", "b", "h", "k", "status"),
    [(0.7, 0.5, 0.1, 0.1, "fails"), (0.8, 0.1, 0.3, 0.4, "holds"), (0.75, 0.5, 0.125, 0.125, "fails")],
)
def test_sets_that_are_apart_or_meet_by_less_than_rounding_are_told_apart(a, b, h, k, status):
    assert a - h == b + k  # in floats they touch
    sets = [[[a, 0], [h, 0], [0, 1]], [[b, 0], [k, 0], [0, 1]]]
    found = th.horseshoe(flow("x[n+1] = y; y[n+1] = x"), sets, covers=[(0, 0)], budget=1)
    assert found.hypotheses[1].status == status


def test_a_pair_of_a_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"`covers` must name sets by indices below 2, but is \[\(0, 1\), \(0, 2\)\]"):
        th.horseshoe(henon(4.8), SETS, covers=[(0, 1), (0, 2)])


def test_the_area_that_crosses_a_circle_is_bounded_from_below():
    found = th.twist(flow("p = y + 0.5*sin(x) + 0.001; x[n+1] = x + p; y[n+1] = p"), [(-np.pi, np.pi)])
    (row,) = (one for one in found.hypotheses if one.words == "no net area crosses a circle")
    assert row.status == "fails"
    assert -0.002 * np.pi <= row.margin < -0.0005


def test_areas_that_floats_change_are_kept_by_algebra():
    found = th.twist(flow("p = y + 0.3*sin(x); x[n+1] = x + 0.1*p + 0.7*p; y[n+1] = p"), [(-np.pi, np.pi)])
    assert {one.words: one.status for one in found.hypotheses}["the map keeps areas"] == "holds"


def test_odd_and_even_functions_are_known_to_be():
    assert is_zero(lambda x: jnp.sin(-x) + jnp.sin(x) + jnp.cos(x) - jnp.cos(-x), 1)
    assert not is_zero(lambda x: jnp.exp(-x) - jnp.exp(x), 1)


@pytest.mark.parametrize(
    ("period", "said"),
    [
        (1, "period 1"), (2, "period 1"), (8, "periods 4, 2 and 1"), (3, "every period"),
        (7, "every odd period above 7, of every even period, and of period 1"),
        (12, "every period 4*m with m odd and above 3, of every multiple of 8, and of periods 4, 2 and 1"),
    ],
)  # fmt: skip
def test_the_order_of_sharkovskii_is_written(period, said):
    assert implied_periods(period) == said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: th.sharkovskii(logistic(3.9), UNIT, period=0), "`period` must be"),
        (lambda: th.sharkovskii(logistic(3.9), [(0, 1)] * 2), "`interval` must be one pair"),
        (lambda: th.horseshoe(henon(5.0), SETS[0]), "`sets` must have a centre and two vectors"),
        (lambda: th.horseshoe(henon(5.0), np.zeros((1, 3, 2))), "`sets` must have an area"),
        (lambda: th.horseshoe(henon(5.0), SETS, covers=[(0, 2)]), "`covers` must name sets by indices below 2"),
        (lambda: th.horseshoe(flow("x' = y; y' = x"), SETS), "`system` must be a map"),
        (lambda: th.twist(flow("x' = y; y' = x"), RANGE), "`system` must be a map"),
        (lambda: th.twist(henon(5.0), RANGE * 2), "`action` must have the dimension"),
        (lambda: th.shilnikov(flow("x' = x; y' = y"), [0, 0]), "`near` must have 3 components"),
        (lambda: th.shilnikov(flow("x' = 1; y' = y; z' = z"), [0, 0, 0]), "`near` must be near a regular equilibrium"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_the_region_of_several_sets_ends_at_their_edges():
    found = _union(np.array([[[0.0, 0.0], [1.0, 0.0], [0.5, 2.0]], [[4.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]))
    points = [[0.0, 0.0], [0.5, 0.0], [-1.0, 0.0], [1.5, 2.0], [3.5, 0.0], [4.0, -1.0], [2.0, 0.0]]
    np.testing.assert_allclose([found.inside[0](np.array(p)) for p in points], [1, 0.5, 0, 0, 0.5, 0, -1], atol=1e-15)
    np.testing.assert_array_equal(found.sides, [[-1.5, 5.0], [-2.0, 2.0]])


def test_the_witness_of_a_set_that_is_not_covered_is_a_point_of_an_edge():
    """The right edge of set 1 is at x = -1, and its image has to lie beyond x = 3, the right side of set 2."""
    (row,) = th.horseshoe(henon(4.8), SETS, covers=[(0, 0), (0, 1), (1, 0)]).failing
    assert row.witness is not None
    x, y = row.witness
    assert x == -1
    assert -3 <= y <= 3
    assert 4.8 - x**2 + 0.3 * y < 3

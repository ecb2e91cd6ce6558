"""The parts of which theorems are made, by exact numbers: regions, exact decisions, determinants, margins, words."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from analysis.dynamics.validated.balls import balls
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems import definite, exactly, fields, linear, regions
from analysis.theorems.chains.perron_frobenius import _is_primitive
from analysis.theorems.conditions import Conditions, Hypothesis, decided, known, measured
from analysis.theorems.periodicity import repeats
from analysis.theorems.samples import Values, points_of
from analysis.theorems.subdivision import Decision
from dynsim.errors import ArgumentError

SIDES = [(-1.0, 2.0), (-3.0, 1.0)]


def holds_at(region, *x):
    in_box = all(low <= v <= high for v, (low, high) in zip(x, region.sides, strict=True))
    return in_box and all(float(g(jnp.asarray(x))) >= 0 for g in region.inside)


def test_regions_hold_the_points_of_their_words():
    ball = th.ball([1.0, -2.0], 2.0)
    assert [holds_at(ball, 1 + r, -2.0) for r in (0.0, 1.99, 2.0, 2.01, -1.99, -2.01)] == [1, 1, 1, 0, 1, 0]
    np.testing.assert_allclose(ball.sides, [[1 - 2.04, 1 + 2.04], [-2 - 2.04, -2 + 2.04]])
    ring = th.annulus([1.0, -2.0], 0.5, 2.0)
    assert [holds_at(ring, 1.0, -2 + r) for r in (0.0, 0.49, 0.5, 2.0, 2.01)] == [0, 0, 1, 1, 0]
    np.testing.assert_allclose(ring.sides, ball.sides)
    whole = th.box(SIDES)
    hole = whole.without([0.5, 0.0], 0.25)
    assert [holds_at(hole, 0.5 + r, 0.0) for r in (0.0, 0.24, 0.25, 0.3)] == [0, 0, 1, 1]
    part = th.where(SIDES, lambda x: 1 - x[0] - x[1], lambda x: x[0])
    assert [holds_at(part, *x) for x in ((0.0, 1.0), (0.5, 0.6), (-0.1, 0.0), (0.0, -2.0))] == [1, 0, 0, 1]
    flags = {(one.has_faces, one.is_convex, one.is_simply_connected) for one in (whole,)}
    assert flags == {(True, True, True)}
    assert (ball.has_faces, ball.is_convex, ball.is_simply_connected) == (False, True, True)
    assert (ring.has_faces, ring.is_convex, ring.is_simply_connected) == (False, False, False)
    assert (hole.has_faces, hole.is_convex, hole.is_simply_connected) == (True, False, False)
    assert (part.has_faces, th.where(SIDES, lambda x: x[0], bounds=False).has_faces) == (True, False)
    assert str(part) == "the part of the box [-1, 2] x [-3, 1] given by 2 inequalities"
    assert str(hole) == "the box [-1, 2] x [-3, 1] without the ball of radius 0.25 about (0.5, 0)"
    with pytest.raises(ArgumentError, match="`inner` must be smaller than `outer` = 2, but is 2"):
        th.annulus([0.0], 2.0, 2.0)
    with pytest.raises(ArgumentError, match=r"`weights` must be positive, but are \[1\.0, 0\.0\]"):
        regions.positive_weights([1.0, 0.0], 2)
    assert regions.positive_weights(None, 3).tolist() == [1, 1, 1]


def test_points_of_a_region_are_spread_over_it():
    points = points_of(th.box(SIDES), 50)
    assert len(points) == 59
    grid = {(x, y) for x in (-1.0, 0.5, 2.0) for y in (-3.0, -1.0, 1.0)}
    assert {tuple(point) for point in points[:9].tolist()} == grid
    assert np.all((points >= [-1, -3]) & (points <= [2, 1]))
    np.testing.assert_allclose(points[9:12], [[-1, -3], [0.5, -3 + 4 / 3], [-0.25, -3 + 8 / 3]])
    kept = points_of(th.ball([0.0, 0.0], 1.0), 50)
    assert np.all(np.sum(kept**2, axis=1) <= 1)
    assert 0.6 * 59 < len(kept) < 59
    assert len(points_of(th.box([(0.0, 1.0)] * 5), 10)) == 10
    at = Values(lambda x: jnp.stack([x[0] * x[1], x[0] ** 2, x[1]]), 2)
    np.testing.assert_allclose(at(np.array([[2.0, 3.0], [0.5, -1.0]])), [[6, 4, 3], [-0.5, 0.25, -1]])
    np.testing.assert_allclose(at.slopes(np.array([[2.0, 3.0]])), [[[3, 2], [4, 0], [0, 1]]], atol=1e-12)


def test_the_rest_of_a_region_is_covered_once_by_boxes_beside_a_box():
    region = th.box([(0.0, 4.0), (0.0, 3.0), (0.0, 2.0)])
    for near, inside in (
        ([(1.0, 2.0), (1.0, 1.5), (0.5, 1.0)], 0.25),
        ([(-1.0, 2.0), (1.0, 1.5), (0.0, 2.0)], 2.0),
        ([(2.0, 6.0), (1.0, 1.5), (0.5, 2.0)], 1.5),
    ):
        parts = definite.without_box(region, th.box(near))
        volume = sum(float(np.prod(np.diff(part.sides, axis=1))) for part in parts)
        assert volume + inside == pytest.approx(24.0)
        points = np.random.default_rng(0).uniform(0, [4, 3, 2], (200, 3))
        counts = [sum(holds_at(part, *x) for part in parts) for x in points]
        within = [all(low <= v <= high for v, (low, high) in zip(x, near, strict=True)) for x in points]
        assert counts == [0 if one else 1 for one in within]
    core = definite.core_of(th.box(SIDES), np.array([0.5, 0.0]), None)
    np.testing.assert_allclose(core.sides, [[0.35, 0.65], [-0.15, 0.15]])
    np.testing.assert_allclose(definite.core_of(th.box(SIDES), np.array([0.5, 0.0]), 0.1).sides[0], [0.4, 0.6])
    for at in ([2.0, 0.0], [0.0, -3.0], [0.0, 1.0]):
        with pytest.raises(ArgumentError, match="`equilibrium` must be inside the region"):
            definite.core_of(th.box(SIDES), np.array(at), None)
    with pytest.raises(ArgumentError, match="`equilibrium` must be inside the region"):
        definite.core_of(th.ball([0.0, 0.0], 1.0), np.array([1.0, 0.0]), None)


def test_the_largest_level_inside_a_region_is_the_least_on_its_boundary():
    V = lambda x: x[0] ** 2 + 2 * x[1] ** 2 + x[0] * x[1] / 8
    level = definite.largest_level(lambda x: x[0] ** 2 + 2 * x[1] ** 2, th.box(SIDES), 2000)["c"]
    assert 0.99 < level <= 1.0  # at (-1, 0)
    assert 1.99 < definite.largest_level(lambda x: 3 * x[0] ** 2 + 2 * x[1] ** 2, th.box(SIDES), 2000)["c"] <= 2.0
    turned = definite.largest_level(V, th.ball([0.0, 0.0], 2.0), 20_000)["c"]
    exact = 4 * np.linalg.eigvalsh([[1, 1 / 16], [1 / 16, 2]])[0]
    assert 0.98 * exact < turned <= exact
    V0 = definite.above(lambda x: x[0] ** 2 + 5.0, np.array([3.0]))
    assert [float(V0(jnp.array([x]))) for x in (3.0, 1.0)] == [0, -8]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_determinants_and_minors_are_those_of_the_matrix(n):
    A = np.random.default_rng(n).integers(-5, 6, (n, n)).astype(float)
    assert float(linear.determinant(jnp.asarray(A))) == pytest.approx(np.linalg.det(A))
    minors = linear.leading_minors(lambda x: x[0] * jnp.asarray(A), n)
    expected = [2**k * np.linalg.det(A[:k, :k]) for k in range(1, n + 1)]
    np.testing.assert_allclose([float(minor(jnp.array([2.0]))) for minor in minors], expected, atol=1e-9)


def test_the_matrix_of_a_linear_system_is_exact():
    assert linear.matrix_of(ds.system("x' = 2*x + 3*y; y' = -y/4"), "a").tolist() == [[2, 3], [0, Fraction(-1, 4)]]
    assert linear.matrix_of(ds.system("x[n+1] = y; y[n+1] = 5*x"), "a").tolist() == [[0, 1], [5, 0]]
    assert linear.matrix_of(ds.system("x' = 2*x + 1; y' = y"), "a") is None
    assert linear.matrix_of(ds.system("x' = x*y; y' = y"), "a") is None
    Q = np.array([[-1.0, 2.0], [1.0, -2.0]])
    assert linear.matrix_of(ds.chains.MasterEquationFlow(Q), "a").tolist() == Q.tolist()
    with pytest.raises(ArgumentError, match=r"be a square matrix, but has the shape \(3,\)"):
        linear.matrix_of([1.0, 2.0, 3.0], "a")


def test_signs_are_decided_by_balls_and_zero_itself_is_not_positive():
    with arithmetic(64, 1):
        low, zero, high, about = balls(np.array([-0.5, 0.0, 0.25, 0.0]))
        about = about + (high / 3 - high / 3)
    above = [exactly.above_zero("a", "b", value) for value in (low, zero, high, about)]
    assert [one.status for one in above] == ["fails", "fails", "holds", "undecided"]
    assert [one.margin for one in above[:3]] == [-0.5, 0.0, 0.25]
    apart = [exactly.different_from_zero("a", "b", value) for value in (low, zero, high, about)]
    assert [one.status for one in apart] == ["holds", "fails", "holds", "undecided"]
    assert [one.margin for one in apart[:3]] == [0.5, 0.0, 0.25]
    at = np.array([0.5, 2.0])
    good = exactly.vanishes("a", "f = 0", lambda x: jnp.stack([x[0] * x[1] - 1, x[0] - 0.5]), at)
    assert (good.status, good.decided, good.witness) == ("holds", "balls", None)
    bad = exactly.vanishes("a", "f = 0", lambda x: jnp.stack([x[0] * x[1] - 1, x[0] - 3]), at)
    assert (bad.status, bad.margin, bad.inequality) == ("fails", -2.5, "f = 0 at (0.5, 2)")
    assert bad.witness.tolist() == [0.5, 2.0]
    small = exactly.vanishes("a", "f = 0", lambda x: jnp.stack([jnp.sin(x[0]) ** 2 + jnp.cos(x[0]) ** 2 - 1]), at)
    assert (small.status, small.witness) == ("undecided", None)
    region = th.box([(-1.0, 1.0), (0.0, 2.0)])
    same = exactly.identically_zero("a", "b", lambda x: jnp.stack([(x[0] + 1) ** 2 - x[0] ** 2 - 2 * x[0] - 1]), region)
    assert (same.status, same.decided) == ("holds", "algebra")
    other = exactly.identically_zero("a", "b", lambda x: jnp.stack([x[0], x[1] + 3]), region)
    assert other.status == "fails"
    assert other.margin == pytest.approx(-np.hypot(other.witness[0], other.witness[1] + 3), rel=0.5)
    assert exactly.not_zero_somewhere("a", "b", lambda x: x, region).status == "holds"
    assert exactly.not_zero_somewhere("a", "b", lambda x: x - x, region).status == "fails"


def test_a_period_is_refuted_where_values_differ_most():
    sides = np.array([[0.0, 4.0], [1.0, 2.0]])
    turn, step = np.array([2 * np.pi, 0.0]), np.array([1.0, 0.0])
    wave = lambda x: jnp.stack([jnp.sin(x[0]) * x[1], x[1]])
    assert repeats("a", "b", wave, turn, lambda gap: gap, sides).status == "holds"
    rising = lambda x: jnp.stack([2 * x[0] + x[1], x[1]])
    assert repeats("a", "b", rising, step, lambda gap: gap - [2.0, 0.0], sides)[2] == "holds"
    square = lambda x: jnp.stack([x[1], x[0] ** 2])  # (x + 1)^2 - x^2 = 2 x + 1, largest at the right
    found = repeats("a", "b", square, step, lambda gap: gap, sides)
    assert (found.status, found.decided) == ("fails", "floats")
    assert found.margin == pytest.approx(-(2 * found.witness[0] + 1))
    assert 3.5 < found.witness[0] < 4
    assert 1 < found.witness[1] < 2


def test_a_margin_within_its_error_decides_nothing():
    rows = [measured("a", "b", margin, 0.5).status for margin in (-0.6, -0.5, 0.0, 0.5, 0.6, np.nan)]
    assert rows == ["fails", "undecided", "undecided", "undecided", "holds", "undecided"]
    assert [known("a", "b", holds).status for holds in (True, False, None)] == ["holds", "fails", "undecided"]
    left = np.zeros((3, 1, 2))
    parts = [Decision(status, 0.25, -4.0, 7, left) for status in ("holds", "fails", "undecided")]
    assert [decided("a", "b", part).margin for part in parts] == [0.25, -4.0, -4.0]
    assert decided("a", "b", parts[0]._replace(is_empty=True)).status == "undecided"
    assert np.isnan(decided("a", "b", parts[0]._replace(least=np.inf)).margin)


def test_conditions_say_how_each_was_decided():
    say = lambda **given: str(Hypothesis("w", "i", **given))
    assert say(status="holds", margin=0.1234, boxes=1) == "holds     w: i (margin 0.123, by intervals)"
    assert say(status="holds", margin=0.5, error=0.01, decided="floats") == (
        "holds     w: i (margin 0.5 +- 0.01, by floats)"
    )
    assert say(status="fails", margin=-0.5, boxes=1200) == "fails     w: i (off by 0.5, by intervals on 1,200 boxes)"
    assert say(status="fails", margin=-2.0, witness=np.array([1.0, -3.0]), decided="balls") == (
        "fails     w: i (fails at (1, -3) by 2, by balls)"
    )
    assert say(status="fails", witness=np.array([0.5]), decided="told") == "fails     w: i (fails at (0.5), as told)"
    assert say(status="undecided", left=np.zeros((4, 1, 2)), decided="algebra") == (
        "undecided w: i (4 boxes left, by its form)"
    )
    rows = {status: known("a", "b", holds) for status, holds in (("h", True), ("f", False), ("u", None))}
    made = lambda which: Conditions("T", tuple(rows[k] for k in which), "good", "bad")
    found = [made(which) for which in ("hh", "hu", "uf", "fh", "")]
    assert [one.status for one in found] == ["holds", "undecided", "fails", "fails", "holds"]
    assert [one.applies for one in found] == [True, False, False, False, True]
    assert [len(one.failing) for one in found] == [0, 0, 1, 1, 0]
    assert made("h")._replace(hypotheses=(measured("a", "b", 1.0, 0.0),)).is_certified is False
    assert "It applies: good. c = 0.5." in str(made("h")._replace(numbers={"c": 0.5}))
    assert "It does not apply: bad.\n" in str(made("f")._replace(numbers={"c": 0.5}))


def test_chains_name_the_entry_the_column_and_the_transition_that_are_wrong():
    entry = th.perron_frobenius([[1, 2, 3], [4, 5, -6], [7, -2, 9]]).hypotheses[1]
    assert (entry.inequality, entry.margin) == ("A_2,3 >= 0", -6.0)
    column = th.detailed_balance([[-1.0, 2.0], [1.0, -2.5]]).hypotheses[2]
    assert (column.inequality, column.margin) == ("column 2 sums to 0", -0.5)
    street = th.detailed_balance([[-1, 1, 0], [1, -2, 1], [0, 1, -1]])
    assert street.applies
    assert list(street.numbers.values()) == pytest.approx([1 / 3] * 3)
    one_way = th.detailed_balance([[-1, 0, 1], [1, -1, 0], [0, 1, -1]]).hypotheses[4]
    assert one_way.inequality.endswith("from 3 to 1 there is only one way")
    cycle = th.detailed_balance([[-3, 2, 1], [1, -3, 2], [2, 1, -3]]).hypotheses[5]
    assert cycle.status == "fails"
    parts = th.perron_frobenius([[1, 0, 1], [0, 1, 0], [1, 0, 1]]).hypotheses[2]
    assert parts.inequality.endswith("component 1, 3 are a part of 2")


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_matrix_that_becomes_positive_last_is_primitive_and_a_cycle_is_not(n):
    """Wielandt's matrix of n components has its first positive power at (n - 1)^2 + 1."""
    cycle = np.roll(np.eye(n, dtype=int), 1, axis=1)
    last = cycle.copy()
    last[-1, 1 % n] = 1
    powers = [np.all(np.linalg.matrix_power(last, k) > 0) for k in ((n - 1) ** 2, (n - 1) ** 2 + 1)]
    assert powers == [False, True]
    assert _is_primitive(last.astype(object))
    assert not _is_primitive(cycle.astype(object))


def test_functions_of_operations_that_balls_lack_are_neither_smooth_nor_continuous_for_certain():
    largest = lambda x: jnp.linalg.eigvalsh(jnp.outer(x, x))[-1:]
    assert (fields.is_smooth(largest, 2), fields.is_smooth(jnp.sin, 2)) == (False, True)
    assert [fields.continuous(fn, 2).status for fn in (largest, jnp.abs, jnp.sign)] == [
        "undecided",
        "holds",
        "undecided",
    ]
    with pytest.raises(ArgumentError, match="`flow` must use only operations that intervals can enclose, but uses"):
        fields.value_at(largest, np.ones(2))

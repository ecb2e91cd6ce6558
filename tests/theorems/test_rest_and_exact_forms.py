"""Lines of rest, exact cancellation, and the zero of an integrated damping, by what each part asks and answers.

The searches over boxes are replaced: the functions that they are asked about are compared with their closed forms.
"""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import analysis.theorems as th
import dynsim as ds
from analysis.theorems import box
from analysis.theorems.algebra import is_zero
from analysis.theorems.plane import smooth_oscillator
from analysis.theorems.plane.smooth_oscillator import EnclosedIntegral, _first_derivative, _follows_x, _one_zero
from analysis.theorems.stability import lasalle, rest_lines
from analysis.theorems.stability.rest_lines import RestLine
from analysis.theorems.subdivision import Decision
from analysis.theorems.switching.parts import vanishes_on

pytestmark = pytest.mark.untraced  # what is replaced is no part of a compiled program
HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NONE = np.empty((0, 1, 2))


@pytest.fixture
def asked(monkeypatch):
    """The functions, regions and options of all questions, each of which is answered by the next status."""
    seen, answers = [], []

    def positive(fn, region, **options):
        seen.append((fn, region, options))
        status = answers.pop(0) if answers else HOLDS
        left = np.zeros((int(status == UNDECIDED), region.dimension, 2))
        return Decision(status, 1.0, 1.0, 1, left, np.zeros(region.dimension) if status == FAILS else None)

    for module in (rest_lines, lasalle, smooth_oscillator):
        monkeypatch.setattr(module, "positive", positive)
    return seen, answers


AT, DIRECTION = np.array([0.5, 0.25, -1.0]), np.array([1.0, -2.0, 4.0])
REGION = box([(-1.5, 2.5), (-2.0, 2.0), (-5.0, 3.0)])
LINE = RestLine(AT, DIRECTION, REGION)


def beside(x):
    """The first two components, less those of the line at the same third one."""
    share = (x[2] - AT[2]) / DIRECTION[2]
    return x[:2] - AT[:2] - share * DIRECTION[:2]


def rate(x):
    """The derivative of V: it rests on the line, and falls as squares of the distances beside it."""
    w = beside(x)
    return -(w[0] ** 2 + 3 * w[1] ** 2 + w[0] * w[1])


def test_a_line_has_coordinates_along_and_beside_it():
    assert (LINE.first, LINE.others) == (2, [0, 1])
    np.testing.assert_allclose(LINE.widths, np.array([4.0, 4.0, 8.0]) / 64)
    low, high = LINE.along
    assert (low, high) == pytest.approx((-1.0, 1.0), abs=1e-5)
    assert (low < -1.0, high > 1.0) == (True, True)
    np.testing.assert_allclose(LINE.place(jnp.array([0.5, 0.1, 0.2])), AT + 0.5 * DIRECTION + np.array([0.1, 0.2, 0]))
    x = jnp.array([0.3, 0.7, -2.0])
    assert [float(LINE._beside(x, k)) for k in (0, 1)] == pytest.approx(beside(x).tolist())


def test_a_function_falls_beside_a_line_by_its_hessian_in_a_tube_and_its_values_elsewhere(asked):
    seen, _ = asked
    rests, falls = LINE.falls(rate, 77)
    assert (rests.status, falls.status) == (HOLDS, HOLDS)
    assert all(options["budget"] == 77 for *_, options in seen)
    tube = np.array([LINE.along, (-1.001 / 16, 1.001 / 16), (-1.001 / 16, 1.001 / 16)])
    z = jnp.array([0.3, 0.01, -0.02])
    minors = [float(np.ravel(fn(z))[0]) for fn, *_ in seen[:2]]
    assert minors == pytest.approx([2.0, 2 * 6 - 1])  # of the Hessian (2, 1; 1, 6)
    for _, where, _ in seen[:2]:
        np.testing.assert_allclose(where.sides, tube)
    x = jnp.array([0.3, 0.7, -2.0])
    for (fn, where, _), k, sign in zip(seen[2:], (0, 0, 1, 1), (1, -1, 1, -1), strict=True):
        assert float(fn(x)) == pytest.approx(-float(rate(x)))
        assert float(where.inside[-1](x)) == pytest.approx(sign * float(beside(x)[k]) - 1 / 16)
        np.testing.assert_array_equal(where.sides, REGION.sides)
    assert LINE.falls(lambda x: rate(x) + beside(x)[0] ** 3 - beside(x)[1], 77)[0].status == FAILS  # its slope is not 0


def test_solutions_leave_a_line_where_the_field_across_it_turns_with_the_place(asked):
    seen, answers = asked
    field = lambda x: jnp.stack([x[2] ** 3, 0 * x[1], x[0]])
    answers += [FAILS, FAILS, UNDECIDED, HOLDS]
    assert LINE.is_left(field, 55).status == HOLDS
    t = jnp.array([0.25])
    x = AT + 0.25 * DIRECTION
    by_place = [3 * x[2] ** 2 * DIRECTION[2] - DIRECTION[0] ** 2 / 4, DIRECTION[0] * 2 / 4]  # less the share of x[0]
    found = [float(np.ravel(fn(t))[0]) for fn, *_ in seen]
    assert found == pytest.approx([by_place[0], -by_place[0], by_place[1], -by_place[1]])
    assert all(where.sides[0].tolist() == list(LINE.along) and o["budget"] == 55 for _, where, o in seen)
    answers += [FAILS, UNDECIDED, FAILS, UNDECIDED]
    assert LINE.is_left(field, 55).status == UNDECIDED


def test_the_theorem_of_lasalle_with_a_line_asks_for_one_equilibrium_and_a_level_or_the_boundary(asked):
    V = lambda s: (s[0] ** 2 + s[1] ** 2) / 2
    flow = ds.system("x' = y; y' = -x - y")
    inside = th.where([(-1.1, 1.1), (-1.1, 1.1)], lambda s: 0.5 - V(s), bounds=False)
    found = th.lasalle(flow, V, inside, [0.0, 0.0], rests_along=[1.0, 0.0])
    rows = {one.words: one for one in found.hypotheses}
    assert rows["the field points into the region on its boundary"].inequality == "the region is a sublevel set of V"
    assert rows["V rests on the line"].status == HOLDS
    assert rows["the point is an equilibrium"].status == HOLDS
    assert "no other solution stays on the line" in rows
    other = th.where([(-1.1, 1.1), (-1.1, 1.1)], lambda s: 0.5 - s[0] ** 2 - 2 * s[1] ** 2, bounds=False)
    rows = {one.words: one for one in th.lasalle(flow, V, other, [0.0, 0.0], rests_along=[1.0, 0.0]).hypotheses}
    assert "sublevel" not in rows["the field points into the region on its boundary"].inequality
    for rest, along in (([[0.0, 0.0], [0.5, 0.0]], [1.0, 0.0]), ([0.0, 0.0], [0.0, 0.0])):
        with pytest.raises(ValueError, match="`rests_along` must be a direction through the only equilibrium"):
            th.lasalle(flow, V, inside, rest, rests_along=along)


def test_what_is_not_decided_is_tried_again_about_each_equilibrium(asked):
    seen, answers = asked
    region = box([(-1.0, 3.0)])
    answers += [UNDECIDED, UNDECIDED, FAILS]
    found = lasalle._not_growing(
        lambda x: x[0] ** 3, region, [np.array([0.0]), np.array([1.0]), np.array([2.0])], 30_000
    )
    assert (found.status, found.witness.tolist(), len(seen)) == (FAILS, [1.0], 3)
    assert found.sign_of is not None
    assert float(found.sign_of[0](jnp.array([2.0]))) == -8.0
    assert found.sign_of[1] is region
    assert [float(fn(jnp.array([0.5]))) for fn, *_ in seen] == [-0.125, -0.125, -(1.5**3)]
    assert [where.sides.tolist() for _, where, _ in seen[1:]] == [[[-1.0, 3.0]], [[-2.0, 2.0]]]
    assert [options["budget"] for *_, options in seen] == [lasalle.BESIDE, 30_000, 30_000]
    assert all(options["strictly"] is False for *_, options in seen)
    answers += [HOLDS]
    assert lasalle._not_growing(lambda x: -x[0], region, [np.array([0.0])], 10).status == HOLDS
    assert seen[-1][2]["budget"] == 10


def test_sides_about_a_point_are_rounded_outwards_unless_they_are_exact():
    sides, at = np.array([[-1.0, 2.0], [0.1, 0.7]]), np.array([0.5, 0.3])
    found = lasalle._moved(sides, at)
    assert found[0].tolist() == [-1.5, 1.5]
    exact = [[Fraction(float(x)) - Fraction(float(p)) for x in row] for row, p in zip(sides, at, strict=True)]
    assert Fraction(float(found[1, 0])) <= exact[1][0]
    assert Fraction(float(found[1, 1])) >= exact[1][1]
    np.testing.assert_allclose(found, sides - at[:, None], rtol=1e-15)


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x: jnp.power(x[0], 2.0) - x[0] * x[0], True),
        (lambda x: jnp.power(x[0], -2.0) * x[0] ** 2 - 1, True),
        (lambda x: jnp.power(x[0], 0.0) - 1, True),
        (lambda x: jnp.power(x[0], 3.0) - x[0] * x[0], False),
        (lambda x: jnp.power(x[0], 0.5) ** 2 - x[0], None),
        (lambda x: jnp.power(2.0, x[0]) - 1, None),
        (lambda x: x[0].astype(int).astype(float) - x[0], None),
    ],
)
def test_powers_cancel_exactly_where_their_exponents_are_whole_numbers(fn, expected):
    assert is_zero(lambda x: jnp.reshape(fn(x), (1,)), 2) is expected


@pytest.mark.parametrize(
    ("value", "on", "at", "expected"),
    [
        (lambda x: (x[0] + 2 * x[1] - 1) * x[0], lambda x: x[0] + 2 * x[1] - 1, [1.0, 0.0], True),
        (lambda x: x[0] + x[1], lambda x: x[0] + 2 * x[1] - 1, [1.0, 0.0], False),
        (lambda x: 0 * x[0], lambda x: x[0] ** 2 - x[1], [0.0, 0.0], True),  # everywhere
        (lambda x: (x[0] ** 2 - x[1]) * x[0], lambda x: x[0] ** 2 - x[1], [0.0, 0.0], False),  # the surface is curved
        (lambda x: x[0], lambda x: 0 * x[0], [0.0, 0.0], False),  # there is no surface
        (lambda x: x[0] + 3 * x[1], lambda x: x[0] + 3 * x[1], [0.0, 0.0], False),  # a third is no float
        (lambda x: 3 * x[0] + x[1], lambda x: 6 * x[0] + 2 * x[1], [0.0, 0.0], False),
    ],
)
def test_a_function_vanishes_on_an_affine_surface_by_exact_cancellation(value, on, at, expected):
    assert vanishes_on(value, on, 2, np.array(at)) is expected


def integral(damping, sums, width=1.0):
    """Enclosures of f on cells of equal width, and of F at their ends, each within 1e-3."""
    found = object.__new__(EnclosedIntegral)
    wide = lambda rows: np.asarray(rows, float)[:, None] + 1e-3 * np.array([-1.0, 1.0])
    found.ends, found.damping = width * np.arange(len(damping) + 1), wide(damping)
    found.sums = np.vstack([np.zeros((1, 2)), wide(sums)])
    return found


RISING = ([-2.0, -1.0, 2.0, 3.0], [-2.0, -3.0, -1.0, 2.0])


@pytest.mark.parametrize(
    ("given", "beyond", "status", "said", "monotone"),
    [
        (RISING, 1, HOLDS, "3 < a < 4", HOLDS),
        (RISING, 0, UNDECIDED, "3 < a < 4", HOLDS),
        (RISING, -1, FAILS, "the damping ends at infinity", None),
        (([2.0, 1.0], [2.0, 3.0]), 1, FAILS, "F > 0 beside 0", None),
        (([0.0, 1.0], [0.0, 1.0]), 1, UNDECIDED, "", None),
        (([-2.0, 4.0, -5.0], [-2.0, 2.0, -3.0]), 1, FAILS, "F has more zeros", None),
        (([-2.0, -1.0], [-2.0, -3.0]), -1, FAILS, "it has 0 positive zeros", None),
        (([-2.0, -1.0], [-2.0, -3.0]), 1, UNDECIDED, "", None),
        (([-2.0, 3.0, 4.0, -0.5, 1.0], [-2.0, 1.0, 5.0, 4.5, 5.5]), 1, HOLDS, "", FAILS),
        (([-2.0, 3.0, 4.0, -0.5, 1.0], [-2.0, 1.0, 5.0, 4.5, 5.5]), 0, UNDECIDED, "", FAILS),
        (([-2.0, 3.0, 4.0, 0.0, 1.0], [-2.0, 1.0, 5.0, 5.0, 6.0]), 1, HOLDS, "", UNDECIDED),
        (([-2.0, 3.0, 4.0, 0.0, 1.0], [-2.0, 1.0, 5.0, 5.0, 6.0]), 0, UNDECIDED, "", UNDECIDED),
    ],
)
def test_the_zero_of_an_integrated_damping_is_decided_by_its_enclosures(given, beyond, status, said, monotone):
    row, rises, numbers = _one_zero(integral(*given), 9.0, beyond)
    assert row.status == status
    assert said in row.inequality
    assert [one.status for one in rises] == ([] if monotone is None else [monotone])
    if numbers:
        sums = np.array([0.0, *given[1]])
        k = int(np.flatnonzero(sums > 0)[0])
        assert numbers["a"] == pytest.approx(k - 1 + sums[k - 1] / (sums[k - 1] - sums[k]), abs=0.3)
    if monotone == FAILS:
        assert rises[0].witness.tolist() == [4.0]
        assert rises[0].margin == pytest.approx(-0.499)


def test_the_place_of_a_failure_is_told():
    row = _one_zero(integral([2.0, 1.0], [2.0, 3.0], 0.5), 9.0, 1)[0]
    assert (row.witness.tolist(), row.boxes) == ([0.5], 2)
    row = _one_zero(integral([-2.0, 4.0, -5.0], [-2.0, 2.0, -3.0]), 9.0, 1)[0]
    assert row.witness.tolist() == [3.0]
    assert _one_zero(integral([-2.0, -1.0], [-2.0, -3.0]), 9.0, -1)[0].witness.tolist() == [9.0]
    broken = integral([-2.0, np.nan, 1.0], [-2.0, -1.0, 1.0])
    assert _one_zero(broken, 9.0, 1)[0].status == UNDECIDED


def test_a_force_pulls_back_by_its_slope_near_zero_and_its_values_beyond(asked):
    seen, answers = asked
    force = lambda x: x - x**3 / 8
    assert _follows_x(force, 4.0, 33).status == HOLDS
    assert len(seen) == 1
    assert float(seen[0][0](jnp.array([2.0]))) == pytest.approx(1 - 3 * 4 / 8)
    assert seen[0][1].sides.tolist() == [[0.0, 4.0]]
    seen.clear()
    answers += [UNDECIDED, UNDECIDED, HOLDS, HOLDS]
    assert _follows_x(force, 4.0, 33).status == HOLDS
    assert [where.sides.tolist() for _, where, _ in seen] == [[[0.0, 4.0]], [[0.0, 1.0]], [[0.0, 0.25]], [[0.25, 4.0]]]
    assert float(seen[-1][0](jnp.array([2.0]))) == pytest.approx(1.0)
    assert all(options["budget"] == 33 for *_, options in seen)
    for last, status in ((FAILS, FAILS), (HOLDS, UNDECIDED)):
        seen.clear()
        answers[:] = [FAILS] * 9 + [HOLDS, last]
        assert _follows_x(force, 4.0, 33).status == status
        near = 4.0 / 4**8
        assert seen[-1][1].sides.tolist() == [[near / 1024, near]]


def test_the_lowest_derivative_of_a_force_is_the_first_that_does_not_vanish_at_zero():
    assert float(_first_derivative(lambda x: 2 * x + x**3)(0.5)) == pytest.approx(2.75)
    assert float(_first_derivative(lambda x: x**3 + x**5)(0.5)) == pytest.approx(6 + 60 * 0.25)
    assert float(_first_derivative(lambda x: jnp.tanh(x) ** 3)(0.0)) == pytest.approx(6.0)

"""Conditions at both ends of connecting orbits, and the paths from which these are found, on fields in NumPy."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.dynamics.boundary_values.connecting import (
    _linear,
    _paths_along,
    _returns,
    connecting_orbit,
    prolonged,
)
from analysis.dynamics.boundary_values.projections import (
    Connection,
    Projections,
    equilibrium_near,
    folded,
    left_subspace,
    lengths,
    mean_rate,
    monotone_norm,
    nearest_basis,
    unfolded,
)
from analysis.dynamics.boundary_values.saddle_nodes import SaddleNode, SaddleNodeConnection, SaddleNodeProjections
from analysis.dynamics.collocation.intervals import CycleField
from dynsim import FunctionFlow, Parameter
from dynsim.errors import ArgumentError

BASE = np.array([[1.0, 0.2, 0.0], [0.3, -2.0, 0.1], [0.0, 0.4, -0.5]])


def field_at(t, y, parameter):
    """Rates 1, -2 and -1/2, about, and equilibria and directions that move with both parameters."""
    x, own, p = y[:3], float(y[3]), float(parameter)
    matrix = BASE + own * np.array([[0.5, 0.0, 1.0], [0.0, 0.0, 0.2], [1.0, 0.0, 0.0]]) + p * np.eye(3)[:, ::-1]
    f = matrix @ x - np.array([0.3 + own, 0.1 * p, 0.2]) + 0.05 * x**2
    J = matrix + np.diag(0.1 * x)
    return np.append(f, 0.0), np.pad(J, ((0, 1), (0, 2)))


def conditions(durations=None, distances=(0.1, 0.3), paces=None):
    problem = object.__new__(Connection)
    problem.distances, problem.equilibria, problem.rows, problem.ways = distances, None, None, {}
    problem.paces, problem.durations = paces, durations
    found = object.__new__(Projections)
    found.problem, found.n, found._field = problem, 3, SimpleNamespace(at=field_at)  # pyright: ignore
    return found


def linear_at(x):
    f, J = field_at(0, np.append(x, 0.2), 0.1)
    return f[:3], J[:3, :3]


REST = equilibrium_near(linear_at, np.zeros(3))
WAY = np.linalg.svd(left_subspace(linear_at(REST)[1], stable=True))[2][-1]
MIDDLE = REST + np.array([1.0, 2.0, -1.0])
# the unstable direction turns without a change of length
FIRST = np.concatenate([REST + 0.12 * WAY, REST + np.array([0.03, 0.2, 0.1]), [0.5, 0.2, 7.0, 5.0]])
LAST = np.concatenate([MIDDLE, MIDDLE + np.array([0.1, 0.2, 0.3]), [0.6, 0.2, 7.0, 5.0]])


def test_an_equilibrium_is_found_by_newtons_method_or_not_at_all():
    square = lambda a: lambda x: (x**2 - a, np.diag(2 * x))
    assert equilibrium_near(square(4.0), np.array([3.0])) == pytest.approx(2.0, abs=1e-12)
    assert equilibrium_near(square(-1.0), np.array([0.7])) is None
    assert equilibrium_near(square(-1.0), np.array([0.0])) is None  # where the Jacobian is zero, and the field is not
    line = lambda value: lambda x: (np.array([x[0] - 1, value]), np.diag([1.0, 0.0]))
    assert equilibrium_near(line(1e-3), np.array([3.0, 5.0])) is None
    np.testing.assert_allclose(equilibrium_near(line(1e-17), np.array([3.0, 5.0])), [1.0, 5.0], rtol=1e-12)
    assert equilibrium_near(lambda x: (x * np.nan, np.eye(1)), np.array([1.0])) is None
    assert equilibrium_near(lambda x: (x, np.full((1, 1), np.inf)), np.array([1.0])) is None


def test_left_vectors_span_the_subspaces_of_the_rates_of_one_sign():
    J = np.array([[1.0, 5.0], [0.0, -2.0]])
    unstable, stable = (left_subspace(J, stable=side) for side in (False, True))
    np.testing.assert_allclose(unstable @ J, 1.0 * unstable, atol=1e-12)
    np.testing.assert_allclose(stable @ J, -2.0 * stable, atol=1e-12)
    np.testing.assert_allclose(nearest_basis(-unstable, unstable), unstable, atol=1e-12)
    turned = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    np.testing.assert_allclose(nearest_basis(turned, np.eye(3)[:2]), np.eye(3)[:2], atol=1e-12)


PACES = [(1.1, 3.0), (0.4, 2.0)]


@pytest.mark.parametrize(("durations", "paces"), [(None, None), (np.array([6.0, 9.0]), None), (None, PACES)])
def test_the_conditions_of_a_connection_are_differentiated_by_all_that_they_depend_on(durations, paces):
    ends = conditions(durations, paces=paces)
    found, by_parameter = ends.at(FIRST, LAST, 0.1)
    rows, ways = ends.problem.rows, dict(ends.problem.ways)

    def values(first, last, parameter):
        ends.problem.rows, ends.problem.ways = rows, dict(ways)
        return ends.at(first, last, parameter)[0].values

    J = linear_at(REST)[1]
    unstable, away, far = left_subspace(J, stable=False), FIRST[3:6] - REST, np.sqrt(6.0)
    assert np.linalg.norm(found.values[:2]) == pytest.approx(0.0, abs=1e-14)
    assert abs(found.values[2]) == pytest.approx(abs((unstable @ away)[0]))
    assert found.values[3:8] == pytest.approx([-0.1, -0.2, -0.3, 0.5, 0.6])
    expected = [0.12 / far - 0.1, np.log(lengths(away, monotone_norm(J, stable=True)) / (0.3 * far))]
    if durations is not None:
        expected = [np.log(7 / 6), np.log(5 / 9)]
    elif paces is not None:
        given = [ends.problem.stay(k, J) for k in (0, 1)]
        expected = [0.12 / far - given[0][0], np.log(5 / given[1][1])]
    assert found.values[8:] == pytest.approx(expected)
    h = 1e-6
    for k in range(10):
        step = h * np.eye(10)[k]
        slope = (values(FIRST + step, LAST, 0.1) - values(FIRST - step, LAST, 0.1)) / (2 * h)
        np.testing.assert_allclose(found.by_first[:, k], slope, atol=1e-6)
        slope = (values(FIRST, LAST + step, 0.1) - values(FIRST, LAST - step, 0.1)) / (2 * h)
        np.testing.assert_allclose(found.by_last[:, k], slope, atol=1e-6)
    slope = (values(FIRST, LAST, 0.1 + h) - values(FIRST, LAST, 0.1 - h)) / (2 * h)
    np.testing.assert_allclose(by_parameter, slope, atol=1e-6)


def test_an_orbit_stays_as_long_beside_an_equilibrium_whose_rate_changes_until_its_end_moves_by_e_cubed():
    """In the time at the end it goes from the distance where it begins to one, at any rate."""
    problem = conditions(paces=[(2.0, 4.0), (1.0, 10.0)], distances=(1e-4, 1e-3)).problem
    at = lambda k, rate: problem.stay(k, np.diag([rate, -rate]))
    assert at(0, 2.0) == pytest.approx((1e-4, 4.0))
    assert at(1, 1.02) == pytest.approx((1e-3**1.02, 10.0), rel=3e-4)
    for k, rate in ((0, 0.5), (0, 9.0), (1, 0.2), (1, 2.0)):
        distance, time = at(k, rate)
        before = ((2.0, 4.0, 1e-4), (1.0, 10.0, 1e-3))[k]
        assert distance * np.exp(rate * (time - before[1] - np.log(before[2]) / before[0])) == pytest.approx(1.0)
    assert at(1, 1e3)[0] == pytest.approx(1e-3 * np.exp(-3))
    pair = np.array([[-0.3, 2.0], [-2.0, -0.3]])
    assert [mean_rate(J, stable=True) for J in (pair, np.diag([-0.3, 1.0]))] == pytest.approx([0.3, 0.3])


def test_a_path_is_folded_where_it_has_moved_half_of_its_way_squared_and_unfolded_again():
    """At a constant speed, three times as fast after a time of 9, half of the integral is at a time of 9.5."""
    times = np.linspace(0.0, 11.0, 221)
    states = np.column_stack([np.where(times < 9, times, 3 * times - 18), 2.0 + 0 * times])
    found = folded(times, states, 30)
    assert found.durations == pytest.approx([9.5, 1.5], abs=0.06)
    assert found.middle == pytest.approx([10.5, 2.0], abs=0.2)
    rows = found.rows(found.mesh, 0.7)
    assert rows.shape == (31, 8)
    assert np.all(rows[:, 4:] == [0.0, 0.7, *found.durations])
    later, along = unfolded(found.mesh, rows, 2)
    assert (later[0], later[-1]) == pytest.approx((0.0, 11.0))
    assert len(later) == 61
    assert np.all(np.diff(later) > 0)
    np.testing.assert_allclose(along[:, 0], np.where(later < 9, later, 3 * later - 18), atol=0.02)


def test_conditions_without_an_equilibrium_or_with_other_subspaces_are_not_numbers():
    ends = conditions()
    ends._field = SimpleNamespace(at=lambda t, y, p: (np.full(4, np.nan), np.zeros((4, 5))))  # pyright: ignore
    found, by_parameter = ends.at(FIRST, LAST, 0.1)
    assert np.all(np.isnan(found.values))
    assert np.all(np.isnan(by_parameter))
    assert not np.any(found.by_first)
    assert not np.any(found.by_last)
    ends = conditions()
    ends.problem.rows = [np.eye(3)[:1], np.eye(3)[:2]]
    assert np.all(np.isnan(ends.at(FIRST, LAST, 0.1)[0].values))


def test_equilibria_that_are_known_are_searched_from_where_they_were():
    ends = conditions()
    near = REST + 1e-3
    ends.problem.equilibria = [near, near]
    far = np.append(np.full(6, 1e3), [0.0, 0.2, 7.0, 5.0])
    assert np.all(np.isfinite(ends.at(far, far, 0.1)[0].values))
    np.testing.assert_allclose(ends.equilibrium(near, 0.2), equilibrium_near(lambda x: ends.linear(x, 0.2, 0.0), near))
    ends._field = SimpleNamespace(at=lambda t, y, p: (np.full(4, np.nan), np.zeros((4, 5))))  # pyright: ignore
    assert ends.equilibrium(near, 0.2) is near


def test_an_orbit_is_prolonged_by_the_linear_flow_within_the_subspaces():
    """Rates 2 and -3 at the first, 1 and -5 at the last equilibrium: factors 4 and 32 take ln 4 / 2 and ln 32 / 5."""
    J = [np.array([[2.0, 0.0], [0.0, -3.0]]), np.array([[1.0, 0.0], [0.0, -5.0]])]
    rests = [np.zeros(2), np.array([1.0, 0.0])]
    times, states = np.array([0.0, 1.0, 3.0]), np.array([[0.04, 0.001], [0.5, 0.5], [1.001, 0.32]])
    later, found = prolonged(times, states, rests, J, np.array([4.0, 32.0]))
    before, after = np.log(4) / 2, np.log(32) / 5
    assert later[[0, -1]] == pytest.approx([0.0, before + 3.0 + after])
    assert np.all(np.diff(later) > 0)
    assert found[0].tolist() == pytest.approx([0.01, 0.0])
    assert found[-1].tolist() == pytest.approx([1.0, 0.01])
    k = int(np.flatnonzero(np.isclose(later, before))[0])
    np.testing.assert_allclose(found[k : k + 3], states)
    np.testing.assert_allclose(found[:k, 0], 0.04 * np.exp(2 * (later[:k] - before)))
    np.testing.assert_allclose(found[k + 3 :, 1], 0.32 * np.exp(-5 * (later[k + 3 :] - before - 3)))
    for factors in ([1.0, 32.0], [4.0, 1.0]):
        part = prolonged(times, states, rests, J, np.array(factors))[1]
        assert len(part) == 3 + (len(found) - 3) // 2
    same = prolonged(times, states, rests, J, np.ones(2))
    assert same[0] is times


def test_the_linear_flow_turns_within_its_subspace():
    J = np.array([[-0.1, 2.0, 0.0], [-2.0, -0.1, 0.0], [0.0, 0.0, 1.0]])
    rest, state = np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 3.7])
    found = _linear(J, rest, state, np.array([0.0, 0.4]), stable=True)
    np.testing.assert_allclose(found[0], [1.5, 2.0, 3.0], atol=1e-12)
    decay = np.exp(-0.04)
    np.testing.assert_allclose(found[1], rest + 0.5 * decay * np.array([np.cos(0.8), -np.sin(0.8), 0.0]), atol=1e-12)
    np.testing.assert_allclose(_linear(J, rest, state, np.array([0.4]), stable=False)[0],
                               rest + [0, 0, 0.7 * np.exp(0.4)], atol=1e-12)  # fmt: skip


class Field(CycleField):
    at: Any = None


def follow(begin, end, distance=1e-3, size=1.0, rates=(1.0, -1.0)):
    """X' = rate x (1 - x^2) between -1, 0 and 1, beside y' = rate y, in units of a size."""

    def at(t, x, p):
        u, v = x / size
        f = size * np.array([rates[0] * (u - u**3), rates[1] * v])
        return f, np.array([[rates[0] * (1 - 3 * u**2), 0.0, 0.0], [0.0, rates[1], 0.0]])

    field: Any = object.__new__(Field)
    field.at = at
    return _paths_along(field, size * np.array(begin), size * np.array(end), distance)[0]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("size", [1.0, 1e-8, 1e8])
def test_the_unstable_direction_leads_to_the_equilibrium_on_its_side(side, size):
    times, states = follow([0.0, 0.0], [side, 0.0], 1e-2, size)
    states = states / size
    assert states[0].tolist() == pytest.approx([0.01 * side, 0.0], rel=1e-6)
    assert abs(states[-1, 0] - side) < 1e-6
    exact = 1 / np.sqrt(1 + (1e4 - 1) * np.exp(-2 * times))
    np.testing.assert_allclose(side * states[:, 0], exact, atol=1e-5)
    assert follow([0.0, 0.0], [side, 0.0], 1e-9)[1][0, 0] == pytest.approx(1e-3 * side)  # at the least


def test_a_path_that_leads_elsewhere_or_not_along_one_direction_is_refused():
    for begin, end, rates, sentence in (
        ([0.0, 0.0], [0.0, 0.0], (1.0, 2.0), "they have 2 and 0"),
        ([0.0, 0.0], [0.0, 0.0], (-1.0, -2.0), "they have 0 and 2"),
        ([0.0, 0.0], [1.0, 0.0], (-1.0, -2.0), "`begin` must be approached along the stable direction of `end`"),
        ([0.0, 0.0], [0.0, 0.0], (1.0, -1.0), "is not: try"), ([0.0, 0.0], [0.0, 1.0], (1.0, -1.0), "is not: try"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=sentence):
            follow(begin, end, rates=rates)


def test_the_stable_direction_leads_backwards_to_where_there_are_two_unstable_ones():
    times, states = follow([0.0, 0.0], [1.0, 0.0], rates=(1.0, 2.0))
    assert np.all(np.diff(times) > 0)
    assert np.linalg.norm(states[0]) < 1e-6
    assert states[-1].tolist() == pytest.approx([0.999, 0.0])


def test_a_path_returns_once_for_each_excursion():
    """It comes near three times in the first one, nearest at 6, as a spiral does, and once in the second one."""
    gaps = np.array([0.0, 5.0, 9.0, 2.0, 2.5, 1.0, 0.5, 3.0, 8.0, 1.5, 4.0, 3.9])
    assert _returns(gaps) == [6, 9]
    assert _returns(np.array([0.0, 5.0, 4.0, 5.0, 6.0])) == []


def test_a_norm_is_monotone_on_spirals_and_zero_across_their_plane():
    """Its square has the derivative x^T (P J + J^T P) x. The Euclidean one of this spiral oscillates."""
    turned = np.linalg.qr(np.array([[1.0, 0.3, 0.2], [0.0, 1.0, 0.5], [0.4, 0.0, 1.0]]))[0]
    J = turned @ np.array([[-0.1, 3.0, 0.4], [-0.5, -0.1, 0.3], [0.0, 0.0, 2.0]]) @ turned.T
    P, plane, away = monotone_norm(J, stable=True), turned[:, :2], turned[:, 2]
    assert np.max(np.linalg.eigvalsh(plane.T @ (P @ J + J.T @ P) @ plane)) < 0
    assert np.max(np.linalg.eigvalsh(plane.T @ (J + J.T) @ plane)) > 0
    assert np.trace(P) == pytest.approx(2.0)
    np.testing.assert_allclose(P @ away, 0.0, atol=1e-14)
    grows = monotone_norm(J, stable=False)
    way = np.linalg.eig(J)[1][:, np.argmax(np.linalg.eigvals(J).real)].real
    np.testing.assert_allclose([lengths(way, grows), lengths(3 * way, grows)], [1.0, 3.0])
    np.testing.assert_allclose(lengths(np.array([2 * plane[:, 0], away]), np.eye(3)), [2.0, 1.0])
    assert not np.any(monotone_norm(-np.eye(2), stable=False))


@pytest.mark.parametrize(
    ("times", "shape"),
    [([0.0, 2.0, 1.0], (3, 2)), ([0.0, 1.0, 1.0], (3, 2)), ([0.0, 1.0], (3, 2)), ([0.0, 1.0, 2.0], (3, 1))],
)
def test_a_guess_has_increasing_times_and_a_state_for_each(times, shape):
    flow = FunctionFlow(lambda t, x, a: a * x, parameters={"a": 1.0})
    with pytest.raises(ArgumentError, match="`guess` must be increasing times and an array .times, 2., but has shapes"):
        connecting_orbit(Parameter(flow, "a", 0.0, 2.0), [0.0, 0.0], [1.0, 0.0], guess=(times, np.zeros(shape)))


def folds_at(t, y, parameter):
    """A fold of x' = p + q/2 - x^2 + ... at x = 0.3 q, beside a stable and an unstable direction that turn."""
    shape, y = np.shape(y), np.atleast_2d(y)
    parameter = np.broadcast_to(parameter, shape[:-1])
    f, J = np.zeros(y.shape), np.zeros((*y.shape, y.shape[-1] + 1))
    for k, ((x, u, v, p), q) in enumerate(zip(y, np.atleast_1d(parameter), strict=True)):
        away = x - 0.3 * q
        f[k, :3] = p + q / 2 - away**2, -2 * u + q * x, 3 * v + 0.5 * x * p
        J[k, :3] = [
            [-2 * away, 0, 0, 1, 0.5 + 0.6 * away],
            [q, -2, 0, 0, x],
            [0.5 * p, 0, 3, 0.5 * x, 0],
        ]
    return f.reshape(shape), J.reshape(*shape, -1)


@pytest.mark.parametrize("side", [None, 0, 1])
def test_conditions_at_a_saddle_node_are_differentiated_by_all_that_they_depend_on(side):
    """The fold is at p = -q / 2: its distance from (p, q) is (p + q / 2) / sqrt(1.25)."""
    problem = object.__new__(SaddleNodeConnection)
    problem.place = SaddleNode(np.array([0.1, 0.0, 0.0]), -0.2, 0.4, np.array([1.0, 0.0]))
    problem.durations, problem.side, problem.rows, problem.beside = np.array([6.0, 9.0]), side, None, None
    ends = object.__new__(SaddleNodeProjections)
    ends.problem, ends.n, ends._field = problem, 3, SimpleNamespace(at=folds_at)  # pyright: ignore
    own = [0.5, -0.18] if side is None else [0.5, -0.18, 0.4]
    first = np.concatenate([[0.2, 0.1, 0.05], [0.05, 0.12, -0.04], own, [7.0, 5.0]])
    last = np.concatenate([[1.0, 2.0, 3.0], [1.1, 2.2, 3.3], own, [7.0, 5.0]])
    place = ends.saddle_node(-0.18, 0.4)
    assert place is not None
    assert place.first + place.second / 2 == pytest.approx(0.0, abs=1e-9)
    assert place.state == pytest.approx([0.3 * place.second, 0.15 * place.second**2, 0.025 * place.second**2], abs=1e-8)
    ends.at(first, last, 0.4)  # finds the direction across the curve of folds
    found, by_parameter = ends.at(first, last, 0.4)
    counts = [len(rows) for rows in problem.rows]
    assert counts == {None: [1, 1], 0: [2, 1], 1: [1, 2]}[side]
    m = sum(counts)
    assert found.values[m : m + 6] == pytest.approx([-0.1, -0.2, -0.3, 0.5, 0.5, 0.02 / 1.25**0.5])
    assert found.values[m + 6 :] == pytest.approx(np.log([7 / 6, 5 / 9]))
    values = lambda first, last, q: ends.at(first, last, q)[0].values
    for k, step in enumerate(1e-5 * np.eye(len(first))):
        slope = (values(first + step, last, 0.4) - values(first - step, last, 0.4)) / 2e-5
        np.testing.assert_allclose(found.by_first[:, k], slope, atol=1e-5)
        slope = (values(first, last + step, 0.4) - values(first, last - step, 0.4)) / 2e-5
        np.testing.assert_allclose(found.by_last[:, k], slope, atol=1e-5)
    slope = (values(first, last, 0.4 + 1e-5) - values(first, last, 0.4 - 1e-5)) / 2e-5
    np.testing.assert_allclose(by_parameter, slope, atol=1e-5)
    assert np.sign(ends.along_centre(np.concatenate([first[:6], own, [7.0, 5.0]]), 0.4)).prod() == -1

"""Conditions at both ends of connecting orbits, and the paths from which these are found, on fields in NumPy."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.dynamics.boundary_values.connecting import (
    _linear,
    _paths_along,
    _prolonged,
    _returns,
    connecting_orbit,
)
from analysis.dynamics.boundary_values.projections import (
    Connection,
    _Projections,
    equilibrium_near,
    left_subspace,
    lengths,
    mean_rate,
    monotone_norm,
    nearest_basis,
)
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


STILL = (1.0, 0.0), (1.0, 0.0)


def conditions(duration=None, distances=(0.1, 0.3), paces=STILL):
    problem = object.__new__(Connection)
    problem.distances, problem.equilibria, problem.rows, problem.ways = distances, None, None, {}
    problem.paces, problem.timed = paces, None
    problem.duration = duration
    found = object.__new__(_Projections)
    found.problem, found.n, found._field = problem, 3, SimpleNamespace(at=field_at)  # pyright: ignore
    return found


def linear_at(x):
    f, J = field_at(0, np.append(x, 0.2), 0.1)
    return f[:3], J[:3, :3]


REST = equilibrium_near(linear_at, np.zeros(3))
WAY = np.linalg.svd(left_subspace(linear_at(REST)[1], stable=True))[2][-1]
FIRST = np.append(REST + 0.12 * WAY, [0.2, 7.0])  # in the unstable direction, which turns without a change of length
LAST = np.append(REST + np.array([0.03, 0.2, 0.1]), [0.2, 7.0])


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


PACES = (1.1, 3.0), (0.4, 2.0)


@pytest.mark.parametrize(("duration", "paces", "timed"), [
    (None, STILL, None), (5.0, STILL, None), (None, PACES, None), (5.0, PACES, 0), (5.0, PACES, 1),
])  # fmt: skip
def test_the_conditions_of_a_connection_are_differentiated_by_all_that_they_depend_on(duration, paces, timed):
    ends = conditions(duration, paces=paces)
    ends.problem.timed = timed
    found, by_parameter = ends.at(FIRST, LAST, 0.1)
    rows, ways = ends.problem.rows, dict(ends.problem.ways)

    def values(first, last, parameter):
        ends.problem.rows, ends.problem.ways = rows, dict(ways)
        return ends.at(first, last, parameter)[0].values

    J = linear_at(REST)[1]
    unstable, away = left_subspace(J, stable=False), LAST[:3] - REST
    assert np.linalg.norm(found.values[:2]) == pytest.approx(0.0, abs=1e-14)
    assert abs(found.values[2]) == pytest.approx(abs((unstable @ away)[0]))
    if paces is STILL:
        assert found.values[3] == pytest.approx(0.02)
        last = np.log(lengths(away, monotone_norm(J, stable=True)) / 0.3) if duration is None else 7.0 / 5 - 1
        assert found.values[4] == pytest.approx(last)
    else:
        assert found.values[4 if timed is None else 3 + timed] != 0
    h = 1e-6
    for k in range(5):
        step = h * np.eye(5)[k]
        slope = (values(FIRST + step, LAST, 0.1) - values(FIRST - step, LAST, 0.1)) / (2 * h)
        np.testing.assert_allclose(found.by_first[:, k], slope, atol=1e-6)
        slope = (values(FIRST, LAST + step, 0.1) - values(FIRST, LAST - step, 0.1)) / (2 * h)
        np.testing.assert_allclose(found.by_last[:, k], slope, atol=1e-6)
    slope = (values(FIRST, LAST, 0.1 + h) - values(FIRST, LAST, 0.1 - h)) / (2 * h)
    np.testing.assert_allclose(by_parameter, slope, atol=1e-6)


def test_an_orbit_stays_as_long_beside_an_equilibrium_whose_rate_changes_until_its_end_moves_by_e_cubed():
    """In the time at the end it goes from the distance where it begins to the same one, at any rate."""
    problem = conditions(5.0, paces=((2.0, 4.0), (1.0, 10.0))).problem
    at = lambda k, rate: problem.stay(k, np.diag([rate, -rate]))
    assert at(0, 2.0) == pytest.approx((0.1, 4.0))
    assert at(1, 1.02) == pytest.approx((0.3 * np.exp(-0.2), 10.0), rel=3e-4)
    for k, rate in ((0, 0.5), (0, 9.0), (1, 0.2), (1, 2.0)):
        distance, time = at(k, rate)
        assert distance * np.exp(rate * time) == pytest.approx((0.1 * np.exp(8), 0.3 * np.exp(10))[k])
    assert at(1, 1e3)[0] == pytest.approx(0.3 * np.exp(-3))
    assert problem.total([np.diag([2.0, -2.0]), np.diag([3.0, -3.0])]) == pytest.approx(5 + at(1, 3.0)[1] - 10)
    pair = np.array([[-0.3, 2.0], [-2.0, -0.3]])
    assert [mean_rate(J, stable=True) for J in (pair, np.diag([-0.3, 1.0]))] == pytest.approx([0.3, 0.3])


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
    far = np.append(np.full(3, 1e3), [0.2, 7.0])
    assert np.all(np.isfinite(ends.at(far, far, 0.1)[0].values))
    np.testing.assert_allclose(ends.equilibrium(near, 0.2), equilibrium_near(lambda x: ends.linear(x, 0.2, 0.0), near))
    ends._field = SimpleNamespace(at=lambda t, y, p: (np.full(4, np.nan), np.zeros((4, 5))))  # pyright: ignore
    assert ends.equilibrium(near, 0.2) is near


def test_an_orbit_is_prolonged_by_the_linear_flow_within_the_subspaces():
    """Rates 2 and -3 at the first, 1 and -5 at the last equilibrium: factors 4 and 32 take ln 4 / 2 and ln 32 / 5."""
    J = [np.array([[2.0, 0.0], [0.0, -3.0]]), np.array([[1.0, 0.0], [0.0, -5.0]])]
    rests = [np.zeros(2), np.array([1.0, 0.0])]
    times, states = np.array([0.0, 1.0, 3.0]), np.array([[0.04, 0.001], [0.5, 0.5], [1.001, 0.32]])
    later, found = _prolonged(times, states, rests, J, np.array([4.0, 32.0]))
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
        part = _prolonged(times, states, rests, J, np.array(factors))[1]
        assert len(part) == 3 + (len(found) - 3) // 2
    same = _prolonged(times, states, rests, J, np.ones(2))
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

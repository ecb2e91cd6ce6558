"""What a sampled trajectory is taken for: recurrences, least periods, drifts and unstable limits, on given rows."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import classification
from analysis.dynamics.attractors.classification import (
    CLOSE,
    TrajectoryRecord,
    _ahead,
    _closed,
    _cycle,
    _drifts,
    _is_lost,
    _judged,
    _least_period,
    _on_limit,
    _periodic_points,
    _recurrence,
    _recurs,
    _relative_equilibrium,
    _sliding_rest,
    _trends,
)
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from dynsim import FunctionFlow, FunctionMap
from dynsim.programs import without_compiling

FLOW = FunctionFlow(lambda t, x: -x)
LOGISTIC = FunctionMap(lambda k, x: 3.2 * x * (1 - x))


def record(states, system=FLOW, extent=None, interval=1, **options):
    rows = np.asarray(states, float)
    time_map = TimeMap(system, jnp.zeros(rows.shape[1]), state_itself, interval, 1e-8, 1e4, None)
    size = np.ones(rows.shape[1]) if extent is None else np.asarray(extent, float)
    return TrajectoryRecord(time_map, rows, rows, size, options.pop("forced", False), 64, (), **options)


def test_a_recurrence_is_the_least_period_of_all_of_the_last_samples():
    cycle = np.tile([[0.0], [1.0], [3.0]], (12, 1))
    assert _recurrence(record(cycle)) == 3
    assert _recurrence(record(np.ones((12, 1)))) == 1
    assert _recurrence(record(np.arange(30.0)[:, None])) == 0
    for row, expected in ((-8, 0), (-11, 0), (-12, 3)):  # the last eight samples count, and those a period before
        moved = cycle.copy()
        moved[row] += 1e-3
        assert _recurrence(record(moved)) == expected
    near = cycle + 3e-6 * (np.arange(36) % 2)[:, None]
    assert _recurrence(record(near)) == 3
    assert _recurrence(record(near, extent=[0.1])) == 6
    rough = cycle + 3e-4 * (np.arange(36) % 2)[:, None]
    assert (_recurrence(record(rough)), _recurrence(record(rough, edge=True))) == (6, 3)
    long = np.tile(np.arange(13.0)[:, None], (3, 1))
    assert (_recurrence(record(long)), _recurrence(record(long[1:]))) == (13, 0)  # three periods have to be there


def test_the_least_period_divides_the_number_of_points():
    at = record(np.zeros((4, 1)))
    points = lambda *rows: np.array(rows, float)[:, None]
    assert _least_period(at, points(0, 1, 0, 1)) == 2
    assert _least_period(at, points(0, 1, 2, 0, 1, 2.5)) == 6
    assert _least_period(at, points(5, 5, 5)) == 1
    assert _least_period(at, points(0, 1, 0 + 0.9e-6, 1)) == 2
    assert _least_period(at, points(0, 1, 1.1e-6, 1)) == 4
    big = 1e6 * points(0, 1, 0, 1) + points(0, 0, 0.009, 0)
    assert _least_period(at, big) == 2  # relative to the largest feature
    assert _least_period(record(np.zeros((4, 1)), extent=[1e-3]), points(0, 1e-3, 5e-9, 1e-3)) == 4


def test_an_unstable_limit_counts_if_the_trajectory_stays_longer_than_errors_allow():
    """After 10 samples elsewhere it stays at 0 for 29 intervals."""
    rows = np.concatenate([np.linspace(1.0, 0.1, 10), np.zeros(30)])[:, None]
    stays = record(rows)
    at = np.zeros((1, 1))
    least = classification.ESCAPE / 30
    assert _on_limit(stays, at, 1.01 * least, 0.0)
    assert not _on_limit(stays, at, 0.99 * least, 0.0)
    assert _on_limit(stays, at, 10.0, 29.0)
    assert not _on_limit(stays, at, 10.0, 30.0)
    assert _on_limit(record(rows, edge=True), at, 0.0, 99.0)
    assert _on_limit(record(rows, interval=2), at, 0.51 * least, 0.0)
    assert _on_limit(record(rows, interval=2), at, 10.0, 58.0)
    assert not _on_limit(record(rows + 2 * CLOSE), at, 10.0, 0.0)
    assert _on_limit(record(np.concatenate([np.ones((9, 1)), np.zeros((3, 1))])), at, classification.ESCAPE, 0.0)


def test_a_state_that_moves_while_its_features_rest_is_a_relative_equilibrium():
    rows = np.stack([np.arange(12.0), np.ones(12)], axis=1)
    turning = record(rows)._replace(features=np.ones((12, 1)), extent=np.ones(1))
    found = _relative_equilibrium(turning)
    assert found is not None
    assert (found.kind, found.stability, np.asarray(found.states).tolist()) == (
        "relative equilibrium",
        "undecided",
        [[11.0, 1.0]],
    )
    assert found.period == 0
    drifting = np.ones((12, 1)) + 1e-5 * np.arange(12.0)[:, None]
    assert _relative_equilibrium(turning._replace(features=drifting)) is None
    for row, stays in ((5, True), (6, False)):  # the later half counts
        late = np.ones((12, 1))
        late[: row + 1] += 1e-5
        assert (_relative_equilibrium(turning._replace(features=late)) is not None) == stays
    wavering = np.ones((12, 1))
    wavering[-2] += 1e-5
    assert _relative_equilibrium(turning._replace(features=wavering)) is None
    still = record(np.ones((12, 2)) + 1e-9 * np.arange(12.0)[:, None])
    assert _relative_equilibrium(still) is None


def test_the_last_sample_is_ahead_of_one_a_period_before():
    """On a circle of which a turn takes 10.25 intervals, the sample ten before is a quarter behind."""
    angle = 2 * np.pi * np.arange(60) / 10.25
    rows = np.stack([5 * np.cos(angle), np.sin(angle)], axis=1)
    assert _ahead(record(rows, extent=[5.0, 1.0]), 10) == pytest.approx(-0.25, abs=0.02)
    assert _ahead(record(rows[:-1], extent=[5.0, 1.0]), 11) == pytest.approx(0.75, abs=0.06)


def test_a_cycle_is_looked_for_at_most_twice_at_the_first_returns(monkeypatch):
    angle = 2 * np.pi * np.arange(64) / 10.25
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    asked: list[float] = []
    answers: list[Any] = [None, None]

    def closed(record, samples):
        asked.append(samples)
        return answers[len(asked) - 1]

    monkeypatch.setattr(classification, "_closed", closed)
    assert _cycle(record(rows)) is None
    assert asked == pytest.approx([10.25, 10.25], abs=0.1)
    asked.clear()
    answers[0] = limit = classification.LimitSet("periodic orbit", "stable", rows, rows, 1.0, np.ones(1))
    assert _cycle(record(rows)) is limit
    assert len(asked) == 1
    asked.clear()
    assert _cycle(record(np.arange(64.0)[:, None])) is None
    assert not asked


def test_an_iterate_is_lost_far_from_the_last_sample_or_from_the_expected_period():
    at = record(np.zeros((3, 1)), extent=[10.0])
    lost = lambda x, ratio: _is_lost(at, np.array([x]), ratio)
    assert [lost(0.99, 1.0), lost(1.01, 1.0), lost(-1.01, 1.0)] == [False, True, True]
    assert [lost(0.0, r) for r in (0.51, 0.49, 1.49, 1.51)] == [False, True, False, True]
    assert lost(np.nan, 1.0)


def judged(points, values, rows=None, period=2.0, **options):
    at = record(np.zeros((40, 1)) if rows is None else rows)
    return _judged(at, np.array(points, float)[:, None], np.asarray(values), period, "periodic orbit", **options)


def test_orbits_near_a_trajectory_are_judged_by_their_multipliers():
    assert judged([0.0, 5.0], [0.5, -0.9]).stability == "stable"
    assert judged([0.02, 5.0], [0.5]) is None  # too far from the last sample
    assert judged([5.0, 0.009], [0.5]) is not None
    assert judged([0.0], []).stability == "undecided"
    assert judged([0.0], [0.5, 1.0 + 1e-7]).stability == "undecided"
    assert judged([0.0], [0.5], stability="told").stability == "told"
    assert judged([0.0], [1e3]).stability == "unstable"  # it stays there for 39 intervals
    assert judged([0.0], [1e3, 0.5]).stability == "saddle"
    leaving = np.concatenate([np.ones(35), np.zeros(5)])[:, None]
    assert judged([0.0], [1e3, 0.5], leaving) is None
    assert judged([0.0], [0.5, 0.2], leaving).stability == "stable"


def cubic(t, x, a, b):
    return a * x + b * x**3


def test_a_state_at_rest_is_an_equilibrium_of_its_type_or_moves_slowly():
    def found(a, b, x, samples=80):
        flow = FunctionFlow(cubic, parameters={"a": a, "b": b})
        return classification._equilibrium(record(np.full((samples, 1), x), flow))

    with without_compiling():
        unstable, slow = found(1.0, -1.0, 0.0), found(1.0, -1.0, 0.0, 40)  # it stays there for 79 or 39 intervals
        stable, degenerate, creeping = found(-1.0, 0.0, 0.0), found(0.0, -1.0, 0.0), found(0.0, -1.0, 1e-3)
    assert [one.stability for one in (unstable, stable, degenerate)] == ["unstable", "stable", "undecided"]
    assert [one.values.tolist() for one in (unstable, stable)] == [[1.0], [-1.0]]
    assert (slow.rate, creeping.rate) == pytest.approx((1.0, 1e-9))


def test_the_orbit_of_a_forced_flow_has_its_least_period_and_is_open_if_none_is_found():
    """The solution of x' = cos(2 pi t) - x that is periodic is 1 / (1 + 4 pi^2) at integer times."""
    x, flow = 1 / (1 + 4 * np.pi**2), FunctionFlow(lambda t, x: jnp.cos(2 * jnp.pi * t) - x)
    at = record(np.full((20, 1), x), flow, forced=True)
    with without_compiling():
        for period in (1, 2):
            found = _periodic_points(at, period)
            assert (found.kind, found.stability, found.period) == ("periodic orbit", "stable", 1.0)
            assert found.values == pytest.approx([np.exp(-1)])
            assert np.asarray(found.states) == pytest.approx(np.array([[x]]))
        drift = record(np.full((20, 1), x), FunctionFlow(lambda t, x: 1 + 0 * x), forced=True)
        found = _periodic_points(drift, 2)
    assert (found.stability, found.period, np.asarray(found.states).tolist()) == ("undecided", 2.0, [[x], [x]])


def test_periodic_points_of_a_map_have_their_least_period(monkeypatch):
    """The orbit of period 2 of 3.2 x (1 - x), of which the multiplier is 4 + 2 * 3.2 - 3.2^2, is found as one of 4."""
    r = 3.2
    roots = np.sort(((r + 1) + np.array([1, -1]) * np.sqrt((r - 3) * (r + 1))) / (2 * r))
    rows = np.tile(roots, 20)[:, None]
    at = record(rows, LOGISTIC)
    found = _periodic_points(at, 4)
    assert (found.kind, found.stability, found.period) == ("periodic orbit", "stable", 2.0)
    assert np.sort(np.asarray(found.states)[:, 0]) == pytest.approx(roots, abs=1e-12)
    assert found.values[0] == pytest.approx(4 + 2 * r - r**2)
    fixed = FunctionMap(lambda k, x: x / 2)
    one = _periodic_points(record(np.zeros((20, 1)), fixed), 1)
    assert (one.kind, one.period) == ("fixed point", 1.0)
    nowhere = lambda *given: (np.full((2, 1), np.nan), np.zeros(1), 0)
    monkeypatch.setattr(classification, "periodic_points", nowhere)
    found = _periodic_points(record(rows, LOGISTIC), 2)
    assert (found.stability, found.period) == ("undecided", 2.0)
    np.testing.assert_array_equal(np.asarray(found.states), rows[-2:])


def test_the_period_of_a_cycle_is_its_least_one(monkeypatch):
    """The orbit of the unit circle is found with three turns, and then again with one of them."""
    asked = []

    def polished(record, duration, segments, shift, *, forced):
        asked.append((duration, segments, forced))
        return SimpleNamespace(period=duration, multipliers=np.array([0.5]), stability="stable")

    circle = lambda ts: np.stack([np.cos(np.pi * ts), np.sin(np.pi * ts)], axis=1)  # a turn takes 2
    monkeypatch.setattr(classification, "_polished", polished)
    monkeypatch.setattr(classification, "_path", lambda record, orbit: circle)
    at = record(circle(np.arange(64) / 4), interval=1)
    found = _closed(at, 6.0)
    assert asked == [(6.0, 1, False), (2.0, 1, False)]
    assert (found.period, found.stability) == (2.0, "stable")
    points = np.asarray(found.states)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
    gaps = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert found.spacing == pytest.approx(np.max(gaps) / 2)
    asked.clear()
    monkeypatch.setattr(classification, "_polished", lambda *given, **options: None)
    assert _closed(at, 6.0) is None


def test_states_at_rest_on_a_surface_are_an_equilibrium_or_a_curve(monkeypatch):
    at = record([[9.0, 9.0], [8.0, 8.0], [7.0, 7.0]], extent=[2.0, 1.0])
    assert _sliding_rest(at) is None  # the field does not jump
    field = SimpleNamespace(time_map=None)
    time_map: Any = SimpleNamespace(switched=field, features_of=lambda rows: rows)
    monkeypatch.setattr(classification, "entry_extents", lambda *given: np.ones(2))
    monkeypatch.setattr(classification, "states_of", lambda time_map, rows: rows)
    found: list[Any] = [None, None]
    places = []
    monkeypatch.setattr(classification, "rest_by_sliding", lambda *given: places.append(given[2].tolist()) or found[0])
    monkeypatch.setattr(classification, "rest_in_corner", lambda *given: found[1])
    at = at._replace(time_map=time_map)
    assert _sliding_rest(at) is None
    found[1] = np.zeros((1, 2)), "stable", np.array([-1.0])
    one = _sliding_rest(at)
    assert (one.kind, one.stability, one.spacing) == ("equilibrium", "stable", 0.0)
    found[0] = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 2.0]]), "stable", np.array([-1.0])
    one = _sliding_rest(at)
    assert places == [[7.0, 7.0]] * 3
    assert one.kind == classification.CURVE
    assert one.spacing == pytest.approx(np.hypot(1.5, 2.0) / 2)


def test_drifts_are_growth_or_fall_throughout_and_not_oscillations():
    t = np.arange(840.0)
    turn = np.cos(2 * np.pi * t / 37)
    for sign in (1.0, -1.0):
        assert _drifts(np.stack([turn, sign * t / 840], axis=1))
        assert _drifts(np.stack([(1 + sign * 0.5 * t / 840) * turn], axis=1))  # of the spread
    assert not _drifts(turn[:, None])
    assert not _drifts((turn + 1e-4 * t / 840)[:, None])
    assert not _drifts(np.where(t < 500, t, 500.0)[:, None] / 840)  # it has come to rest
    signs = _trends(np.stack([t / 840, -t / 840, turn], axis=1), 6)
    assert signs[0].tolist() == [1, -1, 0]
    assert _trends((t / 840)[:, None], 11)[0].tolist() == [1]  # the first samples that fill no block are left out


def test_a_flow_at_rest_is_an_equilibrium_or_else_a_cycle_and_maps_recur(monkeypatch):
    answers: dict[str, Any] = {"_equilibrium": None, "_cycle": None}
    asked = []
    for name in answers:
        monkeypatch.setattr(classification, name, lambda record, name=name: asked.append(name) or answers[name])
    rest = classification.LimitSet("equilibrium", "stable", np.zeros((1, 1)), np.zeros((1, 1)), 0.0, np.ones(1))
    cycle, slow = rest._replace(kind="periodic orbit"), classification.Slow(0.5)
    still = record(np.array([[5.0], [1.0], [1.0 + 0.9e-3]]))
    moving = record(np.array([[1.0], [1.0], [1.0 + 1.1e-3]]))
    answers.update(_equilibrium=rest, _cycle=cycle)
    assert (classification._limit(still), asked) == (rest, ["_equilibrium"])
    assert (classification._limit(moving), asked[1:]) == (cycle, ["_cycle"])
    answers.update(_equilibrium=slow)
    assert classification._limit(still) is cycle
    answers.update(_cycle=None)
    assert classification._limit(still) is slow
    assert classification._limit(moving) is None
    monkeypatch.setattr(classification, "_periodic_points", lambda record, period: f"period {period}")
    assert classification._limit(record(np.tile([[0.0], [1.0]], (9, 1)), LOGISTIC)) == "period 2"
    assert classification._limit(record(np.arange(18.0)[:, None], LOGISTIC)) is None
    assert classification._limit(record(np.ones((9, 1)), forced=True)) == "period 1"


def test_equilibria_that_are_not_isolated_are_a_curve_or_a_surface(monkeypatch):
    """The curve is looked for up to an extent to each side, and up to half a period of an angle."""
    rows = np.array([[0.0, 0.0, 0.0]])
    at = record(np.zeros((3, 3)), extent=[2.0, 3.0, 4.0])
    family: Any = SimpleNamespace(end="edge", part=lambda flat, sizes: ("stable", points[0]))
    points, sizes = [np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 3.0, 0.0]])], []

    def through(units, x, size, *, inside):
        sizes.append((np.asarray(size).tolist(), inside(np.array([2.0, 3.0, 4.0])), inside(np.array([0.0, 3.1, 0.0]))))
        return family

    monkeypatch.setattr(classification, "family_through", through)
    monkeypatch.setattr(classification, "entry_extents", lambda *given: (2.0, 3.0, 4.0))
    monkeypatch.setattr(classification, "can_walk", lambda time_map: True)
    curve: Any = getattr(classification._curve, "__wrapped__", classification._curve)
    find = lambda: curve(at, None, rows[0], np.array([-1.0]))
    found = find()
    assert (found.kind, found.stability, len(found.features)) == (classification.CURVE, "stable", 3)
    assert found.spacing == pytest.approx(0.5)  # half of the larger gap, relative to the extent
    assert sizes == [([2.0, 3.0, 4.0], True, False)]
    points[0] = rows
    assert find() is None
    family.end = "surface"
    assert (find().kind, find().spacing) == (classification.SURFACE, 0.0)
    monkeypatch.setattr(classification, "can_walk", lambda time_map: False)
    assert find() is None
    family.part = lambda flat, sizes: ("undecided", np.zeros((3, 3)))
    assert find() is None
    monkeypatch.setattr(classification, "periods_of", lambda time_map: [(1, 8.0)])
    find()
    assert sizes[-1][0] == [2.0, 4.0, 4.0]
    family = None
    assert find() is None


def test_a_growth_rate_is_that_of_the_linearisation_if_it_is_the_real_part_of_an_eigenvalue(monkeypatch):
    monkeypatch.setattr(
        classification, "spectrum", lambda flow, z: SimpleNamespace(values=np.array([-3.0, 2.0 + 5.0j]))
    )
    units: Any = SimpleNamespace(system=None, time=0.5)
    linear: Any = getattr(classification._is_linear, "__wrapped__", classification._is_linear)
    is_linear = lambda rate: linear(units, np.zeros(1), rate)
    assert [is_linear(rate) for rate in (4.0, -6.0, 10.0, 2.0)] == [True, True, False, False]
    assert [is_linear(4.0 * (1 + share)) for share in (1.4e-6, 1.6e-6)] == [True, False]


def test_a_gap_counts_as_none_relative_to_one_and_the_states():
    at = record(np.array([[0.0, -9.0], [3.0, 4.0]]))
    recurs = lambda *gap: _recurs(at, np.array(gap))
    assert [recurs(0.99e-8, 0.0), recurs(0.0, -1.01e-8), recurs(0.0, 0.0)] == [True, False, True]
    assert not _recurs(record(np.zeros((2, 1))), np.array([1.01e-9]))

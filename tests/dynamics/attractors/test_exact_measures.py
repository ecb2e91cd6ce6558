"""Measures of sets and of volumes by closed forms, with unequal samples, extents and components."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import options
from analysis.dynamics.attractors.classification import TrajectoryRecord, recurrent_set
from analysis.dynamics.attractors.curves import polygon_error, resolution, spread_along
from analysis.dynamics.attractors.distances import (
    Followed,
    VolumeGrowth,
    extent_of_paths,
    match,
    one_curve,
    relabelled,
    same_limit,
    volume_growth,
)
from analysis.dynamics.attractors.fractions import _curves, _fractions
from analysis.dynamics.attractors.limit_set import CURVE, LimitSet
from analysis.dynamics.attractors.options import Search, set_up
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from dynsim import FunctionFlow, FunctionMap


def limit(points, kind="recurrent set", stability="stable", period=math.nan, **others):
    points = np.asarray(points, float)
    return LimitSet(kind, stability, points, points, period, np.empty(0, complex), **others)


def record_of(system, states, sizes=None):
    scaled = None if sizes is None else jnp.asarray(sizes)
    time_map = TimeMap(system, jnp.zeros(states.shape[1]), state_itself, 1, 1e-8, 1e4, scaled)
    return TrajectoryRecord(time_map, states, states, np.ptp(states, axis=0), False, 64, ())


def test_the_growth_of_volumes_is_the_mean_of_its_blocks_with_their_error():
    """The derivative of (x^2, 2 y) has the determinant 4 x; the field (-x^2, 3 x y + y) has the divergence x + 1."""
    x = 1.5 + np.sin(np.arange(64.0) ** 2)
    rows = np.stack([x, np.cos(np.arange(64.0))], axis=1)
    squares = FunctionMap(lambda k, x: jnp.stack([x[0] ** 2, 2 * x[1]]))
    flow = FunctionFlow(lambda t, x: jnp.stack([-(x[0] ** 2), 3 * x[0] * x[1] + x[1]]))
    for system, growth in ((squares, np.log(4 * x)), (flow, x + 1)):
        found = volume_growth(record_of(system, rows))
        blocks = growth.reshape(8, 8).mean(axis=1)
        assert found.mean == pytest.approx(growth.mean())
        assert found.error == pytest.approx(np.std(blocks, ddof=1) / np.sqrt(8))
    J = np.array([[[-2 * a, 0.0], [3 * b / 4, 3 * a + 1]] for a, b in rows])  # in units of which the second is 4
    sized = volume_growth(record_of(flow, rows, [1.0, 4.0]))
    assert sized.size == pytest.approx(np.mean(np.linalg.norm(J, axis=(1, 2))))
    assert volume_growth(record_of(squares, rows)).size == 1.0
    few = volume_growth(record_of(flow, rows), few=32)
    assert few.mean == pytest.approx((x[::2] + 1).mean())
    rows[5, 0] = 0.0
    assert volume_growth(record_of(squares, rows))[:2] == (-np.inf, 0.0)


def test_volumes_that_shrink_by_less_than_three_foldings_shrink_briefly():
    shrinking = VolumeGrowth(-0.5, 0.01, 1.0)
    assert [shrinking.is_brief(duration) for duration in (5.9, 6.1)] == [True, False]
    assert not VolumeGrowth(0.5, 0.01, 1.0).is_brief(1.0)
    assert not VolumeGrowth(-0.5, 0.2, 1.0).is_brief(1.0)


def test_the_spacing_of_a_recurrent_set_is_the_larger_one_of_both_halves():
    """Early points are spread evenly, and late ones are denser at one end."""
    golden = np.mod(0.6180339887498949 * np.arange(1000), 1.0)
    early, late = golden[:500], golden[500:] ** 2
    for states in (np.append(early, late), np.append(late, early)):
        record = record_of(FunctionMap(lambda k, x: x), np.stack([states, 0 * states], axis=1))
        found = recurrent_set(record._replace(extent=np.array([2.0, 1.0])))
        gaps = [
            np.quantile(np.min(np.abs(one[:, None] - other), axis=1), 0.9) / 2
            for one, other in ((early, late), (late, early))
        ]
        assert max(gaps) > 1.2 * min(gaps)
        assert found is not None
        assert found.spacing == pytest.approx(max(gaps))


def test_the_error_of_a_polygon_is_that_of_its_worst_corner():
    square = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]])
    far = 8 / np.hypot(4, 2)  # of each corner from the diagonal through its neighbours
    assert polygon_error(square) == pytest.approx(far / 4)
    kite = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0], [0.0, 1.0]])
    assert polygon_error(kite) == pytest.approx(np.hypot(8.5, 8.5) / 4)
    cycle = limit(square, "periodic orbit", period=2.0, spacing=0.5)
    assert resolution(cycle, np.array([4.0, 2.0])) == pytest.approx(np.sqrt(0.5) / 4)
    assert resolution(limit(square, spacing=0.125), np.array([4.0, 2.0])) == 0.125


def test_points_are_spread_by_time_length_and_bend():
    """On a straight way of uneven speed, lengths count half and bends not at all; on an even circle all agree."""
    ring = lambda ts: np.stack([np.cos(ts), np.sin(ts)], axis=1)
    np.testing.assert_allclose(spread_along(ring, 2 * np.pi, 400, 8), np.arange(8) * np.pi / 4, atol=1e-6)
    quick = lambda ts: np.stack([np.cos(a := ts - 0.9 * np.sin(ts)), np.sin(a)], axis=1)
    times = spread_along(quick, 2 * np.pi, 2000, 100)
    speed = 1 - 0.9 * np.cos(times)
    density = 0.1 + 0.9 * speed  # shares of a tenth of the time, and of equal lengths and bends
    np.testing.assert_allclose(np.diff(times) * (density[1:] + density[:-1]) / 2, 2 * np.pi / 100, rtol=0.05)


def test_extents_ignore_the_passages_of_a_few_paths_alone():
    """Of twelve paths one is thrown far away and comes back, one leaves for good and stays, one moves on and on."""
    paths = np.tile(np.linspace(0.0, 1.0, 64)[:, None, None], (1, 12, 1)) * np.ones(1)
    assert extent_of_paths(paths) == pytest.approx([1.0])
    back = paths.copy()
    back[5, 3] = 1e6
    assert extent_of_paths(back) == pytest.approx([1.0])
    slow = paths.copy()
    slow[:, 3] = np.linspace(0.0, 5.0, 64)[:, None]  # not long enough to be ignored
    assert extent_of_paths(slow) == pytest.approx([5.0])
    half = paths.copy()
    half[32:, :6] = 1e6
    assert extent_of_paths(half) == pytest.approx([1e6], rel=0.1)


def test_limits_are_one_up_to_their_gaps_and_parts_of_a_curve_if_their_ends_meet():
    points = np.linspace(0.0, 1.0, 11)[:, None]
    one, moved = limit(points, spacing=0.05), limit(points + 0.15, spacing=0.02)
    assert same_limit(one, moved, np.ones(1), 0.06)
    assert not same_limit(one, moved, np.ones(1), 0.04)
    assert not same_limit(one, moved._replace(kind="periodic orbit"), np.ones(1), 1.0)
    parts = [limit(points + shift, CURVE, spacing=gap) for shift, gap in ((0.0, 0.1), (1.15, 0.02))]
    assert one_curve(*parts, np.ones(1))
    assert not one_curve(parts[0], parts[1]._replace(features=parts[1].features + 0.06), np.ones(1))
    assert not one_curve(parts[0], parts[1]._replace(stability="undecided"), np.ones(1))
    assert not one_curve(one, moved, np.ones(1))


def test_labels_go_on_with_their_attractors_and_new_ones_follow():
    along, ones = Followed(0.2), np.ones(1)
    at = lambda *places: [limit([[place]]) for place in places]
    assert along.labels(at(0.0, 1.0), ones) == [0, 1]
    assert along.labels(at(1.1), ones) == [1]
    assert along.labels(at(0.5, 0.05, 1.2), ones) == [2, 0, 1]  # 0 is remembered where it was last
    assert along.labels(at(0.61), ones, [2]) == [2]
    assert relabelled(np.array([[0, 1], [-2, 1]]), [5, 3]).tolist() == [[5, 3], [-2, 3]]
    assert relabelled(np.array([-5, 0, -1, -2]), [3]).tolist() == [-5, 3, -1, -2]
    assert relabelled(np.array([-1, -2]), []).tolist() == [-1, -2]  # of starts that all escape
    before, after = at(0.0, 0.3), at(0.2, 0.25)
    assert match(before, after, ones, furthest=1.0) == [0, 1]
    assert match(before, after, np.full(1, 0.5), furthest=0.4) == [0, 1]
    assert match(before, after, np.full(1, 0.5), furthest=0.39) == [-1, 1]


def test_shares_along_a_parameter_stand_in_the_column_of_their_label():
    some = {0: limit([[0.0]]), 2: limit([[1.0]])}
    first = _fractions(np.array([0, 0, 2, -2]), some, 0.9, False)
    assert (first.labels.tolist(), first.counts.tolist(), first.shares.tolist()) == (
        [0, 2, -2],
        [2, 1, 1],
        [0.5, 0.25, 0.25],
    )
    z = 1.6448536269514722
    middle, half = (1 + z**2 / 2) / (4 + z**2), z * np.sqrt(3 / 4 + z**2 / 4) / (4 + z**2)
    np.testing.assert_allclose([first.low[1], first.high[1]], [middle - half, middle + half])
    second = _fractions(np.array([1, -1, -1, -1]), {1: limit([[2.0]])}, 0.9, True)
    curves = _curves(np.array([0.0, 3.0]), [(some, first), ({1: some[0]}, second)])
    assert (curves.labels.tolist(), curves.is_stiff) == ([0, 1, 2, -1, -2], True)
    nan = np.nan
    np.testing.assert_array_equal(curves.shares, [[0.5, nan, 0.25, nan, 0.25], [nan, 0.25, nan, 0.75, nan]])
    np.testing.assert_array_equal(curves.low[0], [first.low[0], nan, first.low[1], nan, first.low[2]])
    np.testing.assert_array_equal(curves.high[1], [nan, second.high[0], nan, second.high[1], nan])
    assert [sorted(row) for row in curves.attractors] == [[0, 2], [1]]


def test_states_escape_far_beyond_the_starts_or_at_the_bound_that_is_given():
    flow = FunctionFlow(lambda t, x: -x)
    for escape, bounds in ((None, (options.FAR * 4, options.FAR**2 * 4)), (50.0, (50.0, 50.0))):
        time_map, flat = set_up(flow, [[3.0], [-1.0]], Search(escape=escape, interval=1.0))
        assert (float(time_map.bound), float(time_map.beyond)) == bounds
        assert flat.tolist() == [[3.0], [-1.0]]
    assert options.FAR == 1e4

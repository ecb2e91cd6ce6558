"""Attraction of recurrent sets: tori and chaos that attract, neutral sets and transients that do not, what is open."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import KDTree

from analysis.dynamics.attractors import perturbation as returns
from analysis.dynamics.attractors import search as attractor_search
from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.attractors.classification import TrajectoryRecord, recurrent_set
from analysis.dynamics.attractors.curves import Line, resolution, spread_along
from analysis.dynamics.attractors.distances import (
    APART,
    ARRIVED,
    VolumeGrowth,
    reach,
    same_limit,
    same_set,
    stays_on,
)
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.perturbation import RADII, Attraction, half_way, radius_of, stay_away
from analysis.dynamics.attractors.search import FATES, NOT_ATTRACTING, NOT_SETTLED, UNDECIDED, find_attractors
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Roessler
from dynsim.systems.catalogue.maps import Henon, Logistic
from figures.panels.basins import NAMED, WORDS
from tests.support.searches import accurate


def limit(points, period=float("nan"), **others):
    points = np.asarray(points, float)
    return LimitSet("recurrent set", "undecided", points, points, period, np.empty(0, complex), **others)


def record_of(states):
    time_map = TimeMap(Henon(), jnp.zeros(states.shape[1]), state_itself, 1, 1e-8, 1e4)
    return TrajectoryRecord(time_map, states, states, np.ptp(states, axis=0), False, 64, ())


def tinkerbell(k, x):
    return jnp.stack([x[0] ** 2 - x[1] ** 2 + 0.9 * x[0] - 0.6013 * x[1], 2 * x[0] * x[1] + 2 * x[0] + 0.5 * x[1]])


@pytest.mark.slow
def test_a_chaotic_attractor_close_to_the_boundary_of_its_basin_is_one():
    starts = np.array([-0.72, -0.64]) + np.random.default_rng(1).uniform(-0.03, 0.03, (4, 2))
    found = find_attractors(FunctionMap(tinkerbell), starts, search=accurate())
    assert found.labels.tolist() == [0, 0, 0, 0]
    assert (len(found.attractors), found.others) == (1, ())
    assert 1e-3 <= found.attractors[0].radius < 0.1  # some perturbations by a tenth escape


@pytest.mark.slow
def test_an_invariant_circle_attracts():
    """The delayed logistic map just after its Neimark-Sacker bifurcation at a = 2."""
    delayed = FunctionMap(lambda k, x: jnp.stack([2.15 * x[0] * (1 - x[1]), x[0]]))
    for seed in (0, 1):
        starts = np.random.default_rng(seed).uniform(0.4, 0.6, (4, 2))
        found = find_attractors(delayed, starts, search=accurate())
        assert found.labels.tolist() == [0, 0, 0, 0]
        assert (found.attractors[0].kind, found.others) == ("recurrent set", ())


@pytest.mark.slow
def test_neutral_circles_in_a_plane_that_attracts_are_no_attractors():
    """A rotation by an irrational angle in one plane, and a contraction to it: every circle is neutral inside."""
    c, s = np.cos(2.399963), np.sin(2.399963)
    turned = FunctionMap(lambda k, x: jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1], 0.5 * x[2]]))
    found = find_attractors(turned, [[1.0, 0.0, 0.3], [0.6, 0.2, -0.4]], search=accurate(longest=4096))
    assert found.attractors == ()
    assert set(found.labels.tolist()) <= {NOT_ATTRACTING, UNDECIDED}  # the third component dilutes perturbations


@pytest.mark.slow
def test_a_chaotic_transient_is_no_attractor():
    """The logistic map beyond r = 4 leaves the interval through a gap of the width (r - 4)^(1/2) / 2."""
    found = find_attractors(Logistic(r=4 + 1e-7), np.random.default_rng(0).uniform(0.1, 0.9, (4, 1)), search=accurate())
    assert found.attractors == ()
    assert np.all(found.labels < 0)


def test_a_stable_spectrum_decides_whatever_perturbations_did(monkeypatch):
    monkeypatch.setattr(attractor_search, "attraction_of_orbit", lambda *args: Attraction(False, 0.0))
    for r, period in ((2.8, 1), (3.5, 4)):
        found = find_attractors(Logistic(r=r), [[0.3], [0.71]], search=accurate())
        assert found.labels.tolist() == [0, 0]
        (one,) = found.attractors
        assert (one.period, one.stability, one.radius) == (period, "stable", 0.0)


def test_at_a_degenerate_fixed_point_attraction_is_undecided():
    cubic = FunctionMap(lambda k, x: x - x**3)
    found = find_attractors(cubic, [[0.0]], search=accurate(longest=256))
    assert found.labels.tolist() == [UNDECIDED]
    assert found.other_reached.tolist() == [0]
    assert "at a limit whose attraction is undecided 1" in str(found)
    grid = basins(cubic, [[-0.5, 0.5]], [3], search=Search(longest=256))
    assert grid.labels.tolist() == [NOT_SETTLED, UNDECIDED, NOT_SETTLED]
    centre = FunctionMap(lambda k, x: jnp.stack([0.6 * x[0] - 0.8 * x[1], 0.8 * x[0] + 0.6 * x[1]]))
    assert find_attractors(centre, [[0.0, 0.0]], search=accurate(longest=256)).labels.tolist() == [NOT_ATTRACTING]


def test_a_figure_has_a_colour_and_a_word_for_every_fate():
    assert set(NAMED) == set(WORDS) == set(FATES)
    assert len(set(NAMED.values())) == len(FATES)


def test_the_radius_is_the_largest_one_from_which_as_from_smaller_ones_perturbations_came_back():
    back, away = np.zeros(32), np.ones(32)
    few, half = np.where(np.arange(32) < 3, 1.0, 0.0), np.where(np.arange(32) < 16, 1.0, 0.0)
    rows = lambda *kinds: np.array([*kinds, *[kinds[-1]] * (len(RADII) - len(kinds))])
    assert radius_of(rows(away, few, back), 0.0, 0.9, 0.5) == (True, 0.03)
    assert radius_of(rows(back, away, back), 0.0, 0.9, 0.5) == (True, 0.01)
    assert radius_of(rows(few, few), 0.0, 1.0, 0.5) == (None, 0.0)
    assert radius_of(rows(back, half), 0.0, 0.9, 0.5) == (None, 0.0)  # neither came back nor stayed away
    assert radius_of(rows(back, away), 0.0, 0.9, 0.5) == (None, 0.0)  # but from the largest, all did
    assert radius_of(rows(away, away), 0.0, 0.9, 0.5) == (False, 0.0)
    assert radius_of(rows(half, half), 0.0, 0.9, 0.25) == (False, 0.0)
    assert radius_of(rows(back, away), 0.05, 0.9, 0.5) == (True, 0.1)  # smaller ones cannot be told
    assert radius_of(rows(away, away), 0.2, 0.9, 0.5) == (None, 0.0)  # none can
    assert radius_of(np.array([[0.6 * r] * 32 for r in RADII]), 0.0, 0.9, 0.5) == (False, 0.0)


@pytest.mark.slow  # trajectories to the end of the search
def test_neutral_circles_in_five_components_are_no_attractors():
    """As in three, where a smaller part of a perturbation contracts."""
    c, s = np.cos(2.399963), np.sin(2.399963)
    rotated = lambda x: jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])
    turned = FunctionMap(lambda k, x: jnp.concatenate([rotated(x), 0.5 * x[2:]]))
    found = find_attractors(turned, np.random.default_rng(1).uniform(-1, 1, (2, 5)), search=accurate(longest=4096))
    assert found.attractors == ()
    assert set(found.labels.tolist()) <= {NOT_ATTRACTING, UNDECIDED}


def test_perturbations_are_followed_for_longer_while_the_answer_is_open(monkeypatch):
    begun = []
    later = lambda self, xs, first, windows: begun.append((first, windows)) or np.tile(xs, (8, 1, 1))
    monkeypatch.setattr(TimeMap, "later", later)
    answers = iter([None, True, False, None, None, None, None])
    judged = lambda record, known, *rest: (known._replace(spacing=0.01), Attraction(next(answers), 0.0))
    monkeypatch.setattr(returns, "_judged", judged)
    points = np.random.default_rng(0).uniform(-0.1, 0.1, (64, 2))
    monkeypatch.setattr(returns, "_denser", lambda record, known, windows: (known, 0))
    found = [returns.attraction_of(record_of(points), limit(points))[1].attracts for _ in range(3)]
    assert found == [True, False, None]
    assert list(answers) == []
    once = returns.RETURN
    follow = [(k * once * 8, once) for k in range(4)]  # in windows of eight intervals
    assert begun == [*follow[:2], follow[0], *follow]
    monkeypatch.setattr(returns, "_denser", lambda record, known, windows: (known, returns.STRAY + 1))
    assert returns.attraction_of(record_of(points), limit(points))[1] == Attraction(None, 0.0, left=True)


@pytest.mark.parametrize(("gone", "height"), [(0, 0.0), (2, 0.5), (3, 0.5), (-1, 0.0), (-1, 0.01)])
def test_points_are_added_to_a_recurrent_set_by_trajectories_that_stay_on_it(monkeypatch, gone, height):
    """Some trajectories beside a line leave it upwards, or all of them come to its first point."""
    line = np.stack([np.random.default_rng(0).permutation(np.linspace(0.0, 1.0, 4001)), np.zeros(4001)], axis=1)
    count, begun = len(returns._beside(line)), []

    def window(self, xs, first):
        begun.append(first)
        moved = np.stack([np.sort(xs[:, 0]) if gone >= 0 else 0 * xs[:, 0], np.zeros(count)], axis=1)
        moved[: gone if gone >= 0 else count, 1] = height
        return moved - np.outer(np.linspace(0.01, 0.0, 8), [1.0, 0.0])[:, None]

    monkeypatch.setattr(TimeMap, "window", window)
    found, strayed = returns._denser(record_of(line)._replace(extent=np.ones(2)), limit(line, spacing=0.01), 8)
    assert begun == [8 * k for k in range(8)]
    assert strayed == (gone if gone >= 0 else count)
    kept = 0 if gone > returns.STRAY or gone < 0 else 6 * 8 * (count - gone)  # the first quarter is a transient
    assert len(found.features) == len(found.states) == 4001 + kept
    assert np.max(np.abs(found.features[:, 1])) == 0


def test_perturbations_half_way_back_show_no_attraction():
    """A rotation in a plane, and a contraction to it in seven others: a third of a perturbation is neutral."""
    radii = np.asarray(RADII)[:, None]
    beside, back = np.where(np.arange(32) < 28, 0.3 * radii, 0.0), np.full((len(RADII), 32), 1e-4)
    assert half_way(beside, 2e-4)
    assert not half_way(back, 2e-4)
    few = back.copy()
    few[0, :3] = 0.04
    assert not half_way(few, 2e-4)  # three of them
    few[0, :4] = 0.04
    assert half_way(few, 2e-4)
    few[0, :4] = 0.06
    assert not half_way(few, 2e-4)  # led elsewhere


@pytest.mark.parametrize(
    ("heights", "left", "attracts", "radius"),
    [
        ([1e-5] * 7, 0, True, RADII[0]), ([*RADII[:2], *[1e-5] * 5], 0, True, RADII[2]), (RADII, 0, False, 0.0),
        ([*np.array(RADII[:6]) / 5, 1e-5], 0, None, 0.0), ([1e-5] * 7, 3, None, 0.0),
    ],
)  # fmt: skip
def test_a_recurrent_set_is_judged_by_how_far_perturbations_of_each_size_are_at_the_end(
    heights, left, attracts, radius
):
    """The set is the line from (0, 0) to (1, 0); ends lie at given heights above it, the others 2e-5."""
    rng = np.random.default_rng(0)
    line = np.stack([rng.permutation(np.linspace(0.0, 1.0, 4001)), np.zeros(4001)], axis=1)
    record = record_of(line)._replace(extent=np.ones(2))
    count = returns.PERTURBED
    ends = np.stack([rng.uniform(size=8 * count), np.append(np.repeat(heights, count), np.full(count, 2e-5))], axis=1)
    ends[-5 : -5 + left, 1] = 0.4
    states = ends + np.outer(np.linspace(0.0, 0.01, 8), [1.0, 0.0])[:, None]
    known, found = returns._judged(record, limit(line, spacing=0.5), KDTree(line), states, 0)
    assert (found.attracts, found.radius, found.left) == (attracts, radius, left > 0)
    if not left:
        assert 2e-5 <= known.spacing <= 2e-4


def test_what_stays_away_while_volumes_shrink_by_little_is_open(monkeypatch):
    growth = VolumeGrowth(-0.5, 0.0, 2e6)
    assert not growth.is_none
    assert VolumeGrowth(-0.5, 0.0, 1e11).is_none
    assert [growth.is_brief(t) for t in (5.9, 6.1)] == [True, False]
    assert not VolumeGrowth(0.5, 0.0, 1.0).is_brief(1.0)
    points = np.random.default_rng(0).normal(size=(64, 2))
    record, time_map = record_of(points), TimeMap(Henon(), jnp.zeros(2), state_itself, 1, 1e-8, 1e4)
    monkeypatch.setattr(attractor_search, "attraction_of", lambda record, limit: (limit, Attraction(False, 0.0)))
    answers = []
    for mean in (-0.5, -5e-3, 5e-3):  # per step, in 64 windows of 8 steps
        monkeypatch.setattr(attractor_search, "volume_growth", lambda record, mean=mean: VolumeGrowth(mean, 0.0, 1.0))
        search = attractor_search.AttractorSearch(time_map, points, Search(interval=1.0, longest=256, longest_period=1))
        answers.append(search._attraction(limit(points), record)[1].attracts)
    assert answers == [False, None, False]


def test_perturbations_that_reach_other_attractors_do_not_refute_a_set():
    """An attractor beside the boundary of its basin, as the chaotic one of Lorenz's model of 1984 is."""
    place, radii = np.arange(32), np.asarray(RADII)[:, None]
    beside = np.where(place < 20, 0.07, 0.001) * np.ones_like(radii)
    assert not stay_away(beside, 5e-3)
    assert not stay_away(beside, 0.05)  # of one radius there is no telling
    assert stay_away(np.where(place < 29, 0.07, 0.001) * np.ones_like(radii), 5e-3)  # a set that repels
    assert not stay_away(np.where(place < np.where(radii > 0.05, 29, 20), 0.07, 0.001), 0.02)
    assert stay_away(np.where(place < 20, 0.8, 0.1) * radii, 5e-3)  # neutral circles, one beside the other
    assert not stay_away(np.where(place < 20, np.sqrt(radii), 0.0) * 1.1 * radii**-0.1, 5e-3)


def relaxation(shift, size=1.0, width=1e-5):
    """Return the points of a relaxation oscillation at shares of its period: slow parts, and jumps that take 1e-5."""

    def at(ts):
        t = np.mod(ts + shift, 1.0)
        turned = 0.02 * t + 0.98 * sum(1 / (1 + np.exp(-np.clip((t - at) / width, -500, 500))) for at in (0.3, 0.8)) / 2
        return size * np.stack([np.cos(2 * np.pi * turned), np.sin(2 * np.pi * turned)], axis=1)

    return at


def test_points_of_a_circle_are_spread_evenly_over_the_whole_period():
    circle = lambda ts: np.stack([np.cos(ts / 3), np.sin(ts / 3)], axis=1)
    np.testing.assert_allclose(spread_along(circle, 6 * np.pi, 60, 12), np.pi / 2 * np.arange(12), atol=1e-12)


def test_a_relaxation_oscillation_is_one_cycle_from_wherever_it_is_sampled():
    def cycle(curve):
        points = curve(spread_along(curve, 1.0, 5040, 1024))
        chords = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
        return limit(points, 1.0, spacing=np.max(chords) / 2)

    one, other, beside = (cycle(relaxation(*given)) for given in ((0.0,), (0.123,), (0.123, 1.001)))
    assert one.spacing < 0.02  # a thousandth of the time is spent on nearly all of the curve
    unit = np.full(2, 2.0)
    assert resolution(one, unit) < 1e-4
    assert same_limit(one, other, unit, 1e-6)
    assert not same_limit(one, beside, unit, 1e-6)
    assert stays_on(relaxation(0.4)(np.linspace(0, 1, 400)), one, unit)
    assert not stays_on(relaxation(0.4, 1.001)(np.linspace(0, 1, 400)), one, unit)
    points = limit(one.features, 1.0)  # those of a map have no curve between them
    assert not Line(points, unit).is_closed
    assert resolution(points, unit) == 0


def test_distances_from_an_orbit_are_those_from_its_polygon():
    angles = 2 * np.pi * np.arange(100) / 100
    line = Line(limit(np.stack([np.cos(angles), 2 * np.sin(angles)], axis=1), 1.0, spacing=0.05), np.array([1.0, 2.0]))
    middle = 2 * np.pi * (np.arange(100) + 0.5) / 100
    found = line.distances(np.stack([1.1 * np.cos(middle), 2.2 * np.sin(middle)], axis=1))
    assert found == pytest.approx(np.full(100, 1.1 - np.cos(np.pi / 100)), rel=1e-9)
    assert line.error == pytest.approx((1 - np.cos(2 * np.pi / 100)) / 4, rel=1e-9)
    few = Line(limit([[0.0], [1.0]], 2.0), np.ones(1))
    assert few.distances(np.array([[0.5]])).tolist() == [0.5]
    assert few.error == 0


def test_what_drifts_is_no_recurrent_set_and_what_comes_back_to_itself_is():
    k = np.arange(4096.0)
    turns = lambda radius, angle: np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    found = recurrent_set(record_of(turns(1.0, 2.399963 * k)))
    assert found is not None
    assert 0 < found.spacing < 5e-3
    torus = np.concatenate([turns(1.0, 0.02 * k), turns(1.0, 0.02 * np.sqrt(2) * k)], axis=1)
    assert recurrent_set(record_of(torus)) is not None  # far more dense along the trajectory than across
    half = np.where(k < 2048, 1.0, 0.5)
    assert recurrent_set(record_of(turns(1.0, half * np.mod(2.399963 * k, 2 * np.pi)))) is None  # the late half: an arc
    assert recurrent_set(record_of(turns(1 / np.sqrt(100 + k), 0.1 * k))) is None
    assert recurrent_set(record_of(turns(np.exp(-k / 2000), 0.1 * k))) is None
    assert recurrent_set(record_of(np.stack([k, np.sin(k)], axis=1))) is None


def test_a_trajectory_that_tends_slowly_to_a_cycle_is_no_recurrent_set():
    """One component decays, or turns in a plane of its own with a shrinking radius, which is constant on a torus."""
    k = np.arange(2048.0)
    turns = lambda radius, angle: np.stack([np.cos(angle) * radius, np.sin(angle) * radius], axis=1)
    own = lambda *parts: record_of(np.hstack(parts))._replace(extent=np.ones(sum(part.shape[1] for part in parts)))
    cycle, decay = turns(0.5, 0.4 * k), np.exp(-k / 4000)
    assert recurrent_set(own(cycle, 0.05 * decay[:, None])) is None
    assert recurrent_set(own(cycle, turns(0.1 * decay, 0.073 * k))) is None
    for turn in (0.0249, 0.0367, 0.073, 0.5):  # also a whole number of turns in one of 7 or 8 blocks, nearly
        assert recurrent_set(own(cycle, turns(0.5, turn * k))) is not None


def test_sets_are_the_same_if_each_covers_the_other():
    points = np.linspace(0, 1, 200)[:, None]
    one, half = limit(points, spacing=0.01), limit(points[:100], spacing=0.01)
    assert same_set(one, limit(points + 0.01, spacing=0.01), np.ones(1))
    assert not same_set(one, half, np.ones(1))
    assert not same_set(half, one, np.ones(1))
    assert same_set(one, half, np.full(1, 50.0))
    assert [reach(limit(points, spacing=s, radius=r), np.ones(1)) for s, r in ((0.01, 0.1), (0.01, 0.0))] == [
        0.025, 0.02
    ]  # fmt: skip
    assert reach(limit([[0.0]], 0.0), np.ones(1)) == ARRIVED
    one, near, far = (limit([[x]], 0.0) for x in (0.0, 1e-5, 1.0))
    assert reach(one, np.ones(1), (one, near, far)) == pytest.approx(APART * 1e-5)
    both = limit([[1.0], [1e-5], [2.0]], 0.0)  # its nearest point counts
    assert reach(one, np.ones(1), (both, one)) == pytest.approx(APART * 1e-5)
    assert reach(one, np.ones(1), (one, far)) == ARRIVED
    assert reach(one, 1e-5 * np.ones(1), (one, near)) == ARRIVED  # the gap is an extent
    assert reach(one._replace(radius=0.1), np.ones(1), (one, near)) == 0.025  # from there perturbations came back


def test_a_mean_growth_of_volumes_within_its_error_is_not_clear():
    assert [VolumeGrowth(*g, 1.0).is_clear for g in ((-0.1, 0.01), (0.1, 0.01), (-0.1, 0.05), (1e-9, 0.0))] == [
        True, True, False, False
    ]  # fmt: skip


def test_a_trajectory_has_left_a_set_if_it_is_far_for_the_others_or_at_rest():
    states = np.random.default_rng(0).uniform(size=(512, 2))
    record, late = record_of(states), np.random.default_rng(1).uniform(size=(8, 5, 2))
    late[:, 3] = 0.5
    seen = np.array([0.01, 0.012, 0.2, 0.01, 0.04])
    assert returns._away(record, seen, late).tolist() == [False, False, True, True, False]
    assert returns._away(record, 10 * seen, late).tolist() == [False, False, True, True, False]
    units = np.array([1e-3, 1e3])
    assert returns._away(record_of(units * states), seen, units * late).tolist() == [False, False, True, True, False]


def test_a_trajectory_on_a_sparse_part_of_a_set_has_not_left_it():
    """One sample in forty is on a fast part of the set, 0.08 from the next one."""
    rng = np.random.default_rng(0)
    states = 0.2 * rng.uniform(size=(512, 2))
    states[::40] = np.stack([np.linspace(0, 1, 13)[(5 * np.arange(13)) % 13], np.ones(13)], axis=1)
    record, late = record_of(states), rng.uniform(size=(8, 5, 2))
    seen = np.array([0.001, 0.0012, 0.06, 0.001, 0.3])
    assert returns._away(record, seen, late).tolist() == [False, False, False, False, True]


def torus(t, x):
    r, s, w = x[0] ** 2 + x[1] ** 2, x[2] ** 2 + x[3] ** 2, np.sqrt(2)
    return jnp.stack([
        x[0] * (1 - r) - x[1], x[1] * (1 - r) + x[0], x[2] * (1 - s) - w * x[3], x[3] * (1 - s) + w * x[2]
    ])  # fmt: skip


def test_trajectories_of_a_set_begin_in_its_gaps_too():
    """On a circle that is turned by the golden angle they would keep their distances from its points."""
    turns = np.pi * (3 - np.sqrt(5)) * np.arange(2000)[:, None]
    circle = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
    from_points = KDTree(circle).query(returns._beside(circle))[0]
    assert np.max(from_points) > 4 * np.sqrt(2) * 2 * returns.APART  # gaps are 0.0017 or 0.0028
    assert np.max(from_points) < 0.0028
    far = np.repeat([[0.0, 0.0], [1.0, 1.0]], [1000, 1000], axis=0)  # in turns of an angle, for example
    assert np.max(np.abs(np.round(returns._beside(far)) - returns._beside(far))) < 10 * returns.APART


def test_trajectories_begin_between_the_lines_of_a_trajectory_on_a_torus():
    """Its lines are 0.06 apart after 100 turns, and it never enters the gaps between them."""
    wound = lambda t: np.stack([np.cos(t), np.sin(t), np.cos(np.sqrt(3) * t), np.sin(np.sqrt(3) * t)], axis=-1)
    begun = returns._beside(wound(0.3 * np.arange(2048.0)))
    lines = KDTree(wound(np.linspace(0.0, 0.3 * 2048, 100_000)))
    assert np.median(lines.query(begun)[0]) > 0.005


@pytest.mark.slow
def test_a_torus_of_a_flow_attracts():
    found = find_attractors(FunctionFlow(torus), np.random.default_rng(0).uniform(-1.5, 1.5, (4, 4)), search=accurate())
    assert found.labels.tolist() == [0, 0, 0, 0]
    assert (found.attractors[0].kind, len(found.others)) == ("recurrent set", 0)


@pytest.mark.slow
def test_a_torus_with_a_fast_sparse_part_is_one_attractor():
    """The system of Langford, Numerical studies of torus bifurcations (1984): trajectories rush along the axis."""

    def langford(t, x):
        radius = x[0] ** 2 + x[1] ** 2
        along = 0.7 + x[2] - x[2] ** 3 / 3 - radius * (1 + 0.25 * x[2])
        return jnp.stack([(x[2] - 0.6) * x[0] - 3.5 * x[1], 3.5 * x[0] + (x[2] - 0.6) * x[1], along])

    found = find_attractors(FunctionFlow(langford), [[0.1, 0.0, 0.0], [0.5, 0.2, 0.5], [0.3, -0.3, 0.8]])
    assert found.labels.tolist() == [0, 0, 0]
    assert (len(found.attractors), found.attractors[0].kind, found.others) == (1, "recurrent set", ())


@pytest.mark.slow
def test_the_attractor_of_roessler_is_one():
    starts = np.random.default_rng(0).uniform([-5, -5, 0], [5, 5, 1], (4, 3))
    assert find_attractors(Roessler(), starts, search=accurate()).labels.tolist() == [0, 0, 0, 0]

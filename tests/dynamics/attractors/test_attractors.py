"""Attractors: closed forms, saddles and centres that are none, slow systems, symmetries, escape, bad input."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import classification as limit_sets
from analysis.dynamics.attractors.classification import TrajectoryRecord, _relative_equilibrium, recurrent_set
from analysis.dynamics.attractors.distances import extent_of, match, set_distance, stays_on, volume_growth
from analysis.dynamics.attractors.edge_tracking import edge_state
from analysis.dynamics.attractors.limit_set import LimitSet, with_principal_angles
from analysis.dynamics.attractors.sampling import adapted, relieved
from analysis.dynamics.attractors.search import ESCAPED, FAILED, NOT_ATTRACTING, NOT_SETTLED, find_attractors
from analysis.dynamics.flow_maps import time_map as time_maps
from analysis.dynamics.flow_maps.angles import OnCircles, angles_of, principal, whole_turns
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.periodic_orbits.maps import periodic_points
from dynsim.spaces import Circle, Cylinder, Euclidean, Product, Sphere
from dynsim.systems.base import AbstractFlow, FunctionFlow, FunctionMap
from dynsim.systems.catalogue.maps import Henon, Logistic, Standard
from dynsim.systems.catalogue.oscillators import DoubleWell, Duffing, VanDerPol
from dynsim.systems.catalogue.populations import Kuramoto
from tests.support.searches import accurate


def spread(count, d, size=2.0):
    return np.random.default_rng(1).uniform(-size, size, (count, d))


@pytest.mark.slow
def test_wells_attract_and_the_start_on_the_saddle_does_not():
    flow = Duffing(delta=0.5, gamma=0.0)
    found = find_attractors(flow, np.concatenate([spread(6, 2), [[0.0, 0.0]]]), search=accurate())
    assert sorted(float(a.state[0]) for a in found.attractors) == pytest.approx([-1.0, 1.0], abs=1e-12)
    assert found.labels[-1] == NOT_ATTRACTING
    assert (found.others[found.other_reached[-1]].stability, found.others[0].kind) == ("saddle", "equilibrium")
    assert all(a.stability == "stable" and a.radius > 0 for a in found.attractors)
    assert "2 attractors of 7 starts, at a limit that does not attract 1 (after at most 16384 intervals" in str(found)


@pytest.mark.slow
def test_a_start_on_the_stable_set_of_a_saddle_is_not_given_an_attractor():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] - x[0] ** 3, -2 * x[1]]))
    found = find_attractors(flow, [[0.0, 1.7], [1e-3, 1.7], [-1e-3, -1.0]], search=accurate())
    assert found.labels.tolist() == [NOT_ATTRACTING, 0, 1]


@pytest.mark.slow
def test_the_cycle_of_van_der_pol_has_its_period():
    found = find_attractors(VanDerPol(), np.concatenate([spread(4, 2), [[0.0, 0.0]]]), search=accurate())
    assert len(found.attractors) == 1
    assert found.attractors[0].period == pytest.approx(6.6632868593231, abs=1e-7)
    assert found.labels.tolist() == [0, 0, 0, 0, NOT_ATTRACTING]


@pytest.mark.slow  # another flow is compiled
def test_a_driven_pendulum_rests_or_rotates():
    """With x'' = 0.6 - x' / 4 - sin x; multipliers have the product exp(-T / 4), by the theorem of Liouville."""
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], 0.6 - 0.25 * x[1] - jnp.sin(x[0])]), periods={0: 2 * np.pi})
    found = find_attractors(flow, [[0.5, 0.0], [0.0, 4.0]], search=accurate())
    rest, turn = (found.attractors[k] for k in found.labels)
    assert float(np.sin(rest.state[0])) == pytest.approx(0.6, abs=1e-9)
    assert (turn.kind, turn.stability) == ("periodic orbit", "stable")
    assert turn.values[0].real == pytest.approx(np.exp(-turn.period / 4), rel=1e-5)
    balance = 2 * np.pi * 0.6  # the work of the torque in a turn is what friction takes: the integral of x' / 4 dx
    angles, speeds = np.unwrap(np.asarray(turn.states)[:, 0]), np.asarray(turn.states)[:, 1]
    assert np.trapezoid(speeds / 4, angles) == pytest.approx(balance, rel=5e-3)  # 1,023 of 1,024 parts of a turn


@pytest.mark.slow
def test_a_slow_passage_is_not_an_attractor_and_its_rate_is_measured():
    ghost = FunctionFlow(lambda t, x: 1e-7 + x**2 + 0 * x)  # just after a fold: the passage takes pi / sqrt(1e-7)
    found = find_attractors(ghost, [[-1.0]], search=accurate(interval=0.5, longest=1024))
    assert found.labels.tolist() == [NOT_SETTLED]
    x = -np.sqrt(1e-7) / np.tan(np.sqrt(1e-7) * (512 + 1))  # the solution from about -1 after the time 512
    assert found.rates[0] == pytest.approx(1e-7 + x**2, rel=1e-3)
    assert not found.attractors


@pytest.mark.slow  # another flow is compiled
def test_algebraic_decay_to_a_degenerate_equilibrium_is_not_settled():
    found = find_attractors(FunctionFlow(lambda t, x: -(x**3)), [[0.5], [-0.8]], search=accurate(longest=1024))
    assert found.labels.tolist() == [NOT_SETTLED, NOT_SETTLED]


def test_maps_have_fixed_points_cycles_and_chaos():
    resting = find_attractors(Logistic(r=2.8), [[0.3], [0.71], [0.0], [1.5]], search=accurate())
    assert (resting.attractors[0].kind, resting.attractors[0].period) == ("fixed point", 1)
    doubled = find_attractors(Logistic(r=3.5), [[0.3], [0.71], [0.0], [1.5]], search=accurate())
    assert (doubled.attractors[0].kind, doubled.attractors[0].period) == ("periodic orbit", 4)
    assert np.prod([3.5 * (1 - 2 * x) for x in np.ravel(doubled.attractors[0].states)]) == pytest.approx(
        doubled.attractors[0].values[0].real, abs=1e-9
    )
    assert doubled.labels.tolist() == [0, 0, NOT_ATTRACTING, ESCAPED]
    henon = find_attractors(Henon(), [[0.0, 0.0], [0.1, 0.2], [0.5, -0.1], [3.0, 3.0]], search=accurate(exponents=True))
    assert henon.labels.tolist() == [0, 0, 0, ESCAPED]
    assert henon.attractors[0].kind == "recurrent set"
    assert henon.attractors[0].exponent == pytest.approx(0.419, abs=0.03)


def test_newtons_method_finds_the_points_and_multipliers_of_a_cycle_of_a_map():
    """The points of period two have x + x' = (1 - b) / a and x x' = ((1 - b)^2 - a) / a^2."""
    a, b = 0.6, 0.3
    time_map = TimeMap(Henon(a=a, b=b), jnp.zeros(2), state_itself, 1, 1e-9, 1e9)
    points, values, _ = periodic_points(time_map, np.array([1.0, -0.2]), 2)
    x, y = np.roots([1, -(1 - b) / a, ((1 - b) ** 2 - a) / a**2])
    assert np.allclose(sorted(points[:2, 0]), sorted([x, y]), rtol=1e-14)
    assert np.max(np.abs(points[2])) < 1e-14
    assert np.allclose([values.sum(), values.prod()], [4 * a**2 * x * y + 2 * b, b**2], atol=1e-13)


@pytest.mark.slow
def test_attractors_do_not_depend_on_the_units():
    size, rate = 1e-9, 1e-6

    def tilted(t, x):
        u, v = x[0] / size, x[1] / size
        return rate * size * jnp.stack([u - u**3 + 0.1, -2 * v])

    found = find_attractors(
        FunctionFlow(tilted), size * np.array([[-1.5, 1.0], [1.0, -0.5], [0.3, 1.0], [-0.5, 0.2]]), search=accurate()
    )
    roots = np.sort(np.roots([-1, 0, 1, 0.1]).real)
    states = sorted((float(a.state[0]) / size, float(a.values[0].real) / rate) for a in found.attractors)
    assert [x for x, _ in states] == pytest.approx([roots[0], roots[2]], rel=1e-9)
    assert [v for _, v in states] == pytest.approx([max(1 - 3 * x**2, -2.0) for x in roots[[0, 2]]], rel=1e-6)
    assert sorted(found.labels.tolist()) == [0, 0, 1, 1]
    assert (found.labels[0], found.labels[1]) == (found.labels[3], found.labels[2])


@pytest.mark.slow
def test_cycles_of_maps_do_not_depend_on_the_units():
    size = 1e-12
    logistic = FunctionMap(lambda k, x: 3.2 * x * (1 - x / size))
    (cycle,) = find_attractors(logistic, size * np.array([[0.3], [0.71]]), search=accurate()).attractors
    time_map = TimeMap(logistic, jnp.zeros(1), state_itself, 1, 1e-9, 1e9, jnp.full(1, 2.0**-40))
    points, *_ = periodic_points(time_map, np.array([0.52 * size]), 2)
    np.testing.assert_allclose(np.sort(points[:2, 0]), np.sort(np.ravel(cycle.states)), rtol=1e-13)
    x, y = np.sort(np.ravel(cycle.states)) / size
    assert [x + y, x * y] == pytest.approx([4.2 / 3.2, 4.2 / 3.2**2], rel=1e-12)
    assert cycle.values[0].real == pytest.approx(4 + 2 * 3.2 - 3.2**2, rel=1e-9)


@pytest.mark.slow
def test_conservative_maps_have_no_attractor():
    starts = [[np.pi, 0.3], [3.0, 1.0], [1.0, 2.0], [0.5, 3.0]]
    found = find_attractors(Standard(), starts, search=accurate(longest=2048))
    assert not found.attractors
    assert set(found.labels.tolist()) <= {NOT_ATTRACTING, NOT_SETTLED}


@pytest.mark.slow
@pytest.mark.parametrize(("system", "kept"), [(Standard(K=6.0), True), (Henon(), False)], ids=["standard", "henon"])
def test_volumes_are_kept_by_conservative_maps_only(system, kept):
    time_map = TimeMap(system, jnp.zeros(2), state_itself, 1, 1e-8, 1e4)
    states = time_map.window(np.array([[0.1, 0.2]]), 0)[:, 0]
    record = TrajectoryRecord(time_map, states, states, np.ones(2), False, 64, ())
    assert volume_growth(record, 256).is_none is kept


@pytest.mark.slow
def test_locked_phases_are_one_attractor_modulo_the_common_phase():
    flow = Kuramoto([-0.3, 0.1, 0.3], 1.5)

    def differences(x):
        return jnp.concatenate([jnp.cos(x[1:] - x[0]), jnp.sin(x[1:] - x[0])])

    found = find_attractors(flow, spread(5, 3, 3.0), search=accurate(features=differences))
    assert found.labels.tolist() == [0] * 5
    assert found.attractors[0].kind == "relative equilibrium"
    drift = np.mean([-0.3, 0.1, 0.3])
    velocity = np.asarray(flow.velocity(0.0, jnp.asarray(found.attractors[0].state)))
    assert np.allclose(velocity, drift, atol=1e-6)  # locked: every phase turns at the mean frequency


@pytest.mark.slow
def test_on_a_sphere():
    flow = FunctionFlow(lambda t, x: jnp.asarray([0.0, 0.0, 1.0]), Sphere())
    found = find_attractors(flow, [[1.0, 0.0, 0.0], [0.6, 0.0, -0.8], [0.0, 0.0, -1.0]], search=accurate())
    assert found.labels.tolist() == [0, 0, NOT_ATTRACTING]
    assert np.allclose(found.attractors[0].state, [0, 0, 1], atol=1e-9)


@pytest.mark.slow
def test_what_leaves_the_domain_has_failed():
    found = find_attractors(FunctionFlow(lambda t, x: -jnp.sqrt(x) - 1), [[1.0]], search=accurate(interval=0.1))
    assert found.labels.tolist() == [FAILED]


@pytest.mark.slow
def test_attractors_are_matched_by_the_distance_of_sets():
    one = find_attractors(DoubleWell(h=0.0), [[-1.0], [1.0]], search=accurate())
    other = find_attractors(DoubleWell(h=0.1), [[1.0], [-1.0]], search=accurate())
    assert match(one.attractors, other.attractors, np.asarray([2.0])) == [1, 0]
    assert match(one.attractors, other.attractors, np.asarray([2.0]), furthest=1e-3) == [-1, -1]


def limit(points, period=0.0):
    points = np.asarray(points, float)
    return LimitSet("recurrent set", "stable", points, points, period, np.empty(0, complex), radius=0.04)


def test_distances_of_sets_are_those_of_hausdorff_in_extents():
    one, other = limit([[0.0, 0.0], [1.0, 0.0]]), limit([[0.0, 0.0], [1.0, 4.0]])
    assert set_distance(one, other, np.array([1.0, 2.0])) == set_distance(other, one, np.array([1.0, 2.0])) == 2.0
    assert set_distance(one, limit([[0.0, 0.0]]), np.ones(2)) == 1.0
    assert match([one, other], [other, one], np.ones(2)) == [1, 0]
    near, far = limit([[0.25]]), limit([[0.9]])
    assert match([limit([[0.0]]), limit([[0.3]])], [far, near], np.ones(1)) == [-1, 1]
    assert match([limit([[0.0]])], [far, near], np.ones(1), furthest=0.3) == [-1, 0]
    assert match([], [near], np.ones(1)) == [-1]


def test_a_constant_feature_is_measured_by_its_size():
    assert extent_of(np.array([[0.0, 3.0, 0.0], [2.0, 3.0, 0.0]])) == pytest.approx([2.0, 3.0, 1.0])
    assert 1e-10 < extent_of(np.array([[0.0, 3e-9, 0.0], [2e-9, 3e-9, 0.0]]))[2] < 1e-8


def test_late_samples_stay_on_an_attractor_or_not():
    rest, away = limit([[1.0]]), np.array([[5.0]] * 60 + [[1.005]] * 20)
    assert stays_on(away, rest, np.ones(1))  # the last quarter, within a quarter of the radius
    assert not stays_on(np.concatenate([away[1:], [[1.05]]]), rest, np.ones(1))  # one is further away than the radius
    assert stays_on(np.concatenate([away[1:], [[1.03]]]), rest, np.ones(1))
    assert not stays_on(away + 0.01, rest, np.ones(1))
    assert stays_on(away + 0.01, rest, np.array([3.0]))


def record_of(states, features, extent):
    time_map = TimeMap(Henon(), jnp.zeros(states.shape[1]), state_itself, 1, 1e-8, 1e4)
    return TrajectoryRecord(time_map, states, features, np.asarray(extent), False, 64, ())


def test_what_moves_while_its_features_stay_is_a_relative_equilibrium():
    moving, still = np.stack([np.arange(40.0), np.ones(40)], axis=1), np.ones((40, 1))
    found = _relative_equilibrium(record_of(moving, still, [1.0]))
    assert found is not None
    assert (found.kind, found.state.tolist()) == ("relative equilibrium", [39.0, 1.0])
    assert _relative_equilibrium(record_of(moving, still + 1e-3 * moving[:, :1], [1.0])) is None
    assert _relative_equilibrium(record_of(moving, np.where(moving[:, :1] < 30, 2.0, 1.0), [1.0])) is None


def test_a_cycle_is_looked_for_where_the_trajectory_recurs(monkeypatch):
    asked = []
    monkeypatch.setattr(limit_sets, "_closed", lambda record, samples: asked.append(samples))
    angles = 2 * np.pi * np.arange(200) / 20.3
    states = np.stack([np.cos(angles), 2 * np.sin(angles)], axis=1)
    assert limit_sets._cycle(record_of(states, states, [2.0, 4.0])) is None  # after two tries
    assert len(asked) == 2
    assert asked[0] == pytest.approx(20.3, abs=0.02)
    assert limit_sets._cycle(record_of(states[:30], states[:30], [2.0, 4.0])) is None  # once around is not enough
    assert len(asked) == 2


def test_newtons_method_is_lost_far_from_the_trajectory_in_extents_or_from_the_period():
    states = np.stack([np.linspace(0.0, 1.0, 40), np.ones(40)], axis=1)
    record = record_of(states, states, [2.0, 4.0])
    moved = [([1.19, 1.0], 1.0), ([1.21, 1.0], 1.0), ([1.0, 0.61], 1.0), ([1.0, 0.59], 1.0), ([0.0, 1.0], 1.0)]
    assert [limit_sets._is_lost(record, jnp.asarray(x), r) for x, r in moved] == [False, True, False, True, True]
    assert [limit_sets._is_lost(record, jnp.asarray(states[-1]), r) for r in (0.49, 0.51, 1.49, 1.51)] == [
        True, False, False, True
    ]  # fmt: skip
    assert limit_sets._is_lost(record, jnp.asarray([np.nan, 1.0]), 1.0)


@pytest.fixture(scope="module")
def saddle():
    """A map with the saddle 0, of the multipliers 3/2, 1/2 and 1/4, between the fixed points +-(1, 1/2, 0)."""
    return FunctionMap(lambda k, x: jnp.stack([1.5 * x[0] - 0.5 * x[0] ** 3, 0.5 * x[1] + 0.25 * x[0], 0.25 * x[2]]))


@pytest.mark.slow
def test_the_edge_of_a_map_is_its_saddle(saddle):
    found = edge_state(saddle, jnp.asarray([-1.0, 0.3, 0.1]), jnp.asarray([0.6, 0.1, -0.2]))
    assert np.allclose(found.limit.state, 0, atol=1e-12)
    assert np.allclose(found.limit.values, [1.5, 0.5, 0.25])
    assert np.allclose(found.unstable, np.array([4.0, 1.0, 0.0]) / np.sqrt(17), atol=1e-12)
    assert found.unstable_dimension == 1
    ends = [float(found.attractors.attractors[k].state[0]) for k in (*found.leads_to, *found.labels)]
    assert ends == pytest.approx([1.0, -1.0, -1.0, 1.0])
    assert found.width < 1e-6
    with pytest.raises(ValueError, match="Argument `other` must lie in another basin than `one`, but has the same"):
        edge_state(saddle, jnp.asarray([-1.0, 0.3, 0.1]), jnp.asarray([-0.6, 0.1, -0.2]))


@pytest.mark.slow
def test_the_map_over_intervals_of_a_forced_flow_goes_on_in_time_and_leaves_what_is_out_of_bounds():
    flow = FunctionFlow(lambda t, x: jnp.cos(5 * t) * jnp.ones_like(x))
    time_map = TimeMap(flow, jnp.zeros(1), state_itself, 0.7, 1e-9, 3.0)
    found = time_map.window(np.array([[0.0], [1.0], [3.5]]), 2)
    times = 0.7 * np.arange(2, 11)
    moved = (np.sin(5 * times) - np.sin(7.0))[1:] / 5
    assert np.allclose(found[:, 0, 0], moved, atol=1e-7)
    assert np.allclose(found[:, 1, 0], 1 + moved, atol=1e-7)
    assert np.all(found[:, 2] == 3.5)
    assert [part.tolist() for part in time_map.lost(np.array([[2.0], [3.5]]))] == [[False, True], [False, False]]


def test_the_map_over_intervals_of_a_map_goes_on_in_steps():
    time_map = TimeMap(FunctionMap(lambda k, x: x + k.astype(float)), jnp.zeros(1), state_itself, 3, 1e-9, 1000.0)
    found = time_map.window(np.array([[0.0], [2000.0]]), 2)
    assert found[:, 0, 0].tolist() == [sum(range(6, 6 + 3 * j)) for j in range(1, 9)]
    assert np.all(found[:, 1] == 2000)


class Jumping(AbstractFlow):
    """At rest, with a field that is said to jump at the integers."""

    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return 0 * x

    def breakpoints(self, t0, t1):
        return np.arange(np.floor(t0) + 1, t1)

    def step_limit(self):
        return 0.25


def test_states_are_made_of_flat_ones_as_programs_restore_them():
    state = Parts(np.zeros((2, 2)), np.zeros(()), np.zeros(3))
    time_map = TimeMap(Henon(), state, state_itself, 1, 1e-9, 1.0)
    rows = np.random.default_rng(0).normal(size=(4, 8))
    expected = jax.vmap(time_map.restored)(rows)
    jax.tree.map(np.testing.assert_array_equal, time_maps.states_of(time_map, rows), expected)
    last = jax.tree.map(lambda y: y[-1], expected)
    jax.tree.map(np.testing.assert_array_equal, time_maps.state_of(time_map, rows[-1]), last)


class Parts(NamedTuple):
    """A state of arrays with different shapes."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


def test_jumps_of_a_window_are_those_between_its_ends():
    time_map = TimeMap(Jumping(), jnp.zeros(1), state_itself, 0.5, 1e-9, 1.0)
    begin, jumps, longest = time_map._times(3)
    assert (float(begin), float(longest)) == (1.5, 0.25)
    assert jumps[np.isfinite(jumps)].tolist() == [2, 3, 4, 5]


def test_a_state_for_which_the_solver_fails_is_nan_alone(monkeypatch):
    time_map, states = TimeMap(Jumping(), jnp.zeros(1), state_itself, 0.5, 1e-9, 1.0), np.zeros((100, 1))
    states[[7, 80]] = 9.0
    solved = lambda time_map, xs, *times: (np.stack([xs] * time_maps.WINDOW), np.any(xs > 5))
    monkeypatch.setattr(time_maps, "_run", solved)
    found = time_map.window(states, 0)
    assert np.flatnonzero(np.isnan(found[0, :, 0])).tolist() == [7, 80]
    assert np.nanmax(np.abs(found)) == 0


def test_what_passes_the_bound_has_escaped_only_far_beyond_it_or_where_the_solver_fails(monkeypatch):
    time_map = TimeMap(Jumping(), jnp.zeros(2), state_itself, 0.5, 1e-9, 10.0, beyond=1e3)
    ways = {1.0: (20.0, 4.0), 2.0: (20.0, 5e3), 3.0: (20.0, np.nan), 4.0: (np.nan, np.nan), 5.0: (9.0, 0.0)}

    def solved(time_map, xs, *times):
        ends = np.array([ways.get(float(x), (0.0, 0.0))[float(time_map.bound) > 10] for x in xs[:, 0]])
        return np.stack([np.stack([-ends, ends / 2], axis=1)] * time_maps.WINDOW), np.any(np.isnan(ends))

    monkeypatch.setattr(time_maps, "_run", solved)
    xs = time_map.window(np.array([[k, 0.0] for k in ways]), 0)[-1]
    assert [part.tolist() for part in time_map.lost(xs)] == [
        [False, True, True, False, False], [False, False, False, True, False]
    ]  # fmt: skip
    assert xs[[0, 1, 4]].tolist() == [[-4.0, 2.0], [-5e3, 2.5e3], [-9.0, 4.5]]


@pytest.mark.slow
def test_a_population_that_grows_a_million_times_has_not_escaped():
    grown = find_attractors(
        FunctionMap(lambda k, x: 2 * x / (1 + 1e-6 * x)), [[1.0], [0.5]], search=accurate(longest=256)
    )
    assert float(grown.attractors[0].state[0]) == pytest.approx(1e6)
    assert grown.labels.tolist() == [0, 0]


def test_intervals_become_longer_where_states_hardly_move_and_shorter_where_the_field_is_steep():
    """The derivative of the field at x is x."""
    time_map = TimeMap(FunctionFlow(lambda t, x: x**2 / 2), jnp.zeros(1), state_itself, 0.5, 1e-9, 1e9)
    at = lambda x, step: np.array([[[x + (k % 2) * step]] for k in range(20)])
    moved = ((5.0, 0.019), (5.0, 0.021), (15.9, 0.0), (16.1, 0.0))  # in units of half of the extent
    assert [float(adapted(time_map, at(*two), np.array([2.0])).interval) for two in moved] == [2.0, 0.5, 2.0, 0.5]
    jumps = lambda count: np.array([[[1 + min(k, count) / 2]] for k in range(21)])
    assert [float(adapted(time_map, jumps(count), np.array([2.0])).interval) for count in (1, 3)] == [2.0, 0.5]
    still = [at(3.9, 0.0), at(4.1, 0.0), *(np.linspace(1, end, 20)[:, None, None] for end in (1.05, 1.1, 1.5))]
    assert [float(adapted(time_map, xs, np.array([2.0])).interval) for xs in still] == [8.0, 2.0, 8.0, 2.0, 0.5]
    assert float(adapted(time_map, at(1e-9, 0.0), np.array([2.0])).interval) == 8.0  # not more at once
    assert adapted(time_map, at(1.0, 0.0)[:2], np.array([2.0])) is time_map
    much = time_map.over(64)
    assert (float(much.interval), float(much.unit)) == (32, 1)
    xs = (3.9, 4.1, 15.9, 16.1, 1e9)
    assert [float(relieved(much, np.array([[x]])).interval) for x in xs] == [32, 2, 2, 0.5, 0.5]
    assert relieved(time_map, np.array([[1e9]])) is time_map


def test_the_unit_of_time_at_a_state_is_its_own_where_intervals_have_become_longer():
    """The norm of the Jacobian at x is |x|; units are powers of 1024."""
    time_map = TimeMap(FunctionFlow(lambda t, x: x**2 / 2), jnp.zeros(1), state_itself, 2.0**-30, 1e-9, 1e9)
    unit = lambda times, x: time_map.over(times).units_at(np.array([x])).time
    assert [unit(times, 1.0) for times in (1, 2**10, 2**30, 2**40)] == [2.0**-30, 2.0**-20, 1, 1]
    assert [unit(2**40, x) for x in (2.0**50, 2.0**20, 0.0)] == [2.0**-30, 2.0**-20, 2.0**-30]


@pytest.mark.slow  # another flow is compiled
def test_chaotic_bursts_of_two_time_scales_attract():
    """The model of J. L. Hindmarsh and R. M. Rose (1984) at I = 3.25, r = .006."""

    def bursting(t, x):
        u, v, w = x
        return jnp.stack([v - u**3 + 3 * u**2 - w + 3.25, 1 - 5 * u**2 - v, 0.006 * (4 * (u + 1.6) - w)])

    starts = np.random.default_rng(1).uniform([-1.5, -8, 1], [1.5, 1, 4], (6, 3))
    found = find_attractors(FunctionFlow(bursting), starts, search=accurate())
    assert found.labels.tolist() == [0] * 6
    assert (found.attractors[0].kind, found.others) == ("recurrent set", ())


def test_nothing_is_solved_for_a_state_that_is_not_finite(monkeypatch):
    time_map, seen = TimeMap(Jumping(), jnp.zeros(1), state_itself, 0.5, 1e-9, 1.0), []
    solved = lambda time_map, xs, *times: (seen.append(np.asarray(xs)), np.stack([xs] * time_maps.WINDOW), False)[1:]
    monkeypatch.setattr(time_maps, "_run", solved)
    found = time_map.window(np.array([[np.nan], [2.0], [np.inf]]), 0)
    assert np.isnan(found[:, :, 0]).tolist() == [[True, False, True]] * time_maps.WINDOW
    assert np.all(found[:, 1] == 2)
    assert np.all(np.isnan(time_map.window(np.full((2, 1), np.nan), 0)))
    assert len(seen) == 1
    assert np.all(seen[0] == 2)


def test_after_a_failure_nothing_is_solved(monkeypatch):
    once = lambda time_map, ys, start, length, *rest: (ys + 1, length, start >= 2)
    monkeypatch.setattr(time_maps, "_map_interval", once)
    time_map = TimeMap(FunctionMap(lambda k, x: x), jnp.zeros(1), state_itself, 1, 1e-9, 1.0)
    states, failed = time_maps._run(time_map, jnp.zeros((3, 1)), jnp.asarray(0.0), jnp.empty(0), None, np.asarray(1))
    assert states[:, 0, 0].tolist() == [1, 2, 3, 3, 3, 3, 3, 3]
    assert bool(failed)


def turning_map():
    space = Cylinder({0: 3.0, 2: 2 * np.pi})
    features = OnCircles(angles_of(space, np.zeros(3)))
    return TimeMap(FunctionMap(lambda k, x: x, space), jnp.zeros(3), features, 1, 1e-8, 1e9)


def test_angles_have_the_features_of_a_circle_of_their_period():
    features = OnCircles(((0, 3.0), (2, 2 * np.pi)))
    rate = 2 * np.pi / 3
    expected = [5.0, np.cos(0.4 * rate) / rate, np.sin(0.4 * rate) / rate, np.cos(7.0), np.sin(7.0)]
    assert np.allclose(features(jnp.asarray([0.4, 5.0, 7.0])), expected)
    assert features.entries(np.array([5.0, 1.0, 2.0, 4.0, 3.0])).tolist() == [2.0, 5.0, 4.0]
    assert whole_turns(turning_map(), np.array([4.6, 9.0, -7.0])).tolist() == [6.0, 0.0, -2 * np.pi]


def test_angles_of_limits_are_principal_ones():
    time_map, turn = turning_map(), 2 * np.pi
    moved = principal(time_map, np.array([[-3.1, 9.0, -turn], [5.0, 9.0, 0.5]]))
    np.testing.assert_allclose(moved, [[-0.1, 9.0, 0.0], [8.0, 9.0, 0.5 + turn]], atol=1e-12)
    for angle in (np.pi, -np.pi, -np.pi + 1e-12, 3 * np.pi - 1e-12, -np.pi - 1e-12):  # on both sides of half a turn
        assert principal(time_map, np.array([[0.0, 0.0, angle]]))[0, 2] == pytest.approx(np.pi)
    values, at = np.zeros(0, complex), np.array([[3.1, 1.0, turn]])
    limit = LimitSet("fixed point", "stable", at, time_map.features_of(at), 1.0, values)
    np.testing.assert_allclose(with_principal_angles(time_map, limit).state, [0.1, 1.0, 0.0], atol=1e-12)
    halved = FunctionMap(lambda k, x: 0.5 * x + np.pi, Circle())
    found = find_attractors(halved, [[7 * np.pi]], search=accurate(longest=256))
    np.testing.assert_allclose(found.attractors[0].state, [0.0], atol=1e-9)
    turning = TrajectoryRecord(
        time_map, 9.0 + np.arange(30.0)[:, None] % 2 + np.zeros((30, 3)), np.ones((30, 4)), np.ones(4), False, 1, ()
    )
    cloud = recurrent_set(turning)
    assert cloud is not None
    np.testing.assert_allclose(cloud.state, [0.0, 9.0, 9.0 - turn])


@pytest.mark.slow  # another flow is compiled
def test_the_edge_between_two_wells_is_the_saddle():
    found = edge_state(Duffing(delta=0.5, gamma=0.0), jnp.asarray([-1.0, 0.3]), jnp.asarray([1.2, 0.1]))
    assert np.allclose(found.limit.state, 0, atol=1e-9)
    rate = (-0.5 + np.sqrt(0.25 + 4)) / 2  # of x'' + x' / 2 - x = 0
    assert found.limit.values[0].real == pytest.approx(rate, abs=1e-9)
    assert np.allclose(found.unstable, np.array([1, rate]) / np.hypot(1, rate), atol=1e-9)
    assert found.unstable_dimension == 1
    assert set(found.leads_to) == set(found.labels) == {0, 1}
    with pytest.raises(ValueError, match="Argument `other` must lie in another basin than `one`"):
        edge_state(Duffing(delta=0.5, gamma=0.0), jnp.asarray([1.0, 0.3]), jnp.asarray([1.2, 0.1]))


@pytest.mark.slow
def test_a_forcing_that_a_few_starts_feel_is_refused():
    """The field depends on time for x > 3, where two of 400 starts lie."""
    flow = FunctionFlow(lambda t, x: -x + jnp.where(x > 3, jnp.cos(t), 0.0))
    starts = jnp.linspace(-1.0, 3.02, 400)[:, None]
    with pytest.raises(ValueError, match="Argument `period` must be given for a flow that depends on time"):
        find_attractors(flow, starts, search=accurate())


@pytest.mark.slow  # a forced flow is compiled
def test_the_edge_of_a_forced_flow_is_a_periodic_saddle():
    from analysis.dynamics.attractors.options import Search

    flow, forced = Duffing(delta=0.2, gamma=0.02), Search(period=2 * np.pi)
    found = edge_state(flow, jnp.asarray([-1.0, 0.3]), jnp.asarray([1.2, 0.1]), search=forced)
    assert found.limit.period == pytest.approx(2 * np.pi)
    assert np.prod(found.limit.values).real == pytest.approx(np.exp(-0.2 * 2 * np.pi), rel=1e-5)  # the friction
    assert found.unstable_dimension == 1
    assert set(found.leads_to) == set(found.labels)


class Pair(NamedTuple):
    x: object
    y: object


def test_starts_of_another_structure_are_refused():
    pair = FunctionFlow(lambda t, s: type(s)(s.x, -s.y), space=Product(Pair(Euclidean(), Euclidean())))
    with pytest.raises(
        ValueError, match="`starts` must fit the space of the system, with the starts on the first axis"
    ):
        find_attractors(pair, [Pair(1.0, 2.0)])


@pytest.mark.slow
def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match="Argument `period` must be given for a flow that depends on time"):
        find_attractors(Duffing(), [[0.0, 0.0]], search=accurate())
    with pytest.raises(ValueError, match="Argument `starts` must be finite"):
        find_attractors(DoubleWell(), [[np.nan]], search=accurate())
    with pytest.raises(ValueError, match="Argument `system` must be a flow or a map"):
        find_attractors(len, [[0.0]], search=accurate())
    with pytest.raises(ValueError, match="Argument `longest` must be at least 256"):
        find_attractors(VanDerPol(), [[0.0, 1.0]], search=accurate(longest=10))
    with pytest.raises(ValueError, match="Argument `period` must be left out for a map"):
        find_attractors(Henon(), [[0.0, 1.0]], search=accurate(period=1.0))

"""Solvers, features and units of flow maps by closed forms: each stage, error, place and unit by itself."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2 import curves as critical_curves
from analysis.dynamics.codim2.equilibria import FoldCurve
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.flow_maps import autonomy, component_sizes, numpy_solver, rolled_solver, unit_speed
from analysis.dynamics.flow_maps.angles import OnCircles, principal, whole_turns
from analysis.dynamics.flow_maps.component_sizes import BASE, LEAST, Local, LocalRates, Reached
from analysis.dynamics.flow_maps.time_map import TimeMap, _frozen, state_itself
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits import shooting
from dynsim import FunctionFlow, FunctionMap
from dynsim.errors import IntegrationError
from dynsim.integrators.dop853 import FIFTH, STAGES, THIRD
from dynsim.programs.programmed import without_compiling

TURN = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))
GROW = FunctionFlow(lambda t, x: jnp.stack([x[0], 2 * x[1]]))


def test_extremes_are_those_between_steps_and_ends_of_a_component():
    """From (cos a, -sin a) the states are (cos (t + a), -sin (t + a))."""
    first, rtol, atol = jnp.asarray(0.2), 1e-9, 1e-11
    turn = lambda t, y: jnp.stack([y[1], -y[0]])
    extremes = jax.jit(lambda t, end, y, k: rolled_solver.extremes(turn, t, end, y, first, rtol, atol, k, 2))
    for begin, end, a in ((0.0, 3.5, 0.5), (1.0, 1.5, 0.5), (0.0, 1.0, 2.8)):
        t = np.linspace(a, a + end - begin, 20_001)
        start = jnp.asarray([np.cos(a), -np.sin(a)])
        for component, wave in enumerate((np.cos(t), -np.sin(t))):
            found = extremes(jnp.asarray(begin), jnp.asarray(end), start, component)
            np.testing.assert_allclose(found, [wave.min(), wave.max()], atol=2e-8)


def test_a_peak_of_a_polynomial_is_found_between_its_samples():
    """1 + x (1 - x) has its largest value 1.25 at the half, which is no sample of three; the others are at an end."""
    peak = jax.jit(lambda row: rolled_solver._peak(jnp.asarray(1.0), row, 3))
    rows = np.zeros((3, 7))
    rows[0, 1], rows[1, 0], rows[2, 1] = 1.0, 2.0, -1.0  # x (1 - x), 2 x and -x (1 - x)
    assert [float(peak(row)) for row in rows] == pytest.approx([1.25, 3.0, 1.0], abs=1e-12)


def test_vectors_along_the_steps_of_a_given_solver_are_derivatives_of_its_end():
    """The solutions of x' = -x^2 are x / (1 + x t)."""
    pair, at = Linearised(FunctionFlow(lambda t, x: -(x**2)), jnp.zeros(2), dfx.Heun()), jnp.asarray
    x, vectors = np.array([0.5, 2.0]), np.array([[1.0, 2.0], [0.0, 1.0]])
    over = jax.jit(lambda x, V: pair.over(at(1.0), at(3.0), at(0.01), x, V, at(1e-6)))
    found = over(at(x), at(vectors))
    np.testing.assert_allclose(found.x, x / (1 + 2 * x), rtol=1e-5)
    np.testing.assert_allclose(found.V, vectors / (1 + 2 * x[:, None]) ** 2, rtol=1e-5, atol=1e-12)
    assert 1e-4 < float(found.step) < 1e-2
    assert not found.failed


def test_a_path_is_evaluated_at_times_in_any_order_and_keeps_its_ends():
    path = rolled_solver.followed_path(GROW, jnp.asarray([1.0, 3.0]), 2.0, 3.0, rtol=1e-10, atol=1e-12, longest=0.3)
    ts = np.array([2.9, 2.0, 3.0, 2.45])
    exact = np.stack([np.exp(ts - 2), 3 * np.exp(2 * (ts - 2))], axis=1)
    np.testing.assert_allclose(path.states_at(ts), exact, rtol=1e-9)
    np.testing.assert_allclose(path(2.45), exact[3], rtol=1e-9)
    assert (path.begins[0], path.begins[-1] + path.lengths[-1]) == pytest.approx((2.0, 3.0))
    assert np.max(path.lengths) <= 0.3 + 1e-12


def test_steps_end_at_the_cap_and_say_so():
    arguments = (lambda t, y: y, jnp.zeros(()), jnp.ones(()), jnp.ones(1), jnp.asarray(0.01), 1e-8, 1e-10)
    y, count, failed = rolled_solver.advanced(*arguments)
    assert float(y[0]) == pytest.approx(np.e, rel=1e-8)
    assert not bool(failed)
    _, few, failed = rolled_solver.advanced(*arguments, most=int(count) - 1)
    assert (int(few), bool(failed)) == (int(count) - 1, True)
    _, many, _ = rolled_solver.advanced(*arguments, longest=0.01)
    assert int(many) in (100, 101)


def test_the_error_of_a_step_is_that_of_hairer_for_each_member():
    rng = np.random.default_rng(0)
    K, scale, h = rng.normal(size=(STAGES + 1, 3, 4)), rng.uniform(0.5, 2.0, (3, 4)), np.array([0.5, -1.0, 2.0, 0.25])
    found = numpy_solver._error(K, h, scale)
    fifth, third = (np.sum((np.einsum("s,snm->nm", w, K) / scale) ** 2, axis=0) for w in (FIFTH, THIRD))
    np.testing.assert_allclose(found, np.abs(h) * fifth / np.sqrt((fifth + 0.01 * third) * 3))
    assert numpy_solver._error(0 * K, h, scale).tolist() == [0.0] * 4


def test_first_steps_use_both_tolerances_and_the_time_that_is_left():
    """By Hairer's rule for y' = y, with the scale s = atol + rtol |y|, sizes and speeds are both y / s."""
    y, left = np.array([[1.0, 4.0, 1e-3]]), np.array([10.0, 10.0, 1e-7])
    field = lambda which, t, y: y
    found = numpy_solver._first_steps(field, np.arange(3), np.zeros(3), y, y, left, 1e-3, 1e-2)
    scale = 1e-2 + 1e-3 * y[0]
    expected = np.minimum(100 * 0.01, (0.01 / (y[0] / scale)) ** (1 / 8))
    np.testing.assert_allclose(found, np.minimum(expected, left), rtol=1e-9)


def test_members_stop_at_their_own_end_the_cap_or_far_away():
    field = lambda which, t, y: np.where(which == 2, 0.0, 1.0) * y
    starts, begins = np.array([[1.0], [2.0], [3.0]]), np.array([0.0, 5.0, 0.0])
    options = {"rtol": 1e-9, "atol": 1e-11}
    found = numpy_solver.follow(field, starts, begins, np.array([1.0, 2.0, 4.0]), **options)
    np.testing.assert_allclose(found.ends[:, 0], [np.e, 2 * np.exp(2), 3.0], rtol=1e-8)
    assert found.succeeded.all()
    capped = numpy_solver.follow(field, starts, begins, np.array([1.0, 2.0, 4.0]), max_steps=2, **options)
    assert capped.counts.max() <= 2
    assert capped.succeeded.tolist() == [False, False, found.counts[2] <= 2]
    far = numpy_solver.follow(field, starts, begins, np.array([1.0, 2.0, 4.0]), far=5.0, **options)
    assert far.succeeded.tolist() == [True, False, True]


def test_a_first_interval_begins_at_its_own_time():
    """The solutions of y' = 2 t are y + t^2 - t0^2, whose polynomials are exact."""
    field = lambda which, t, y: np.broadcast_to(2 * t, y.shape)
    starts, begins, ts = np.array([[1.0], [5.0]]), np.array([0.0, 3.0]), np.array([0.0, 0.25, 1.0])
    found = numpy_solver.follow(field, starts, begins, np.ones(2), rtol=1e-9, atol=1e-11, keep=True)
    states = numpy_solver.sampled(field, found, starts, begins, ts)[..., 0]
    np.testing.assert_allclose(states, starts + (begins[:, None] + ts) ** 2 - begins[:, None] ** 2, rtol=1e-9)


def test_tangent_vectors_move_with_their_flow_and_their_map():
    """Of (x, 2 y) over log 2 they are multiplied by 2 and by 4; of (x^2, x y) by the derivative at the state."""
    pair = Linearised(GROW, jnp.zeros(2))
    ends = jnp.asarray(0.0), jnp.log(jnp.asarray(2.0))
    moved = pair.over(*ends, jnp.asarray(0.01), jnp.asarray([1.0, 3.0]), jnp.eye(2)[:, ::-1], jnp.asarray(1e-10),
                      rolled=True)  # fmt: skip
    np.testing.assert_allclose(moved.x, [2.0, 12.0], rtol=1e-8)
    np.testing.assert_allclose(moved.V, [[0.0, 2.0], [4.0, 0.0]], atol=1e-7)
    assert not bool(moved.failed)
    assert 0 < float(moved.step) <= float(ends[1])
    x, V = Linearised(FunctionMap(lambda k, x: jnp.stack([x[0] ** 2, x[0] * x[1]])), jnp.zeros(2)).step(
        jnp.asarray(0), (jnp.asarray([3.0, 5.0]), jnp.asarray([[1.0], [2.0]]))
    )
    assert (x.tolist(), V.tolist()) == ([9.0, 15.0], [[6.0], [11.0]])


def time_map(periods):
    flow = FunctionFlow(lambda t, x: x, names=("a", "v", "b"), periods=periods)
    return TimeMap(flow, jnp.zeros(3), OnCircles(((0, 4.0), (2, 2.0))), 1.0, 1e-6, 1e4)


def test_angles_have_their_place_among_features_and_their_principal_interval():
    features = OnCircles(((0, 4.0), (2, 2.0)))
    x = jnp.asarray([1.0, 7.0, 0.5])  # a quarter of both turns
    np.testing.assert_allclose(features(x), [7.0, 0.0, 2 / np.pi, 0.0, 1 / np.pi], atol=1e-12)
    assert features.entries(np.array([10.0, 1.0, 2.0, 4.0, 3.0])).tolist() == [2.0, 10.0, 4.0]
    turning = time_map({"a": 4.0, "b": 2.0})
    moved = np.array([[5.0, 5.0, -0.9], [-2.1, 9.0, 3.1]])
    assert whole_turns(turning, moved).tolist() == [[4.0, 0.0, 0.0], [-4.0, 0.0, 4.0]]
    found = principal(turning, moved)
    np.testing.assert_allclose(found, [[1.0, 5.0, -0.9], [-6.1, 9.0, 3.1]])
    ends = principal(turning, np.array([[2.0, 0.0, 1.0]])), principal(turning, np.array([[-2.0, 0.0, -1.0]]))
    assert [row.tolist() for row in ends] == [[[2.0, 0.0, 1.0]]] * 2


@pytest.mark.parametrize("size", [LEAST * 0.9, 1 / 60, 1e-3, 1e-5, 1.0, 5.0, 1e3, 1e6])
def test_a_unit_is_the_power_next_to_the_displacement_that_matters(size):
    found = component_sizes._unit(lambda move: move >= size, 1024.0)
    if LEAST < size <= 1024:
        assert found == 1.0
    elif size <= LEAST:  # half of the unit has no effect any more, half of the next larger one has
        assert found / 2 < size <= BASE * found / 2
    else:
        assert 1024 * found / BASE < size <= 1024 * found
    assert np.isnan(component_sizes._unit(lambda move: False, 1024.0))
    assert np.isnan(component_sizes._unit(lambda move: True, 1024.0))


def test_groups_of_entries_share_units_as_their_arrays_do():
    state = {"a": np.zeros(2), "b": np.zeros((2, 2)), "c": np.zeros(())}
    assert [group.tolist() for group in component_sizes.groups_of(state)] == [[0], [1], [2, 3, 4, 5], [6]]
    assert [group.tolist() for group in component_sizes.arrays_of(state)] == [[0, 1], [2, 3, 4, 5], [6]]
    J = np.array([[1.0, -7.0, 2.0], [0.0, 3.0, -5.0], [9.0, 0.0, 4.0]])
    groups = [np.array([0]), np.array([1, 2])]
    assert component_sizes._among(groups, J).tolist() == [[1.0, 7.0], [9.0, 5.0]]


def test_parameters_displace_a_group_at_its_rate_and_what_it_drives_more_slowly():
    """A force of 8 moves a velocity by 2 at the rate 4; it moves the position that it drives by 2 at the rate 2."""
    J = np.array([[0.0, 1.0], [0.0, 0.0]])
    here = Local(np.zeros(2), J, np.zeros(2, complex))
    ends = [Local(np.array([0.0, force]), J, np.zeros(2, complex)) for force in (-4.0, 4.0)]
    moved = Reached([np.array([0]), np.array([1])], J, LocalRates(here, [list(ends)]))
    assert moved.forces.tolist() == [0.0, 8.0]
    assert moved.within(1, 2.0) == pytest.approx(4.0, rel=1e-6)
    assert moved.within(0, 2.0) == pytest.approx(2.0, rel=1e-6)
    assert moved.within(0, 0.02) == pytest.approx(20.0, rel=1e-6)
    still = Reached([np.array([0])], J[:1, :1], LocalRates(Local(np.zeros(1), J[:1, :1], np.zeros(1, complex)), []))
    assert still.within(0, 1.0) == 0.0


def test_curves_of_unit_speed_follow_the_field_in_both_directions():
    paced = unit_speed.Paced(TURN, -1.0, 0.0, 0.75, np.array([2.0, 4.0]), 0.5)
    z = jnp.asarray([0.5, 0.25])  # the state (1, 1), at which the field is (1, -1)
    v = -0.5 * np.array([1.0, -1.0]) / [2.0, 4.0]
    np.testing.assert_allclose(paced.velocity(0.0, z), v / np.sqrt(v @ v + 0.75**2))
    same = unit_speed.Paced(TURN, 1.0, 0.0, np.inf, 1.0, 3.0)
    assert same.velocity(0.0, z).tolist() == [0.75, -1.5]
    forced = unit_speed.Frozen(FunctionFlow(lambda t, x: t * x), 7.0)
    assert forced.velocity(1.0, jnp.asarray([2.0])).tolist() == [14.0]
    points = np.array([[3.0, 4.0], [0.0, 1.0], [0.0, 2.0], [np.nan, 0.0]])
    assert unit_speed.typical_speed(TURN, points) == 2.0
    assert unit_speed.typical_speed(TURN, points, size=np.array([1.0, 2.0])) == pytest.approx(2.0)
    assert unit_speed.typical_speed(TURN, np.zeros((3, 2))) == 1.0


def test_a_change_in_time_is_that_from_the_first_moment_and_periods_are_recognised():
    forced = FunctionFlow(lambda t, x: x + 2 * jnp.sin(t))
    change, size = autonomy.change_in_time(forced, np.array([[1.0], [-3.0]]))
    waves = 2 * np.sin(np.array(autonomy.MOMENTS))
    assert change == pytest.approx(np.max(np.abs(waves)))
    assert size == pytest.approx(np.max(np.abs(waves[:, None] + np.array([1.0, -3.0]))))
    assert autonomy.change_in_time(GROW, np.array([[1.0, -3.0]])) == (0.0, 6.0)
    assert [autonomy.has_period(forced, np.zeros(1), turn) for turn in (2 * np.pi, 4 * np.pi, np.pi, 6.0)] == [
        True, True, False, False,
    ]  # fmt: skip
    rows = autonomy.fields(forced, np.array([[1.0], [2.0], [3.0]]), np.array([0.0, np.pi / 2, -np.pi / 2]))
    np.testing.assert_allclose(rows, [[1.0], [4.0], [1.0]])
    assert autonomy.fields(GROW, np.empty((0, 2)), 0.0).shape == (0, 2)


def point(x):
    empty = np.zeros((1, 0))
    return CurvePoint(np.array([x]), 0.0, None, None, np.zeros(1), np.ones(2), lambda: np.zeros(1), empty)


def test_a_test_function_changes_sign_around_the_point_at_which_it_vanishes(monkeypatch):
    monkeypatch.setattr(critical_curves, "hidden_sign", lambda *given: ())
    points = [point(float(k)) for k in range(4)]
    number = lambda one: float(one.state[0])

    def between(values, k):
        found = critical_curves._changes(FoldCurve.__new__(FoldCurve), points, values, k, number)
        return [(number(one), number(other)) for one, other in found]

    assert between([1.0, -1.0, -2.0, 3.0], 0) == [(0.0, 1.0)]
    assert between([1.0, -1.0, -2.0, 3.0], 1) == []
    assert between([1.0, -1.0, -2.0, 3.0], 2) == [(2.0, 3.0)]
    assert between([1.0, 0.0, -2.0, 3.0], 1) == [(0.0, 2.0)]
    assert between([1.0, 0.0, 2.0, 3.0], 1) == []
    assert between([0.0, 1.0, 2.0, 3.0], 0) == []
    monkeypatch.setattr(critical_curves, "hidden_sign", lambda *given: [point(0.25), point(0.5)])
    assert between([1.0, 1.0, 2.0, 3.0], 0) == [(0.0, 0.25), (0.25, 0.5), (0.5, 1.0)]


def test_segments_in_python_take_no_longer_steps_than_the_flow_allows(monkeypatch):
    nodes, begins, durations, taken = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0.0, 3.0]), np.array([1.0, 2.0]), []
    advanced = shooting.advanced

    def recording(*given, longest, **how):
        taken.append(longest)
        return advanced(*given, longest=longest, **how)

    monkeypatch.setattr(shooting, "advanced", recording)
    with without_compiling():
        pair = Linearised(TURN, jnp.zeros(2))
        limited = eqx.tree_at(lambda p: p.longest, pair, jnp.asarray(0.25), is_leaf=lambda part: part is None)
        for one in (pair, limited):
            ends, maps, last, first, _ = shooting._segments_in_python(one, nodes, begins, durations, 1e-9)
            for k, t in enumerate(durations):
                turned = np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
                np.testing.assert_allclose(ends[k], turned @ nodes[k], atol=1e-8)
                np.testing.assert_allclose(maps[k], turned, atol=1e-8)
            np.testing.assert_allclose(last, np.stack([ends[:, 1], -ends[:, 0]], axis=1))
            np.testing.assert_allclose(first, [[0, -1], [2, 0]])
    assert taken == [np.inf, np.inf, 0.25, 0.25]


def test_a_segment_that_blows_up_has_no_end_and_python_leaves_long_ones_to_compiled_code(monkeypatch):
    """The solution of x' = x^2 from 1 is infinite at 1, from 1 / 4 it is 1 / (4 - t)."""
    flow = FunctionFlow(lambda t, x: x**2)
    nodes, spans = np.array([[1.0], [0.25]]), (np.zeros(2), np.full(2, 2.0))
    with without_compiling():
        pair = Linearised(flow, jnp.zeros(1))
        found = shooting._segments_in_python(pair, nodes, *spans, 1e-9)
        with pytest.raises(IntegrationError, match=r"cannot go on at t = 1\b"):
            rolled_solver.followed_path(flow, np.ones(1), 0.0, 2.0, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.ends[:, 0], [np.nan, 0.5], rtol=1e-7)
    np.testing.assert_allclose(found.maps[1], [[4.0]], rtol=1e-6)
    monkeypatch.setattr("dynsim.programs.programmed.PATIENCE", 30_000)
    with without_compiling():  # fewer operations than are needed
        assert shooting._segments_in_python(pair, nodes, *spans, 1e-9) is None
        given = {"rtol": 1e-8, "atol": 1e-10, "longest": 1e-3}
        assert rolled_solver._path_in_python(flow, np.full(1, 0.25), 0.0, 2.0, **given) is None


def test_a_node_on_a_surface_of_jumps_is_told():
    pair = Linearised(FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.sign(x[0] - 2.0)])), jnp.ones(2))
    on = lambda *nodes: shooting._on_a_surface(pair, np.array(nodes))
    assert on([1.0, 1.0], [2.0, 3.0])
    assert not on([1.0, 1.0], [2.1, 2.0])
    assert not shooting._on_a_surface(Linearised(TURN, jnp.zeros(2)), np.zeros((1, 2)))


def test_spectra_differ_where_one_value_of_either_is_far_from_all_of_the_other():
    """A change counts relative to the size of the nearest value, or to a smallest rate."""
    far, near, none = 1 + 1.01 * component_sizes.CHANGED, 1 + 0.99 * component_sizes.CHANGED, np.zeros(2)
    differ = lambda *after, least=none: component_sizes._differ(np.array([1.0, 50.0]), np.array(after), np.array(least))
    assert [differ(1.0, 50.0 * x) for x in (far, near)] == [True, False]
    assert [differ(x, 50.0) for x in (far, near)] == [True, False]
    assert differ(1.0, 1.0)
    assert differ(1.0, 50.0, 50.0 * far)
    assert [differ(far, 50.0, least=[size, 0.0]) for size in (1.0, 2.0)] == [True, False]


def test_starts_without_a_finite_field_have_no_later_states():
    field = lambda which, t, y: np.where(y == 1, np.inf, y)
    found = numpy_solver.follow(field, np.ones((1, 1)), np.zeros(1), np.ones(1), rtol=1e-6, atol=1e-8, keep=True)
    states = numpy_solver.sampled(field, found, np.ones((1, 1)), np.zeros(1), np.array([0.0, 0.5, 1.0]))
    np.testing.assert_array_equal(states[0, :, 0], [1.0, np.nan, np.nan])


def test_members_out_of_bounds_in_one_component_or_without_a_finite_motion_stay():
    own = TimeMap(TURN, jnp.zeros(2), state_itself, 1.0, 1e-8, 10.0)
    ys = jnp.array([[1.0, 11.0, 1.0, -10.0, 2.0], [2.0, 1.0, -12.0, 3.0, 4.0]])  # ten is still within bounds
    moved = ys + 100
    moved = moved.at[1, 4].set(jnp.nan)
    np.testing.assert_allclose(_frozen(own, ys, moved, ys), [[101, 11, 1, 90, 2], [102, 1, -12, 103, 4]])
    assert np.asarray(_frozen(own, ys, moved, 0.0))[:, 1:3].tolist() == [[0, 0], [0, 0]]

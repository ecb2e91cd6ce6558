"""Hybrid systems: a bouncing ball and merging particles against closed forms; dwell times, caps, crossings."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Event, Scipy, Stats
from dynsim.integrators.events import NOISE
from dynsim.simulation.guards import holds, index_of, noise, returns_within_noise
from dynsim.simulation.hybrid import (
    Transition,
    _estimated,
    _filled,
    _joined,
    _remaining,
    accumulate,
    crossings,
    simulate_hybrid,
    unchanged,
)
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import FunctionFlow

BALL = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.ones_like(x[1])]))
WAVE = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))
CLOCK = FunctionFlow(lambda t, x: jnp.ones_like(x))
GROUND = Event(lambda t, x: x[0], -1)
rather = pytest.mark.parametrize(
    "integrator", [pytest.param(Diffrax(), marks=pytest.mark.slow), Scipy()], ids=["diffrax", "scipy"]
)


def _bounce(flow, t, x):
    return flow, jnp.stack([jnp.zeros(()), -0.5 * x[1]])


BOUNCE = Transition("bounce", GROUND, _bounce)


@rather
def test_a_ball_bounces_at_the_times_of_the_closed_form(integrator):
    """From height 1/2 under gravity 1: t_0 = 1, and each flight takes half the time of the one before, from 1 on."""
    run = simulate_hybrid(BALL, [0.5, 0.0], np.linspace(0, 2.9, 30), [BOUNCE], integrator=integrator)
    exact = 1 + 2 * (1 - 0.5 ** np.arange(len(run.jumps)))
    np.testing.assert_allclose(run.times("bounce"), exact, atol=1e-10)
    assert len(run.jumps) == 5
    assert run.ending is Ending.FINISHED
    assert [float(path.ts[0]) for path in run.phases[1:]] == list(run.times("bounce"))
    ts, speed = run.along(lambda x: x[1])
    assert set(np.linspace(0, 2.9, 30)) <= set(ts)
    flight = (ts > exact[0] + 1e-6) & (ts < exact[1] - 1e-6)
    np.testing.assert_allclose(speed[flight], 0.5 - (ts[flight] - 1.0), atol=1e-9)
    assert str(run) == "The run ended at t = 2.9 after 5 transitions: the last time was reached."


@rather
@pytest.mark.parametrize(("restitution", "floor"), [(0.5, 0.0), (1e-3, 0.3), (1e-6, 0.0)])
def test_a_ball_never_falls_through_the_floor(integrator, restitution, floor):
    """From height 1/2 under gravity 1 the bounces accumulate at t = 1 + 2 e / (1 - e)."""
    ground = Event(lambda t, x: x[0] - floor, -1)
    bounce = Transition("bounce", ground, lambda flow, t, x: (flow, x * jnp.array([1.0, -restitution])))
    run = simulate_hybrid(BALL, [0.5 + floor, 0.0], np.linspace(0, 9, 4), [bounce], integrator=integrator)
    assert run.ending is Ending.ACCUMULATED
    assert "recurs immediately after its reset" in str(run)
    limit = 1 + 2 * restitution / (1 - restitution)
    assert abs(run.times("bounce")[-1] - limit) < 1e-8
    flights = np.diff(run.times("bounce"))
    long = flights > 1e-7
    np.testing.assert_allclose(flights[long], 2 * restitution ** np.arange(1, 1 + np.sum(long)), atol=1e-9)
    assert np.sum(long) == {0.5: 24, 1e-3: 2, 1e-6: 1}[restitution]
    assert min(float(jnp.min(path.ys[:, 0])) for path in run.phases) > floor - 1e-13


@rather
def test_a_ball_that_loses_little_comes_to_rest(integrator):
    """From height 1/2 under gravity 1, with 0.8 of the speed kept, the bounces accumulate at t = 9."""
    bounce = Transition("bounce", GROUND, lambda flow, t, x: (flow, x * jnp.array([1.0, -0.8])))
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, 12.0], [bounce], integrator=integrator)
    assert run.ending is Ending.ACCUMULATED
    assert len(run.jumps) < 170
    assert abs(run.times("bounce")[-1] - 9.0) < 1e-11


def _rounded_ends(start, kept):
    """Return the ends of intervals each `kept` of the one before and a float of the time longer, from `start` on."""
    ends = [start, start + 1.0]
    while len(ends) < 4000:
        ends.append(np.nextafter(ends[-1] + kept * (ends[-1] - ends[-2]), np.inf))
    return np.array(ends)


@pytest.mark.parametrize("start", [-500.0, 0.0, 1e4])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.8, 0.9, 0.99])
def test_intervals_accumulate_where_they_shrink_to_rounding(start, kept):
    ends, limit = _rounded_ends(start, kept), start + 1 / (1 - kept)
    said = [accumulate(ends[:k], np.spacing(abs(ends[k - 1]))) for k in range(2, 4000, 4)]
    assert any(said)
    assert abs(ends[2 + 4 * said.index(True)] - limit) < 1e6 * np.spacing(abs(limit))


PAIRS = np.array([1.0, 2.0, 2.0 + 2e-15, 2.0 + 3e-15])
CHIRP = 1e6 + np.sqrt(np.arange(1.0, 2e6))  # from t = 1e6 + 900 on, each interval is rounding shorter
CLOCKS = 1e9 + np.append(0.0, np.cumsum(1e-5 * 0.999 ** np.arange(100)))


@pytest.mark.parametrize("ends", [PAIRS, CLOCKS, np.arange(9.0), CHIRP])
def test_intervals_that_shrink_little_or_by_one_only_do_notaccumulate(ends):
    assert not any(accumulate(ends[:k], np.spacing(ends[k - 1])) for k in range(2, len(ends), max(1, len(ends) // 20)))


def tank(name, level, mode):
    """The transition to a mode of two tanks, one of which is filled, once the other one is empty."""
    guard = Event(lambda t, x: jnp.where(x[2] == mode, 1.0, x[level]), -1)
    return Transition(name, guard, lambda flow, t, x: (flow, x.at[2].set(mode)))


@rather
def test_two_transitions_that_alternate_accumulate(integrator):
    """Levels (1, 0.7) fall by 0.5 and 0.45, and one of them is filled by 0.6: both are 0 at t = 1.7 / 0.35."""
    rates = lambda t, x: jnp.stack([0.6 * x[2] - 0.5, 0.6 * (1 - x[2]) - 0.45, 0 * x[2]])
    rules = [tank("second", 1, 0.0), tank("first", 0, 1.0)]
    run = simulate_hybrid(FunctionFlow(rates), [1.0, 0.7, 1.0], [0.0, 6.0, 20.0], rules, integrator=integrator)
    assert run.ending is Ending.ACCUMULATED
    assert {jump.name for jump in run.jumps[-2:]} == {"first", "second"}
    assert abs(run.jumps[-1].time - 1.7 / 0.35) < 1e-12
    assert np.all(np.abs(run.final[:2]) < 1e-14)


@rather
def test_two_transitions_at_one_time_occur_in_the_order_given(integrator):
    reset = lambda k: lambda flow, t, x: (flow, x.at[k].set(0.0))
    rules = [Transition(str(k), Event(lambda t, x, k=k: x[k] - 1, 1), reset(k)) for k in (0, 1)]
    for ahead, names in ((0.0, ["0", "1"]), (1e-14, ["0", "1"]), (1e-12, ["1", "0"])):
        run = simulate_hybrid(CLOCK, [0.0, ahead], [0.0, 2.5], rules, integrator=integrator)
        assert [jump.name for jump in run.jumps] == 2 * names
        np.testing.assert_allclose([jump.time for jump in run.jumps], [1, 1, 2, 2], rtol=2e-12)
        np.testing.assert_allclose(run.final, 0.5, rtol=1e-11)
        found = crossings(CLOCK, [0.0, ahead], [0.0, 2.5], [rule.guard for rule in rules], integrator=integrator)
        assert [jump.name for jump in found.jumps] == names


@rather
@pytest.mark.parametrize("direction", [1, 0])
def test_a_transition_whose_guard_the_one_before_has_moved_back_does_not_occur(integrator, direction):
    """Of two that are due at t = 1: a reset of the second guard's clock, one of rounding, and one beyond the guard."""
    alarm = Event(lambda t, x: x[0] - 1, 1)
    later = Event(lambda t, x: jnp.minimum(x[1] - 1, x[0] + 10.0), direction)
    names = {}
    for value in (0.0, 1 - 1e-3, 1 - 1e-12, 1.0, 1 + 1e-12, 1.5):
        first = Transition(
            "first", alarm, lambda flow, t, x, value=value: (flow, jnp.stack([0 * x[0], value + 0 * x[1]]))
        )
        second = Transition("second", later, lambda flow, t, x: (flow, 0 * x))
        run = simulate_hybrid(CLOCK, [0.0, 0.0], [0.0, 1.0, 1.0005], [first, second], integrator=integrator)
        assert {round(jump.time, 9) for jump in run.jumps} == {1.0}
        names[value] = [jump.name for jump in run.jumps]
    both = ["first", "second"]
    assert names == {0.0: ["first"], 1 - 1e-3: ["first"], 1 - 1e-12: both, 1.0: both, 1 + 1e-12: both, 1.5: both}


@rather
@pytest.mark.parametrize("after", [0.999, 1.0, 1.001])
def test_a_transition_whose_guard_a_reset_moves_across_zero_occurs_at_the_same_time(integrator, after):
    """A second clock is set to just before its alarm, on it, and just beyond it, when the first one rings at t = 1."""
    first = Transition(
        "first", Event(lambda t, x: x[0] - 1, 1), lambda flow, t, x: (flow, jnp.stack([0 * x[0], after + 0 * x[1]]))
    )
    second = Transition("second", Event(lambda t, x: x[1] - 1, 1), lambda flow, t, x: (flow, x.at[1].set(-5.0)))
    for rules in [[first, second], [second, first]][: 1 + (after > 1)]:
        run = simulate_hybrid(CLOCK, [0.0, -0.5], [0.0, 1.1], rules, integrator=integrator)
        assert [jump.name for jump in run.jumps] == ["first", "second"]
        np.testing.assert_allclose([jump.time for jump in run.jumps], [1.0, 2.0 - min(after, 1.0)], rtol=1e-9)
        assert [jump.by_reset for jump in run.jumps] == [False, after >= 1]
        assert run.ending is Ending.FINISHED


def test_resets_that_move_guards_across_zero_one_after_the_other_are_one_instant():
    """Each neuron that fires excites the next two; the first one is excited again, but fires once at a time."""
    jump = np.array([[0.0, 0.6, 0.6, 0.0], [0.0, 0.0, 0.6, 0.6], [0.3, 0.0, 0.0, 0.6], [0.0, 0.0, 0.0, 0.0]])

    def fires(k):
        return lambda flow, t, x: (flow, x.at[k].set(-9.0) + jump[k])

    rules = [Transition(str(k), Event(lambda t, x, k=k: x[k] - 1, 1), fires(k)) for k in range(4)]
    flow = FunctionFlow(lambda t, x: jnp.ones_like(x) * jnp.array([1.0, 0.0, 0.0, 0.0]))
    run = simulate_hybrid(flow, [0.0, 0.5, 0.0, 0.0], [0.0, 2.0], rules, integrator=Scipy())
    assert [(jump.name, round(jump.time, 9)) for jump in run.jumps] == [(name, 1.0) for name in "0123"]
    np.testing.assert_allclose(run.final, [-7.7, -9.0, -9.0, -9.0], rtol=1e-9)
    alone = simulate_hybrid(flow, [0.0, 0.5, 0.0, 0.0], [0.0, 2.0], rules, dwell=0.1, integrator=Scipy())
    assert [jump.name for jump in alone.jumps] == ["0"]


@pytest.mark.slow
def test_a_reset_moves_a_guard_across_zero_in_its_direction_only():
    flow = FunctionFlow(lambda t, x: jnp.ones_like(x))
    down = [Transition("turn", Event(lambda t, x: x[0] - 1, 1), lambda flow, t, x: (flow, x.at[0].set(-1.0)))]
    for direction, names in ((-1, ["turn", "half"]), (1, ["half", "turn"])):
        half = Transition("half", Event(lambda t, x: x[0] - 0.5, direction), lambda flow, t, x: (flow, x))
        once = simulate_hybrid(flow, [0.0], [0.0, 1.5], [half, *down], integrator=Scipy())
        assert [jump.name for jump in once.jumps] == names


PAIR = FunctionFlow(lambda t, x: jnp.stack([x[1], 0 * x[1] - x[4], x[3], 0 * x[3] - x[4], 0 * x[4]]))


def _turned(k):
    return lambda flow, t, x: (flow, x.at[k].multiply(-1.0))


@rather
def test_two_equal_balls_bounce_together_at_all_times(integrator):
    """From height 1 under gravity g they hit the floor at T, 3 T, 5 T, ... with T = sqrt(2 / g)."""
    floors = [Transition(f"ball {k}", Event(lambda t, x, k=k: x[2 * k], -1), _turned(2 * k + 1)) for k in (0, 1)]
    for g in (9.8, 2.0, 1.0):
        run = simulate_hybrid(PAIR, [1.0, 0.0, 1.0, 0.0, g], np.linspace(0, 5, 3), floors, integrator=integrator)
        fall = np.sqrt(2 / g)
        times = np.arange(1, 5 / fall + 1e-9, 2) * fall
        assert run.ending is Ending.FINISHED
        np.testing.assert_allclose([jump.time for jump in run.jumps], np.repeat(times, 2), rtol=1e-9)
        assert [jump.name for jump in run.jumps] == ["ball 0", "ball 1"] * len(times)


def test_a_billiard_runs_into_its_corner_and_events_at_one_time_are_all_recorded():
    flow = FunctionFlow(lambda t, x: jnp.concatenate([x[2:], 0 * x[2:]]))
    guards = [Event(lambda t, x: x[0] - 1, 1), Event(lambda t, x: x[1] - 1, 1), Event(lambda t, x: -1 - x[0], 1)]
    guards.append(Event(lambda t, x: -1 - x[1], 1))
    walls = [Transition(str(k), guard, _turned(2 + k % 2)) for k, guard in enumerate(guards)]
    run = simulate_hybrid(flow, [0.0, 0.0, 1.0, 1.0], [0.0, 8.0], walls, integrator=Scipy())
    assert [(jump.name, round(jump.time, 9)) for jump in run.jumps] == [
        (name, t) for t, names in ((1.0, "01"), (3.0, "23"), (5.0, "01"), (7.0, "23")) for name in names
    ]
    acted = []
    action = lambda event, t, x: acted.append(event)
    found = crossings(CLOCK, [0.0], [0.0, 1.0], [Event(lambda t, x: x[0] - 0.5)] * 3, action=action, integrator=Scipy())
    assert acted == [0, 1, 2]
    assert [round(jump.time, 12) for jump in found.jumps] == [0.5] * 3
    last = crossings(CLOCK, [0.0], [0.0, 1.0], [Event(lambda t, x: x[0] - 1.0)] * 2, integrator=Scipy())
    assert [jump.name for jump in last.jumps] == ["0", "1"]  # an event at the last time


@rather
def test_a_reset_onto_another_guard_is_a_crossing_from_the_other_side_only(integrator):
    rules = lambda low: [
        Transition("end", Event(lambda t, x: x[0] - 1, 1), lambda flow, t, x: (flow, jnp.full_like(x, low))),
        Transition("mark", Event(lambda t, x: x[0] - 0.5, 1), unchanged),
    ]
    names = lambda start, low: [
        jump.name for jump in simulate_hybrid(CLOCK, [start], [0.0, 1.2], rules(low), integrator=integrator).jumps
    ]
    assert names(0.1, 0.5) == ["mark", "end"]  # from above the mark to it
    assert names(0.4, 0.3) == ["mark", "end", "mark"]


@rather
def test_a_reset_that_leaves_a_state_on_its_guard_ends_the_run(integrator):
    stick = Transition("stick", GROUND, lambda flow, t, x: (flow, x * jnp.array([1.0, 0.0])))
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, 3.0], [stick], integrator=integrator)
    assert run.ending is Ending.ACCUMULATED
    assert len(run.jumps) == 2
    np.testing.assert_allclose(run.times("stick"), 1.0, atol=1e-7)


@pytest.mark.parametrize(
    ("guard", "exact"),
    [
        (Event(lambda t, x: jnp.mod(x[0], 1.0) - 0.5, -1), [1.0, 2.0, 3.0]),  # jumps, and rises everywhere else
        (Event(lambda t, x: 1 / (x[0] ** 2 - 3)), [3**0.5]),  # a pole: its derivative is negative on both sides
        (Event(lambda t, x: (x[0] - 2.0) ** 3, 1), [2.0]),  # crosses zero with derivative zero
        (Event(lambda t, x: jnp.sin(2 * jnp.pi * x[0]), 1), [1.0, 2.0, 3.0]),
        (Event(lambda t, x: jnp.sin(2 * jnp.pi * x[0])), [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]),
    ],
    ids=["jump", "pole", "inflection", "up", "both"],
)
def test_a_run_goes_on_after_events_of_all_kinds(guard, exact):
    """A reset that leaves the state where it is, or moves only what the guard does not see."""
    still = Transition("still", guard, unchanged)
    count = Transition("count", guard, lambda flow, t, x: (flow, x + jnp.array([0.0, 1.0])))
    flow = FunctionFlow(lambda t, x: jnp.array([1.0, 0.0]) + 0 * x)
    for rule in (still, count):
        if rule is count and len(exact) == 1:
            continue
        run = simulate_hybrid(flow, [0.25, 0.0], [0.0, 3.0], [rule], integrator=Scipy())
        np.testing.assert_allclose(0.25 + run.times(rule.name), exact, atol=1e-9)
        assert run.ending is Ending.FINISHED


def test_the_error_of_every_phase_is_estimated():
    rough = Scipy(rtol=1e-5, atol=1e-7)
    ts = np.linspace(0, 2.9, 30)
    run = simulate_hybrid(WAVE, [0.5, 0.0], ts, [BOUNCE], integrator=rough, error_estimate=True)
    assert len(run.jumps) == 1
    exact = 0.5 * np.cos(np.asarray(run.phases[0].ts))
    true = float(np.max(np.abs(np.asarray(run.phases[0].ys)[:, 0] - exact)))
    assert true / 5 < run.phases[0].stats.max_error < 5 * true + 1e-12
    assert all(phase.stats.error.shape == phase.ys.shape for phase in run.phases)
    late = abs(run.jumps[0].time - np.pi / 2)
    assert late / 5 < run.jumps[0].time_error < 5 * late + 1e-12
    again = simulate_hybrid(WAVE, [0.5, 0.0], ts, [BOUNCE], integrator=rough)
    assert again.phases[0].stats.error is None
    assert [int(p.stats.num_steps) for p in again.phases] == [int(p.stats.num_steps) for p in run.phases]
    other = simulate_hybrid(WAVE, [0.5, 0.0], ts[:10], [BOUNCE], integrator=rough)
    assert _estimated(again, other).phases[1].stats.max_error == np.inf
    assert again.jumps[0].time_error is None


def test_a_run_without_end_is_stopped_by_the_cap_and_its_accumulation_named():
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, 4.0], [BOUNCE], max_transitions=12, integrator=Scipy())
    assert run.ending is Ending.CAPPED
    assert len(run.jumps) == 12
    assert "accumulate near t = 3 (Zeno behaviour)" in str(run)


def _merged(flow, t, x):
    """Merge the two closest neighbours: one particle fewer."""
    order = jnp.sort(x)
    k = int(jnp.argmin(jnp.diff(order)))
    return flow, jnp.delete(order, k)


def _first_gap(t, x):
    return jnp.min(jnp.diff(jnp.sort(x))) - 0.5


def test_particles_merge_and_the_dimension_falls():
    """Gaps shrink as e^-t: from gaps 1 and 2 they are 1/2 at log 2 and, after the merger, from 2 e^-log 2 = 1 on."""
    shrink = FunctionFlow(lambda t, x: jnp.mean(x) - x)
    merge = Transition("merge", Event(_first_gap, -1), _merged)
    run = simulate_hybrid(
        shrink, [0.0, 1.0, 3.0], [0.0, 0.2, 5.0], lambda flow: [merge], max_transitions=2, integrator=Scipy()
    )
    assert [path.ys.shape[1] for path in run.phases] == [3, 2]
    np.testing.assert_allclose(run.times("merge"), [np.log(2), np.log(4)], atol=1e-8)
    assert run.final.shape == (1,)
    assert run.ending is Ending.CAPPED


def test_a_transition_may_change_the_flow_and_end_the_run():
    stop = Transition("stop", Event(lambda t, x: x[0] - 3.0, 1), unchanged, terminal=True)
    slow = FunctionFlow(lambda t, x: 0.5 * jnp.ones_like(x))
    change = Transition("change", Event(lambda t, x: x[0] - 1.0, 1), lambda flow, t, x: (slow, x))
    run = simulate_hybrid(CLOCK, [0.0], [0.0, 10.0], [change, stop], integrator=Scipy())
    assert [jump.name for jump in run.jumps] == ["change", "stop"]
    np.testing.assert_allclose([jump.time for jump in run.jumps], [1.0, 5.0], rtol=1e-12)
    assert run.ending is Ending.TERMINAL
    assert run.phases[1].system is slow


def test_a_dwell_time_separates_transitions_and_a_condition_that_holds_then_counts_at_once():
    back = Transition("back", Event(lambda t, x: x[0] - 1.0, 1), lambda flow, t, x: (flow, x - 0.25), immediate=True)
    run = simulate_hybrid(CLOCK, [0.0], [0.0, 0.5, 3.1, 3.2], [back], dwell=0.5, integrator=Scipy())
    np.testing.assert_allclose(run.times("back"), [1.0, 1.5, 2.0, 2.5, 3.0], rtol=1e-12)
    assert run.ending is Ending.FINISHED
    np.testing.assert_allclose(run.phases[-1].ys[-2:, 0], [3.1 - 1.25, 3.2 - 1.25], rtol=1e-12)
    crossed = Transition(back.name, back.guard, back.reset)
    later = simulate_hybrid(CLOCK, [0.0], [0.0, 3.0], [crossed], dwell=0.5, integrator=Scipy())
    np.testing.assert_allclose(later.times("back"), [1.0], rtol=1e-12)  # beyond the guard from then on: no crossing
    first = simulate_hybrid(CLOCK, [0.9], [0.0, 3.0], [crossed], dwell=0.5, integrator=Scipy())
    np.testing.assert_allclose(first.times("back"), [0.1], rtol=1e-12)  # at the start there is nothing to wait for
    short = simulate_hybrid(CLOCK, [0.0], [0.0, 1.7], [back], dwell=1e-300, integrator=Scipy())
    np.testing.assert_allclose(short.times("back"), [1.0, 1.25, 1.5], rtol=1e-12)  # less than the rounding of a time
    free = simulate_hybrid(CLOCK, [0.0], [0.0, 3.0], [back], integrator=Scipy())
    np.testing.assert_allclose(free.times("back"), np.arange(1.0, 3.1, 0.25), rtol=1e-12)


def test_conditions_that_hold_have_the_sign_after_their_crossing():
    held = {
        k: [holds(Event(lambda t, x: x[0], k), 0.0, jnp.asarray([v])) for v in (-0.1, 0.0, 0.1)] for k in (-1, 0, 1)
    }
    assert held == {-1: [True, False, False], 0: [False, False, True], 1: [False, False, True]}


def test_times_are_filled_up_where_they_are_far_apart_and_taken_out_again():
    assert _filled(np.array([0.0, 1.0, 4.0]), 5).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert _remaining(np.array([0.0, 1.0, 2.0, 3.0]), 1.5).tolist() == [1.5, 1.5, 2.0, 3.0]


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()], ids=["diffrax", "scipy"])
def test_a_run_goes_on_for_the_one_float_that_is_left_after_a_transition(integrator):
    """One float before the last time no further times fit between."""
    last = np.nextafter(4.0, 0.0)
    double = Transition("double", Event(lambda t, x: t - last, direction=1), lambda flow, t, x: (flow, 2 * x))
    decay = FunctionFlow(lambda t, x: -0.1 * x)
    run = simulate_hybrid(decay, np.ones(2), [0.0, 4.0], [double], integrator=integrator)
    assert [jump.time for jump in run.jumps] == [last]
    assert float(run.phases[-1].ts[-1]) == 4.0
    np.testing.assert_allclose(run.final, 2 * np.exp(-0.4), rtol=1e-6)


def test_transitions_at_one_time_without_a_dwell_time_end_at_the_cap_and_are_described():
    flip = Transition("flip", Event(lambda t, x: x[0] - 1.0, 1), unchanged, immediate=True)
    run = simulate_hybrid(CLOCK, [2.0], [0.0, 1.0], [flip], max_transitions=5)
    assert run.ending is Ending.CAPPED
    assert run.phases == ()
    assert float(run.final[0]) == 2.0
    assert "occurred at the same time: a dwell time separates them" in str(run)


@rather
def test_all_crossings_are_recorded_in_both_directions(integrator):
    events = [Event(lambda t, x: x[0], 0), Event(lambda t, x: x[0] - 0.5, 1)]
    run = crossings(WAVE, [0.0, 1.0], np.linspace(0, 10, 5), events, integrator=integrator)
    np.testing.assert_allclose(run.times("0"), np.pi * np.arange(1, 4), atol=1e-8)
    np.testing.assert_allclose(run.times("1"), np.pi / 6 + 2 * np.pi * np.arange(2), atol=1e-8)
    assert run.ending is Ending.FINISHED
    ts, x = run.along(lambda x: x)
    np.testing.assert_allclose(x[:, 0], np.sin(ts), atol=1e-7)
    assert set(np.linspace(0, 10, 5)) <= set(ts)


@pytest.mark.slow
def test_one_program_serves_all_phases():
    compiled = []
    listen = lambda name, _, **kw: compiled.append(kw.get("fun_name")) if "backend_compile" in name else None
    jax.monitoring.register_event_duration_secs_listener(listen)
    jax.clear_caches()
    assert len(simulate_hybrid(BALL, [0.5, 0.0], [0.0, 1.0, 2.9], [BOUNCE]).phases) > 3
    simulate_hybrid(BALL, [0.4, 0.0], [0.0, 1.5, 2.8], [BOUNCE])
    assert compiled.count("jit(_locate)") == 1  # the others join arrays


BAD = [
    ({"transitions": [3]}, "Argument `transitions` must be a sequence of `Transition` objects"),
    ({"dwell": -1.0}, "Argument `dwell` must be a nonnegative time, but is -1.0."),
    ({"max_transitions": 0}, "Argument `max_transitions` must be at least 1, but is 0."),
    ({"transitions": [Transition("odd", GROUND, lambda flow, t, x: x)]}, "Argument `reset` must return a flow and a"),
    ({"ts": [1.0, 0.0]}, "Argument `ts` must increase"),
]


@pytest.mark.parametrize(("change", "says"), BAD)
def test_bad_input_is_one_sentence(change, says):
    given = {"flow": BALL, "y0": [0.5, 0.0], "ts": [0.0, 2.0], "transitions": [BOUNCE], **change}
    with pytest.raises(ValueError, match="Argument") as error:
        inspect.unwrap(simulate_hybrid)(**given)  # the annotations, which tests check, would refuse some before
    assert str(error.value).startswith(says)


def test_a_transition_has_a_name():
    with pytest.raises(ValueError, match="Argument `name` must be a word, but is ''."):
        Transition("", GROUND, unchanged)


def test_the_last_transitions_of_a_capped_run_are_described_by_the_times_between_them():
    capped = lambda times: HybridTrajectory(
        (), tuple(Jump(0, "hit", float(t), None, None) for t in times), Ending.CAPPED
    )
    assert "accumulate near t = 5 (Zeno" in str(capped(5 - 0.75 ** np.arange(9.0)))
    assert "hit, hit, hit, hit, 0.2 apart" in str(capped([1.0, 1.1, 1.4, 1.6]))


def test_a_reset_gets_the_time_of_its_transition_and_the_state_there():
    """A clock from 0: at 1 the state becomes minus the time, from where it needs as long again and one more."""
    told = []
    reset = lambda flow, t, x: told.append((t, float(x[0]))) or (flow, 0 * x - t)
    run = simulate_hybrid(
        CLOCK, [0.0], [0.0, 8.0], [Transition("back", Event(lambda t, x: x[0] - 1, 1), reset)], integrator=Scipy()
    )
    np.testing.assert_allclose(run.times("back"), [1.0, 3.0, 7.0], rtol=1e-12)
    np.testing.assert_allclose(told, [(1.0, 1.0), (3.0, 1.0), (7.0, 1.0)], rtol=1e-12)
    np.testing.assert_allclose(run.final, -6.0, rtol=1e-12)


def test_a_phase_that_is_solved_in_two_parts_counts_the_steps_of_both():
    """As one that begins with a dwell time: numbers of steps add, and of the defects the largest one counts."""
    parts = []
    for begin, steps, rejected, defect in ((0.0, 3, 1, 0.25), (1.0, 5, 2, 0.125), (2.0, 8, 4, 0.5)):
        stats = Stats(jnp.asarray(True), Outcome.FINISHED.value, steps, rejected, defect, begin + 1.0)
        parts.append(Trajectory(jnp.array([begin, begin + 1.0]), jnp.array([[begin], [begin + 1]]), CLOCK, stats))
    joined = _joined(_joined(parts[0], parts[1]), parts[2])
    assert joined.ts.tolist() == joined.ys[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    stats = joined.stats
    assert (int(stats.num_steps), int(stats.num_rejected), float(stats.max_defect)) == (16, 7, 0.5)
    assert (float(_joined(parts[0], parts[1]).stats.max_defect), float(stats.last_time)) == (0.25, 3.0)


def test_one_action_is_told_which_of_two_events_has_occurred():
    """Both have the same action, which moves the state at the second one only."""
    told = []

    def action(event, t, x):
        told.append(event)
        return x + jnp.array([0.0, 1.0]) if event == 1 else None

    clock = FunctionFlow(lambda t, x: jnp.array([1.0, 0.0]) + 0 * x)
    events = [Event(lambda t, x: x[0] - 1.0, 1), Event(lambda t, x: x[0] - 2.0, 1)]
    run = crossings(clock, [0.5, 0.0], [0.0, 3.0], events, action=action, integrator=Scipy())
    assert told == [jump.index for jump in run.jumps] == [0, 1]
    np.testing.assert_allclose(run.final, [3.5, 1.0], rtol=1e-12)
    np.testing.assert_allclose([jump.time for jump in run.jumps], [0.5, 1.5], rtol=1e-12)


BOUNCE = Transition("bounce", GROUND, _bounce)


@pytest.mark.parametrize("rounding", [0.0, 3e-17, -3e-17])
def test_a_ball_that_starts_on_the_floor_bounces_if_it_falls(rounding):
    above = Transition("bounce", Event(lambda t, x: x[0] - 1.0, -1), lambda f, t, x: (f, x.at[1].multiply(-0.5)))
    for rule, height in ((BOUNCE, rounding and 0.0), (above, 1.0 + rounding)):
        run = simulate_hybrid(BALL, [height, -1.0], [0.0, 1.5], [rule], integrator=Scipy())
        np.testing.assert_allclose(run.times("bounce"), [0.0, 1.0, 1.5], atol=1e-9)
        up = simulate_hybrid(BALL, [height, 1.0], [0.0, 1.5], [rule], integrator=Scipy())
        assert up.times("bounce").size == 0


def test_a_ball_at_rest_on_the_floor_stays_there_and_one_at_rest_under_the_ceiling_falls():
    rest = simulate_hybrid(BALL, [0.0, 0.0], [0.0, 1.0], [BOUNCE], integrator=Scipy(), error_estimate=True)
    assert rest.ending is Ending.ACCUMULATED
    assert (rest.times("bounce").tolist(), rest.phases) == ([0.0], ())
    ts, heights = rest.along(lambda x: x[0])
    assert (ts.tolist(), heights.tolist()) == ([0.0, 0.0], [0.0, 0.0])
    ceiling = Transition("hit", Event(lambda t, x: x[0], 1), _bounce)
    assert simulate_hybrid(BALL, [0.0, 0.0], [0.0, 1.0], [ceiling], integrator=Scipy()).times("hit").size == 0


def test_all_transitions_at_the_start_occur_once_and_crossings_begin_after_it():
    two = FunctionFlow(lambda t, x: jnp.stack([x[1], -1.0 + 0 * x[1], x[3], -1.0 + 0 * x[3]]))
    rules = [Transition(str(k), Event(lambda t, x, k=k: x[2 * k], -1), lambda f, t, x,
        k=k: (f, x.at[2 * k + 1].multiply(-1))) for k in range(2)]  # fmt: skip
    run = simulate_hybrid(two, [0.0, -1.0, 0.0, -1.0], [0.0, 1.0], rules, integrator=Scipy())
    assert [jump.name for jump in run.jumps] == ["0", "1"]
    assert crossings(BALL, [0.0, -1.0], [0.0, 1.0], [GROUND], integrator=Scipy()).jumps == ()


def test_a_transition_is_looked_up_by_identity_before_its_name():
    one, other, third = (Transition(name, GROUND, unchanged) for name in ("hit", "hit", "miss"))
    assert [index_of(rule, [one, other]) for rule in (one, other, third)] == [0, 1, -1]
    assert index_of(Transition("hit", GROUND, _bounce), [third, other, one]) == 1


def test_the_noise_of_a_guard_is_the_larger_one_of_two_directions_of_rounding():
    a, b, unit = np.sin(1.0), np.sin(2.0), NOISE * np.finfo(float).eps
    y = jnp.array([0.0, 0.0, 1.0])  # the first two are moved by the sines of k and 2 k
    blind = [noise(Event(lambda t, x, c=c: c[0] * x[0] - c[1] * x[1]), y, 0.0) for c in ((b, a), (np.sin(4.0), b))]
    np.testing.assert_allclose(blind, unit * abs(b * b - a * np.sin(4.0)), rtol=1e-6)


def test_another_transition_within_rounding_of_the_last_one_is_no_accumulation():
    """A clock that is set to just before 2 when it shows 1 shows 2 a float or two later."""
    almost = np.nextafter(2.0, 0.0)
    leap = Transition("leap", Event(lambda t, x: x[0] - 1, 1), lambda flow, t, x: (flow, 0 * x + almost))
    run = simulate_hybrid(
        CLOCK, [0.0], [0.0, 4.0], [leap, Transition("two", Event(lambda t, x: x[0] - 2, 1), unchanged)],
        integrator=Scipy(),
    )  # fmt: skip
    assert [jump.name for jump in run.jumps] == ["leap", "two"]
    assert run.jumps[1].time - run.jumps[0].time < 1e-15
    assert run.ending is Ending.FINISHED


def _collides(k, kept):
    """Two of five masses collide; their relative velocity turns, and this part of it is kept."""

    def reset(flow, t, x):
        mean, half = (x[5 + k] + x[6 + k]) / 2, kept * (x[5 + k] - x[6 + k]) / 2
        return flow, x.at[5 + k].set(mean - half).at[6 + k].set(mean + half)

    return Transition(str(k), Event(lambda t, x: x[k + 1] - x[k], -1), reset)


@pytest.mark.parametrize(("moved", "names"), [(1, "01233210"), (2, "102132")])
def test_a_collision_is_handed_on_by_masses_that_touch(moved, names):
    """Newton's cradle: as many pendulums leave on the right as arrive from the left, a quarter of a period later."""
    cradle = FunctionFlow(lambda t, x: jnp.concatenate([x[5:], -x[:5]]))
    start = np.where(np.arange(10) < moved, -1.0, 0.0)
    run = simulate_hybrid(
        cradle, start, [0.0, 4.0, 6.0][: 4 - moved], [_collides(k, 1.0) for k in range(4)], integrator=Scipy()
    )
    assert "".join(jump.name for jump in run.jumps) == names
    np.testing.assert_allclose(run.times("1")[0], np.pi / 2, rtol=1e-9)
    assert run.ending is Ending.FINISHED
    end = float(run.phases[-1].ts[-1])
    side = slice(0, 1) if moved == 1 else slice(3, 5)
    np.testing.assert_allclose(np.delete(run.final[:5], side), 0.0, atol=1e-9)
    np.testing.assert_allclose(run.final[:5][side], -np.cos(end), rtol=1e-9)


def test_masses_that_lose_energy_collide_until_they_separate():
    still = FunctionFlow(lambda t, x: jnp.concatenate([x[5:], 0 * x[:5]]))
    start = np.zeros(10) + np.array([-1.0, 0, 0, 7, 8, 1, 0, 0, 0, 0])
    run = simulate_hybrid(still, start, [0.0, 2.0], [_collides(k, 0.5) for k in range(4)], integrator=Scipy())
    assert "".join(jump.name for jump in run.jumps) == "010"
    np.testing.assert_allclose(run.final[5:8], [0.203125, 0.234375, 0.5625], rtol=1e-12)


def _heated(t, x, on):
    return 30 * on - x


def _above_20(t, x):
    return x[0] - 20


@pytest.mark.parametrize("by_phase", [False, True])
def test_a_thermostat_without_hysteresis_chatters(by_phase):
    """It switches off above 20 and on below 20, all at the time log(30 / 10), and its temperature stays there."""
    heater = lambda on: FunctionFlow(_heated, parameters={"on": on})
    off = Transition("off", Event(_above_20, 1), lambda flow, t, x: (heater(0.0), x))
    on = Transition("on", Event(_above_20, -1), lambda flow, t, x: (heater(1.0), x))
    rules = (lambda flow: [off] if flow.parameters["on"] else [on]) if by_phase else [off, on]
    run = simulate_hybrid(heater(1.0), [0.0], [0.0, 5.0], rules, integrator=Scipy())
    assert run.ending is Ending.ACCUMULATED
    np.testing.assert_allclose(run.final, [20.0], rtol=1e-12)
    np.testing.assert_allclose(run.times("on"), np.log(3.0), rtol=1e-9)


def test_phases_with_one_guard_take_turns():
    """Each upward crossing leads to the other phase, whose transition has the same guard and is not due yet."""
    wave = lambda name: FunctionFlow(lambda t, x, odd: jnp.stack([x[1], -x[0]]), parameters={"odd": name})
    up = Event(lambda t, x: x[0], 1)
    rules = [Transition(name, up, lambda flow, t, x, k=k: (wave(k), x)) for name, k in (("odd", 1.0), ("even", 0.0))]
    turn = lambda flow: [rules[1] if flow.parameters["odd"] else rules[0]]
    run = simulate_hybrid(wave(0.0), [-1.0, 0.0], [0.0, 15.0], turn, integrator=Scipy())
    assert [(jump.name, round(jump.time / np.pi, 9)) for jump in run.jumps] == [
        ("odd", 0.5),
        ("even", 2.5),
        ("odd", 4.5),
    ]


def test_a_transition_at_given_times_occurs_at_the_start_too():
    dose = Transition("dose", Event(lambda t, x: jnp.sin(jnp.pi * t), 1), lambda flow, t, x: (flow, x + 1))
    run = simulate_hybrid(FunctionFlow(lambda t, x: 0 * x), [0.0], [0.0, 5.0], [dose], integrator=Scipy())
    np.testing.assert_allclose(run.times("dose"), [0.0, 2.0, 4.0], atol=1e-12)
    assert (run.ending, float(run.final[0])) == (Ending.FINISHED, 3.0)


def on_table(t, x):
    """The height of a ball above a table that moves."""
    return x[0] - 0.1 * jnp.sin(2 * t)


def falling(t, x):
    """Fall with the acceleration 1."""
    return jnp.stack([x[1], -1.0 + 0 * x[1]])


def test_a_bounce_that_rounding_errors_of_the_height_hide_comes_back_at_once():
    guard, flow, t = Event(on_table, direction=-1), FunctionFlow(falling), 2.4
    at = lambda speed: jnp.array([0.1 * np.sin(2 * t), 0.2 * np.cos(2 * t) + speed])
    assert [returns_within_noise(guard, flow, t, at(speed)) for speed in (1e-9, 1e-7, -1e-9)] == [True, False, False]


@pytest.mark.slow
def test_a_ball_comes_to_rest_on_a_moving_table_and_does_not_fall_through():
    """The table accelerates by at most 0.4, less than the ball falls."""

    def bounce(flow, t, x):
        table = 0.2 * jnp.cos(2 * t)
        return flow, jnp.stack([0.1 * jnp.sin(2 * t), table - 0.5 * (x[1] - table)])

    impact = Transition("impact", Event(on_table, direction=-1), bounce)
    run = simulate_hybrid(FunctionFlow(falling), [0.3, 0.0], [0.0, 5.0], [impact])
    assert run.ending is Ending.ACCUMULATED
    gaps = np.diff([jump.time for jump in run.jumps])
    np.testing.assert_allclose(gaps[-8:-3] / gaps[-9:-4], 0.5, rtol=1e-3)


def test_a_flow_without_transitions_is_followed_to_its_end():
    run = simulate_hybrid(WAVE, [1.0, 0.0], [0.0, 1.0, 2.0], lambda flow: [], integrator=Scipy())
    assert (run.ending, len(run.phases), run.jumps) == (Ending.FINISHED, 1, ())
    np.testing.assert_allclose(run.phases[0].ys[:, 0], np.cos([0.0, 1.0, 2.0]), atol=1e-9)

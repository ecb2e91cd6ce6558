"""Curves through few saved states have no visible corners, and are those of the run."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.tokens.consensus import diameter
from dynsim import (
    Event,
    FunctionFlow,
    FunctionMap,
    NoisyFlow,
    Scipy,
    Transition,
    iterate,
    random_key,
    simulate,
    simulate_hybrid,
)  # fmt: skip
from dynsim.errors import IntegrationError, Outcome
from dynsim.tokens import TokenFlow
from figures.refined import FINEST, _bend, refined, refined_phases

TIMES = np.linspace(0.0, 10.0, 11)


def _turn(t, x):
    return np.array([x[1], -x[0]])


@pytest.fixture(scope="module")
def circle():
    return simulate(FunctionFlow(_turn), np.array([1.0, 0.0]), TIMES, integrator=Scipy())


def test_a_run_at_few_times_is_drawn_as_the_curve_that_it_is(circle):
    fine = refined(circle)
    assert len(fine.ts) > 100
    assert np.array_equal(fine.ts[:: (len(fine.ts) - 1) // 10], TIMES)
    exact = np.stack([np.cos(fine.ts), -np.sin(fine.ts)], axis=1)
    assert np.max(np.abs(fine.ys - exact)) < 1e-9
    assert refined(fine) is fine
    path, *series = circle.plot().figure.axes
    assert all(len(ax.lines[0].get_xdata()) == len(fine.ts) for ax in (path, *series))


def test_a_run_backwards_is_drawn_from_its_last_time_to_its_first():
    run = simulate(FunctionFlow(_turn), np.array([1.0, 0.0]), [10.0, 6.0, 0.0], integrator=Scipy())
    fine = refined(run)
    assert (len(fine.ts) > 100, fine.ts[0], fine.ts[-1]) == (True, 10.0, 0.0)
    assert np.all(np.diff(fine.ts) < 0)
    exact = np.stack([np.cos(fine.ts - 10.0), -np.sin(fine.ts - 10.0)], axis=1)
    assert np.max(np.abs(fine.ys - exact)) < 1e-6


def test_a_jump_within_a_short_time_is_drawn_as_it_is():
    """The logistic curve rises within a thousandth of the time between two saved states."""
    flow = FunctionFlow(lambda t, x: 40 * x * (1 - x))
    run = simulate(flow, np.array([1e-6]), np.linspace(0.0, 120.0, 6), integrator=Scipy())
    fine = refined(run)
    exact = 1 / (1 + (1e6 - 1) * np.exp(-40 * np.asarray(fine.ts)))
    np.testing.assert_allclose(np.asarray(fine.ys)[:, 0], exact, atol=1e-6)
    assert np.max(np.diff(np.asarray(fine.ys)[:, 0])) < 0.3
    assert np.isin(run.ts, fine.ts).all()


def test_estimates_of_errors_are_between_those_of_saved_times(circle):
    error = np.stack([TIMES, 2 * TIMES], axis=1)
    fine = refined(eqx.tree_at(lambda run: run.stats.error, circle, error, is_leaf=lambda part: part is None))
    assert np.allclose(fine.stats.error, np.stack([fine.ts, 2 * fine.ts], axis=1))


def test_what_cannot_be_repeated_stays_as_it_was_saved(circle):
    other = np.concatenate([circle.ys[:5], 3 * circle.ys[5:]])  # as of a chaotic run that another one leaves
    left = refined(eqx.tree_at(lambda run: run.ys, circle, other))
    assert np.array_equal(left.ys[-7:], other[4:])
    assert np.array_equal(left.ts[-7:], TIMES[4:])
    assert np.max(np.abs(np.hypot(*np.asarray(left.ys[:-6]).T) - 1)) < 1e-9
    failed = simulate(
        FunctionFlow(lambda t, x: x**2), jnp.ones(1), [0.0, 0.5, 0.9, 2.0], integrator=Scipy(), throw=False
    )
    for run in (failed, iterate(FunctionMap(lambda k, x: -x), [1.0], 5)):
        assert refined(run) is run


def test_a_phase_between_two_bounces_is_the_arc_that_it_is():
    fall = FunctionFlow(lambda t, x: np.array([x[1], -1.0]), names=("height", "speed"))
    bounce = Transition("bounce", Event(lambda t, x: x[0], -1), lambda flow, t, x: (flow, -0.8 * x))
    run = simulate_hybrid(fall, np.array([0.5, 0.0]), [0.0, 2.5, 3.5], [bounce], integrator=Scipy())
    assert [len(phase.ts) for phase in run.phases] == [2, 3, 2]
    for fine in (refined(run.phases[0]), *refined_phases(run).phases):
        assert len(fine.ts) > 60
        since = fine.ts - fine.ts[0]
        height, speed = np.asarray(fine.ys[0])
        assert np.max(np.abs(fine.ys[:, 0] - height - speed * since + since**2 / 2)) < 1e-9
    assert len((run.phases[1]).plot().figure.axes[0].lines[0].get_xdata()) > 60


def test_a_run_of_two_saved_times_is_drawn_with_all_of_its_turns():
    fine = refined(simulate(FunctionFlow(_turn), np.array([1.0, 0.0]), [0.0, 100.0], integrator=Scipy()))
    assert len(fine.ts) > 380  # 16 turns, of two dozen pieces each at least
    assert np.max(np.abs(fine.ys[:, 0] - np.cos(fine.ts))) < 1e-7


def test_a_run_is_divided_as_finely_as_what_is_drawn_of_it_bends(circle):
    straight = simulate(FunctionFlow(lambda t, x: np.ones_like(x)), np.zeros(2), TIMES, integrator=Scipy())
    assert refined(straight) is straight
    fine = refined(straight, of=lambda x: x[0] ** 2)
    assert len(fine.ts) > 40
    assert refined(circle, of=lambda x: x @ x) is circle


def test_what_turns_often_between_two_saved_times_is_divided_until_no_corner_is_visible():
    straight = simulate(FunctionFlow(lambda t, x: np.ones_like(x)), np.zeros(1), [0.0, 10.0], integrator=Scipy())
    turning = lambda x: jnp.sin(20 * x[0])
    fine = refined(straight, of=turning)
    assert len(fine.ts) > 4 * FINEST
    assert _bend(np.asarray(fine.ts), np.asarray(fine.along(turning))[:, None]) < 1e-3


def test_a_run_whose_states_lead_nowhere_stays_as_it_is(circle, monkeypatch):
    def fails(*given):
        raise IntegrationError("no", outcome=Outcome.MAX_STEPS)

    monkeypatch.setattr("figures.refined.dense_path", fails)
    assert refined(circle) is circle


def test_the_diameter_of_tokens_is_drawn_between_the_saved_times():
    flow = TokenFlow(jnp.eye(3)[None])
    run = simulate(
        flow, flow.space.sample(random_key(0, "start"), (4, 3)), np.linspace(0.0, 8.0, 6), integrator=Scipy()
    )
    (line,) = run.plot().figure.axes[-1].lines
    ts, values = np.asarray(line.get_data())
    assert len(ts) > 50
    assert np.allclose(values[np.isin(ts, run.ts)], run.along(diameter))


@pytest.mark.parametrize("count", [6, 21])
def test_a_curve_bends_by_its_distance_from_the_chords_of_its_intervals(count):
    """Of t^2 on [0, 1] that is a quarter of the square of the interval; other components bend less."""
    ts = np.linspace(0.0, 1.0, count)
    values = np.stack([5.0 * ts, 7.0 * ts**2, 0.1 * ts**2 + ts], axis=1)
    assert _bend(ts, values) == pytest.approx((ts[1] / 2) ** 2)
    assert _bend(np.array([0.0, 1.0, 1.0, 1.0]), values[:4]) < np.inf  # where no float lies between two times


def test_a_run_with_noise_is_drawn_at_its_steps_on_the_same_path(monkeypatch):
    noisy = NoisyFlow(FunctionFlow(lambda t, x: -x), 0.5, calculus="ito")
    coarse = simulate(noisy, [1.0], [0.0, 0.5, 1.0], key=random_key(0, "noise"))
    whole = simulate(noisy, [1.0], np.linspace(0.0, 1.0, 101), key=random_key(0, "noise"))
    fine = refined(coarse)
    assert len(fine.ts) == 101
    np.testing.assert_allclose(fine.ys, whole.ys, atol=1e-12)
    np.testing.assert_allclose(fine.ys[::50], coarse.ys, atol=1e-12)
    monkeypatch.setattr("figures.refined.MOST", 60)
    np.testing.assert_allclose(refined(coarse).ys, whole.ys[::2], atol=1e-12)  # 25 of the 50 steps of an interval
    every = simulate(noisy, [1.0], np.linspace(0.0, 0.2, 21), key=random_key(0, "noise"))
    assert refined(every) is every
    other = eqx.tree_at(lambda run: run.ys, coarse, coarse.ys + jnp.array([[0.0], [0.1], [0.2]]))
    assert refined(other) is other  # a run that cannot be repeated


def test_a_run_off_its_own_path_is_drawn_from_one_saved_state_to_the_next_as_far_as_it_is_near(circle):
    """The saved states grow by 0.45 of what is near at each time, so that each path stays near for two intervals."""
    grown = 1 + 0.00045 * 2 * np.arange(7)  # relative to the extent of both components, 2
    times = TIMES[:7]
    saved = np.stack([np.cos(times), -np.sin(times)], axis=1) * grown[:, None]
    run = eqx.tree_at(lambda run: (run.ts, run.ys), circle, (times, saved))
    fine = refined(run)
    radius = np.linalg.norm(fine.ys, axis=1)
    pieces = (len(fine.ts) - 1) // 6
    assert pieces > 4
    np.testing.assert_allclose(radius[:-1], np.repeat(grown[:-1:2], 2 * pieces), rtol=1e-7)
    np.testing.assert_allclose(fine.ts, np.linspace(0.0, 6.0, len(fine.ts)), atol=1e-12)

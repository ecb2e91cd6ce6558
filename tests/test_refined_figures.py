"""Curves through few saved states have no visible corners, and are those of the run."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim import FunctionFlow, FunctionMap, Scipy, iterate, simulate
from figures.refined import refined
from figures.trajectories import drawing

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
    path, *series = drawing(circle).axes
    assert all(len(ax.lines[0].get_xdata()) == len(fine.ts) for ax in (path, *series))


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

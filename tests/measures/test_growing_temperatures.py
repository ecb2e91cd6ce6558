"""Hitting times of temperatures, held against closed forms, the printed bounds and the flow that ships."""

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from analysis.growing.temperatures import activity, hitting_time, printed_hitting_time, printed_step_bound, step_bound
from dynsim.systems.growing.descent import temperature_step

ORIGIN = np.zeros((1, 1))


@pytest.mark.parametrize("gap", [0.3, 1.0, 2.0])
def test_the_hitting_time_of_two_prototypes_is_that_of_the_closed_form(gap):
    p = np.array([[0.0], [math.sqrt(gap)]])
    slowness = lambda T: T**2 * 4 * math.cosh(gap / (2 * T)) ** 2 / (0.01 * gap**2)
    expected, _ = quad(slowness, 0.1, 1.0, epsabs=0, epsrel=1e-13)
    assert hitting_time(ORIGIN, p, start=1.0, least=0.1, rate=0.01) == pytest.approx(expected, rel=1e-11)
    assert float(activity(jnp.zeros((1, 1)), jnp.asarray(p), jnp.asarray(0.5))) == pytest.approx(
        0.25 / (slowness(0.5) * 0.01), rel=1e-12
    )


def test_more_tokens_are_averaged():
    z, p = np.array([[0.0], [0.0], [0.5], [0.5]]), np.array([[0.0], [1.0]])  # 0.5 is as far from both
    alone = hitting_time(ORIGIN, p, start=1.0, least=0.2, rate=0.1)
    assert hitting_time(z, p, start=1.0, least=0.2, rate=0.1) == pytest.approx(2 * alone, rel=1e-12)


def test_equidistant_prototypes_never_cool():
    assert hitting_time(ORIGIN, [[1.0], [-1.0]], start=1.0, least=0.1, rate=0.01) == math.inf


def test_the_printed_time_is_exact_for_fractions():
    values = [Fraction(text) for text in ("1", "0.1", "0.01", "0.1")]
    assert printed_hitting_time(*values) == 333
    assert printed_step_bound(*values) == 334


@pytest.mark.parametrize("ratio", [1.5, 10.0, 30.0])
def test_steps_at_constant_activity_keep_to_the_bound_and_come_near_it(ratio):
    T, steps = ratio, 0
    while T > 1:
        T, steps = temperature_step(T, 1.0, 0.3), steps + 1
    assert steps <= step_bound(ratio, 1.0, 0.3, 1.0) <= steps + 1
    assert (steps > printed_step_bound(ratio, 1.0, 0.3, 1.0)) == (ratio > 2)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="`least` must be below `start`"):
        printed_hitting_time(1.0, 1.0, 0.1, 1.0)
    with pytest.raises(ValueError, match="`activity` must be positive"):
        printed_hitting_time(1.0, 0.5, 0.1, 0.0)
    with pytest.raises(ValueError, match=r"`p` must be \(k, m\)"):
        hitting_time(ORIGIN, np.zeros((2, 2)), start=1.0, least=0.1, rate=0.01)

"""Units of states and times: powers near sizes and rates, which are 1 where both are of order one."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.flow_maps.component_sizes import Local, LocalRates
from analysis.dynamics.scaling.flat import extents
from analysis.dynamics.scaling.samples import largest, norms, ranges, sample_units
from analysis.dynamics.scaling.units import power_near
from dynsim import FunctionFlow, NoisyFlow, RescaledFlow, Sphere, random_key
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.tokens import TokenFlow


def largest_units(flow, states):
    """Return the units of trajectories, of which the largest sizes and rates count."""
    return sample_units(flow, states, sizes=largest, rate=np.max)


def test_units_are_powers_near_sizes():
    assert power_near(np.array([0.0, 1.0, 30.0, 40.0, 1e-9, 3e6, np.inf])).tolist() == [
        1.0, 1.0, 1.0, 1024.0, 2.0**-30, 2.0**20, 1.0,
    ]  # fmt: skip


def test_sizes_of_vectors_are_those_of_their_entries_and_of_matrices_the_largest():
    rows = np.array([[1.0, 5.0, 0.0, np.nan], [-2.0, 5.0, 0.0, 0.5], [0.0, 5.0, 0.0, -0.5]])
    assert ranges(rows).tolist() == [3.0, 5.0, 5.0, 1.0]
    assert largest(rows).tolist() == [2.0, 5.0, 5.0, 0.5]
    assert extents(rows[:, :3] / 8).tolist() == [3 / 8, 1.0, 1.0]
    assert float(ranges(rows[:, :3, None])) == 5.0
    assert (float(ranges(rows[:, 0])), float(largest(rows[:, 0]))) == (3.0, 2.0)  # a state that is a number
    both = ranges(FastSlow(rows[:, :1], rows[:, 0]))
    assert (both.fast.tolist(), float(both.slow)) == ([3.0], 3.0)


def test_rates_are_norms_of_jacobians():
    flow = FunctionFlow(lambda t, x: (1 + t) * jnp.stack([3 * x[0], 4 * x[1] * x[0]]))
    found = norms(flow, jnp.asarray([[1.0, 0.0], [0.0, 2.0], [np.nan, 0.0]]), 1.0)
    np.testing.assert_allclose(found, 2 * np.array([5.0, np.sqrt(9 + 64)]) / np.sqrt(2))


def test_flows_of_order_one_keep_their_units():
    flow = FunctionFlow(lambda t, x: -x)
    states = jnp.asarray([[1.0, 0.1], [-1.0, 3.0]])
    for found in (sample_units(flow, states), largest_units(flow, states)):
        assert found.are_given
        assert (found.time, found.restored(states) is states) == (1.0, True)
    noisy = NoisyFlow(FunctionFlow(lambda t, x: -1e9 * x), 1.0, calculus="ito")
    assert sample_units(noisy, states).are_given


def test_other_flows_have_states_and_rates_of_order_one_in_their_units():
    flow = FunctionFlow(lambda t, x: 1e7 * (jnp.asarray([1e-9, 1e5]) - x))
    states = jnp.asarray([[2e-9, 1e5], [-2e-9, 4e5]])
    found = sample_units(flow, states)
    z = found.rescaled(states)
    assert np.all((np.ptp(z, axis=0) > 1 / 8) & (np.ptp(z, axis=0) < 128))
    assert 1 / 32 <= float(norms(found.system, z)[0]) <= 32
    np.testing.assert_allclose(found.restored(z), states, rtol=1e-15)
    moved = found.acting([lambda x: 3 * x])[0](z)
    np.testing.assert_allclose(moved, 3 * z, rtol=1e-15)
    far = states + jnp.asarray([[0.0, 1e12]])
    offset = sample_units(flow, far)
    assert offset.system.scale.tolist() == found.system.scale.tolist()  # the range counts
    assert largest_units(flow, far).system.scale[1] == 2.0**40


def test_the_median_rate_is_typical_and_the_largest_is_for_trajectories():
    flow = FunctionFlow(lambda t, x: x * jnp.abs(x))
    states = jnp.asarray([[1e-6], [1.0], [1e-6]])
    assert sample_units(flow, states).time == 2.0**20
    assert largest_units(flow, states).time == 1.0


@pytest.mark.slow
def test_on_a_curved_space_times_have_a_unit_and_states_none():
    tokens = TokenFlow(np.eye(3), 1e-9)
    x = tokens.space.sample(random_key(0, "x"), (4, 3))
    found = sample_units(tokens, x[None])
    assert isinstance(found.system, RescaledFlow)
    assert found.time > 1e6
    np.testing.assert_array_equal(found.rescaled(x), x)
    np.testing.assert_allclose(found.system.pulls(0.0, x), found.time * tokens.pulls(0.0, x), rtol=1e-12)
    empty = RescaledFlow(FunctionFlow(lambda t, x: x, Sphere()), time=2.0).pulls(0.0, x)
    assert empty.size == 0


@pytest.mark.slow
@pytest.mark.parametrize("states", [jnp.zeros((3, 2)), jnp.full((3, 2), jnp.nan)])
def test_states_without_a_size_have_the_units_of_the_flow(states):
    assert sample_units(FunctionFlow(lambda t, x: 0 * x), states).are_given


def test_the_rates_at_a_point_are_compared_with_those_at_the_ends_of_the_parameters():
    """The fastest is the point's own unless the ends are far faster; each typical one is the largest at all of them."""
    at = lambda field, values: Local(np.array(field), np.zeros((2, 2)), np.array(values))
    here, low, high = at([1.0, 2.0], [-4.0, 100.0j]), at([0.0, 7.0], [9.0, -20.0]), at([3.0, -7.0], [2.0, 50.0])
    rates = LocalRates(here, [[low, high], [None, high]])
    assert (rates.fastest, rates.typical.tolist()) == (100.0, [9.0, 100.0])
    assert rates.forces.tolist() == [3.0, 14.0]
    rates = LocalRates(here, [[high, at([0.0, -np.inf], [1e6, 2.0])], [low, at([9.0, 7.0], [1.0, 1.0])]])
    assert (rates.fastest, rates.typical.tolist()) == (pytest.approx(0.03e6), [9.0, 1e6])
    assert rates.forces[0] == 9.0
    of_slopes = lambda slope: Local(np.zeros(1), np.array([[slope]]), np.array([slope]))
    with np.errstate(over="raise", invalid="raise"):  # a ratio beyond all numbers says nothing about an equation
        assert LocalRates(of_slopes(2.0), [[of_slopes(1e-310), of_slopes(-3.0)]]).fastest == 2.0
    alone = LocalRates(here, [])
    assert (alone.fastest, alone.typical.tolist(), alone.forces.tolist()) == (100.0, [4.0, 100.0], [0.0, 0.0])

"""Decay rates, orders and monotonicity, on series whose answers are known."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.convergence import decay_rate, observed_order, reference_solution, worst_increase
from analysis.tokens.consensus import diameter
from analysis.tokens.energies import consensus_potential
from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Scipy, Stats
from dynsim.keys import random_key
from dynsim.simulation.simulate import iterate, simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Euclidean
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.tokens.flow import LayerMap, TokenFlow
from dynsim.systems.tokens.published import GRADIENT_MATRIX, published_gradient_flow

TS = np.linspace(0.0, 60.0, 241)
OTHER = Scipy("RK45", 1e-9, 1e-11)  # than the reference solution


def test_an_exponential_has_its_rate_and_rounding_is_left_out():
    found = decay_rate(TS, 3 * np.exp(-0.7 * TS) + 1e-14)
    assert found.law == "exponential"
    assert found.rate == pytest.approx(0.7, abs=2 * found.error + 1e-2)
    assert found.num_points < 100  # after t = 39 nothing is above the floor


def test_a_power_law_is_not_taken_for_an_exponential():
    found = decay_rate(TS + 1, (TS + 1) ** -0.5)
    assert found.law == "algebraic"
    assert found.rate == pytest.approx(0.5, abs=1e-9)


def test_a_drifting_slope_shows_in_the_error():
    exact = decay_rate(TS, np.exp(-0.2 * TS)).error
    drifting = decay_rate(TS, np.exp(-0.2 * TS - 1e-3 * TS**2)).error
    assert exact < 1e-10 < 1e-3 < drifting


def test_noise_widens_the_error_and_the_truth_is_inside():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(50):
        found = decay_rate(TS, np.exp(-0.1 * TS + 0.1 * rng.normal(size=TS.size)))
        inside += abs(found.rate - 0.1) < 2.8 * found.error  # 95 % of Student's t with 4 degrees of freedom
    assert inside >= 42


def test_tokens_near_consensus_contract_at_the_rate_of_the_spectrum():
    flow = TokenFlow(np.eye(3))
    x0 = flow.space.project(jnp.asarray([[1.0, 0, 0]]) + 0.3 * flow.space.sample(random_key(0, "x"), (5, 3)))
    path = simulate(flow, x0, np.linspace(0.0, 30.0, 121), integrator=Scipy())
    found = decay_rate(path.ts, path.along(diameter), floor=1e-7)
    assert found.rate == pytest.approx(1 / np.sqrt(3), abs=3 * found.error + 1e-4)


def test_orders_are_slopes():
    h = 0.1 / 2.0 ** np.arange(6)
    found = observed_order(h, 4 * h**2 + h**3)
    assert found.rate == pytest.approx(2.0, abs=0.05)
    assert found.error < 0.05


def test_the_layer_map_is_a_first_order_approximation_of_the_flow():
    flow = published_gradient_flow()
    x0 = flow.space.sample(random_key(0, "x"), (5, 3))
    exact = simulate(flow, x0, [0.0, 2.0], integrator=Scipy()).final
    steps = 2.0 / np.array([16, 64, 256])
    errors = [
        float(jnp.max(jnp.abs(iterate(LayerMap(flow, h), x0, round(2.0 / h), every=round(2.0 / h)).final - exact)))
        for h in steps
    ]
    assert observed_order(steps, errors).rate == pytest.approx(1.0, abs=0.1)


def test_a_rise_between_distant_times_is_found_and_weighed_against_its_error():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]), Euclidean())
    path = simulate(flow, jnp.array([1.0, 0.0]), np.linspace(0.0, 6.0, 61), integrator=OTHER)
    found = worst_increase(path, lambda x: x[0])
    assert found.amount == pytest.approx(1 + np.cos(6.0), abs=2e-3)
    assert (found.start, found.end) == (pytest.approx(3.1), 6.0)
    assert not found.nonincreasing
    radius = worst_increase(path, lambda x: x @ x)
    assert radius.amount < radius.error < 1e-6
    assert radius.nonincreasing


def test_the_potential_falls_along_its_gradient_flow_and_rises_against_it():
    flow = published_gradient_flow()
    x0 = flow.space.sample(random_key(0, "x"), (5, 3))
    energy = lambda x: consensus_potential(x, jnp.asarray(GRADIENT_MATRIX))
    ts = np.linspace(0.0, 10.0, 41)
    down = simulate(flow, x0, ts, integrator=OTHER)
    up = simulate(TokenFlow(GRADIENT_MATRIX, -1.0, space=flow.space), x0, ts, integrator=OTHER)
    assert worst_increase(down, energy).nonincreasing
    assert not worst_increase(up, energy).nonincreasing


def test_the_error_is_that_of_the_second_opinion():
    flow = FunctionFlow(lambda t, x: -x, Euclidean())
    rough = simulate(flow, jnp.ones(1), np.linspace(0.0, 5.0, 21), integrator=Diffrax(rtol=1e-2, atol=1e-2))
    fine = simulate(flow, jnp.ones(1), np.linspace(0.0, 5.0, 21))
    energy = lambda x: x[0]
    assert worst_increase(rough, energy).error > 1e-4 > 1e-8 > worst_increase(fine, energy).error
    assert worst_increase(fine, energy, reference=reference_solution(fine)) == worst_increase(fine, energy)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_error_of_an_increase_is_twice_the_largest_difference_of_either_sign(sign):
    flow, stats = FunctionFlow(lambda t, x: x), Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 1.0)
    values, off = np.array([0.0, 2.0, 1.0, 1.5]), sign * np.array([0.0, 0.25, 0.125, -0.0625])
    path, reference = (Trajectory(np.arange(4.0), y, flow, stats) for y in (values, values + off))
    assert worst_increase(path, lambda x: x, reference=reference)[:] == pytest.approx((2.0, 0.0, 1.0, 0.5))


def test_a_map_has_rounding_error_only():
    path = iterate(LayerMap(published_gradient_flow(), 0.1), published_gradient_flow().space.sample(
        random_key(0, "x"), (5, 3)), 50)  # fmt: skip
    found = worst_increase(path, lambda x: consensus_potential(x, jnp.asarray(GRADIENT_MATRIX)))
    assert found.error < 1e-12
    with pytest.raises(ValueError, match="path` must come from a flow"):
        reference_solution(path)


def test_bad_series_are_refused():
    with pytest.raises(ValueError, match="values` must have 15 entries above `floor`"):
        decay_rate(TS[:20], np.exp(-TS[:20]))
    with pytest.raises(ValueError, match="values` must have shape"):
        decay_rate(TS, TS[1:])
    with pytest.raises(ValueError, match="ts` must increase"):
        decay_rate(TS[::-1], np.exp(-TS))
    with pytest.raises(ValueError, match="values` must be numbers"):
        decay_rate(TS, np.full(TS.shape, np.nan))
    with pytest.raises(ValueError, match="skip` must lie"):
        decay_rate(TS, np.exp(-0.1 * TS), skip=1.0)
    with pytest.raises(ValueError, match="errors` must have one entry"):
        observed_order([1.0, 0.5], [1.0, 0.5])
    with pytest.raises(ValueError, match="errors` must be positive"):
        observed_order([1.0, 0.5, 0.25], [1.0, 0.0, 0.1])


def test_rate_and_error_are_mean_and_standard_error_of_the_slopes_in_five_windows():
    slopes = np.array([-0.3, -0.1, -0.2, -0.5, -0.4])
    ts = 100.0 + np.arange(20)
    before = np.ones(5)  # a quarter of the time from the first one on is left out
    windows = np.concatenate([np.exp(s * np.arange(3) - k) for k, s in enumerate(slopes)])
    found = decay_rate(ts, np.concatenate([before, windows]), skip=0.25)
    assert found.num_points == 15
    assert found.law == "undecided"
    assert found.rate == pytest.approx(0.3, rel=1e-9)
    assert found.error == pytest.approx(np.sqrt(0.025 / 5), rel=1e-9)
    order = observed_order([1.0, 0.5, 0.25], [1.0, 0.5, 0.125])  # slopes 1 and 2
    assert (order.rate, order.error) == (pytest.approx(1.5), pytest.approx(0.5))


def test_the_error_of_an_increase_is_twice_the_difference_and_rounding():
    flow = FunctionFlow(lambda t, x: -x, Euclidean())
    path = simulate(flow, jnp.array([3.0]), np.linspace(0.0, 1.0, 5), integrator=OTHER)
    other = eqx.tree_at(lambda p: p.ys, path, path.ys + jnp.array([[0.0], [0.1], [-0.3], [0.2], [0.0]]))
    found = worst_increase(path, lambda x: x[0], reference=other)
    assert found.error == pytest.approx(0.6, rel=1e-12)
    still = iterate(FunctionMap(lambda k, x: x), jnp.array([3.0]), 4)
    assert worst_increase(still, lambda x: x[0]).error == 24 * np.finfo(float).eps

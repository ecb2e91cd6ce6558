"""Windows of many states by a kernel, each with its own steps, beside states that share their steps."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from dynsim.spaces import Ellipsoid
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.oscillators import Duffing
from tests.support.as_if_kernels import as_if_kernels

STARTS = np.random.default_rng(0).normal(size=(40, 2))
TURN = jnp.array([[0.0, -1.0, 0.3], [1.0, 0.0, -2.0], [-0.3, 2.0, 0.0]])
WIDE = FunctionFlow(lambda t, x: jnp.stack([x[1] * 1e3, -x[0] / 1e3]))
CASES = {
    "forced": (Duffing(delta=0.15, gamma=0.2), STARTS, 2 * np.pi, None),
    "in other units": (WIDE, STARTS * [1e3, 1.0], 0.7, [1e3, 1.0]),
    "on a sphere": (FunctionFlow(lambda t, x: TURN @ x, space=Ellipsoid(np.eye(3))), np.eye(3), 1.1, None),
}  # fmt: skip


@pytest.mark.parametrize("case", ["forced", *(pytest.param(one, marks=pytest.mark.slow) for one in [*CASES][1:])])
def test_windows_agree(case, monkeypatch):
    flow, starts, interval, sizes = CASES[case]
    sizes = None if sizes is None else np.array(sizes)
    made = lambda: TimeMap(flow, starts[0], state_itself, interval, 1e-9, 1e6, sizes)
    shared = made().window(starts, 3)
    calls = as_if_kernels(monkeypatch)
    found = made().window(starts, 3)
    assert calls == [len(starts)]
    np.testing.assert_allclose(found, shared, atol=1e-5 * np.max(np.abs(starts)))


def test_windows_of_a_map_agree(monkeypatch):
    """States out of bounds stay where they are, and the number of the step goes on from window to window."""
    pushed = FunctionMap(lambda k, x: x**2 + jnp.where(k % 5 == 0, 0.25, 0.0))
    made = lambda: TimeMap(pushed, np.ones(1), state_itself, 2, 1e-6, 9.0)
    starts = np.array([[0.3], [1.2], [-0.7]])
    exact = made().window(starts, 8)
    calls = as_if_kernels(monkeypatch)
    found = made().window(starts, 8)
    assert calls == [3]
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert found[-1, 1, 0] == found[-2, 1, 0] > 9.0


def test_states_out_of_bounds_stand_still_and_failures_are_their_own(monkeypatch):
    """Of x' = x^2 one state stays below the bound, one passes it; without a bound one escapes in the window."""
    calls = as_if_kernels(monkeypatch)
    square = TimeMap(FunctionFlow(lambda t, x: x**2), np.ones(1), state_itself, 0.1, 1e-8, 5.0)
    found = square.window(np.array([[0.1], [2.0], [-1.0]]), 0)
    t = 0.1 * np.arange(1, 9)
    np.testing.assert_allclose(found[:, 0, 0], 0.1 / (1 - 0.1 * t), rtol=1e-6)
    np.testing.assert_allclose(found[:, 2, 0], -1 / (1 + t), rtol=1e-6)
    assert 5.0 <= found[-1, 1, 0] < 8
    assert found[-1, 1, 0] == found[-2, 1, 0]
    escaping = TimeMap(FunctionFlow(lambda t, x: x**2), np.ones(1), state_itself, 0.1, 1e-8, np.inf)
    found = escaping.window(np.array([[2.0], [0.5]]), 0)
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).all()
    assert calls == [3, 2]


def test_few_states_maps_and_other_solvers_keep_their_way(monkeypatch):
    calls = as_if_kernels(monkeypatch)
    jumping = FunctionFlow(lambda t, x: -x + jnp.where(t > 0.5, 1.0, 0.0), breaks=[0.5])
    assert np.isfinite(TimeMap(jumping, np.ones(1), state_itself, 0.2, 1e-6, 1e3).window(np.ones((3, 1)), 0)).all()
    assert calls == []


@pytest.mark.slow
def test_basins_by_a_kernel_are_the_same(monkeypatch):
    flow, box = Duffing(delta=0.25, gamma=0.0), [[-2.0, 2.0], [-1.5, 1.5]]
    search = Search(interval=2.0)
    before = basins(flow, box, [12, 10], search=search, shown=False)
    calls = as_if_kernels(monkeypatch)
    after = basins(flow, box, [12, 10], search=search, shown=False)
    assert 120 in calls
    np.testing.assert_array_equal(before.labels, after.labels)

"""Many windows of a time map in one program are those of a window at a time."""

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.options import Search, set_up
from analysis.dynamics.flow_maps import time_map
from analysis.dynamics.flow_maps.time_map import WINDOW, TimeMap, state_itself
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Logistic

pytestmark = pytest.mark.retraced


def one_by_one(made, xs, begun, windows):
    for k in range(windows):
        states = made.window(xs, begun + k * WINDOW)
        xs = states[-1]
    return states


def forced(t, x):
    return jnp.stack([x[1], -x[0] - 0.3 * x[1] + jnp.where(jnp.sin(t) > 0, 0.5, -0.2)])


@pytest.mark.parametrize(
    "windows", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(5, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("begun", [0, WINDOW])
def test_windows_in_one_program_are_those_of_a_window_at_a_time(monkeypatch, windows, begun):
    monkeypatch.setattr(time_map, "AT_ONCE", 2)
    starts = np.random.default_rng(0).uniform(-0.5, 0.5, (70, 2))
    made, *_ = set_up(FunctionFlow(forced), starts, Search(period=2 * np.pi))
    expected, calls, moved = one_by_one(made, starts, begun, windows), [], time_map._moved
    monkeypatch.setattr(time_map, "_moved", lambda *given: calls.append(given[3:]) or moved(*given))
    assert made.later(starts, begun, windows) == pytest.approx(expected, abs=1e-9)
    assert calls == [(count,) for count in {1: (1,), 3: (2, 1), 5: (2, 2, 1)}[windows]]


def test_members_that_escape_or_are_not_finite_are_followed_as_by_single_windows():
    starts = np.array([[0.2], [0.5], [1.7], [np.nan]])
    made, *_ = set_up(Logistic(3.7), starts[:2], Search())
    found, expected = made.later(starts, 0, 4), one_by_one(made, starts, 0, 4)
    np.testing.assert_array_equal(found, expected)
    assert np.all(np.isfinite(found[:, :2]))
    assert not np.any(np.abs(found[:, 2]) <= float(made.bound))


def test_windows_of_a_field_that_jumps_on_a_surface_have_its_closed_form():
    """The states of x' = cos(t) / 2 - sign x reach 0 after different times, or not, and slide there."""
    starts, begun = np.array([[3.0], [-40.0], [0.0]]), 2
    flow = FunctionFlow(lambda t, x: jnp.cos(t) / 2 - jnp.sign(x))
    made = TimeMap(flow, jnp.zeros(1), state_itself, 1.0, 1e-9, np.inf, np.ones(1))
    ts, way = begun + np.arange(1.0, WINDOW + 1), np.sign(starts[:, 0])
    free = starts[:, 0] + (np.sin(ts) - np.sin(begun))[:, None] / 2 - way * (ts - begun)[:, None]
    np.testing.assert_allclose(made.window(starts, begun)[:, :, 0], way * np.maximum(way * free, 0), atol=1e-6)


def test_windows_of_a_field_that_jumps_in_time_have_its_closed_form_in_all_units():
    """Each component is a triangle wave of its own size, arccos(cos t) for the size 1."""
    sizes, begun = np.array([1e-6, 1e6]), 2
    starts = sizes * np.array([[0.0, 1.0], [3.0, -2.0]])
    flow = FunctionFlow(lambda t, x: jnp.asarray(sizes) * jnp.where(jnp.sin(t) > 0, 1.0, -1.0))
    made = TimeMap(flow, jnp.zeros(2), state_itself, 1.0, 1e-9, np.inf, sizes, solver=dfx.Tsit5())
    ts = begun + np.arange(1.0, WINDOW + 1)
    moved = np.arccos(np.cos(ts)) - np.arccos(np.cos(begun))
    expected = starts / sizes + moved[:, None, None]
    np.testing.assert_allclose(made.window(starts, begun) / sizes, expected, atol=1e-7)

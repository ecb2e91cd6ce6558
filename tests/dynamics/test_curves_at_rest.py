"""Curves of nearly unit speed end where they arrive, and trajectories that escape are given up."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import limit_cycles
from analysis.dynamics.flow_maps.numpy_solver import ROUNDS, follow, sampled
from analysis.dynamics.flow_maps.unit_speed import curves
from analysis.dynamics.periodic_orbits import limit_cycles as search
from dynsim.programs import without_compiling

COMPETITION = "x' = x*(3 - x - 2*y); y' = y*(2 - x - y)"


def paced(rates, slow):
    """A linear field towards (2, 1) at nearly unit speed."""

    def field(which, times, z):
        v = -np.asarray(rates)[:, None] * (z - np.array([[2.0], [1.0]]))
        return v / np.sqrt(np.sum(v**2, axis=0) + slow**2)

    return field


def test_a_curve_stops_where_it_comes_no_further_and_stays_there():
    field, starts, zero = paced([1.0, 0.7], 1e-5), np.array([[0.0, 0.0], [2.0, 0.0], [1.999, 1.0]]), np.zeros(3)
    options = {"rtol": 1e-5, "atol": 1e-7, "keep": True, "max_steps": 1000}
    found = follow(field, starts, zero, np.full(3, 40.0), settles=True, **options)
    assert found.resting.tolist() == [True] * 3
    assert np.max(found.counts) < 4 * ROUNDS
    assert np.allclose(found.ends, [2.0, 1.0], atol=1e-3)
    path = sampled(field, found, starts, zero, np.array([0.0, 0.5, 20.0, 40.0]))
    assert np.all(np.isfinite(path))
    assert np.array_equal(path[:, -1], found.ends)
    assert np.linalg.norm(path[0, 1]) == pytest.approx(0.5, rel=1e-3)  # half of a unit of length on the way
    going = follow(field, starts, zero, np.full(3, 40.0), **options)
    assert not np.any(going.resting)
    assert not np.all(going.succeeded)  # 1,000 steps do not suffice


def test_a_small_circle_is_no_rest():
    turn = lambda which, times, z: np.array([-z[1], z[0]]) / np.sqrt(np.sum(z**2, axis=0) + 1e-20)
    found = follow(turn, np.array([[1e-3, 0.0]]), np.zeros(1), np.ones(1), rtol=1e-5, atol=1e-7, settles=True)
    assert not found.resting[0]
    assert np.linalg.norm(found.ends) == pytest.approx(1e-3, rel=0.1)  # after 159 turns


def test_members_beyond_a_distance_are_given_up():
    grow = lambda which, times, z: z
    starts, zero = np.array([[1.0, 0.0], [0.0, -1e-3]]), np.zeros(2)
    found = follow(grow, starts, zero, np.full(2, 10.0), rtol=1e-9, atol=1e-12, far=100.0)
    assert found.succeeded.tolist() == [False, True]
    assert found.ends[1] == pytest.approx([0.0, -1e-3 * np.exp(10)])


def test_a_portrait_with_nodes_and_a_saddle_needs_no_compiled_solver(monkeypatch):
    """Starts that have settled are at rest also in the later rounds of the search for limit cycles."""
    monkeypatch.setattr("dynsim.simulation.ensemble.ensemble", None)
    flow, corners = ds.system(COMPETITION), np.array([[0.5, 3.5], [3.5, 0.5], [3.0, 3.0], [0.2, 0.1]])
    rounds, ends = [], search._ends
    monkeypatch.setattr(search, "_ends", lambda *given: rounds.append(given[4]) or ends(*given))
    with without_compiling():
        assert limit_cycles(flow, corners) == []
        path = curves(flow, corners[:3], 8.0, signs=[1.0] * 3)
    assert len(rounds) <= 4  # two in each direction, of five
    assert np.allclose(path[:2, -1], [[0.0, 2.0], [3.0, 0.0]], atol=1e-3)


@pytest.mark.parametrize(("periods", "bounded"), [({}, True), ({"angle": 2 * np.pi}, False)])
def test_an_angle_that_turns_far_is_not_given_up(monkeypatch, periods, bounded):
    seen, original = [], search.followed
    monkeypatch.setattr(search, "followed", lambda *given, far, **other: seen.append(far) or original(*given, **other))
    field = lambda t, x: jnp.stack([20.0 + 0.5 * jnp.sin(x[0]), 1 - x[1]])
    flow = ds.FunctionFlow(field, names=("angle", "r"), periods=periods)
    with without_compiling():
        found = limit_cycles(flow, np.array([[0.0, 0.5], [1.0, 1.5]]), backwards=False)
    assert {bool(np.isfinite(far)) for far in seen} == {bounded}
    assert [one.period for one in found] == ([] if bounded else [pytest.approx(2 * np.pi / np.sqrt(400 - 0.25))])

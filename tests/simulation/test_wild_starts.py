"""Starts that are thrown far out, and attractors that are close together, do not merge basins."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from analysis.dynamics.attractors.distances import extent_of, extent_of_paths
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.perturbation import RADII, Line, _near, attraction_of_orbit, contraction, radius_of
from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from dynsim.systems.base import FunctionMap
from tests.support.searches import accurate


def newton(k, x):
    """Newton's method for z**4 = 1, with a pole at 0."""
    z = lax.complex(x[0], x[1])
    w = z - (z**4 - 1) / (4 * z**3)
    return jnp.stack([w.real, w.imag])


def limit(values, period=1.0, at=0.0):
    point = np.array([[at]])
    return LimitSet("fixed point", "stable", point, point, period, np.asarray(values, complex))


@pytest.mark.slow
def test_a_start_beside_a_pole_does_not_merge_the_basins_of_newtons_method():
    roots = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    starts = np.concatenate([[[0.0251, 0.0257]], *(root + [[0.1, 0.05], [-0.05, 0.1], [0.02, 0.0]] for root in roots)])
    found = find_attractors(FunctionMap(newton), jnp.asarray(starts), search=accurate(longest=256))
    assert len(found.attractors) == 4
    assert np.all(found.extent < 100)
    reached = np.array([np.asarray(found.attractors[k].state) for k in found.labels[1:]])
    np.testing.assert_allclose(reached, np.repeat(roots, 3, axis=0), atol=1e-9)


def test_the_extent_leaves_out_long_excursions_of_few_starts_only():
    paths = np.random.default_rng(0).uniform(size=(50, 20, 2))
    wild = paths.copy()
    wild[3, 0, 0] = 1e6
    np.testing.assert_array_equal(extent_of_paths(wild)[1], extent_of(wild.reshape(-1, 2))[1])
    assert 0.8 < extent_of_paths(wild)[0] <= 1
    mild = paths.copy()
    mild[3, 0, 0] = 5.0
    assert extent_of_paths(mild)[0] == extent_of(mild.reshape(-1, 2))[0] > 4.9
    spikes = paths.copy()
    spikes[3, :, 0] = 1e6  # of all, as relaxation oscillations have
    assert extent_of_paths(spikes)[0] > 9e5
    constant = np.full((5, 4, 1), 3.0)
    assert extent_of_paths(constant) == pytest.approx(3.0)


@pytest.mark.slow
def test_one_of_three_starts_beside_a_pole_does_not_merge_the_basins_of_the_others():
    starts = jnp.asarray([[0.00251, 0.00254], [1.1, 0.05], [0.1, 1.05]])
    found = find_attractors(FunctionMap(newton), starts, search=accurate(longest=256))
    assert np.all(found.extent < 10)
    reached = np.array([np.asarray(found.attractors[k].state) for k in found.labels[1:]])
    np.testing.assert_allclose(reached, [[1.0, 0.0], [0.0, 1.0]], atol=1e-9)


def test_of_few_starts_those_that_come_back_or_go_on_and_on_set_no_extent():
    ts = np.linspace(0.0, 1.0, 128)[:, None]
    calm = np.concatenate([np.cos(40 * ts + k) for k in range(3)], axis=1)
    with_wild = lambda *wild: float(extent_of_paths(np.concatenate([*wild, calm], axis=1)[..., None])[0])
    spike = 1e6 * np.exp(-((ts - 0.2) ** 2) / 1e-4)
    for wild in (spike, np.exp(20 * ts), 5e3 * ts, -5e3 * ts):
        assert 1.9 < with_wild(wild) < 3
        assert 1.9 < with_wild(wild, spike) < 3
        assert float(extent_of_paths(np.concatenate([wild, calm[:, :1]], axis=1)[..., None])[0]) < 3
        assert float(extent_of_paths(wild[..., None])[0]) == pytest.approx(np.ptp(wild))  # of no others
    assert with_wild(50 * np.cos(30 * ts)) > 99  # a large cycle stays, and so does what has come to it
    assert with_wild(50 * np.cos(30 * ts) / (1 + np.exp(-40 * (ts - 0.2)))) > 99
    assert with_wild(spike, 1.1 * spike, 1.2 * spike) > 1e5  # half of them


def test_perturbations_that_land_on_a_neighbour_have_not_come_back():
    """Of two superstable fixed points 0.005 apart every perturbation of 0.1 ends at one or the other."""
    gap = 0.005
    step = FunctionMap(lambda k, x: jnp.where(x > gap / 2, gap, 0.0) * jnp.ones_like(x))
    time_map = TimeMap(step, jnp.zeros(1), state_itself, 1.0, 1e-8, 1e9)
    found = attraction_of_orbit(time_map, limit([0.0]), np.ones(1), np.ones(1))
    assert found.attracts
    assert found.radius == 1e-3


def test_how_near_what_comes_back_is_follows_from_the_spectrum():
    assert contraction(limit([0.5, -0.25]), 4.0) == pytest.approx(0.5**4)
    assert contraction(limit([0.5j], period=2.0), 4.0) == pytest.approx(0.25)
    assert contraction(limit([-1.0 + 2j, -3.0], period=0.0), 2.0) == pytest.approx(np.exp(-2))
    assert contraction(limit([0.1], period=0.0), 2.0) == contraction(limit([1.5]), 2.0) == 1.0
    assert contraction(limit([]), 2.0) == 1.0
    line = Line(limit([0.5]), np.ones(1))
    np.testing.assert_array_equal(_near(line, 1.0), np.array(RADII) / 2)
    fast = _near(line, 1e-4)
    assert fast[0] == pytest.approx(0.1 * 1e-2)
    assert fast[-1] == pytest.approx(RADII[-1] / 2)
    seen = np.repeat(0.4 * np.array(RADII)[:, None], 8, axis=1)
    assert radius_of(seen, 0.0, 1.0, 0.5) == (True, 0.1)
    assert radius_of(seen, 0.0, 1.0, 0.5, fast) == (True, RADII[-1])

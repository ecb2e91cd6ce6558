"""Results do not depend on units of components, nor on where zero is: checked on systems with exact answers."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import (
    Search,
    certified_count,
    certified_equilibrium,
    find_attractors,
    isochrons,
    periodic_orbit,
)
from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.distances import extent_of, volume_growth
from analysis.dynamics.flow_maps.component_sizes import trajectory_units
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.orbit_diagrams import OrbitDiagram
from analysis.dynamics.poincare import Section
from analysis.dynamics.scaling.linear_equations import balanced, equilibration, inverse, least_squares
from analysis.dynamics.scaling.samples import norms
from dynsim import FunctionFlow, FunctionMap

FAR_APART = np.array([1e-6, 1e6])
NONE = np.zeros(2)


def duffing(t, y, size, middle):
    x = (y - middle) / size
    return size * jnp.stack([x[1], x[0] - x[0] ** 3 - 0.3 * x[1]])


def triangular(k, y, size, middle):
    x = (y - middle) / size
    return size * jnp.stack([1 - 2 * x[0] ** 2, 0.4 * x[1] + x[0]]) + middle


def in_units(kind, function, size, middle=NONE):
    return kind(function, parameters={"size": size, "middle": middle})


@pytest.mark.slow
def test_attractors_are_found_in_units_that_are_far_apart():
    starts = np.array([[1.5, 0.0], [-1.5, 0.0], [0.1, 0.1], [-0.2, 0.0], [0.5, 1.0], [-1.0, 0.5]])
    found = find_attractors(in_units(FunctionFlow, duffing, FAR_APART), starts * FAR_APART)
    states = np.array([one.state for one in found.attractors]) / FAR_APART
    np.testing.assert_allclose(states[np.argsort(states[:, 0])], [[-1, 0], [1, 0]], atol=1e-9)
    usual = find_attractors(in_units(FunctionFlow, duffing, np.ones(2)), starts)
    here, there = (np.array([run.attractors[k].state[0] for k in run.labels]) > 0 for run in (found, usual))
    assert here.tolist() == there.tolist()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_component_whose_effect_is_hidden_is_measured_where_the_others_have_their_sizes(size):
    """Where x = 0, y changes no rate; x has the given size, and the rate 2 x^2 y is one at y = 1 / x^2."""
    flow = FunctionFlow(lambda t, s: jnp.stack([s[0] - s[0] ** 3 / size**2, -s[1] + s[0] ** 2 * s[1] ** 2]))
    x, y = np.asarray(trajectory_units(flow, np.zeros(2)).scale)
    assert 1 / 64 <= x / size <= 64
    assert 1 / 64 <= y * size**2 <= 64


def test_sizes_of_features_are_those_of_their_own_units():
    rows = np.array([[1e-6, 0.0, 1e-17, 5e5], [2e-6, 1e6, 0.0, 5e5]])
    assert extent_of(rows).tolist() == [1e-6, 1e6, 2.0**20, 5e5]


def test_volumes_that_shrink_shrink_in_all_units():
    flow = in_units(FunctionFlow, duffing, FAR_APART)
    time_map = TimeMap(flow, jnp.zeros(2), state_itself, 1.0, 1e-6, np.inf, FAR_APART)
    states = FAR_APART * np.random.default_rng(0).normal(size=(16, 2))
    record = TrajectoryRecord(time_map, states, states, FAR_APART, False, 1, ())
    found = volume_growth(record)
    assert not found.is_none
    assert found.mean == pytest.approx(-0.3)


def test_a_relative_tolerance_resolves_the_extent_of_states_far_from_zero():
    time_map = TimeMap(in_units(FunctionFlow, duffing, np.ones(2)), jnp.zeros(2), state_itself, 1.0, 1e-6, np.inf)
    tolerance = lambda xs, extent: float(time_map.resolving(1e-6, np.asarray(xs), np.asarray(extent)).rtol)
    assert tolerance([[3.0, 0.0], [1.0, 0.0]], [2.0, 0.0]) == 1e-6
    assert tolerance([[1000.0, 0.0], [1002.0, np.nan]], [2.0, 1.0]) == pytest.approx(2e-6 / 1002)
    assert tolerance([[1e12, 0.0]], [1.0, 1.0]) == 1e-13


@pytest.mark.slow
def test_a_forced_orbit_far_from_zero_has_its_least_period():
    flow = FunctionFlow(lambda t, x: 1000.0 - x + jnp.cos(t))
    found = find_attractors(flow, np.array([[999.0], [1001.5]]), search=Search(period=2 * np.pi))
    assert [one.period for one in found.attractors] == [2 * np.pi]


def test_norms_of_jacobians_are_those_of_balanced_ones_in_units_far_apart():
    states = np.array([[0.5, 0.2], [1.2, -0.3]])
    usual = norms(in_units(FunctionFlow, duffing, np.ones(2)), states)
    found = norms(in_units(FunctionFlow, duffing, FAR_APART), states * FAR_APART)
    assert np.all(found < 2 * usual)
    assert np.all(found > usual / 2)


def test_equations_with_units_far_apart_are_regular():
    units = np.array([1e-8, 1.0, 1e8])
    matrix = units[:, None] * (np.eye(3) + np.diag([0.5, 0.25], 1) + np.diag([0.2, 0.1], -1)) / units
    assert np.linalg.cond(matrix) > 1e12
    found = inverse(matrix, 10.0)
    assert found is not None
    np.testing.assert_allclose(units[:, None] ** -1 * (found @ matrix) * units, np.eye(3), atol=1e-12)
    assert inverse(np.ones((2, 2)), 1e12) is None
    assert inverse(np.zeros((2, 2)), 1e12) is None
    np.testing.assert_allclose(least_squares(matrix, matrix @ units, 1e-12), units)
    np.testing.assert_allclose(least_squares(np.ones((2, 2)), np.ones(2), 1e-12), [0.5, 0.5])
    tiny = np.array([[-8.7e-318, 1.7e-159, 1.0], [1.7e-159, 0.0, 0.0], [1.0, 0.0, 0.0]])  # near singular in any units
    assert np.all(np.isfinite(least_squares(tiny, np.ones(3), 1e-12)))


@pytest.mark.filterwarnings("error")
def test_a_matrix_is_balanced_by_units_of_any_size():
    matrix = np.array([[0.0, 1.0], [1e-60, 0.0]])
    found, units = balanced(matrix)
    np.testing.assert_allclose(found, matrix * units / units[:, None], rtol=1e-15)
    assert np.max(np.abs(found)) < 4 * np.min(np.abs(found[found != 0]))
    assert [part.shape for part in balanced(np.empty((0, 0)))] == [(0, 0), (0,)]


def test_rounding_errors_have_no_weight_in_the_units_of_equations():
    units = np.array([1e-8, 1.0, 1e8])
    clean = units[:, None] * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]) / units
    noise = units[:, None] * np.array([[1e-77, 0.0, 1e-60], [0.0, 1e-50, 0.0], [1e-70, 0.0, 0.0]]) / units
    for found, exact in zip(equilibration(clean + noise), equilibration(clean), strict=True):
        np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("middle", [0.0, 1000.0])
def test_cycles_of_maps_are_found_and_proved_in_units_that_are_far_apart(middle):
    """The Chebyshev map has the cycle -cos(2^k 2 pi / 3), of multiplier 4; the second component follows linearly."""
    x = -np.cos(2 * np.pi / 3 * 2.0 ** np.arange(2))
    y = (0.4 * x[0] + x[1]) / (1 - 0.16)  # after two steps
    size = FAR_APART if middle == 0 else np.array([1e-3, 1e3])
    start, middle = np.array([x[0], y]), middle * size
    system = in_units(FunctionMap, triangular, size, middle)
    orbit = periodic_orbit(system, (start * 1.001) * size + middle, 2)
    np.testing.assert_allclose((orbit.nodes[0] - middle) / size, start, rtol=1e-10)
    np.testing.assert_allclose(orbit.multipliers, [4 * 4 * x[0] * x[1], 0.16], rtol=1e-9)
    proof = certified_equilibrium(system, (start * 1.001) * size + middle, period=2)
    assert np.all(np.abs((proof.state - middle) / size - start) < 1e-9)
    box = np.array([[-1.3, 1.2], [-3.0, 3.1]]) * size[:, None] + middle[:, None]
    count = certified_count(system, box, period=2)
    assert (count.exact, len(count.found)) == (True, 4)


def test_isochrons_are_those_of_the_plane_in_any_units():
    """In polar coordinates r' = r (1 - r^2), angle' = 2 + 0.7 (1 - r^2), whose phase is the angle - 0.7 log r."""

    def twisted(t, y, size):
        x = y / size
        shrink = 1 - x @ x
        turn = 2 + 0.7 * shrink
        return size * jnp.stack([shrink * x[0] - turn * x[1], shrink * x[1] + turn * x[0]])

    flow = FunctionFlow(twisted, parameters={"size": FAR_APART})
    orbit = periodic_orbit(flow, [1.05e-6, 0.0], 3.2)
    box = np.array([-2.0, 2.0, -2.0, 2.0]) * np.repeat(FAR_APART, 2)
    points = isochrons(flow, orbit, box, count=1).curves[0] / FAR_APART
    radius = np.linalg.norm(points, axis=1)
    phase = np.arctan2(points[:, 1], points[:, 0]) - 0.7 * np.log(radius)
    away = (phase - phase[np.argmin(np.abs(radius - 1))] + np.pi) % (2 * np.pi) - np.pi
    assert np.max(np.abs(away[radius > 0.1])) < 1e-4


def test_periods_of_diagrams_and_sections_do_not_depend_on_units():
    values = np.array([[0.5, 0.8] * 5, np.arange(10) / 20, [0.3] * 10])
    for unit, zero in ((1.0, 0.0), (1e-9, 0.0), (1e9, 0.0), (1e-3, 1.0)):
        shaken = unit * (values + 1e-9 * np.sin(np.arange(10.0))) + zero
        found = OrbitDiagram(np.arange(3.0), shaken, start=unit * 0.1 + zero)
        assert found.periods().tolist() == [2, 0, 1]
        states = np.stack([shaken[1], 1e9 * shaken[2]], axis=1)
        section = Section(np.arange(10.0), states, np.ones(10), 0.01, True, extent=unit * np.array([0.5, 1e9]))
        assert section.period() == 0
        assert section._replace(states=states * [0.0, 1.0]).period() == 1

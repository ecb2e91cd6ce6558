"""Orbits that close modulo the periods of angles: running solutions, their multipliers, branches and portraits."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.phases import beside
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.flow_maps.angles import modulo
from analysis.dynamics.periodic_orbits.approach import approach
from analysis.dynamics.periodic_orbits.limit_cycles import _first_return, _on, limit_cycles
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.poincare import least_period, poincare_section
from analysis.dynamics.portraits.plane import in_window, phase_plane
from dynsim.programs import without_compiling
from dynsim.spaces.base import nearest
from dynsim.systems.base import FunctionFlow
from dynsim.systems.named import changed
from dynsim.systems.parameter import Parameter

TURN = 2 * np.pi


def adler(degrees=False):
    """Return an overdamped junction beside a decaying component; its period is 2 pi / sqrt(a^2 - 1)."""
    unit = 180 / np.pi if degrees else 1.0
    rhs = lambda t, x, a: jnp.stack([unit * (a + jnp.sin(x[0] / unit)), -x[1] / 2])
    return FunctionFlow(rhs, names=("theta", "y"), periods={"theta": unit * TURN}, parameters={"a": 2.0})


def driven(torque=0.7):
    rhs = lambda t, x, torque: jnp.stack([x[1], torque - 0.3 * x[1] - jnp.sin(x[0])])
    return FunctionFlow(rhs, names=("angle", "velocity"), periods={"angle": TURN}, parameters={"torque": torque})


@pytest.mark.parametrize("degrees", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_running_orbit_closes_after_a_turn_with_the_multiplier_of_the_other_component(degrees):
    orbit = periodic_orbit(adler(degrees), [0.3, 0.0], 3.4, segments=2)
    assert orbit.period == pytest.approx(TURN / np.sqrt(3), rel=1e-9)
    assert orbit.multipliers[0].real == pytest.approx(np.exp(-orbit.period / 2), rel=1e-7)
    assert orbit.stability == "stable"


def test_a_running_orbit_is_found_from_beside_it_with_and_without_its_shift():
    """At 0.1 the unit of the decaying component is a thousandth, so that the field is nearly along it."""
    flow, period = adler(), pytest.approx(TURN / np.sqrt(3), rel=1e-9)
    assert periodic_orbit(flow, [0.0, 0.1], 3.6).period == period
    assert periodic_orbit(flow, [0.0, 0.1], 3.6, shift=[TURN, 0.0]).period == period


@pytest.mark.parametrize("start", [[0.3, 0.0, 2.0, 2.2], pytest.param([0.0, 0.0, 2.0, 2.0], marks=pytest.mark.slow)])
def test_a_rotation_that_is_approached_in_a_spiral_is_closed_after_one_turn(start):
    """AUTO's demo pen has the period 1.5738797205; a trajectory comes back to its last state after 7 or 2 turns."""
    rhs = lambda t, x: jnp.stack([x[2], x[3], *(0.4 - 0.1 * x[2:] - jnp.sin(x[:2]) + 0.175 * (x[1::-1] - x[:2]))])
    pendula = FunctionFlow(rhs, names=("p", "q", "v", "w"), periods={"p": TURN, "q": TURN})
    found = approach(pendula, np.array(start), 4096)
    assert found.orbit is not None
    assert found.orbit.period == pytest.approx(1.5738797205, abs=1e-7)


@pytest.mark.slow  # an orbit, a search and a branch of it are compiled
def test_rotations_of_a_driven_pendulum_have_the_multiplier_of_their_damping():
    """The divergence of the field is -0.3, so that the multipliers have the product exp(-0.3 T)."""
    flow = driven()
    (cycle,) = limit_cycles(flow, np.array([[0.0, 3.0], [9.0, 3.0]]))
    assert cycle.multipliers[0].real == pytest.approx(np.exp(-0.3 * cycle.period), rel=1e-6)
    orbit = periodic_orbit(flow, cycle.state, cycle.period, segments=4)
    branch = continue_orbits(Parameter(flow, "torque", 0.6, 1.2), orbit, steps=Steps(first=0.1, points=20))
    assert branch.ends == ("bounds", "bounds")
    values, periods = np.asarray(branch.eigenvalues)[:, 0].real, np.asarray(branch.states.period)
    assert np.allclose(values, np.exp(-0.3 * periods), rtol=1e-6)
    found = find_attractors(flow, [[0.0, 3.0]], search=Search())
    assert found.attractors[0].period == pytest.approx(cycle.period, rel=1e-8)


@pytest.mark.slow
def test_a_portrait_lists_running_orbits_and_each_equilibrium_once():
    plane = phase_plane(driven(), [-8, 8, -4, 4], grid=21)
    assert len(plane.points) == 5
    rest = np.arcsin(0.7)
    assert str(plane).count("stable focus (") == 1
    assert f"stable focus ({rest:.6g}, 0); saddle ({np.pi - rest:.6g}, 0); stable cycle of period" in str(plane)
    (path,) = plane.cycles
    inside = path[np.all((path >= [-8, -4]) & (path <= [8, 4]), axis=1)]
    assert np.ptp(inside[:, 0]) > 15.8  # it runs through the whole window
    assert np.all(inside[:, 1] > 0)


def test_a_section_at_an_angle_counts_each_turn_and_has_reduced_states():
    """The time of a turn of theta' = a + sin(theta) is 2 pi / sqrt(a^2 - 1); it turns backwards here."""
    with without_compiling():
        flow = changed(adler(), {"a": -2.0})
        options = {"modulo": TURN, "direction": -1, "spacing": 0.1}
        found = poincare_section(flow, [0.3, 1.0], lambda t, x: x[0] - np.pi, 3, **options)
    assert np.allclose(np.diff(found.times), TURN / np.sqrt(3), atol=1e-7)
    assert np.allclose(np.asarray(found.states)[:, 0], np.pi, atol=1e-9)
    assert found.directions.tolist() == [-1] * 3


def test_values_of_angles_repeat_modulo_their_periods():
    states = np.array([[0.1, 2.0], [0.2, 1.0]] * 4) + TURN * np.arange(8)[:, None] * np.array([1, 0])
    assert least_period(states, 1e-6, np.array([TURN, np.inf])) == 2
    assert least_period(states, 1e-6) == 0


def test_equilibria_are_listed_once_modulo_the_periods():
    found = equilibria(driven(), [[0.5, 0.0], [7.0, 0.0], [2.3, 0.0], [-4.0, 0.0]])
    rest = np.arcsin(0.7)
    assert np.allclose([one.state[0] for one in found], [rest, np.pi - rest])
    assert [one.times_found for one in found] == [2, 2]


def test_a_return_is_one_modulo_the_periods():
    ts = np.linspace(0.0, 10.0, 101)
    ys = np.stack([ts * TURN / 4, np.cos(TURN / 4 * ts)], axis=1)
    assert _first_return(ys, ts, np.array([TURN, np.inf])) == pytest.approx(4.0, abs=0.1)
    assert _first_return(ys, ts) is None
    path = ys[:41]
    assert _on(path, np.array([-5 * TURN, 1.0]), np.array([TURN, np.inf]))
    assert not _on(path, np.array([-5 * TURN, 1.0]), np.array([np.inf, np.inf]))


def test_points_that_differ_by_turns_are_kept_once():
    points = np.array([[7.0, 0.0], [7.0 - TURN, 0.0], [1.0, 0.5], [1.0 + TURN, 0.5]])
    assert modulo(points, np.array([TURN, np.inf]), np.ones(2)) == [1, 2]
    assert modulo(points, np.array([np.inf, np.inf]), np.ones(2)) == [0, 1, 2, 3]
    assert modulo(np.empty((0, 2)), np.array([TURN, np.inf]), np.ones(2)) == []


def test_copies_of_a_cycle_fill_the_window():
    path = np.array([[100.0, 0.5], [103.0, 0.0], [100.0 + TURN, 0.5]])
    found = in_window(path, np.array([-8.0, -1.0]), np.array([8.0, 1.0]), np.array([TURN, np.inf]))
    copies = np.split(found, np.flatnonzero(np.isnan(found[:, 0])))
    firsts = np.sort([copy[~np.isnan(copy[:, 0])][0, 0] for copy in copies])
    assert firsts[0] < -8 + TURN
    assert firsts[-1] > 8 - TURN
    assert np.allclose(np.diff(firsts), TURN)
    assert not len(in_window(path, np.array([-8.0, 1.0]), np.array([8.0, 2.0]), np.array([TURN, np.inf])))
    assert in_window(path, path[0] - 1, path[0] + 1, np.full(2, np.inf)).tolist() == path.tolist()


def test_nodes_of_a_rotation_are_moved_beside_those_of_another_one():
    """Nodes of theta' = 1 on a circle; the other orbit begins half a segment later and a turn further."""
    nodes = np.arange(4.0)[:, None] / 4
    moved = lambda rows, time: (rows + time, np.ones_like(rows))
    found = beside(moved, nodes, nodes + 1.625, 1.0, lambda apart: nearest(apart, np.ones(1)))
    assert np.allclose(np.mod(found, 1.0), np.mod(nodes + 0.625, 1.0), atol=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_only_whole_turns_make_two_places_one_in_any_unit(size):
    points = np.array([[0.1 + TURN, 1e-9], [0.1, 0.0], [0.1, 1e-7], [0.1 - TURN, 1e-3], [0.1 + 1e-3 - TURN, 0.0]])
    angles, sizes = np.array([TURN, np.inf]), np.array([1.0, size])
    assert modulo(points * [1.0, size], angles, sizes) == [1, 2, 3, 4]
    assert modulo(points * [1.0, size], np.array([np.inf, np.inf]), sizes) == [0, 1, 2, 3, 4]

"""What curves of orbits by shooting compute of one orbit: ranges, phases, Floquet vectors, maps between nodes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from analysis.dynamics.codim2 import orbits as critical_returns
from analysis.dynamics.codim2.equilibria import Critical
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.continuation import differentiable
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.collocation_curve import SEGMENTS, STRETCHED
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.cycle_equations import OrbitSegments
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import _extreme, curve_of_orbits, orbit_ranges
from analysis.dynamics.continuation.section_coefficients import _maps, _mean_square
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.units import made_units
from dynsim import FunctionFlow, FunctionMap, Parameter, Sphere, system
from dynsim.programs import without_compiling

TURN = 2 * np.pi
THIRDS = TURN * np.arange(3) / 3
GROWING = FunctionFlow(lambda t, x, p: p * jnp.cos(t) * x, parameters={"p": 1.0})


def ring(t, x, p, speed=1.0):
    """The circle of radius sqrt(p) attracts; the angular velocity is 1 + speed (|x|^2 - p)."""
    out = x @ x - p
    turning = 1 + speed * out
    return jnp.stack([-out * x[0] - turning * x[1], turning * x[0] - out * x[1]])


RING = FunctionFlow(ring, parameters={"p": 4.0, "speed": 1.0})


def circle(radius, angles):
    return Cycle(radius * np.stack([np.cos(angles), np.sin(angles)], axis=1), np.asarray(TURN))


def point_at(state):
    none = np.empty(0)
    return CurvePoint(state, 0.5, none, none, none, none, lambda: none, none)


def test_ranges_are_those_between_the_nodes_of_each_orbit_at_its_own_times():
    """Of x' = p cos t and y' = -6 p sin t, whose orbits are ellipses, in units of 2 and 3."""
    flow = FunctionFlow(lambda t, x, p: p * jnp.stack([jnp.cos(t), -6 * jnp.sin(t)]), parameters={"p": 1.0})
    p = np.array([0.5, 2.0])
    nodes = p[:, None, None] * np.stack([np.sin(THIRDS), 6 * np.cos(THIRDS)], axis=1)
    branch = Branch(Cycle(nodes, np.full(2, TURN)), p, p, np.zeros((2, 1), complex), ("stable",) * 2, (), ("", ""))
    parameter = Parameter(flow, "p", 0.0, 3.0)
    np.testing.assert_allclose(orbit_ranges(parameter, branch, 0), p[:, None] * [-1, 1], rtol=1e-6)
    np.testing.assert_allclose(orbit_ranges(parameter, branch, 1), p[:, None] * [-6, 6], rtol=1e-6)


def test_ranges_of_an_orbit_on_a_mesh_are_those_between_its_nodes():
    shares = np.arange(12) / 12
    one = circle(2.0, TURN * shares + 0.2)
    states = Cycle(one.nodes[None], np.array([TURN]), shares[None])
    four = np.array([4.0])
    branch = Branch(states, four, four, np.zeros((1, 1), complex), ("stable",), (), ("", ""))
    with without_compiling():
        found = [orbit_ranges(Parameter(RING, "p", 0.0, 9.0), branch, k)[0] for k in (0, 1)]
    np.testing.assert_allclose(found, [[-2.0, 2.0]] * 2, atol=3e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_extreme_of_an_orbit_is_that_of_the_parabola_beside_its_best_sample(sign):
    """At shares of the period that are not evenly spaced; the period goes on before the first sample."""
    shares = np.array([0.0, 0.2, 0.45, 0.6, 0.9, 1.0])
    for top in (0.52, 0.03, 0.93):
        away = np.minimum(np.abs(shares[:-1] - top), 1 - np.abs(shares[:-1] - top))
        assert _extreme(shares, sign * (3.0 - 2 * away**2), sign) == pytest.approx(sign * 3.0)
    assert _extreme(shares, np.full(5, 7.0), sign) == 7.0


def test_orbits_are_shifted_into_phase_unless_a_forcing_fixes_it():
    p, speed = Parameter(RING, "p", 0.0, 9.0), Parameter(RING, "speed", 0.0, 9.0)
    free, forced = (OrbitCurve(p, jnp.ones(2), 3, forcing, 10.0, 1e-9) for forcing in (None, lambda flow: TURN))
    own, other = circle(2.0, THIRDS + 0.9), circle(2.0, THIRDS)
    whole = CriticalReturns((p, speed), "fold", free, 1e-9)
    critical = lambda cycle: point_at(Critical(cycle, np.zeros(7), np.zeros(7), np.asarray(0.0), np.asarray(4.0)))
    with without_compiling():
        for found in (free.beside(own, other, 4.0), whole.state_beside(critical(own), critical(other))):
            np.testing.assert_allclose(found.nodes, other.nodes, atol=1e-7)
            assert float(found.period) == TURN
    assert forced.beside(own, other, 4.0) is own
    alone = critical(own)
    assert whole.state_beside(alone, alone) is own
    doubling = FunctionMap(lambda k, x, p, q: p * q * x, parameters={"p": 1.0, "q": 1.0})
    p, q = (Parameter(doubling, name, 0.0, 2.0) for name in "pq")
    fixed = CriticalReturns((p, q), "fold", FixedPointCurve(p, 1), 1e-9)
    at = [Critical(np.full(1, x), np.zeros(1), np.zeros(1), np.asarray(0.0), np.asarray(1.0)) for x in (3.0, 5.0)]
    assert fixed.state_beside(point_at(at[0]), point_at(at[1])) is at[0].state


def test_orbits_of_a_curve_of_bifurcations_end_at_an_equilibrium_where_they_are_small_or_turned_round():
    p, speed = Parameter(RING, "p", 0.0, 9.0), Parameter(RING, "speed", 0.0, 9.0)
    curve = CriticalReturns((p, speed), "fold", OrbitCurve(p, jnp.ones(2), 3, None, 10.0, 1e-9), 1e-9)

    def point(nodes):
        cycle = Cycle(np.asarray(nodes, float), np.asarray(TURN))
        return point_at(Critical(cycle, np.zeros(7), np.zeros(7), np.asarray(0.0), np.asarray(4.0)))

    shape = np.array([[1.0, 0.0], [-0.5, 0.0], [-0.5, 0.0]])  # in one component it does not move
    shrunk = lambda before, after: curve._shrunk(point(before), point(after))
    assert not shrunk(shape, shape + [3.0, 4.0])
    assert shrunk(shape, -shape)
    sizes = critical_returns.SMALL / 1.5 * np.array([0.9, 1.1])
    assert [shrunk(size * shape, size * shape) for size in sizes] == [True, False]
    far = np.array([1.0, 0.0]) / critical_returns.NOISE * critical_returns.SMALL  # where rounding is as large
    assert [shrunk(size * shape, size * shape + far) for size in (2 * sizes[0], 2 * sizes[1])] == [True, False]
    assert not shrunk(shape[:2], -shape[:2])  # half a turn of two nodes may be one of their phase


@pytest.mark.parametrize("size", [pytest.param(1.0, marks=pytest.mark.slow), 5.0])
def test_the_mean_square_of_a_forced_vector_is_that_over_all_segments(size):
    """Of x' = p cos(t) x the Floquet vector is exp(p sin t), with the mean square I_0(2 p)."""
    p = Parameter(GROWING, "p", 0.0, 2.0)
    units = None if size == 1.0 else made_units(GROWING, (p,), np.array([size]), 1.0, (1.0,))
    curve = OrbitCurve(p if units is None else units.varied[0], jnp.zeros(1), 3, lambda flow: TURN, 10.0, 1e-10,
                       units=units)  # fmt: skip
    with without_compiling():
        shot = curve._shot(Cycle(np.zeros((3, 1)), np.asarray(TURN)), 0.5)
        found = _mean_square(curve, shot, 0.5, np.exp(0.5 * np.sin(THIRDS))[:, None], 1.0)
    assert found == pytest.approx(size**2 * scipy.special.iv(0, 1.0), rel=1e-8)


def test_the_state_at_which_a_segment_stops_is_in_the_given_units():
    """From 1 at the time 2 it grows at the rate 1 up to the time 3, after which the field is not defined."""
    flow = FunctionFlow(lambda t, x, p: jnp.where(t > 3, jnp.nan, p) + 0 * x, parameters={"p": 1.0})
    p = Parameter(flow, "p", 0.0, 2.0)
    units = made_units(flow, (p,), np.array([5.0]), 1.0, (1.0,))
    curve = OrbitCurve(units.varied[0], jnp.zeros(1), 3, lambda flow: 6.0, 10.0, 1e-8, units=units)
    shot = OrbitSegments(6.0, np.full((3, 1), 0.2), *np.zeros((5, 3, 1)))
    found = curve._undefined(shot, 1.0, 1)
    assert float(found.removesuffix(")").split("(")[1]) == pytest.approx(2.0, abs=1e-3)


def test_the_mean_square_at_a_fold_leaves_out_the_change_of_the_period_and_a_shift_in_time():
    """The clock runs faster by 0.7 (r^2 - 1), and r' = r (p - (r^2 - 1)^2), which folds at p = 0."""

    def folding(t, x, p):
        out = x @ x - 1
        growth, turning = p - out**2, 1 + 0.7 * out
        return jnp.stack([growth * x[0] - turning * x[1], turning * x[0] + growth * x[1]])

    flow = FunctionFlow(folding, parameters={"p": 0.0})
    curve, cycle = OrbitCurve(Parameter(flow, "p", -1.0, 1.0), jnp.ones(2), 3, None, 10.0, 1e-11), circle(1.0, THIRDS)
    with without_compiling():
        shot = curve._shot(cycle, 0.0)
        found = [_mean_square(curve, shot, 0.0, v, 1.0) for v in (3 * cycle.nodes, np.roll(shot.speeds, 1, axis=0))]
    assert found == pytest.approx([9.0, 0.0], abs=1e-6)


def test_maps_between_nodes_lead_to_the_next_surface_in_its_share_of_the_period():
    """With a steady angle r^2 goes to p / (1 + (p / r^2 - 1) exp(-2 p T / 3))."""
    flow, p, r = FunctionFlow(ring, parameters={"p": 0.04, "speed": 0.0}), 0.04, 0.25
    curve, cycle = OrbitCurve(Parameter(flow, "p", 0.0, 9.0), jnp.ones(2), 3, None, 10.0, 1e-10), circle(0.2, THIRDS)
    with without_compiling():
        shot = curve._shot(cycle, p)
    image = eqx.filter_jit(lambda one, u: one(u))
    after = np.sqrt(p / (1 + (p / r**2 - 1) * np.exp(-2 * p * TURN / 3)))
    for one in _maps(curve, shot, cycle.nodes[:, :, None] / 0.2, p):
        assert float(image(one, jnp.array([r - 0.2]))[0]) == pytest.approx(after - 0.2, abs=1e-7)


def test_orbits_on_a_sphere_move_in_the_tangent_planes_of_their_nodes():
    flow = FunctionFlow(lambda t, x, p: p * jnp.stack([-x[1], x[0], 0.0]), Sphere(), parameters={"p": 1.0})
    curve = OrbitCurve(Parameter(flow, "p", 0.0, 9.0), jnp.array([0.6, 0.0, 0.8]), 3, None, 10.0, 1e-9)
    nodes = np.stack([0.6 * np.cos(THIRDS), 0.6 * np.sin(THIRDS), np.full(3, 0.8)], axis=1)
    cycle = Cycle(nodes, np.asarray(TURN))
    basis = curve.basis(cycle)
    assert basis.shape == (10, 7)
    np.testing.assert_allclose(basis.T @ basis, np.eye(7), atol=1e-12)
    for k, node in enumerate(nodes):
        np.testing.assert_allclose(node @ basis[3 * k : 3 * k + 3], 0.0, atol=1e-12)
        np.testing.assert_array_equal(basis[3 * k : 3 * k + 3, 2 * k : 2 * k + 2], curve._bases(cycle)[k])
    moved = curve.displaced(cycle, basis @ np.linspace(0.1, 0.7, 7))
    np.testing.assert_allclose(np.linalg.norm(moved.nodes, axis=1), 1.0)
    assert np.min(np.linalg.norm(moved.nodes - nodes, axis=1)) > 0.05
    assert float(moved.period) == pytest.approx(TURN + 0.7)


def test_a_period_that_depends_on_the_parameter_moves_the_ends_of_the_intervals_of_a_mesh():
    """Of x' = p cos t the gaps are p (sin t_{k+1} - sin t_k), with t_k = s_k T and T = 6 + 2 p."""
    flow = FunctionFlow(lambda t, x, p: p * jnp.cos(t) + 0 * x, parameters={"p": 1.0})
    p, mesh = Parameter(flow, "p", 0.0, 1.0), np.array([0.0, 0.1, 0.3, 0.6, 0.8, 1.0])
    units = made_units(flow, (p,), parameters=(1.0,))
    curve = curve_of_orbits(units, jnp.zeros(1), 5, lambda flow: 6 + 2 * flow.parameters["p"], None, (1e-9, None), mesh)
    cycle = Cycle(np.zeros((5, 1)), np.asarray(1.0))
    with without_compiling():
        found, halves = curve.equations(cycle, 0.4, curve.basis(cycle)), curve._shot(cycle, 0.4, 0.1)
    t = mesh * 6.8
    np.testing.assert_allclose(halves.ends[:, 0], 0.4 * np.diff(np.sin(t)), atol=1e-7)
    np.testing.assert_allclose(found.values, 0.4 * np.diff(np.sin(t)), atol=1e-5)
    np.testing.assert_allclose(found.slope, np.diff(np.sin(t)) + 0.4 * np.diff(np.cos(t) * t) * 2 / 6.8, atol=1e-4)


def test_an_orbit_on_a_mesh_is_one_by_shooting_with_so_many_segments_that_each_stretches_little():
    """The unit circle repels at the rate 10: over a share s of the turn vectors across it grow by exp(20 pi s)."""
    flow = FunctionFlow(lambda t, x, p: 5 * (x @ x - p) * x + jnp.stack([-x[1], x[0]]), parameters={"p": 1.0})
    p, mesh = Parameter(flow, "p", 0.5, 2.0), np.linspace(0.0, 1.0, 25)
    curve = curve_of_orbits(made_units(flow, (p,), parameters=(1.0,)), jnp.ones(2), 24, None, None, (1e-9, None), mesh)
    with without_compiling():
        made, cycle = curve.by_shooting(circle(1.0, TURN * mesh[:-1]), 1.0)
    growth = {count: np.hypot(1.0, np.exp(10 * TURN / count)) for count in SEGMENTS}
    count = next(count for count in SEGMENTS if growth[count] <= STRETCHED)
    assert SEGMENTS[0] < count < SEGMENTS[-1]
    np.testing.assert_allclose(cycle.nodes, circle(1.0, TURN * np.arange(count) / count).nodes, atol=1e-6)
    assert (made.segments, float(cycle.period), type(made)) == (count, TURN, OrbitCurve)


def test_the_period_of_an_orbit_and_its_derivative_are_those_of_a_circle(monkeypatch):
    """The period is 2 pi / (1 + m) on the circle of radius sqrt(m)."""
    monkeypatch.setattr(differentiable, "INTERVALS", 6)
    turning = system("x' = m*x - w*y - x*s; y' = w*x + m*y - y*s; w = 1 + m; s = x^2 + y^2; m = 1")
    nodes = circle(1.0, THIRDS).nodes
    orbit = PeriodicOrbit(nodes[0], np.pi, nodes, np.ones(1), 0.0, 0.0, "stable")
    m = Parameter(turning, "m", 0.1, 9.0)
    value, slope = jax.value_and_grad(lambda value: differentiable.orbit_period(m.at(value), orbit))(1.2)
    assert value == pytest.approx(TURN / 2.2, rel=1e-7)
    assert slope == pytest.approx(-TURN / 2.2**2, rel=1e-6)

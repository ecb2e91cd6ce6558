"""Periodic orbits followed in a parameter: published bifurcations, closed forms, doubled orbits, errors."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from analysis.dynamics.continuation import orbit_curve as orbit_curve_module
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.cycle_equations import OrbitSegments, cycle_equations
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbit_curve import STRICTER, Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import (
    continue_orbits,
    curve_of_orbits,
    orbit_of,
    orbits_from_hopf,
    switch_orbits,
)
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.scaling.units import made_units
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz, Roessler
from dynsim.systems.catalogue.oscillators import Duffing, FitzHughNagumo
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter

P = lambda flow: flow.p  # one function: one program for all


class Bautin(AbstractFlow):
    """r' = r (p + 2 r^2 - r^4), angle' = 1: cycles at r^2 = 1 +- sqrt(1 + p), which meet in a fold at p = -1."""

    p: object = parameter("p", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        r = jnp.sum(x**2)
        pull = self.p + 2 * r - r**2
        return jnp.stack([pull * x[0] - x[1], x[0] + pull * x[1]])


@pytest.fixture(scope="module")
def bautin():
    where = P
    rest = continue_equilibria(Parameter(Bautin(p=-0.5), where, -1.5, 0.5), jnp.zeros(2))
    return rest, orbits_from_hopf(
        Parameter(Bautin(), where, -1.5, 0.5), rest.bifurcations[0], steps=Steps(largest=0.3), segments=3
    )


@pytest.mark.slow
def test_cycles_leave_a_hopf_point_and_turn_at_their_fold(bautin):
    rest, cycles = bautin
    assert [(b.kind, b.frequency) for b in rest.bifurcations] == [("Hopf point", pytest.approx(1.0))]
    radius = np.sum(cycles.states.nodes[:, 0] ** 2, axis=1)
    assert np.allclose(radius**2 - 2 * radius, cycles.parameters, atol=1e-7)
    assert np.allclose(cycles.states.period, 2 * np.pi, atol=1e-7)
    assert [(b.kind, b.parameter) for b in cycles.bifurcations] == [("fold", pytest.approx(-1.0, abs=1e-7))]
    exponents = 4 * radius - 4 * radius**2
    assert np.allclose(cycles.eigenvalues[0], 1.0)  # at the Hopf point
    assert np.allclose(cycles.eigenvalues[1:, 0], np.exp(2 * np.pi * exponents[1:]), rtol=1e-5)
    assert {k for k, r in zip(cycles.kinds, radius, strict=True) if r > 1.01} == {"stable"}
    assert {k for k, r in zip(cycles.kinds[1:], radius[1:], strict=True) if r < 0.99} == {"unstable"}
    assert cycles.ends == ("Hopf point", "bounds")


@pytest.mark.slow
def test_a_branch_of_cycles_ends_at_the_equilibrium_where_it_began(bautin):
    cycle = orbit_of(Parameter(Bautin(), P, -1.5, 0.5), bautin[1], -1)
    assert cycle.stability == "stable"
    assert float(jnp.sum(cycle.state**2)) == pytest.approx(1 + np.sqrt(1.5))
    orbit = periodic_orbit(Bautin(p=0.5), cycle.state, 6.3, segments=3)
    back = continue_orbits(Parameter(Bautin(p=0.5), P, -1.5, 0.6), orbit, steps=Steps(first=0.2, largest=0.5))
    assert "equilibrium" in back.ends
    assert [b.kind for b in back.bifurcations] == ["fold"]


class Driven(AbstractFlow):
    """x' = p cos t."""

    p: object = parameter("p", 1.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return self.p * jnp.cos(t) + 0 * x


def orbit_curve(segments, forcing=None):
    return OrbitCurve(Parameter(Bautin(), P, -1.5, 0.5), jnp.ones(2), segments, forcing, 10.0, 1e-9)


@pytest.mark.parametrize("forcing", [None, lambda flow: 6.0 + 2 * flow.p])
def test_derivatives_of_the_gaps_are_those_of_differences(forcing):
    curve, h, p = orbit_curve(3, forcing), 1e-3, 0.1
    angles, radius = np.array([0.02, 2.1, 4.2]), np.array([1.43, 1.41, 1.45])  # the cycle has the radius 1.4314
    nodes = radius[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cycle = Cycle(nodes, np.asarray(6.2))
    basis = curve.basis(cycle)
    gaps = lambda state, parameter: curve.equations(state, parameter, basis).values[:6]
    found = curve.equations(cycle, p, basis)
    assert basis.shape == (7, 6 if forcing else 7)
    for k, step in enumerate(h * basis.T):
        change = (gaps(curve.displaced(cycle, step), p) - gaps(curve.displaced(cycle, -step), p)) / (2 * h)
        assert np.allclose(change, found.J[:6, k], atol=2e-4)
    change = (gaps(cycle, p + h) - gaps(cycle, p - h)) / (2 * h)
    assert np.allclose(change, found.slope[:6], atol=2e-4)
    if forcing is None:  # the condition of phase: no motion along the flow
        velocity = np.concatenate([np.asarray(Bautin(p=p).velocity(0.0, node)) for node in nodes])
        assert np.allclose(found.J[6, :6], velocity / np.linalg.norm(velocity), atol=0.1)


def test_a_trial_ends_after_a_multiple_of_the_steps_of_the_last_orbit_that_was_confirmed(monkeypatch):
    """A trial that blows up would go on for 100,000 steps; here an orbit has half of the steps that it takes."""
    curve, angles = orbit_curve(3), np.array([0.0, 2.1, 4.2])
    cycle = Cycle(1.43 * np.stack([np.cos(angles), np.sin(angles)], axis=1), np.asarray(6.2))
    ends = lambda p, factor=1.0: curve._shot(cycle, p, factor).ends
    monkeypatch.setattr(orbit_curve_module, "MORE_STEPS", 0.5)
    monkeypatch.setattr(orbit_curve_module, "FEWEST_STEPS", 1)
    assert np.all(np.isfinite([ends(0.1), ends(0.1, STRICTER), ends(0.2, STRICTER)]))
    assert np.all(np.isnan(ends(0.2)))


def test_a_period_that_depends_on_the_parameter_moves_the_times_of_all_segments():
    """Of x' = p cos t the gap is p (sin t_{k+1} - sin t_k) less the distance of the nodes, with t_k = k T / 3."""
    curve, p = (
        OrbitCurve(Parameter(Driven(), P, 0.0, 1.0), jnp.zeros(1), 3, lambda flow: 6.0 + 2 * flow.p, 10.0, 1e-9),
        0.4,
    )
    cycle = Cycle(np.zeros((3, 1)), np.asarray(1.0))
    found = curve.equations(cycle, p, curve.basis(cycle))
    t = np.arange(4) / 3 * (6.0 + 2 * p)
    assert np.allclose(found.values, p * np.diff(np.sin(t)), atol=1e-7)
    assert np.allclose(found.slope, np.diff(np.sin(t)) + p * np.diff(np.cos(t) * t) * 2 / (6.0 + 2 * p), atol=1e-7)


def test_an_absolute_tolerance_is_in_the_units_of_the_given_system_and_shrinks_with_the_relative_one():
    units = made_units(Driven(), (Parameter(Driven(), P, 0.0, 1.0),), scale=4.0, parameters=(1.0,))
    forcing = lambda flow: 6.8
    curve = curve_of_orbits(units, jnp.zeros(1), 3, forcing, None, (1e-9, 4e-6))
    given = OrbitCurve(units.varied[0], jnp.zeros(1), 3, forcing, 10.0, 1e-9, atol=1e-6)
    cycle = Cycle(np.zeros((3, 1)), np.asarray(1.0))
    exact = 0.1 * np.diff(np.sin(np.arange(4) / 3 * 6.8))
    errors = [np.max(np.abs(one.equations(cycle, 0.4, curve.basis(cycle)).values - exact)) for one in (curve, given)]
    strict = np.max(np.abs(curve._equations(curve._shot(cycle, 0.4, 0.1), curve.basis(cycle)).values - exact))
    assert errors[0] == errors[1] > 3 * strict > 1e-9
    with pytest.raises(ValueError, match="`atol` must be left out with collocation, which has no solver, but is 0.4"):
        curve_of_orbits(units, jnp.zeros(1), 3, None, None, (1e-9, 0.4), np.linspace(0.0, 1.0, 4))


def test_multipliers_are_those_of_the_product_of_all_segments():
    A, B = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[0.5, 0.0], [1.0, -0.4]])
    cycle = Cycle(np.ones((2, 2)), np.asarray(1.0))
    J = scipy.linalg.block_diag(A, B, 1.0)
    J[:2, 2:4], J[2:4, :2] = -np.eye(2), -np.eye(2)
    whole = orbit_curve(2, lambda flow: 1.0 + flow.p).spectrum(cycle, 0.0, J[:4, :4], np.empty((4, 0)))
    expected = np.linalg.eigvals(B @ A)
    assert np.allclose(whole, expected[np.argsort(-np.abs(expected))])
    B = np.array([[0.5, -1 / 3], [1.0, -1 / 3]])  # takes the velocity (2, 3) back to (0, 1), which A takes to (2, 3)
    J[2:4, 2:4], J[-1, :4] = B, [0.0, 1.0, 2.0, 3.0]
    assert np.allclose(orbit_curve(2).spectrum(cycle, 0.0, J, np.empty((5, 0))), [np.linalg.det(B @ A)])
    assert np.allclose(np.sort(np.linalg.eigvals(B @ A)), [0.5, 1.0])
    one = Cycle(np.ones((1, 2)), np.asarray(1.0))
    alone = orbit_curve(1, lambda flow: 1.0 + flow.p).spectrum(one, 0.0, A - np.eye(2), np.empty((2, 0)))
    assert np.allclose(alone, [3.0, 1.0])
    assert np.allclose(orbit_curve(1).growth(np.array([-2.0, 0.5j, 1.0])), [1.0, -0.5, 0.0])


def test_orbits_end_where_they_are_too_long_or_have_shrunk_to_an_equilibrium(monkeypatch):
    points = lambda nodes, period: CurvePoint(Cycle(np.asarray(nodes, float), period), 0.0, *[np.empty(0)] * 6)
    curve, nodes = orbit_curve(3), np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    ends = ["", "equilibrium", ""]
    for at, sizes in ((0.0, [1.0, 0.9e-4, 1.1e-4]), (1000.0, [1.0, 1.9e-4, 2.1e-4])):  # far away, rounding counts
        for size, end in zip(sizes, ends, strict=True):
            monkeypatch.setattr(curve, "size", lambda state, parameter, size=size: size)
            assert curve.ends_at(points(at + nodes, 6.0), points(at + nodes, 6.0)) == end
    assert curve.ends_at(points(0.1 * nodes, 6.0), points(-0.1 * nodes, 6.0)) == "equilibrium"  # through size zero
    assert curve.ends_at(points(-1e-16 * nodes, 6.0), points(0.1 * nodes, 6.0)) == ""  # from an equilibrium, rounded
    assert curve.ends_at(points(nodes, 9.0), points(nodes, 10.5)) == "period"


def test_doubled_orbits_end_where_they_meet_those_of_half_the_period(monkeypatch):
    """Beyond it the same orbits return, half a period later."""
    curve = orbit_curve(4)
    monkeypatch.setattr(curve, "size", lambda state, parameter: 1.0)
    single, odd = np.array([[1.0, 0], [-1, 0], [1, 0], [-1, 0]]), np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    point = lambda share: CurvePoint(Cycle(single + share * odd, 6.0), 0.0, *[np.empty(0)] * 6)
    for shares, end in (((0.3, -0.2), "period doubling"), ((0.3, 0.1), ""), ((1e-9, -0.3), "")):
        assert curve.ends_at(*map(point, shares)) == end


@pytest.mark.slow
def test_roessler_doubles_its_period_at_the_published_parameter():
    flow, where = Roessler(a=0.2, b=0.2, c=2.7), (lambda flow: flow.c)
    first = periodic_orbit(flow, jnp.asarray([-2.0, -3.0, 0.1]), 5.8, segments=2, rtol=1e-9)
    single = continue_orbits(Parameter(flow, where, 2.6, 2.9), first, steps=Steps(first=0.2, largest=0.4), rtol=1e-9)
    (point,) = single.bifurcations
    assert (point.kind, point.parameter) == ("period doubling", pytest.approx(2.8324, abs=1e-3))
    assert np.min(np.abs(point.eigenvalues + 1)) < 1e-6
    (double,) = switch_orbits(
        Parameter(flow, where, 2.6, 2.9), point, steps=Steps(first=0.2, largest=0.4, points=3), rtol=1e-9
    )
    assert double.states.period[0] == pytest.approx(2 * float(point.state.period))
    assert double.states.nodes.shape[1] == 4
    assert set(double.kinds[1:]) == {"stable"}
    gap = np.max(np.abs(double.states.nodes[-1, :2] - double.states.nodes[-1, 2:]))
    assert gap > 0.1  # it closes after two turns only
    varied = Parameter(Roessler(a=0.2, b=0.2, c=2.86), where, 2.6, 2.9)
    found = periodic_orbit(varied.system, double.states.nodes[-1, 0], double.states.period[-1], segments=4, rtol=1e-9)
    back = continue_orbits(varied, found, steps=Steps(first=0.2, largest=0.4), rtol=1e-9)
    assert back.ends == ("period doubling", "bounds")  # beyond it the same orbits return, half a period later
    assert back.parameters[0] == pytest.approx(point.parameter, abs=1e-5)
    assert not back.bifurcations


@pytest.mark.slow
def test_the_cycle_of_lorenz_ends_at_the_homoclinic_orbit():
    where = lambda flow: flow.rho
    rest = continue_equilibria(
        Parameter(Lorenz(rho=20.0), where, 14.0, 30.0), jnp.asarray([7.1, 7.1, 19.0]), steps=Steps(first=0.5)
    )
    hopf = rest.bifurcations[0]
    assert hopf.parameter == pytest.approx(24.736842, abs=1e-5)
    cycles = orbits_from_hopf(
        Parameter(Lorenz(), where, 10.0, 30.0), hopf, steps=Steps(first=0.5, largest=4.0), max_period=5.0, rtol=1e-9
    )
    assert cycles.ends == ("Hopf point", "period")
    assert cycles.parameters[-1] == pytest.approx(13.9266, abs=2e-3)  # Sparrow, 1982
    assert set(cycles.kinds[1:]) == {"saddle"}


@pytest.mark.slow
def test_the_canard_explosion_of_a_nerve_passes_its_fold():
    where = lambda flow: flow.current
    rest = continue_equilibria(Parameter(FitzHughNagumo(current=0.0), where, 0.0, 1.0), jnp.asarray([-1.2, -0.6]))
    cycles = orbits_from_hopf(
        Parameter(FitzHughNagumo(), where, 0.0, 0.4),
        rest.bifurcations[0],
        steps=Steps(largest=3.0, points=100),
        segments=10,
    )
    (fold,) = [b.parameter for b in cycles.bifurcations if b.kind == "fold"]
    assert fold == pytest.approx(0.324178523, abs=1e-7)  # below the Hopf point at .331281, which is subcritical
    assert cycles.kinds[-1] == "stable"


@pytest.mark.slow
def test_a_forced_orbit_keeps_the_period_of_its_forcing():
    flow, forcing = Duffing(gamma=0.05, omega=1.0), (lambda flow: 2 * jnp.pi / flow.omega)
    first = periodic_orbit(flow, jnp.asarray([1.1, 0.0]), 2 * np.pi, forced=True)
    found = continue_orbits(
        Parameter(flow, lambda f: f.omega, 0.9, 1.1), first, steps=Steps(largest=0.2), forcing=forcing, rtol=1e-9
    )
    assert found.ends == ("bounds", "bounds")
    periods = 2 * np.pi / found.parameters
    assert np.allclose(np.prod(found.eigenvalues, axis=1).real, np.exp(-0.25 * periods), rtol=1e-6)  # the friction


@pytest.mark.slow
def test_all_branches_leave_a_cycle_at_which_two_multipliers_cross():
    """Across a circle z1' = p z1 - z1^3, z2' = p z2 - z2^3 - z1^2 z2 / 2: from p = 0 on z is not zero in eight ways."""

    def field(t, x, p):
        del t
        rest = 1 - x[0] ** 2 - x[1] ** 2
        turning = [rest * x[0] - x[1], x[0] + rest * x[1]]
        return jnp.stack([*turning, p * x[2] - x[2] ** 3, p * x[3] - x[3] ** 3 - x[3] * x[2] ** 2 / 2])

    flow, where = FunctionFlow(field, parameters={"p": -0.3}), lambda f: f.parameters["p"]
    circle = periodic_orbit(flow, jnp.asarray([1.0, 0.0, 0.0, 0.0]), 2 * np.pi)
    (point,) = continue_orbits(Parameter(flow, where, -0.3, 0.3), circle, steps=Steps(first=0.1)).bifurcations
    assert (point.kind, point.multiplicity) == ("branch point", 2)
    found = switch_orbits(Parameter(flow, where, -0.3, 0.3), point, steps=Steps(first=0.1))
    ends = sorted(tuple(np.round(np.asarray(one.states.nodes)[-1, 0, 2:], 6) + 0.0) for one in found)
    a, b = np.round([0.3**0.5, 0.15**0.5], 6)
    assert ends == sorted([(0, a), (0, -a), (a, 0), (-a, 0), (a, b), (a, -b), (-a, b), (-a, -b)])


@pytest.mark.slow
def test_bad_input_is_one_sentence(bautin):
    where, fold = P, bautin[1].bifurcations[0]
    with pytest.raises(ValueError, match="Argument `at` must be a Hopf point, but is a fold"):
        orbits_from_hopf(Parameter(Bautin(), where, -1.5, 0.5), fold)
    with pytest.raises(ValueError, match="Argument `at` must be a branch point or a period doubling, but is a fold"):
        switch_orbits(Parameter(Bautin(), where, -1.5, 0.5), fold)
    with pytest.raises(ValueError, match="Argument `segments` must be at least 3"):
        orbits_from_hopf(Parameter(Bautin(), where, -1.5, 0.5), bautin[0].bifurcations[0], segments=2)


@pytest.mark.slow
def test_the_tangent_at_an_orbit_with_a_large_multiplier_is_that_of_its_branch():
    """The unit circle at the height z = p, from which z departs by the factor exp(6 pi) in a turn."""

    def field(t, x, p):
        del t
        rest = 1 - x[0] ** 2 - x[1] ** 2
        return jnp.stack([rest * x[0] - x[1], x[0] + rest * x[1], 3 * (x[2] - p)])

    flow = FunctionFlow(field, parameters={"p": 0.0})
    curve = OrbitCurve(Parameter(flow, "p", -1.0, 1.0), jnp.zeros(3), 1, None, 10.0, 1e-10)
    point = curve.at(Cycle(np.array([[1.0, 0.0, 0.0]]), np.asarray(2 * np.pi)), 0.0)
    assert point is not None
    assert np.allclose(np.append(point.basis @ point.tangent[:-1], point.tangent[-1]), [0, 0, 0.5**0.5, 0, 0.5**0.5])
    assert abs(curve.least_singular(point)) > 1e-3


@pytest.mark.slow
def test_orbits_of_one_node_end_at_the_equilibrium_to_which_they_shrink():
    """X' = (mu - |x|^2) x, turning: circles of radius sqrt(mu), which long steps pass on the way to no radius."""
    turning = lambda t, x, mu: jnp.stack([-2 * x[1], 2 * x[0]]) + x * (mu - jnp.sum(x**2))
    flow, where = FunctionFlow(turning, parameters={"mu": 0.25}), lambda flow: flow.parameters["mu"]
    branch = continue_orbits(
        Parameter(flow, where, -1.0, 1.0), periodic_orbit(flow, [0.5, 0.0], 3.1), steps=Steps(largest=0.2)
    )
    assert sorted(branch.ends) == ["bounds", "equilibrium"]
    assert branch.bifurcations == ()
    assert 0 < np.min(branch.parameters) < 0.05


def test_the_phase_condition_of_an_orbit_that_runs_away_does_not_overflow():
    none = np.zeros((2, 2))
    shot = OrbitSegments(1.0, np.ones((2, 2)), np.ones((2, 2)), np.stack([np.eye(2)] * 2), none + 1e200, none, none)
    found = cycle_equations(shot, none, 5, None, slowest=1e-9, forced=False)
    np.testing.assert_allclose(found.J[-1], [0.5, 0.5, 0.5, 0.5, 0.0])


@pytest.mark.parametrize("forced", [False, True])
def test_equations_in_bases_at_the_nodes_are_those_in_the_plane_turned(forced):
    """Gaps and velocities are expressed at the next node, derivatives between both."""
    random, free = np.random.default_rng(2), not forced
    rows = lambda *shape: random.normal(size=(3, 2, *shape))
    shot = OrbitSegments(2.0, rows(), rows(), rows(2), rows(), rows(), rows())
    Q = [np.linalg.qr(random.normal(size=(2, 2)))[0] for _ in range(3)]
    turned = lambda blocks: scipy.linalg.block_diag(*blocks, *([[1.0]] if free else []))
    basis = scipy.linalg.block_diag(*Q, np.ones((1, int(free))))
    here, there = turned(Q), turned([*Q[1:], Q[0]])
    options = {"slowest": 1e-12, "forced": forced}
    gaps, width = rows(), basis.shape[1]
    plain = cycle_equations(shot, gaps, width, None, **options)
    found = cycle_equations(shot, gaps, width, basis, **options)
    np.testing.assert_allclose(found.values, there.T @ plain.values)
    np.testing.assert_allclose(found.slope, there.T @ plain.slope)
    np.testing.assert_allclose(found.J, there.T @ plain.J @ here, atol=1e-14)
    assert found.size == plain.size == np.max(np.abs(gaps)) / (1 + np.max(np.abs(shot.nodes)))

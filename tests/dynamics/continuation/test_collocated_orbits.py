"""Periodic orbits continued by collocation: exact families, published points, and agreement with shooting."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from analysis.dynamics.attractors.attracting_orbit import attracting_orbit
from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation import meshes, method_change
from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbit_curve import OrbitCurve
from analysis.dynamics.continuation.orbits import (
    _curve_through,
    continue_orbits,
    orbit_of,
    orbit_ranges,
    orbits_from_hopf,
    switch_orbits,
)
from analysis.dynamics.continuation.period_limits import fitted_limit, period_limit
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.equations.system import system
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz, Roessler
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter


def radial(t, x, mu=-1.0, size=1.0, other=1.0):
    """Orbits x = sqrt(r) size, y = sqrt(r) other on circles with mu + 2 r - r^2 = 0 and the frequency 1 + r."""
    u, v = x[0] / size, x[1] / other
    r = u**2 + v**2
    growth, speed = mu + 2 * r - r**2, 1 + r
    return jnp.stack([size * (growth * u - speed * v), other * (speed * u + growth * v)])


@pytest.mark.parametrize(("trivial", "error"), [(0.0, 1e-6), (1e-4, 1e-3)])
def test_errors_of_multipliers_grow_with_their_sizes(monkeypatch, trivial, error):
    """By shooting with the size of the largest, by collocation with their own."""
    values = lambda: np.array([-200.0, 0.01, 2.0])
    point = CurvePoint(np.zeros(1), 0.0, None, None, np.zeros(1), np.ones(2), values, np.zeros((1, 0)))
    assert OrbitCurve.__new__(OrbitCurve).neutral(point) == pytest.approx(200e-6)
    monkeypatch.setattr(CollocationCurve, "trivial_error", lambda *_: trivial)
    found = CollocationCurve.__new__(CollocationCurve).neutral(point)
    np.testing.assert_allclose(found, error * np.array([200.0, 1.0, 2.0]))


@pytest.fixture(scope="module")
def circles():
    mu = Parameter(FunctionFlow(radial, parameters={"mu": 0.5, "other": 1.0}), "mu", -2.0, 1.0)
    (hopf,) = continue_equilibria(mu, jnp.zeros(2)).bifurcations
    return mu, orbits_from_hopf(mu, hopf, method="collocation")


@pytest.mark.parametrize("shift", [0.0, 0.37, 0.9])
def test_a_shifted_orbit_is_moved_back_into_phase(circles, shift):
    mu, found = circles
    value, cycle = float(found.parameters[-1]), jax.tree.map(lambda a: a[-1], found.states)
    curve = _curve_through(mu, cycle, value)
    given, value = curve.own(cycle), value / curve.unit
    shifted = curve.cycle(curve.states_at(given, value, curve.mesh[:-1] + shift), float(given.period))
    other = curve.on(curve.mesh)  # without the solutions from which intervals begin
    points = [curve.at(given, value), other.at(shifted, value)]
    np.testing.assert_allclose(other.nodes(points[1].state), other.nodes(shifted), atol=1e-6)
    np.testing.assert_allclose(other.place(points[1], points[0]), points[0].flat, atol=1e-6)
    np.testing.assert_allclose(*map(curve.out_of_phase, points), atol=1e-6)
    np.testing.assert_array_equal(curve.out_of_phase(points[0]), points[0].flat[-2:])


def test_a_family_of_circles_is_exact_with_its_fold_and_multipliers(circles):
    mu, found = circles
    (fold,) = found.bifurcations
    assert fold.kind == "fold"
    assert fold.parameter == pytest.approx(-1.0, abs=1e-8)
    assert fold.state.period == pytest.approx(np.pi, rel=1e-4)
    assert fold.coefficient == pytest.approx(4.0, rel=1e-5)  # mu = -1 + (r - 1)^2, and sqrt(r) moves by (r - 1) / 2
    r = np.sum(found.states.nodes**2, axis=2)
    assert np.allclose(r, r[:, :1], atol=1e-7)  # all nodes are on the circle
    assert np.allclose(r[:, 0] ** 2 - 2 * r[:, 0], found.parameters, atol=1e-6)
    assert np.allclose(found.states.period, 2 * np.pi / (1 + r[:, 0]), rtol=1e-6)
    growth = 2 * r[:, 0] * (2 - 2 * r[:, 0]) * found.states.period
    assert np.allclose(found.eigenvalues[1:, 0].real, np.exp(growth[1:]), rtol=1e-5)
    assert found.kinds[-1] == "stable"
    assert found.beside[0] == "unstable"
    assert found.ends == ("Hopf point", "bounds")
    assert np.allclose(orbit_ranges(mu, found, 1)[1:, 1], np.sqrt(r[1:, 0]), rtol=1e-6)
    again = orbit_of(mu, found, -1)
    assert again.stability == "stable"
    assert np.allclose(again.multipliers, found.eigenvalues[-1], rtol=1e-6)


@pytest.mark.parametrize(("last", "why"), [
    (0.4, "undefined at (1, 0)"),  # a solver that stops before stiff parts of an orbit says so
    pytest.param(1.0 - 1e-12, "accuracy", marks=pytest.mark.slow),
])  # fmt: skip
def test_collocation_goes_on_where_shooting_ends(circles, monkeypatch, last, why):
    """The change lies before the fold, at r = 1, or at the step beside it; no point is lost or found twice."""
    mu, whole = circles
    resolved = OrbitCurve.unresolved
    too_large = lambda self, point: np.sum(self.nodes(point.state)[0] ** 2) > last
    end = lambda self, point: why if too_large(self, point) else resolved(self, point)
    monkeypatch.setattr(OrbitCurve, "unresolved", end)
    (hopf,) = continue_equilibria(mu, jnp.zeros(2)).bifurcations
    found = orbits_from_hopf(mu, hopf)
    assert orbits_from_hopf(mu, hopf, method="shooting").ends[1] == why
    assert [(one.kind, round(one.parameter, 7)) for one in found.bifurcations] == [("fold", -1.0)]
    assert found.ends == whole.ends
    (note,) = found.notes
    assert re.fullmatch(r"by collocation from mu = -(0|1)\.\d+ on", note)
    r = np.sum(found.states.nodes**2, axis=2)
    assert np.allclose(r**2 - 2 * r, found.parameters[:, None], atol=1e-6)
    assert np.allclose(found.states.period, 2 * np.pi / (1 + r[:, 0]), rtol=1e-6)
    assert np.all(np.diff(found.arclengths) > 0)
    monkeypatch.setattr(method_change.CollocationCurve, "corrected", lambda *_: None)
    assert orbits_from_hopf(mu, hopf).ends[1] == why  # where collocation finds no orbit, shooting ends


@pytest.mark.parametrize(("flow", "name", "bounds", "start"), [
    (VanDerPol(mu=-0.5), "mu", (-0.5, 1.0), [0.0, 0.0]),
    (Brusselator(a=1.0, b=1.8), "b", (1.8, 2.5), [1.0, 1.8]),
])  # fmt: skip
def test_orbits_from_hopf_points_are_those_of_the_flow_on_all_their_meshes(flow, name, bounds, start):
    """Van der Pol's begin with a vertical family, on which another one with a finer mesh goes on."""
    parameter = Parameter(flow, name, *bounds)
    (hopf,) = continue_equilibria(parameter, start).bifurcations
    found = orbits_from_hopf(parameter, hopf, method="collocation")
    assert found.ends == ("Hopf point", "bounds")
    assert found.kinds[-1] == "stable"
    assert found.states.nodes.shape[:2] == found.states.times.shape
    assert found.states.period[0] == pytest.approx(2 * np.pi, rel=1e-6)
    for k in (len(found.kinds) // 2, -1):
        moved, period = parameter.at(found.parameters[k]), float(found.states.period[k])
        times, nodes = period * found.states.times[k], found.states.nodes[k]
        path = scipy.integrate.solve_ivp(
            lambda t, x, moved=moved: np.asarray(moved.velocity(t, x)), (0.0, period), nodes[0], "LSODA",
            t_eval=[*times[[3, 8]], period], rtol=1e-8, atol=1e-10,
        )  # fmt: skip
        assert np.allclose(path.y.T, nodes[[3, 8, 0]], atol=1e-5)


@pytest.mark.slow
def test_units_of_twelve_orders_of_magnitude_do_not_matter(circles):
    flow = FunctionFlow(radial, parameters={"mu": 0.5, "size": 1e-12, "other": 1e12})
    mu = Parameter(flow, "mu", -2.0, 1.0)
    orbit = periodic_orbit(flow, [1e-12 * 1.5, 0.0], 1.94, method="collocation")
    found = continue_orbits(mu, orbit, method="collocation", steps=Steps(first=0.1))
    fold = next(one for one in found.bifurcations if one.kind == "fold")
    assert fold.parameter == pytest.approx(-1.0, abs=1e-7)
    assert np.allclose(
        np.ptp(found.states.nodes[..., 1], axis=1), 1e24 * np.ptp(found.states.nodes[..., 0], axis=1), rtol=0.2
    )


@pytest.fixture(scope="module")
def predators():
    def pp2(t, x, q=0.67):
        caught = q * (1 - jnp.exp(-5 * x[0]))
        return jnp.stack([3 * x[0] * (1 - x[0]) - x[0] * x[1] - caught, -x[1] + 3 * x[0] * x[1]])

    q = Parameter(FunctionFlow(pp2, parameters={"q": 0.67}), "q", 0.66, 0.9)
    hopf = continue_equilibria(q, jnp.array([1 / 3, 1.0])).bifurcations[0]
    return q, orbits_from_hopf(q, hopf, method="collocation", max_period=120.0)


@pytest.mark.slow
def test_the_cycles_of_autos_demo_end_at_a_heteroclinic_cycle(predators):
    q, found = predators
    assert found.ends == ("Hopf point", "period")
    at = np.interp(36.0, found.states.period, found.parameters)
    assert at == pytest.approx(0.70790, abs=1e-4)
    limit = period_limit(found)
    assert limit.kind == "homoclinic"
    assert limit.parameter == pytest.approx(0.7079, abs=1e-3)
    assert len({len(row) for row in found.states.times}) == 1
    assert found.states.times.shape == found.states.nodes.shape[:2]


def test_limits_of_periods_are_told_apart():
    p = 1 + np.geomspace(1.0, 1e-3, 20)
    log, root = fitted_limit(p, 3 - 2 * np.log(p - 1)), fitted_limit(p, 3 + 2 / np.sqrt(p - 1))
    assert (log.kind, root.kind) == ("homoclinic", "saddle-node on a cycle")
    assert np.allclose([log.parameter, root.parameter, log.scale / 2, root.scale / 2], 1.0, atol=0.02)
    for law in (lambda d: 3 - 2 * np.log(d) + d, lambda d: 3 + 2 / np.sqrt(d) + d):  # laws of small distances only
        d = np.geomspace(1.0, 1e-9, 60)
        for unit, shift in ((1.0, 0.0), (1e-7, 0.0), (1e6, -1e6)):
            near = fitted_limit(shift + unit * (1 + d), law(d))
            assert near.kind == fitted_limit(1 + d, law(d)).kind
            assert abs(near.parameter - (shift + unit)) < 3e-9 * unit + 1e-15 * abs(shift)
    with pytest.raises(ArgumentError, match="grows"):
        fitted_limit(p, np.log(p - 1))


@pytest.mark.slow
def test_period_doublings_and_multipliers_agree_with_shooting():
    c = Parameter(Roessler(c=2.6), "c", 2.6, 3.0)
    orbit = periodic_orbit(c.system, [0.0, -3.4, 0.1], 5.77, method="collocation")
    found = continue_orbits(c, orbit, method="collocation", steps=Steps(largest=1.0))
    (doubling,) = found.bifurcations
    assert doubling.kind == "period doubling"
    assert doubling.parameter == pytest.approx(2.832445, abs=1e-5)  # by shooting with a tolerance of 1e-12
    (doubled,) = switch_orbits(c, doubling, method="collocation", steps=Steps(largest=1.0, points=4))
    assert doubled.states.period[1] == pytest.approx(2 * float(doubling.state.period), rel=1e-2)
    assert doubled.beside[0] == "stable"
    assert np.ptp(doubled.states.nodes[-1][:, 0]) > 0
    with pytest.raises(ArgumentError, match="shooting"):
        switch_orbits(c, doubling, method="shooting")


def test_branches_and_bifurcations_by_collocation_go_on(circles):
    mu, whole = circles
    short = Parameter(mu.system, "mu", -2.0, 0.5)
    orbit = periodic_orbit(mu.system, [np.sqrt(1 + np.sqrt(1.5)), 0.0], 2 * np.pi / (2 + np.sqrt(1.5)), segments=3)
    known = continue_orbits(short, orbit, method="collocation", steps=Steps(points=3))
    longer = extend(known, mu)
    assert longer.ends == ("equilibrium", "bounds")
    assert longer.parameters[-1] == pytest.approx(1.0)
    (fold,) = longer.bifurcations
    assert fold.parameter == pytest.approx(-1.0, abs=1e-8)
    r = np.sum(longer.states.nodes**2, axis=2)
    assert longer.states.times.shape == r.shape
    assert np.allclose(r**2 - 2 * r, longer.parameters[:, None], atol=1e-6)
    plane = (Parameter(mu.system, "mu", -2.0, 1.0), Parameter(mu.system, "other", 0.5, 2.0))
    folds = critical_curve(plane, fold, steps=Steps(first=0.2, largest=0.5))
    assert folds.kind == "fold"
    assert folds.ends == ("bounds", "bounds")
    assert np.allclose(folds.first, -1.0, atol=1e-6)
    assert np.allclose(np.ptp(folds.second), 1.5)


@pytest.mark.slow
def test_van_der_pols_period_follows_its_asymptotic_series(monkeypatch):
    flow = VanDerPol(mu=4.0)
    mu = Parameter(flow, "mu", 4.0, 7.0)
    orbit = periodic_orbit(flow, [2.0, 0.0], 10.2, method="collocation")
    found = continue_orbits(mu, orbit, method="collocation", steps=Steps(largest=20.0))
    last = found.parameters[-1]
    series = (3 - 2 * np.log(2)) * last + 7.01432 * last ** (-1 / 3) - 2 / 3 * np.log(last) / last - 1.3246 / last
    assert last == pytest.approx(7.0)
    assert found.states.period[-1] == pytest.approx(series, abs=0.08)
    assert found.isolated
    assert not found.bifurcations
    assert {*found.kinds} == {"stable"}
    monkeypatch.setattr(meshes, "MOST", len(orbit.times))
    ended = continue_orbits(Parameter(flow, "mu", 4.0, 200.0), orbit, method="collocation", steps=Steps(largest=20.0))
    assert ended.ends[1] == "accuracy"
    assert 4.0 < ended.parameters[-1] < 200.0


def hodgkin_huxley(t, x, current=0.0):
    def ratio(u):
        small = jnp.abs(u) < 1e-2
        safe = jnp.where(small, 1.0, u)
        return jnp.where(small, 1 + u / 2 + u**2 / 12 - u**4 / 720 + u**6 / 30240, safe / (1 - jnp.exp(-safe)))

    v, m, h, n = x
    flux = 120 * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.387)
    gates = (
        (ratio((v + 40) / 10), 4 * jnp.exp(-(v + 65) / 18), m),
        (0.07 * jnp.exp(-(v + 65) / 20), 1 / (1 + jnp.exp(-(v + 35) / 10)), h),
        (0.1 * ratio((v + 55) / 10), 0.125 * jnp.exp(-(v + 65) / 80), n),
    )
    return jnp.stack([current - flux, *(a * (1 - y) - b * y for a, b, y in gates)])


@pytest.mark.slow
def test_hodgkin_and_huxleys_cycles_reach_all_their_folds():
    current = Parameter(FunctionFlow(hodgkin_huxley, parameters={"current": 0.0}), "current", 0.0, 200.0)
    hopf = continue_equilibria(current, jnp.array([-65.0, 0.053, 0.6, 0.318]), steps=Steps(largest=2.0)).bifurcations[0]
    found = orbits_from_hopf(current, hopf, steps=Steps(largest=8.0), method="collocation")
    folds = [one.parameter for one in found.bifurcations if one.kind == "fold"]
    assert np.allclose(folds, [7.84235, 7.91779, 6.26032], atol=1e-5)  # by AUTO
    assert [one.kind for one in found.bifurcations].count("period doubling") == 2
    assert found.ends == ("Hopf point", "equilibrium")
    assert found.kinds[-3] == "stable"
    assert np.max(np.abs(found.eigenvalues[1:])) > 1e3
    assert np.min(np.abs(found.eigenvalues[1:])) < 1e-30


@pytest.mark.slow
def test_autos_demo_of_the_lorenz_system_doubles_its_period():
    orbit = periodic_orbit(Lorenz(rho=280.0), [-1.5, -26.0, 246.0], 0.43, method="collocation")
    rho = Parameter(Lorenz(rho=280.0), "rho", 200.0, 285.0)
    found = continue_orbits(rho, orbit, method="collocation", steps=Steps(first=1.0, largest=5.0))
    doubling = next(one for one in found.bifurcations if one.kind == "period doubling")
    assert doubling.parameter == pytest.approx(229.4, abs=0.1)


@pytest.mark.slow
def test_morris_and_lecars_cycles_have_their_published_folds_and_limits():
    def neuron(t, x, current=60.0, phi=0.04, gca=4.4, v3=2.0, v4=30.0):
        V, w = x
        m, n = (1 + jnp.tanh((V + 1.2) / 18)) / 2, (1 + jnp.tanh((V - v3) / v4)) / 2
        flux = gca * m * (V - 120) + 8 * w * (V + 84) + 2 * (V + 60)
        return jnp.stack([(current - flux) / 20, phi * jnp.cosh((V - v3) / (2 * v4)) * (n - w)])

    def cycles(start, **values):
        flow = FunctionFlow(
            neuron, parameters={"current": 150.0, "phi": 0.04, "gca": 4.4, "v3": 2.0, "v4": 30.0} | values
        )
        current = Parameter(flow, "current", 0.0, 300.0)
        hopf = continue_equilibria(current, jnp.array(start), steps=Steps(largest=3.0)).bifurcations[0]
        return orbits_from_hopf(current, hopf, method="collocation")

    found = cycles([0.0, 0.3])
    folds = sorted(one.parameter for one in found.bifurcations)
    assert np.allclose(folds, [88.2933, 216.8998], atol=1e-3)  # 88.29 and 216.9 by XPPAUT
    on_cycle = {"gca": 4.0, "v3": 12.0, "v4": 17.4}
    limit = period_limit(cycles([10.0, 0.4], phi=0.067, **on_cycle))
    assert limit.kind == "saddle-node on a cycle"
    assert limit.parameter == pytest.approx(39.9632, abs=1e-3)
    limit = period_limit(cycles([10.0, 0.4], phi=0.23, **on_cycle))
    assert limit.kind == "homoclinic"
    assert limit.parameter == pytest.approx(35.0067, abs=1e-3)


def oregonator(low, high):
    """Continue the relaxation oscillation of the Oregonator of two variables from f = 1, where it is stiff."""
    flow = system("x' = (x*(1 - x) - f*z*(x - q)/(x + q))/e; z' = x - z", q=8e-4, e=0.04, f=1.0)
    f = Parameter(flow, "f", low, high)
    return f, continue_orbits(f, attracting_orbit(flow, [0.5, 0.1]), method="collocation")


def test_a_step_begins_with_the_intervals_of_its_point_and_not_with_those_of_failed_ones():
    _, found = oregonator(0.9999, 1.02)
    assert found.ends == ("bounds", "bounds")
    assert {*found.kinds} == {"stable"}


@pytest.mark.slow
def test_cycles_of_the_oregonator_shrink_to_its_hopf_point_in_a_canard_explosion():
    f, found = oregonator(0.99, 3.0)
    assert found.ends == ("bounds", "equilibrium")
    hopf = [one.parameter for one in continue_equilibria(f, [0.03, 0.03]).bifurcations if one.kind == "Hopf point"]
    assert found.parameters[-1] == pytest.approx(max(hopf), rel=1e-4)
    sizes = np.ptp(found.states.nodes[..., 0], axis=1)
    explosion = found.parameters[np.abs(sizes - 0.4) < 0.2]
    assert len(explosion) > 5
    assert np.ptp(explosion) < 1e-6

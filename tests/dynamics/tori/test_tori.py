"""Invariant circles of maps and tori of flows are those of closed forms, from their bifurcation and from motions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.tori.branches import continue_tori, tori_from_neimark_sacker
from analysis.dynamics.tori.from_motion import invariant_torus
from analysis.dynamics.tori.torus import InvariantTorus
from analysis.tables import table
from dynsim.errors import ArgumentError
from dynsim.simulation.simulate import simulate
from dynsim.spaces.ellipsoid import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter
from figures.plotting import plot


def turned(k, x, mu=-0.1, size=1.0, sign=-1.0):
    """Turn states by 2 + 0.3 s, with s the square of the radius, which grows by 1 + mu + sign s."""
    square = (x @ x) / size**2
    angle, grown = 2.0 + 0.3 * square, (1 + mu + sign * square) * x
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([c * grown[0] - s * grown[1], s * grown[0] + c * grown[1]])


def turn(size=1.0, sign=-1.0, low=-0.2, high=0.3):
    """The parameter mu of the map that turns, whose fixed point is 0."""
    flow = FunctionMap(turned, parameters={"mu": -0.1 * abs(sign), "size": size, "sign": sign})
    return Parameter(flow, "mu", low, high)


CENTRE = Bifurcation("Neimark-Sacker point", np.zeros(2), 0.0, np.exp([2j, -2j]), 2.0, 0.0, np.zeros(3))


@pytest.mark.parametrize(("size", "sign"), [(1.0, -1.0), (1e7, 1.0)])
def test_circles_of_a_normal_form_are_exact(size, sign):
    """The circle has the radius sqrt(-sign mu), turns by 2 + 0.3 |mu|, and multiplies distances by 1 - 2 |mu| sign."""
    mu = turn(size, sign)
    found = tori_from_neimark_sacker(mu, CENTRE)
    assert found.ends == ("Neimark-Sacker point", "bounds")
    assert found.parameters[-1] == pytest.approx(0.3 if sign < 0 else -0.2)
    for one in found.tori:
        square = -sign * one.parameter
        assert np.allclose(np.linalg.norm(one.circle() / size, axis=1), np.sqrt(square), rtol=1e-9)
        assert one.rotation == pytest.approx((2 + 0.3 * square) / (2 * np.pi), abs=1e-10)
        assert one.error < 1e-7
    assert one.multipliers == pytest.approx([1 + 2 * sign * square], abs=1e-9)
    assert {one.kind for one in found.tori} == {"attracting" if sign < 0 else "repelling"}


def rotators(t, x, p=-0.5, twist=0.2):
    """Two oscillators with the frequencies 1 and sqrt(2) + twist p, and the radii 1 and sqrt(p)."""
    a, b = x[:2], x[2:]
    quarter = lambda y: jnp.stack([-y[1], y[0]])
    return jnp.concatenate([(1 - a @ a) * a + quarter(a), (p - b @ b) * b + (np.sqrt(2) + twist * b @ b) * quarter(b)])


def test_tori_of_an_autonomous_flow_are_exact():
    flow = FunctionFlow(rotators, parameters={"p": -0.5, "twist": 0.2})
    p = Parameter(flow, "p", -0.5, 0.5)
    angle = 2 * np.pi * (np.sqrt(2) - 1)
    cycle = Cycle(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array(2 * np.pi))
    values = np.array([np.exp(1j * angle), np.exp(-1j * angle), np.exp(-4 * np.pi)])
    point = Bifurcation("Neimark-Sacker point", cycle, 0.0, values, angle, 0.0, np.zeros(5))
    found = tori_from_neimark_sacker(p, point, steps=Steps(first=0.3, points=2))
    assert found.ends == ("Neimark-Sacker point", "steps")
    one = found.tori[-1]
    assert np.allclose(np.linalg.norm(one.circle()[:, 2:], axis=1), np.sqrt(one.parameter), atol=1e-9)
    assert one.rotation == pytest.approx(np.sqrt(2) - 1 + 0.2 * one.parameter, abs=1e-9)
    assert one.period == pytest.approx(2 * np.pi)
    assert one.multipliers == pytest.approx(np.exp(-4 * np.pi * np.array([one.parameter, 1.0])), abs=1e-9)
    surface = one.surface(3, 5)
    assert surface.shape == (3, 5, 4)
    assert np.allclose(surface[0], surface[-1], atol=1e-8)
    assert np.allclose(np.hypot(surface[..., 0], surface[..., 1]), 1.0)


def driven(t, x, omega=0.7, mu=0.5):
    """A rotator with the radius sqrt(mu) around an ellipse on which the force moves."""
    c, s = jnp.cos(omega * t), jnp.sin(omega * t)
    y = x - jnp.stack([c, s / 2])
    return omega * jnp.stack([-s, c / 2]) + (mu - y @ y) * y + jnp.stack([-y[1], y[0]])


@pytest.mark.slow
def test_tori_of_a_forced_flow_follow_the_period_of_the_force():
    """The frequency of the rotator is 1, so that it makes 1 / omega turns in a period; mu is continued, then omega."""
    flow = FunctionFlow(driven, parameters={"omega": 0.71, "mu": 0.5})
    angles = 2 * np.pi * np.arange(15) / 15
    circle = np.array([1.0, 0.0]) + 0.7 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    begun = InvariantTorus(circle, 1 / 0.71 - 1.0, 2 * np.pi / 0.71, 0.5, np.zeros(1), 1.0)
    omega = Parameter(flow, "omega", 0.7, 0.72)
    found = continue_tori(omega, begun, forcing=lambda flow: 2 * jnp.pi / flow.parameters["omega"], steps=Steps(0.05))
    assert found.ends == ("bounds", "bounds")
    for one in found.tori:
        assert one.rotation == pytest.approx(1 / one.parameter - 1.0, abs=1e-9)
        assert one.period == pytest.approx(2 * np.pi / one.parameter)
        away = one.circle() - [1.0, 0.0]
        assert np.allclose(np.linalg.norm(away, axis=1), np.sqrt(0.5), atol=1e-9)
        assert one.multipliers == pytest.approx([np.exp(-2 * 0.5 * one.period)], rel=1e-6)


def test_a_motion_leads_to_its_torus_which_ends_at_its_bifurcation():
    mu = turn(low=-0.05, high=0.1)
    mu = mu.of(mu.at(0.05))
    one = invariant_torus(mu, [0.1, 0.0])
    assert one.rotation == pytest.approx((2 + 0.3 * 0.05) / (2 * np.pi), abs=1e-10)
    assert "torus at mu = 0.05: rotation number 0.320697210" in str(one)
    assert "\n" not in repr(one)
    found = continue_tori(mu, one)
    assert found.ends == ("Neimark-Sacker point", "bounds")
    assert "attracting tori, mu from" in str(found)
    assert {"mu", "rotation", "x_1_min", "multiplier"} <= {*table(found).names}
    assert {*table(one).names} == {"angle", "x_1", "x_2"}
    assert len(plot(found).lines) == 1
    assert len(plot(found, component=0).lines) == 2
    assert plot(one).axes[0].get_xlabel().strip("$").startswith("x")


def locked(k, x, mu=0.1, ratio=0.2):
    """Turn by a fifth, and attract the angles at which sin(5 angle) vanishes."""
    angle = 2 * jnp.pi * ratio - 0.05 * jnp.sin(5 * jnp.arctan2(x[1], x[0]))
    grown, c, s = (1 + mu - x @ x) * x, jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([c * grown[0] - s * grown[1], s * grown[0] + c * grown[1]])


LOCKED = FunctionMap(locked, parameters={"mu": 0.1, "ratio": 0.2})


def test_a_torus_is_found_in_units_far_apart_and_far_from_zero():
    """Two oscillators; on the section over a turn of the faster one this rests, and only its errors are seen."""
    unit, fast = np.array([1e-6, 1e-6, 1e6, 1e6]), np.sqrt(2.0)
    away = 1e3 * unit

    def field(t, s, p):
        x, y, u, v = (s - away) / unit
        near, far = p - x**2 - y**2, 1 - u**2 - v**2
        return unit * jnp.stack([near * x - y, near * y + x, far * u - fast * v, far * v + fast * u])

    p = Parameter(FunctionFlow(field, parameters={"p": 1.0}), "p", 0.5, 2.0)
    found = invariant_torus(p, away + unit * np.array([1.0, 0.1, 0.9, 0.2]), period=2 * np.pi, transient=5)
    assert found.period == pytest.approx(2 * np.pi / fast, rel=1e-7)
    assert found.rotation == pytest.approx(1 - 1 / fast, abs=1e-7)
    assert np.allclose(np.linalg.norm((found.circle() - away)[:, :2], axis=1), 1e-6, rtol=1e-7)


def test_locked_motion_is_named():
    with pytest.raises(ArgumentError, match="leads to a periodic orbit that is locked 1:5"):
        invariant_torus(Parameter(LOCKED, "mu", 0.0, 0.2), [0.3, 0.1])


@pytest.mark.slow
def test_a_branch_ends_where_the_motion_locks():
    """The angle is locked where the turn differs from a fifth by less than 0.05 radians."""
    ratio = Parameter(LOCKED, "ratio", 0.19, 0.217)
    ratio = ratio.of(ratio.at(0.216))
    found = continue_tori(ratio, invariant_torus(ratio, [0.3, 0.1]), steps=Steps(first=0.004))
    assert found.ends == ("locked 1:5", "bounds")
    assert [orbit.ratio for orbit in found.locked] == ["1:5"]
    edge = 0.2 + 0.05 / (2 * np.pi)
    assert found.parameters.min() > edge
    assert found.locked[0].parameter < edge


MU = turn()
ANY: Any = CENTRE
ANY_TORUS = InvariantTorus(np.eye(3)[:, :2], 0.3, 1.0, 0.1, np.zeros(1), 1.0)
DOUBLED = Parameter(FunctionMap(lambda k, x, a=1.0: 2 * x + a, parameters={"a": 1.0}), "a", 0.0, 2.0)
OMEGA = Parameter(FunctionFlow(driven, parameters={"omega": 0.71, "mu": 0.5}), "omega", 0.65, 0.75)
SPHERE = FunctionFlow(lambda t, x, a=0.5: a * jnp.stack([-x[1], x[0]]), space=Sphere(), parameters={"a": 0.5})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: tori_from_neimark_sacker(MU, CENTRE._replace(kind="fold")),
            "be a Neimark-Sacker point, but is a f",
        ),
        (lambda: tori_from_neimark_sacker(MU, CENTRE._replace(frequency=np.pi / 2)), "`at` must have no strong"),
        (lambda: tori_from_neimark_sacker(MU, CENTRE, steps=Steps(stops={"x": lambda x, a: x[0]})), "no marks"),
        (lambda: tori_from_neimark_sacker(MU, CENTRE, tolerance=-1.0), "`tolerance` must"),
        (lambda: tori_from_neimark_sacker(turn(high=0.0), CENTRE), "`at` must be a point whose tori lie in the range"),
        (lambda: continue_tori(turn(low=0.0), ANY_TORUS), "`parameter` must have the system's own value, -0.1, in its"),
        (
            lambda: tori_from_neimark_sacker(MU, CENTRE, forcing=lambda flow: 1.0),
            "`forcing` must be left out for",
        ),
        (
            lambda: invariant_torus(DOUBLED, [1.0]),
            "but leads to states that are not finite",
        ),
        (
            lambda: invariant_torus(OMEGA, [1.0, 0.0], period=6.0),
            "`forcing` must be the period, for a flow",
        ),
        (lambda: continue_tori(MU, ANY), "`torus` must be a `InvariantTorus`, but is B"),
        (lambda: invariant_torus(MU, [0.1, 0.0]), "`start` must lead to a torus.*leads to a fixed point"),
        (lambda: invariant_torus(Parameter(SPHERE, "a", 0.1, 1.0), [1.0, 0.0]), "`period` must be given"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()


def langford(t, s, rho=0.7, epsilon=0.0):
    """Langford's system with its usual constants; for epsilon = 0 it turns around the z axis at the frequency 3.5."""
    x, y, z = s
    return jnp.stack([
        (z - 0.7) * x - 3.5 * y,
        3.5 * x + (z - 0.7) * y,
        0.6 + z - z**3 / 3 - (x**2 + y**2) * (1 + rho * z) + epsilon * z * x**3,
    ])  # fmt: skip


LANGFORD = FunctionFlow(langford, names=("x", "y", "z"), parameters={"rho": 0.7, "epsilon": 0.0})
SUM = 0.6 + 0.7 - 0.7**3 / 3
RHO = 0.51 / (SUM - 0.7 * 0.51)
"""The orbit z = 0.7, r^2 = SUM / (1 + 0.7 rho), loses its stability where the trace 1 - z^2 - rho r^2 vanishes."""


def period_in_the_plane(rho):
    """Compute the period of the cycle of radius and z, by SciPy."""
    field = lambda t, s: [(s[1] - 0.7) * s[0], 0.6 + s[1] - s[1] ** 3 / 3 - s[0] ** 2 * (1 + rho * s[1])]
    passes = lambda t, s: s[1] - 0.7
    passes.direction = 1.0
    path = solve_ivp(field, (0.0, 400.0), [0.9, 1.0], events=passes, rtol=1e-10, atol=1e-12, method="LSODA")
    return np.diff(path.t_events[0])[-1]


@pytest.mark.slow
def test_tori_of_langford_begin_where_the_trace_vanishes():
    """The cycle in the plane of radius and z makes 2 pi / 3.5 P turns in one around the axis, P being its period."""
    radius, frequency = np.sqrt(SUM / (1 + 0.7 * RHO)), np.sqrt(2 * SUM)
    cycle = Cycle(np.array([[radius, 0.0, 0.7]]), np.array(2 * np.pi / 3.5))
    angle = 2 * np.pi * frequency / 3.5
    point = Bifurcation("Neimark-Sacker point", cycle, RHO, np.exp([1j * angle, -1j * angle]), angle, 0.0, np.zeros(4))
    found = tori_from_neimark_sacker(Parameter(LANGFORD, "rho", 0.0, 0.8), point, steps=Steps(0.2, points=2))
    assert found.tori[0].parameter < RHO
    for one in found.tori[1:]:
        assert one.rotation == pytest.approx(2 * np.pi / 3.5 / period_in_the_plane(one.parameter), abs=1e-8)
        assert one.kind == "attracting"
        square = np.hypot(*one.circle()[:, :2].T)
        assert np.ptp(square) > 0.1


@pytest.mark.slow
def test_the_pipeline_of_langford_locks_with_a_force():
    """With epsilon = 0.1 the torus locks; without, the branch reaches the end of the range."""
    for epsilon, ends in ((0.0, "bounds"), (0.1, "locked 1:3")):
        flow = FunctionFlow(langford, parameters={"rho": 0.7, "epsilon": epsilon})
        rho = Parameter(flow, "rho", 0.2, 0.8)
        orbit = periodic_orbit(flow, [0.9, 0.0, 0.7], 2 * np.pi / 3.5)
        points = [b for b in continue_orbits(rho, orbit).bifurcations if b.kind == "Neimark-Sacker point"]
        assert points[0].parameter == pytest.approx(RHO, abs=1e-6 if epsilon == 0 else 0.01)
        found = tori_from_neimark_sacker(rho, points[0])
        assert found.ends[1] == ends


def turns_of(states):
    """Compute the rotation number of an orbit around its mean, by a mean of the angles with a smooth window."""
    away = states - np.mean(states, axis=0)
    before, after = away[:-1], away[1:]
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    angles = np.arctan2(cross, np.sum(before * after, axis=1))
    share = (np.arange(len(angles)) + 0.5) / len(angles)
    weights = np.exp(-1 / (share * (1 - share)))
    return abs(np.sum(weights * angles) / np.sum(weights)) / (2 * np.pi)


@pytest.mark.slow
def test_the_delayed_logistic_map_turns_as_its_iterates_and_locks_to_a_seventh():
    """Maynard Smith's map: a circle at r = 2, of rotation number 1/6, and orbits of period 7 near r = 2.18."""
    delayed = FunctionMap(lambda k, x, r=1.9: jnp.stack([r * x[0] * (1 - x[1]), x[0]]), parameters={"r": 1.9})
    r = Parameter(delayed, "r", 1.5, 2.3)
    (point,) = continue_equilibria(r, [0.47, 0.47]).bifurcations
    assert point.parameter == pytest.approx(2.0)
    found = tori_from_neimark_sacker(r, point)
    assert found.ends == ("Neimark-Sacker point", "locked 1:7")
    for one in found.tori[1:6:2]:
        states = [one.circle()[0]]
        for _ in range(20_000):
            x, before = states[-1]
            states.append(np.array([one.parameter * x * (1 - before), x]))
        assert one.rotation == pytest.approx(turns_of(np.array(states)), abs=1e-8)


@pytest.mark.slow
def test_the_forced_oscillator_of_van_der_pol_turns_as_in_a_simulation():
    field = lambda t, s, A=0.5: jnp.stack([s[1], (1 - s[0] ** 2) * s[1] - s[0] + A * jnp.cos(2.3 * t)])
    flow = FunctionFlow(field, parameters={"A": 0.5})
    A, period = Parameter(flow, "A", 0.1, 3.0), 2 * np.pi / 2.3
    one = invariant_torus(A, [2.0, 0.0], forcing=lambda flow: period)
    found = continue_tori(A, one, forcing=lambda flow: period)
    assert found.ends == ("bounds", "bounds")
    last = found.tori[-1]
    states = simulate(A.at(3.0), last.circle()[0], period * np.arange(801.0)).ys
    assert last.rotation == pytest.approx(turns_of(np.asarray(states)), abs=1e-6)

"""Phase responses, isochrons and locking ranges against closed forms, and against kicks that are simulated."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.collocation.solver import gauss_points
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from analysis.dynamics.phase import response
from analysis.dynamics.phase.isochrons import APART, POINTS, STRAIGHT, _Half, _IsochronLines, isochrons
from analysis.dynamics.phase.locking import LockingRange, locking_range
from analysis.dynamics.phase.response import Oscillator, PhaseResponse, _difference, asymptotic_phase, phase_response
from analysis.tables import table
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

SHEAR, SPEED = 0.7, 1.3


def sheared(t, x, shear=SHEAR, speed=SPEED):
    """The circle attracts; with the phase angle - shear log r, isochrons are spirals."""
    growth = 1 - x @ x
    turning = speed + shear * growth
    return jnp.stack([growth * x[0] - turning * x[1], growth * x[1] + turning * x[0]])


def wave(share):
    return jnp.stack([jnp.cos(2 * jnp.pi * share), 0.0])


def phase_of(points):
    return (np.arctan2(points[..., 1], points[..., 0]) - SHEAR * np.log(np.hypot(*points.T))) / (2 * np.pi)


def apart(one, other):
    return np.max(np.abs((one - other + 0.5) % 1.0 - 0.5))


@pytest.fixture(scope="module")
def clock():
    flow = FunctionFlow(sheared, names=("x", "y"), units=("V", "A"), time_unit="s")
    angles = 2 * np.pi * np.arange(24) / 24
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    period = 2 * np.pi / SPEED
    return flow, PeriodicOrbit(circle[0], period, circle, np.array([np.exp(-2 * period)]), 0.0, 0.0, "stable")


def test_the_response_of_a_sheared_clock_is_exact_and_begins_at_the_state_of_its_orbit(clock):
    flow, orbit = clock
    found = phase_response(flow, orbit._replace(state=orbit.nodes[5]), points=101)
    angle = 2 * np.pi * (found.phases + 5 / 24)
    out, on = np.stack([np.cos(angle), np.sin(angle)]), np.stack([-np.sin(angle), np.cos(angle)])
    assert np.allclose(found.values.T, (on - SHEAR * out) / SPEED, atol=1e-6)
    assert np.allclose(found.states.T, out, atol=1e-8)
    assert np.max(np.abs(found.values.T - (on - SHEAR * out) / SPEED)) <= found.error < 1e-7
    assert found.kinds == ("II", "II")
    assert np.allclose(found.at([0.25, 1.25]), found.values[25], atol=1e-6)
    assert table(found).units["Z_x"] == "s/V"


def test_the_error_of_a_response_is_that_of_a_coarser_mesh(clock, monkeypatch):
    """With an orbit on few intervals the response has an error, which the estimate exceeds, but not by much."""
    angle = 2 * np.pi * np.linspace(0.0, 1.0, 101)
    out, on = np.stack([np.cos(angle), np.sin(angle)]), np.stack([-np.sin(angle), np.cos(angle)])
    exact = ((on - SHEAR * out) / SPEED).T
    errors = []
    for accuracy in (1e-2, 1e-4):
        monkeypatch.setattr(response, "ACCURACY", accuracy)
        few = clock[1]._replace(nodes=clock[1].nodes[::4], times=np.arange(6) / 6)
        found = phase_response(clock[0], few, points=101)
        away = np.max(np.abs(found.values - exact)) / np.max(np.abs(exact))
        assert away <= found.error <= 200 * away  # of order 4 at least, so that half the step leaves a 16th
        errors.append(found.error)
    assert errors[0] > 1e-6


def test_an_unstable_orbit_has_the_response_of_its_reversed_flow(clock):
    flow, orbit = clock
    back = FunctionFlow(lambda t, x: -sheared(t, x))
    turned = orbit._replace(nodes=orbit.nodes[np.append(0, np.arange(23, 0, -1))], stability="unstable",
                            multipliers=1 / orbit.multipliers)  # fmt: skip
    there, here = phase_response(back, turned, points=41), phase_response(flow, orbit, points=41)
    assert np.allclose(there.values, -here.values[::-1], atol=1e-6)


def test_asymptotic_phases_are_those_of_spirals(clock):
    late = -2 * np.pi * 1e-10  # a phase of nearly 1 is 0
    states = np.array([[0.3, 0.4], [-2.0, 1.0], [0.0, -0.01], [1.03, 0.02], [np.cos(late), np.sin(late)], [0.0, 0.0]])
    found = asymptotic_phase(*clock, states)
    assert apart(found[:5], phase_of(states[:5])) < 1e-7
    assert found[4] == 0.0
    assert np.isnan(found[5])  # the unstable equilibrium has none


def test_what_comes_back_from_outside_of_the_window_is_left_out_of_an_isochron():
    """A gap to a point outside is filled as well."""
    lines = _IsochronLines.__new__(_IsochronLines)
    lines.middle, lines.widths = np.zeros(2), np.ones(2)
    places = np.array([[0.0, 0.0], [0.01, 0.0], [0.5, 0.0], [np.nan, 0.0], [0.5, 0.0], [0.0, 0.0]])
    half = _Half(0.0, 1.0, 4.0 * np.arange(6), places)
    assert half.gaps(lines).tolist() == [5.0, 6.0, 7.0, 9.0, 10.0, 11.0]
    assert half.finite().tolist() == places[:3].tolist()


def test_isochrons_are_spirals_up_to_the_edges_of_the_window(clock):
    found = isochrons(*clock, [-2, 2, -2, 2], count=2)
    for phase, curve in zip(found.phases, found.curves, strict=True):
        assert apart(phase_of(curve), phase) < 1e-6
        radius = np.hypot(*curve.T)
        assert np.min(radius) < 0.02
        assert np.min(np.linalg.norm(np.diff(curve, axis=0), axis=1)) > 0
        assert np.max(np.abs(curve)) > 2
        steps = np.linalg.norm(np.diff(curve[np.max(np.abs(curve), axis=1) < 2], axis=0), axis=1)
        assert np.max(steps) < 0.1
    assert len(table(found)["phase"]) == sum(map(len, found.curves))
    assert str(found) == f"2 isochrons of {sum(map(len, found.curves))} points"


def test_kicks_that_are_simulated_advance_as_the_adjoint_says():
    """Morris-Lecar beside its saddle-node on a cycle: type I."""

    def morris_lecar(t, s, current=41.0):
        v, w = s
        m, rest = (1 + jnp.tanh((v + 1.2) / 18)) / 2, (1 + jnp.tanh((v - 12) / 17.4)) / 2
        rate = jnp.cosh((v - 12) / 34.8) / 15
        return jnp.stack([(current - 2 * (v + 60) - 4 * m * (v - 120) - 8 * w * (v + 84)) / 20, rate * (rest - w)])

    flow = FunctionFlow(morris_lecar, names=("V", "w"))
    orbit = periodic_orbit(flow, [0.0, 0.1], 120.0, method="collocation")
    found = phase_response(flow, orbit, points=101)
    places, kick = [10, 50], np.array([1e-3, 0.0])
    states = found.states[places]
    later, before = (asymptotic_phase(flow, orbit, states + sign * kick) for sign in (1, -1))
    advance = (((later - before) + 0.5) % 1 - 0.5) * found.period / 2e-3
    assert np.allclose(advance, found.values[places, 0], rtol=1e-3, atol=1e-4)
    assert (found.kinds[0], found.period > 100) == ("I", True)
    assert f"{found}".startswith("phase response of an orbit of period")


def test_a_clock_locks_in_adlers_tongue(clock):
    found = locking_range(*clock, wave)
    width = np.hypot(1, SHEAR) / (2 * SPEED)  # half of the amplitude of the response
    assert found.tongue(0.1) == pytest.approx((SPEED * (1 - 0.1 * width), SPEED * (1 + 0.1 * width)), rel=1e-7)
    assert locking_range(*clock, wave, ratio=(2, 1)).tongue(1.0) == pytest.approx((2 * SPEED, 2 * SPEED), rel=1e-7)
    half = locking_range(*clock, lambda s: wave(2 * s), ratio=(1, 2))  # the second harmonic acts
    assert half.tongue(0.1) == pytest.approx([end / 2 for end in found.tongue(0.1)], rel=1e-7)


@pytest.mark.slow
def test_folds_of_forced_orbits_bound_the_tongue_of_the_average():
    def forced(t, x, omega=SPEED, strength=0.05):
        return sheared(t, x) + jnp.stack([strength * jnp.cos(omega * t), 0.0])

    flow, period = (
        FunctionFlow(forced, parameters={"omega": SPEED, "strength": 0.05}),
        lambda f: 2 * jnp.pi / f.parameters["omega"],
    )
    omega = Parameter(flow, "omega", 1.2, 1.4)
    orbit = periodic_orbit(flow, [0.0, -1.0], 2 * np.pi / SPEED, forced=True, segments=4)
    branch = continue_orbits(omega, orbit, forcing=period, steps=Steps(first=0.02))
    assert np.allclose(branch.states.period, 2 * np.pi / branch.parameters)
    folds = sorted(one.parameter for one in branch.bifurcations if one.kind == "fold")
    plain = FunctionFlow(sheared)
    average = locking_range(plain, periodic_orbit(plain, [1.0, 0.0], 4.8), wave)
    assert folds == pytest.approx(average.tongue(0.05), abs=2e-3)
    both = omega, Parameter(flow, "strength", 0.01, 0.1)
    fold = next(one for one in branch.bifurcations if one.kind == "fold")
    curve = critical_curve(both, fold, forcing=period, steps=Steps(first=0.02))
    low, high = np.array([average.tongue(float(e)) for e in curve.second]).T
    assert np.all(np.minimum(np.abs(curve.first - low), np.abs(curve.first - high)) < curve.second**2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda flow, orbit: phase_response(flow, orbit, points=3), "`points` must be at least 8"),
        (
            lambda flow, orbit: phase_response(FunctionFlow(lambda t, x: jnp.sin(t) - x), orbit),
            "`flow` must be autonom",
        ),
        (lambda flow, orbit: asymptotic_phase(flow, orbit, [1.0]), "`states` must have shape"),
        (
            lambda flow, orbit: asymptotic_phase(flow, orbit._replace(stability="saddle"), [[1.0, 0]]),
            "`orbit` must be st",
        ),
        (lambda flow, orbit: isochrons(flow, orbit, [0, 1]), "`box` must hold"),
        (lambda flow, orbit: isochrons(flow, orbit, [0, 1, 1, 1]), "`box` must hold"),
        (lambda flow, orbit: isochrons(flow, orbit, [1, 0, 0, 1]), "`box` must hold"),
        (lambda flow, orbit: locking_range(flow, orbit, lambda s: s), "`forcing` must return 2 numbers"),
        (lambda flow, orbit: locking_range(flow, orbit, lambda s: s, ratio=(1, 0)), "`ratio` must be at least 1"),
    ],
)
def test_bad_input_is_one_sentence(clock, call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call(*clock)


def test_a_response_is_of_the_second_type_if_its_smaller_side_is_a_tenth_of_the_larger_one():
    phases = np.linspace(0.0, 1.0, 21)
    wave = np.sin(2 * np.pi * phases)
    values = np.stack([wave, np.abs(wave) - 0.05, 2.0 + wave, np.minimum(wave, 0.15)], axis=1)
    found = PhaseResponse(phases, values, values, 4.0, 0.0, ("a", "b", "c", "d"), ("", "", "", ""), "s")
    assert found.kinds == ("II", "I", "I", "II")
    assert str(found).startswith("phase response of an orbit of period 4 s, with an error of 0: a -1 to 1 (type II), ")
    asked = np.array([-0.3, 0.13, 1.13, 7.7])
    np.testing.assert_allclose(found.at(asked)[:, 0], np.sin(2 * np.pi * asked), atol=1e-3)
    np.testing.assert_allclose(found.at(phases[:-1])[:, 3], values[:-1, 3], atol=1e-12)


def test_a_tongue_has_the_extremes_between_the_shifts_and_the_ratio_of_the_turns():
    shifts = np.linspace(0.0, 1.0, 17)
    values = 0.3 + 0.2 * np.cos(2 * np.pi * (shifts - 0.03))  # its extremes are between the shifts
    found = LockingRange(shifts, values, 6.0, (2, 3))
    low, high = 4 * (1 + 0.5 * 0.1), 4 * (1 + 0.5 * 0.5)  # the forcing turns twice in three turns of the oscillator
    assert found.tongue(0.5) == pytest.approx((low, high), rel=1e-4)
    assert found.tongue(0.0) == (4.0, 4.0)
    assert str(found).startswith("2:3 locking at frequencies 4 (1 +0.1")
    for strength in (-0.1, np.inf):
        with pytest.raises(ValueError, match="`strength` must be a finite number of at least 0"):
            found.tongue(strength)


def test_the_error_of_a_curve_is_relative_to_the_largest_value_of_each_component():
    mesh, fine = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 9)

    def curve(places, function):
        inner = function(gauss_points(places).ravel()).reshape(len(places) - 1, -1, 3)
        return places, function(places[:-1]), inner

    one = lambda t: np.stack([100 * t, t, 0 * t], axis=1)
    other = lambda t: np.stack([100 * t + 1, t + 0.25, 0 * t], axis=1)
    last = gauss_points(mesh)[-1, -1]  # where both are largest
    assert _difference(curve(mesh, one), curve(fine, other)) == pytest.approx(0.25 / (last + 0.25))
    assert _difference(curve(mesh, one), curve(fine, one)) == pytest.approx(0.0, abs=1e-12)


def half(points, times=None):
    rows = np.asarray(points, float)
    return _Half(0.0, 1.0, np.arange(float(len(rows))) if times is None else np.asarray(times), rows)


WINDOW: Any = object.__new__(_IsochronLines)
WINDOW.middle, WINDOW.widths = np.array([1.0, 0.0]), np.array([2.0, 4.0])


def test_points_of_an_isochron_are_added_where_they_are_far_apart_in_the_window():
    """Gaps count relative to the window, between points of which one is near it, up to the first that is outside."""
    step = 3 * APART  # of the width
    rows = [[0.0, 0.0], [0.0, 0.0], [2 * step, 0.0], [2 * step, 1e-3], [9.0, 0.0], [9.0, 8.0]]
    one = half(rows, [0.0, 1.0, 2.0, 3.0, 5.0, 6.0])
    assert one.gaps(WINDOW).tolist() == [1.25, 1.5, 1.75, 3.5, 4.0, 4.5]
    across = half([[0.0, 0.0], [0.0, 4 * 0.9 * APART], [0.0, 4 * 2.1 * APART]])
    assert across.gaps(WINDOW).tolist() == [1.25, 1.5, 1.75]
    ends = half([[0.0, 0.0], [1e-3, 0.0], [np.nan, np.nan], [0.0, 0.0], [2 * step, 0.0]])
    assert ends.gaps(WINDOW).tolist() == [1.25, 1.5, 1.75]
    np.testing.assert_array_equal(ends.finite(), ends.points[:2])
    np.testing.assert_array_equal(one.finite(), one.points)


def test_points_of_an_isochron_are_followed_from_beside_the_orbit_until_they_leave_the_window(clock):
    """Times are in periods: after a quarter of one a point has gone backwards from the phase that it will have."""
    one = _IsochronLines(Oscillator(*clock), np.array([[-2.0, 2.0], [-1.0, 3.0]]), 1.0)
    assert (one.middle.tolist(), one.widths.tolist()) == ([0.0, 1.0], [4.0, 4.0])
    np.testing.assert_allclose([one.orbit.middle, one.orbit.ranges], [[0.0, 0.0], [2.0, 2.0]], atol=1e-3)
    phases, times, sides = np.array([0.1, 0.1, 0.6]), np.array([0.0, 0.25, 0.25]), np.array([1.0, 1.0, -1.0])
    found = one._points(phases, times, sides)
    assert apart(phase_of(found), phases) < 1e-6
    far = np.hypot(*found.T) - 1
    assert far[0] == pytest.approx(-2 * STRAIGHT / np.hypot(1, SHEAR), rel=0.01)  # across the response, of ranges of 2
    rate = np.exp(0.25 * 2 * 2 * np.pi / SPEED)
    assert far[1:] == pytest.approx([rate * far[0], -rate * far[0]], rel=0.05)
    late = one._points(np.array([0.1, 0.1]), np.array([0.0, 3.0]), np.array([-1.0, -1.0]))
    assert np.isfinite(late).all(axis=1).tolist() == [True, False]


def test_an_isochron_goes_on_until_it_leaves_or_ends_at_a_point():
    line = np.stack([np.linspace(0, 1, 40), np.zeros(40)], axis=1)
    assert half(line).goes_on(WINDOW)
    resting = np.vstack([line, np.tile(line[-1], (POINTS, 1))])
    assert not half(resting).goes_on(WINDOW)
    assert half(resting[:-2]).goes_on(WINDOW)  # the first of the last moves still counts
    assert half(np.tile(line[:1], (POINTS, 1))).goes_on(WINDOW)  # near the orbit it is slow
    assert not half(np.vstack([line, [[np.nan, 0.0]]])).goes_on(WINDOW)
    slow = np.vstack([line, line[-1] + np.outer(np.arange(1, POINTS + 1), [2 * 0.9 * APART / 100, 0.0])])
    assert not half(slow).goes_on(WINDOW)
    fast = np.vstack([line, line[-1] + np.outer(np.arange(1, POINTS + 1), [2 * 1.1 * APART / 100, 0.0])])
    assert half(fast).goes_on(WINDOW)

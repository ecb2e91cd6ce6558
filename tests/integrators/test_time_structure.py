"""Pulses of a right-hand side: found in its program, by every solver, or seen by the error estimate."""

import math

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.integrators.scipy_backend import smooth_spans
from dynsim.integrators.time_structure import breakpoints, confirming, longest_step, uses_time
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.rescaled import RescaledFlow

TS = np.linspace(0.0, 200.0, 5)
BUMP = np.array([[0.0, 40.0, 40.5, 41.0, 200.0], [0.0, 0.0, 5.0, 0.0, 0.0]])


def pulsed(t, x, start, width):
    return (5 * jnp.where((t >= start) & (t < start + width), 1.0, 0.0) - x) / 10


PULSED = FunctionFlow(pulsed, parameters={"start": 40.0, "width": 1.0})
PLAIN = FunctionFlow(lambda t, x: (5.0 * np.array([40 <= t < 41], float) - np.asarray(x)) / 10)
AFTER = 5 * (1 - np.exp(-0.1)) * np.exp(-0.9)  # at t = 50


@pytest.mark.parametrize(
    "integrator",
    [Scipy(), Scipy("Radau", 1e-9, 1e-11), pytest.param(Diffrax(dfx.Dopri5()), marks=pytest.mark.slow)],
    ids=["DOP853", "Radau", "diffrax"],
)
def test_a_pulse_is_not_stepped_over(integrator):
    run = simulate(PULSED, [0.0], TS, integrator=integrator)
    np.testing.assert_allclose(run.ys[1, 0], AFTER, rtol=1e-7)


def test_a_parameter_and_a_unit_of_time_move_the_pulse():
    y0 = np.zeros(1)
    moved = FunctionFlow(pulsed, parameters={"start": 20.0, "width": 0.5})
    np.testing.assert_array_equal(breakpoints(PULSED, y0, 0.0, 200.0), [40.0, 41.0])
    np.testing.assert_array_equal(breakpoints(moved, y0, 0.0, 200.0), [20.0, 20.5])
    np.testing.assert_allclose(breakpoints(RescaledFlow(PULSED, time=2.0), y0, 0.0, 20.4), [20.0])
    declared = FunctionFlow(pulsed, breaks=(7.0,), parameters=PULSED.parameters)
    np.testing.assert_array_equal(breakpoints(declared, y0, 0.0, 200.0), [7.0, 40.0, 41.0])


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_a_smooth_pulse_far_shorter_than_the_run_is_not_stepped_over(method):
    flow = FunctionFlow(lambda t, x: -x + jnp.exp(-(((t - 40) / 1e-4) ** 2)))
    final = simulate(flow, [0.0], [0.0, 41.0], integrator=Scipy(method, 1e-7, 1e-11)).final
    np.testing.assert_allclose(final, [1e-4 * np.sqrt(np.pi) * np.exp(-1)], rtol=1e-5)


@pytest.mark.parametrize("module", [jnp, np])
def test_short_pulses_of_a_curved_function_of_time_are_not_stepped_over(module):
    """The integral of sin(t)^2000 over a period is sqrt(2 pi / 2000) (1 - 1 / 8000), twice, up to 1e-8."""
    flow = FunctionFlow(lambda t, x: module.sin(t) ** 2000 + 0.0 * x)
    run = simulate(flow, [0.0], [0.0, 40 * np.pi], integrator=Scipy("RK45", 1e-7, 1e-11))
    np.testing.assert_allclose(run.final, [40 * np.sqrt(2 * np.pi / 2000) * (1 - 1 / 8000)], rtol=5e-5)


def test_a_pulse_of_a_function_in_numpy_is_not_stepped_over():
    run = simulate(PLAIN, [0.0], TS, integrator=Scipy("RK23", 1e-5, 1e-7))
    np.testing.assert_allclose(run.ys[1, 0], AFTER, rtol=1e-4)


def test_a_pulse_that_only_some_states_meet_shows_in_the_error_estimate():
    def kicked(t, x):
        return [0.01 + (5.0 if x[0] > 0.2 and 40 <= t < 41 else 0.0)]

    run = simulate(FunctionFlow(kicked), [0.0], TS, integrator=Scipy("RK23", 1e-5, 1e-7), error_estimate=True)
    assert float(run.ys[-1, 0]) == pytest.approx(2.0, rel=1e-6)  # stepped over
    assert run.stats.max_error == pytest.approx(5.0, rel=0.02)
    declared = FunctionFlow(kicked, breaks=(40.0, 41.0))
    np.testing.assert_allclose(simulate(declared, [0.0], TS, integrator=Scipy()).ys[-1, 0], 7.0, rtol=1e-9)


def branching(t, x):
    return [(5.0 if 50 < t < 50.001 else 0.0) - float(x[0])]


def in_place(t, x, on, width):
    dx = np.zeros(1)
    dx[0] = (5.0 if on <= t < on + width else 0.0) - x[0]
    return dx


STARTS = np.array([10.0, 20.0, 31.0])
HIDDEN = [np.arcsin(0.99), np.pi - np.arcsin(0.99)]
IN_NUMPY = {
    "a branch": (branching, {}, [50, 50.001]),
    "parameters": (in_place, {"on": 33.3, "width": 0.001}, [33.3, 33.3 + 0.001]),
    "a train": (lambda t, x: [5.0 * (t % 20 < 0.5) - float(x[0])], {}, [0.5, 20, 20.5, 40, 40.5]),
    "whole turns": (lambda t, x: [5.0 * ((t - 3) // 7 % 2 == 0) - float(x[0])], {}, 3 + 7 * np.arange(9)),
    "a table": (lambda t, x: np.interp(t / 5, [0, 1, 1.002, 1.004], [0, 0, 5, 0]) - np.asarray(x), {}, [5, 5.01, 5.02]),
    "the first knot": (lambda t, x: np.interp(t, [3, 3.001, 3.002], [2, 5, 2]) - np.asarray(x), {}, [3, 3.001, 3.002]),
    "an index": (lambda t, x: [(0.0, 3.0, 1.0)[int(t / 30)] - float(x[0])], {}, [30]),
    "many starts": (
        lambda t, x: np.any((t >= STARTS) & (t < STARTS + 0.5)) * 5.0 - np.asarray(x), {},
        [10, 10.5, 20, 20.5, 31, 31.5],
    ),
    "many rates": (
        lambda t, x: np.any(~(t * np.array([1.0, 2.0]) < 30.0)) * 5.0 - np.asarray(x), {}, [15, 30]
    ),
    "a corner": (lambda t, x: [max(0.0, 1 - abs(t - 7.5)) - float(x[0])], {}, [6.5, 7.5, 8.5]),
    "pieces": (lambda t, x: np.where((t > 3) & (t < 4), np.sin(t), 0.0) - np.asarray(x), {}, [3, 4]),
    "the time in a piece": (lambda t, x: np.where(t > 13.3, t, 2.0) - np.asarray(x), {}, [13.3]),
    "a clipped time": (lambda t, x: np.clip(t, 10.0, 20.0) - np.asarray(x), {}, [10, 20]),
    "tenths": (lambda t, x: [round(t / 40, 1) - float(x[0])], {}, 2 + 4 * np.arange(15)),
    "hidden in a wave": (
        lambda t, x: [0.1 * math.sin(t) + (1.0 if math.exp(t) > 1e9 else 0.0) - float(x[0])], {}, [9 * np.log(10)]
    ),
    "a hidden beginning": (lambda t, x: [max(0.0, math.sqrt(t) - 5) - float(x[0])], {}, [25]),
    "a hidden end": (lambda t, x: [min(math.sqrt(t), 5.0) - float(x[0])], {}, [25]),
    "hidden": (
        lambda t, x: [(5.0 if math.sin(t / 10) > 0.99 else 0.1 * t) - float(x[0])], {}, 10 * np.array(HIDDEN)
    ),
    "hidden in one piece": (
        lambda t, x: [(5.0 if t < 30 and math.sin(t / 10) > 0.99 else 0.0) - float(x[0])], {},
        [*10 * np.array(HIDDEN), 30],
    ),
    "smooth": (lambda t, x: [math.cos(t) + np.sin(t) - float(x[0])], {}, []),
}  # fmt: skip


def test_whole_parts_of_negative_numbers_are_those_of_python():
    rhs = lambda t, x: [(1.0 if int((t - 30) / 20) == 0 and t >= 25 else 0.0) - float(x[0])]
    found = breakpoints(FunctionFlow(rhs), np.zeros(1), 0.0, 60.0)
    assert {25.0, 50.0} <= set(found.tolist())


@pytest.mark.parametrize("name", IN_NUMPY)
def test_switches_of_a_function_in_numpy_are_found(name):
    rhs, parameters, expected = IN_NUMPY[name]
    found = breakpoints(FunctionFlow(rhs, parameters=parameters), np.zeros(1), 0.0, 60.0)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_knots_of_a_table_are_breakpoints_for_every_solver():
    table = FunctionFlow(lambda t, x: (jnp.interp(t, *BUMP) - x) / 10)
    for integrator in (Scipy(), Diffrax(dfx.Dopri5())):
        run = simulate(table, [0.0], TS, integrator=integrator)
        np.testing.assert_allclose(run.ys[1, 0], run.ys[2, 0] * np.exp(5.0), rtol=1e-7)
        assert float(run.ys[1, 0]) == pytest.approx(2.5 * 0.1 * np.exp(-0.95), rel=1e-3)


def test_only_fields_that_may_depend_on_time_are_confirmed_with_short_steps():
    longest = lambda flow, n: confirming(Scipy(), [flow], np.ones(n), TS).longest_step
    assert longest(Lorenz(), 3) is None
    assert longest(PULSED, 1) == longest(PLAIN, 1) == pytest.approx(200 / 1009)
    late = confirming(Scipy(longest_step=0.3), [PULSED], np.ones(1), TS + 100).longest_step
    assert late == pytest.approx(200 / 1009)
    assert [uses_time(flow, np.ones(n)) for flow, n in ((Lorenz(), 3), (PULSED, 1), (PLAIN, 1))] == [False, True, None]


def test_without_breakpoints_steps_are_half_the_shortest_time_between_jumps_or_the_limit_of_the_flow():
    pulse = lambda start, width, **given: FunctionFlow(pulsed, parameters={"start": start, "width": width}, **given)
    longest = lambda flow: longest_step(flow, np.zeros(1))
    assert longest(pulse(40.0, 1.0)) == 0.5
    assert longest(pulse(700.0, 2000.0)) == 150.0  # the end of what is looked at is 1000
    assert longest(pulse(40.0, 1.0, fastest_period=0.2)) == 0.1
    assert longest(pulse(40.0, 1.0, fastest_period=7.0)) == 0.5
    assert longest(pulse(-5.0, 1.0)) == np.inf
    assert longest(pulse(40.0, 1e-9)) == 0.01
    assert longest(FunctionFlow(lambda t, x: -x, fastest_period=3.0)) == 1.5


@pytest.mark.parametrize("module", [jnp, np])
def test_the_jumps_of_a_fast_clock_are_not_counted_for_a_thousand_units_of_time(module):
    """The ramp of a circuit that switches every 400 microseconds, in seconds (Fossas and Olivar, 1996)."""

    def ramp(t, x):
        return module.asarray([float(np.asarray(x)[0]) * 0 + t % 4e-4]) if module is np else jnp.stack([t % 4e-4])

    assert longest_step(FunctionFlow(ramp), np.zeros(1)) == pytest.approx(2e-4)


def test_the_tolerance_that_hides_components_is_named():
    """The second component is 1e-14 at first, and grows from it to leave every bound at t = 1."""
    blow = FunctionFlow(lambda t, x: jnp.stack([-x[0], x[1] ** 2 / 1e-14]))
    with pytest.raises(RuntimeError, match=r"x_2 is near the absolute tolerance, 1e-13, .* such as 1e-26"):
        simulate(blow, [1.0, 1e-14], [0.0, 2.0], integrator=Scipy())
    with pytest.raises(RuntimeError, match=r"x_2 is near the absolute tolerance, 1e-13, "):
        simulate_until(blow, [1.0, 1e-14], [0.0, 2.0], [Event(lambda t, x: x[0] - 5.0)], integrator=Scipy())


def test_a_function_in_numpy_jumps_at_the_float_at_which_its_comparison_changes():
    pulse = lambda t: t % 1.7 < 0.01
    found = breakpoints(FunctionFlow(lambda t, x: [5.0 * pulse(t) - float(x[0])]), np.zeros(1), 0.0, 100.0)
    assert len(found) == 2 * 58 + 1
    np.testing.assert_array_equal(pulse(found), pulse(found + 1e-6))
    np.testing.assert_array_equal(pulse(np.nextafter(found, -np.inf)), pulse(found - 1e-6))


def test_too_many_jumps_of_a_function_in_numpy_are_refused(monkeypatch):
    monkeypatch.setattr("dynsim.integrators.numpy_switches.MOST", 10)
    with pytest.raises(ValueError, match="Argument `ts` must contain at most 10 jumps of the field in time"):
        breakpoints(FunctionFlow(lambda t, x: [float(t % 1 < 0.5) - float(x[0])]), np.zeros(1), 0.0, 200.0)


@pytest.mark.parametrize("method", ["Radau", "DOP853"])
def test_breakpoints_that_differ_by_rounding_are_one(method):
    """A sign that is zero at one float jumps before it and after it, also at the start and at the end."""
    wave = FunctionFlow(lambda t, x: jnp.sign(jnp.sin(jnp.pi * t)) + 0 * x)
    path = simulate(wave, [0.0], [0.0, 0.5, 1.5, 2.0], integrator=Scipy(method, rtol=1e-9, atol=1e-11))
    np.testing.assert_allclose(path.ys[:, 0], [0.0, 0.5, 0.5, 0.0], atol=1e-9)
    assert int(path.stats.num_steps) < 30  # the first stage is on the right side of the jump
    once = FunctionFlow(lambda t, x: jnp.sign(t - 1) + 0 * x)
    for ts, ends in (([0.0, 1.0], 4.0), ([1.0, 2.0], 6.0), ([0.5, np.nextafter(1.0, 2)], 4.5), ([0.0, 2.0], 5.0)):
        path = simulate(once, [5.0], ts, integrator=Scipy(method, rtol=1e-9, atol=1e-11))
        np.testing.assert_allclose(path.final[0], ends, atol=1e-9)


def test_spans_begin_and_end_at_jumps():
    ulp = np.spacing(1.0)
    jumps = np.array([5e-324, 1.0, 1.0 + ulp, 2.0, 3.0 - 4 * ulp])
    beyond = np.nextafter(1.0 + ulp, 2)
    assert smooth_spans(0.0, 3.0, jumps) == [
        (0.0, 1.0 + ulp, 1e-323, np.nextafter(1.0, 0)),
        (1.0 + ulp, 2.0, beyond, np.nextafter(2.0, 0)),
        (2.0, 3.0, np.nextafter(2.0, 3), np.nextafter(3.0 - 4 * ulp, 0)),
    ]
    assert smooth_spans(0.0, 3.0, np.empty(0)) == [(0.0, 3.0, 0.0, 3.0)]
    assert smooth_spans(1.0, 1.0, np.empty(0)) == []
    assert smooth_spans(0.0, 1e9, np.array([1e-6, 2e-6]))[1][:2] == (1e-6, 2e-6)

"""Pulses of a right-hand side: found in its program, by every solver, or seen by the error estimate."""

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Scipy
from dynsim.integrators.time_structure import breakpoints, confirming, uses_time
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.rescaled import RescaledFlow

TS = np.linspace(0.0, 200.0, 5)


def pulsed(t, x, start, width):
    return (5 * jnp.where((t >= start) & (t < start + width), 1.0, 0.0) - x) / 10


PULSED = FunctionFlow(pulsed, parameters={"start": 40.0, "width": 1.0})
PLAIN = FunctionFlow(lambda t, x: (5.0 * np.array([40 <= t < 41], float) - np.asarray(x)) / 10)
AFTER = 5 * (1 - np.exp(-0.1)) * np.exp(-0.9)  # at t = 50


@pytest.mark.parametrize(
    "integrator", [Scipy(), Scipy("Radau", 1e-9, 1e-11), Diffrax(dfx.Dopri5())], ids=["DOP853", "Radau", "diffrax"]
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


def test_a_pulse_of_a_function_that_cannot_be_traced_shows_in_the_error_estimate():
    run = simulate(PLAIN, [0.0], TS, integrator=Scipy("RK23", 1e-5, 1e-7), error_estimate=True)
    assert float(jnp.max(jnp.abs(run.ys))) < 1e-9  # stepped over
    assert run.stats.max_error == pytest.approx(AFTER, rel=0.02)
    declared = FunctionFlow(PLAIN.rhs, breaks=(40.0, 41.0))
    np.testing.assert_allclose(simulate(declared, [0.0], TS, integrator=Scipy()).ys[1, 0], AFTER, rtol=1e-9)


def test_only_fields_that_may_depend_on_time_are_confirmed_with_short_steps():
    longest = lambda flow, n: confirming(Scipy(), flow, np.ones(n), TS).longest_step
    assert longest(Lorenz(), 3) is None
    assert longest(PULSED, 1) == longest(PLAIN, 1) == pytest.approx(200 / 1009)
    assert [uses_time(flow, np.ones(n)) for flow, n in ((Lorenz(), 3), (PULSED, 1), (PLAIN, 1))] == [False, True, None]


def test_the_tolerance_that_hides_components_is_named():
    """The second component is 1e-14 at first, and grows from it to leave every bound at t = 1."""
    blow = FunctionFlow(lambda t, x: jnp.stack([-x[0], x[1] ** 2 / 1e-14]))
    with pytest.raises(RuntimeError, match=r"x_2 is near the absolute tolerance, 1e-13, .* such as 1e-26"):
        simulate(blow, [1.0, 1e-14], [0.0, 2.0], integrator=Scipy())

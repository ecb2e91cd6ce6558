"""Parts of the integration by SciPy: dense output, tolerances, and why a solver stops, each with exact numbers."""

import functools
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from dynsim.errors import Outcome
from dynsim.integrators import Scipy, dop853, scipy_backend
from dynsim.integrators.scipy_backend import AT_PLACE, NODES, PLACE, PathOutput, StepOutput, _Walk


def walk(integrator=Scipy(), **parts) -> Any:
    """Make a walk along a field, of which only some parts are needed."""
    return _Walk(**{"integrator": integrator, "flow": None, "field": None, "unravel": None, "events": ()} | parts)


@pytest.mark.parametrize("power", range(9))
def test_the_dense_output_is_checked_by_the_polynomial_through_its_nodes(power):
    exact = PLACE**power, power * PLACE ** max(power - 1, 0)
    np.testing.assert_allclose([row @ NODES**power for row in AT_PLACE], exact, atol=1e-12)


class Line(StepOutput):
    """A step with states that are proportional to the time."""

    def __init__(self, end, factor):
        self.ends, self.factor = (0.0, end), factor

    def __call__(self, ts):
        """Return the states."""
        return self.factor * ts[:, None]


def test_a_time_belongs_to_the_step_that_ends_at_it_or_after_it():
    path = PathOutput(0.0, np.array([7.0]), [Line(1.0, 10.0), Line(3.0, 100.0)])
    found = path(np.array([2.0, 0.5, -1.0, 0.0, 2.0, 1.0, 3.0, 3.5, 0.5]))[:, 0]
    np.testing.assert_array_equal(found, [200.0, 5.0, 7.0, 7.0, 200.0, 10.0, 300.0, np.nan, 5.0])


def test_tolerances_are_at_least_the_rounding_errors_of_float32():
    single: Any = SimpleNamespace(on_host=lambda y: y.astype(np.float32))
    least = 8 * float(np.finfo(np.float32).eps)
    y = np.array([1e-3, -2e-3])
    assert walk(unravel=single).tolerances(y) == pytest.approx({"rtol": least, "atol": least * 2e-3}, rel=1e-12)
    coarse = Scipy(rtol=1e-3, atol=1e-2)
    assert walk(coarse, unravel=single).tolerances(y) == {"rtol": 1e-3, "atol": 1e-2}


@pytest.mark.parametrize(
    ("y", "status", "left", "outcome"),
    [
        ([1.0, 2.0], "running", 1, Outcome.FINISHED),
        ([1e200, 1e200], "running", 1, Outcome.FINISHED),  # their squares overflow
        ([1.0, np.nan], "running", 1, Outcome.NON_FINITE),
        ([1.0, 2.0], "running", 0, Outcome.MAX_STEPS),
        ([1.0, 2.0], "finished", 0, Outcome.FINISHED),
        ([1.0, 2.0], "failed", 1, Outcome.NON_FINITE),
        ([3.0, 2.0], "failed", 1, Outcome.STEP_UNDERFLOW),
    ],
)
def test_why_a_solver_stops(y, status, left, outcome):
    """The field has an infinite component after t = 5 where x < 2."""
    field = lambda t, x: np.array([0.0, np.inf if t > 5 and x[0] < 2 else 0.0])
    solver = SimpleNamespace(t=5.0, y=np.array(y), status=status)
    with np.errstate(over="ignore"):
        assert walk(field=field).outcome(solver, left) is outcome


@pytest.mark.parametrize(("rtol", "atol", "value"), [(1e-6, 1e-9, 2.0), (1e-9, 1e-6, 2.0), (1e-4, 1e-9, -50.0)])
def test_a_dense_output_solves_the_equation_up_to_some_tolerances_over_a_step(rtol, atol, value):
    """The output is constant, and the field asks for a change over the step of 0.5."""
    most = scipy_backend.MISS * (atol + rtol * abs(value))
    steps = []
    for change in (0.99 * most, 1.01 * most, -0.99 * most, -1.01 * most):
        field = lambda t, x, change=change: np.full(2, change / 0.5) * ([1.0, 0.0] if t == 1.15 else [9.0, 9.0])
        start = functools.partial(dict, rtol=rtol, atol=atol)
        nodes = np.full((2, scipy_backend.AT_PLACE.shape[-1]), value)
        step = object.__new__(StepOutput)
        vars(step).update(ends=(1.0, 1.5), start=start, nodes=nodes, solver=SimpleNamespace(fun=field))
        steps.append(step)
    scipy_backend.confirm(steps)
    assert [step.known for step in steps] == [True, False, True, False]


def test_the_method_of_order_eight_is_that_of_scipy():
    theirs = scipy.integrate.DOP853
    np.testing.assert_array_equal(dop853.A[:12, :12], theirs.A)
    np.testing.assert_array_equal(dop853.A[12, :12], theirs.B)
    np.testing.assert_array_equal(dop853.A[13:], theirs.A_EXTRA)
    np.testing.assert_array_equal(dop853.C, [*theirs.C, 1.0, *theirs.C_EXTRA])
    np.testing.assert_array_equal(dop853.DENSE[3:], theirs.D)
    np.testing.assert_array_equal([dop853.THIRD, dop853.FIFTH], [theirs.E3, theirs.E5])


def test_errors_of_steps_count_in_tolerances_and_steps_grow_and_shrink_within_bounds():
    K = jnp.asarray(np.random.default_rng(0).normal(size=(13, 2)))
    error = lambda h, scale: float(dop853.step_error(K, jnp.asarray(h), jnp.asarray(scale)))
    one = error(0.1, np.ones(2))
    assert error(-0.2, np.full(2, 4.0)) == pytest.approx(one / 2, rel=1e-14)
    assert error(0.1, np.array([1.0, 1e9])) == pytest.approx(error(0.1, np.array([1.0, 1e12])), rel=1e-6)
    assert error(0.1, np.array([1.0, 1e9])) != pytest.approx(one, rel=1e-2)
    K = 0 * K
    assert error(0.1, np.ones(2)) == 0
    chosen = lambda *given: float(dop853.next_step(*map(jnp.asarray, (0.1, *given))))
    assert chosen(0.5, True, 0) == pytest.approx(0.09 * 0.5 ** (-1 / 8))
    assert chosen(0.0, True, 0) == pytest.approx(1.0)
    assert chosen(1e-3, True, 1) == pytest.approx(0.1)  # after a rejection
    assert chosen(1e9, False, 0) == chosen(np.nan, False, 0) == pytest.approx(0.02)

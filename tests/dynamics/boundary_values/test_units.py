"""Solutions of boundary value problems and their branches are the same in all units of states, places, parameters."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from analysis.dynamics.boundary_values.connecting import connecting_orbit
from analysis.dynamics.boundary_values.connection_curve import continue_connection
from analysis.dynamics.boundary_values.curve import continue_solutions, switch_solutions
from analysis.dynamics.boundary_values.problem import BoundaryValueProblem
from analysis.dynamics.continuation.steps import Steps
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

SMALL, LARGE = 2.0**-40, 2.0**40
# Units of both components, of the independent variable, and of the parameter.
UNITS = [(SMALL, LARGE, 1.0, 1.0), (LARGE, SMALL, SMALL, LARGE), (SMALL, SMALL, LARGE, SMALL)]


def scaled(field, units, value, unknowns=()):
    """Build a flow of the components (u, v), whose states, times and parameter p are multiples of units."""
    *sizes, length, unit = units
    sizes = np.array(sizes)

    def moved(x, s, p=1.0, a=0.0):
        return sizes / length * field(x / length, s / sizes, p / unit, a / unit)

    parameters = {"p": value * unit, **{name: one * unit for name, one in unknowns}}
    return FunctionFlow(moved, names=("u", "v"), parameters=parameters)


def both_vanish(units):
    return lambda first, last, flow: jnp.stack([first[0], last[0]])


@pytest.mark.parametrize("units", [pytest.param(UNITS[0], marks=pytest.mark.slow), *UNITS[1:]])
def test_bratus_fold_does_not_depend_on_units(units):
    flow = scaled(lambda x, s, p, a: jnp.stack([s[1], -p * jnp.exp(s[0])]), units, 1.0)
    problem = BoundaryValueProblem(flow, both_vanish(units), (0.0, units[2]))
    found = problem.solve(jnp.zeros(2))
    assert found.at(units[2] / 2)[0, 0] / units[0] == pytest.approx(0.1405392144, abs=1e-9)
    size = Parameter(flow, "p", 0.5 * units[3], 4.0 * units[3])
    watched = Steps(first=0.2, points=30, marks={"slope": lambda at, p: at.states[0, 1] / units[1] - 3 * np.tanh(0.75)})
    branch = continue_solutions(problem, size, found, steps=watched)
    (fold,) = branch.bifurcations
    assert fold.kind == "fold"
    assert fold.parameter / units[3] == pytest.approx(3.513830719125, abs=1e-8)
    assert np.max(fold.state.states, axis=0) / units[:2] == pytest.approx([1.1868, 4.0], abs=1e-3)
    (mark,) = branch.marks  # of the exact solution with theta = 3, whose slope is theta tanh(theta / 4)
    assert mark.state.states[-1, 1] / units[1] == pytest.approx(-3 * np.tanh(0.75), abs=1e-8)
    assert mark.parameter / units[3] == pytest.approx((3 / np.cosh(0.75)) ** 2 / 2, abs=1e-7)
    assert branch.ends[0] == "bounds"
    assert branch.states.x[0, -1] == units[2]


@pytest.mark.parametrize("units", [pytest.param(UNITS[1], marks=pytest.mark.slow), UNITS[2]])
def test_a_beam_buckles_at_the_same_loads_in_all_units(units):
    """Both components are zero on the first branch, so that only the flow knows their sizes."""
    flow = scaled(lambda x, s, p, a: jnp.stack([s[1], -p * jnp.sin(s[0])]), units, 8.0)
    problem = BoundaryValueProblem(flow, both_vanish(units), (0.0, units[2]))
    load = Parameter(flow, "p", 8.0 * units[3], 12.0 * units[3])
    straight = continue_solutions(problem, load, problem.solve(jnp.zeros(2)), steps=Steps(first=1.0))
    (point,) = straight.bifurcations
    assert point.parameter / units[3] == pytest.approx(np.pi**2, abs=1e-7)
    ways = switch_solutions(problem, load, point, steps=Steps(first=0.5))
    assert len(ways) == 2
    for way in ways:
        tops = np.max(np.abs(way.states.states[..., 0]), axis=1) / units[0]
        exact = (2 * scipy.special.ellipk(np.sin(tops / 2) ** 2)) ** 2
        assert np.allclose(exact, way.parameters / units[3], rtol=1e-4)
        assert np.max(tops) > 1


@pytest.mark.parametrize("units", UNITS[2:])
def test_an_unknown_parameter_has_any_units(units):
    """Mathieu's characteristic value of a linear problem, whose solution has the size that a condition gives it."""
    flow = scaled(lambda x, s, p, a: jnp.stack([s[1], -(a - 2 * p * jnp.cos(2 * x)) * s[0]]), units, 5.0, [("a", 15.0)])
    ends = lambda first, last, flow: jnp.stack([first[1], last[1], first[0] - units[0]])
    problem = BoundaryValueProblem(flow, ends, (0.0, np.pi * units[2]), unknowns=("a",))
    guess = lambda x: [units[0] * np.cos(4 * x / units[2]), -4 * units[1] * np.sin(4 * x / units[2])]
    found = problem.solve(guess)
    assert found.unknowns["a"] / units[3] == pytest.approx(scipy.special.mathieu_a(4, 5.0), abs=1e-8)
    branch = continue_solutions(
        problem, Parameter(flow, "p", 4.0 * units[3], 6.0 * units[3]), found, steps=Steps(first=0.5, largest=1.0)
    )
    exact = [scipy.special.mathieu_a(4, value / units[3]) for value in branch.parameters]
    assert np.allclose(branch.states.unknowns[:, 0] / units[3], exact, rtol=1e-7)


@pytest.mark.parametrize("size", [SMALL, 1e-3, LARGE])
def test_the_size_of_a_solution_may_follow_from_a_condition_alone(size):
    """The Jacobian of u' = -u + u^2 / 2^60 changes over sizes of 2^60 only, and the guess is 0."""
    flow = FunctionFlow(lambda x, s: -s + s**2 / 2.0**60)
    found = BoundaryValueProblem(flow, lambda first, last, flow: first - size, (0.0, 1.0)).solve(jnp.zeros(1))
    assert found.states[-1, 0] == pytest.approx(1 / ((1 / size - 2.0**-60) * np.e + 2.0**-60), rel=1e-8)


@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_places_have_their_unit_where_the_interval_begins_far_from_zero(length):
    """The solutions of u' = x - u in units of x are x - 1 + c exp(-x), here from x = 3 on."""
    flow = FunctionFlow(lambda x, s: (x / length - s) / length)
    interval = 3 * length, 5 * length
    found = BoundaryValueProblem(flow, lambda first, last, flow: first - 7.0, interval).solve(jnp.ones(1))
    x = np.asarray(found.x) / length
    assert (x[0], x[-1]) == pytest.approx((3.0, 5.0))
    np.testing.assert_allclose(found.states[:, 0], x - 1 + 5 * np.exp(3 - x), rtol=1e-7)


@pytest.mark.parametrize("units", UNITS[1:2])
def test_a_front_has_its_speed_in_all_units(units):
    """Nagumo's front from 0 to 1, whose speed is p = -(1 - 2 a) / sqrt 2."""
    field = lambda z, s, p, a: jnp.stack([s[1], -p * s[1] - s[0] * (1 - s[0]) * (s[0] - a)])
    flow = scaled(field, units, -0.3, [("a", 0.25)])
    speed, a = (Parameter(flow, name, low * units[3], units[3]) for name, low in (("p", -1.0), ("a", 0.2)))
    found = connecting_orbit(speed, [0.0, 0.0], [units[0], 0.0])
    assert found.kind == "heteroclinic"
    assert found.parameter / units[3] == pytest.approx(-0.5 / 2**0.5, abs=1e-8)
    assert np.max(found.eigenvalues[0].real) * units[2] == pytest.approx(0.5**0.5, abs=1e-8)
    u, v = (found.states / units[:2]).T
    assert np.allclose(v, u * (1 - u) / 2**0.5, atol=1e-6)
    curve = continue_connection((speed, a), found, steps=Steps(first=0.5, points=4))
    assert np.allclose(curve.first / units[3], -(1 - 2 * curve.second / units[3]) / 2**0.5, atol=1e-6)
    assert np.allclose(curve.states.states[:, -1] / units[:2], [1.0, 0.0], atol=1e-3)

"""Branches of periodic orbits are the same in all units of the state, of time and of the parameter."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.orbit_curve import Cycle, flat_sizes, moved_states, unit_of_eigenvalues
from analysis.dynamics.continuation.orbits import (
    _Forcing,
    continue_orbits,
    orbit_ranges,
    orbits_from_hopf,
    switch_orbits,
)
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.scaling.units import made_units
from dynsim.systems.base import FunctionFlow
from dynsim.systems.named import where
from dynsim.systems.parameter import Parameter
from tests.dynamics.continuation.test_curve_units import in_units
from tests.dynamics.continuation.test_orbits import Bautin
from tests.dynamics.normal_forms.test_orbits import Driven, Torus, across_torus, square_of

SIZES = np.array([1e-9, 1e3])


@pytest.mark.slow
def test_cycles_from_a_hopf_point_have_their_fold_and_its_coefficient():
    """Cycles at r^2 = 1 +- sqrt(1 + p) turn at p = -1, where p + 1 = 4 dr^2; all three nodes of them move by dr."""
    from analysis.dynamics.continuation.equilibria import continue_equilibria

    flow = in_units(Bautin(p=-0.5), SIZES, "p", rate=1e6, parameter=1e-9)
    take, bounds = where(flow, "p"), (-1.5e-9, 0.5e-9)
    (hopf,) = continue_equilibria(Parameter(flow, take, *bounds), jnp.zeros(2)).bifurcations
    found = orbits_from_hopf(Parameter(flow, take, *bounds), hopf, steps=Steps(largest=0.3), segments=3)
    (fold,) = found.bifurcations
    assert (fold.kind, fold.parameter) == ("fold", pytest.approx(-1e-9, rel=1e-6, abs=0))
    assert fold.coefficient == pytest.approx(4e-9 / (1.5 * np.sum(SIZES**2)), rel=1e-4)
    assert float(fold.state.period) == pytest.approx(2e-6 * np.pi, rel=1e-6)
    assert found.ends == ("Hopf point", "bounds")
    radii = np.sqrt(1 + np.sqrt(1 + found.parameters[-1] * 1e9))
    states = found.states._replace(nodes=found.states.nodes[-1:], period=found.states.period[-1:])
    last = found._replace(parameters=found.parameters[-1:], states=states)
    for component in (0, 1):
        assert orbit_ranges(Parameter(flow, take, *bounds), last, component)[0] == pytest.approx(
            SIZES[component] * radii * np.array([-1, 1]), rel=1e-5
        )


@pytest.mark.slow
def test_a_doubling_has_the_coefficient_of_the_floquet_vector_in_the_units_of_the_flow():
    """As in the units of the torus, where a turn multiplies u by -(1 + 2 pi q u^2), with the mean square of sizes."""
    sizes = np.array([1e-9, 1e3, 1e-3])
    flow = in_units(Torus(), sizes, "p", rate=1e6)
    at, take = np.array([np.cos(2.0), np.sin(2.0), 0.0]), where(flow, "p")
    own = periodic_orbit(Torus(), at, 2 * np.pi, segments=2)
    first = own._replace(state=own.state * sizes, nodes=own.nodes * sizes, period=1e-6 * own.period)
    found = continue_orbits(Parameter(flow, take, -0.05, 0.05), first)
    (point,) = found.bifurcations
    assert (point.kind, point.parameter) == ("period doubling", pytest.approx(0.0, abs=1e-7))
    node = np.asarray(point.state.nodes[0]) / sizes
    square = square_of(Torus(p=0.0), node, own.period, across_torus(node), -1.0, sizes)
    assert point.coefficient == pytest.approx(1e6 * 2 * np.pi * -0.3 / own.period / square, rel=1e-4)
    assert point.criticality == "supercritical"
    (doubled,) = switch_orbits(Parameter(flow, take, -0.05, 0.05), point, steps=Steps(points=3))
    assert doubled.states.period[-1] == pytest.approx(4e-6 * np.pi, rel=0.1)


@pytest.mark.slow
def test_forced_orbits_have_the_period_of_the_forcing_in_its_unit():
    flow = in_units(Driven(), [1e-9, 1e-9], "p", rate=1e6)
    first = periodic_orbit(flow, [1e-9, 0.0], 2e-6 * np.pi, segments=2, forced=True)
    found = continue_orbits(Parameter(flow, where(flow, "p"), -0.05, 0.05), first, forcing=lambda flow: 2e-6 * np.pi)
    (point,) = found.bifurcations
    assert (point.kind, point.parameter) == ("period doubling", pytest.approx(0.0, abs=1e-7))
    assert found.states.period == pytest.approx(np.full(len(found.kinds), 2e-6 * np.pi), rel=1e-9)


def test_orbits_and_periods_are_converted_by_the_units_of_states_and_time():
    flow = FunctionFlow(lambda t, x: -x)
    units = made_units(flow, scale=np.array([2.0, 16.0]), time=0.125)
    given = Cycle(np.array([[2.0, 16.0], [4.0, 8.0]]), np.array(3.0))
    scaled = moved_states(units, given, -1)
    np.testing.assert_array_equal(scaled.nodes, [[1.0, 1.0], [2.0, 0.5]])
    assert scaled.period == 24.0
    assert moved_states(units, scaled, 1).period == 3.0
    assert flat_sizes(units, given).tolist()[-1] == 0.125
    assert (unit_of_eigenvalues(units, given), unit_of_eigenvalues(units, given.nodes)) == (1.0, 0.125)
    assert _Forcing(lambda _: 3.0, units)(units.system) == 24.0

"""Float32 in the workbench: exponents, sections and diagrams stay in it, searches and Newton's method leave it."""

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.equilibria.newton import equilibria, max_speed
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.orbit_diagrams import orbit_diagram
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.poincare import poincare_section
from dynsim.integrators import Diffrax, Scipy
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.oscillators import DoubleWell, Duffing, VanDerPol
from dynsim.systems.parameter import Parameter
from tests.support.precision import single, types_of

WELL = DoubleWell(a=1.1, h=0.1)
FLOW, START = VanDerPol(mu=1.1), [2.0, 0.1]


def both(fn, start):
    """Results for a start in float32, as an array of JAX and of NumPy, and in float64."""
    return fn(single(start)), fn(np.asarray(start, np.float32)), fn(jnp.asarray(start))


def test_exponents_of_a_map():
    *rough, exact = both(lambda x: lyapunov_spectrum(Henon(a=1.4, b=0.3), x, 5000).exponents, [0.1, 0.1])
    for found in rough:
        np.testing.assert_allclose(found, exact, atol=0.03)
        assert np.sum(found) == pytest.approx(np.log(0.3), abs=1e-4)


SOLVERS = [None, pytest.param(Diffrax(dfx.Kvaerno4(), rtol=1e-4), marks=pytest.mark.slow)]


@pytest.mark.parametrize("integrator", SOLVERS)
def test_exponents_of_a_forced_flow(integrator):
    """Their sum is minus the damping; the phase of the forcing is a number of float32 too."""
    flow = Duffing(delta=0.3, gamma=0.1, omega=1.1)
    found = lyapunov_spectrum(flow, single([0.7, -0.2]), 50.0, transient=5.0, integrator=integrator)
    assert np.sum(found.exponents) == pytest.approx(-0.3, abs=2e-3)


@pytest.mark.slow
def test_exponents_where_a_field_jumps_are_computed_in_float64():
    rhs = lambda t, x, c: jnp.stack([x[1], -x[0] - c * jnp.sign(x[1]) + 2.0 * jnp.sin(1.3 * t)])
    flow = FunctionFlow(rhs, parameters={"c": 0.3})
    *rough, exact = both(lambda x: lyapunov_spectrum(flow, x, 60.0).exponents, [1.5, 0.25])
    np.testing.assert_allclose(rough, [exact, exact], atol=1e-6)


def test_crossings_of_a_surface():
    section = lambda x: poincare_section(FLOW, x, lambda t, x: x[0], 3, integrator=Scipy(rtol=1e-6, atol=1e-8))
    *rough, exact = both(section, START)
    for found in rough:
        assert types_of(found.states) == {"float32"}
        np.testing.assert_allclose(found.states, exact.states, atol=1e-4)
        np.testing.assert_allclose(found.times, exact.times, atol=1e-4)


def test_orbits_of_a_map_along_a_parameter():
    diagram = lambda x: orbit_diagram(Parameter(Logistic(), "r", 2.5, 4.0), [2.8, 3.2], x, transient=100, kept=4)
    *rough, exact = both(diagram, [0.3])
    for found in rough:
        assert types_of(found.values) == {"float32"}
        np.testing.assert_allclose(found.values, exact.values, atol=1e-6)


SEARCHES = {
    "equilibria": lambda x: [one.state for one in equilibria(WELL, x[None])],
    "settle": lambda x: settle(WELL, x).state,
    "attractors": lambda x: [one.state for one in find_attractors(WELL, x[None]).attractors],
    "Jacobian": lambda x: tangent_jacobian(WELL, x),
    "speed": lambda x: max_speed(WELL, x),
    "branch": lambda x: continue_equilibria(Parameter(WELL, "h", 0.0, 0.2), x).states,
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_searches_convert_a_start_to_float64(search):
    """They give what the same number in float64 gives, to the bit."""
    *rough, exact = (search(x) for x in (single([1.1]), np.asarray([1.1], np.float32), single([1.1]).astype(float)))
    for found in rough:
        np.testing.assert_array_equal(found, exact, strict=True)


@pytest.mark.slow
def test_orbits_are_computed_in_float64():
    *rough, exact = both(lambda x: periodic_orbit(FLOW, x, 6.6), START)
    for found in rough:
        assert types_of(found.orbit if hasattr(found, "orbit") else found.state) == {"float64"}
        assert found.period == pytest.approx(exact.period, abs=1e-7)

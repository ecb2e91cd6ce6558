"""Families of cycles from Hopf points: degenerate ones, those between two Hopf points, steps and extremes."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve, OrbitSegments
from analysis.dynamics.continuation.orbits import orbit_ranges, orbits_from_hopf
from analysis.dynamics.continuation.scaling import hopf_units
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import _shrinks_to
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.parameter import Parameter

MU = Parameter(VanDerPol(mu=-1.0), "mu", -1.0, 2.0)


@pytest.fixture(scope="module")
def van_der_pol():
    hopf = continue_equilibria(MU, jnp.zeros(2)).bifurcations[0]
    return hopf, orbits_from_hopf(MU, hopf, segments=4, steps=Steps(first=0.2))


@pytest.mark.slow
def test_a_vertical_family_is_left_where_the_limit_cycle_crosses_it(van_der_pol):
    hopf, found = van_der_pol
    assert hopf.parameter == pytest.approx(0, abs=1e-9)
    assert np.all(hopf_units(MU, hopf).scale == 1)  # the field is linear at the Hopf point itself
    (crossing,) = (b for b in found.bifurcations if b.kind == "branch point")
    assert np.allclose(np.linalg.norm(crossing.state.nodes, axis=1), 2.0, atol=1e-4)
    assert found.ends == ("Hopf point", "bounds")
    assert found.kinds[-1] == "stable"
    assert found.parameters[-1] == pytest.approx(2.0)
    assert found.states.period[-1] == pytest.approx(7.6298744, abs=1e-6)  # by another solver
    assert len(found.parameters) < 60


@pytest.mark.slow
def test_ranges_of_cycles_are_those_of_a_fine_simulation(van_der_pol):
    _, found = van_der_pol
    last = found._replace(
        states=Cycle(found.states.nodes[-2:], found.states.period[-2:]), parameters=found.parameters[-2:]
    )
    ranges = orbit_ranges(MU, last, 0)
    assert np.allclose(ranges[-1], [-2.0198912, 2.0198912], atol=1e-6)  # amplitude at mu = 2


def test_a_branch_ends_at_the_hopf_point_that_its_last_orbit_surrounds():
    hopf = Bifurcation("Hopf point", np.zeros(2), 2.0, np.array([1j, -1j]), 1.0, 0.0, np.zeros(3))
    angles = 2 * np.pi * np.arange(4) / 4
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    states = Cycle(np.stack([0.2 * circle, 0.1 * circle]), np.array([6.3, 6.28]))
    one = Branch(
        states, np.array([1.96, 1.99]), np.arange(2.0), np.zeros((2, 1)), ("stable",) * 2, (), ("", "equilibrium")
    )
    assert _shrinks_to(one, hopf)
    assert not _shrinks_to(one._replace(ends=("", "steps")), hopf)
    assert not _shrinks_to(one, hopf._replace(state=np.array([0.0, 0.3])))
    assert not _shrinks_to(one, hopf._replace(parameter=2.2))
    assert not _shrinks_to(one, hopf._replace(frequency=0.5))


def test_steps_grow_with_orbits_and_the_period_counts_by_shares():
    curve = OrbitCurve(Parameter(VanDerPol(), "mu", -1.0, 2.0), jnp.zeros(2), 4, None, 1e3, 1e-9)
    angles = 2 * np.pi * np.arange(4) / 4
    nodes = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def at(size, period, tangent):
        cycle, none = Cycle(size * nodes, np.asarray(period)), np.empty(0)
        return CurvePoint(cycle, 0.0, np.eye(9), none, none, tangent, none, none)

    along = lambda *entries: np.array([*[entries[0] / np.sqrt(8)] * 8, *entries[1:]])
    free, given = Steps().limits(curve.parameter, 10), Steps(largest=0.2).limits(curve.parameter, 10)
    start = at(1.0, 6.0, along(1.0, 0.0, 0.0))
    assert curve.largest_step(at(1.0, 6.0, along(1.0, 0.0, 0.0)), free, start) == pytest.approx(0.2)
    assert curve.largest_step(at(100.0, 6.0, along(1.0, 0.0, 0.0)), free, start) == pytest.approx(20.0)
    assert curve.largest_step(at(100.0, 6.0, along(1.0, 0.0, 0.0)), given, start) == pytest.approx(0.2)
    assert curve.largest_step(at(1.0, 60.0, along(0.0, 1.0, 0.0)), given, start) == pytest.approx(6.0)
    assert curve.largest_step(at(100.0, 6.0, along(0.0, 0.0, 1.0)), free, start) == pytest.approx(0.2)


def test_a_state_where_the_field_is_not_finite_is_named():
    def field(t, x, a=0.0):
        y = (x[0] + 0.25) / (1 - jnp.exp(-x[0] - 0.25))  # not finite at x = -1/4, where the limit is 1
        return jnp.stack([a * 0 + x[1] * jnp.where(jnp.isfinite(y), 1.0, jnp.nan), -x[0]])

    flow = FunctionFlow(field, parameters={"a": 0.0})
    curve = OrbitCurve(Parameter(flow, "a", -1.0, 1.0), jnp.zeros(2), 4, None, 1e3, 1e-9)
    empty = np.empty(0)
    assert (
        curve._undefined(OrbitSegments(1.0, np.array([[-0.25, 0.5]]), *[empty] * 5), 0.0, 0)
        == "undefined at (-0.25, 0.5)"
    )

"""Branches of systems whose states lie far from zero, as temperatures do, are those of the system moved to zero."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.orbits import orbits_from_hopf
from analysis.dynamics.continuation.scaling import curve_units
from analysis.dynamics.diagrams import bifurcation_diagram
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter

CENTRE = np.array([1000.0, -500.0])


def well(t, s, a):
    x, v = s - CENTRE
    return jnp.stack([v, a * x - x**3 - 0.3 * v])


def rotation(t, s, m):
    x, y = s - CENTRE
    return jnp.stack([m * x - y - x * (x**2 + y**2), x + m * y - y * (x**2 + y**2)])


def test_branches_are_switched():
    parameter = Parameter(FunctionFlow(well, parameters={"a": 1.0}), "a", -1.0, 2.0)
    found = bifurcation_diagram(parameter, [CENTRE])
    assert [len(one.bifurcations) for one in found.branches] == [1, 0, 0]
    ends = [one.states[-1] - CENTRE for one in found.branches[1:]]
    np.testing.assert_allclose(sorted(end[0] for end in ends), [-np.sqrt(2), np.sqrt(2)], rtol=1e-8)


@pytest.mark.parametrize("beside", [0.0, 1e-13])
def test_units_do_not_come_from_rounding(beside):
    """At the pitchfork the velocity is driven by a derivative that is zero there up to rounding."""
    parameter = Parameter(FunctionFlow(well, parameters={"a": 1.0}), "a", -1.0, 2.0)
    assert curve_units((parameter,), CENTRE + beside, at=(-1e-16,)).scale.tolist() == [1.0, 1.0]


def test_orbits_leave_a_hopf_point():
    parameter = Parameter(FunctionFlow(rotation, parameters={"m": -0.5}), "m", -1.0, 1.0)
    (hopf,) = continue_equilibria(parameter, CENTRE).bifurcations
    orbits = orbits_from_hopf(parameter, hopf)
    assert orbits.ends == ("Hopf point", "bounds")
    radii = np.linalg.norm(orbits.states.nodes - CENTRE, axis=2)
    np.testing.assert_allclose(radii[1:], np.sqrt(orbits.parameters[1:, None]) + 0 * radii[1:], atol=1e-5)


def test_cycles_of_a_map_are_told_apart():
    logistic = FunctionMap(lambda n, x, r: 30 + r * (x - 30) * (31 - x), parameters={"r": 2.5})
    found = bifurcation_diagram(Parameter(logistic, "r", 2.5, 3.5), [[30.6]])
    kinds = [(k, [b.kind for b in one.bifurcations]) for one, k in zip(found.branches, found.iterates, strict=True)]
    assert kinds == [(1, ["period doubling"]), (2, ["period doubling"]), (4, [])]
    np.testing.assert_allclose(found.branches[1].bifurcations[0].parameter, 1 + np.sqrt(6), rtol=1e-7)


def test_a_cycle_of_a_map_leaves_its_period_doubling_by_ordinary_steps():
    """Steps of 1e-5, where rounding errors move points further than the parameter turns, gave false folds."""
    away = FunctionMap(lambda k, x, r: 1e5 + r * (x - 1e5) * (1 - (x - 1e5)), parameters={"r": 2.9})
    r = Parameter(away, "r", 2.9, 3.3)
    (doubling,) = continue_equilibria(r, [1e5 + 1 - 1 / 2.9]).bifurcations
    left = switch(r, doubling)
    assert [one.bifurcations for one in left] == [(), ()]
    assert all(one.arclengths[1] > 0.01 for one in left)
    ends = sorted(float(one.states[-1, 0]) - 1e5 for one in left)
    root = np.sqrt((3.3 + 1) * (3.3 - 3))
    assert ends == pytest.approx([(4.3 - root) / 6.6, (4.3 + root) / 6.6], abs=1e-8)

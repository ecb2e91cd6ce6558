"""Cycles of maps: found from a guess, and continued without the same cycles at other phases."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import bifurcation_diagram
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionMap
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.parameter import Parameter


def test_a_cycle_of_a_map_is_found_from_a_guess():
    r = 3.2
    cycle = periodic_orbit(Logistic(r=r), [0.5], 2)
    root = np.sqrt((r - 3) * (r + 1))
    assert np.allclose(np.sort(cycle.nodes[:, 0]), (r + 1 + np.array([-root, root])) / (2 * r))
    assert np.allclose(cycle.multipliers, 4 + 2 * r - r**2)
    assert (cycle.stability, cycle.period, cycle.trivial_error) == ("stable", 2.0, 0.0)
    assert cycle.state.shape == (1,)
    assert periodic_orbit(Logistic(r=r), [0.7], 1).stability == "unstable"
    bad = [({"period": 2.5}, "integer"), ({"period": 2, "forced": True}, "`forced` must be left out for a map")]
    for options, words in [*bad, ({"period": 2, "segments": 3}, "`segments` must be left out for a map")]:
        with pytest.raises(ArgumentError, match=words):
            periodic_orbit(Logistic(r=r), [0.5], **options)
    with pytest.raises(ArgumentError, match="`guess` must be near a periodic orbit"):
        periodic_orbit(FunctionMap(lambda k, x: x + 1), [0.0], 1)


@pytest.mark.slow
def test_a_branch_of_cycles_ends_where_their_period_is_halved():
    # x <- y, y <- 2 - b x - y^2: cycles of period 2 between b = -1 - sqrt(8/3) and -1 + sqrt(8/3), doubled twice
    system = FunctionMap(lambda k, u, b: jnp.stack([u[1], 2 - b * u[0] - u[1] ** 2]), parameters={"b": 0.0})
    steps = Steps(first=0.2, largest=0.4)
    found = bifurcation_diagram(Parameter(system, "b", -3.0, 0.9), [jnp.array([1.0, 1.0])], levels=1, steps=steps)
    assert found.iterates == (1, 2)
    one, two = found.branches
    assert two.ends == ("period doubling", "period doubling")
    assert np.allclose(two.parameters[[0, -1]], [np.sqrt(8 / 3) - 1, -np.sqrt(8 / 3) - 1], atol=1e-6)
    assert [b.kind for b in one.bifurcations + two.bifurcations] == ["period doubling"] * 3
    b = np.array([at.parameter for at in two.bifurcations])  # of trace 4 y1 y2 - 2 b and determinant b^2
    assert np.allclose(1 + 4 * ((1 + b) ** 2 - 2) - 2 * b + b**2, 0, atol=1e-6)
    assert np.allclose(np.sort(b), [-1.579796, 0.379796], atol=1e-6)

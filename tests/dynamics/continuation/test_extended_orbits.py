"""Branches of periodic orbits go on: in a wider range, at the cap on points, at a longer longest period."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import Diagram, bifurcation_diagram, with_orbits
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter


def turning(t, x, mu):
    """Turn around a circle of radius sqrt(mu) with the period 2 pi / (1 + mu), as in the normal form of Hopf."""
    return (1 + mu) * jnp.stack([-x[1], x[0]]) + x * (mu - x @ x)


def within(low, high):
    return Parameter(FunctionFlow(turning, parameters={"mu": 1.0}), "mu", low, high)


def check(orbits: Any, low: float, high: float) -> None:
    assert (np.min(orbits.parameters), np.max(orbits.parameters)) == pytest.approx((low, high))
    np.testing.assert_allclose(orbits.states.period, 2 * np.pi / (1 + orbits.parameters), rtol=1e-8)
    assert np.all(np.diff(orbits.arclengths) > 0)


@pytest.mark.slow
def test_a_branch_of_orbits_goes_on():
    orbit, steps = periodic_orbit(within(0.8, 1.2).system, [1.0, 0.0], 3.0, segments=3), Steps(largest=1.0)
    known = continue_orbits(within(0.8, 1.2), orbit, steps=steps)
    check(known, 0.8, 1.2)
    diagram = Diagram("mu", (), (), (known,))
    assert str(diagram) == "1 branch of periodic orbits in mu: no bifurcation"
    check(extend(diagram, within(0.6, 1.5), steps=steps).orbits[0], 0.6, 1.5)


@pytest.mark.slow
def test_a_branch_that_ended_early_goes_on_and_one_of_another_flow_is_refused():
    orbit, steps = periodic_orbit(within(0.8, 1.2).system, [1.0, 0.0], 3.0, segments=3), Steps(largest=1.0)
    short = continue_orbits(within(0.8, 1.2), orbit, steps=Steps(points=2))
    assert short.ends == ("steps", "steps")
    check(extend(short, within(0.8, 1.2), steps=steps), 0.8, 1.2)
    fast = continue_orbits(within(0.8, 1.2), orbit, steps=steps, max_period=3.3)
    assert "period" in fast.ends
    check(extend(fast, within(0.8, 1.2), steps=steps), 0.8, 1.2)
    double = FunctionFlow(lambda t, x, mu: turning(t, x, 2 * mu), parameters={"mu": 1.0})
    with pytest.raises(ValueError, match="`known` must be a branch of this flow, but ends at a state that is no sol"):
        extend(fast, Parameter(double, "mu", 0.0, 2.0))


@pytest.mark.slow
def test_orbits_from_a_hopf_point_are_found_once():
    found = bifurcation_diagram(within(-0.5, 0.5).of(within(-0.5, 0.5).at(-0.5)), [[0.0, 0.0]])
    once = with_orbits(found, within(-0.5, 0.5), segments=3)
    assert str(once) == "1 branch and 1 of periodic orbits in mu: 1 Hopf point"
    longer = extend(once, within(-0.5, 0.8))
    assert len(with_orbits(longer, within(-0.5, 0.8), segments=3).orbits) == 1
    check(longer.orbits[0], 0.0, 0.8)

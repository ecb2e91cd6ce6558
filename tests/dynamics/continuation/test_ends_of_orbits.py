"""Branches of periodic orbits end where they are no longer resolved; vertical ones say so and have no folds."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim._core.printing import printed, size_of
from dynsim.cli.continuation.ends import say_ends
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter

P = lambda flow: flow.p
RHO = lambda flow: flow.rho


class Pendulum(AbstractFlow):
    """A pendulum with negative damping p: at p = 0 all of its orbits are periodic."""

    p: object = parameter("p", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return the velocities of angle and rate."""
        del t
        return jnp.stack([x[1], self.p * x[1] - jnp.sin(x[0])])


@pytest.mark.slow
def test_a_family_of_orbits_at_one_value_is_vertical_and_has_no_folds(capsys):
    orbit = periodic_orbit(Pendulum(), jnp.asarray([1.0, 0.0]), 6.7, segments=4)
    found = continue_orbits(Parameter(Pendulum(), P, -1.0, 1.0), orbit, steps=Steps(points=20, first=0.2, largest=0.2))
    assert found.vertical
    assert found.bifurcations == ()
    assert np.ptp(found.states.period) > 1
    assert "vertical" in str(found)
    say_ends("p", Diagram("p", (), (), (found,)))
    assert "a branch is vertical: it is a family of solutions at the single value p = 0" in capsys.readouterr().out


class Stretch(AbstractFlow):
    """x' = p x: at p = 0 every state is an equilibrium, and x = 0 is one at every p."""

    p: object = parameter("p", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return p x."""
        del t
        return self.p * x


@pytest.mark.slow
def test_a_family_of_equilibria_is_vertical_and_crossed_by_a_branch():
    found = continue_equilibria(Parameter(Stretch(), P, -1.0, 1.0), jnp.asarray([1.0]), steps=Steps(points=200))
    assert found.vertical
    assert [str(b) for b in found.bifurcations] == ["branch point at 0"]


@pytest.fixture(scope="module")
def lorenz():
    flow = Lorenz(rho=14.5)
    orbit = periodic_orbit(flow, jnp.asarray([0.22732822, 0.38027463, 1.40181344]), 1.79456698, segments=4)
    return orbit, continue_orbits(Parameter(flow, RHO, 0.0, 14.6), orbit, steps=Steps(first=0.5), rtol=1e-8)


@pytest.mark.slow
def test_orbits_end_beside_a_homoclinic_orbit_at_its_parameter(lorenz, capsys):
    _, found = lorenz
    assert set(found.ends) == {"bounds", "homoclinic"}
    last = 0 if found.ends[0] == "homoclinic" else -1
    assert found.bifurcations == ()
    assert found.parameters[last] == pytest.approx(13.926557, abs=2e-3)  # Sparrow (1982): 13.926
    assert found.states.period[last] > 2 * found.states.period[-1 - last]
    say_ends("rho", Diagram("rho", (), (), (found,)))
    said = capsys.readouterr().out
    assert "a branch of periodic orbits ends near a homoclinic orbit at about rho = 13.92" in said


@pytest.mark.slow
def test_every_orbit_of_a_branch_is_confirmed_by_a_stricter_solver(lorenz):
    _, found = lorenz
    last = 0 if found.ends[0] == "homoclinic" else -1
    cycle = Cycle(found.states.nodes[last], found.states.period[last])
    rho = Parameter(Lorenz(rho=found.parameters[last]), RHO, 0.0, 14.6)
    strict = OrbitCurve(rho, jnp.asarray(cycle.nodes[0]), 4, None, 1e3, 1e-9)
    at = float(found.parameters[last])
    again = strict.corrected(cycle, at, strict.measured(cycle, at).tangent)
    assert again is not None
    assert np.allclose(again.flat, np.append([*cycle.nodes.ravel(), cycle.period], found.parameters[last]), atol=1e-3)
    assert np.allclose(again.values[0], found.eigenvalues[last][0], rtol=0.1)


def test_a_number_that_is_zero_within_its_error_is_printed_as_zero():
    assert [printed(v) for v in (1e-20, -3e-13, 2e-12, 0.5)] == ["0", "0", "2e-12", "0.5"]
    assert printed(1e-7, 1e6) == "0"
    assert printed(1e-20, 1e-18) == "1e-20"
    assert (size_of([1e-32, -1e-31]), size_of([]), size_of([2e-6, -3e-6])) == (1.0, 1.0, 3e-6)
    assert [printed(v) for v in (1 + 1e-14j, 1e-15 + 2j, -1.5 - 0.25j, 1j * 1e-30)] == ["1", "2j", "-1.5-0.25j", "0"]
    assert printed(float("nan")) == "nan"


def test_a_coefficient_that_is_not_computed_has_its_reason(monkeypatch):
    state, values = Cycle(np.zeros((4, 3)), np.asarray(1.0)), np.array([2e7, -1.0], complex)
    curve = OrbitCurve(Parameter(Lorenz(), RHO, 0.0, 14.6), jnp.ones(3), 4, None, 1e3, 1e-9)
    point = CurvePoint(state, 2.0, *[np.empty(0)] * 4, lambda: values, np.empty(0))
    monkeypatch.setattr(curve, "monodromy", lambda state, J: np.diag([2e4, -1.001]))
    why = curve.unknown("period doubling", point)
    doubling = Bifurcation("period doubling", state, 2.0, values, 0.0, 1.0, np.zeros(13), unknown=why)
    assert str(doubling) == "period doubling at 2 (coefficient unknown: a multiplier of 2e+07 exceeds 1e+06)"
    assert curve.unknown("period doubling", point._replace(spectrum=lambda: values / [1e3, 1.0])) == ""
    off = curve.unknown("fold", point._replace(spectrum=lambda: np.array([50.0, 0.64 + 0.39j, 0.64 - 0.39j])))
    assert off == "coefficient unknown: the critical multiplier is 2 off"
    monkeypatch.setattr(curve, "monodromy", lambda state, J: np.diag([2e4, 1.5]))
    off = curve.unknown("Neimark-Sacker point", point._replace(spectrum=lambda: np.exp(np.array([1j, -1j]))))
    assert off == "coefficient unknown: the critical multiplier is 0.5 off"
    assert curve.unknown("branch point", point) == ""

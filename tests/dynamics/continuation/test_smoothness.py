"""Corners are reported only of systems that may have some, and folds only where slopes exceed their errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.equilibria import Critical, FoldCurve
from analysis.dynamics.continuation.branches import branch
from analysis.dynamics.continuation.curve import CurvePoint, turned
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.equilibrium_curve import EquilibriumCurve
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.smoothness import may_have_corners
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.parameter import Parameter


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (lambda t, x, p=1.0: p * x - x**3 + jnp.tanh(x) * jax.nn.sigmoid(x) / (1 + x**2), False),
        (lambda t, x, p=1.0: p - jnp.abs(x), True),
        (lambda t, x, p=1.0: p - jnp.sqrt(x * x), True),
        (lambda t, x, p=1.0: jnp.where(x > p, x, 2 * x), True),
        (lambda t, x, p=1.0: abs(p) - x, True),  # in the parameter
        (lambda t, x, p=1.0: p * x + jnp.maximum(1.0, 2.0), False),  # of constants
        (lambda t, x, p=1.0: jax.lax.while_loop(lambda y: jnp.all(y < 9), lambda y: 2 * y, x), True),  # no program
    ],
)
def test_fields_with_comparisons_may_have_corners(field, expected):
    assert may_have_corners(FunctionFlow(field, parameters={"p": 1.0}), np.ones(1)) is expected


def test_polynomial_flows_and_maps_have_no_corners():
    assert not may_have_corners(Lorenz(), np.ones(3))
    assert not may_have_corners(Logistic(r=2.5), np.ones(1))
    assert not may_have_corners(Henon(), np.ones(2))


def test_the_end_of_a_smooth_branch_is_no_corner():
    steep = FunctionFlow(lambda t, x, p=1.0: p - x * jnp.tanh(1e7 * x), parameters={"p": 1.0})
    found = continue_equilibria(Parameter(steep, "p", -1.0, 2.0), np.ones(1))
    assert "corner" not in (*found.ends, *(b.kind for b in found.bifurcations))


class Inexact(EquilibriumCurve):
    """Equilibria whose equations and derivatives have errors of 1e-9, like those of a solver."""

    tolerances = (1e-8, 1e-6)

    def equations(self, state, parameter, basis):
        at = super().equations(state, parameter, basis)
        error = 1e-9 * np.sin(1e9 * (state[0] + parameter))
        return at._replace(values=at.values + 1e-3 * error, J=at.J + error, slope=at.slope + error)


@pytest.mark.slow
def test_errors_of_tangents_beside_a_pitchfork_are_no_corners():
    curve = Inexact(Parameter(FunctionFlow(lambda t, x, p=0.5: p * x - x**3, parameters={"p": 0.5}), "p", -1.0, 1.0))
    places = np.array([0.0, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 4e-5, 1e-4, 3e-4, 1e-3])
    points = [curve.measured(np.array([x]), x * x) for x in places]
    points[0] = points[0]._replace(tangent=np.array([1.0, 0.0]))
    for k in range(1, len(points)):
        points[k] = turned(points[k - 1], points[k - 1].tangent, points[k])[0]
    slopes = [point.tangent[-1] for point in points]
    assert min(slopes) < 0 < max(slopes)
    found = branch(curve, points, ("branch point", "bounds"))
    assert "corner" not in [b.kind for b in found.bifurcations]


@pytest.mark.parametrize(("bend", "resolved"), [(2e-8, True), (0.0, False)])
def test_a_small_slope_of_the_parameter_counts_if_it_exceeds_its_error(bend, resolved):
    def spiral(t, x, p=0.0, bend=0.0):
        growth = p - bend * (x[0] ** 2 + x[1] ** 2)
        return jnp.stack([growth * x[0] - x[1], x[0] + growth * x[1]])

    flow = FunctionFlow(spiral, parameters={"p": bend, "bend": bend})
    curve = OrbitCurve(Parameter(flow, "p", -1.0, 1.0), jnp.ones(2), 1, None, 1e3, 1e-10)
    point = curve.measured(Cycle(np.array([[1.0, 0.0]]), np.asarray(2 * np.pi)), bend)
    assert abs(point.tangent[-1]) < curve.vertical
    assert curve.slope(point) == (pytest.approx(2 * bend, rel=0.3) if resolved else 0.0)


@pytest.mark.parametrize("state", [np.ones(1), Cycle(np.ones((3, 1)), np.asarray(1.0))])
def test_curves_of_bifurcations_of_smooth_fields_have_no_corners(state):
    flow = FunctionFlow(lambda t, x, p=1.0, q=0.5: p + q * x - x**3, parameters={"p": 1.0, "q": 0.5})
    pair = (Parameter(flow, "p", -2.0, 2.0), Parameter(flow, "q", -1.0, 2.0))
    curve = FoldCurve(pair, np.ones(1))
    here, zero, none = Critical(state, np.ones(1), np.zeros(1), 0.0, 1.0), np.zeros((1, 1)), np.zeros(0)
    assert not curve.may_have_corners(CurvePoint(here, 0.5, zero, zero, none, none, none, zero))

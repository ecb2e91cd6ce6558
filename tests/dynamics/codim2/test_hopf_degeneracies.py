"""Bautin and double Hopf points: normal forms in other coordinates, published coefficients, other units."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import _degeneracy, critical_curve
from analysis.dynamics.codim2.equilibria import HopfCurve
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.dynamics.normal_forms.flows import double_hopf_coefficients
from analysis.dynamics.scaling.units import made_units
from dynsim.systems.base import FunctionFlow
from dynsim.systems.named import where
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import RescaledFlow
from tests.dynamics.codim2.test_equilibria import ExtendedLorenz84, _at
from tests.dynamics.normal_forms.test_flows import SECOND, SHIFT, Bent

GROWTH = np.array([[-1.0, 2.0], [0.5, -3.0]])
FAST, SLOW = 5**0.5, 1.0


def pairs(t, x, p, q):
    """Two pairs whose amplitudes grow by `GROWTH`, the slow one first, seen from bent coordinates.

    With u = x + (0, 0, 0.3 x0^2, 0.4 x0 x2) and z = u + (0.5 u1 u2, 0, 0, 0) the field of z is known.
    """
    del t
    u = x + jnp.stack([0 * p, 0 * p, 0.3 * x[0] ** 2, 0.4 * x[0] * x[2]])
    a, b, c, d = u + jnp.stack([0.5 * u[1] * u[2], 0 * p, 0 * p, 0 * p])
    r, s = a**2 + b**2, c**2 + d**2
    g, h = jnp.stack([p, q]) + jnp.asarray(GROWTH) @ jnp.stack([r, s])
    v, w = SLOW + 0.3 * s, FAST - r
    a, b, c, d = g * a - v * b, g * b + v * a, h * c - w * d, h * d + w * c
    a = a - 0.5 * (b * u[2] + u[1] * c)
    c = c - 0.6 * x[0] * a
    return jnp.stack([a, b, c, d - 0.4 * (a * x[2] + x[0] * c)])


PAIRS = FunctionFlow(pairs, parameters={"p": 0.0, "q": 0.0})
EXPECTED = [2 * growth for growth in (-3.0, 0.5, 2.0, -1.0)]  # the critical vectors of length one are longer


def test_a_double_hopf_point_has_the_coefficients_of_its_normal_form():
    found = double_hopf_coefficients(PAIRS, jnp.zeros(4), (SLOW, FAST))
    assert found == pytest.approx((*EXPECTED, -0.5, -2 / 3), rel=1e-9)
    assert np.all(np.isnan(double_hopf_coefficients(PAIRS, jnp.zeros(4), (1.0, 3.0))))  # resonant


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "flow", "frequency", "expected"),
    [
        ("double Hopf point", PAIRS, FAST, (*(5 / 9 * value for value in EXPECTED), -0.5, -2 / 3)),
        ("Bautin point", Bent(q=-SHIFT), 2.0, (2 * SECOND / 81,)),
    ],
)
def test_coefficients_of_hopf_degeneracies_are_those_of_the_given_flow(kind, flow, frequency, expected):
    """Units of the curve are other ones, of each component and of time; states are larger by 3, rates by 5."""
    start = jnp.zeros(4 if flow is PAIRS else 2)
    flow = RescaledFlow(flow, state=[1 / 3] * len(start), time=5.0)
    scale = np.array([4.0, 0.5, 1.0, 2.0])[: len(start)]
    both = [Parameter(flow, name, -1.0, 1.0) for name in ("p", "q")]
    units = made_units(flow, both, scale, 1 / 16, (1.0, 1.0))
    curve = HopfCurve((units.varied[0], units.varied[1]), start, units)
    place = curve.at(curve.begin(start, 0.0, 5 * frequency / 16), curve.value)
    assert place is not None
    assert _degeneracy(curve, kind, place).coefficients == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_bautin_points_have_the_published_coefficients():
    """Of the oxidation of CO by Bykov, Yablonskii and Kim, and of `ExtendedLorenz84`, without the factor 1 / omega.

    Source: the tests of BifurcationKit.jl (-776.89, of which the first five digits are said, and 0.15555), and there
    the places, also in W. Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria.
    """

    def oxidation(t, state, q2, k):
        del t
        x, y, s = state
        z = 1 - x - y - s
        return jnp.stack([5 * z**2 - 2 * x**2 - 10 * x * y, q2 * z - 0.1 * y - 10 * x * y, 0.0675 * (z - k * s)])

    flow = FunctionFlow(oxidation, parameters={"q2": 0.6, "k": 0.4})
    takes = (where(flow, "q2"), where(flow, "k"))
    at = continue_equilibria(
        Parameter(flow, takes[0], 0.5, 1.9), [0.07, 0.2, 0.05], steps=Steps(first=0.02)
    ).bifurcations[0]
    found = critical_curve(
        (Parameter(flow, takes[0], 0.5, 1.9), Parameter(flow, takes[1], 0.1, 0.5)), at, steps=Steps(first=0.02)
    )
    first, second = found.degeneracies
    assert (first.kind, second.kind) == ("Bautin point", "Bautin point")
    assert (second.second, second.first) == pytest.approx((0.305879, 0.924255), abs=1e-6)
    there = FunctionFlow(oxidation, parameters={"q2": first.first, "k": first.second})
    frequency = np.max(np.imag(eigenvalues(tangent_jacobian(there, first.state))))
    assert first.coefficients[0] * frequency == pytest.approx(-776.89, rel=1e-4)

    hopf = _at("Hopf point", 2.46722, 1.12896, -0.02497, 0.21859, -0.53845)._replace(frequency=0.7232)
    takes = (lambda f: f.F, lambda f: f.T)
    found = critical_curve(
        (Parameter(ExtendedLorenz84(), takes[0], 1.0, 3.0), Parameter(ExtendedLorenz84(), takes[1], 0.02, 0.06)),
        hopf,
        steps=Steps(first=0.05),
    )
    point = found.degeneracies[1]
    assert (found.degeneracies[0].kind, point.kind) == ("double Hopf point", "Bautin point")
    assert point.coefficients[0] * 0.6903636672622595 == pytest.approx(0.15555332623343107, abs=1e-3)

"""Coefficients of normal forms: Hopf points on both sides, on a sphere, in the catalogue; folds; Bautin points."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.normal_forms.charts import series
from analysis.dynamics.normal_forms.flows import _rest, lyapunov_coefficient, second_lyapunov_coefficient
from dynsim.programs import without_compiling
from dynsim.spaces import Ellipsoid, Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.oscillators import DoubleWell, FitzHughNagumo, VanDerPol
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter

SHIFT = 13 / 16
"""What the quadratic terms below add: (f_xy (f_xx + f_yy) - g_xy (g_xx + g_yy) - f_xx g_xx + f_yy g_yy) / (16 w).

Source: J. Guckenheimer, P. Holmes, Nonlinear Oscillations, eq. (3.4.11); the first Lyapunov coefficient is 2 a / w.
"""

SECOND = -3607 / 1536
"""How V = (x^2 + y^2) / 2 + ... changes at q = -13/16, V' = -3607/1536 (x^2 + y^2)^3 + ..., in rational arithmetic.

The critical vector of length one makes amplitudes larger by the square root of two, so the coefficient is four times
this, divided by w = 2. Source of the method: A. A. Andronov et al., Theory of Bifurcations of Dynamic Systems on a
Plane, chapter IX.
"""


def bent(u, p, q):
    """Return a field with a Hopf point at p = 0 whose frequency is w = 2 and whose coefficient is q + 13/16."""
    x, y = u
    r = x**2 + y**2
    f = p * x - 2 * y + x**2 + 2 * x * y + 3 * y**2 + r * (q * x - 3 * y) - r**2 * x
    g = 2 * x + p * y + 2 * x**2 - x * y + y**2 + r * (3 * x + q * y) - r**2 * y
    return jnp.stack([f, g])


class Bent(AbstractFlow):
    """The field in the plane."""

    p: object = parameter("p", 0.0)
    q: object = parameter("q", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return bent(x, self.p, self.q)


WEIGHTS = jnp.asarray([[1.0, 0.4, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]])


class BentOnEllipsoid(AbstractFlow):
    """The field on half of an ellipsoid, whose central projection to the plane is `Bent`."""

    p: object = parameter("p", 0.0)
    q: object = parameter("q", 0.0)
    space: Ellipsoid = Ellipsoid(WEIGHTS)

    def velocity(self, t, x):
        return x[0] * jnp.concatenate([jnp.zeros(1), bent(x[1:] / x[0], self.p, self.q)])


@pytest.mark.slow
@pytest.mark.parametrize(("q", "criticality"), [(-1.5, "supercritical"), (0.25, "subcritical")])
def test_the_criticality_of_a_hopf_point_is_said(q, criticality):
    found = continue_equilibria(Parameter(Bent(p=-0.2, q=q), lambda f: f.p, -0.2, 0.1), jnp.zeros(2))
    (hopf,) = found.bifurcations
    assert hopf.coefficient == pytest.approx(q + SHIFT, abs=1e-8)
    assert hopf.criticality == criticality
    assert str(hopf).endswith(f" ({criticality})")
    assert f"({criticality})" in str(found)


@pytest.mark.slow
def test_the_coefficient_does_not_depend_on_the_coordinates():
    """The step (a, b) in the plane is (-2/5 a, a, b) at (1, 0, 0), and the square of (1, -i) so 2.16 instead of 2."""
    place = jnp.asarray([1.0, 0.0, 0.0])
    for q in (-1.5, 0.25):
        found = lyapunov_coefficient(BentOnEllipsoid(q=q), place, 2.0)
        assert found.value == pytest.approx((q + SHIFT) / 1.08, abs=1e-12)
    bautin = second_lyapunov_coefficient(BentOnEllipsoid(q=-SHIFT), place, 2.0)
    assert bautin == pytest.approx(2 * SECOND / 1.08**2, rel=1e-9)


class InOtherUnits(AbstractFlow):
    """A flow whose state and time are measured in other units."""

    flow: AbstractFlow
    state: object = parameter("state", 1.0)
    time: object = parameter("time", 1.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return self.state * self.time * self.flow.velocity(t, x / self.state)


@pytest.mark.slow
@pytest.mark.parametrize(("state", "time"), [(1.0, 1.0), (1e5, 1e3), (1e-5, 1e-1)])
def test_the_criticality_does_not_depend_on_the_units_of_state_and_time(state, time):
    for flow, words in ((Bent(p=-0.1, q=-1.5), "supercritical"), (Bent(p=-0.1, q=-SHIFT), "degenerate")):
        moved = InOtherUnits(flow, state=state, time=time)
        (hopf,) = continue_equilibria(Parameter(moved, lambda f: f.flow.p, -0.1, 0.1), jnp.zeros(2)).bifurcations
        assert (hopf.frequency, hopf.criticality) == (pytest.approx(2 * time), words)
        assert hopf.coefficient == pytest.approx(float(flow.q + SHIFT) / state**2, abs=1e-8 / state**2)
    still = InOtherUnits(VanDerPol(mu=-0.1), state=state, time=time)
    (hopf,) = continue_equilibria(Parameter(still, lambda f: f.flow.mu, -0.1, 0.1), jnp.zeros(2)).bifurcations
    assert hopf.criticality == "degenerate"  # all terms vanish


@pytest.mark.slow
def test_a_bautin_point_is_where_the_coefficient_vanishes():
    flow, where = Bent(p=-0.2, q=-1.5), (lambda f: f.p, lambda f: f.q)
    (hopf,) = continue_equilibria(Parameter(flow, where[0], -0.2, 0.1), jnp.zeros(2)).bifurcations
    found = critical_curve(
        (Parameter(flow, where[0], -1.0, 1.0), Parameter(flow, where[1], -2.0, 0.0)), hopf, steps=Steps(first=0.3)
    )
    assert np.allclose(found.first, 0.0, atol=1e-9)
    assert [(d.kind, round(d.second, 8)) for d in found.degeneracies] == [("Bautin point", -SHIFT)]
    assert found.degeneracies[0].coefficients == pytest.approx((2 * SECOND,), rel=1e-6)
    assert "Bautin point at (0, -0.8125) with l2 = -4.697" in str(found)


def test_coefficients_of_the_catalogue_are_those_published():
    """Re g = (2 + a^2) / (2 a^2) for (1, -1 + i/a): Y. Kuramoto, Chemical Oscillations, Waves, and Turbulence."""
    for a in (1.0, 1.5):
        flow = Brusselator(a=a, b=1.0)
        (hopf,) = continue_equilibria(Parameter(flow, lambda f: f.b, 0.5, 4.0), jnp.asarray([a, 1 / a])).bifurcations
        expected = -(2 + a**2) / (2 * a**2) / (2 + 1 / a**2) / a  # critical vector of length one, time in 1 / frequency
        assert (hopf.coefficient, hopf.criticality) == (pytest.approx(expected, abs=1e-7), "supercritical")
    nerve = continue_equilibria(
        Parameter(FitzHughNagumo(current=0.0), lambda f: f.current, 0.0, 2.0), jnp.asarray([-1.2, -0.6])
    )
    assert [b.criticality for b in nerve.bifurcations] == ["subcritical", "subcritical"]
    still = continue_equilibria(Parameter(VanDerPol(mu=-0.5), lambda f: f.mu, -0.5, 0.5), jnp.zeros(2))
    assert [b.criticality for b in still.bifurcations] == ["degenerate"]  # linear at mu = 0: a centre


@pytest.mark.slow
def test_a_fold_has_its_curvature():
    """At the folds of h = x^3 - x the second derivative of h by x is 6 x."""
    found = continue_equilibria(Parameter(DoubleWell(h=-1.0), lambda f: f.h, -1.0, 1.0), jnp.asarray([-1.4]))
    places = np.array([float(b.state[0]) for b in found.bifurcations])
    assert np.allclose([b.coefficient for b in found.bifurcations], 3 * places, atol=1e-7)
    assert [b.criticality for b in found.bifurcations] == ["", ""]


def test_a_series_on_a_curved_space_is_exact_to_the_order_of_its_curves():
    """Against the velocity at nearby points: what a series of order 3 leaves is of order 4.

    On an ellipsoid, where the retraction has terms of every order in the coordinates.
    """
    W, A = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 0.6]]), np.arange(9.0).reshape(3, 3) / 5 - 1
    space = Ellipsoid(W)
    x = np.asarray(space.project(jnp.array([0.7, -0.5, 1.0])))
    basis, rng = tangent_basis(space, jnp.asarray(x)), np.random.default_rng(2)
    terms = np.concatenate([np.zeros((1, 2, 2)), rng.normal(size=(3, 2, 2))])
    found = series(FunctionFlow(lambda t, y: jnp.asarray(A) @ y, space), jnp.asarray(x), basis, terms)

    def velocity(u):
        w = u
        for _ in range(60):
            y = x + basis @ w
            y = y / np.sqrt(y @ W @ y)
            w = w + u - basis.T @ (y - x)
        return basis.T @ (A @ y - (y @ W @ A @ y) * y)

    at = lambda parts, s: np.polynomial.polynomial.polyval(s, parts)
    for curve in range(2):
        left = [np.linalg.norm(velocity(at(terms[:, curve], s)) - at(found[:, curve], s)) for s in (0.02, 0.01)]
        assert 13 < left[0] / left[1] < 20


def test_terms_of_an_expansion_are_those_of_the_products_of_lower_ones():
    """For x' = L x + B(x, x), of which the terms of order three are twice B of terms of orders one and two."""
    L, forms = np.array([[0.5, -2.0], [3.0, 1.0]]), np.array([[[2.0, -0.5], [-0.5, 0.0]], [[0.0, 0.5], [0.5, 3.0]]])
    flow = FunctionFlow(lambda t, x: L @ x + jnp.einsum("aij,i,j->a", forms, x, x))
    B = lambda u, v: np.einsum("aij,i,j->a", forms, u, v)
    q, h20, h11 = np.array([1 + 2j, 0.5 - 1j]), np.array([0.3 - 0.2j, 1j]), np.array([0.7, -1.1])
    h = {(0, 0): 0 * q, (1, 0): q, (0, 1): q.conj()}
    found = _rest(flow, jnp.zeros(2), h, 2)
    expected = {(2, 0): B(q, q), (1, 1): 2 * B(q, q.conj()), (0, 2): B(q.conj(), q.conj())}
    assert found.keys() == expected.keys()
    for pair, vector in expected.items():
        np.testing.assert_allclose(found[pair], vector, atol=1e-12)
    found = _rest(flow, jnp.zeros(2), {**h, (2, 0): h20, (1, 1): h11 + 0j, (0, 2): h20.conj()}, 3)
    np.testing.assert_allclose(found[3, 0], 2 * B(q, h20), atol=1e-12)
    np.testing.assert_allclose(found[2, 1], 2 * B(q, h11) + 2 * B(q.conj(), h20), atol=1e-12)
    np.testing.assert_allclose(found[0, 3], found[3, 0].conj(), atol=1e-12)


def test_the_second_lyapunov_coefficient_is_that_of_the_normal_form_in_bent_coordinates():
    """Of z' = 2 i z + i z |z|^2 / 2 + (0.4 i - 0.3) z |z|^4, with z = u + i (v - 0.7 u^2) and |z|^2 = 2 |w|^2."""

    def bent(t, x):
        u, v = x[0], x[1] - 0.7 * x[0] ** 2
        r = u**2 + v**2
        growth, turning = -0.3 * r**2, 2 + r / 2 + 0.4 * r**2
        first = growth * u - turning * v
        return jnp.stack([first, turning * u + growth * v + 1.4 * u * first])

    with without_compiling():
        found = second_lyapunov_coefficient(FunctionFlow(bent), jnp.zeros(2), 2.0)
    assert found == pytest.approx(4 * -0.3 / 2, rel=1e-9)


def test_the_second_lyapunov_coefficient_is_unknown_beside_another_zero_eigenvalue():
    turning = lambda rate: FunctionFlow(lambda t, x: jnp.stack([-x[1], x[0], rate * x[2]]))
    assert np.isnan(second_lyapunov_coefficient(turning(0.0), jnp.zeros(3), 1.0))
    assert np.isnan(second_lyapunov_coefficient(FunctionFlow(lambda t, x: -x), jnp.zeros(2), 0.0))

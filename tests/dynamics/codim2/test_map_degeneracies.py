"""Degenerate points on curves of bifurcations of maps: the generalised Henon map, normal forms in other coordinates."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2 import curves as two_parameters
from analysis.dynamics.codim2.coefficients import cusp_coefficient
from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.normal_forms.charts import MapChart
from analysis.dynamics.normal_forms.flows import Coefficient, double_coefficients
from analysis.dynamics.normal_forms.maps import chenciner_coefficient
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.parameter import Parameter

TURN = 2 * np.pi
BOTH = (lambda m: m.parameters["alpha"], lambda m: m.parameters["beta"])


def henon(k, x, alpha, beta, R, S, size):
    """(x, y) to (y, alpha - beta x - y^2 + R x y + S y^3), in a unit of the state.

    Fixed points have the trace (R - 2) x + 3 S x^2 and the determinant beta - R x of their derivative.
    """
    del k
    x, y = x / size
    return size * jnp.stack([y, alpha - beta * x - y**2 + R * x * y + S * y**3])


def curve_from(kind, x, trace, R, S, size=1.0, angle=0.0, bounds=((-9.0, 30.0), (-4.0, 4.0))):
    """Return the curve of a kind of bifurcation through the fixed point x, which has a trace, or is a flip."""
    beta = 1 + R * x if kind == "Neimark-Sacker point" else -1 - trace + R * x
    alpha = (1 + beta) * x - (R - 1) * x**2 - S * x**3
    given = {"alpha": alpha, "beta": beta, "R": R, "S": S, "size": size}
    at = Bifurcation(kind, size * jnp.full(2, x), alpha, np.empty(0, complex), angle, 0.0, np.array([0.0, 0.0, 1.0]))
    return critical_curve(
        (
            Parameter(FunctionMap(henon, parameters=given), BOTH[0], *bounds[0]),
            Parameter(FunctionMap(henon, parameters=given), BOTH[1], *bounds[1]),
        ),
        at,
    )


def place(x, beta, R, S):
    """Return the parameters at which x is a fixed point of the generalised Henon map."""
    return (1 + beta) * x - (R - 1) * x**2 - S * x**3, beta


@pytest.fixture(scope="module")
def invariant_curves():
    return curve_from("Neimark-Sacker point", 0.0, 0.0, 0.3, -0.2, angle=np.pi / 2)


@pytest.mark.slow
def test_the_generalised_henon_map_has_its_chenciner_point_and_resonances(invariant_curves):
    r"""With kappa = 6 S x - 2 the first Lyapunov coefficient is -R (2 R + kappa) / (8 (2 - trace)).

    It follows from the formula in four numbers g of a planar map, Kuznetsov's (4.20), for |q|^2 = 2, and vanishes at
    x = (1 - R) / (3 S). At resonances the trace is 2 cos theta.
    """
    R, S = 0.3, -0.2
    found = {d.kind: d for d in invariant_curves.degeneracies}
    x = (1 - R) / (3 * S)
    at = found["Chenciner point"]
    assert (at.first, at.second) == pytest.approx(place(x, 1 + R * x, R, S), abs=1e-8)
    assert np.ravel(at.state) == pytest.approx([x, x], abs=1e-8)
    kinds = ["1:2", "1:3", "1:4", "Chenciner", "1:4", "1:3", "1:2"]
    order = [d.kind.split()[0] for d in invariant_curves.degeneracies]
    assert order in (kinds, kinds[::-1])
    for name, trace in (("1:2", -2), ("1:3", -1), ("1:4", 0)):
        expected = sorted(place(x, 1 + R * x, R, S) for x in np.roots([3 * S, R - 2, -trace]))
        places = sorted((d.first, d.second) for d in invariant_curves.degeneracies if d.kind.startswith(name))
        assert np.allclose(places, expected, atol=1e-7)
    assert "Chenciner point at (-1.28981, 0.65) with L2 = " in str(invariant_curves)


@pytest.mark.slow
def test_resonances_of_the_henon_map_have_the_coefficients_of_their_quadratic_and_cubic_terms(invariant_curves):
    """Of the eigenvector (1, lambda) with <p, v> = (v_2 - conj(lambda) v_1) / (lambda - conj(lambda))."""
    for d in invariant_curves.degeneracies:
        x = float(np.ravel(d.state)[0])
        kappa, S, R = 6 * -0.2 * x - 2, -0.2, 0.3
        form = lambda u, v, R=R, kappa=kappa: R * (u[0] * v[1] + u[1] * v[0]) + kappa * u[1] * v[1]
        angle = {"1:3 resonance": TURN / 3, "1:4 resonance": np.pi / 2}.get(d.kind)
        if angle is None:
            continue
        m = np.exp(1j * angle)
        q, A = np.array([1, m]), np.array([[0, 1], [-1, 2 * np.cos(angle)]])
        c = 1 / (m - m.conj())
        g02, g21 = c * form(q.conj(), q.conj()), c * 6 * S * m
        moved = lambda rate, value, A=A: np.linalg.solve(rate * np.eye(2) - A, np.array([0, value]))
        steady = moved(1, form(q, q.conj()))
        if d.kind == "1:3 resonance":
            along = form(q, q) * np.array([0, 1]) - np.conj(g02) * q.conj()  # without what is along conj(q)
            double = np.linalg.lstsq(m**2 * np.eye(2) - A, along, rcond=1e-12)[0]
            double = double - (double @ np.array([-m, 1]) / (m.conj() - m)) * q.conj()
            cubic = (g21 + 2 * c * form(q, steady) + c * form(q.conj(), double)) / 2
            expected = ((m.conj() * cubic).real / abs(g02 / 2) ** 2 - 1) / 3
            assert d.coefficients == pytest.approx((expected,), rel=1e-6)
        else:
            double, other = moved(m**2, form(q, q)), moved(m.conj() ** 2, form(q.conj(), q.conj()))
            cubic = (g21 + 2 * c * form(q, steady) + c * form(q.conj(), double)) / 2
            last = (c * 6 * S * m.conj() ** 3 + 3 * c * form(q.conj(), other)) / 6
            expected = -1j * cubic / abs(last)
            assert d.coefficients == pytest.approx((expected.real, expected.imag), rel=1e-6)


@pytest.mark.slow
def test_the_generalised_henon_map_has_its_generalised_period_doubling_and_none_at_poles():
    """Its coefficient is zero where 6 (S x)^2 - 4 (1 + R) S x + 1 + R = 0, and has poles at other degenerate points."""
    R, S = -1.5, -0.2
    found = curve_from("period doubling", -0.5, (R - 2) * -0.5 + 3 * S * 0.25, R, S)
    at = [(d.first, d.second) for d in found.degeneracies if d.kind == "generalised period doubling"]
    x = (4 * (1 + R) + np.sqrt(16 * (1 + R) ** 2 - 24 * (1 + R))) / 12 / S
    assert np.allclose(at, [place(x, 2 * x - 3 * S * x**2 - 1, R, S)], atol=1e-7)
    poles = curve_from("period doubling", 0.5, (0.3 - 2) * 0.5 + 3 * S * 0.25, 0.3, S)
    kinds = [d.kind for d in poles.degeneracies]
    assert sorted(kinds) == ["1:2 resonance"] * 2 + ["fold-flip point"] * 2


@pytest.mark.slow
def test_a_pole_of_a_test_function_is_no_degenerate_point(monkeypatch):
    tests = {"pole": lambda point: 1 / (point.parameter - 0.1234), "zero": lambda point: point.parameter - 0.1234}
    monkeypatch.setattr(CriticalReturns, "tests", lambda self: tests)
    monkeypatch.setattr(two_parameters, "_degeneracy", lambda curve, kind, place: SimpleNamespace(kind=kind))
    found = curve_from("period doubling", 0.5, (0.3 - 2) * 0.5 + 3 * -0.2 * 0.25, 0.3, -0.2)
    kinds = [d.kind for d in found.degeneracies]
    assert "zero" in kinds
    assert "pole" not in kinds


@pytest.mark.slow
def test_coefficients_of_a_map_are_those_in_its_own_units(invariant_curves):
    """In a unit of 1e-9 of the state L2 is 1e36 times as large, those of resonances stay."""
    small = curve_from("Neimark-Sacker point", 0.0, 0.0, 0.3, -0.2, size=1e-9, angle=np.pi / 2)
    power = lambda d: 1e36 if d.kind == "Chenciner point" else 1.0
    kept = {(d.kind, round(d.first, 3)): d.coefficients for d in invariant_curves.degeneracies}
    assert len(small.degeneracies) == len(kept)
    for d in small.degeneracies:
        expected = np.array(kept[d.kind, round(d.first, 3)]) * power(d)
        assert np.array(d.coefficients) == pytest.approx(expected, rel=1e-5, nan_ok=True)


def bent(k, x, turn, b, c, d, e, size):
    """A number w to w (turn + c |w|^2 + e |w|^4) + b conj(w)^2 + d conj(w)^3, of w = size x_0 + i (x_1 + 0.4 x_0^2).

    All coefficients are pairs of real numbers.
    """
    del k
    times = lambda u, v: jnp.stack([u[0] * v[0] - u[1] * v[1], u[0] * v[1] + u[1] * v[0]])
    w = jnp.stack([size * x[0], x[1] + 0.4 * x[0] ** 2])
    r, back = jnp.sum(w**2), w * jnp.asarray([1.0, -1.0])
    image = times(w, turn + c * r + e * r**2) + times(times(b, back), back) + times(times(d, back), times(back, back))
    first = image[0] / size
    return jnp.stack([first, image[1] - 0.4 * first**2])


def real_chart(step):
    system = FunctionMap(step)
    A = np.asarray(jax.jacfwd(lambda x: system.step(0, x))(jnp.zeros(2)))
    return MapChart(system, jnp.zeros(2), np.eye(2), 1), A


def test_a_double_multiplier_one_has_the_coefficients_of_its_normal_form():
    """Of w_0 to w_0 + w_1, w_1 to w_1 + a w_0^2 + b w_0 w_1, seen from bent coordinates: w = (x_0 + 0.3 x_0^2, x_1)."""
    a, b = 0.7, -0.4

    def step(k, x):
        del k
        w = x[0] + 0.3 * x[0] ** 2
        first, second = w + x[1], x[1] + a * w**2 + b * w * x[1]
        return jnp.stack([(jnp.sqrt(1 + 1.2 * first) - 1) / 0.6, second])

    chart, A = real_chart(step)
    assert double_coefficients(chart, A - np.eye(2)) == pytest.approx((a, b), rel=1e-9)


def test_a_cusp_has_the_coefficient_of_its_normal_form():
    """Of u to u + c u^3 + a u v, v to v / 2 + u^2, where v = 2 u^2, seen from bent coordinates with u = 2 x_0 + ..."""
    a, c = 0.3, -0.6

    def step(k, x):
        del k
        u, v = 2 * x[0] + 0.3 * x[1] ** 2, x[1]
        u, v = u + c * u**3 + a * u * v, v / 2 + u**2
        return jnp.stack([(u - 0.3 * v**2) / 2, v])

    chart, A = real_chart(step)
    assert cusp_coefficient(chart, A - np.eye(2)) == pytest.approx((c + 2 * a) * 2**2, rel=1e-9)


class Turning(AbstractMap):
    """At the pole of the sphere the bent map above, by central projection of the plane."""

    e: jax.Array
    space: Sphere = Sphere()

    def step(self, k, x):
        turn, zero = jnp.asarray([np.cos(1.0), np.sin(1.0)]), jnp.zeros(2)
        c = 0.3 * jnp.asarray([-turn[1], turn[0]])
        image = bent(k, x[:2] / x[2], turn, zero, c, zero, self.e, 1.0)
        return self.space.project(jnp.concatenate([image, jnp.ones(1)]))


@pytest.mark.slow
def test_a_chenciner_coefficient_does_not_depend_on_the_coordinates_of_a_sphere():
    turn = np.exp(1j)
    e = (0.4 + 0.2j) * turn
    basis = np.eye(3)[:, :2]
    A = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    chart = MapChart(Turning(jnp.asarray([e.real, e.imag])), jnp.asarray([0.0, 0.0, 1.0]), basis, 1)
    assert chenciner_coefficient(chart, A, 1.0) == pytest.approx((0.4 + 0.3**2 / 2) * 4, rel=1e-8)


@pytest.mark.slow
def test_a_coefficient_is_bounded_where_its_terms_have_a_pole():
    assert Coefficient(-3e9, 3e9).bounded == pytest.approx(-1.0, abs=1e-9)
    assert Coefficient(1e-9, 2e-9).bounded == pytest.approx(1e-9, rel=1e-8)


def torus(t, x, p, q):
    """Beside the unit circle z' = (p + q |z|^2 - |z|^4) z + 0.15 i z, for z = x_3 + i x_4."""
    del t
    r = x[2] ** 2 + x[3] ** 2
    rest, pull, w = 1 - x[0] ** 2 - x[1] ** 2, p + q * r - r**2, 0.15
    circle = [rest * x[0] - x[1], x[0] + rest * x[1]]
    return jnp.stack([*circle, pull * x[2] - w * x[3], w * x[2] + pull * x[3]])


def ribbon(t, x, p, q):
    """Beside the unit circle, in a frame that makes half a turn, u' = (p + q u^2 - u^4) u and v' = -0.3 v."""
    del t
    rest = 1 - x[0] ** 2 - x[1] ** 2
    u2 = ((1 + x[0]) * x[2] ** 2 + (1 - x[0]) * x[3] ** 2) / 2 + x[1] * x[2] * x[3]
    first, second = p + q * u2 - u2**2, -0.3
    mean, half = (first + second) / 2, (first - second) / 2
    circle = [rest * x[0] - x[1], x[0] + rest * x[1]]
    across = [x[0] * x[2] + x[1] * x[3], x[1] * x[2] - x[0] * x[3]]
    return jnp.stack([*circle, mean * x[2] - x[3] / 2 + half * across[0], x[2] / 2 + mean * x[3] + half * across[1]])


@pytest.mark.slow
@pytest.mark.parametrize(("field", "degenerate"), [(torus, "Chenciner point"), (ribbon, "generalised period doubling")])
def test_bifurcations_of_orbits_change_their_criticality_where_the_cubic_term_vanishes(field, degenerate):
    flow = FunctionFlow(field, parameters={"p": -0.1, "q": -0.23})
    takes = (lambda f: f.parameters["p"], lambda f: f.parameters["q"])
    circle = periodic_orbit(flow, jnp.asarray([1.0, 0.0, 0.0, 0.0]), TURN, segments=2)
    (point,) = continue_orbits(Parameter(flow, takes[0], -0.2, 0.2), circle).bifurcations
    assert point.criticality == "supercritical"
    found = critical_curve((Parameter(flow, takes[0], -1.0, 1.0), Parameter(flow, takes[1], -0.5, 0.5)), point)
    assert np.allclose(found.first, 0.0, atol=1e-8)
    assert [d.kind for d in found.degeneracies] == [degenerate]
    assert found.degeneracies[0].second == pytest.approx(0.0, abs=1e-7)
    assert found.degeneracies[0].coefficients == ()


@pytest.mark.slow
def test_a_cusp_of_orbits_has_the_coefficient_of_the_return_map():
    """For s = r^2 - 1 and rho = r - 1 the flow is rho' = -8 rho^3 to the third order there, as the coefficient is."""

    def field(t, x, p, q):  # r' = r (p + q s - s^3)
        del t
        s = jnp.sum(x**2) - 1
        return (p + q * s - s**3) * x + jnp.stack([-x[1], x[0]])

    flow, s = FunctionFlow(field, parameters={"p": 2 * 0.1**1.5, "q": 0.3}), -np.sqrt(0.1)
    angles = TURN * np.arange(3) / 3
    nodes = np.sqrt(1 + s) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    at = Bifurcation("fold", Cycle(nodes, np.asarray(TURN)), 2 * 0.1**1.5, np.empty(0, complex), 0.0, 0.0, np.zeros(8))
    takes = (lambda f: f.parameters["p"], lambda f: f.parameters["q"])
    found = critical_curve((Parameter(flow, takes[0], -1.0, 1.0), Parameter(flow, takes[1], -0.1, 0.4)), at)
    ((kind, p, q, coefficients),) = [(d.kind, d.first, d.second, d.coefficients) for d in found.degeneracies]
    assert (kind, p, q) == ("cusp", pytest.approx(0.0, abs=1e-7), pytest.approx(0.0, abs=1e-6))
    assert coefficients == pytest.approx((-8.0,), rel=1e-4)

"""Pitchforks and transcritical bifurcations, held against normal forms in other coordinates and published systems."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.normal_forms.branch_points import branch_form
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.parameter import Parameter

FORMS = {
    "r x - x^3": (lambda x, r: [r - 3 * x**2, x], "pitchfork", -1.0),
    "r x + x^3 - x^5": (lambda x, r: [r + 3 * x**2 - 5 * x**4, x], "pitchfork", 1.0),
    "-r x - x^3": (lambda x, r: [-r - 3 * x**2, -x], "pitchfork", -1.0),
    "r x - 2 x^2": (lambda x, r: [r - 4 * x, x], "transcritical", -2.0),
    "sin(r) (exp(x) - 1) + x^2": (
        lambda x, r: [np.sin(r) * np.exp(x) + 2 * x, np.cos(r) * np.expm1(x)], "transcritical", 1.0,
    ),
    "r x - x^5": (lambda x, r: [r - 5 * x**4, x], "degenerate", np.nan),
    "x (r^2 - x)": (lambda x, r: [r**2 - 2 * x, 2 * x * r], "degenerate", np.nan),
    "x (r^2 - x^2)": (lambda x, r: [r**2 - 3 * x**2, 2 * x * r], "degenerate", np.nan),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_normal_forms_in_random_coordinates(name):
    """Two stable components follow the critical one; states are mixed, and shifted with the parameter."""
    derivative, form, c = FORMS[name]
    rng = np.random.default_rng(0)
    for _ in range(5):
        frame, shear, unit = rng.normal(size=(3, 3)), rng.normal(size=3), rng.uniform(0.5, 2)

        def derivatives(z, frame=frame, shear=shear, unit=unit):
            u, r = np.linalg.solve(frame, z[:3] - shear * z[3]), unit * z[3]
            J = np.diag([0.0, -1.0, -2.0])
            J[0, 0], by_r = derivative(u[0], r)
            J[1, 2], J[2, 2] = u[2], u[1] - 2.0  # a term of the stable components alone
            J = frame @ J @ np.linalg.inv(frame)
            return np.column_stack([J, frame[:, 0] * by_r * unit - J @ shear])

        found = branch_form(derivatives, derivatives(np.zeros(4)))
        assert found.kind == form
        length = np.linalg.norm(frame[:, 0]) ** (2 if form == "pitchfork" else 1)
        assert abs(found.coefficient.value) * length == pytest.approx(abs(c), rel=1e-6, nan_ok=True)
        if form == "pitchfork":  # the sign of a quadratic term depends on that of the critical vector
            assert np.sign(found.coefficient.value) == np.sign(c)


def test_forms_that_are_not_decided_say_why():
    jordan = lambda z: np.array([[0.0, 1.0, 0.0], [z[2] + z[0], 0.0, z[0]]])
    assert branch_form(jordan, jordan(np.zeros(3))).why == "the eigenvalue 0 is not simple"
    rough = lambda z: np.array([[z[1] + np.sin(1e5 * z[0]) / 1e3, z[0]]])
    assert branch_form(rough, rough(np.zeros(2))).why == "the coefficients are as small as their errors"
    undefined = lambda z: np.array([[z[1] - np.sqrt(z[0]), z[0]]])
    with np.errstate(invalid="ignore"):
        assert branch_form(undefined, undefined(np.zeros(2))).why == "the equations are not finite beside it"


@pytest.mark.parametrize(("small", "form"), [(1e-4, "transcritical"), (1e-9, "pitchfork"), (0.0, "pitchfork")])
def test_a_small_quadratic_term_makes_a_pitchfork_transcritical(small, form):
    at = lambda z: np.array([[z[1] + 2 * small * z[0] - 3 * z[0] ** 2, z[0]]])
    assert branch_form(at, at(np.zeros(2))).kind == form


@pytest.mark.parametrize("error", [0.0, 1e-15, 1e-9])
def test_an_error_of_the_location_does_not_let_a_touching_eigenvalue_cross(error):
    """The lines x = 0, twice, and x = a, of x^2 (x - a): all second derivatives vanish where they meet."""
    at = lambda z: np.array([[3 * (z[0] + error) ** 2 - 2 * z[1] * (z[0] + error), -((z[0] + error) ** 2)]])
    found = branch_form(at, at(np.zeros(2)))
    assert (found.kind, found.why) == ("degenerate", "the eigenvalue does not cross 0 at first order")


def test_a_line_of_equilibria_at_one_value_has_no_cubic_term_although_its_place_has_errors():
    """Moore and Spiegel's oscillator at T = 0, x' = y, y' = z, z' = -z - (T - 20 + 20 x^2) y - T x: all y = z = 0."""

    def at(z):
        x, T = z[0], z[3] - 6.5e-19
        b = T - 20 + 20 * x**2
        return np.array([[0, 1, 0, 0], [0, 0, 1, 0], [-40 * x * z[1] - T, -b, -1, -z[1] - x]]) / [1, 4, 16, 1]

    assert branch_form(at, at(np.zeros(4))).why == "the cubic coefficient is 0"


def points(system, name, low, high, start) -> tuple[Bifurcation, ...]:
    return continue_equilibria(Parameter(system, name, low, high), start).bifurcations


def test_lorenz_has_a_supercritical_pitchfork():
    """On the centre manifold x = y = a: a' = sigma / (sigma + 1) ((rho - 1) a - a^3 / beta)."""
    (found,) = points(Lorenz(rho=0.5), "rho", 0.0, 3.0, [0.0, 0.0, 0.0])
    assert str(found) == "branch point at 1 (supercritical pitchfork)"
    assert (found.title, found.criticality) == ("supercritical pitchfork", "supercritical")
    assert found.coefficient == pytest.approx(-10 / 11 / (8 / 3) / 2, rel=1e-7)


def test_an_epidemic_is_transcritical_in_its_own_units():
    """Susceptible and infected people in millions of people and days; the coefficient has their units."""
    size, b, g, m = 1e6, 0.3, 0.5, 0.1

    def field(t, x, b=b):
        new = b * x[0] * x[1] / size
        return jnp.stack([m * (size - x[0]) - new, new - (g + m) * x[1]])

    (found,) = points(FunctionFlow(field, parameters={"b": b}), "b", 0.1, 2.0, [size, 0.0])
    assert str(found) == "branch point at 0.6 (transcritical)"
    assert found.title == "transcritical bifurcation"
    v = np.array([-(g + m) / m, 1.0])  # on the centre manifold the first component is size + v0 times the second one
    assert abs(found.coefficient) == pytest.approx((g + m) / size * abs(v[0]) / np.linalg.norm(v), rel=1e-6)


def test_maps_and_double_eigenvalues_have_forms():
    (found,) = points(FunctionMap(lambda k, x, r=0.5: r * x * (1 - x), parameters={"r": 0.5}), "r", 0.1, 2.0, [0.0])
    assert (str(found), found.form) == ("branch point at 1 (transcritical)", "transcritical")
    double = FunctionFlow(lambda t, x, r=-1.0: r * x - x**3, parameters={"r": -1.0})
    (found,) = points(double, "r", -1.0, 1.0, [0.0, 0.0])
    assert str(found).endswith("(degenerate: 2 eigenvalues are 0)")
    assert found.title == "degenerate branch point"


def test_rounding_does_not_make_a_double_zero_simple():
    c, s = np.cos(0.3), np.sin(0.3)
    Q = np.array([[c, -s], [s, c]])
    J = Q @ np.array([[0.0, 1.0], [0.0, 0.0]]) @ Q.T  # its critical vectors have the product 0 up to rounding
    found = branch_form(lambda z: np.column_stack([J, np.zeros(2)]), np.column_stack([J, np.zeros(2)]))
    assert (found.kind, found.why) == ("degenerate", "the eigenvalue 0 is not simple")


def test_a_mixed_coefficient_as_small_as_its_error_does_not_decide():
    rough = lambda z: np.array([[-3 * z[0] ** 2 + 1e-5 * np.sin(1e7 * z[1]), 0.0]])
    found = branch_form(rough, rough(np.zeros(2)))
    assert (found.kind, found.why) == ("", "the coefficients are as small as their errors")

"""Normal forms of maps: doublings, Neimark-Sacker points, folds, against closed forms; on a sphere; resonances."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.equilibria import continue_equilibria, switch
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.normal_forms.charts import MapChart
from analysis.dynamics.normal_forms.cycles import Sections, cycle_cusp, cycle_flip, cycle_fold, cycle_neimark_sacker
from dynsim.programs import without_compiling
from dynsim.spaces import Ellipsoid, Euclidean, Sphere
from dynsim.systems.base import AbstractMap, FunctionMap
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter


class Delayed(AbstractMap):
    """The delayed logistic map, (x, y) to (r x (1 - y), x), whose fixed point has the multipliers exp(+-i pi/3) at 2.

    With the critical vector (exp(i pi/3), 1) of length sqrt 2 its coefficient is -2 there, of length one it is -1.
    """

    r: object = parameter("r", 1.9)
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return jnp.stack([self.r * x[0] * (1 - x[1]), x[0]])


class Turned(AbstractMap):
    """A rotation of the plane by an angle, times 1 + p + q |x|^2; with |x|^2 = 2 |z|^2 its coefficient is 2 q."""

    p: object = parameter("p", -0.1)
    q: object = parameter("q", 0.0)
    angle: object = parameter("angle", 1.0)
    space: Euclidean = Euclidean()

    def step(self, k, x):
        c, s = jnp.cos(self.angle), jnp.sin(self.angle)
        turned = jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])
        return turned * (1 + self.p + self.q * jnp.sum(x**2))


class Flipped(AbstractMap):
    """The normal form of a doubling: x to -(1 + p) x + q x^3."""

    p: object = parameter("p", -0.1)
    q: object = parameter("q", 0.0)
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return -(1 + self.p) * x + self.q * x**3


class OnEllipsoid(AbstractMap):
    """The delayed map about its fixed point (1/2, 1/2), on half of an ellipsoid by central projection."""

    space: Ellipsoid = Ellipsoid(jnp.asarray([[1.0, 0.4, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]]))

    def step(self, k, x):
        moved = Delayed(r=2.0).step(k, x[1:] / x[0] + 0.5) - 0.5
        return self.space.project(jnp.concatenate([jnp.ones(1), moved]))


def bifurcations(map, where, start, bounds, **options):
    """Return the bifurcations of a branch of fixed points."""
    return continue_equilibria(Parameter(map, where, *bounds), jnp.asarray(start), **options).bifurcations


@pytest.mark.slow
def test_the_doubling_of_the_logistic_map_has_its_coefficient_and_is_said():
    """At r = 3 the second derivative is -6 and the third 0: c = 36 / 4. The Schwarzian derivative is negative."""
    branch = continue_equilibria(Parameter(Logistic(r=2.8), lambda f: f.r, 2.8, 3.2), jnp.asarray([0.6]))
    (doubling,) = branch.bifurcations
    assert (doubling.coefficient, doubling.criticality) == (pytest.approx(9.0, abs=1e-7), "supercritical")
    assert str(doubling) == "period doubling at 3 (supercritical)"
    doubled = switch(Parameter(Logistic(r=2.8), lambda f: f.r, 2.8, 3.5), doubling)[0]
    (again,) = doubled.bifurcations  # of the second iterate, at 1 + sqrt 6
    assert again.parameter == pytest.approx(1 + 6**0.5, abs=1e-8)
    x = float(again.state[0])
    second = lambda x: again.parameter * (1 - 2 * x)  # the derivative of one step
    image = again.parameter * x * (1 - x)
    r, a, b = again.parameter, second(x), second(image)
    bend, third = -2 * r * (b + a**2), 12 * r**2 * a  # derivatives of the second iterate, by the chain rule
    assert (again.coefficient, again.criticality) == (pytest.approx(third / 6 + bend**2 / 4), "supercritical")


@pytest.mark.parametrize(("q", "criticality"), [(0.5, "supercritical"), (-0.5, "subcritical"), (0.0, "degenerate")])
def test_a_doubling_is_on_the_side_of_its_cubic_term(q, criticality):
    (doubling,) = bifurcations(Flipped(q=q), lambda f: f.p, [0.0], (-0.1, 0.1))
    assert (doubling.coefficient, doubling.criticality) == (pytest.approx(q, abs=1e-12), criticality)


def test_the_invariant_curve_of_the_delayed_logistic_map_is_stable():
    (point,) = bifurcations(Delayed(), lambda f: f.r, [0.47, 0.47], (1.9, 2.1))
    assert (point.parameter, point.frequency) == pytest.approx((2.0, np.pi / 3), abs=1e-9)
    assert (point.coefficient, point.criticality) == (pytest.approx(-1.0, abs=1e-7), "supercritical")


@pytest.mark.slow
@pytest.mark.parametrize(("q", "criticality"), [(-0.5, "supercritical"), (0.5, "subcritical"), (0.0, "degenerate")])
def test_an_invariant_curve_is_on_the_side_of_its_cubic_term(q, criticality):
    (point,) = bifurcations(Turned(q=q), lambda f: f.p, [0.0, 0.0], (-0.1, 0.1))
    assert (point.coefficient, point.criticality) == (pytest.approx(2 * q, abs=1e-9), criticality)


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "order"), [(2 * np.pi / 3, 3), (np.pi / 2, 4), (2 * np.pi / 5, 0)])
def test_strong_resonances_are_said_and_decide_nothing(angle, order):
    (point,) = bifurcations(Turned(q=-0.5, angle=angle), lambda f: f.p, [0.0, 0.0], (-0.1, 0.1))
    assert point.resonance == order
    assert point.criticality == ("" if order else "supercritical")
    assert str(point).endswith(f" (strong resonance 1:{order})" if order else " (supercritical)")


@pytest.mark.slow
def test_the_coefficient_of_a_map_does_not_depend_on_the_coordinates():
    """The step (a, b) in the plane is (-2/5 a, a, b) at (1, 0, 0): (exp(i pi/3), 1) has 2.16 instead of 2."""
    basis = np.linalg.qr(np.array([[-0.4, 0.0], [1.0, 0.0], [0.0, 1.0]]))[0]
    plane = np.array([[1.0, -1.0], [1.0, 0.0]])
    along = basis.T @ np.array([[-0.4, 0.0], [1.0, 0.0], [0.0, 1.0]])
    chart = MapChart(OnEllipsoid(), jnp.asarray([1.0, 0.0, 0.0]), basis, 1)
    found = cycle_neimark_sacker(Sections([chart], (along @ plane @ np.linalg.inv(along))[None]), np.pi / 3)
    assert found.coefficient.value == pytest.approx(-1 / 1.08, abs=1e-10)


@pytest.mark.slow
def test_a_fold_of_a_map_has_its_curvature():
    """Fixed points of 1 - a x^2 + b x: a = (1 - (1 - b) x) / x^2, whose second derivative at its extremum is c / 2."""
    b = 0.3
    found = bifurcations(Henon(a=-0.08, b=b), lambda f: f.a, [1.8, 0.54], (-0.2, -0.08), steps=Steps(first=0.2))
    (fold,) = (point for point in found if point.kind == "fold")
    x = 2 / (1 - b)
    assert (fold.parameter, float(fold.state[0])) == pytest.approx((-((1 - b) ** 2) / 4, x), abs=1e-6)
    curvature = (6 / x**4 - 2 * (1 - b) / x**3) / 2
    assert fold.coefficient == pytest.approx(curvature / (1 + b**2), abs=1e-6)  # at the distance s along (1, b)
    assert fold.criticality == ""


def test_quadratic_and_cubic_terms_of_a_doubling_and_of_an_invariant_curve_both_count():
    """At the doublings of the Henon and the logistic map as above; x^3 adds 1 to c, and a rotation has 2 q."""
    b = 0.3
    a = 3 * (1 - b) ** 2 / 4
    x = (1 - b) / (2 * a)
    henon = lambda u: jnp.stack([u[1] - a * u[0] ** 2 - 2 * a * x * u[0], b * u[0]])
    turn = np.exp(1j)
    rotated = lambda u: jnp.asarray([[turn.real, -turn.imag], [turn.imag, turn.real]]) @ u * (1 + 0.7 * jnp.sum(u**2))
    with without_compiling():
        found = cycle_flip(Sections([henon], np.array([[[-2 * a * x, 1.0], [b, 0.0]]])))
        assert found.coefficient.value == pytest.approx(a**2 / (1 - b**4), rel=1e-12)
        found = cycle_flip(Sections([lambda u: -u - 3 * u**2 + u**3], np.array([[[-1.0]]])))
        assert found.coefficient.value == pytest.approx(10.0)
        plane = np.array([[[turn.real, -turn.imag], [turn.imag, turn.real]]])
        assert cycle_neimark_sacker(Sections([rotated], plane), 1.0).coefficient.value == pytest.approx(1.4, rel=1e-12)


def test_a_coefficient_with_another_critical_multiplier_is_not_known():
    chart = MapChart(Turned(), jnp.zeros(2), np.eye(2), 1)
    assert cycle_flip(Sections([chart], np.diag([-1.0, 1.0])[None])) is None
    assert cycle_flip(Sections([chart], np.array([[[-1.0, 1.0], [0.0, -1.0]]]))) is None
    third = np.array([[[-0.5, -(0.75**0.5)], [0.75**0.5, -0.5]]])
    assert cycle_neimark_sacker(Sections([chart], third), 2 * np.pi / 3) is None
    assert cycle_cusp(Sections([chart], np.array([[[1.0, 1.0], [0.0, 1.0]]]))) is None
    assert cycle_fold(Sections([chart], np.diag([1.0, 0.5])[None]), np.array([[0.0, 3.0]])) is None


def test_the_cubic_term_of_a_cusp_has_that_of_its_centre_manifold():
    """On y = 2 b x^2 the map (x + a x y + c x^3, y / 2 + b x^2) is x + (c + 2 a b) x^3."""
    a, b, c = 0.7, -1.3, 0.4
    chart = lambda u: jnp.stack([u[0] + a * u[0] * u[1] + c * u[0] ** 3, u[1] / 2 + b * u[0] ** 2])
    with without_compiling():
        found = cycle_cusp(Sections([chart], np.diag([1.0, 0.5])[None]))
    assert found is not None
    assert found.coefficient.value == pytest.approx(c + 2 * a * b)


def test_a_rotation_of_a_sphere_about_a_state_is_that_of_its_tangent_plane():
    turned = FunctionMap(lambda k, x: jnp.stack([-x[1], x[0], x[2]]), Sphere())
    chart, u = MapChart(turned, jnp.array([0.0, 0.0, 1.0]), np.eye(3)[:, :2], 3), np.array([0.02, -0.03])
    np.testing.assert_allclose(chart(jnp.asarray(u)), [u[1], -u[0]], atol=1e-8)

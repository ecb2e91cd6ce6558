"""Locations of bifurcations, and periods, are differentiated: values and derivatives agree with closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import bifurcation_point, continue_equilibria, orbit_period, periodic_orbit, switch
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.differentiable import _chart, _guess

BRUSSELATOR = ds.catalogue.Brusselator(a=1.0, b=1.5)


def test_the_hopf_point_of_the_brusselator_is_moved_to_a_wished_parameter():
    """It is at b = 1 + a^2, with the frequency a."""
    (hopf,) = continue_equilibria(ds.Parameter(BRUSSELATOR, "b", 1.0, 3.0), [1.0, 1.5]).bifurcations

    def place(a):
        found = bifurcation_point(ds.catalogue.Brusselator(a=a, b=1.5), "b", hopf)
        return found.parameter, found

    slope, a = jax.jit(jax.value_and_grad(place, has_aux=True)), 1.0
    for _ in range(6):  # Newton's method for the wish b = 4
        (value, found), change = slope(a)
        a -= (value - 4.0) / change
    assert (float(a), float(found.frequency)) == (pytest.approx(3**0.5), pytest.approx(3**0.5))
    assert np.asarray(found.state) == pytest.approx([3**0.5, 4 / 3**0.5])
    with pytest.raises(ValueError, match="`at` must be a fold, a Hopf point of equilibria or fixed points, but is a p"):
        bifurcation_point(BRUSSELATOR, "b", hopf._replace(kind="period doubling"))
    with pytest.raises(ValueError, match="`system` must be a flow or a map, but is 3"):
        bifurcation_point(3, "b", hopf)


def test_the_first_states_at_gauss_points_are_integrated_from_each_node():
    nodes, c = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.25, 0.75])
    found = _guess(lambda x: x * jnp.array([1.0, -2.0]), jnp.asarray(nodes), jnp.array([0.1, 0.2]), 2, c)
    places = np.array([0.0, 0.25, 0.75, 1.0, 1.25, 1.75])
    exact = nodes[:, None] * np.exp(np.array([0.1, 0.2])[:, None, None] * places[:, None] * [1.0, -2.0])
    np.testing.assert_allclose(np.reshape(found, exact.shape), exact, rtol=1e-6)


TURNING = ds.system("x' = m*x - w*y - x*s; y' = w*x + m*y - y*s; w = 1 + m; s = x^2 + y^2; m = 1")


@pytest.mark.slow
def test_the_period_of_an_orbit_is_differentiated():
    """The period is 2 pi / (1 + m) on the circle of radius sqrt(m)."""
    orbit = periodic_orbit(TURNING, [1.0, 0.0], np.pi, segments=3)
    m = ds.Parameter(TURNING, "m", 0.1, 9.0)
    several = jax.jit(jax.vmap(jax.value_and_grad(lambda value: orbit_period(m.at(value), orbit))))
    values, slopes = several(jnp.array([0.8, 1.2, -0.5]))  # there is none at the last one
    assert values == pytest.approx([2 * np.pi / 1.8, 2 * np.pi / 2.2, np.nan], nan_ok=True)
    assert slopes == pytest.approx([-2 * np.pi / 1.8**2, -2 * np.pi / 2.2**2, np.nan], nan_ok=True)


CUSP = ds.system("x' = a + b*x - x^3; a = 0; b = 1")
LOGISTIC = ds.system("x[n+1] = r*x*(1 - s*y); y[n+1] = s*x; r = 1.7; s = 1")
HENON = ds.system("x[n+1] = 1 - a*x^2 + y; y[n+1] = b*x; a = 0.2; b = 0.3")


def turning_sphere(t, x, a=2.0, w=1.0):
    """An angle with the rate w - a sin(angle) - 0.3 cos(angle), on the circle."""
    return (w - a * x[1] - 0.3 * x[0]) * jnp.stack([-x[1], x[0]])


CIRCLE = ds.FunctionFlow(turning_sphere, space=ds.Sphere(), parameters={"a": 2.0, "w": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "varied", "start", "other", "at", "expected", "slope"),
    [
        (CUSP, ("a", -1.0, 1.0), [1.2], "b", 1.2, -((4 * 1.2**3 / 27) ** 0.5), -((1.2 / 3) ** 0.5)),
        (
            CIRCLE,
            ("a", 0.5, 3.0),
            [np.cos(0.35), np.sin(0.35)],
            "w",
            1.2,
            (1.2**2 - 0.09) ** 0.5,
            1.2 / (1.2**2 - 0.09) ** 0.5,
        ),
        (HENON, ("a", 0.1, 0.9), [0.97, 0.29], "b", 0.2, 3 * 0.8**2 / 4, -3 * 0.8 / 2),
        (LOGISTIC, ("r", 1.5, 2.5), [0.4, 0.4], "s", 1.1, 2.0, 0.0),
    ],
    ids=["fold", "fold on a circle", "period doubling", "Neimark-Sacker point"],
)
def test_points_move_with_another_parameter(system, varied, start, other, at, expected, slope):
    parameter = ds.Parameter(system, *varied)
    known = continue_equilibria(parameter, start).bifurcations[0]
    moved = ds.Parameter(system, other, -9.0, 9.0)
    place = lambda value: bifurcation_point(moved.at(value), varied[0], known).parameter
    for found, change in (jax.value_and_grad(place)(at), jax.jvp(place, (at,), (1.0,))):
        sign = np.sign(float(found)) if system is CUSP else 1.0
        assert (sign * float(found), sign * float(change)) == (
            pytest.approx(abs(expected)), pytest.approx(abs(slope) if system is CUSP else slope, abs=1e-9),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "moved", "name", "at", "expected"),
    [
        ("period doubling", ds.system("x[n+1] = 1 - a*x^2 + y; y[n+1] = b*x; a = 0.2; b = 0.2"), "a",
         (0.3675, [0.95238, 0.285714], 0.0), (0.48, [5 / 6, 1 / 6], 0.0)),
        ("Neimark-Sacker point", ds.system("x[n+1] = r*x*(1 - s*y); y[n+1] = s*x; r = 1.7; s = 1.1"), "r",
         (1.9, [0.5, 0.5], 1.0), (2.0, [0.5 / 1.21, 0.5 / 1.1], np.pi / 3)),
    ],
)  # fmt: skip
def test_bifurcations_of_maps_are_located_from_those_of_others(kind, moved, name, at, expected):
    """Doublings of Henon's map are at a = 3 (1 - b)^2 / 4, and the delayed logistic map turns at r = 2."""
    parameter, state, angle = at
    known = Bifurcation(kind, jnp.array(state), parameter, np.empty(0, complex), angle, 0.0, np.empty(0))
    found = bifurcation_point(moved, name, known)
    assert (float(found.parameter), float(found.frequency)) == pytest.approx((expected[0], expected[2]), abs=1e-8)
    np.testing.assert_allclose(found.state, expected[1], rtol=1e-8)


def test_iterates_are_displacements_and_a_flow_has_its_rates_in_coordinates_of_the_space():
    """The second iterate of x -> 3 x (1 - x); on the circle the angle of the point with the coordinate u is atan u."""
    square = _chart(ds.system("x[n+1] = 3*x*(1 - x)"), jnp.array([0.5]), jnp.eye(1), 2)
    assert float(square(jnp.array([0.1]))[0]) == pytest.approx(3 * 0.72 * 0.28 - 0.6)
    turning = _chart(CIRCLE, jnp.array([1.0, 0.0]), jnp.array([[0.0], [1.0]]), 1)
    rate = 1 - 2 * np.sin(np.arctan(0.75)) - 0.3 * np.cos(np.arctan(0.75))
    assert float(turning(jnp.array([0.75]))[0]) == pytest.approx(rate * (1 + 0.75**2))


@pytest.mark.slow
def test_a_thousand_hopf_points_of_the_lorenz_system_are_located_in_one_call():
    """They are at rho = sigma (sigma + beta + 3) / (sigma - beta - 1)."""
    rho = ds.Parameter(ds.catalogue.Lorenz(rho=0.5), "rho", 0.0, 30.0)
    (pitchfork,) = continue_equilibria(rho, jnp.zeros(3)).bifurcations
    (hopf,) = switch(rho, pitchfork)[0].bifurcations
    place = lambda beta: bifurcation_point(ds.catalogue.Lorenz(rho=0.5, beta=beta), "rho", hopf).parameter
    beta = jnp.linspace(2.0, 3.5, 1000)
    found, slopes = jax.vmap(jax.value_and_grad(place))(beta)
    expected = lambda beta: 10 * (13 + beta) / (9 - beta)
    assert np.allclose(found, expected(beta), rtol=1e-9)
    assert np.allclose(slopes, jax.vmap(jax.grad(expected))(beta), rtol=1e-7)

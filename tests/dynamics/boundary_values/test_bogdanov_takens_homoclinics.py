"""Homoclinic orbits beside Bogdanov-Takens points, from these and from long periodic orbits."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from analysis.dynamics.boundary_values.connecting import homoclinic_orbit
from analysis.dynamics.boundary_values.connection_curve import continue_connection
from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbits import orbit_of, orbits_from_hopf
from analysis.dynamics.continuation.steps import Steps
from dynsim.equations.system import system
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter


def homoclinic_value(q):
    """Find the value of p at which x' = y, y' = p + q x + x^2 + x y has a homoclinic orbit."""
    normal = lambda t, s, p, q: jnp.stack([s[1], p + q * s[0] + s[0] ** 2 + s[0] * s[1]])
    flow = FunctionFlow(normal, parameters={"p": -0.1 * q**2, "q": q})
    p = Parameter(flow, "p", -0.3 * q**2, 0.1 * q**2)
    start = [-(q + abs(q) * np.sqrt(1.4)) / 2, 0.0]
    hopf = next(one for one in continue_equilibria(p, start).bifurcations if one.kind == "Hopf point")
    longest = 40 / abs(q) ** 0.5
    cycles = orbits_from_hopf(p, hopf, method="collocation", max_period=longest, steps=Steps(first=0.1 * q**2))
    orbit = orbit_of(p, cycles, -1)
    assert orbit.period > longest / 2
    moved = Parameter(p.at(cycles.parameters[-1]), "p", p.low, p.high)
    return homoclinic_orbit(moved, orbit).parameter


@pytest.mark.slow
def test_homoclinic_orbits_begin_on_their_parabola():
    """Of p = -6/25 q^2 the relative error shrinks with q.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, theorem 8.4.
    """
    errors = [homoclinic_value(q) / q**2 + 6 / 25 for q in (-1.0, -0.25)]
    assert 0 < errors[1] < 0.4 * errors[0] < 0.02


def takens_point(flow, first, second, start):
    """Find a Bogdanov-Takens point on the curve of the first bifurcation, and give it with both parameters."""
    p, q = Parameter(flow, *first), Parameter(flow, *second)
    curve = critical_curve((p, q), continue_equilibria(p, start).bifurcations[0])
    return (p, q), next(one for one in curve.degeneracies if one.kind == "Bogdanov-Takens point")


PLANAR = "x' = y; y' = p + q*x + x^2 + x*y"
DRIVEN = "x' = 1e-5*y; y' = 0.1*(p + q*x + x^2 + x*y/100); z' = 1e-3*(-2*z + 100*x^2 + y)"
"""The same with a component that follows, in other units, and a thousand times as slow."""


@pytest.mark.parametrize(
    ("text", "start"), [pytest.param(PLANAR, [0.06, 0.0], marks=pytest.mark.slow), (DRIVEN, [0.06, 0.0, 0.2])]
)
def test_a_curve_of_homoclinic_orbits_begins_at_the_point_on_its_parabola(text, start):
    """It is p = -6/25 q^2 for x' = y, y' = p + q x + x^2 + x y."""
    flow = system(text, p=0.05, q=-1.0)
    both, corner = takens_point(flow, ("q", -2.0, 2.0), ("p", -1.0, 1.0), start)
    curve = continue_connection(both, corner, steps=Steps(points=3))
    away = 25 / 6 * curve.second[1:] / curve.first[1:] ** 2 + 1
    assert np.all((0.1 * np.abs(curve.first[1:]) < away) & (away < 0.13 * np.abs(curve.first[1:])))  # of the next order
    assert (curve.first[0], curve.second[0]) == (corner.first, corner.second)
    np.testing.assert_array_equal(curve.states.states[0], np.tile(corner.state, (len(curve.states.x[0]), 1)))
    assert np.all(np.diff(np.abs(curve.first)) > 0)
    assert curve.ends == ("Bogdanov-Takens point", "steps")
    assert curve.degeneracies == (corner,)
    sizes = np.ptp(curve.states.states, axis=1)
    np.testing.assert_allclose(
        sizes[1:, 0], -3 * 0.7 * curve.first[1:], rtol=0.02
    )  # from the saddle to the turning point


def test_other_points_have_no_homoclinic_orbits_beside_them():
    flow = system("x' = y; y' = p + q*x + x^2 + x*y", p=-0.1, q=-1.0)
    both = Parameter(flow, "p", -1.0, 1.0), Parameter(flow, "q", -2.0, 2.0)
    with pytest.raises(ArgumentError, match="must be a connecting orbit or a Bogdanov-Takens point, but is a cusp"):
        continue_connection(both, Degeneracy("cusp", np.zeros(2), 0.0, 0.0))


def gap(al, de, near):
    """Compute how far the unstable manifold of a saddle of Bazykin's system misses the stable one, beside a focus."""
    field = lambda t, z: [z[0] - z[0] * z[1] / (1 + al * z[0]) - 0.001 * z[0] ** 2,
                          -z[1] + z[0] * z[1] / (1 + al * z[0]) - de * z[1] ** 2]  # fmt: skip
    rest = scipy.optimize.fsolve(lambda z: field(0.0, z), near[0], xtol=1e-13)
    J = np.column_stack([
        (np.array(field(0.0, rest + h)) - field(0.0, rest - h)) / 2e-6 for h in 1e-6 * np.eye(2)
    ])  # fmt: skip
    values, vectors = np.linalg.eig(J)
    across = near[1] - rest
    met = []
    for k, way in ((int(np.argmax(values)), 1), (int(np.argmin(values)), -1)):
        start = rest + 1e-5 * vectors[:, k] * np.sign(vectors[:, k] @ across)
        side = lambda t, z: across[0] * (z[1] - rest[1]) - across[1] * (z[0] - rest[0])
        run = scipy.integrate.solve_ivp(
            lambda t, z, way=way: way * np.array(field(t, z)), (0.0, 300.0), start, rtol=1e-11, atol=1e-13, events=side
        )
        places = (run.y_events[0] - rest) @ across / (across @ across)
        met.append(float(places[places > 0.5][0]))
    return met[0] - met[1]


@pytest.mark.slow
def test_an_orbit_of_bazykins_system_lies_where_the_manifolds_of_its_saddle_meet():
    text = "x' = x - x*y/(1 + al*x) - 0.001*x^2; y' = -y + x*y/(1 + al*x) - de*y^2"
    both, corner = takens_point(system(text, al=0.3, de=0.1), ("al", 0.05, 0.9), ("de", 0.001, 1.0), [2.0, 2.0])
    curve = continue_connection(both, corner, steps=Steps(points=2))
    al, de, rows = float(curve.first[1]), float(curve.second[1]), curve.states.states[1]
    far = rows[np.argmax(np.linalg.norm(rows - rows[0], axis=1))]
    beside = [gap(al + move, de, (rows[0], far)) for move in (-1e-6, 1e-6)]
    assert beside[0] * beside[1] < 0


@pytest.mark.slow
def test_a_curve_goes_on_along_the_folds_where_its_saddle_vanishes_and_leaves_them_again():
    """That of the FitzHugh-Nagumo neuron; orbits in the plane have no inclination flips."""
    text = "v' = v - v^3/3 - w + current; w' = (v + 0.7 - b*w)/3"
    given = ("current", -0.5, 1.5), ("b", 0.5, 2.5)
    both, corner = takens_point(system(text, current=0.0, b=1.5), *given, [-1.2, -0.4])
    curve = continue_connection(both, corner)
    assert curve.ends == ("Bogdanov-Takens point", "saddle-node")
    last = curve.degeneracies[-1]
    kinds = [one.kind for one in curve.degeneracies]
    assert (kinds[0], kinds[-1]) == ("Bogdanov-Takens point", "non-central saddle-node homoclinic orbit")
    assert set(kinds[1:-1]) <= {"neutral saddle"}
    central = continue_connection(both, last)
    assert central.ends[0] == last.kind
    v = np.sign(last.state.states[0, 0]) * np.sqrt(1 - 1 / central.second)  # at folds
    np.testing.assert_allclose(central.first, (v + 0.7) / central.second - v + v**3 / 3, atol=1e-6)
    back = continue_connection(both, last, kind="homoclinic orbit", steps=Steps(points=3))
    order = np.argsort(curve.second)
    np.testing.assert_allclose(back.first, np.interp(back.second, curve.second[order], curve.first[order]), atol=1e-3)
    with pytest.raises(ArgumentError, match="`kind` must be left out, or be saddle-node homoclinic orbit or"):
        continue_connection(both, last, kind="fold")

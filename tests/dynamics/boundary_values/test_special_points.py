"""Special points along curves of homoclinic orbits, on flows whose orbit and points have closed forms.

All contain the loop u = 1 / cosh(t / 2)^2 of u'' = u - 3 u^2 / 2, which the first parameter breaks.
"""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.boundary_values import connection_curve, connection_equations
from analysis.dynamics.boundary_values.connecting import connecting_orbit
from analysis.dynamics.boundary_values.connection_curve import continue_connection
from analysis.dynamics.boundary_values.connection_equations import ConnectionCurve
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.boundary_values.projections import Projections
from analysis.dynamics.boundary_values.special_points import bounded_adjoint
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.meshes import Part
from analysis.dynamics.continuation.steps import Steps
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

TIMES = np.linspace(-9.0, 9.0, 400)
LOOP = np.cosh(TIMES / 2) ** -2.0


def special(field, names, size, second, inside=None):
    """Continue the loop in `mu` and a second parameter, and list its special points."""
    flow = FunctionFlow(field, parameters=names)
    mu = Parameter(flow, "mu", -1.0, 1.0)
    states = np.zeros((len(TIMES), size))
    states[:, 0], states[:, 1] = LOOP, -LOOP * np.tanh(TIMES / 2)
    states[:, 2:] = 0.0 if inside is None else inside(TIMES)[:, None]
    orbit = connecting_orbit(mu, np.zeros(size), np.zeros(size), guess=(TIMES, states), distance=1e-2)
    curve = continue_connection((mu, Parameter(flow, *second)), orbit, steps=Steps(first=0.4, points=60), rtol=1e-4)
    return [(one.kind, one.second) for one in curve.degeneracies]


def test_directions_are_those_at_both_ends_and_of_the_adjoint_at_equal_lengths_along_the_orbit(monkeypatch):
    J, curve = np.diag([-1.0, 2.0]), ConnectionCurve.__new__(ConnectionCurve)
    still = lambda *_: [np.zeros(2), np.zeros(2)]
    curve._conditions, curve.length = SimpleNamespace(linear=lambda x, own, p: (J @ x, J), rests=still), 1.0
    ahead, back, middle = np.array([[0.0, 0.1], [0.5, 0.5]]), np.array([[0.2, 0.0], [1.0, 0.2]]), [[3.0, 1.0]]
    nodes = np.column_stack([ahead, back, np.zeros((2, 4))])
    solved = SimpleNamespace(ends=np.array([[3.0, 1.0, 3.0, 1.0]]), maps=np.tile(np.eye(8), (2, 1, 1)))
    adjoint = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [1.0, 1.0], [0.0, -2.0]])
    monkeypatch.setattr(ConnectionCurve, "nodes", lambda *_: nodes)
    monkeypatch.setattr(ConnectionCurve, "solution", lambda *_: solved)
    monkeypatch.setattr(connection_equations, "bounded_adjoint", lambda *_: adjoint)
    found = curve.ends_of(
        CurvePoint(nodes, 0.0, None, None, np.zeros(1), np.ones(2), lambda: np.zeros(1), np.zeros((1, 0)))
    )
    np.testing.assert_array_equal(found.orbit, [[1.0, 0.0], [0.0, 1.0]])
    rows = np.vstack([ahead, middle, back[::-1]])
    lengths = np.append(0.0, np.cumsum(np.hypot(*np.diff(rows, axis=0).T)))
    at = lengths[-1] * np.arange(1, 33) / 33
    along = np.column_stack([np.interp(at, lengths, one) for one in adjoint.T])
    aim = np.vstack([[1.0, 0.0], [0.0, -1.0], along / np.linalg.norm(along, axis=1, keepdims=True)])
    np.testing.assert_allclose(found.adjoint, aim, atol=1e-14)
    assert (found.stable.tolist(), found.unstable.tolist()) == ([-1.0], [2.0])


def test_a_predicted_orbit_moves_with_its_equilibrium_which_bends():
    """It is at sqrt(p): from 1 to 1.5 the tangent leads to 1.25."""
    curve = ConnectionCurve.__new__(ConnectionCurve)
    linear = lambda x, own, p: (np.array([x[0] ** 2 - p, -x[1]]), np.diag([2 * x[0], -1.0]))
    curve._conditions = object.__new__(Projections)
    curve._conditions.n, curve._conditions.linear = 2, linear
    curve._conditions.problem = SimpleNamespace(equilibria=None)
    curve.mesh = np.array([0.0, 0.5, 1.0])
    nodes = np.array([[1.1, 0.2, 0.9, 0.1, 0.0, 0.3, 4.0, 5.0], [1.3, 0.2, 0.7, 0.1, 0.0, 0.3, 4.0, 5.0]])
    point = CurvePoint(nodes, 1.0, None, None, np.zeros(1), np.ones(2), lambda: np.zeros(1), np.zeros((1, 0)))
    moved = nodes + [0.25, 0.0, 0.25, 0.0, 0.1, 0.5, 1.0, 1.0]
    bend = (np.sqrt(1.5) - 1.25) * np.array([[1, 0, 1, 0, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0, 0, 0, 0]])
    np.testing.assert_allclose(curve.predicted(point, moved, 1.5), moved + bend, atol=1e-9)
    np.testing.assert_array_equal(curve.predicted(point, moved, -1.0), moved)  # no equilibrium there


def test_an_adjoint_solution_is_accurate_relative_to_its_size_at_both_ends():
    """Maps of a saddle, with an error in the middle: 1e-9 of the adjoint would hide its values at the ends."""
    growth = np.diag([100.0, 0.01])
    maps = np.array([growth] * 4 + [np.array([[1e-9, 1.0], [-1.0, 2e-9]])] + [growth] * 4)
    unstable, stable = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    found = bounded_adjoint(maps, unstable, stable, 4)
    for k in (0, 1, 2, 3, 5, 6, 7, 8):
        np.testing.assert_allclose(found[k], maps[k].T @ found[k + 1], rtol=1e-12)
    assert 0 < abs(found[0, 1]) < 1e-7 * np.max(np.abs(found))
    np.testing.assert_allclose([found[0, 0] / found[0, 1], found[-1, 1] / found[-1, 0]], 0.0, atol=1e-12)


def test_parts_of_a_curve_are_joined_once_and_cut_at_the_bounds_of_the_first_parameter(monkeypatch):
    """The parts share a point, at which one special point is found in both; the second unit is 10."""
    part = lambda values, mesh: Part(_Part(np.array(mesh)), [_at(*one) for one in values])
    parts = [
        part([(-2.0, 1.0), (0.5, 2.0), (0.7, 3.0)], [0.0, 0.5, 1.0]),
        part([(0.7, 3.0), (0.9, 4.0), (0.2, 5.0), (1.5, 6.0)], [0.0, 0.25, 0.5, 1.0]),
    ]
    marks = [[("a", _at(-1.5, 1.2)), ("a", _at(0.55, 2.2)), ("b", _at(0.6, 2.5)), ("c", _at(0.7, 3.0))]]
    marks += [[("c", _at(0.7, 3.0 + 1e-9)), ("b", _at(0.8, 3.5)), ("b", _at(0.8, 3.6)), ("a", _at(1.2, 5.5))]]
    monkeypatch.setattr(connection_curve, "special_points", lambda curve, points, ends: marks[len(points) - 3])
    flow = FunctionFlow(lambda t, s, mu=0.0, nu=0.0: s, parameters={"mu": 0.0, "nu": 0.0})
    joined = lambda kind, low, high: connection_curve._collected(
        parts, ("bounds", "points"), (kind, Parameter(flow, "mu", low, high), Parameter(flow, "nu", 0.0, 100.0))
    )
    found = joined("homoclinic orbit", 0.0, 1.0)
    np.testing.assert_allclose(found.first, [0.5, 0.7, 0.9, 0.2])
    np.testing.assert_allclose(found.second, [20.0, 30.0, 40.0, 50.0])
    np.testing.assert_allclose(found.states.states[:, 0, 0], found.first)
    assert found.states.x.shape == (4, 4)  # all on a mesh with the most intervals
    assert [(one.kind, one.first, round(one.second, 6)) for one in found.degeneracies] == [
        ("a", 0.55, 22.0), ("b", 0.6, 25.0), ("c", 0.7, 30.0), ("b", 0.8, 35.0), ("b", 0.8, 36.0),
    ]  # fmt: skip
    assert found.ends == ("outside", "outside")
    whole = joined("heteroclinic orbit", -3.0, 3.0)
    assert (whole.ends, len(whole.first), whole.degeneracies) == (("bounds", "points"), 6, ())


def _at(first, second):
    return SimpleNamespace(state=np.array([[first]]), parameter=second)


class _Part(ConnectionCurve):
    """A curve on a mesh, whose solutions are constant."""

    unit = 10.0

    def __init__(self, mesh):
        self.mesh, self.segments = mesh, len(mesh) - 1

    def profile(self, point, mesh):
        return Profile(np.full((len(mesh), 1), point.state[0, 0]), point.state[0], mesh)


def test_a_pair_of_leading_eigenvalues_is_judged_where_it_says():
    """A decaying oscillator has the eigenvalues -z +- sqrt(z^2 - 0.49); the loop has 1 and -1."""

    def field(t, s, mu=0.0, z=0.4):
        return jnp.stack([s[1], s[0] - 1.5 * s[0] ** 2 + mu * s[1], s[3], -2 * z * s[3] - 0.49 * s[2]])

    found = special(field, {"mu": 0.0, "z": 0.4}, 4, ("z", 0.3, 1.2))
    assert [kind for kind, _ in found] == ["neutrally divergent saddle-focus", "Belyakov point"]
    assert np.allclose([place for _, place in found], [0.5, 0.7], atol=1e-8)


def test_the_saddle_quantity_vanishes_where_the_planar_loop_is_hamiltonian():
    """The saddle has the eigenvalues a + 1 and a - 1."""

    def field(t, s, mu=0.0, a=0.0):
        x, y = s
        return jnp.stack([a * (x - x**2) + y, x - 1.5 * x**2 + a * (y - 1.5 * x * y) + mu * y])

    ((kind, place),) = special(field, {"mu": 0.0, "a": 0.0}, 2, ("a", -0.004, 0.006))
    assert (kind, place) == ("neutral saddle", pytest.approx(0.0, abs=1e-8))


def test_an_inclination_flip_is_where_an_integral_over_the_loop_vanishes():
    """That of exp(-t / 2) (u - k u^2) u' over all times: k = 2; with ends at a distance, near it."""

    def field(t, s, mu=0.0, k=1.9):
        return jnp.stack([s[1], s[0] - 1.5 * s[0] ** 2 + mu * s[1] + s[2] * (s[0] - k * s[0] ** 2), -0.5 * s[2]])

    ((kind, place),) = special(field, {"mu": 0.0, "k": 1.9}, 3, ("k", 1.8, 2.1))
    assert (kind, place) == ("inclination flip", pytest.approx(2.0, abs=1e-2))


@pytest.mark.slow
def test_an_orbit_flip_is_where_an_integral_over_the_loop_vanishes():
    """That of exp(t / 2) (u^2 - k u^3) over all times: k = 4 / 3; with ends at a distance, near it."""

    def field(t, s, mu=0.0, k=1.3):
        return jnp.stack([s[1], s[0] - 1.5 * s[0] ** 2 + mu * s[1], -0.5 * s[2] + s[0] ** 2 - k * s[0] ** 3])

    def driven(times):
        steps = np.exp(times / 2) * (LOOP**2 - 1.3 * LOOP**3) * (times[1] - times[0])
        return np.exp(-times / 2) * np.cumsum(steps)

    found = special(field, {"mu": 0.0, "k": 1.3}, 3, ("k", 1.29, 1.35), driven)
    assert found == [("orbit flip", pytest.approx(4 / 3, abs=1e-3))]


def test_equilibria_may_move_nearer_to_others():
    """Fronts of Nagumo's equation between m and 1 + m: those of m = 0, moved."""

    def front(t, s, c=-0.35, m=0.0):
        return jnp.stack([s[1], -c * s[1] - (s[0] - m) * (1 + m - s[0]) * (s[0] - m - 0.25)])

    flow = FunctionFlow(front, parameters={"c": -0.35, "m": 0.0})
    speed = Parameter(flow, "c", -1.0, 1.0)
    found = connecting_orbit(speed, [0.0, 0.0], [1.0, 0.0], distance=1e-2)
    curve = continue_connection(
        (speed, Parameter(flow, "m", 0.0, 0.8)), found, steps=Steps(first=0.5, largest=2.0), rtol=1e-4
    )
    assert curve.second[-1] == pytest.approx(0.8)
    assert np.allclose(curve.first, -0.5 / 2**0.5, atol=1e-3)

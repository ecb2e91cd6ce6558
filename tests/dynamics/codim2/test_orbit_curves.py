"""Curves of periodic orbits: closed ones whatever the phase, points that a stricter solver confirms, the command."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.codim2 import orbits as critical_returns
from analysis.dynamics.codim2.curves import critical_curve
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.curve import CurvePoint, Equations
from analysis.dynamics.continuation.cycle_equations import is_confirmed
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.phases import beside
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter
from tests.support.commands import answer

TURN = 2 * np.pi


def test_an_orbit_is_moved_next_to_another_one():
    """On an ellipse with the angular velocity 1, whose nodes are a time 2.3 before the others."""
    at = lambda angles: np.stack([2 * np.cos(angles), np.sin(angles)], axis=1)
    angles = lambda rows: np.arctan2(rows[:, 1], rows[:, 0] / 2)

    def moved(rows, time):
        assert time >= 0
        later = angles(rows) + time
        return at(later), np.stack([-2 * np.sin(later), np.cos(later)], axis=1)

    for count in (1, 3, 4):
        nodes = TURN * np.arange(count) / count
        for time in (2.3, 3.1, 5.0, -0.4):
            found = beside(moved, at(nodes), at(nodes + time), TURN)
            assert np.allclose(found, at(nodes + time), atol=1e-8)


def tilted(t, x, p, speed):
    """A circle on which s = x_3 is at rest where s^2 + (p - 0.5)^2 = 0.01, in a plane that turns with s and p.

    Around the closed branch the plane leads its points back by an angle of their own, as Foucault's pendulum.
    """
    del t
    s, one = x[3], jnp.ones(())
    a, b = 10 * (p - 0.5), 10 * s
    angle = jnp.sqrt(a**2 + b**2 + 1e-12)
    axis = jnp.stack([a, b, 0 * a]) / angle
    cross = jnp.stack([
        jnp.stack([0 * one, -axis[2], axis[1]]), jnp.stack([axis[2], 0 * one, -axis[0]]),
        jnp.stack([-axis[1], axis[0], 0 * one]),
    ])  # fmt: skip
    turn = jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * cross @ cross
    y = turn.T @ x[:3]
    rest = 1 - y[0] ** 2 - y[1] ** 2
    velocity = turn @ jnp.stack([rest * y[0] - speed * y[1], speed * y[0] + rest * y[1], -y[2]])
    return jnp.append(velocity, 0.01 - s**2 - (p - 0.5) ** 2)


@pytest.mark.slow
def test_a_closed_branch_of_orbits_is_followed_once_whatever_its_phase():
    flow = FunctionFlow(tilted, parameters={"p": 0.5, "speed": 2.0})
    tip = np.array([np.sin(1.0), 0.0, np.cos(1.0)])
    start = jnp.asarray([*np.cross(tip, [0.0, 1.0, 0.0]), 0.1])
    orbit = periodic_orbit(flow, start, TURN / 2, segments=3)
    found = continue_orbits(
        Parameter(flow, lambda f: f.parameters["p"], 0.0, 1.0), orbit, steps=Steps(first=0.1, points=120)
    )
    assert found.ends == ("closed", "closed")
    assert np.allclose(found.states.nodes[:, 0, 3] ** 2 + (found.parameters - 0.5) ** 2, 0.01, atol=1e-6)
    folds = [b.parameter for b in found.bifurcations if b.kind == "fold"]
    assert sorted(folds) == pytest.approx([0.4, 0.6], abs=1e-7)
    first, last = found.states.nodes[0], found.states.nodes[-1]
    assert np.linalg.norm(first - last) > 0.5  # by another phase


def test_points_are_confirmed_by_a_step_with_the_equations_of_a_stricter_solver():
    point = CurvePoint(
        np.zeros(1), 0.0, np.eye(1), np.eye(1), np.zeros(1), np.array([0.0, 1.0]), np.ones(1), np.empty((1, 0))
    )
    equations = lambda value: Equations(np.array([value]), np.eye(1), np.zeros(1), abs(value))
    nodes = np.array([[1.0]])
    assert is_confirmed(point, equations(1.9e-5), nodes, 1e-6)  # ten times the last step, for a size of two
    assert not is_confirmed(point, equations(2.1e-5), nodes, 1e-6)
    assert not is_confirmed(point, equations(np.nan), nodes, 1e-6)


@pytest.mark.slow
def test_a_curve_of_bifurcations_ends_where_a_stricter_solver_does_not_confirm_its_orbits(monkeypatch):
    """Beside the circle x_3' = p - x_3^2 + q, with a solver that confirms nothing beyond q = 0.2."""

    def field(t, x, p, q):
        del t
        rest = 1 - x[0] ** 2 - x[1] ** 2
        return jnp.stack([rest * x[0] - x[1], x[0] + rest * x[1], p - x[2] ** 2 + q])

    def confirmed(point, at, nodes, tolerance):
        assert nodes.shape == (3, 3)
        assert is_confirmed(point, at, nodes, tolerance)
        return point.parameter < 0.2

    monkeypatch.setattr(critical_returns, "is_confirmed", confirmed)
    flow = FunctionFlow(field, parameters={"p": 0.0, "q": 0.0})
    angles = TURN * np.arange(3) / 3
    nodes = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    at = Bifurcation("fold", Cycle(nodes, np.asarray(TURN)), 0.0, np.empty(0, complex), 0.0, 0.0, np.zeros(11))
    takes = (lambda f: f.parameters["p"], lambda f: f.parameters["q"])
    found = critical_curve((Parameter(flow, takes[0], -1.0, 1.0), Parameter(flow, takes[1], -0.1, 0.5)), at)
    assert sorted(found.ends) == ["accuracy", "bounds"]
    assert np.max(found.second) < 0.2
    assert np.allclose(found.first, -found.second, atol=1e-7)


@pytest.mark.slow
def test_the_command_follows_bifurcations_of_a_map_in_a_second_parameter(capsys, tmp_path, monkeypatch):
    """Of the Henon map folds are at a = -(1 - b)^2 / 4, flips at 3 (1 - b)^2 / 4; at b = -1 multipliers are double."""
    drawn = []
    monkeypatch.setattr("figures.files.write_figure", lambda figure, *_: drawn.append(figure.axes[0]))
    words = ["continue", "henon", "--parameter", "a=-1.2:1.5", "--a", "0.1", "--levels", "0"]
    plane = ["--second", "b=-1.05:0.5", "--figure", tmp_path / "plane.png"]
    said = answer(capsys, *words, "--start", "0.8", "0.24", *plane, "--step", "0.3", "--max-points", "20")
    assert "curve of folds, " in said
    assert "1:1 resonance at (-1, -1) with a = " in said
    assert "curve of period doublings, " in said
    (ax,) = drawn
    lines = {line.get_label(): line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 1}
    for name, factor in (("folds", -1 / 4), ("period doublings", 3 / 4)):
        assert np.allclose(lines[name][:, 0], factor * (1 - lines[name][:, 1]) ** 2, atol=1e-8)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.2, 1.5), (-1.05, 0.5))


@pytest.mark.slow
def test_the_command_follows_folds_of_periodic_orbits_in_a_second_parameter(capsys, tmp_path, monkeypatch):
    """R' = r (mu + b r^2 - r^4): a subcritical Hopf point at mu = 0 for b > 0, whose cycles turn at mu = -b^2 / 4."""
    drawn = []
    monkeypatch.setattr("figures.files.write_figure", lambda figure, *_: drawn.append(figure.axes[0]))
    (tmp_path / "bautin.py").write_text(
        "import jax.numpy as jnp\n"
        "def field(t, x, mu=-0.5, b=1.0):\n"
        "    r = jnp.sum(x**2)\n"
        "    return (mu + b * r - r**2) * x + jnp.stack([-x[1], x[0]])\n"
    )
    words = ["continue", f"{tmp_path / 'bautin.py'}:field", "--parameter", "mu=-0.5:0.2"]
    plane = ["--second", "b=0.2:1.4", "--figure", tmp_path / "plane.png"]
    said = answer(capsys, *words, "--start", "0", "0", "--cycles", "--segments", "3", *plane)
    assert "subcritical" in said
    assert "curve of Hopf points" in said
    assert "curve of folds of periodic orbits" in said
    (ax,) = drawn
    lines = {line.get_label(): line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 1}
    assert set(lines) == {"Hopf points", "folds of periodic orbits"}
    folds = lines["folds of periodic orbits"]
    assert np.allclose(folds[:, 0], -(folds[:, 1] ** 2) / 4, atol=1e-7)
    assert np.ptp(folds[:, 1]) == pytest.approx(1.2)

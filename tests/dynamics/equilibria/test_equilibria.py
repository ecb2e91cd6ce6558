"""Equilibria by Newton in the space, portraits, and outcomes by bisection."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.edge_tracking import bisect_outcome
from analysis.dynamics.equilibria.newton import _displaced, displaced, equilibria, max_speed, newton, random_starts
from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.linearisation import rotations
from analysis.dynamics.portraits.curved import circle_portrait, sphere_portrait
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Euclidean, Product, Sphere
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.published import SYMMETRIC_VALUE

STARTS = 60  # of Newton's method and points of a portrait


class Cubic(AbstractFlow):
    """A polynomial field on a line, highest power first, plus the cosine of time."""

    coefficients: jax.Array = eqx.field(converter=jnp.asarray)
    drive: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return jnp.polyval(self.coefficients, x) + self.drive * jnp.cos(t)


@pytest.fixture(scope="module")
def oja():
    return FunctionFlow(lambda t, x: x @ jnp.asarray(SYMMETRIC_VALUE), Sphere())


@pytest.mark.slow
def test_the_equilibria_of_oja_are_the_eigenvectors(oja):
    found = equilibria(oja, random_starts(oja, random_key(0, "starts"), (3,), STARTS))
    values, vectors = np.linalg.eigh(SYMMETRIC_VALUE)
    assert [e.kind for e in found] == ["stable"] * 2 + ["saddle"] * 2 + ["unstable"] * 2
    for e, k in zip(found, (2, 2, 1, 1, 0, 0), strict=True):
        assert abs(abs(float(e.state @ vectors[:, k])) - 1) < 1e-12
        assert e.speed < 1e-14
    assert sum(e.times_found for e in found) == STARTS


def test_the_double_well_has_three_equilibria_and_none_where_the_speed_is_only_least():
    found = equilibria(Cubic([-1.0, 0.0, 1.0, 0.0]), np.linspace(-2, 2, 21)[:, None])
    assert sorted((round(float(e.state[0]), 12), e.kind) for e in found) == [
        (-1.0, "stable"), (0.0, "unstable"), (1.0, "stable"),
    ]  # fmt: skip
    assert equilibria(Cubic([0.0, 1.0, 0.0, 1.0]), np.linspace(-2, 2, 21)[:, None]) == []


@pytest.mark.parametrize(("size", "rate"), [pytest.param(1.0, 1e-9, marks=pytest.mark.slow), (1e-9, 1e6)])
def test_equilibria_and_their_types_do_not_depend_on_the_units(size, rate):
    flow = Cubic([-rate / size**2, 0.0, rate, 0.0])
    found = equilibria(flow, size * np.linspace(-2, 2.2, 21)[:, None])
    assert [e.kind for e in found] == ["stable", "stable", "unstable"]
    assert sorted(float(e.state[0]) / size for e in found) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-9)
    assert [float(e.spectrum.values[0].real) / rate for e in found] == pytest.approx([-2.0, -2.0, 1.0])
    assert max(e.speed for e in found) < 1e-9 * rate * size
    assert [e.speed for e in found] == [max_speed(flow, e.state) for e in found]
    everything = find_equilibria(flow, random_key(0, "units"), box=[[-2.0 * size, 2.2 * size]], num_starts=21)
    assert [e.kind for e in everything.found] == ["stable", "stable", "unstable"]


class Parts(NamedTuple):
    """A vector and a matrix."""

    a: Any
    b: Any


def test_the_speed_is_that_of_the_fastest_part_while_others_rest():
    """The largest of unequal velocities, of either sign, wherever it stands, also in a state of several arrays."""
    for velocity in ([0.0, -3.0, 2.0], [0.0, 0.0, 1e-9], [5.0, 0.0, -1.0]):
        flow = FunctionFlow(lambda t, x, v: v * jnp.ones(3), parameters={"v": velocity})
        assert max_speed(flow, jnp.zeros(3)) == np.max(np.abs(velocity))
    parts = FunctionFlow(lambda t, x: Parts(jnp.zeros(2), jnp.array([[0.0, -7.0]])))
    assert max_speed(parts, Parts(jnp.ones(2), jnp.ones((1, 2)))) == 7.0


def test_a_low_speed_that_is_not_zero_is_no_equilibrium():
    assert equilibria(Cubic([0.0, 1.0, 0.0, 2e-10]), np.linspace(-3, 3, 21)[:, None]) == []


def test_the_distance_of_equilibria_that_are_one_is_in_the_units_of_the_states():
    starts = np.linspace(-2, 2, 21)[:, None]
    assert len(equilibria(Cubic([-1.0, 0.0, 1.0, 0.0]), starts, radius=1.5)) == 2
    flow = Cubic([-1e18, 0.0, 1.0, 0.0])
    assert len(equilibria(flow, 1e-9 * starts, radius=1.5e-9)) == 2
    assert len(equilibria(flow, 1e-9 * starts, radius=1.5, invariant=lambda x: 1e9 * x)) == 2
    with pytest.raises(ValueError, match="`radius` must be positive"):
        equilibria(flow, starts, radius=0.0)


def test_a_degenerate_equilibrium_is_undecided():
    flow = Cubic([-1.0, 0.0, 0.0, 0.0])
    x, speed = newton(flow, jnp.array([0.1]))
    assert isinstance(x, jax.Array)
    assert abs(float(x[0])) < 1e-3
    assert speed < 1e-9
    (found,) = equilibria(flow, np.zeros((21, 1)))
    assert found.kind == "undecided"


def test_a_degenerate_equilibrium_is_found_once():
    flow = FunctionFlow(lambda t, x: jnp.stack([-(x[0] ** 3), -x[1]]))
    (found,) = equilibria(flow, np.stack([np.linspace(-2, 2.2, 21), np.linspace(1, -1, 21)], axis=1))
    assert (found.kind, found.times_found) == ("undecided", 21)
    assert float(jnp.max(jnp.abs(found.state))) < 1e-4
    (only,) = find_equilibria(flow, random_key(0, "units"), box=[[-2.0, 2.2], [-2.0, 2.0]], num_starts=21).found
    assert (only.kind, float(jnp.max(jnp.abs(only.state))) < 1e-4) == ("undecided", True)
    pair = equilibria(Cubic([1.0, -5e-3, 0.0, 0.0]), np.linspace(-2, 2.2, 21)[:, None])  # x^2 (x - 5e-3)
    assert sorted(float(e.state[0]) for e in pair) == pytest.approx([0.0, 5e-3], abs=1e-4)


def test_a_step_on_a_flat_space_is_that_of_the_program_for_all_spaces():
    x, step = (jnp.asarray([1.0, 2.0]), jnp.asarray([[3.0], [4.0]])), np.array([0.1, -0.2, 0.3, 0.7])
    pair = Product((Euclidean(), Euclidean()))
    jax.tree.map(np.testing.assert_array_equal, displaced(pair, x, step), _displaced(pair, x, jnp.asarray(step)))
    np.testing.assert_allclose(displaced(Sphere(), jnp.asarray([0.6, 0.8]), np.array([0.0, 0.0])), [0.6, 0.8])


def test_a_frozen_time_is_that_time():
    (found,) = equilibria(Cubic([0.0, 0.0, -1.0, 0.0], 1.0), np.zeros((21, 1)), t=2.0)
    assert float(found.state[0]) == pytest.approx(np.cos(2.0), abs=1e-13)


@pytest.mark.slow
def test_duplicates_up_to_rotation_and_permutation_are_one():
    flow = TokenFlow(np.eye(3))
    gram = lambda x: np.sort(np.ravel(np.asarray(x) @ np.asarray(x).T))
    starts = random_starts(flow, random_key(0, "many"), (3, 3), 40)
    found = equilibria(flow, starts, symmetries=rotations(3), invariant=gram)
    assert [e.kind for e in found].count("stable") == 1  # consensus
    assert len(found) <= 4  # consensus, two against one, the triangle
    stable = found[0]
    assert float(np.min(gram(stable.state))) == pytest.approx(1.0, abs=1e-12)


def test_bad_starts_are_refused(oja):
    with pytest.raises(ValueError, match="starts` must be finite"):
        equilibria(oja, np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="starts` must have the starts on the first axis"):
        equilibria(oja, jnp.asarray(1.0))
    with pytest.raises(ValueError, match="num_starts` must be at least 1"):
        random_starts(oja, random_key(0, "none"), (3,), 0)


@pytest.mark.slow  # that on the sphere is quick
def test_the_portrait_on_the_circle_finds_basins_that_end_at_the_unstable_points():
    U, rest = np.diag([1.0, -1.5]), np.array([1.0, 0.0])
    found = circle_portrait(FunctionFlow(lambda t, x: (rest + x) @ U, Sphere()), STARTS)
    assert sorted(found.kinds) == ["stable", "stable", "unstable", "unstable"]
    unstable = found.equilibrium_points[[k == "unstable" for k in found.kinds]]
    np.testing.assert_allclose(unstable[:, 0], -0.4, atol=1e-12)  # -lambda / (lambda - mu)
    for point, limit in zip(found.points, found.limits, strict=True):
        assert found.equilibrium_points[limit][0] == pytest.approx(1.0 if point[0] > -0.4 else -1.0)


@pytest.mark.slow
def test_the_portrait_on_the_sphere_has_two_half_spheres(oja):
    found = sphere_portrait(oja, STARTS)
    top = np.linalg.eigh(SYMMETRIC_VALUE)[1][:, -1]
    assert set(found.kinds) == {"stable", "saddle", "unstable"}
    np.testing.assert_allclose(np.linalg.norm(found.points, axis=1), 1.0, atol=1e-12)
    assert np.all(np.sign(found.points @ top) == np.sign(found.equilibrium_points[found.limits] @ top))
    assert np.max(np.abs(np.sum(found.points * found.field, axis=1))) < 1e-14


@pytest.mark.slow
def test_a_limit_cycle_on_the_sphere_has_a_basin_of_its_own():
    """The equator attracts from both poles, and turns."""
    turning = FunctionFlow(lambda t, x: jnp.stack([-x[1], x[0], -x[2]]), Sphere())
    found = sphere_portrait(turning, 16)
    assert found.kinds == ("unstable", "unstable")
    assert found.limits.tolist() == [2] * 16
    ((limit, kind, points),) = found.cycles
    assert (limit, kind) == (2, "stable")
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-6)
    angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
    assert np.all(np.diff(angles) > 0)
    assert angles[-1] - angles[0] < 2 * np.pi


def test_points_of_a_portrait_cover_the_space_evenly_and_its_field_is_frozen(monkeypatch):
    no_limits = lambda flow, starts, *_: (np.zeros(len(starts), int), (), {})
    monkeypatch.setattr("analysis.dynamics.portraits.curved._limits", no_limits)
    monkeypatch.setattr("analysis.dynamics.portraits.curved.equilibria", lambda *_: [])
    turning = FunctionFlow(lambda t, x: t * jnp.stack([-x[1], x[0] - 1]), Sphere())
    found = circle_portrait(turning, 12, t=3.0)
    turns = np.exp(2j * np.pi * np.arange(12) / 12)
    np.testing.assert_allclose(found.points, np.stack([turns.real, turns.imag], axis=1), atol=1e-15)
    np.testing.assert_allclose(found.field[3], [-3.0, 0.0], atol=1e-14)  # 3 (-y, x - 1) is tangent at (0, 1) thus
    still = sphere_portrait(FunctionFlow(lambda t, x: 0 * x, Sphere()), 1000)
    np.testing.assert_allclose(np.mean(still.points, axis=0), 0.0, atol=2e-3)
    np.testing.assert_allclose(np.mean(still.points[:, 2]), 0.0, atol=1e-12)
    np.testing.assert_allclose(still.points.T @ still.points / 1000, np.eye(3) / 3, atol=2e-3)


def test_bad_portraits_are_refused(oja):
    with pytest.raises(ValueError, match=r"flow` must have states of shape \(2,\)"):
        circle_portrait(oja)
    with pytest.raises(ValueError, match="num_points` must be at least 8"):
        sphere_portrait(oja, 3)
    with pytest.raises(ValueError, match="horizon` must be positive"):
        sphere_portrait(oja, horizon=-1.0)


def test_bisection_finds_the_boundary_of_two_basins():
    flow = Cubic([-1.0, 0.0, 1.0, 0.1])
    goes_up = lambda a: bool(simulate(flow, jnp.array([a]), [0.0, 100.0], integrator=Scipy()).final[0] > 0)
    found = bisect_outcome(goes_up, -1.0, 1.0, width=1e-8)
    root = np.roots([-1, 0, 1, 0.1])
    middle = float(np.sort(root.real)[1])
    assert found.low <= middle + 1e-9
    assert middle - 1e-9 <= found.high
    assert found.high - found.low <= 1e-8
    assert (found.at_low, found.at_high) == (False, True)


def test_bisection_stops_at_neighbouring_floats_and_narrows_a_third_outcome():
    found = bisect_outcome(lambda a: a > 1 / 3, 0.0, 1.0, width=1e-300)
    assert found.high == np.nextafter(found.low, 1.0)
    third = bisect_outcome(lambda a: int(a // 0.3), 0.0, 1.0)
    assert third.at_low == 0
    assert third.at_high == 1
    assert third.middle == pytest.approx(0.3)


def test_bisection_refuses_what_has_no_boundary():
    with pytest.raises(ValueError, match="outcome` must differ"):
        bisect_outcome(lambda a: 0, 0.0, 1.0)
    with pytest.raises(ValueError, match="high` must be finite and above"):
        bisect_outcome(lambda a: a, 1.0, 0.0)
    with pytest.raises(ValueError, match="width` must be positive"):
        bisect_outcome(lambda a: a, 0.0, 1.0, width=0.0)

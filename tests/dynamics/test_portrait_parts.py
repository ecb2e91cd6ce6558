"""Parts of phase portraits by themselves: slices, curves of saddles, limits of grid points, and times of fields."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.linearisation import Spectrum
from analysis.dynamics.portraits import curved, plane, simplex
from dynsim import FunctionFlow, Simplex, Sphere

FORCED = FunctionFlow(lambda t, x: jnp.stack([t * x[1], x[2] + 5.0, x[0] * x[1]]))
SADDLE = FunctionFlow(lambda t, x: jnp.stack([2 * x[0] - 1.0, -3 * x[1]]))


def rest(x: Any, kind: str = "saddle") -> Equilibrium:
    return Equilibrium(np.asarray(x, float), 0.0, Spectrum(np.array([1.0 + 0j, -1.0]), 1, 0, 1e-9, kind), 1)


def test_a_slice_has_the_field_of_its_two_components_at_the_state_and_the_time(monkeypatch):
    seen: dict[str, Any] = {}

    def traced(flow, points, length, **options):
        seen.update(points=np.asarray(points), length=length, **options)
        return np.zeros((len(points), 4, 3))

    nothing = ((), (), plane.Completeness())
    monkeypatch.setattr(plane, "_equilibria", lambda *given: seen.update(given=given) or nothing)
    monkeypatch.setattr(plane, "curves", traced)
    options: Any = {"t": 2.0, "grid": 8, "rtol": 1e-3, "atol": 1e-4, "trajectories": np.array([[1.5, -2.0]])}
    found = plane.phase_plane(FORCED, [(1.0, 2.0), (-4.0, 3.0)], axes=(2, 0), at=[9.0, 7.0, 8.0], **options)
    assert (found.xs[[0, -1]].tolist(), found.ys[[0, -1]].tolist()) == ([1.0, 2.0], [-4.0, 3.0])
    X, Y = np.meshgrid(found.xs, found.ys)  # the third component and the first one
    np.testing.assert_allclose(found.velocity[..., 0], 7.0 * Y)
    np.testing.assert_allclose(found.velocity[..., 1], 14.0 + 0 * X)
    assert seen["points"].tolist() == [[-2.0, 7.0, 1.5]]
    assert seen["length"] == pytest.approx(plane.LENGTH * np.hypot(1.0, 7.0))
    assert (seen["signs"], seen["t"], seen["rtol"], seen["atol"]) == ([1.0], 2.0, 1e-3, 1e-4)
    assert (found.forced, found.names, found.cycles) == (True, ("x_3", "x_1"), ())
    assert seen["given"][4] == (2, 0)


def test_curves_of_a_saddle_start_beside_it_along_both_eigenvectors(monkeypatch):
    seen: dict[str, Any] = {}

    def traced(flow, points, length, **options):
        seen.update(points=np.asarray(points), **options)
        return np.asarray(points)[:, None] + np.zeros((1, 3, 1))

    monkeypatch.setattr(plane, "curves", traced)
    low, high = np.array([0.0, -2.0]), np.array([3.0, 2.0])
    starts = np.array([[0.25, 0.75]])
    found = [rest([0.5, 0.0]), rest([0.1, 0.1], "stable")]
    into, out, given = plane._curves(SADDLE, found, starts, low, high, (0, 1), 0.0)
    aside = plane.ASIDE * 5.0
    near = lambda paths: sorted(paths[:, 0].round(12).tolist())
    assert near(out) == [[0.5 - aside, 0.0], [0.5 + aside, 0.0]]
    assert near(into) == [[0.5, -aside], [0.5, aside]]
    assert given[:, 0].tolist() == [[0.25, 0.75]]
    assert sorted(seen["signs"]) == [-1.0, -1.0, 1.0, 1.0, 1.0]
    assert seen["rtol"] == plane.RTOL
    none = plane._curves(SADDLE, [], np.empty((0, 2)), low, high, (0, 1), 0.0)
    assert [len(part) for part in none] == [0, 0, 0]


def test_curves_are_cut_half_a_window_outside_of_it():
    path = np.array([[[0.0, 0.0], [5.9, 2.9], [6.1, 0.0], [4.0, 3.1], [-1.9, -0.9], [-2.1, 0.0], [np.nan, 0.0]]])
    found = plane.clipped(path, np.array([0.0, 0.0]), np.array([4.0, 2.0]))
    assert np.isnan(found[0, :, 0]).tolist() == [False, False, True, True, False, True, True]


def test_windows_are_flat_or_have_a_row_for_each_axis():
    for given in ((1.0, 2.0, -4.0, 3.0), [(1.0, 2.0), (-4.0, 3.0)]):
        low, high = plane.window(given, 2)
        assert (low.tolist(), high.tolist()) == ([1.0, -4.0], [2.0, 3.0])
    with pytest.raises(ValueError, match="`box` must have 4 numbers, low and high of each axis, but has 3"):
        plane.window((1.0, 2.0, 3.0), 2)
    assert plane._placed(np.array([[1.0, 2.0]]), (2, 0), 4).tolist() == [[2.0, 0.0, 1.0, 0.0]]
    assert np.isnan(plane._stacked([np.ones((1, 2)), np.ones((3, 2))])).any(axis=2).tolist() == [
        [False, True, True], [False] * 3,
    ]  # fmt: skip


def test_limits_of_grid_points_are_numbers_of_equilibria_or_of_other_attractors(monkeypatch):
    made = lambda kind, states, stability="stable": SimpleNamespace(
        kind=kind, stability=stability, state=np.asarray(states[0], float), states=np.asarray(states, float)
    )
    ring = [[0.0, 1.0], [1.0, 0.0]]
    cycle, lost = made("periodic orbit", ring), made("periodic orbit", ring, "undecided")
    near, other = made("equilibrium", [[-1.0, 1e-7]]), made("equilibrium", [[0.0, -1.0]])
    found = SimpleNamespace(attractors=(cycle, near, other, lost), labels=np.array([1, 0, -2, 2, -1, 3]))
    asked: dict[str, Any] = {}
    monkeypatch.setattr(curved, "set_up", lambda flow, starts, search: (SimpleNamespace(interval=0.5), starts))
    monkeypatch.setattr(curved, "labelled", lambda time_map, flat, search, shown: asked.update(search=search) or found)
    rests = np.array([[1.0, 0.0], [-1.0, 0.0]])
    limits, cycles, others = curved._limits(FORCED, jnp.zeros((6, 2)), rests, 0.0, 10_000.0)
    assert limits.tolist() == [1, 2, -1, 4, -1, 5]
    assert [(cycle.limit, cycle.kind, cycle.points.tolist()) for cycle in cycles] == [(2, "stable", ring)]
    assert others == {2: "periodic orbit", 4: "equilibrium", 5: "periodic orbit"}
    assert asked["search"].longest == 20_000
    curved._limits(FORCED, jnp.zeros((6, 2)), rests, 0.0, 1.0)
    assert asked["search"].longest == 4096


@pytest.mark.parametrize("portrait", [curved.circle_portrait, curved.sphere_portrait])
def test_grid_points_of_curved_portraits_lie_evenly_with_the_field_at_the_time(monkeypatch, portrait):
    monkeypatch.setattr(curved, "equilibria", lambda flow, starts, t: [])
    monkeypatch.setattr(curved, "equilibrium_families", lambda *given, **options: ((), ()))
    monkeypatch.setattr(curved, "_limits", lambda flow, starts, rests, t, horizon: (np.zeros(len(starts), int), (), {}))
    d = 2 if portrait is curved.circle_portrait else 3
    push = FunctionFlow(lambda t, x: t * jnp.eye(x.shape[0])[0], Sphere())
    found = portrait(push, 100, t=3.0)
    x = found.points
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0)
    np.testing.assert_allclose(found.field, 3.0 * (np.eye(d)[0] - x[:, :1] * x), atol=1e-12)
    if d == 2:
        np.testing.assert_allclose(
            np.unwrap(np.arctan2(x[:, 1], x[:, 0])), 2 * np.pi * np.arange(100) / 100, atol=1e-12
        )
    else:
        np.testing.assert_allclose(x[:, 2], 0.99 - 0.02 * np.arange(100), atol=1e-12)
        turn = np.angle((x[1:, 0] + 1j * x[1:, 1]) * (x[:-1, 0] - 1j * x[:-1, 1]))
        np.testing.assert_allclose(turn, np.pi * (3 - np.sqrt(5)), atol=1e-9)
        assert np.max(np.abs(x.mean(axis=0))) < 0.02


def test_equilibria_are_listed_with_their_places():
    said = curved.listed_rests(np.array([[1.0, -1e-12], [0.5, 2.0]]), ["stable node", "saddle"], ())
    assert said == "stable node (1, 0); saddle (0.5, 2)"
    assert curved.listed_rests(np.zeros((0, 2)), [], ()) == "no equilibrium"


def test_trajectories_on_the_simplex_start_inside_of_it(monkeypatch):
    seen: dict[str, Any] = {}

    def traced(flow, starts, length, **options):
        seen.update(starts=np.asarray(starts), length=length, **options)
        return np.zeros((len(starts), 2, 3))

    monkeypatch.setattr(simplex, "curves", traced)
    outside = rest([1.0 + 1e-6, 0.0, -1e-6], "stable")
    monkeypatch.setattr(simplex, "equilibria", lambda *given: [outside, rest([0.5, 0.5, -1e-10], "stable")])
    monkeypatch.setattr(simplex, "equilibrium_families", lambda flow, found, *given, **options: (found, ()))
    found = simplex.simplex_portrait(FunctionFlow(lambda t, x: x, Simplex()), t=2.0, rtol=1e-3, atol=1e-4)
    starts = seen["starts"]
    np.testing.assert_allclose(starts.sum(axis=1), 1.0)
    assert starts.min() > 0
    assert len(starts) == len({tuple(row) for row in starts.round(9).tolist()}) == 21
    assert (seen["t"], seen["rtol"], seen["atol"], seen["length"]) == (2.0, 1e-3, 1e-4, 1.5)
    assert found.points.tolist() == [[0.5, 0.5, -1e-10]]

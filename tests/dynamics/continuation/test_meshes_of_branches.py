"""Changes of meshes and methods along a curve of orbits, with stand-ins for the curves that are followed."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.dynamics.continuation import meshes, method_change
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.meshes import (
    MOST,
    NEW,
    Part,
    _sampled,
    _stacked,
    backwards,
    both_ways_on_meshes,
    follow_on_meshes,
    remeshed,
)
from analysis.dynamics.continuation.on_mesh import CurveOnMesh
from analysis.dynamics.continuation.orbit_curve import OrbitCurve
from analysis.dynamics.continuation.steps import Limits
from dynsim.errors import ArgumentError

UP, DOWN = np.array([0.0, 1.0]), np.array([0.0, -1.0])


def at(parameter, tangent=UP):
    empty = np.zeros(0)
    return CurvePoint(np.zeros(1), float(parameter), empty, empty, empty, tangent, lambda: empty, empty)


class Mesh(CurveOnMesh):
    """A curve with errors given by the number of its intervals; orbits are found from the least number on."""

    def __init__(self, count, errors=None, least=0, bad=()):
        self.segments, self.mesh, self.accuracy = count, np.linspace(0, 1, count + 1), 1.0
        self.errors, self.least, self.bad, self.asked = errors or {}, least, bad, []

    def adapted(self, point, count):
        self.asked.append(count)
        return np.linspace(0, 1, count + 1)

    def moved_to(self, mesh, point, direction):
        other = Mesh(len(mesh) - 1, self.errors, self.least, self.bad)
        other.asked = self.asked
        found = other.segments >= self.least and other.segments not in self.bad
        return other, point._replace(tangent=direction) if found else None

    def error(self, point):
        return self.errors.get(self.segments, 0.0)

    def unconfirmed(self, nodes, parameter, point):
        return f"unconfirmed at {parameter:g}"

    def unresolved(self, point):
        return self.errors.get(self.segments, 0.0) > 1

    def nodes(self, state):
        return np.zeros((self.segments, 1))


Mesh.__abstractmethods__ = frozenset()  # pyright: ignore[reportAttributeAccessIssue]


class Shots(OrbitCurve):
    """A curve of orbits by shooting."""

    def __init__(self, segments=4, changes=True):
        self.segments, self.changes = segments, changes


Shots.__abstractmethods__ = frozenset()  # pyright: ignore[reportAttributeAccessIssue]
LIMITS = Limits((0.0, 9.0), 0.5, 2.0, 10)


def test_a_mesh_gets_as_many_intervals_as_its_error_of_eighth_order_asks_for():
    asked = lambda curve, **options: (remeshed(curve, at(1.0), UP), curve.asked)
    found, counts = asked(Mesh(10))
    assert counts == [10]
    assert (found[0].segments, found[1].parameter, found[1].tangent.tolist()) == (10, 1.0, UP.tolist())
    grown = int(np.ceil(10 * 1.1 * (0.24 / NEW) ** (1 / 8)))
    assert asked(Mesh(10, {10: 0.24}))[1] == [10, grown]
    assert asked(Mesh(10, {10: NEW}))[1] == [10]
    assert asked(Mesh(10, {10: 1e9}))[1] == [10, 20]  # at most twice
    assert asked(Mesh(10, {10: 0.0}, bad=(10,)))[1] == [10, 20]
    found, counts = asked(Mesh(300, dict.fromkeys(range(1000), 0.5)))
    assert (found[0].segments, counts[-1]) == (MOST, MOST)  # small enough, though not for several steps
    assert asked(Mesh(300, dict.fromkeys(range(1000), 1.5)))[0] is None
    assert asked(Mesh(10, least=10**6))[0] is None
    assert len(asked(Mesh(MOST - 1, least=10**6))[1]) == 2


def script(monkeypatch, *answers):
    """Stand-ins for following: each answer is the parameters of the points and the end; what was asked is kept."""
    seen: list[Any] = []
    left = list(answers)

    def follow(curve, here, direction, within, *, size, home):
        seen.append(
            SimpleNamespace(curve=curve, here=here, direction=direction, points=within.points, size=size, home=home)
        )
        values, end = left.pop(0)
        return [at(value, direction) for value in values], end

    monkeypatch.setattr(meshes, "follow", follow)
    return seen


def test_a_curve_goes_on_with_its_last_chord_on_a_new_mesh(monkeypatch):
    """The new mesh has 23 intervals; steps grow with the root of their number."""
    curve = Mesh(10, {10: 9.0, 20: 3.0})
    seen = script(monkeypatch, ([1.0, 3.0], "mesh"), ([4.0], "bounds"))
    parts, end = follow_on_meshes(curve, at(0.5), UP, LIMITS)
    assert end == "bounds"
    assert [[p.parameter for p in part.points] for part in parts] == [[0.5, 1.0, 3.0], [3.0, 4.0]]
    first, second = seen
    assert (first.points, first.size, first.home.parameter) == (10, None, 0.5)
    assert (second.points, second.here.parameter, second.home.parameter) == (8, 3.0, 0.5)
    assert second.curve is parts[1].curve
    assert second.size == pytest.approx(2.0 * (second.curve.segments / 10) ** 0.5)


def test_steps_shrink_on_meshes_on_which_there_is_not_even_one(monkeypatch):
    seen = script(monkeypatch, *[([], "mesh")] * 12)
    parts, end = follow_on_meshes(Mesh(10), at(0.5), UP, LIMITS)
    assert (parts, end) == ([], "unconfirmed at 0.5")
    assert [one.size for one in seen[:4]] == [None, 0.125, 0.03125, 0.0078125]
    assert len(seen) == 1 + int(np.floor(np.log(1e6) / np.log(4)))


def test_a_curve_ends_where_no_mesh_resolves_it_or_its_points_are_used_up(monkeypatch):
    script(monkeypatch, ([1.0], "mesh"))
    assert follow_on_meshes(Mesh(10, dict.fromkeys(range(1000), 5.0)), at(0.5), UP, LIMITS)[1] == "unconfirmed at 1"
    script(monkeypatch, ([*range(1, 11)], "mesh"))
    assert follow_on_meshes(Mesh(10), at(0.5), UP, LIMITS)[1] == "steps"
    script(monkeypatch, ([1.0], "stop"))
    assert follow_on_meshes(Mesh(10), at(0.5), UP, LIMITS)[1] == "stop"
    script(monkeypatch, ([1.0], "mesh"))
    assert follow_on_meshes(Shots(changes=False), at(0.5), UP, LIMITS)[1] == "mesh"


def test_lost_orbits_are_looked_for_on_twice_as_many_intervals(monkeypatch):
    curve = Mesh(10, least=15)
    seen = script(monkeypatch, ([1.0], "lost"), ([2.0], "lost"), ([3.0], "bounds"))
    parts, end = follow_on_meshes(curve, at(0.5), UP, LIMITS)
    assert (end, [part.curve.segments for part in parts]) == ("bounds", [10, 20, 40])
    assert [one.size for one in seen] == [None, 0.5, 0.5]
    assert [one.here.parameter for one in seen] == [0.5, 1.0, 2.0]
    script(monkeypatch, ([1.0], "lost"))
    assert follow_on_meshes(Mesh(10, least=30), at(0.5), UP, LIMITS)[1] == "lost"
    script(monkeypatch, ([1.0], "lost"))
    assert follow_on_meshes(Mesh(MOST), at(0.5), UP, LIMITS)[1] == "lost"
    script(monkeypatch, ([*range(1, 11)], "lost"))
    assert follow_on_meshes(Mesh(10), at(0.5), UP, LIMITS)[1] == "lost"  # there are no points left


def test_collocation_goes_on_where_shooting_ends(monkeypatch):
    other = Mesh(36)
    changed = []

    def change(curve, last, home):
        changed.append((last.parameter, home.parameter))
        return other, at(last.parameter, DOWN), home

    monkeypatch.setattr(meshes, "_changed", change)
    for end in (meshes.CHANGES[0], f"{meshes.UNDEFINED} 1"):
        seen = script(monkeypatch, ([1.0], end), ([2.0], "bounds"))
        parts, last = follow_on_meshes(Shots(4), at(0.5), UP, LIMITS)
        assert (last, parts[1].curve) == ("bounds", other)
        assert (seen[1].size, seen[1].direction.tolist()) == (pytest.approx(0.5 * 3), DOWN.tolist())
    assert changed == [(1.0, 0.5)] * 2
    script(monkeypatch, ([], end), ([2.0], "bounds"))
    assert len(follow_on_meshes(Shots(4), at(0.5), UP, LIMITS)[0]) == 1
    assert changed[-1] == (0.5, 0.5)


def test_both_directions_are_joined_at_the_first_point(monkeypatch):
    curve = Mesh(10)
    monkeypatch.setattr(meshes, "begun_inside", lambda first, within: first)
    rows = lambda parts, ends: ([[p.parameter for p in one.points] for one in parts], ends)
    joined = lambda **options: both_ways_on_meshes(curve, at(5.0), LIMITS, rows, **options)
    seen = script(monkeypatch, ([6.0, 7.0], "bounds"), ([4.0], "stop"))
    assert joined() == ([[4.0, 5.0, 6.0, 7.0]], ("stop", "bounds"))
    assert [one.direction.tolist() for one in seen] == [UP.tolist(), DOWN.tolist()]
    script(monkeypatch, ([6.0, 5.0], "closed"))
    assert joined() == ([[5.0, 6.0, 5.0]], ("closed", "closed"))
    script(monkeypatch, ([], "stop"), ([4.0], "bounds"))
    assert joined() == ([[4.0, 5.0]], ("bounds", "stop"))
    script(monkeypatch, ([], "stop"), ([], "bounds"))
    assert joined() == ([[5.0]], ("bounds", "stop"))
    for leads, way in ((True, UP), (False, DOWN)):
        seen = script(monkeypatch, ([6.0], "bounds"))
        assert joined(away=("Hopf", lambda point, leads=leads: leads)) == ([[5.0, 6.0]], ("Hopf", "bounds"))
        assert seen[0].direction.tolist() == way.tolist()
    coarse = Mesh(10, {10: 2.0})
    seen = script(monkeypatch, ([6.0], "bounds"), ([4.0], "stop"))
    both_ways_on_meshes(coarse, at(5.0), LIMITS, lambda parts, ends: None)
    assert seen[0].curve.segments > 10
    with pytest.raises(ArgumentError, match=f"be one that {MOST} intervals of a mesh resolve"):
        both_ways_on_meshes(Mesh(10, dict.fromkeys(range(1000), 5.0)), at(5.0), LIMITS, lambda parts, ends: None)


def test_parts_are_turned_round_with_their_tangents():
    one, two = Mesh(4), Mesh(8)
    found = backwards([Part(one, [at(1.0), at(2.0)]), Part(two, [at(2.0, DOWN)])])
    assert [part.curve for part in found] == [two, one]
    assert [[(p.parameter, p.tangent[-1]) for p in part.points] for part in found] == [
        [(2.0, 1.0)],
        [(2.0, -1.0), (1.0, -1.0)],
    ]


def test_orbits_are_given_at_the_beginnings_of_more_intervals():
    """States are those of the curve there, in the units of the system."""
    curve: Any = Mesh(2)
    curve.mesh = np.array([0.0, 0.75, 1.0])
    curve.states_at = lambda state, parameter, shares: np.stack([shares, parameter + state * shares], axis=1)
    curve._like, curve.units = np.zeros(2), SimpleNamespace(moved=lambda nodes, way: 10.0**way * nodes)
    shares, rows = _sampled(curve, 2.0, 1.0, 4)
    np.testing.assert_allclose(shares, [0.0, 0.375, 0.75, 0.875])
    np.testing.assert_allclose(rows[:, 1], 1 + 2 * shares)
    nodes, times = _stacked(curve, [(shares, rows), (shares, 3 * rows)])
    np.testing.assert_allclose(nodes, 10 * np.stack([rows, 3 * rows]))
    np.testing.assert_allclose(times, [shares, shares])
    curve.units = None
    np.testing.assert_allclose(_stacked(curve, [(shares, rows)])[0], rows[None])
    shot: Any = Shots(2)
    shot.states_at = curve.states_at
    np.testing.assert_allclose(_sampled(shot, 0.0, 1.0, 4)[0], [0.0, 0.25, 0.5, 0.75])


class Fast(Shots):
    """Orbits on a circle of radius p, with the angle 2 pi s + 0.9 sin(2 pi s): slow beside s = 1/2."""

    def __init__(self):
        super().__init__(6)
        self._rtol, self.asked, self.parameter = 1e-9, [], SimpleNamespace(name="mu")
        self.units: Any = SimpleNamespace(parameters=[2.0])
        self._given_to_all = ("parameter", "like", "forcing", 7.0, 1e-9, "units", "mesh")

    def _short(self, rows):
        return rows

    def states_at(self, state, parameter, shares):
        self.asked.append(len(shares))
        turn = 2 * np.pi * np.asarray(shares)
        angle = turn + 0.9 * np.sin(turn) + float(state[0])
        return parameter * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def displaced(self, state, by):
        return state + by


class Collocated:
    """A curve by collocation that keeps what it is given; the tangent that it finds may lead back."""

    def __init__(self, parameter, like, mesh, *options):
        self.mesh, self.options, self.made = mesh, options, (parameter, like)

    def cycle(self, rows, period):
        self.rows, self.period = rows, period
        return "cycle"

    def basis(self, state):
        return np.eye(len(self.rows) * 2 + 1)

    def corrected(self, state, parameter, tangent):
        self.asked = state, parameter, tangent
        return at(parameter, sense[0] * tangent) if sense[0] else None


sense = [1.0]


def test_the_first_mesh_of_collocation_is_dense_where_the_orbit_is_fast(monkeypatch):
    monkeypatch.setattr(method_change, "CollocationCurve", Collocated)
    curve: Any = Fast()

    class State(np.ndarray):
        period = 3.0

    empty = np.zeros(0)
    begin = np.zeros(2).view(State)
    point = CurvePoint(begin, 0.5, np.array([[1.0], [0.0]]), empty, empty, np.array([0.6, 0.8]), lambda: empty, empty)
    shares, rows = method_change._samples(curve, point)
    chords = method_change._chords(curve, rows)
    assert np.max(chords) <= method_change.APART
    np.testing.assert_allclose(rows, curve.states_at(begin, 0.5, shares))
    assert curve.asked[0] == 36  # as many as are wanted, in each of six segments alike
    np.testing.assert_allclose(
        chords, np.linalg.norm(np.diff(rows, axis=0, append=rows[:1]), axis=1), rtol=1e-4
    )  # ranges of 1
    find = getattr(method_change.on_intervals_of, "__wrapped__", method_change.on_intervals_of)
    for sense[0] in (1.0, -1.0):
        other, found = find(curve, point)
        assert found.parameter == 0.5
        assert found.tangent @ other.asked[2] == pytest.approx(1.0)
    assert other.options == ("forcing", 7.0, 1e-9, "units")
    assert other.note == "by collocation from mu = 1 on"
    assert (other.mesh[0], other.mesh[-1], other.period) == (0.0, 1.0, 3.0)
    assert len(other.mesh) >= method_change.FEWEST
    np.testing.assert_allclose(other.rows, curve.states_at(begin, 0.5, other.mesh[:-1]))
    lengths = 2 * np.pi * (1 + 0.9 * np.cos(2 * np.pi * other.mesh[:-1]))  # of the tangent, on a circle of length 2 pi
    parts = np.diff(other.mesh) * (lengths / (2 * np.pi) + method_change.EVENLY)
    assert np.max(parts) < 2 * np.mean(parts)  # up to a sample
    moves = method_change.BESIDE * np.concatenate([
        (0.8 / 0.5 * other.rows + 0.6 * other.rows[:, ::-1] * [-1.0, 1.0]).ravel(), [0.0, 0.8]])  # fmt: skip
    np.testing.assert_allclose(other.asked[2], moves / np.linalg.norm(moves), atol=1e-4)
    sense[0] = 0.0
    assert find(curve, point) is None

"""Small decisions about families, branches and their ends, each by a case on both sides of its boundary."""

import inspect
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import diagrams
from analysis.dynamics.attractors import edge_tracking, options, surfaces
from analysis.dynamics.attractors.classification import LimitSet
from analysis.dynamics.boundary_values import connection_curve
from analysis.dynamics.codim2 import curves, orbits_beside
from analysis.dynamics.continuation import branches, extending
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.locating import _interpolated, turns_back
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.equilibria.families import Family
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.periodic_orbits.limit_cycles import _reversed
from analysis.dynamics.portraits import plane
from dynsim import FunctionFlow, FunctionMap, Parameter
from dynsim.errors import ArgumentError

LINE = Family(np.stack([np.arange(6.0), np.zeros(6)], axis=1), ("stable",) * 2 + ("saddle",) * 3 + ("stable",), "open")


def unchecked(function) -> Any:
    """The function without the checks of its annotations, so that it takes stand-ins."""
    return getattr(function, "__wrapped__", function)


def at(parameter, state=0.0):
    empty = np.zeros(0)
    return CurvePoint(np.array([float(state)]), float(parameter), empty, empty, empty, empty, lambda: empty, empty)


def test_a_family_has_parts_of_one_stability():
    assert LINE.runs == [("stable", 0, 2), ("saddle", 2, 5), ("stable", 5, 6)]
    word, points = LINE.part(np.array([2.6, 0.0]), np.ones(2))
    assert (word, points[:, 0].tolist()) == ("saddle", [2.0, 3.0, 4.0, 5.0])
    assert LINE.part(np.array([1.4, 0.0]), np.ones(2))[0] == "stable"
    assert LINE.part(np.array([9.0, 0.0]), np.ones(2))[1][:, 0].tolist() == [5.0]
    bent = Family(np.array([[0.0, 0.0], [1.0, 8.0]]), ("stable", "saddle"), "open")
    near = lambda *sizes: bent.part(np.array([0.8, 3.0]), np.array(sizes))[0]
    assert (near(1.0, 1.0), near(1.0, 100.0)) == ("stable", "saddle")  # relative to the sizes


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("open", "curve of equilibria from (0, 0) to (5, 0): stable, saddle from (2, 0), stable from (5, 0)"),
        ("cut", "curve of equilibria from (0, 0) to (5, 0), not followed to its end: stable, saddle from (2, 0), st"),
        ("closed", "curve of equilibria closed, through (0, 0): stable, saddle from (2, 0), stable from (5, 0)"),
        ("surface", "surface of equilibria through (0, 0)"),
    ],
)
def test_a_family_is_described_by_its_ends_and_parts(end, said):
    assert str(LINE._replace(end=end)).startswith(said)
    tiny = LINE._replace(points=LINE.points + [0.0, 4e-6], end=end)
    assert str(tiny) == str(LINE._replace(end=end))  # up to a millionth of the largest entry
    assert "6e-06" in str(LINE._replace(points=LINE.points + [0.0, 6e-6], end=end))


def limit(kind=surfaces.SURFACE, stability="stable", place=0.0):
    rows = np.full((1, 1), place)
    return LimitSet(kind, stability, rows, rows, 0.0, np.zeros(1))


def test_a_surface_of_equilibria_is_the_first_one_of_its_kind_that_steps_lead_to(monkeypatch):
    reached = lambda time_map, begin, xs, extent: np.array([begin[0] >= 2.0 and xs[0, 0] == 9.0])
    monkeypatch.setattr(surfaces, "leads_to", reached)
    sets = [
        limit(place=1.0),
        limit("curve", place=2.0),
        limit(stability="saddle", place=3.0),
        limit(place=4.0),
        limit(place=5.0),
    ]
    among = lambda one: unchecked(surfaces.among_surfaces)(None, one, sets, np.ones(1))
    assert [among(limit(place=9.0)), among(limit(place=8.0)), among(limit("curve", place=9.0))] == [3, -1, -1]
    moving = TimeMap(FunctionFlow(lambda t, x: x), jnp.zeros(1), state_itself, 1, 1e-8, 1e4, None)
    jumping = TimeMap(FunctionMap(lambda k, x: x), jnp.zeros(1), state_itself, 1, 1e-8, 1e4, None)
    other = TimeMap(FunctionFlow(lambda t, x: x), jnp.zeros(1), lambda x: x**2, 1, 1e-8, 1e4, None)
    assert [surfaces.can_walk(one) for one in (moving, jumping, other)] == [True, False, False]


def test_orbits_beside_a_point_are_those_of_hopf_points_at_some_distance_along_either_side(monkeypatch):
    """The curve p = 1 + 10 q^2 of Hopf points, with places relative to widths of 10 and 2; its first side has none."""
    flow = FunctionFlow(lambda t, x, p, q: p * q * x, parameters={"p": 1.0, "q": 0.0})
    both = Parameter(flow, "p", 0.0, 10.0), Parameter(flow, "q", -1.0, 1.0)
    q = np.linspace(-0.5, 0.5, 101)
    hopf = SimpleNamespace(first=1 + 10 * q**2, second=q, states=q[:, None], frequencies=np.where(q < 0.05, 0.7, 0.0))
    at: Any = SimpleNamespace(first=1.0, second=0.0, kind="Bautin point")
    tried: list[Any] = []

    def orbits(own, point, *, steps):
        tried.append((own.name, round(own.value, 6), round(float(point.state[0]), 6), round(point.parameter, 6)))
        if len(tried) == 1:
            raise ArgumentError("parameter", "be in bounds", "is not")
        return SimpleNamespace(bifurcations=[SimpleNamespace(kind=kind) for kind in ("fold", "fold")[: len(tried) - 2]])

    monkeypatch.setattr(orbits_beside, "orbits_from_hopf", orbits)
    monkeypatch.setattr(orbits_beside, "bifurcation_at", lambda flow, kind, state, first, frequency: SimpleNamespace(
        state=state, parameter=first))  # fmt: skip
    (own, other), fold = unchecked(orbits_beside.bifurcation_beside)(both, at, hopf, "fold")
    near, far, close = -0.06, -0.19, 0.02  # at the distances 0.03, 0.1 and 0.01, the largest part of which is along q
    assert tried == [("p", pytest.approx(p), q, pytest.approx(p)) for q in (near, far, close) for p in (1 + 10 * q**2,)]
    assert (own.name, other.name, fold.kind) == ("p", "q", "fold")
    assert (own.value, other.value) == pytest.approx((1 + 10 * close**2, close))
    ended = {name: rows[:53] for name, rows in vars(hopf).items()}  # at the point that is found, from the one before
    turned = SimpleNamespace(**ended | {"first": ended["second"], "second": ended["first"]})
    tried.clear()
    reversed_at = SimpleNamespace(first=0.0, second=1.0, kind="Bautin point")
    assert unchecked(orbits_beside.bifurcation_beside)(both[::-1], reversed_at, turned, "fold")[0][0].name == "p"
    tried[:] = [None]
    with pytest.raises(ArgumentError, match="have a Neimark-Sacker point of periodic orbits beside it"):
        unchecked(orbits_beside.bifurcation_beside)(both, at, hopf, "Neimark-Sacker point")


def test_a_parameter_turns_back_by_more_than_its_error():
    curve: Any = SimpleNamespace(tolerances=(1e-3, 1e-9))
    turns = lambda *values: unchecked(turns_back)(curve, *(at(value) for value in values))
    assert turns(0.0, 1.0, 0.5)
    assert turns(0.0, -1.0, -0.5)
    assert not turns(0.0, 1.0, 2.0)
    assert turns(0.0, 1.0, 1.0 - 2.1e-3)
    assert not turns(0.0, 1.0, 1.0 - 1.9e-3)
    assert not turns(1.0 - 1.9e-3, 1.0, 0.0)
    rows = np.array([[x**3, 2 - x] for x in (-2.0, -1.0, 1.0, 2.0)])
    np.testing.assert_allclose(_interpolated(np.array([-2.0, -1.0, 1.0, 2.0]), rows, 0.5), [0.125, 1.5])


def test_a_branch_goes_on_from_the_state_in_a_file_and_beyond_a_period_that_was_the_longest():
    near = lambda found, known: unchecked(extending._beside)(at(1.0, found), np.array([known]), 1.0)
    assert [near(1000 + error, 1000.0) for error in (0.99e-3, -1.01e-3)] == [True, False]
    assert [near(error, 0.0) for error in (1.9e-6, -2.1e-6)] == [True, False]
    states = Cycle(np.zeros((2, 1, 1)), np.array([4.0, 6.0]))
    curve: Any = SimpleNamespace(own=lambda cycle: cycle, longest=5.0)
    short = lambda side, ends=("period", "period"): unchecked(extending._is_short)(
        curve, SimpleNamespace(states=states, ends=ends), side)  # fmt: skip
    assert [short(0), short(1), short(0, ("bounds", "period"))] == [True, False, False]


def test_a_place_is_an_end_of_a_curve_up_to_a_share_of_the_step_there():
    points = [at(5.0), at(5.2), at(9.0), at(9.5)]
    ends = lambda p: unchecked(curves._at_end)(at(p), points)
    share = curves.AT_END
    assert [ends(5.0 + sign * 0.2 * share * size) for sign in (1, -1) for size in (0.9, 1.1)] == [True, False] * 2
    assert [ends(9.5 + 0.5 * share * size) for size in (0.9, 1.1)] == [True, False]
    assert not ends(9.0)


def test_eigenvalues_are_doubted_at_the_middle_of_each_part():
    points = [at(float(k)) for k in range(8)]
    doubted: list[float] = []
    curve: Any = SimpleNamespace(
        doubt=lambda point: doubted.append(point.parameter) or ("few" if point.parameter > 3 else "")
    )
    found: Any = [SimpleNamespace(arclength=3.5, parameter=3.4)]
    missed, gaps, doubts = unchecked(branches._uncounted)(curve, points, np.arange(8.0), found)
    assert doubted == [2.0, 6.0]
    assert (missed, gaps, doubts) == ({4, 5, 6, 7}, [(3.4, 7.0)], ["few"])


def test_a_branch_of_cycles_is_cut_where_their_period_is_halved(monkeypatch):
    """Of four phases the first and the third are equal at the second branch point."""
    spread = [0.0, 1.0, 1e-3, 3.0]
    monkeypatch.setattr(diagrams, "phases", lambda parameter, alone, values, iterate: [
        np.array([[float(x if values[0] > 1 or k == 0 else k)]]) for k, x in enumerate(spread)])  # fmt: skip
    monkeypatch.setattr(diagrams, "cut_at", lambda whole, at, kind: (at.parameter, kind))
    one = lambda kind, p: SimpleNamespace(kind=kind, parameter=p, state=np.zeros(1))
    whole = lambda *marks: SimpleNamespace(bifurcations=marks, states=np.zeros((3, 1)) + 10.0)
    cut = lambda known: unchecked(diagrams._one_phase)(None, known, 4)
    monkeypatch.setattr(diagrams, "_size", lambda x, rows: 1.01e-3 / diagrams.SAME)
    assert cut(whole(one("fold", 5.0), one("branch point", 1.0), one("branch point", 2.0))) == (2.0, "period doubling")
    monkeypatch.setattr(diagrams, "_size", lambda x, rows: 0.99e-3 / diagrams.SAME)
    known = whole(one("branch point", 2.0))
    assert cut(known) is known


def test_orbits_begin_at_the_hopf_point_with_their_parameter_and_state():
    nodes = np.array([[[1.0, 2.0]], [[3.0, 6.0]]])
    orbits = SimpleNamespace(
        ends=("Hopf point", "bounds"), states=SimpleNamespace(nodes=nodes), parameters=np.array([5.0, 7.0])
    )
    share = diagrams.SAME
    hopf = lambda p=5.0, x=1.0: SimpleNamespace(parameter=p, state=np.array([x, 2.0]))
    begins = lambda known, at: unchecked(diagrams._begins_at)(known, at)
    assert begins(orbits, hopf())
    assert [begins(orbits, hopf(5 + 2 * share * f)) for f in (0.99, 1.01, -0.99, -1.01)] == [True, False, True, False]
    assert [begins(orbits, hopf(x=1 - 3 * share * f)) for f in (0.9, 1.1)] == [True, False]
    orbits.ends = ("bounds", "Hopf point")
    assert not begins(orbits, hopf())


@pytest.mark.parametrize(
    ("shrinks", "asked", "kept"),
    [
        (set(), ["h2", "h3"], ("old", "from h2", "from h3")), ({("from h2", "h3")}, ["h2"], ("old", "from h2")),
        ({("from h3", "h2")}, ["h2", "h3"], ("old", "from h3")), ({("old", "h2")}, ["h3"], ("old", "from h3")),
    ],
)  # fmt: skip
def test_a_family_between_two_hopf_points_is_one_branch(monkeypatch, shrinks, asked, kept):
    """The diagram has orbits from h1; a family that shrinks to another point is kept from the end followed last."""
    seen = []
    monkeypatch.setattr(diagrams, "_begins_at", lambda one, at: (one, at.name) == ("old", "h1"))
    monkeypatch.setattr(diagrams, "_shrinks_to", lambda one, at: (one, at.name) in shrinks)
    follow = lambda parameter, at, options: seen.append(at.name) or [f"from {at.name}"]
    monkeypatch.setattr(diagrams, "families_from_hopf", follow)
    marks = [SimpleNamespace(kind="Hopf point", name=f"h{k}") for k in (1, 2, 3)]
    branch: Any = SimpleNamespace(bifurcations=[marks[0], SimpleNamespace(kind="fold", name="f"), *marks[1:]])
    old: Any = ("old",)
    found = inspect.unwrap(diagrams.with_orbits)(diagrams.Diagram("a", (branch,), (1,), orbits=old), None)
    assert (seen, found.orbits) == (asked, kept)


def test_homoclinic_orbits_are_continued_once_from_each_new_point_and_others_are_noted(monkeypatch):
    flow = FunctionFlow(lambda t, x, p, q: p * q * x, parameters={"p": 1.0, "q": 0.0})
    both = Parameter(flow, "p", 0.0, 10.0), Parameter(flow, "q", -1.0, 1.0)
    point = lambda p, q, kind=diagrams.TAKENS: SimpleNamespace(kind=kind, first=p, second=q)
    tried = []

    def follow(parameters, at, *, steps):
        tried.append((at.first, at.second))
        if at.second == 0.5:
            raise ArgumentError("at", "be inside", "is not")
        return f"from {at.first}"

    monkeypatch.setattr(connection_curve, "continue_connection", follow)
    monkeypatch.setattr(diagrams, "_with_central", lambda loops, *given: loops)
    known: Any = SimpleNamespace(ends=(diagrams.TAKENS, "bounds"), degeneracies=[point(1.0, 0.1)])
    other: Any = SimpleNamespace(ends=("bounds", diagrams.TAKENS), degeneracies=[point(9.0, 0.0)])
    near = 0.9 * diagrams.CORNER
    curves: Any = [
        SimpleNamespace(of_orbits=True, degeneracies=[point(2.0, 0.2)]),
        SimpleNamespace(
            of_orbits=False, degeneracies=[point(1.0 + 10 * near, 0.1), point(5.0, 0.2), point(3.0, 0.3, "cusp")]
        ),
        SimpleNamespace(of_orbits=False, degeneracies=[point(5.0, 0.2 + 2 * near), point(7.0, 0.5)]),
    ]
    loops, notes = inspect.unwrap(diagrams._with_loops)((known, other), curves, both, None)
    assert tried == [(5.0, 0.2), (7.0, 0.5)]
    assert loops == (known, other, "from 5.0")
    (note,) = notes
    assert "point at (p, q) = (7, 0.5): it must be inside, but is not" in note


def test_tori_begin_at_the_point_with_their_rotation_period_and_parameter():
    at = lambda p=2.0, angle=2 * np.pi * 0.3: SimpleNamespace(
        kind="Neimark-Sacker point", parameter=p, frequency=angle, state=SimpleNamespace(period=5.0))  # fmt: skip
    tori = lambda rotation=0.3, period=5.0, end="Neimark-Sacker point": SimpleNamespace(
        ends=(end, "steps"), parameters=np.array([2.0, 2.5]),
        tori=[SimpleNamespace(parameter=2.0, rotation=rotation, period=period)])  # fmt: skip
    begins = unchecked(diagrams._tori_begin_at)
    assert begins(tori(), at(), 1)
    assert begins(tori(0.7), at(), 1)  # in the other sense
    assert not begins(tori(end="steps"), at(), 1)
    share = 0.99 * diagrams.CLOSE, 1.01 * diagrams.CLOSE
    assert [begins(tori(0.3 * (1 + s)), at(), 1) for s in share] == [True, False]
    assert [begins(tori(period=5 * (1 - s)), at(), 1) for s in share] == [True, False]
    assert [begins(tori(), at(p), 1) for p in (2.49, 1.51, 2.51)] == [True, True, False]
    fixed = SimpleNamespace(kind="Neimark-Sacker point", parameter=2.0, frequency=2 * np.pi * 0.3, state=np.zeros(2))
    assert [begins(tori(), fixed, iterate) for iterate in (5, 1)] == [True, False]


def test_orbits_shrink_to_the_hopf_point_that_the_last_one_surrounds_with_its_period():
    """The last orbit is a step of 0.5 from the one before; it lies within 2 and 4 of (5, 1)."""
    nodes = np.array([[[0.0, 0.0]] * 4, [[4.0, -1.0], [6.0, -1.0], [6.0, 3.0], [4.0, 3.0]]])
    states = SimpleNamespace(nodes=nodes, period=np.array([9.0, 3.0]))
    orbits = lambda end="equilibrium", count=2: SimpleNamespace(
        ends=("bounds", end), states=states, parameters=np.array([7.0, 7.5])[-count:])  # fmt: skip
    hopf = lambda p=7.5, x=5.0, y=1.0, period=3.0: SimpleNamespace(
        parameter=p, state=np.array([x, y]), frequency=2 * np.pi / period)  # fmt: skip
    shrinks = lambda at, **known: unchecked(diagrams._shrinks_to)(orbits(**known), at)
    assert shrinks(hopf())
    assert not shrinks(hopf(), end="bounds")
    assert not shrinks(hopf(), count=1)
    assert [shrinks(hopf(p=p)) for p in (8.99, 9.01, 6.01, 5.99)] == [True, False, True, False]
    assert [shrinks(hopf(x=x)) for x in (2.99, 7.01)] == [False, False] == [shrinks(hopf(y=y)) for y in (-3.01, 5.01)]
    assert [shrinks(hopf(x=x)) for x in (3.01, 6.99)] == [True, True] == [shrinks(hopf(y=y)) for y in (-2.99, 4.99)]
    share = 1 + 0.99 * diagrams.CLOSE, 1 + 1.01 * diagrams.CLOSE
    assert [shrinks(hopf(period=3 / s)) for s in share] == [True, False]


def test_an_orbit_of_the_reversed_flow_is_turned_round():
    class Orbit(SimpleNamespace):
        def _replace(self, **changed):
            return Orbit(**vars(self) | changed)

    found = unchecked(_reversed)(
        Orbit(nodes=np.arange(4.0)[:, None], multipliers=np.array([0.5, 0.25, 0.0]), stability="stable")
    )
    assert found.nodes.ravel().tolist() == [0.0, 3.0, 2.0, 1.0]
    assert (found.multipliers.tolist(), found.stability) == ([np.inf, 4.0, 2.0], "unstable")


def test_the_slow_interval_is_that_of_the_lower_quartile_of_the_slowest_rates():
    """The rates are (1, k) and zero for k = 0, 1/2, 2, 4, 8; a rate of zero does not count."""
    flow = FunctionFlow(lambda t, x: jnp.stack([-x[0] * x[1], 0 * x[1], -4 * x[2] * x[1]]))
    starts = lambda *rates: np.array([[0.0, rate, 0.0] for rate in rates])
    assert options._slow_interval(flow, starts(0.5, 2.0, 4.0, 8.0, 16.0)) == pytest.approx(options.SHARE / 2.0)
    assert options._slow_interval(flow, starts(0.0, 3.0)) == pytest.approx(options.SHARE / 3.0)
    assert options._slow_interval(flow, starts(0.0, 0.0)) == 1.0
    some = [len(options._some(np.zeros((count, 1)), count, 32)) for count in (5, 63, 64, 100, 320)]
    assert some == [5, 63, 32, 34, 32]


def test_the_unstable_direction_is_that_of_the_largest_real_part_or_modulus():
    A = np.array([[-5.0, 0.0], [-6.0, 1.0]])  # 1 along (0, 1), -5 along (1, 1)
    flow, jumps = FunctionFlow(lambda t, x: jnp.asarray(A) @ x), FunctionMap(lambda k, x: jnp.asarray(A) @ x)
    of = lambda system: TimeMap(system, jnp.zeros(2), state_itself, 1, 1e-8, 1e4, None)
    rows = np.zeros((1, 2))
    one = LimitSet("equilibrium", "saddle", rows, rows, 0.0, np.zeros(2))
    np.testing.assert_allclose(edge_tracking._unstable(of(flow), one, rows[0]), [0.0, 1.0], atol=1e-12)
    root = np.sqrt(0.5)
    fixed = one._replace(kind="fixed point", period=1.0)
    np.testing.assert_allclose(edge_tracking._unstable(of(jumps), fixed, rows[0]), [root, root], atol=1e-12)
    twice = edge_tracking._derivative(of(jumps), rows[0], np.eye(2)[:, :1], 2.0)
    np.testing.assert_allclose(twice, (A @ A)[:, :1])


def test_a_curve_with_exchanged_parameters_has_exchanged_points_and_ends():
    class Found(SimpleNamespace):
        def _replace(self, **changed):
            return Found(**vars(self) | changed)

    given = Found(first="a", second="b", degeneracies=(Found(first=1.0, second=2.0),), ends=("bounds", "outside"))
    found = unchecked(curves._exchanged)(given)
    assert (found.first, found.second, found.ends) == ("b", "a", ("outside", "bounds"))
    assert (found.degeneracies[0].first, found.degeneracies[0].second) == (2.0, 1.0)
    assert unchecked(curves._exchanged)(given._replace(ends=("steps", "closed"))).ends == ("steps", "closed")


def test_an_edge_state_has_the_unstable_directions_of_its_rates_or_multipliers():
    rows = np.array([[1.0, 5.0], [3.0, 5.0]])
    rates, attractors = np.array([2.0, -0.5, -3.0 + 1j]), SimpleNamespace(attractors=("left", "right"))
    limits = {kind: LimitSet(kind, "saddle", rows, rows, 0.0, rates) for kind in ("equilibrium", "periodic orbit")}
    edge = lambda kind, **more: edge_tracking.EdgeState(
        limits[kind], np.zeros(2), (0, 1), (0, -3), rows, 2e-9, attractors, **more)  # fmt: skip
    assert [edge(kind).unstable_dimension for kind in limits] == [1, 2]
    assert edge("equilibrium").spread.tolist() == [1.0, 0.0]
    said = str(edge("equilibrium"))
    assert said.startswith("between the basins of left and of at a limit that does not attract: ")
    assert said.endswith("1 unstable direction, known to 2e-09")
    chaotic = edge("periodic orbit", exponents=SimpleNamespace(positive=3))
    assert chaotic.unstable_dimension == 3
    assert "3 unstable directions, known to 2e-09; exponents" in str(chaotic)


def test_the_scale_of_an_equilibrium_is_the_share_of_the_window_over_which_the_jacobian_doubles():
    """J = diag(1 + a x, 1 + a y) + (0, b; 0, 0): its change at the furthest of four places is 4.045 a times a share."""
    moved = np.array([0.5, -3.0])

    def rows_of(a, b=0.0):
        def rows(points):
            J = np.zeros((len(points), 2, 2))
            J[:, [0, 1], [0, 1]], J[:, 0, 1] = 1 + a * (points - moved), b
            return points, J

        return rows

    scale = lambda a, b=0.0: unchecked(plane._scale)(rows_of(a, b), moved, np.array([4.0, 2.0]))
    assert [scale(a) for a in (1.0, 1.39, 1.41, 2.0)] == [0.25, 0.25, 0.125, 0.125]
    assert scale(1.41, 4.0) == 0.25  # of the norm in shares of the window, to which b adds 2
    assert scale(0.0) == 0.5
    assert scale(np.nan) == 1.0

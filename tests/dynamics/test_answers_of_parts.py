"""Parts of searches, curves and boundary value problems by closed forms, with stand-ins for what they ask."""

from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import exponents, linearisation
from analysis.dynamics import orbit_diagrams as diagrams
from analysis.dynamics.attractors import attracting_orbit, basins, fractions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.boundary_values import connection_equations
from analysis.dynamics.boundary_values.connection_curve import ConnectionCurve
from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.codim2 import coefficients
from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.steps import Limits
from analysis.dynamics.equilibria import search
from analysis.dynamics.portraits.line import line_portrait
from dynsim import Diffrax, FunctionFlow, Parameter, random_key
from dynsim.errors import ArgumentError, IntegrationError, Outcome


def curve_point(parameter=0.0, tangent=()):
    empty = np.zeros(0)
    return CurvePoint(np.zeros(1), parameter, empty, empty, empty, np.array(tangent), lambda: empty, empty)


def unchecked(function) -> Any:
    """The function without the checks of its annotations, so that it takes stand-ins."""
    return getattr(function, "__wrapped__", function)


def blank(kind, **parts) -> Any:
    """An object of a class with these attributes alone."""
    concrete: Any = type(kind.__name__, (kind,), {})
    concrete.__abstractmethods__ = frozenset()
    made = object.__new__(concrete)
    made.__dict__.update(parts)
    return made


def test_the_phase_portrait_of_a_line_has_the_velocity_and_the_equilibria_in_the_window():
    flow = FunctionFlow(lambda t, x: (x - 1) * (x - 2) * (5 - x) * t, names=("n",), units=("m",))
    found = line_portrait(flow, (0.0, 4.0), t=2.0, points=5)
    np.testing.assert_allclose(found.xs, np.arange(5.0))
    np.testing.assert_allclose(found.velocity, 2 * (found.xs - 1) * (found.xs - 2) * (5 - found.xs))
    assert str(found) == "stable 1; unstable 2"
    assert sorted(found.points.tolist()) == pytest.approx([1.0, 2.0])
    assert (found.known.names, found.known.units) == (("n",), ("m",))
    assert "no equilibrium in the window" in str(line_portrait(flow, (2.5, 4.0), t=2.0, points=5))
    double = line_portrait(FunctionFlow(lambda t, x: x**2), (-2.0, 2.0), points=5)  # found at -2.6e-26
    assert str(double) == "not hyperbolic (1 zero eigenvalue) 0"


@pytest.mark.parametrize("value", [2.1 + 0.1j, -1.0])
@pytest.mark.parametrize("direct", [True, False])
def test_eigenvectors_near_a_value_solve_both_eigenvalue_equations(value, direct, monkeypatch):
    """With eigenvalues 2 +- i / 2 and -1; where inverse iteration fails, all eigenvectors are computed."""
    S = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1.0]])
    A = S @ np.array([[2.0, 0.5, 0.0], [-0.5, 2.0, 0.0], [0.0, 0.0, -1.0]]) @ np.linalg.inv(S)
    if not direct:
        monkeypatch.setattr(linearisation, "_inverse_iteration", lambda A, v, rows: (np.eye(3)[0] + 0j,) * 2)
    q, p, found = linearisation.eigenvectors_near(A, value)
    assert found == pytest.approx(-1.0 if value == -1.0 else 2 + 0.5j)
    np.testing.assert_allclose(A @ q, found * q, atol=1e-12)
    np.testing.assert_allclose(A.T @ p, np.conj(found) * p, atol=1e-12)
    assert (np.linalg.norm(q), np.linalg.norm(p)) == pytest.approx((1.0, 1.0))


def limit(*points):
    states = np.array(points, float)[:, None]
    return LimitSet("equilibrium", "stable", states, states, 0.0, np.array([-1.0 + 0j]))


def test_attractors_are_matched_with_those_whose_points_they_attract(monkeypatch):
    """Of the first 3 of 4 points lead to the second attractor; the second has no majority, the third goes elsewhere."""
    before = [limit(0.0, 1.0, 2.0, 3.0), limit(10.0, 11.0), limit(20.0)]
    found = SimpleNamespace(attractors=(limit(21.0), limit(2.0)), extent=np.ones(1))
    ends = {0.0: 1, 1.0: 1, 2.0: 1, 3.0: 0, 10.0: 0, 11.0: 1, 20.0: 0}
    told = []

    def reached(time_map, flat, options, attractors, extent):
        told.append(options)
        return SimpleNamespace(labels=np.array([ends[x] for x in flat[:, 0].tolist()]))

    monkeypatch.setattr(fractions, "attractors_of", reached)
    matched = unchecked(fractions._enclosed)
    arguments: Any = ("map", before, found, "told")
    assert matched(*arguments) == [2, 0]
    assert told == ["told"] * 3
    many = limit(*np.arange(100.0) / 1e3)
    seen = []
    monkeypatch.setattr(fractions, "attractors_of", lambda m, flat, *_: seen.append(len(flat)) or SimpleNamespace(
        labels=np.zeros(len(flat), int)))  # fmt: skip
    arguments = ("map", [many, many], found, "told")
    assert matched(*arguments) == [0, -1]  # each of the earlier ones is continued once
    assert seen == [34, 34]  # every third point


def test_fractions_along_a_parameter_keep_the_labels_of_their_attractors(monkeypatch):
    flow = FunctionFlow(lambda t, x, h=0.0: x - x**3 + h, parameters={"h": 0.0})
    h = Parameter(flow, "h", -1.0, 1.0)
    seen = []
    by_value = {
        0.0: ((limit(-1.0), limit(1.0)), [0, 0, 0, 1]), 0.5: ((limit(1.05),), [0, 0, 0, 0]),
        -0.5: ((limit(-1.05), limit(0.99)), [0, 0, 1, -1]),
    }  # fmt: skip

    def labelled(time_map, flat, options):
        seen.append((time_map, flat.shape))
        attractors, labels = by_value[time_map]
        return SimpleNamespace(attractors=attractors, labels=np.array(labels), extent=np.ones(1), is_stiff=time_map < 0)

    monkeypatch.setattr(fractions, "set_up", lambda moved, starts, options: (float(moved.parameters["h"]), starts))
    monkeypatch.setattr(fractions, "labelled", labelled)
    sampler = lambda key: jnp.zeros(1)
    run = lambda values, **options: fractions.continued_fractions(
        h, values, sampler, 4, random_key(0, "starts"), **options)  # fmt: skip
    found = run([0.0, 0.5, -0.5])
    assert seen == [(0.0, (4, 1)), (0.5, (4, 1)), (-0.5, (4, 1))]
    assert found.labels.tolist() == [0, 1, -1]
    np.testing.assert_array_equal(found.shares, [[0.75, 0.25, np.nan], [np.nan, 1.0, np.nan], [0.5, 0.25, 0.25]])
    assert (found.name, found.is_stiff, run([0.0, 0.5]).is_stiff) == ("h", True, False)
    assert [sorted(row) for row in found.attractors] == [[0, 1], [1], [0, 1]]
    monkeypatch.setattr(fractions, "_enclosed", lambda time_map, before, found, told: [len(before) - 1] + [-1] * (
        len(found.attractors) - 1))  # fmt: skip
    found = run([0.0, 0.5], matching="enclosure")
    np.testing.assert_array_equal(found.labels, [0, 1])
    assert found.shares[1].tolist()[1] == 1.0
    for values, sentence in (([], "at least one"), ([[0.0]], "at least one"), ([0.0, 1.1], "go from 0 to 1.1")):
        with pytest.raises(ArgumentError, match=sentence):
            run(values)


def test_an_orbit_passes_an_equilibrium_that_newtons_method_finds_beside_a_node():
    """A saddle at 0 and a node at 10: an orbit far from both passes none, nor one beside the node."""

    def at(t, rows, parameter):
        saddle = rows[:, :1] < 5
        f = np.where(saddle, rows * [1.0, -2.0], (rows - 10.0) * [-1.0, -2.0])
        J = np.where(saddle[..., None], np.diag([1.0, -2.0]), np.diag([-1.0, -2.0]))
        return f, np.concatenate([J, np.zeros((len(rows), 2, 1))], axis=2)

    orbit = lambda start: np.array([start, np.add(start, [2.0, 0.0]), np.add(start, [2.0, 2.0])])
    passes = lambda start, **parts: CollocationCurve._passes_equilibrium(
        SimpleNamespace(**{"forced": False, "field": SimpleNamespace(at=at)} | parts), orbit(start), 1.0
    )  # fmt: skip
    assert passes([0.01, 0.01])
    assert not passes([0.01, 0.01], forced=True)
    assert not passes([1.0, 1.0])
    assert not passes([10.01, 10.01])
    broken = SimpleNamespace(at=lambda t, rows, p: (rows, np.full((len(rows), 2, 3), np.nan)))
    assert not passes([0.01, 0.01], field=broken)


def test_equilibria_on_a_line_belong_to_one_family(monkeypatch):
    """The line y = 0 is at rest between its members; states are projected onto the plane and improved along y."""
    resting = lambda y: np.abs(y[:, 0]) < 6

    def polished(rows, most):
        moved = rows * [1.0, 0.0]
        return moved, resting(moved)

    rows = SimpleNamespace(polished=polished, projected=lambda y: (y, None), state=lambda x: x)
    finder: Any = SimpleNamespace(rows=rows, members={}, joined=set(), points=[], units=SimpleNamespace(system="flow"))
    leads = lambda x, members: search._Search._leads_to(finder, np.array(x), [np.array(m) for m in members])
    assert leads([2.0, 0.0], [[-1.0, 0.0], [9.0, 0.0]])
    assert not leads([4.0, 0.0], [[9.0, 0.0]])  # states between are not at rest
    assert not leads([2.0, 8.0], [[-1.0, 0.0]])  # the line between is not one of equilibria
    kinds = {}
    monkeypatch.setattr(search, "spectrum", lambda flow, x: SimpleNamespace(values=kinds[tuple(np.round(x, 3))]))
    finder.points = [np.array([-2.0, 0.0]), np.array([2.0, 0.0]), np.array([3.0, 0.0])]
    finder.members = {k: [x] for k, x in enumerate(finder.points)}
    kinds.update({(-2.0, 0.0): [-1.0, 0.0], (2.0, 0.0): [-2.0, 0.0], (3.0, 0.0): [-3.0, 0.0], (0.0, 0.0): [-4.0, 0.0],
                  (1.0, 0.0): [-2.00001 + 1j, 0.0], (8.0, 0.0): [-5.0, 0.0]})  # fmt: skip
    finder._leads_to = lambda y, members: any(abs(m[0] - y[0]) < 2.5 for m in members)
    family = lambda x: search._Search._family_of(finder, np.array(x), [np.array(x)])
    assert family([1.0, 0.0]) == 1  # of one type up to rounding
    assert len(finder.members[1]) == 2
    assert family([8.0, 0.0]) is None
    assert family([0.0, 0.0]) == 0  # which it joins with the second one
    assert (finder.joined, len(finder.members[0])) == ({1}, 4)
    assert family([0.0, 0.0]) == 0  # alike, and known by its first member


def test_the_coefficients_of_points_of_returns_are_those_of_their_kinds(monkeypatch):
    """The length of the critical vector is 2: squared for cubic terms, to the fourth power for those of fifth order."""
    for name, value in {"cusp": 8.0, "chenciner": 80.0, "generalised_flip": 160.0, "third_resonance": 3.0}.items():
        monkeypatch.setattr(coefficients, f"{name}_coefficient", lambda *given, value=value: value)
    monkeypatch.setattr(coefficients, "fourth_resonance_coefficient", lambda *given: (4.0, 5.0))
    monkeypatch.setattr(coefficients, "double_coefficients", lambda *given: (6.0, 10.0))
    monkeypatch.setattr(coefficients, "critical_of", lambda point: SimpleNamespace(frequency=0.5))
    lengths = []

    class Curve(coefficients.FixedPointCurve):
        def critical_length(self, point, value):
            lengths.append(value)
            return 2.0

        def chart(self, point):
            return "chart", "A"

    inner: Any = blank(Curve)
    returns = blank(coefficients.CriticalReturns)
    monkeypatch.setattr(type(returns), "inner_at", lambda self, point: (inner, SimpleNamespace(J=np.eye(2))), raising=0)
    of = lambda name: coefficients._of_return(returns, name, curve_point())
    found = {name: of(name) for name in (*coefficients.RETURNING, "fold-flip point")}
    assert found == {
        "cusp": (2.0,), "1:1 resonance": (3.0, 5.0), "generalised period doubling": (10.0,), "Chenciner point": (5.0,),
        "1:3 resonance": (3.0,), "1:4 resonance": (4.0, 5.0), "fold-flip point": (),
    }  # fmt: skip
    assert lengths == pytest.approx([1.0, 1.0, -1.0, np.exp(0.5j)])
    inner = SimpleNamespace(coefficient=lambda name, here, frequency: SimpleNamespace(value=7.0))
    assert (of("cusp"), of("1:3 resonance")) == ((7.0,), ())


def test_the_coefficients_of_a_double_hopf_point_are_in_the_units_of_the_flow(monkeypatch):
    """The lengths of the critical vectors are the frequencies 2 and 3, time is measured in halves."""
    monkeypatch.setattr(coefficients, "_length", lambda curve, flow, state, critical: critical.imag)
    monkeypatch.setattr(
        coefficients, "double_hopf_coefficients", lambda flow, state, w: np.array([9.0, 8.0, 18.0, 12.0, 0.25, 0.75])
    )  # fmt: skip
    curve = blank(coefficients.CriticalEquations, units=SimpleNamespace(time=0.5))
    flow = FunctionFlow(lambda t, x: x)
    assert coefficients._double_hopf(curve, flow, np.zeros(4), (2.0, 3.0)) == (2.0, 4.0, 4.0, 6.0, 0.25, 0.75)
    curve.units = None
    assert coefficients._double_hopf(curve, flow, np.zeros(4), (2.0, 3.0)) == (1.0, 2.0, 2.0, 3.0, 0.25, 0.75)


def test_a_solution_is_evaluated_between_its_ends_on_a_shifted_interval():
    """The states 1 + x and x^2 on the mesh -1, 0.5, 2, by their values at Gauss points."""
    x = np.array([-1.0, 0.5, 2.0])
    shares = (1 + np.polynomial.legendre.leggauss(4)[0]) / 2
    at = lambda x: np.stack([1 + x, x**2], axis=-1)
    inner = at(x[:-1, None] + np.diff(x)[:, None] * shares)
    solution = BoundarySolution(x=x, states=at(x), inner=inner, error=0.0, unknowns={}, names=("a", "b"))
    places = np.array([-1.0, -0.4, 0.5, 1.3, 2.0])
    np.testing.assert_allclose(solution.at(places), at(places), atol=1e-12)
    for outside in ([0.0, 2.1], [-1.1, 0.0]):
        with pytest.raises(ArgumentError, match="`x` must be from -1 to 2"):
            solution.at(outside)


def test_the_largest_step_of_a_connection_follows_its_nodes_and_parameters():
    nodes = np.array([[3.0, 0.0], [-3.0, 0.0], [3.0, 4.0], [-3.0, -4.0]])
    curve = SimpleNamespace(segments=4, nodes=lambda state: np.column_stack([nodes, np.full((4, 4), 9.0)]))

    def largest(moves, own, free=False, most=0.5):
        rows = np.array([[*moves, 100.0, 0.0, 100.0, 100.0]] * 4)
        rows[2, 3] = -own / 2
        point = curve_point(tangent=np.append(rows.ravel(), own))
        return ConnectionCurve.largest_step(curve, point, Limits((0.0, 1.0), 0.1, most, 9, free=free), point)

    root, far = (4 / connection_equations.NODES) ** 0.5, connection_equations.LONGER * float(np.linalg.norm(nodes))
    assert largest([0.3, 0.4], 0.0) == pytest.approx(0.5 * root)
    assert largest([0.3, 0.4], 0.0, free=True) == pytest.approx(max(0.5 * root, far))
    assert largest([0.0, 0.0], -0.25) == pytest.approx(0.5 / 0.25)
    assert largest([0.0, 0.0], 0.25, most=2.0) == pytest.approx(2.0 / 0.25)
    assert largest([0.01, 0.0], 2.0) == pytest.approx(0.25)


def spectrum(values, resolved):
    return SimpleNamespace(exponents=np.array(values), errors=np.array(values) / 10, resolved=np.array(resolved))


def test_exponents_of_one_trajectory_are_those_of_the_first_interval_that_keeps_all_factors(monkeypatch):
    asked = []

    def found(flow, start, span, *, interval, **options):
        asked.append(interval)
        if interval < 0.2:
            raise IntegrationError("no", outcome=Outcome.MAX_STEPS)
        return spectrum([1.0 * interval, -2.0], [True, interval < 0.5])

    monkeypatch.setattr(exponents, "lyapunov_spectrum", found)
    flow = FunctionFlow(lambda t, x: x)
    alone = lambda intervals: exponents._alone(flow, np.zeros(2), 9.0, intervals, {"count": 2})
    np.testing.assert_allclose(alone([1.0, 0.4, 0.3]), [[0.4, -2.0], [0.04, -0.2]])
    assert asked == [1.0, 0.4]
    np.testing.assert_array_equal(alone([1.0, 0.6]), [[0.6, np.nan], [0.06, np.nan]])
    np.testing.assert_array_equal(alone([1.0, 0.1, 0.4]), [[1.0, np.nan], [0.1, np.nan]])
    np.testing.assert_array_equal(alone([0.1]), np.full((2, 2), np.nan))


def test_an_orbit_by_collocation_is_found_again_by_shooting_unless_it_is_stiff(monkeypatch):
    """The rates are 1000 in half of the period and 1 in the other."""
    flow = FunctionFlow(lambda t, x: jnp.stack([-x[0] * jnp.where(x[1] > 0, 1000.0, 1.0), x[1]]))
    orbit: Any = SimpleNamespace(
        state=np.zeros(2), nodes=np.array([[0.0, 1.0], [0.0, -1.0]]), times=np.array([0.0, 0.5]), period=1.0,
        stability="stable",
    )  # fmt: skip
    asked = []

    def shot(flow, state, period, *, segments, solver):
        asked.append((period, segments))
        if segments == 3:
            raise ArgumentError("period", "lead to an orbit", "does not")
        return SimpleNamespace(stability="saddle" if segments == 2 else "stable")

    monkeypatch.setattr(attracting_orbit, "periodic_orbit", shot)
    monkeypatch.setattr(attracting_orbit, "solver_of", lambda flow, integrator: None)
    by = unchecked(attracting_orbit._by_shooting)
    run = lambda segments, integrator=None: by(flow, orbit, segments, SimpleNamespace(integrator=integrator))
    monkeypatch.setattr(attracting_orbit, "STIFF", 500.0)
    assert run(4) is orbit
    assert not asked
    assert run(4, "explicit") is not orbit
    monkeypatch.setattr(attracting_orbit, "STIFF", 501.0)
    assert run(4) is not orbit
    assert asked == [(1.0, 4)] * 2
    assert run(2) is orbit  # of another stability
    assert run(3) is orbit


def test_crossings_are_followed_from_value_to_value_in_one_lane(monkeypatch):
    """Each flow gives two of three crossings, one beyond the other; none where its parameter is negative."""
    asked = []
    lanes = blank(diagrams.Ways)
    observe = lambda flows, one, ends, fn, *, lanes: (None, one + 100.0)
    prepared = lambda flows, starts, ends: asked.append((starts.shape, ends.tolist())) or "before"
    integrator: Any = SimpleNamespace(lanes=prepared, observe=observe)
    task = diagrams._Task(np.zeros(2), np.zeros(1), lambda x: 2 * x[0], "x", "", None, 1, 5.0, 50.0, 3, integrator)
    monkeypatch.setattr(diagrams, "_lanes", lambda flows, starts, task: lanes)

    def crossings(lanes, flows, one, task, seen):
        values = np.array([1.0, 2.0, np.nan]) if flows[0].parameters["a"] > 0 else np.full(3, np.nan)
        return (np.asarray(one)[:, :1] + values)[..., None]

    monkeypatch.setattr(diagrams, "_seen_at_crossings", crossings)
    flow = lambda a: FunctionFlow(lambda t, x, a: a * x, parameters={"a": a})
    ways = diagrams._Followed([flow(1.0), flow(-1.0)], task)
    assert asked == [((1, 1), [0.0, 5.0])]
    found, state = ways(flow(1.0), np.array([10.0]))
    np.testing.assert_array_equal(found, [222.0, 224.0, np.nan])
    assert np.asarray(state).tolist() == [112.0]  # the last crossing
    found, state = ways(flow(-1.0), np.array([10.0]))
    assert np.all(np.isnan(found))
    assert np.asarray(state).tolist() == [110.0]  # the end of the transient


def test_members_outside_of_lanes_get_the_intervals_and_the_transient_of_the_ensemble(monkeypatch):
    asked = []

    def alone(flow, start, span, intervals, options):
        asked.append((float(start[0]) > 1.5, span, intervals, options))
        return np.array([[1.0, 2.0], [0.1, 0.2]]) * (1 + len(asked))

    monkeypatch.setattr(exponents, "_alone", alone)
    monkeypatch.setattr(exponents, "_lanes", lambda *given: "the weather")
    flow, starts = FunctionFlow(lambda t, x: -x), np.array([[1.0, 1.0], [2.0, 2.0]])
    run = lambda **options: exponents.lyapunov_ensemble(
        flow, starts, 200.0, integrator=Diffrax(), **options
    )  # fmt: skip
    found = run()
    assert [one[0] for one in asked] == [False, True]
    np.testing.assert_allclose(found.exponents, [[2.0, 4.0], [3.0, 6.0]])
    np.testing.assert_allclose(found.errors, [[0.2, 0.4], [0.3, 0.6]])
    _, span, intervals, options = asked[0]
    assert (span, options["transient"], options["count"], options["t0"]) == (200.0, 20.0, 2, 0.0)
    assert intervals == [exponents.SHORTER**-n for n in range(1 + exponents.SHORTENED)]
    assert "not in lanes, because the weather" in repr(found) + str(found)
    asked.clear()
    run(interval=0.5, transient=0.0, count=1, t0=3.0)
    _, _, intervals, options = asked[0]
    assert (intervals, options["transient"], options["count"], options["t0"]) == ([0.5], 0.5, 1, 3.0)
    asked.clear()
    run(transient=7.0)
    assert asked[0][3]["transient"] == 7.0


def test_shorter_intervals_are_tried_for_those_of_which_a_factor_may_be_lost(monkeypatch):
    """The plans need intervals of a fourth, of at least the shortest, and a whole run."""
    Plan = namedtuple("Plan", "name every samples warm refines")
    seen = []

    def in_lanes(lanes, plans):
        seen.append([(plan.name, plan.every, plan.samples, plan.warm) for plan in plans])
        return [(plan, np.zeros(1), plan.name != "broken") for plan in plans]

    needed = {"good": 1.0, "short": 1.0 / exponents.SHORTER, "never": 0.0, "kept": 0.0, "broken": 1.0}
    monkeypatch.setattr(exponents, "_in_lanes", in_lanes)
    monkeypatch.setattr(exponents, "spectrum_of_logs", lambda plan, logs, last: (
        f"{plan.name} at {plan.every:g}" if plan.every <= needed[plan.name] else None))  # fmt: skip
    plans = {k: Plan(name, 1.0, 20, 2, name != "kept") for k, name in enumerate(needed)}
    found: list = [None] * 5
    unchecked(exponents._fill)(found, "lanes", plans, 9)
    assert found == ["good at 1", f"short at {1 / exponents.SHORTER:g}", None, None, None]
    shorter = exponents.SHORTER
    assert seen[1] == [(name, 1 / shorter, 20 * shorter, 2 * shorter) for name in ("short", "never")]
    assert len(seen) == 1 + exponents.SHORTENED
    last = shorter**exponents.SHORTENED
    assert seen[-1] == [("never", 1 / last, 20 * last, 2 * last)]


def test_a_start_leads_to_an_attractor_another_limit_or_nowhere(monkeypatch):
    flow, one = FunctionFlow(lambda t, x: -x), limit(0.0)
    reached: list[Any] = [None]
    searched, answers = [], []

    def find(flow, state, options):
        searched.append(state.tolist())
        label, other = answers.pop(0)
        return SimpleNamespace(
            labels=np.array([label]), other_reached=np.array([other]), attractors=("first", one), longest=7,
            interval=2.0, others=(one._replace(stability="saddle"), "other"),
        )  # fmt: skip

    monkeypatch.setattr(attracting_orbit, "_is_followed", lambda flow, state, options: True)
    monkeypatch.setattr(attracting_orbit, "approach", lambda flow, state, longest: reached[0])
    monkeypatch.setattr(attracting_orbit, "_search", find)
    monkeypatch.setattr(attracting_orbit, "_by_shooting", lambda flow, orbit, segments, options: (orbit, segments))
    run = lambda: unchecked(attracting_orbit.limit_of)(flow, [3.0], segments=5)
    answers[:] = [(1, -1), (-1, 0)]
    assert run() is one
    assert run().stability == "saddle"
    answers[:] = [(-1, -1)]
    with pytest.raises(ArgumentError, match="it has not settled after 14 units of time .a larger `longest` than"):
        run()
    reached[0] = SimpleNamespace(orbit=None, rests=False, time=99.0, state=np.array([0.5]))
    answers[:] = [(attracting_orbit.FAILED, -1)]
    with pytest.raises(ArgumentError, match=r"it has left the domain, or failed after 99 units of time\.$"):
        run()
    reached[0].rests = True
    searched.clear()
    answers[:] = [(-1, -1), (1, -1)]
    assert run() is one
    assert searched == [[3.0], [0.5]]  # from where the implicit method came to rest
    reached[0].orbit = "orbit"
    assert run() == ("orbit", 5)


def grid_run(others=(), attractors=(), xs=(0.0, 1.0, 2.0, 3.0)):
    rows = np.array(xs)[:, None]
    time_map = SimpleNamespace(features_of=lambda rows: rows)
    return blank(
        basins._GridRun, time_map=time_map, xs=rows, extent=np.ones(1), others=list(others),
        attractors=list(attractors), labels=np.full(len(rows), basins.NOT_SETTLED), pending=np.arange(1, len(rows)),
    )  # fmt: skip


def test_starts_at_limits_that_do_not_attract_are_labelled_at_the_end():
    """The first start is not pending; the others are at a saddle, near a limit that is undecided, and elsewhere."""
    run = grid_run([limit(1.0)._replace(stability="saddle"), limit(2.0)._replace(stability="undecided")])
    run.end()
    assert run.labels.tolist() == [basins.NOT_SETTLED, basins.NOT_ATTRACTING, basins.UNDECIDED, basins.NOT_SETTLED]
    near = basins.ON_LIMIT
    for away, expected in ((0.9, basins.NOT_ATTRACTING), (1.1, basins.NOT_SETTLED)):
        run = grid_run([limit(1.0)._replace(stability="saddle")], xs=(0.0, 1.0 + away * near))
        run.end()
        assert run.labels[1] == expected
    wide = limit(1.0)._replace(kind=basins.CURVE, stability="saddle", spacing=0.2)
    run = grid_run([wide], xs=(0.0, 1.05))
    run.end()
    assert run.labels[1] == basins.NOT_ATTRACTING  # within the gaps of a curve


def test_starts_on_surfaces_are_labelled_by_the_surface_that_steps_lead_to(monkeypatch):
    monkeypatch.setattr(basins, "leads_to", lambda time_map, begin, xs, extent: np.abs(xs[:, 0] - begin[0]) < 0.1)
    surface = lambda place: limit(place)._replace(kind=basins.SURFACE)
    run = grid_run([surface(3.0)], [limit(1.0), surface(2.0)])
    run.on_surfaces()
    assert (run.labels.tolist(), run.pending.tolist()) == ([basins.NOT_SETTLED] * 2 + [1, basins.NOT_SETTLED], [1, 3])
    run.on_surfaces(others=True)
    assert (run.labels[3], run.pending.tolist()) == (basins.NOT_ATTRACTING, [1])


def test_the_uncertainty_exponent_is_the_slope_of_shares_with_its_standard_error():
    """Of stripes of 3 and 60 points the share of points within k of a boundary is not a power of k."""
    labels = np.zeros(120, int)
    labels[40:43] = 1
    found = blank_basins(labels).uncertainty_exponent(6)
    reach = np.arange(1, 7)
    near = np.array([sum(len(set(labels[max(0, i - k) : i + k + 1])) > 1 for i in range(120)) for k in reach]) / 120
    x, y = np.log(reach), np.log(near)
    slope, rest = np.polyfit(x, y, 1)
    error = np.sqrt(np.sum((y - slope * x - rest) ** 2) / 4 / np.sum((x - x.mean()) ** 2))
    assert (found.rate, found.error, found.num_points) == (pytest.approx(slope), pytest.approx(error), 6)
    with pytest.raises(ArgumentError, match="have one label only"):
        blank_basins(np.zeros(20, int)).uncertainty_exponent()


def blank_basins(labels):
    return basins.Basins(labels, (np.arange(float(len(labels))),), ("x",), (), (), 1.0, 1, np.ones(1))


def test_lanes_are_asked_for_over_the_time_of_the_run_in_its_unit(monkeypatch):
    """From t = 6 on, 3 + 20 intervals of 2, in units of 4."""
    asked = []
    flow = FunctionFlow(lambda t, x: -x)
    units = SimpleNamespace(system=flow, time=4.0, rescaled=lambda state: state)
    Plan = namedtuple("Plan", "units start count t0 warm samples every solver rtol atol")
    plan = Plan(units, np.ones(2), 1, 6.0, 3, 20, 2.0, None, 1e-7, None)
    monkeypatch.setattr(exponents, "_rescaled", lambda plan: jnp.asarray(plan.start))
    monkeypatch.setattr(exponents, "_solver", lambda plan: "solver")
    monkeypatch.setattr(exponents, "_count", lambda plan: 1)
    monkeypatch.setattr(exponents, "_lanes", lambda *given: asked.append(given) or "lanes")
    of = unchecked(exponents._lanes_of)
    assert of([plan, plan]) == "lanes"
    flows, solver, starts, first, k, ends = asked[0]
    assert (len(flows), solver, np.shape(starts), np.shape(first), k) == (2, "solver", (1, 2), (2,), 1)
    assert ends.tolist() == [1.5, (6 + 23 * 2) / 4]
    assert of([plan]) == "no other system differs from it in numbers only"
    assert "no explicit Runge-Kutta method" in of([plan._replace(solver="other")] * 2)

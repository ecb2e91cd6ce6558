"""Parts of commands by themselves: what they read from options, and what they print of numbers given by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics.codim2.degeneracies import Degeneracy, as_bifurcation, frequencies_at
from dynsim.cli import draw
from dynsim.cli.building import equations, starts, systems
from dynsim.cli.building.flow_options import Simulate, with_defaults, with_dimension
from dynsim.cli.continuation import against, ends
from dynsim.cli.draw import Draw
from dynsim.cli.parsing import solvers, tables
from dynsim.cli.parsing.ranges import named_values
from dynsim.cli.simulate import bounds, ensembles, events, flows
from dynsim.cli.sweep import measures
from dynsim.cli.theorem.given import TheoremInput
from dynsim.cli.theorem.options import Theorem
from dynsim.errors import ArgumentError
from dynsim.integrators.base import Stats
from dynsim.integrators.fixed_step.maps import Iteration
from dynsim.simulation.hybrid_trajectory import Jump
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.named import Components, parameters

PLANE = ds.system("x' = -a*y; y' = b*x; a = 3; b = 2")
STATS = Stats(True, 0, 1, 0, 0.0, 0.0)
ROWS = np.array([[1.0, -2.0], [3.0, 0.5], [-4.0, 1.0], [0.0, 8.0]])


def theorem(**given: Any) -> TheoremInput:
    return TheoremInput(Theorem("mine", **given), systems.Found("mine", PLANE, jnp.zeros(2)))


def path(ys: Any = ROWS, flow: Any = None) -> Trajectory:
    made = FunctionFlow(lambda t, x: x, names=("v", "w")) if flow is None else flow
    return Trajectory(np.arange(float(len(ys))), np.asarray(ys), made, STATS)


def test_the_numbers_of_a_theorem_belong_to_their_components():
    o = theorem(box=(1.0, 4.0, -2.0, 3.0), near=(5.0, 6.0, 7.0, 8.0), fast=("y",), turned=("y",))
    assert o.names == ("x", "y")
    assert o.sides() == [(1.0, 4.0), (-2.0, 3.0)]
    assert o.points() == [[5.0, 6.0], [7.0, 8.0]]
    assert o.circle() == ([(-2.0, 3.0)], 3.0)
    assert (o.fast(), o.reflection().tolist()) == ([1], [[1.0, 0.0], [0.0, -1.0]])
    assert theorem().fast() == [0]
    assert theorem().reflection().tolist() == [[-1.0, 0.0], [0.0, -1.0]]
    assert theorem(near=(5.0, 6.0)).near() == [5.0, 6.0]
    for numbers in ((5.0,), (5.0, 6.0, 7.0)):
        with pytest.raises(ArgumentError, match="`near` must hold 2 numbers for 2 components, but holds"):
            theorem(near=numbers).near()
        with pytest.raises(ArgumentError, match="`near` must hold 2 numbers for each equilibrium"):
            theorem(near=numbers).points()
    with pytest.raises(ArgumentError, match="`box` must hold a lower and an upper bound of each of 2 components"):
        theorem(box=(1.0, 2.0)).sides()


def test_parameters_and_functions_of_a_theorem_are_read_from_their_words():
    o = theorem(parameter=("a=0.5", "b=-3"), function="a*x + y^2", modes="a=4,1", drive="b=-1:2", supply="b*x - y",
                jump=("a*x:-1,0", "3*y:0,2"))  # fmt: skip
    (a, b), values = o.parameters()
    assert (values, a.name, a.low, a.high, b.low, b.high) == ([0.5, -3.0], "a", -1.0, 2.0, -7.0, 1.0)
    one, value = theorem(parameter=("a=2",)).parameter()
    assert (one.name, value) == ("a", 2.0)
    x = jnp.asarray([2.0, 5.0])
    assert float(o.function()(x)) == 31.0  # with a = 3
    assert [float(parameters(mode)["a"]) for mode in o.modes()] == [4.0, 1.0]
    assert (o.drive().name, o.drive().low, o.drive().high) == ("b", -1.0, 2.0)
    assert float(o.supply()(x, 10.0)) == 15.0
    assert float(theorem(drive="b=-1:2", supply="x*y").supply()(x, 10.0)) == 10.0
    changes, rates = o.jumps()
    assert (changes, rates(x).tolist()) == ([[-1, 0], [0, 2]], [6.0, 15.0])


def test_regions_sets_and_periods_of_a_theorem_are_those_that_are_given():
    ball = theorem(ball=(1.0, 2.0, 0.5)).region()
    np.testing.assert_allclose(ball.sides, [[0.5, 1.5], [1.5, 2.5]], atol=0.011)  # with a margin
    box = theorem(box=(1.0, 2.0, 3.0, 5.0), where=("x - y", "a*y")).region()
    assert np.asarray(box.sides).tolist() == [[1.0, 2.0], [3.0, 5.0]]
    assert [float(one(jnp.asarray([7.0, 5.0]))) for one in box.inside] == [2.0, 15.0]
    with pytest.raises(ArgumentError, match="`region` must be given by one of .* has `--box` and `--ball`"):
        theorem(box=(0.0, 1.0, 0.0, 1.0), ball=(0.0, 0.0, 1.0)).region()
    with pytest.raises(ArgumentError, match="`ball` must hold 3 numbers for 2 components, but holds 4"):
        theorem(ball=(0.0, 0.0, 0.0, 1.0)).region()
    with pytest.raises(ArgumentError, match="`annulus` must hold 4 numbers for 2 components, but holds 3"):
        theorem(annulus=(0.0, 0.0, 1.0)).region()
    o = theorem(sets=tuple(map(float, range(12))), covers=("1-2", "10-1"), period=3.0)
    assert o.sets().tolist() == np.arange(12.0).reshape(2, 3, 2).tolist()
    assert o.covers() == [(0, 1), (9, 0)]
    assert theorem().covers() is None
    assert (o.period(), o.steps(2), theorem().period(1.5), theorem().steps(2)) == (3.0, 3, 1.5, 2)
    with pytest.raises(ArgumentError, match="`period` must be a number of steps, but is 2.5"):
        theorem(period=2.5).steps(1)
    with pytest.raises(ArgumentError, match="`period` must be given"):
        theorem().period()


def test_an_orbit_that_leaves_its_bounds_is_found_at_its_first_state_beyond():
    assert [bounds.first_beyond(size, path()) for size in (2.0, 1.9, 3.0, 7.9, 8.0, None)] == [1, 0, 2, 3, None, None]
    assert bounds.first_beyond(9.0, path(np.array([[0.0], [np.nan]]))) == 1
    assert flows.distances(path()).tolist() == [2.0, 3.0, 4.0, 8.0]
    assert flows.escape(np.array([1.0, 1e149, 1e150, np.nan])) == 2
    assert flows.escape(np.array([1.0, np.nan])) == 1
    assert flows.escape(np.array([1.0, 2.0])) is None
    sizes = np.array([1.0, 2.0, 3.0, 10.0, 29.0, 31.0, 1e150])
    assert flows.drawn_steps(sizes, 6) == 4  # ten times the median of 1, 2, 3 is 20
    assert flows.drawn_steps(np.array([1.0, 5.0, 9.0]), 1) == 2


def test_a_run_is_cut_where_a_component_passes_its_bound(monkeypatch):
    stop = lambda event: SimpleNamespace(path=SimpleNamespace(ts=np.array([0.0, 1.0, 1.5])), event=event)
    asked = []
    monkeypatch.setattr(bounds, "simulate_until", lambda *given, **options: asked.append(given) or stop(0))
    ts, options = np.arange(4.0), {"integrator": ds.Diffrax()}
    at = lambda size, run: bounds.times_within(size, run, "flow", jnp.zeros(1), ts, options)
    assert at(None, path()) is None
    assert at(9.0, path()) is None
    assert (at(3.5, path()).tolist(), at(3.5, None).tolist()) == ([0.0, 1.0, 1.5],) * 2  # also after a failure
    (excess,) = (event.fn for event in asked[0][3])
    assert float(excess(0.0, jnp.asarray([1.0, -4.5]))) == 1.0
    assert asked[0][3][0].direction == 1
    monkeypatch.setattr(bounds, "simulate_until", lambda *given, **options: stop(-1))
    assert at(3.5, path()) is None
    by_steps = {"integrator": object()}
    assert bounds.times_within(3.5, path(), "flow", jnp.zeros(1), ts, by_steps).tolist() == [0.0, 1.0, 2.0]
    assert bounds.times_within(3.5, None, "flow", jnp.zeros(1), ts, by_steps) is None


def test_the_component_beyond_its_bound_is_named(capsys):
    bounds.tell_bounds(3.5, path(ROWS[:3]), "t = 2")
    assert capsys.readouterr().out == "the run ends at t = 2, where |v| exceeds 3.5 (`--bounds`)\n"
    o = Simulate("mine", bounds=3.0)
    bounds.check_bounds(o, jnp.asarray([1.0, -2.5]))
    with pytest.raises(ArgumentError, match="`bounds` must exceed all components of the start, at most 3, but is 3"):
        bounds.check_bounds(o, jnp.asarray([1.0, -3.0]))


def test_a_failed_run_is_repeated_up_to_where_it_can_be_drawn(monkeypatch):
    asked = []

    def simulate(system, x, times, *, throw, **options):
        asked.append(np.asarray(times).tolist())
        ys = np.where(np.asarray(times) < 2.9, 1.0, 1e200)[:, None]
        return Trajectory(np.asarray(times), ys, system, STATS)

    monkeypatch.setattr(flows, "simulate", simulate)
    flow, ts = FunctionFlow(lambda t, x: x), np.linspace(0.0, 9.0, 4)
    found = flows.part_before(3.0, flow, jnp.zeros(1), ts, {})
    assert asked == [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
    assert found is not None
    assert found.ts.tolist() == [0.0, 1.0, 2.0]
    assert flows.part_before(0.0, flow, jnp.zeros(1), ts, {}) is None


def test_runs_backwards_are_refused_where_there_are_none():
    flow, back = FunctionFlow(lambda t, x: x), {"begin": 1.0, "end": 0.0}
    flows.check_direction(Simulate("mine", **back), flow, None)
    for given, words in (
        ({"noise": 0.1}, "with noise"), ({"event": ("x=1",)}, "with `--event`"), ({"members": 2}, "for an ensemble"),
        ({"density": 9}, "where the density is kept"),
    ):  # fmt: skip
        flows.check_direction(Simulate("mine", end=2.0, **given), flow, None)
        with pytest.raises(ArgumentError, match=f"`end` must be after the initial time, 1, {words}, but is 0"):
            flows.check_direction(Simulate("mine", **back, **given), flow, None)
    with pytest.raises(ArgumentError, match="with transitions, but is 0"):
        flows.check_direction(Simulate("mine", **back), flow, object())


def test_events_are_listed_by_their_number_with_the_states_before_them(capsys):
    known = Components(("v", "w"), ("mV", ""), "s")
    found = events.events_of(["w=0.5:down", "v=-2", "v=1:up"], known)
    assert [(one.event.direction, one.component, one.way) for one in found] == [(-1, 1, -1), (0, 0, 0), (1, 0, 1)]
    assert [float(one.event.fn(0.0, jnp.asarray([3.0, 4.0]))) for one in found] == [3.5, 5.0, 2.0]
    angles = events.events_of(["w=0.5:down", "v=1:up", "w=0.5"], known, (np.inf, 4.0))
    assert [one.event.direction for one in angles] == [0, 1, 0]
    at = lambda w: float(angles[0].event.fn(0.0, jnp.asarray([3.0, w])))
    np.testing.assert_allclose([at(w) for w in (0.5, 2.5, 4.5, -3.5)], [0, 1, 0, 0], atol=1e-12)
    falling = FunctionFlow(lambda t, x: jnp.stack([t, -x[0]]))
    asked = [*angles, angles[0]._replace(way=1)]
    for v, expected in ((2.0, [True, True, True, False]), (-2.0, [False, True, True, True])):
        jump = Jump(0, "", 1.0, jnp.asarray([v, 0.5]), jnp.asarray([v, 0.5]))
        assert [events._is_asked(falling, jump, one) for one in asked] == expected
    jumps = [Jump(k % 2, "", float(k) ** 2, ROWS[k % 4], ROWS[0]) for k in range(13)]
    events.tell_times(["w", "v", "none"], jumps, "event")
    assert capsys.readouterr().out.splitlines() == [
        "w: 7 events at t = 0, 4, 16, 36, 64, ..., 24 apart on average",
        "v: 6 events at t = 1, 9, 25, 49, 81, ..., 24 apart on average", "none: 0 events",
    ]  # fmt: skip
    events.tell_times(["w"], jumps[:1], "event")
    assert capsys.readouterr().out == "w: 1 event at t = 0\n"
    table = events.event_table(["first", "second"], jumps[:3], known)
    assert {name: list(column) for name, column in table.columns.items()} == {
        "event": ["first", "second", "first"], "t": [0.0, 1.0, 4.0], "v": [1.0, 3.0, -4.0], "w": [-2.0, 0.5, 1.0],
    }  # fmt: skip
    assert dict(table.units) == {"t": "s", "v": "mV"}


def test_an_ensemble_is_told_by_its_median_and_band(capsys):
    values = np.stack([np.arange(21.0), -2 * np.arange(21.0) ** 2], axis=1)
    ensembles.tell(Components(("v", "w"), ("mV", "")), 3.0, values)
    assert capsys.readouterr().out.splitlines() == [
        "v (mV) at t = 3: median 10, 5 to 95 % from 1 to 19", "w at t = 3: median -200, 5 to 95 % from -722 to -2",
    ]  # fmt: skip
    ensembles.tell(Components(tuple("abcdefgh"), ("",) * 8), 3.0, np.ones((2, 8)))
    assert capsys.readouterr().out.splitlines()[-1] == "and 2 more components"
    ensembles.tell_diameter(2.0, np.array([1.0, 2.0, 9.0]))
    assert capsys.readouterr().out == "diameter at t = 2: median 2, largest 9\n"
    counts = np.array([4, 9, 7])
    ensembles.tell_steps(Stats(np.ones(3, bool), np.zeros(3, int), counts, counts, counts, counts))
    assert capsys.readouterr().out == "from 4 to 9 steps each\n"
    tokens = jnp.asarray([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    assert float(ensembles.observed(0.0, tokens)[0]) == 5.0
    assert ensembles.observed(0.0, tokens[1]).tolist() == [3.0, 4.0]
    flow = FunctionFlow(lambda t, x: x, time_unit="s")
    assert ensembles.quantities(flow, tokens) == Components(("diameter",), ("",), "s")


def test_measures_of_a_run_are_over_its_second_half():
    found = measures.measures(["v", "w"], ROWS)
    assert {name: float(value) for name, value in found.items()} == {
        "v_final": 0.0, "v_mean": -2.0, "v_least": -4.0, "v_largest": 0.0, "w_final": 8.0, "w_mean": 4.5,
        "w_least": 1.0, "w_largest": 8.0,
    }  # fmt: skip
    turns = np.array([[0.0, 0.0], [0.0, 0.0], [359.0, 1.0], [363.0, 2.0]])
    found = measures.measures(["a", "b"], turns, np.array([360.0, np.inf]))
    kinds = [float(found[f"a_{kind}"]) for kind in measures.KINDS]
    assert kinds == pytest.approx([3.0, 1.0, -1.0, 3.0])
    assert float(found["b_mean"]) == 1.5
    run = measures.Run(1.0, 3.0, 5, 1e-7, 77, 1e-5, False)
    flow, one = FunctionFlow(lambda t, x: x), FunctionMap(lambda k, x: x)
    assert run.ts(flow).tolist() == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert run.ts(one).tolist() == [0, 1, 2, 3]
    solver = run.solver(flow)
    assert (float(solver.rtol), float(solver.atol), solver.max_steps) == (1e-7, 1e-5, 77)
    assert isinstance(run.solver(one), Iteration)


def test_integrators_have_the_tolerances_and_the_cap_that_are_given():
    made = {name: solvers.integrator(name, 1e-4) for name in ("diffrax", "scipy", "stiff", "rkc2")}
    assert [float(one.atol) for one in made.values()] == pytest.approx([1e-6] * 4)
    assert [float(one.rtol) for one in made.values()] == pytest.approx([1e-4] * 4)
    assert [getattr(one, "method", type(getattr(one, "solver", None)).__name__) for one in made.values()] == [
        "Tsit5", "DOP853", "Radau", "RKC2",
    ]  # fmt: skip
    assert all(solvers.integrator(name, 1e-4, 9, 1e-3).max_steps == 9 for name in made)
    assert all(float(solvers.integrator(name, 1e-4, 9, 1e-3).atol) == 1e-3 for name in made)
    assert solvers.of_many("diffrax", 1e-4) is None
    settled, not_settled = np.array([0, 1]), np.array([0, -1])
    assert solvers.unsettled(False, settled, 100) == ""
    assert "`--longest 400` integrates them for longer" in solvers.unsettled(False, not_settled, 100)


def test_equations_code_and_names_are_told_apart():
    words = ("x' = -x", "a.ode", "mine.py:field", "module:name", "lorenz", "a=1.py:field", "x' = y:z")
    assert [equations.is_equations(word) for word in words] == [True, True, False, False, False, False, True]
    assert [equations.is_code(word) for word in words] == [False, False, True, True, False, True, False]
    assert equations.title("/some/where/a.ode") == "a.ode"
    text = "x' = a*x + b; ab = 3, c=4"
    assert [equations.has_value(text, name) for name in ("a", "ab", "c", "b")] == [False, True, True, False]
    options = SimpleNamespace(parameter="mu=2:5", against="nu=7", several=("one=1,2", "mu=9"), other=3)
    assert [equations.first_value(options, name) for name in ("mu", "nu", "one", "u", "x")] == [
        2.0,
        7.0,
        1.0,
        None,
        None,
    ]
    noisy = equations.from_text("x' = -x + x*dW1", {}, None, hybrid=False)
    other = equations.from_text("x' = -x + x*dW1", {}, "stratonovich", hybrid=False)
    assert (noisy.calculus, other.calculus) == ("ito", "stratonovich")
    assert hasattr(equations.from_text("x' = 1; when(x > 1, x = 0)", {}, None, hybrid=True), "transitions")


def test_parameters_of_words_are_numbers_lists_or_truths():
    assert systems.by_name(("a-b=1", "C=x", "flag")) == {"a_b": "1", "C": "x", "flag": ""}
    assert systems._values({"a": "0.5", "b": "1/4,2"}) == {"a": 0.5, "b": [0.25, 2.0]}
    assert [systems._truth("a", word) for word in ("", "True", "1", "false", "0")] == [True, True, True, False, False]
    assert systems._words({"a_b": "1,2", "flag": "", "on": "true"}) == ["--a-b", "1", "2", "--flag", "--on"]

    def field(t, x, a=1.0, b=True, c="text", *, d=(1.0, 2.0)):
        return x

    assert systems._defaults(field, int | float | tuple) == {"a": 1.0, "d": (1.0, 2.0)}
    assert systems._defaults(field, bool) == {"b": True}


def test_tables_hold_floats_or_exact_fractions(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("# a comment\n0.1,1/3\n2,1e-2\n")
    assert tables.exact_array(file, "a").tolist() == [
        [tables.number("1/10"), tables.number("1/3")],
        [2, tables.number("1/100")],
    ]
    np.testing.assert_allclose(tables.array(file, "a"), [[0.1, 1 / 3], [2.0, 0.01]])
    np.save(tmp_path / "a.npy", np.arange(3.0))
    assert tables.array(tmp_path / "a.npy", "a").tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ArgumentError, match="`a` must have 2 axes"):
        tables.exact_array(tmp_path / "a.npy", "a")
    assert tables.matrix(tmp_path / "a.npy", "a", (1, 2)).shape == (3,)
    assert tables.number("1e400") == 10**400
    with pytest.raises(ValueError, match="has a power of ten beyond 400"):
        tables.number("1e401")


def test_options_of_a_run_have_defaults_of_the_equations_or_of_the_command():
    o = Simulate("mine")
    assert (o.times, o.method, o.step, o.token_dimension) == ((0.0, 20.0), "diffrax", 0.01, 3)
    assert with_dimension(o).dimension == 3
    assert with_dimension(Simulate("mine", dimension=5)).dimension == 5
    own = SimpleNamespace(
        ranges=(("x", 0.0, 1.0), ("t", 5.0, 9.0)), defaults=(("integrator", "stiff"), ("step_size", 0.5), ("bounds", 7))
    )
    filled = with_defaults(o, own)
    assert (filled.times, filled.method, filled.step, filled.bounds) == ((5.0, 9.0), "stiff", 0.5, 7.0)
    kept = with_defaults(Simulate("mine", begin=1.0, end=2.0, integrator="scipy", step_size=0.1, bounds=3.0), own)
    assert (kept.times, kept.method, kept.step, kept.bounds) == ((1.0, 2.0), "scipy", 0.1, 3.0)


def test_starts_have_the_columns_of_their_flow():
    named = FunctionFlow(lambda t, x: x, names=("v", "w"))
    free = FunctionFlow(lambda t, x: x)
    o = Simulate("mine.py:field", dimension=3)
    assert (starts.columns(o, named), starts.columns(Simulate("mine.py:field", dimension=4), free)) == (2, 4)
    assert starts.own_dimension(o, named) == 2
    assert starts.own_dimension(o, free) is None
    assert starts.own_dimension(Simulate("lorenz"), named) is None
    with pytest.raises(ArgumentError, match="`names` must have one entry for each of 4 components"):
        starts.columns(Simulate("mine.py:field", dimension=4), named)
    first, again, other = (starts.start(Simulate("mine.py:field", dimension=2, seed=s), free, k) for s, k in
                           ((1, 0), (1, 0), (1, 1)))  # fmt: skip
    assert first.shape == (2,)
    assert first.tolist() == again.tolist() != other.tolist()
    assert starts.start(Simulate("mine.py:field", dimension=2, tokens=5), free, 0).shape == (5, 2)


def test_values_of_a_range_have_both_ends_and_the_count():
    assert named_values("a=0:2:3", 9, "against") == ("a", [0.0, 1.0, 2.0])
    assert named_values("a-b=2:0", 5, "against") == ("a_b", [2.0, 1.5, 1.0, 0.5, 0.0])


def test_the_sheet_of_a_curve_ends_at_its_folds():
    curve = lambda *values: SimpleNamespace(parameters=np.array(values))
    there_and_back = curve(0.0, 1.0, 2.0, 1.5, 1.0, 0.5, 1.2, 3.0)
    assert against._sheet(there_and_back, 0.9).tolist() == [0, 1, 2]
    assert against._sheet(there_and_back, 1.45).tolist() == [5, 4, 3, 2]
    assert against._sheet(there_and_back, 2.9).tolist() == [5, 6, 7]
    assert against._range("a", np.array([1e-12, -2.0]), 4.0) == "a from -2 to 0"
    assert against._range("a", np.array([2.0, 2.0]), 4.0) == "a = 2"


class Recorded:
    """Results by their kinds, whose pictures keep the options with which they are drawn."""

    def __init__(self, monkeypatch, options):
        monkeypatch.setattr("figures.plotting.drawing_of", lambda result: "draw")
        monkeypatch.setattr("figures.plotting.options_of", lambda draw: options)
        monkeypatch.setattr("figures.plotting.plot", lambda result, **how: how)


def of_kind(kind):
    return type(kind, (), {"system": FunctionFlow(lambda t, x: x)})()


def test_a_stored_result_is_drawn_with_the_options_that_are_given(monkeypatch):
    Recorded(monkeypatch, ("path", "components"))
    picture = lambda kind, stored=(), **given: draw.picture(Draw(Path("a.npz"), **given), of_kind(kind), dict(stored))
    run = picture("Trajectory")
    assert run == {"path": None, "components": None}
    assert picture("Trajectory", path=True, components=("x", "y"), reduced=True, title="a", legend=False) == {
        "title": "a", "legend": False, "reduced": True, "path": True, "components": ("x", "y"),
    }  # fmt: skip
    assert picture("HybridTrajectory", series=True)["path"] is False
    Recorded(monkeypatch, ("components",))
    assert picture("PhasePlane", {"title": "b", "types": False}, types=True) == {"title": "b", "types": True}
    assert picture("PhasePlane", {"title": "b"}, title="a") == {"title": "a"}
    assert picture("Diagram", plane=True) == {"picture": "plane"}
    assert picture("Diagram", components=("x",)) == {"component": "x"}
    assert picture("Section", {"components": (1, 2)}, components=("x", "y")) == {"components": ("x", "y")}
    assert picture("Dataset", components=("order",)) == {"quantities": ("order",)}
    for kind, given, sentence in (
        ("Diagram", {"path": True}, "`path` must be left out for Diagram"),
        ("PhasePlane", {"plane": True}, "`plane` must be left out for PhasePlane"),
        ("Diagram", {"types": True}, "`types` must be left out for Diagram"),
        ("Basins", {"components": ("x",)}, "`components` must be left out for Basins"),
        ("Diagram", {"components": ("x", "y")}, "`components` must name one component of a diagram, but names 2"),
        ("Trajectory", {"reduced": True}, "`reduced` must be left out for a run of FunctionFlow"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            picture(kind, **given)


def test_limits_and_labels_are_those_of_the_axes():
    import matplotlib.figure

    figure = matplotlib.figure.Figure()
    top, bottom = figure.subplots(2)
    drawn = SimpleNamespace(figure=figure, axes=[top, bottom])
    draw.adjust(Draw(Path("a.npz"), xlim=(1.0, 3.0), xlabel="new"), drawn)
    assert [ax.get_xlim() for ax in (top, bottom)] == [(1.0, 3.0)] * 2
    assert (top.get_xlabel(), bottom.get_xlabel()) == ("", "new")
    with pytest.raises(ArgumentError, match="`ylim` must be left out for 2 panels"):
        draw.adjust(Draw(Path("a.npz"), ylim=(1.0, 3.0)), drawn)
    alone = SimpleNamespace(figure=figure, axes=[top])
    draw.adjust(Draw(Path("a.npz"), ylim=(2.0, 5.0), ylabel="height"), alone)
    assert (top.get_ylim(), top.get_ylabel()) == ((2.0, 5.0), "height")
    assert draw.by_name("names", ["a=b", "c=d=e"]) == {"a": "b", "c": "d=e"}
    with pytest.raises(ArgumentError, match="`names` must name what the figure shows, x, y, but name `z`"):
        draw.check_names({"x": "a", "z": "b"}, {}, {"y", "x"})


def branch(**changed):
    made = {"ends": ("bounds", "fold"), "vertical": False, "parameters": np.array([1.0, 2.0]),
            "states": SimpleNamespace(times=None, period=np.array([3.0, 40.0]))}  # fmt: skip
    return SimpleNamespace(**made | changed)


def said(capsys, branches=(), orbits=()):
    ends.say_ends("mu", SimpleNamespace(branches=branches, orbits=orbits))
    return capsys.readouterr().out.splitlines()


def test_each_end_of_a_branch_is_explained_once(capsys):
    assert said(capsys, [branch()]) == []
    for end, words in ends.ENDS.items():
        if end != "period":
            twice = [branch(ends=(end, "bounds")), branch(ends=("bounds", end))]
            assert said(capsys, twice) == [f"a branch ends {words}"]
    (line,) = said(capsys, [branch(ends=("undefined at x = 0", "bounds"))])
    assert line.startswith("a branch ends where the field or its derivative is undefined at x = 0: ")
    vertical = branch(vertical=True, parameters=np.array([0.5, 0.5 + 1e-12, 0.5]))
    (line,) = said(capsys, [vertical])
    assert line == "a branch is vertical: it is a family of solutions at the single value mu = 0.5"


@pytest.mark.parametrize(("side", "place"), [(0, "mu = 1"), (1, "mu = 2")])
def test_the_homoclinic_end_is_that_of_its_side(capsys, side, place):
    at = tuple("homoclinic" if k == side else "bounds" for k in range(2))
    (line,) = said(capsys, orbits=[branch(ends=at)])
    assert f"near a homoclinic orbit at about {place}: the last orbit" in line
    assert f"with period {(3.0, 40.0)[side]:g}, and" in line


def test_frequencies_at_a_point_are_those_of_the_pairs_nearest_to_the_axis():
    flow = ds.system("x' = -w*y + a*x; y' = w*x + a*y; u' = -3*v + b*u; v' = 3*u + b*v; w = 2; a = 1; b = 5")
    both = ds.Parameter(flow, "a", -1.0, 9.0), ds.Parameter(flow, "b", -1.0, 9.0)
    at = lambda kind, a, b: frequencies_at(both, Degeneracy(kind, np.zeros(4), a, b))
    assert at("double Hopf point", 0.0, 0.0) == pytest.approx([2.0, 3.0])
    assert at("Bautin point", 0.0, 1.0) == pytest.approx([2.0])
    assert at("Bautin point", 1.0, 0.0) == pytest.approx([3.0])
    assert at("cusp", 0.0, 0.0) == []
    point = Degeneracy("double Hopf point", np.zeros(4), 0.0, 0.0)
    (first, second), made = as_bifurcation(both, point, "Hopf point", 2.2)
    assert (made.kind, made.parameter, made.frequency) == ("Hopf point", 0.0, pytest.approx(2.0))
    assert (first.value, second.value) == (0.0, 0.0)
    assert as_bifurcation(both, point, "Hopf point", None)[1].frequency == pytest.approx(3.0)
    assert str(Degeneracy("1:4 resonance", np.zeros(1), 0.25, -2.0, (1.5, 2.0))) == (
        "1:4 resonance at (0.25, -2) with Re A = 1.5, Im A = 2"
    )

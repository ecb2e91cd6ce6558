"""Rare branches of commands: what each of them says, asks for or refuses; nothing long is computed."""

import dataclasses
import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.continuation.orbit_curve import Cycle
from dynsim.cli import demo, draw, symbolic
from dynsim.cli.basins import command as basins
from dynsim.cli.building import own_code, starts, systems
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.continuation import against, ends, stored
from dynsim.cli.continuation import command as continuation
from dynsim.cli.continuation.options import Continue
from dynsim.cli.ledger import check
from dynsim.cli.parsing.options import parse
from dynsim.cli.parsing.system import SystemOptions
from dynsim.cli.simulate import bounds, densities, ensembles, events, fast_slow, flows, noise
from dynsim.cli.simulate.growing import summary as growing
from dynsim.cli.simulate.growing.options import Growing
from dynsim.cli.simulate.prototypes import flow as prototypes
from dynsim.cli.simulate.prototypes import summary
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.cli.sweep import measures
from dynsim.cli.sweep.command import _numbers
from dynsim.cli.theorem.given import TheoremInput
from dynsim.cli.theorem.options import Theorem
from dynsim.errors import ArgumentError, IntegrationError, Outcome
from dynsim.keys import random_key
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Ellipsoid
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.named import Components
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.scalar_driven import OjaFlow
from tests.cli.test_command_parts import PLANE, STATS, path
from tests.cli.test_options_reach import Asked, Shown
from tests.figures.test_result_data import ensemble
from tests.support.commands import answer, run

FLOW = FunctionFlow(lambda t, x: -x)


def stub(**parts: Any) -> Any:
    return SimpleNamespace(**parts)


@pytest.fixture
def asked(monkeypatch):
    return Asked(monkeypatch)


def test_options_of_noise_and_of_fixed_steps_are_refused_where_they_have_no_effect():
    o = Simulate("mine", integrator="symplectic", step_size=0.25)
    noise.check_noise(o, FLOW, density=False)
    system, options = noise.solved(o, FLOW)
    assert (system, type(options["integrator"]).__name__) == (FLOW, "Symplectic")
    assert options["integrator"].step_size == 0.25
    noise.check_noise(Simulate("mine", noise=0.1, calculus="ito", step_size=0.1), FLOW, density=False)
    for given, flow, density, sentence in (
        ({"integrator": "symplectic", "rtol": 1e-3}, FLOW, False,
         "`rtol` must be left out with `--integrator symplectic`, which has fixed steps"),
        ({"integrator": "symplectic"}, FLOW, True, "`integrator` must be left out where the density is kept"),
        ({"step_size": 0.1}, FLOW, False, "`step_size` must be left out without `--noise` or `--integrator symplectic"),
        ({"calculus": "ito"}, FLOW, False, "`calculus` must be left out without noise"),
        ({"noise": 0.1, "rtol": 1e-3}, FLOW, False, "`rtol` must be left out with noise"),
        ({"noise": 0.1}, FLOW, True, "`noise` must be left out where the density is kept"),
        ({"noise": 0.1}, FunctionMap(lambda k, x: x), False, "`noise` must be left out for a map"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=sentence):
            noise.check_noise(Simulate("mine", **given), flow, density=density)


def test_beta_of_tokens_is_continued_with_rotations_as_symmetries():
    o = parse(Continue, ["token-flow", "--parameter", "beta=0.5:4"], "continue")
    made, parameter, moves = continuation._studied(o, None)
    assert (parameter.name, parameter.low, parameter.high, parameter.value) == ("beta", 0.5, 4.0, 1.0)
    np.testing.assert_allclose(parameter.at(2.5).query_key(jnp.zeros(())), 2.5 * np.eye(3)[None])
    assert float(made.system.scale) == pytest.approx(3**-0.5)
    assert len(moves) == 3


def test_the_state_of_an_extended_diagram_is_the_first_of_its_first_branch_or_orbit():
    branch, orbit = stub(states=np.arange(6.0).reshape(2, 3)), stub(states=Cycle(np.arange(12.0).reshape(2, 3, 2), 0))
    assert continuation._first(stub(branches=(branch,), orbits=(orbit,))).tolist() == [0, 1, 2]
    assert continuation._first(stub(branches=(), orbits=(orbit,))).tolist() == [0, 1]


def test_branches_against_a_parameter_are_drawn_with_the_component_the_window_and_names(asked, capsys, monkeypatch):
    """The branch is followed from its state at the value nearest to the system's own, for two of three values."""
    along = stub(parameters=np.array([20.0, 25.0]), states=np.arange(6.0).reshape(2, 3))
    asked.of("analysis.dynamics.diagrams.bifurcation_diagram", stub(branches=[along]))
    asked.of("analysis.dynamics.continuation.ensembles.continue_ensemble", Shown(asked))
    monkeypatch.setattr(against, "_along", lambda parameter, name, values, x: (np.array(values[:2]), np.stack([x] * 2)))
    monkeypatch.setattr(against, "_tell", lambda name, found: None)
    o = parse(Continue, ["lorenz", "--parameter", "rho=20:30", "--against", "sigma=5:15:3", "--figure", "a.png",
              "--window", "-2", "3"], "continue")  # fmt: skip
    parts = Components(("x", "y", "z"), ("m", "", ""))
    assert against.branches_against(o, ds.Parameter(ds.catalogue.Lorenz(), "rho", 20.0, 30.0), [], parts, 2) == 0
    ((_, states, over), _), = asked["continue_ensemble"]  # fmt: skip
    assert (states.tolist(), over["sigma"].tolist()) == ([[3.0, 4.0, 5.0]] * 2, [5.0, 10.0])
    assert asked["plot"] == {"component": 2, "window": (-2.0, 3.0)}
    assert asked["saved"] == ("a.png", "branches in rho against sigma")
    assert capsys.readouterr().out.splitlines() == [
        "1 value of sigma where an equilibrium is not found again: its curve in sigma does not reach them",
        "the result", "figure a.png",
    ]  # fmt: skip


def test_periods_that_grow_by_no_clear_law_have_no_limit(asked):
    made = "analysis.dynamics.continuation.period_limits.period_limit"
    law = Degeneracy("homoclinic", np.zeros(1), 0.0, 0.0)
    for kind, found in (("homoclinic", "homoclinic or heteroclinic orbit"), ("fold", "fold"), ("undecided", None)):
        asked.of(made, law._replace(kind=kind))
        limit = ends._limit(stub(), -1)
        assert (limit and limit.kind) == found

    def refuses(*given, **options):
        raise ArgumentError("orbits", "have ten points", "have two")

    asked.of(made, refuses)
    assert ends._limit(stub(), 0) is None


def test_a_point_of_another_system_is_refused():
    point = stored.StoredPoint(stub(name="rho", states=np.ones((1, 2)), parameters=np.array([21.0])), 1)
    made = systems.Found("lorenz", ds.catalogue.Lorenz(), jnp.ones(3))
    with pytest.raises(ArgumentError, match=r"`from` must be a diagram of this system, with states of shape \(3,\)"):
        stored.at_point(Continue("lorenz", parameter="rho=20:30", from_=Path("a.npz"), point=1), made, point)


def test_a_hybrid_system_has_a_function_and_domains_for_each_mode(asked):
    other = ds.system("x' = -a*y; y' = b*x; a = 5; b = 2")
    asked.of("analysis.theorems.switching.hybrid_modes.hybrid_modes", ((PLANE, other), "the switches"))
    o = Theorem("mine", function="a*x + y", box=(-1.0, 1.0, -2.0, 2.0), near=(0.0, 1.0), where=("x - a", "y"))
    made = TheoremInput(o, systems.Found("mine", PLANE, jnp.zeros(2), hybrid="the hybrid system"))  # pyright: ignore
    found = made.hybrid_parts()
    x = jnp.asarray([2.0, 7.0])
    assert [float(V(x)) for V in found["V"]] == [13.0, 17.0]
    assert [[float(one(x)) for one in ones] for ones in found["domains"]] == [[-1.0, 7.0], [-3.0, 7.0]]
    assert (found["modes"], found["switches"], found["equilibrium"]) == ((PLANE, other), "the switches", [0.0, 1.0])
    assert np.asarray(found["region"].sides).tolist() == [[-1.0, 1.0], [-2.0, 2.0]]
    with pytest.raises(ArgumentError, match="`modes` must be NAME=VALUE,VALUE, but is `a=1,b`"):
        TheoremInput(Theorem("mine", modes="a=1,b"), made._made).modes()


def test_functions_are_looked_at_with_numpy_where_jax_hides_an_index_out_of_range():
    x = jnp.ones(2)

    def branches(t, x):
        return x if t > 0 else x * x[5]

    with pytest.raises(ArgumentError, match=r"`system` must take \(t, x\) with x of shape \(2,\).*IndexError"):
        own_code.check_function(FunctionFlow(branches), x, traced=False)
    own_code.check_function(FunctionFlow(lambda t, x: x.at[0].set(1.0)), x)  # which NumPy's arrays do not have
    own_code.check_function(ds.catalogue.Lorenz(), jnp.ones(3))


@pytest.mark.parametrize(("words", "option"), [(("simulate", "--help"), "--members"), (("theorem", "-h"), "--annulus")])
def test_commands_show_their_options_without_a_system(capsys, words, option):
    assert option in answer(capsys, *words)


def test_files_of_a_run_are_a_movie_of_the_part_that_is_drawn(asked, capsys):
    asked.of("figures.trajectories.movie", None)
    flows.write(Simulate("mine", movie=Path("a.gif")), path(), 3)
    ((file, shown), _), = asked["movie"]  # fmt: skip
    assert (file, len(shown.ts)) == (Path("a.gif"), 3)
    assert capsys.readouterr().out == "movie a.gif\n"
    assert flows.part_before(2.0, FLOW, jnp.ones(1), np.arange(3.0), {"integrator": ds.Scipy()}) is not None
    asked.of("dynsim.cli.simulate.flows.simulate", lambda flow, x, ts, **how: path(1e200 * np.asarray(ts)[:, None]))
    assert flows.part_before(2.0, FLOW, jnp.ones(1), np.arange(3.0), {}) is None


def test_states_of_a_hybrid_run_are_compared_with_the_times_of_its_transitions():
    whole = HybridTrajectory((path(), path()), (Jump(0, "hit", 1.5, 0, 0),), Ending.FINISHED)
    found = flows.states(whole)
    assert [np.shape(one) for one in found] == [(), (4,), (4, 2), (4,), (4, 2)]
    assert found[0] == 1.5
    assert [np.shape(one) for one in flows.states(path())] == [(4, 2)]


def test_sizes_that_nothing_gives_are_asked_for(tmp_path):
    (tmp_path / "mine.py").write_text("def field(t, x):\n    return x\n")
    o = Simulate(f"{tmp_path}/mine.py:field")
    with pytest.raises(ArgumentError, match="`dimension` must be the number of components of its state, unless"):
        flows.named(dataclasses.replace(o, dimension=3), o)
    with pytest.raises(ArgumentError, match="`start` must be left out for an ensemble without noise"):
        ensembles.many(Simulate("lorenz", members=3), FLOW, np.arange(2.0), jnp.ones(3))


def test_the_dimension_of_a_flow_of_ones_own_is_that_of_its_matrices_names_or_space():
    own = Simulate("mine.py:flow")
    cases = [TokenFlow(jnp.eye(2)[None]), OjaFlow(np.eye(4)), PLANE, FunctionFlow(lambda t, x: x, Ellipsoid(np.eye(5))),
             FLOW]  # fmt: skip
    assert [starts.own_dimension(own, one) for one in cases] == [2, 4, 2, 5, None]
    assert starts.own_dimension(Simulate("lorenz"), PLANE) is None


def test_classes_and_instances_of_ones_own_are_systems_with_their_parameters(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dynsim.catalogue import VanDerPol\nclass Mine(VanDerPol):\n    pass\nflow = VanDerPol(mu=2.0)\n"
    )
    of = lambda name, **given: SystemOptions(f"{tmp_path}/mine.py:{name}", start=(1.0, 2.0), **given)
    made = systems.found(of("Mine", parameters=("mu=3",)), "portrait")
    assert (type(made.system).__name__, float(made.system.mu)) == ("Mine", 3.0)
    assert systems.names_of_parameters(of("flow")) == {"mu"}
    assert systems.names_of_parameters(SystemOptions("oja")) == set()


class Named(str):
    """A limit set that is its words."""

    stability = "unstable"


def test_limits_that_do_not_attract_are_told_apart_from_undecided_ones(capsys):
    undecided = Named("a point")
    undecided.stability = "undecided"
    found = stub(labels=np.zeros((2, 3), int), shares={0: 1.0}, attractors=("an attractor",), is_stiff=False,
                 others=(undecided, Named("a saddle")), longest=7, interval=0.5)  # fmt: skip
    basins.tell(found)
    assert capsys.readouterr().out.splitlines() == [
        "2 x 3 points, each integrated for at most 7 intervals of 0.5", "    1.0000  an attractor",
        "  stability undecided: a point", "  not attracting: a saddle",
    ]  # fmt: skip


def test_files_that_are_no_results_are_of_another_kind(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones(2))
    (tmp_path / "b.npz").write_bytes(b"no archive")
    for name in ("a.npz", "b.npz"):
        with pytest.raises(ArgumentError, match="`path` must be a file of results.*is of another kind"):
            draw.with_drawing(tmp_path / name, ())
    (tmp_path / "o.toml").write_text('file = "run.npz"\nfont-size = 9\n')
    o = parse(draw.Draw, ["--config", str(tmp_path / "o.toml")], "draw")
    assert (o.file, o.font_size) == (Path("run.npz"), 9.0)
    with pytest.raises(ArgumentError, match="`data_file` must be a complete npz file, but `.*b.npz` is not"):
        prototypes._from_file(tmp_path / "b.npz")


def test_figures_that_cannot_be_drawn_are_named_after_the_others(capsys, monkeypatch, tmp_path):
    def save(figure, folder, **options):
        if figure.name.endswith("3"):
            raise ArgumentError("record", "be of this size", "is not")
        return [folder / figure.name]

    monkeypatch.setattr(importlib.import_module("figures.figure"), "save", save)
    status, out, err = run(capsys, "figure", "consensus/figure-2", "consensus/figure-3", "--out", tmp_path)
    assert (status, out) == (2, f"{tmp_path}/consensus/figure-2\n")
    assert "`names` must name figures that can be drawn, but `consensus/figure-3` cannot be drawn (Argument `rec" in err


def test_a_run_that_fails_before_its_bounds_has_no_times_within(monkeypatch):
    def fails(*given, **options):
        raise IntegrationError("no", outcome=Outcome.MAX_STEPS)

    monkeypatch.setattr(bounds, "simulate_until", fails)
    assert bounds.times_within(3.5, path(), FLOW, jnp.zeros(2), np.arange(4.0), {"integrator": ds.Scipy()}) is None


def test_members_that_leave_the_axes_of_a_figure_are_counted(capsys, tmp_path):
    values = np.arange(3.0)[None, :, None] + 0.1 * np.arange(62.0)[:, None, None] * np.ones((1, 1, 2))
    values[5, 1] = 1e9
    ensembles.draw(tmp_path / "a.svg", Components(("v", "w"), ("", "")), ensemble(values), noisy=False)
    said = "1 of 62 members leave the axes of the figure, whose limits fit most of the others"
    assert capsys.readouterr().out.splitlines() == [said, f"figure {tmp_path / 'a.svg'}"]
    values[:, 1:] = np.nan
    ensembles.draw(tmp_path / "b.svg", Components(("v", "w"), ("", "")), ensemble(values), noisy=False)
    assert capsys.readouterr().out == "no figure is drawn, because no member reaches the second output time\n"


def test_fast_slow_runs_are_drawn_over_the_branches_of_the_first_ratio(capsys, monkeypatch):
    seen = []
    for name, made in (("_branches", "branches"), ("_compare", None), ("_simulated", stub(stats=stub(succeeded=True)))):
        monkeypatch.setattr(fast_slow, name, lambda *given, made=made: made)
    monkeypatch.setattr(fast_slow, "draw", lambda *given: seen.append(given))
    assert fast_slow.main(["van-der-pol", "--epsilon", "0.1", "0.2", "--figure", "a.png"]) == 0
    ((file, branches, runs, ratios),) = seen
    assert (file, branches, len(runs), ratios) == (Path("a.png"), "branches", 2, (0.1, 0.2))
    assert capsys.readouterr().out == "figure a.png\n"


def test_heads_are_told_after_the_events(capsys, monkeypatch):
    monkeypatch.setattr(growing, "history", lambda path: iter(["an event"]))
    monkeypatch.setattr(growing, "heads", lambda o, path: iter(["a head"]))
    growing.describe(Growing(), HybridTrajectory((path(),), (), Ending.FINISHED))
    said = capsys.readouterr().out.splitlines()
    assert (said[0], said[-1]) == ("an event", "a head")


def test_a_run_of_prototypes_is_drawn_and_its_growth_told(asked, capsys, monkeypatch):
    found = stub(verdict="escaping", reason="they grow", exponents=[0.5, 0.25], times=[1.0, 1e3], radii=[1.0, 31.5])
    monkeypatch.setattr(summary, "growth", lambda flow, x: found)
    assert summary._growth(None, {"p": np.ones(2, np.float32)}) == (
        "escaping (they grow): after 1e+03 time units the largest distance is 31.5, and its growth exponents in the "
        "last two decades are 0.5, 0.25"
    )
    stiff = stub(system=PrototypeFlow([[0.0], [1.0]], 1.0), stats=stub(last_time=2.0, outcome=Outcome.MAX_STEPS))
    summary._say_clocks(Prototypes(), stiff)
    assert capsys.readouterr().out.startswith("the flow is too stiff for this integrator over this time: take `--inte")
    asked.of("dynsim.simulation.simulate.simulate", Shown(asked, stats=stub(succeeded=True)))
    asked.of("dynsim.cli.simulate.prototypes.summary.describe", None)
    said = answer(capsys, "simulate", "prototypes", "--end", "4", "--frames", "5", "--figure", "a.png", "--force")
    assert said.splitlines()[-1] == "figure a.png"
    assert asked["saved"] == ("a.png", "embeddings and prototypes")
    ((flow, start, ts), how), = asked["simulate"]  # fmt: skip
    assert (ts.tolist(), how["throw"], start.shape) == ([0.0, 1.0, 2.0, 3.0, 4.0], False, (3, 2))


@pytest.mark.parametrize("count", [1, 2])
def test_what_becomes_of_prototypes_names_its_level_where_there_are_two(capsys, monkeypatch, count):
    monkeypatch.setattr(summary, "collapse_of", lambda flow: [])
    monkeypatch.setattr(summary, "fate", lambda flow, begin, end, t: f"bounded by {begin:g} and {end:g} at {t:g}")
    monkeypatch.setattr(summary, "_say_clocks", lambda o, path: None)
    monkeypatch.setattr(summary, "_measures", lambda flow, t, x: np.full((count, 6), t + x))
    monkeypatch.setattr(summary, "levels", lambda flow, t, x: iter([(x, x)] * count))
    monkeypatch.setattr(summary, "coincidences", lambda p0, p1, t: [f"from {p0:g} to {p1:g} at t = {t:g}"])
    monkeypatch.setattr(summary, "surplus", lambda z0, p0, z1, p1, t: [])
    flow = PrototypeFlow([[0.0], [1.0]], 1.0)
    summary.describe(Prototypes(), Trajectory(np.array([0.5, 2.0]), np.array([3.0, 7.0]), flow, STATS), None)
    said = capsys.readouterr().out.splitlines()
    assert [line.split() for line in said[:2]] == [
        ["mode", "full", "t", "=", "0.5", "t", "=", "2"],
        ["loss", "3.5", "9"],
    ]
    sentence = "from 3 to 7 at t = 2"
    wanted = [sentence] if count == 1 else [f"level {k}: {sentence}" for k in (1, 2)]
    assert said[7 * count :] == [*wanted, "bounded by 3 and 7 at 2"]


def test_prototypes_begin_at_normal_points_the_mean_or_the_centroids(monkeypatch):
    z = np.arange(12.0).reshape(6, 2)
    monkeypatch.setattr(prototypes, "kmeans", lambda key, points, count: stub(centroids=np.asarray(points)[:count]))
    at = lambda initial: prototypes._prototypes(Prototypes(initial=initial, prototypes=3, seed=5), z)
    np.testing.assert_allclose(at("normal"), jax.random.normal(random_key(5, "prototypes"), (3, 2)))
    assert (at("mean").tolist(), at("k-means").tolist()) == ([[5.0, 6.0]] * 3, z[:3].tolist())
    drawn = at("points")
    assert all(row.tolist() in z.tolist() for row in drawn)
    assert len(np.unique(drawn, axis=0)) == 3


def test_values_of_a_sweep_are_numbers_or_ranges():
    assert [_numbers("beta", word) for word in ("3", "-0.5", "1/4", "0:1:3")] == [[3], [-0.5], [0.25], [0.0, 0.5, 1.0]]
    for word in ("x", "1e999", "0.5x"):
        with pytest.raises(ArgumentError, match="`beta` must be numbers separated by spaces, such as `--beta 1 2 4`"):
            _numbers("beta", word)


def test_equilibria_without_formulas_have_conditions_on_their_components(asked):
    def refuses(field):
        raise ArgumentError("system", "be polynomial", "is not")

    asked.of("analysis.dynamics.symbolic.equilibria.formulas", refuses)
    assert symbolic._places(None) == [None]
    made = stub(found=[stub(polynomial=None, state="x"), stub(polynomial="p", state="y")])
    asked.of("analysis.dynamics.symbolic.equilibria.formulas", made)
    assert symbolic._places(None) == ["x"]


def test_a_list_of_events_that_is_cut_says_so(capsys, monkeypatch):
    monkeypatch.setattr(events, "crossings", lambda *given, **options: stub(jumps=[], ending=Ending.CAPPED))
    events.tell_events(Simulate("mine", event=("v=1",)), path().system, jnp.zeros(2), np.arange(3.0), [], None)
    assert capsys.readouterr().out.splitlines() == ["v=1: 0 events", "only the first 10000 events are listed"]


def test_shares_of_a_density_are_those_of_its_grid():
    assert densities.Shares(stub(shares=lambda x: 2 * x))(jnp.zeros(()), jnp.asarray(3.0)) == 6.0


def test_tokens_of_a_sweep_are_measured_by_their_diameter_and_not_in_lanes(monkeypatch):
    tokens = np.array([[0.0, 0.0], [3.0, 4.0]]) * np.array([1.0, 2.0, 4.0, 8.0])[:, None, None]
    monkeypatch.setattr("dynsim.simulation.simulate.simulate",
                        lambda system, x, ts, **how: Trajectory(ts, jnp.asarray(tokens), system, STATS))  # fmt: skip
    made = stub(system=FLOW, begun=lambda: jnp.asarray(tokens[0]), random=None, start=jnp.asarray(tokens[0]))
    run_ = measures.Run(0.0, 3.0, 4, 1e-6, None, None, False)
    found = measures.run_measures(made, None, run_)
    assert [float(found[f"diameter_{kind}"]) for kind in measures.KINDS] == [40.0, 30.0, 20.0, 40.0]
    assert (
        measures.RunMeasures(lambda values: made, run_)._why_not([made], [tokens[0]]) == "the state consists of tokens"
    )


@pytest.mark.parametrize(("sound", "status"), [((True, True), 0), ((False, True), 1), ((True, False), 1)])
def test_the_demonstration_fails_where_one_check_is_not_sound(asked, tmp_path, capsys, sound, status):
    paths = iter([1.0, 1.5])
    solved = lambda *given, **options: stub(
        ys=next(paths) * np.array([2.0, -4.0]), stats="solved", along=lambda of: np.array([0.5, 0.002])
    )
    asked.of("dynsim.simulation.simulate.simulate", solved)
    asked.of("dynsim.systems.tokens.initial.initial_tokens", "tokens")
    asked.of("analysis.claims.claims", ())
    asked.of("analysis.ledger.findings.select", ())
    asked.of("analysis.report.run_checks", [(stub(sound=one), f"line {k}") for k, one in enumerate(sound)])
    asked.of("analysis.report.in_words", str.upper)
    asked.of("dynsim.simulation.run_files.save", None)
    asked.of("figures.gallery.find_figures", ["figure"])
    asked.of("figures.figure.save", [Path("a.pdf"), Path("a.png")])
    assert demo.main(["--out", str(tmp_path / "kept"), "--seed", "3"]) == status
    said = capsys.readouterr().out.splitlines()
    assert said[1:4] == ["  diameter 0.5000 at t = 0, 2.00e-03 at t = 40", "  diffrax: solved",
                         "  largest difference from SciPy: 2.0e+00"]  # fmt: skip
    assert said[5:9] == ["Two statements of the paper:", "  LINE 0", "  LINE 1", "Figure 1: a.pdf, a.png"]
    ((_, given),) = asked["run_checks"]
    assert given == {"seed": 3, "num_trials": 4}
    (first, own), (_, other) = asked["simulate"]
    assert (first[1], first[2][[0, -1]].tolist(), own) == ("tokens", [0.0, 40.0], {})
    assert type(other["integrator"]).__name__ == "Scipy"


@pytest.mark.parametrize("witness", [False, True])
def test_kept_results_are_read_unless_a_counterexample_is_asked_for(asked, tmp_path, capsys, witness):
    checked = stub(sound=False, broken="no control", doubt="", claim=stub(id="a"))
    library = stub(claims=(), statements=(), problems=())
    for name, said in (("library", library), ("source", "read"), ("refuse_what_is_no_trial", None)):
        asked.of(f"dynsim.cli.ledger.own_claims.{name}", said)
    asked.of("analysis.ledger.findings.select", ("a",))
    asked.of("dynsim.cli.ledger.check._one", ("a",))
    asked.of("analysis.report.run_checks", [])
    asked.of("analysis.report.in_order", [(checked, {"id": "a"})])
    for name, said in (("table", "the table"), ("entries", []), ("use_one_thread", None)):
        asked.of(f"analysis.report.{name}", said)
    asked.of("analysis.json_types.counterexample", "{}\n")
    file = tmp_path / "witness.json"
    words = ["--lines", "kept", "--seed", "2", "--trials", "5", "--jobs", "2"]
    assert check.main([*words, *(["--witness", str(file)] if witness else [])]) == 1
    assert capsys.readouterr().out.splitlines() == ["the table", "a: no control"]
    ((_, given),) = asked["run_checks"]
    folder = None if witness else Path("kept")
    assert given == {"seed": 2, "num_trials": 5, "jobs": 2, "folder": folder, "source": "read"}
    assert (file.read_text() if witness else None) == ("{}\n" if witness else None)

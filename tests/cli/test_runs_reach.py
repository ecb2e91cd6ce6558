"""What commands hand on to long computations, and what they say and draw of the results; nothing is computed here."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.systems import Found
from dynsim.cli.continuation import command as continuation
from dynsim.cli.continuation import cycles, stored
from dynsim.cli.continuation.options import Continue
from dynsim.cli.draw import with_drawing
from dynsim.cli.parsing.options import parse
from dynsim.cli.portrait import Computed
from dynsim.cli.simulate import densities, fast_slow, multirate
from dynsim.cli.simulate.growing import command as growing
from dynsim.cli.simulate.growing.options import Growing
from dynsim.cli.sweep.command import write_netcdf
from dynsim.cli.theorem.given import TheoremInput
from dynsim.cli.theorem.options import Theorem
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.hybrid_trajectory import Ending
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.parameter import Parameter
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from tests.cli.test_options_reach import Asked, Shown
from tests.support.commands import answer, run


@pytest.fixture
def asked(monkeypatch):
    return Asked(monkeypatch)


def stub(**parts: Any) -> Any:
    """Make what stands for a system, a result or a part of one."""
    return SimpleNamespace(**parts)


def same_key(found, seed, name):
    return np.array_equal(jax.random.key_data(found), jax.random.key_data(random_key(seed, name)))


def reached(rows):
    """Make shares of the tokens in eight cells at five times, of which `rows` are known."""
    shares = np.array(
        [[0.5, 0, 0.25, 0, 0.25, 0, 0, 0], [0.5, 0, 0.5, 0, 0, 0, 0, 0]] + [[0.625, 0, 0.375] + [0] * 5] * 3
    )
    return np.where(np.arange(5)[:, None] < rows, shares, np.nan)


@pytest.mark.parametrize(("rows", "status"), [(5, 0), (3, 1)])
def test_the_density_of_tokens_is_kept_told_and_drawn_as_far_as_the_run_reaches(asked, capsys, tmp_path, rows, status):
    made = "analysis.tokens.densities"
    asked.of(f"{made}.density_clusters", lambda grid, row: stub(masses=np.sort(row[row > 0])[::-1]))
    asked.of(f"{made}.merge_times", np.array([0.5, 2.0]))
    asked.of(f"{made}.cluster_drift", stub(rate=0.125))
    asked.of(f"{made}.TokenDensity", lambda grid, ts, shares: Shown(asked, ts=ts, figure="a picture"))
    asked.of("dynsim.simulation.ensemble.ensemble", Shown(asked, values=np.array([reached(rows)])))
    asked.of("dynsim.simulation.run_files.save", None)
    asked.of("figures.movie.write_movie", None)
    out, figure, movie = (tmp_path / f"a.{ending}" for ending in ("npz", "png", "gif"))
    o = Simulate("token-flow", tokens=16, dimension=2, density=8, seed=4, out=out, figure=figure, movie=movie)
    tokens: Any = densities.check(o, TokenFlow(jnp.eye(2)[None], ScaledIdentity(1.0, 2), space=Sphere()))
    ts = np.array([0.0, 0.5, 2.0, 3.0, 5.0])
    assert densities.density_run(o, tokens, jnp.zeros((1, 16, 2)), ts) == status
    said = capsys.readouterr().out.splitlines()
    end, how = ts[rows - 1], str(tokens.interaction.chosen(tokens, 16, jnp.zeros(1).dtype))
    assert said == [
        how, "the result", f"2 clusters at t = {end:g} hold 1 of the tokens: 0.625, 0.375",
        "at most 3 clusters over time; clusters merged at t = 0.5, 2",
        "the fastest pair of clusters approaches each other at the relative rate 0.125", f"run file {out}",
        f"figure {figure}", f"movie {movie}",
    ]  # fmt: skip
    ((_, _, times, shares), how), = asked["ensemble"]  # fmt: skip
    assert (times.tolist(), shares.grid.cells, how["integrator"].rtol) == (ts.tolist(), 8, 1e-4)
    assert asked["merge_times"][0][0][1] == [3, 2, 2, 2, 2][:rows]
    assert float(asked["cluster_drift"][0][0][2]) == end
    assert (asked["save"][0][0][0], asked["save"][0][1]) == (out, {"seed": 4})
    assert asked["saved"] == (str(figure), "density of the tokens")
    ((path, drawn), options), = asked["write_movie"]  # fmt: skip
    assert (path, options) == (movie, {"frames": rows})
    shown = []
    for k in range(rows):
        assert drawn(k / rows) == "a picture"
        shown.append(float(asked["plot"]["time"]))
    assert shown == ts[:rows].tolist()


@pytest.mark.parametrize(("times", "frames", "last"), [(1, 2, 0), (2, 2, 1), (60, 60, 59), (201, 60, 200)])
def test_a_movie_of_a_density_has_up_to_sixty_frames_from_the_first_time_to_the_last(asked, times, frames, last):
    asked.of("figures.movie.write_movie", None)
    densities.draw(Simulate("token-flow", movie=Path("a.gif")), Shown(asked, ts=np.arange(times), figure="a picture"))  # pyright: ignore
    ((_, drawn), options), = asked["write_movie"]  # fmt: skip
    at = [drawn(k / frames) and asked["plot"]["time"] for k in range(frames)]
    assert (options["frames"], at[0], at[-1]) == (frames, 0, last)
    assert np.ptp(np.diff(at)) <= 1


def test_clusters_of_tokens_are_told_in_words():
    assert densities.told(np.zeros(0), 2.0) == "no cluster at t = 2"
    assert densities.told(np.array([0.5]), 2.0) == "1 cluster at t = 2 holds 0.5 of the tokens: 0.5"
    many = densities.told(np.full(9, 0.1), 2.0)
    assert many == f"9 clusters at t = 2 hold 0.9 of the tokens: {', '.join(['0.1'] * 8)}, ..."
    assert densities._merged(np.zeros(0)) == "none merged"
    assert densities._merged(np.arange(9.0)).endswith("t = 0, 1, 2, 3, 4, 5, 6, 7, ...")


def test_the_density_is_kept_if_asked_or_for_one_run_of_many_tokens():
    many = Simulate("token-flow", tokens=20_001, dimension=3)
    cases = (many, dataclasses.replace(many, tokens=20_000), dataclasses.replace(many, members=2),
             Simulate("token-flow"), Simulate("token-flow", tokens=10, density=4))  # fmt: skip
    assert [densities.wanted(o) for o in cases] == [True, False, False, False, True]
    sizes = [(None, 3), (100_000, 2), (10**6, 3), (20_001, 3), (50, 3), (450, 2), (10**6, 4)]
    found = [densities.cells(Simulate("token-flow", tokens=n, dimension=d)) for n, d in sizes]
    assert found == [8, 720, 10_000, 400, 8, 9, 8]
    assert densities.cells(Simulate("token-flow", tokens=10, density=77)) == 77


def other_value(field):
    """Make a value of an option other than its default."""
    known = {
        "law": "aligned", "prune_by": "direction", "release": "release", "removal": "plane", "first": "random",
        "gate": "oja", "reading": "data", "head_input": "projected", "birth": "quantiles", "scaling": "tokens",
        "mode": "frozen", "reduction": "sum", "encoder": "linear", "tokens": 12, "dimension": 4, "dwell": 0.75,
        "pruning": 0.0125, "barrier": 0.25,
    }  # fmt: skip
    value = known.get(field.name, field.default)
    return not value if isinstance(value, bool) else value * 2 if value is field.default else value


def test_the_options_of_growing_heads_are_their_rules_rates_and_losses():
    names = [field.name for field in dataclasses.fields(Growing) if not isinstance(field.default, Path | None)]
    left_out = ("discrete", "force", "integrator", "end", "frames", "max_events", "rtol", "max_steps")
    given: dict[str, Any] = {
        f.name: other_value(f) for f in dataclasses.fields(Growing) if f.name in names and f.name not in left_out
    }
    scaled: Any = given.pop("scaling")  # no other one for quantiles
    for o in (Growing(), Growing(**given), Growing(**{"scaling": scaled})):
        flow = growing.growing_flow(o)
        for name in ("threshold", "pruning", "capacity", "prototypes", "initial_temperature", "least_temperature",
                     "dwell", "prune_by", "release", "removal", "first", "gate", "settled", "ordered", "reading",
                     "head_input", "birth", "spread", "scaling"):  # fmt: skip
            found = getattr(flow.rules, name)
            assert (found if isinstance(found, str) else float(found)) == getattr(o, name), name
        for name in ("prototype_rate", "temperature_rate", "gate_rate", "regulariser"):
            assert float(getattr(flow, name)) == getattr(o, name)
        assert float(flow.encoder_rate) == (o.encoder_rate if o.encoder == "linear" else 0.0)
        assert (flow.loss.gradient, flow.loss.reduction) == (o.mode, o.reduction)
        assert (float(flow.loss.barrier), float(flow.loss.ridge)) == (o.barrier, o.ridge)
        d = o.dimension
        values = np.sort(np.abs(np.linalg.eigvals(flow.interaction).imag))[::2]
        np.testing.assert_allclose(values, np.sort(o.largest * o.decay ** np.arange(d // 2)))
        assert flow.data.shape == (o.tokens, d)


def test_growing_heads_run_over_times_or_by_steps(asked, capsys, tmp_path):
    asked.of("dynsim.simulation.growing.simulate_growing", "in time")
    asked.of("dynsim.simulation.growing.descend", "by steps")
    start = stub(_replace=lambda **changed: changed)
    drawn = []
    flow = stub(start=lambda key: drawn.append(key) or start, interaction=np.zeros((3, 3)))
    o = Growing(seed=5, end=8.0, frames=5, max_events=7, rtol=1e-3, integrator="scipy", max_steps=9)
    assert growing.run(o, flow) == "in time"
    assert same_key(drawn[0], 5, "start")
    ((made, begun, ts), how), = asked["simulate_growing"]  # fmt: skip
    assert (made, begun, ts.tolist(), how["max_transitions"]) == (flow, start, [0.0, 2.0, 4.0, 6.0, 8.0], 7)
    solver = how["integrator"]
    assert (type(solver), float(solver.rtol), float(solver.atol), solver.max_steps) == (Scipy, 1e-3, 1e-5, 9)
    for count, every in ((5, 2), (20, 1)):
        assert growing.run(Growing(end=8.0, frames=count, discrete=True, encoder="linear"), flow) == "by steps"
        ((_, begun, steps), how), = asked.pop("descend")  # fmt: skip
        assert (begun["encoder"].tolist(), steps, how) == (
            np.eye(3).tolist(),
            8,
            {"every": every, "max_transitions": 1000},
        )
    for ending in (Ending.CAPPED, Ending.FINISHED):
        asked.of("dynsim.cli.simulate.growing.command.run", Shown(asked, ending=ending))
        asked.of("dynsim.cli.simulate.growing.summary.describe", None)
        asked.of("dynsim.simulation.run_files.save", None)
        out, figure = tmp_path / f"{ending.name}.npz", tmp_path / f"{ending.name}.png"
        words = ["--seed", "3", "--out", str(out), "--figure", str(figure)]
        assert growing.main(words) == int(ending is Ending.CAPPED)
        assert capsys.readouterr().out.splitlines() == [f"run file {out}", f"figure {figure}"]
        assert asked.pop("save")[0][1] == {"seed": 3}
        assert asked["saved"] == (str(figure), "temperatures of heads")


def test_the_multirate_network_is_that_of_the_options(asked, capsys):
    network = "dynsim.networks.multirate"
    asked.of(f"{network}.network.draw_multirate", lambda key, config: (key, config))
    asked.of(f"{network}.network.with_gates", lambda model, gate: (model, gate))
    for o, mask, block in ((multirate.Multirate(), "causal", 8),
                           (multirate.Multirate(slow_mask="full", block=3, seed=6, gate=0.0), "full", 3)):  # fmt: skip
        found: Any = multirate.network(o)
        (key, config), gate = found if o.gate is not None else (found, None)
        assert (config.slow_mask, config.block, gate) == (mask, block, o.gate)
        assert same_key(key, o.seed, "multirate")
    best = stub(name="study", size="quick", seed=2, arrays="arrays", config="config")
    asked.of("analysis.experiments.best_record", best)
    asked.of("analysis.experiments.multirate.training_study.trained_network", lambda *given: given)
    asked.of("dynsim.io.data.use_data", None)
    o = multirate.Multirate(weights="trained", variant="frozen", data=Path("here"))
    assert multirate.network(o) == ("arrays", "config", "frozen")
    assert asked["use_data"] == [((Path("here"),), {})]
    assert capsys.readouterr().out == "weights of study, size quick, seed 2\n"
    with pytest.raises(ValueError, match="`variant` must be one of coupled, .*but is `cupled`, did you mean `coupled`"):
        multirate.network(dataclasses.replace(o, variant="cupled"))


def test_a_text_is_described_checked_and_continued(asked, capsys):
    here = "dynsim.cli.simulate.multirate"
    asked.of(f"{here}.network", stub(rounds=[stub(block=4)], gates=[0.25, -1.5]))
    for name in ("_check_causality", "_continue"):
        asked.of(f"{here}.{name}", None)
    asked.of("dynsim.networks.multirate.flops.layer_equivalents", 1.5)
    asked.of("dynsim.networks.multirate.network.num_parameters", 12_345)
    asked.of("dynsim.networks.multirate.training.text_loss", 2.25)
    said = answer(capsys, "simulate", "multirate", "--text", "ab" * 20, "--bytes", 3)
    assert said.splitlines() == [
        "random weights: the network is untrained (`--weights trained` loads trained weights)",
        "12,345 parameters, 1.500 layer equivalents of work on 40 bytes, blocks of 4", "gate +0.250000, -1.500000",
        "loss on the text 2.2500 nats per byte (a uniform prediction has 5.5452)",
    ]  # fmt: skip
    assert asked["_check_causality"][0][0][2].tolist() == [97, 98] * 16
    assert asked["_continue"][0][0][2].tolist() == [97, 98] * 20
    assert asked["layer_equivalents"][0][0][1] == 40
    assert asked["text_loss"][0][0][1].shape == (1, 40)
    asked.of(f"{here}.network", stub(rounds=[], gates=[]))
    said = answer(capsys, "simulate", "multirate", "--bytes", 0, "--weights", "trained")
    assert (len(said.splitlines()), "gate" in said, "random" in said, "blocks" in said) == (2, False, False, False)
    assert len(asked["_continue"]) == 1


LORENZ = Found("lorenz", Lorenz(), jnp.ones(3))
RHO = Parameter(Lorenz(), "rho", 20.0, 30.0)


@pytest.fixture
def followed(asked):
    """Replace what follows branches."""
    room = "analysis.dynamics"
    asked.of(f"{room}.continuation.equilibria.check_autonomous", None)
    asked.of(f"{room}.continuation.equilibria.continue_equilibria", "equilibria")
    asked.of(f"{room}.continuation.orbits.continue_orbits", "orbits")
    asked.of(f"{room}.diagrams.bifurcation_diagram", "a diagram")
    asked.of(f"{room}.diagrams.with_orbits", "a diagram with orbits")
    asked.of(f"{room}.attractors.attracting_orbit.attracting_orbit", "the orbit from the limit")
    return asked


def options(*words):
    return parse(Continue, ["lorenz", "--parameter", "rho=20:30", *words], "continue")


MANY = ("--segments", "5", "--method", "shooting", "--max-period", "77", "--rtol", "1e-5", "--atol", "1e-6",
        "--longest", "440", "--step", "0.25", "--max-orbit-points", "33", "--max-points", "22")  # fmt: skip


@pytest.mark.parametrize("words", [(), MANY])
def test_the_limit_of_a_start_is_followed_as_an_orbit(followed, capsys, words):
    o = options("--cycle", *words)
    orbit = PeriodicOrbit(np.ones(3), 2.0, np.zeros((1, 3)), np.ones(1, complex), 0.0, 0.0, "stable")
    for limit in (orbit, stub()):
        followed.of("analysis.dynamics.attractors.attracting_orbit.limit_of", limit)
        found = cycles.diagram_of_limit(o, LORENZ, RHO)
        assert (found.branches, found.orbits, found.parameter, found.names) == ((), ("orbits",), "rho", ("x", "y", "z"))
        assert found.of is RHO
        ((system, start), how), = followed.pop("limit_of")  # fmt: skip
        assert (system, start.tolist()) == (RHO.system, [1.0] * 3)
        assert (how["segments"], how["search"].longest) == ((5, 440) if words else (12, 4096))
        ((parameter, begun), how), = followed.pop("continue_orbits")  # fmt: skip
        assert (parameter, begun) == (RHO, orbit if limit is orbit else "the orbit from the limit")
        steps = how.pop("steps")
        assert (steps.first, steps.points) == ((0.25, 33) if words else (0.05, 1000))
        wanted = {"method": "shooting", "max_period": 77.0, "rtol": 1e-5, "atol": 1e-6}
        assert how == (wanted if words else {"method": "auto", "max_period": None, "rtol": 1e-10, "atol": None})
    assert followed["attracting_orbit"] == [((RHO.system, limit), {"segments": 5 if words else 12})]
    for end in (20.0, 30.0):
        cycles.diagram_of_limit(o, LORENZ, RHO.of(RHO.at(end)))
    with pytest.raises(
        ValueError, match="`parameter` must be a range that contains the value 31 at which the solution"
    ):
        cycles.diagram_of_limit(o, LORENZ, RHO.of(RHO.at(31.0)))


def test_an_equilibrium_at_which_a_run_ends_is_followed_as_one(followed, capsys):
    rest = LimitSet("equilibrium", "stable", np.full((1, 3), 2.0), np.zeros((1, 3)), 0.0, np.zeros(3))
    followed.of("analysis.dynamics.attractors.attracting_orbit.limit_of", rest)
    for words, answered in (((), "a diagram"), (("--cycles",), "a diagram with orbits")):
        o = options("--from", "run.npz", *MANY, "--levels", "3", *words)
        assert cycles.diagram_of_limit(o, LORENZ, RHO) == answered
        ((_, starts), how), = followed.pop("bifurcation_diagram")  # fmt: skip
        assert (np.asarray(starts).tolist(), how["levels"], how["steps"].points) == ([[2.0] * 3], 3, 22)
    ((before, _), how), = followed["with_orbits"]  # fmt: skip
    assert (before, how["segments"], how["steps"].points) == ("a diagram", 5, 33)
    assert str(rest) in capsys.readouterr().out


def test_a_point_of_a_diagram_is_followed_as_what_it_is(followed, capsys):
    from analysis.dynamics.continuation.orbit_curve import Cycle

    alone = stub(states=np.ones((1, 3)), parameters=np.array([21.0]), name="sigma")
    o = options("--from", "a.npz", "--point", "3", *MANY, "--levels", "3")
    found = stored.diagram_of_point(o, LORENZ, RHO, stored.StoredPoint(alone, 1), ("moves",))
    ((_, (start,)), how), = followed.pop("bifurcation_diagram")  # fmt: skip
    assert (found, start.tolist(), how["levels"], how["symmetries"]) == ("a diagram", [1.0] * 3, 3, ("moves",))
    assert how["steps"].points == 22
    with_cycles = dataclasses.replace(o, cycles=True)
    assert (
        stored.diagram_of_point(with_cycles, LORENZ, RHO, stored.StoredPoint(alone, 1), ()) == "a diagram with orbits"
    )
    (_, how), = followed.pop("with_orbits")  # fmt: skip
    steps = how.pop("steps")
    assert (steps.points, how) == (
        33, {"segments": 5, "method": "shooting", "max_period": 77.0, "rtol": 1e-5, "atol": 1e-6},
    )  # fmt: skip
    found = stored.diagram_of_point(o, LORENZ, RHO, stored.StoredPoint(alone, 3), ())
    assert (found.branches, found.iterates, found.orbits) == (("equilibria",), (3,), ())
    (_, how), = followed.pop("continue_equilibria")  # fmt: skip
    assert (how["iterate"], how["steps"].points) == (3, 22)
    for times, method in ((None, "shooting"), (np.ones(2), "collocation")):
        followed.of("analysis.dynamics.continuation.orbits.orbit_of", stub(times=times))
        alone.states = Cycle(np.ones((1, 2, 3)), np.array([2.0]))
        found = stored.diagram_of_point(dataclasses.replace(o, levels=2), LORENZ, RHO, stored.StoredPoint(alone, 1), ())
        assert (found.orbits, found.branches) == (("orbits",), ())
        ((own, one, k), _), = followed.pop("orbit_of")  # fmt: skip
        assert (own.name, own.low, own.high, one, k) == ("sigma", 20.0, 22.0, alone, 0)
        assert followed.pop("continue_orbits")[0][1]["method"] == method
    with pytest.raises(
        ValueError, match="`parameter` must be a range that contains the value 31 at which the point is"
    ):
        stored.diagram_of_point(o, LORENZ, RHO.of(RHO.at(31.0)), stored.StoredPoint(alone, 1), ())


def test_fixed_points_on_a_sphere_are_searched_from_random_states_and_counted_once(asked):
    """The search gives the sum of the entries of a state, rounded, or nothing."""
    turning = FunctionMap(lambda k, x: -x, space=Sphere())
    at = lambda own, value: stub(state=np.round(own[:1])) if own[0] > -0.9 else None
    curve = stub(at=at, own=lambda x: np.asarray(x), value=0.0, units=None)
    asked.of("analysis.dynamics.continuation.equilibria.equilibrium_curve", lambda parameter, x: curve)
    made, parameter = Found("mine", turning, jnp.array([1.0, 0.0, 0.0])), stub(system=turning)
    found = continuation._fixed_points(options("--num-starts", "20", "--seed", "1"), made, parameter)
    assert sorted(float(x[0]) for x in found) == [-1.0, 0.0, 1.0]
    assert asked["equilibrium_curve"][0][0][1].tolist() == [1.0, 0.0, 0.0]
    assert len(continuation._fixed_points(options("--num-starts", "1", "--seed", "1"), made, parameter)) == 2
    boxed = continuation._fixed_points(options("--box", "0.6", "1.4", "2", "3", "2", "4"), made, parameter)
    assert [float(x[0]) for x in boxed] == [1.0]
    first = np.asarray(asked["equilibrium_curve"][-1][0][1])
    assert np.all((first > [0.6, 2, 2]) & (first < [1.4, 3, 4]))


def test_a_picture_of_a_fast_slow_system_has_its_branches_and_a_run_for_each_ratio(tmp_path):
    drawn, saved = [], tmp_path / "a.png"
    branch = stub(plot=lambda ax: drawn.append("branch"))
    path = lambda ax, **how: drawn.append(how)
    of = lambda fast: stub(plot=path, initial=stub(fast=np.zeros(fast)))
    fast_slow.draw(saved, [branch] * 2, [of(1), of(3)], [0.25, 1e-3])
    assert drawn[:2] == ["branch"] * 2
    assert [(how["components"], how["label"]) for how in drawn[2:]] == [
        ((1, 0), r"$\varepsilon = 0.25$"), ((3, 0), r"$\varepsilon = 0.001$"),
    ]  # fmt: skip
    same = {"path": True, "end": False, "smooth": False, "labels": False, "limits": False}
    assert all(how[name] is value for how in drawn[2:] for name, value in same.items())
    assert drawn[2]["colour"] != drawn[3]["colour"]
    assert saved.is_file()


def test_a_movie_of_portraits_has_a_frame_for_each_value_on_one_scale(asked, capsys, tmp_path):
    scales = []

    def computed(o: Any, found: Any, title: str = "", along: Any = None) -> Computed:
        h = float(found.system.h)
        draw: Any = lambda **how: scales.append((h, how)) or Shown(asked, figure=h, axes=[], legend=None)
        return Computed(draw, f"portrait {title}".strip(), (h, 2 * h))

    asked.of("dynsim.cli.portrait.portrait", computed)
    asked.of("figures.portraits.entries", {})
    asked.of("figures.movie.write_movie", None)
    words = ("--vary", "h=1:2:3", "--movie", tmp_path / "a.gif", "--figure", tmp_path / "a.png")
    said = answer(capsys, "portrait", "double-well", *words)
    assert said.splitlines() == ["portrait", f"figure {tmp_path / 'a.png'}", f"movie {tmp_path / 'a.gif'}"]
    titles = [given[2] for given, _ in asked["portrait"][1:]]
    assert titles == ["$h$ = 1", "$h$ = 1.5", "$h$ = 2"]
    assert len({id(given[3]) for given, _ in asked["portrait"][1:]}) == 1
    ((path, drawn), how), = asked["write_movie"]  # fmt: skip
    assert (path, how, [drawn(k / 3) for k in range(3)]) == (tmp_path / "a.gif", {"frames": 3}, [1.0, 1.5, 2.0])
    assert [one for one in scales if one[1]] == [(h, {"speeds": (1.0, 4.0)}) for h in (1.0, 1.5, 2.0)]


def test_the_figure_of_a_sweep_shows_components_or_results(asked, capsys, tmp_path):
    asked.of("figures.sweeps.sweep", Shown(asked))
    figure = ("--figure", tmp_path / "a.png", "--force")
    said = answer(capsys, "sweep", "lorenz", "--rho", 1, 2, "--end", 1, "--frames", 3, "--show", "z", "x_mean", *figure)
    assert said.splitlines()[-1] == f"figure {tmp_path / 'a.png'}"
    shown = [(one.label, one.middle, one.low, one.high) for one in asked["sweep"][0][1]["quantities"]]
    assert shown == [("z", "z_mean", "z_least", "z_largest"), ("x_mean", "x_mean", "", "")]
    assert asked["saved"][1] == "sweep of lorenz"
    (tmp_path / "mine.py").write_text(
        "def many(a):\n    return {'row': [a, a], **{f'r{k}': a + k for k in range(8)}}\n"
        "def none(a):\n    return float('nan')\n"
    )
    said = answer(capsys, "sweep", "--function", f"{tmp_path}/mine.py:many", "--a", 1, 2, *figure)
    assert "the figure leaves out arrays: row" in said
    assert "the figure shows the first 6 of 8 results (`--show` chooses)" in said
    assert [one.label for one in asked["sweep"][-1][1]["quantities"]] == [f"r{k}" for k in range(6)]
    status, said, _ = run(capsys, "sweep", "--function", f"{tmp_path}/mine.py:none", "--a", 1, 2, *figure)
    assert status == 1
    assert said.splitlines()[-1] == "no figure is drawn, because no point has a finite value"
    assert len(asked["sweep"]) == 2


def test_a_file_of_a_sweep_is_read_as_one(tmp_path):
    xarray = pytest.importorskip("xarray")
    good, other, bad = (tmp_path / f"{name}.nc" for name in ("good", "other", "bad"))
    write_netcdf(good, xarray.Dataset({"status": ("a", np.array(["ok", "failed"])), "x": ("a", [1.0, 2.0])}))
    found, how = with_drawing(good, ())
    assert (found["x"].values.tolist(), how) == ([1.0, 2.0], {})
    write_netcdf(other, xarray.Dataset({"x": ("a", [1.0, 2.0])}))
    bad.write_bytes(b"no data")
    for file, words in ((other, "is of another kind"), (bad, "is not \\(")):
        with pytest.raises(ValueError, match=f"Argument `path` must be a file of results.*{words}"):
            with_drawing(file, ())


def test_the_number_of_components_of_a_theorem_is_that_of_what_is_given():
    of = lambda system=LORENZ.system, **given: TheoremInput(
        Theorem("all", **given), Found("", system, None)
    )._dimension()
    mine = FunctionFlow(lambda t, x: -x)
    cases = ({"box": (0.0, 1.0) * 3}, {"ball": (0.0, 0.0, 1.0)}, {"annulus": (0.0, 0.0, 0.0, 1.0, 2.0)},
             {"sets": ("a",)}, {"near": (1.0, 2.0, 3.0, 4.0)})  # fmt: skip
    assert [of(mine, **given) for given in cases] == [3, 2, 3, 2, 4]
    assert of(near=(1.0,)) == 3

"""What commands print about results: formulas, edge states, events and heads, clusters, networks; nothing is solved."""

from types import SimpleNamespace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.cli import portrait
from dynsim.cli.basins import edges as edges_of
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.systems import Found
from dynsim.cli.portrait import Portrait
from dynsim.cli.simulate import densities, multirate
from dynsim.cli.simulate.growing import summary
from dynsim.cli.simulate.growing.options import Growing
from dynsim.cli.simulate.multirate import Multirate
from dynsim.equations.system import system
from dynsim.errors import ArgumentError
from dynsim.integrators.base import Stats
from dynsim.io.npz import read_arrays
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import FunctionFlow
from dynsim.systems.named import components
from tests.support.commands import answer, refused

FOLDS = """x' = a + b*x - x^3

1 real equilibrium (x), and no other; 3 complex with multiplicity
  (2): stable

equilibria (x)
  (x) for each root x of -a - b*x + x^3

at (x): -b + lambda + 3*x^2 = 0
all eigenvalues have negative real parts if and only if
  -b + 3*x^2 > 0

conserved polynomials up to degree 4: none

fold curve in a, b
  a = -2*x^3, b = 3*x^2
"""


def test_formulas_of_equations_are_printed_or_written(capsys, tmp_path):
    assert (
        answer(capsys, "symbolic", "x' = a + b*x - x^3; a = 2; b = 3", "--curve", "a", "b", "--a", 6, "--b", 1) == FOLDS
    )
    out = tmp_path / "formulas.tex"
    words = ("--to", "latex", "--degree", "2", "--out", out)
    assert answer(capsys, "symbolic", "x' = y; y' = -x", *words) == f"file {out}\n"
    written = out.read_text(encoding="utf-8")
    for part in (r"  \dot{x} &= y \\", "% nullclines", "% conserved polynomials", "x^{2} + y^{2}", r"\omega^2 = 1"):
        assert part in written
    assert "conserved polynomials: Argument `degree`" in answer(capsys, "symbolic", "x' = -x", "--degree", "-1")
    assert "`curve` must name two parameters, but names 1" in refused(capsys, "symbolic", "lorenz", "--curve", "rho")


def test_edge_states_are_sought_between_touching_basins_from_states_on_the_grid(capsys, monkeypatch):
    """The grid varies the components 2 and 0 of a state of three, in this order."""
    sought = []

    def edge_state(system, one, other, search):
        sought.append((system, np.asarray(one).tolist(), np.asarray(other).tolist(), search))
        if len(sought) == 2:
            raise ArgumentError("limit", "be periodic", "is a torus")
        limit = type("Limit", (), {"state": jnp.arange(3.0), "__str__": lambda self: "a saddle"})()
        spread = None if len(sought) == 1 else np.array([0.5])
        return SimpleNamespace(limit=limit, exponents=spread, spread=spread, unstable_dimension=len(sought), width=1e-9,
                               unstable=np.array([0.0, 1.0, 0.0]))  # fmt: skip

    monkeypatch.setattr("analysis.dynamics.attractors.edge_tracking.edge_state", edge_state)
    labels = np.array([[0, 0, 1], [0, 2, 1]])
    found = SimpleNamespace(labels=labels, axes=(np.array([10.0, 20.0]), np.array([1.0, 2.0, 3.0])))
    start = jnp.asarray([7.0, 8.0, 9.0])
    kept = edges_of.edges(SimpleNamespace(system="flow"), start, [2, 0], found, "search")
    assert sought == [
        ("flow", [2.0, 8.0, 10.0], [3.0, 8.0, 10.0], "search"),
        ("flow", [1.0, 8.0, 20.0], [2.0, 8.0, 20.0], "search"),
        ("flow", [3.0, 8.0, 20.0], [2.0, 8.0, 20.0], "search"),
    ]
    said = capsys.readouterr().out
    assert "edge of basins 1 and 2: a saddle, 1 unstable direction, located to within 1e-09" in said
    assert "no edge state between basins 1 and 3: Argument `limit` must be periodic, but is a torus" in said
    assert "edge of basins 2 and 3: a saddle, spread [0.5], 3 unstable directions" in said
    arrays = edges_of.edge_arrays(kept)
    assert arrays["edge_basins"].tolist() == [[0, 1], [1, 2]]
    assert arrays["edge_states"].tolist() == [[0.0, 1.0, 2.0]] * 2
    assert arrays["edge_unstable"].shape == (2, 3)
    alone = SimpleNamespace(labels=np.zeros((1, 2), int), axes=(np.zeros(1), np.zeros(2)))
    assert edges_of.edges(SimpleNamespace(system="flow"), start, [2, 0], alone, "search") == {}
    assert "no edge state was found" in capsys.readouterr().out


class Heads(NamedTuple):
    """A state of two heads."""

    prototypes: np.ndarray
    cubes: np.ndarray


def heads(first, second, cubes=(0.0, 0.0)):
    return Heads(np.array([first, second])[:, None, None] * np.ones((2, 3, 2)), np.array(cubes))


def run_of(*times, jumps=()):
    """A run of two heads with phases that begin at these times."""
    stats = Stats(True, 0, 1, 0, 0.0, 0.0)
    rows = Heads(np.zeros((1, 2, 3, 2)), np.zeros((1, 2)))
    phases = [Trajectory(np.array([time]), rows, FunctionFlow(lambda t, x: x), stats) for time in times]
    return HybridTrajectory(tuple(phases), tuple(jumps), Ending.FINISHED)


def test_events_of_heads_are_listed_with_the_heads_that_they_change(monkeypatch, capsys):
    known = {0.0: ([1, 0], [2.0, np.nan]), 1.0: ([1, 1], [2.0, 1.25]), 3.0: ([0, 1], [np.nan, 1.25])}
    flow = lambda active, levels: SimpleNamespace(active=np.array(active), levels=np.array(levels))
    monkeypatch.setattr(summary, "flow_of", lambda phase: flow(*known[float(phase.ts[0])]))
    path = run_of(*known, jumps=[
        Jump(0, "grow", 0.0, heads(0.0, 0.0), heads(1.0, 0.0)), Jump(0, "grow", 1.0, heads(1.0, 0.0), heads(1.0, 2.0)),
        Jump(1, "clip", 2.0, heads(1.0, 2.0), heads(1.0, 2.0, (0.0, 0.5))),
        Jump(2, "prune", 3.0, heads(1.0, 2.0), heads(0.0, 2.0)),
    ])  # fmt: skip
    assert [" ".join(line.split()) for line in summary.history(path)] == [
        "t = 0 grow head 0 lambda = 2 (1 head)", "t = 1 grow head 1 lambda = 1.25 (2 heads)", "t = 2 clip head 1",
        "t = 3 prune head 0 (1 head)",
    ]  # fmt: skip
    monkeypatch.setattr(summary, "history", lambda path: (f"event {k}" for k in range(43)))
    summary.describe(Growing(), none := run_of(jumps=path.jumps[:1]))
    assert capsys.readouterr().out.splitlines() == [
        *(f"event {k}" for k in range(20)), "  ... 3 events ...", *(f"event {k}" for k in range(23, 43)),
        *str(none).splitlines(),
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["separation", "direction"])
def test_heads_are_tabulated_with_their_own_numbers(monkeypatch, by):
    flow = SimpleNamespace(
        levels=[9.0, 1.5], active=[False, True], dominant=0.25, temperatures=lambda x: jnp.asarray([8.0, 0.5]),
        activity=lambda x: jnp.asarray([7.0, 0.75]), head_inputs=lambda x: jnp.asarray([1.0, 2.0]),
    )  # fmt: skip
    monkeypatch.setattr(summary, "flow_of", lambda phase: flow)
    monkeypatch.setattr(summary, "head_measures", lambda flow, x: [6.0, 0.125])
    monkeypatch.setattr(summary, "separation_force", lambda p, inputs, T: inputs + T)
    monkeypatch.setattr(summary, "separation", lambda p: jnp.sum(p) + 7.0)
    lines = list(summary.heads(Growing(prune_by=by), run_of(0.0)))
    assert lines[0] == "residual: dominant value 0.25, threshold 0.05"
    shown = by != "separation"
    assert lines[1].split() == ["head", "lambda", "T", "activity", "F_sep", "S", *["Gamma"] * shown]
    assert [line.split() for line in lines[2:]] == [["1", "1.5", "0.5", "0.75", "2.5", "7", *["0.125"] * shown]]


def test_densities_are_solved_to_a_low_order_only_where_the_tolerance_is_large():
    made = [
        densities._integrator(Simulate("token-flow", **given))
        for given in ({}, {"rtol": 1e-5}, {"rtol": 9e-6}, {"integrator": "scipy"})
    ]
    assert [type(getattr(one, "solver", None)).__name__ for one in made] == ["Bosh3", "Bosh3", "Tsit5", "NoneType"]
    assert [float(one.rtol) for one in made] == [1e-4, 1e-5, 9e-6, 1e-4]


def test_a_network_is_checked_for_leaks_to_earlier_positions_and_continues_its_text(monkeypatch, capsys, tmp_path):
    """Of three bytes, changing the second alters the score at the first, and the third nothing."""
    text = np.array([65, 66, 255], np.int32)
    changed = {}

    def affected(model, text, t, byte):
        changed[t] = byte
        return np.array([t == 1, False, True])

    monkeypatch.setattr("analysis.networks.leaks.affected_positions", affected)
    monkeypatch.setattr("analysis.networks.leaks.leak_matrix", lambda model, text: np.triu(np.ones((3, 3)), 1) / 4)
    model = lambda text: np.arange(3.0)
    out = tmp_path / "leaks.npz"
    multirate._check_causality(Multirate(out=out), model, text)
    assert capsys.readouterr().out.splitlines() == [
        "largest derivative of a score with respect to a later byte's embedding: 0.25",
        "positions at which another byte changes a bit of an earlier score: 1 of 3", f"arrays {out}",
    ]  # fmt: skip
    assert changed == {0: 66, 1: 67, 2: 0}
    assert read_arrays(out)["scores"].tolist() == [0.0, 1.0, 2.0]
    monkeypatch.setattr("dynsim.networks.multirate.byte_text.greedy", lambda model, text, n: np.array([72, 105])[:n])
    drawn = lambda model, text, n, key, temperature: np.full(n, round(10 * temperature))
    monkeypatch.setattr("dynsim.networks.multirate.byte_text.sampled", drawn)
    multirate._continue(Multirate(bytes=2), model, text)
    multirate._continue(Multirate(temperature=6.5, bytes=3), model, text)
    assert capsys.readouterr().out == "Hi\nAAA\n"


SPACE = "x' = y; y' = -x; z' = -z  # [mm]"


class Plan:
    """A phase plane that was not computed."""

    velocity = np.zeros((1, 1, 2))
    forced = True

    def __str__(self):
        return "the plane"


def test_a_slice_is_computed_in_its_components_and_named_by_what_is_held(monkeypatch):
    seen = {}

    def planned(system, box, **given):
        seen.update(given, box=box)
        return Plan()

    monkeypatch.setattr("analysis.dynamics.portraits.plane.phase_plane", planned)
    monkeypatch.setattr("figures.panels.phase.speed_range", lambda velocity: (0.5, 2.0))
    options = Portrait(
        SPACE, plane=("z", "x"), box=(-1.0, 2.0, -3.0, 4.0), through=(1.0, 2.0, 3.0, 4.0), trajectories=4, time=0.5,
        horizon=7.0, grid=21, rtol=1e-4, atol=1e-9,
    )  # fmt: skip
    start = jnp.asarray([1.0, 2.0, 3.0])
    flow = system(SPACE)
    found = Found("mine", flow, start)
    made = portrait.in_plane(options, found, components(flow, start), np.asarray(start), "r = 1", None)
    starts = seen.pop("trajectories")
    assert (starts[:2].tolist(), len(starts)) == ([[1.0, 2.0], [3.0, 4.0]], 6)
    assert np.all((starts[2:] >= [-1, -3]) & (starts[2:] <= [2, 4]))
    assert seen.pop("at").tolist() == [1.0, 2.0, 3.0]
    assert seen == {"box": options.box, "axes": (2, 0), "t": 0.5, "horizon": 7.0, "grid": 21, "rtol": 1e-4,
        "atol": 1e-9}  # fmt: skip
    assert made.speeds == (0.5, 2.0)
    assert made.said == "the plane; the field is time-dependent and is drawn at t = 0.5"
    assert made.drawing["title"].startswith("r = 1, ")
    assert made.drawing["title"].endswith(", t = 0.5")
    assert "y$ = 2" in made.drawing["title"].split(", ")[1]
    by_default = found._replace(box=(-9.0, 9.0, 0.0, 1.0, -5.0, 5.0))
    portrait.in_plane(
        Portrait(SPACE, plane=("z", "x")), by_default, components(flow, start), np.asarray(start), "", None
    )
    assert seen["box"] == (-5.0, 5.0, -9.0, 9.0)


def test_frames_of_a_movie_have_a_common_scale_and_all_entries_of_their_legends(monkeypatch):
    drawn = []

    def frame(names, speeds):
        def draw(**how):
            drawn.append(how)
            return SimpleNamespace(figure=f"figure {names}", names=names)

        return portrait.Computed(draw, "", speeds)

    monkeypatch.setattr("figures.portraits.entries", lambda made: {name: name.upper() for name in made.names})
    assert portrait.frames([frame("ab", (1.0, 2.0)), frame("ba", (0.5, 1.5))]) == ["figure ab", "figure ba"]
    assert drawn == [{"speeds": (0.5, 2.0)}] * 2
    drawn.clear()
    portrait.frames([frame("ab", (1.0, 2.0)), frame("bc", (0.5, 3.0))])
    common = {"handles": ["A", "B", "C"], "labels": ["a", "b", "c"]}
    assert drawn == [{"speeds": (0.5, 3.0)}] * 2 + [{"speeds": (0.5, 3.0), "legend": common}] * 2

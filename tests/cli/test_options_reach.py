"""Options of commands reach what is computed and drawn, with the documented defaults; nothing is computed here."""

import importlib
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from dynsim.keys import random_key
from tests.support.commands import answer


class Shown:
    """A result that keeps how it is drawn and under which name it is saved."""

    def __init__(self, asked: "Asked", **parts: Any):
        self.asked = asked
        vars(self).update(parts)

    def __str__(self):
        return "the result"

    def plot(self, **how: Any) -> "Shown":
        self.asked["plot"] = how
        return self

    plot_plane = plot

    def _replace(self, **changed: Any) -> "Shown":
        return Shown(**vars(self) | changed)

    def save(self, file: Any, title: str = "") -> None:
        self.asked["saved"] = str(file), title


class Asked(dict):
    """What functions of the library were called with, by their names: positional arguments, then options."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        super().__init__()
        self.monkeypatch = monkeypatch

    def of(self, target: str, answer: Any) -> None:
        """Replace a function, given by its full name, by one that keeps its arguments and answers."""
        module, name = target.rsplit(".", 1)

        def kept(*given: Any, **options: Any) -> Any:
            self.setdefault(name, []).append((given, options))
            return answer(*given, **options) if callable(answer) else answer

        self.monkeypatch.setattr(importlib.import_module(module), name, kept)


@pytest.fixture
def asked(monkeypatch):
    return Asked(monkeypatch)


def solver(integrator: Any) -> tuple[str, float, float, int]:
    """Describe an integrator by the name of its method and its numbers."""
    method = getattr(integrator, "method", "") or type(integrator.solver).__name__
    return method, float(integrator.rtol), float(integrator.atol), integrator.max_steps


SERIES = {
    "spectrum": (
        "power_spectra.power_spectrum", "power spectrum",
        (), (0, {"window": "hann", "segment": None, "detrend": "constant"}), {"logarithmic": False},
        ("--component", "z", "--window", "boxcar", "--segment", 16, "--detrend", "linear", "--logarithmic"),
        ("z", {"window": "boxcar", "segment": 16, "detrend": "linear"}), {"logarithmic": True}, 4096,
    ),
    "recurrence": (
        "recurrence.recurrence_plot", "recurrence plot",
        (), (None, {"threshold": None, "rate": None, "norm": "euclidean", "delay": 1, "dimension": 1, "theiler": 1,
                    "shortest": 2}), {},
        ("--components", "z", "x", "--threshold", 0.25, "--rate", 0.125, "--norm", "maximum", "--delay", 3,
         "--dimension", 4, "--theiler", 5, "--shortest", 6),
        (("z", "x"), {"threshold": 0.25, "rate": 0.125, "norm": "maximum", "delay": 3, "dimension": 4, "theiler": 5,
                      "shortest": 6}), {}, 1000,
    ),
    "chaos": (
        "chaos_test.zero_one_test", "0-1 test",
        (), (0, {"every": None, "frequencies": 100, "seed": 0}), {},
        ("--component", "y", "--every", 7, "--frequencies", 12, "--seed", 9),
        ("y", {"every": 7, "frequencies": 12, "seed": 9}), {}, 10_000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", SERIES)
def test_a_series_is_that_after_the_transient_and_is_measured_with_the_options(asked, capsys, command, tmp_path):
    target, title, *cases, count = SERIES[command]
    module = f"analysis.dynamics.series.{target}"
    asked.of(module, Shown(asked, peaks=lambda number: np.array([0.5, 0.25])[:number], measures={"rate": 0.25}))
    asked.of("dynsim.simulation.simulate.simulate", SimpleNamespace(final="after the transient"))
    times = ("--count", 9, "--spacing", 0.5, "--transient", 3, "--start", 1, 2, 3)
    numbers = ("--rtol", 1e-5, "--atol", 1e-4, "--integrator", "stiff", "--max-steps", 77)
    expected = [
        (100.0 + 0.05 * np.arange(count), 100.0, ("Tsit5", 1e-7, 1e-9, 100_000), [1.0, 2.0, 20.0]),
        (3.0 + 0.5 * np.arange(9), 3.0, ("Radau", 1e-5, 1e-4, 77), [1.0, 2.0, 3.0]),
    ]
    for k, more in enumerate(((), (*times, *numbers))):
        words, (component, options), drawing = cases[3 * k : 3 * k + 3]
        answer(capsys, command, "lorenz", *words, *more, "--figure", tmp_path / "a.png", "--force")
        (first, how), (second, again) = asked.pop("simulate")
        grid, late, method, start = expected[k]
        assert (np.asarray(first[1]).tolist(), first[2]) == (start, [0.0, late])
        assert second[1] == "after the transient"
        np.testing.assert_allclose(second[2], grid, rtol=1e-15)
        for one in (how["integrator"], again["integrator"]):
            assert solver(one)[0] == method[0]
            assert solver(one)[1:] == pytest.approx(method[1:])
        ((measured, given),) = asked.pop(target.split(".")[1])
        assert (measured[1], given) == (component, options)
        assert (asked["plot"], asked["saved"]) == (drawing, (str(tmp_path / "a.png"), f"{title} of lorenz"))


def test_a_series_of_a_map_begins_after_its_transient(asked, capsys):
    asked.of("analysis.dynamics.series.chaos_test.zero_one_test", Shown(asked))
    asked.of("dynsim.simulation.simulate.iterate", lambda system, x, steps: SimpleNamespace(final=("after", steps)))
    answer(capsys, "chaos", "logistic", "--transient", 6.6, "--count", 50)
    (first, _), (second, _) = asked.pop("iterate")
    assert (first[2], *second[1:]) == (7, ("after", 7), 49)
    answer(capsys, "chaos", "logistic", "--transient", 0, "--count", 50)
    ((only, _),) = asked.pop("iterate")
    assert (np.shape(only[1]), only[2]) == ((1,), 49)


def test_a_phase_response_or_isochrons_are_those_of_the_orbit_with_the_options(asked, capsys, tmp_path):
    figure = ("--figure", tmp_path / "a.png", "--force")
    asked.of("analysis.dynamics.attractors.attracting_orbit.attracting_orbit", "the orbit")
    asked.of("analysis.dynamics.phase.response.phase_response", Shown(asked))
    asked.of("analysis.dynamics.phase.isochrons.isochrons", Shown(asked))
    assert answer(capsys, "phase", "van-der-pol", *figure).startswith("the orbit\nthe result\n")
    ((flow, orbit), options), = asked.pop("phase_response")  # fmt: skip
    assert (type(flow).__name__, orbit, options) == ("VanDerPol", "the orbit", {"points": 401})
    assert (asked["plot"], asked["saved"][1]) == ({"phase": "time"}, "phase response of van-der-pol")
    answer(capsys, "phase", "van-der-pol", "--start", 1, 3, "--component", "y", "--unit", "cycles", "--points", 21,
           "--longest", 999, *figure)  # fmt: skip
    assert asked["attracting_orbit"][1][0][1].tolist() == [1.0, 3.0]
    assert [options["search"].longest for _, options in asked["attracting_orbit"]] == [4096, 999]
    assert asked.pop("phase_response")[0][1] == {"points": 21}
    assert asked["plot"] == {"phase": "cycles", "component": "y"}
    for words, box in (((), (-3.0, 3.0, -4.0, 4.0)), (("--box", 0, 1, 2, 4), (0, 1, 2, 4))):
        answer(capsys, "phase", "van-der-pol", "--isochrons", 5, *words, *figure)
        ((_, orbit, window), options), = asked.pop("isochrons")  # fmt: skip
        assert (orbit, window, options, asked["plot"]) == ("the orbit", box, {"count": 5}, {})
        assert asked["saved"][1] == "isochrons of van-der-pol"


def test_a_portrait_of_a_line_has_the_window_the_time_and_the_grid(asked, capsys, tmp_path):
    figure = ("--figure", tmp_path / "a.png", "--force")
    line = Shown(asked, xs=np.array([-1.0, 0.0, 5.0]), velocity=np.array([3.0, -2.0, 1.0]))
    asked.of("analysis.dynamics.portraits.line.line_portrait", line)
    asked.of("analysis.dynamics.attractors.basins.basins", SimpleNamespace(kind="basins"))
    answer(capsys, "portrait", "double-well", *figure)
    ((flow, box), options), = asked.pop("line_portrait")  # fmt: skip
    assert (type(flow).__name__, tuple(box), options) == ("DoubleWell", (-2.0, 2.0), {"t": 0.0, "points": 201})
    assert asked["plot"] == {"basins": None, "title": ""}
    words = ("--box", -1, 5, "--time", 0.5, "--grid", 250, "--basins")
    assert "the result\nnamespace(kind='basins')" in answer(capsys, "portrait", "double-well", *words, *figure)
    ((_, box), options), = asked.pop("line_portrait")  # fmt: skip
    assert (box, options) == ((-1.0, 5.0), {"t": 0.5, "points": 250})
    ((_, sides, shape), options), = asked.pop("basins")  # fmt: skip
    assert (np.asarray(sides).tolist(), shape, options["varied"]) == ([[-1.0, 5.0]], (250,), (0,))
    assert asked["plot"]["basins"].kind == "basins"


@pytest.mark.parametrize(("d", "kind"), [(2, "circle"), (3, "sphere")])
def test_a_portrait_of_a_circle_or_sphere_has_the_time_and_the_horizon(asked, capsys, tmp_path, d, kind):
    (tmp_path / "mine.py").write_text("def field(t, x):\n    return x[::-1]\n")
    result = Shown(asked, field=np.eye(d), cycles=(SimpleNamespace(kind="stable"),), families=(), types=(),
                   equilibrium_points=np.zeros((0, d)))  # fmt: skip
    for other in ("circle", "sphere"):
        asked.of(f"analysis.dynamics.portraits.curved.{other}_portrait", result)
    words = ("portrait", f"{tmp_path}/mine.py:field", "--space", "sphere", "--names", *"abc"[:d], "--start",
        *[1, 0, 0][:d])  # fmt: skip
    figure = ("--figure", tmp_path / "a.png", "--force")
    said = answer(capsys, *words, *figure)
    assert said.splitlines()[0].endswith("; stable limit cycle")
    assert asked.pop(f"{kind}_portrait")[0][1] == {"t": 0.0}
    answer(capsys, *words, "--time", 2, "--horizon", 30, *figure)
    assert asked.pop(f"{kind}_portrait")[0][1] == {"t": 2.0, "horizon": 30.0}
    assert asked["plot"] == {"names": [f"${name}$" for name in "abc"[:d]], "title": ""}


def test_a_portrait_of_the_simplex_has_the_time_and_the_tolerances(asked, capsys, tmp_path):
    (tmp_path / "mine.py").write_text("def field(t, x):\n    return x\n")
    asked.of("analysis.dynamics.portraits.simplex.simplex_portrait", Shown(asked))
    words = ("portrait", f"{tmp_path}/mine.py:field", "--space", "simplex", "--figure", tmp_path / "a.png", "--force")
    answer(capsys, *words)
    answer(capsys, *words, "--time", 2, "--rtol", 1e-3, "--atol", 1e-4)
    first, second = (options for _, options in asked["simplex_portrait"])
    assert first == {"t": 0.0, "rtol": 1e-5, "atol": None}
    assert second == {"t": 2.0, "rtol": 1e-3, "atol": 1e-4}


def test_basins_on_a_grid_have_the_window_the_slice_and_the_search(asked, capsys, tmp_path):
    command = importlib.import_module("dynsim.cli.basins.command")
    asked.monkeypatch.setattr(command, "tell", lambda found: None)
    edge = SimpleNamespace(limit=SimpleNamespace(state=np.zeros(3)), unstable=np.ones(3))
    asked.monkeypatch.setattr(command, "edges", lambda *given: asked.setdefault("edges", given) and {(0, 1): edge})
    asked.of("analysis.dynamics.attractors.basins.basins", Shown(asked))
    figure = ("--figure", tmp_path / "a.png", "--force")
    answer(capsys, "basins", "double-well", *figure)
    ((_, ends, shape), options), = asked.pop("basins")  # fmt: skip
    assert (ends.tolist(), shape, options["varied"]) == ([[-2.0, 2.0]], (200,), [0])
    search = options["search"]
    given = {name: getattr(search, name) for name in ("period", "longest", "escape", "rtol", "atol", "integrator")}
    assert given == {"period": None, "longest": 4096, "escape": None, "rtol": 1e-6, "atol": None, "integrator": None}
    assert (asked["plot"], asked["saved"][1]) == ({"edges": []}, "basins of attraction of double-well")
    answer(capsys, "basins", "lorenz", "--plane", "z", "x", "--start", 1, 2, 3, "--shape", 8, 5, "--period", 2,
           "--longest", 300, "--escape", 1e3, "--rtol", 1e-4, "--atol", 1e-3, "--edge", *figure)  # fmt: skip
    ((_, ends, shape), options), = asked.pop("basins")  # fmt: skip
    assert (ends.tolist(), shape) == ([[0.0, 50.0], [-20.0, 20.0]], (8, 5))
    assert (options["varied"], options["start"].tolist()) == ([2, 0], [1.0, 2.0, 3.0])
    search = options["search"]
    given = {name: getattr(search, name) for name in ("period", "longest", "escape", "rtol", "atol", "integrator")}
    assert given == {"period": 2.0, "longest": 300, "escape": 1e3, "rtol": 1e-4, "atol": 1e-3, "integrator": None}
    assert asked["plot"] == {"edges": [edge.limit]}
    assert asked["edges"][2:] == ([2, 0], asked["edges"][3], search)
    answer(capsys, "basins", "double-well", "--box", -1, 3, "--integrator", "stiff", "--rtol", 1e-4, *figure)
    ((_, ends, _), options), = asked.pop("basins")  # fmt: skip
    assert ends.tolist() == [[-1.0, 3.0]]
    assert (type(options["search"].integrator.solver).__name__[:7], options["search"].integrator.rtol) == (
        "Kvaerno", 1e-4,
    )  # fmt: skip


def test_random_starts_of_basins_lie_in_the_box_and_follow_the_seed(asked, capsys, tmp_path):
    shares = SimpleNamespace(
        total=7, confidence=0.95, labels=np.array([0, -2]), shares=np.array([0.75, 0.25]), low=np.array([0.5, 0.125]),
        high=np.array([0.875, 0.375]), is_stiff=False, named=lambda label: f"limit {label}",
    )  # fmt: skip
    asked.of("analysis.dynamics.attractors.fractions.basin_fractions", shares)
    words = ("basins", "lorenz", "--plane", "z", "x", "--start", 7, 8, 9, "--box", 1, 2, -5, -3, "--sample", 40)
    said = answer(capsys, *words, "--seed", 3, "--out", tmp_path / "a.npz")
    assert said.splitlines()[:3] == [
        "7 starts, with 95 % Wilson intervals", "    0.7500  [0.5000, 0.8750]  limit 0",
        "    0.2500  [0.1250, 0.3750]  limit -2",
    ]  # fmt: skip
    ((_, sampler, count, key), options), = asked.pop("basin_fractions")  # fmt: skip
    assert (count, options["search"].longest) == (40, 4096)
    assert np.array_equal(jax.random.key_data(key), jax.random.key_data(random_key(3, "starts")))
    rows = np.array([sampler(one) for one in jax.random.split(key, 20)])
    assert np.all(rows[:, 1] == 8.0)
    for column, low, high in ((2, 1.0, 2.0), (0, -5.0, -3.0)):
        assert np.all((rows[:, column] >= low) & (rows[:, column] <= high))
        assert np.ptp(rows[:, column]) > 0.6 * (high - low)
    stored = np.load(tmp_path / "a.npz")
    assert {name: stored[name].tolist() for name in ("labels", "shares", "low", "high", "limits")} == {
        "labels": [0, -2], "shares": [0.75, 0.25], "low": [0.5, 0.125], "high": [0.875, 0.375],
        "limits": ["limit 0", "limit -2"],
    }  # fmt: skip


def test_shares_against_a_parameter_are_a_row_for_each_value(asked, capsys, tmp_path):
    curves = Shown(
        asked, parameters=np.array([0.0, 2.0]), labels=np.array([0, 1, -2]), is_stiff=False,
        shares=np.array([[0.75, np.nan, 0.25], [0.125, 0.5, 0.375]]), low=np.full((2, 3), 0.0625),
        high=np.full((2, 3), 0.875), attractors=({0: "a rest"}, {0: "another", 1: "a cycle"}),
    )  # fmt: skip
    asked.of("analysis.dynamics.attractors.fractions.continued_fractions", curves)
    words = ("basins", "double-well", "--sample", 40, "--against", "h=2:0:3", "--seed", 5, "--rtol", 1e-4)
    said = answer(capsys, *words, "--figure", tmp_path / "a.png", "--out", tmp_path / "a.npz")
    ((parameter, values, _, count, key), options), = asked.pop("continued_fractions")  # fmt: skip
    assert (parameter.name, parameter.low, parameter.high, values, count) == ("h", 0.0, 2.0, [2.0, 1.0, 0.0], 40)
    assert np.array_equal(jax.random.key_data(key), jax.random.key_data(random_key(5, "starts")))
    assert options["search"].rtol == 1e-4
    assert [line.split() for line in said.splitlines()[1:6]] == [
        ["h", "basin", "1", "basin", "2", "escaped"],
        ["0", "0.7500", "[0.0625,", "0.8750]", "-", "0.2500", "[0.0625,", "0.8750]"],
        ["2", "0.1250", "[0.0625,", "0.8750]", "0.5000", "[0.0625,", "0.8750]", "0.3750", "[0.0625,", "0.8750]"],
        ["basin", "1,", "at", "h", "=", "0:", "a", "rest"], ["basin", "2,", "at", "h", "=", "2:", "a", "cycle"],
    ]  # fmt: skip
    assert asked["saved"][1] == "shares of the basins of double-well against h"
    stored = np.load(tmp_path / "a.npz")
    for part in ("parameters", "labels", "shares", "low", "high"):
        np.testing.assert_array_equal(stored[part], getattr(curves, part))
    answer(capsys, *words[:4], "--against", "h=0:1", "--figure", tmp_path / "b.png")
    np.testing.assert_allclose(asked.pop("continued_fractions")[0][0][1], np.linspace(0.0, 1.0, 11))


@pytest.fixture
def continued(asked):
    """Replace what `dynsim continue` computes: it finds two equilibria, and a diagram without branches."""
    rests = tuple(SimpleNamespace(state=np.full(3, value), kind="saddle") for value in (1.0, 2.0))
    asked.of("analysis.dynamics.equilibria.search.find_equilibria", SimpleNamespace(found=rests, pseudo=()))
    diagram = Shown(asked, branches=(), iterates=(), orbits=(), tori=(), notes=(), curves=(), names=(), units=())
    asked.of("analysis.dynamics.diagrams.bifurcation_diagram", diagram)
    for name in ("with_orbits", "with_tori", "with_curves"):
        asked.of(f"analysis.dynamics.diagrams.{name}", diagram)
    asked.of("analysis.dynamics.codim2.planes.stability_map", "the map")
    return asked


LORENZ = ("continue", "lorenz", "--parameter", "rho=0.5:30")


def numbers(steps: Any) -> tuple[float, float | None, int | None]:
    return steps.first, steps.largest, steps.points


def test_branches_have_the_starts_the_steps_and_the_levels(continued, capsys):
    answer(capsys, *LORENZ)
    ((_, key), options), = continued.pop("find_equilibria")  # fmt: skip
    assert np.array_equal(jax.random.key_data(key), jax.random.key_data(random_key(0, "continue")))
    assert (options["num_starts"], options["shape"], options["symmetries"]) == (32, None, ())
    assert options["box"].tolist() == [[-20.0, 20.0], [-30.0, 30.0], [0.0, 50.0]]
    ((parameter, starts), options), = continued.pop("bifurcation_diagram")  # fmt: skip
    assert (parameter.name, parameter.low, parameter.high) == ("rho", 0.5, 30.0)
    assert [start.tolist() for start in starts] == [[1.0] * 3, [2.0] * 3]
    assert (options["levels"], numbers(options["steps"]), options["symmetries"]) == (2, (0.05, None, 1000), ())
    assert not {"with_orbits", "with_tori", "with_curves"} & set(continued)
    words = ("--box", 0, 1, 2, 3, 4, 5, "--num-starts", 5, "--seed", 8, "--levels", 1, "--step", 0.25, "--max-step",
        0.5)  # fmt: skip
    answer(capsys, *LORENZ, *words, "--max-points", 44)
    ((_, key), options), = continued.pop("find_equilibria")  # fmt: skip
    assert np.array_equal(jax.random.key_data(key), jax.random.key_data(random_key(8, "continue")))
    assert (options["num_starts"], options["box"].tolist()) == (5, [[0, 1], [2, 3], [4, 5]])
    (_, options), = continued.pop("bifurcation_diagram")  # fmt: skip
    assert (options["levels"], numbers(options["steps"])) == (1, (0.25, 0.5, 44))
    answer(capsys, *LORENZ, "--start", 3, 4, 5)
    assert "find_equilibria" not in continued
    assert [start.tolist() for start in continued.pop("bifurcation_diagram")[0][0][1]] == [[3.0, 4.0, 5.0]]


def test_a_value_outside_of_the_range_begins_at_its_lower_end(continued, capsys):
    answer(capsys, *LORENZ, "--rho", 31)
    assert continued.pop("bifurcation_diagram")[0][0][0].value == 0.5
    for value in (0.5, 30.0):
        answer(capsys, *LORENZ, "--rho", value)
        assert continued.pop("bifurcation_diagram")[0][0][0].value == value


def test_orbits_tori_and_curves_have_their_own_options(continued, capsys, tmp_path):
    answer(capsys, *LORENZ, "--cycles", "--tori")
    (_, options), = continued.pop("with_orbits")  # fmt: skip
    assert numbers(options.pop("steps")) == (0.05, None, 1000)
    assert options == {"segments": 12, "method": "auto", "max_period": None, "rtol": 1e-10, "atol": None}
    (_, options), = continued.pop("with_tori")  # fmt: skip
    assert numbers(options["steps"]) == (0.05, None, 100)
    words = ("--segments", 5, "--method", "shooting", "--max-period", 77, "--rtol", 1e-5, "--atol", 1e-6)
    answer(capsys, *LORENZ, "--cycles", "--tori", *words, "--max-orbit-points", 33, "--max-tori", 22, "--step", 0.25)
    (_, options), = continued.pop("with_orbits")  # fmt: skip
    assert numbers(options.pop("steps")) == (0.25, None, 33)
    assert options == {"segments": 5, "method": "shooting", "max_period": 77.0, "rtol": 1e-5, "atol": 1e-6}
    (_, options), = continued.pop("with_tori")  # fmt: skip
    assert numbers(options["steps"]) == (0.25, None, 22)
    words = ("--second", "sigma=5:20", "--counts", 6, "--switch-curves", "--max-period", 77, "--max-points", 44)
    missing = "no homoclinic orbit is continued from a point"
    continued.of("analysis.dynamics.diagrams.with_curves", lambda diagram, *_, **__: diagram._replace(notes=(missing,)))
    assert missing in answer(capsys, *LORENZ, *words, "--figure", tmp_path / "a.png")
    ((_, both), options), = continued.pop("with_curves")  # fmt: skip
    assert [(one.name, one.low, one.high) for one in both] == [("rho", 0.5, 30.0), ("sigma", 5.0, 20.0)]
    assert (numbers(options["steps"]), options["max_period"], options["switched"]) == ((0.05, None, 44), 77.0, True)
    ((both, starts), options), = continued.pop("stability_map")  # fmt: skip
    assert ([one.name for one in both], starts, options) == (["rho", "sigma"], [], {"shape": (6, 6)})
    assert continued["plot"] == {"counts": "the map", "bounds": ((0.5, 30.0), (5.0, 20.0))}
    assert continued["saved"][1] == "bifurcations in rho and sigma"

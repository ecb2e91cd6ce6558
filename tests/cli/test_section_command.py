"""What `dynsim section` computes and draws for its options; sections are given by hand, and nothing is integrated."""

import importlib
import math

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.orbit_diagrams import OrbitDiagram
from analysis.dynamics.poincare import Maxima, Section, Stroboscope
from figures.panels import maps
from tests.support.commands import answer, refused

poincare = importlib.import_module("analysis.dynamics.poincare")
orbit_diagrams = importlib.import_module("analysis.dynamics.orbit_diagrams")
command = importlib.import_module("dynsim.cli.section")
STATES = np.array([[1.0, 2.0, 27.0], [4.0, 5.0, 27.0], [-7.0, 8.0, 27.0], [0.5, 1.5, 27.0]])
WAYS = np.array([1.0, -1.0, 1.0, 1.0])


@pytest.fixture
def asked(monkeypatch):
    """Return what is asked for and drawn, by name."""
    found = {}

    def section(system, start, surface, count, **options):
        found["section"] = (system, np.asarray(start), surface, count, options)
        n = found.get("crossings", 4)
        ways = np.ones(4) if isinstance(surface, Stroboscope) else WAYS
        return Section(np.array([1.0, 3.0, 4.0, 7.0])[:n], STATES[:n], ways[:n], 0.01, found.get("complete", True))

    monkeypatch.setattr(poincare, "poincare_section", section)
    for name in ("section", "return_map", "orbit_diagram", "cobweb", "orbits"):
        draw = lambda ax, *arrays, name=name, **options: found.update({"kind": name, "arrays": arrays, **options})
        monkeypatch.setattr(maps, name, draw)
    monkeypatch.setattr(command, "write", lambda o, shown, title: (shown.draw(0.5), found.update(title=title)))
    return found


def test_a_section_has_the_options_and_the_first_two_components_off_the_surface(asked, capsys):
    said = answer(capsys, "section", "lorenz", "--surface", "z=27", "--start", 1, 2, 3)
    assert said == "4 crossings, 2 apart on average\n"
    system, start, surface, count, options = asked["section"]
    assert (type(system).__name__, start.tolist(), count) == ("Lorenz", [1, 2, 3], 500)
    assert float(surface(0.0, jnp.asarray([5.0, 6.0, 29.5]))) == 2.5
    integrator = options.pop("integrator")
    assert options == {"direction": 1, "modulo": None, "spacing": 0.01, "transient": 100.0, "longest": 10_000.0}
    assert [float(integrator.rtol), float(integrator.atol)] == pytest.approx([1e-9, 1e-11], rel=1e-12)
    np.testing.assert_array_equal(asked["arrays"][0], STATES[:, :2])
    np.testing.assert_array_equal(asked["directions"], WAYS)
    assert (asked["labels"], asked["until"], asked["size"]) == (("$x$", "$y$"), 0.5, 27.0)
    assert (asked["kind"], asked["title"]) == ("section", "section of lorenz")


def test_a_section_with_one_component_left_is_drawn_as_its_return_map(asked, capsys, monkeypatch):
    stored = {}
    monkeypatch.setattr(command, "write_out", lambda out, result, **options: stored.update(result=result, **options))
    answer(capsys, "section", "pendulum", "--surface", "angle=0")
    assert asked["kind"] == "return_map"
    assert (type(stored["result"]).__name__, stored["drawing"]) == ("Section", {})
    said = refused(capsys, "section", "x' = cos(t) - x", "--surface", "x=0", "--start", 0)
    assert "`surface` must leave a component that varies, but fixes the only one, `x=0`." in said


@pytest.mark.parametrize(
    ("words", "direction", "columns"),
    [("--surface x=1", 1, [1, 2]), ("--surface y=1 --direction down", -1, [0, 2]),
     ("--surface z=1 --direction both --plane z x", 0, [2, 0])],
)  # fmt: skip
def test_a_section_is_in_a_direction_and_a_plane(asked, capsys, words, direction, columns):
    answer(capsys, "section", "lorenz", *words.split())
    assert asked["section"][4]["direction"] == direction
    np.testing.assert_array_equal(asked["arrays"][0], STATES[:, columns])


def test_returns_are_those_of_a_component_in_one_direction_or_of_all_samples(asked, capsys):
    answer(capsys, "section", "lorenz", "--surface", "z=27", "--returns", "y", "--count", 9, "--spacing", 0.1)
    assert asked["section"][3:][0] == 9
    assert asked["section"][4]["spacing"] == 0.1
    assert asked["kind"] == "return_map"
    np.testing.assert_array_equal(asked["arrays"][0], [[2.0, 8.0], [8.0, 1.5]])
    assert asked["labels"] == ("$y$ at a crossing", "$y$ at the next")
    answer(capsys, "section", "lorenz", "--strobe", 2, "--returns", "x")
    assert asked["section"][2].period == 2.0
    np.testing.assert_array_equal(asked["arrays"][0], [[1.0, 4.0], [4.0, -7.0], [-7.0, 0.5]])
    answer(capsys, "section", "lorenz", "--strobe", 2)
    assert set(asked["directions"]) == {1.0}
    assert "name a component that varies" in refused(capsys, "section", "lorenz", "--surface", "x=1", "--returns", "x")


def test_a_section_is_at_maxima_or_samples_by_the_frequency_of_the_forcing(asked, capsys):
    answer(capsys, "section", "lorenz", "--maxima", "z", "--returns", "z")
    assert isinstance(asked["section"][2], Maxima)
    np.testing.assert_array_equal(asked["arrays"][0], [[27.0, 27.0]] * 2)
    answer(capsys, "section", "duffing", "--omega", 1.5, "--strobe", "omega", "--plane", "x", "v")
    assert asked["section"][2].of(asked["section"][0]) == pytest.approx(2 * np.pi / 1.5)
    assert "`maxima` must be left out with `--strobe`" in refused(
        capsys, "section", "duffing", "--maxima", "x", "--strobe", "omega"
    )
    assert "`strobe` must name a parameter" in refused(capsys, "section", "duffing", "--strobe", "omeg")


def test_an_orbit_diagram_in_both_ways_is_described_by_where_they_differ(asked, capsys, monkeypatch):
    both = [OrbitDiagram(np.arange(3.0), np.array([[0.0], [rise], [2.0]]), "a", "", "x") for rise in (0.0, 1.0)]
    monkeypatch.setattr(
        orbit_diagrams, "hysteresis_diagram", lambda *given, **options: orbit_diagrams.HysteresisDiagram(*both)
    )
    said = answer(capsys, "section", "henon", "--against", "a=0:2:3", "--both-ways")
    assert said == "orbits followed up and down through 3 values of a; both directions differ at 1, from 1 to 1\n"
    assert asked["kind"] == "orbit_diagram"


def test_a_section_says_its_period_and_where_the_search_ended(asked, capsys, monkeypatch):
    asked.update(complete=False)
    said = answer(capsys, "section", "lorenz", "--surface", "z=27", "--longest", 200)
    assert said == "4 crossings, 2 apart on average; the search ended at t = 200 before 500 crossings\n"
    for period, words in ((1, "a fixed point of the return map"), (2, "which closes after 2 crossings")):
        monkeypatch.setattr(Section, "period", lambda self, period=period: period)
        said = answer(capsys, "section", "lorenz", "--surface", "z=27", "--longest", 200)
        assert f"; a periodic orbit, {words}; the search" in said
    asked.update(crossings=1)
    assert answer(capsys, "section", "lorenz", "--surface", "z=27").startswith("1 crossing, nan apart")


def test_an_orbit_diagram_has_values_of_its_component(asked, capsys, monkeypatch):
    given = {}

    def diagram(parameter, values, start, *, coordinate, transient, kept):
        given.update(
            at=float(parameter.at(1.2).a),
            values=values,
            transient=transient,
            kept=kept,
            component=coordinate,
        )
        rows = [np.zeros(6), np.arange(6) % 2, np.full(6, np.nan), np.arange(6) ** 2]
        return OrbitDiagram(values, np.stack(rows).astype(float), parameter.name, component="y")

    monkeypatch.setattr(orbit_diagrams, "orbit_diagram", diagram)
    words = ("--against", "a=1:1.3:4", "--component", "y", "--transient", 50.4, "--count", 6)
    said = answer(capsys, "section", "henon", *words)
    assert said == "4 values of a: periods 1 at 1, 2 at 1; 1 orbit escapes\n"
    np.testing.assert_allclose(given["values"], [1.0, 1.1, 1.2, 1.3])
    assert (given["transient"], given["kept"], given["component"], given["at"]) == (50, 6, 1, 1.2)
    assert asked["labels"] == ("$a$", "$y$")


def test_an_orbit_diagram_of_a_flow_has_values_at_its_crossings(asked, capsys, monkeypatch):
    given = {}

    def diagram(parameter, values, start, *, coordinate, transient, kept, surface, direction, longest, integrator):
        x = jnp.asarray([3.0, 4.0, 5.0])
        given.update(at=float(surface(0.0, x)), component=coordinate, options=(transient, kept, direction, longest))
        given.update(rtol=float(integrator.rtol))
        return OrbitDiagram(values, np.array([[1.0, 2, 1, 2], [1.0, np.nan, np.nan, np.nan]]), parameter.name, "", "y")

    monkeypatch.setattr(orbit_diagrams, "orbit_diagram", diagram)
    words = ("--surface", "x=2", "--direction", "down", "--against", "c=4:5:2", "--count", 4, "--rtol", 1e-7)
    said = answer(capsys, "section", "roessler", *words)
    assert said == "2 values of c: periods 2 at 1; 1 orbit has fewer crossings\n"
    assert given == {"at": 1.0, "component": 1, "options": (100.0, 4, -1, 1e4), "rtol": 1e-7}
    assert asked["labels"] == ("$c$", "$y$")


def test_the_period_of_a_forcing_is_offered_in_place_of_a_surface(capsys):
    forced = "x' = v; v' = -x - b*v + a*cos(w*t); w = 2; a = 1; b = 0.1"
    said = refused(capsys, "section", forced, "--start", 0, 0)
    assert "or be left out for `--strobe w`, at multiples of the forcing's period, but is not given" in said
    said = refused(capsys, "section", forced.replace("w*t", "3*t"), "--start", 0, 0)
    assert "or be left out for `--strobe PERIOD`" in said
    assert "strobe" not in refused(capsys, "section", forced.replace("cos(w*t)", "w"), "--start", 0, 0)


def test_a_cobweb_and_orbits_start_in_the_window(asked, capsys):
    said = answer(capsys, "section", "logistic", "--r", 2, "--start", 0.3, "--count", 150)
    assert said == "100 steps from 0.3 to 0.5\n"
    xs, images, path = asked["arrays"]
    np.testing.assert_allclose(images, 2 * xs * (1 - xs), atol=1e-14)
    np.testing.assert_allclose(path[:3], [0.3, 0.42, 0.4872])
    assert (len(xs), len(path)) == (401, 101)
    assert (xs[0], xs[-1]) == (0, 1)
    said = answer(capsys, "section", "logistic", "--r", 5, "--start", 0.3)
    assert said.endswith("; the orbit escapes to infinity\n")
    said = answer(capsys, "section", "henon", "--start", 0.1, 0.2, "--count", 7, "--transient", 2)
    assert said == "1 orbit of 7 steps; 0 escape\n"
    orbit = [[0.1, 0.2]]
    for _ in range(9):
        x, y = orbit[-1]
        orbit.append([1 - 1.4 * x**2 + y, 0.3 * x])
    np.testing.assert_allclose(asked["arrays"][0], [orbit[2:]], rtol=1e-12)
    text = "x[n+1] = y; y[n+1] = x"
    window = ("--box", -1, 2, 0, 3, "--count", 4, "--transient", 0)
    answer(capsys, "section", text, "--orbits", 4, *window)
    assert "without a window, `--box`" in refused(capsys, "section", text, "--orbits", 4)
    np.testing.assert_allclose(asked["arrays"][0][1:, 0], [[-0.625, 0.375], [0.125, 1.125], [0.875, 1.875]])
    answer(capsys, "section", "standard", "--orbits", 3, "--count", 5, "--transient", 0)
    starts = asked["arrays"][0][1:, 0]
    low, high = starts[0] - (starts[1] - starts[0]) / 2, starts[1] + (starts[1] - starts[0]) * 1.5
    np.testing.assert_allclose([low, high], [[0, 0], [2 * math.pi] * 2], atol=1e-12)

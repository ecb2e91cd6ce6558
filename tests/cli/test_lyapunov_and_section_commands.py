"""The commands `dynsim lyapunov` and `dynsim section`, and the panels that they draw."""

import dataclasses
import shlex

import numpy as np
import pytest
from matplotlib.figure import Figure

from dynsim.cli.basins.command import search_of
from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.lyapunov import Lyapunov
from dynsim.cli.section import Section
from dynsim.cli.simulate.fast_slow import FastSlowOptions
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.cli.sweep.options import Sweep
from figures.panels.exponents import exponents_against, running_exponents
from figures.panels.labels import axis_label, symbol
from figures.panels.maps import cobweb, orbit_diagram, section
from tests.support.commands import answer, refused, run

MINE = """
def doubled(k, x, r=2.0):
    return r * x * (1 - x)
"""


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.mark.slow
def test_exponents_of_a_map_with_errors_and_their_figure(capsys, tmp_path):
    file = tmp_path / "exponents.png"
    said = answer(capsys, "lyapunov", "henon", "--duration", 800, "--figure", file)
    values = [float(line.split(":")[1].split("+-")[0]) for line in said.splitlines()[:2]]
    assert sum(values) == pytest.approx(np.log(0.3), abs=1e-5)
    assert values[0] == pytest.approx(0.419, abs=0.05)
    assert "Kaplan-Yorke dimension 1.2" in said
    assert file.stat().st_size > 1000


def test_exponents_against_a_parameter(capsys, tmp_path):
    words = ("--against", "r=2.5:3.9:3", "--duration", 100, "--figure", tmp_path / "against.png")
    said = answer(capsys, "lyapunov", "logistic", *words)
    first = float(said.split("r = 2.5: ")[1].split(" +- ")[0])
    assert first == pytest.approx(np.log(0.5), abs=1e-3)
    assert "0 of 3 orbits escape" in said


def test_an_orbit_that_escapes_has_no_exponents(capsys):
    status, said, _ = run(capsys, "lyapunov", "logistic", "--start", 3, "--duration", 100)
    assert status == 1
    assert said.splitlines()[-1] == "not converged: the trajectory left the finite numbers"  # and no advice
    status, _, err = run(capsys, "lyapunov", "logistic", "--against", "r=4.05:4.2:2", "--duration", 100)
    assert status
    assert "The orbit escapes for all values of `r`" in err


def test_an_orbit_diagram_a_cobweb_and_orbits(capsys, tmp_path):
    words = ("--figure", tmp_path / "map.png", "--force")
    said = run(capsys, "section", "logistic", "--against", "r=2.5:3.3:2", "--transient", 500, *words)[1]
    assert said.startswith("2 values of r: periods 1 at 1, 2 at 1; 0 orbits escape")
    (tmp_path / "mine.py").write_text(MINE)
    said = run(capsys, "section", f"{tmp_path}/mine.py:doubled", "--map", "--start", 0.3, "--count", 40, *words)[1]
    assert said.startswith("40 steps from 0.3 to 0.5")
    said = run(capsys, "section", "henon", "--orbits", 2, "--count", 50, *words)[1]
    assert "orbits of 50 steps" in said


@pytest.mark.slow
@pytest.mark.parametrize(("words", "sentence"), [
    ("section duffing", "one of x, v, or be left out for `--strobe omega`, at multiples of the forcing's period"),
    ('section "x\' = cos(t^2) - x"', "one of x, or be left out for `--strobe PERIOD`, at multiples of the"),
    ("section lorenz --surface w=3", "must name a component of the state, x, y, z, but is `w`"),
    ("section lorenz --surface z=27 --strobe 2", "Argument `surface` must be left out with `--strobe`"),
    ("section lorenz --strobe -2", "Argument `strobe` must be a positive number"),
    ("section lorenz --surface z=27 --against rho=1:2 --spacing 0.1", "`spacing` must be left out with `--against`"),
    ("section logistic --surface x=3", "Argument `surface` must be left out for a map"),
    ("section logistic --against q=1:2", "Argument `against` must name a parameter of Logistic, r, but is `q`"),
    ("lyapunov henon --atol 1e-3", "Argument `atol` must be left out for a map, but is 0.001"),
    ("basins henon --rtol 1e-3", "Argument `rtol` must be left out for a map, but is 0.001"),
    ("lyapunov lorenz --atol 0", "Argument `atol` must be a positive number, but is 0.0"),
    ("section logistic --against r=1", "Argument `against` must be NAME=LOW:HIGH, such as `rho=0:30`, but is `r=1`"),
    ("sweep lorenz --rho high", "`rho` must be numbers separated by spaces, such as `--rho 1 2 4`, or a range"),
    ("basins henon --movie a.gif", "but is neither (`dynsim portrait SYSTEM --basins --vary NAME=LOW:HIGH --movie"),
    ("simulate pendulum --friction 0.1 --integrator symplectic",
     "Argument `system` must have the form q' = a(p), p' ="),
    ("simulate lorenz --integrator symplectic",
     "Argument `start` must be one array with equally many positions and mom"),
    ("simulate pendulum --integrator symplectic --rtol 1e-3", "Argument `rtol` must be left out with `--integrator"),
    ("simulate logistic --end 2.5", "Argument `end` must be a whole number of steps for a map, but is 2.5"),
    ("simulate logistic --start 1 2", "Argument `start` must have 1 number, one for each component, but has 2"),
    ("section logistic --against r=1:1", "Argument `against` must hold two different finite numbers"),
    ("section henon --start 30 30", "Argument `start` must have a bounded orbit"),
    ("section kuramoto --surface theta_1=900 --longest 1 --transient 0", "is not crossed up to t ="),
    ("section lorenz --surface z=27 --longest 50", "Argument `longest` must be longer than the transient, 100, but"),
    ("continue duffing --parameter gamma=0:0.5", "Argument `system` must not depend on time to have equilibria"),
    ("simulate lorenz --start 1 1 1 --members 2", "Argument `start` must be left out for an ensemble without noise"),
    ("lyapunov lorenz --duration 3", "Argument `duration` must be at least 40 intervals"),
    ("lyapunov kuramoto --against frequencies=0:1", "must name a parameter that is one number"),
    ("lyapunov logistic --r 5 --count 3", "Argument `count` must be at most the dimension, 1"),
])  # fmt: skip
def test_bad_input_is_one_sentence(capsys, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, *shlex.split(words))


@pytest.mark.parametrize("options", [Lyapunov, Section, BasinsOptions, Sweep, Simulate, FastSlowOptions, Prototypes])
def test_a_relative_tolerance_comes_with_an_absolute_one(options):
    assert {"rtol", "atol"} <= {field.name for field in dataclasses.fields(options)}


def test_the_absolute_tolerance_reaches_the_solver(capsys):
    """Of the default in rescaled units one run differs from one with a large tolerance."""
    words = ("lyapunov", "double-well", "--start", 0.1, "--duration", 50, "--interval", 1)
    assert answer(capsys, *words) != answer(capsys, *words, "--atol", 0.1)
    o = BasinsOptions("double-well", atol=1e-3)
    assert search_of(o).atol == 1e-3


def test_panels_refuse_what_does_not_fit(ax):
    for call in (
        lambda: section(ax, np.zeros((3, 3)), labels=("x", "y")),
        lambda: cobweb(ax, np.zeros(3), np.zeros(3), np.zeros(1), label="x"),
        lambda: orbit_diagram(ax, np.zeros(3), np.zeros((2, 4)), labels=("r", "x")),
        lambda: running_exponents(ax, np.zeros(3), np.zeros((3, 2)), np.zeros(1)),
        lambda: exponents_against(
            ax, np.zeros(3), np.zeros((2, 1)), np.zeros((2, 1)), xlabel="r", converged=np.ones(3)
        ),
    ):
        with pytest.raises(ValueError, match="Argument `.*` must have"):
            call()


def test_a_cobweb_goes_from_the_graph_to_the_diagonal(ax):
    xs = np.linspace(0, 1, 5)
    cobweb(ax, xs, xs / 2, np.array([0.8, 0.4, 0.2]), label="$x$")
    web = next(line for line in ax.lines if line.get_label() == "orbit")
    x, y = web.get_xdata(), web.get_ydata()
    ends = {(a, b) for a, b in zip(x, y, strict=True)}
    assert {(0.8, 0.4), (0.4, 0.4), (0.4, 0.2)} <= ends


def test_symbols():
    assert [symbol(name) for name in ("p_x", "theta_1", "prey", "x1", "fast_1", "$y$")] == [
        "$p_{x}$", r"$\theta_{1}$", "prey", "$x_{1}$", "fast 1", "$y$"]  # fmt: skip
    assert axis_label("v", "mV") == "$v$ (mV)"

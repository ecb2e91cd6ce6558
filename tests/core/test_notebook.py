"""Results print themselves in a line and draw themselves; `explore` shows a page; all of it in an executed notebook."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import bifurcation_diagram
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.poincare import OrbitDiagram, Section
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.tokens.consensus import diameter
from dynsim import (
    Event,
    FunctionFlow,
    FunctionMap,
    Scipy,
    Transition,
    ensemble,
    iterate,
    simulate,
    simulate_hybrid,
    to_xarray,
)
from dynsim.spaces import Sphere
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import Pendulum
from dynsim.systems.named import Components
from dynsim.systems.parameter import Parameter
from figures.files import DENSE, DPI
from figures.notebook import png

PNG = b"\x89PNG"
CELLS = (
    "import dynsim, jax.numpy as jnp, numpy as np\n"
    "from dynsim.systems.catalogue.oscillators import VanDerPol\n"
    "path = dynsim.simulate(VanDerPol(), jnp.asarray([2.0, 0.0]), np.linspace(0.0, 10.0, 101))\n"
    "path",
    "dynsim.explore(VanDerPol(), [2.0, 0.0], mu=(0.0, 3.0))",
)


def shown_as_png(result):
    """Whether notebooks show a result as a picture that is sharp on dense screens."""
    found, shown = result._repr_png_()
    width, height = (int.from_bytes(found[k : k + 4], "big") for k in (16, 20))
    sizes = np.array([width, height]), DENSE * np.array([shown["width"], shown["height"]])
    return found.startswith(PNG) and np.allclose(*sizes, atol=DENSE) and shown["width"] > 3 * DPI


def test_results_report_and_draw_themselves():
    path = simulate(Pendulum(), jnp.asarray([1.0, 0.0]), [0.0, 0.5, 1.0], integrator=Scipy())
    orbit = iterate(Logistic(r=3.2), jnp.asarray([0.3]), 20)
    values = np.tile([0.5, 0.8], (3, 4))
    for result, line in (
        (path, "Trajectory of Pendulum, 3 times from 0 to 1, states (2,). The integration finished: it reached t = 1"),
        (orbit, "Trajectory of Logistic, 21 times from 0 to 20, states (1,)."),
    ):
        assert str(result).startswith(line)
        assert "\n" not in str(result)
        assert shown_as_png(result)
    section = Section(np.arange(4.0), np.eye(4, 2), np.ones(4), 0.01, False)
    diagram = OrbitDiagram(np.arange(3.0), values)
    spectrum = LyapunovSpectrum(np.array([0.4]), np.array([0.01]), np.arange(1.0, 4), np.ones((3, 1)), True, "")
    cycle = PeriodicOrbit(np.zeros(2), 6.0, np.zeros((1, 2)), np.array([0.1 + 0j]), 0.0, 0.0, "stable")
    for result, line in (
        (section, "4 crossings from t = 0 to 3; the run ended before all were found"),
        (diagram, "orbits of 8 steps for 3 parameters, 0 escape"),
        (spectrum, "Lyapunov exponents 0.4 +- 0.01"),
        (cycle, "stable periodic orbit of period 6 with the multipliers 0.1"),
    ):
        assert str(result) == line
        assert shown_as_png(result)


def test_portraits_on_curved_spaces_and_basin_fractions_draw_themselves():
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    circle = Portrait(around, around @ [[0.0, 1.0], [-1.0, 0.0]], np.empty((0, 2)), (), np.full(12, -1))
    ball = np.concatenate([np.eye(3), -np.eye(3)])
    sphere = Portrait(ball, ball[:, [1, 2, 0]], np.empty((0, 3)), (), np.full(6, -1))
    shares = np.array([[0.25, 0.75], [0.5, 0.5]])
    fractions = FractionCurves(np.arange(2.0), np.arange(2), shares, shares - 0.1, shares + 0.1, ({}, {}))
    for result, panels in ((circle, 1), (sphere, 2), (fractions, 1)):
        assert shown_as_png(result)
        assert len(result.plot().axes) == panels


class Pair(NamedTuple):
    """A number and a vector."""

    a: Any
    b: Any


def _decay(t, x):
    return jax.tree.map(lambda part: -part, x)


@pytest.mark.slow
@pytest.mark.parametrize(("start", "panels"), [(1.0, 1), (Pair(1.0, np.ones(3)), 4), (np.zeros(0), 0)])
def test_numbers_and_named_tuples_are_drawn_by_their_components_and_empty_states_are_text(start, panels):
    path = simulate(FunctionFlow(_decay), start, [0.0, 0.5, 1.0], integrator=Scipy())
    if panels:
        assert shown_as_png(path)
        assert len(path.plot().figure.axes) == panels
    else:
        assert path._repr_png_() is None
        with pytest.raises(ValueError, match="Argument `run` must have as its states real numbers or vectors"):
            path.plot()


@pytest.mark.slow
def test_a_run_that_fails_in_three_components_is_drawn_up_to_there():
    flow = FunctionFlow(lambda t, x: x**2)
    path = simulate(flow, jnp.ones(3), [0.0, 0.5, 2.0], integrator=Scipy(), throw=False)
    assert not path.stats.succeeded
    assert shown_as_png(path)


def test_results_that_hold_nothing_are_shown_as_text():
    assert png(OrbitDiagram(np.zeros(0), np.zeros((0, 5)))) is None
    assert png(Section(np.zeros(0), np.zeros((0, 2)), np.zeros(0), 0.01, False)) is None
    states = Pair(np.ones(4), np.ones((4, 2)))
    assert shown_as_png(Section(np.arange(4.0), states, np.ones(4), 0.01, True))


@pytest.mark.parametrize(("d", "panels"), [(2, 1), (3, 2)])
def test_tokens_are_drawn_by_their_diameter_and_on_the_sphere_by_their_paths(d, panels):
    turn = FunctionMap(lambda k, x: x @ jnp.asarray([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]])[:d, :d], Sphere())
    path = iterate(turn, jnp.eye(d)[: d - 1].at[0].set(-jnp.eye(d)[1]), 4)
    values = path.along(diameter)
    drawn = path.plot().figure
    assert len(drawn.axes) == panels
    assert np.allclose(drawn.axes[-1].lines[0].get_data(), [np.arange(5), values])
    assert np.allclose(path.plot(until=0.6).figure.axes[-1].lines[0].get_data(), [np.arange(3), values[:3]])
    assert shown_as_png(path)


def test_what_cannot_be_drawn_is_shown_as_text():
    path = iterate(FunctionMap(lambda k, x: x), np.ones((3, 2, 2)), 1)
    assert path._repr_png_() is None
    assert "states (3, 2, 2)" in str(path)
    assert png("no result") is None
    assert str(eqx.filter_eval_shape(lambda y: y, path)) == "Trajectory of FunctionMap"


@pytest.mark.slow
def test_a_notebook_runs():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("bokeh")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ran = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    shown = [out["data"] for cell in ran.cells for out in cell.outputs if "data" in out]
    assert "image/png" in shown[0]
    assert shown[0]["text/plain"].startswith("Trajectory(ts=float64[101], ys=float64[101, 2], system=VanDerPol")
    assert shown[1]["text/html"].startswith('<iframe title="van-der-pol"')


@pytest.mark.slow
def test_runs_of_hybrid_systems_and_ensembles_report_themselves():
    fall = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.ones(())]))
    bounce = Transition("hit", Event(lambda t, x: x[0], -1), lambda flow, t, x: (flow, -x))
    run = simulate_hybrid(fall, [0.5, 0.0], [0.0, 1.5], [bounce], integrator=Scipy())
    said = "The run ended at t = 1.5 after 1 transition: the last time was reached."
    assert str(run) == said
    found = to_xarray(run)
    assert found["phase"].values.tolist() == [1, 1, 2, 2]
    assert found["t"].values[1] == found["t"].values[2]
    members = ensemble(Pendulum(), jnp.ones((2, 2)), [0.0, 0.5], lambda t, x: x[0], integrator=Scipy(), shown=False)
    assert str(members) == "2 of 2 members finished."
    traced = jax.eval_shape(lambda y: y, members)
    assert str(traced).startswith("Ensemble\n  ts: float64[2]\n  values: float64[2, 2]\n")


def test_diagrams_branches_basins_planes_and_sections_draw_themselves_with_names_and_units():
    nerve = FunctionFlow(lambda t, x, a: a * x - x**2, names=("v",), units=("mV",), parameters={"a": 0.5})
    found = bifurcation_diagram(Parameter(nerve, "a", 0.3, 0.9), [[0.5]], levels=0, steps=Steps(first=0.3, largest=0.3))
    labels = lambda drawn: (drawn.axes[0].get_xlabel(), drawn.axes[0].get_ylabel())
    assert labels(found.plot()) == ("$a$", "$v$ (mV)")
    assert labels(found.branches[0].plot()) == ("$a$", "$x_{1}$")
    for result in (found, found._replace(of=None), found.branches[0]):
        assert shown_as_png(result)
    corner, none = np.array([[0, 1], [0, 0]]), ((), ())
    known = Components(("v", "w"), ("mV", ""))
    basins = Basins(corner, (np.arange(2.0), np.arange(2.0)), known.names, *none, 1.0, 9, np.ones(2))
    assert png(basins) is None
    basins = basins._replace(components=known, varied=(0, 1), base=np.zeros(2))
    assert labels(basins.plot()) == ("$v$ (mV)", "$w$")
    assert shown_as_png(basins)
    lines, side = np.empty((0, 2, 2)), np.linspace(-1.0, 1.0, 9)
    field = np.stack(np.meshgrid(side, side), axis=-1)
    plan = PhasePlane(side, side, field, (), np.empty((0, 2)), (), (), (), (), lines, lines, lines, False, field > 9)
    assert labels(plan.plot()) == ("$x_{1}$", "$x_{2}$")
    assert labels(plan._replace(names=known.names, units=known.units).plot()) == ("$v$ (mV)", "$w$")
    section = Section(np.arange(4.0), np.ones((4, 2)) * np.arange(4)[:, None], np.ones(4), 0.01, True)
    assert labels(section.plot()) == ("$x_{1}$", "$x_{2}$")
    assert labels(section._replace(names=known.names, units=known.units).plot()) == ("$v$ (mV)", "$w$")

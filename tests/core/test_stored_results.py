"""Results are stored whole, with their tables, and read and drawn again without their systems."""

import json
import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.poincare import Section
from analysis.dynamics.portraits.curved import Portrait, PortraitCycle
from analysis.dynamics.series.chaos_test import zero_one_test
from analysis.dynamics.series.power_spectra import power_spectrum
from analysis.dynamics.series.recurrence import recurrence_plot
from analysis.dynamics.series.return_maps import return_map
from analysis.stored_results import STORED, load_result, load_with_drawing, save_result
from analysis.tables import table
from dynsim.cli import draw
from dynsim.io.npz import read_arrays
from figures.panels.labels import relabelled
from figures.plotting import DRAWINGS, plot
from tests.figures.test_own_axes import CASES, CYCLE, SIDE, TURN, loop, loops, phase_plane
from tests.support.commands import answer

SIGNAL = np.sin(np.arange(200.0)) + np.sin(2.0**0.5 * np.arange(200.0))
ORBITS = OrbitDiagram(np.arange(3.0), np.arange(6.0).reshape(3, 2), "a", "V", "x", "m")
REST = LimitSet("equilibrium", "stable", np.zeros((1, 2)), np.zeros((1, 2)), 0.0, np.array([-1.0 + 1.0j, -1.0 - 1.0j]))
RESULTS = [
    Section(TURN, CYCLE, np.ones(65), 0.01, True, ("x", "y"), ("mV", "")),
    HysteresisDiagram(ORBITS, ORBITS._replace(values=ORBITS.values + 1)),
    LyapunovSpectrum(np.array([0.9, 0.0]), np.array([0.1, 0.1]), TURN, np.ones((65, 2)), True, "", (True, True), 1.0),
    phase_plane(),
    Portrait(CYCLE, CYCLE, CYCLE[:2], ("stable", "saddle"), np.zeros(65, int), (PortraitCycle(1, "stable", CYCLE),),
             others={1: "limit cycle"}, types=("stable node", "saddle")),
    ORBITS,
    PhaseResponse(TURN / TURN[-1], CYCLE, CYCLE, 1.0, 0.0, ("x", "y"), ("", "")),
    LockingRange(TURN / TURN[-1], TURN, 1.0, (1, 1)),
    Isochrons(SIDE[:2], (CYCLE[:3], CYCLE[3:9]), CYCLE, np.array([[-1.0, 1.0]] * 2), ("x", "y"), ("", "")),
    FractionCurves(np.arange(1.0), np.array([3]), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), ({3: REST},)),
    power_spectrum(SIGNAL), return_map(SIGNAL), recurrence_plot(SIGNAL), zero_one_test(SIGNAL, frequencies=3),
]  # fmt: skip


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return [*one] == [*other] and all(map(same, one.values(), other.values()))
    return one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_is_read_as_it_was_written_beside_its_table(result, tmp_path):
    file = tmp_path / "a.npz"
    save_result(file, result, title="A", names=["x", "y"])
    again, drawing = load_with_drawing(file)
    assert same(result, again)
    assert drawing == {"title": "A", "names": ("x", "y")}
    listed, arrays = table(result), read_arrays(file)
    assert all(same(arrays[name], listed[name]) for name in listed.names)


def test_a_stored_result_is_drawn_by_the_command_with_its_options(tmp_path, capsys):
    save_result(tmp_path / "a.npz", RESULTS[0], components=("y", "x"))
    said = answer(capsys, "draw", tmp_path / "a.npz", "--figure", tmp_path / "a.svg", "--width", "85mm", "--title", "B")
    assert said.splitlines()[0].startswith("65 crossings")
    o = draw.Draw(tmp_path / "a.npz")
    words = lambda o: draw.picture(o, *draw.with_drawing(o.file, ())).axes[0].get_xlabel()
    assert words(o) == "$y$"
    assert words(draw.Draw(tmp_path / "a.npz", components=("x", "y"))) == "$x$ (mV)"


def test_a_portrait_of_a_line_is_drawn_again_with_labels_as_they_are_given():
    with relabelled({"x": "V_m"}, {"x": "mV"}):
        (ax,) = CASES["line"].result._replace(name="x").plot().axes
    assert ax.get_xlabel() == "V_m (mV)"
    assert ax.get_ylabel().split() == ["velocity", "of", "V_m", "(mV", "per", "unit", "of", "time)"]


def test_a_portrait_with_a_colour_bar_is_drawn_in_the_width_of_a_column_with_its_types(tmp_path, capsys):
    plane = phase_plane()
    (rest,) = plane.equilibria
    plane = plane._replace(equilibria=(rest._replace(spectrum=rest.spectrum._replace(description="weak focus")),))
    save_result(tmp_path / "a.npz", plane)
    figure = tmp_path / "a.svg"
    answer(capsys, "draw", tmp_path / "a.npz", "--figure", figure, "--width", "85mm", "--types")
    assert ">weak focus<" in figure.read_text()
    (drawn,) = plane.plot(types=True).equilibria
    assert drawn.get_marker() == "D"  # undecided


def test_every_kind_of_result_is_stored_and_drawn_again_or_refused_in_one_sentence(tmp_path):
    """Runs, diagrams and basins have files of their own, of which `test_draw` draws one each."""
    known = {type(one): one for one in [*RESULTS, *(case.result for case in CASES.values())]}
    assert {*STORED} <= {*known}
    assert {f"{kind.__module__}.{kind.__qualname__}" for kind in STORED} <= {*DRAWINGS}
    for kind, result in known.items():
        if kind in STORED:
            save_result(tmp_path / "a.npz", result)
            again = load_result(tmp_path / "a.npz")
            assert same(again, result)
            assert plot(again, Figure().subplots()).axes
        else:
            with pytest.raises(ValueError, match=f"Argument `result` must be one of .*, but is {kind.__name__}"):
                save_result(tmp_path / "b.npz", result)


def test_connecting_orbits_and_their_curves_have_tables():
    listed = table(loop())
    assert (list(listed.names), listed.units) == (["t", "x", "v"], {"x": "m", "v": "m/s", "t": "s"})
    assert set(table(loops())["kind"]) == {"homoclinic orbit"}


def test_what_cannot_be_stored_or_read_is_one_sentence(tmp_path):
    file = tmp_path / "a.npz"
    with pytest.raises(ValueError, match="Argument `result` must be one of .*Section.*, but is int"):
        save_result(file, 3)
    with pytest.raises(ValueError, match=r"Argument `path` must end in \.npz"):
        save_result("a.csv", RESULTS[0])
    with pytest.raises(ValueError, match="Argument `result.name` must be made of numbers, arrays .*, but is a set"):
        save_result(file, RESULTS[-1]._replace(name={"x"}))
    for header in (
        {"format": "dynsim table"},
        *({"result": one, "drawing": {}} for one in (3, {"class": "os:system", "fields": {}})),
    ):
        np.savez(file, header=np.array(json.dumps(header)))
        with pytest.raises(ValueError, match="Argument `path` must be a file that `save_result` or a command"):
            load_result(file)

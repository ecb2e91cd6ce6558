"""Figures of sweeps: curves and maps with names and units, failures, scales, and the options of the command."""

import numpy as np
import pytest
import xarray
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from dynsim import FunctionFlow, sweep
from dynsim.cli.sweep.figure import _of_system
from dynsim.cli.sweep.measures import quantities
from dynsim.systems.named import Components
from figures import plot
from figures.panels.shown import cell_edges, is_logarithmic
from figures.sweeps import Quantity, _geometric
from figures.sweeps import sweep as draw_sweep
from tests.support.commands import refused, run
from tests.support.figure_layout import check_layout, overlapping

MINE = """
def level(beta, noise=0.0):
    if beta > 3 and noise > 0:
        raise ValueError("too large")
    return {"order": beta - 10 * noise, "path": [beta, noise]}
"""


def level(beta, noise=0.0):
    if beta > 3 and noise > 0:
        raise ValueError("too large")
    return {"order": beta - 10 * noise}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_of_one_parameter_is_a_curve_on_which_failures_are_marked():
    units = {"beta": "1/K", "order": "mV"}
    found = sweep(level, {"noise": [0.5], "beta": [4.0, 1.0, 2.0]}, units=units)
    drawn = draw_sweep(found, quantities=[Quantity("order", "order")]).figure
    (ax,) = drawn.axes
    (curve, crosses) = ax.lines
    np.testing.assert_array_equal(np.asarray(curve.get_xydata()), [[1.0, -4.0], [2.0, -3.0], [4.0, np.nan]])
    assert crosses.get_xdata().tolist() == [4.0]
    assert crosses.get_label() == "failed (1 of 3)"
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"$\beta$ (1/K)", "order (mV)")
    assert drawn.get_suptitle() == "noise = 0.5"
    check_layout(drawn)


def test_a_sweep_of_two_parameters_is_a_map_with_the_first_on_the_horizontal_axis():
    found = sweep(level, {"beta": [1.0, 2.0, 4.0], "noise": [0.0, 0.5]}, units={"order": "mV"})
    drawn = draw_sweep(found, quantities=[Quantity("order", "order")]).figure
    ax, bar = drawn.axes
    (mesh,) = [part for part in ax.collections if isinstance(part, QuadMesh)]
    values = np.ma.filled(mesh.get_array(), np.nan).reshape(2, 3)
    np.testing.assert_array_equal(values, [[1.0, 2.0, 4.0], [-4.0, -3.0, np.nan]])
    (crosses,) = ax.lines
    assert np.asarray(crosses.get_xydata()).tolist() == [[4.0, 0.5]]
    assert (ax.get_xlabel(), ax.get_ylabel(), bar.get_ylabel()) == (r"$\beta$", "noise", "order (mV)")
    assert ax.get_xlim() == (0.5, 5.0)
    assert overlapping(drawn) == []


def test_seeds_are_a_mean_in_a_band_and_those_that_failed_are_left_out():
    dims, nan = ("beta", "seed"), np.nan
    values, status = [[1.0, 4.0], [2.0, nan], [nan, nan]], [["ok", "ok"], ["ok", "failed"], ["failed"] * 2]
    coords = {"beta": [1.0, 2.0, 3.0], "seed": [0, 1]}
    drawn = draw_sweep(
        xarray.Dataset({"value": (dims, values), "status": (dims, status)}, coords), quantities=[Quantity("v", "value")]
    ).figure
    (curve, crosses) = drawn.axes[0].lines
    np.testing.assert_array_equal(curve.get_ydata(), [2.5, 2.0, nan])
    assert crosses.get_xdata().tolist() == [2.0, 3.0]
    (band,) = drawn.axes[0].collections
    assert band.get_datalim(drawn.axes[0].transData).intervaly.tolist() == [1.0, 4.0]
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words == ["from the least to the largest", "mean of the seeds", "failed for a seed (2 of 3)"]


def test_scales_are_logarithmic_where_values_and_parameters_ask_for_it():
    decades = 10.0 ** np.arange(-9, 10)
    assert is_logarithmic(decades)
    assert not is_logarithmic(np.append(decades, 0.0))
    assert not is_logarithmic(np.array([1e-9, 15.0, 20.0, 40.0]))  # most are not small
    assert not is_logarithmic(np.array([1.0, 10.0, 100.0]))
    assert _geometric(decades)
    assert [_geometric(np.array([1.0, 6.0, last])) for last in (30.0, 29.0)] == [True, False]
    assert not _geometric(np.array([1.0, 2.0, 4.0]))
    assert not _geometric(np.linspace(0.1, 10.0, 50))
    assert not _geometric(np.array([1.0, 1.0, 100.0]))
    np.testing.assert_allclose(cell_edges(np.array([1.0, 100.0]), True), [0.1, 10.0, 1000.0])
    np.testing.assert_allclose(cell_edges(np.array([1.0, 2.0, 4.0]), False), [0.5, 1.5, 3.0, 5.0])
    found = sweep(lambda a, b: 1e-9 * a**3 * b, {"a": decades, "b": [1.0, 2.0]})
    (mesh,) = draw_sweep(found, quantities=[Quantity("value", "value")]).figure.axes[0].collections
    assert isinstance(mesh.norm, LogNorm)


def test_a_sweep_over_decades_has_a_logarithmic_axis_and_in_given_axes_their_title():
    found = sweep(level, {"beta": [0.01, 0.1, 1.0, 2.0]})
    ax = Figure().subplots()
    drawn = plot(found, ax, title="orders")
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title(), drawn.axes) == ("log", "linear", "orders", [ax])


def test_maps_of_four_results_are_three_beside_and_one_below():
    found = sweep(lambda a, b: {name: a + k * b for k, name in enumerate("pqrs")}, {"a": [1.0, 2.0], "b": [0.0, 1.0]})
    drawn = draw_sweep(found, colourbar=False)
    cells = [ax.get_subplotspec().get_geometry() for ax in drawn.axes]
    assert cells == [(2, 3, k, k) for k in range(4)]
    assert len(drawn.figure.axes) == 4
    with pytest.raises(ValueError, match="`found` must be over a grid, with several values of one or two parameters"):
        draw_sweep(sweep(lambda a: a, {"a": [1.0]}))


def test_what_is_measured_of_a_run_has_the_units_of_the_system():
    flow = FunctionFlow(lambda t, x: -x, names=("v", "w"), units=("mV", ""))
    assert quantities(flow, np.zeros(2))[:2] == (("v", "w"), ("mV", ""))


def test_each_number_that_is_kept_of_a_component_can_be_shown():
    known = Components(("v", "w"), ("mV", ""))
    assert [one.middle for one in _of_system(known, ())] == ["v_mean", "w_mean"]
    assert [(one.label, one.middle) for one in _of_system(known, ("w", "v_least"))] == [
        ("w", "w_mean"), ("v_least", "v_least"),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_command_draws_the_sweep_of_a_function(here, capsys):
    words = ("--function", "mine.py:level", "--beta", "1", "2", "4", "--noise", "0", "0.5")
    status, said, _ = run(capsys, "sweep", *words, "--figure", "map.pdf")
    assert status == 1  # a point failed
    assert "the figure leaves out arrays: path" in said
    assert said.splitlines()[-1] == "figure map.pdf"
    assert (here / "map.pdf").stat().st_size > 5_000
    _, said, _ = run(
        capsys, "sweep", "--function", "mine.py:level", "--beta", "4", "5", "--noise", "1", "--figure", "none.pdf"
    )
    assert "no figure is drawn, because no point has a finite value" in said


@pytest.mark.parametrize(("words", "sentence"), [
    ("--beta 1 2 --show order", "Argument `show` must be left out without `--figure`"),
    ("--beta 1 --figure a.pdf", "`figure` must be given only if one or two parameters have several values, but none"),
    ("--beta 1 2 --show ordr --figure a.pdf", "`show` must name results (order), but names `ordr`, did you mean"),
    ("--beta 1 2 --figure a.gif", "Argument `figure` must end in .pdf, .svg, .png"),
])  # fmt: skip
def test_figures_that_do_not_fit_are_refused(here, capsys, words, sentence):
    assert sentence in refused(capsys, "sweep", "--function", "mine.py:level", *words.split())

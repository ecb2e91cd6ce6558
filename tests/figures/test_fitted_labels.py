"""Labels of figures of the workbench fit their axes, for long names and for small and large values."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.limit_set import LimitSet
from dynsim import FunctionFlow, Scipy, iterate, simulate
from dynsim.cli.simulate.hardmax import draw
from dynsim.hardmax import SoftmaxMap
from dynsim.systems.named import Components
from figures import files
from figures.fitted import fitted
from figures.panels.basins import boundary
from figures.style import canvas, settings
from tests.figures.test_own_axes import on_line
from tests.support.figure_layout import check_layout, outside

NAMES = ("prey_population_density", "predator_population_density")
UNIT = "individuals per km$^2$"


def _drawn(low, high, label):
    with settings():
        drawn, (ax,) = canvas()
        ax.plot([0.0, 1.0], [low, high])
        ax.set_ylabel(label)
        fitted(drawn)
        drawn.draw_without_rendering()
    return drawn, ax


@pytest.mark.parametrize("d", [3, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 6))])
def test_long_names_and_large_values_stay_beside_their_axes(d):
    names = tuple(f"{NAMES[k % 2]}_{k}" for k in range(d))
    flow = FunctionFlow(lambda t, x: -x, names=names, units=(UNIT,) * d, time_unit="years")
    run = simulate(flow, 1e6 * np.arange(1.0, d + 1), np.linspace(0.0, 1.0, 5), integrator=Scipy())
    drawn = run.plot().figure
    assert outside(drawn) == []
    if d == 3:  # whose labels in space are turned, so that their boxes say nothing
        space = drawn.axes[0]
        assert space.get_ylabel() == "predator population\ndensity 1 ($10^{6}$)"
    else:
        check_layout(drawn)
    series = drawn.axes[-1]
    with settings():
        drawn.draw_without_rendering()
        sizes = [(ax.yaxis.label.get_window_extent().height, ax.get_window_extent().height) for ax in drawn.axes[-d:]]
    assert "$10^{6}$ individuals" in " ".join(series.get_ylabel().split())
    assert all(ax.yaxis.get_offset_text().get_text() == "" for ax in drawn.axes)
    assert all(label < 1.02 * axis for label, axis in sizes)


def test_a_label_is_broken_before_its_unit_and_else_at_spaces():
    _, ax = _drawn(0.0, 1.0, "a rather long name of what is measured in this experiment (litres per square metre)")
    name, *_, unit = ax.get_ylabel().split("\n")
    assert name.startswith("a rather long name")
    assert unit == "(litres per square metre)"
    _, ax = _drawn(0.0, 1.0, "short (m)")
    assert ax.get_ylabel() == "short (m)"
    _, ax = _drawn(0.0, 1.0, "x" * 90)
    assert ax.yaxis.label.get_fontsize() == 6.0


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [
        (0.0, 2e-9, "flux ($10^{-9}$ mol/L)"),
        (0.0, 3e6, "flux ($10^{6}$ mol/L)"),
        (0.0, 30.0, "flux (mol/L)"),
        (1e6, 1e6 + 1.0, "flux (mol/L)"),  # ticks are differences from a value, which stands beside the axis
    ],
)
def test_powers_of_ten_stand_before_the_unit(low, high, label):
    assert _drawn(low, high, "flux (mol/L)")[1].get_ylabel() == label


def test_axes_with_ticks_of_their_own_or_a_logarithmic_scale_stay_as_they_are():
    with settings():
        drawn, (one, other) = canvas(columns=2)
        for ax in (one, other):
            ax.plot([1.0, 2.0], [1.0, 1e6])
            ax.set_ylabel("size")
        one.set_yscale("log")
        other.set_yticks([1.0, 1e6], labels=["few", "many"])
        fitted(drawn)
    assert [ax.get_ylabel() for ax in (one, other)] == ["size", "size"]


def test_a_portrait_of_a_line_in_small_units_has_its_powers_of_ten_in_both_labels():
    xs = np.linspace(-1e-9, 1e-9, 9)
    (ax,) = on_line(1e3 * xs, [(0.0, 1e3, "unstable")], name="c", unit="mol/L")._replace(xs=xs).plot().axes
    assert ax.get_xlabel() == "$c$ ($10^{-9}$ mol/L)"
    assert "10^{-6}" in ax.get_ylabel()


def test_the_outline_of_basins_runs_along_the_cells_of_the_image():
    labels = np.zeros((20, 20), int)
    labels[1, 2] = labels[0, 0] = 1
    with settings():
        _, (ax,) = canvas()
        boundary(ax, labels, [np.arange(20.0), 2 * np.arange(20.0)])
        (sides,) = ax.collections
    found = {tuple(sorted(map(tuple, part.vertices.tolist()))) for part in sides.get_paths()}
    assert found == {((0.5, 3.0), (0.5, 5.0)), ((1.5, 3.0), (1.5, 5.0)), ((0.5, 3.0), (1.5, 3.0)),
        ((0.5, 5.0), (1.5, 5.0)), ((0.5, -1.0), (0.5, 1.0)), ((-0.5, 1.0), (0.5, 1.0))}  # fmt: skip


def test_the_dots_of_a_recurrent_set_are_larger_in_the_legend():
    cloud = np.random.default_rng(0).uniform(size=(50, 2))
    chaos = LimitSet("recurrent set", "stable", cloud, cloud, np.nan, np.zeros(0))
    found = Basins(np.zeros((3, 3), int), (np.arange(3.0),) * 2, ("x", "y"), (chaos,), (), 1.0, 9, np.ones(2))
    drawn = found._replace(components=Components(("x", "y"), ("", "")), varied=(0, 1), base=np.zeros(2)).plot()
    assert drawn.legend.legend_handles[-1].get_markersize() > 4
    assert drawn.attractors[0].get_markersize() < 2


def test_the_first_and_the_last_layer_of_tokens_are_named(monkeypatch, tmp_path):
    kept = []
    monkeypatch.setattr(files, "write_figure", lambda drawn, *rest: kept.append(drawn))
    draw(tmp_path / "run.png", iterate(SoftmaxMap(0.5, 0.1), jnp.asarray([[-1.0, 1.0], [0.0, 3.0], [12.0, 4.0]]), 3))
    assert [text.get_text() for text in kept[0].axes[0].get_legend().get_texts()] == ["first layer", "last layer"]
    check_layout(kept[0])

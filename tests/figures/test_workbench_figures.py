"""Figures of the workbench for long names with units: nothing leaves the figure, and what is drawn says what it is."""

import dataclasses
import importlib
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.quiver import Quiver

from analysis.dynamics.attractors.fractions import FractionCurves
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.families import Family
from analysis.dynamics.portraits.curved import Portrait, PortraitCycle
from analysis.dynamics.portraits.plane import PhasePlane
from dynsim import FunctionFlow, FunctionMap, Parameter, Trajectory, iterate
from dynsim.cli.basins.against import _draw as draw_shares
from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.building.systems import Found
from dynsim.cli.continuation.options import Continue
from dynsim.cli.continuation.plane import draw_plane
from dynsim.cli.lyapunov import Lyapunov, _exponents_label
from dynsim.cli.lyapunov import _draw as draw_exponents
from dynsim.cli.portrait import Computed, frames
from figures import files
from figures.fitted import fitted
from figures.measures import exponents_along
from figures.panels.bifurcations import branch_lines
from figures.panels.labels import GREEK, in_lines, of_many, rate_label, slice_label, symbol
from figures.panels.limit_marks import LimitMark, draw_mark
from figures.panels.phase import circle_portrait, sphere_portrait, streamlines
from figures.panels.tokens import HIDDEN, View
from figures.style import canvas, colour, paler, settings
from tests.figures.test_own_axes import on_line, on_simplex
from tests.support.figure_layout import check_layout, outside, overlapping

NAME = "concentration_of_predator_biomass_in_the_lake"
PARAMETER = "growth_rate_of_the_prey_population_in_spring_with_fertiliser_and_light"
UNIT = "milligrams per cubic metre"
FLOW = FunctionFlow(lambda t, x: -x, names=(NAME,), units=(UNIT,), time_unit="days")
MADE = Found("lake", FLOW, np.zeros(1))
RATE = Parameter(FunctionFlow(lambda t, x, a: -a * x, parameters={"a": 1.0}), "a", 0.0, 1.0)
ENDS = np.array([0.0, 1.0])
OPTIONS = Continue("lake", parameter=f"{PARAMETER}=0:1", second=f"{PARAMETER}=0:1")


@pytest.fixture
def kept(monkeypatch):
    """Return the list of the figures that commands write."""
    found: list[Any] = []
    monkeypatch.setattr(files, "write_figure", lambda drawn, *rest: found.append(drawn))
    return found


def _diagram(o: Any, kinds: tuple[str, str] = ("stable", "stable")) -> None:
    branch = Branch(np.zeros((2, 1)), ENDS, ENDS, np.zeros((2, 1), complex), kinds, (), ("bounds", "bounds"))
    diagram = Diagram(PARAMETER, (branch,), (1,))
    options = dataclasses.replace(OPTIONS, figure=o.figure)
    importlib.import_module("dynsim.cli.continuation.command")._draw(options, MADE, RATE, diagram)


def _plane(o: Any) -> None:
    options = dataclasses.replace(OPTIONS, figure=o.figure)
    draw_plane(options, (RATE, RATE), Diagram(PARAMETER, (), (), second=PARAMETER))


def _exponents(o: Any) -> None:
    table, label = np.zeros((2, 1)), _exponents_label(FLOW)
    draw = lambda until: exponents_along(
        ENDS, table, table, xlabel=symbol(PARAMETER), ylabel=label, converged=np.ones(2, bool), until=until
    )
    draw_exponents(o, draw, "")


def _shares(o: Any) -> None:
    table = np.ones((2, 1))
    options = BasinsOptions("lake", figure=o.figure)
    found = FractionCurves(ENDS, np.array([0]), table, table, table, ({}, {}), name=PARAMETER)
    draw_shares(options, MADE, PARAMETER, found)


def test_every_greek_name_is_its_letter():
    assert all(symbol(name) == rf"$\{name}$" for name in GREEK)
    assert [symbol(name) for name in ("mu2", "a_m'", "b''", "rate_in", "m")] == [
        r"$\mu_{2}$", "$a'_{m}$", "$b''$", "rate in", "$m$",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("draw", [_diagram, _plane, _exponents, _shares])
def test_labels_of_commands_are_no_longer_than_their_axes(draw, kept, tmp_path):
    draw(Lyapunov("lake", figure=tmp_path / "run.png"))
    (drawn,) = kept
    check_layout(drawn)
    (ax,) = drawn.axes
    assert ax.xaxis.label.get_window_extent().width < 1.02 * ax.get_window_extent().width
    assert ax.yaxis.label.get_window_extent().height < 1.02 * ax.get_window_extent().height


def test_what_is_undecided_is_not_called_unstable(kept, tmp_path):
    _diagram(Lyapunov("lake", figure=tmp_path / "run.png"), ("undecided", "undecided"))
    words = [text.get_text() for text in kept[0].axes[0].get_legend().get_texts()]
    assert words == ["stable", "unstable or undecided"]


@pytest.mark.parametrize("steps", [False, True])
def test_many_components_differ_in_more_than_their_colours(steps):
    flow: Any = FunctionMap(lambda k, x: x) if steps else FunctionFlow(lambda t, x: -x)
    run = Trajectory(np.arange(5.0), np.eye(5, 7), flow, iterate(FunctionMap(lambda k, x: x), [0.0], 1).stats)
    (ax,) = run.plot(smooth=False).axes
    kinds = [str(line.get_marker() if steps else line._dash_pattern) for line in ax.lines]  # pyright: ignore
    assert all(len(set(kinds[k : k + 4])) == 4 for k in range(4))  # and colours of every fourth are far apart


def test_dots_of_a_set_that_does_not_attract_have_another_colour():
    with settings():
        _, (ax,) = canvas()
        for attracts in (True, False):
            draw_mark(ax, LimitMark(np.zeros((3, 2)), "recurrent set", attracts))
    assert [line.get_color() for line in ax.lines] == ["black", colour("undecided")]


@pytest.mark.slow
def test_long_legends_and_titles_get_lines_and_the_figure_height():
    with settings():
        drawn, (ax,) = canvas()
        for k in range(8):
            ax.plot(ENDS, ENDS + k, label=f"concentration of chemical species number {k}")
        ax.set_title(slice_label([NAME, PARAMETER], [1.0, 2.0], [UNIT, ""]))
        drawn.legend(loc="outside lower center", ncols=4)
        height = drawn.get_figheight()
        fitted(drawn)
        assert drawn.get_figheight() > 1.2 * height
        assert ax.get_title().count("\n") == 2
        check_layout(drawn)
        assert len(drawn.legends[0].get_texts()) == 8


@pytest.mark.slow
def test_the_title_of_a_legend_beside_long_words_is_broken():
    with settings():
        drawn, (ax,) = canvas()
        ax.plot(ENDS, ENDS, label="basin")
        ax.legend(title=slice_label([NAME, PARAMETER], [1.0, 2.0]), loc="lower center", bbox_to_anchor=(0.5, 1.0))
        assert outside(fitted(drawn)) == []


def test_lines_of_words_are_about_as_long():
    assert in_lines("number of spawning salmon in the river", 33) == ["number of spawning", "salmon in the river"]
    assert in_lines("a bc", 9) == ["a bc"]


def test_a_value_and_its_unit_stay_on_one_line():
    title = slice_label(["x", "y", "z"], [-1.5, 2.0, 3.0], ["mV", "square metre", ""])
    assert title == "$x$ = \N{MINUS SIGN}1.5\xa0mV, $y$ = 2\xa0square metre, $z$ = 3"
    lines = [in_lines(title, most) for most in range(3, 40)]
    assert all(any("2\xa0square" in line for line in found) for found in lines)
    assert all(any("1.5\xa0mV," in line for line in found) for found in lines)


def test_frames_of_a_movie_have_one_scale_of_speeds_and_one_legend():
    xs = np.linspace(-1.0, 1.0, 9)
    portraits = on_line(xs, [(0.0, 1.0, "unstable")]), on_line(xs + 3.0)
    made = frames([
        Computed(one.plot, "", (k - 1.0, k + 1.0)) for k, one in zip((0.0, 3.0), portraits, strict=True)
    ])  # fmt: skip
    assert [drawn.axes[0].get_ylim() for drawn in made] == [(-1.25, 4.25)] * 2
    assert [[text.get_text() for text in drawn.legends[0].get_texts()] for drawn in made] == [["unstable"]] * 2


def test_portraits_show_the_speeds_of_a_range_that_is_given():
    angles, xs = np.arange(8) * np.pi / 4, np.linspace(0.0, 1.0, 5)
    with settings():
        _, (first, second, third) = canvas(columns=3)
        circle_portrait(first, angles, np.full(8, 2.0), limits=np.zeros(8, int), equilibrium_angles=[], kinds=[],
                        largest=4.0)  # fmt: skip
        streams = streamlines(second, xs, xs, np.ones((5, 5, 2)), speeds=(1.0, 9.0))
        points = np.concatenate([np.eye(3), -np.eye(3)])
        sphere_portrait(third, points, np.zeros(6, int), field_points=[[1, 0, 0]], field=[[0, 1, 0]],
                        equilibrium_points=[], kinds=[], view=View(0.0, 0.0), largest=2.0**10)  # fmt: skip
    (speed,) = [curve for curve in first.lines if curve.get_label() == "speed"]
    np.testing.assert_allclose(np.linalg.norm(speed.get_xydata(), axis=1), 1.225)
    assert streams.lines.get_clim() == (1.0, 9.0)
    (arrows,) = [part for part in third.collections if isinstance(part, Quiver)]
    np.testing.assert_allclose(np.hypot(arrows.U, arrows.V), 2.0**-3)


@pytest.mark.slow
def test_the_bar_of_speeds_has_the_power_of_ten_in_its_label():
    xs = np.linspace(-1.0, 1.0, 9)
    velocity = 1e-9 * np.stack(np.meshgrid(xs + 2, xs), axis=-1)
    lines = np.empty((0, 2, 2))
    found = PhasePlane(xs, xs, velocity, (), np.empty((0, 2)), (), (), (), (), lines, lines, lines, False, velocity > 9)
    drawn = found._replace(names=("x", "y"), units=("mol", "mol"), time_unit="s").plot()
    assert drawn.figure.axes[1].get_ylabel() == "speed ($10^{-9}$ mol / s)"


def test_rates_are_in_units_of_components_by_those_of_time():
    said = [rate_label("speed", *units) for units in (("m", "s"), ("", "s"), ("m", ""), ("", ""))]
    assert said == ["speed (m / s)", "speed (1 / s)", "speed (m per unit of time)", "speed"]
    assert of_many("components", ["v", "w"], ["mV", "mV"]) == (["$v$", "$w$"], "components (mV)")
    assert of_many("components", ["v", "w"], ["mV", ""]) == (["$v$ (mV)", "$w$"], "components")


def test_unstable_branches_on_each_other_have_gaps():
    with settings():
        drawn, (ax,) = canvas()
        for begin in (0.0, 0.03):
            branch_lines(ax, [begin, 1.0], [0.0, 0.0], [False])
        ax.set_axis_off()
        agg = FigureCanvasAgg(drawn)
        agg.draw()
        pixels = np.asarray(agg.buffer_rgba())[..., :3].min(axis=-1)
    row = pixels[np.argmin(pixels.sum(axis=1))] < 128  # of the line
    first, last = np.flatnonzero(row)[[0, -1]]
    assert 0.5 < row[first : last + 1].mean() < 0.8


def test_no_arrow_on_a_line_lies_on_an_equilibrium():
    xs = np.linspace(-2.0, 2.0, 41)
    rests = [(-1.0, -2.0, "stable"), (0.0, 1.0, "unstable"), (1.0, -2.0, "stable")]
    (ax,) = on_line(xs - xs**3, rests)._replace(xs=xs).plot().axes
    tips = np.array([note.xy[0] for note in ax.texts])  # pyright: ignore
    assert len(tips) == 8
    assert np.min(np.abs(tips[:, None] - [-1.0, 0.0, 1.0])) > 0.1


def test_the_names_of_states_stand_beside_the_corners_of_a_simplex():
    names = [f"fraction of the population that plays {word}" for word in ("rock", "paper", "scissors")]
    drawn = on_simplex(tuple(names)).plot(title="a = 1").figure
    assert outside(drawn) == overlapping(drawn) == []
    assert drawn.get_suptitle() == "a = 1"
    assert drawn.axes[0].texts[0].get_text() == "fraction of the\npopulation that\nplays rock"


@pytest.mark.slow
def test_circles_and_spheres_have_the_names_of_components_and_of_limits():
    angles = np.arange(24) * np.pi / 12
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    turning = Portrait(ring, ring[:, ::-1] * [-1, 1], np.zeros((0, 2)), (), np.zeros(24, int))
    (ax,) = turning.plot(names=["cosine", "sine"], title="a = 1").axes
    assert ax.get_title() == "a = 1"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cosine", "sine")
    assert "basin of another attractor" in ax.get_legend_handles_labels()[1]
    points = np.concatenate([np.eye(3), -np.eye(3)])
    lost = Portrait(points, np.roll(points, 1, axis=1), np.zeros((0, 3)), (), np.full(6, -1))
    assert {text.get_text() for text in lost.plot(names="abc").axes[0].texts} >= {"a", "b", "c"}
    drawn = lost.plot(names=[NAME, "b", "c"], title="a = 1").figure
    assert drawn.get_suptitle() == "a = 1"
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words == ["basin of an unknown limit", f"$y_1$: {NAME}", "$y_2$: b", "$y_3$: c"]


def test_a_limit_cycle_on_the_sphere_is_whole_on_both_sides_and_pale_where_it_is_hidden():
    angles = np.arange(60) * np.pi / 30
    ring = np.stack([0.8 * np.cos(angles), 0.8 * np.sin(angles), np.full(60, 0.6)], axis=1)
    points = np.concatenate([np.eye(3), -np.eye(3)])
    turning = Portrait(points, np.roll(points, 1, axis=1), np.zeros((0, 3)), (), np.zeros(6, int))
    turning = turning._replace(cycles=(PortraitCycle(0, "stable", ring),), others={0: "periodic orbit"})
    drawn = turning.plot(names="abc").figure
    views = View(), View().opposite()
    for ax, view in zip(drawn.axes, views, strict=True):
        seen = [line for line in ax.lines if line.get_linewidth() == 1.8 and np.size(line.get_xdata())]
        hidden = [line for line in ax.lines if line.get_color() == paler(colour("cycle"), HIDDEN)]
        assert {line.get_color() for line in seen} == {colour("cycle")}
        count = np.sum(ring @ view.frame()[2] >= 0)
        assert abs(sum(len(line.get_xydata()) for line in seen) - count) <= 2
        assert abs(sum(len(line.get_xydata()) for line in hidden) - (60 - count)) <= 2
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words == ["basin of a limit cycle", "stable limit cycle"]


def test_a_curve_of_equilibria_is_drawn_by_its_types_and_hidden_parts_are_pale():
    angles = np.arange(60) * np.pi / 30
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(60)], axis=1)
    family = Family(ring, ("stable",) * 30 + ("unstable",) * 30, "closed")
    points = np.concatenate([np.eye(3), -np.eye(3)])
    found = Portrait(points, np.roll(points, 1, axis=1), np.zeros((0, 3)), (), np.zeros(6, int))
    drawn = found._replace(families=(family,), others={0: "curve of equilibria"}).plot(names="abc").figure
    thick = [line for ax in drawn.axes for line in ax.lines if line.get_linewidth() == 2.6 and len(line.get_xydata())]
    assert {line.get_linestyle() for line in thick} == {"-", "--"}
    assert {line.get_color() for line in thick} == {colour("stable"), paler(colour("stable"), HIDDEN)}
    seen = sum(len(line.get_xydata()) for line in thick[: len(thick) // 2])
    assert abs(seen - 61) <= 4  # each point once on a side, and those where parts meet
    words = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert words == ["basin of a curve of equilibria", "stable equilibria", "unstable equilibria"]

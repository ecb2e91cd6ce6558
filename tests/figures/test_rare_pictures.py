"""Pictures that few results have: surfaces of tori, boundary value problems, orbits of a branch, basins, movies."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.polynomial.legendre import leggauss

from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.tori.torus import InvariantTorus
from dynsim import FunctionFlow, Parameter, Simplex
from dynsim.systems.prototypes.flow import PrototypeFlow
from figures import diagrams, fitted, portraits, quantities, trajectories
from figures.decimals import comma
from figures.panels import simplices
from figures.panels.attractors import AZIMUTH, attractor, space_axes
from figures.panels.basins import basin_entries
from figures.panels.exponents import exponents_against, groups, running_exponents
from figures.panels.maps import section
from figures.panels.names import place_names
from figures.panels.phase import streamlines
from figures.panels.spectra import eigenvalues
from tests.figures.test_own_axes import CYCLE, basins, branch, on_simplex, phase_plane, run

TURNS = np.linspace(0.0, 2 * np.pi, 9)
ENDS = np.array([1.0, 2.0])


@pytest.fixture
def ax():
    return Figure().subplots()


class Ring(InvariantTorus):
    """A torus around the third axis, with radii 2 and 1/2."""

    def surface(self, turns=5, count=9):
        u, v = np.meshgrid(np.linspace(0, 2 * np.pi, turns), TURNS, indexing="ij")
        return np.stack([(2 + np.cos(v) / 2) * np.cos(u), (2 + np.cos(v) / 2) * np.sin(u), np.sin(v) / 2], axis=-1)


def ring(**changed):
    return Ring(
        np.ones((4, 3)), 0.25, 3.0, 1.0, np.array([0.5]), 0.0, names=("a", "b", "c"), units=("m", "", "s")
    )._replace(**changed)


def test_a_torus_is_a_surface_of_three_components_or_of_two_and_the_time():
    drawn = ring().plot_surface()
    (ax,) = drawn.axes
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()) == ("$a$ (m)", "$b$", "$c$ (s)")
    assert (len(drawn.surface), len(drawn.curve)) == (1, 1)
    np.testing.assert_allclose(drawn.curve[0].get_data_3d(), ring().surface()[0].T)
    drawn = ring().plot_surface(component=["c", "a"], surface=False)
    (ax,) = drawn.axes
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()) == ("$c$ (s)", "$a$ (m)", "time $t$")
    heights = drawn.curve[0].get_data_3d()
    np.testing.assert_allclose(heights[:2], ring().surface()[0][:, [2, 0]].T)
    assert np.all(np.asarray(heights[2]) == 0.0)
    with pytest.raises(ValueError, match="`component` must name three components, or two beside the time, but names 1"):
        ring().plot_surface(component=["a"])


def test_the_solution_of_a_boundary_value_problem_is_drawn_between_its_mesh():
    x = np.array([0.0, 1.0, 3.0])
    stages = (leggauss(4)[0] + 1) / 2
    places = x[:-1, None] + np.diff(x)[:, None] * stages
    of = lambda x: np.stack([2 * x, 1 - x], axis=-1)
    found = BoundarySolution(x, of(x), of(places), {}, 0.0, ("u", "v"), ("m", "s"))
    drawn = found.plot()
    assert len(drawn.lines) == 2
    for line, k in zip(drawn.lines, (0, 1), strict=True):
        at, values = line.get_data()
        assert (len(at), at[0], at[-1]) == (1004, 0.0, 3.0)
        np.testing.assert_allclose(values, of(np.asarray(at))[:, k], atol=1e-12)
    assert drawn.axes[0].get_ylabel() == "state"
    alone = found.plot(component="v")
    assert (alone.axes[0].get_ylabel(), len(alone.lines)) == ("$v$ (s)", 1)
    np.testing.assert_allclose(alone.lines[0].get_ydata()[[0, -1]], [1.0, -2.0])


def test_orbits_of_a_branch_without_their_system_are_drawn_by_their_period():
    p = np.linspace(0.0, 1.0, 4)
    states = Cycle(np.zeros((4, 2, 1, 2)), 2 + p**2)
    doubling = Bifurcation(
        "period doubling", Cycle(np.zeros((2, 1, 2)), np.asarray(2.5)), 0.7, np.empty(0), 0.7, 0.0, np.zeros(2)
    )
    kinds = ("stable",) * 2 + ("unstable",) * 2
    found = Branch(states, p, p, np.zeros((4, 2), complex), kinds, (doubling,), ("bounds",) * 2, name="mu")
    drawn = found.plot()
    assert drawn.axes[0].get_ylabel() == "period"
    heights = np.concatenate([line.get_ydata() for line in drawn.branches])
    assert (heights.min(), heights.max()) == (2.0, 3.0)
    np.testing.assert_allclose(drawn.bifurcations[0].get_xydata(), [[0.7, 2.5]])


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_eigenvalues_and_exponents_of_any_size_are_compared_with_the_largest(size):
    ax = Figure().subplots()
    marks = eigenvalues(ax, size * np.array([1.0, 1.0 + 1e-7, 1.0 + 1e-4, -1.0, -1.0]), role="first")
    np.testing.assert_allclose(marks.get_offsets()[:, 0], size * np.array([1.0, 1.0001, -1.0]))
    assert groups(size * np.array([1.0, 0.25]), [size * 1e-3] * 2) == [[0, 1]]
    assert groups(size * np.array([1.0, 0.125, -3.0]), [size * 1e-3] * 3) == [[1], [0, 2]]
    assert groups(size * np.array([1.0, 0.125]), [0.0, size * 0.05]) == [[0, 1]]
    assert groups(size * np.array([1.0, 0.2]), [0.0, 0.0]) == [[0, 1]]


def test_basins_lie_behind_a_portrait():
    drawn = phase_plane().plot(basins=basins(), streamlines=False)
    (image,) = drawn.basins[:1]
    assert image.get_zorder() < 0
    assert drawn.axes[0].get_xlim() == (-1.0, 1.0)


def test_a_movie_turns_paths_in_space_and_lets_others_grow(monkeypatch, tmp_path):
    written, how = [], []
    monkeypatch.setattr(trajectories, "write_movie", lambda file, frame: written.append((file, frame)) or file)
    monkeypatch.setattr(trajectories, "refined", lambda run, **options: run)
    drawing = lambda run, **options: how.append(options) or type("Drawn", (), {"figure": Figure()})
    monkeypatch.setattr(trajectories, "trajectory", drawing)
    monkeypatch.setattr(trajectories, "growing", lambda draw: draw)
    flat = run(CYCLE)
    assert trajectories.movie(tmp_path / "a.gif", flat) == tmp_path / "a.gif"
    for share in (0.01, 0.5, 1.0):
        written[0][1](share)
    assert [options["until"] for options in how] == [0.02, 0.5, 1.0]
    assert all(options["smooth"] is False for options in how)
    monkeypatch.setattr(trajectories, "_in_space", lambda found: "3d")
    trajectories.movie(tmp_path / "b.gif", flat)
    how.clear()
    for phase in (0.0, 0.25):
        written[1][1](phase)
    assert [options["azimuth"] for options in how] == [AZIMUTH, AZIMUTH + trajectories.TURN / 4]


def test_texts_are_broken_no_more_than_needed_and_then_made_smaller():
    def broken(words, room):
        texts = [Text(0, 0, word, fontsize=8.0) for word in words]
        width = lambda: max(len(line) * text.get_fontsize() for text in texts for line in text.get_text().split("\n"))
        fitted._break(texts, room, width)
        return [text.get_text() for text in texts], texts[0].get_fontsize()

    words = ["a basin of the larger of two limit cycles", "another one"]
    assert broken(words, 1000.0) == (words, 8.0)
    assert broken(words, 8 * 25.0) == (["a basin of the larger\nof two limit cycles", "another one"], 8.0)
    assert broken(["short"], 8 * 4.0) == (["short"], 6.0)
    assert broken(["a-word-that-has-no-space-at-all"], 8 * 30.0) == (["a-word-that-has-no-space-at-all"], 7.5)


def test_a_long_label_in_space_is_broken_moved_away_and_loses_its_unit():
    axis = space_axes(Figure()).zaxis
    axis.set_label_text("a rather long name of the third axis (m)")
    before = axis.labelpad
    fitted._wrap_in_space(axis)
    lines = axis.get_label_text().split("\n")
    assert (len(lines) > 1, " ".join(lines)) == (True, "a rather long name of the third axis")
    assert axis.labelpad == before + (len(lines) - 1) * fitted.SMALLEST / 2
    axis.set_label_text("c ($10^{-3}$ m)")
    fitted._wrap_in_space(axis)
    assert axis.get_label_text().replace("\n", " ") == "c ($10^{-3}$)"


def test_arrows_on_a_line_show_the_direction_and_leave_equilibria_free():
    ax = Figure().add_subplot()
    xs = np.linspace(1.0, 15.0, 57)  # thirteen arrows, at 1.97, 2.97, ..., 13.97
    portraits._arrows(ax, xs, np.sign(xs - 6.5), np.array([9.97]))
    found = {int(np.mean([one.xy[0], one.xyann[0]])): bool(one.xy[0] > one.xyann[0]) for one in ax.texts}
    assert found == {k: k > 5 for k in range(1, 14) if k != 9}


def test_colours_are_taken_in_turn_and_three_numbers_are_one_colour(ax):
    two = run(np.stack([CYCLE, -CYCLE], axis=1), PrototypeFlow([[0.0, 1.0], [1.0, 0.0]], 1.0))
    drawn = lambda colour: [line.get_color() for line in two.plot(ax, smooth=False, colour=colour).lines]
    assert drawn(["red", "blue"]) == ["red", "blue"]
    assert drawn((0.1, 0.2, 0.3)) == [(0.1, 0.2, 0.3)] * 2


def test_a_branch_of_a_parameter_has_the_names_and_units_of_its_system(ax):
    flow = FunctionFlow(lambda t, x, mu: x, names=("x",), units=("m",), parameters={"mu": 0.0})
    drawn = branch().plot(ax, parameter=Parameter(flow, "mu", 0.0, 1.0, unit="nA"), branches={"linewidth": 3.0})
    assert (ax.get_xlabel()[-5:], ax.get_ylabel()) == (" (nA)", "$x$ (m)")
    assert drawn.branches[0].get_linewidth() == 3.0


def test_outliers_do_not_set_the_limits_of_exponents(ax):
    running = 0.9 + 0.01 * np.sin(np.arange(40.0))
    running[0] = 1e4  # the first estimate
    running_exponents(ax, np.arange(40.0), running[:, None], [0.01])
    assert 0.9 < ax.get_ylim()[1] < 2
    sigma = np.full((40, 1), 0.01)
    sigma[3] = 1e4
    other = Figure().subplots()
    exponents_against(other, np.arange(40.0), running[1:2] + 0 * sigma, sigma, xlabel="p", converged=[True] * 40)
    assert 0.9 < other.get_ylim()[1] < 2


def test_what_is_left_out_has_a_place_or_a_line_in_a_legend(ax):
    section(ax, np.empty((0, 2)), labels=("x", "y"))
    assert not ax.get_legend_handles_labels()[1]
    assert place_names(ax, np.empty((0, 2)), []) == []
    basin_entries(ax, np.arange(14))
    words = ax.get_legend_handles_labels()[1]
    assert (len(words), words[11], words[12]) == (13, "basin 12: 7.1%", "and 2 more")
    with pytest.raises(
        ValueError, match=r"`velocity` must have shape \(rows, columns, 2\) = \(2, 3, 2\), but has shape"
    ):
        streamlines(ax, np.arange(3.0), np.arange(2.0), np.ones((3, 2, 2)))


def test_titles_are_those_of_the_axes_that_are_given(ax):
    on_simplex().plot(ax, title="shares")
    assert ax.get_title() == "shares"
    alone = on_simplex().plot(title="shares").figure
    assert (alone.get_suptitle(), alone.axes[0].get_title()) == ("shares", "")


def test_a_path_in_space_may_have_one_colour():
    ax = space_axes(Figure())
    attractor(ax, np.stack([TURNS, TURNS**2, -TURNS], axis=1), colour="red")
    np.testing.assert_allclose(ax.collections[0].get_colors()[0], (1.0, 0.0, 0.0, 1.0))


def test_curves_have_room_and_of_more_than_twelve_the_first_and_the_last_are_named():
    flow = FunctionFlow(lambda t, x: x)

    def drawn(count):
        ax = Figure().subplots()
        values = np.linspace(0.0, 2.0, 5)[:, None] * np.linspace(-1.0, 1.0, count) if count > 1 else TURNS[:5, None]
        run(values, flow).plot(ax, smooth=False)
        return ax

    one, many = drawn(1), drawn(13)
    height = TURNS[4]
    np.testing.assert_allclose([one.get_ylim(), many.get_ylim()], [(-0.15 * height, 1.15 * height), (-2.2, 2.2)])
    assert (one.get_ylabel(), one.get_legend_handles_labels()[1]) == ("$x_{1}$", [])
    assert [len(ax.get_legend_handles_labels()[1]) for ax in (drawn(2), drawn(12), many)] == [2, 12, 2]
    assert many.get_legend_handles_labels()[1][-1].startswith("$x_{13}")


def test_boundaries_of_basins_lie_between_the_points_of_the_grid():
    """The points are a quarter apart, and two basins meet between 0.25 and 0.5."""
    lines = [one for one in basins().plot().axes[0].collections if isinstance(one, LineCollection)]
    ends = np.concatenate([segment for one in lines for segment in one.get_segments()])
    np.testing.assert_allclose(ends[:, 0], 0.375)
    assert (ends[:, 1].min(), ends[:, 1].max(), len(ends)) == (-1.125, 1.125, 18)


def test_a_path_of_distributions_lies_in_a_triangle_and_is_broken_where_states_are_unknown():
    flow = FunctionFlow(lambda t, x: x, Simplex(), names=("a", "b", "c"))
    states = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    lost = np.where(np.arange(3)[:, None] < 2, states, np.nan)
    for rows in (states, lost):
        drawn = run(rows, flow).plot(path=True, smooth=False, linewidth=3.0)
        np.testing.assert_allclose(drawn.lines[0].get_xydata(), simplices.CORNERS + 0 * rows[:, :1])
        assert drawn.lines[0].get_linewidth() == 3.0
    assert {"$a$", "$b$", "$c$"} <= {text.get_text() for text in drawn.axes[0].texts}


def test_exponents_of_two_sizes_have_axes_of_their_own_if_two_are_given():
    running = np.array([[1.0, -20.0], [1.25, -20.5]])
    found = LyapunovSpectrum(running[-1], np.array([0.125, 0.5]), np.array([1.0, 2.0]), running, True, "")
    small, large = Figure().subplots(2)
    assert [line.axes for line in found.plot([small, large]).lines] == [small, large]
    with pytest.raises(ValueError, match="`ax` must be one, or one for each of 2 groups of sizes, but are 3"):
        found.plot(Figure().subplots(3))


def test_orbits_of_a_diagram_reach_from_their_least_to_their_largest_at_each_of_their_parameters(monkeypatch):
    """Marks and bifurcations are orbits of one point each, at parameters of their own."""
    monkeypatch.setattr(
        diagrams, "orbit_ranges", lambda of, one, k: np.stack([one.parameters - k, one.parameters + k], axis=1)
    )
    states = Cycle(np.zeros((2, 2, 1, 2)), np.array([2.0, 4.0]))
    fold = Bifurcation("fold", Cycle(np.zeros((2, 1, 2)), np.asarray(3.0)), 1.5, np.empty(0), 0.5, 0.0, np.zeros(2))
    orbits = Branch(states, ENDS, ENDS - 1, np.zeros((2, 2), complex), ("stable",) * 2, (fold,), ("bounds",) * 2)
    flow = FunctionFlow(lambda t, x, mu: x, names=("x", "y"), parameters={"mu": 1.5})
    rows, at = diagrams.measured(Diagram("mu", (), (), (orbits,)), 1, Parameter(flow, "mu", 0.0, 9.0)).values[0]
    assert (rows.tolist(), at.tolist()) == ([[0.0, 2.0], [1.0, 3.0]], [[0.5, 2.5]])
    made = Diagram("mu", (), (), (orbits,), names=("x", "y"))
    known = quantities.shown(quantities.Drawn(made, ((orbits, True),), ((rows, at),)), "period")
    drawn = diagrams.diagram(made, quantity="period", measures=known, style={"linewidth": 3.0})
    assert {line.get_linewidth() for line in drawn.orbits} == {3.0}


def test_turns_of_tori_are_their_periods_or_both_frequencies():
    tori = SimpleNamespace(tori=[SimpleNamespace(period=p, frequencies=(1 / p, 3 / p)) for p in (2.0, 4.0)])
    assert quantities._turns(tori, "period").tolist() == [[2.0], [4.0]]
    assert quantities._turns(tori, "frequency").tolist() == [[0.5, 1.5], [0.25, 0.75]]


def test_a_sphere_with_long_names_has_them_in_its_legend_and_its_title_above():
    field = np.eye(3)[[1, 2, 0]]
    found = Portrait(np.eye(3), field, np.zeros((0, 3)), (), np.zeros(3, int))
    drawn = found.plot(names=["share of the first strategy", "$b$", "$c$"], title="games")
    assert (drawn.figure.get_suptitle(), [ax.get_title() for ax in drawn.axes]) == ("games", ["front", "back"])
    words = [text.get_text() for text in drawn.legend.get_texts()]
    assert [word for word in words if word.startswith("$y_")] == [
        "$y_1$: share of the first strategy", "$y_2$: $b$", "$y_3$: $c$",
    ]  # fmt: skip
    (ax,) = found.plot(Figure().subplots(), title="games").axes
    assert ax.get_title() == "games"


def test_an_interactive_session_finds_the_parts_of_a_drawing_and_shows_only_own_figures(ax):
    drawn = run().plot(ax, smooth=False)
    assert {"lines", "errors", "save"} <= {*dir(drawn)}
    assert drawn._repr_png_() is None
    assert run().plot(smooth=False)._repr_png_()[0][:4] == b"\x89PNG"


def test_labels_of_ticks_have_commas_one_by_one_and_together():
    ax = Figure().subplots()
    ax.xaxis.set_major_formatter("{x:.2f}")
    comma(ax.figure)
    made = ax.xaxis.get_major_formatter()
    assert (made(1.25, 0), made.format_ticks([0.5, 2.0])) == ("1,25", ["0,50", "2,00"])

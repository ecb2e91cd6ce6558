"""Panels draw sides, signs, orders and directions as the data have them: exact places for unequal entries."""

import numpy as np
import pytest
from matplotlib.colors import LogNorm, Normalize, to_hex, to_rgba
from matplotlib.patches import FancyArrowPatch
from matplotlib.quiver import Quiver

from analysis.dynamics.equilibria.families import Family
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from figures import panels
from figures.panels import bifurcations, exponents, labels, limit_marks, maps, phase, portrait_curves, shares, simplices
from figures.panels import series as series_panels
from figures.panels.basins import basin_entries, basin_image, tints
from figures.panels.curves import member_curves, quantile_band
from figures.panels.hulls import followed_tokens, half_plane
from figures.panels.limit_marks import LimitMark
from figures.panels.manifolds import critical_manifold
from figures.panels.shown import cell_edges, leaving_marks, member_limits
from figures.panels.tokens import HIDDEN, View, surface, visible_pieces
from figures.style import BASINS, COLOURS, NO_BASIN, SERIES, canvas, colour, large, paler, settings

ROW = np.array([1.0, 2.0, 4.0, 8.0])


@pytest.fixture
def ax():
    with settings():
        yield canvas()[1][0]


def points(line):
    return np.asarray(line.get_xydata()).tolist()


def corners(band):
    """Return the set of corners of a filled band."""
    return {tuple(np.round(corner, 9)) for corner in band.get_paths()[0].vertices}


def test_lines_that_leave_at_both_edges_go_on_to_both_extremes(ax):
    (line,) = ax.plot([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 10.0, 0.0, -40.0, 0.0])
    assert leaving_marks(ax, (-4.0, 2.0), [line]) == (-40.0, 10.0)
    marks = {(mark.get_marker(), *points(mark)[0]) for mark in ax.lines[1:] if len(points(mark))}
    assert marks == {("^", 0.2, 2.0), ("^", 1.8, 2.0), ("v", 2.1, -4.0), ("v", 3.9, -4.0)}
    named = {mark.get_marker(): mark.get_label() for mark in ax.lines[1:] if not len(points(mark))}
    assert named == {"v": "goes on to $-40$", "^": "goes on to $10$"}
    assert ax.get_ylim() == (-4.0, 2.0)


def test_limits_of_members_that_all_failed_are_the_middle_of_each():
    rows = np.stack([np.append(np.linspace(0.0, 1.0, 20), [1e9, np.nan]), np.full(22, np.nan)])
    found = member_limits(rows, [False, False])
    assert found == pytest.approx((2 / 19 - 0.08 * 16 / 19, 18 / 19 + 0.08 * 16 / 19), abs=1e-12)
    whole = np.vstack([np.arange(40.0)[:, None] + np.array([0.0, 0.5]), [[-1e6, 1e6]]])
    low, high = member_limits(whole, np.arange(41) < 40)
    inner = np.quantile(np.arange(40.0), 0.05), np.quantile(np.arange(40.0) + 0.5, 0.95)
    pad = 0.08 * (inner[1] - inner[0])
    assert (low, high) == pytest.approx((inner[0] - pad, inner[1] + pad))


def test_edges_of_cells_lie_midway_and_as_far_outside():
    np.testing.assert_allclose(cell_edges(np.array([0.0, 2.0, 3.0]), False), [-1.0, 1.0, 2.5, 3.5])


def test_arrow_heads_on_the_circle_point_with_the_flow_and_are_left_out_where_it_is_slow(ax):
    angles = np.arange(200) * 2 * np.pi / 200
    speeds = np.where(np.cos(angles) > 0, np.where(np.sin(angles) > 0, 1.0, 0.07), -2.0)
    phase.circle_portrait(ax, angles, speeds, limits=np.zeros(200, int), equilibrium_angles=[], kinds=[])
    heads = np.array([[*arrow.xyann, *arrow.xy] for arrow in ax.texts])
    tails, tips = (np.arctan2(heads[:, k + 1], heads[:, k]) % (2 * np.pi) for k in (0, 2))
    middles = (tails + tips) / 2
    np.testing.assert_allclose(middles, (np.arange(9) + 0.5) * np.pi / 6, atol=1e-12)
    np.testing.assert_allclose(tips - tails, [0.09] * 3 + [-0.09] * 6, atol=1e-12)
    (speed,) = [line for line in ax.lines if line.get_label() == "speed"]
    radius = np.linalg.norm(speed.get_xydata(), axis=1)
    np.testing.assert_allclose(radius, 1 + 0.45 * np.append(speeds, speeds[0]) / 2)


def test_equilibria_on_the_hidden_side_are_pale_at_their_own_places(ax):
    places = [[0.8, 0.6, 0.0], [-0.8, -0.6, 0.0]]
    phase.sphere_portrait(
        ax, np.concatenate([np.eye(3), -np.eye(3)]), np.zeros(6, int), field_points=[[0.6, 0.8, 0.0]],
        field=[[0.0, 0.0, 2.0]], equilibrium_points=places, kinds=["stable", "unstable"], view=View(0.0, 0.0),
        names={0: "a", 3: "b"},
    )  # fmt: skip
    front, back = ax.lines[-2:]
    assert (points(front), points(back)) == ([[0.6, 0.0]], [[-0.6, 0.0]])
    assert (front.get_color(), back.get_color()) == (colour("stable"), paler(colour("unstable"), HIDDEN))
    (arrows,) = [part for part in ax.collections if isinstance(part, Quiver)]
    np.testing.assert_allclose([arrows.U, arrows.V], [[0.0], [1.0]], atol=1e-12)
    named = {patch.get_label(): to_hex(patch.get_facecolor()) for patch in ax.patches if "basin" in patch.get_label()}
    assert named == {f"basin of {word}": to_hex(paler(BASINS[k], 0.45)) for word, k in (("a", 0), ("b", 3))}


def test_types_of_equilibria_have_their_marks_and_labels(ax):
    words = ["stable node", "unstable focus", "saddle-focus", "stable node"]
    phase.equilibria(ax, np.arange(8.0).reshape(4, 2), ["stable", "unstable", "saddle", "stable"], types=words)
    assert [line.get_marker() for line in ax.lines] == ["o", "s", "o", "o"]
    assert [line.get_label() for line in ax.lines][:3] == words[:3]
    assert ax.get_legend_handles_labels()[1] == words[:3]
    assert [points(line)[0] for line in ax.lines] == np.arange(8.0).reshape(4, 2).tolist()


def test_streamlines_follow_the_field_in_both_components():
    xs, ys = np.linspace(-1.0, 1.0, 7), np.linspace(-1.0, 1.0, 5)
    field = np.ones((5, 7, 2)) * [2.0, 0.5]
    for tint in (None, "black"):
        with settings():
            _, (ax,) = canvas()
            drawn = phase.streamlines(ax, xs, ys, field, colour=tint, density=0.2)
        steps = np.concatenate([np.diff(part, axis=0) for part in drawn.lines.get_segments()])
        np.testing.assert_allclose(steps[:, 1], 0.25 * steps[:, 0], atol=1e-9)
        assert np.sum(steps[:, 0]) > 0
        arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
        assert all(arrow._posA_posB[1][0] > arrow._posA_posB[0][0] for arrow in arrows)
        assert arrows


@pytest.mark.parametrize(
    ("speeds", "norm"), [((1.0, 30.0), Normalize), ((1.0, 31.0), LogNorm), ((0.0, 31.0), Normalize)]
)
def test_colours_of_speeds_are_logarithmic_from_a_factor_of_thirty(ax, speeds, norm):
    xs = np.linspace(0.0, 1.0, 4)
    drawn = phase.streamlines(ax, xs, xs, np.ones((4, 4, 2)), speeds=speeds, density=0.2)
    assert type(drawn.lines.norm) is norm
    assert drawn.lines.get_clim() == speeds


def test_the_range_of_speeds_leaves_a_fiftieth_out_at_each_end():
    speeds = np.arange(1.0, 102.0)
    field = np.stack([3 * speeds, 4 * speeds], axis=-1)
    for grid in (field, field.reshape(1, -1, 2)):
        assert phase.speed_range(grid) == pytest.approx((5 * 3.0, 5 * 99.0))
    field[3, 0] = np.nan
    assert phase.speed_range(np.full((4, 2), np.inf)) == (0.0, 0.0)
    assert phase.speed_range([[3.0, 4.0], [3.0, 4.004]]) == pytest.approx((5.0032, 5.0032), abs=1e-3)


def test_nullclines_that_touch_and_hidden_points_belong_to_their_component(ax):
    xs, ys = np.linspace(-1.0, 1.0, 21), np.linspace(-1.0, 1.0, 11)
    X, Y = np.meshgrid(xs, ys)
    pieces = np.array([[[0.1, 0.2], [0.3, 0.4]]])
    hidden = np.zeros((11, 21, 2), bool)
    hidden[..., 1] = X > 0  # of the second component alone
    phase.nullclines(ax, xs, ys, np.stack([X**2, Y], axis=-1), hidden=hidden, touching=(pieces, ()))
    segments, contour = ax.collections
    np.testing.assert_allclose(segments.get_segments(), pieces)
    assert to_hex(segments.get_color()[0]) == to_hex(colour("nullcline-1"))
    assert contour.get_paths()[0].vertices[:, 0].max() == pytest.approx(0.0)
    assert [line.get_label() for line in ax.lines] == [r"$\dot{x} = 0$", r"$\dot{y} = 0$"]


def test_means_lie_in_their_ranges_and_members_in_front(ax):
    panels.with_range(ax, [0.0, 1.0], [[1.0, 2.0], [3.0, 6.0], [8.0, 7.0]], role="first", ylabel="s", xlabel="x")
    assert {(0.0, 1.0), (0.0, 8.0), (1.0, 2.0), (1.0, 7.0)} <= corners(ax.collections[0])
    _, dots = (panels.over_sizes(ax, [1.0, 2.0], [[1.0, 2.0], [3.0, 6.0]], role="second", label="a"), ax.lines[-1])
    assert points(dots) == [[1.0, 1.0], [1.0, 2.0], [2.0, 3.0], [2.0, 6.0]]
    values = np.arange(21.0)[:, None] * np.array([1.0, 2.0])
    drawn = member_curves(ax, [0.0, 1.0], values, members=2)
    np.testing.assert_allclose(drawn.get_segments(), [[[0.0, k], [1.0, 2 * k]] for k in (0.0, 1.0)])
    band = quantile_band(ax, [0.0, 1.0], values, what="$x$")
    assert band.get_label() == "$x$, 5 to 95 % of 21"
    assert {(0.0, 1.0), (0.0, 19.0), (1.0, 2.0), (1.0, 38.0)} <= corners(band)


def test_numbers_on_a_grid_lie_in_cells_and_grow_darker(ax):
    counts = np.array([[0, 1, 3], [1, 3, 0]])
    image = bifurcations.number_image(
        ax, counts, [0.0, 1.0, 2.0], [10.0, 14.0], what="stable", undecided=counts == 9
    )  # fmt: skip
    assert image.get_extent() == [-0.5, 2.5, 8.0, 16.0]
    greys = {0: 1.0, 1: 0.875, 3: 0.75}
    np.testing.assert_allclose(image.get_array()[..., 0], np.vectorize(greys.get)(counts))
    said = {patch.get_label(): to_rgba(patch.get_facecolor())[0] for patch in ax.patches}
    assert said == {f"{number} stable": pytest.approx(grey) for number, grey in greys.items()}
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, 2.0), (10.0, 14.0))
    unknown = bifurcations.number_image(ax, counts, [0.0, 1.0, 2.0], [10.0, 14.0], what="s", undecided=counts == 1)
    tint = to_rgba(paler(COLOURS["undecided"], bifurcations.PALE))[:3]
    np.testing.assert_allclose(unknown.get_array()[0, 1], tint, atol=1e-6)
    np.testing.assert_allclose(unknown.get_array()[0, 2], 0.75)


def test_marks_of_bifurcations_are_filled_by_criticality_and_curves_have_their_colours(ax):
    kinds = ["supercritical Hopf point", "subcritical Hopf point", "fold", "degenerate Hopf point"]
    bifurcations.bifurcation_marks(ax, kinds, ROW, -ROW)
    assert [line.get_markerfacecolor() for line in ax.lines] == ["white", "black", "white", "0.6"]
    assert [line.get_marker() for line in ax.lines] == ["o", "o", "s", "o"]
    assert [points(line)[0] for line in ax.lines] == [[x, -x] for x in ROW]
    line = bifurcations.critical_lines(ax, "Hopf point", ROW, -ROW)
    assert (points(line), line.get_label()) == ([[x, -x] for x in ROW], "Hopf points")
    assert line.get_color() == COLOURS["second"]
    again = bifurcations.critical_lines(ax, "Hopf point", ROW, ROW)
    assert again.get_label().startswith("_")
    assert (
        bifurcations.critical_lines(ax, "fold of periodic orbits", ROW, ROW).get_label() == "folds of periodic orbits"
    )
    bifurcations.own_marks(ax, ["a", "b", "a"], ROW[:3], -ROW[:3])
    assert [(mark.get_marker(), *points(mark)[0]) for mark in ax.lines[-3:]] == [
        ("+", 1.0, -1.0), ("|", 2.0, -2.0), ("+", 4.0, -4.0),
    ]  # fmt: skip


def test_a_branch_is_dashed_between_points_where_it_is_not_stable(ax):
    pieces = bifurcations.branch_lines(ax, ROW, [10.0, 20.0, 40.0, 80.0], [True, False, False])
    assert [(points(one), one.get_linestyle()) for one in pieces] == [
        ([[1.0, 10.0], [2.0, 20.0]], "-"), ([[2.0, 20.0], [4.0, 40.0], [8.0, 80.0]], "--"),
    ]  # fmt: skip
    smooth = bifurcations.smooth_curve(ROW, np.stack([ROW, ROW**2], axis=1), np.array([False, False, True, False]))
    assert len(smooth) == 3 * bifurcations.PIECES + 1
    np.testing.assert_allclose(smooth[:: bifurcations.PIECES, 1], ROW**2)
    np.testing.assert_allclose(smooth[-bifurcations.PIECES :, 1], 12 * smooth[-bifurcations.PIECES :, 0] - 32)


def test_surfaces_slide_where_they_do_and_manifolds_are_named_as_they_are(ax):
    segments = np.arange(12.0).reshape(3, 2, 2)
    rests = [([0.0, 1.0], [2.0, 3.0]), ([4.0, 5.0], [6.0, 7.0])]
    portrait_curves.jumps(ax, segments, [False, True, False], rests)
    jumping, sliding = ax.collections
    np.testing.assert_allclose(jumping.get_segments(), segments[[0, 2]])
    np.testing.assert_allclose(sliding.get_segments(), segments[[1]])
    assert [line.get_label() for line in ax.lines[:3]] == ["the field jumps", "sliding", "at rest by sliding"]
    assert points(ax.lines[3]) == [[4.0, 5.0], [6.0, 7.0]]
    portrait_curves.separatrices(ax, segments[:1], segments[1:])
    stable, unstable = ax.collections[2:]
    assert (stable.get_label(), unstable.get_label()) == ("stable manifold", "unstable manifold")
    np.testing.assert_allclose(stable.get_segments(), segments[:1])
    np.testing.assert_allclose(unstable.get_segments(), segments[1:])


def test_trajectories_are_broken_at_nan_and_start_at_their_first_state(ax):
    nan = [np.nan, np.nan]
    rows = np.array([[nan, [1.0, 2.0], [3.0, 4.0], nan, [5.0, 6.0], [7.0, 8.0]], [nan] * 5 + [[9.0, 9.0]]])
    portrait_curves.paths(ax, rows)
    assert [part.tolist() for part in ax.collections[0].get_segments()] == [
        [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]],
    ]  # fmt: skip
    assert points(ax.lines[0]) == [[1.0, 2.0]]


def test_a_closed_family_in_the_plane_is_closed_and_each_part_has_its_type(ax):
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    kinds = ("stable", "stable", "unstable", "unstable")
    portrait_curves.families(ax, [Family(square, kinds, "closed"), Family(square + 5, kinds, "open")])
    drawn = [line for line in ax.lines if line.get_label() != portrait_curves.HALO]
    assert {line.get_label() for line in drawn} >= {"stable equilibria", "unstable equilibria"}
    lengths = lambda lines: sum(
        float(np.sum(np.linalg.norm(np.diff(one.get_xydata(), axis=0), axis=1))) for one in lines
    )
    assert lengths([line for line in drawn if line.get_xdata()[0] < 4]) == pytest.approx(6.0)
    assert lengths([line for line in drawn if line.get_xdata()[0] > 4]) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("mark", "style"),
    [
        (("periodic orbit", True, False), "-"), (("periodic orbit", False, False), "--"),
        (("periodic orbit", None, True), ":"),
    ],
)  # fmt: skip
def test_a_limit_set_has_the_line_of_its_kind(ax, mark, style):
    kind, attracts, projected = mark
    path = np.stack([np.arange(70.0), np.arange(70.0) ** 2], axis=1)
    limit_marks.draw_mark(ax, LimitMark(path, kind, attracts, projected))
    (line,) = ax.lines
    dashes = {"-": "-", "--": bifurcations.DASHED, ":": limit_marks.DOTTED}[style]
    assert line._unscaled_dash_pattern == (0, None) if dashes == "-" else line._unscaled_dash_pattern == dashes  # pyright: ignore
    np.testing.assert_array_equal(line.get_xydata(), path)


def test_points_of_limit_sets_are_filled_if_they_attract_and_grey_if_projected(ax):
    place = np.array([[3.0]])
    for attracts, projected in ((True, False), (False, False), (True, True), (None, True)):
        limit_marks.draw_mark(ax, LimitMark(place, "fixed point", attracts, projected))
    limit_marks.draw_mark(ax, LimitMark(place, "periodic orbit", True))
    faces = [line.get_markerfacecolor() for line in ax.lines]
    assert faces == ["black", "white", colour("reference"), "white", "black"]
    assert [line.get_markeredgecolor() for line in ax.lines] == [
        "white", "black", "black", colour("reference"), "white",
    ]  # fmt: skip
    assert [line.get_marker() for line in ax.lines] == ["o"] * 4 + ["s"]
    assert points(ax.lines[0]) == [[3.0, 0.5]]
    assert [line.get_label() for line in ax.lines[:4]] == [
        "attracting fixed point", "fixed point, not attracting", "attracting fixed point (projected)",
        "fixed point, undecided (projected)",
    ]  # fmt: skip
    many = np.stack([np.arange(9001.0), np.arange(9001.0)], axis=1)
    limit_marks.draw_mark(ax, LimitMark(many, "recurrent set", True))
    assert ax.lines[-1].get_xdata().tolist() == np.arange(0.0, 9001.0, 3).tolist()


def test_a_cobweb_and_orbits_show_their_first_steps(ax):
    maps.orbits(ax, np.arange(24.0).reshape(2, 6, 2), labels=("a", "b"), until=1 / 3)
    first, second = ax.lines
    assert np.asarray(first.get_xydata())[:2].tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert np.isnan(np.asarray(second.get_ydata())[2:]).all()
    assert (first.get_color(), second.get_color()) == tuple(COLOURS[SERIES[k]] for k in range(2))
    with settings():
        _, (own,) = canvas()
        maps.cobweb(own, [0.0, 2.0], [1.0, 5.0], [0.5, 2.0, 5.0], label="$x$")
    diagonal, graph, web, start = own.lines
    assert points(diagonal) == [[0.0, 0.0], [5.0, 5.0]]
    assert points(graph) == [[0.0, 1.0], [2.0, 5.0]]
    assert points(web) == [[0.5, 0.5], [0.5, 2.0], [2.0, 2.0], [2.0, 5.0], [5.0, 5.0]]
    assert (points(start), own.get_xlim()) == ([[0.5, 0.5]], (0.0, 2.0))
    assert (own.get_xlabel(), own.get_ylabel()) == ("$x$ at step $k$", "$x$ at step $k + 1$")


def test_directions_of_crossings_have_their_colours_and_names(ax):
    maps.section(ax, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], labels=("a", "b"), directions=[1, -1, 1])
    up, down = ax.lines
    assert (points(up), points(down)) == ([[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0]])
    assert (up.get_label(), down.get_label()) == ("upwards", "downwards")
    with settings():
        _, (own,) = canvas()
        maps.section(own, [[0.0, 1.0], [2.0, 3.0]], labels=("a", "b"), directions=[-1, -1])
    assert own.lines[0].get_color() == COLOURS[SERIES[1]]
    assert own.get_legend_handles_labels()[1] == []


def test_a_spectrum_leaves_out_rounding_and_on_a_logarithmic_axis_the_mean():
    f, y = np.arange(5.0), np.array([4.0, 1.0, 1e-17, 2.0, 1e-30])
    for logarithmic, first in ((False, 0), (True, 1)):
        drawn = PowerSpectrum(f, y, 1.0).plot(logarithmic=logarithmic)
        (line,) = drawn.lines
        np.testing.assert_array_equal(line.get_ydata(), [4.0, 1.0, np.nan, 2.0, np.nan][first:])
        assert drawn.axes[0].get_xlim() == (float(first), 3.0)
        assert drawn.axes[0].get_xscale() == ("log" if logarithmic else "linear")
    assert PowerSpectrum(f, y, 1.0).plot(bounds=(0.5, 2.0)).axes[0].get_xlim() == (0.5, 2.0)
    assert series_panels.spectrum_labels("x", "mV", "s") == (
        "frequency (1/s)", f"power density of $x$ (mV$^2${series_panels.NARROW}s)",
    )  # fmt: skip
    assert series_panels.spectrum_labels("x", "", "s")[1] == "power density of $x$ (s)"
    assert series_panels.spectrum_labels("x", "mV", "")[1] == "power density of $x$ (mV$^2$)"


def test_a_recurrence_plot_covers_squares_around_both_times_and_the_test_has_its_median():
    recurs = np.array([[True, True, False], [False, True, False], [False, False, True]])
    drawn = RecurrencePlot(np.array([1.0, 3.0, 5.0]), recurs, 0.1, time_unit="s").plot()
    (image,) = drawn.image
    assert image.get_extent() == [0.0, 6.0, 0.0, 6.0]
    np.testing.assert_array_equal(image.get_array(), recurs.T)
    ax = drawn.axes[0]
    assert (image.origin, ax.get_xlabel(), ax.get_ylabel()) == ("lower", "time $t$ (s)", "time $t$ (s)")
    drawn = ZeroOneTest(np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.75, 1.0]), 1, 100).plot()
    assert points(drawn.points[0]) == [[1.0, 0.5], [2.0, -0.75], [3.0, 1.0]]
    assert (drawn.median[0].get_ydata()[0], drawn.median[0].get_label()) == (0.5, "median $K = 0.500$")
    assert drawn.axes[0].get_ylim() == (-0.85, 1.1)


def test_a_phase_response_is_in_the_unit_that_is_asked_for():
    values = np.array([[1.0, -2.0], [3.0, 0.5]])
    found = PhaseResponse(np.array([0.0, 1.0]), values, values, 4.0, 0.0, ("v", "w"), ("mV", ""), "s")
    for unit, factor, label in (("time", 1.0, " (s)"), ("radians", np.pi / 2, " (rad)"), ("cycles", 0.25, "")):
        drawn = found.plot(phase=unit)
        lines = [line for line in drawn.lines if line.get_label() in ("$v$", "$w$")]
        np.testing.assert_allclose([line.get_ydata() for line in lines], factor * values.T)
        assert drawn.axes[0].get_ylabel() == f"phase advance per unit of a kick{label}"
    (line,) = [one for one in found.plot(component="w").lines if one.get_label() == "$w$"]
    np.testing.assert_allclose(line.get_ydata(), values[:, 1])


def test_isochrons_have_colours_of_their_phases_in_their_window():
    from matplotlib import colormaps

    curve = [np.array([[0.0, k], [1.0, k]]) for k in (1.0, 2.0)]
    box = np.array([[-1.0, 2.0], [-3.0, 5.0]])
    drawn = Isochrons(np.array([0.0, 0.25]), tuple(curve), curve[0] + 9, box, ("v", "w"), ("mV", "")).plot()
    first, second = drawn.isochrons
    assert (points(first), points(second)) == (curve[0].tolist(), curve[1].tolist())
    assert [to_hex(line.get_color()) for line in (first, second)] == [
        to_hex(colormaps["twilight"](p)) for p in (0, 0.25)
    ]
    ax = drawn.axes[0]
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_xlabel()) == ((-1.0, 2.0), (-3.0, 5.0), "$v$ (mV)")
    assert points(drawn.cycle[0]) == (curve[0] + 9).tolist()


def test_a_locking_region_lies_between_both_ends_at_each_strength():
    shifts = np.linspace(0.0, 1.0, 65)
    found = LockingRange(shifts, 0.5 * np.sin(2 * np.pi * shifts) - 0.25, 2.0, (3, 2), "s")
    drawn = found.plot(strength=0.5)
    left, right = drawn.lines
    strengths = np.linspace(0.0, 0.5, 101)
    np.testing.assert_allclose(left.get_xydata(), np.stack([3 * (1 - 0.75 * strengths), strengths], axis=1), atol=1e-6)
    np.testing.assert_allclose(right.get_xydata(), np.stack([3 * (1 + 0.25 * strengths), strengths], axis=1), atol=1e-6)
    box = drawn.region[0].get_datalim(drawn.axes[0].transData)
    assert (box.x0, box.x1, box.y1) == pytest.approx((3 * 0.625, 3 * 1.125, 0.5), abs=1e-6)
    assert drawn.axes[0].get_xlabel() == "frequency of the forcing (rad/s)"


def test_shares_have_their_bands_and_one_name_for_them(ax):
    middle, low, high = np.array([[0.5, 0.25]]), np.array([[0.25, 0.125]]), np.array([[0.875, 0.375]])
    shares.share_curves(ax, [1.0], [0, -1], middle, low, high, names={0: "first"}, colours={0: "red"})
    assert [line.get_label() for line in ax.lines] == ["first", "not settled"]
    assert ax.collections[0].get_label() == "confidence interval"
    assert ax.collections[1].get_label().startswith("_")
    assert {(1.0, 0.125), (1.0, 0.375)} <= corners(ax.collections[1])
    assert ax.lines[0].get_color() == "red"


def test_attention_has_queries_in_rows_and_a_bar_with_ticks_at_weights(ax):
    weights = np.array([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    hidden = np.triu(np.ones((3, 3), bool), 1)
    image = panels.attention(ax, weights, masked=hidden, label="head 1")
    np.testing.assert_allclose(image.get_array().data ** 2, weights)
    np.testing.assert_array_equal(image.get_array().mask, hidden)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("key", "query", "head 1")
    bar = panels.weight_bar([ax], image)
    np.testing.assert_allclose(np.square(bar.get_ticks()), [0.0, 0.01, 0.1, 0.25, 0.5, 1.0])
    leak = panels.leaks(ax, np.array([[1.0, 1e-9], [0.0, 0.1]]), block=1)
    np.testing.assert_allclose(leak.get_array().filled(-1.0), [[1.0, 0.01], [-1.0, 0.1]])
    assert (leak.norm.vmin, leak.norm.vmax) == (0.01, 1.0)


def test_heads_have_their_own_rows_and_arrivals_within_their_lives(ax):
    lines = panels.temperature_fan(ax, [0.0, 1.0], [[1.0, 2.0, 3.0], [0.5, 0.75, 4.0]], least=0.25)
    assert [line.get_ydata().tolist() for line in lines] == [[1.0, 0.5], [2.0, 0.75], [3.0, 4.0]]
    assert ax.lines[-1].get_ydata()[0] == 0.25
    with settings():
        _, (own,) = canvas()
        panels.head_lives(own, [0.0, 1.0], [4.0, 3.0], [2.0, 9.0])
    assert [points(line) for line in own.lines if line.get_marker() == "D"] == [[[2.0, 1.0]]]
    assert [points(line) for line in own.lines if line.get_marker() == "|"] == [[[0.0, 1.0]], [[1.0, 2.0]]]


def test_a_path_has_the_colours_of_its_times_and_its_two_ends(ax):
    pieces = panels.timed_path(ax, [0.0, 1.0, 3.0], [2.0, 2.0, 4.0], [1.0, 2.0, 6.0], last=8.0)
    np.testing.assert_allclose(pieces.get_array(), [1.5, 4.0])
    assert pieces.get_clim() == (0.0, 8.0)
    start, end = ax.lines
    assert (points(start), points(end), start.get_markerfacecolor()) == ([[0.0, 2.0]], [[3.0, 4.0]], "white")
    with settings():
        _, (own,) = canvas()
        field = np.ones((4, 4, 2)) * [2.0, 0.5]
        lines = panels.pair_portrait(own, np.arange(4.0), field, [1.0, 3.0], places=[[1.0, 2.0]], kinds=["stable"])
    steps = np.concatenate([np.diff(part, axis=0) for part in lines.lines.get_segments()])
    np.testing.assert_allclose(steps[:, 1], 0.25 * steps[:, 0], atol=1e-9)
    dots = [points(line) for line in own.lines if line.get_marker() == "o"][:2]
    assert dots == [[[1.0, 0.0], [3.0, 0.0]], [[0.0, 1.0], [0.0, 3.0]]]


def test_half_planes_lie_on_the_side_of_their_normal_and_followers_have_both_colours(ax):
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    line = half_plane(ax, [0.5, 0.25], [2.0, 1.0], role="first")
    np.testing.assert_allclose((np.asarray(line.get_xydata()) - [0.5, 0.25]) @ [2.0, 1.0], 0.0, atol=1e-12)
    (shade,) = ax.patches
    inside = [shade.get_path().contains_point(np.array([0.5, 0.25]) + side * np.array([0.2, 0.1])) for side in (1, -1)]
    assert inside == [True, False]
    marks = followed_tokens(ax, np.arange(8.0).reshape(4, 2), [[0, -1], [0, 2], [1, 0], [0, -2]],
                            colours={0: 0, 1: 1, 2: 2})  # fmt: skip
    assert [mark.get_marker() for mark in marks] == ["*", "o", "o", "o"]
    faces = [(mark.get_markerfacecolor(), mark.get_markerfacecoloralt()) for mark in marks]
    grey = colour("surface")
    assert faces == [(BASINS[0],) * 2, (BASINS[0], BASINS[2]), (BASINS[1], BASINS[0]), (grey, grey)]
    assert [mark.get_fillstyle() for mark in marks] == ["full", "left", "left", "full"]


def test_the_brightest_point_of_a_surface_faces_the_light(ax):
    image = surface(ax, view=View(0.0, 0.0))
    shade = np.asarray(image.get_array())
    left, right, low, high = image.get_extent()
    row, column = np.unravel_index(np.argmax(shade), shade.shape)
    at = left + (right - left) * column / 95, low + (high - low) * row / 95
    light = np.array([-0.45, 0.55, 0.70])
    assert at == pytest.approx(tuple(light[:2] / np.linalg.norm(light)), abs=0.03)
    assert (shade.max(), shade.min()) == pytest.approx((1.0, 0.88 - 0.12 * 0.3), abs=1e-3)
    with settings():
        _, (own,) = canvas()
        image = surface(own, view=View(0.0, 0.0), matrix=np.diag([4.0, 1.0, 1.0]))  # half as deep as wide
    shade = np.asarray(image.get_array())
    row, column = np.unravel_index(np.argmax(shade), shade.shape)
    steep = 2 * light[:2] / light[2]
    assert (2 * column / 95 - 1, 2 * row / 95 - 1) == pytest.approx(
        tuple(steep / np.hypot(1, np.hypot(*steep))), abs=0.03
    )
    pieces = visible_pieces(np.arange(10.0).reshape(5, 2), np.array([True, True, False, False, True]))
    assert [(part[:, 0].tolist(), seen) for part, seen in pieces] == [
        ([0.0, 2.0], True), ([2.0, 4.0, 6.0], False), ([6.0, 8.0], True),
    ]  # fmt: skip


def test_entries_of_basins_have_their_shares_in_order(ax):
    found = np.array([[1, 1, 0, -2], [1, 1, -1, -1]])
    basin_entries(ax, found, names={1: "the second"}, least=1 / 8)
    assert [patch.get_label() for patch in ax.patches] == [
        "basin 1: 12.5%", "the second: 50.0%", "not settled: 25.0%", "escaped: 12.5%",
    ]  # fmt: skip
    assert tints(found, {0: "red"})[0] == (1.0, 0.0, 0.0)
    assert tints(found)[-1] == to_rgba(NO_BASIN)[:3]
    image = basin_image(ax, found, [[0.0, 1.0], [0.0, 2.0, 4.0, 6.0]])
    assert image.get_extent() == [-0.5, 1.5, -1.0, 7.0]
    np.testing.assert_allclose(image.get_array()[2, 0], tints(found)[0], atol=3e-3)
    strip = basin_image(ax, found[0], [[0.0, 2.0, 4.0, 6.0]])
    assert strip.get_extent() == [-1.0, 7.0, 0.0, 1.0]
    assert strip.get_array().shape == (1, 4, 3)


def test_a_critical_manifold_has_at_a_fold_the_kind_of_the_other_end(ax):
    kinds = ["attracting", "attracting", "undecided", "repelling"]
    lines = critical_manifold(ax, ROW, -ROW, kinds, folds=[[4.0, -4.0]])
    assert [part[:, 0].tolist() for part in lines.get_segments()] == [[1.0, 2.0, 4.0], [4.0, 8.0]]
    assert [line.get_label() for line in ax.lines] == ["attracting", "repelling", "fold"]
    assert points(ax.lines[-1]) == [[4.0, -4.0]]
    with settings():
        _, (own,) = canvas()
        drawn = panels.error_against(own, ROW, [ROW, 3 * ROW**2], labels="ab", roles=["first", "second"], slopes=(2,))
    guide = own.lines[-1]
    np.testing.assert_allclose(guide.get_ydata(), 1.5 * ROW**2)
    assert (drawn[1].get_ydata().tolist(), guide.get_label()) == ((3 * ROW**2).tolist(), "slope 2")


def test_exponents_are_apart_in_their_own_colours(ax):
    values = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, 3.5]])
    exponents.running_exponents(
        ax, [1.0, 2.0], values, [0.1, 0.2, 0.3], which=[2, 0], colours=["red", "green", "blue"], parts=("lines",)
    )
    assert [(line.get_color(), line.get_ydata()[-1]) for line in ax.lines] == [("blue", 3.5), ("red", 1.5)]
    assert ax.get_legend_handles_labels()[1] == [r"$\lambda_{3} = 3.5 \pm 0.3$", r"$\lambda_{1} = 1.5 \pm 0.1$"]
    assert exponents.groups([10.0, -2.0, -1.9], [0.1, 0.1, 0.1]) == [[2], [0, 1]]
    assert exponents.groups([10.0, 1.0, np.inf], [0.1, 0.34, 0.1]) == [[0, 1, 2]]


def test_labels_name_a_unit_only_if_all_share_it():
    assert labels.shared_unit(["m", "m"]) == "m"
    assert labels.shared_unit(["m", "s"]) == ""
    five = ["a"] * 5
    assert labels.slice_label(five, [2.0, 2.0, 2.0, 2.0, 1.0]) == "5 other components held fixed"
    assert labels.slice_label(five, [2.0] * 5) == "5 other components = 2"
    assert labels.slice_label(["x"] * 4, [1.0, 2.0, 3.0, -4.0]).endswith("= \N{MINUS SIGN}4")
    assert labels.time_label("s") == "time $t$ (s)"


@pytest.mark.parametrize(("count", "size", "raster"), [(2000, 1.6, False), (2001, 0.8, True), (40_001, 0.35, True)])
def test_many_dots_are_smaller_and_one_image(count, size, raster):
    _, (ax,) = canvas()
    line = maps.dots(ax, np.arange(count), np.zeros(count), colour="black")
    assert line.get_rasterized() is raster
    assert line.get_markersize() == pytest.approx(large(size))


def test_arrows_in_a_triangle_are_at_a_third_of_the_length_of_a_path_that_moves():
    _, (ax,) = canvas()
    long = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])  # along the side from the first to the second
    still = np.array([[0.5, 0.25, 0.25], [0.5, 0.26, 0.24], [0.5, 0.27, 0.23]])
    drawn = simplices.trajectories_in_triangle(ax, np.stack([long, still]))
    np.testing.assert_allclose([path.vertices for path in drawn.get_paths()], simplices.in_triangle([long, still]))
    (arrow,) = [text for text in ax.texts if text.arrow_patch is not None]
    first, second = simplices.CORNERS[:2]
    np.testing.assert_allclose(arrow.xyann, first + 0.33 * 0.8 * (second - first))
    np.testing.assert_allclose(arrow.xy, first + 0.36 * 0.8 * (second - first))
    marks = simplices.orbits(ax, [long, still], labels=("a", "b"))
    np.testing.assert_allclose(marks[1].get_xydata(), simplices.in_triangle(still))
    assert [line.get_label() for line in marks] == ["a", "b"]
    assert len({line.get_marker() for line in marks}) == 2
    with pytest.raises(ValueError, match="`labels` must name each of 2 orbits, at most 4"):
        simplices.orbits(ax, [long, still], labels=("a",))
    _, (ax,) = canvas()
    simplices.outline(ax, ("one", "two", "three"))
    np.testing.assert_allclose(ax.lines[0].get_xydata(), simplices.CORNERS[[0, 1, 2, 0]])
    middle = simplices.CORNERS.mean(axis=0)
    assert [text.get_text() for text in ax.texts] == ["one", "two", "three"]
    for text, corner in zip(ax.texts, simplices.CORNERS, strict=True):
        np.testing.assert_allclose(text.get_position(), corner + 0.11 * (corner - middle))

"""Panels draw the numbers they are given, in the colours of their roles, with named axes."""

import itertools

import equinox as eqx
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba

from analysis.tokens.densities import EqualAreaGrid
from dynsim import FunctionFlow, FunctionMap, Trajectory, iterate
from figures import panels
from figures.lengths import journal_width, length
from figures.panels.attractors import attractor, ends, space_axes, time_series
from figures.panels.densities import circle_density, sphere_density
from figures.panels.exponents import exponents_against, running_exponents
from figures.panels.limit_marks import LimitMark, in_window
from figures.panels.spectra import eigenvalues, multipliers
from figures.style import BASINS, COLOURS, NO_BASIN, WIDTHS, canvas, colour, paler, settings
from tests.support.figure_layout import check_layout

ELLIPSOID = np.array([[0.9432, 0.0587, -0.1813], [0.0587, 0.8450, -0.1013], [-0.1813, -0.1013, 0.5519]])


@pytest.fixture
def ax():
    with settings():
        return canvas()[1][0]


def run(ts, ys, error=None):
    """Return a trajectory with these states and estimated errors."""
    stats = iterate(FunctionMap(lambda k, x: x), [0.0], 1).stats
    stats = eqx.tree_at(lambda one: one.error, stats, error, is_leaf=lambda part: part is None)
    return Trajectory(ts, ys, FunctionFlow(lambda t, x: x), stats)


def great_circle(view, *, hidden):
    """Return the path (times, 1, 3) of a token across the visible or the hidden side."""
    right, _, toward = view.frame()
    angle = np.linspace(0.3, np.pi - 0.3, 50)[:, None]
    return (np.cos(angle) * right + np.sin(angle) * toward * (-1 if hidden else 1))[:, None]


def test_a_curve_holds_the_numbers_and_its_axes_are_named(ax):
    ts = np.linspace(0, 2, 30)
    line = panels.over_time(ax, ts, np.exp(-ts), role="energy", ylabel="energy $V$")
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([ts, np.exp(-ts)]))
    assert line.get_color() == COLOURS["energy"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time $t$", "energy $V$")


def test_several_curves_differ_in_colour_and_in_line_style(ax):
    ts = np.linspace(0, 1, 5)
    lines = panels.curves(ax, ts, np.stack([ts, -ts]), roles=("first", "second"), labels=("a", "b"), ylabel="$V$")
    assert lines[0].get_color() != lines[1].get_color()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_bands_hold_the_median_and_the_quantiles_without_failed_members(ax):
    ts = np.array([0.0, 1.0])
    values = np.stack([np.linspace(0, 1, 21), np.linspace(1, 3, 21)], axis=1)
    values = np.vstack([values, [0.5, np.nan]])
    line = panels.bands(ax, ts, values, ylabel="$E$", quantiles=(0.25, 0.75))
    np.testing.assert_allclose(line.get_ydata(), [0.5, 2.0])
    band = ax.collections[-1].get_paths()[0].vertices
    assert {(1.0, 1.5), (1.0, 2.5)} <= {tuple(np.round(point, 12)) for point in band}


def test_the_name_of_a_band_covers_no_data():
    ts = np.linspace(0.0, 1.0, 101)
    drawn = run(ts, np.cos(200 * ts)[:, None], np.full((101, 1), 0.1)).plot(smooth=False)
    assert drawn.axes[0].get_legend_handles_labels()[1] == ["estimated error"]
    check_layout(drawn.figure)


def test_a_component_over_time_has_a_margin_also_where_it_is_constant():
    values = np.array([[2.0, 0.0], [2.0, 4.0], [2.0, 10.0]])
    first, second = run(np.array([0.0, 1.0, 3.0]), values).plot(canvas(rows=2)[1], smooth=False, until=0.6).axes
    assert first.get_ylim() == (1.0, 3.0)
    assert second.get_ylim() == pytest.approx((-1.5, 11.5))
    assert [ax.get_xlim() for ax in (first, second)] == [(0.0, 3.0)] * 2
    np.testing.assert_array_equal(second.lines[0].get_xydata(), [[0.0, 0.0], [1.0, 4.0]])


@pytest.mark.parametrize("shape", [(3,), (2, 4)])
def test_values_of_another_length_than_the_times_are_refused(ax, shape):
    with pytest.raises(ValueError, match=r"Argument `values` must have shape \(times,\) to match `ts`, but has"):
        panels.over_time(ax, np.arange(4.0), np.zeros(shape), role="energy", ylabel="$V$")


def test_an_unknown_role_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="Argument `role` must be one of .* did you mean `leader`"):
        colour("leeder")


def test_paths_are_projected_onto_the_picture_and_start_open_and_end_filled(ax):
    view = panels.View(30.0, 50.0)
    path = great_circle(view, hidden=False)
    lines = panels.token_paths(ax, path, view=view)
    np.testing.assert_allclose(np.vstack(lines.get_segments()), view.project(path[:, 0]))
    start, end = ax.collections[-2:]
    np.testing.assert_allclose(start.get_offsets()[0], view.project(path[0, 0]))
    np.testing.assert_allclose(end.get_offsets()[0], view.project(path[-1, 0]))
    assert to_hex(start.get_facecolor()[0]) == "#ffffff"
    assert to_hex(end.get_facecolor()[0]) == to_hex(COLOURS["end"])


def test_the_hidden_side_is_paler_and_the_visible_one_has_the_colour_of_its_role(ax):
    view = panels.View()
    paths = np.concatenate([great_circle(view, hidden=False), great_circle(view, hidden=True)], axis=1)
    shown = panels.token_paths(ax, paths, view=view, roles=("leader", "leader")).get_colors()
    assert to_rgba(COLOURS["leader"]) == tuple(shown[-1])
    assert sum(shown[0][:3]) > sum(shown[-1][:3])


def test_what_one_view_hides_the_opposite_view_sees():
    points = np.random.default_rng(0).normal(size=(40, 3))
    view = panels.View(25.0, 70.0)
    assert np.all(view.sees(points, ELLIPSOID) != view.opposite().sees(points, ELLIPSOID))


def test_no_point_of_an_ellipsoid_is_outside_its_outline_and_the_true_axes_end_on_it(ax):
    image = panels.surface(ax, matrix=ELLIPSOID)
    outline = ax.patches[0].get_xy()
    points = np.random.default_rng(1).normal(size=(400, 3))
    points /= np.sqrt(np.einsum("ni,ij,nj->n", points, ELLIPSOID, points))[:, None]
    flat = panels.View().project(points)
    assert np.all(np.abs(flat) <= np.abs(outline).max(axis=0) + 1e-3)  # an outline of 180 corners
    assert np.all(ax.patches[0].get_path().contains_points(0.999 * flat))
    assert ax.get_aspect() == 1.0
    assert np.ptp(image.get_array()) > 0.05


def test_paths_of_the_wrong_shape_and_a_matrix_that_is_not_definite_are_refused(ax):
    with pytest.raises(ValueError, match="Argument `paths` must have shape"):
        panels.token_paths(ax, np.zeros((4, 2)))
    for matrix in (np.diag([1.0, 1.0, -1.0]), np.eye(3) + np.eye(3, k=1) / 2, np.eye(2)):
        with pytest.raises(ValueError, match="Argument `matrix` must be a symmetric positive definite"):
            panels.surface(ax, matrix=matrix)


def test_equal_eigenvalues_are_one_mark_with_their_number_and_growing_ones_are_filled(ax):
    values = np.array([-1.0, -1.0, -1.0, 0.5, 0.2 + 1j, 0.2 - 1j])
    marks = panels.eigenvalues(ax, values, role="first", label="at rest")
    np.testing.assert_allclose(marks.get_offsets(), [[-1, 0], [0.5, 0], [0.2, 1], [0.2, -1]])
    assert [to_hex(c) for c in marks.get_facecolor()] == ["#ffffff", *[COLOURS["first"].lower()] * 3]
    assert [text.get_text() for text in ax.texts] == [r"$\times3$"]
    assert "Re" in ax.get_xlabel()
    assert "Im" in ax.get_ylabel()
    panels.eigenvalues(ax, values - 1, role="second")  # both share the axes of the plane and its right half
    assert (len(ax.lines), len(ax.patches)) == (2, 1)


def test_equilibria_are_marked_by_kind(ax):
    panels.equilibria(ax, np.zeros((4, 2)), ["stable", "unstable", "saddle", "undecided"])
    stable, unstable, saddle, undecided = ax.lines
    assert (stable.get_fillstyle(), stable.get_markerfacecolor()) == ("full", COLOURS["stable"])
    assert unstable.get_markerfacecolor() == "white"
    assert (saddle.get_fillstyle(), saddle.get_markerfacecoloralt()) == ("left", "white")
    assert undecided.get_marker() != stable.get_marker()
    with pytest.raises(ValueError, match="Argument `kinds` must hold only stable, unstable, saddle, undecided"):
        panels.equilibria(ax, np.zeros((1, 2)), ["center"])


def test_the_arcs_of_the_circle_have_the_colours_of_their_limits(ax):
    angles = np.arange(100) * 2 * np.pi / 100
    limits = np.where(np.cos(angles - 0.01) > 0, 0, 1)
    limits[50] = -1
    arcs = panels.circle_portrait(ax, angles, -np.sin(2 * angles), limits=limits, equilibrium_angles=[0.0, np.pi / 2],
        kinds=["stable", "unstable"])  # fmt: skip
    for segment, ink in zip(arcs.get_segments(), arcs.get_colors(), strict=True):
        inside = segment[len(segment) // 2]
        number = limits[int(np.round(np.arctan2(inside[1], inside[0]) / (2 * np.pi / 100))) % 100]
        assert to_hex(ink) == (NO_BASIN if number < 0 else BASINS[number]).lower()
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[0, 1]], atol=1e-12)


def test_the_basins_of_the_sphere_lie_where_their_points_are_and_hidden_equilibria_are_pale(ax):
    points = np.random.default_rng(2).normal(size=(300, 3))
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    view = panels.View(0.0, 0.0)
    cells = panels.sphere_portrait(
        ax, points, np.where(points[:, 1] > 0, 0, 1), field_points=points[:20], field=points[20:40],
        equilibrium_points=[[1.0, 0, 0], [-1.0, 0, 0]], kinds=["stable", "stable"], view=view,
    )  # fmt: skip
    assert to_hex(cells[0].get_facecolor()[0]) == to_hex(paler(BASINS[0], 0.45))
    for number, sign in ((0, 1.0), (1, -1.0)):  # the boundary of the two basins is where y_2, to the right, vanishes
        for across, inside in ((0.5 * sign, True), (0.1 * sign, True), (-0.1 * sign, False), (-0.5 * sign, False)):
            assert any(path.contains_point((across, 0.3)) for path in cells[number].get_paths()) == inside
    front, back = ax.lines[-2:]
    assert sum(to_rgba(back.get_color())[:3]) > sum(to_rgba(front.get_color())[:3])


def test_the_planar_portrait_has_nullclines_where_its_velocity_vanishes(ax):
    xs, ys = np.linspace(-2, 2, 41), np.linspace(-1, 1, 31)
    X, Y = np.meshgrid(xs, ys)
    velocity = np.stack([Y - 0.5, X - Y], axis=-1)
    lines = panels.streamlines(ax, xs, ys, velocity)
    panels.nullclines(ax, xs, ys, velocity, labels=("$u$", "$w$"))
    from matplotlib.contour import ContourSet

    first, second = (c.get_paths()[0].vertices for c in ax.collections if isinstance(c, ContourSet))
    np.testing.assert_allclose(first[:, 1], 0.5, atol=1e-12)
    np.testing.assert_allclose(second[:, 0], second[:, 1], atol=1e-12)
    assert np.max(lines.lines.get_array()) <= np.hypot(1.5, 3.0)
    assert ax.get_legend_handles_labels()[1] == [r"$\dot{u} = 0$", r"$\dot{w} = 0$"]


def test_no_text_is_smaller_than_six_points_and_columns_have_their_printed_width():
    with settings():
        drawn, axes = canvas(WIDTHS["nature-1"], 0.5, columns=2)
        panels.token_paths(axes[0], great_circle(panels.View(), hidden=False))
        panels.eigenvalues(axes[1], [-1.0, -1.0], role="first")
        drawn.draw_without_rendering()
    sizes = [text.get_fontsize() for text in drawn.findobj(lambda a: hasattr(a, "get_fontsize"))]
    assert min(sizes) >= 6.0
    np.testing.assert_allclose(drawn.get_size_inches()[0] * 25.4, 89.0)


def test_the_users_settings_come_back():
    import matplotlib

    with matplotlib.rc_context({"lines.linewidth": 7.0}):
        with settings():
            assert matplotlib.rcParams["lines.linewidth"] != 7.0
        assert matplotlib.rcParams["lines.linewidth"] == 7.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_cells_of_a_density_tile_its_map_where_their_tokens_are(dimension):
    """Cells of equal area; each holds its centre, with the longitude in units of pi."""
    grid = EqualAreaGrid(dimension, 30)
    with settings():
        _, (ax,) = canvas()
        if dimension == 3:
            drawn = sphere_density(ax, grid.edges, grid.counts, np.arange(grid.cells), top=30.0)
            boxes = [path.vertices for path in drawn.get_paths()]
        else:
            mesh = circle_density(ax, [0.0, 1.0], np.stack([np.arange(grid.cells)] * 2), top=30.0)
            corners = mesh.get_coordinates()
            boxes = [corners[k : k + 2, :2].reshape(-1, 2)[:, ::-1] * [1.0, 2.0] for k in range(grid.cells)]
    centres = grid.centres()
    longitude = np.mod(np.arctan2(centres[:, 1], centres[:, 0]) / np.pi, 2.0)
    height = centres[:, 2] if dimension == 3 else np.zeros(grid.cells)
    assert len(boxes) == grid.cells
    for box, x, y in zip(boxes, longitude, height, strict=True):
        low, high = box.min(axis=0), box.max(axis=0)
        np.testing.assert_allclose((low + high)[0] / 2, x, atol=1e-12)
        assert low[1] <= y <= high[1]
        assert np.prod(high - low) == pytest.approx(4 / grid.cells)


def test_bands_of_exponents_are_one_standard_error_at_the_end_and_two_along_a_parameter():
    values, errors = np.array([[0.5, -1.0], [0.7, -1.5], [0.9, -2.5]]), np.array([0.25, 0.125])
    with settings():
        _, (ax,) = canvas()
        running_exponents(ax, np.arange(1.0, 4.0), values, errors)
        ends = [np.asarray(band.get_paths()[0].vertices)[:, 1] for band in ax.collections]
        for band, last, error in zip(ends, values[-1], errors, strict=True):
            assert (band.min(), band.max()) == pytest.approx((last - error, last + error))
        _, (ax,) = canvas()
        sigma = np.array([0.1, 0.2, 0.4])[:, None] * np.array([1.0, 0.5])
        exponents_against(ax, np.arange(3.0), values, sigma, xlabel="p", converged=[True] * 3)
        for k, band in enumerate(ax.collections):
            x, y = np.asarray(band.get_paths()[0].vertices).T
            for place in range(3):
                at = y[x == place]
                found = (at.min(), at.max())
                assert found == pytest.approx(tuple(values[place, k] + np.array([-2, 2]) * sigma[place, k]))


@pytest.mark.parametrize("window", [(-3.0, 3.0), (0.5, 7.5), (-10.0, -2.0), (0.2, 0.4)])
def test_all_copies_of_a_mark_on_a_circle_that_lie_in_the_window_are_there(window):
    """By the period 2: points one by one, and a curve once around the circle, closed up to a turn, as a whole."""
    low, high = window
    points = np.array([[0.3, 1.0], [1.7, 2.0], [5.1, 3.0]])
    for mark in (LimitMark(points, "fixed point"), LimitMark(points[:1], "fixed point")):
        copies = in_window(mark, [window, (0.0, 4.0)], {0: 2.0})
        shown = {tuple(np.round(p, 9)) for copy in copies for p in copy.points if low <= p[0] <= high}
        turns = range(-20, 20)
        wanted = {(round(x + 2.0 * k, 9), y) for x, y in mark.points for k in turns if low <= x + 2.0 * k <= high}
        assert shown == wanted
    along = np.linspace(0.0, 2.0, 100, endpoint=False)
    curve = LimitMark(np.stack([np.mod(along + 0.7, 2.0), 1 + 0.1 * np.sin(np.pi * along)], axis=1), "periodic orbit")
    copies = in_window(curve, [window, (0.0, 4.0)], {0: 2.0})
    for copy in copies:
        x, y = copy.points.T
        assert (x[-1] - x[0], y[-1] - y[0]) == pytest.approx((2.0, 0.0))
        assert np.max(np.abs(np.diff(x))) < 0.03
    ends = sorted((copy.points[:, 0].min(), copy.points[:, 0].max()) for copy in copies)
    assert ends[0][0] <= low
    assert ends[-1][1] >= high
    assert all(one[1] == pytest.approx(other[0]) for one, other in itertools.pairwise(ends))
    assert in_window(curve, [window, (2.0, 4.0)], {0: 2.0}) == []


def test_an_attractor_is_drawn_up_to_a_share_on_axes_for_all_of_it():
    path = np.stack([np.arange(10.0), np.full(10, 2.0), -np.arange(10.0)], axis=1)
    path[-1, 0] = np.nan
    with settings():
        ax = space_axes(canvas()[0])
        made = attractor(ax, path, until=0.5)
        np.testing.assert_allclose(made.get_array(), np.arange(4) / 8)
        (end,) = ax.lines
        np.testing.assert_allclose(np.ravel(end.get_data_3d()), [4.0, 2.0, -4.0])
        np.testing.assert_allclose([ax.get_xlim(), ax.get_ylim()], [[-0.24, 8.24], [1.0, 3.0]])
    assert ends([1.0, np.inf, np.nan, -2.0]) == (-2.0, 1.0)
    assert ends([np.nan]) == (0.0, 0.0)


@pytest.mark.parametrize(("count", "style"), [(100, "-"), (101, "None")])
def test_states_of_a_map_are_joined_if_they_are_few(ax, count, style):
    line = time_series(ax, np.arange(count), np.arange(count), steps=True, until=0.5)
    assert (line.get_linestyle(), line.get_marker(), len(line.get_xdata())) == (style, ".", count // 2)


def test_eigenvalues_that_are_nearly_equal_are_one_and_those_on_the_boundary_are_stable(ax):
    marks = eigenvalues(ax, [1.0, 1.0 + 1e-7, 1.0 + 1e-4, 0.0, -1.0, -1.0, -1.0], role="first")
    np.testing.assert_allclose(marks.get_offsets()[:, 0], [1.0, 1.0001, 0.0, -1.0])
    np.testing.assert_allclose(marks.get_sizes(), 14 * np.sqrt([2, 1, 1, 3]))
    assert [to_hex(face) for face in marks.get_facecolors()] == [to_hex(COLOURS["first"])] * 2 + ["#ffffff"] * 2
    assert [(text.get_text(), text.xyann) for text in ax.texts] == [(r"$\times3$", (0, 5)), (r"$\times2$", (0, 5))]
    multipliers(ax, [1.0, 0.5j, -1.5])
    inside, outside = ax.lines[-2:]
    assert [line.get_fillstyle() for line in (inside, outside)] == ["none", "full"]
    assert (len(inside.get_xdata()), outside.get_xdata().tolist()) == (2, [-1.5])


def test_numbers_of_equal_eigenvalues_that_would_overlap_alternate(ax):
    eigenvalues(ax, [0.0, 0.0, 0.04, 0.04, 1.0, 1.0, 1.05, 1.05], role="first")
    assert [text.xyann[1] for text in ax.texts] == [5, -6, 5, -6]


def test_lengths_are_those_of_their_units():
    for text, inches in (
        ("25.4mm", 1.0),
        ("2.54 cm", 1.0),
        ("40in", 40.0),
        ("72pt", 1.0),
        (".5in", None),
        ("41in", None),
    ):
        if inches is None:
            with pytest.raises(ValueError, match="`width` must be from 25.4mm to 1016mm"):
                length("width", text)
        else:
            assert length("width", text) == pytest.approx(inches, rel=1e-15)
    assert journal_width("nature") == journal_width("nature-1") == WIDTHS["nature-1"] != journal_width("nature-2")

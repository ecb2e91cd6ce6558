"""Sections and exponents drawn in part on axes for all of them, and the movies of their commands."""

import functools

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from figures import movie
from figures.panels import bifurcations, exponents, maps
from figures.style import canvas, settings
from tests.support.commands import refused, run

POINTS = np.stack([np.arange(10.0), np.arange(10.0) ** 2], axis=1)
PANELS = {
    "section": lambda ax, until: maps.section(ax, POINTS, labels=("x", "y"), directions=[1, -1] * 5, until=until),
    "returns": lambda ax, until: maps.return_map(ax, POINTS, labels=("x", "next x"), until=until),
    "orbits": lambda ax, until: maps.orbits(ax, POINTS[None], labels=("x", "y"), until=until),
    "diagram": lambda ax, until: maps.orbit_diagram(ax, POINTS[:, 0], POINTS, labels=("r", "x"), until=until),
    "cobweb": lambda ax, until: maps.cobweb(ax, POINTS[:, 0], POINTS[:, 0], POINTS[:5, 0], label="x", until=until),
    "running": lambda ax, until: exponents.running_exponents(ax, 1 + POINTS[:, 0], POINTS, [1.0, 2.0], until=until),
    "against": lambda ax, until: exponents.exponents_against(
        ax, POINTS[:, 0], POINTS, np.ones((10, 2)), xlabel="r", converged=POINTS[:, 0] > 3, until=until
    ),
}


def drawn(panel, until):
    """Return the axes with a share of the data."""
    ax = canvas()[1][0]
    PANELS[panel](ax, until)
    return ax


def points(ax):
    """Return the number of points of lines and marks that are drawn."""
    return sum(int(np.sum(np.isfinite(np.asarray(line.get_ydata(), float)))) for line in ax.lines)


@pytest.mark.parametrize("panel", PANELS)
def test_a_share_is_drawn_on_the_axes_of_all(panel):
    some, whole = drawn(panel, 0.4), drawn(panel, 1.0)
    assert 0 < points(some) < points(whole)
    for limits in ("get_xlim", "get_ylim"):
        assert getattr(some, limits)() == pytest.approx(getattr(whole, limits)())
    assert len(some.lines) == len(whole.lines)


def test_the_share_is_that_of_the_first_points():
    upwards, downwards = drawn("section", 0.4).lines
    known = [line.get_xdata()[np.isfinite(line.get_xdata())].tolist() for line in (upwards, downwards)]
    assert known == [[0.0, 2.0], [1.0, 3.0]]


def test_exponents_are_those_at_the_time_and_have_errors_at_the_end():
    labels = [drawn("running", until).get_legend_handles_labels()[1] for until in (0.4, 1.0)]
    assert labels == [
        [r"$\lambda_{1} = 3$", r"$\lambda_{2} = 9$"],
        [r"$\lambda_{1} = 9 \pm 1$", exponents.BAND, r"$\lambda_{2} = 81 \pm 2$"],
    ]


@pytest.mark.parametrize(("value", "error", "said"), [
    (0.9097, 0.02, r"0.91 \pm 0.02"),
    (-0.0007587, 0.0061, r"-0.001 \pm 0.006"),
    (-0.0003, 0.02, r"0.00 \pm 0.02"),
    (-14.58, 0.0096, r"-14.58 \pm 0.01"),
    (1234.5, 34.0, r"1230 \pm 30"),
    (0.4501234567, 3e-12, r"0.450123 \pm 3 \cdot 10^{-12}"),
    (0.45, 0.0, r"0.45 \pm 0"),
])  # fmt: skip
def test_an_exponent_is_written_to_the_first_digit_of_its_error(value, error, said):
    with settings():
        _, (ax,) = canvas()
        exponents.running_exponents(ax, [1.0, 2.0], [[1.0], [value]], [error])
    assert ax.get_legend_handles_labels()[1] == [rf"$\lambda_{{1}} = {said}$", exponents.BAND]


@pytest.mark.parametrize(
    "words", [("section", "logistic", "--count", "20"), ("lyapunov", "logistic", "--duration", "60")]
)
def test_a_movie_ends_with_the_whole(words, tmp_path, capsys, monkeypatch):
    frames = []

    def first_and_last(file, drawing):
        frames.extend(drawing(phase).axes[0] for phase in (0.0, 1 - 1 / movie.FRAMES))

    monkeypatch.setattr(movie, "write_movie", first_and_last)
    where = [f"--{kind}={tmp_path / f'some.{ending}'}" for kind, ending in (("figure", "png"), ("movie", "gif"))]
    _, said, _ = run(capsys, *words, *where)
    assert f"movie {tmp_path / 'some.gif'}" in said
    begin, end = (points(ax) for ax in frames)
    assert begin < end


@pytest.mark.parametrize("command", ["section", "lyapunov"])
def test_a_movie_is_a_gif(command, capsys):
    assert "must end in .gif" in refused(capsys, command, "logistic", "--movie", "some.mp4")


def test_the_last_frame_of_a_growing_movie_shows_all():
    shares = [movie.growing(functools.partial(round, ndigits=6))(k / movie.FRAMES) for k in range(movie.FRAMES)]
    assert (shares[0], shares[-1]) == (round(1 / movie.FRAMES, 6), 1.0)


def test_a_movie_has_the_colours_and_the_size_of_all_its_frames(tmp_path):
    """Each frame is one colour, of those that few have in common, and the second one is larger than the others."""
    colours, sizes = [(0.1, 0.5, 0.9), (0.9, 0.5, 0.1), (0.4, 0.8, 0.2)], [(1, 1), (1.2, 1.1), (1, 1)]
    frame = lambda k: matplotlib.figure.Figure(figsize=sizes[k], facecolor=colours[k])
    movie.write_movie(tmp_path / "some.gif", lambda phase: frame(round(3 * phase)), frames=3)
    with Image.open(tmp_path / "some.gif") as found:
        for k in range(3):
            found.seek(k)
            pixels = np.asarray(found.convert("RGB"))
            assert pixels.shape == (880, 960, 3)
            for place in (pixels[60, 60], pixels[0, 0]):
                np.testing.assert_allclose(place, 255 * np.array(colours[k]), atol=1)
            np.testing.assert_allclose(pixels[-1, -1], pixels[60, 60] if k == 1 else 255)


def test_a_diagram_is_shown_up_to_a_share_of_the_parameter():
    """Marks beyond it are hidden, and lines are cut there; the axes are those of the whole."""
    with settings():
        drawn, (ax,) = canvas()
        bifurcations.branch_lines(ax, [2.0, 6.0], [[0.0], [8.0]], [True])
        bifurcations.bifurcation_marks(ax, ["fold", "Hopf point"], [3.0, 5.0], [2.0, 6.0])
        ax.set_xlim(2, 6)
        bifurcations.shown_up_to(ax, 1.0)
        pixels = lambda: np.asarray(drawn.canvas.buffer_rgba())[..., :3].min(axis=2) < 200
        FigureCanvasAgg(drawn).draw()
        whole, limits = pixels(), ax.get_ylim()
        bifurcations.shown_up_to(ax, 0.5)
        drawn.canvas.draw()
    left, top, right, bottom = np.round(ax.get_window_extent().extents).astype(int)
    inside = lambda seen: seen[::-1][top + 3 : bottom - 3, left + 3 : right - 3]
    before, after = inside(whole), inside(pixels())
    middle = before.shape[1] // 2
    assert np.array_equal(before[:, : middle - 3], after[:, : middle - 3])
    assert np.any(before[:, middle + 3 :])
    assert not np.any(after[:, middle + 3 :])
    assert ax.get_ylim() == limits


def test_returns_of_a_periodic_orbit_are_a_fixed_point_on_axes_of_its_size():
    pairs = 1e-13 * np.stack([np.arange(10), np.arange(10) ** 2 % 7], axis=1)
    for draw in (
        lambda ax: maps.return_map(ax, 2.0 + pairs, labels=("x", "next x")),
        lambda ax: maps.section(ax, pairs, labels=("x", "y"), size=2.0),
    ):
        with settings():
            _, (ax,) = canvas()
            draw(ax)
            assert np.ptp(ax.get_xlim()) == pytest.approx(0.2)
            assert np.ptp(ax.get_ylim()) == pytest.approx(0.2)
            assert ax.get_legend_handles_labels()[1] == ["fixed point"]
    with settings():
        _, (ax,) = canvas()
        maps.return_map(ax, 2.0 + pairs, labels=("x", "next x"))
        maps.diagonal(ax, 2.0 + pairs)
        np.testing.assert_allclose(ax.lines[-1].get_xdata(), [1.9, 2.1])
        _, (ax,) = canvas()
        near = [[200.0, 200.001], [200.001, 200.0]]  # within errors of values of this size
        maps.return_map(ax, near, labels=("x", "next x"))
        maps.diagonal(ax, near)
        np.testing.assert_allclose(ax.lines[-1].get_xdata(), [190.0, 210.0], atol=1e-2)
        _, (ax,) = canvas()
        maps.return_map(ax, [[2.0, 2.001], [2.001, 2.0]], labels=("x", "next x"))
        assert np.ptp(ax.get_xlim()) < 0.01
        assert ax.get_legend_handles_labels()[1] == []

"""Every figure of `hardmax`: finite numbers, labelled axes, and what the caption says, measured on the numbers."""

import numpy as np
import pytest
from PIL import Image

from dynsim.__main__ import main
from figures.gallery import find_figures
from figures.panels.hulls import NO_SECOND, followed_tokens, plane_axes
from figures.style import canvas, settings
from tests import data_or_skip
from tests.support.figure_layout import check_layout

THEORY = ("figure-1", "figure-2", "figure-5", "figure-6", "figure-7", "layers")
LONG = ("figure-1", "figure-2", "figure-5")  # over two seconds each, and drawn by the panels of the others


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def numbers(name, folder):
    (shown,) = find_figures(f"hardmax/{name}")
    return shown.data(folder)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in THEORY])
def test_the_numbers_are_finite_and_the_axes_are_labelled(name, folder):
    (shown,) = find_figures(f"hardmax/{name}")
    found = shown.data(folder)
    assert all(np.all(np.isfinite(array)) for array in found.values() if array.dtype.kind == "f")
    drawn = shown.drawn(found)
    assert all(ax.get_aspect() == 1.0 for ax in drawn.axes)
    assert drawn.axes[-1].get_xlabel()
    assert drawn.axes[0].get_ylabel()
    check_layout(drawn)


def test_figure_1_shows_two_tokens_that_attract_and_then_another(folder):
    found = numbers("figure-1", folder)
    assert found["members identity"].tolist() == [1, 2]
    assert found["members general"].tolist() == [3]


def test_figure_2_shows_what_its_caption_says(folder):
    found = numbers("figure-2", folder)
    layers = {row: found[f"layers {row}"] for row in "ABCD"}
    assert {row: int(np.sum(first >= 0)) for row, first in layers.items()} == {"A": 3, "B": 4, "C": 4, "D": 4}
    assert [int(np.max(first)) for first in layers.values()] == [0, 1, 0, 0]
    ends = found["states B"][-1][layers["B"] >= 0]
    nearest = np.flatnonzero(layers["B"] >= 0)[np.argmin(np.linalg.norm(ends, axis=1))]
    assert layers["B"][nearest] == 1
    np.testing.assert_array_equal(found["hull C"], found["hull D"])
    limits = {row: {tuple(x) for x in found[f"states {row}"][-1]} for row in "CD"}
    assert limits["C"] < limits["D"]
    assert limits["D"] - limits["C"] == {(2.0, 0.0), (0.0, -1.0)}
    for row in "ABCD":
        np.testing.assert_array_equal(found[f"followed {row}"][-1], found[f"followed {row}"][-2])
        assert len(found[f"followed {row}"]) == len(found[f"states {row}"]) == 4
    assert len(found["missed C"]) == len(found["missed D"]) + 2  # one K, one S: what is not attained differs


def test_figure_5_separates_the_balls_and_figure_6_lets_one_token_jump(folder):
    five, six = numbers("figure-5", folder), numbers("figure-6", folder)
    s, radius = five["points"], float(five["radius"])
    for x in five["starts"]:
        assert all(other @ x + radius * np.linalg.norm(x) < x @ x for other in s[1:])
    ends = six["paths"][-1]
    for end, level in zip(ends, ((2, -1), (2, 0), (2, 1)), strict=True):
        assert np.linalg.norm(end - level) < 0.25
    assert np.linalg.norm(six["paths"][0, 2] - (2, 0)) < 0.25  # where the jump begins


def test_figure_7_has_the_printed_values_and_the_hulls_of_the_layers_are_nested(folder):
    seven, layers = numbers("figure-7", folder), numbers("layers", folder)
    np.testing.assert_allclose(seven["states"][1], [[-2 / 3, 5 / 3], [4, 10 / 3], [12, 4]], rtol=1e-15)
    assert seven["followed"][1].tolist() == [[0, NO_SECOND], [2, NO_SECOND], [2, NO_SECOND]]
    x = layers["states"]
    for u in np.c_[np.cos(np.arange(36)), np.sin(np.arange(36))]:
        assert np.all(np.diff(np.max(x @ u, axis=1)) <= 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure-8", "figure-9", "figure-9-published", "figure-10", "table-1"])
def test_the_figures_of_reviews_are_drawn_from_the_record(name, folder):
    data_or_skip()
    (shown,) = find_figures(f"hardmax/{name}")
    found = shown.data(folder)
    assert all(np.all(np.isfinite(array)) for array in found.values() if array.dtype.kind == "f")
    drawn = shown.drawn(found)
    assert all(ax.get_ylabel() for ax in drawn.axes)
    check_layout(drawn)
    assert "quick run" in str(found["run"])


@pytest.mark.slow
def test_the_reviews_show_what_their_captions_say(folder):
    data_or_skip()
    losses, words, table = (numbers(name, folder) for name in ("figure-8", "figure-10", "table-1"))
    for d in (2, 4):
        np.testing.assert_allclose(losses[f"softmax {d}"][losses[f"epochs {d}"]], losses[f"hardmax {d}"], rtol=0.02)
    assert np.all(np.diff(words["published counts"]) <= 0)
    assert {"great", "worst"} <= set(words["published words"].tolist())
    assert np.all(table["by index"][:, 0] <= table["by value"][:, 0])
    shown = numbers("figure-9-published", folder)
    w, v = shown["weight"], shown["bias"]
    assert shown["positive means"][-1] @ w + v > 0 > shown["negative means"][-1] @ w + v
    assert np.ptp(shown["positive states"][-1], axis=0).max() <= np.ptp(shown["positive states"][0], axis=0).max()


def test_a_token_in_two_halves_a_star_and_a_bad_shape():
    with settings():
        _, (ax,) = canvas()
        points, followed = np.array([[1.0, 1], [1, -1], [0.5, 0]]), np.array([[0, NO_SECOND], [1, NO_SECOND], [0, 1]])
        drawn = followed_tokens(ax, points, followed, colours={0: 0, 1: 1})
        assert [line.get_marker() for line in drawn] == ["*", "*", "o"]
        assert [line.get_fillstyle() for line in drawn] == ["full", "full", "left"]
        assert drawn[2].get_markerfacecolor() == drawn[0].get_markerfacecolor()
        assert drawn[2].get_markerfacecoloralt() == drawn[1].get_markerfacecolor()
        with pytest.raises(ValueError, match="`points` must have shape"):
            followed_tokens(ax, points[:, :1], followed, colours={})


@pytest.mark.slow
def test_the_movie_shows_the_layers(folder, capsys):
    assert main(["figure", "hardmax/layers", "--formats", "gif", "--out", str(folder)]) == 0
    with Image.open(folder / "hardmax" / "layers.gif") as movie:
        assert movie.n_frames > 12


@pytest.mark.parametrize(
    ("points", "margin", "cross"),
    [
        ([[-1.0, -1.0], [0.0, 0.0]], 0.0, True), ([[0.0, 0.0], [1.0, 2.0]], 0.0, True),
        ([[0.1, 0.1], [2.1, 1.1]], 0.1, True), ([[0.5, -1.0], [1.0, 1.0]], 0.1, False),
        ([[-2.0, -1.0], [-1.0, 1.0]], 0.1, False),
    ],
)  # fmt: skip
def test_the_origin_has_a_cross_where_it_is_shown(points, margin, cross):
    with settings():
        _, (ax,) = canvas()
        plane_axes(ax, points, margin=margin)
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[0.0, 0.0]]] * cross
    width, height = np.ptp(points, axis=0)
    padding = margin * max(width, height)
    assert (np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) == pytest.approx((width + 2 * padding, height + 2 * padding))

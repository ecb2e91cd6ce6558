"""Figures of `multirate` and their panels: what the captions say, measured on the numbers."""

import numpy as np
import pytest

from figures import panels
from figures.gallery import find_figures
from figures.multirate.slow_manifolds import EPSILONS
from figures.style import canvas, colour, settings
from tests.support.figure_layout import check_layout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def numbers(name, folder):
    (shown,) = find_figures(f"multirate/{name}")
    return shown.data(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifold", "error-against-eps"])
def test_the_numbers_are_finite_and_the_axes_are_labelled(name, folder):
    (shown,) = find_figures(f"multirate/{name}")
    found = shown.data(folder)
    assert all(np.all(np.isfinite(array)) for array in found.values() if array.dtype.kind == "f")
    drawn = shown.drawn(found)
    for ax in drawn.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    check_layout(drawn)


@pytest.mark.slow
def test_trajectories_come_nearer_to_the_manifold_as_epsilon_falls_and_jump_at_the_folds(folder):
    found = numbers("manifold", folder)
    np.testing.assert_allclose(found["cubic folds"], [[-2 / 3, 1], [2 / 3, -1]], atol=1e-12)
    kinds, branches = found["cubic kinds"], found["cubic branches"]
    assert [{*kinds[branches == k]} - {"undecided"} for k in range(3)] == [
        {"attracting"},
        {"repelling"},
        {"attracting"},
    ]
    far = []
    for k in range(len(EPSILONS)):
        y, x = found[f"cubic path {k}"]
        far.append(np.median(np.abs(y - (x**3 / 3 - x))))
        assert np.min(x) < -1 < 1 < np.max(x)
        np.testing.assert_allclose(found[f"enzyme path {k} 1"][:, 0], [2.0, 0.9])
    assert far[0] > 2 * far[1] > 4 * far[2]


@pytest.mark.slow
def test_the_error_has_order_one_and_the_corrected_distance_order_two(folder):
    found = numbers("error-against-eps", folder)
    np.testing.assert_allclose(found["orders"][:3], 1.0, atol=0.02)
    np.testing.assert_allclose(found["orders"][3], 2.0, atol=0.1)
    assert np.all(found["standard errors"][:3] < 0.01)


def test_branches_are_told_apart_by_their_lines_and_folds_are_marked_once():
    with settings():
        _, (ax,) = canvas()
        kinds = ["attracting", "attracting", "undecided", "repelling", "saddle"]
        lines = panels.critical_manifold(ax, np.arange(5.0), np.arange(5.0) ** 2, kinds, folds=[(2.0, 4.0)])
        panels.critical_manifold(ax, np.arange(2.0), np.arange(2.0), kinds[:2], folds=[(3.0, 4.0)])
        assert [len(run) for run in lines.get_segments()] == [3, 3]
        styles = lines.get_linestyles()
        assert styles[0][1] is None
        assert styles[1][1] is not None
        labels = ax.get_legend_handles_labels()[1]
        assert sorted(labels) == ["attracting", "fold", "repelling"]


def test_trajectories_are_drawn_as_given():
    with settings():
        _, (ax,) = canvas()
        lines = panels.relaxations(ax, [np.arange(3.0)] * 2, [np.ones(3)] * 2, labels=["a", "b"])
        np.testing.assert_array_equal(lines[1].get_ydata(), np.ones(3))
        assert lines[0].get_color() == colour("first")


def test_bad_shapes_and_words_are_refused():
    with settings():
        _, (ax,) = canvas()
        with pytest.raises(ValueError, match="`kinds` must name each of 2 points by attracting, repelling"):
            panels.critical_manifold(ax, [0.0, 1.0], [0.0, 1.0], ["attracting", "atractive"])
        with pytest.raises(ValueError, match="`labels` must name each of 1 trajectories"):
            panels.relaxations(ax, [np.ones(2)], [np.ones(2)], labels=[])
        with pytest.raises(ValueError, match="`errors` must have shape"):
            panels.error_against(ax, [1.0, 2.0], [[1.0]], labels=["a"], roles=["first"])

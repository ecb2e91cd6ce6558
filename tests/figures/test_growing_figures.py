"""Figures of `growing` and their panels: what the captions say, measured on the numbers."""

import numpy as np
import pytest

from figures import panels
from figures.gallery import find_figures
from figures.growing.growth import END
from figures.style import canvas, settings
from tests.support.figure_layout import check_layout, outside, overlapping


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def numbers(name, folder):
    (shown,) = find_figures(f"growing/{name}")
    found = shown.data(folder)
    assert all(np.all(np.isfinite(array)) for array in found.values() if array.dtype.kind == "f")
    return shown, found


@pytest.mark.parametrize("name", ["residual-spectra", "expansion"])
def test_the_texts_lie_inside_and_apart(name, folder):
    shown, found = numbers(name, folder)
    check_layout(shown.drawn(found))


def test_each_head_takes_the_largest_value_and_leaves_the_others(folder):
    _, found = numbers("residual-spectra", folder)
    rows = found["features"]
    assert len(rows) == 12
    for before, after in zip(rows, rows[1:], strict=False):
        np.testing.assert_allclose(after[:-1], before[1:], atol=1e-12)
    assert rows[-1][0] < 0.05 < rows[-2][0]
    assert np.max(np.abs(found["data"][0] / rows[0] - 1)) > 0.01


def test_the_force_falls_with_two_prototypes_and_may_rise_in_between_with_three(folder):
    _, found = numbers("expansion", folder)
    assert np.max(np.diff(found["two prototypes"], axis=1)) <= 0
    cold = found["three prototypes"][0]
    assert np.min(cold[: np.argmax(cold)]) < 0.95
    assert np.max(cold) > 1.5 > 1 > cold[-1]
    bends = np.diff(cold, 2)
    assert np.min(bends) < 0 < np.max(bends)


@pytest.mark.slow  # a flow is compiled
def test_heads_cool_or_are_removed_and_the_functional_jumps_up_at_growth(folder):
    shown, found = numbers("timeline", folder)
    drawn = shown.drawn(found)
    assert outside(drawn) == []
    assert overlapping(drawn) == []
    assert (found["prune"] < END).tolist() == [False, False, False, True]
    steps = {name: np.diff(found[f"W {name}"]) for name in ("printed", "repaired")}
    same = np.diff(found["ts"]) == 0
    born = np.isin(found["ts"][:-1], found["births"])
    for values in steps.values():
        assert np.all(values[same & born] > 0)
    assert np.all(steps["repaired"][~same] <= 1e-9)
    assert np.max(steps["printed"][~same]) > 0.01


def test_panels_of_heads_draw_what_exists_and_refuse_bad_shapes():
    with settings():
        _, (ax,) = canvas()
        T = np.array([[1.0, np.nan, np.nan], [0.5, 1.0, np.nan]])
        lines = panels.temperature_fan(ax, [0.0, 1.0], T, least=0.1)
        assert [line.get_ydata()[1] for line in lines] == [0.5, 1.0]
        assert ax.get_legend_handles_labels()[1] == ["head 0", "head 1", "least $T$"]
        _, (ax,) = canvas()
        panels.temperature_fan(ax, [0.0, 1.0], np.ones((2, 20)), least=0.1)
        assert ax.get_legend_handles_labels()[1] == ["head 0", "head 19", "least $T$"]
        with pytest.raises(ValueError, match="`temperatures` must have shape"):
            panels.temperature_fan(ax, [0.0], T, least=0.1)
        _, (ax,) = canvas()
        lives = panels.head_lives(ax, [0.0, 1.0], [4.0, 3.0], [2.0, 9.0])
        assert [list(line.get_xdata()) for line in lives if len(line.get_xdata()) == 2] == [[0, 4], [1, 3]]
        assert [line.get_marker() for line in ax.lines].count("D") == 1
        with pytest.raises(ValueError, match="`ends` must have shape"):
            panels.head_lives(ax, [0.0], [1.0, 2.0], [0.0])
        _, (ax,) = canvas()
        assert [bar.get_height() for bar in panels.levels(ax, [2.0, 1.0], [2.0, 1.0, 0.5], threshold=0.1)] == [2, 1]
        _, (ax,) = canvas()
        assert [bar.get_height() for bar in panels.forces(ax, [0.7, 0.3], [0.6, 0.4])] == [0.7, 0.3]


def test_the_colours_of_heads_differ_in_lightness():
    grey = panels.head_colours(8)[:, :3] @ [0.299, 0.587, 0.114]
    assert np.all(np.diff(grey) > 0.02)
    assert grey[-1] < 0.85

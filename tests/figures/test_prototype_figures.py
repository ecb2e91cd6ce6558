"""Figures of `prototypes` and their panels: what the captions say, measured on the numbers."""

import numpy as np
import pytest

from figures import panels
from figures.gallery import find_figures
from figures.prototypes.descents import PATHS
from figures.prototypes.portraits import EMBEDDINGS, MODES, SHARES
from figures.prototypes.slow_manifold import RATIOS
from figures.style import canvas, settings
from tests.support.figure_layout import check_layout, outside, overlapping

OWN = (pytest.param("phase-portraits", marks=pytest.mark.slow), pytest.param("bifurcations", marks=pytest.mark.slow),
    "lyapunov", pytest.param("separation-paths", marks=pytest.mark.slow),
    pytest.param("slow-manifold", marks=pytest.mark.slow))  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def numbers(name, folder):
    (shown,) = find_figures(f"prototypes/{name}")
    return shown.data(folder)


@pytest.mark.parametrize("name", OWN)
def test_the_numbers_are_finite_and_the_texts_lie_inside_and_apart(name, folder):
    (shown,) = find_figures(f"prototypes/{name}")
    found = shown.data(folder)
    assert all(np.all(np.isfinite(array)) for array in found.values() if array.dtype.kind == "f")
    drawn = shown.drawn(found)
    assert any(ax.get_xlabel() for ax in drawn.axes)
    assert any(ax.get_ylabel() for ax in drawn.axes)
    check_layout(drawn)


@pytest.mark.slow
def test_collapse_changes_its_stability_at_two_and_four_times_the_variance(folder):
    found = numbers("phase-portraits", folder)
    for mode, critical in (("frozen", 2), ("full", 4)):
        for share in SHARES:
            places, kinds = found[f"{mode} {share:g} places"], found[f"{mode} {share:g} kinds"]
            centre = np.max(np.abs(places), axis=1) < 1e-9
            assert kinds[centre].tolist() == ["stable" if share > critical else "saddle"]
            assert np.sum(kinds == "stable") == (1 if share > critical else 2)
    far = np.max(np.abs(found["full 5 places"]), axis=1) > 2
    assert found["full 5 kinds"][far].tolist() == ["saddle"] * 4
    assert not np.any(np.max(np.abs(found["frozen 1.5 places"]), axis=1) > 2)


@pytest.mark.slow
def test_separate_prototypes_branch_off_at_the_critical_temperature_and_outer_saddles_are_of_the_full_mode(folder):
    found = numbers("bifurcations", folder)
    for mode, critical in (("frozen", 2), ("full", 4)):
        assert float(found[f"{mode} meeting"]) == pytest.approx(critical)
        share, first, second = found[f"{mode} 0"].T
        assert set(found[f"{mode} 0 kinds"]) == {"attracting"}
        for apart in (first - second, second - first):  # the branch ends at its mirror image
            late = (share > 0.97 * critical) & (apart > 0.05)  # there proportional to the root of the distance
            assert np.sum(late) > 2
            slopes = np.diff(np.log(apart[late])) / np.diff(np.log(critical - share[late]))
            np.testing.assert_allclose(slopes, 0.5, atol=0.02)
    assert int(found["frozen branches"]) == 1
    for k in range(1, int(found["full branches"])):
        assert set(found[f"full {k} kinds"]) == {"saddle"}
        assert np.min(np.max(np.abs(found[f"full {k}"][:, 1:]), axis=1)) > 2.0


def test_each_mode_descends_its_own_function_and_the_other_one_may_rise(folder):
    found = numbers("lyapunov", folder)
    rises = lambda name: float(np.max(np.diff(found[name])))
    falls = lambda name: float(np.min(np.diff(found[name])))
    assert rises("full constant W") <= 1e-9
    assert rises("frozen constant F") <= 1e-9
    assert falls("frozen constant W") >= -1e-9  # from this start it never falls
    assert falls("full constant F") >= -1e-9
    assert rises("full annealed W") <= 1e-9
    for mode in MODES:
        assert found[f"{mode} annealed F"][-1] > found[f"{mode} annealed F"][0] + 0.5
    assert 9 < float(found["arrival"]) < 10


@pytest.mark.slow
def test_the_separation_is_monotone_along_no_mode(folder):
    found = numbers("separation-paths", folder)
    for mode in MODES:
        steps = [np.diff(found[f"{mode} {k}"][:, 1]) for k in range(PATHS)]
        assert sum(bool(np.any(step < -1e-6) and np.any(step > 1e-6)) for step in steps) > PATHS // 2


@pytest.mark.slow
def test_trajectories_come_nearer_to_the_slow_manifold_and_only_frozen_assignments_let_the_slope_vanish(folder):
    found = numbers("slow-manifold", folder)
    for mode, factor in (("frozen", 2), ("full", 4)):
        critical = 1 / np.sqrt(factor * np.var(EMBEDDINGS))
        assert float(found[f"{mode} meeting"]) == pytest.approx(critical)
        branch = found[f"{mode} separate"]
        assert critical < branch[:, 0].min() < critical + 0.01
        assert 0 < branch[:, 1].min() < 0.15
        assert found[f"{mode} separate kinds"].tolist() == ["attracting"] * len(branch)
        far = []
        for k in range(len(RATIOS)):
            w, p = found[f"{mode} path {k}"].T
            assert (w[0], p[0]) == (1.6, 1.6)
            late = (w < 1.4) & (w > critical + 0.1)
            far.append(np.max(np.abs(p - np.interp(w, *branch[::-1].T))[late], initial=0.0))
        assert far[0] > 2 * far[1] >= 2 * far[2]
    for k in range(len(RATIOS)):
        assert found[f"frozen path {k}"][-1, 0] < 0.05
        assert found[f"full path {k}"][-1, 0] > 1.2


@pytest.mark.slow
def test_the_debris_is_drawn_with_four_prototypes_and_four_regimes(folder):
    (shown,) = find_figures("prototypes/figure-1")
    found = shown.data(folder)
    assert [int(np.sum(found["regimes"] == k)) for k in range(4)] == [400] * 4
    assert set(found["clusters"]) == {0, 1, 2, 3}
    drawn = shown.drawn(found)
    assert outside(drawn) == []
    assert overlapping(drawn) == []


def test_ways_of_prototypes_start_open_end_in_stars_and_leave_out_what_failed():
    with settings():
        _, (ax,) = canvas()
        paths = np.arange(12.0).reshape(3, 2, 2)
        paths[2, 0] = np.nan
        ways = panels.prototype_paths(ax, np.ones((4, 2)), paths, np.arange(3.0))
        assert len(ways) == 2
        np.testing.assert_array_equal(ways[1].get_xydata(), paths[:2, 1])
        names = ["embeddings", "start", "end", "prototype 0", "prototype 1"]
        assert ax.get_legend_handles_labels()[1] == names
        markers = [line.get_marker() for line in ax.lines if len(line.get_xydata())]
        assert (markers.count("*"), markers.count("o")) == (2, 2)
        _, (ax,) = canvas()
        (way,) = panels.prototype_paths(ax, np.ones((4, 1)), np.arange(3.0).reshape(3, 1, 1), [0.0, 1.0, 5.0])
        np.testing.assert_array_equal(way.get_xydata(), [[0, 0], [1, 1], [5, 2]])
        assert ax.get_xlabel() == "time $t$"


def test_a_pair_of_prototypes_is_drawn_with_the_embeddings_on_both_axes_and_equal_pairs():
    side, z = np.array([-1.0, 0.5, 2.0]), np.array([0.25, 1.5])
    with settings():
        _, (ax,) = canvas()
        panels.pair_portrait(ax, side, np.ones((3, 3, 2)), z, places=np.zeros((1, 2)), kinds=["stable"])
        drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines[:3]}
    across, up = [[0.25, -1.0], [1.5, -1.0]], [[-1.0, 0.25], [-1.0, 1.5]]
    assert [*drawn.values()] == [[[-1.0, -1.0], [2.0, 2.0]], across, up]
    assert {"$p_1 = p_2$", "embeddings"} < {*drawn}
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.0, 2.0), (-1.0, 2.0))


def test_bad_shapes_are_refused():
    with settings():
        _, (ax,) = canvas()
        with pytest.raises(ValueError, match="`paths` must have shape"):
            panels.prototype_paths(ax, np.ones((4, 2)), np.ones((3, 2, 3)), np.arange(3.0))
        with pytest.raises(ValueError, match="`velocity` must have shape"):
            panels.pair_portrait(ax, np.arange(3.0), np.ones((3, 3)), np.ones(2), places=(), kinds=())
        with pytest.raises(ValueError, match="`x` must have shape"):
            panels.timed_path(ax, np.ones(2), np.ones(3), np.ones(2), last=1.0)
        with pytest.raises(ValueError, match="`x` must have shape"):
            panels.timed_path(ax, np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), last=1.0)
        with pytest.raises(ValueError, match="`values` must have shape"):
            panels.over_sizes(ax, np.ones(2), np.ones(2), role="first", label="")

"""Figures of `multirate` on chains and on the network, and their panels: what the captions say, measured."""

import numpy as np
import pytest

from dynsim.systems.master_equation.generators import attention_generator
from figures import panels
from figures.gallery import find_figures
from figures.multirate.chains import ATTENTION, CHAINS, DECAYS
from figures.multirate.network import BLOCK
from figures.panels.simplices import CORNERS, _head, in_triangle
from figures.style import canvas, settings
from tests import data_or_skip
from tests.support.figure_layout import check_layout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def shown(name, folder):
    (found,) = find_figures(f"multirate/{name}")
    return found, found.data(folder)


@pytest.mark.parametrize(("size", "heads"), [(1.0, [0.33, 0.36]), (0.01, [])])
def test_a_trajectory_has_an_arrow_head_at_a_third_of_its_length_unless_it_rests(size, heads):
    with settings():
        _, (ax,) = canvas()
        _head(ax, size * np.array([[0.0, 0.0], [0.1, 0.0], [0.5, 0.0], [0.5, 0.5]]), "k")
    assert [float(x) for arrow in ax.texts for x in (arrow.xyann[0], arrow.xy[0])] == pytest.approx(heads)


@pytest.mark.slow
def test_every_path_ends_at_a_stationary_law_and_stays_a_distribution(folder):
    drawing, data = shown("simplex", folder)
    check_layout(drawing.drawn(data))
    for name, Q in CHAINS.items():
        paths, laws = data[f"{name} paths"], data[f"{name} stationary"]
        np.testing.assert_allclose(paths.sum(axis=-1), 1.0, atol=1e-12)
        assert np.min(paths) >= 0
        assert np.max(np.abs(laws @ Q.T.astype(float))) < 1e-14
        mixed = paths[:, -1] @ np.linalg.pinv(laws) @ laws
        np.testing.assert_allclose(paths[:, -1], mixed, atol=2e-3)
    np.testing.assert_array_equal(data["causal attention stationary"], [[1.0, 0.0, 0.0]])
    assert len(data["two closed classes stationary"]) == 2
    share = data["two closed classes paths"][:, -1, 0] - data["two closed classes paths"][:, 0, 0]
    np.testing.assert_allclose(share, 0.7 / 1.7 * data["two closed classes paths"][:, 0, 2], atol=1e-3)


@pytest.mark.slow
def test_eulers_orbit_converges_below_the_bound_and_on_the_cycle_not_at_it(folder):
    _, data = shown("simplex", folder)
    for name in CHAINS:
        ends = [data[f"{name} orbit 0.25"][-1], data[f"{name} paths"][0, -1]]
        if len(data[f"{name} stationary"]) == 1:
            np.testing.assert_allclose(*ends, atol=2e-3)
    orbit = data["cycle orbit 1.0"]
    np.testing.assert_allclose(orbit[3:], orbit[:-3], atol=1e-15)
    assert np.max(np.abs(orbit[1] - orbit[0])) > 0.5
    np.testing.assert_allclose(CHAINS["causal attention"], attention_generator(ATTENTION))


@pytest.mark.slow
def test_entropy_falls_at_the_closed_rate_and_not_on_a_periodic_orbit(folder):
    drawing, data = shown("entropy-decay", folder)
    entropies, ts, gap = data["entropies"], data["ts"], float(data["gap"])
    assert np.all(np.diff(entropies, axis=1) < 0)
    slopes = np.log(entropies[:, -40] / entropies[:, -1]) / (ts[-1] - ts[-40])
    np.testing.assert_allclose(slopes, 2 * gap, rtol=0.05)
    middle = slice(10, -10)
    np.testing.assert_allclose(data["differences"][middle], data["dissipation"][middle], rtol=5e-3)
    assert np.all(data["dissipation"] > 0)
    for share in DECAYS[:-1]:
        assert np.all(np.diff(data[f"orbit {share}"]) < 0)
    assert np.ptp(data["orbit 1.0"]) < 1e-15
    drawn = drawing.drawn(data)
    check_layout(drawn)
    guide = next(line for line in drawn.axes[0].lines if "2g" in str(line.get_label()))
    assert np.log(guide.get_ydata()[0] / guide.get_ydata()[-1]) == pytest.approx(2 * gap * ts[-1])


@pytest.mark.slow  # twelve seconds; the claims on leaks have it
def test_only_the_open_full_mask_reads_the_future(folder):
    drawing, data = shown("leak-matrices", folder)
    assert np.all(np.triu(data["causal"], 1) == 0)
    assert np.all(np.triu(data["gate closed"], 1) == 0)
    assert np.all(data["full"][BLOCK:] > 0)
    assert np.all(np.triu(data["full"][:BLOCK], 1) == 0)  # the first block has no context
    assert np.all(np.diag(data["causal"]) > 0)
    drawn = drawing.drawn(data)
    check_layout(drawn)
    image = drawn.axes[0].images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(image), data["causal"] == 0)


def study(seeds=2, steps=60, points=4):
    rng = np.random.default_rng(0)
    data = {"names": np.array(["coupled", "frozen"]), "run": np.array(""), "steps": np.linspace(0, steps, points)}
    data["gates"] = rng.normal(size=(seeds, points, 1))
    for name in ("coupled", "frozen"):
        data[f"{name}: training loss"] = 5 + rng.normal(size=(seeds, steps))
        data[f"{name}: validation loss"] = 5 + rng.normal(size=(seeds, points))
    return data


def test_training_curves_are_the_means_over_seeds_with_bands_that_hold_them():
    (found,) = find_figures("multirate/training")
    data = study()
    training, held_out, beside, gates = found.drawn(data).axes
    np.testing.assert_allclose(held_out.lines[0].get_ydata(), data["coupled: validation loss"].mean(axis=0))
    corners = held_out.collections[1].get_paths()[0].vertices
    assert np.max(corners[:, 1]) == np.max(data["frozen: validation loss"])
    gaps = data["coupled: validation loss"] - data["frozen: validation loss"]
    np.testing.assert_allclose(beside.lines[0].get_ydata(), gaps.mean(axis=0))
    assert [line.get_label() for line in beside.lines if line.get_label()[0] != "_"] == ["coupled"]
    assert training.lines[0].get_xdata()[-1] == 60
    assert training.lines[0].get_ydata()[0] == pytest.approx(data["coupled: training loss"][:, :12].mean())
    np.testing.assert_array_equal([line.get_ydata() for line in gates.lines[:2]], data["gates"][:, :, 0])
    assert [line.get_label() for line in training.lines] == ["coupled", "frozen"]


@pytest.mark.slow
def test_the_training_study_is_drawn_from_its_record(folder):
    data_or_skip("tinyshakespeare_train.txt.gz")
    drawing, data = shown("training", folder)
    assert set(data["names"]) >= {"coupled", "frozen"}
    assert len(drawing.drawn(data).axes) == 4
    assert drawing.at_size("paper").name == "multirate/training-paper"


def test_the_triangle_keeps_corners_and_mixtures():
    np.testing.assert_array_equal(in_triangle(np.eye(3)), CORNERS)
    np.testing.assert_allclose(np.linalg.norm(CORNERS - np.roll(CORNERS, 1, axis=0), axis=1), 1.0)
    np.testing.assert_allclose(in_triangle([1 / 3, 1 / 3, 1 / 3]), CORNERS.mean(axis=0))
    with settings():
        _, (ax,) = canvas()
        panels.simplex_portrait(ax, np.stack([np.eye(3)]), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        panels.orbits(ax, [np.eye(3)], labels=["a"])
        assert ax.get_legend_handles_labels()[1] == ["stationary distributions", "a"]


@pytest.mark.parametrize(("n", "block"), [(5, 2), (6, 3), (4, 8)])
def test_lines_between_blocks_lie_between_their_last_and_first_positions(n, block):
    with settings():
        _, (ax,) = canvas()
        panels.leaks(ax, np.ones((n, n)), block=block)
        ends = [line.get_data() for line in ax.lines[:-1]]
    between = [k - 0.5 for k in range(1, n) if k // block > (k - 1) // block]
    assert sorted(float(y[0]) for x, y in ends if y[0] == y[1]) == between
    assert sorted(float(x[0]) for x, y in ends if x[0] == x[1]) == between


def test_bad_shapes_are_refused():
    with settings():
        _, (ax,) = canvas()
        with pytest.raises(ValueError, match="`p` must have three states"):
            panels.simplex_portrait(ax, np.ones((2, 5, 4)), [[1.0, 0.0, 0.0]])
        with pytest.raises(ValueError, match="`labels` must name each of 1 orbits"):
            panels.orbits(ax, [np.eye(3)], labels=[])
        with pytest.raises(ValueError, match="`matrix` must have shape"):
            panels.leaks(ax, np.ones((2, 3)), block=2)
        with pytest.raises(ValueError, match="`matrix` must not be negative"):
            panels.leaks(ax, -np.ones((2, 2)), block=2)
        with pytest.raises(ValueError, match="`block` must be at least 1"):
            panels.leaks(ax, np.ones((2, 2)), block=0)

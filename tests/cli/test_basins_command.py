"""`dynsim basins`: figures, files, shares of random starts, a user's map, and bad input in one sentence."""

import numpy as np
import pytest

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.limit_set import LimitSet
from dynsim.io.npz import read_arrays
from dynsim.systems.named import Components
from figures.panels.basins import FAINT, basin_background, basin_image, boundary, limit_marks, luminance, shade
from figures.panels.labels import slice_label
from figures.panels.limit_marks import LimitMark
from figures.panels.shares import share_curves
from figures.style import canvas, settings
from tests.support.commands import answer, refused
from tests.support.figure_layout import check_layout

MINE = """
def toward(k, x, rate=0.5):
    return rate * x

def away(t, x):
    return x + x**3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_basins_are_printed_drawn_and_written(capsys, mine):
    words = ("double-well", "--h", "0.1", "--shape", "40", "--out", "wells.npz")
    out = answer(capsys, "basins", *words)
    assert "40 points, each integrated for at most 4096 intervals" in out
    kept = read_arrays("wells.npz")
    assert f"{np.mean(kept['labels'] == 0):8.4f}  stable equilibrium at" in out
    assert kept["axis_1"].shape == kept["labels"].shape == (40,)
    assert (mine / "basins.png").stat().st_size > 5000


@pytest.mark.slow  # edge tracking is compiled
def test_the_edge_between_basins_is_the_unstable_equilibrium(capsys, mine):
    words = ("double-well", "--h", "0.1", "--shape", "40", "--edge", "--out", "wells.npz")
    out = answer(capsys, "basins", *words)
    assert "edge of basins 1 and 2: unstable equilibrium at [-0.10103], 1 unstable direction" in out
    kept = read_arrays("wells.npz")
    assert kept["edge_basins"].tolist() == [[0, 1]]
    (root,) = kept["edge_states"][0]
    assert root - root**3 + 0.1 == pytest.approx(0.0, abs=1e-9)
    assert kept["edge_unstable"].tolist() == [[1.0]]


@pytest.mark.slow
def test_shares_of_basins_are_followed_along_a_parameter(capsys, mine):
    """At |h| > .3849 there is one well, and the remnant of the other slows trajectories down."""
    words = ("double-well", "--sample", "40", "--against", "h=-0.4:0.4:3", "--out", "shares.npz")
    out = answer(capsys, "basins", *words)
    kept = read_arrays("shares.npz")
    assert kept["parameters"].tolist() == [-0.4, 0.0, 0.4]
    assert kept["labels"].tolist() == [0, 1]
    assert kept["shares"][0, 0] == kept["shares"][2, 1] == 1.0
    assert np.isnan([kept["shares"][0, 1], kept["shares"][2, 0]]).all()
    assert kept["shares"][1].sum() == pytest.approx(1.0)
    assert np.all(kept["low"][1] < kept["shares"][1])
    assert "basin 1, at h = -0.4: stable equilibrium at [-1.1597]" in out
    assert (mine / "basins.png").stat().st_size > 5000


@pytest.mark.parametrize(("words", "sentence"), [
    ("--sample 9 --figure a.png", "Argument `figure` must be left out with `--sample`, unless `--against` is given"),
    ("--edge --sample 9", "Argument `edge` must be left out with `--sample`, because it needs a grid"),
    ("--against h=0:1", "Argument `sample` must be the number of starts for each value of `--against`"),
    ("--sample 9 --against h=1:1", "Argument `against` must hold two different finite numbers"),
    ("--sample 9 --against hh=0:1", "did you mean `h`?"),
    ("--sample 9 --against h=0:1:1", "Argument `against` must end in a count of at least 2"),
])  # fmt: skip
def test_edges_and_ranges_that_do_not_fit_are_refused(capsys, mine, words, sentence):
    assert sentence in refused(capsys, "basins", "double-well", *words.split())


@pytest.mark.slow
def test_a_map_of_ones_own_has_random_starts(capsys, mine):
    words = ("mine.py:toward", "--map", "--box", "-1", "1", "-1", "1", "--rate", "0.4", "--sample", "100")
    out = answer(capsys, "basins", *words, "--out", "shares.npz")
    kept = read_arrays("shares.npz")
    assert (kept["labels"].tolist(), kept["shares"].tolist(), kept["high"].tolist()) == ([0], [1.0], [1.0])
    assert kept["low"] == pytest.approx(0.963, abs=1e-4)
    assert str(kept["limits"][0]).startswith("stable fixed point of period 1 at")
    assert "1.0000  [0.9630, 1.0000]  stable fixed point" in out  # Wilson: n / (n + z^2)


@pytest.mark.slow
def test_a_window_from_which_all_escapes_says_so(capsys, mine):
    words = ("mine.py:away", "--box", "0.1", "1", "--shape", "8")
    out = answer(capsys, "basins", *words)
    assert "no attractor was found" in out
    assert "1.0000  escaped" in out


def test_bad_input_is_one_sentence(capsys, mine):
    assert "`gama` must be an option of `dynsim basins` or a parameter of `duffing`" in refused(
        capsys, "basins", "duffing", "--gama", "1"
    )
    assert "did you mean `--gamma`?" in refused(capsys, "basins", "duffing", "--gama", "1")
    assert "Argument `period` must be given for a flow that depends on time" in refused(
        capsys, "basins", "duffing", "--shape", "4"
    )
    assert "Argument `plane` must name two of x, y, z" in refused(capsys, "basins", "lorenz")
    assert "Argument `box` must be given for `mine.py:away`" in refused(
        capsys, "basins", "mine.py:away", "--start", "1"
    )
    assert "Argument `angle` must name a component of the state, angle, velocity, but is `angel`" in refused(
        capsys, "basins", "pendulum", "--angle", "angel=6.28"
    )
    assert "Argument `shape` must be at least 2" in refused(capsys, "basins", "double-well", "--shape", "1")
    assert "fit in half of the memory" in refused(capsys, "basins", "pendulum", "--shape", "1000000")


def test_basins_differ_as_shades_of_grey():
    greys = np.sort([float(luminance(shade(k))) for k in range(7)])
    assert np.min(np.diff(greys)) > 0.05
    assert float(luminance(shade(-2))) == pytest.approx(1)


def test_shares_are_curves_in_the_colours_of_their_basins():
    with settings():
        _, (ax,) = canvas()
        shares = np.array([[1.0, np.nan, 0.0], [0.5, 0.4, 0.1]])
        share_curves(ax, [0.0, 1.0], [0, 1, -2], shares, shares - 0.1, shares + 0.1)
        lines = ax.lines
        assert [line.get_label() for line in lines] == ["basin 1", "basin 2", "escaped"]
        assert len({line.get_marker() for line in lines}) == 3
        assert np.array_equal(lines[0].get_ydata(), [1.0, 0.5])
        bands = [band.get_paths()[0].get_extents().bounds for band in ax.collections[::2]]
        assert np.allclose(bands, [[0.0, 0.4, 1.0, 0.7], [0.0, -0.1, 1.0, 0.3]])
        with pytest.raises(ValueError, match=r"Argument `low` must have shape \(values, labels\) = \(2, 3\)"):
            share_curves(ax, [0.0, 1.0], [0, 1, -2], shares, shares.T, shares)


def test_an_image_has_its_attractors_and_refuses_other_shapes():
    labels = np.repeat([[0], [1]], 20, axis=0).repeat(30, axis=1)
    axes = (np.linspace(0, 1, 40), np.linspace(0, 2, 30))
    with settings():
        _, (ax,) = canvas()
        marks = [
            LimitMark(np.array([[0.2, 1.0]]), "equilibrium"),
            LimitMark(np.array([[0.5, 1.0]]), "equilibrium", False),
        ]
        image = basin_image(ax, labels, axes)
        boundary(ax, labels, axes)
        limit_marks(ax, marks, axes)
        assert [line.get_markerfacecolor() for line in ax.lines] == ["black", "white"]
        assert np.allclose(image.get_array()[0, 0], shade(0), atol=1e-6)
        assert np.allclose(image.get_array()[0, -1], shade(1), atol=1e-6)
        assert len(ax.collections) == 1  # the boundary
        with pytest.raises(ValueError, match="Argument `labels` must have one or two axes"):
            basin_image(ax, labels.T, axes)


def test_marks_of_angles_lie_in_the_window_and_orbits_that_turn_are_whole():
    """A state far outside of the window, and a rotation that ends a turn after its first point."""
    labels, axes = np.zeros((20, 20), int), (np.linspace(4, 4 + 2 * np.pi, 20), np.linspace(-2, 2, 20))
    turn = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    orbit = LimitMark(np.stack([turn + 40 * np.pi, np.sin(turn)], axis=1), "periodic orbit")
    rest, cloud = (
        LimitMark(np.array([[k + 200 * np.pi, 0.5]]), kind) for k, kind in ((5, "equilibrium"), (1, "recurrent set"))
    )
    with settings():
        _, (ax,) = canvas()
        basin_image(ax, labels, axes)
        limit_marks(ax, [rest, cloud, orbit], axes, {0: 2 * np.pi})
        window, (dot, point, *curves) = ax.get_xlim(), ax.lines
        assert dot.get_xdata() == pytest.approx([5])
        assert point.get_xdata() == pytest.approx([1 + 2 * np.pi])
        ends = sorted((line.get_xdata()[0], line.get_xdata()[-1]) for line in curves)
        assert ends[0][0] <= window[0]
        assert ends[-1][1] >= window[1]
        assert np.allclose([end - begin for begin, end in ends], 2 * np.pi)
        assert np.allclose([one[1] for one in ends[:-1]], [other[0] for other in ends[1:]])


@pytest.mark.slow
def test_a_slice_says_where_it_cuts_and_marks_have_names():
    """Of two rests at z = 0 one lies in the slice z = 0, and both of the cycle's halves do not."""
    turn = np.linspace(0, 2 * np.pi, 100)
    rest = lambda x, z, stability: LimitSet("equilibrium", stability, np.array([[x, 0.0, z]]), None, 0.0, np.zeros(1))
    cycle = rest(0, 0, "stable")._replace(
        kind="periodic orbit", states=np.stack([np.cos(turn), np.sin(turn), np.sin(turn)], axis=1)
    )
    axes, labels = (np.linspace(-2, 2, 20),) * 2, np.repeat([0, 1, 2, 2], 5)[:, None].repeat(20, axis=1)
    limits = (
        (rest(1, 1e-5, "stable"), rest(-1, 2 * np.pi, "stable"), cycle),
        (rest(0, 0, "saddle"), rest(9, 0, "saddle")),
    )
    found, known = (
        Basins(labels, axes, ("x", "y"), *limits, 1.0, 10, np.ones(3)),
        Components(("x", "y", "z"), ("",) * 3, ""),
    )
    found = found._replace(components=known, varied=(0, 1), base=np.zeros(3))
    figure = found.plot().figure
    legend = figure.axes[0].get_legend()
    assert legend.get_title().get_text() == "$z$ = 0"
    said = ["attracting equilibrium", "attracting equilibrium (projected)", "attracting periodic orbit (projected)"]
    assert [t.get_text() for t in legend.get_texts()][3:] == [*said, "equilibrium, not attracting"]
    check_layout(figure)
    names = [name for name in figure.axes[0].get_legend_handles_labels()[1] if "%" not in name]
    assert len({(line.get_linestyle(), line.get_markerfacecolor()) for line in figure.axes[0].lines}) == len(names) == 4
    turning = found._replace(periods={2: 2 * np.pi}).plot().figure
    assert "attracting equilibrium (projected)" not in turning.axes[0].get_legend_handles_labels()[1]


def test_a_slice_of_many_components_has_a_short_label():
    assert slice_label(["a", "x_2"], [1.0, 0.25]) == "$a$ = 1, $x_{2}$ = 0.25"
    assert slice_label([f"x_{k}" for k in range(38)], [8.0] * 38) == "38 other components = 8"
    assert slice_label([f"x_{k}" for k in range(5)], range(5)) == "5 other components held fixed"


def test_a_background_is_pale_and_leaves_the_window_as_it_is():
    labels = np.repeat([[0], [-2]], [60, 20], axis=0).repeat(30, axis=1)
    labels[0, 0] = -1  # too few for the legend
    axes = (np.linspace(0, 1, 80), np.linspace(0, 2, 30))
    with settings():
        _, (ax,) = canvas()
        ax.axis((0, 1, 0, 2))
        image = basin_background(ax, labels, axes)
        assert ax.axis() == (0, 1, 0, 2)
        assert np.allclose(image.get_array()[5, 5], FAINT + (1 - FAINT) * np.array(shade(0)), atol=1e-2)  # of 8 bits
        assert ax.get_legend_handles_labels()[1] == ["basin 1: 75.0%", "escaped: 25.0%"]
        _, (ax,) = canvas()
        ax.plot([0.2, 0.8], [-5, 5])
        window = ax.axis()
        line = basin_background(ax, labels[:, 0], axes[:1])
        assert ax.axis() == window
        assert line.get_transform() == ax.get_xaxis_transform()

"""Every figure of `consensus`: finite numbers, labelled axes, the data drawn, and what the caption says."""

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image

from analysis.experiments import Record
from analysis.tokens.growth_rates import uniform_growth_rates
from dynsim.__main__ import main
from dynsim.io.npz import read_arrays
from figures.consensus import density
from figures.figure import save
from figures.gallery import FIGURES, find_figures
from tests import data_or_skip
from tests.support.figure_layout import check_layout, texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


def panel_data(drawn):
    """Return every number that a figure's artists hold, rounded, as one set."""
    held = [line.get_xydata() for ax in drawn.axes for line in ax.lines]
    for collection in (c for ax in drawn.axes for c in ax.collections):
        held += [np.asarray(collection.get_offsets()), *(path.vertices for path in collection.get_paths())]
    return {float(x) for part in held for x in np.round(np.ravel(np.ma.filled(part, 0.0)), 9)}


DRAWN = {
    "consensus/figure-1": ("potential", "ts"),
    "consensus/figure-2": ("norms", "ts"),
    "consensus/figure-3": ("lyapunov", "ts"),
    "consensus/figure-4": ("distances", "ts"),
    "consensus/figure-5": ("misalignment", "ts"),
    "consensus/spectrum": ("consensus", "hexagon"),
    "consensus/portrait-circle": ("equilibrium_points",),
    "consensus/portrait-sphere": (),
    "consensus/noise": ("fine", "mean_field"),
    "consensus/density": ("fine", "fastest", "degree rates", "rate", "time", "plateau"),
    "consensus/figure-6": ("E", "cosine"),
    "consensus/figure-7": ("E", "cosine"),
    "consensus/figure-8": ("E", "cosine"),
    "consensus/trained-attention": (),
    "consensus/trained-spectra": ("P asymmetry", "P least", "U asymmetry", "U greatest"),
}
RUN_EXPERIMENTS = {name for name in DRAWN if name.endswith(("-6", "-7", "-8"))}
NEED_DATA = RUN_EXPERIMENTS | {name for name in DRAWN if "trained" in name}
DEAR = {f"consensus/{name}" for name in (
    "density", "figure-1", "figure-4", "figure-5", "noise", "portrait-circle", "portrait-sphere", "trained-attention",
    "trained-spectra",
)}  # fmt: skip
MARKED = [pytest.param(name, marks=[pytest.mark.slow] if name in RUN_EXPERIMENTS | DEAR else []) for name in DRAWN]


def test_every_figure_of_the_catalogue_says_what_it_draws():
    assert DRAWN.keys() == {f.name for f in FIGURES if f.source.paper.key == "consensus"}


@pytest.mark.parametrize("name", MARKED)
def test_the_numbers_are_finite_the_axes_are_labelled_and_the_data_is_drawn(name, folder):
    if name in NEED_DATA:
        data_or_skip()
    (shown,) = find_figures(name)
    numbers = shown.data(folder)
    for array in numbers.values():
        if array.dtype.kind in "fc":
            assert np.all(np.isfinite(array)), name
    drawn = shown.drawn(numbers)
    assert isinstance(drawn, matplotlib.figure.Figure)
    for ax in drawn.axes:
        if ax.axison:
            cell = ax.get_subplotspec()  # of a panel; a colour bar has a label on one side only
            assert ax.get_ylabel() or not cell.is_first_col(), name
            assert ax.get_xlabel() or not (cell and cell.is_last_row()), name
        else:
            assert {"$y_1$", "$y_2$", "$y_3$"} <= {text.get_text() for text in ax.texts}
    check_layout(drawn)
    assert str(numbers.get("run", "")) in ["", *(word for word, _ in texts(drawn))]
    held = panel_data(drawn)
    for key in DRAWN[name]:
        assert {float(x) for x in np.round(np.real(np.ravel(numbers[key])), 9)} <= held, key


def test_the_figures_show_what_their_captions_say(folder):
    one, three, four = (find_figures(f"figure-{k}")[0].data(folder) for k in (1, 3, 4))
    W = one["matrix"]
    np.testing.assert_allclose(np.einsum("tni,ij,tnj->tn", one["paths"], W, one["paths"]), 1.0, atol=1e-9)
    assert np.all(np.diff(one["potential"]) <= 1e-6)
    assert abs(one["potential"][-1] - one["least"]) < 1e-2 * abs(one["least"])
    assert np.all(three["paths"][0, :, 0] > 0)
    assert np.all(np.diff(three["lyapunov"]) <= 1e-6)
    assert np.ptp(three["paths"][-1], axis=0).max() < 0.05
    assert np.all(four["paths"][0] @ four["axis"] > 0)
    assert np.all(four["distances"][:, -1] < 0.02)


@pytest.mark.slow
def test_the_tokens_of_figure_5_end_aligned_from_every_start(folder):
    five = find_figures("figure-5")[0].data(folder)
    assert five["misalignment"].shape == (24, len(five["ts"]))
    assert np.all(five["misalignment"][:, -1] < 0.02)


def test_starts_that_stay_apart_count_with_the_last_time_and_unknown_rates_are_left_out(monkeypatch):
    times, rates = [[10.0, 20.0, 30.0, np.nan], [40.0, np.nan, np.nan, np.nan]], [[0.1, np.nan, 0.3, 0.2], [np.nan] * 4]
    arrays = {"beta": np.array([2.0, 9.0]), "tokens": np.array([500]), "ts": np.array([0.0, 100.0])}
    arrays |= {"time to one": np.array(times)[:, None], "rate": np.array(rates)[:, None], "plateau": np.ones((2, 1, 4))}
    made = Record("tokens/density", "quick", 0, {"members": 4}, arrays)
    monkeypatch.setattr(density, "record", lambda experiment, size: made)
    numbers = density.density_figure.compute(None)
    np.testing.assert_allclose(numbers["time"][:, :, 0].T, [[17.5, 25.0, 47.5], [85.0, 100.0, 100.0]])
    np.testing.assert_allclose(numbers["unfinished"][:, 0], [0.25, 0.75])
    np.testing.assert_allclose(numbers["rate"][:, 0, 0], [0.15, 0.2, 0.25])
    assert np.all(np.isnan(numbers["rate"][:, 1, 0]))
    assert str(numbers["run"]) == "quick run: 2 values of beta, 4 starts of each; not the paper's size"
    expected = [uniform_growth_rates(beta, 2, 20, scale=2**-0.5).max() for beta in numbers["fine"]]
    np.testing.assert_allclose(numbers["fastest"], expected, rtol=1e-12)  # of the flow, with its factor 1 / sqrt(d)
    check_layout(density.density_figure.drawn(numbers))


def test_the_spectrum_is_taken_at_equilibria_and_has_the_zeros_of_its_symmetry(folder):
    numbers = find_figures("spectrum")[0].data(folder)
    assert np.max(numbers["speeds"]) < 1e-14
    zeros = {name: int(np.sum(np.abs(numbers[name]) < 1e-9)) for name in ("consensus", "hexagon")}
    assert zeros == {"consensus": 2, "hexagon": 3}
    assert np.max(numbers["consensus"].real) < 1e-9 < 0.1 < np.max(numbers["hexagon"].real)


def test_a_kept_file_is_one_open_file_with_a_header(folder):
    find_figures("figure-2")[0].data(folder)
    header = str(read_arrays(folder / "consensus/figure-2.npz")["header"])
    assert '"figure": "consensus/figure-2"' in header
    assert '"seed": 0' in header


def test_a_paper_gets_a_page_and_what_cannot_be_drawn_is_named(tmp_path, capsys, monkeypatch):
    chosen = find_figures("consensus/figure-2") + find_figures("consensus/figure-6")
    monkeypatch.setattr("dynsim.cli.ledger.own_figures.FIGURES", chosen)
    monkeypatch.delenv("DYNSIM_DATA", raising=False)
    monkeypatch.setenv("DYNSIM_RESULTS", str(tmp_path / "results"))
    assert main(["figure", "consensus", "--out", str(tmp_path), "--formats", "svg"]) == 2
    said = capsys.readouterr()
    assert "Argument `data` must name the folder of data files that `consensus/figure-6` need" in said.err
    page, text = ((tmp_path / "consensus" / name).read_text() for name in ("index.html", "index.md"))
    assert '<img src="figure-2.svg" alt="figure-2">' in page
    assert "![figure-2](figure-2.svg)" in text
    assert "figure-6" not in page + text
    assert (tmp_path / "consensus/figure-2.svg").is_file()


def test_the_sphere_turns_once_in_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("figures.movie.write_movie.__kwdefaults__", {"frames": 3, "pause": 80})
    (turning,) = find_figures("consensus/figure-3")
    for name in ("first", "second"):
        assert save(turning, tmp_path / name, formats=("gif",))[0].name == "figure-3.gif"
    first, second = (tmp_path / name / "consensus/figure-3.gif" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    with Image.open(first) as movie:
        assert movie.n_frames == 3
        assert movie.info["loop"] == 0
        pictures = []
        for frame in range(3):
            movie.seek(frame)
            pictures.append(np.asarray(movie.convert("RGB")))
    assert not np.array_equal(pictures[0], pictures[1])
    with pytest.raises(ValueError, match="hold gif only for figures with a movie, but `consensus/figure-2` has none"):
        save(find_figures("figure-2")[0], tmp_path, formats=("gif",))

"""`dynsim draw`: stored results are drawn again in another size, with other limits, labels and fonts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from analysis.dynamics import load_basins, save_basins, save_diagram
from analysis.dynamics.diagrams import Diagram
from dynsim import FunctionMap, iterate, save
from dynsim.cli import draw
from figures.decimals import with_comma
from figures.lengths import journal_width, length
from figures.panels.labels import parsed, symbol
from figures.style import Page
from tests.figures.test_own_axes import CASES, basins, branch
from tests.support.commands import refused, run


def halve(k, x):
    return x / 2


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    save(folder / "run.npz", iterate(FunctionMap(halve, names=("x", "y")), np.array([1.0, 2.0]), 20))
    save_basins(folder / "basins.npz", basins())
    save_diagram(folder / "diagram.npz", Diagram("mu", (branch(bifurcations=()),), (1,), names=("v",), units=("mV",)))
    np.savez(folder / "other.npz", header=np.array(json.dumps({"format": "something"})))
    return folder


def test_a_size_a_limit_a_font_and_labels_are_as_requested(files, tmp_path, capsys):
    file = tmp_path / "a.png"
    _, said, _ = run(capsys, "draw", files / "diagram.npz", "--size", "nature", "--height", "60mm", "--figure", file)
    assert said.splitlines()[-1] == f"figure {file}"
    with Image.open(file) as drawn:
        assert drawn.size == (int(450 * 89 / 25.4), int(450 * 60 / 25.4))
    o = draw.Draw(files / "diagram.npz", ylim=(0.0, 2.0), xlabel=r"$\alpha$", title="A", font_size=6.0, legend=False)
    result = draw.stored(o.file, ())
    with draw_page(o):
        drawn = draw.picture(o, result)
        draw.adjust(o, drawn)
    (ax,) = drawn.axes
    assert (ax.get_ylim(), ax.get_xlabel(), ax.get_ylabel()) == ((0.0, 2.0), r"$\alpha$", "$v$ (mV)")
    assert (ax.xaxis.label.get_fontsize(), drawn.figure.get_suptitle(), drawn.legend) == (6.0, "A", None)


def draw_page(o):
    from figures.style import page

    return page(draw.page_of(o))


def test_basins_are_read_as_they_were_written(files):
    again = load_basins(files / "basins.npz")
    assert again.components == basins().components
    assert str(again.attractors[0]) == str(basins().attractors[0])
    assert load_basins(files / "basins.npz").plot().attractors
    with pytest.raises(ValueError, match="Argument `path` must be a file that `save_basins` wrote"):
        load_basins(files / "diagram.npz")


def test_panels_of_a_run_are_chosen(files):
    one = draw.stored(files / "run.npz", ("tests.cli.test_draw:halve",))
    count = lambda **how: len(draw.picture(draw.Draw(files / "run.npz", **how), one).axes)
    assert [count(), count(path=True), count(series=True), count(components=("y",))] == [3, 1, 2, 1]


def test_labels_units_and_a_decimal_comma_are_as_requested(files, tmp_path, capsys):
    words = ("--names", r"mu=$\Omega$", "v=V_m", "--units", "mu=s", "v=kV", "--decimal", "comma", "--title", "Fig. 1.2",
        "--font", "DejaVu Serif")  # fmt: skip
    file = tmp_path / "a.svg"
    run(capsys, "draw", files / "diagram.npz", *words, "--figure", file)
    told = file.read_text()
    assert "V_m (kV)" in told
    assert "Ω" in told
    assert "Fig. 1.2" in told
    assert "DejaVu Serif" in told
    assert "DejaVu Sans" not in told
    assert ">0,4<" in told
    assert "0.4<" not in told
    said = refused(capsys, "draw", files / "diagram.npz", "--names", "w=W", "--figure", file)
    assert "`names` must name what the figure shows" in said
    assert "`units` must be NAME=TEXT" in refused(capsys, "draw", files / "diagram.npz", "--units", "w")
    assert with_comma(r"1.5 and $2.5$, \$3.5") == r"1,5 and $2{,}5$, \$3,5"


def turned(k, x):
    return x + 1.0


def test_angles_are_reduced_on_request(tmp_path, capsys):
    spin = FunctionMap(turned, names=("a", "b"), periods={"a": 4.0})
    one = iterate(spin, np.array([0.0, 0.0]), 5)
    assert one.reduced().ys[:, 0].tolist() == [0, 1, 2, -1, 0, 1]
    a, b = (line.get_ydata() for line in one.plot(reduced=True).lines[-2:])
    np.testing.assert_array_equal(a, [0, 1, 2, np.nan, -1, 0, 1])
    np.testing.assert_array_equal(b, [0, 1, 2, 2.5, 3, 4, 5])
    save(tmp_path / "run.npz", one)
    o = draw.Draw(tmp_path / "run.npz", reduced=True, series=True)
    assert np.nanmax(draw.picture(o, one).lines[0].get_ydata()) == 2
    with pytest.raises(ValueError, match="Argument `reduced` must be left out for a system without angles"):
        iterate(FunctionMap(halve), np.array([1.0]), 3).plot(reduced=True)


def test_a_run_of_prototypes_is_drawn_as_its_command_draws_it_and_has_no_path():
    one = CASES["prototypes"].result
    drawn = draw.picture(draw.Draw(Path("run.npz"), legend=False), one)
    assert list(drawn) == ["embeddings", "start", "end", "lines"]
    with pytest.raises(ValueError, match="`path` must be left out for a run of PrototypeFlow, but is given"):
        draw.picture(draw.Draw(Path("run.npz"), path=True), one)


@pytest.mark.parametrize(("words", "sentence"), [
    ("diagram.npz --size natur", "`size` must be one of aps, .*, but is `natur`, did you mean `nature`"),
    ("diagram.npz --width 85", "`width` must be a number with a unit .mm, cm, in, pt., such as 85mm, but is `85`"),
    ("diagram.npz --width 5mm", "`width` must be from 25.4mm to 1016mm, but is `5mm`"),
    ("diagram.npz --width 26mm --height 26mm", "`width` must leave room for the axes beside labels and legend"),
    ("diagram.npz --size aps --width 80mm", "`width` must be left out with `--size`"),
    ("diagram.npz --xlim 2 1", "`xlim` must be two numbers, the smaller first, but is 2, 1"),
    ("diagram.npz --font Nonesuch", "`font` must be the name of an installed font, but is `Nonesuch`"),
    ("diagram.npz --components w", "`component` must name a component of the state, v, but is `w`"),
    ("basins.npz --path", "`path` must be left out for Basins"),
    ("other.npz", "`file` must be a file of results: .*, but `.*other.npz` is of another kind"),
    ("none.npz", "`file` must be a file of results: .*, but `.*none.npz` is no file"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(files, tmp_path, capsys, words, sentence):
    name, *rest = words.split()
    said = refused(capsys, "draw", files / name, *rest, "--figure", tmp_path / "a.png")
    assert re.search(sentence, said), said


def test_sizes_are_lengths_and_names_of_journals():
    assert [length("width", text) for text in ("50.8mm", "5.08cm", "2in", "144pt")] == pytest.approx([2.0] * 4)
    assert journal_width("nature") == journal_width("nature-1") == pytest.approx(89 / 25.4)
    assert Page().rc == {}


def test_a_formula_that_cannot_be_typeset_is_shown_as_it_is():
    with pytest.warns(UserWarning, match=r"The text `\$\\foo` is no formula that can be typeset"):
        assert symbol(r"$\foo") == r"\$\foo"
    assert parsed(r"$\alpha_1$ of 3") == r"$\alpha_1$ of 3"
    assert parsed(r"5 \$") == r"5 \$"

"""Figures: numbers are computed once and kept, ink is deterministic, and every figure of the gallery passes."""

import errno
import importlib.util
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim.papers import CONSENSUS
from figures import panels
from figures.figure import figure, save
from figures.files import FORMATS
from figures.gallery import FIGURES, collect, find_figures
from figures.style import canvas

SOURCE = CONSENSUS.at("Figure 0")


def decaying(calls):
    """Return a figure that counts in `calls` how often its numbers are computed."""

    @figure("consensus/decay", SOURCE)
    def decay(key):
        """A decay."""
        calls.append(key)
        return {"ts": np.linspace(0, 1, 20), "values": np.exp(-np.linspace(0, 1, 20))}

    @decay.with_drawing
    def decay(data):
        drawn, (ax,) = canvas()
        panels.over_time(ax, data["ts"], data["values"], role="energy", ylabel="$V$")
        return drawn

    return decay


def test_numbers_are_computed_once_and_kept(tmp_path):
    calls = []
    shown = decaying(calls)
    first, again = shown.data(tmp_path), shown.data(tmp_path)
    assert len(calls) == 1
    assert (tmp_path / "consensus/decay.npz").exists()
    assert first.keys() == again.keys() == {"ts", "values"}
    np.testing.assert_array_equal(first["values"], again["values"])


def test_another_seed_other_code_a_broken_file_and_fresh_compute_again(tmp_path, monkeypatch):
    calls = []
    shown = decaying(calls)
    shown.data(tmp_path)
    shown.data(tmp_path, seed=1)
    shown.data(tmp_path, seed=1, fresh=True)
    assert len(calls) == 3
    monkeypatch.setattr(importlib.import_module("figures.figure"), "_digest", lambda compute: "other")
    shown.data(tmp_path, seed=1)
    assert len(calls) == 4
    (tmp_path / "consensus/decay.npz").write_bytes(b"PK broken")
    shown.data(tmp_path, seed=1)
    assert len(calls) == 5
    assert calls[0] is not calls[1]


def test_restyling_keeps_the_numbers_and_other_mathematics_does_not(tmp_path):
    source = """
@figure("consensus/x", SOURCE)
def x(key):
    "A number."
    return {"x": RATE * np.ones(2)}

@x.with_drawing
def x(data):
    return canvas(WIDTH)
"""

    def digest(name, text):
        file = tmp_path / f"{name}.py"
        file.write_text("import numpy as np\nfrom figures.figure import figure\nfrom dynsim.papers import CONSENSUS\n"
                        "SOURCE = CONSENSUS.at('Figure 0')\n" + text)  # fmt: skip
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            return module.x.header(0)
        finally:
            del sys.modules[name]

    plain = digest("plain_figure", source.replace("RATE", "2.0"))
    assert digest("wide_figure", source.replace("RATE", "2.0").replace("WIDTH", "7.0")) == plain
    assert digest("other_figure", source.replace("RATE", "3.0")) != plain


def numbers_of(key, power, values=None):
    """Numbers that depend on what a function holds."""
    del key
    return {"values": np.arange(3.0) ** power if values is None else values}


class Powers:
    """An object that is called for numbers."""

    def __init__(self, power):
        """Store the power."""
        self.power = power

    def __call__(self, key):
        """Compute the numbers."""
        return numbers_of(key, self.power)


@pytest.mark.parametrize("holding", [lambda power: partial(numbers_of, power=power), Powers])
def test_what_a_function_holds_determines_the_numbers(tmp_path, holding):
    own = lambda power: replace(decaying([]), compute=holding(power))
    assert own(2).header(0) == own(2).header(0) != own(3).header(0)
    assert [own(power).data(tmp_path)["values"][2] for power in (2, 2, 3)] == [4, 4, 8]


def test_large_values_and_functions_without_source_have_digests():
    many = np.zeros(5000)
    held = lambda values: replace(decaying([]), compute=partial(numbers_of, power=1, values=values)).header(0)
    assert held(many) == held(many.copy()) != held(many + (np.arange(5000) == 2500))
    assert replace(decaying([]), compute=partial(dict, values=2)).header(0)
    assert replace(decaying([]), compute=partial(numbers_of, power=lambda: 2)).header(0)


def test_the_digest_is_of_dynsim_and_the_measures_too_but_not_of_the_claims(tmp_path, monkeypatch):
    module = importlib.import_module("figures.figure")
    seen = []
    for package in ("dynsim", "analysis"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "one.py").write_text("a = 1")
    monkeypatch.setattr(module, "_folder", lambda package: tmp_path / package.__name__)
    for change in (None, "dynsim/one.py", "analysis/one.py", "analysis/claims/one.py"):
        if change:
            (tmp_path / change).parent.mkdir(exist_ok=True)
            (tmp_path / change).write_text("a = 2")
        seen.append(module._packages.__wrapped__())
    assert len({*seen[:3]}) == 3
    assert seen[3] == seen[2]


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_figure_has_the_same_bytes(tmp_path, kind):
    shown = find_figures("spectrum")[0]
    numbers = {"consensus": np.array([-1.0, -1.0, 0.0]), "hexagon": np.array([-0.5, 0.3]), "speeds": np.zeros(2)}
    shown = replace(shown, compute=lambda key: numbers)
    one, other = (save(shown, tmp_path / part, formats=(kind,))[0] for part in ("one", "other"))
    assert one.name == f"spectrum.{kind}"
    assert one.read_bytes() == other.read_bytes()
    assert len(one.read_bytes()) > 1000


def test_text_is_kept_as_text_and_no_date_is_written(tmp_path):
    _, svg, _ = save(decaying([]), tmp_path)
    text = svg.read_text()
    assert ">0.5</text>" in text
    assert "dc:date" not in text
    assert "consensus/decay (consensus, Figure 0)" in text
    assert b"CreationDate" not in (tmp_path / "consensus/decay.pdf").read_bytes()


def test_only_the_formats_asked_for_are_written_and_unknown_ones_refused_before_computing(tmp_path):
    calls = []
    assert [file.suffix for file in save(decaying(calls), tmp_path, formats=("svg",))] == [".svg"]
    assert sorted(p.name for p in (tmp_path / "consensus").iterdir()) == ["decay.npz", "decay.svg"]
    with pytest.raises(
        ValueError, match="Argument `formats` must hold only pdf, svg, png, but holds `pgn`, did you mean `png`"
    ):
        save(decaying(calls), tmp_path / "other", formats=("pgn",))
    assert len(calls) == 1


def test_a_folder_that_cannot_be_written_is_refused_in_one_sentence_before_computing(tmp_path):
    calls = []
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="Argument `folder` must be a folder that can be written, but is ") as caught:
        save(decaying(calls), tmp_path / "file")
    assert "\n" not in str(caught.value)
    assert not calls


def test_a_figure_without_caption_or_with_the_name_of_another_paper_is_refused():
    with pytest.raises(ValueError, match="Argument `compute` must state the caption"):
        figure("consensus/x", SOURCE)(lambda key: {})
    with pytest.raises(ValueError, match="Argument `name` must begin with the key of its paper, `consensus/`"):
        figure("hardmax/x", SOURCE)


def test_the_papers_size_is_another_figure_for_those_that_have_one(tmp_path):
    five, one = find_figures("figure-5")[0], find_figures("figure-1")[0]
    assert five.at_size("quick") is five
    assert five.at_size("paper").name == "consensus/figure-5-paper"
    assert five.at_size("paper").compute is five.compute_paper_size
    with pytest.raises(ValueError, match="Argument `size` must be `quick`"):
        one.at_size("paper")
    words = ["figure", one.name, "consensus/figure-2", "--formats", "svg", "--out", str(tmp_path)]
    assert main([*words, "--size", "paper"]) == 0  # neither has another size, and nobody asked for one of them alone
    assert (tmp_path / "consensus/figure-2.svg").is_file()
    assert main([*words, "--size", "papr"]) == 2


def test_figures_are_found_by_name_by_paper_and_by_pattern():
    names = [f.name for f in FIGURES]
    assert {f"consensus/figure-{k}" for k in range(1, 6)} <= {*names}
    assert [f.name for f in find_figures("consensus/figure-2")] == ["consensus/figure-2"]
    papers = ("consensus", "hardmax", "prototypes", "growing")
    assert [f.name for f in find_figures("figure-2")] == [f"{paper}/figure-2" for paper in papers]
    assert [f.name for f in find_figures("consensus")] == [name for name in names if name.startswith("consensus/")]
    assert [f.name for f in find_figures("portrait-*")] == ["consensus/portrait-circle", "consensus/portrait-sphere"]


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="but `figur-3` does not, did you mean `figure-3`"):
        find_figures("figur-3")


def test_a_name_that_stands_twice_and_a_figure_without_drawing_are_refused():
    shown = decaying([])
    with pytest.raises(ValueError, match="`name` must be unique, but two figures are called `consensus/decay`"):
        collect(SimpleNamespace(one=shown), SimpleNamespace(one=shown))
    with pytest.raises(ValueError, match="`figure` must have a drawing, but `consensus/decay` has none"):
        collect(SimpleNamespace(one=replace(shown, draw=None)))


def test_an_unknown_format_is_one_sentence_for_all_figures(capsys, tmp_path):
    assert main(["figure", "consensus", "--formats", "bmp", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said == "dynsim: Argument `formats` must hold only pdf, svg, png, but holds `bmp`.\n"
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_sentence_and_leaves_no_part(tmp_path, monkeypatch, capsys):
    def full(self, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    name = str(tmp_path)
    assert main(["figure", "consensus/figure-2", "--formats", "svg", "--out", name]) == 2
    said = capsys.readouterr().err
    assert "must be one that can be written" in said
    assert "No space left on device" in said
    assert not list(tmp_path.rglob("*.part*"))

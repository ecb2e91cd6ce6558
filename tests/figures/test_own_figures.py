"""Figures of the user's own, outside of this tree, in files that the command line names."""

import pytest

from dynsim.cli.ledger.own_figures import known_figures
from tests.support.commands import answer, refused, run
from tests.support.own_paper import CLAIMS, FIGURES, HEAD, write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_figures_of_a_file_are_drawn_with_an_index(capsys, folder):
    write("size_beside.py", "SIZE = 5\n")
    write("mine.py", HEAD, "from size_beside import SIZE\n", FIGURES)
    out = answer(capsys, "figure", "mine.py", "--formats", "svg")
    assert out.split() == ["out/mine/square.svg", "out/mine/index.html", "out/mine/index.md"]
    header = lambda: known_figures(["mine.py"])[0][0].header(0)
    before = header()
    write("size_beside.py", "SIZE = 6\n")
    assert header() != before
    assert run(capsys, "figure", "mine.py", "square", "--formats", "svg")[1].split() == ["out/mine/square.svg"]
    assert "`circle` does not" in refused(capsys, "figure", "mine.py", "circle")


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ('return {"x"', 'raise KeyError("no")\n    return {"x"',
     'line 16 of `mine.py`, `raise KeyError("no")`, raised KeyError'),
    ('return {"x": np.linspace(0, 1, 5)}', "return 3", "`compute` must return a dictionary of arrays, but line 13 of"),
    ("return drawn", "return ax", "`draw` must return a figure of Matplotlib, but line 19 of `mine.py`"),
    ("ax.plot", "ax.draw_nothing", "line 22 of `mine.py`, `ax.draw_nothing("),
    ("@square.with_drawing", "@(lambda f: square)", "draw each figure by `@NAME.with_drawing`, but line 13 of"),
    ("@square.with_drawing\ndef square",
     "square = square.with_drawing(lambda d: d)\nother = square.with_drawing(lambda d: d)\ndef drawn",
     "define `mine/square` once, but line 13 of `mine.py`, `@figure("),
    (FIGURES, CLAIMS, "`names` must name a file with figures made by `@figure`, but `mine.py` has none"),
])  # fmt: skip
def test_figures_that_fail_are_refused_with_the_users_line(capsys, folder, old, new, sentence):
    write("mine.py", HEAD, FIGURES.replace(old, new))
    assert sentence in refused(capsys, "figure", "mine.py", "--formats", "svg")

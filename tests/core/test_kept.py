"""What is kept of drawings and words: what agrees with it, and what a figure's lines say."""

import re
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.quality.source_index import ROOT
from tests.support.ink import ink
from tests.support.kept import Kept, agree, common, read, write


@pytest.mark.parametrize(("line", "other", "same"), [
    ("a 1.000 of 3", "a 1.004 of 3", True),
    ("a 1.000 of 3", "a 1.006 of 3", False),
    ("a 1 of 3", "b 1 of 3", False),
    ("a 1", "a 1 2", False),
    ("rounding 3e-16", "rounding 0", True),
    ("small 2e-6", "small 3e-6", False),
    ("4x2:-1,1~0.0004", "4x2:-1,1~0.0008", True),
    ("4x2:-1,1~0.0004", "4x2:-1,1~0.0010", False),
    ("4x2:0,1~0.5", "5x2:0,1~0.5", False),
    ("color=#1000ff", "color=#1001ff", False),
    ("whatever 5", "*", True),
])  # fmt: skip
def test_lines_agree_in_their_texts_and_up_to_rounding_in_their_numbers(line, other, same):
    assert agree(line, other) == same


def test_lines_that_differ_between_runs_are_left_open():
    assert common(["a 1", "b 2"], ["a 1", "b 3"]) == ["a 1", "*"]
    assert common(["a 1", "b 2"], ["a 1"]) == common(["a 1"], ["a 1", "b 2"]) == ["* *"]
    assert common(["* *"], ["a 1"]) == ["* *"]


def test_a_test_must_do_what_is_kept_for_it(tmp_path):
    file = tmp_path / "kept.txt"
    write(file, {"test_b.py::one": ["a 1", "  c"], "test_b.py::two": ["d"]}, "library 2")
    assert read(file, "library 2") == {"test_b.py::one": ["a 1", "  c"], "test_b.py::two": ["d"]}
    test = lambda name, file="test_b.py", slow=None: SimpleNamespace(
        path=SimpleNamespace(name=file), name=name, get_closest_marker=lambda mark: slow
    )
    kept = Kept(file, ("test_b.py",), "library 2")
    kept.compare(test("one"), lambda: ["a 1\n  c\n"])
    with pytest.raises(AssertionError, match=r"`a 2` instead of `a 1` in kept\.txt"):
        kept.compare(test("one"), lambda: ["a 2", "  c"])
    with pytest.raises(AssertionError, match="1 lines instead of 2"):
        kept.compare(test("one"), lambda: ["a 1"])
    with pytest.raises(AssertionError, match="1 lines instead of 0"):
        kept.compare(test("new"), lambda: ["a"])
    write(file, {"test_b.py::open": ["* *"]}, "library 2")
    Kept(file, ("test_b.py",), "library 2").compare(test("open"), lambda: ["a", "b"])
    kept.compare(test("one", "test_other.py"), lambda: ["b"])
    kept.compare(test("one", slow="slow"), lambda: ["b"])
    Kept(file, ("test_b.py",), "library 3").compare(test("one"), lambda: ["b"])  # of another version nothing is known


def test_the_lines_of_a_figure_say_where_its_artists_are_and_how_they_look():
    drawn = Figure(figsize=(3, 2))
    ax = drawn.add_axes((0.1, 0.1, 0.8, 0.8))
    ax.set(xlim=(0, 2), ylim=(1, 3), xlabel="x")
    ax.plot([0, 1], [1, 2], "r--", lw=2, label="path")
    ax.plot([0, 1, 2], [1, 3, 2], "b", lw=1)
    ax.plot([0, 1], [3, 2], "b", lw=1)
    ax.text(1, 2, "here", fontsize=7)
    lines = list(ink(drawn))
    assert lines[0] == "figure 3,2"
    assert lines[1] == "axes xlabel=x xlim=0,2 ylim=1,3"
    assert lines[2].startswith("  Line2D color=#ff0000 linewidth=2 linestyle=-- label=path")
    means = np.dot(np.sin(1 + 0.7 * np.arange(4)), [0, 1, 1, 2]) / 8
    assert lines[2].endswith(f"at=2x2:0,2~{means:.4f}")
    assert lines[3].startswith("  2 of Line2D color=#0000ff linewidth=1 at=10:0,3~")
    assert re.fullmatch(r"  Text text=here .*fontsize=7 at=1,2", lines[4])


def test_drawings_are_kept_for_the_version_of_matplotlib_that_is_pinned():
    pinned = re.search(r"^matplotlib==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned
    first = (ROOT / "tests" / "figures" / "drawings.txt").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# matplotlib {pinned[1]}"
    if mpl.__version__ == pinned[1]:
        assert read(ROOT / "tests" / "figures" / "drawings.txt", f"matplotlib {mpl.__version__}")

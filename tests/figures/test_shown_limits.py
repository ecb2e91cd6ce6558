"""Limits of axes: what most curves do is readable, and what leaves them is marked and said."""

import importlib

import numpy as np
import pytest

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.diagrams import Diagram
from dynsim import Ensemble, FunctionFlow, Parameter, Scipy, Stats
from dynsim.cli.building.systems import Found
from dynsim.cli.continuation.options import Continue
from figures import files
from figures.panels.shown import leaving_marks, member_limits, usual_limits
from figures.style import canvas, settings
from tests.support.commands import refused
from tests.support.figure_layout import overlapping

P = np.linspace(0.01, 1.0, 100)
EVEN = np.full(100, 0.01)
RANGE = 1 + 1 / 0.11  # from -1 to 1/p, of which a tenth of all p, those below 0.11, have larger values


def test_limits_hold_the_middle_of_each_curve_and_all_values_that_are_kept():
    assert usual_limits([(P, EVEN)]) is None  # all is shown
    assert usual_limits([(1 / P, EVEN)], [-1.0]) == pytest.approx((-1 - 0.08 * RANGE, 1 / 0.11 + 0.08 * RANGE))
    skewed = np.append(np.full(90, 1e-9), np.full(10, 1.0))
    assert usual_limits([(1 / P, skewed), (0 * P, EVEN)]) == pytest.approx((-0.08 / 0.91, 1.08 / 0.91))
    assert usual_limits([(np.full(3, 7.0), np.zeros(3))]) is None
    assert usual_limits([(np.array([np.nan, np.inf]), np.ones(2))]) is None
    with pytest.raises(ValueError, match="Argument `curves` must have as many weights as values"):
        usual_limits([(P, EVEN[1:])])


def test_members_that_escape_do_not_decide_about_the_axes():
    ts = np.linspace(0.0, 1.0, 5)
    rows = np.stack([np.sin(ts + k) for k in range(20)])
    assert member_limits(rows, np.ones(20, bool)) is None
    lost = np.append(10.0 ** np.linspace(0, 227, 4), np.nan)
    found = member_limits(np.vstack([rows, *[lost, -lost] * 3]), np.arange(26) < 20)
    assert found is not None
    assert max(map(abs, found)) < 1.2
    alone = member_limits(np.stack([lost, 2 * lost]), np.zeros(2, bool))
    assert alone is None or alone[1] < 1e228


def test_the_number_of_members_that_leave_the_axes_is_in_the_legend():
    ts = np.linspace(0.0, 1.0, 5)
    rows = np.stack([np.sin(ts + k) for k in range(20)] + [np.append(10.0 ** np.linspace(0, 227, 4), np.nan)])
    drawn = members(ts, np.stack([rows, 0 * rows], axis=2), np.arange(21) < 20).plot()
    assert "1 of 21 leave the axes" in [text.get_text() for text in drawn.axes[0].get_legend().get_texts()]
    assert max(map(abs, drawn.axes[0].get_ylim())) < 1.2


def test_members_with_noise_have_a_density_at_the_last_time():
    ts, rows = np.linspace(0.0, 1.0, 5), np.sin(np.arange(25.0))[:, None] * np.ones((25, 5))
    rows[:, -1] = [-1.0] * 15 + [0.5, 1.0] * 5
    finished = np.arange(25) != 24  # whose last value, 1, is left out
    rows[24, 3:] = np.nan
    drawn = members(ts, rows[:, :, None], finished).plot(densities=True)
    assert overlapping(drawn.figure) == []
    (side,) = drawn.axes[0].child_axes
    assert side.get_xlabel() == "density at\n$t$ = 1 s"
    density, edges, _ = side.patches[0].get_data()
    assert (edges[0], edges[-1]) == (-1.0, 1.0)
    np.testing.assert_allclose(density * np.diff(edges) * 24, [15, 0, 0, 5, 4])
    assert not members(ts, rows[:, :, None], finished).plot().axes[0].child_axes


def members(ts, values, finished):
    """Return an ensemble with these values, (members, times, quantities)."""
    counts = np.zeros(len(values), int)
    stats = Stats(finished, counts, counts, counts, 0.0 * counts, 0.0 * counts)
    flow = FunctionFlow(lambda t, x: -x, time_unit="s")
    return Ensemble(ts, values, values[:, 0], values[:, -1], stats, flow, Scipy())


def test_lines_that_leave_the_axes_are_marked_at_the_edge_once():
    with settings():
        _, (ax,) = canvas()
        lines = [*ax.plot(P, -1 / P), *ax.plot(P, -1 / P + 1e-9), *ax.plot(P, np.sin(P))]
        assert leaving_marks(ax, (-10.0, 2.0), lines) == (-100.0, pytest.approx(np.sin(1)))
        marks = [line for line in ax.lines if line.get_marker() == "v"]
        assert [line.get_xydata()[0].tolist() for line in marks[:1]] == [[pytest.approx(0.1), -10.0]]
        assert [line.get_label() for line in marks[1:]] == ["goes on to $-100$"]
        assert not [line for line in ax.lines if line.get_marker() == "^"]
        assert leaving_marks(ax, (-100.0, 2.0), lines) is None


@pytest.fixture
def pole(monkeypatch):
    """Return a function that draws the diagram of a branch with a pole, and the axes of its figure."""
    kept = []
    monkeypatch.setattr(files, "write_figure", lambda drawn, *rest: kept.append(drawn))
    flow = FunctionFlow(lambda t, x, a: -a * x, names=("x",), units=("m",), parameters={"a": 1.0})
    states, kinds = (-1 / P)[:, None], ("stable",) * 100
    branch = Branch(states, P, P, np.zeros((100, 1), complex), kinds, (), ("bounds", "bounds"))
    level = Branch(0 * states, P, P, np.zeros((100, 1), complex), kinds, (), ("bounds", "bounds"))

    def draw(**options):
        o = Continue("mine", parameter="a=0:1", figure=files.Path("a.png"), **options)
        diagram = Diagram("a", (branch, level), (1, 1))
        command, made = importlib.import_module("dynsim.cli.continuation.command"), Found("mine", flow, np.zeros(1))
        command._draw(o, made, Parameter(flow, "a", 0.0, 1.0), diagram)
        return kept[-1].axes[0]

    return draw


def test_a_branch_that_runs_far_away_leaves_the_diagram(pole, capsys):
    ax = pole()
    assert overlapping(ax.figure) == []
    assert ax.get_ylim()[0] == pytest.approx(-1.08 / 0.11)
    assert "branches extend from -100 to 0 (`--window` sets the limits)" in capsys.readouterr().out
    assert "goes on to $-100$" in ax.get_legend_handles_labels()[1]
    assert pole(window=(-120.0, 1.0)).get_ylim() == (-120.0, 1.0)
    assert "branches extend" not in capsys.readouterr().out


@pytest.mark.parametrize(("words", "sentence"), [
    ("--window 2 1", "Argument `window` must be two finite numbers, the smaller first, but is 2, 1"),
    ("--window 1 2 --second h=0:1", "Argument `window` must be left out with `--second`"),
])  # fmt: skip
def test_a_window_that_does_not_fit_is_refused(words, sentence, capsys):
    assert sentence in refused(capsys, "continue", "double-well", "--parameter", "a=0:1", *words.split())

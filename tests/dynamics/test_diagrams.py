"""Bifurcation diagrams: branches and what leaves them, files, and the command `dynsim continue`."""

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.extending import extend
from analysis.dynamics.continuation.orbits import orbit_ranges
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import (
    _middle,
    _Passing,
    bifurcation_diagram,
    branch_line,
    component_of,
    with_orbits,
)
from analysis.dynamics.periodic_orbits.maps import phases
from analysis.dynamics.scaling.flat import chord_bends, chord_distances, flat_states
from analysis.dynamics.stored_diagrams import load_diagram, save_diagram
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.catalogue.populations import Brusselator
from dynsim.systems.parameter import Parameter
from figures.movie import FRAMES
from figures.panels.bifurcations import bifurcation_marks, branch_lines, stability_entries
from tests.support.commands import answer, refused, run

WHERE = lambda flow: flow.a


@pytest.fixture(scope="module")
def pitchfork():
    starts = [jnp.asarray([v]) for v in (-1.0, 0.0, 1.0)]
    return bifurcation_diagram(Parameter(DoubleWell(a=1.0), WHERE, -0.5, 1.2, name="a"), starts)


@pytest.mark.slow
def test_a_diagram_holds_every_branch_of_a_pitchfork_once(pitchfork):
    assert len(pitchfork.branches) == 2
    assert str(pitchfork) == "2 branches in a: 1 branch point"
    shapes = [np.allclose(one.states[:, 0] ** 2, one.parameters, atol=1e-8) for one in pitchfork.branches]
    flat = [np.allclose(one.states, 0.0, atol=1e-8) for one in pitchfork.branches]
    assert sorted(zip(shapes, flat, strict=True)) == [(False, True), (True, False)]


def test_distances_from_chords_are_those_from_their_nearest_points():
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [4.0, 2.0]])
    away, lengths = chord_distances(corners, np.array([3.0, 1.0]))
    assert away == pytest.approx([1.0, 1.0, np.sqrt(2)])
    assert lengths == pytest.approx([4.0, 2.0, 0.0])
    assert chord_distances(corners, np.array([-3.0, 4.0]))[0][0] == pytest.approx(5.0)
    assert chord_bends(corners[:3]) == pytest.approx([np.pi / 2] * 2)
    assert chord_bends(corners[:2]) == pytest.approx([np.pi])
    straight = Branch(np.zeros((3, 1)), np.arange(3.0), np.arange(3.0), np.empty((3, 0)), ("",) * 3, (), ("", ""))
    bent = straight._replace(states=np.array([[0.0], [1.0], [0.0]]))
    beside = np.array([0.05, 0.5])  # a twentieth of a chord away, and on none
    assert not _Passing(None)._pass(straight, beside[None])
    assert _Passing(None)._pass(bent, beside[None] + [0.5, 0.0])
    pair = {"a": np.arange(4.0).reshape(2, 2), "b": np.array([7.0, 8.0])}
    assert flat_states(pair).tolist() == [[0, 1, 7], [2, 3, 8]]
    assert flat_states(tuple(part[:0] for part in pair.values())).shape == (0, 3)


def test_a_branch_that_crosses_a_known_one_is_another_wherever_its_points_crowd():
    """Steps shrink at a branch point, so that most points of a branch may lie where it crosses another one."""
    grid = np.linspace(0.0, 2.0, 5)
    flat = Branch(np.zeros((5, 1)), grid, grid, np.empty((5, 0)), ("",) * 5, (), ("", ""))
    for heights in ([1.0, 1e-9, 0.0, -1e-9, -3.0], [2.0, 1.0, 0.0, -1.0, -2.0]):
        rising = flat._replace(states=np.array(heights)[:, None], arclengths=1.0 - np.array(heights))
        assert not _Passing(None).follows([(flat, 1)], rising, [_middle(rising)[0]])
        assert not _Passing(None).known([(flat, 1)], rising, 1.0, np.zeros(1))
    part = flat._replace(states=np.zeros((2, 1)), parameters=np.array([0.2, 0.9]), arclengths=np.array([0.0, 0.7]))
    assert _Passing(None).follows([(flat, 1)], part, [_middle(part)[0]])
    assert _Passing(None).known([(flat, 1)], part, 0.9, np.zeros(1))


@pytest.mark.slow
def test_a_diagram_is_read_again_as_it_was_and_goes_on(pitchfork, tmp_path):
    file = tmp_path / "pitchfork.npz"
    save_diagram(file, pitchfork)
    again = load_diagram(file)
    assert str(again) == str(pitchfork)
    for one, other in zip(again.branches, pitchfork.branches, strict=True):
        assert np.array_equal(one.states, other.states)
        assert np.array_equal(one.eigenvalues, other.eigenvalues)
        assert one.kinds == other.kinds
        assert [b.parameter for b in one.bifurcations] == [b.parameter for b in other.bifurcations]
    further = extend(again, Parameter(DoubleWell(), WHERE, -1.0, 2.0))
    assert max(float(np.max(one.parameters)) for one in further.branches) == pytest.approx(2.0)
    assert min(float(np.min(one.parameters)) for one in further.branches) == pytest.approx(-1.0)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(ValueError, match="must be a complete npz file"):
        load_diagram(file)


def test_files_that_hold_no_diagram_are_refused(pitchfork, tmp_path):
    broken = [
        {"iterates": (1,)},
        {"branches": (pitchfork.branches[0], 3.0)},
        {"branches": (pitchfork.branches[0], pitchfork.branches[1]._replace(bifurcations=(1.0,)))},
        {"curves": (2.0,)},
    ]
    for changed in broken:
        save_diagram(tmp_path / "broken.npz", pitchfork._replace(**changed))
        with pytest.raises(ValueError, match="Argument `path` must be a file that `save_diagram` wrote, but"):
            load_diagram(tmp_path / "broken.npz")
    save_diagram(tmp_path / "whole.npz", pitchfork)
    with np.load(tmp_path / "whole.npz") as file:
        arrays = dict(file)
    header = str(arrays["header"])
    others = [header.replace('"format_version": 2', '"format_version": 1'), header.replace("diagram", "drawing", 1)]
    for header in (*others, '{"format": "dynsim diagram"}', "[]"):
        np.savez(tmp_path / "other.npz", **{**arrays, "header": np.array(header)})
        with pytest.raises(ValueError, match="Argument `path` must be a file that `save_diagram` wrote, but"):
            load_diagram(tmp_path / "other.npz")


def test_the_diagram_of_a_map_holds_a_cycle_once_with_both_of_its_points():
    """The points x of period two solve r^2 x^2 - r (r + 1) x + r + 1 = 0, and their sum is 1 + 1 / r."""
    found = bifurcation_diagram(Parameter(Logistic(r=2.9), lambda m: m.r, 2.8, 3.2), [jnp.asarray([0.65])], levels=1)
    assert found.iterates == (1, 2)
    fixed, double = found.branches
    assert np.allclose(fixed.states[:, 0], 1 - 1 / fixed.parameters, atol=1e-9)
    one, other = phases(Parameter(Logistic(), "r", 2.8, 3.2), double.states, double.parameters, 2)
    for states in (one, other):
        r, x = double.parameters[1:], states[1:, 0]
        assert np.allclose(r**2 * x**2 - r * (r + 1) * x + r + 1, 0.0, atol=1e-8)
    assert np.allclose(one[:, 0] + other[:, 0], 1 + 1 / double.parameters, atol=1e-9)
    further = extend(found, Parameter(Logistic(), lambda m: m.r, 2.8, 3.3), steps=Steps(largest=0.1))
    assert float(np.max(further.branches[1].parameters)) == pytest.approx(3.3)
    twice = found._replace(branches=(fixed, double, double._replace(states=other)), iterates=(1, 2, 2))
    assert extend(twice, Parameter(Logistic(), lambda m: m.r, 2.8, 3.3)).iterates == (1, 2)


@pytest.mark.slow
def test_a_cascade_has_one_branch_of_each_period_and_is_drawn_with_all_points(capsys, tmp_path, monkeypatch):
    """The doublings of the logistic map are at 3, 1 + sqrt 6, 3.544090 and 3.564407 (OEIS A086181, A091517)."""
    drawn = []
    monkeypatch.setattr("figures.files.write_figure", lambda figure, *_: drawn.append(figure.axes[0]))
    file, figure = tmp_path / "cascade.npz", tmp_path / "cascade.png"
    base = ["continue", "logistic", "--start", "0.6", "--figure", figure]
    said = answer(capsys, *base, "--parameter", "r=2.9:3.56", "--levels", "3", "--out", file)
    assert [line.split(":")[0].strip() for line in said.splitlines()[2:5]] == [
        f"cycles of period {k}" for k in (2, 4, 8)
    ]
    again = answer(capsys, *base, "--parameter", "r=2.9:3.57", "--resume", file)
    assert again.splitlines()[0] == "4 branches in r: 4 period doublings"
    for ax, count in zip(drawn, (7, 15), strict=True):  # 1 + 2 + 4 marks, and 8 more
        marks = [tuple(line.get_xydata()[0]) for line in ax.lines if line.get_marker() == "^" and len(line.get_xdata())]
        assert len(marks) == count
        assert len({round(x, 6) for x, _ in marks}) == (3 if count == 7 else 4)
        assert {line.get_linestyle() for line in ax.lines if len(line.get_xdata()) > 1} == {"-", "--"}
        assert "unstable" in ax.get_legend_handles_labels()[1]  # and nothing is undecided
    parameters = sorted({round(x, 5) for x, _ in marks})
    assert parameters == pytest.approx([3.0, 1 + 6**0.5, 3.544090, 3.564407], abs=1e-5)


def test_a_line_changes_its_stability_at_the_bifurcation(pitchfork):
    (flat,) = (b for b in pitchfork.branches if np.allclose(b.states, 0.0, atol=1e-8))
    line = branch_line(flat, component_of(flat.states, 0)[:, None], np.zeros((1, 1)))
    ends = np.sort(np.stack([line.parameters[1:], line.parameters[:-1]]), axis=0)
    assert np.array_equal(line.stable, ends[1] <= 1e-8)
    assert len(set(np.sign(np.diff(line.parameters)))) == 1
    plain = branch_line(flat._replace(bifurcations=()), flat.states, np.zeros((0, 1)))
    assert np.array_equal(plain.stable, np.maximum(flat.parameters[1:], flat.parameters[:-1]) < 0)  # both ends are
    ax = Figure().add_subplot()
    pieces = branch_lines(ax, *line)
    assert sorted(piece.get_linestyle() for piece in pieces) == ["-", "--"]
    bifurcation_marks(ax, ["branch point"], [0.0], [0.0])
    stability_entries(ax)
    assert ax.get_legend_handles_labels()[1] == ["branch point", "stable", "unstable"]
    ax = Figure().add_subplot()
    stability_entries(ax, kinds={"equilibria": "blue", "periodic orbits": "red"})
    assert ax.get_legend_handles_labels()[1] == ["equilibria", "periodic orbits", "stable", "unstable"]
    with pytest.raises(ValueError, match="Argument `kinds` must hold only fold, branch point"):
        bifurcation_marks(ax, ["bend"], [0.0], [0.0])


def test_a_branch_is_a_smooth_curve_through_its_points_but_for_corners():
    turn = np.linspace(0.0, np.pi, 9)  # a fold at 1, with few points
    x, y = np.sin(turn), np.cos(turn)
    ax = Figure().add_subplot()
    (curve,) = branch_lines(ax, x, y[:, None], np.ones(8, bool), turn)
    found = curve.get_xydata()
    assert np.allclose(found[::8], np.stack([x, y], axis=1))
    assert np.max(np.abs(np.linalg.norm(found, axis=1) - 1)) < 3e-3  # of chords 0.019
    lengths = np.arange(9.0)
    bend = np.abs(lengths - 4)
    (curve,) = branch_lines(ax, lengths, bend, np.ones(8, bool), lengths, bend == 0)
    assert np.allclose(curve.get_ydata(), np.abs(curve.get_xdata() - 4))
    solid, dashed = branch_lines(ax, lengths, bend, lengths[:-1] < 3, lengths)
    assert (solid.get_xdata()[-1], dashed.get_xdata()[0]) == (3.0, 3.0)
    twice = [0.0, 1.0, 1.0, 2.0]  # a bifurcation at a point
    (curve,) = branch_lines(ax, twice, twice, np.ones(3, bool), twice)
    assert np.allclose(curve.get_xdata(), curve.get_ydata())


def test_marks_are_filled_by_criticality():
    ax = Figure().add_subplot()
    bifurcation_marks(ax, ["supercritical period doubling", "subcritical Neimark-Sacker point"], [0.0, 1.0], [0.0, 0.0])
    marks = [(line.get_marker(), line.get_markerfacecolor(), line.get_label()) for line in ax.lines]
    assert marks == [
        ("^", "white", "supercritical period doubling"),
        ("v", "black", "subcritical Neimark-Sacker point"),
    ]


def test_the_range_of_a_branch_holds_its_bifurcations(pitchfork):
    across = next(one for one in pitchfork.branches if np.max(np.abs(one.states)) > 0.1)
    assert [b.parameter for b in across.bifurcations] == pytest.approx([0.0], abs=1e-9)
    cut = across._replace(parameters=np.maximum(across.parameters, 0.25))
    assert "parameter 0 to 1.2: " in str(cut)


def test_a_diagram_without_orbits_is_resumed_with_cycles_and_other_files_are_refused(pitchfork, tmp_path, capsys):
    file = tmp_path / "well.npz"
    save_diagram(file, pitchfork)
    words = ["continue", "double-well", "--parameter", "a=-0.5:1.2", "--resume", file]
    assert answer(capsys, *words, "--cycles").startswith("2 branches in a: 1 branch point\n")
    assert run(capsys, *words)[0] == 0
    (tmp_path / "none.npz").write_text("none")
    assert "`resume` must be a complete npz file" in refused(capsys, *words[:-1], tmp_path / "none.npz")
    assert "`resume` must be a file, but `none.npz` is not one." in refused(capsys, *words[:-1], "none.npz")


@pytest.mark.slow
def test_orbits_of_the_brusselator_are_added_with_their_extremes():
    where = lambda flow: flow.b
    still = bifurcation_diagram(
        Parameter(Brusselator(a=1.0, b=1.5), where, 1.2, 2.3), [jnp.asarray([1.0, 1.5])], levels=0
    )
    found = with_orbits(still, Parameter(Brusselator(a=1.0), where, 1.2, 2.3), steps=Steps(largest=0.4), segments=3)
    (cycles,) = found.orbits
    assert set(cycles.kinds[1:]) == {"stable"}
    extremes = orbit_ranges(Parameter(Brusselator(), where, 1.2, 2.3), cycles, 0)
    assert np.allclose(extremes[0], 1.0, atol=1e-6)
    assert np.all(np.diff(extremes[:, 1]) > 0)
    assert "1 branch and 1 of periodic orbits" in str(found)


@pytest.mark.slow
def test_the_command_draws_and_saves_a_diagram_and_goes_on_from_its_file(tmp_path, capsys):
    file, figure = tmp_path / "well.npz", tmp_path / "well.png"
    base = ["continue", "double-well", "--num-starts", "8"]
    said = answer(capsys, *base, "--parameter", "a=-0.5:1.2", "--out", file, "--figure", figure)
    assert "branch point at" in said
    assert figure.stat().st_size > 5_000
    assert len(load_diagram(file).branches) == 2
    _, said, _ = run(capsys, *base, "--parameter", "a=-1:2", "--resume", file)
    assert "parameter -1 to 2" in said
    _, said, _ = run(capsys, "continue", "double-well", "--parameter", "a=-1:1.5", "--resume", file)
    assert "branches in a:" in said
    other = refused(capsys, "continue", "double-well", "--parameter", "h=-1:1", "--resume", file)
    assert "Argument `resume` must be a diagram in `h`, but is a diagram in `a`." in other


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lorenz", "--parameter", "rhoo=0:9"], "did you mean `rho`?"),
        (["lorenz"], "such as `sigma=0:20` around its value 10, but is not given (one of sigma, rho, beta)."),
        (["lorenz", "--parameter", "rho=9:0"], "`parameter` must hold the lower end first, but is `rho=9:0`."),
        (
            ["henon", "--parameter", "a=0:1", "--box", "-1", "1"],
            "Argument `box` must hold a lower and an upper bound for each of 2 components",
        ),
        (
            ["henon", "--parameter", "a=0:1", "--box", "1", "-1", "-1", "1"],
            "the lower first, but is [1.0, -1.0, -1.0, 1.0]",
        ),
        (["nowhere", "--parameter", "rho=0:1"], "Argument `system` must be a name that `dynsim list systems` shows"),
    ],
)
def test_the_command_refuses_bad_input_in_one_sentence(words, sentence, capsys):
    assert sentence in refused(capsys, "continue", *words)


def test_all_fixed_points_of_a_map_of_ones_own_are_looked_for(capsys, tmp_path, monkeypatch):
    frames = []
    last = lambda file, drawing: frames.append(drawing(1 - 1 / FRAMES).axes[0])
    monkeypatch.setattr("figures.movie.write_movie", last)
    file = tmp_path / "own.py"
    file.write_text(
        "import jax.numpy as jnp\n"
        "from dynsim.systems.base import FunctionMap\n"
        "def step(k, x, r):\n"
        "    return jnp.stack([r * x[0] * (1 - 1e9 * x[1]), x[0]])\n"
        'delayed = FunctionMap(step, names=("x", "y"), parameters={"r": 1.5})\n'
    )
    words = ["continue", f"{file}:delayed", "--parameter", "r=1.4:1.6", "--step", "0.1"]
    said = answer(capsys, *words, "--box", *["-1e-9", "2e-9"] * 2, "--num-starts", "6", "--movie", "r.gif")
    assert "2 branches in r" in said  # from (0, 0), and from (1, 1) (1 - 1 / r) in units of 1e-9
    assert said.splitlines()[-1] == "movie r.gif"
    assert [line.get_visible() for line in frames[0].lines] == [True] * len(frames[0].lines)


def test_only_results_of_a_continuation_are_extended():
    with pytest.raises(
        ValueError, match="Argument `known` must be a branch, a curve of bifurcations or a diagram, but is"
    ):
        extend(3.0, Parameter(DoubleWell(), WHERE, -1.0, 2.0))


def test_a_resumed_diagram_keeps_the_names_and_units_of_its_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text("def growth(t, x, mu=0.5):\n    return mu * x - x**2\n")
    monkeypatch.chdir(tmp_path)
    line = ["continue", "mine.py:growth", "--step", "0.4", "--max-step", "0.4", "--levels", "0", "--parameter"]
    named = ["--names", "height", "--units", "m"]
    assert run(capsys, *line, "mu=0.3:1", *named, "--start", "0.5", "--out", "a.npz")[0] == 0
    found = load_diagram("a.npz")
    assert (found.names, found.units) == (("height",), ("m",))
    status, _, _ = run(capsys, *line, "mu=0.3:1.5", "--resume", "a.npz", "--component", "height", "--out", "b.npz")
    assert status == 0
    assert load_diagram("b.npz").names == ("height",)
    line += ["mu=0.3:1.5", "--resume", "a.npz", "--component"]
    assert "state, height, but is `heigth`, did you mean `height`?" in refused(capsys, *line, "heigth")
    assert "state, size, but is `height`" in refused(capsys, *line, "height", "--names", "size")  # other names win

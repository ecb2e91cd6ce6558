"""Where `dynsim continue` finds its starts, and where it has none."""

import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import load_diagram
from tests.support.commands import answer, refused


@pytest.mark.parametrize(("words", "said"), [
    (("x' = mu - x^2", "--parameter", "mu=-1:1"), "starts at mu = 1\n1 branch in mu: 1 fold"),
    (("x' = 1 - 4*mu^2 - x^2", "--parameter", "mu=-1:3"), "starts at mu = 0\n1 branch in mu: 2 folds"),
    (("x[n+1] = mu + x[n] - x[n]^2", "--parameter", "mu=-1:0.5"), "starts at mu = 0.5\n1 branch in mu: 1 fold"),
])  # fmt: skip
def test_equilibria_are_looked_for_at_other_values_where_the_first_has_none(capsys, words, said):
    assert said in answer(capsys, "continue", *words, "--box", -2, 2)


@pytest.mark.parametrize(("text", "count", "found"), [
    ("x' = r*x*(1 - x/1e6); r = 1.5", "2 equilibria", "branch point at 0 (transcritical)"),
    ("x[n+1] = x*exp(r*(1 - x/1e6)); r = 1.5", "2 fixed points", "period doubling at 2 (supercritical)"),
])  # fmt: skip
def test_populations_of_a_million_are_found_without_a_box(capsys, text, count, found):
    said = answer(capsys, "continue", text, "--parameter", "r=-0.5:2.2", "--levels", 0)
    assert count in said
    assert found in said


@pytest.mark.parametrize(
    ("text", "kind"), [("x' = mu - x^2", "an equilibrium"), ("x[n+1] = mu + x[n] - x[n]^2", "a fixed point")]
)
def test_a_range_without_equilibria_is_refused_with_the_values_tried(capsys, text, kind):
    words = ("continue", text, "--parameter", "mu=-3:-1", "--box", -2, 2)
    sentence = f"`start` must be given near {kind}, but is not, and none was found in the box at mu = -3, -1, -2, -2.5,"
    assert sentence in refused(capsys, *words)


def test_a_multiple_root_is_left_out_of_the_starts(capsys):
    """The branch x = 0 of x^2 (x - a) is one twice; the other branch leads to it at a = 0."""
    said = answer(capsys, "continue", "x' = x^2*(x - a); a = 1", "--parameter", "a=0.5:2")
    assert "no branch is continued from 1 multiple root of the equations at a = 1\n1 branch in a" in said


CUSP = "x' = a + b*x - x^3; a = 0; b = 1"


def test_a_point_of_a_stored_diagram_is_continued_in_another_parameter(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer(capsys, "continue", CUSP, "--parameter", "a=-1:1", "--start", 1, "--out", "d.npz")
    table = ds.table(load_diagram("d.npz"))
    fold = 1 + int(np.argmax(table["bifurcation"] == "fold"))
    words = ("continue", CUSP, "--from", "d.npz", "--parameter")
    said = answer(capsys, *words, "b=0:2", "--point", fold, "--out", "e.npz")
    assert f"from row {fold} of `d.npz`, at a = 0.38490018" in said
    again = load_diagram("e.npz")
    (branch,) = again.branches
    assert [round(b.parameter, 6) for b in branch.bifurcations] == [1.0]
    np.testing.assert_allclose(
        branch.states[:, 0] ** 3 - branch.parameters * branch.states[:, 0], 0.38490018, atol=1e-7
    )
    for more, sentence in (
        (
            ("b=0:2",),
            f"`point` must be the number of a row of the table of `d.npz`, 1 to {len(table)}, but is not given",
        ),
        (("b=0:2", "--point", 0), f"1 to {len(table)}, but is 0"),
        (("b=2:3", "--point", 1), "`parameter` must be a range that contains the value 1 at which the point is"),
        (("b=0:2", "--point", 1, "--start", 1), "`start` must be left out with `--from`, which has the start"),
    ):
        assert sentence in refused(capsys, *words, *more)
    assert "`point` must be left out without" in refused(capsys, *words[:2], "--parameter", "b=0:2", "--point", 1)


@pytest.mark.slow
def test_an_orbit_and_a_cycle_of_a_map_of_a_stored_diagram_are_continued(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hopf = "x' = mu*x - w*y - x*(x^2 + y^2); y' = w*x + mu*y - y*(x^2 + y^2); mu = -0.5; w = 1"
    answer(capsys, "continue", hopf, "--parameter", "mu=-1:1", "--start", 0, 0, "--cycles", "--segments", 3, "--out",
        "h.npz")  # fmt: skip
    table = ds.table(load_diagram("h.npz"))
    answer(
        capsys, "continue", hopf, "--parameter", "w=0.5:2", "--from", "h.npz", "--point", len(table), "--out", "w.npz"
    )
    (orbits,) = load_diagram("w.npz").orbits
    np.testing.assert_allclose(orbits.states.period * orbits.parameters, 2 * np.pi, atol=1e-6)
    answer(capsys, "continue", "logistic", "--parameter", "r=2.5:3.3", "--start", 0.6, "--levels", 1, "--out", "l.npz")
    count = len(ds.table(load_diagram("l.npz")))
    said = answer(capsys, "continue", "logistic", "--parameter", "r=3.1:3.4", "--from", "l.npz", "--point", count)
    assert "cycles of period 2: " in said


@pytest.mark.parametrize("text", ["x' = -sign(x) + a; a = 0", "x' = v; v' = -x - 0.3*sign(v) + a; a = 0"])
def test_a_start_on_a_surface_of_jumps_is_refused(capsys, text):
    start = (0,) * text.count("'")
    said = refused(capsys, "continue", text, "--parameter", "a=-2:2", "--start", *start)
    assert "leads to a surface on which it jumps, where trajectories may slide" in said

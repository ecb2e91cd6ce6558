"""`dynsim continue --mark` and `--stop`: formulas of components, parameters and the period."""

import pytest

from tests.support.commands import answer, refused

PARABOLA = ("continue", "x' = a - x^2", "--a", 1, "--start", 1, "--parameter", "a=-1:1")


def test_formulas_mark_and_end_branches(capsys, tmp_path):
    out = tmp_path / "a.csv"
    said = answer(capsys, *PARABOLA, "--mark", "x = 0.5", "a - 0.3", "--stop", "2*x < -1", "--out", out)
    assert "fold at 0, `x = 0.5` at 0.25, `a - 0.3` at 0.3; ends: stop: 2*x < -1 and bounds" in said
    assert "x = 0.5" in out.read_text()


@pytest.mark.parametrize(("words", "sentence"), [
    (("--mark", "y = 1"), "`mark` must be a formula of x, a, and of `period` along periodic orbits, but `y = 1` n"),
    (("--mark", "x == 1"), "`mark` must be a formula that vanishes, such as `x - 1` or `x = 1`, but is `x == 1`"),
    (("--mark", "x + period"), "`mark` must have no component beside the period, along which it varies, but is"),
    (("--stop", "x = 1"), "`stop` must be a condition such as `x > 3`, with < or >, but is `x = 1`"),
])  # fmt: skip
def test_other_formulas_are_refused(capsys, words, sentence):
    assert sentence in refused(capsys, *PARABOLA, *words)


def test_a_box_tells_the_number_of_components_of_a_function(capsys, tmp_path):
    (tmp_path / "own.py").write_text("def field(t, x, a=1.0):\n    return a - x\n")
    words = ("continue", f"{tmp_path / 'own.py'}:field", "--parameter", "a=-1:1", "--box", -2, 2, -1, 1)
    assert "`mark` must be a formula of x_1, x_2, a, and" in refused(capsys, *words, "--mark", "z = 1")


def test_a_state_at_rest_where_the_field_jumps_is_said_not_to_be_continued(capsys):
    words = ("continue", "x' = a - x - sign(x - 0.2)", "--a", 0.5, "--parameter", "a=-3:3", "--box", -2, 2)
    assert "`system` must have an equilibrium where the field is smooth" in refused(capsys, *words)


@pytest.mark.slow
def test_formulas_of_the_period_hold_along_orbits(capsys):
    words = ("continue", "van-der-pol", "--mu", -1, "--parameter", "mu=-1:3", "--start", 0, 0, "--cycles")
    said = answer(capsys, *words, "--mark", "period = 6.5", "mu = 1", "--stop", "period > 7")
    assert "branch point at 0 (degenerate" in said  # of a vertical family, which another one crosses
    assert "`period = 6.5` at 0.749353, `mu = 1` at 1; ends: Hopf point and stop: period > 7" in said

"""Where `dynsim continue` finds its starts, and where it has none."""

import pytest

from tests.support.commands import answer, refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("x' = mu - x^2", "--parameter", "mu=-1:1"), "starts at mu = 1\n1 branch in mu: 1 fold"),
        (("x' = 1 - 4*mu^2 - x^2", "--parameter", "mu=-1:3"), "starts at mu = 0\n1 branch in mu: 2 folds"),
        (("x[n+1] = mu + x[n] - x[n]^2", "--parameter", "mu=-1:0.5"), "starts at mu = 0.5\n1 branch in mu: 1 fold"),
    ],
)
def test_equilibria_are_looked_for_at_other_values_where_the_first_has_none(capsys, words, said):
    assert said in answer(capsys, "continue", *words, "--box", -2, 2)


@pytest.mark.parametrize(
    ("text", "kind"), [("x' = mu - x^2", "an equilibrium"), ("x[n+1] = mu + x[n] - x[n]^2", "a fixed point")]
)
def test_a_range_without_equilibria_is_refused_with_the_values_tried(capsys, text, kind):
    words = ("continue", text, "--parameter", "mu=-3:-1", "--box", -2, 2)
    sentence = f"`start` must be given near {kind}, but is not, and none was found in the box at mu = -3, -1, -2, -2.5,"
    assert sentence in refused(capsys, *words)

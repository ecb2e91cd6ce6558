"""Arguments of the wrong kind that reach functions of the faces of `analysis`, which answer in one sentence each."""

import pytest

from analysis import dynamics, ledger
from dynsim.errors import ArgumentError


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: dynamics.kaplan_yorke_dimension(-1),
            r"must have shape \(exponents,\), but has shape \(\)",
        ),
        (lambda: dynamics.rotations(-1), "`d` must be at least 1, but is -1"),
        (lambda: ledger.at_most("x", "a", 1, tolerance=0.0), "`value` must be a real number in the range of floats"),
        (lambda: ledger.at_least("x", 1, 10**400, tolerance=0.0), "`bound` must be a real number in the range of"),
        (lambda: ledger.equal("x", 1, "a", tolerance=0.0), "`expected` must be a real number in the range of floats"),
        (lambda: ledger.agrees("x", "a", 1), "`found` must hold real numbers in the range of floats, but is 'a'"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_named(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()

"""The mutants: each can be made, each names claims or tests, and these notice the quick ones."""

from pathlib import Path

import pytest

from analysis.claims import claims
from tests.mutants import Mutant, mutants, run

QUICK = [mutant for mutant in mutants() if mutant.quick]


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_names_what_notices_it(mutant):
    compile(mutant.mutated(), mutant.path, "exec")
    assert sum(map(bool, (mutant.claims, mutant.tests, mutant.equivalent))) == 1
    assert all(Path(name.split("::")[0]).is_file() for name in mutant.tests)
    known = {claim.id: claim for claim in claims()}
    assert all(id in known for id in mutant.claims)
    # a claim without a control may be refuted as it stands, and would then seem to notice every mutant
    assert all(known[id].control is not None for id in mutant.claims)


def test_claims_and_tests_notice_the_quick_mutants():
    survived = [result for result in run(QUICK) if not result.killed]
    assert not survived


def test_a_claim_that_does_not_see_a_mutant_is_reported():
    unseen = Mutant(
        "other words of an error, which no claim can see",
        "dynsim.systems.tokens.masks",
        'self.width = integer("width", width, least=1)',
        'self.width = integer("the width", width, least=1)',
        ("consensus/equation-18-19",),
    )
    (result,) = run([unseen])
    assert not result.killed
    assert result.survived == ("consensus/equation-18-19: EXACT",)


def test_a_stale_mutant_is_refused():
    with pytest.raises(ValueError, match="must occur once in dynsim.keys, but does 0 times"):
        Mutant("stale", "dynsim.keys", "no such expression", "").mutated()

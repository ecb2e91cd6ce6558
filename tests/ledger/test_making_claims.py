"""The two forms of a claim, a decorated function and a call, and trials that leave out the integrator."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import jax
import pytest

from analysis import provenance
from analysis.claims import claims, collect, stated_by
from analysis.claims.rational_instances import integers
from analysis.ledger.check import check
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import Trial, holds
from analysis.ledger.statement import Statement
from analysis.ledger.verdict import Verdict
from dynsim.integrators import Diffrax
from dynsim.papers import CONSENSUS

SOURCE = CONSENSUS.at("Lemma 3.1")
KEY = jax.random.key(0)
ID = "consensus/lemma-3.1"


def trial_of(key, integrator=None, *, largest=Fraction(1)):
    given = () if integrator is None else (holds("it has an integrator", True),)
    return Trial(given, (holds("the largest is 1", largest == 1),), {"key": key})


def without_integrator(key, largest=1):
    return trial_of(key, largest=largest)


def test_a_claim_made_by_a_call_is_that_of_a_decorated_function():
    options = {"num_trials": 3, "note": "why", "evidence": "certified", "variant": "reading"}

    @claim(ID, SOURCE, **options)
    def decorated(key):
        """The largest is 1.

        Read: of all of them.
        """
        return without_integrator(key)

    @decorated.with_control
    def decorated(key):
        """Another one is 2."""
        return without_integrator(key, 2)

    text = """The largest is 1.

        Read: of all of them.
        """
    called = claim(
        ID,
        SOURCE,
        statement=text,
        trial=partial(without_integrator, largest=1),
        control=lambda key: without_integrator(key, 2),
        **options,
    )
    assert called.statement == decorated.statement == "The largest is 1.\n\nRead: of all of them."
    for one in (decorated, called):
        found = check(one)
        assert (found.verdict, found.control, len(found.trials)) == (Verdict.EXACT, Verdict.REFUTED, 3)
        assert (one.num_trials, one.note, one.evidence, one.variant) == tuple(options.values())


@pytest.mark.parametrize(
    ("id", "options", "variant"),
    [
        (ID, {}, "printed"),
        (f"{ID}/corrected", {}, "corrected"),
        (f"{ID}/corrected", {"variant": "reading"}, "reading"),
        (f"{ID}/circle-corrected", {}, "printed"),
    ],
)
def test_an_id_that_ends_in_corrected_is_that_of_a_corrected_claim(id, options, variant):
    for make, evidence in ((claim, "sampled"), (certified, "certified")):
        made = make(id, SOURCE, statement="The largest is 1.", trial=without_integrator, **options)
        assert (made.variant, made.evidence) == (variant, evidence)


def test_a_control_may_stand_beside_a_decorated_trial():
    @claim(ID, SOURCE, control=partial(without_integrator, largest=2), num_trials=1)
    def decorated(key):
        """The largest is 1."""
        return without_integrator(key)

    assert check(decorated).control is Verdict.REFUTED


@pytest.mark.parametrize(
    ("trial", "takes"),
    [
        (lambda key: trial_of(key), False),
        (partial(without_integrator, largest=1), False),
        (without_integrator, False),  # whose second argument has a default, and is no integrator
        (lambda key, integrator: trial_of(key, integrator), True),
        (lambda k, i: trial_of(k, i), True),
        (lambda *both: trial_of(*both), True),
        (partial(trial_of, largest=1), True),
    ],
)
def test_the_signature_tells_whether_a_trial_takes_an_integrator(trial, takes):
    made = claim(ID, SOURCE, statement="The largest is 1.", trial=trial, num_trials=1)
    (found,) = check(made).trials
    assert len(found.hypotheses) == takes
    again = made.with_control(made.trial)  # it is not taken for the function inside
    assert len(again.control(KEY, Diffrax()).hypotheses) == takes


@pytest.mark.parametrize("trial", [lambda: trial_of(0), lambda a, b, c: trial_of(a), partial(trial_of, key=0)])
def test_a_trial_of_other_arguments_is_refused(trial):
    with pytest.raises(ValueError, match="`trial` must take a key, or a key and an integrator, but takes"):
        claim(ID, SOURCE, statement="The largest is 1.", trial=trial)


def test_a_claim_by_a_call_needs_a_statement():
    with pytest.raises(ValueError, match="must state its theorem in its docstring, or be given as `statement`"):
        claim(ID, SOURCE, statement="", trial=without_integrator)


@pytest.mark.parametrize("trial", [partial(integers, shape=(1,), low=0, high=2), lambda key: integers(key, (1,), 0, 2)])
def test_a_claim_depends_on_the_module_that_holds_it_and_on_that_of_its_trial(monkeypatch, trial):
    """A function of another module does not tell in which one the claim's own arguments stand."""
    names = []
    monkeypatch.setattr(provenance, "_sources", lambda module: names.append(module) or [])
    made = claim(ID, SOURCE, statement="A text.", trial=trial)
    provenance.source_digest(replace(made, module="analysis.claims.consensus"))
    inner = "analysis.claims.rational_instances" if isinstance(trial, partial) else __name__
    assert names == ["analysis.claims.consensus", inner]


def test_a_claim_of_the_library_knows_the_module_that_holds_it():
    found = {claim.id: claim.module for claim in claims()}
    assert found["consensus/lemma-4.1"] == "analysis.claims.consensus.section_04_bounds"
    assert all(module.startswith(f"analysis.claims.{id.split('/')[0]}.") for id, module in found.items())


def test_a_claim_has_the_source_of_its_statement_unless_it_has_its_own():
    known = (Statement("lemma-3.1", SOURCE, "the largest is 1"),)
    without, other = (claim(id, source, statement="It is 1.", trial=trial_of) for id, source in (
        (ID, None), (f"{ID}/reading", CONSENSUS.at("(9)")),
    ))  # fmt: skip
    assert [one.source for one in collect([without, other], known)] == [SOURCE, other.source]
    with pytest.raises(ValueError, match="`source` must be given for a claim of a paper without `STATEMENTS`"):
        stated_by([other, without])


def test_a_refuted_claim_names_the_corrected_one_as_its_positive_case():
    printed, corrected = (claim(id, statement="It is 1.", trial=trial_of) for id in (ID, f"{ID}/corrected"))
    known, said = (Statement("lemma-3.1", SOURCE, "the largest is 1"),), "no control: the corrected claim is the"
    assert [said in one.note for one in collect([printed, corrected], known)] == [True, False]
    others = [replace(printed, control=trial_of), replace(printed, note="no control: it is trivial")]
    assert not any(said in collect([one, corrected], known)[0].note for one in others)
    assert collect([printed], known)[0].note == ""

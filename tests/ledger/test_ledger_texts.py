"""What the ledger says of checks: lines, tables, words, notes and counts, from results made by hand."""

import datetime
import json
from dataclasses import replace

import pytest

from analysis import report
from analysis.claims import statements
from analysis.ledger.check import Check
from analysis.ledger.claim import Claim
from analysis.ledger.evidence import Trial, at_most, holds
from analysis.ledger.findings import Finding, entry, find, select
from analysis.ledger.verdict import Verdict
from analysis.report import claim_line, entries, in_words, json_lines, markdown, summary, table
from dynsim.papers import CONSENSUS, HARDMAX

YES, NO = holds("yes", True), holds("no", False)
TRIALS = tuple(
    Trial((met,), (at_most("gap", value, 1.0, tolerance=0.0),)) for met, value in ((YES, 0.25), (YES, 0.5), (NO, 0.9))
)
LEMMA = Claim("consensus/lemma-3.1", CONSENSUS.at("Lemma 3.1"), "", num_trials=3, note="one | two")
CHECK = Check(LEMMA, Verdict.SUPPORTED, TRIALS, control=Verdict.REFUTED, seed=5, seconds=1.5, doubt="why")


def statement(full_id):
    return next(s for s in statements() if s.full_id == full_id)


def checked(verdict, variant="printed", **options):
    return Check(replace(LEMMA, variant=variant), verdict, **options)


def test_a_line_counts_the_trials_that_apply_and_has_the_least_slack():
    line = claim_line(CHECK)
    assert (line["trials"], line["applied"], line["worst"]) == (3, 2, {"what": "gap", "slack": 0.5})
    assert (line["variant"], line["evidence"], line["control"], line["seed"]) == ("printed", "sampled", "REFUTED", 5)
    head, row = table([line]).splitlines()
    assert head.split() == ["claim", "variant", "verdict", "applied", "control", "worst"]
    assert row.split() == ["consensus/lemma-3.1", "printed", "SUPPORTED", "2/3", "REFUTED", "0.5", "(gap)"]
    back = report._restored(LEMMA, line)
    assert (back.verdict, back.control, back.doubt, back.seed) == (Verdict.SUPPORTED, Verdict.REFUTED, "why", 5)


@pytest.mark.parametrize(
    ("verdict", "evidence", "words"),
    [
        (Verdict.SUPPORTED, "sampled", "supported on 2 instances, sampled"),
        (Verdict.SUPPORTED, "analytic instance", "supported on 2 instances, in closed form"),
        (Verdict.EXACT, "certified", "exact on 2 instances"),
        (Verdict.REFUTED, "certified", "refuted, certified"),
        (Verdict.REFUTED, "sampled", "refuted, in floating-point arithmetic"),
    ],
)
def test_words_have_the_instances_that_apply(verdict, evidence, words):
    line = claim_line(replace(CHECK, verdict=verdict, claim=replace(LEMMA, evidence=evidence)))
    assert in_words(line) == f"lemma-3.1 (printed): {words}"


def test_findings_are_counted_paper_by_paper():
    other = Check(Claim("hardmax/lemma-3.1", HARDMAX.at("Lemma 3.1"), ""), Verdict.REFUTED, TRIALS[:1])
    ledger = entries([CHECK, other], [statement("consensus/lemma-3.1"), statement("hardmax/lemma-3.1")])
    lines = {c.claim.id: claim_line(c) for c in (CHECK, other)}
    first, _, head, _, *rows = summary(ledger, lines, datetime.date(2020, 1, 2)).splitlines()
    assert first == "As of 2020-01-02, 2 claims, 4 trials:"
    assert head == "| paper | holds | holds, corrected | fails | ill-posed | open |"
    assert rows == ["| `consensus` | 1 | 0 | 0 | 0 | 0 |", "| `hardmax` | 0 | 0 | 1 | 0 | 0 |"]
    parts = markdown(ledger, lines).split("## ")[1:]
    assert [part.splitlines()[0] for part in parts] == ["consensus", "hardmax"]
    assert f"| `lemma-3.1` | {statement('consensus/lemma-3.1').source.label} | holds |" in parts[0]
    assert "| fails |" in parts[1]
    assert "one \\| two" in parts[0]
    told = [json.loads(row) for row in json_lines(ledger, lines).splitlines()]
    assert [row["finding"] for row in told] == ["HOLDS", "FAILS"]
    assert told[0]["source"] == str(statement("consensus/lemma-3.1").source)
    assert told[0]["claims"][0]["applied"] == 2


def test_kept_lines_differ_by_seed_number_and_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "source_digest", lambda claim: "sources")
    path = lambda seed, count: report._line_path(tmp_path, LEMMA, seed, count)
    assert len({path(seed, count) for seed in (0, 1) for count in (2, 3)}) == 4
    assert path(0, None) == path(0, 3)
    before = path(0, 2)
    monkeypatch.setattr(report, "source_digest", lambda claim: "others")
    assert path(0, 2) != before


def test_checks_come_in_the_order_of_their_claims():
    order = [replace(LEMMA, id=f"consensus/{name}") for name in ("b", "c", "a")]
    runs = [(Check(order[k], Verdict.VACUOUS), {}) for k in (2, 0, 1)]
    assert [run[0].claim.id for run in report.in_order(runs, order)] == ["consensus/b", "consensus/c", "consensus/a"]


def test_one_part_decides_only_against_a_statement():
    good, bad = checked(Verdict.SUPPORTED), checked(Verdict.REFUTED)
    assert find([good, bad]) is Finding.FAILS
    for verdict in (Verdict.OUT_OF_SCOPE, Verdict.ILL_POSED):
        assert find([good, checked(verdict)]) is Finding.OPEN


def test_notes_say_what_is_missing_once():
    note = lambda *checks: entry(statement("consensus/lemma-3.1"), checks).note
    assert note(CHECK, checked(Verdict.SUPPORTED, "corrected")) == "one | two"
    passing = note(checked(Verdict.SUPPORTED, control=Verdict.SUPPORTED))
    assert passing.endswith("the verdict on the control of `consensus/lemma-3.1` is SUPPORTED")
    doubted = replace(checked(Verdict.INCONCLUSIVE, doubt="too stiff"), claim=replace(LEMMA, decided_by="a command"))
    assert note(doubted).endswith("`consensus/lemma-3.1` is inconclusive: too stiff; `a command` would decide it")
    longer = Check(Claim("consensus/theorem-6.1-equilibria", LEMMA.source, ""), Verdict.SUPPORTED)
    assert entry(statement("consensus/theorem-6.1"), [longer]).checks == ()
    assert select(["consensus/lemma-3.1", "lemma-3.1"], [LEMMA, longer.claim]) == (LEMMA,)

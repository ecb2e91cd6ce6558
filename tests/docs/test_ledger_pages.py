"""The ledger's data and pages: read back, refused in another version, and complete."""

import copy
import datetime
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import ledger_pages
import pytest
from markdown_text import cell, escaped

from analysis import findings_file
from analysis.claims import statements
from analysis.findings_file import (
    LONGEST_WITNESS,
    VERSION,
    claim_digest,
    findings_json,
    former_findings,
    read_findings,
)
from analysis.findings_history import FindingsHistory, statement_digest
from analysis.ledger import Trial, holds
from analysis.ledger.check import Check
from analysis.ledger.claim import Claim
from analysis.ledger.verdict import Verdict
from analysis.report import claim_line, entries
from dynsim.papers import CONSENSUS
from tests.docs import ROOT

DAY = datetime.date(2000, 1, 2)


def against(size: int) -> Claim:
    """A claim that is refuted by a witness of `size` numbers."""
    trial = lambda key, integrator: Trial((), (holds("no", False),), {"x": [Fraction(1, 3)] * size})
    return Claim("consensus/lemma-3.1", CONSENSUS.at("Lemma 3.1"), "All x_i are < 1.\n\nMore.", trial, note="a * b | c")


def ledger_of(claim: Claim, verdict: Verdict = Verdict.REFUTED, former=None, date=DAY):
    trial = claim.trial(None, None)
    check = Check(claim, verdict, (trial,), trial if verdict is Verdict.REFUTED else None, Verdict.REFUTED, seconds=1.0)
    known = [one for one in statements() if one.full_id == "consensus/lemma-3.1"]
    return findings_json(entries([check], known), {claim.id: claim_line(check)}, date, 7, former)


@pytest.fixture
def found(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(ledger_of(against(2)))
    return read_findings(path)


def test_the_data_say_what_was_found(found):
    assert (found["date"], found["seed"], found["claims"], found["trials"]) == ("2000-01-02", 7, 1, 1)
    (one,) = found["statements"]
    assert (one["id"], one["where"], one["finding"]) == ("consensus/lemma-3.1", "Lemma 3.1, Sec 3.1, (9)", "fails")
    (claim,) = one["claims"]
    assert (claim["says"], claim["verdict"], claim["witness"]) == ("All x_i are < 1.", "REFUTED", {"x": ["1/3", "1/3"]})
    assert claim["digest"] == claim_digest(against(2))


def test_a_long_witness_is_left_to_the_command(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(ledger_of(against(LONGEST_WITNESS)))
    assert read_findings(path)["statements"][0]["claims"][0]["witness"] == "long"


def test_a_digest_is_that_of_text_and_note():
    claim = against(2)
    others = [replace(claim, statement="All x_i are < 2."), replace(claim, note="")]
    assert len({claim_digest(one) for one in (claim, *others)}) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "be a file of findings .* is no JSON"),
        ("[]", "is another file"),
        ('{"format": "other"}', "is another file"),
        (json.dumps({"format": "dynsim ledger", "version": VERSION + 1}), f"have version {VERSION} .* has version 2"),
    ],
)
def test_other_files_are_refused(tmp_path, text, said):
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_findings(path)
    with pytest.raises(ValueError, match="be a file of findings"):
        read_findings(tmp_path / "none.json")


def test_the_page_of_a_statement_has_finding_reason_witness_and_command(found):
    (one,) = found["statements"]
    history = FindingsHistory.of(found)
    page = ledger_pages.statement_page(one, found, {one["id"]: one["claims"][0]["digest"]}, {}, history)
    assert "**Finding: fails**" in page
    assert "printed: refuted, in floating-point arithmetic" in page
    assert "A &#42; b &#124; c" in page
    assert '"1/3", "1/3"' in page
    assert "dynsim check consensus/lemma-3.1\n" in page
    assert "Changed" not in page
    assert "Changed" in ledger_pages.statement_page(one, found, {}, {}, history)


NAME = "consensus/lemma-3.1"
DAYS = [datetime.date(2000, 1, day) for day in (2, 3, 4)]


def report(claim: Claim, verdict: Verdict, date: datetime.date, former=None):
    return json.loads(ledger_of(claim, verdict, former, date))


def test_a_report_continues_the_history_of_the_one_before(found):
    del found["reports"], found["statements"][0]["history"]  # a file from before there were histories
    second = report(against(2), Verdict.SUPPORTED, DAYS[1], found)
    third = report(replace(against(2), note=""), Verdict.SUPPORTED, DAYS[2], second)
    rows = FindingsHistory.of(third).rows(NAME)
    assert [(date, finding) for date, _, finding, _ in rows] == [
        ("2000-01-02", "fails"),
        ("2000-01-03", "holds"),
        ("2000-01-04", "holds"),
    ]
    digests = [digest for *_, digest in rows]
    assert digests[0] == digests[1] == statement_digest(found["statements"][0]["claims"]) != digests[2]
    page = ledger_pages.statement_page(third["statements"][0], third, {}, {}, FindingsHistory.of(third))
    assert re.findall(r"^\| (2000-\S+) \| (\S+) \| (\w+) \| `(\w+)` \|$", page, re.M) == rows[::-1]


def test_what_did_not_change_is_written_once_and_a_repeated_report_counts_once(found):
    again = report(against(2), Verdict.REFUTED, DAY, found)
    assert again == found
    later = report(against(2), Verdict.REFUTED, DAYS[2], found)
    assert len(later["reports"]) == 2
    assert later["statements"][0]["history"] == found["statements"][0]["history"]
    assert len(FindingsHistory.of(later).rows(NAME)) == 2


def test_a_statement_that_is_new_has_no_history_before_its_first_report(found):
    former = copy.deepcopy(found)
    former["statements"] = []
    rows = FindingsHistory.of(report(against(2), Verdict.REFUTED, DAYS[1], former)).rows(NAME)
    assert [date for date, *_ in rows] == ["2000-01-03"]


@pytest.mark.parametrize("verdicts", [(Verdict.REFUTED,) * 3, (Verdict.REFUTED, Verdict.SUPPORTED, Verdict.REFUTED)])
def test_the_oldest_reports_are_forgotten_where_the_file_grows_too_large(monkeypatch, verdicts):
    file = None
    for day, verdict in zip(DAYS, verdicts, strict=True):
        text = ledger_of(against(2), verdict, file, day)
        file = json.loads(text)
    rows = FindingsHistory.of(file).rows(NAME)
    for largest, expected in ((1, rows[-1:]), (len(text) - 1, rows[1:]), (len(text), rows)):
        monkeypatch.setattr(findings_file, "LARGEST", largest)
        assert FindingsHistory.of(report(against(2), verdicts[-1], DAYS[-1], file)).rows(NAME) == expected


def test_a_report_into_a_file_that_is_new_or_empty_begins_a_history(tmp_path):
    assert former_findings(tmp_path / "new.json", "site") is None
    (tmp_path / "empty.json").touch()
    assert former_findings(tmp_path / "empty.json", "site") is None


def test_text_is_no_markup():
    assert escaped("a_b * <i> `x_1 < 2` $y$") == "a&#95;b &#42; &#60;i&#62; <code>x_1 &lt; 2</code> &#36;y&#36;"
    assert cell("a |\n  b") == "a &#124; b"


needs_file = pytest.mark.skipif(not (ROOT / "docs" / "ledger.json").exists(), reason="docs/ledger.json is not there")


@needs_file
def test_the_file_of_the_documentation_has_every_statement_and_is_small():
    path = ROOT / "docs" / "ledger.json"
    found = read_findings(path)
    assert [one["id"] for one in found["statements"]] == [one.full_id for one in statements()]
    assert path.stat().st_size <= 500_000
    assert str(Path.home()) not in path.read_text()


@needs_file
def test_every_statement_has_a_page_and_a_row_and_refutations_have_their_scripts():
    pages = ledger_pages.pages(ROOT)
    names = [f"ledger/{one.full_id}.md" for one in statements()]
    assert {*names} <= {*pages}
    assert re.findall(r'href="([^"]+).html"', pages["ledger/statements.md"]) == [
        name.removeprefix("ledger/").removesuffix(".md") for name in names
    ]
    linked = {link for name in names for link in re.findall(r"verifiers/([^)]+\.py)", pages[name])}
    assert linked == {name.rsplit("/", 1)[1] for name in pages if name.startswith("ledger/verifiers/")}


@needs_file
def test_the_findings_on_papers_count_every_statement():
    found = read_findings(ROOT / "docs" / "ledger.json")
    said = [ledger_pages.findings_on(key, ROOT).splitlines()[0] for key in found["papers"]]
    total = sum(int(number) for line in said for number in re.findall(r"(\d+) (?:hold|fail|are|were)", line))
    assert total == len(found["statements"])
    assert sum(int(re.match(r"Of (\d+) statements", line)[1]) for line in said) == total

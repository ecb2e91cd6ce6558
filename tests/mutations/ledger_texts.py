"""Errors in what the ledger says of checks, and the tests that notice them."""

from tests.mutants import Mutant

REPORT, FINDINGS, TESTS = "analysis.report", "analysis.ledger.findings", "tests/test_ledger_texts.py::test_"
LINE = (TESTS + "a_line_counts_the_trials_that_apply_and_has_the_least_slack",)
WORDS = (TESTS + "words_have_the_instances_that_apply",)
COUNTED = (TESTS + "findings_are_counted_paper_by_paper",)
KEPT = (TESTS + "kept_lines_differ_by_seed_number_and_sources",)
ORDER = (TESTS + "checks_come_in_the_order_of_their_claims",)
PARTS = (TESTS + "one_part_decides_only_against_a_statement",)
NOTES = (TESTS + "notes_say_what_is_missing_once",)

MUTANTS = (
    Mutant("texts: all trials apply", REPORT, '"applied": c.applied,', '"applied": len(c.trials),', tests=LINE),
    Mutant("texts: trials that do not apply are not counted", REPORT,
           '"trials": len(c.trials),', '"trials": c.applied,', tests=LINE),
    Mutant("texts: a slack has the other sign", REPORT, "plain(worst.slack)", "plain(-worst.slack)", tests=LINE),
    Mutant("texts: trials and those that apply are exchanged", REPORT,
           "f\"{line['applied']}/{line['trials']}\"", "f\"{line['trials']}/{line['applied']}\"", tests=LINE),
    Mutant("texts: a saved line forgets its control", REPORT,
           'control = None if line["control"] is None', "control = None if True", tests=LINE),
    Mutant("texts: exact are all trials", REPORT,
           "exact on {line['applied']} instances", "exact on {line['trials']} instances", tests=WORDS),
    Mutant("texts: supported are all trials", REPORT,
           "supported on {line['applied']} instances", "supported on {line['trials']} instances", tests=WORDS),
    Mutant("texts: all evidence is sampled", REPORT, "KINDS[line['evidence']]", "'sampled'", tests=WORDS),
    Mutant("texts: open statements have no column", REPORT,
           "if f is not Finding.OUT_OF_SCOPE", "if f is not Finding.OPEN", tests=COUNTED),
    Mutant("texts: each paper counts all papers", REPORT,
           "Counter(e.finding.value for e in ledger if e.statement.source.paper.key == key)",
           "Counter(e.finding.value for e in ledger)", tests=COUNTED),
    Mutant("texts: the tables of papers are exchanged", REPORT,
           "if e.statement.source.paper.key == key]\n        out",
           "if e.statement.source.paper.key != key]\n        out", tests=COUNTED),
    Mutant("texts: a summary counts the trials that apply", REPORT,
           'sum(line["trials"] for line in lines.values())', 'sum(line["applied"] for line in lines.values())',
           tests=COUNTED),
    Mutant("texts: a kept line is one of any seed", REPORT,
           "{seed}.{count}.{source_digest(claim)}", "{count}.{source_digest(claim)}", tests=KEPT),
    Mutant("texts: a kept line is one of any sources", REPORT, ".{source_digest(claim)}.json", ".json", tests=KEPT),
    Mutant("texts: claims are in reverse order", REPORT,
           "key=lambda run: order[run[0].claim.id]", "key=lambda run: -order[run[0].claim.id]", tests=ORDER),
    Mutant("texts: a statement fails only if all of its parts fail", FINDINGS,
           "if Verdict.REFUTED in printed:", "if all(verdict is Verdict.REFUTED for verdict in printed):", tests=PARTS),
    Mutant("texts: a part that is out of scope takes the statement along", FINDINGS,
           "all(verdict is Verdict.OUT_OF_SCOPE for", "any(verdict is Verdict.OUT_OF_SCOPE for", tests=PARTS),
    Mutant("texts: a part that is ill-posed makes the statement so", FINDINGS,
           "all(verdict is Verdict.ILL_POSED for", "any(verdict is Verdict.ILL_POSED for", tests=PARTS),
    Mutant("texts: claims belong to all statements that begin like theirs", FINDINGS,
           "c.claim.statement_id == statement.full_id", "c.claim.statement_id.startswith(statement.full_id)",
           tests=NOTES),
    Mutant("texts: a control that passes is not told", FINDINGS, "elif not c.sound:", "elif False:", tests=NOTES),
    Mutant("texts: a doubt is not told", FINDINGS, "why = c.doubt or next", "why = next", tests=NOTES),
    Mutant("texts: a claim is chosen twice", FINDINGS, "if c not in chosen)", ")", tests=NOTES),
)  # fmt: skip

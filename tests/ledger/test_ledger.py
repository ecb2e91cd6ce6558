"""The judge, the check and the ledger, on paper rather than on physics."""

import datetime
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import jax
import numpy as np
import pytest
import sympy

from analysis import report
from analysis.claims import claims, collect, statements
from analysis.json_types import exact
from analysis.ledger import programs
from analysis.ledger.check import Check, NoTrialError, check
from analysis.ledger.claim import Claim, claim, rule
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from analysis.ledger.findings import Finding, entry, find, select
from analysis.ledger.verdict import Verdict, judge
from analysis.provenance import library_files, source_digest
from analysis.report import (
    BEGIN,
    END,
    claim_line,
    entries,
    in_words,
    json_lines,
    markdown,
    plain,
    run_checks,
    summary,
    table,
    update_readme,
)
from dynsim.errors import IntegrationError, Outcome
from dynsim.exact import fraction_text
from dynsim.integrators import Diffrax
from dynsim.papers import CONSENSUS
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.flow import TokenFlow

SOURCE = CONSENSUS.at("Lemma 3.1")
YES, NO = holds("yes", True), holds("no", False)
CLOSE = at_most("close", 1.0, 1.0, tolerance=0.1)
NAN = at_most("nan", math.nan, 1.0, tolerance=0.1)


@pytest.mark.parametrize(
    ("hypothesis", "conclusion", "verdict"),
    [
        (YES, YES, Verdict.SUPPORTED),
        (YES, NO, Verdict.REFUTED),
        (NO, NO, Verdict.VACUOUS),
        (CLOSE, NO, Verdict.VACUOUS),  # a hypothesis counts only if it holds clearly
        (YES, CLOSE, Verdict.SUPPORTED),  # a conclusion fails only if it fails clearly
        (YES, NAN, Verdict.INCONCLUSIVE),
        (NAN, YES, Verdict.INCONCLUSIVE),
        (equal("e", 1.0, 1.0 + 1e-9, tolerance=1e-8), YES, Verdict.SUPPORTED),
        (equal("e", 1.0, 1.1, tolerance=1e-8), YES, Verdict.VACUOUS),
        (YES, equal("e", 1.0, 1.1, tolerance=1e-8), Verdict.REFUTED),
    ],
)
def test_the_judge_on_paper(hypothesis, conclusion, verdict):
    assert judge([Trial((hypothesis,), (conclusion,))]) is verdict


def test_one_contradiction_outweighs_everything_and_one_doubt_all_support():
    good, bad, doubt = Trial((YES,), (YES,)), Trial((YES,), (NO,)), Trial.unfinished("why")
    assert judge([good, doubt, bad]) is Verdict.REFUTED
    assert judge([good, doubt]) is Verdict.INCONCLUSIVE
    assert judge([good, Trial((NO,), (NO,))], exact=True) is Verdict.EXACT
    assert judge([]) is Verdict.VACUOUS


def test_an_infinite_value_fails_its_bound_and_nan_decides_nothing():
    assert not at_most("a", math.inf, 1.0, tolerance=0.0).decided
    assert not at_least("a", math.nan, 1.0, tolerance=0.0).decided
    with pytest.raises(ValueError, match="`tolerance` must be a non-negative number"):
        at_most("a", 0.0, 1.0, tolerance=-1.0)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e6])
def test_arrays_agree_up_to_rounding_of_one_and_their_largest_entry(size):
    expected = np.array([size, -size, 0.0])
    for share, close in ((0.5, True), (2.0, False)):
        found = agrees("a", expected + [0.0, 0.0, share * ROUNDING * (1 + size)], expected)
        assert (found.holds_clearly, found.fails_clearly) == (close, not close)
    other = agrees("a", expected[:2], expected)
    assert other.fails_clearly
    assert other.what == "the shape of a is (3,), and not (2,)"


@pytest.mark.parametrize(
    "measure",
    [
        lambda: at_most("diameter on the sphere", 0.3, 2.0, tolerance=0.0, within=(0.0, 2.0)),
        lambda: at_most("diameter on the sphere", 0.3, 1.9, tolerance=0.1, within=(0.0, 2.0)),
        lambda: at_least("cosine", 0.3, -1.0, tolerance=0.0, within=(-1.0, 1.0)),
        lambda: at_least("cosine", 0.3, -0.875, tolerance=0.125, within=(-1.0, 1.0)),
        lambda: equal("share", 0.3, 0.5, tolerance=0.5, within=(0.0, 1.0)),
    ],
)
def test_a_bound_that_no_value_can_violate_is_refused(measure):
    with pytest.raises(ValueError, match="Argument `within` must hold a value that is clearly not"):
        measure()
    assert at_most("diameter on the sphere", 0.3, 1.99, tolerance=0.0, within=(0.0, 2.0)).holds_clearly
    assert at_least("cosine", 0.3, -0.99, tolerance=0.0, within=(-1.0, 1.0)).holds_clearly
    assert equal("share", 0.3, 0.5, tolerance=0.4, within=(0.0, 1.0)).holds_clearly


def test_the_ranges_of_parameters_are_those_of_the_trials_that_apply():
    flow, y0 = TokenFlow(np.zeros((1, 2, 2)), 1.0), np.eye(2)
    sizes = iter((3, 7, 5, 9))

    def trial(key, integrator):
        size = next(sizes)
        simulate(flow, y0, [0.0, 0.1], integrator=integrator)
        return Trial(
            (holds("small", size < 9),), (YES,), parameters={"n": size, "mask": "full" if size < 5 else "causal"}
        )

    found = check(_claim(trial))
    assert found.ranges == {"n": "3 to 7", "mask": "causal, full"}
    assert "(n 3 to 7, mask causal, full)" in in_words(claim_line(found))


def test_two_integrators_are_named_only_where_two_ran():
    flow, y0 = TokenFlow(np.zeros((1, 2, 2)), 1.0), np.eye(2)

    def simulated(key, integrator):
        path = simulate(flow, y0, [0.0, 0.1], integrator=integrator)
        return Trial((YES,), (at_most("speed", 0.1, 0.0 * path.ts[0], tolerance=0.0),))

    both, none = check(_claim(simulated)), check(_claim(lambda key, integrator: Trial((YES,), (NO,))))
    assert (both.verdict, none.verdict) == (Verdict.REFUTED, Verdict.REFUTED)
    assert (both.integrated, none.integrated) == (True, False)
    assert in_words(claim_line(both)).endswith("refuted, by both integrators")
    assert in_words(claim_line(none)).endswith("refuted, in floating-point arithmetic")


def test_a_note_names_a_shared_trial_and_the_command_that_decides():
    undecided = check(
        _claim(lambda key, integrator: Trial((NO,), (YES,)), decided_by="dynsim experiment x --size paper")
    )
    shared = check(_claim(lambda key, integrator: Trial((YES,), (YES,)), same_trial_as="consensus/lemma-3.2"))
    for found, words in ((undecided, "`dynsim experiment x --size paper` would decide it"), (shared, "lemma-3.2")):
        statement = next(s for s in statements() if s.full_id == found.claim.statement_id)
        note = entry(statement, [found]).note
        assert words in note


def _claim(trial, **options) -> Claim:
    trial.__doc__ = "A statement."
    return claim("consensus/lemma-3.1", SOURCE, num_trials=4, **options)(trial)


def test_a_check_forgets_compiled_programs_before_a_process_holds_too_many(monkeypatch, tmp_path):
    """Hundreds of claims in one process would come to the number of parts of memory that Linux allows."""
    program = jax.jit(lambda x: x + 1)
    made = _claim(lambda key, integrator: Trial((YES,), (YES,)))
    for name, text in (("HELD", "a\nb\nc\n"), ("MOST", "7\n")):
        file = tmp_path / name
        file.write_text(text)
        monkeypatch.setattr(programs, name, file)
    for held, left in (("a\nb\nc\n", 1), ("a\nb\nc\nd\n", 0)):
        program(1.0)
        programs.HELD.write_text(held)
        check(made)
        assert program._cache_size() == left
    monkeypatch.setattr(programs, "HELD", tmp_path / "none")
    assert not programs.forget_programs()


def test_a_contradiction_that_the_referee_does_not_repeat_is_not_refuted():
    first = _claim(lambda key, integrator: Trial((YES,), (NO if isinstance(integrator, Diffrax) else YES,)))
    found = check(first)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "with Diffrax but not with Scipy" in found.doubt
    both = check(_claim(lambda key, integrator: Trial((YES,), (NO,), {"a": 1})))
    assert both.verdict is Verdict.REFUTED
    assert both.counterexample is not None
    assert len(both.trials) == 1


def test_a_control_that_passes_is_seen():
    weak = _claim(lambda key, integrator: Trial((YES,), (YES,))).with_control(lambda k, i: Trial((YES,), (YES,)))
    assert not check(weak).sound
    strong = weak.with_control(lambda k, i: Trial((YES,), (NO,)))
    assert check(strong).sound
    assert find([check(weak)]) is Finding.OPEN
    assert find([check(strong)]) is Finding.HOLDS


def test_a_failed_solve_decides_nothing_and_a_breakdown_is_named():
    def stuck(key, integrator):
        raise IntegrationError("It only reached t = 1.", outcome=Outcome.MAX_STEPS)

    def broken(key, integrator):
        raise KeyError("oops")

    found = check(_claim(stuck))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.sound
    assert found.trials[0].reason == "It only reached t = 1."
    worse = check(_claim(broken))
    assert not worse.sound
    assert worse.broken == "trial 0: KeyError: 'oops'"
    assert 0 <= worse.seconds < 100
    refuted = lambda key, integrator: Trial((YES,), (NO,))
    right = _claim(lambda key, integrator: Trial((YES,), (YES,)))
    for one in (_claim(broken).with_control(refuted), right.with_control(broken)):
        assert (check(one).broken, check(one).sound) == (worse.broken, False)

    def wrong(key, integrator):
        raise NoTrialError("trial", "return a trial", "returns text")

    for one in (_claim(wrong).with_control(refuted), right.with_control(wrong)):
        assert check(one).no_trial == "returns text"
    assert check(right.with_control(refuted)).sound


def test_only_certified_evidence_is_exact():
    trial = lambda key, integrator: Trial((YES,), (YES,))
    assert check(_claim(trial, evidence="certified")).verdict is Verdict.EXACT
    assert check(_claim(trial)).verdict is Verdict.SUPPORTED


def test_a_tolerance_is_spent_once():
    assert ROUNDING <= 1e-11
    assert SOLVER <= 1e-6
    assert equal("x", 1 + 0.9e-6, 1.0, tolerance=1e-6).holds_clearly
    assert equal("x", 1 + 1.1e-6, 1.0, tolerance=1e-6).fails_clearly
    beyond, within = (at_most("x", 1 + excess, 1.0, tolerance=1e-6) for excess in (1.1e-6, 0.9e-6))
    assert (beyond.fails_clearly, within.fails_clearly) == (True, False)
    clear, near = (at_least("x", 1 + margin, 1.0, tolerance=1e-6) for margin in (1.1e-6, 0.9e-6))
    assert (clear.holds_clearly, near.holds_clearly) == (True, False)


def test_every_hypothesis_has_to_hold_and_one_conclusion_to_fail():
    true, false = holds("true", True), holds("false", False)
    assert Trial((true, true), (true, false)).contradicts
    assert not Trial((true, false), (false,)).contradicts
    assert Trial((true,), (true, false)).worst is false


def test_the_samples_of_a_claim_are_its_own():
    seen = []
    one = _claim(lambda key, integrator: seen.append(str(key)) or Trial((YES,), (YES,)))
    check(one, seed=3)
    check(one, seed=3, num_trials=2)
    check(one, seed=4, num_trials=1)
    assert seen[:2] == seen[4:6]
    assert len(set(seen)) == 5
    with pytest.raises(ValueError, match="`num_trials` must be at least 1"):
        check(one, num_trials=0)


def _checked(variant: str, verdict: Verdict) -> Check:
    return Check(Claim("consensus/lemma-3.1", SOURCE, "", variant=variant), verdict)


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ([("printed", "SUPPORTED")], Finding.HOLDS),
        ([("printed", "EXACT"), ("reading", "REFUTED")], Finding.HOLDS),
        ([("printed", "REFUTED")], Finding.FAILS),
        ([("printed", "REFUTED"), ("corrected", "REFUTED")], Finding.FAILS),
        ([("printed", "REFUTED"), ("corrected", "EXACT")], Finding.HOLDS_CORRECTED),
        ([("printed", "REFUTED"), ("special case", "SUPPORTED")], Finding.HOLDS_CORRECTED),
        ([("printed", "VACUOUS")], Finding.OPEN),
        ([("printed", "SUPPORTED"), ("printed", "INCONCLUSIVE")], Finding.OPEN),
        ([("printed", "ILL_POSED")], Finding.ILL_POSED),
        ([("printed", "ILL_POSED"), ("reading", "SUPPORTED")], Finding.HOLDS_CORRECTED),
        ([("printed", "ILL_POSED"), ("reading", "REFUTED")], Finding.FAILS),
        ([("printed", "ILL_POSED"), ("reading", "REFUTED"), ("reading", "EXACT")], Finding.HOLDS_CORRECTED),
        ([("printed", "ILL_POSED"), ("reading", "EXACT"), ("corrected", "REFUTED")], Finding.FAILS),
        ([("printed", "ILL_POSED"), ("reading", "EXACT"), ("reading", "VACUOUS")], Finding.OPEN),
        ([("printed", "REFUTED"), ("reading", "EXACT"), ("corrected", "REFUTED")], Finding.FAILS),
        ([("printed", "OUT_OF_SCOPE")], Finding.OUT_OF_SCOPE),
        ([("corrected", "SUPPORTED")], Finding.OPEN),
        ([], Finding.OPEN),
    ],
)
def test_the_finding_is_computed(rows, finding):
    assert find(_checked(variant, Verdict[name]) for variant, name in rows) is finding


def test_ids_and_rulings_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="`id` must be `consensus/<statement>`"):
        claim("hardmax/lemma-3.1", SOURCE)
    with pytest.raises(
        ValueError,
        match="`trial` must state its theorem in its docstring, or be given as `statement`, "
        "but that of `consensus/lemma-3.1` has none",
    ):
        claim("consensus/lemma-3.1", SOURCE)(lambda key, integrator: Trial((), ()))
    with pytest.raises(ValueError, match="`verdict` must be ILL_POSED or OUT_OF_SCOPE, but is SUPPORTED"):
        rule("consensus/lemma-3.1", Verdict.SUPPORTED, "because")
    one = _claim(lambda key, integrator: Trial((), ()))
    with pytest.raises(ValueError, match="`id` must be that of one claim, but `.*` is that of two"):
        collect([one, one], statements())
    with pytest.raises(
        ValueError, match="`id` must begin with a statement, but `consensus/lemma-9` begins with .*, which is none"
    ):
        collect([Claim("consensus/lemma-9", SOURCE, "")], statements())


# Numbered items that the tables of the list leave out and its first paragraph asks for, and a sentence with a number.
BESIDE_THE_TABLES = {
    *(f"growing/corollary-{number}" for number in (4, 5, 6, 7, 10, 11, 13, 16)),
    *(f"growing/{id}" for id in ("lemma-17-ii", "lemma-19", "theorem-8-iv")),
    "multirate/remark-32",
    "prototypes/claim-training-epochs",
    *(f"hardmax/{id}" for id in ("experiment-6.3", "claim-semidefinite")),
}


def test_every_statement_is_listed_to_the_letter():
    path = Path("../shared/STATEMENTS.md")
    if not path.exists():
        pytest.skip("the list of statements is not beside the checkout")
    listed = []
    for section in re.split(r"^## ", path.read_text(), flags=re.M)[1:]:
        key = section.split("`")[1]
        listed += [f"{key}/{id}" for id in re.findall(r"^\| `([^`]+)` \|", section, flags=re.M)]
    assert [s.full_id for s in statements() if s.full_id not in BESIDE_THE_TABLES] == listed
    assert len({s.full_id for s in statements()}) == len(statements())
    assert BESIDE_THE_TABLES.isdisjoint(listed)


def test_a_pattern_names_a_statement_and_its_variants_only():
    chosen = {c.id for c in select(["theorem-5.1-domain"], claims())}
    assert chosen == {"consensus/theorem-5.1-domain" + end for end in ("", "/two-tokens", "/corrected")}
    assert {c.id for c in select(["consensus/theorem-6.1"], claims())} == {
        "consensus/theorem-6.1",
        "consensus/theorem-6.1/stability",
        "consensus/theorem-6.1/jumps",
    }
    assert select(["consensus"], claims()) == tuple(c for c in claims() if c.key == "consensus")
    assert select([], claims()) == claims()
    assert {c.id for c in select(["consensus/lemma-3.?"], claims())} == {f"consensus/lemma-3.{k}" for k in (1, 2, 3)}
    assert {c.key for c in select(["lemma-3.1"], claims())} == {"consensus", "hardmax"}
    with pytest.raises(ValueError, match="`theorem-5.1-domian` names none, did you mean `theorem-5.1-domain`"):
        select(["theorem-5.1-domian"], claims())


CHEAP = ("consensus/lemma-3.1", "consensus/theorem-6.1-equilibria", "consensus/claim-identity-every-initial-position")


def _cheap():
    return [c for c in claims() if c.id in CHEAP]


def test_a_report_lists_everything_and_resumes(tmp_path):
    first = list(run_checks(_cheap(), num_trials=2, folder=tmp_path))
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == len(CHEAP)
    stamps = [p.stat().st_mtime_ns for p in kept]
    again = list(run_checks(_cheap(), num_trials=2, folder=tmp_path))
    assert [p.stat().st_mtime_ns for p in kept] == stamps
    assert [line for _, line in first] == [line for _, line in again]
    lines = {line["id"]: line for _, line in first}
    for pairs in (first, again):
        ledger = entries([c for c, _ in pairs])
        rows = [json.loads(row) for row in json_lines(ledger, lines).splitlines()]
        assert [row["statement"] for row in rows] == [s.full_id for s in statements()]
        found = {row["statement"]: row for row in rows}
        assert found["consensus/lemma-3.1"]["finding"] == "HOLDS"
        assert found["consensus/theorem-6.1-equilibria"]["finding"] == "FAILS"  # its corrected claim was not run
        assert found["hardmax/lemma-3.1"]["finding"] == "OPEN"
        assert "would decide it" in found["hardmax/lemma-3.1"]["note"]
    witness = found["consensus/theorem-6.1-equilibria"]["claims"][0]["counterexample"]
    assert Fraction(witness["b*"]) < 0
    assert "exact on 2 instances" in markdown(ledger, lines)
    assert "refuted, certified" in markdown(ledger, lines)
    assert "consensus/lemma-3.1" in table(list(lines.values()))


def test_a_kept_line_knows_the_records_that_its_claim_may_read(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNSIM_RESULTS", str(tmp_path))
    reads, does_not = (next(c for c in claims() if c.id == f"consensus/{id}") for id in ("experiment-7.5", "lemma-3.1"))
    before = source_digest(reads), source_digest(does_not)
    (tmp_path / "consensus" / "7.5").mkdir(parents=True)
    (tmp_path / "consensus" / "7.5" / "paper-0.npz").write_bytes(b"a record")
    assert source_digest(reads) != before[0]
    assert source_digest(does_not) == before[1]


def test_claims_that_an_executor_checks_have_the_lines_of_this_process(tmp_path, monkeypatch):
    first = _claim(lambda key, integrator: Trial((YES,), (YES,), {"a": np.ones(2)}))
    ((_, expected),) = run_checks([first], num_trials=2)
    threads: list[int] = []
    monkeypatch.setattr(report, "use_one_thread", lambda: threads.append(1))
    assert report._stopped([first], 0, 2, tmp_path).startswith("Stopped; the results of 0 of 1 claims are in ")
    with ThreadPoolExecutor(1) as executor:
        ((done, line),) = run_checks([first], num_trials=2, folder=tmp_path, executor=executor, source=lambda: [first])
        lost = run_checks([first], num_trials=1, executor=executor, source=list)
        with pytest.raises(ValueError, match="`jobs` must be 1 for claims that differ from process to process"):
            next(lost)
    assert len(threads) == 2
    assert (done.claim, done.verdict, len(done.trials)) == (first, Verdict.SUPPORTED, 2)
    assert [trial.witness for trial in done.trials] == [{}, {}]
    same = lambda line: {name: value for name, value in line.items() if name not in ("seconds", "when")}
    assert same(line) == same(expected)
    assert [json.loads(path.read_text()) for path in tmp_path.iterdir()] == [json.loads(json.dumps(line))]
    assert report._stopped([first], 0, 2, tmp_path).startswith("Stopped; the results of 1 of 1 claims are in ")
    assert report._stopped([first], 0, 2, None).startswith("Stopped; no result is kept")


@pytest.mark.slow
def test_two_processes_find_what_one_finds():
    one = {line["id"]: line["verdict"] for _, line in run_checks(_cheap(), num_trials=1)}
    two = {line["id"]: line["verdict"] for _, line in run_checks(_cheap(), num_trials=1, jobs=2)}
    assert one == two


def test_a_witness_is_plain_json():
    value = {"x": np.array([0.1, 2.0]), "q": Fraction(1, 3), "big": np.zeros(100), "nan": math.nan, "pair": (1, "a")}
    found = plain(value)
    assert json.loads(json.dumps(found)) == {
        "x": [0.1, 2.0],
        "q": "1/3",
        "big": "array of shape (100,)",
        "nan": "nan",
        "pair": [1, "a"],
    }


def test_counterexamples_are_written_without_loss():
    flint, key = pytest.importorskip("flint"), jax.random.key(3)
    given = {"x": np.array([0.5, np.inf]), "z": 1 + 0.5j, "q": (Fraction(1, 3), True, None), "key": key}
    assert json.loads(json.dumps(exact(given))) == {
        "x": ["1/2", "inf"], "z": {"real": "1", "imag": "1/2"}, "q": ["1/3", True, None],
        "key": jax.random.key_data(key).tolist(),
    }  # fmt: skip
    low, high = map(Fraction, exact(flint.arb(1, 0.25)))
    assert Fraction(3, 4) - Fraction(1, 10**6) < low < Fraction(3, 4) < Fraction(5, 4) < high < low + Fraction(3, 5)
    assert exact(flint.arb(1) / 0) == "nan"
    assert exact(sympy.Rational(2, 3)) == "2/3"
    assert exact(1 << 10_000) == plain(1 << 10_000) == fraction_text(1 << 10_000)


def test_the_readme_is_written_between_its_markers_only(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"top\n{BEGIN}\nstale text\n{END}\nbottom\n")
    update_readme(path, summary(entries([]), {}, datetime.date(2020, 1, 2)))
    text = path.read_text()
    assert text.startswith("top\n")
    assert text.endswith("bottom\n")
    assert "stale text" not in text
    assert "As of 2020-01-02, 0 claims, 0 trials" in text
    path.write_text("none")
    with pytest.raises(ValueError, match="`readme` must hold the markers"):
        update_readme(path, "")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="`folder` must be a folder that can be written"):
        list(run_checks(_cheap(), folder=tmp_path / "file" / "below"))


def test_words_claim_no_more_than_was_measured():
    trial = lambda key, integrator: Trial((YES,), (at_most("a", 0.0, 1.0, tolerance=ROUNDING),))
    words = in_words(claim_line(check(_claim(trial))))
    assert "supported on 4 instances, sampled" in words
    assert not re.search("verif|prove|guarantee", words)


def test_an_entry_says_what_would_decide_it():
    statement = next(s for s in statements() if s.full_id == "consensus/lemma-3.1")
    vacuous = entry(statement, [_checked("printed", Verdict.VACUOUS)])
    assert vacuous.finding is Finding.OPEN
    assert "instances that meet its hypotheses would decide it" in vacuous.note


def test_a_kept_line_depends_on_all_modules_but_other_claims_and_verifiers():
    found = {path.relative_to(Path(__file__).parents[2]).as_posix() for path in library_files()}
    assert {"dynsim/simulation/simulate.py", "analysis/provenance.py", "analysis/ledger/claim.py"} <= found
    assert not any(path.startswith(("analysis/claims/", "analysis/verifiers/")) for path in found)

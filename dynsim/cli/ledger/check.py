"""`dynsim check`: check claims of the papers numerically, with negative controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dynsim.cli.parsing.options import Data, Force, Results, check_outputs, parse, say, warn
from dynsim.cli.parsing.sizes import check_work
from dynsim.errors import ArgumentError
from dynsim.io.data import use_data

if TYPE_CHECKING:
    from analysis.ledger.claim import Claim
    from analysis.ledger.findings import LedgerEntry


@dataclass(frozen=True)
class Check:
    """Check claims, chosen by a paper's key, by an id (with its variants) or by a shell pattern; by default all.

    A Python file (`mine.py`) is executed, and its claims, or those that the other patterns match, are checked.

    A verdict is a result, not an error: the exit status is 1 only if a control was not REFUTED or a trial failed.
    """

    patterns: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """the claims to check, or Python files with claims of your own"""
    seed: int = 0
    """random seed of the trials"""
    trials: int | None = None
    """number of trials of each claim; by default the claim's own number"""
    jobs: int = 1
    """number of parallel processes"""
    json: Path | None = None
    """a file to write, with one JSON line per checked statement"""
    trials_out: Path | None = None
    """a file to write, with one JSON line per trial: its measurements with verdicts, and its witness"""
    witness: Path | None = None
    """a file to write, with the counterexample to one refuted claim in exact numbers; the claim is checked again"""
    results: Results = None
    data: Data = None
    lines: Path | None = None
    """a folder that keeps the results of finished claims, so that an interrupted run resumes"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Check the claims, print the table of verdicts, write the requested files, and return the exit status."""
    o = parse(Check, words, "check")
    from analysis.experiments import use_results
    from analysis.json_types import counterexample, json_rows
    from analysis.ledger.findings import select
    from analysis.report import entries, in_order, json_lines, run_checks, table, use_one_thread, write_atomically
    from dynsim._runtime.progress import tracked
    from dynsim.cli.ledger.own_claims import library, refuse_what_is_no_trial, source
    from dynsim.cli.ledger.own_papers import is_file

    use_data(o.data)
    use_results(o.results)
    check_work(o.trials, o.jobs)
    check_outputs(o.force, json=o.json, trials_out=o.trials_out, witness=o.witness)
    use_one_thread()
    read = source(o.patterns)
    known = library(o.patterns)
    warn(known.problems)
    patterns = [word for word in o.patterns if not is_file(word)]
    chosen = select(patterns, known.claims)
    if o.witness is not None:
        chosen = _one(patterns, chosen)
    folder = o.lines if o.witness is None else None  # kept results have no counterexample in exact numbers
    runs = run_checks(chosen, seed=o.seed, num_trials=o.trials, jobs=o.jobs, folder=folder, source=read)
    pairs = in_order(tracked(runs, len(chosen), "check"), chosen)
    checks, lines = [c for c, _ in pairs], {line["id"]: line for _, line in pairs}
    say(table(list(lines.values())))
    for c in checks:
        for problem in (c.broken, c.doubt):
            if problem:
                say(f"{c.claim.id}: {problem}")
    ledger = [e for e in entries(checks, known.statements) if e.checks]
    for e in ledger:
        say(f"{e.statement.full_id}: {_finding(e, [c for c in known.claims if c.statement_id == e.statement.full_id])}")
    if o.json is not None:
        write_atomically(o.json, json_lines(ledger, lines))
    if o.trials_out is not None:
        write_atomically(o.trials_out, json_rows(row for line in lines.values() for row in line["rows"]))
    refuse_what_is_no_trial(checks)
    if o.witness is not None:
        write_atomically(o.witness, counterexample(checks[0]))
    return 0 if all(c.sound for c in checks) else 1


def _finding(checked: "LedgerEntry", claims: "Sequence[Claim]") -> str:
    """Word the finding on a statement, which only the checks of all its claims give."""
    if len(checked.checks) == len(claims):
        return checked.finding.value
    number = f"{len(checked.checks)} of {len(claims)} claims checked"
    return f"{number}, the finding needs all (`dynsim check {claims[0].statement_id}`)"


def _one(patterns: Sequence[str], chosen: "Sequence[Claim]") -> "list[Claim]":
    """Get the claim whose id is the pattern, or the only chosen claim; raise `ValueError` for several."""
    named = [c for c in chosen if c.id in patterns or c.id.split("/", 1)[1] in patterns] or chosen
    if len(named) > 1:
        names = ", ".join(f"`{c.id}`" for c in named[:3]) + (", ..." if len(named) > 3 else "")
        raise ArgumentError("witness", "be used with the id of one claim", f"{len(named)} are chosen: {names}")
    return list(named)

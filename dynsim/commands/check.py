"""`dynsim check`: check claims, with their controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.commands.options import check_outputs, parse, say
from dynsim.commands.sizes import check_work
from dynsim.data import use_data


@dataclass(frozen=True)
class Check:
    """Check claims: those of a paper's key, an id (with its variants), or a shell pattern; by default all claims.

    A verdict is a result, not an error: the exit status is 1 only if a control was not REFUTED or a trial failed.
    """

    patterns: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """the claims to check"""
    seed: int = 0
    """random seed of the trials"""
    trials: int | None = None
    """number of trials of each claim, instead of the claim's own number"""
    jobs: int = 1
    """number of parallel processes"""
    json: Path | None = None
    """a file to write, with one JSON line for each statement that was checked"""
    results: Path | None = None
    """the folder of experiment records; by default the one that DYNSIM_RESULTS names, or results/experiments"""
    data: Path | None = None
    """the folder of data files; by default the one that DYNSIM_DATA names"""
    lines: Path | None = None
    """a folder for the results of finished claims, from which an interrupted run resumes"""
    force: bool = False
    """replace existing files that dynsim did not write"""


def main(words: Sequence[str]) -> int:
    """Check the claims, print the table of verdicts, write the JSON file, and return the exit status."""
    o = parse(Check, words, "check")
    from analysis.claims import claims
    from analysis.experiments import use_results
    from analysis.ledger.findings import entry, select
    from analysis.report import in_order, json_lines, run_checks, table, write_atomically
    from dynsim.progress import tracked

    use_data(o.data)
    use_results(o.results)
    check_work(o.trials, o.jobs)
    chosen = select(o.patterns, claims())
    check_outputs(o.force, json=o.json)
    runs = run_checks(chosen, seed=o.seed, num_trials=o.trials, jobs=o.jobs, folder=o.lines)
    pairs = in_order(tracked(runs, len(chosen), "check"), chosen)
    checks, lines = [c for c, _ in pairs], {line["id"]: line for _, line in pairs}
    say(table(list(lines.values())))
    for c in checks:
        for problem in (c.broken, c.doubt):
            if problem:
                say(f"{c.claim.id}: {problem}")
    ids = dict.fromkeys(c.claim.statement_id for c in checks)
    from analysis.claims import statements

    ledger = [entry(s, checks) for s in statements() if s.full_id in ids]
    for e in ledger:
        say(f"{e.statement.full_id}: {e.finding.value}")
    if o.json is not None:
        write_atomically(o.json, json_lines(ledger, lines))
    return 0 if all(c.sound for c in checks) else 1

"""`dynsim check`: claims, with their controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.commands.options import parse, say


@dataclass(frozen=True)
class Check:
    """Check claims: a paper's key, an id (with its variants), or a shell pattern; all claims without one.

    A verdict is a result. The exit status is 1 only if a control did not come out REFUTED or a trial broke down.
    """

    patterns: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """what to check"""
    seed: int = 0
    """of the trials' random streams"""
    trials: int | None = None
    """how many, instead of each claim's own number"""
    jobs: int = 1
    """processes"""
    json: Path | None = None
    """a file for one JSON line for each statement that was checked"""
    results: Path | None = None
    """the folder of records of experiments, by default the one that DYNSIM_RESULTS names, or results/experiments"""
    lines: Path | None = None
    """a folder for lines as they finish, from which a killed run resumes"""


def main(words: Sequence[str]) -> int:
    """Check, print the table, and write the lines."""
    from analysis.claims import claims
    from analysis.experiments import use_results
    from analysis.ledger.findings import entry, select
    from analysis.report import json_lines, run_checks, table, write_atomically
    from dynsim.io.npz import writable_folder
    from dynsim.progress import tracked

    o = parse(Check, words, "check")
    use_results(o.results)
    chosen = select(o.patterns, claims())
    if o.trials is not None and o.trials < 1:
        from dynsim.errors import argument_error

        raise argument_error("trials", "be at least 1", f"is {o.trials}")
    if o.json is not None:
        writable_folder("json", o.json.parent)
    runs = run_checks(chosen, seed=o.seed, num_trials=o.trials, jobs=o.jobs, folder=o.lines)
    pairs = list(tracked(runs, len(chosen), "check"))
    order = {claim.id: k for k, claim in enumerate(chosen)}
    pairs.sort(key=lambda pair: order[pair[0].claim.id])
    checks, lines = [c for c, _ in pairs], {line["id"]: line for _, line in pairs}
    say(table(list(lines.values())))
    for c in checks:
        for trouble in (c.broken, c.doubt):
            if trouble:
                say(f"{c.claim.id}: {trouble}")
    ids = dict.fromkeys(c.claim.statement_id for c in checks)
    from analysis.claims import statements

    ledger = [entry(s, checks) for s in statements() if s.full_id in ids]
    for e in ledger:
        say(f"{e.statement.full_id}: {e.finding.value}")
    if o.json is not None:
        write_atomically(o.json, json_lines(ledger, lines))
    return 0 if all(c.sound for c in checks) else 1

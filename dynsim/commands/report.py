"""`dynsim report`: the ledger, every statement of the five papers."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dynsim.commands.options import parse, say


@dataclass(frozen=True)
class Report:
    """Run the ledger and write it. Lines are kept as they finish: a killed report resumes."""

    seed: int = 0
    """of the trials' random streams"""
    trials: int | None = None
    """how many, instead of each claim's own number"""
    jobs: int = 2
    """processes"""
    results: Path | None = None
    """the folder of records of experiments, by default the one that DYNSIM_RESULTS names, or results/experiments"""
    lines: Path = Path("results/ledger")
    """where lines are kept"""
    json: Path | None = None
    """a file for one JSON line for each statement"""
    markdown: Path | None = None
    """a file for the ledger in Markdown"""
    readme: Path | None = None
    """a file whose summary between two markers is renewed"""


def main(words: Sequence[str]) -> int:
    """Run what is missing, and write the ledger."""
    from analysis.claims import claims
    from analysis.experiments import use_results
    from analysis.report import (
        entries,
        json_lines,
        markdown,
        run_checks,
        summary,
        table,
        update_readme,
        write_atomically,
    )
    from dynsim.io.npz import writable_folder
    from dynsim.progress import tracked

    o = parse(Report, words, "report")
    use_results(o.results)
    for path in (o.json, o.markdown, o.readme):
        if path is not None:
            writable_folder("json`, `markdown` or `readme", path.parent)
    runs = run_checks(claims(), seed=o.seed, num_trials=o.trials, jobs=o.jobs, folder=o.lines)
    pairs = list(tracked(runs, len(claims()), "report"))
    lines = {line["id"]: line for _, line in pairs}
    ledger = entries([c for c, _ in pairs])
    text = summary(ledger, lines, datetime.datetime.now(tz=datetime.UTC).date())
    say(table([lines[claim.id] for claim in claims()]))
    say(text)
    if o.json is not None:
        write_atomically(o.json, json_lines(ledger, lines))
    if o.markdown is not None:
        write_atomically(o.markdown, markdown(ledger, lines))
    if o.readme is not None:
        update_readme(o.readme, text)
    return 0

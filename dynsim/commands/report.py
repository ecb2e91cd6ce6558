"""`dynsim report`: write the ledger, which has every statement of the five papers with its finding."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dynsim.commands.options import check_outputs, parse, say
from dynsim.commands.sizes import check_work
from dynsim.data import use_data


@dataclass(frozen=True)
class Report:
    """Check all claims and write the ledger. The results of finished claims are kept: an interrupted report resumes."""

    seed: int = 0
    """random seed of the trials"""
    trials: int | None = None
    """number of trials of each claim, instead of the claim's own number"""
    jobs: int = 2
    """number of parallel processes"""
    results: Path | None = None
    """the folder of experiment records; by default the one that DYNSIM_RESULTS names, or results/experiments"""
    data: Path | None = None
    """the folder of data files; by default the one that DYNSIM_DATA names"""
    lines: Path = Path("results/ledger")
    """the folder for the results of finished claims"""
    json: Path | None = None
    """a file to write, with one JSON line for each statement"""
    markdown: Path | None = None
    """a file to write, with the ledger in Markdown"""
    readme: Path | None = None
    """a file in which the summary between two markers is replaced"""
    force: bool = False
    """replace existing files that dynsim did not write"""


def main(words: Sequence[str]) -> int:
    """Check the claims without a kept result, and write the ledger."""
    o = parse(Report, words, "report")
    from analysis.claims import claims
    from analysis.experiments import use_results
    from analysis.report import (
        check_readme,
        entries,
        in_order,
        json_lines,
        markdown,
        run_checks,
        summary,
        table,
        update_readme,
        write_atomically,
    )
    from dynsim.progress import tracked

    use_data(o.data)
    use_results(o.results)
    check_work(o.trials, o.jobs)
    check_outputs(o.force, json=o.json, markdown=o.markdown)
    if o.readme is not None:
        check_readme(o.readme)
    runs = run_checks(claims(), seed=o.seed, num_trials=o.trials, jobs=o.jobs, folder=o.lines)
    pairs = in_order(tracked(runs, len(claims()), "report"), claims())
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

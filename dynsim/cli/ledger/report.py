"""`dynsim report`: write the ledger, a table of every statement of the papers with its finding."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dynsim.cli.parsing.options import Data, Force, Results, check_outputs, parse, say, warn
from dynsim.cli.parsing.sizes import check_work
from dynsim.io.data import use_data


@dataclass(frozen=True)
class Report:
    """Check all claims and write the ledger; an interrupted report resumes from the finished claims.

    A Python file (`mine.py`) is executed, and the ledger covers its paper only.
    """

    papers: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """keys of papers, or Python files with your own claims; by default the five papers and registered packages"""
    seed: int = 0
    """random seed of the trials"""
    trials: int | None = None
    """number of trials of each claim; by default the claim's own number"""
    jobs: int = 2
    """number of parallel processes"""
    cluster: str | None = None
    """the address of the scheduler of a Dask cluster, on whose workers the claims are checked (extra `cluster`)"""
    results: Results = None
    data: Data = None
    lines: Path = Path("results/ledger")
    """the folder that keeps the results of finished claims"""
    json: Path | None = None
    """a file to write, with one JSON line per statement"""
    markdown: Path | None = None
    """a file to write, with the ledger in Markdown"""
    trials_out: Path | None = None
    """a file to write, with one JSON line per trial: its measurements with verdicts, and its witness"""
    site: Path | None = None
    """a file to write, with the findings as data for the pages of the documentation (JSON); the history
    of findings in a file that is there is continued"""
    readme: Path | None = None
    """a file whose summary between two markers is replaced"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Check the claims that have no kept result, and write the ledger."""
    o = parse(Report, words, "report")
    from analysis.experiments import use_results
    from analysis.findings_file import findings_json, former_findings
    from analysis.json_types import json_rows
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
        use_one_thread,
        write_atomically,
    )
    from dynsim._runtime.executors import cluster
    from dynsim._runtime.progress import tracked
    from dynsim.cli.ledger.own_claims import library, refuse_what_is_no_trial, source
    from dynsim.cli.ledger.own_papers import is_file

    use_data(o.data)
    use_results(o.results)
    check_work(o.trials, o.jobs)
    check_outputs(o.force, json=o.json, markdown=o.markdown, trials_out=o.trials_out, site=o.site)
    former = None if o.site is None else former_findings(o.site, "site")
    if o.readme is not None:
        check_readme(o.readme)
    use_one_thread()
    read = source(o.papers)
    known = library(o.papers)
    warn(known.problems)
    known = known.of([word for word in o.papers if not is_file(word)])
    with cluster(o.cluster) as executor:
        runs = run_checks(
            known.claims,
            seed=o.seed,
            num_trials=o.trials,
            jobs=o.jobs,
            folder=o.lines,
            source=read,
            executor=executor,
        )
        pairs = in_order(tracked(runs, len(known.claims), "report"), known.claims)
    lines = {line["id"]: line for _, line in pairs}
    checks = [c for c, _ in pairs]
    ledger = entries(checks, known.statements)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    text = summary(ledger, lines, today)
    say(table(list(lines.values())))
    say(text)
    if o.json is not None:
        write_atomically(o.json, json_lines(ledger, lines))
    if o.markdown is not None:
        write_atomically(o.markdown, markdown(ledger, lines))
    if o.site is not None:
        write_atomically(o.site, findings_json(ledger, lines, today, o.seed, former))
    if o.readme is not None:
        update_readme(o.readme, text)
    if o.trials_out is not None:
        write_atomically(o.trials_out, json_rows(row for line in lines.values() for row in line["rows"]))
    refuse_what_is_no_trial(checks)
    return 0

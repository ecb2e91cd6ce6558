"""Run claims, save their results in a folder, and write the ledger as a table, as Markdown or as JSON lines."""

import datetime
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from analysis.claims import claims as all_claims
from analysis.claims import statements
from analysis.json_types import plain, trial_rows
from analysis.ledger.check import Check, check
from analysis.ledger.claim import Claim
from analysis.ledger.findings import Finding, LedgerEntry, entry
from analysis.ledger.statement import Statement
from analysis.ledger.verdict import Verdict
from analysis.provenance import source_digest
from dynsim._runtime.executors import as_executor, finished
from dynsim._runtime.interrupts import end_with_parent, on_interrupt
from dynsim.errors import ArgumentError, reason
from dynsim.io.npz import writable_folder
from dynsim.io.whole_files import whole_file

Line = dict[str, Any]
Source = Callable[[], Sequence[Claim]]
BEGIN, END = "<!-- ledger -->", "<!-- /ledger -->"
KINDS = {"sampled": "sampled", "analytic instance": "in closed form", "certified": "certified"}


def run_checks(
    claims: Sequence[Claim],
    *,
    seed: int = 0,
    num_trials: int | None = None,
    jobs: int = 1,
    folder: Path | None = None,
    source: Source = all_claims,
    executor: Executor | None = None,
) -> Iterator[tuple[Check, Line]]:
    """Check claims one after another, in `jobs` processes, or on an executor; yield each with its line as it finishes.

    With a `folder`, each line is saved there as soon as it is known. A claim whose saved line has the same seed, number
    of trials, sources and records is not run again, so that an interrupted report can be resumed. In its process each
    worker calls `source`, a function that can be pickled, for the claims, which cannot. With an `executor` the lines
    are written by this process; records of experiments and data are those of the machines that check.

    Raises:
        ValueError: for fewer than one process, a folder that cannot be written, or an executor that ends before.
    """
    if jobs < 1:
        raise ArgumentError("jobs", "be at least 1", f"is {jobs}")
    if folder is not None:
        writable_folder("folder", folder)
    todo: list[Claim] = []
    for claim in claims:
        kept = _kept(folder, claim, seed, num_trials)
        if kept is None:
            todo.append(claim)
        else:
            yield _restored(claim, kept), kept
    with on_interrupt(lambda: _stopped(claims, seed, num_trials, folder)):
        if executor is None:
            yield from _checks(todo, seed, num_trials, jobs, folder, source)
        else:
            yield from _checks_on(as_executor(executor), todo, seed, num_trials, folder, source)


def in_order(runs: Iterable[tuple[Check, Line]], claims: Sequence[Claim]) -> list[tuple[Check, Line]]:
    """Sort finished checks with their lines into the order of `claims`; processes finish in any order."""
    order = {claim.id: k for k, claim in enumerate(claims)}
    return sorted(runs, key=lambda run: order[run[0].claim.id])


def _checks(
    todo: Sequence[Claim], seed: int, num_trials: int | None, jobs: int, folder: Path | None, source: Source
) -> Iterator[tuple[Check, Line]]:
    if jobs == 1 or len(todo) < 2:
        for claim in todo:
            yield _checked(claim, seed, num_trials, folder)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_prepare_worker)
    try:
        pending = {pool.submit(_check_by_id, source, claim.id, seed, num_trials, folder): claim for claim in todo}
        for future in as_completed(pending):
            verdict, rest, line = future.result()
            yield Check(pending[future], verdict, *rest), line
    except BaseException as error:  # otherwise a worker would go on with its claim
        for process in active_children():
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            must = "be a number of processes that memory can hold"
            raise ArgumentError("jobs", must, f"one of {jobs} ended before it had checked its claim") from None
        raise
    pool.shutdown()


def _checks_on(
    executor: Executor, todo: Sequence[Claim], seed: int, num_trials: int | None, folder: Path | None, source: Source
) -> Iterator[tuple[Check, Line]]:
    """Check claims on an executor, whose machines may have no part in `folder`."""
    calls = {k: (_check_elsewhere, (source, claim.id, seed, num_trials)) for k, claim in enumerate(todo)}
    kept = lambda: "" if folder is None else f"finished claims are kept in `{folder}`, and the same call goes on"
    for k, (verdict, rest, line) in finished(executor, calls, kept):
        if folder is not None:
            write_atomically(_line_path(folder, todo[k], seed, num_trials), json.dumps(line))
        yield Check(todo[k], verdict, *rest), line


def _check_elsewhere(source: Source, id: str, seed: int, num_trials: int | None) -> tuple[Verdict, tuple, Line]:
    """Check a claim in a process of an executor, with one thread if it is the first that it computes."""
    use_one_thread()
    return _check_by_id(source, id, seed, num_trials, None)


def _checked(claim: Claim, seed: int, num_trials: int | None, folder: Path | None) -> tuple[Check, Line]:
    """Check a claim and save its line at once, in the process that ran it."""
    done = check(claim, seed=seed, num_trials=num_trials)
    line = claim_line(done) | {"rows": trial_rows(done)}
    if folder is not None:
        write_atomically(_line_path(folder, claim, seed, num_trials), json.dumps(line))
    return done, line


def _stopped(claims: Sequence[Claim], seed: int, num_trials: int | None, folder: Path | None) -> str:
    """Describe what is kept of an interrupted run."""
    if folder is None:
        return "Stopped; no result is kept (`--lines FOLDER` keeps those of finished claims)."
    kept = sum(_line_path(folder, claim, seed, num_trials).exists() for claim in claims)
    return f"Stopped; the results of {kept} of {len(claims)} claims are in `{folder}`; repeat the command to resume."


def _prepare_worker() -> None:
    """Use one thread, leave Ctrl-C to the parent process, which ends its workers, and end with it if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    use_one_thread()


def use_one_thread() -> None:
    """Use one thread in this process from the first computation on, as workers do.

    Sums in another order would change the last bits: a trial gives the same numbers for any number of processes.
    """
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def _check_by_id(
    source: Source, id: str, seed: int, num_trials: int | None, folder: Path | None
) -> tuple[Verdict, tuple, Line]:
    """Check a claim in a worker process; claims cannot be pickled and are passed by id."""
    claim = next((c for c in source() if c.id == id), None)
    if claim is None:
        raise ArgumentError(
            "jobs", "be 1 for claims that differ from process to process", f"workers do not have `{id}`"
        )
    c, line = _checked(claim, seed, num_trials, folder)
    trials = tuple(replace(trial, witness={}) for trial in c.trials)  # the line has the content of a witness
    return c.verdict, (trials, None, c.control, c.seed, c.seconds, c.doubt, c.broken, c.integrated, c.no_trial), line


def claim_line(c: Check) -> Line:
    """Convert the result of one check to JSON types."""
    worst = c.worst
    return {
        "id": c.claim.id,
        "variant": c.claim.variant,
        "verdict": c.verdict.name,
        "evidence": c.claim.evidence,
        "trials": len(c.trials),
        "applied": c.applied,
        "worst": None if worst is None else {"what": worst.what, "slack": plain(worst.slack)},
        "control": None if c.control is None else c.control.name,
        "counterexample": None if c.counterexample is None else plain(dict(c.counterexample.witness)),
        "seconds": round(c.seconds, 2),
        "doubt": c.doubt,
        "broken": c.broken,
        "no_trial": c.no_trial,
        "seed": c.seed,
        "ranges": c.ranges,
        "integrated": c.integrated,
    }


def _restored(claim: Claim, line: Line) -> Check:
    """Rebuild a check from its saved line; its trials are not saved."""
    control = None if line["control"] is None else Verdict[line["control"]]
    return Check(
        claim,
        Verdict[line["verdict"]],
        control=control,
        **{name: line[name] for name in ("seed", "seconds", "doubt", "broken", "integrated", "no_trial")},
    )


def _line_path(folder: Path, claim: Claim, seed: int, num_trials: int | None) -> Path:
    count = claim.num_trials if num_trials is None else num_trials
    return folder / f"{claim.id.replace('/', '.')}.{seed}.{count}.{source_digest(claim)}.json"


def _kept(folder: Path | None, claim: Claim, seed: int, num_trials: int | None) -> Line | None:
    if folder is None:
        return None
    path = _line_path(folder, claim, seed, num_trials)
    return json.loads(path.read_text()) if path.exists() else None


def entries(checks: Sequence[Check], known: Sequence[Statement] | None = None) -> tuple[LedgerEntry, ...]:
    """Build the ledger: one entry for every statement, decided or open; by default for every paper of the library."""
    return tuple(entry(statement, checks) for statement in (statements() if known is None else known))


def json_lines(ledger: Sequence[LedgerEntry], lines: Mapping[str, Line]) -> str:
    """Format the ledger as one JSON object per line, one for each entry; `lines` are the claims' lines by id."""
    fields = (
        "id",
        "variant",
        "verdict",
        "evidence",
        "trials",
        "applied",
        "worst",
        "control",
        "counterexample",
        "ranges",
        "seconds",
    )
    rows = []
    for e in ledger:
        own = [{name: lines[c.claim.id][name] for name in fields} for c in e.checks]
        rows.append(
            json.dumps(
                {
                    "statement": e.statement.full_id,
                    "source": str(e.statement.source),
                    "text": e.statement.text,
                    "finding": e.finding.name,
                    "note": e.note,
                    "claims": own,
                }
            )
        )
    return "\n".join(rows) + "\n"


def table(lines: Sequence[Line]) -> str:
    """Format the claims' lines as a plain-text table with aligned columns."""
    head = ("claim", "variant", "verdict", "applied", "control", "worst")
    rows: list[tuple[str, ...]] = [head]
    for line in lines:
        worst = line["worst"]
        shown = "-" if worst is None else f"{worst['slack']} ({worst['what']})"
        applied = f"{line['applied']}/{line['trials']}"
        rows.append((line["id"], line["variant"], line["verdict"], applied, line["control"] or "-", shown))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def markdown(ledger: Sequence[LedgerEntry], lines: Mapping[str, Line]) -> str:
    """Format the ledger as Markdown, one table for each paper."""
    out: list[str] = ["# Ledger of dynsim", ""]
    for key in dict.fromkeys(e.statement.source.paper.key for e in ledger):
        own = [e for e in ledger if e.statement.source.paper.key == key]
        out += [f"## {key}", "", "| statement | where | finding | evidence | note |", "|---|---|---|---|---|"]
        for e in own:
            evidence = "; ".join(in_words(lines[c.claim.id]) for c in e.checks) or "-"
            place, note = str(e.statement.source.label), e.note.replace("|", "\\|")
            out.append(f"| `{e.statement.id}` | {place} | {e.finding.value} | {evidence} | {note} |")
        out.append("")
    return "\n".join(out)


def in_words(line: Line) -> str:
    """Describe a claim's verdict, with the number of instances on which it rests."""
    verdict, name = Verdict[line["verdict"]], line["id"].split("/", 1)[1]
    numerical = "by both integrators" if line["integrated"] else "in floating-point arithmetic"
    by = "certified" if line["evidence"] == "certified" else numerical
    words = {
        Verdict.EXACT: f"exact on {line['applied']} instances",
        Verdict.SUPPORTED: f"supported on {line['applied']} instances, {KINDS[line['evidence']]}",
        Verdict.REFUTED: f"refuted, {by}",
    }
    ranges = ", ".join(f"{parameter} {values}" for parameter, values in line["ranges"].items())
    return f"{name} ({line['variant']}): {words.get(verdict, verdict.value)}{f' ({ranges})' if ranges else ''}"


def summary(ledger: Sequence[LedgerEntry], lines: Mapping[str, Line], date: datetime.date) -> str:
    """Format a Markdown table of the number of findings of each kind for each paper, with date and trial counts."""
    trials = sum(line["trials"] for line in lines.values())
    rows = [f"As of {date.isoformat()}, {len(lines)} claims, {trials} trials:", ""]
    head = [f.value for f in Finding if f is not Finding.OUT_OF_SCOPE]
    rows += [f"| paper | {' | '.join(head)} |", "|---|" + "---|" * len(head)]
    for key in dict.fromkeys(e.statement.source.paper.key for e in ledger):
        count = Counter(e.finding.value for e in ledger if e.statement.source.paper.key == key)
        rows.append(f"| `{key}` | " + " | ".join(str(count[name]) for name in head) + " |")
    return "\n".join(rows)


def check_readme(path: Path) -> str:
    """Read the README at `path`; raise `ValueError` unless it can be read and has the two markers."""
    try:
        whole = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError("readme", "be a file that can be read", f"`{path}` is not ({reason(error)})") from None
    if BEGIN not in whole or END not in whole:
        raise ArgumentError("readme", f"hold the markers {BEGIN} and {END}", "does not")
    return whole


def update_readme(path: Path, text: str) -> None:
    """Write `text` between the two markers of the README at `path`.

    Raises:
        ValueError: if the file has no markers.
    """
    whole = check_readme(path)
    before, rest = whole.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    write_atomically(path, f"{before}{BEGIN}\n{text}\n{END}{after}")


def write_atomically(path: Path, text: str) -> None:
    """Write a text file atomically, by a temporary file that replaces it."""
    try:
        with whole_file(path) as part:
            part.write_text(text)
    except OSError as error:
        raise ArgumentError("path", "be a file that can be written", f"`{path}` is not ({error.strerror})") from None

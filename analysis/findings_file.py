"""Findings as data: one JSON file with every statement, its finding, and its claims with their witnesses."""

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from analysis.findings_history import FindingsHistory
from analysis.ledger.claim import Claim
from analysis.ledger.findings import LedgerEntry
from analysis.ledger.statement import Statement
from analysis.provenance import claim_sources
from dynsim.errors import ArgumentError, reason

FORMAT = "dynsim ledger"
VERSION = 1
LARGEST = (
    500_000  # bytes of a file with a history; browsers and version control bear it, and a larger one forgets reports
)
LONGEST_WITNESS = 1200  # characters; for a longer witness the file has the command that prints it
FIELDS = ("id", "variant", "verdict", "evidence", "integrated", "applied", "trials", "control", "worst", "ranges")


def findings_json(
    ledger: Sequence[LedgerEntry],
    lines: Mapping[str, Mapping[str, Any]],
    date: datetime.date,
    seed: int,
    former: Mapping[str, Any] | None = None,
) -> str:
    """Format a ledger as JSON, one statement in each line, with what earlier reports found on it.

    The oldest reports are forgotten where the file would be larger than `LARGEST` bytes.

    Args:
        ledger: the entries of the statements.
        lines: the results of their claims by id, as `claim_line` makes them.
        date: the day of the report.
        seed: the seed of its trials.
        former: the findings of the report before, whose history is continued.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "date": date.isoformat(),
        "dynsim": version("dynsim"),
        "seed": seed,
        "claims": len(lines),
        "trials": sum(line["trials"] for line in lines.values()),
        "papers": papers([entry.statement for entry in ledger]),
    }
    found = {**head, "statements": [_statement(entry, lines) for entry in ledger]}
    history = FindingsHistory.of(found) if former is None else FindingsHistory.of(former).then(found)
    text = _text(found, history)
    while len(text.encode()) > LARGEST and len(history.reports) > 1:
        history = history.without_first()
        text = _text(found, history)
    return text


def read_findings(path: Path, name: str = "path") -> dict[str, Any]:
    """Read a file of findings.

    Args:
        path: the file.
        name: the argument that errors name.

    Raises:
        ValueError: for a file that cannot be read, is no file of findings, or has another version.
    """
    must = "be a file of findings (`dynsim report --site FILE`)"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "is no JSON"
        raise ArgumentError(name, must, f"`{path}` {why}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArgumentError(name, must, f"`{path}` is another file")
    if found.get("version") != VERSION:
        must = f"have version {VERSION} of the format (`dynsim report --site FILE` writes it)"
        raise ArgumentError(name, must, f"`{path}` has version {found.get('version')}")
    return found


def former_findings(path: Path, name: str) -> dict[str, Any] | None:
    """Read the findings whose history a new report in the same file continues; None if the file is new or empty.

    Raises:
        ValueError: as `read_findings`, so that no history is lost.
    """
    return read_findings(path, name) if path.exists() and path.stat().st_size else None


def papers(statements: Sequence[Statement]) -> dict[str, dict[str, str]]:
    """Return title and authors of the papers of statements, by key."""
    known = dict.fromkeys(statement.source.paper for statement in statements)
    return {paper.key: {"title": paper.title, "authors": paper.authors} for paper in known}


def claim_digest(claim: Claim) -> str:
    """Compute a digest of a claim's text and of the modules of claims in which it is written."""
    digest = hashlib.sha256(f"{claim.statement}\n{claim.note}".encode())
    for text in claim_sources(claim):
        digest.update(text)
    return digest.hexdigest()[:12]


def _text(found: Mapping[str, Any], history: FindingsHistory) -> str:
    head = {name: value for name, value in found.items() if name != "statements"} | {"reports": history.reports}
    rows = ",\n".join(_packed(one | {"history": history.states[one["id"]]}) for one in found["statements"])
    return f'{_packed(head)[:-1]},"statements":[\n{rows}\n]}}\n'


def _statement(entry: LedgerEntry, lines: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    statement = entry.statement
    return {
        "id": statement.full_id,
        "where": str(statement.source).split(", ", 1)[1],
        "text": statement.text,
        "finding": entry.finding.value,
        "claims": [_claim(check.claim, lines[check.claim.id]) for check in entry.checks],
    }


def _claim(claim: Claim, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file says of a claim; fields that are empty are left out."""
    witness = line["counterexample"]
    kept = witness if len(_packed(witness)) <= LONGEST_WITNESS else "long"
    row = {name: line[name] for name in FIELDS}
    row |= {"says": claim.statement.split("\n\n")[0].replace("\n", " "), "note": claim.note, "witness": kept}
    row |= {"decided by": claim.decided_by, "digest": claim_digest(claim)}
    return {name: value for name, value in row.items() if value not in (None, "", {}, False)}


def _packed(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

"""The ledger's statements, those of the five papers, and the claims that decide them."""

import functools
import importlib
import pkgutil
import re
from collections.abc import Sequence, Set
from dataclasses import replace

from analysis.ledger.claim import Claim
from analysis.ledger.statement import Statement
from dynsim.errors import ArgumentError
from dynsim.papers import PAPERS


@functools.cache
def statements() -> tuple[Statement, ...]:
    """Return all statements, paper by paper, in the order of each paper."""
    packages = [importlib.import_module(f"{__name__}.{key}") for key in PAPERS]
    return tuple(statement for package in packages for statement in package.STATEMENTS)


@functools.cache
def claims() -> tuple[Claim, ...]:
    """Return all claims, by paper and section.

    Raises:
        ValueError: for a claim id that occurs twice or belongs to no statement.
    """
    found: list[Claim] = []
    for key in PAPERS:
        for name in _modules(f"{__name__}.{key}"):
            module = importlib.import_module(name)
            found.extend(replace(value, module=name) for value in vars(module).values() if isinstance(value, Claim))
    return collect(found, statements())


def _modules(package: str) -> list[str]:
    """Return the names of a package's modules in numerical order of sections: Section 2 before Section 11."""
    numbers = lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    found = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    names = [
        module.name for module in found if not module.ispkg and not module.name.startswith(f"{package}.instances.")
    ]
    return sorted(names, key=numbers)


def stated_by(found: Sequence[Claim]) -> tuple[Statement, ...]:
    """Return the statements to which claims belong, each in the first line of its first claim.

    They are those of a paper without a list of statements: each claim's id says to which one it belongs.
    """
    first: dict[str, Statement] = {}
    for claim in found:
        if claim.source is None:
            raise ArgumentError(
                "source", "be given for a claim of a paper without `STATEMENTS`", f"that of `{claim.id}` is not"
            )
        id, text = claim.statement_id.split("/", 1)[1], claim.statement.splitlines()[0]
        first.setdefault(claim.statement_id, Statement(id, claim.source, text))
    return tuple(first.values())


def collect(found: list[Claim], known: tuple[Statement, ...]) -> tuple[Claim, ...]:
    """Return the claims in their order with the sources of their statements, after checking their ids.

    Raises:
        ValueError: for a claim id that occurs twice or belongs to none of the `known` statements.
    """
    sources = {statement.full_id: statement.source for statement in known}
    seen: set[str] = set()
    for claim in found:
        if claim.id in seen:
            raise ArgumentError("id", "be that of one claim", f"`{claim.id}` is that of two")
        if claim.statement_id not in sources:
            raise ArgumentError(
                "id", "begin with a statement", f"`{claim.id}` begins with `{claim.statement_id}`, which is none"
            )
        seen.add(claim.id)
    placed = [replace(claim, source=claim.source or sources[claim.statement_id]) for claim in found]
    return tuple(_with_its_positive_case(claim, seen) for claim in placed)


def _with_its_positive_case(claim: Claim, ids: Set[str]) -> Claim:
    """Say in the note of a claim without a control that the corrected claim shows that its trial can pass."""
    has_one = f"{claim.statement_id}/corrected" in ids and claim.variant != "corrected"
    if claim.trial is None or claim.control is not None or "no control:" in claim.note or not has_one:
        return claim
    said = "no control: the corrected claim is the positive case"
    return replace(claim, note=f"{claim.note.rstrip('.')}; {said}" if claim.note else said)

"""The one list of what the ledger knows: every statement of the five papers, and the claims that decide them."""

import functools
import importlib

from analysis.claim import Claim
from analysis.statement import Statement
from dynsim.papers import PAPERS


@functools.cache
def statements() -> tuple[Statement, ...]:
    """Return every statement, paper by paper, in the order of each paper."""
    rooms = [importlib.import_module(f"{__name__}.{key}") for key in PAPERS]
    return tuple(statement for room in rooms for statement in room.STATEMENTS)


@functools.cache
def claims() -> tuple[Claim, ...]:
    """Return every claim; raise `ValueError` on an id that stands twice or belongs to no statement."""
    found: list[Claim] = []
    for key in PAPERS:
        room = importlib.import_module(f"{__name__}.{key}")
        for name in room.MODULES:
            module = importlib.import_module(f"{__name__}.{key}.{name}")
            found.extend(thing for thing in vars(module).values() if isinstance(thing, Claim))
    return collect(found, statements())


def collect(found: list[Claim], known: tuple[Statement, ...]) -> tuple[Claim, ...]:
    """Return the claims as one list, each id once and each of a known statement."""
    ids = {statement.full_id for statement in known}
    seen: set[str] = set()
    for claim in found:
        if claim.id in seen:
            raise ValueError(f"Claim `{claim.id}` must be written once, but stands twice.")
        if claim.statement_id not in ids:
            raise ValueError(f"Claim `{claim.id}` must belong to a statement, but `{claim.statement_id}` is none.")
        seen.add(claim.id)
    return tuple(found)

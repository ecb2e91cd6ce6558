"""The one list of what the ledger knows: every statement of the five papers, and the claims that decide them."""

import functools
import importlib
import pkgutil
import re

from analysis.ledger.claim import Claim
from analysis.ledger.statement import Statement
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
        for name in _modules(f"{__name__}.{key}"):
            module = importlib.import_module(name)
            found.extend(thing for thing in vars(module).values() if isinstance(thing, Claim))
    return collect(found, statements())


def _modules(package: str) -> list[str]:
    """Return the modules of a package, those of Section 2 before those of Section 11."""
    numbers = lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    paths = importlib.import_module(package).__path__
    names = [module.name for module in pkgutil.iter_modules(paths) if not module.ispkg]
    return [f"{package}.{name}" for name in sorted(names, key=numbers)]


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

"""Derive findings on statements from the checks of all their claims, and select claims by pattern."""

import enum
import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.ledger.check import Check
from analysis.ledger.claim import Claim
from analysis.ledger.statement import Statement
from analysis.ledger.verdict import Verdict
from dynsim._core.printing import one_line, report
from dynsim._core.validation import instances
from dynsim.errors import ArgumentError, nearest

GOOD = (Verdict.SUPPORTED, Verdict.EXACT)


class Finding(enum.Enum):
    """Finding on a statement, computed from its checks."""

    HOLDS = "holds"
    HOLDS_CORRECTED = "holds, corrected"
    FAILS = "fails"
    ILL_POSED = "ill-posed"
    OPEN = "open"
    OUT_OF_SCOPE = "out of scope"


@dataclass(frozen=True)
class LedgerEntry:
    """A statement with its checks, its finding and a note."""

    statement: Statement
    checks: tuple[Check, ...]
    finding: Finding
    note: str

    __repr__ = one_line
    __str__ = report


def find(checks: Iterable[Check]) -> Finding:
    """Derive the finding on one statement from the checks of all its variants.

    Several claims of the variant `printed` are parts of one statement: it holds if all of them hold, and is refuted if
    one is refuted. A refuted statement holds in a corrected form only if no correction of it is refuted. A statement
    that is ill-posed as printed holds at most in a corrected form, that of one of its readings.

    Example:
        >>> import dynsim as ds
        >>> from analysis.ledger import Check, Verdict, claim, find
        >>> source = ds.Paper("mine", "On sums", "A. Author").at("Lemma 1")
        >>> lemma = claim("mine/lem-1", source, statement="1 + 1 is 3.", trial=lambda key: None)
        >>> find([Check(lemma, Verdict.REFUTED)]).value
        'fails'
    """
    checks = instances("checks", checks, Check, "checks of claims")
    printed = [c.verdict for c in checks if c.claim.variant == "printed"]
    others = [c.verdict for c in checks if c.claim.variant != "printed"]
    failed = any(c.verdict is Verdict.REFUTED for c in checks if c.claim.variant == "corrected")
    rescued = any(verdict in GOOD for verdict in others) and not failed
    if not printed or not all(c.sound for c in checks):
        return Finding.OPEN
    if Verdict.REFUTED in printed:
        return Finding.HOLDS_CORRECTED if rescued else Finding.FAILS
    if all(verdict is Verdict.OUT_OF_SCOPE for verdict in printed):
        return Finding.OUT_OF_SCOPE
    if all(verdict is Verdict.ILL_POSED for verdict in printed):
        if not others:
            return Finding.ILL_POSED
        if not all(verdict in (*GOOD, Verdict.REFUTED) for verdict in others):
            return Finding.OPEN
        return Finding.HOLDS_CORRECTED if rescued else Finding.FAILS
    return Finding.HOLDS if all(verdict in GOOD for verdict in printed) else Finding.OPEN


def entry(statement: Statement, checks: Iterable[Check]) -> LedgerEntry:
    """Make the entry of a statement from the checks that belong to it; there may be none."""
    own = tuple(c for c in checks if c.claim.statement_id == statement.full_id)
    return LedgerEntry(statement, own, find(own), _note(own))


def _note(checks: Sequence[Check]) -> str:
    """Join the notes of the claims, and say what would decide the statement if it is open."""
    if not checks:
        return "no claim has been written for this statement yet; a trial that measures it would decide it"
    notes = [c.claim.note for c in checks if c.claim.note]
    shared = [(c.claim.id, c.claim.same_trial_as) for c in checks if c.claim.same_trial_as]
    notes += [f"`{name}` measures the trial of `{other}`" for name, other in shared]
    for c in checks:
        name = c.claim.id
        if c.broken:
            notes.append(f"`{name}` raised an error ({c.broken})")
        elif not c.sound:
            notes.append(f"the verdict on the control of `{name}` is {c.control.name if c.control else 'missing'}")
        elif c.verdict is Verdict.INCONCLUSIVE:
            why = c.doubt or next((t.reason for t in c.trials if t.reason), "a measurement is not a number")
            by = f"; `{c.claim.decided_by}` would decide it" if c.claim.decided_by else ""
            notes.append(f"`{name}` is inconclusive: {why}{by}")
        elif c.verdict is Verdict.VACUOUS:
            what = f"`{c.claim.decided_by}`" if c.claim.decided_by else "instances that meet its hypotheses"
            notes.append(f"`{name}` is vacuous: {what} would decide it")
    return "; ".join(dict.fromkeys(notes))


def select(patterns: Sequence[str], claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Select the claims that match any of the patterns; all claims if there are no patterns.

    A pattern is the key of a paper, the id of a statement or claim (which matches its variants too), or a shell
    pattern. A pattern without a key is tried with every key.

    Raises:
        ValueError: for a pattern without matches; the message suggests the nearest id.
    """
    if not patterns:
        return tuple(claims)
    chosen: list[Claim] = []
    for pattern in patterns:
        forms = (pattern, *(f"{key}/{pattern}" for key in dict.fromkeys(c.key for c in claims)))
        hits = [c for c in claims if any(_matches(c, form) for form in forms)]
        if not hits:
            names = {name for c in claims for name in (c.id, c.id.split("/", 1)[1], c.key)}
            must = "name a paper, a statement or a claim"
            raise ArgumentError("pattern", must, f"`{pattern}` names none{nearest(pattern, names)}")
        chosen.extend(c for c in hits if c not in chosen)
    return tuple(chosen)


def _matches(claim: Claim, form: str) -> bool:
    """Test whether a pattern is the claim's key, id or statement, or matches its id as a shell pattern."""
    return form in (claim.key, claim.id, claim.statement_id) or fnmatch.fnmatchcase(claim.id, form)

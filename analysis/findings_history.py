"""The history of findings: what each report found on each statement, carried from one file of findings to the next."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Report = tuple[str, str]  # date and version of dynsim
State = tuple[int, str, str]  # number of the first report in which it was so, finding, digest of the claims


@dataclass(frozen=True)
class FindingsHistory:
    """Reports, oldest first, and for each statement what they found on it; what did not change is not repeated.

    Attributes:
        reports: date and version of dynsim of each report.
        states: for each statement by id the reports that found something new, with finding and digest.
    """

    reports: tuple[Report, ...]
    states: Mapping[str, tuple[State, ...]]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "FindingsHistory":
        """Return the history that a file of findings holds; a file without one is a history of one report."""
        if "reports" not in found:
            return _one(found)
        states = {
            one["id"]: tuple((k, finding, digest) for k, finding, digest in one["history"]) for one in _all(found)
        }
        return cls(tuple((date, version) for date, version in found["reports"]), states)

    def then(self, found: Mapping[str, Any]) -> "FindingsHistory":
        """Return the history with one more report; statements that it does not have are forgotten.

        A report of the same day and version that found nothing new is no further report.
        """
        new = _one(found)
        last = {name: states[-1][1:] for name, states in self.states.items()}
        changed = {name for name, (state,) in new.states.items() if last.get(name) != state[1:]}
        if not changed and self.reports[-1:] == new.reports:
            return FindingsHistory(self.reports, {name: self.states[name] for name in new.states})
        number = len(self.reports)
        states = {
            name: self.states.get(name, ()) + (((number, *state[1:]),) if name in changed else ())
            for name, (state,) in new.states.items()
        }
        return FindingsHistory(self.reports + new.reports, states)

    def without_first(self) -> "FindingsHistory":
        """Return the history without its first report."""
        states = {}
        for name, known in self.states.items():
            later = [(max(k - 1, 0), finding, digest) for k, finding, digest in known]
            states[name] = tuple(
                state
                for state, following in zip(later, [*later[1:], None], strict=True)
                if following is None or following[0]
            )
        return FindingsHistory(self.reports[1:], states)

    def rows(self, statement: str) -> list[tuple[str, str, str, str]]:
        """Return date, version, finding and digest of each report on a statement, oldest first."""
        known = self.states[statement]
        ends = [*(state[0] for state in known[1:]), len(self.reports)]
        return [
            (*self.reports[k], finding, digest)
            for (begin, finding, digest), end in zip(known, ends, strict=True)
            for k in range(begin, end)
        ]


def statement_digest(claims: Sequence[Mapping[str, Any]]) -> str:
    """Compute a digest of the claims on a statement from their own; it is empty without claims."""
    return hashlib.sha256("".join(claim["digest"] for claim in claims).encode()).hexdigest()[:8] if claims else ""


def _one(found: Mapping[str, Any]) -> FindingsHistory:
    states = {one["id"]: ((0, one["finding"], statement_digest(one["claims"])),) for one in _all(found)}
    return FindingsHistory(((found["date"], found["dynsim"]),), states)


def _all(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return found["statements"]

"""Evidence: everything that is measured is one inequality."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROUNDING = 1e-11
"""Rounding error of O(100) float64 operations on numbers of order one, with a wide margin."""

SOLVER = 1e-6
"""Error of a trajectory at the default tolerances, with a wide margin; not the slack of a theorem."""


@dataclass(frozen=True)
class Measurement:
    """The inequality `slack >= 0`, with `slack` known up to `tolerance`.

    A hypothesis counts only if it holds clearly; a conclusion fails only if it fails clearly.
    """

    what: str
    slack: float
    tolerance: float

    @property
    def decided(self) -> bool:
        """Whether the slack is a number at all."""
        return math.isfinite(self.slack)

    @property
    def holds_clearly(self) -> bool:
        """Whether the slack is at least its tolerance."""
        return self.decided and self.slack >= self.tolerance

    @property
    def fails_clearly(self) -> bool:
        """Whether the slack is below minus its tolerance."""
        return self.decided and self.slack < -self.tolerance


def at_most(what: str, value: Any, bound: Any, *, tolerance: float) -> Measurement:
    """Measure `value <= bound`; the tolerance is the numerical error of their difference."""
    return Measurement(what, _slack(bound, value), _error(tolerance))


def at_least(what: str, value: Any, bound: Any, *, tolerance: float) -> Measurement:
    """Measure `value >= bound`; the tolerance is the numerical error of their difference."""
    return Measurement(what, _slack(value, bound), _error(tolerance))


def equal(what: str, value: Any, expected: Any, *, tolerance: float) -> Measurement:
    """Measure `value = expected`: an equality holds by no margin, so it spends its tolerance at once."""
    return Measurement(what, _error(tolerance) - abs(_slack(value, expected)), 0.0)


def holds(what: str, fact: bool) -> Measurement:
    """Measure a fact without numerical error: counts, index sets, exact algebra."""
    return Measurement(what, 1.0 if bool(fact) else -1.0, 0.0)


def _slack(larger: Any, smaller: Any) -> float:
    larger, smaller = float(larger), float(smaller)
    if math.isnan(larger) or math.isnan(smaller):
        return math.nan
    return math.inf if larger == smaller == math.inf else larger - smaller


def _error(tolerance: float) -> float:
    tolerance = float(tolerance)
    if not tolerance >= 0:
        raise ValueError(f"Argument `tolerance` must be a non-negative number, but is {tolerance}.")
    return tolerance


@dataclass(frozen=True)
class Trial:
    """One instance of a statement: its hypotheses and its conclusions, measured."""

    hypotheses: tuple[Measurement, ...]
    conclusions: tuple[Measurement, ...]
    witness: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def unfinished(cls, reason: str) -> "Trial":
        """Return a trial that decides nothing, and why."""
        return cls((), (Measurement("the trial finished", math.nan, 0.0),), {}, reason)

    @property
    def applies(self) -> bool:
        """Whether all hypotheses hold clearly."""
        return all(m.holds_clearly for m in self.hypotheses)

    @property
    def decided(self) -> bool:
        """Whether everything measured is a number."""
        return all(m.decided for m in (*self.hypotheses, *self.conclusions))

    @property
    def contradicts(self) -> bool:
        """Whether the hypotheses hold clearly and a conclusion clearly fails."""
        return self.applies and any(m.fails_clearly for m in self.conclusions)

    @property
    def worst(self) -> Measurement:
        """The conclusion with the least slack; an undecided one comes first."""
        return min(self.conclusions, key=lambda m: m.slack if m.decided else -math.inf)

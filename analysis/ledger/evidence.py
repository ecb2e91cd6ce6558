"""Measurements and trials: every hypothesis and conclusion is measured as one inequality with an error bound."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynsim.errors import argument_error

ROUNDING = 1e-11
"""Bound of the rounding error of about 100 float64 operations on numbers of order one, with a wide margin."""

SOLVER = 1e-6
"""Bound of the error of a trajectory at the default tolerances, with a wide margin; unrelated to a theorem's slack."""


@dataclass(frozen=True)
class Measurement:
    """The inequality `slack >= 0`, where `slack` has a numerical error of at most `tolerance`; `what` describes it.

    A hypothesis counts as met only if `slack >= tolerance`; a conclusion as violated only if `slack < -tolerance`.
    """

    what: str
    slack: float
    tolerance: float

    @property
    def decided(self) -> bool:
        """Whether the slack is finite."""
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
    """Measure `value = expected` as `|value - expected| <= tolerance`, an inequality without numerical error."""
    return Measurement(what, _error(tolerance) - abs(_slack(value, expected)), 0.0)


def holds(what: str, fact: bool) -> Measurement:
    """Measure a Boolean fact without numerical error: counts, index sets, exact algebra."""
    return Measurement(what, 1.0 if bool(fact) else -1.0, 0.0)


def _slack(larger: Any, smaller: Any) -> float:
    larger, smaller = float(larger), float(smaller)
    if math.isnan(larger) or math.isnan(smaller):
        return math.nan
    return math.inf if larger == smaller == math.inf else larger - smaller


def _error(tolerance: float) -> float:
    tolerance = float(tolerance)
    if not tolerance >= 0:
        raise argument_error("tolerance", "be a non-negative number", f"is {tolerance}")
    return tolerance


@dataclass(frozen=True)
class Trial:
    """One instance of a statement: its hypotheses and conclusions, measured, and a `witness` to reproduce it from.

    `reason` says why the trial is undecided, if it is.
    """

    hypotheses: tuple[Measurement, ...]
    conclusions: tuple[Measurement, ...]
    witness: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def unfinished(cls, reason: str) -> "Trial":
        """Return an undecided trial, with the reason."""
        return cls((), (Measurement("the trial finished", math.nan, 0.0),), {}, reason)

    @property
    def applies(self) -> bool:
        """Whether all hypotheses hold clearly."""
        return all(m.holds_clearly for m in self.hypotheses)

    @property
    def decided(self) -> bool:
        """Whether the slack of every measurement is finite."""
        return all(m.decided for m in (*self.hypotheses, *self.conclusions))

    @property
    def contradicts(self) -> bool:
        """Whether all hypotheses hold clearly and some conclusion clearly fails."""
        return self.applies and any(m.fails_clearly for m in self.conclusions)

    @property
    def worst(self) -> Measurement:
        """The conclusion with the least slack, or an undecided one if there is any."""
        return min(self.conclusions, key=lambda m: m.slack if m.decided else -math.inf)

"""Verdicts on claims, as a function of their trials."""

import enum
from collections.abc import Sequence

from analysis.ledger.evidence import Trial
from dynsim._core.validation import instances


class Verdict(enum.Enum):
    """Verdict on one claim."""

    EXACT = "exact"  # as SUPPORTED, and all arithmetic was rational or symbolic
    SUPPORTED = "supported"  # no trial that meets the hypotheses contradicts the claim
    REFUTED = "refuted"  # in some trial all hypotheses hold and a conclusion fails, with two independent integrators
    INCONCLUSIVE = "inconclusive"  # no contradiction, but a trial could not be decided
    VACUOUS = "vacuous"  # no trial met the hypotheses
    ILL_POSED = "ill-posed"  # ruled by hand: no experiment could decide it
    OUT_OF_SCOPE = "out of scope"  # ruled by hand: not examined


def judge(trials: Sequence[Trial], *, exact: bool = False) -> Verdict:
    """Judge a claim by its trials: REFUTED, INCONCLUSIVE, VACUOUS, SUPPORTED or EXACT.

    The verdict is REFUTED if a trial contradicts, else INCONCLUSIVE if one is undecided, else VACUOUS if none applies.
    Otherwise it is SUPPORTED, or EXACT for exact arithmetic.

    Args:
        trials: the trials, of which one decides if it contradicts.
        exact: whether all arithmetic was rational or symbolic.

    Example:
        >>> from analysis.ledger import Trial, holds, judge
        >>> met, missed = holds("n is even", True), holds("n is even", False)
        >>> wrong = holds("n is prime", False)
        >>> judge([Trial((met,), (wrong,))]).value, judge([Trial((missed,), (wrong,))]).value
        ('refuted', 'vacuous')
    """
    trials = instances("trials", trials, Trial, "trials of a claim")
    if any(trial.contradicts for trial in trials):
        return Verdict.REFUTED
    if any(not trial.decided for trial in trials):
        return Verdict.INCONCLUSIVE
    if not any(trial.applies for trial in trials):
        return Verdict.VACUOUS
    return Verdict.EXACT if exact else Verdict.SUPPORTED

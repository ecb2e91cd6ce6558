"""The verdict: a pure function of the trials."""

import enum
from collections.abc import Sequence

from analysis.ledger.evidence import Trial


class Verdict(enum.Enum):
    """What the trials of one claim say."""

    EXACT = "exact"  # every trial agrees, and all arithmetic was rational or symbolic
    SUPPORTED = "supported"  # every trial that applies agrees; nothing more
    REFUTED = "refuted"  # hypotheses clear, a conclusion clearly fails, and a second opinion agrees
    INCONCLUSIVE = "inconclusive"  # a trial could not be decided
    VACUOUS = "vacuous"  # no trial met the hypotheses
    ILL_POSED = "ill-posed"  # ruled: no experiment could decide it
    OUT_OF_SCOPE = "out of scope"  # ruled


def judge(trials: Sequence[Trial], *, exact: bool = False) -> Verdict:
    """Return the verdict: a contradiction first, then doubt, then emptiness."""
    if any(trial.contradicts for trial in trials):
        return Verdict.REFUTED
    if any(not trial.decided for trial in trials):
        return Verdict.INCONCLUSIVE
    if not any(trial.applies for trial in trials):
        return Verdict.VACUOUS
    return Verdict.EXACT if exact else Verdict.SUPPORTED

"""Check claims: run their trials, repeat a contradiction with a second integrator, and run the control."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.ledger.claim import Claim, TrialFn
from analysis.ledger.evidence import Measurement, Trial
from analysis.ledger.programs import forget_programs
from analysis.ledger.verdict import Verdict, judge
from analysis.ledger.watched import was_called, watched
from dynsim._core.printing import one_line, report
from dynsim._core.types import Key
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, IntegrationError, UnavailableError
from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy
from dynsim.keys import random_key

CONTROL_TRIALS = 2


class NoTrialError(ArgumentError):
    """A trial function returned something other than a trial."""


@dataclass(frozen=True)
class Check:
    """Result of checking a claim: its verdict and trials, and the verdict on its control.

    Attributes:
        broken: message of an exception raised by a trial, which is no verdict.
        doubt: why a contradiction did not lead to REFUTED, or why a trial could not be decided.
        seconds: wall-clock time.
        integrated: whether the last trial used its integrator; a contradiction was then found with two integrators.
        no_trial: description of what a trial function returned instead of a trial.
    """

    claim: Claim
    verdict: Verdict
    trials: tuple[Trial, ...] = ()
    counterexample: Trial | None = None
    control: Verdict | None = None
    seed: int = 0
    seconds: float = 0.0
    doubt: str = ""
    broken: str = ""
    integrated: bool = False
    no_trial: str = ""

    __repr__ = one_line
    __str__ = report

    @property
    def ranges(self) -> dict[str, str]:
        """Range of each parameter over the trials that meet the hypotheses: "3 to 5", or "causal, full"."""
        names = dict.fromkeys(name for trial in self.trials for name in trial.parameters)
        own = [trial.parameters for trial in self.trials if trial.applies]
        found = {name: [p[name] for p in own if name in p] for name in names}
        return {name: _range(values) for name, values in found.items() if values}

    @property
    def applied(self) -> int:
        """Number of trials that met the hypotheses."""
        return sum(trial.applies for trial in self.trials)

    @property
    def worst(self) -> Measurement | None:
        """Conclusion with the smallest slack over the trials that meet the hypotheses; None if there is none."""
        found = [trial.worst for trial in self.trials if trial.applies and trial.conclusions]
        return min(found, key=lambda m: m.slack if m.decided else float("-inf"), default=None)

    @property
    def sound(self) -> bool:
        """Whether no trial raised an exception and the verdict on the control, if there is one, is REFUTED."""
        return not self.broken and self.control in (None, Verdict.REFUTED)


def _range(values: Sequence[float | int | str]) -> str:
    """Describe the range of numbers, or list different words in alphabetical order."""
    distinct = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    words = [value if isinstance(value, str) else f"{value:.3g}" for value in distinct]
    numbers = not any(isinstance(value, str) for value in distinct)
    return f"{words[0]} to {words[-1]}" if numbers and len(words) > 1 else ", ".join(words)


def check(
    claim: Claim,
    *,
    seed: int = 0,
    num_trials: int | None = None,
    integrator: AbstractIntegrator = Diffrax(),
    referee: AbstractIntegrator = Scipy(),
) -> Check:
    """Check a claim: run its trials, and repeat a contradiction with the `referee` integrator.

    Random keys derive from the id of the claim, so that other claims do not change its samples. A contradiction counts
    only if the referee reproduces it. A trial in exact arithmetic ignores its integrator; repeating it shows that it is
    reproducible.

    Args:
        claim: the claim.
        seed: seed of the random keys.
        num_trials: number of trials; by default that of the claim.
        integrator: integrator that is passed to the trials.
        referee: integrator with which a contradiction is repeated.

    Raises:
        ValueError: for fewer than one trial.

    Example:
        >>> import dynsim as ds
        >>> from analysis.ledger import Trial, check, claim, holds
        >>> source = ds.Paper("mine", "On sums", "A. Author").at("Lemma 1")
        >>> trial = lambda key: Trial((), (holds("1 + 1 = 3", 1 + 1 == 3),))
        >>> check(claim("mine/lem-1", source, statement="1 + 1 is 3.", trial=trial), num_trials=2).verdict.value
        'refuted'
    """
    started = time.perf_counter()
    instance("claim", claim, Claim, "a claim")
    if claim.ruling is not None or claim.trial is None:
        return Check(claim, claim.ruling or Verdict.INCONCLUSIVE, seed=seed)
    if num_trials is not None and num_trials < 1:
        raise ArgumentError("num_trials", "be at least 1", f"is {num_trials}")
    count = claim.num_trials if num_trials is None else num_trials
    found = _run(claim, claim.trial, claim.id, seed, count, integrator, referee)
    if claim.control is not None:
        other = _run(claim, claim.control, f"{claim.id} control", seed, CONTROL_TRIALS, integrator, referee)
        broken, no_trial = found.broken or other.broken, found.no_trial or other.no_trial
        found = replace(found, control=other.verdict, broken=broken, no_trial=no_trial)
    forget_programs()
    return replace(found, seconds=time.perf_counter() - started)


def _run(
    claim: Claim,
    trial: TrialFn,
    name: str,
    seed: int,
    count: int,
    integrator: AbstractIntegrator,
    referee: AbstractIntegrator,
) -> Check:
    """Check a claim by trials, or by those of its control; an exception leaves it INCONCLUSIVE, with its message."""
    trials: list[Trial] = []
    doubt = ""
    for index in range(count):
        key = random_key(seed, name, index)
        try:
            found = _attempt(trial, key, integrator)
            if found.contradicts:
                integrated = was_called()
                repeated = _attempt(trial, key, referee)
                if repeated.contradicts:
                    both = integrated and was_called()
                    return Check(claim, Verdict.REFUTED, (*trials, found), found, seed=seed, integrated=both)
                first, second = (type(one).__name__ for one in (integrator, referee))
                doubt = f"trial {index} contradicts the claim with {first} but not with {second}"
                found = Trial.unfinished(doubt)
        except Exception as error:  # noqa: BLE001  (an error in one claim must not lose the results of the others)
            sentence = (str(error).splitlines() or [""])[0]
            broken = f"trial {index}: {type(error).__name__}: {sentence}"
            no_trial = error.but if isinstance(error, NoTrialError) else ""
            return Check(claim, Verdict.INCONCLUSIVE, tuple(trials), seed=seed, broken=broken, no_trial=no_trial)
        trials.append(found)
    verdict = judge(trials, exact=claim.evidence == "certified")
    if verdict is Verdict.INCONCLUSIVE and not doubt:
        doubt = next((found.reason for found in trials if found.reason), "")
    return Check(claim, verdict, tuple(trials), seed=seed, doubt=doubt, integrated=was_called())


def _attempt(trial: TrialFn, key: Key, integrator: AbstractIntegrator) -> Trial:
    try:
        return trial(key, watched(integrator))
    except (IntegrationError, UnavailableError) as error:
        return Trial.unfinished(str(error))

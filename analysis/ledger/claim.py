"""Define claims: a statement of a paper, or a variant of one, with the experiment that tests it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from analysis.ledger.evidence import Trial
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import Source

TrialFn = Callable[[Key, AbstractIntegrator], Trial]
Evidence = Literal["sampled", "certified", "analytic instance"]
Variant = Literal["printed", "reading", "special case", "corrected"]


@dataclass(frozen=True)
class Claim:
    """Statement with a trial that tests it, and a control: a false variant whose verdict must be REFUTED.

    Attributes:
        id: "<key>/<statement>" or "<key>/<statement>/<word>".
        trial: takes its integrator as an argument, so that a contradiction can be repeated with another one.
        note: names the reading, mode or constant on which the verdict depends, or says why there is no control.
        assuming: hypotheses that cannot be measured.
        same_trial_as: id of a claim that measures the same trial; this claim is then no independent evidence.
        decided_by: command that decides a claim which remains undecided otherwise, such as an experiment of full size.
    """

    id: str
    source: Source
    statement: str
    trial: TrialFn | None = None
    control: TrialFn | None = None
    num_trials: int = 32
    evidence: Evidence = "sampled"
    note: str = ""
    variant: Variant = "printed"
    assuming: tuple[str, ...] = ()
    ruling: Verdict | None = None
    same_trial_as: str = ""
    decided_by: str = ""

    @property
    def key(self) -> str:
        """Key of the paper."""
        return self.id.split("/")[0]

    @property
    def statement_id(self) -> str:
        """Id of the statement to which this claim belongs: its own id up to the second `/`."""
        return "/".join(self.id.split("/")[:2])

    def with_control(self, control: TrialFn) -> "Claim":
        """Add a control to the claim: a trial that measures the same hypotheses for a false statement."""
        return replace(self, control=control)


def claim(
    id: str,
    source: Source,
    *,
    num_trials: int = 32,
    evidence: Evidence = "sampled",
    note: str = "",
    variant: Variant = "printed",
    assuming: tuple[str, ...] = (),
    same_trial_as: str = "",
    decided_by: str = "",
) -> Callable[[TrialFn], Claim]:
    """Make a decorator that turns a trial function into a claim; its docstring is the statement.

    Raises:
        ValueError: for an id that does not begin with the paper's key, or a trial without docstring.
    """
    _check_id(id, source)

    def decorate(trial: TrialFn) -> Claim:
        if not trial.__doc__:
            raise ValueError(f"Claim `{id}` must state its theorem in the docstring of its trial, but has none.")
        text = inspect.cleandoc(trial.__doc__)
        given = {"assuming": assuming, "same_trial_as": same_trial_as, "decided_by": decided_by}
        return Claim(id, source, text, trial, None, num_trials, evidence, note, variant, **given)

    return decorate


def rule(id: str, source: Source, verdict: Verdict, reason: str) -> Claim:
    """Make a claim that no experiment can decide, ruled ILL_POSED or OUT_OF_SCOPE for a reason.

    Raises:
        ValueError: for another verdict, or an id that does not begin with the paper's key.
    """
    _check_id(id, source)
    if verdict not in (Verdict.ILL_POSED, Verdict.OUT_OF_SCOPE):
        raise argument_error("verdict", "be ILL_POSED or OUT_OF_SCOPE", f"is {verdict.name}")
    return Claim(id, source, reason, note=reason, ruling=verdict, num_trials=0)


def _check_id(id: str, source: Source) -> None:
    parts = id.split("/")
    if len(parts) not in (2, 3) or not all(parts) or parts[0] != source.paper.key:
        must = f"be `{source.paper.key}/<statement>` or `{source.paper.key}/<statement>/<word>`"
        raise argument_error("id", must, f"is `{id}`")

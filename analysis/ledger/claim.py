"""A claim: one statement of a paper, or a repair of one, with the experiment that decides it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from analysis.ledger.evidence import Trial
from analysis.ledger.verdict import Verdict
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import Source

TrialFn = Callable[[Key, AbstractIntegrator], Trial]
Evidence = Literal["sampled", "certified", "analytic instance"]
Variant = Literal["printed", "reading", "special case", "corrected"]


@dataclass(frozen=True)
class Claim:
    """A statement with its trial, and a control that must come out REFUTED.

    `id` is "<key>/<statement>", or that, "/" and a word. The trial is handed its integrator, so that a second one can
    repeat a contradiction. `note` says on what reading, mode or constant the verdict hangs, or why there is no control.
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

    @property
    def key(self) -> str:
        """The key of the paper."""
        return self.id.split("/")[0]

    @property
    def statement_id(self) -> str:
        """The id of the statement that this claim helps to decide: its own, up to the second `/`."""
        return "/".join(self.id.split("/")[:2])

    def with_control(self, control: TrialFn) -> "Claim":
        """Return the claim with a control: the same hypotheses, the mathematics broken."""
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
) -> Callable[[TrialFn], Claim]:
    """Make a claim of a trial function, whose docstring is the statement with all its quantifiers."""
    _check_id(id, source)

    def decorate(trial: TrialFn) -> Claim:
        if not trial.__doc__:
            raise ValueError(f"Claim `{id}` must state its theorem in the docstring of its trial, but has none.")
        return Claim(
            id, source, inspect.cleandoc(trial.__doc__), trial, None, num_trials, evidence, note, variant, assuming
        )

    return decorate


def rule(id: str, source: Source, verdict: Verdict, reason: str) -> Claim:
    """Make a claim that no experiment can decide, ruled ILL_POSED or OUT_OF_SCOPE with a reason."""
    _check_id(id, source)
    if verdict not in (Verdict.ILL_POSED, Verdict.OUT_OF_SCOPE):
        raise ValueError(f"Argument `verdict` must be ILL_POSED or OUT_OF_SCOPE, but is {verdict.name}.")
    return Claim(id, source, reason, note=reason, ruling=verdict, num_trials=0)


def _check_id(id: str, source: Source) -> None:
    parts = id.split("/")
    if len(parts) not in (2, 3) or not all(parts) or parts[0] != source.paper.key:
        must = f"be `{source.paper.key}/<statement>` or that, `/` and a word"
        raise ValueError(f"Argument `id` must {must}, but is `{id}`.")

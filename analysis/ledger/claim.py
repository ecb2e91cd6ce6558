"""Define claims: a statement of a paper, or a variant of one, with the experiment that tests it."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, Unpack, overload

from analysis.ledger.evidence import Trial
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import Source

TrialFn = Callable[[Key, AbstractIntegrator], Trial]
AnyTrial = Callable[..., Trial]
"""A trial as it is written: of a key and an integrator, or of a key only if it integrates nothing."""

Evidence = Literal["sampled", "certified", "analytic instance"]
Variant = Literal["printed", "reading", "special case", "corrected"]


@dataclass(frozen=True)
class Claim:
    """Statement with a trial that tests it, and a control: a false variant whose verdict must be REFUTED.

    Attributes:
        id: "<key>/<statement>" or "<key>/<statement>/<word>".
        source: the place in the paper; None until the claim is collected, if it is that of the statement.
        trial: takes its integrator as an argument, so that a contradiction can be repeated with another one.
        note: names the reading, mode or constant on which the verdict depends, or says why there is no control.
        assuming: hypotheses that cannot be measured.
        same_trial_as: id of a claim that measures the same trial; this claim is then no independent evidence.
        decided_by: command that decides a claim which remains undecided otherwise, such as an experiment of full size.
        module: the module in which the claim was found; the verdict depends on its sources and on those of the trial.
    """

    id: str
    source: Source | None
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
    module: str = ""

    @property
    def key(self) -> str:
        """Key of the paper."""
        return self.id.split("/")[0]

    @property
    def statement_id(self) -> str:
        """Id of the statement to which this claim belongs: its own id up to the second `/`."""
        return "/".join(self.id.split("/")[:2])

    def with_control(self, control: AnyTrial) -> "Claim":
        """Add a control to the claim: a trial that measures the same hypotheses for a false statement."""
        return replace(self, control=_of_key_and_integrator(control))


class Options(TypedDict, total=False):
    """Optional fields of a claim besides statement, source, trial and control; see `Claim`."""

    num_trials: int
    evidence: Evidence
    note: str
    variant: Variant
    assuming: tuple[str, ...]
    same_trial_as: str
    decided_by: str


@overload
def claim(
    id: str, source: Source | None = None, *, control: AnyTrial | None = None, **options: Unpack[Options]
) -> Callable[[AnyTrial], Claim]: ...


@overload
def claim(
    id: str,
    source: Source | None = None,
    *,
    statement: str,
    trial: AnyTrial,
    control: AnyTrial | None = None,
    **options: Unpack[Options],
) -> Claim: ...


def claim(
    id: str,
    source: Source | None = None,
    *,
    statement: str = "",
    trial: AnyTrial | None = None,
    control: AnyTrial | None = None,
    **options: Unpack[Options],
) -> Claim | Callable[[AnyTrial], Claim]:
    """Make a claim from a trial, as a decorator of a function whose docstring is the statement, or from `trial`.

    The second form is for claims that share a function and differ in an instance: `statement` is their text, `trial`
    and `control` are partials or lambdas. A trial takes a key and an integrator, or a key only. The variant is
    "corrected" for an id that ends in `/corrected`, unless it is given.

    Args:
        id: the key of the paper and the statement, `key/statement` or `key/statement/word`.
        source: the place in the paper; by default that of the statement in the paper's list.
        statement: the text of the statement, with `trial`.
        trial: a function of a key, or of a key and an integrator, that returns a `Trial`; without it a decorator is
            returned.
        control: trial of a false variant of the statement, which must be refuted.
        options: further fields of `Claim`, such as `num_trials`, `note` and `evidence`.

    Raises:
        ValueError: for an id that does not begin with the paper's key, a trial without statement, or a trial that takes
            other arguments.

    Example:
        >>> import dynsim as ds
        >>> from analysis.ledger import Trial, claim, holds
        >>> source = ds.Paper("mine", "On sums", "A. Author").at("Lemma 1")
        >>> trial = lambda key: Trial((), (holds("1 + 1 = 2", 1 + 1 == 2),))
        >>> claim("mine/lem-1/corrected", source, statement="1 + 1 is 2.", trial=trial).variant
        'corrected'
    """
    _check_id(instance("id", id, str, "a word"), source and instance("source", source, Source, "a place in a paper"))
    if id.endswith("/corrected"):
        options.setdefault("variant", "corrected")
    against = None if control is None else _of_key_and_integrator(control)

    def made(trial: AnyTrial, text: str) -> Claim:
        if not text:
            must = "state its theorem in its docstring, or be given as `statement`"
            raise ArgumentError("trial", must, f"that of `{id}` has none")
        return Claim(id, source, inspect.cleandoc(text), _of_key_and_integrator(trial), against, **options)

    return (lambda trial: made(trial, trial.__doc__ or "")) if trial is None else made(trial, statement)


certified = functools.partial(claim, evidence="certified")
"""Make a claim as `claim` does, of a trial in exact arithmetic or with proven error bounds."""


def rule(id: str, verdict: Verdict, reason: str) -> Claim:
    """Make a claim that no experiment can decide, ruled ILL_POSED or OUT_OF_SCOPE for a reason.

    Raises:
        ValueError: for another verdict, or an id of another form.
    """
    _check_id(id, None)
    if verdict not in (Verdict.ILL_POSED, Verdict.OUT_OF_SCOPE):
        raise ArgumentError("verdict", "be ILL_POSED or OUT_OF_SCOPE", f"is {verdict.name}")
    return Claim(id, None, reason, note=reason, ruling=verdict, num_trials=0)


def _of_key_and_integrator(given: AnyTrial) -> TrialFn:
    """A trial as a function of a key and an integrator, which knows the module and the line of the given one."""
    both = _takes_integrator(given)
    if both and inspect.isfunction(given):
        return given
    inner = given.func if isinstance(given, functools.partial) else given

    @functools.wraps(inner)
    def trial(key: Key, integrator: AbstractIntegrator) -> Trial:
        return given(key, integrator) if both else given(key)

    vars(trial)["__signature__"] = inspect.signature(trial, follow_wrapped=False)  # not that of the function inside
    return trial


def _takes_integrator(trial: AnyTrial) -> bool:
    """Whether a trial takes a key and an integrator, by position, and not a key only."""
    signature = inspect.signature(trial)
    parameters = signature.parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    both = len(needed) == 2 or any_number or "integrator" in signature.parameters
    try:
        signature.bind(*(None, None)[: 1 + both])
    except TypeError:
        raise ArgumentError("trial", "take a key, or a key and an integrator", f"takes {signature}") from None
    return both


def _check_id(id: str, source: Source | None) -> None:
    parts, key = id.split("/"), "<key>" if source is None else source.paper.key
    if len(parts) not in (2, 3) or not all(parts) or parts[0] != (parts[0] if source is None else key):
        must = f"be `{key}/<statement>` or `{key}/<statement>/<word>`"
        raise ArgumentError("id", must, f"is `{id}`")

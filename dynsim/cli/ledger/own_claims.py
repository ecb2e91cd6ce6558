"""Collect the claims of users' papers and of the library for `dynsim check` and `dynsim report`."""

import ast
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.claims import claims, collect, stated_by, statements
from analysis.ledger.check import Check, NoTrialError
from analysis.ledger.claim import Claim, TrialFn
from analysis.ledger.evidence import Measurement, Trial
from analysis.ledger.statement import Statement
from dynsim._core.user_code import quoted
from dynsim.cli.building.own_code import definition, own_code
from dynsim.cli.ledger.own_papers import OwnPaper, is_file, left_out, own_papers
from dynsim.errors import ArgumentError, IntegrationError, UnavailableError, nearest

A_TRIAL = "return a `Trial` with measurements, at least one of them a conclusion"


@dataclass(frozen=True)
class Library:
    """Statements and claims of papers, with an error message for each registered package that cannot be used."""

    statements: tuple[Statement, ...]
    claims: tuple[Claim, ...]
    problems: tuple[str, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Keys of the papers."""
        return list(dict.fromkeys(s.source.paper.key for s in self.statements))

    def of(self, keys: Sequence[str]) -> "Library":
        """Select the papers with these keys, or all papers if no keys are given.

        Raises:
            ValueError: for a key that no paper has.
        """
        for key in keys:
            if key not in self.keys:
                must = f"name Python files or the keys of papers ({', '.join(self.keys)})"
                raise ArgumentError("papers", must, f"`{key}` is neither{nearest(key, self.keys)}")
        if not keys:
            return self
        own = tuple(statement for statement in self.statements if statement.source.paper.key in keys)
        return replace(self, statements=own, claims=tuple(claim for claim in self.claims if claim.key in keys))


def library(words: Iterable[str]) -> Library:
    """Collect the claims of the files among the words, or without a file those of dynsim and registered packages.

    Raises:
        ValueError: for a file that cannot be used or has no claims. A package that cannot be used is in `problems`.
    """
    words = tuple(words)
    alone = any(is_file(word) for word in words)
    known, found = ([], []) if alone else ([*statements()], [*claims()])
    papers, problems = own_papers(words)
    for own in papers:
        try:
            stated, decided = _contents(own)
        except ArgumentError as error:
            if alone:
                raise
            problems.append(left_out(own.where, error))
        else:
            known += stated
            found += decided
    return Library(tuple(known), tuple(found), tuple(problems))


def source(words: Iterable[str]) -> Callable[[], tuple[Claim, ...]]:
    """Build a picklable function that returns the claims of `library(words)` in any working folder.

    Call it before the files are executed, since their code could change the working folder.
    """
    absolute = tuple(str(Path(word).absolute()) if is_file(word) else word for word in words)
    return functools.partial(_claims_in, absolute)


@functools.cache
def _claims_in(words: tuple[str, ...]) -> tuple[Claim, ...]:
    """Collect the claims of `library(words)` once per worker process."""
    return library(words).claims


def _contents(own: OwnPaper) -> tuple[tuple[Statement, ...], tuple[Claim, ...]]:
    """Collect the statements and claims of a module, with trials whose errors quote the user's line."""
    found: dict[str, Claim] = {}
    for claim in own.unique(Claim):
        if claim.id in found and found[claim.id].trial is claim.trial:
            must = f"give `{claim.id}` and its control one name, as `@NAME.with_control` over `def NAME` does"
            raise ArgumentError("file", must, f"{_place(claim)}has two names")
        if claim.id in found:
            first, second = (_place(c).rstrip(", ") for c in (found[claim.id], claim))
            raise ArgumentError("file", f"define `{claim.id}` once", f"{first} and {second} define it")
        found[claim.id] = claim
    _check_names(own)
    if not found:
        raise ArgumentError("file", "hold claims made by `@claim`", f"`{own.where}` has none")
    stated = _statements(own, list(found.values()))
    ids = {statement.full_id for statement in stated}
    for claim in found.values():
        if claim.statement_id not in ids:
            must = "hold claims of the statements in `STATEMENTS` only"
            raise ArgumentError("file", must, f"{_place(claim)}has `{claim.id}`")
    guard = lambda c: replace(c, trial=_guarded(c.trial), control=_guarded(c.control), module=own.module.__name__)
    guarded = [guard(c) for c in found.values()]
    return stated, collect(guarded, stated)


def _check_names(own: OwnPaper) -> None:
    """Raise `ValueError` for two claims of a file with the same variable name, since the first would be lost."""
    file = str(own.module.__file__)
    text = (
        Path(file).read_bytes() if file.endswith(".py") and Path(file).is_file() else b""
    )  # of a package in an archive
    lines: dict[str, int] = {}
    for node in ast.parse(text).body:
        for name in _claims_named(node):
            if name in lines:
                but = f"{quoted(file, node.lineno)}repeats the name of line {lines[name]}"
                raise ArgumentError("file", "name each claim differently", but)
            lines[name] = node.lineno


def _claims_named(node: ast.stmt) -> list[str]:
    """List the names of claims that a Python statement defines: a decorated function, or `name = claim(...)`."""
    if isinstance(node, ast.FunctionDef):
        return [node.name] if any(_is_claim(decorator) for decorator in node.decorator_list) else []
    if isinstance(node, ast.Assign) and _is_claim(node.value):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _is_claim(made: ast.expr) -> bool:
    called = made.func if isinstance(made, ast.Call) else None
    return "claim" in (getattr(called, "id", ""), getattr(called, "attr", ""))


def _place(claim: Claim) -> str:
    return definition(claim.trial) if claim.trial is not None else f"the ruling on `{claim.id}`, "


def _statements(own: OwnPaper, found: Sequence[Claim]) -> tuple[Statement, ...]:
    """Get the `STATEMENTS` of a module, or the statements in its claims."""
    known = getattr(own.module, "STATEMENTS", None)
    if known is None:
        return stated_by(found)
    if not isinstance(known, tuple | list) or not all(isinstance(s, Statement) for s in known):
        raise ArgumentError("file", "give `STATEMENTS` as a tuple of `Statement`", f"`{own.where}` does not")
    ids = [statement.full_id for statement in known]
    for statement in known:
        if statement.source.paper.key != own.paper.key or ids.count(statement.full_id) > 1:
            must = f"give each statement in `STATEMENTS` once, with a source in its own paper, `{own.paper.key}`"
            raise ArgumentError("file", must, f"`{own.where}` has `{statement.full_id}`")
    return tuple(known)


def _guarded(trial: TrialFn | None) -> TrialFn | None:
    """Wrap a trial function so that an exception or a wrong result becomes one error that quotes the user's line."""
    if trial is None:
        return None

    @functools.wraps(trial)
    def guarded(key: Any, integrator: Any) -> Trial:
        stopped, found = None, None
        with own_code("trial", "run without an exception"):
            try:
                found = trial(key, integrator)
            except (IntegrationError, UnavailableError) as error:  # these leave the trial undecided
                stopped = error
        if stopped is not None:
            raise stopped
        fault = _fault(found)
        if fault or not isinstance(found, Trial):
            raise NoTrialError("trial", A_TRIAL, f"{definition(trial)}{fault}")
        return found

    return guarded


def _fault(found: Any) -> str:
    """Explain why a value is not a valid trial; "" if it is one."""
    if not isinstance(found, Trial):
        return f"returns {type(found).__name__}"
    for name in ("hypotheses", "conclusions"):
        measured = getattr(found, name)
        if not isinstance(measured, tuple | list) or not all(isinstance(m, Measurement) for m in measured):
            return f"gives `{name}` as {type(measured).__name__}, not as a tuple of measurements"
    if not found.conclusions:
        return "gives no conclusion"
    if not isinstance(found.witness, Mapping) or not isinstance(found.parameters, Mapping):
        return "gives a witness or parameters that are not a dictionary"
    words = (float, int, str, np.generic)
    other = [value for value in found.parameters.values() if not isinstance(value, words)]
    return f"gives a parameter as {type(other[0]).__name__}, not as a number or a word" if other else ""


def refuse_what_is_no_trial(checks: Iterable[Check]) -> None:
    """Raise `ValueError` for the first claim whose trial function did not return a trial."""
    for c in checks:
        if c.no_trial:
            raise NoTrialError("trial", A_TRIAL, f"the trial of `{c.claim.id}`, {c.no_trial}")

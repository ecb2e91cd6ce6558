"""Draw errors at random in all functions of a package, and estimate the share of them that claims or tests notice.

Usage: `python -m tests.quality.random_mutants [MODULE ...] [--count 50] [--seed 0] [--jobs 2] [--share 0.9]`. Names
of packages or modules, or shell patterns; all by default. An error (see `small_errors`) is tried against the claims
that the tables name for its function, if there are some, and if these do not notice it, against files of quick tests
that enter its function (see `tests_of_functions`, which must have been run). Each error that nothing notices is a
line: it asks for a test, or changes nothing that can be seen. The result is 1 if the share that was noticed lies below
`--share`.
"""

import argparse
import ast
import collections
import fnmatch
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from tests.quality.attempts import ENDED, TIMED_OUT, Attempt, Changed, Result, prepare, run
from tests.quality.mutants import Mutant, mutants
from tests.quality.small_errors import SmallError, errors_of
from tests.quality.source_index import ROOT, Index, project
from tests.quality.tests_of_functions import RECORD, Entered, files_for, known

SHARE = 0.9
"""Share of errors that must be noticed."""
CLAIMS = 3
"""Largest number of claims that an error is tried against."""
PER_FUNCTION = 2
"""Largest number of errors drawn in one function."""
EVIDENCE = "analysis.claims"
"""Statements of papers: they notice errors, and no tests are written for them; errors in them are drawn if asked."""


@dataclass(frozen=True)
class Drawn:
    """An error with its file, line, function and change in words, and the claims and files of tests to try."""

    name: str
    changed: Changed
    claims: tuple[str, ...]
    tests: tuple[str, ...]


def draw(
    count: int,
    *,
    seed: int = 0,
    patterns: Sequence[str] = (),
    index: Index | None = None,
    rows: Sequence[Mutant] | None = None,
    entered: Mapping[str, Entered] | None = None,
) -> list[Drawn]:
    """Draw errors at random, at most `PER_FUNCTION` in a function, in the modules that match one of the patterns.

    Errors that the tables call equivalent are left out. `entered` has the functions that each file of tests enters,
    those on record by default.
    """
    index, rows = index or project(), mutants() if rows is None else rows
    entered = known() if entered is None else entered
    sources = [source for source in index.sources if _matches(source.module, patterns)]
    pool = [error for source in sources for error in errors_of(source)]
    random.Random(seed).shuffle(pool)
    harmless = _equivalent(rows, index)
    drawn: collections.Counter[tuple[str, str]] = collections.Counter()
    chosen: list[SmallError] = []
    for error in pool:
        if len(chosen) == count:
            break
        module = error.place.source.module
        if drawn[module, error.function] == PER_FUNCTION:
            continue
        if module not in harmless or ast.dump(error.tree) not in harmless[module]:
            drawn[module, error.function] += 1
            chosen.append(error)
    return [_drawn(error, index, rows, entered) for error in chosen]


def _matches(module: str, patterns: Sequence[str]) -> bool:
    if not patterns:
        return not module.startswith(EVIDENCE)
    return any(fnmatch.fnmatchcase(module, p) or module.startswith(f"{p}.") for p in patterns)


def _equivalent(rows: Sequence[Mutant], index: Index) -> dict[str, set[str]]:
    """Give the syntax trees that the tables call equivalent, by module."""
    found: dict[str, set[str]] = {}
    for changed in (row.changed(index) for row in rows if row.equivalent):
        found.setdefault(changed.module, set()).add(ast.dump(changed.tree))
    return found


def _drawn(error: SmallError, index: Index, rows: Sequence[Mutant], entered: Mapping[str, Entered]) -> Drawn:
    source = error.place.source
    path = source.path.relative_to(ROOT) if source.path.is_relative_to(ROOT) else source.path
    changed = Changed(source.module, str(source.path), error.tree)
    claims = claims_of(source.module, error.function, rows, index)
    return Drawn(f"{path}:{error.place.line} {error}", changed, claims, files_for(error.function, source, entered))


def claims_of(module: str, function: str, rows: Sequence[Mutant], index: Index) -> tuple[str, ...]:
    """List up to `CLAIMS` claims that the tables name most often for a function of a module."""
    named: collections.Counter[str] = collections.Counter()
    for row in rows:
        if row.where == function or row.where.startswith(f"{function}."):
            places = index.find(row.where, row.old, row.new, row.beside)
            if any(place.source.module == module for place, _ in places):
                named.update(row.claims)
    return tuple(id for id, _ in named.most_common(CLAIMS))


def tried(errors: Sequence[Drawn], *, jobs: int = 1) -> Iterator[tuple[Drawn, str]]:
    """Try errors against claims, then those that are left against tests; yield each with what noticed it, or ''."""
    by_name = {error.name: error for error in errors}
    left = [error for error in errors if not error.claims]
    for result in run([Attempt(e.name, e.changed, claims=e.claims) for e in errors if e.claims], jobs=jobs):
        error = by_name[result.attempt.name]
        if by := _noticed(result, "claims"):
            yield error, by
        else:
            left.append(error)
    yield from ((error, "") for error in left if not error.tests)
    for result in run([Attempt(e.name, e.changed, tests=e.tests) for e in left if e.tests], jobs=jobs):
        yield by_name[result.attempt.name], _noticed(result, "tests")


def _noticed(result: Result, by: str) -> str:
    """Say what noticed an error: an exception in a claim, a run without an end, or a crash are seen as well."""
    if result.noticed:
        return by
    for end, word in ((TIMED_OUT, "time"), (ENDED, "crash")):
        if any(words.endswith(end) for words in result.survived):
            return word
    return "exception" if any("Error" in words for words in result.survived) else ""


def main(words: Sequence[str]) -> int:
    """Draw errors, print those that nothing noticed, and the share that was noticed with its confidence interval."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.random_mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="names of packages or modules, or shell patterns; all by default")
    parser.add_argument("--count", type=int, default=50, help="number of errors")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    parser.add_argument("--share", type=float, default=SHARE, help="share of errors that must be noticed")
    options = parser.parse_args(words)
    errors = draw(options.count, seed=options.seed, patterns=options.modules)
    if not errors:
        print(f"no function to draw from in {' or '.join(options.modules)}", file=sys.stderr)
        return 2
    if not RECORD.exists():
        print(
            "which tests enter a function is not known: run python -m tests.quality.tests_of_functions", file=sys.stderr
        )
        return 2
    found: collections.Counter[str] = collections.Counter()
    with prepare():
        for error, by in tried(errors, jobs=options.jobs):
            found[by] += 1
            print(f"{by or 'SURVIVED':9}  {error.name}" + ("" if error.tests else " (no test enters it)"), flush=True)
    seen = found.total() - found[""]
    low, high = binomtest(seen, found.total()).proportion_ci(method="wilson")
    ways = ", ".join(f"{count} by {by}" for by, count in sorted(found.items()) if by)
    share = seen / found.total()
    print(f"{seen} of {found.total()} noticed ({ways or 'none'}): {share:.0%}, 95% interval {low:.0%} to {high:.0%}")
    return int(share < options.share)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

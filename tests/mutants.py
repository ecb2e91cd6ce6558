"""Small errors made on purpose in the code that ships, each with the claims or the tests that must notice it.

`python -m tests.mutants [PATTERN ...]` tries those whose names match, or all; `--jobs 2` at a time. A mutant replaces
one expression of a module while that is imported, in a process of its own; no file is changed. Claims notice it if they
come out REFUTED, or INCONCLUSIVE for a stated reason; an exception is no verdict. A file of tests notices it if one of
its tests fails. The tables are in `tests/mutations/`.
"""

import argparse
import contextlib
import dataclasses
import fnmatch
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAVY = ("jax", "diffrax", "equinox", "optimistix", "scipy.optimize", "scipy.integrate", "scipy.linalg", "pytest")
"""What a process imports once for all mutants; none of it is mutated."""
QUIETLY = (
    "-xq",
    "-m",
    "not gpu",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore:Module already imported so cannot be rewritten",
)
"""Options of pytest for the tests of a mutant."""


def file_of(module: str) -> Path:
    """Return the file of a module of this project."""
    base = ROOT / module.replace(".", "/")
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@dataclass(frozen=True)
class Mutant:
    """An error: in `module`, `old`, which occurs once, becomes `new`; each of `claims`, or one of `tests`, must notice.

    A mutant has either. `tests` are files of tests, or single ones, as pytest names them; slow ones are run, too.
    `equivalent` says why nothing can notice it, where nothing can. `quick` mutants are tried by `make test`.
    """

    name: str
    module: str
    old: str
    new: str
    claims: tuple[str, ...] = ()
    equivalent: str = ""
    quick: bool = False
    tests: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file of the module."""
        return file_of(self.module)

    def mutated(self) -> str:
        """Return the source of the module with the error; raise `ValueError` unless `old` occurs exactly once."""
        source = self.path.read_text(encoding="utf-8")
        count = source.count(self.old)
        if count != 1 or self.old == self.new:
            raise ValueError(
                f"mutant `{self.name}`: `{self.old}` must occur once in {self.module}, but does {count} times"
            )
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Result:
    """What noticed a mutant of its claims and tests, and what did not, with the verdicts."""

    mutant: Mutant
    noticed: tuple[str, ...]
    survived: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """Whether every claim and file of tests of the mutant noticed it, and there is one."""
        return bool(self.noticed) and not self.survived


class _Loader(importlib.machinery.SourceFileLoader):
    """Load one module from changed source, without its compiled copy."""

    source: str

    def get_code(self, fullname: str):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant):
        self.module, self.path, self.source = mutant.module, str(mutant.path), mutant.mutated()

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.module:
            return None
        loader = _Loader(fullname, self.path)
        loader.source = self.source
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


def mutants() -> tuple[Mutant, ...]:
    """Return all mutants, table by table; raise `ValueError` for a name that occurs twice."""
    import tests.mutations as tables

    found: list[Mutant] = []
    for module in pkgutil.iter_modules(tables.__path__):
        found.extend(importlib.import_module(f"{tables.__name__}.{module.name}").MUTANTS)
    names = [mutant.name for mutant in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"names of mutants must differ, but these occur twice: {', '.join(twice)}")
    return tuple(found)


def try_mutant(mutant: Mutant | None, ids: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """In a fresh process: check claims with the mutant in place, or with none; return for each whether it noticed."""
    loaded = [name for name in sys.modules if name.split(".")[0] in ("dynsim", "analysis", "figures")]
    if loaded:
        raise RuntimeError(f"a process for mutants must not have imported {loaded[0]}")
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    from analysis.claims import claims
    from analysis.ledger.check import check
    from analysis.ledger.verdict import Verdict

    known = {claim.id: claim for claim in claims()}
    if mutant is not None and mutant.module not in sys.modules:
        importlib.import_module(mutant.module)
    found: dict[str, tuple[bool, str]] = {}
    for id in ids:
        with contextlib.redirect_stderr(io.StringIO()):
            c = check(dataclasses.replace(known[id], control=None))  # the trials have to notice it
        why = c.broken or c.doubt
        noticed = not c.broken and (c.verdict is Verdict.REFUTED or (c.verdict is Verdict.INCONCLUSIVE and bool(why)))
        found[id] = (noticed, f"{c.verdict.name} ({why})" if why else c.verdict.name)
    return found


class _Tried:
    """A plugin of pytest that keeps a mutant in place, and the first test that failed."""

    def __init__(self, finder: _Finder):
        self.finder, self.failed = finder, ""

    def pytest_collection(self) -> None:
        """Put the mutant before the finders that other plugins have added since."""
        sys.meta_path.remove(self.finder)
        sys.meta_path.insert(0, self.finder)

    def pytest_runtest_logreport(self, report) -> None:
        """Keep the name of a test that fails."""
        if report.failed:
            self.failed = report.nodeid


def try_tests(mutant: Mutant) -> dict[str, tuple[bool, str]]:
    """In a fresh process: run the tests of a mutant with it in place; return whether one failed, and which."""
    import pytest

    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    tried = _Tried(finder)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main([*QUIETLY, *mutant.tests], plugins=[tried])
    words = f"{tried.failed or 'no test'} failed ({pytest.ExitCode(code).name})"
    return {" ".join(mutant.tests): (code == pytest.ExitCode.TESTS_FAILED and bool(tried.failed), words)}


def run(chosen: Sequence[Mutant], *, jobs: int = 1) -> Iterator[Result]:
    """Try mutants, each in a process of its own that starts with the heavy libraries imported."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*HEAVY])
    with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
        pending = {
            pool.submit(try_tests, m) if m.tests else pool.submit(try_mutant, m, m.claims): m
            for m in chosen if not m.equivalent
        }  # fmt: skip
        for future in as_completed(pending):
            said, mutant = future.result(), pending[future]
            noticed = tuple(id for id, (saw, _) in said.items() if saw)
            survived = tuple(f"{id}: {words}" for id, (saw, words) in said.items() if not saw)
            yield Result(mutant, noticed, survived)


@contextlib.contextmanager
def prepare() -> Iterator[None]:
    """Set one thread for each process, and a folder for programs that a mutant leaves as they are, compiled once."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    with tempfile.TemporaryDirectory() as compiled:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = compiled
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        yield


def main(words: Sequence[str]) -> int:
    """Try the chosen mutants, print what each claim said, and return 1 if one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="names of mutants, or shell patterns; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    options = parser.parse_args(words)
    patterns = options.patterns or ["*"]
    chosen = [m for m in mutants() if any(fnmatch.fnmatchcase(m.name, p) for p in patterns)]
    if not chosen:
        print(f"no mutant is called {' or '.join(patterns)}", file=sys.stderr)
        return 2
    for mutant in chosen:
        mutant.mutated()
    survivors = 0
    with prepare():
        for result in run(chosen, jobs=options.jobs):
            survivors += not result.killed
            print(f"{'killed  ' if result.killed else 'SURVIVED'}  {result.mutant.name}", flush=True)
            for line in result.survived:
                print(f"            {line}", flush=True)
    same = sum(bool(m.equivalent) for m in chosen)
    print(f"{len(chosen) - same - survivors} killed, {survivors} survived, {same} equivalent")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

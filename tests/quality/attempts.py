"""Import a module with an error in it, in a process of its own, and see whether claims or tests notice the error.

No file is changed: the loader compiles another syntax tree. Claims notice an error if they come out REFUTED, or
INCONCLUSIVE for a stated reason; an exception is no verdict. Tests notice it if one of them fails.
"""

import ast
import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess

from tests.quality.source_index import PACKAGES

HEAVY = ("jax", "diffrax", "equinox", "optimistix", "scipy.optimize", "scipy.integrate", "scipy.linalg", "pytest")
"""What a process imports once for all errors; none of it is changed."""
QUIETLY = ("-xq", "-p", "no:cacheprovider", "-W", "ignore:Module already imported so cannot be rewritten")
"""Options of pytest for the tests of an error."""
TIME_LIMIT = 1800.0
"""Seconds for one attempt: an error in the condition of a loop may keep it from ending."""
TIME_TO_EXIT = 30.0
"""Seconds that a process gets to end by itself after its answer."""
TIMED_OUT = "no result in time"
ENDED = "the process ended without an answer"
Seen = dict[str, tuple[bool, str]]
"""For each claim or list of tests whether it noticed the error, and what it said."""


@dataclass(frozen=True)
class Changed:
    """A module with an error: its name, its file and the syntax tree that is imported instead."""

    module: str
    path: str
    tree: ast.Module


@dataclass(frozen=True)
class Attempt:
    """An error with the claims, or the files of tests, that are to notice it."""

    name: str
    changed: Changed
    claims: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What noticed an error of its claims and tests, and what did not, with the verdicts."""

    attempt: Attempt
    noticed: tuple[str, ...]
    survived: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """Whether every claim, or the tests, noticed the error, and there is one."""
        return bool(self.noticed) and not self.survived


class _Loader(importlib.machinery.SourceFileLoader):
    """Load one module from another syntax tree, without its compiled copy."""

    tree: ast.Module

    def get_code(self, fullname: str):
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, changed: Changed):
        self.changed = changed

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.changed.module:
            return None
        loader = _Loader(fullname, self.changed.path)
        loader.tree = self.changed.tree
        return importlib.util.spec_from_file_location(fullname, self.changed.path, loader=loader)


def try_claims(changed: Changed, ids: Sequence[str]) -> Seen:
    """Check claims with an error in place; their controls are left out, as the trials have to notice it."""
    loaded = [name for name in sys.modules if name.split(".")[0] in PACKAGES]
    if loaded:
        raise RuntimeError(f"a process for mutants must not have imported {loaded[0]}")
    sys.meta_path.insert(0, _Finder(changed))
    from analysis.claims import claims
    from analysis.ledger.check import check
    from analysis.ledger.verdict import Verdict

    known = {claim.id: claim for claim in claims()}
    if changed.module not in sys.modules:
        importlib.import_module(changed.module)
    found: Seen = {}
    for id in ids:
        with contextlib.redirect_stderr(io.StringIO()):
            c = check(dataclasses.replace(known[id], control=None))
        why = c.broken or c.doubt
        noticed = not c.broken and (c.verdict is Verdict.REFUTED or (c.verdict is Verdict.INCONCLUSIVE and bool(why)))
        found[id] = (noticed, f"{c.verdict.name} ({why})" if why else c.verdict.name)
    return found


class _Tried:
    """A plugin of pytest that keeps an error in place, and the first test that failed."""

    def __init__(self, finder: _Finder):
        self.finder, self.failed = finder, ""

    def pytest_load_initial_conftests(self) -> None:
        """Put the error before the finders that other plugins have added since, for what a `conftest.py` imports."""
        sys.meta_path.remove(self.finder)
        sys.meta_path.insert(0, self.finder)

    def pytest_collection(self) -> None:
        """Do the same for what files of tests import."""
        self.pytest_load_initial_conftests()

    def pytest_runtest_logreport(self, report) -> None:
        """Keep the name of a test that fails."""
        if report.failed:
            self.failed = report.nodeid

    pytest_collectreport = pytest_runtest_logreport


def try_tests(changed: Changed, tests: Sequence[str]) -> Seen:
    """Run tests with an error in place, up to the first that fails; a file that cannot be imported fails, too."""
    import pytest

    finder = _Finder(changed)
    sys.meta_path.insert(0, finder)
    tried = _Tried(finder)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.ExitCode(pytest.main([*QUIETLY, *tests], plugins=[tried]))
    ends = pytest.ExitCode
    noticed = code in (ends.TESTS_FAILED, ends.INTERRUPTED, ends.INTERNAL_ERROR)  # a deep recursion may end pytest
    return {" ".join(tests): (noticed, f"{tried.failed or 'no test'} failed ({code.name})")}


def _child(attempt: Attempt, answer: Connection) -> None:
    os.setsid()  # so that the processes that tests start end with this one
    try:
        if attempt.tests:
            answer.send(try_tests(attempt.changed, attempt.tests))
        else:
            answer.send(try_claims(attempt.changed, attempt.claims))
    except BaseException as error:  # noqa: BLE001 - whatever an error leads to is reported, not raised
        answer.send({", ".join(attempt.claims or attempt.tests): (False, f"{type(error).__name__}: {error}")})


def _end(process: ForkServerProcess) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(process.pid or 0), signal.SIGKILL)


class _Processes:
    """Processes that run, each for one attempt, so that all can be ended."""

    def __init__(self):
        self.context, self.running, self.lock = get_context("forkserver"), set[ForkServerProcess](), threading.Lock()
        self.context.set_forkserver_preload([*HEAVY])

    def result(self, attempt: Attempt, limit: float) -> Result:
        """Try an error in a process of its own; one that does not answer in time is ended."""
        receiver, sender = self.context.Pipe(duplex=False)
        process = self.context.Process(target=_child, args=(attempt, sender))
        with self.lock:
            process.start()
            self.running.add(process)
        sender.close()
        what = ", ".join(attempt.claims or attempt.tests)
        said: Seen = {what: (False, TIMED_OUT)}
        if receiver.poll(limit):
            try:
                said = receiver.recv()
            except EOFError:
                said = {what: (False, ENDED)}
            process.join(TIME_TO_EXIT)
        with self.lock:
            _end(process)
            self.running.discard(process)
        process.join()
        noticed = tuple(name for name, (saw, _) in said.items() if saw)
        survived = tuple(f"{name}: {words}" for name, (saw, words) in said.items() if not saw)
        return Result(attempt, noticed, survived)

    def end(self) -> None:
        """End all processes."""
        with self.lock:
            for process in self.running:
                _end(process)


def run(attempts: Sequence[Attempt], *, jobs: int = 1, limit: float = TIME_LIMIT) -> Iterator[Result]:
    """Try errors, each in a process of its own that starts with the heavy libraries imported."""
    processes = _Processes()
    pool = ThreadPoolExecutor(jobs)
    try:
        pending = [pool.submit(processes.result, attempt, limit) for attempt in attempts]
        for future in as_completed(pending):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.end()


@contextlib.contextmanager
def prepare() -> Iterator[None]:
    """Set one thread for each process, and a folder for programs that an error leaves as they are, compiled once."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    with tempfile.TemporaryDirectory() as compiled:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = compiled
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        yield

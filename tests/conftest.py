"""Strictness: no silent broadcasting or promotion, and a warning is an error (pyproject.toml).

Programs are compiled as users compile them, by one thread, unless `XLA_FLAGS` says otherwise. `make test` sets it for
all files but those that the Makefile lists as `OPTIMISED`: a file each of simulations and a symplectic
integrator. The others compile without optimisation, in half of the time, to slower code, and `make test-all` runs them
optimised. Programs of tests run for milliseconds, so compiling them takes most of the time: in CPU seconds, 10.3 with
optimisation and 5.7 without for Lyapunov exponents, 9.1 and 4.2 for spaces. All files would take longer than the 900
CPU seconds that `make test` may.

Random numbers are JAX's own; files that check many claims ask for `short_draws`.
"""

import contextlib
import gc
import importlib
import os
import re
from pathlib import Path

# XLA reads the flags once in each process, and no flag after a word.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # two test processes on two cores

import jax  # noqa: E402
import pytest  # noqa: E402

from dynsim._core import settings as _settings  # noqa: E402, F401
from tests.support.annotations import check_anew  # noqa: E402
from tests.support.draws import first_of_one_draw  # noqa: E402

gc.disable()  # while modules are imported, whose objects stay; they are never looked at
gc.set_threshold(50_000)  # tracing makes many small objects, and the default looks at them too often

SHARING = 64  # files of tests that share programs; with the programs of all files a process would hold 6 GB
RETRACED = re.compile(r"pytest\.mark\.retraced|^pytestmark.*short_draws|as_if_kernels", re.MULTILINE)
_files = [0]


@pytest.fixture
def short_draws(monkeypatch):
    """Draw random numbers of all small shapes by one program, for files that check many claims.

    Each claim has shapes of its own, and a program for each would cost more than the claim.
    """
    for name in ("normal", "uniform"):
        monkeypatch.setattr(jax.random, name, first_of_one_draw(getattr(jax.random, name)))


@pytest.fixture(autouse=True, scope="session")
def _shared_files(tmp_path_factory):
    """Keep records of experiments and compiled programs among the tests' own files, for all processes of a run.

    Programs are kept where `JAX_COMPILATION_CACHE_DIR` says, if it says.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["DYNSIM_RESULTS"] = str(shared / "results")
    compiled = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(shared / "compiled"))
    kept = {"dir": compiled, "min_compile_time_secs": 0, "min_entry_size_bytes": -1}
    for name, value in kept.items():
        option = f"jax_compilation_cache_{name}" if name == "dir" else f"jax_persistent_cache_{name}"
        jax.config.update(option, value)
        os.environ[option.upper()] = str(value)  # of commands that tests start


@pytest.fixture(autouse=True, scope="session")
def _strict():
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")


def _replaces_code(path: Path) -> bool:
    """Whether tests of a file replace functions or constants that compiled programs have in them."""
    return bool(RETRACED.search(path.read_text(encoding="utf-8")))


def _folders_files(config) -> list[Path]:
    """List the files of tests in the folders that a run is for."""
    left_out = [Path(one).resolve() for one in config.getoption("ignore") or ()]
    found = sorted(path.resolve() for name in config.args for path in Path(name).rglob("test_*.py"))
    return [path for path in found if not any(path.is_relative_to(one) for one in left_out)]


def pytest_sessionstart(session):
    """Let the second of two processes import files from the last one on, so that each is compiled by one of them.

    The other one reads the compiled copy. In a new checkout this saves 6 CPU seconds of 41.
    """
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        for path in reversed(_folders_files(session.config)):
            name = ".".join(path.relative_to(session.config.rootpath).with_suffix("").parts)
            with contextlib.suppress(Exception, pytest.skip.Exception):  # collection says what is wrong with a file
                importlib.import_module(name)


def pytest_collection_modifyitems(items):
    """Put files that replace code last: the others share compiled programs."""
    files = {item.path for item in items}
    last = {path for path in files if _replaces_code(path)}
    items.sort(key=lambda item: item.path in last)


def pytest_collection_finish():
    """Look for garbage from here on, but not among the modules."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs(request):
    """Forget compiled programs around a file that replaces code, and after every `SHARING` others.

    Small programs are the same in many files, and take a fifth of the time of a file that compiles them anew.
    """
    alone = _replaces_code(request.path)
    _files[0] += 1
    if alone or _files[0] > SHARING:
        jax.clear_caches()
        _files[0] = 1
    yield
    if alone:
        jax.clear_caches()


@pytest.fixture(autouse=True, scope="module")
def _annotations_are_checked_anew():
    check_anew()


@pytest.fixture(autouse=True)
def _same_environment():
    """Give back the variables that a command's options set for their whole process."""
    before = dict(os.environ)
    yield
    for name in {*os.environ} - {*before}:
        del os.environ[name]
    os.environ.update(before)

"""Keep how some tests draw and what commands say in them in a file beside the tests, and compare later runs with it.

`python -m tests.support.kept figures cli theorems` writes the files anew, where a change is meant: read what `git
diff` shows. The tests run three times, with and without optimisation of programs and with other kernels of the linear
algebra. Lines that differ become `*`, which anything matches, and a test whose runs say more or less is left open.
Texts must be equal, and numbers agree to half a percent, so that rounding does not matter.
"""

import importlib
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

FULL = "--xla_cpu_multi_thread_eigen=false"
QUICK = f"{FULL} --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
RUNS = {
    ".quick": {"XLA_FLAGS": QUICK}, ".full": {"XLA_FLAGS": FULL, "OPENBLAS_CORETYPE": "Haswell"},
    ".wide": {"XLA_FLAGS": QUICK, "OPENBLAS_CORETYPE": "SkylakeX"},
}  # fmt: skip
"""Suffixes of the files of the runs that are compared, and their variables."""
WRITE = "DYNSIM_KEEP"
"""The variable that names a suffix: files with it hold what the tests of this run do."""
NUMBER = re.compile(r"(?<![\w#.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")
CLOSE, TINY, MEAN = 5e-3, 1e-7, 5e-4
"""Numbers agree up to the share `CLOSE` or up to `TINY`, means behind `~` of numbers up to 1 up to `MEAN`."""
ANYTHING, OPEN = "*", "* *"
"""What any line agrees with, and the only line of a test that may do anything."""


class Kept:
    """What the tests of some files do, as lines of text below the name of each test.

    Args:
        file: the file where it is kept.
        tests: names of files of tests; others are not compared.
        of: what the lines depend on besides, such as the version of a library; for another one nothing is compared.
    """

    def __init__(self, file: Path, tests: Sequence[str], of: str = ""):
        self.file, self.tests, self.of, self.suffix = file, tests, of, os.environ.get(WRITE, "")
        self.now: dict[str, list[str]] = {}
        self.wanted = read(file, of)

    def compare(self, test, texts: Callable[[], Iterable[str]]) -> None:
        """Compare what a test does with what is kept for it; fail with the first line that differs."""
        name = f"{test.path.name}::{test.name}"
        if test.path.name not in self.tests or test.get_closest_marker("slow") is not None:
            return
        lines = [line.rstrip() for text in texts() for line in text.splitlines() if line.strip()]
        if self.suffix:
            self.now |= {name: lines} if lines else {}
        elif self.wanted is not None:
            kept = self.wanted.get(name, [])
            if kept == [OPEN]:
                return
            where = f"in {self.file.name}, which `python -m tests.support.kept {self.file.parent.name}` writes anew"
            assert len(lines) == len(kept), f"{len(lines)} lines instead of {len(kept)} {where}"
            for line, was in zip(lines, kept, strict=True):
                assert agree(line, was), f"`{line}` instead of `{was}` {where}"

    def write(self) -> None:
        """Write what the tests of this run did, if asked."""
        if self.suffix and self.now:
            write(self.file.with_suffix(self.suffix), self.now, self.of)


def hooks(kept: Kept, fixture: str, texts: Callable[[Any], Iterable[str]]) -> tuple[Callable, Callable]:
    """Make `pytest_pyfunc_call` and `pytest_sessionfinish` of a folder, which compare what a fixture lists, or keep it.

    Args:
        kept: what is kept for tests of the folder.
        fixture: the name of a fixture that all of its tests use.
        texts: makes texts of the fixture's value, after a test.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        answer = yield
        kept.compare(pyfuncitem, lambda: texts(pyfuncitem.funcargs[fixture]))
        return answer

    def pytest_sessionfinish():
        kept.write()

    return pytest_pyfunc_call, pytest_sessionfinish


def agree(line: str, was: str) -> bool:
    """Whether a line is the one that is kept, up to rounding."""
    if was == ANYTHING or line == was:
        return True
    pairs = zip(NUMBER.finditer(line), NUMBER.finditer(was), strict=False)
    return NUMBER.sub("0", line) == NUMBER.sub("0", was) and all(_close(a, b) for a, b in pairs)


def _close(one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two numbers agree; those behind `~` are means, whose parts may cancel."""
    least = MEAN if one.string[: one.start()].endswith("~") else TINY
    return math.isclose(float(one[0]), float(other[0]), rel_tol=CLOSE, abs_tol=least)


def read(file: Path, of: str) -> dict[str, list[str]] | None:
    """Read the lines of each test; None if they are of something else."""
    first, *lines = file.read_text(encoding="utf-8").splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(" "):
            found[next(reversed(found))].append(line[2:])
        else:
            found[line] = []
    return found if first == f"# {of}" else None


def write(file: Path, found: dict[str, list[str]], of: str) -> None:
    """Write the lines of each test below its name."""
    lines = [line for name in sorted(found) for line in (name, *(f"  {one}" for one in found[name]))]
    file.write_text("\n".join([f"# {of}", *lines]) + "\n", encoding="utf-8")


def main(folders: Sequence[str]) -> None:
    """Run tests of some folders of `tests` several times, and keep what all runs agree on."""
    here = Path(__file__).resolve().parents[1]
    names = {here / name: importlib.import_module(f"tests.{name}.conftest").TESTS for name in folders}
    files = [str(folder / name) for folder, tests in names.items() for name in tests]
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    for suffix, variables in RUNS.items():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
        subprocess.run(command, env=plain | variables | {WRITE: suffix})
    first, *others = RUNS
    for file in (file for folder in names for file in folder.glob(f"*{first}")):
        of = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        found = read(file, of) or {}
        for again in (read(file.with_suffix(suffix), of) or {} for suffix in others):
            found = {name: common(lines, again.get(name, [])) for name, lines in found.items()}
        write(file.with_suffix(".txt"), found, of)
        for suffix in RUNS:
            file.with_suffix(suffix).unlink()


def common(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Replace lines that differ in another run by one that anything matches; of other lengths all of them."""
    if len(lines) != len(others) or OPEN in lines:
        return [OPEN]
    return [a if agree(a, b) else ANYTHING for a, b in zip(lines, others, strict=True)]


if __name__ == "__main__":
    main(sys.argv[1:])

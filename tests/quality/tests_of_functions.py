"""Find out which files of tests run each function, so that an error in it is tried against these.

Usage: `python -m tests.quality.tests_of_functions [FILE ...] [--jobs 2]`. Each file of quick tests, or each one named,
runs in a process of its own and records the functions that it enters; functions that only tests in processes of their
own enter are left out, as errors are not seen there. The result is kept in `out/tests_of_functions.json`, where files
that are named replace what was known of them.
"""

import argparse
import ast
import contextlib
import functools
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import coverage

from tests.quality.attempts import HEAVY, QUIETLY, prepare
from tests.quality.source_index import ROOT, Source, project

RECORD = ROOT / "out" / "tests_of_functions.json"
"""For each file of tests the functions that it enters, by module."""
TESTS = 6
"""Largest number of files for a function."""
LEFT_OUT = ("benchmarks", "fuzz")
"""Folders whose tests `make test` leaves out."""

Entered = Mapping[str, Sequence[str]]
"""Functions by module."""


def files_of_tests(folder: Path = ROOT / "tests") -> list[Path]:
    """List the files of tests in a folder and the folders in it."""
    found = sorted(folder.rglob("test_*.py"))
    return [path for path in found if not set(LEFT_OUT) & set(path.relative_to(folder).parts)]


@contextlib.contextmanager
def entered(sources: Iterable[Source]) -> Iterator[dict[str, list[str]]]:
    """Record which functions of some modules are entered while the block runs, by module."""
    by_path = {str(source.path): source for source in sources}
    recorder, found = coverage.Coverage(data_file=None, config_file=False, include=list(by_path)), {}
    recorder.start()
    try:
        yield found
    finally:
        recorder.stop()
        data = recorder.get_data()
        for path in sorted(set(by_path) & data.measured_files()):
            if names := functions_at(by_path[path], set(data.lines(path) or ())):
                found[by_path[path].module] = names


def functions_at(source: Source, lines: set[int]) -> list[str]:
    """List the functions of a module with a statement of their own that begins on one of these lines."""
    functions = [
        (name, node)
        for name, nodes in source.definitions.items()
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return [name for name, node in functions if lines & {statement.lineno for statement in node.body}]


def record_of(path: str) -> tuple[str, dict[str, list[str]]]:
    """Run a file of quick tests in this process, and list the functions that it enters."""
    import pytest

    os.setsid()  # so that processes that tests start end with this one
    with entered(project().sources) as found, contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*QUIETLY, str(ROOT / path)])
    return path, found


def records(paths: Sequence[str], *, jobs: int = 1) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Run files of tests, each in a process of its own, and yield each with the functions that it enters."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*HEAVY])
    with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(record_of, path) for path in paths]):
            yield done.result()


def files_for(function: str, source: Source, known: Mapping[str, Entered]) -> tuple[str, ...]:
    """Choose up to `TESTS` files that enter a function of a module, those first that are about it.

    These are files whose text names the function and its module, then those of whose functions most are in the module.
    """
    module, name = source.module, function.split(".")[-1]
    words = {name, module.removesuffix(".command").split(".")[-1]}
    order = {}
    for path, modules in known.items():
        if function in modules.get(module, ()):
            named = len(words & words_of(path))
            order[path] = (named, len(modules[module]) / sum(map(len, modules.values())))
    return tuple(sorted(order, key=lambda path: order[path], reverse=True)[:TESTS])


@functools.cache
def words_of(path: str) -> frozenset[str]:
    """The words in the text of a file of this project."""
    return frozenset(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))


def known(record: Path = RECORD) -> dict[str, Entered]:
    """Read what was recorded, for the files of tests that are still there; nothing if nothing was."""
    if not record.exists():
        return {}
    return {path: modules for path, modules in json.loads(record.read_text()).items() if (ROOT / path).exists()}


def main(words: Sequence[str], record: Path = RECORD) -> int:
    """Run files of tests, and keep which functions each of them enters."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.tests_of_functions", description=__doc__)
    parser.add_argument("files", nargs="*", help="files of tests; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    options = parser.parse_args(words)
    paths = [Path(name).resolve() for name in options.files] or files_of_tests()
    if missing := [path for path in paths if not path.is_file() or not path.is_relative_to(ROOT)]:
        print(f"`files` must be files of tests of this project, got {missing[0]}", file=sys.stderr)
        return 2
    found = known(record) if options.files else {}
    names = [str(path.relative_to(ROOT)) for path in paths]
    with prepare():
        found |= dict(progress(records(names, jobs=options.jobs), len(names)))
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(found, sort_keys=True, indent=1))
    return 0


def progress(
    items: Iterable[tuple[str, dict[str, list[str]]]], total: int
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Pass on what each file enters, with a line for each."""
    for k, (path, modules) in enumerate(items, 1):
        print(f"{k} of {total}: {path} enters {sum(map(len, modules.values()))} functions", flush=True)
        yield path, modules


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

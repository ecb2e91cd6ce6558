"""Errors drawn at random: that a seed draws the same ones, what notices them, and what comes of the share."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.quality import random_mutants
from tests.quality.attempts import ENDED, TIMED_OUT, Attempt, Changed, Result
from tests.quality.mutants import Mutant
from tests.quality.random_mutants import PER_FUNCTION, Drawn, claims_of, draw, main, tried
from tests.quality.source_index import Index, Source

TEXT = """
def small(x):
    return x - 1

def large(x, y):
    z = x * y + x / y - 3 * x
    return max(z, y) if x < y else -z
"""
INDEX = Index([Source("pack.area", Path("pack/area.py"), TEXT), Source("package", Path("package.py"), TEXT)])


def error(name: str, *, claims: tuple[str, ...] = (), tests: tuple[str, ...] = ("test_a.py",)) -> Drawn:
    return Drawn(name, Changed("module", "module.py", ast.Module([], [])), claims, tests)


def drawn(count: int, **options) -> list[Drawn]:
    return draw(count, index=INDEX, **{"rows": (), "entered": {}, **options})


@pytest.fixture(autouse=True)
def _without_tests(monkeypatch):
    """Leave out which tests are tried for a module, which has tests of its own and reads all files of tests."""
    monkeypatch.setattr(random_mutants, "files_for", lambda function, source, entered: ())


@pytest.fixture
def verdicts(monkeypatch):
    """Let the runner notice what the test says, and draw errors of these names."""
    asked: list[tuple[str, tuple[str, ...], tuple[str, ...], int]] = []
    says: dict[str, str] = {}

    def run(attempts: Sequence[Attempt], *, jobs: int = 1) -> Iterator[Result]:
        for attempt in attempts:
            asked.append((attempt.name, attempt.claims, attempt.tests, jobs))
            words = says.get(attempt.name, "SUPPORTED")
            if words == ("claims" if attempt.claims else "tests"):
                yield Result(attempt, ("what",), ())
            else:
                yield Result(attempt, (), (f"what: {words}",))

    monkeypatch.setattr(random_mutants, "run", run)
    says["asked"] = asked  # pyright: ignore[reportArgumentType]
    return says


@pytest.mark.slow
def test_a_seed_draws_the_same_errors_few_of_a_function():
    first, again, other = drawn(99, seed=3), drawn(99, seed=3), drawn(99, seed=4)
    names = [found.name for found in first]
    assert names == [found.name for found in again]
    assert names != [found.name for found in other]
    assert len(set(names)) == 8 == 4 * PER_FUNCTION
    assert all(name.split(" ")[0] in {"package.py:3", "pack/area.py:3"} for name in names if "small" in name)
    for found in first:
        assert ast.dump(found.changed.tree) != ast.dump(ast.parse(TEXT))


def test_a_pattern_takes_a_package_with_what_is_in_it():
    assert {found.changed.module for found in drawn(9, patterns=["pack"])} == {"pack.area"}
    assert {found.changed.module for found in drawn(9, patterns=["pack*"])} == {"pack.area", "package"}
    assert drawn(9, patterns=["area"]) == []


def test_an_error_that_the_tables_call_equivalent_is_not_drawn():
    row = Mutant("same", "small", "x - 1", "x + 1", equivalent="why", beside="large")
    index = Index(INDEX.sources[:1])
    names = [found.name for found in draw(99, index=index, rows=(row,), entered={}) if "small" in found.name]
    assert sorted(names) == ["pack/area.py:3 small: x - 1 -> x", "pack/area.py:3 small: x - 1 -> x - 2"]


def test_claims_of_a_function_are_those_that_the_tables_name_most():
    rows = [
        Mutant("a", "A.f", "x + 1", "x", ("one", "two")),
        Mutant("b", "A.f", "y + 1", "y", ("two",)),
        Mutant("c", "g", "x + 1", "x", ("three",)),
    ]
    text = "class A:\n    def f(x, y):\n        return x + 1, y + 1\n"
    index = Index([Source("one", Path("one.py"), text), Source("other", Path("other.py"), "def g(x):\n    x + 1\n")])
    assert claims_of("one", "A.f", rows, index) == ("two", "one")
    assert claims_of("one", "g", rows, index) == ()
    assert claims_of("other", "g", rows, index) == ("three",)


def test_claims_are_tried_first_and_tests_where_they_do_not_notice(verdicts):
    verdicts |= {"a": "claims", "b": "tests", "c": "TypeError: no", "d": "tests", "e": TIMED_OUT, "g": ENDED}
    errors = [error(name, claims=("claim",)) for name in "abc"]
    errors += [error("d"), error("e"), error("f", tests=()), error("g")]
    found = {drawn.name: by for drawn, by in tried(errors, jobs=2)}
    ways = {"a": "claims", "b": "tests", "c": "exception", "d": "tests", "e": "time", "f": "", "g": "crash"}
    assert found == ways
    by_tests = [(name, (), ("test_a.py",), 2) for name in "degb"]
    assert verdicts["asked"] == [(name, ("claim",), (), 2) for name in "abc"] + by_tests


def test_survivors_and_the_share_with_its_interval_are_printed_and_decide_the_result(
    verdicts, monkeypatch, capsys, tmp_path
):
    names = [f"a/b.py:{k} f: x -> y" for k in range(10)]
    monkeypatch.setattr(random_mutants, "draw", lambda count, **options: [error(name) for name in names[:count]])
    verdicts |= dict.fromkeys(names[1:], "tests")
    monkeypatch.setattr(random_mutants, "RECORD", tmp_path / "record.json")
    assert main(["--count", "10"]) == 2
    assert "run python -m tests.quality.tests_of_functions" in capsys.readouterr().err
    (tmp_path / "record.json").write_text("{}")
    assert main(["--count", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("SURVIVED")] == ["SURVIVED   a/b.py:0 f: x -> y"]
    # Wilson: (9 + 1.92) / 13.84 -+ 1.96 / 13.84 * sqrt(0.9 + 0.96)
    assert lines[-1] == "9 of 10 noticed (9 by tests): 90%, 95% interval 60% to 98%"
    assert main(["--count", "10", "--share", "0.91"]) == 1
    assert main(["--count", "1", "--share", "0"]) == 0


def test_a_module_that_is_not_there_is_refused(capsys):
    assert main(["dynsim.nowhere"]) == 2
    assert capsys.readouterr().err == "no function to draw from in dynsim.nowhere\n"

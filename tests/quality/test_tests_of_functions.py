"""Which files of tests are tried for an error in a function: those that enter it."""

import importlib.util
import json

import pytest

from tests.quality import tests_of_functions
from tests.quality.source_index import ROOT, Source, project
from tests.quality.tests_of_functions import (
    TESTS,
    entered,
    files_for,
    files_of_tests,
    functions_at,
    known,
    main,
    words_of,
)

TEXT = '''
def doubled(x):
    """Only a text."""
    return 2 * x


def unused(x):
    return x


class Pair:
    def total(self):
        def part():
            return 1

        return part() + 1

    def other(self):
        return 3
'''


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "own_module_entered.py"
    path.write_text(TEXT)
    return Source("own_module_entered", path, TEXT)


def test_functions_that_a_block_enters_are_recorded_and_no_others(written):
    spec = importlib.util.spec_from_file_location(written.module, written.path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with entered([written]) as found:
        spec.loader.exec_module(module)
    assert not found  # a definition is not entered when it is made
    with entered([written]) as found:
        module.doubled(module.Pair().total())
    assert found == {"own_module_entered": ["doubled", "Pair.total", "Pair.total.part"]}


def test_a_function_is_entered_where_one_of_its_statements_begins(written):
    assert functions_at(written, {4}) == ["doubled"]
    assert functions_at(written, {2, 7, 12, 13}) == ["Pair.total"]  # `part` is defined there, and not called
    assert functions_at(written, {2, 7, 12}) == []


def test_files_about_a_function_come_first_then_those_that_enter_little_else(monkeypatch):
    words = {"a": "doubled module", "b": "module", "c": "", "d": "", "e": "doubled module"}
    monkeypatch.setattr(tests_of_functions, "words_of", lambda path: frozenset(words[path].split()))
    source = Source("pack.module", ROOT / "pack" / "module.py", "")
    entered = {
        "a": {"pack.module": ["doubled"], "pack.far": ["f", "g"]},
        "b": {"pack.module": ["doubled"]},
        "c": {"pack.module": ["doubled"], "pack.far": ["f"]},
        "d": {"pack.module": ["doubled"], "pack.far": ["f", "g"]},
        "e": {"pack.module": ["other"]},
    }
    assert files_for("doubled", source, entered) == ("a", "b", "c", "d")
    assert files_for("other", source, entered) == ("e",)
    assert files_for("unused", source, entered) == ()
    many = {**dict.fromkeys("bcd", entered["b"]), "a": entered["a"]} | {f"{k}": entered["b"] for k in range(9)}
    words |= dict.fromkeys("012345678", "")
    assert len(files_for("doubled", source, many)) == TESTS
    assert files_for("doubled", source, many)[0] == "a"


def test_words_of_a_file_of_this_project_are_found():
    assert "test_words_of_a_file_of_this_project_are_found" in words_of("tests/quality/test_tests_of_functions.py")


def test_what_is_on_record_for_named_files_is_replaced_and_files_that_are_gone_are_left_out(tmp_path, monkeypatch):
    here, there = "tests/quality/test_tests_of_functions.py", "tests/quality/test_attempts.py"
    record = tmp_path / "out" / "record.json"
    runs = []

    def records(paths, *, jobs):
        runs.append((list(paths), jobs))
        return ((path, {"module": ["new"]}) for path in paths)

    monkeypatch.setattr(tests_of_functions, "records", records)
    monkeypatch.setattr(tests_of_functions, "prepare", lambda: pytest.MonkeyPatch.context())
    assert known(record) == {}
    assert main([here, "--jobs", "3"], record) == 0
    assert runs == [([here], 3)]
    assert known(record) == {here: {"module": ["new"]}}
    record.write_text(json.dumps({here: {"module": ["old"]}, there: {"module": ["kept"]}, "tests/test_gone.py": {}}))
    assert main([here], record) == 0
    assert known(record) == {here: {"module": ["new"]}, there: {"module": ["kept"]}}
    assert main([], record) == 0
    assert runs[-1] == ([str(path.relative_to(ROOT)) for path in files_of_tests()], 1)
    assert set(known(record)) == set(runs[-1][0])


def test_a_file_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["tests/test_nowhere.py"], tmp_path / "record.json") == 2
    assert capsys.readouterr().err.startswith("`files` must be files of tests of this project, got ")
    assert not (tmp_path / "record.json").exists()


def test_benchmarks_and_fuzz_tests_are_left_out():
    names = {str(path.relative_to(ROOT)) for path in files_of_tests()}
    assert "tests/quality/test_tests_of_functions.py" in names
    assert not [name for name in names if "/fuzz/" in name or "/benchmarks/" in name]


@pytest.mark.slow
def test_a_file_of_this_project_enters_what_it_tests():
    ((path, found),) = tests_of_functions.records(["tests/quality/test_small_errors.py"])
    assert path == "tests/quality/test_small_errors.py"
    assert set(found) <= {source.module for source in project().sources}

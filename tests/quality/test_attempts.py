"""Errors in place while tests run: a test that fails, a file that cannot be imported, and what goes unseen."""

import ast
import sys

import pytest

from tests.quality.attempts import ENDED, TIMED_OUT, Attempt, Changed, _Finder, _Tried, run
from tests.quality.source_index import project

FILES = {
    "test_value.py": "import own_module\n\ndef test_value():\n    assert own_module.VALUE == 1\n",
    "test_other.py": "import own_module\n\ndef test_other():\n    assert True\n",
}


@pytest.fixture
def said(tmp_path):
    """Try a module of the given text, which no file holds, against files of tests."""

    def result(text: str, *names: str, limit: float = 300.0):
        changed = Changed("own_module", str(tmp_path / "own_module.py"), ast.parse(text))
        (found,) = run([Attempt("error", changed, tests=tuple(str(tmp_path / name) for name in names))], limit=limit)
        return found

    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return result


def test_a_test_that_fails_notices_an_error(said):
    assert said("VALUE = 2", *FILES).killed
    assert not said("VALUE = 1", *FILES).killed


def test_files_that_cannot_be_imported_notice_an_error(said):
    assert said("VALUE = 1 / 0", *FILES).killed
    assert said("VALUE = 1 / 0", "test_other.py").killed


def test_an_error_that_ends_pytest_is_noticed(said, tmp_path):
    (tmp_path / "conftest.py").write_text("import own_module\n\ndef pytest_runtest_logstart():\n    own_module.run()\n")
    assert said("def run():\n    raise ValueError", "test_other.py").killed


def test_a_file_that_is_not_there_notices_nothing(said):
    assert said("VALUE = 2", "test_nowhere.py").survived[0].endswith("no test failed (USAGE_ERROR)")


def test_an_error_that_ends_the_process_or_never_ends_is_told_from_one_that_is_noticed(said):
    assert said("import os; os._exit(3)", *FILES).survived[0].endswith(ENDED)
    assert said("import time; time.sleep(60)", *FILES, limit=1.0).survived[0].endswith(TIMED_OUT)


def test_an_error_comes_before_the_finders_of_other_plugins(monkeypatch):
    ours, other = _Finder(Changed("own_module", "own_module.py", ast.parse(""))), object()
    monkeypatch.setattr(sys, "meta_path", [other, ours])
    _Tried(ours).pytest_load_initial_conftests()
    assert sys.meta_path == [ours, other]


@pytest.mark.slow
def test_an_error_in_what_a_conftest_imports_is_noticed():
    source = project().by_module["analysis.theorems.conditions"]
    tree = ast.parse(source.text.replace('HOLDS, FAILS, UNDECIDED = "holds"', 'HOLDS, FAILS, UNDECIDED = "hold"'))
    assert ast.dump(tree) != ast.dump(source.tree)
    changed = Changed(source.module, str(source.path), tree)
    (found,) = run([Attempt("error", changed, tests=("tests/theorems/test_structure.py",))])
    assert found.killed

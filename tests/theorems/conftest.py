"""Compare the reports of theorems in some tests with `found.txt`: statuses, margins, witnesses, numbers, sentences."""

import functools
from pathlib import Path

import pytest

from analysis.theorems.conditions import Conditions
from tests.support.kept import Kept

TESTS = ("test_literature.py", "test_synthesis.py", "test_existence.py", "test_structure.py")
FOUND = Kept(Path(__file__).with_name("found.txt"), TESTS)


@pytest.fixture(autouse=True)
def found_conditions(monkeypatch):
    """List the conditions that a test finds."""
    found, make = [], Conditions.__new__

    @functools.wraps(make)
    def noted(*given, **options):
        found.append(make(*given, **options))
        return found[-1]

    monkeypatch.setattr(Conditions, "__new__", noted)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Compare the conditions of a test with those that are kept for it."""
    answer = yield
    if pyfuncitem.path.name in TESTS:
        FOUND.compare(pyfuncitem, [str(one) for one in pyfuncitem.funcargs["found_conditions"]])
    return answer


def pytest_sessionfinish():
    """Keep the conditions, if asked."""
    FOUND.write()

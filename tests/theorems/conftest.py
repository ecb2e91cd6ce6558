"""Compare the reports of theorems in some tests with `found.txt`: statuses, margins, witnesses, numbers, sentences."""

import functools
from pathlib import Path

import pytest

from analysis.theorems.conditions import Conditions
from tests.support.kept import Kept, hooks

TESTS = tuple(f"test_{name}.py" for name in (
    "bifurcations", "boundary", "each_condition", "existence", "growth_and_inputs", "horseshoe_parts", "lasalle",
    "lienard", "literature", "maps", "noise_orders", "plane", "positive_matrices", "quadratic", "resting", "structure",
    "switching", "synthesis", "theorems", "timescales", "turned_coordinates",
))  # fmt: skip
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


pytest_pyfunc_call, pytest_sessionfinish = hooks(FOUND, "found_conditions", lambda found: map(str, found))

"""Compare what theorems find in some tests with `found.txt`: statuses, inequalities, margins, witnesses, numbers."""

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


def told(found: Conditions) -> str:
    """The theorem, its conditions without their words, and the numbers of its conclusion."""
    rows = [" ".join(str(one).split()).replace(f"{one.words}: ", "", 1) for one in found.hypotheses]
    numbers = ", ".join(f"{name} = {value:.6g}" for name, value in found.numbers.items())
    return "\n".join([f"{found.theorem}: {found.status} {numbers}", *(f"  {row}" for row in rows)])


pytest_pyfunc_call, pytest_sessionfinish = hooks(FOUND, "found_conditions", lambda found: map(told, found))

"""Compare what tests of theorems find with `found.txt`: statuses, margins, errors, witnesses, numbers and sentences."""

import functools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analysis.theorems.conditions import Conditions, Hypothesis
from tests.support.kept import Kept, rounded

FOUND = Kept(Path(__file__).with_name("found.txt"), f"numpy {np.__version__}")


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
    FOUND.compare(pyfuncitem, [line for one in pyfuncitem.funcargs["found_conditions"] for line in lines(one)])
    return answer


def pytest_sessionfinish():
    """Keep the conditions, if asked."""
    FOUND.write()


def lines(found: Conditions) -> Iterator[str]:
    """Yield a line for a theorem, and one for each of its conditions."""
    numbers = {name: numbered(value) for name, value in found.numbers.items()}
    curves = {name: numbered(curve) for name, curve in found.curves.items() if not callable(curve)}
    yield rounded(f"{found.theorem} {found.region} {found.conclusion} {found.otherwise}") + f" {numbers} {curves}"
    yield from map(line, found.hypotheses)


def line(one: Hypothesis) -> str:
    """Write a condition; a margin within its error says nothing, and an error counts by its size."""
    margin = one.margin if abs(one.margin) > one.error else math.nan
    error = f"{5 * math.log10(one.error):.0f}" if one.error > 0 else ""
    numbers = f"{numbered(margin)} {error} {one.boxes} {numbered(one.left)} {numbered(one.witness)}"
    return rounded(f"{one.words} {one.inequality} {one.status} {one.decided}") + f" {numbers}"


def numbered(value: object) -> str:
    """Write numbers with three digits each."""
    flat = np.ravel(np.asarray(np.nan if value is None else value, float))
    size = float(np.max(np.abs(flat[np.isfinite(flat)]), initial=0.0))
    return " ".join(f"{v + 1.2345e-6 * size:.3g}" if abs(v) > 1e-9 * size else "0" for v in flat)

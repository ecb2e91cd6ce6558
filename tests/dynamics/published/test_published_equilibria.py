"""Bifurcations of equilibria that others published are found by default options: each once, and no other one."""

import math
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dynsim as ds
from analysis.dynamics import bifurcation_diagram

EXACT = 1e-7  # error of a located point, relative to its parameter or one: closed forms have more digits


class Point(NamedTuple):
    """Kind of a bifurcation, its parameter, and the error of that."""

    kind: str
    value: float
    error: float


def point(text: str) -> Point:
    """Read `kind: value` or `kind: value, error`; the value is a formula of the module `math`."""
    kind, rest = text.rsplit(":", 1)
    formula, _, error = rest.partition(",")
    value = float(eval(formula, vars(math)))
    return Point(kind, value, float(error) if error else EXACT * max(1.0, abs(value)))


def cases(file: str) -> list[Any]:
    """Read the cases of a table; those that are not quick are marked as slow."""
    rows = tomllib.loads((Path(__file__).parent / file).read_text())["case"]
    marks = [() if row.get("quick") else pytest.mark.slow for row in rows]
    return [pytest.param(row, id=row["name"], marks=mark) for row, mark in zip(rows, marks, strict=True)]


def agree(found: list[Point], expected: list[Point]) -> None:
    """Assert that as many points of each kind are found as expected, at the same parameters."""
    found, expected = sorted(found), sorted(expected)
    assert [p.kind for p in found] == [p.kind for p in expected], found
    for one, other in zip(found, expected, strict=True):
        assert one.value == pytest.approx(other.value, abs=other.error), (one, other)


def bounds(text: str) -> tuple[str, float, float]:
    """Read a name and a range, `name = low:high`."""
    name, ends = text.split("=")
    low, high = ends.split(":")
    return name.strip(), float(low), float(high)


def parameter(row: dict[str, Any]) -> ds.Parameter:
    """Build the system of a row and its parameter with the range."""
    return ds.Parameter(ds.system(row["system"]), *bounds(row["parameter"]))


@pytest.mark.parametrize("row", cases("equilibria.toml"))
def test_a_diagram_has_the_published_points_and_no_other_one(row):
    diagram = bifurcation_diagram(parameter(row), [row["start"]], levels=row.get("levels", 0))
    found = [Point(b.kind, b.parameter, 0.0) for one in diagram.branches for b in one.bifurcations]
    agree(found, [point(text) for text in row["points"]])
    assert not any(one.undetermined for one in diagram.branches)

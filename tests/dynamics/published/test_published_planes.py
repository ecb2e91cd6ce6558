"""Bifurcations of codimension two that others published are found by default options, once on a curve, and no other."""

import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import bifurcation_diagram, with_curves
from tests.dynamics.published.test_published_equilibria import EXACT, bounds, cases, parameter, point


@pytest.mark.parametrize("row", cases("planes.toml"))
def test_curves_have_the_published_degeneracies_and_no_other_one(row):
    first = parameter(row)
    second = ds.Parameter(first.system, *bounds(row["second"]))
    found = with_curves(bifurcation_diagram(first, [row["start"]], levels=row.get("levels", 0)), (first, second))
    expected = [_place(text) for text in row["points"]]
    seen = set()
    for curve in found.curves:
        here = [_index(expected, one) for one in curve.degeneracies]
        assert None not in here, curve
        assert len(set(here)) == len(here), curve
        seen |= set(here)
    assert seen == set(range(len(expected))), found.curves


def _place(text):
    """Read `kind: first, second` or `kind: first, second, error`."""
    kind, values = text.rsplit(":", 1)
    first, second, *error = values.split(",")
    numbers = [point(f"{kind}: {value}").value for value in (first, second)]
    return kind, np.array(numbers), float(error[0]) if error else EXACT


def _index(expected, one):
    """Find the place in a list of a point on a curve."""
    near = lambda kind, place, error: kind == one.kind and np.all(abs(place - [one.first, one.second]) <= error)
    return next((k for k, other in enumerate(expected) if near(*other)), None)

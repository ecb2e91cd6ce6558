"""Special points of homoclinic orbits that others published are found, each once, and no other one."""

import numpy as np
import pytest
import scipy.interpolate

import dynsim as ds
from analysis.dynamics import connecting_orbit, continue_connection
from tests.dynamics.published.test_published_equilibria import bounds, cases, parameter
from tests.dynamics.published.test_published_planes import _index, _place


@pytest.mark.parametrize("row", cases("connections.toml"))
def test_connecting_orbits_have_the_published_special_points_and_no_other_one(row):
    first = parameter(row)
    second = ds.Parameter(first.system, *bounds(row["second"]))
    curve = continue_connection((first, second), connecting_orbit(first, row["begin"], row.get("end", row["begin"])))
    _has(curve, row["points"])
    if "then" in row:
        _has(continue_connection((first, second), curve.degeneracies[-1]), row["then"])
    order = np.argsort(curve.second)
    along = scipy.interpolate.CubicSpline(curve.second[order], curve.first[order])
    for one, other in row.get("places", []):
        assert along(other) == pytest.approx(one, rel=5e-4)  # of the interpolation


def _has(curve, points):
    """Check that the special points of a curve are the expected ones, each once."""
    expected = [_place(text) for text in points]
    found = [_index(expected, one) for one in curve.degeneracies]
    assert None not in found, curve.degeneracies
    assert sorted(k for k in found if k is not None) == list(range(len(expected)))

"""Measures of runs of growing heads, on a run that is put together by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.experiments.growing import outcomes
from analysis.experiments.growing.outcomes import bounds, coverages, outcome, rank_correlation, ratios
from dynsim.simulation.hybrid_trajectory import HybridTrajectory


class Run(HybridTrajectory):
    """A run of three places: a random head from the start, one at t = 2, which is clipped at t = 5, and none."""

    first: Any = "random"

    def __init__(self, first="random"):
        self.first, self.ending, self.recipe = first, "finished", None
        rules = SimpleNamespace(least_temperature=np.float64(0.5), first=first)
        place = 0 if first == "random" else -1
        order = np.array([place, place + 1, -1])
        flow = lambda mark: SimpleNamespace(rules=rules, order=order, active=order >= 0, mark=mark,
                                            levels=np.array([np.nan, 4.0, np.nan]))  # fmt: skip
        phase = lambda begin, mark: SimpleNamespace(ts=np.array([begin, begin + 1]), system=flow(mark), initial=mark)
        self.phases = (phase(1.0, 1.0), phase(2.0, 2.0), phase(5.0, 5.0))
        after = SimpleNamespace(cubes=np.array([1.0, 0.125, 0.0]))  # also of the place without a head
        jumps = {1.5: "clip", 2.0: "grow", 5.0: "clip", 6.0: "clip"}
        self.jumps = tuple(SimpleNamespace(name=name, time=time, after=after) for time, name in jumps.items())

    @property
    def final(self):
        return "end"

    def times(self, name):
        return [jump.time for jump in self.jumps if jump.name == name]

    def along(self, fn):
        cubes = np.array([[1.0, 8.0, 8.0], [27.0, 8.0, 8.0], [27.0, 1.0, 8.0], [27.0, 0.125, 8.0]])
        return np.array([1.0, 2.0, 2.0, 5.0]), cubes


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.setattr(outcomes, "_activity", lambda flow, x: 100 * flow.mark + np.arange(3.0))
    parts = tuple(10.0 * k + np.arange(3.0) for k in range(5))
    monkeypatch.setattr(outcomes, "_measures", lambda flow, x: parts)


def test_a_run_is_measured_by_its_heads(measured):
    found = outcome(Run(), np.array([1.0, 2.0, 4.0, 5.0]))
    np.testing.assert_array_equal(found.births, [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(found.arrivals, [np.inf, 5.0, np.nan])
    np.testing.assert_array_equal(found.first_activity, [100.0, 201.0, np.nan])
    np.testing.assert_array_equal(found.temperatures, [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.activity, [10.0, 11.0, np.nan])
    np.testing.assert_array_equal(found.variances, [40.0, 41.0, np.nan])
    np.testing.assert_array_equal(found.levels, [np.nan, 4.0, np.nan])
    nan = np.nan
    np.testing.assert_allclose(found.fan, [[1.0, nan, nan], [3.0, 1.0, nan], [3.0, 1.0, nan], [3.0, 0.5, nan]])


def test_heads_that_all_grow_are_born_when_they_do(measured):
    found = outcome(Run("grown"), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found.births, [np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(found.first_activity, [np.nan, 201.0, np.nan])


def test_shares_and_bounds_are_those_of_the_sums_of_the_pairs():
    """The pairs 3 and 4 have |M|^2 = 50; heads of the levels 4 and 1."""
    found = coverages(np.array([np.nan, 4.0, 1.0]), np.array([3.0, 4.0]))
    assert found == pytest.approx({
        "as printed": 0.1, "each eigenvalue once": 0.2, "lambda^2": 17 / 50, "2 lambda^2": 34 / 50,
        "share of the sum": 5 / 7, "norm not squared": 5 / np.sqrt(50),
    })  # fmt: skip
    expected = {"as printed": 0.88, "each eigenvalue once": 0.76, "norm not squared": 1 - 6 / np.sqrt(50)}
    assert bounds(3, 2.0, np.array([3.0, 4.0])) == pytest.approx(expected)


def test_ranks_of_infinite_times_are_equal_and_last():
    levels = np.array([np.nan, 4.0, 3.0, 2.0, 1.0])
    assert rank_correlation(levels, np.array([9.0, 1.0, 2.0, np.inf, np.inf])) == pytest.approx(-0.9486833)
    assert rank_correlation(levels, np.array([9.0, 1.0, 2.0, np.nan, 3.0])) == pytest.approx(-1.0)
    for times in ([9.0, 1.0, np.nan, np.nan, np.nan], [9.0, 2.0, 2.0, 2.0, 2.0], [9.0, *[np.inf] * 4]):
        assert np.isnan(rank_correlation(levels, np.array(times)))
    assert np.isnan(rank_correlation(np.ones(5), np.arange(5.0)))


def test_ratios_of_forces_are_held_against_levels_and_temperatures():
    some = np.zeros(4)
    found: Any = outcomes.GrowthOutcome(
        np.array([np.nan, 6.0, 3.0, 2.0]), some, some, np.array([9.0, 1.0, 2.0, 4.0]), some, some,
        np.array([9.0, 8.0, 2.0, 4.0]), some, some, np.zeros((1, 4)),
    )  # fmt: skip
    forces, limits = ratios(found)
    assert (forces.tolist(), limits.tolist()) == ([4.0, 0.5], [8.0, 6.0])

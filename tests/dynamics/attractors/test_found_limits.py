"""What a search keeps of the limits that it finds: cycles by points along their curves, and each limit once."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import basins, classification, search
from analysis.dynamics.attractors.basins import _GridRun
from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.perturbation import Attraction
from analysis.dynamics.attractors.search import NEUTRAL, Attractors
from analysis.dynamics.equilibria.newton import start_units
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Henon

TIME_MAP = TimeMap(Henon(), jnp.zeros(2), state_itself, 1, 1e-8, 1e4)


def limit(points, stability, period=1.0, spacing=0.0):
    points = np.asarray(points, float)
    return LimitSet("fixed point", stability, points, points, period, np.zeros(1), spacing=spacing)


def test_a_cycle_has_its_least_period_and_points_along_its_curve(monkeypatch):
    """An ellipse through which a guess of twice the period goes, slowly at one side."""
    asked = []

    def polished(record, duration, segments, shift, *, forced):
        asked.append(duration)
        return PeriodicOrbit(np.zeros(2), duration, np.zeros((1, 2)), np.array([0.5 + 0j]), 0.0, 0.0, "stable")

    def path(record, orbit):
        turned = lambda ts: np.pi * ts + 0.95 * np.sin(np.pi * ts)
        return lambda ts: np.stack([np.cos(turned(ts)), 2 * np.sin(turned(ts))], axis=1)

    monkeypatch.setattr(classification, "_polished", polished)
    monkeypatch.setattr(classification, "_path", path)
    states = path(None, None)(0.1 * np.arange(41.0))
    found = classification._closed(TrajectoryRecord(TIME_MAP, states, states, np.array([2.0, 4.0]), False, 64, ()), 4.0)
    assert found is not None
    assert (asked, found.period, found.is_cycle) == ([4.0, 2.0], 2.0, True)
    points = found.features / [2.0, 4.0]
    chords = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert found.spacing == pytest.approx(np.max(chords) / 2)
    assert np.max(chords) < 1.3 * np.median(chords)  # in time, they would differ 39-fold


def test_a_neutral_limit_stays_open_although_perturbations_return(monkeypatch):
    returned = iter([Attraction(True, 0.01), Attraction(True, 0.01), *[Attraction(False, 0.0)] * NEUTRAL])
    monkeypatch.setattr(search, "attraction_of_orbit", lambda *given: next(returned))
    points = np.zeros((8, 2))
    record = TrajectoryRecord(TIME_MAP, points, points, np.ones(2), False, 64, ())
    run = search.AttractorSearch(TIME_MAP, points, Search())
    stable, neutral = limit([[0.0, 0.0]], "stable"), limit([[0.0, 0.0]], "undecided")._replace(values=np.ones(1))
    assert run._attraction(stable._replace(values=np.full(1, 0.5)), record)[1] == Attraction(True, 0.01)
    assert run._attraction(neutral, record)[1].attracts is None
    for _ in range(NEUTRAL + 1):  # the last one is of the same family, and is not tested
        found, told = run._attraction(neutral, record)
        assert (found.stability, told.attracts) == ("undecided", False)


def test_a_grid_keeps_each_limit_once_and_none_that_turned_out_to_attract():
    saddle, other = limit([[0.0, 0.0]], "saddle"), limit([[0.5, 0.0]], "saddle")
    square = np.random.default_rng(0).uniform(size=(400, 2))
    cloud = limit(square, "undecided", float("nan"), spacing=0.05)
    found = lambda attractors, others: Attractors(
        attractors, others, np.zeros(1, int), np.full(1, -1), np.full(1, np.nan), 1.0, 256, 64, TIME_MAP, np.ones(2)
    )
    run = _GridRun(TIME_MAP, np.zeros((1, 2)), found((), (saddle,)))
    run.add(found((), (saddle, other, cloud)))
    assert run.others == [saddle, other, cloud]
    run.add(found((cloud._replace(stability="stable"),), (cloud, other)))
    assert run.others == [saddle, other]


def test_units_of_a_search_are_near_the_ranges_and_rates_of_its_starts():
    units = start_units(FunctionFlow(lambda t, x: -(x**2)), np.array([[512.0], [768.0], [1024.0]]))
    assert 0.5 <= 1536 * units.time <= 2
    assert 0.25 <= float(np.max(units.scale)) / 128 <= 4


@pytest.mark.parametrize(("first", "later"), [(False, False), (True, False), (False, True)])
def test_a_search_on_a_grid_is_stiff_where_its_first_or_its_later_part_is(monkeypatch, first, later):
    none, labels = np.zeros(2), np.array([0, -1])
    found = Attractors((), (), np.full(2, -1), np.full(2, 7), none, 0.25, 9, 1, TIME_MAP, np.ones(2), first)
    run = SimpleNamespace(
        pending=np.empty(0, int), attractors=[limit([[1.0, 2.0]], "stable")], others=[], labels=labels,
        time_map=SimpleNamespace(interval=0.5), is_stiff=later, end=lambda: None,
    )  # fmt: skip
    monkeypatch.setattr(basins, "attractors_of", lambda *given: found)
    monkeypatch.setattr(basins, "_GridRun", lambda *given: run)
    whole = basins.labelled(TIME_MAP, np.zeros((2, 2)), Search())
    assert (whole.is_stiff, whole.interval, whole.longest) == (first or later, 0.5, 9)
    assert whole.labels is labels
    assert whole.other_reached.tolist() == [-1, -1]
    assert len(whole.attractors) == 1

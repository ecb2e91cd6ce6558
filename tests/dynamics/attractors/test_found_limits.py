"""What a search keeps of the limits that it finds: cycles by points along their curves, and each limit once."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import basins, classification, search
from analysis.dynamics.attractors.basins import _GridRun
from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.distances import VolumeGrowth
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet, Slow
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


NONE = float("nan")
SQUARE = np.random.default_rng(0).uniform(size=(400, 2))
CLOUD = limit(SQUARE, "undecided", NONE, spacing=0.05)


def begun(*attractors, extent=1.0):
    """A search of one start that knows some attractors, with a record of its last samples."""
    rows = np.zeros((64, 2))
    run = search.AttractorSearch(TIME_MAP, np.zeros((1, 2)), Search(exponents=True), attractors)
    run.extent = np.full(2, extent)
    return run, TrajectoryRecord(TIME_MAP, rows, rows, run.extent, False, 64, ())


def test_an_attractor_is_placed_once_and_replaces_the_recurrent_set_that_it_resolves():
    cycle = limit([[3.0, 3.0]], "stable")
    run, _ = begun(cycle, CLOUD)
    within, outside, beside = (limit([x], "stable") for x in (SQUARE[0], [9.0, 9.0], [3.0, 3.1]))
    assert run._place(cycle._replace(stability="saddle")) == 0
    assert run._place(limit(SQUARE[:50], "stable", NONE)) == 1  # a part of the set
    assert run.attractors == [cycle, CLOUD]
    assert [run._place(one) for one in (outside, beside, within)] == [2, 3, 1]
    assert run.attractors == [cycle, within, outside, beside]


@pytest.mark.parametrize(
    ("found", "label", "settled"),
    [
        (Attraction(True, 0.25), 0, True), (Attraction(False, 0.0), search.NOT_ATTRACTING, True),
        (Attraction(None, 0.0), search.UNDECIDED, False), (Attraction(None, 0.0, left=True), search.NOT_SETTLED, False),
    ],
)  # fmt: skip
def test_a_limit_is_kept_by_what_its_perturbations_did(monkeypatch, found, label, settled):
    run, record = begun()
    monkeypatch.setattr(run, "_attraction", lambda limit, record: (limit, found), raising=False)
    monkeypatch.setattr(search, "_largest_exponent", lambda record: 0.5)
    assert run._keep(0, CLOUD, record, False) == settled
    assert run.labels.tolist() == [label]
    kept = [*run.attractors, *run.others]
    words = {True: "stable", False: "not attracting", None: "undecided"}
    assert [(one.stability, one.radius) for one in kept] == (
        [] if found.left else [(words[found.attracts], found.radius)]
    )
    assert [one.exponent for one in run.attractors] == ([0.5] if found.attracts else [])
    assert run.other_reached.tolist() == [0 if run.others else -1]
    if kept:
        assert run._keep(
            0, limit(SQUARE[::2], "undecided", NONE, spacing=0.05), record, True
        )  # at the end it is settled
        assert (len([*run.attractors, *run.others]), run.labels.tolist()) == (1, [label])


def test_a_start_at_a_known_curve_a_slow_one_and_one_on_no_set_are_told_apart(monkeypatch):
    states, answers = np.zeros((64, 2)), [Slow(0.125), None]
    monkeypatch.setattr(search, "limit_of", lambda record: answers.pop(0))
    run, _ = begun()
    assert not run.judge(0, states, False)
    assert run.rates.tolist() == [0.125]
    states[-1] = [0.0, 3.0]
    monkeypatch.setattr(search, "recurrent_set", lambda record: None)
    run.extent = np.array([1.0, 6.0])
    assert not run.judge(0, states, True)
    assert run.rates.tolist() == [0.5]  # of the extent in an interval
    curve = LimitSet(CURVE, "saddle", *[np.array([[-1.0, 0.0], [1.0, 0.0]])] * 2, 0.0, np.ones(2), spacing=1.0)
    run.others = [limit([[0.0, 0.0]], "saddle"), curve]
    assert run.judge(0, np.zeros((64, 2)), False)
    assert (run.labels.tolist(), run.other_reached.tolist()) == ([search.NOT_ATTRACTING], [1])


def test_a_set_on_which_volumes_are_kept_does_not_attract_and_one_that_shrinks_little_is_open(monkeypatch):
    run, record = begun()
    moves = iter(VolumeGrowth(*row, 1.0) for row in ((0, 0), (-1, 0.1), (-1, 0.9), (-1e-3, 1e-6), (0, 0)))
    monkeypatch.setattr(search, "volume_growth", lambda record: next(moves))
    answers = iter([True, True, False])
    monkeypatch.setattr(search, "attraction_of", lambda record, limit: (limit, Attraction(next(answers), 0.0)))
    told = [run._attraction(CLOUD, record)[1].attracts for _ in range(4)]
    assert told == [False, True, None, None]
    free = limit([[0.0, 0.0]], "undecided", 2.0)._replace(values=np.empty(0))
    assert run._attraction(free, record)[1].attracts is False
    surface = limit([[0.0, 0.0]], "stable", 0.0)._replace(kind=SURFACE)
    assert run._attraction(surface, record)[1].attracts is True
    assert run._attraction(surface._replace(stability="saddle"), record)[1].attracts is False


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

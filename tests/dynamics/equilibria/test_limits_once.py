"""Each limit of a search is listed once, also where a first look at it left open whether it attracts."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import search as attractor_search
from analysis.dynamics.attractors.basins import Basins, _GridRun, basins
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.perturbation import Attraction
from analysis.dynamics.attractors.search import find_attractors
from dynsim.cli.basins.command import tell
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.named import Components
from tests.support.searches import accurate


@pytest.fixture
def open_at_first(monkeypatch):
    """Leave the attraction of the first recurrent set open, as too sparse a trajectory of it does."""
    judged, seen = attractor_search.attraction_of, []

    def once(record, limit):
        seen.append(limit)
        return (limit, Attraction(None, 0.0)) if len(seen) == 1 else judged(record, limit)

    monkeypatch.setattr(attractor_search, "attraction_of", once)


def cloud(stability="undecided"):
    states = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1, 30)), axis=-1).reshape(-1, 2)
    return LimitSet("recurrent set", stability, states, states, float("nan"), np.empty(0, complex), spacing=0.05)


@pytest.mark.slow
def test_an_attractor_that_was_open_at_first_is_no_second_limit_of_a_grid(open_at_first):
    found = basins(Henon(), [[-1, 1], [-0.4, 0.4]], (8, 8), search=Search(longest=2304), shown=False)
    assert [a.stability for a in found.attractors] == ["stable"]
    assert found.others == ()
    assert min(found.labels.ravel()) >= -2


def test_a_search_gives_up_a_set_that_turned_out_to_be_an_attractor():
    run = attractor_search.AttractorSearch.__new__(attractor_search.AttractorSearch)
    saddle = LimitSet("fixed point", "saddle", np.zeros((1, 2)), np.zeros((1, 2)), 1.0, np.array([2.0 + 0j, 0.5]))
    run.attractors, run.others, run.extent = [cloud("stable")], [cloud(), saddle], np.ones(2)
    run.labels, run.other_reached = np.array([-5, -3, 0]), np.array([0, 1, -1])
    run.end()
    assert run.others == [saddle]
    assert run.labels.tolist() == [0, -3, 0]
    assert run.other_reached.tolist() == [-1, 0, -1]


def test_what_does_not_attract_stays_listed_beside_attractors():
    run = attractor_search.AttractorSearch.__new__(attractor_search.AttractorSearch)
    refuted = cloud("not attracting")
    run.attractors, run.others, run.extent = [cloud("stable")], [refuted], np.ones(2)
    run.labels, run.other_reached = np.array([-3]), np.array([0])
    run.end()
    assert run.others == [refuted]


@pytest.mark.slow
def test_an_unstable_limit_is_listed_once_however_many_searches_come_to_it():
    found = basins(Logistic(r=3.2), [[0, 1]], (9,), search=Search(longest=512), shown=False)
    assert [(o.kind, o.stability) for o in found.others] == [("fixed point", "unstable")]
    first = find_attractors(Logistic(r=3.2), jnp.asarray([[0.0], [0.3]]), search=accurate(longest=512))
    run = _GridRun(first.time_map, np.zeros((1, 1)), first)
    run.add(first)
    assert len(run.others) == 1


@pytest.mark.slow
def test_what_is_undecided_is_not_said_not_to_attract(capsys):
    axes = (np.linspace(0, 1, 4), np.linspace(0, 1, 4))
    found = Basins(np.full((4, 4), -5), axes, ("x", "y"), (), (cloud(), cloud("not attracting")), 1.0, 256, np.ones(2))
    tell(found)
    said = capsys.readouterr().out
    assert "  stability undecided: neutral or undecided recurrent set" in said
    assert "  not attracting: not attracting recurrent set" in said
    figure = found._replace(components=Components(("x", "y"), ("", "")), varied=(0, 1), base=np.zeros(2)).plot().figure
    words = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
    assert {"recurrent set, undecided", "recurrent set, not attracting"} <= words

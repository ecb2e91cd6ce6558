"""Crossings, periods and differences of orbits by hand-made paths and rows; curves in a plane by hand-made points."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import orbit_diagrams, poincare
from analysis.dynamics.codim2 import planes
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.degeneracies import Degeneracy
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.flow_maps.rolled_solver import Path
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.poincare import Maxima, Section, Stroboscope, least_period
from dynsim import Diffrax, FunctionFlow
from dynsim.errors import IntegrationError, Outcome

FLOW = FunctionFlow(lambda t, x: jnp.stack([x[1], -4 * x[0]]), names=("q", "p"))


def zigzag(*corners):
    """Return the path of one component through these values at the times 0, 1, 2 and so on, by straight lines."""
    rows = np.array(corners, float)
    coefficients = np.zeros((len(rows) - 1, 7, 1))
    coefficients[:, 0, 0] = np.diff(rows)
    return Path(np.arange(len(rows) - 1.0), np.ones(len(rows) - 1), rows[:-1, None], coefficients)


def crossings(path, direction, samples, turn=np.inf):
    found = poincare._crossings(path, lambda t, x: x[0] - 0.5, samples, direction, turn)
    times, states, signs = (np.asarray(part) for part in found)
    return [
        (round(float(t), 9), round(float(x), 9), float(s)) for t, x, s in zip(times, states[:, 0], signs, strict=True)
    ]


def test_crossings_are_between_their_samples_in_their_direction():
    path, ts = zigzag(0.0, 1.0, -1.0, 0.0, 2.0), np.linspace(0.0, 4.0, 9)
    up, down, late = (0.5, 0.5, 1.0), (1.25, 0.5, -1.0), (3.25, 0.5, 1.0)
    assert crossings(path, 0, ts + 0.01) == [up, down, late]
    assert crossings(path, 1, ts + 0.01) == [up, late]
    assert crossings(path, -1, ts + 0.01) == [down]
    assert crossings(path, 0, ts) == [up, down, late]  # a sample lies on the surface


def test_each_turn_of_an_angle_is_a_crossing():
    path = zigzag(0.0, 7.0, 4.0)
    found = crossings(path, 0, np.linspace(0.03, 1.97, 70), turn=3.0)
    expected = [(0.5 / 7, 0.5, 1), (3.5 / 7, 3.5, 1), (6.5 / 7, 6.5, 1), (1 + 0.5 / 3, 6.5, -1)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_surfaces_are_at_maxima_or_at_multiples_of_the_period():
    x = jnp.asarray([0.25, 3.0])
    for direction, what in ((1, "at a maximum"), (-1, "at a minimum"), (0, "at an extremum")):
        found = poincare.crossing_of(Maxima("p"), FLOW, x, direction)
        assert (found.direction, found.what, float(found.function(0.0, x))) == (direction, what, 1.0)
    clock = poincare.crossing_of(Stroboscope(lambda flow: 6.0), FLOW, x, 1)
    assert (clock.direction, clock.what) == (0, "at a sample")
    assert [round(float(clock.function(t, x)), 9) for t in (3.0, 6.0, 9.0, 12.0)] == [1.0, 0.0, -1.0, 0.0]
    given = poincare.crossing_of(lambda t, x: x[0] - t, FLOW, x, -1)
    assert (given.direction, given.what, float(given.function(1.0, x))) == (-1, "at a crossing", -0.75)


def test_the_least_period_is_up_to_half_of_the_length_and_the_tolerance():
    row = np.array([5.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0])[:, None]
    assert [least_period(row[k:], 1e-9) for k in (0, 1, 2)] == [0, 3, 0]
    assert least_period(np.array([[1.0], [1.5], [1.0], [1.5]]), 0.5) == 1
    assert least_period(np.array([[1.0], [1.5], [1.0], [1.5]]), 0.4) == 2
    drift = np.linspace(0.0, 1.0, 11)[:, None]
    assert least_period(drift, 0.3) == 0
    turns = np.array([[0.0], [3.0], [6.0], [9.0]])
    assert (least_period(turns, 1e-9), least_period(turns, 1e-9, np.array([3.0]))) == (0, 1)


def test_a_section_closes_in_units_of_its_trajectory():
    states = np.array([[1.0, 100.0], [1.0, 100.0005]] * 4)
    section = Section(np.arange(8.0), states, np.ones(8), 0.1, True, angles=np.full(2, np.inf))
    assert section.period() == 1  # relative to the size of all states
    assert section._replace(extent=np.array([1.0, 10.0])).period() == 2
    assert section._replace(extent=np.array([1.0, 1000.0])).period() == 1
    wide = section._replace(states=np.array([[1.0, 0.0], [1.0, 8.0]] * 4), extent=np.array([0.0, 4.0]))
    assert wide.period() == 2
    assert wide._replace(angles=np.array([np.inf, 8.0])).period() == 1
    empty = section._replace(times=np.empty(0), states=np.empty((0, 2)))
    assert empty.period() == 0


def test_a_return_map_pairs_each_direction_by_itself_and_knows_the_size_of_states():
    states = np.array([[1.0, -9.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 7.0]])
    section = Section(np.arange(5.0), states, np.array([1.0, -1, 1, -1, 1]), 0.1, True, ("q", "p"), ("m", "s"))
    found = section.return_map("q")
    assert found.pairs.tolist() == [[1.0, 3.0], [3.0, 5.0], [2.0, 4.0]]
    assert (found.name, found.unit, found.what, found.size) == ("q", "m", "at a crossing", 9.0)
    of = section.return_map(lambda x: x[0] + x[1])
    assert (of.pairs.tolist(), of.name) == ([[-8.0, 3.0], [3.0, 12.0], [2.0, 4.0]], "coordinate")


def test_periods_of_orbit_diagrams_are_told_up_to_errors_of_the_extent():
    rows = np.array([[1.0, 1.0 + 2e-6, 1.0, 1.0 + 2e-6], [3.0, 0.0, 3.0, 0.0], [np.nan] * 4])
    found = OrbitDiagram(np.arange(3.0), rows, start=0.5)
    assert found.periods().tolist() == [1, 2, 0]  # the extent is 3
    assert found.periods(1e-6).tolist() == [2, 2, 0]
    assert OrbitDiagram(np.arange(3.0), rows).periods().tolist() == [2, 2, 0]
    small = OrbitDiagram(np.arange(1.0), 1e-9 * np.array([[1.0, 2.0, 1.0, 2.0]]), start=1.0)
    assert small._errors() == pytest.approx(1e-12)
    assert small._replace(start=1e-9).periods().tolist() == [2]
    assert str(found) == "orbits of 4 steps for 3 parameters, 1 escape"


def test_both_directions_differ_where_their_ends_do_or_one_escapes():
    up = OrbitDiagram(np.arange(4.0), np.array([[0.0, 1.0], [0.0, 2.0], [np.nan] * 2, [0.0, 10.0]]), "r")
    down = up._replace(values=np.array([[1.0, 0.0], [0.0, 2.0 + 10 * orbit_diagrams.APART * 1.1], [0.0, 1.0],
                                        [10 * orbit_diagrams.APART * 0.9, 10.0]]))  # fmt: skip
    both = HysteresisDiagram(up, down)
    assert both.differs().tolist() == [False, True, True, False]
    assert both.differs(0.5).tolist() == [False, False, True, False]
    assert str(both).endswith("through 4 values of r; both directions differ at 2, from 1 to 2")
    gone = HysteresisDiagram(up._replace(values=up.values[2:3]), up._replace(values=up.values[2:3]))
    assert gone.differs().tolist() == [False]


def test_the_crossings_of_one_flow_end_with_the_search(monkeypatch):
    surface, solver, start = lambda t, x: x[0], Diffrax(), jnp.zeros(1)
    task = orbit_diagrams._Task(np.zeros(1), start, lambda x: 10 * x[0], "", "", surface, -1, 2.0, 5.0, 4, solver)
    asked: dict[str, Any] = {}
    section = Section(np.array([3.0, 4.0, 6.0]), np.array([[1.0], [2.0], [3.0]]), np.ones(3), 0.1, False)
    monkeypatch.setattr(orbit_diagrams, "after_transient", lambda *given: asked.update(transient=given) or "late")
    monkeypatch.setattr(orbit_diagrams, "section_from", lambda *given: asked.update(section=given) or section)
    found, last = orbit_diagrams._crossed_alone(FLOW, start, task)
    np.testing.assert_array_equal(found, [10.0, 20.0, np.nan, np.nan])
    assert last.tolist() == [3.0]
    assert asked["section"][1:6] == ("late", 2.0, surface, 4, -1)
    assert asked["section"][7:] == (5.0, solver)

    def failing(*given):
        raise IntegrationError("It ends.", outcome=Outcome.NON_FINITE)

    monkeypatch.setattr(orbit_diagrams, "section_from", failing)
    found, last = orbit_diagrams._crossed_alone(FLOW, start, task)
    assert np.isnan(found).all()
    assert np.isnan(last).all()


def curve(kind="fold", **changed):
    row = np.linspace(0.0, 1.0, 11)
    made = CriticalCurve(kind, row, row**2, row[:, None], 2 * row, (), ("bounds",) * 2)
    return made._replace(**changed)


def test_a_curve_passes_points_and_covers_its_own_parts():
    fold = lambda p, x: Bifurcation("fold", np.array([x]), p, np.empty(0), 0.0, 0.0, np.zeros(3))
    assert planes._passes(curve(), fold(0.5, 0.5), 0.25)
    assert not planes._passes(curve(), fold(0.5, 0.9), 0.25)
    assert not planes._passes(curve(), fold(0.5, 0.5), 0.9)
    assert not planes._passes(curve("Hopf point"), fold(0.5, 0.5), 0.25)
    part = curve(first=np.array([0.2, 0.6]), second=np.array([0.04, 0.36]), states=np.array([[0.2], [0.6]]))
    assert planes._covers(curve(), part)
    assert not planes._covers(part, curve())
    assert not planes._covers(curve(iterate=2), part)


def test_a_curve_leads_through_a_point_of_its_kind_with_the_nearest_frequency():
    point = Degeneracy("double Hopf point", np.zeros(1), 0.5, 0.25)
    through = curve("Hopf point", degeneracies=(point,))
    at = lambda one, turn, turns=(1.1, 2.5): planes._leads_through(one, "Hopf point", point, turn, list(turns))
    assert (at(through, 1.1), at(through, 2.5), at(through, None)) == (True, False, True)
    assert not at(curve("fold", degeneracies=(point,)), None)
    assert not at(curve("Hopf point"), None)
    away = point._replace(first=0.6)
    assert not at(curve("Hopf point", degeneracies=(away,)), 1.1)


def test_neighbours_on_a_grid_are_beside_above_and_below():
    sheets = planes._Sheets.__new__(planes._Sheets)
    sheets.grid = np.zeros((2, 3, 2))
    assert [sorted(sheets._beside(place)) for place in (0, 1, 4, 5)] == [[1, 3], [0, 2, 4], [1, 3, 5], [2, 4]]

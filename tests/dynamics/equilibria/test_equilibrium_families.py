"""Curves of equilibria in closed form: where they are, their types, how they end, and that they attract as one set."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.attractors.distances import one_curve
from analysis.dynamics.attractors.limit_set import CURVE, SURFACE, LimitSet
from analysis.dynamics.attractors.search import NOT_ATTRACTING, find_attractors
from analysis.dynamics.attractors.surfaces import alike, leads_to
from analysis.dynamics.equilibria import families
from analysis.dynamics.equilibria.families import equilibrium_families, family_through
from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.linearisation import spectrum
from analysis.dynamics.portraits.plane import phase_plane
from analysis.dynamics.scaling.units import made_units
from dynsim import FunctionFlow, Sphere, random_key
from dynsim.programs import without_compiling
from tests.support.searches import accurate


def epidemic(t, x, beta=0.5, gamma=0.2):
    """Return the rates of susceptible and infected; every point with i = 0 is an equilibrium."""
    return jnp.stack([-beta * x[0] * x[1], beta * x[0] * x[1] - gamma * x[1]])


def found_from(flow, rests, size, *, axes=None):
    """Return the isolated ones of some equilibria, and the families of others within a distance from the origin."""
    starts, size = jnp.asarray(rests, float), np.asarray(size, float)
    given = [Equilibrium(x, 0.0, spectrum(flow, x), 1) for x in starts]
    inside = lambda x: bool(np.all(np.abs(x) <= size * (1 + 1e-9)))
    return equilibrium_families(flow, given, starts, size, inside=inside, axes=axes)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_disease_free_equilibria_are_stable_below_the_threshold(unit):
    flow = FunctionFlow(lambda t, x: epidemic(t, x / unit) * unit)
    isolated, (family,) = found_from(flow, unit * np.array([[0.7, 0.0], [0.1, 0.0], [0.3, 0.0]]), [unit, unit])
    assert (isolated, family.end) == ((), "open")
    assert [word for word, *_ in family.runs] == ["stable", "unstable"]
    change = family.runs[1][1]
    np.testing.assert_allclose(family.points[[0, change, -1]] / unit, [[-1, 0], [0.4, 0], [1, 0]], atol=2e-6)
    steps = np.linalg.norm(np.diff(family.points, axis=0), axis=1) / unit
    assert np.max(steps) < 1.01 * np.sqrt(2) / 150
    assert str(family).endswith(": stable, unstable from (0.4, 0)") or unit > 1


@pytest.mark.slow
def test_which_equilibrium_was_found_does_not_matter():
    ends = [found_from(FunctionFlow(epidemic), [[s, 0.0]], [1, 1])[1][0].points[[0, -1]] for s in (-0.85, 0.15, 0.85)]
    np.testing.assert_allclose(ends, np.broadcast_to([[-1, 0], [1, 0]], (3, 2, 2)), atol=1e-6)


@pytest.mark.slow
def test_curves_that_cross_are_two_and_change_their_type_there():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] * x[1]] * 2))
    isolated, known = found_from(flow, [[0.0, 0.5], [0.5, 0.0], [0.0, 0.0], [0.0, -0.7]], [2, 1])
    ends = sorted(tuple(np.round(np.ravel(f.points[[0, -1]]), 5) + 0.0) for f in known)
    assert (isolated, ends) == ((), [(-2, 0, 2, 0), (0, -1, 0, 1)])
    for family in known:
        assert [word for word, *_ in family.runs] == ["stable", "unstable"]
        np.testing.assert_allclose(family.points[family.runs[1][1]], 0.0, atol=1e-5)


def test_a_degenerate_equilibrium_is_no_family_and_a_plane_of_them_is_a_surface():
    flat = FunctionFlow(lambda t, x: jnp.stack([-(x[0] ** 3), -(x[1] ** 5)]))
    isolated, known = found_from(flat, [[0.0, 0.0]], [1, 1])
    assert (len(isolated), known) == (1, ())
    rest = FunctionFlow(lambda t, x: 0 * x)
    isolated, known = found_from(rest, [[0.5, 0.2], [-0.5, 0.7]], [1, 1])
    assert (isolated, [str(f) for f in known]) == ((), ["surface of equilibria through (0.5, 0.2)"])


@pytest.mark.slow
def test_a_slice_shows_the_part_of_a_surface_in_it():
    whole = FunctionFlow(lambda t, x: jnp.append(epidemic(t, x[:2]), 0.2 * x[1]))  # with the recovered, any number
    _, (surface,) = found_from(whole, [[0.3, 0.0, 0.1]], [1, 1, 1])
    assert surface.end == "surface"
    _, (family,) = found_from(whole, [[0.3, 0.0, 0.1], [0.8, 0.0, 0.1]], [1, 1, 1], axes=(0, 1))
    assert [word for word, *_ in family.runs] == ["stable", "unstable"]
    np.testing.assert_allclose(family.points[[0, -1]], [[-1, 0, 0.1], [1, 0, 0.1]], atol=2e-6)


@pytest.mark.parametrize(("sign", "kind"), [(1, "stable"), pytest.param(-1, "unstable", marks=pytest.mark.slow)])
def test_the_equator_of_a_sphere_attracts_or_repels(monkeypatch, sign, kind):
    monkeypatch.setattr(families, "STEPS", 10)
    flow = FunctionFlow(lambda t, x: sign * jnp.array([2.0, 2.0, 1.0]) * x, Sphere())
    with without_compiling():
        isolated, (family,) = found_from(flow, [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [1, 1, 1])
    assert (family.end, set(family.kinds), len(isolated)) == ("closed", {kind}, 1)
    assert np.max(np.abs(family.points[:, 2])) < 1e-8
    assert abs(len(family.points) - 2 * np.pi * 10 / np.sqrt(3)) < 2


def test_a_long_family_is_cut_and_an_isolated_equilibrium_is_none(monkeypatch):
    monkeypatch.setattr(families, "LONGEST", 5)
    units = made_units(FunctionFlow(lambda t, x: x * (1.0 - jnp.sum(x**2))))
    with without_compiling():
        family = family_through(units, np.array([0.6, 0.8]), np.full(2, 2.0))
        assert family_through(units, np.zeros(2), np.full(2, 2.0)) is None
    assert family is not None
    assert (family.end, len(family.points), {*family.kinds}) == ("cut", 11, {"stable"})


@pytest.mark.slow
def test_a_portrait_has_the_curve_and_no_separatrices_of_its_points():
    found = phase_plane(FunctionFlow(epidemic), [0.0, 1.0, 0.0, 1.0], grid=9)
    (family,) = found.families
    assert (found.equilibria, found.stable_curves.size, found.unstable_curves.size) == ((), 0, 0)
    np.testing.assert_allclose(family.points[[0, -1]], [[0, 0], [1, 0]], atol=2e-6)
    assert str(found) == "curve of equilibria from (0, 0) to (1, 0): stable, unstable from (0.4, 0)"


@pytest.mark.slow
def test_an_equilibrium_on_the_edge_of_a_box_is_in_it():
    flow = FunctionFlow(lambda t, x: x * (1 - x) * jnp.array([1.0, 2.0]) + 1e-14)  # zeros just beyond
    found = find_equilibria(flow, random_key(0, "edge"), box=[[0, 1], [0, 1]])
    assert (len(found.found), found.outside) == (4, 0)
    beyond = find_equilibria(flow, random_key(0, "edge"), box=[[1e-3, 1], [1e-3, 1]])
    assert (len(beyond.found), beyond.outside) == (1, 3)


@pytest.mark.slow
def test_a_family_that_enters_the_box_is_not_outside():
    flow = FunctionFlow(lambda t, x: epidemic(t, x + jnp.array([0.0, 1e-18])))
    found = find_equilibria(flow, random_key(0, "family"), box=[[0, 1], [0, 1]], num_starts=8)
    assert (len(found.families), found.outside) == (1, 0)
    assert str(found).startswith("0 equilibria: none isolated; 1 not isolated (a symmetry, or zero modes);")


@pytest.mark.slow
def test_an_attracting_curve_of_equilibria_is_one_attractor():
    starts = np.random.default_rng(0).uniform(size=(12, 2))
    starts[:2] = [[0.7, 0.0], [0.8, 0.0]]  # at rest where the curve repels
    found = find_attractors(FunctionFlow(epidemic), starts, search=accurate())
    (curve,) = found.attractors
    assert (curve.kind, curve.stability) == ("curve of equilibria", "stable")
    assert list(found.labels) == [-3] * 2 + [0] * 10
    np.testing.assert_allclose(curve.states[-1], [0.4, 0.0], atol=1e-6)
    assert str(curve).startswith("stable curve of equilibria from [")
    assert [str(other).split(" from ")[0] for other in found.others] == ["unstable curve of equilibria"]


@pytest.mark.slow
def test_perturbations_return_to_a_ring_of_equilibria():
    angles = np.linspace(0.3, 6.0, 8)
    starts = np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.linspace(0.2, 1.8, 8)[:, None]
    found = find_attractors(FunctionFlow(lambda t, x: x * (1 - x @ x)), starts, search=accurate())
    (ring,) = found.attractors
    assert (ring.kind, ring.radius, set(found.labels)) == ("curve of equilibria", 0.1, {0})


def test_a_curve_begins_at_the_smaller_end_and_a_closed_one_moves_towards_the_smaller_neighbour():
    turned = lambda rows, closed, step=1.0: families._oriented(np.array(rows, float), closed, step).tolist()
    bent = [[0.0, 2.0], [3.0, 0.0], [1.0, 0.5]]
    assert turned(bent, False) == bent
    assert turned(bent[::-1], False) == bent
    assert turned(bent, False, 4.1) == bent[::-1]  # of two ends that are one in the first coordinate the second decides
    square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    assert turned(square, True) == [square[0], *square[:0:-1]] == turned([square[0], *square[:0:-1]], True)


def test_parts_of_a_curve_are_one_set():
    points = np.stack([np.linspace(0, 1, 21), np.zeros(21)], axis=1)
    part = lambda rows, word="stable": LimitSet(CURVE, word, rows, rows, 0.0, np.zeros(2), spacing=0.025)
    one, other, unit = part(points[:12]), part(points[11:]), np.ones(2)
    assert one_curve(one, other, unit)
    assert not one_curve(one, part(points[11:], "unstable"), unit)  # they meet where the type changes
    assert not one_curve(one, part(points + [0.0, 0.1]), unit)
    assert not one_curve(one, other._replace(kind="equilibrium"), unit)


def test_a_segment_of_equilibria_has_the_type_of_its_inner_points_at_both_ends(monkeypatch):
    """X' is 0 for |x| < 1, and its derivative at 1, where it jumps, is half of that beyond."""
    monkeypatch.setattr(families, "STEPS", 20)
    outside = lambda x: jnp.maximum(x, 1) + jnp.minimum(x, -1)
    flow = FunctionFlow(lambda t, x: jnp.stack([outside(x[0]), x[1] * (x[0] - 1.5)]))
    with without_compiling():
        _, (family,) = found_from(flow, [[0.3, 0.0]], [2.0, 2.0])
    np.testing.assert_allclose(family.points[[0, -1]], [[-1, 0], [1, 0]], atol=1e-6)
    assert (family.end, [word for word, *_ in family.runs]) == ("open", ["stable"])


SHEETS = FunctionFlow(lambda t, x: jnp.stack([0 * x[0], 0 * x[1], (x[2] - x[0] ** 2) * (1 - (x[2] - x[0] ** 2) ** 2)]))


def test_steps_along_a_curved_surface_of_equilibria_do_not_lead_to_another_sheet():
    """Equilibria are z = x^2 - 1, x^2 and x^2 + 1, the middle ones unstable; steps lead down only so far."""
    time_map = TimeMap(SHEETS, jnp.zeros(3), state_itself, 1.0, 1e-9, 1e9)
    upper = [[1.2, 1.0, 2.44], [0.0, 0.5, 1.0], [0.0, 0.5, 1.0 + 1e-6], [0.0, 0.5, 1.01], [2.0, 1.0, 5.0]]
    places = np.array([*upper, [-1.2, 0.0, 0.44], [0.0, 0.0, 0.0]])
    reached = lambda *begin: leads_to(time_map, np.array(begin), places, np.full(3, 3.0)).tolist()
    assert reached(-1.2, -1.0, 2.44) == [True, True, True, False, False, False, False]
    assert reached(1.2, -1.0, 0.44) == [False] * 5 + [True, False]
    assert reached(-1.2, -1.0, 1.44) == [False] * 6 + [True]
    assert leads_to(time_map, places[0], places[:0], np.ones(3)).tolist() == []


def test_linearisations_along_a_surface_are_alike_or_not():
    """Of three components two are null."""
    diagonals = lambda *rows: np.array([np.diag(row) for row in rows], float)
    assert alike(diagonals([-1, 0, 0], [-3, 0, 0]))
    assert alike(diagonals([2, 0, 0], [1, 0, 0]))
    assert not alike(diagonals([-1, 0, 0], [1, 0, 0]))  # the type changes
    assert not alike(diagonals([-1, 0, 0], [-1, -1, 0]))  # a curve
    assert not alike(diagonals([-1, -2, 0], [-1, -1, 0]))
    nilpotent = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert not alike(nilpotent[None])  # two null directions, and three eigenvalues that are zero


@pytest.mark.slow  # another flow is compiled
def test_each_attracting_surface_of_equilibria_is_one_attractor():
    starts = np.random.default_rng(0).uniform(-1, 1, (12, 3))
    starts[0] = [0.5, 0.0, 0.25]  # on the unstable one
    starts[1] = [-0.5, 0.3, 0.25]
    found = find_attractors(SHEETS, starts, search=accurate(longest=512))
    assert [a.kind for a in found.attractors] == [SURFACE, SURFACE]
    assert [(one.kind, one.stability) for one in found.others] == [(SURFACE, "unstable")]
    assert found.labels[:2].tolist() == [NOT_ATTRACTING, NOT_ATTRACTING]
    above = starts[2:, 2] > starts[2:, 0] ** 2
    upper = [float(found.attractors[k].state[2] - found.attractors[k].state[0] ** 2) > 0 for k in found.labels[2:]]
    assert upper == above.tolist()
    assert str(found.attractors[0]).startswith("stable surface of equilibria through [")
    grid = basins(SHEETS, [[-1, 1], [-1.55, 1.5]], [7, 7], start=jnp.zeros(3), varied=[0, 2])
    ends = np.array([float(a.state[2] - a.state[0] ** 2) > 0 for a in grid.attractors])
    x, z = np.meshgrid(*grid.axes, indexing="ij")
    assert np.array_equal(ends[grid.labels], z > x**2)


def test_a_line_of_equilibria_changes_its_type_where_the_rate_across_vanishes():
    """On x + y = 1 the rate across is x - 0.3 in its own coordinates; a circle is closed."""
    line = FunctionFlow(lambda t, x: (x[0] - 0.3) * (x[0] + x[1] - 1) * jnp.ones(2))
    ring = FunctionFlow(lambda t, x: x * (1.0 - jnp.sum(x**2)))

    def families(flow, rests):
        given = [Equilibrium(np.array(x), 0.0, spectrum(flow, np.array(x)), 1) for x in rests]
        inside = lambda x: bool(np.max(np.abs(x)) < 2)
        return equilibrium_families(flow, given, np.array(rests), np.array([20.0, 20.0]), inside=inside)

    with without_compiling():
        (family,) = families(line, [[0.9, 0.1], [-0.5, 1.5]])[1]
        (alone,), (circle,) = families(ring, [[0.6, 0.8], [0.0, 0.0]])
    (first, _, last), (second, start, _) = family.runs
    assert (family.end, first, second, last) == ("open", "stable", "unstable", start)
    assert family.points[start] == pytest.approx([0.3, 0.7], abs=1e-4)
    assert np.sum(family.points, axis=1) == pytest.approx(np.ones(len(family.points)))
    assert family.points[[0, -1], [0, 1]] == pytest.approx([-1.0, -1.0], abs=1e-3)
    assert (alone.kind, circle.end, {*circle.kinds}) == ("unstable", "closed", {"stable"})
    assert np.linalg.norm(circle.points, axis=1) == pytest.approx(np.ones(len(circle.points)))
    sides = np.linalg.norm(circle.points - np.roll(circle.points, 1, axis=0), axis=1)
    assert np.sum(sides) == pytest.approx(2 * np.pi, abs=0.05)  # once around
    assert np.max(sides) < 1.8 * 20 * np.sqrt(2) / 150
    assert str(circle).startswith("curve of equilibria closed, through (")

"""Searches of boxes where nullclines cross: wide and thin boxes, degrees, degenerate and many equilibria."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria.centres import centre_type
from analysis.dynamics.equilibria.crossings import (
    NEARER,
    SHARES,
    Completeness,
    _axis,
    _halves,
    box_degree,
    completed,
    crossings,
    may_touch,
    spread,
)
from analysis.dynamics.equilibria.families import equilibrium_families
from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.newton import Finder, in_box, start_units
from analysis.dynamics.equilibria.search import AllEquilibria, equilibria_in_box, find_equilibria
from analysis.dynamics.equilibrium_types import CENTRE
from analysis.dynamics.scaling.units import made_units
from dynsim.keys import random_key
from dynsim.programs import without_compiling
from dynsim.systems.base import FunctionFlow


@pytest.fixture(autouse=True)
def uncompiled():
    with without_compiling():
        yield


def searched(field, low, high):
    """Return the equilibria in a box, sorted, and how sure the search is."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    found, complete = equilibria_in_box(FunctionFlow(field), low, high)
    return [e for e in found if in_box(np.asarray(e.state), low, high)], complete


@pytest.mark.parametrize(
    ("degree", "indices", "resolved", "sure"),
    [(1, 1, True, True), (1, 1, False, False), (1, 0, True, False), (None, None, True, False), (0, None, True, False)],
)
def test_a_search_is_sure_where_degree_and_indices_agree_on_a_grid_that_resolves_them(degree, indices, resolved, sure):
    assert Completeness(degree, indices, resolved).is_sure == sure


def test_a_box_far_larger_than_one_is_searched_in_its_own_units():
    waves = lambda t, u: jnp.stack([jnp.sin(1e-3 * u[0]), jnp.cos(1e-3 * u[1])])
    found, sure = searched(waves, (1e3, 0.0), (1e4, 1e4))
    assert sorted(np.round(np.asarray(e.state) / (500 * np.pi)).tolist() for e in found) == [
        [x, y] for x in (2.0, 4.0, 6.0) for y in (1.0, 3.0, 5.0)
    ]
    assert sure.is_sure


def predators(t, u):
    x, y = u[0], u[1]
    eaten = x * y / (1 + 0.1 * x)
    return jnp.stack([x - eaten - 0.01 * x**2, -y + eaten - 0.1 * y**2])


def van_der_pol(t, x):
    return jnp.stack([x[1], (1 - x[0] ** 2) * x[1] - x[0]])


@pytest.mark.parametrize(
    "high", [(150.0, 50.0), (150.0, 5.0), (1e3, 1e3), (1e6, 1e6), (1e6, 2.0), (110.0, 1e6)], ids=str
)
def test_equilibria_of_small_size_are_found_in_wide_boxes(high):
    found, complete = searched(predators, (0, 0), high)
    places = sorted(np.round(np.asarray(e.state), 3).tolist() for e in found)
    assert places == [[0.0, 0.0], [1.25, 1.111], [100.0, 0.0]]
    assert complete.is_sure
    assert complete.degree == -1


@pytest.mark.parametrize("seed", range(6))
def test_saddles_on_the_axes_are_in_the_window(seed):
    K, N, P = np.random.default_rng(seed).uniform([5, 1.05, 3], [12, 1.5, 7])
    field = lambda t, u: jnp.stack([
        u[0] * (1 - u[0] / K) - u[0] * u[1] / (1 + 0.5 * u[0]), 0.5 * u[0] * u[1] / (1 + 0.5 * u[0]) - 0.3 * u[1],
    ])  # fmt: skip
    found, complete = searched(field, (0, 0), (K * N, P))
    assert len(found) == 3
    assert complete.is_sure


@pytest.mark.parametrize("side", [4.0, 400.0, 4e4, 4e6])
def test_a_simple_equilibrium_in_a_wide_window_is_no_curve(side):
    low, high = -side * np.ones(2), side * np.ones(2)
    found, complete = searched(van_der_pol, low, high)
    assert [e.kind for e in found] == ["unstable"]
    assert complete.is_sure
    alone, curves = equilibrium_families(FunctionFlow(van_der_pol), found, np.array([low, high]), high - low)
    assert (len(alone), curves) == (1, ())


def test_all_of_many_equilibria_are_found():
    found, complete = searched(lambda t, x: jnp.sin(x), (0, 0), (20 * np.pi, 20 * np.pi))
    assert len(found) == 441
    assert complete.is_sure
    pendulum = lambda t, x: jnp.stack([x[1], -9.8 * jnp.sin(jnp.deg2rad(x[0])) - 0.1 * x[1]])
    assert len(searched(pendulum, (-10000, -500), (10000, 500))[0]) == 111


@pytest.mark.parametrize(("rate", "resolved"), [(2000.0, False), (317.0, False), (9.0, True)])
def test_a_field_that_the_grid_does_not_resolve_is_noticed(rate, resolved):
    waves = lambda p: np.stack([np.sin(rate * p[:, 0]), np.cos(0.7 * rate * p[:, 0]) - p[:, 1]], axis=1)
    assert crossings(waves, np.full(2, -2.0), np.full(2, 2.0))[1] == resolved
    assert "varies too fast" in str(Completeness(1, 1, resolved=False))


@pytest.mark.parametrize(
    ("field", "places", "degree"),
    [
        (lambda t, x: jnp.stack([x[0] ** 2, -x[1]]), [(0, 0)], 0),
        (lambda t, x: jnp.stack([x[0] ** 2 - 2 * x[0] + 1, -x[1]]), [(1, 0)], 0),
        (lambda t, x: jnp.stack([x[0] ** 3 - 3 * x[0] ** 2 + 3 * x[0] - 1, -x[1]]), [(1, 0)], -1),
        (lambda t, x: jnp.stack([x[0] ** 2 - x[1] ** 2, -2 * x[0] * x[1]]), [(0, 0)], -2),
        (lambda t, x: jnp.stack([(x[1] - x[0] ** 2) ** 2, x[1] - 1]), [(-1, 1), (1, 1)], 0),
        (lambda t, x: jnp.stack([jnp.abs(x[0]) - 1, -x[1]]), [(-1, 0), (1, 0)], 0),
        (lambda t, x: jnp.stack([(x[0] - 0.3) ** 2 - 1e-8, -x[1]]), [(0.2999, 0), (0.3001, 0)], 0),
        (lambda t, x: jnp.stack([jnp.exp(-20 * x[0]), 1 - x[1]]), [], 0),
        (lambda t, x: jnp.stack([1 - jnp.sqrt(x[0] + 1) * x[1], jnp.sqrt(x[0] + 1) - x[1]]), [(0, 1)], None),
    ],
)
def test_degenerate_equilibria_are_found_once(field, places, degree):
    found, complete = searched(field, (-1.9, -2.1), (2, 2))
    states = np.reshape(sorted(np.asarray(e.state).tolist() for e in found), (-1, 2))
    assert len(states) == len(places)
    assert np.allclose(states, np.reshape(places, (-1, 2)), atol=2e-5)
    assert complete == Completeness(degree, degree, True)


@pytest.mark.parametrize("d", [1, 3])
def test_a_pair_just_after_a_fold_is_two_equilibria_in_a_large_box(d):
    """The pair is closer together than equilibria that count as one otherwise, in units of the box."""
    at, mu, side = 312.3, 1e-8, 1000.0
    flow = FunctionFlow(lambda t, x: jnp.append((x[:1] - at) ** 2 - mu, -x[1:]))
    found = find_equilibria(flow, jax.random.key(0), box=[(-side, side)] * d)
    places = sorted(float(np.ravel(e.state)[0]) - at for e in found.found)
    assert places == pytest.approx([-np.sqrt(mu), np.sqrt(mu)], rel=1e-6)
    assert not found.completeness.is_doubtful
    once = find_equilibria(flow, jax.random.key(0), box=[(-side, side)] * d, radius=1e-3)
    assert len(once.found) == 1


def test_a_missed_pair_is_not_excluded_in_words():
    """Both equilibria are inside of one cell of the grid, on whose edges the field is 1."""
    dip = lambda t, x: 1 - 1.1 * jnp.exp(-(((x - 0.2345) / 1e-3) ** 2))
    found, complete = searched(dip, [-1.0], [1.0])
    assert not found
    assert "others could be missed in pairs only" in str(complete)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (lambda t, x: jnp.stack([x[1], -9.8 * jnp.sin(x[0])]), "centre (area is conserved)"),
        (lambda t, x: jnp.stack([x[1] - x[0] ** 5, -x[0]]), "centre of the linearisation"),  # it attracts very weakly
        (lambda t, x: 1e-5 * jnp.stack([x[1] - x[0] ** 3, -x[0]]), "stable weak focus"),
        (lambda t, x: jnp.stack([x[1] + x[0] ** 3, -x[0]]), "unstable weak focus"),
        (lambda t, x: jnp.stack([x[1] - x[1] ** 3 / 4, -x[0] - x[1] ** 2]), "centre (the field is reversible)"),
        (
            lambda t, x: jnp.stack([x[1] - x[1] ** 3 / 4 - 2e-5 * jnp.maximum(x[0], 0.0) ** 5, -x[0] - x[1] ** 2]),
            "centre of the linearisation",  # reversed in one half of the plane only
        ),
        (lambda t, x: jnp.stack([x[1], -9.8 * jnp.sin(x[0]) - 1e-3 * x[1]]), "stable focus"),
        (lambda t, x: jnp.stack([x[1], -(x[0] ** 3)]), "not hyperbolic (2 zero eigenvalues)"),
        # a fold at its value of the parameter, where Newton's method ends 6e-10 away
        (lambda t, x: jnp.stack([x[1], -(x[0] ** 2) - x[1]]), "not hyperbolic (1 zero eigenvalue)"),
    ],
)
def test_a_centre_is_confirmed_or_called_one_of_the_linearisation(field, words):
    (found,), _ = searched(field, (-1, -1), (1, 1))
    assert (found.description, found.kind) == (words, "stable" if words == "stable focus" else "undecided")
    assert words in str(found.spectrum)
    assert str(AllEquilibria((found,), (), 0, 1, 32, "quiet")).startswith(f"1 equilibrium: 1 {words};")


def test_a_centre_is_one_of_the_linearisation_where_time_or_more_components_count():
    A, none = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.zeros(2)
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1] + x[0] ** 3, -x[0]]))
    with without_compiling():
        rows = [FieldRows(made_units(flow), none[None], t) for t in (0.0, 1.0)]
        found = [centre_type(one, none, A, flow, none) for one in rows]
        space = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0], -x[2]]))
        found.append(centre_type(FieldRows(made_units(space), np.zeros((1, 3))), np.zeros(3), np.eye(3), space, none))
    assert found == ["unstable weak focus", CENTRE, CENTRE]


def test_an_axis_has_cells_between_two_points_and_finer_ones_towards_these_zero_and_the_ends():
    found, inner = _axis(-2.0, 5.0, -1.0, 4.0, 10), np.linspace(-1.0, 4.0, 11)
    near = 5 * NEARER[(NEARER > 0) & (NEARER < 0.2)]
    expected = np.concatenate([[-2.0, 0.0, 5.0], inner, -1 + near, 4 - near, near, -near])
    assert np.all(np.min(np.abs(expected[:, None] - found), axis=1) < 1e-12)
    assert (found[0], found[-1], bool(np.all(np.diff(found) > 0))) == (-2.0, 5.0, True)
    assert len(_axis(1.0, 2.0, 1.0, 2.0, 1)) < len(
        _axis(-1.0, 1.0, -1.0, 1.0, 1)
    )  # zero and its neighbours are outside


def test_where_a_component_may_touch_zero_does_not_depend_on_its_unit_or_sign():
    x = np.linspace(-1.0, 1.0, 21)
    bowl = np.stack(np.broadcast_arrays((x[:, None] - 0.04) ** 2 + 1e-3, 3 + x[None, :]), axis=-1)
    marked = may_touch(bowl, 0)
    assert np.argwhere(marked[..., 0].any(axis=1)).ravel().tolist() == [10]
    assert not np.any(marked[..., 1])
    for unit in (1e-9, -1e-9, -1.0, 1e9):
        assert np.array_equal(may_touch(unit * bowl, 0), marked)
    assert not np.any(may_touch(bowl + 1.0, 0))
    assert np.array_equal(may_touch(np.swapaxes(bowl, 0, 1), 1), np.swapaxes(marked, 0, 1))


def test_midpoints_of_cells_are_inside_of_a_box_and_on_no_axis_of_symmetry():
    low, high = np.array([-2.0, 1.0]), np.array([2.0, 1.5])
    places = (spread(low, high, 5) - low) / (high - low)
    cells, inside = np.divmod(5 * places, 1)
    assert sorted(map(tuple, cells.astype(int).tolist())) == [(i, j) for i in range(5) for j in range(5)]
    assert np.all((inside > 0.5) & (inside < 0.6))


def test_the_degree_of_a_field_on_the_edge_of_a_box():
    low, high = np.array([-1.0, -2.0]), np.array([1.5, 2.0])
    turned = lambda n: lambda p: np.stack([((z := p[:, 0] + 1j * p[:, 1]) ** n).real, (z**n).imag], axis=1)
    assert [box_degree(turned(n), low, high) for n in (1, 2, 5)] == [1, 2, 5]
    assert box_degree(lambda p: p * [1, -1e9], low, high) == -1
    assert box_degree(lambda p: p - low, low, high) is None  # a zero in the corner
    assert box_degree(lambda p: np.stack([np.sign(p[:, 1] + 0.01), p[:, 0]], axis=1), low, high) is None  # jumps
    assert box_degree(lambda p: np.where(p > 0, p, np.nan), low, high) is None
    assert box_degree(lambda p: p, low[:1], high[:1]) == 1
    assert box_degree(lambda p: p**2 - 0.25, low[:1], high[:1]) == 0


def test_the_degrees_of_two_halves_count_the_zeros_in_them():
    """The zeros of (z - a)(z - b) conj(z - c) have the indices 1, 1 and -1; a cut through one of them is moved."""
    low, high = np.array([-1.0, 2.0]), np.array([7.0, 3.0])
    middle = low[0] + SHARES[0] * (high[0] - low[0])
    zeros, indices = np.array([0.5 + 2.5j, middle + 2.4j, 6.0 + 2.6j]), np.array([1, 1, -1])

    def field(t, u):
        times = lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
        first, second, third = ((u[0] - z.real, u[1] - z.imag) for z in zeros)
        return jnp.stack(times(times(first, second), (third[0], -third[1])))

    corners = np.stack([low, high])
    parts = _halves(FieldRows(made_units(FunctionFlow(field)), corners), low, high, 1)
    cut = low[0] + SHARES[1] * (high[0] - low[0])
    assert [(a.tolist(), b.tolist()) for a, b, _ in parts] == [([-1.0, 2.0], [cut, 3.0]), ([cut, 2.0], [7.0, 3.0])]
    within = [np.sum(indices[(zeros.real > a[0]) & (zeros.real < b[0])]) for a, b, _ in parts]
    assert [degree for _, _, degree in parts] == within == [2, -1]
    undefined = FunctionFlow(lambda t, u: u * jnp.nan)
    assert _halves(FieldRows(made_units(undefined), corners), low, high, 1) == []


def test_a_box_whose_degree_is_not_explained_is_searched_again():
    low, high = np.zeros(2), np.array([150.0, 50.0])
    flow, sample = FunctionFlow(predators), np.array([low, high])
    finder = Finder(start_units(flow, sample), sample)
    complete = completed(finder, low / finder.rows.scale, high / finder.rows.scale, Completeness())
    assert complete.is_sure
    assert len(finder.points) >= 1
    relay = FunctionFlow(lambda t, x: jnp.stack([jnp.sign(x[0] - 0.3) * jnp.where(x[1] > 0.2, 1.0, -1.0), x[0] - 0.3]))
    finder = Finder(start_units(relay, sample), sample)
    assert not completed(finder, low, high, Completeness()).is_doubtful  # a jump: no statement


def test_how_sure_a_search_is_is_said():
    assert "add up to the degree" in str(Completeness(1, 1))
    assert "others are missed: their indices add up to 0, the degree of the field is 1" in str(Completeness(1, 0))
    assert str(Completeness(None, 1)) == str(Completeness(1, None)) == "others may be missed"
    assert [c.is_doubtful for c in (Completeness(1, 1), Completeness(), Completeness(1, 0))] == [False, False, True]


def test_curves_of_equilibria_that_cross_are_followed_to_the_ends_of_the_window():
    low, high = np.array([-2.0, -1.0]), np.array([1.0, 2.0])
    field, inside, corners = lambda t, x: -x * x[::-1] ** 2, lambda x: in_box(x, low, high), np.array([low, high])
    found, _ = searched(field, low, high)
    _, curves = equilibrium_families(FunctionFlow(field), found, corners, high - low, inside=inside)
    assert len(curves) == 2
    assert all(np.max(np.ptp(one.points, axis=0)) > 2.9 for one in curves)


def test_equilibria_of_a_line():
    budworm = lambda t, x: 0.5 * x * (1 - x / 10) - x**2 / (1 + x**2)
    found, complete = searched(budworm, [0.0], [40.0])
    assert np.allclose(sorted(float(e.state[0]) for e in found), [0.0, 0.683375, 2.0, 7.316625], atol=1e-6)
    assert complete == Completeness(0, 0, True)
    double = lambda t, x: (x - 1 / 3) ** 2 * (x + 1)
    found, complete = searched(double, [-2.0], [2.0])
    assert sorted(round(float(e.state[0]), 6) for e in found) == [-1.0, 0.333333]
    assert complete.is_sure


def test_species_that_are_absent_are_found_on_faces():
    A = np.eye(4) + 0.1 * np.random.default_rng(1).uniform(size=(4, 4))
    flow = FunctionFlow(lambda t, x: x * (1 - jnp.asarray(A) @ x / 100))
    found = find_equilibria(flow, random_key(0, "species"), box=[[0.0, 1000.0]] * 4)
    assert len(found.found) == 16
    assert "others may be missed" in str(found)


def test_starts_lie_where_both_nullclines_are():
    field = lambda p: np.stack([p[:, 0] - 0.123, p[:, 1] - 10 * p[:, 0]], axis=1)
    starts, resolved = crossings(field, np.zeros(2), np.array([1.0, 5.0]))
    assert resolved
    assert np.max(np.min(np.abs(starts[-9:] - [0.123, 1.23]), axis=0)) < 1e-3


def test_equilibria_are_found_from_a_slice_and_need_not_lie_in_it():
    """Those of a double well, whose third component follows the first one; the slice is at 0.3."""
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] - x[0] ** 3, 0.5 - x[1], x[0] - x[2]]))
    lifted = lambda points: np.column_stack([points, np.full(len(points), 0.3)])
    found, sure = equilibria_in_box(flow, np.array([-2.0, -1.0]), np.array([2.5, 1.5]), lifted=lifted)
    states = np.round([one.state for one in found], 6) + 0.0
    assert sorted(states.tolist()) == [[-1.0, 0.5, -1.0], [0.0, 0.5, 0.0], [1.0, 0.5, 1.0]]
    assert (sure.degree, sure.resolved) == (None, True)

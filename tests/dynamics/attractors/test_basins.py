"""Basins of attraction: closed forms, symmetry, Wilson intervals, matched labels along a parameter, bad input."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from analysis.dynamics.attractors.basins import Basins, _GridRun, basins, labels_of, touching
from analysis.dynamics.attractors.distances import Followed
from analysis.dynamics.attractors.edge_tracking import EdgeState, bisect_outcome, divide_outcomes, edge_state
from analysis.dynamics.attractors.fractions import _fractions, basin_fractions, continued_fractions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import Search, set_up
from analysis.dynamics.attractors.search import (
    ESCAPED,
    FAILED,
    NOT_ATTRACTING,
    NOT_SETTLED,
    Attractors,
    find_attractors,
)
from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.portraits.plane import phase_plane, window
from analysis.dynamics.validated.equilibria import certified_count
from dynsim.cli.portrait import as_before
from dynsim.errors import ArgumentError
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractMap, FunctionFlow, FunctionMap
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.catalogue.oscillators import DoubleWell, Duffing, Pendulum
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter
from tests.support.searches import accurate

REST = LimitSet("fixed point", "stable", np.zeros((1, 1)), np.zeros((1, 1)), 1.0, np.zeros(1))


def newton(k, x):
    """Newton's method for z^3 = 1."""
    z = jax.lax.complex(x[0], x[1])
    w = z - (z**3 - 1) / (3 * z**2)
    return jnp.stack([w.real, w.imag])


def at(key):
    return jax.random.uniform(key, (1,), minval=-2.0, maxval=2.0)


@pytest.fixture(scope="module")
def wells():
    return basins(DoubleWell(h=0.1), [[-2, 2]], [81])


@pytest.mark.slow
def test_the_boundary_of_the_double_well_is_its_saddle(wells):
    roots = np.sort(np.roots([-1, 0, 1, 0.1]).real)
    right = [k for k, a in enumerate(wells.attractors) if float(a.state[0]) > 0]
    assert np.array_equal(wells.labels == right[0], wells.axes[0] > roots[1])
    assert wells.names == ("x",)
    assert sum(wells.shares.values()) == pytest.approx(1)
    assert "basins on 81 points (at most 4096 intervals of" in str(wells)


@pytest.mark.slow
def test_intervals_of_a_grid_become_longer_where_nothing_moves(wells):
    time_map, flat = set_up(DoubleWell(h=0.1), wells.axes[0][:, None], Search())
    none = Attractors((), (), np.zeros(81, int), np.zeros(81, int), np.zeros(81), 1.0, 1, 1, time_map, np.ones(1))
    interval, times = float(time_map.interval), []
    for begun, settings, still in (
        (32, Search(), 0.0),
        (40, Search(), 0.0),
        (32, Search(), 1.0),
        (32, Search(period=1.0), 0.0),
    ):
        run = _GridRun(time_map, flat, none)
        run.begun, run.late = begun, np.repeat(flat[None, 30:50], 9, axis=0) + still * np.arange(9)[:, None, None]
        run.adapt(settings)
        times.append(float(run.time_map.interval) / interval)
    assert times == [16, 1, 1, 1]


@pytest.mark.slow  # other programs are compiled
def test_wells_are_found_in_a_box_a_hundred_thousand_times_as_large():
    """Where the starts are, rates are 1e10 times those in the wells, and these 1e-5 of the box apart."""
    found = basins(DoubleWell(h=0.1), [[-1e5, 1e5]], [10])
    ends = [float(found.attractors[k].state[0]) for k in found.labels]
    np.testing.assert_allclose(ends, np.sort(np.roots([-1, 0, 1, 0.1]).real)[[0] * 5 + [2] * 5], rtol=1e-9)
    own = set_up(DoubleWell(h=0.1), found.axes[0][:, None], Search())
    known = find_attractors(DoubleWell(h=0.1), found.axes[0][:, None], search=accurate(rtol=1e-6))
    ends = [float(known.attractors[k].state[0]) for k in labels_of(*own, known, Search())]
    assert (np.array(ends) > 0).tolist() == [False] * 5 + [True] * 5


@pytest.mark.slow
def test_the_edge_of_a_flow_is_its_unstable_equilibrium(wells):
    found = edge_state(DoubleWell(h=0.1), jnp.asarray([-1.0]), jnp.asarray([1.2]))
    (root,) = np.asarray(found.limit.state)
    assert root == pytest.approx(np.sort(np.roots([-1, 0, 1, 0.1]).real)[1], abs=1e-9)
    assert (found.limit.kind, found.limit.stability, found.unstable_dimension) == ("equilibrium", "unstable", 1)
    assert found.limit.values == pytest.approx([1 - 3 * root**2])
    assert sorted(float(found.attractors.attractors[k].state[0]) > 0 for k in found.labels) == [False, True]
    assert (found.leads_to, found.exponents) == (found.labels[::-1], None)
    assert found.spread.tolist() == [0.0]
    with pytest.raises(ValueError, match="Argument `other` must lie in another basin than `one`"):
        edge_state(DoubleWell(h=0.1), jnp.asarray([1.0]), jnp.asarray([1.2]))


@pytest.mark.slow
def test_the_saddle_itself_is_in_no_basin():
    found = basins(DoubleWell(), [[-2, 2]], [41])
    assert found.labels[20] == NOT_ATTRACTING
    assert (np.sum(found.labels == 0), np.sum(found.labels == 1)) == (20, 20)


@pytest.mark.slow
def test_the_basins_of_newtons_method_turn_into_each_other():
    found = basins(FunctionMap(newton), [[-1.5, 1.5], [-1.5, 1.5]], [40, 41])
    assert len(found.attractors) == 3
    mirrored = np.asarray([k.state for k in found.attractors])
    swap = [int(np.argmin(np.linalg.norm(mirrored - s * [1, -1], axis=1))) for s in mirrored]
    assert np.array_equal(found.labels[:, ::-1], np.asarray(swap)[found.labels])  # complex conjugation
    x, y = np.meshgrid(*found.axes, indexing="ij")
    z = x + 1j * y
    with np.errstate(all="ignore"):
        for _ in range(200):
            z = z - (z**3 - 1) / (3 * z**2)
    ends = np.stack([z.real, z.imag], axis=-1)
    nearest = np.argmin(np.linalg.norm(ends[..., None, :] - mirrored, axis=-1), axis=-1)
    assert np.array_equal(found.labels, nearest)
    assert 0.2 < found.uncertainty_exponent(4).rate < 0.8  # the boundary is fractal


@pytest.mark.slow
def test_what_escapes_is_in_no_basin():
    found = basins(Henon(), [[-2, 2], [-2, 2]], [24, 24])
    x, y = np.meshgrid(*found.axes, indexing="ij")
    with np.errstate(all="ignore"):
        for _ in range(1000):
            x, y = 1 - 1.4 * x**2 + y, 0.3 * x
    assert np.array_equal(found.labels == ESCAPED, ~(np.abs(x) < 1e3))
    assert len(found.attractors) == 1


@pytest.mark.slow  # a flow is compiled
def test_every_start_may_escape():
    found = basins(FunctionFlow(lambda t, x: 1 + x**2), [[-1, 1]], [9])
    assert found.shares == {ESCAPED: 1.0}
    assert "1 escaped" in str(found)


@pytest.mark.slow
def test_rotations_of_a_pendulum_are_one_attractor():
    found = basins(Pendulum(friction=0.5), [[-9, 9], [-1, 1]], [12, 6])
    assert found.shares == {0: 1.0}


@pytest.mark.slow  # a forced flow is compiled
def test_forced_basins_are_those_of_the_map_over_a_period():
    flow = Duffing(delta=0.2, gamma=0.1)
    found = basins(flow, [[-2, 2], [-2, 2]], [12, 12], search=Search(period=2 * np.pi))
    assert len(found.attractors) == 2
    shifted = FunctionFlow(lambda t, x: -flow.velocity(t + np.pi, -x), fastest_period=2 * np.pi)
    other = basins(shifted, [[-2, 2], [-2, 2]], [12, 12], search=Search(period=2 * np.pi))
    assert sorted(other.shares.values()) == pytest.approx(sorted(found.shares.values()), abs=0.1)


def driven(t, x):
    return x - x**3 + 0.2 * jnp.cos(t)


@pytest.mark.slow
def test_the_basins_of_a_forced_flow_meet_at_its_unstable_orbit():
    """To first order this is x = (sin t - cos t) / 10, which is -1/10 at t = 0, between the grid's points."""
    flow, forced = FunctionFlow(driven, fastest_period=2 * np.pi), Search(period=2 * np.pi, longest=256, rtol=1e-5)
    found = basins(flow, [[-1.5, 1.5]], [20], search=forced)
    assert [(a.kind, a.stability) for a in found.attractors] == [("periodic orbit", "stable")] * 2
    assert [a.period for a in found.attractors] == pytest.approx([2 * np.pi] * 2)
    assert np.array_equal(found.labels == found.labels[-1], found.axes[0] > -0.1)


@pytest.mark.slow
def test_shares_of_random_starts_have_wilson_intervals():
    found = basin_fractions(DoubleWell(), at, 400, jax.random.key(3), confidence=0.999)
    n, z = 400, 3.2905267314919255
    for count, low, high in zip(found.counts, found.low, found.high, strict=True):
        p = count / n
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        assert (low, high) == pytest.approx((middle - half, middle + half))
        assert low < 0.5 < high
    assert "400 starts, 0.999 intervals: 0." in str(found)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_counts_of_labels_have_the_wilson_interval_of_their_shares(confidence):
    """The ends are the p at which the share is as many standard deviations off as the confidence says."""
    labels, rest = np.repeat([0, 1, ESCAPED, FAILED], [30, 0, 9, 1]), {0: REST, 1: REST}
    found = _fractions(labels, rest, confidence, False)
    assert found.labels.tolist() == [0, 1, ESCAPED, FAILED]
    assert found.counts.tolist() == [30, 0, 9, 1]
    assert (found.total, found.confidence) == (40, confidence)
    z = scipy.stats.norm.ppf((1 + confidence) / 2)
    for p, sign in ((found.low, -1), (found.high, 1)):
        np.testing.assert_allclose(p - found.shares, sign * z * np.sqrt(p * (1 - p) / 40), atol=1e-12)


def test_a_grid_has_both_ends_of_the_box_on_every_axis(monkeypatch):
    """And its points, in the order of the labels, are the starts, with the other components as given."""
    seen = []

    def label(time_map, flat, search, shown):
        seen.append(np.asarray(flat))
        return SimpleNamespace(
            labels=np.arange(len(flat)), attractors=(), others=(), interval=1.0, longest=1, extent=np.ones(3),
            is_stiff=False,
        )  # fmt: skip

    monkeypatch.setattr("analysis.dynamics.attractors.basins.set_up", lambda system, starts, search: (None, starts))
    monkeypatch.setattr("analysis.dynamics.attractors.basins.labelled", label)
    found = basins(FunctionFlow(lambda t, x: -x), [[-2, 1], [0, 5]], [4, 6], start=[7.0, 8.0, 9.0], varied=[2, 0])
    assert [axis.tolist() for axis in found.axes] == [[-2, -1, 0, 1], [0, 1, 2, 3, 4, 5]]
    for place, label in np.ndenumerate(found.labels):
        assert seen[0][label].tolist() == [found.axes[1][place[1]], 8.0, found.axes[0][place[0]]]


def test_basins_that_touch_are_paired_once():
    labels = np.array([[0, 0, 2], [0, 1, 2], [-1, 1, 2]])
    found = touching(labels)
    assert list(found) == [(0, 1), (0, 2), (1, 2)]
    for (one, other), (first, second) in found.items():
        assert (labels[first], labels[second]) == (one, other)
        assert np.sum(np.abs(np.subtract(first, second))) == 1
    assert touching(np.array([0, -1, 1])) == {}
    assert touching(np.array([[0, 0, 0], [1, 1, 1]])) == {(0, 1): ((0, 1), (1, 1))}  # the middle one
    assert touching(np.array([1, 0])) == {(0, 1): ((1,), (0,))}


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["distance", "enclosure"])
def test_labels_follow_their_attractors_along_a_parameter(matching):
    values = np.array([-0.5, -0.2, 0.2, 0.5])
    found = continued_fractions(
        Parameter(DoubleWell(), "h", -0.5, 0.5), values, at, 60, jax.random.key(0), matching=matching, furthest=0.4
    )
    assert (found.labels.tolist(), found.name) == ([0, 1], "h")
    sides = [{label: np.sign(float(a.state[0])) for label, a in row.items()} for row in found.attractors]
    assert sides == [{0: -1}, {0: -1, 1: 1}, {0: -1, 1: 1}, {1: 1}] or sides == [
        {0: -1}, {1: 1, 0: -1}, {1: 1, 0: -1}, {1: 1}
    ]  # fmt: skip
    assert np.isnan(found.shares[0, 1])
    assert np.isnan(found.shares[-1, 0])
    assert found.shares[1, 0] > found.shares[2, 0]


class Pitch(AbstractMap):
    """x -> 3/2 x - x^3 / 2 + h: two attracting points for |h| < 0.192, the folds, and one beyond."""

    h: object = parameter("h", 0.0)
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return 1.5 * x - 0.5 * x**3 + self.h


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["distance", "enclosure"])
def test_labels_of_a_map_follow_their_attractors_along_a_parameter(matching):
    found = continued_fractions(
        Parameter(Pitch(), "h", -0.3, 0.3),
        [-0.3, -0.1, 0.1, 0.3],
        at,
        16,
        jax.random.key(0),
        matching=matching,
        furthest=0.4,
    )
    assert found.labels.tolist() == [0, 1]
    sides = [{label: np.sign(float(a.state[0])) for label, a in row.items()} for row in found.attractors]
    assert sides == [{0: -1}, {0: -1, 1: 1}, {0: -1, 1: 1}, {1: 1}]
    assert np.isnan(found.shares).tolist() == [[False, True], [False, False], [False, False], [True, False]]
    assert found.shares[1, 0] > found.shares[2, 0]
    assert np.all(np.nansum(found.shares, axis=1) == 1)
    inside = (found.low <= found.shares) & (found.shares <= found.high)
    assert np.array_equal(inside, ~np.isnan(found.shares))


def test_basins_in_a_movie_have_the_labels_of_the_attractors_that_theirs_continue():
    rest = lambda x: LimitSet("fixed point", "stable", np.array([[x]]), np.array([[x]]), 1.0, np.zeros(1))
    at = lambda labels, *xs: Basins(
        np.array(labels), (np.arange(3.0),), ("x",), tuple(map(rest, xs)), (), 1.0, 1, np.ones(1)
    )
    along, ones = (
        Followed(),
        [at([0, 0, -2], -1), at([0, 1, -1], 1.0, -0.9), at([-2, 0, 0], 1.1), at([0, 1, 1], -0.95, 1.1)],
    )
    shown = [as_before(one, along) for one in ones]
    assert [one.labels.tolist() for one in shown] == [[0, 0, -2], [1, 0, -1], [-2, 1, 1], [0, 1, 1]]


@pytest.mark.slow
def test_the_saddle_of_a_map_is_in_no_basin():
    found = basins(Pitch(), [[-1.5, 1.5]], [9])
    assert found.labels[4] == NOT_ATTRACTING
    assert sorted(set(found.labels[:4]) | set(found.labels[5:])) == [0, 1]
    assert (len(set(found.labels[:4])), len(set(found.labels[5:]))) == (1, 1)


@pytest.mark.slow
def test_what_passes_an_attractor_is_not_in_its_basin():
    known = find_attractors(Pitch(), [[0.9], [-0.9]], search=accurate())
    assert [float(a.state[0]) for a in known.attractors] == pytest.approx([1.0, -1.0])
    passing = FunctionMap(lambda k, x: x + 0.125)  # at 1 after the eighth step
    brief = Search(longest=256)
    time_map, flat = set_up(passing, jnp.asarray([[0.0], [0.5]]), brief)
    assert labels_of(time_map, flat, known, brief).tolist() == [NOT_SETTLED, NOT_SETTLED]


@pytest.mark.slow
def test_a_slice_of_a_map_keeps_the_other_components():
    pitch = FunctionMap(lambda k, x: jnp.stack([0.5 * x[0], 1.5 * x[1] - 0.5 * x[1] ** 3 + 0.1 * x[2], x[2] * 0.5]))
    found = basins(pitch, [[-1.5, 1.5]], [10], start=jnp.asarray([0.5, 7.0, -2.0]), varied=[1])
    assert found.names == ("x_2",)
    assert sorted(found.shares.values()) == [0.4, 0.6]  # the third component begins at -2 and pushes down


def test_basins_become_an_array_with_names(wells):
    pytest.importorskip("xarray")
    array = wells.to_xarray()
    assert array.dims == ("x",)
    assert array.sel(x=1.5, method="nearest").item() == wells.labels[-11]


@pytest.mark.slow
def test_a_slice_keeps_the_other_components():
    flow = FunctionFlow(lambda t, x: jnp.stack([-x[0], x[1] - x[1] ** 3, -x[2]]))
    found = basins(flow, [[-2, 2]], [10], start=jnp.asarray([0.5, 0.0, -0.5]), varied=[1])
    assert found.names == ("x_2",)
    assert np.array_equal(found.labels[:5] == found.labels[0], [True] * 5)
    assert sorted(found.shares.values()) == [0.5, 0.5]


def test_a_straight_boundary_has_the_exponent_one():
    labels = np.repeat([0, 1], 200)[:, None] * np.ones((1, 40), int)
    plain = Basins(labels.astype(int), (np.arange(400.0), np.arange(40.0)), ("x", "y"), (), (), 1.0, 1, np.ones(2))
    assert plain.uncertainty_exponent().rate == pytest.approx(1, abs=1e-9)


def test_division_into_parts_brackets_as_bisection_does():
    outcome = lambda x: x > 0.3
    two = bisect_outcome(outcome, 0.0, 1.0)
    many = divide_outcomes(lambda xs: [outcome(x) for x in xs], 0.0, 1.0, parts=16)
    assert many.low <= 0.3 < many.high
    assert two.low <= 0.3 < two.high
    assert many.high - many.low <= 1e-9
    third = divide_outcomes(lambda xs: [int(x > 0.3) + int(x > 0.6) for x in xs], 0.0, 1.0, parts=8, max_steps=1)
    assert third == (0.25, 0.375, 0, 1)  # the first of two boundaries, after one division
    assert bisect_outcome(outcome, 0.0, 1.0, width=0.3) == (0.25, 0.5, False, True)
    with pytest.raises(ValueError, match="Argument `outcome` must differ between `low` and `high`, but is True at"):
        bisect_outcome(outcome, 0.5, 1.0)


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match=r"Argument `box` must have shape \(1, 2\)"):
        basins(DoubleWell(), [[-2, 2], [0, 1]], [9])
    with pytest.raises(ValueError, match="Argument `box` must hold finite .low, high. for each component, low be"):
        basins(DoubleWell(), [[2, 2]], [9])
    with pytest.raises(ValueError, match="Argument `varied` must have 1 different indices of the 1 components"):
        basins(DoubleWell(), [[-2, 2]], [9], varied=[3])
    with pytest.raises(ValueError, match="must have 2 different indices of the 2 components, but is .0, 2."):
        basins(FunctionFlow(lambda t, x: -x), [[-2, 2], [-1, 1]], [9, 9], start=[0.0, 0.0], varied=[0, 2])
    with pytest.raises(ValueError, match="Argument `box` must hold states at which the system is defined"):
        basins(FunctionFlow(lambda t, x: jnp.log(x)), [[-2, -1]], [9], search=Search(interval=0.1))
    with pytest.raises(ValueError, match="Argument `matching` must be one of distance, enclosure"):
        continued_fractions(Parameter(DoubleWell(), "h", -1, 1), [0.0], at, 8, jax.random.key(0), matching="near")
    with pytest.raises(
        ValueError, match="Argument `values` must lie in the range of the parameter, -1 to 1, but go fr"
    ):
        continued_fractions(Parameter(DoubleWell(), "h", -1, 1), [0.0, 2.0], at, 8, jax.random.key(0))
    with pytest.raises(ValueError, match="Argument `confidence` must lie between 0 and 1"):
        basin_fractions(DoubleWell(), at, 8, jax.random.key(3), confidence=2.0)


def test_an_edge_state_names_the_limits_on_both_of_its_sides():
    at = lambda kind, x: LimitSet("equilibrium", kind, np.array([[x]]), np.array([[x]]), 0.0, np.array([1.0]))
    wells = (at("stable", -1.0), at("stable", 1.0))
    rest = np.array([0, 1]), np.array([-1, -1]), np.zeros(2), 0.5, 9, 4, None, np.ones(1)
    known: Any = Attractors._make((wells, (), *rest, False))
    edge = EdgeState(at("unstable", 0.0), np.ones(1), (1, 0), (0, 1), np.zeros((1, 1)), 1e-9, known)
    assert "the basins of stable equilibrium at [-1.] and of stable equilibrium at [1.]: unstable" in str(edge)
    assert "the basins of stable equilibrium at [1.] and of escaped: " in str(edge._replace(labels=(1, ESCAPED)))
    assert str(known).startswith("2 attractors of 2 starts (after")
    one = known._replace(attractors=wells[:1], labels=np.array([0]))
    assert str(one).startswith("1 attractor of 1 start (after")


def test_a_search_has_an_absolute_tolerance_in_the_units_of_the_state():
    starts = np.array([[1.0], [1000.0]])
    maps = [set_up(FunctionFlow(lambda t, x: -x), starts, Search(interval=4.0, atol=atol))[0] for atol in (1e3, 1e-9)]
    errors = [np.max(np.abs(one.window(starts, 0)[0] - starts * np.exp(-4.0))) for one in maps]
    assert errors[1] < 1e-4 < errors[0]
    assert float(maps[0].rescaled_atol) == 1e3 / 1024
    with pytest.raises(ArgumentError, match="`atol` must be positive"):
        Search(atol=-1.0)


@pytest.mark.parametrize(
    ("function", "turned", "count"),
    [
        (lambda box: basins(DoubleWell(), box, (4, 4, 4)), np.zeros((2, 3)), 3),
        (lambda box: basins(DoubleWell(), box, (4,)), [[-1.0], [1.0]], 1),
        (lambda box: find_equilibria(DoubleWell(), jax.random.key(0), box=box), [[-1.0], [1.0]], "d"),
        (lambda box: find_equilibria(DoubleWell(), jax.random.key(0), box=box), np.zeros((2, 3)), "d"),
        (lambda box: certified_count(DoubleWell(), box), [[-1.0], [1.0]], "d"),
        (lambda box: phase_plane(Pendulum(), box), np.zeros((2, 3)), 2),
        (lambda box: phase_plane(Pendulum(), box), np.zeros((4, 1)), 2),
    ],
)
def test_a_box_has_low_and_high_of_each_component(function, turned, count):
    must = rf"`box` must have shape \({count}, 2\), \(low, high\) for each component, but has shape \("
    with pytest.raises(ArgumentError, match=must):
        function(turned)


def test_a_flat_window_is_low_and_high_of_each_axis():
    flat, rows = window((-1, 1, 0, 5), 2), window([[-1, 1], [0, 5]], 2)
    np.testing.assert_array_equal(flat, rows)
    np.testing.assert_array_equal(flat, ([-1, 0], [1, 5]))
    with pytest.raises(ArgumentError, match="have 2 numbers, low and high of each axis, but has 4"):
        window((-1, 1, 0, 5), 1)

"""Chaotic edge states: a fractal boundary in closed form, its exponents, and edges that cannot be followed."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors import edge_tracking
from analysis.dynamics.attractors.edge_tracking import (
    EdgeExponents,
    divergence,
    divide_outcomes,
    edge_state,
    exponents_along,
)
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.attractors.search import NOT_SETTLED
from analysis.dynamics.flow_maps.time_map import FEW, TimeMap, state_itself
from dynsim.systems.base import FunctionFlow, FunctionMap
from figures.panels.basins import limit_marks
from figures.panels.limit_marks import LimitMark
from figures.style import canvas

GROWTH, PUSH = 1.5, 0.1
TOLD = Search(interval=1.0, longest=256, longest_period=1)
STARTS = jnp.asarray([0.3, -0.8]), jnp.asarray([0.4, 0.9])


def fractal(k, z):
    """Return the next state of a map whose basins of (1/2, 1) and (1/2, -1) meet in a curve of Weierstrass's kind.

    Where |y| < 1/2 with x' = 4 x (1 - x) and y' = 3/2 y + (2 x - 1) / 10, it is y = h(x) with
    h(x) = -(1/10) sum (2/3)^(k+1) (2 x_k - 1). Its exponents are log 2 along the curve and log 3/2 across it. Where |y|
    is larger, y is cut off at +-1, and x is drawn to 1/2.

    Source: S. McDonald, C. Grebogi, E. Ott, J. Yorke, Fractal basin boundaries, Physica D 17 (1985).
    """
    del k
    x, y = z
    drawn = jnp.clip(2 * jnp.abs(y) - 1, 0, 1)
    return jnp.stack([(1 - drawn) * 4 * x * (1 - x) + drawn / 2, jnp.clip(GROWTH * y + PUSH * (2 * x - 1), -1, 1)])


@pytest.fixture(scope="module")
def found():
    return edge_state(FunctionMap(fractal), *STARTS, longest=128)


@pytest.mark.slow
def test_the_edge_trajectory_stays_on_the_fractal_boundary(found):
    x, y = np.asarray(found.track).T
    terms = len(x) - 60
    curve = -sum(PUSH * GROWTH ** -(k + 1.0) * (2 * x[k : k + terms] - 1) for k in range(60))
    assert np.max(np.abs(y[:terms] - curve)) < 1e-3  # gaps of 1e-4 where the two sides are bracketed again
    assert np.ptp(curve) > 0.1
    assert found.width < 1e-7


def test_a_chaotic_edge_is_labelled_with_its_exponents_and_its_spread(found):
    assert (found.limit.kind, found.limit.stability, found.unstable_dimension) == ("chaotic edge state", "saddle", 2)
    assert np.all(np.abs(found.exponents.values - np.log([2.0, GROWTH])) < 5 * found.exponents.errors + 1e-3)
    half = np.asarray(found.track)[len(found.track) // 2 :]
    assert np.allclose(found.spread, np.std(half, axis=0))
    assert found.spread[0] == pytest.approx(np.sqrt(1 / 8), abs=0.05)  # of the arcsine law
    assert np.isnan(found.limit.period)
    assert "saddle chaotic edge state at [" in str(found)
    assert f"2 unstable directions, known to {found.width:.1g}; exponents 0." in str(found)


@pytest.mark.slow
def test_a_cantor_set_between_two_basins_is_chaotic_with_one_growing_direction():
    """Both basins meet in the points that never leave [0, 1] under slopes of +-5: the exponent is log 5."""
    corners = jnp.asarray([-0.2, 0.3, 0.7, 1.2]), jnp.asarray([-1.0, 1.5, -0.5, 2.0])
    system = FunctionMap(lambda k, x: jnp.interp(x, *corners))
    found = edge_state(system, jnp.asarray([-0.5]), jnp.asarray([1.6]), longest=256)
    assert (found.limit.kind, found.unstable_dimension) == ("chaotic edge state", 1)
    assert found.exponents.values == pytest.approx([np.log(5)])
    rate, error = found.exponents.divergence
    assert abs(rate - np.log(5)) < 5 * error + 0.01


@pytest.mark.slow
def test_an_invariant_circle_between_two_basins_is_refused():
    """It is turned by the golden angle: states that are near each other stay so."""

    def turned(k, z):
        del k
        c, s, u, v, y = jnp.cos(2.4), jnp.sin(2.4), *z
        grow = 1.5 - jnp.sqrt(u**2 + v**2) / 2
        across = jnp.clip(1.5 * y + 0.05 * u, -1, 1)
        return jnp.stack([grow * (c * u - s * v), grow * (s * u + c * v), across])

    starts = jnp.asarray([1.0, 0.0, -0.8]), jnp.asarray([1.0, 0.0, 0.9])
    with pytest.raises(ValueError, match="a torus or a slow approach"):
        edge_state(FunctionMap(turned), *starts, longest=256)


def test_near_states_move_apart_at_the_rate_of_the_map():
    """The tent map doubles distances; an approach to a cycle halves them in two steps; a turn keeps them."""
    n, one = np.arange(1200), np.ones(1)
    tent = [0.1234567]
    for _ in n[1:]:
        tent.append(1.9999 * min(tent[-1], 1 - tent[-1]))
    rate, error = divergence(np.array(tent)[:, None], one, 1e-6, 0.5)
    assert rate == pytest.approx(np.log(1.9999) / 0.5, abs=0.05 + 3 * error)
    cycle = ((-1.0) ** n + 0.99**n)[:, None]
    assert divergence(cycle, one, 1e-6, 1.0)[0] == pytest.approx(np.log(0.99), abs=1e-3)
    turn = np.stack([np.cos(2.4 * n), np.sin(2.4 * n)], axis=1)
    assert divergence(turn, np.ones(2), 1e-6, 1.0)[0] == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(divergence(100 * turn, np.full(2, 100.0), 1e-6, 1.0), divergence(turn, np.ones(2), 1e-6, 1.0))
    tenths = np.exp(2j * np.pi * n / 10 + 5e-4j * n).view(float).reshape(-1, 2)  # ten steps later states are .005 away
    assert np.isfinite(divergence(tenths[:80], np.ones(2), 1e-6, 1.0)[0])
    assert np.isnan(divergence(tenths[:60], np.ones(2), 1e-6, 1.0)[0])  # too few
    assert np.isnan(divergence(0.0015 * n[:, None], one, 1e-6, 1.0)[0])  # near at neighbouring times only
    assert np.isnan(divergence(turn, np.ones(2), 1e-3, 1.0)[0])  # no nearer than ten gaps


def test_the_direction_across_leads_from_one_basin_to_the_other(found):
    places = [float(found.attractors.attractors[k].state[1]) for k in (*found.leads_to, *found.labels)]
    across = np.sign(found.unstable[1])
    assert places == pytest.approx([across, -across, -1.0, 1.0])


def test_an_edge_that_is_not_chaotic_beyond_doubt_is_refused_with_its_exponents(monkeypatch, found):
    one, errors = np.array([0.4, 0.002]), np.array([0.001, 0.001])
    rates = {(0.0, 0.001): False, (0.21, 0.01): False, (0.21, 0.001): True, (-0.4, 0.001): False, (np.nan, 0.0): False}
    for rate, chaotic in rates.items():  # half of the only positive exponent, beyond three errors
        assert EdgeExponents(one, errors, rate).chaotic == chaotic
    assert EdgeExponents(np.array([0.4, 0.1]), errors).chaotic
    assert not EdgeExponents(np.array([-0.4, -0.6]), errors, (0.4, 0.001)).chaotic
    torus = EdgeExponents(one, errors)
    assert torus.positive == 1
    monkeypatch.setattr(edge_tracking, "exponents_along", lambda *args: torus)
    monkeypatch.setattr(edge_tracking, "divergence", lambda *args: (0.0, 0.001))
    known, bracket = found.attractors, edge_tracking.Bracketed(np.eye(2), 1.0, (0, 1))
    with pytest.raises(ValueError, match=r"come to none, and the exponents along them are 0\.4 \+- 0\.001, 0\.002"):
        edge_tracking._chaotic(known.time_map, bracket, np.array([0, 1]), np.asarray(found.track), known, 1e-4)


def test_a_boundary_is_looked_for_beyond_a_pair_that_has_come_to_one_side(monkeypatch, found):
    time_map, pair = found.attractors.time_map, np.array([[0.3, 0.5], [0.3, 0.6]])
    bracket = lambda: edge_tracking._bracketed(time_map, pair, found.attractors, TOLD, 7)
    sides = lambda at: lambda time_map, flat, known, told: (flat[:, 1] > at).astype(int)
    monkeypatch.setattr(edge_tracking, "labels_of", sides(0.05))  # ten lengths below
    known = bracket()
    assert (known.ends[0, 1] < 0.05 < known.ends[1, 1], known.labels) == (True, (0, 1))
    assert known.width < 1e-7
    monkeypatch.setattr(edge_tracking, "labels_of", sides(-50.0))
    with pytest.raises(ValueError, match="Argument `system` must have a boundary .* it is lost after 7 intervals"):
        bracket()


def test_outcomes_that_are_known_at_the_ends_are_not_asked_for_again():
    asked: list[float] = []
    outcomes = lambda xs: asked.extend(xs) or [x > 0.3 for x in xs]
    found = divide_outcomes(outcomes, 0.0, 1.0, parts=4, width=1e-3, at_ends=(False, True))
    assert found.low <= 0.3 <= found.high <= found.low + 1e-3
    assert not {0.0, 1.0} & set(asked)


def test_an_orbit_that_the_trajectory_passes_is_not_its_limit(monkeypatch, found):
    track, known = np.asarray(found.track), found.attractors
    passed = found.limit._replace(features=track[-1:])
    monkeypatch.setattr(edge_tracking, "limit_of", lambda record: passed)
    assert edge_tracking._limit(known.time_map, track, known, TOLD) is None
    assert edge_tracking._limit(known.time_map, np.tile(track[-1], (64, 1)), known, TOLD) is passed


def test_an_orbit_beside_which_the_boundary_goes_on_is_not_the_edge_state(monkeypatch, found):
    known, track, asked = found.attractors._replace(extent=np.array([2.0, 6.0])), np.asarray(found.track), []
    limit = found.limit._replace(kind="fixed point", period=1.0)
    ends = lambda: edge_tracking._found(known.time_map, limit, np.array([0, 1]), track, 1e-9, known, TOLD)
    labels = np.repeat([0, 1], FEW // 2)
    monkeypatch.setattr(edge_tracking, "labels_of", lambda *args: asked.append(args[1]) or labels)
    assert ends().leads_to == (0, 1)
    away = (asked[0] - np.asarray(limit.state)) @ ends().unstable / (4 * edge_tracking.PUSH)  # to both sides, from afar
    shares = np.arange(FEW // 2, 0, -1) / (FEW // 2)
    np.testing.assert_allclose(away, np.append(shares, -shares))
    labels[FEW // 2 - 1] = NOT_SETTLED  # close to the limit
    assert ends().leads_to == (0, 1)
    labels[3] = 1
    assert ends() is None


def test_of_several_changes_on_a_segment_the_middle_one_is_bracketed(monkeypatch, found):
    pair = np.array([[0.3, -0.5], [0.3, 0.5]])
    sides = lambda time_map, flat, known, told: np.searchsorted([-0.4, 0.01, 0.45], flat[:, 1]) % 2
    monkeypatch.setattr(edge_tracking, "labels_of", sides)
    ends = edge_tracking._bracketed(found.attractors.time_map, pair, found.attractors, TOLD, 7).ends
    assert ends[0, 1] <= 0.01 <= ends[1, 1]


def test_a_chaotic_edge_is_drawn_as_dots():
    ax, points = canvas()[1][0], np.random.default_rng(0).uniform(size=(200, 2))
    axes = [np.linspace(0, 1, 4)] * 2
    limit_marks(ax, [LimitMark(points, "chaotic edge state", attracts=False)], axes)
    (line,) = ax.lines
    assert (line.get_marker(), len(line.get_xdata())) == (".", 200)
    assert line.get_markersize() < 2


@pytest.mark.slow
def test_exponents_along_states_are_those_of_the_derivatives():
    flow = FunctionFlow(lambda t, x: jnp.stack([jnp.cos(t) * x[0], -0.5 * x[1] + x[0]]))
    time_map = TimeMap(flow, jnp.zeros(2), state_itself, np.pi / 2, 1e-9, 10.0)
    found = exponents_along(time_map, np.zeros((33, 2)), 1)  # from t = pi / 2, the mean of cos t over 25 quarters
    assert np.allclose(found.values, [-1 / (25 * np.pi / 2), -0.5], atol=0.05)
    assert np.sum(found.values) == pytest.approx(np.mean(np.r_[_sums()]) - 0.5, abs=1e-6)


def _sums():
    """Return the integral of cos t over each interval, by its length, in the mean of the blocks."""
    quarters = np.diff(np.sin(np.pi / 2 * np.arange(1, 35)))[33 // 4 :] / (np.pi / 2)
    return [np.mean(block) for block in np.array_split(quarters, 8)]


@pytest.mark.slow
def test_starts_may_be_lists():
    wells = FunctionFlow(lambda t, x: jnp.stack([x[0] - x[0] ** 3, -x[1]]))
    with pytest.raises(ValueError, match="Argument `other` must lie in another basin than `one`"):
        edge_state(wells, [-1.0, 1.0], [-2.0, 1.0])
    with pytest.raises(ValueError, match="Argument `other` must have the shape of `one`, but has another"):
        edge_state(wells, [-1.0, 1.0], [1.0])

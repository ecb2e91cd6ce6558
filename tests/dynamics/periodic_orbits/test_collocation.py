"""Collocation at Gauss points: its rule, derivatives, meshes and single orbits, against exact and published values."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.collocation.intervals import (
    CycleField,
    adapted_mesh,
    cubic,
    evaluated,
    halved,
    refined_mesh,
    rule,
    solved,
)
from analysis.dynamics.continuation.collocation_curve import CollocationCurve
from analysis.dynamics.periodic_orbits.fast_multipliers import resolved_multipliers
from analysis.dynamics.periodic_orbits.multipliers import product_eigenvalues
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.errors import ArgumentError
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.named import where


def growing(t, x, rate=-1.3):
    return jnp.stack([rate * x[0] + 0.4 - 0.2 * x[1] ** 2, jnp.sin(x[0]) - x[1] * rate])


FIELD = FunctionFlow(growing, parameters={"rate": -1.3})


def one_interval(begin=0.4, duration=0.5, x=(0.7, -0.3), rate=-1.3, solve=solved):
    field = CycleField(FIELD, where(FIELD, "rate"), np.zeros(2))
    guess = np.tile(np.asarray(x), (1, 4, 1))
    return solve(field, np.array([begin]), np.array([duration]), np.array([x]), rate, guess)


def test_the_rule_integrates_polynomials_exactly_up_to_the_gauss_order():
    c, A, ends = rule(4)
    for k in range(8):  # y' = (k + 1) t^k, whose solution is t^(k + 1)
        stages = A @ ((k + 1) * c**k)
        assert ends @ stages == pytest.approx(1.0, abs=1e-13)
        assert k > 3 or np.allclose(stages, c ** (k + 1), atol=1e-14)
    assert abs(ends @ (A @ (9 * c**8)) - 1) > 1e-5


def test_intervals_at_rest_are_solved_although_large_forces_balance_up_to_rounding():
    """A velocity that is zero is moved by the rounding errors of the forces: it has no digits of its own."""
    cosine = lambda t, s, k: jnp.stack([s[1], k * (jnp.cos(s[0]) - s[0]) - s[1]])
    flow = FunctionFlow(cosine, parameters={"k": 1e6})
    field, at, h = CycleField(flow, where(flow, "k"), np.zeros(2)), np.array([0.7390851332151607, 0.0]), 1e-2
    nodes = at + 1e-16 * np.random.default_rng(0).normal(size=(20, 2)) * [3, 1]
    found = solved(field, h * np.arange(20), np.full(20, h), nodes, 1e6, np.tile(nodes[:, None], (1, 4, 1)))
    assert found.ends == pytest.approx(np.tile(at, (20, 1)), abs=1e-11)


def test_a_multiplier_of_odd_powers_of_fast_decay_keeps_its_sign():
    field = CycleField(FunctionFlow(lambda t, x: jnp.array([-9.0, 0.5]) * x), None, np.zeros(2))
    given, at = (field, np.arange(3.0), np.ones(3)), np.ones((3, 4, 2))
    maps = solved(*given, np.ones((3, 2)), 0.0, at).maps
    found = resolved_multipliers(*given, 0.0, at, maps, None)
    assert found == pytest.approx([np.exp(1.5), np.exp(-27.0)], rel=1e-6)


def test_stages_that_move_far_take_a_single_step():
    field, given = CycleField(FIELD, where(FIELD, "rate"), np.zeros(2)), (np.array([0.4]), np.array([0.5]))
    nodes, guess = np.array([[0.7, -0.3]]), np.tile([0.7, -0.3], (1, 4, 1))
    rough, whole = (solved(field, *given, nodes, -1.3, guess, far=far) for far in (0.01, 10.0))
    assert (rough.is_solved, whole.is_solved) == (False, True)
    assert 1e-6 < np.max(np.abs(rough.ends - whole.ends)) < 1e-2
    assert solved(field, *given, nodes, -1.3, whole.stages, far=0.01).is_solved


def test_derivatives_of_an_interval_are_those_of_finite_differences():
    found, e = one_interval(), 1e-6
    slope = lambda name, value: (
        (one_interval(**{name: value + e}).ends[0] - one_interval(**{name: value - e}).ends[0]) / (2 * e)
    )
    assert np.allclose(found.slopes[0], slope("rate", -1.3), atol=1e-8)
    assert np.allclose(found.rates[0], slope("duration", 0.5), atol=1e-8)
    by_first = (one_interval(x=(0.7 + e, -0.3)).ends[0] - one_interval(x=(0.7 - e, -0.3)).ends[0]) / (2 * e)
    assert np.allclose(found.maps[0, :, 0], by_first, atol=1e-8)
    halves = one_interval(solve=halved)
    first = one_interval(duration=0.25)
    second = one_interval(begin=0.65, duration=0.25, x=tuple(first.ends[0]))
    assert np.allclose(halves.ends, second.ends, atol=1e-13)
    assert np.allclose(halves.maps, second.maps @ first.maps, atol=1e-13)
    assert np.allclose(halves.rates[0], (second.rates[0] + second.maps[0] @ first.rates[0]) / 2, atol=1e-13)


def test_an_adapted_mesh_is_dense_where_an_orbit_is_steep_and_interpolates_it_better():
    spike = lambda s: np.tanh(40 * np.sin(2 * np.pi * (s - 0.3)))[:, None]
    inner = lambda mesh: mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
    stages = lambda mesh: spike(inner(mesh).ravel()).reshape(-1, 4, 1)
    mesh, s = np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 2001)[:-1]
    error = lambda mesh: np.max(np.abs(evaluated(mesh, spike(mesh[:-1]), stages(mesh), s) - spike(s)))
    first = error(mesh)
    for _ in range(4):
        mesh = adapted_mesh(mesh, spike(mesh[:-1]), stages(mesh), 40)
    at = np.searchsorted(mesh, [0.3, 0.8, 0.55])
    sizes = np.diff(mesh)[at - 1]
    assert sizes[0] < sizes[2] / 5
    assert sizes[1] < sizes[2] / 5
    assert error(mesh) < first / 30
    assert mesh[0] == 0
    assert mesh[-1] == 1
    assert np.all(np.diff(mesh) > 0)
    finer = refined_mesh(mesh, 100)
    assert len(finer) == 101
    assert set(mesh) <= set(finer)


def test_rounding_errors_of_a_constant_or_of_a_far_away_component_do_not_attract_intervals():
    wave = lambda s: np.sin(2 * np.pi * s)
    rng, mesh = np.random.default_rng(0), np.linspace(0.0, 1.0, 161)
    inner = mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
    alone = adapted_mesh(mesh, wave(mesh[:-1])[:, None], wave(inner)[..., None], 160)
    for offset, size in ((17.1, 0.0), (1e8, 1e-6)):
        other = lambda s, offset=offset, size=size: offset * (1 + 2e-16 * rng.normal(size=s.shape)) + size * wave(s)
        known = [np.stack([wave(s), other(s)], axis=-1) for s in (mesh[:-1], inner)]
        both = adapted_mesh(mesh, *known, 160)
        assert np.allclose(both, alone, atol=1e-6)


def test_multipliers_of_sixty_orders_of_magnitude_are_kept():
    rng = np.random.default_rng(0)
    bases = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(60)]
    small = np.diag([10.0**0.5, 0.97, -(10.0**-0.5)])
    factors = np.stack([bases[(k + 1) % 60] @ small @ bases[k].T for k in range(60)])
    values = product_eigenvalues(factors)
    assert np.allclose(values, [1e30, 0.97**60, 1e-30], rtol=1e-7, atol=0)


@pytest.mark.slow
def test_an_unstable_orbit_of_the_lorenz_attractor_has_its_published_period():
    orbit = periodic_orbit(Lorenz(rho=28.0), [-13.7636, -19.5788, 27.0], 1.56, method="collocation")
    assert orbit.period == pytest.approx(1.558652210716, rel=1e-8)  # Viswanath (2003), the orbit AB
    assert orbit.multipliers[0].real == pytest.approx(4.71293, rel=1e-4)
    assert np.prod(orbit.multipliers).real == pytest.approx(np.exp(-(1 + 10 + 8 / 3) * orbit.period), rel=1e-3)
    assert orbit.trivial_error < 1e-6
    assert orbit.stability == "saddle"
    assert len(orbit.times) == len(orbit.nodes)
    assert np.all(np.diff(orbit.times) > 0)


def test_a_forced_orbit_keeps_its_period_and_has_the_exact_multipliers():
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.3 * x[1] + jnp.cos(2 * t)]))
    orbit = periodic_orbit(flow, [0.0, 0.0], np.pi, method="collocation", forced=True)
    exact = np.linalg.solve([[-3.0, 0.6], [-0.6, -3.0]], [1.0, 0.0])  # x = a cos 2t + b sin 2t
    assert orbit.period == np.pi
    assert np.allclose(orbit.state, [exact[0], 2 * exact[1]], atol=1e-9)
    assert np.allclose(np.abs(orbit.multipliers), np.exp(-0.15 * np.pi), rtol=1e-7)


@pytest.mark.parametrize("rate", [0.5, -0.5, 25.0])
def test_the_multiplier_in_the_plane_is_that_of_the_divergence(rate):
    """On the unit circle, where the angle turns at 1 + 0.3 x; fast decay within an interval is kept."""

    def field(t, s):
        r = s @ s
        return jnp.stack([-s[1], s[0]]) * (1 + 0.3 * s[0]) + rate * (1 - r) * s * (2 + s[1])

    orbit = periodic_orbit(FunctionFlow(field), [1.0, 0.0], 6.6, method="collocation")
    exact = -4 * rate * 2 * np.pi / np.sqrt(0.91)  # the odd part in y cancels
    assert np.log(orbit.multipliers.real) == pytest.approx([exact], rel=1e-8)
    assert orbit.stability == ("stable" if rate > 0 else "unstable")


@pytest.mark.slow
def test_a_stiff_orbit_is_found_from_a_state_beside_it():
    orbit = periodic_orbit(VanDerPol(mu=20.0), [2.0, 0.0], 34.0, method="collocation")
    assert orbit.period == pytest.approx(34.6823233, abs=1e-6)  # by an implicit solver with a tolerance of 1e-12
    assert orbit.stability == "stable"


@pytest.mark.slow
def test_van_der_pols_orbit_at_a_thousand():
    orbit = periodic_orbit(VanDerPol(mu=1000.0), [2.0, 0.0], 1614.0, method="collocation")
    mu = 1000.0
    series = (3 - 2 * np.log(2)) * mu + 7.01432 * mu ** (-1 / 3) - 2 / 3 * np.log(mu) / mu - 1.3246 / mu
    assert orbit.period == pytest.approx(series, abs=1e-4)


@pytest.mark.parametrize(
    ("flow", "options", "sentence"),
    [
        (VanDerPol(mu=1.0), {"method": "finite differences"}, "method"),
        (FunctionFlow(lambda t, x: jnp.cross(jnp.array([0.0, 0.0, 1.0]), x), space=Sphere()), {}, "curved space"),
        (FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.1 * x[1]])), {}, "guess"),
        (FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.sign(x[0])])), {}, "jump"),
    ],
)
def test_what_collocation_cannot_do_is_said_in_one_sentence(flow, options, sentence):
    start = [1.0, 0.0, 0.0] if isinstance(flow, FunctionFlow) and isinstance(flow.space, Sphere) else [1.0, 0.0]
    with pytest.raises(ArgumentError, match=sentence):
        periodic_orbit(flow, start, 6.3, **{"method": "collocation", **options})


def test_guesses_are_cubic_polynomials_of_time_and_stages_determine_their_polynomials():
    mesh, period = np.array([0.0, 0.1, 0.4, 0.5, 1.0]), 2.5
    x = lambda t: np.stack([t * (t - period) * (t + 1), 2 + 0 * t], axis=-1)  # as at its end, so at its start
    speed = lambda t: np.stack([3 * t**2 + 2 * (1 - period) * t - period, 0 * t], axis=-1)
    times = period * (mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c)
    nodes, shares = x(period * mesh[:-1]), np.diff(mesh)
    field = SimpleNamespace(at=lambda t, states, parameter: (speed(t), None))
    curve = SimpleNamespace(field=field, mesh=mesh, shares=shares, _short=lambda away: away)
    found = CollocationCurve.guessed(curve, nodes, period, 0.0)
    np.testing.assert_allclose(found[:-1], x(times)[:-1], atol=1e-12)  # the last one has the slope of the first
    exact = cubic(nodes, np.diff(x(period * mesh), axis=0), speed(period * mesh), period * shares)
    np.testing.assert_allclose(exact, x(times), atol=1e-12)
    at = np.array([0.0, 0.05, 0.1, 0.3, 0.45, 0.99, 1.0])
    np.testing.assert_allclose(evaluated(mesh, nodes, exact, at), x(period * at), atol=1e-12)
    flow = FunctionFlow(lambda t, x, a=0.0: jnp.stack([t**3 * x[0], a * t + x[0]]), parameters={"a": 0.0})
    growth = CycleField(flow, where(flow, "a"), np.zeros(2))
    maps = np.zeros((len(shares), 2, 2))  # the divergence alone decides in the plane
    multiplier = resolved_multipliers(growth, period * mesh[:-1], period * shares, 0.0, exact, maps, nodes)
    np.testing.assert_allclose(multiplier, np.exp(period**4 / 4))


@pytest.mark.parametrize("rate", [-744.0, -7440.0])
def test_multipliers_near_and_below_the_smallest_number_are_no_nan(rate):
    """Decay in time 1 to 1e-323, which has one digit and is no divisor of complex numbers, and to zero."""
    decay = FunctionFlow(lambda t, x, a=0.0: jnp.stack([-0.1 * x[0] + a, rate * x[1]]), parameters={"a": 0.0})
    field, begins = CycleField(decay, where(decay, "a"), np.zeros(2)), np.linspace(0.0, 1.0, 41)
    maps = np.tile(np.diag([np.exp(-0.1 / 40), 0.9]), (40, 1, 1))  # the rule does not resolve the second one
    durations = np.diff(begins)
    found = resolved_multipliers(field, begins[:-1], durations, 0.0, np.zeros((40, 4, 2)), maps, None)
    assert found[0] == pytest.approx(np.exp(-0.1))
    assert 0 <= abs(found[1]) < 1e-290

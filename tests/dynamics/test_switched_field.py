"""Fields that jump on surfaces of states: exponents and multipliers by hand, kinks, and sliding."""

import math

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy.optimize import brentq

from analysis.dynamics.flow_maps.component_sizes import trajectory_units
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.lyapunov import _contradiction, _spectrum, lyapunov_spectrum
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.errors import IntegrationError
from dynsim.integrators import Diffrax
from dynsim.integrators.switched_field import switched_field
from dynsim.systems.base import FunctionFlow

DAMPING = 0.1
CLOCK = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 2 * DAMPING * x[1] + jnp.sign(x[1])]))
RATIO = math.exp(-DAMPING * math.pi / math.sqrt(1 - DAMPING**2))
AMPLITUDE, PERIOD = (1 + RATIO) / (1 - RATIO), 2 * math.pi / math.sqrt(1 - DAMPING**2)


@pytest.mark.slow
def test_andronovs_clock_has_a_zero_exponent_and_its_damping():
    """Turning points obey A -> 1 + r (A + 1): the multipliers of the limit cycle are 1 and r^2."""
    found = lyapunov_spectrum(CLOCK, jnp.array([AMPLITUDE, 0.0]), 300.0)
    np.testing.assert_allclose(found.exponents, [0.0, -DAMPING], atol=4 * np.max(found.errors))
    assert np.max(found.errors) < 2e-3
    orbit = periodic_orbit(CLOCK, jnp.array([AMPLITUDE, 0.1]), PERIOD)
    np.testing.assert_allclose(orbit.period, PERIOD, rtol=1e-8)
    np.testing.assert_allclose(orbit.multipliers, [RATIO**2], rtol=1e-6)


@pytest.mark.slow
def test_a_double_scroll_has_the_exponents_of_its_linear_pieces():
    """Chua's circuit at 9, 100/7, -8/7, -5/7; QR along exact pieces, by matrix exponentials, gives these exponents."""

    def chua(t, x):
        outside = jnp.where(x[0] > 1, 1.0, jnp.where(x[0] < -1, -1.0, 0.0))
        h = jnp.where(outside == 0, -8 / 7 * x[0], -5 / 7 * x[0] - 3 / 7 * outside)
        return jnp.stack([9 * (x[1] - x[0] - h), x[0] - x[1] + x[2], -100 / 7 * x[1]])

    found = lyapunov_spectrum(FunctionFlow(chua), jnp.array([0.1, 0.0, 0.0]), 600.0)
    np.testing.assert_allclose(found.exponents, [0.326, 0.0, -2.503], atol=4 * np.max(found.errors))
    np.testing.assert_allclose(found.exponents[:2], [0.326, 0.0], atol=0.05)


@pytest.mark.slow
def test_a_field_that_is_continuous_on_its_surface_has_the_exponents_of_its_pieces():
    spring = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.where(x[0] > 0, 2 * x[0], x[0]) - 0.1 * x[1]]))
    found = lyapunov_spectrum(spring, jnp.array([1.0, 0.0]), 200.0)
    np.testing.assert_allclose(np.sum(found.exponents), -0.1, atol=1e-6)


DROP, BELT = 0.2, 0.5
STICK_SLIP = FunctionFlow(  # friction on a moving belt that falls with the sliding speed
    lambda t, x: jnp.stack([x[1], -x[0] + jnp.sign(BELT - x[1]) * (1 - DROP * jnp.abs(BELT - x[1]))])
)


def slip_and_stick():
    """The time of slip, from x'' - d x' + x = 1 - d v with x = 1 and x' = v to x' = v again, and that of stick."""
    rate, w = DROP / 2, math.sqrt(1 - DROP**2 / 4)
    sine = (BELT - rate * DROP * BELT) / w
    x = lambda t: math.exp(rate * t) * (DROP * BELT * math.cos(w * t) + sine * math.sin(w * t))
    speed = lambda t: rate * x(t) + math.exp(rate * t) * w * (sine * math.cos(w * t) - DROP * BELT * math.sin(w * t))
    slip = brentq(lambda t: speed(t) - BELT, 3.5, 2 * math.pi, xtol=1e-14)
    return slip, (DROP * BELT - x(slip)) / BELT


def test_a_stick_slip_orbit_has_its_period_and_the_multiplier_zero():
    orbit = periodic_orbit(STICK_SLIP, jnp.array([1.0, BELT]), 7.0)
    np.testing.assert_allclose(orbit.period, sum(slip_and_stick()), rtol=1e-9)
    np.testing.assert_allclose([orbit.trivial_error, *orbit.multipliers], 0.0, atol=1e-8)
    assert orbit.stability == "stable"
    again = periodic_orbit(STICK_SLIP, jnp.array([1.3, 0.1]), 7.0)  # a start that slips
    np.testing.assert_allclose([again.period, *again.multipliers], [orbit.period, 0.0], atol=1e-8)


@pytest.mark.slow
def test_a_sliding_state_has_the_exponents_of_the_surface_and_one_of_minus_infinity():
    """On y = 0 the sign is 1/2 in the mean, so that x' = -0.3 x - 0.1."""
    slides = FunctionFlow(lambda t, x: jnp.stack([-0.3 * x[0] - 0.2 * jnp.sign(x[1]), 0.5 - jnp.sign(x[1])]))
    found = lyapunov_spectrum(slides, jnp.array([1.0, 0.2]), 100.0)
    np.testing.assert_allclose(found.exponents, [-0.3, -np.inf], atol=1e-9)
    assert str(found).endswith(", -inf")
    pair, at = Linearised(slides, jnp.zeros(2)), lambda *v: map(jnp.asarray, v)
    moved = eqx.filter_jit(pair.over)(*at(0.0, 2.4, 0.1), jnp.array([0.0, 0.2]), jnp.eye(2), jnp.asarray(1e-10))
    met = -2 / 3 * (1 - math.exp(-0.3 * 0.4))  # where it reaches the surface, at t = 0.4
    np.testing.assert_allclose(moved.x, [-1 / 3 + (met + 1 / 3) * math.exp(-0.6), 0.0], atol=1e-10)
    velocity = eqx.filter_jit(pair.velocity)(*at(2.4), moved.x)
    np.testing.assert_allclose(velocity, [-0.3 * moved.x[0] - 0.1, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.asarray(moved.V)[1], 0.0, atol=1e-15)


def test_sliding_on_two_surfaces_is_refused_and_they_are_named():
    both = FunctionFlow(lambda t, x: -jnp.sign(x) * jnp.array([1.0, 2.0]))
    with pytest.raises(IntegrationError, match=r"slides on two surfaces at once, .* the sign changes of x_2"):
        lyapunov_spectrum(both, jnp.array([0.5, 0.7]), 50.0)
    with pytest.raises(ValueError, match="`integrator` must be left out for a field that may jump"):
        lyapunov_spectrum(both, jnp.array([0.7, 0.1]), 50.0, integrator=Diffrax(dfx.Kvaerno4()))


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_a_kink_or_jump_at_a_state_gives_no_unit(place):
    for bent in (jnp.abs, jnp.sign):
        flow = FunctionFlow(lambda t, x, bent=bent: jnp.stack([x[1], -x[0] * (1 + bent(x[0] - place)) - x[1]]))
        np.testing.assert_array_equal(trajectory_units(flow, jnp.array([place, 0.3])).scale, 1.0)


def _nearest(x, places):
    return places[np.argmin(np.abs(x[:, None] - places), axis=1)]


def test_pieces_have_the_values_on_both_sides_of_the_nearest_jump():
    """Each operation jumps along its own component; the piece beyond goes on smoothly, from behind the jump."""
    operations = {
        "floor": (jnp.floor, np.arange(-4.0, 5.0)), "ceil": (jnp.ceil, np.arange(-4.0, 5.0)),
        "round": (jnp.round, np.arange(-4.0, 5.0) + 0.5), "sign": (jnp.sign, np.zeros(1)),
        "rem": (lambda x: lax.rem(x, 1.5), np.array([-4.5, -3.0, -1.5, 1.5, 3.0])),
        ">": (lambda x: jnp.where(x > 0.4, 2.0, -1.0), np.array([0.4])),
        "<": (lambda x: jnp.where(x < 0.4, 2.0, -1.0), np.array([0.4])),
        ">=": (lambda x: jnp.where(x >= -0.4, 2.0, -1.0), np.array([-0.4])),
        "<=": (lambda x: jnp.where(x <= -0.4, 2.0, -1.0), np.array([-0.4])),
    }  # fmt: skip
    n, rhs = len(operations), lambda t, x: jnp.stack([fn(x[k]) for k, (fn, _) in enumerate(operations.values())])
    field = switched_field(FunctionFlow(rhs), np.zeros(n))
    assert len(field.surfaces) == n
    xs = np.array([-2.9, -2.2, -1.7, -0.8, -0.1, 0.2, 0.7, 1.3, 1.8, 2.6])[:, None] * np.ones(n)
    xs[:, 4] += 0.9 * np.sign(xs[:, 4])  # where the quotient of the remainder changes from 0 to -0 nothing jumps

    @jax.jit
    def both(xs):
        here = jax.vmap(lambda x: field.at(jnp.zeros(()), x, None))(xs)
        return here, jax.vmap(lambda x, modes: field.at(jnp.zeros(()), x, modes))(xs, here[3])

    (values, inside, own, beyond), (others, outside, _, _) = jax.tree.map(np.asarray, both(xs))
    at = jax.jit(jax.vmap(lambda x: rhs(0.0, x)))
    places = np.stack([_nearest(xs[:, k], jumps) for k, (_, jumps) in enumerate(operations.values())], axis=1)
    gaps = np.abs(xs - places)
    behind = np.asarray(at(places + 1e-9 * np.sign(places - xs)))
    steady = [name != "rem" for name in operations]
    np.testing.assert_allclose(values, at(xs), atol=1e-12)
    np.testing.assert_allclose(others, np.where(steady, behind, behind + xs - places), atol=1e-8)
    near = gaps / np.where(steady, 1.0, 1.5)
    np.testing.assert_allclose(inside, near, atol=1e-12)
    np.testing.assert_allclose(outside, -near, atol=1e-12)
    assert np.all(own != beyond)


def test_only_jumps_that_depend_on_the_state_have_surfaces():
    state = np.ones(2)
    count = lambda rhs: 0 if (made := switched_field(FunctionFlow(rhs), state)) is None else len(made.surfaces)
    assert count(lambda t, x: jnp.abs(x) + jnp.maximum(x, 0.5)) == 0
    assert count(lambda t, x: jnp.where(t > 3, x, 0.0)) == 0
    assert count(lambda t, x: jnp.sign(x) + jnp.floor(x)) == 4


def test_impossible_spectra_of_bounded_motion_are_reported():
    logs = np.random.default_rng(0).normal(0, 1e-3, (400, 2))
    said = lambda rates, size=1.0, speed=1.0: _contradiction(_spectrum(logs + rates, 1.0), size, speed)
    assert said([0.0, -0.5]) == ""
    assert said([-0.4, -0.5]) == "no exponent is zero, as one must be on an attractor that is no equilibrium"
    assert said([-0.4, -0.5], speed=1e-5) == ""  # an equilibrium
    assert said([0.4, 0.0]) == "the sum of the exponents is positive, which is impossible on a bounded set"
    assert said([0.4, 0.0], size=1e9) == ""  # it escapes


def test_vectors_do_not_step_over_pulses():
    """Of x' = (-1 + 100 p(t)) x with a pulse p of length 0.05 in every 10: the exponent is -1 + 0.5."""
    flow = FunctionFlow(lambda t, x: x * (100 * jnp.where(jnp.mod(t, 10.0) < 0.05, 1.0, 0.0) - 1))
    found = lyapunov_spectrum(flow, jnp.array([1.0]), 400.0, interval=10.0, transient=10.0)
    np.testing.assert_allclose(found.exponents, [-0.5], atol=1e-5)

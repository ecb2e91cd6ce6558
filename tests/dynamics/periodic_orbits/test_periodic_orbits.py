"""Periodic orbits and their Floquet multipliers: published and closed forms, forced flows, curved spaces, errors."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.scaling import orbit_units
from analysis.dynamics.flow_maps.autonomy import check_period
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, _units, periodic_orbit
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractMap, FunctionFlow
from dynsim.systems.catalogue.oscillators import Duffing, Pendulum, VanDerPol
from dynsim.systems.parameter import Parameter
from tests.support.searches import accurate

SIZES, RATE = jnp.asarray([1e-9, 1e6]), 1e6
SMALL = FunctionFlow(lambda t, x: RATE * SIZES * VanDerPol().velocity(t, x / SIZES))


@pytest.fixture(scope="module")
def cycle():
    return periodic_orbit(VanDerPol(), [2.0, 0.1], 6.5)


def test_van_der_pol_has_its_period_and_multiplier(cycle):
    assert cycle.period == pytest.approx(6.6632868593231, abs=1e-8)
    # Liouville: the multiplier is the exponential of the integral of the divergence, mu (1 - x^2), over the period
    assert np.allclose(cycle.multipliers, [np.exp(-1.0593770 * cycle.period)], rtol=1e-4)
    assert cycle.stability == "stable"
    assert cycle.trivial_error < 1e-7
    assert "stable periodic orbit of period 6.6632869" in str(cycle)


@pytest.mark.slow
def test_orbits_do_not_depend_on_the_units(cycle):
    sizes, rate, flow = SIZES, RATE, SMALL
    found = periodic_orbit(flow, sizes * jnp.asarray([2.0, 0.1]), 6.5 / rate)
    assert found.period * rate == pytest.approx(cycle.period, abs=1e-7)
    np.testing.assert_allclose(found.multipliers, cycle.multipliers, rtol=1e-5)
    assert float(VanDerPol().velocity(0.0, found.state / sizes)[1]) != 0
    again = periodic_orbit(VanDerPol(), found.state / sizes, cycle.period)  # it is on the cycle
    np.testing.assert_allclose(again.state, found.state / sizes, atol=1e-6)
    assert found.nodes.shape == (1, 2)
    assert 1e6 * cycle.gap / 100 < found.gap < 1e6 * cycle.gap * 100


@pytest.mark.slow
def test_components_of_very_different_sizes_have_the_units_of_the_continuation():
    """Two components follow those of van der Pol, at sizes of 1e-12 and 1e12; they relax at rate 1."""
    followed = lambda s: jnp.stack([1e-12 * (1 + s[0]) - s[2], 1e12 * s[1] - s[3]])
    flow = FunctionFlow(lambda t, s: jnp.concatenate([VanDerPol().velocity(t, s[:2]), followed(s)]))
    found = periodic_orbit(flow, [2.0, 0.1, 0.0, 0.0], 6.5, segments=3)
    assert found.period == pytest.approx(6.6632868593231, abs=1e-8)
    rest = np.exp(-found.period)
    np.testing.assert_allclose(found.multipliers, [rest, rest, np.exp(-1.0593770 * found.period)], rtol=1e-3)
    assert "multipliers 0.0012769, 0.0012769" in str(found), found  # the gap is small beside 1e12
    units = orbit_units(flow, Cycle(found.nodes, np.asarray(found.period)))
    searched = _units(Linearised(flow, found.state), jnp.asarray(found.state), found.period, jnp.asarray(1e-10))
    np.testing.assert_array_equal(searched.scale, units.scale)
    assert searched.time == units.time


@pytest.mark.slow
def test_an_iteration_that_is_lost_ends_there():
    seen = []
    lost = lambda x, period: seen.append((x / SIZES, period * RATE)) or len(seen) == 2
    with pytest.raises(ValueError, match="`guess` must be near a periodic orbit, but leads away from where it is"):
        periodic_orbit(SMALL, SIZES * jnp.asarray([2.0, 0.1]), 6.5 / RATE, lost=lost)
    assert len(seen) == 2
    np.testing.assert_allclose(seen[1][0], [2.0, 0.1], atol=0.2)  # in the units of the flow
    assert seen[1][1] == pytest.approx(6.66, abs=0.1)


def test_a_period_that_is_not_that_of_the_forcing_is_refused():
    flow, start = Duffing(gamma=0.1, delta=3.0), jnp.asarray([1.0, 0.0])
    must = "`period` must be that of the forcing, or a multiple of it, to eight digits, but is"
    for period in (3.0, 6.2832):
        with pytest.raises(ValueError, match=must):
            periodic_orbit(flow, start, period, forced=True)
        with pytest.raises(ValueError, match=must):
            find_attractors(flow, start[None], search=accurate(period=period))
    check_period("period", flow, start[None], 4 * np.pi)
    check_period("period", flow, start[None], 6.283185307)
    check_period("period", VanDerPol(), start[None], 3.0)  # a flow that does not depend on time has any period
    rest = PeriodicOrbit(np.zeros(2), 3.0, np.zeros((1, 2)), np.empty(0, complex), 0.0, 0.0, "stable")
    with pytest.raises(ValueError, match="`forcing` must be that of the forcing"):
        continue_orbits(
            Parameter(flow, lambda flow: flow.delta, 1.0, 4.0), rest, forcing=lambda flow: 3.0 + 0 * flow.delta
        )


def test_segments_give_the_same_orbit(cycle):
    found = periodic_orbit(VanDerPol(), jnp.asarray([2.0, 0.1]), 6.5, segments=3)
    assert found.period == pytest.approx(cycle.period, abs=1e-9)
    assert np.allclose(found.multipliers, cycle.multipliers, atol=1e-8)
    assert found.nodes.shape == (3, 2)
    twice = periodic_orbit(VanDerPol(), cycle.state, 2 * cycle.period, segments=2)  # both nodes are the same
    assert twice.period == pytest.approx(2 * cycle.period, abs=1e-8)


def test_backwards_in_time_the_orbit_is_unstable():
    stable, unstable = (periodic_orbit(VanDerPol(mu=mu), jnp.asarray([2.0, 0.0]), 6.3) for mu in (0.3, -0.3))
    assert unstable.period == pytest.approx(2 * np.pi * (1 + 0.3**2 / 16 - 5 * 0.3**4 / 3072), abs=1e-5)
    assert unstable.multipliers * stable.multipliers == pytest.approx(1.0, rel=1e-6)
    assert (stable.stability, unstable.stability) == ("stable", "unstable")


class Linear(AbstractMap):
    matrix: jnp.ndarray
    space: Euclidean = Euclidean()

    def step(self, k, x):
        return self.matrix @ x


def test_stability_is_that_of_the_moduli_of_multipliers():
    turned = lambda size: size * np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 0.5]])
    for matrix, stability in [
        (np.diag([0.5, -0.9, 0.1]), "stable"), (np.diag([0.5, -2.0, 0.1]), "saddle"), (turned(2.1), "unstable"),
        (np.diag([0.5, -2.0, 1.0]), "saddle"), (turned(1.0), "undecided"), (turned(1.01), "saddle"),
    ]:  # fmt: skip
        found = periodic_orbit(Linear(jnp.asarray(matrix)), np.zeros(3), 1)
        assert found.stability == stability
        assert np.all(np.diff(np.abs(found.multipliers)) < 1e-9)
        assert np.poly(found.multipliers) == pytest.approx(np.poly(matrix), abs=1e-12)


@pytest.mark.slow
def test_a_family_of_orbits_is_undecided():
    found = periodic_orbit(Pendulum(), jnp.asarray([2.0, 0.0]), 8.3)
    angle, velocity = (float(value) for value in found.state)
    energy = velocity**2 / 2 - np.cos(angle)
    assert found.period == pytest.approx(4 * scipy.special.ellipk((1 + energy) / 2), abs=1e-7)
    assert found.stability == "undecided"


@pytest.mark.slow
def test_a_rotation_closes_on_the_circle():
    """The integral of d x / (w - sin x) over a turn is 2 pi / sqrt(w^2 - 1)."""
    flow = FunctionFlow(lambda t, x: jnp.stack([1.25 - jnp.sin(x[0]), jnp.sin(x[0]) - 0.25 * x[1]]))
    turn = jnp.asarray([2 * np.pi, 0.0])
    for segments in (1, 3):
        found = periodic_orbit(flow, jnp.asarray([0.0, 1.0]), 8.0, segments=segments, shift=turn)
        assert found.period == pytest.approx(2 * np.pi / 0.75, abs=1e-8)
        assert found.multipliers == pytest.approx([np.exp(-0.25 * found.period)], abs=1e-8)
        assert found.stability == "stable"
    with pytest.raises(ValueError, match="Argument `shift` must hold whole periods of angles, after which the field"):
        periodic_orbit(flow, jnp.asarray([0.1, 1.0]), 8.0, shift=turn / 3)
    with pytest.raises(ValueError, match="Argument `shift` must have 2 entries, as the state, but has 1"):
        periodic_orbit(flow, jnp.asarray([0.1, 1.0]), 8.0, shift=turn[:1])


@pytest.mark.slow
def test_a_forced_orbit_keeps_the_period_of_the_forcing():
    flow = Duffing(gamma=0.1)
    found = periodic_orbit(flow, jnp.asarray([1.2, 0.0]), 2 * np.pi, forced=True)
    assert found.period == 2 * np.pi
    assert len(found.multipliers) == 2
    assert np.prod(found.multipliers).real == pytest.approx(np.exp(-0.25 * 2 * np.pi), rel=1e-6)  # the friction
    assert found.stability == "stable"
    halves = periodic_orbit(flow, jnp.asarray([1.2, 0.0]), 2 * np.pi, forced=True, segments=2)
    assert np.allclose(halves.state, found.state, atol=1e-8)
    assert halves.multipliers == pytest.approx(found.multipliers, abs=1e-7)
    slow, fast = periodic_orbit(
        Duffing(gamma=0.1, delta=3.0), jnp.asarray([1.0, 0.0]), 2 * np.pi, forced=True
    ).multipliers
    assert np.log(slow.real) == pytest.approx(-2 * np.pi, rel=0.05)  # near the well: x'' + 3 x' + 2 x = 0
    assert np.log(fast.real) == pytest.approx(-4 * np.pi, rel=0.05)


@pytest.mark.slow
def test_on_a_sphere_normal_directions_have_no_multiplier():
    def rhs(t, x):  # the height is drawn to 1/2, and the sphere turns about the axis
        z = x[2] - 0.5
        return jnp.stack([-x[1] + x[0] * x[2] * z, x[0] + x[1] * x[2] * z, -(1 - x[2] ** 2) * z])

    found = periodic_orbit(FunctionFlow(rhs, Sphere()), jnp.asarray([0.8, 0.0, 0.6]), 6.0)
    assert found.period == pytest.approx(2 * np.pi, abs=1e-8)
    assert float(found.state[2]) == pytest.approx(0.5, abs=1e-8)
    assert np.allclose(found.multipliers, [np.exp(-2 * np.pi * 0.75)], rtol=1e-5)


@pytest.mark.slow
def test_bad_input_is_one_sentence():
    flow = VanDerPol()
    with pytest.raises(ValueError, match=r"Argument `guess` must be near a periodic orbit, but leads to"):
        periodic_orbit(flow, jnp.asarray([1e-9, 0.0]), 6.28)
    with pytest.raises(ValueError, match="Argument `guess` must be near a periodic orbit, but leads to an equilibrium"):
        periodic_orbit(Duffing(gamma=0.0, delta=0.5), jnp.asarray([1.1, 0.1]), 4.5)
    with pytest.raises(ValueError, match="Argument `period` must be positive, but is -1"):
        periodic_orbit(flow, jnp.asarray([2.0, 0.0]), -1.0)
    with pytest.raises(ValueError, match="Argument `segments` must be at least 1, but is 0"):
        periodic_orbit(flow, jnp.asarray([2.0, 0.0]), 6.0, segments=0)


@pytest.mark.slow
def test_a_flow_that_depends_on_time_needs_the_period_of_its_forcing():
    forced = FunctionFlow(lambda t, x, a: -x + a * jnp.cos(t), parameters={"a": 1.0})
    with pytest.raises(ValueError, match="Argument `forced` must be True for a flow that depends on time, with the"):
        periodic_orbit(forced, [0.3], 2 * np.pi)
    orbit = periodic_orbit(forced, [0.3], 2 * np.pi, forced=True)
    assert float(orbit.state[0]) == pytest.approx(0.5, abs=1e-8)
    with pytest.raises(ValueError, match="Argument `forcing` must be the period, for a flow that depends on time"):
        continue_orbits(Parameter(forced, lambda flow: flow.parameters["a"], 0.5, 2.0), orbit)


@pytest.mark.slow
def test_a_period_far_from_the_guess_is_refused():
    """Near the slow curves of a relaxation oscillation Newton's method runs off to several turns."""
    with pytest.raises(ValueError, match="Argument `(period|guess)` must be near (that of the|a periodic) orbit, but"):
        periodic_orbit(VanDerPol(mu=10.0), [2.0, 0.0], 19.0)
    assert periodic_orbit(VanDerPol(mu=10.0), [2.0, 0.0], 19.07).period == pytest.approx(19.0783696, abs=1e-5)

"""Periodic orbits certified in ball arithmetic: published and closed forms, what cannot be certified, bad input."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.oscillators import Duffing, Pendulum, VanDerPol

flint = pytest.importorskip("flint")

from analysis.dynamics.validated import orbits as orbit_equations  # noqa: E402
from analysis.dynamics.validated.ball_operations import ball  # noqa: E402
from analysis.dynamics.validated.balls import BallFunction  # noqa: E402
from analysis.dynamics.validated.orbits import _stability, certified_periodic_orbit  # noqa: E402
from analysis.dynamics.validated.taylor import TaylorSteps, _terms, arithmetic  # noqa: E402
from tests.dynamics.validated.test_equilibria import operations  # noqa: E402

VISWANATH = "1.5586522107161747275678702092126960705284805489972"  # Physica D 190 (2004), the orbit AB of Lorenz


def lorenz(t, x):
    return jnp.stack([10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - 8.0 * x[2] / 3.0])


def circles(t, x):
    pull = 0.2 * (1 - jnp.sum(x**2))
    return jnp.stack([pull * x[0] - 2 * x[1], 2 * x[0] + pull * x[1]])


@pytest.fixture(scope="module")
def circle():
    return periodic_orbit(FunctionFlow(circles), jnp.asarray([0.9, 0.1]), 3.0)


def about(values, radius=0.0):
    return np.array([ball(v, radius) for v in values], dtype=object)


def test_a_step_encloses_the_solution_and_its_derivative():
    """The solutions of x' = -x^2 are x / (1 + x t), with the derivatives 1 / (1 + x t)^2."""
    steps = TaylorSteps(lambda x: -(x**2), 1, 16)
    with arithmetic(106, 20):
        h = ball(0.0625)
        exact = steps.step(about([1.5]), h)
        assert exact.end[0].contains(ball(1.5) / (1 + ball(1.5) * h))
        assert float(exact.end[0].rad()) < 1e-17
        wide = steps.step(about([1.5], 0.01), h, derivative=True)
        for x in (1.4901, 1.5, 1.5099):
            assert wide.end[0].contains(ball(x) / (1 + ball(x) * h))
            assert wide.derivative[0, 0].contains(1 / (1 + ball(x) * h) ** 2)
            assert all(wide.during[0].contains(ball(x) / (1 + ball(x) * t)) for t in (ball(0.01), ball(0.05), h))
        assert float(wide.derivative[0, 0].rad()) < 0.01
        low = TaylorSteps(lambda x: -(x**2), 1, 2).step(about([1.5]), h, derivative=True)
        assert low.end[0].contains(ball(1.5) / (1 + ball(1.5) * h))
        assert low.derivative[0, 0].contains(1 / (1 + ball(1.5) * h) ** 2)
        assert 1e-6 < float(low.derivative[0, 0].rad()) < 1e-2  # the remainder of third order
        assert TaylorSteps(lambda x: x**2, 1, 16).step(about([1.0]), ball(1.5)) is None  # it explodes at t = 1


@pytest.mark.slow
def test_series_of_every_operation_are_those_of_the_function():
    start, velocity = jnp.asarray([0.3, -0.2]), jnp.asarray([0.7, 0.4])
    along = lambda t: operations(start + t * velocity)
    slope = jax.jacfwd(along)
    expected = jax.jit(lambda t: (along(t), slope(t), jax.jacfwd(slope)(t) / 2))(0.0)
    with arithmetic(80, 5):
        line = [flint.arb_series([float(x), float(v)], prec=3) for x, v in zip(start, velocity, strict=True)]
        found = [_terms(v, 3) for v in BallFunction(operations, 2).values(line)]
        for k, values in enumerate(expected):
            assert np.allclose([float(v[k].mid()) for v in found], values, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
def test_lorenz_has_its_published_orbit():
    orbit = periodic_orbit(FunctionFlow(lorenz), jnp.asarray([-13.763610682134, -19.578751942452, 27.0]), 1.5586522107)
    found = certified_periodic_orbit(FunctionFlow(lorenz), orbit)
    with flint.ctx.workprec(200):
        assert found.period.contains(flint.arb(VISWANATH))
    assert float(found.period.rad()) < 1e-16
    assert found.least
    assert found.radius < 1e-13
    assert np.max(np.abs(found.state - np.asarray(orbit.state))) < 1e-8
    assert found.stability == "saddle"
    product = found.multipliers[0] * found.multipliers[1]  # Liouville: the divergence is -41/3
    assert product.real.overlaps((-flint.arb(41) / 3 * found.period).exp())
    assert float(found.multipliers[0].real.mid()) == pytest.approx(orbit.multipliers[0].real, rel=1e-6)
    assert "saddle periodic orbit, certified: least period [1.5586522107161747" in str(found)  # 15 digits are no 17


@pytest.mark.slow
def test_a_circle_has_its_period_and_multiplier_and_twice_around_is_not_the_least_period(circle):
    flow = FunctionFlow(circles)
    once = certified_periodic_orbit(flow, circle)
    with flint.ctx.workprec(106):
        assert once.period.contains(flint.arb.pi())
        assert once.multipliers[0].real.contains((-2 * ball(0.2) * flint.arb.pi()).exp())
    assert once.stability == "stable"
    assert once.least
    assert once.unique >= 1e-6
    assert abs(np.linalg.norm(once.state) - 1) <= once.radius < 1e-12
    two = certified_periodic_orbit(flow, periodic_orbit(flow, jnp.asarray([1.0, 0.0]), 6.28, segments=2))
    with flint.ctx.workprec(106):
        assert two.period.contains(2 * flint.arb.pi())
    assert not two.least


@pytest.mark.slow
def test_an_orbit_is_certified_in_any_units():
    """The circle with components of 1e-9 and 1e3, in microseconds."""
    sizes, time = np.array([1e-9, 1e3]), 1e-6
    flow = FunctionFlow(lambda t, x: circles(t, x / sizes) * sizes / time)
    found = certified_periodic_orbit(flow, periodic_orbit(flow, sizes * [0.9, 0.1], 3e-6))
    with flint.ctx.workprec(106):
        assert found.period.contains(ball(time) * flint.arb.pi())
        assert found.multipliers[0].real.contains((-2 * ball(0.2) * flint.arb.pi()).exp())
    assert float(found.period.rad()) < 1e-20
    assert (found.least, found.stability) == (True, "stable")
    assert np.linalg.norm(found.state / sizes) == pytest.approx(1, abs=1e-12)
    assert found.radius < 1e-9
    assert np.linalg.norm(found.nodes / sizes, axis=1) == pytest.approx(np.ones(len(found.nodes)), abs=1e-12)
    assert (found.units[0].tolist(), found.units[1]) == ([2.0**-30, 2.0**10], 2.0**-20)
    forced = FunctionFlow(lambda t, x: 1e6 * (1e-9 * jnp.cos(1e6 * t) - x))
    orbit = periodic_orbit(forced, jnp.asarray([5e-10]), 2e-6 * np.pi, forced=True)
    period = 2 * flint.arb.pi() / 10**6
    driven = certified_periodic_orbit(forced, orbit, period=period)
    assert driven.period.contains(period)
    assert driven.state == pytest.approx([5e-10], rel=1e-9, abs=0)
    with flint.ctx.workprec(106):
        assert driven.multipliers[0].real.contains((-2 * flint.arb.pi()).exp())
    turn = jnp.asarray([2 * np.pi, 0.0])
    pump = lambda t, x: 1e6 * jnp.stack([1.25 - jnp.sin(x[0]), 1e-9 * (jnp.sin(x[0]) - 0.25e9 * x[1])])
    around = FunctionFlow(pump)
    wound = certified_periodic_orbit(around, periodic_orbit(around, [0.0, 1e-9], 8e-6, shift=turn), shift=turn)
    with flint.ctx.workprec(106):
        assert wound.period.overlaps(8 * flint.arb.pi() / (3 * 10**6))
    assert wound.least


def test_a_forced_orbit_keeps_the_period_of_the_forcing():
    flow = FunctionFlow(lambda t, x: jnp.sin(t + 0.25) ** 3 + jnp.cos(t + 0.25) - x**3)  # solved by sin (t + 1/4)
    start = np.sin([0.25])
    orbit = PeriodicOrbit(start, 2 * np.pi, start[None], np.zeros(1, complex), 0.0, 0.0, "stable")
    found = certified_periodic_orbit(flow, orbit, period=2 * flint.arb.pi())
    assert found.period.contains(2 * flint.arb.pi())
    assert abs(found.state[0] - start[0]) <= found.radius < 1e-14
    with flint.ctx.workprec(106):
        assert found.multipliers[0].real.contains((-3 * flint.arb.pi()).exp())
    assert (found.stability, found.least) == ("stable", True)
    with pytest.raises(ValueError, match="Argument `period` must hold a period of the forcing, as a ball such as"):
        certified_periodic_orbit(flow, orbit, period=2 * np.pi)
    with pytest.raises(
        ValueError, match="Argument `period` must be given for a flow that depends on time, but is missing"
    ):
        certified_periodic_orbit(flow, orbit)


@pytest.mark.slow
def test_a_forced_oscillator_has_the_multipliers_of_its_friction():
    flow = Duffing(gamma=0.1)
    orbit = periodic_orbit(flow, jnp.asarray([1.2, 0.0]), 2 * np.pi, forced=True)
    found = certified_periodic_orbit(flow, orbit, period=2 * flint.arb.pi())
    assert found.period.contains(2 * flint.arb.pi())
    assert np.max(np.abs(found.state - np.asarray(orbit.state))) < 1e-8
    product = found.multipliers[0] * found.multipliers[1]  # the friction
    assert product.real.overlaps((-ball(0.25) * 2 * flint.arb.pi()).exp())
    assert all(min(abs(complex(v.mid()) - m) for m in orbit.multipliers) < 1e-6 for v in found.multipliers)
    assert found.stability == "stable"


@pytest.mark.slow
def test_a_rotation_is_certified_on_the_circle():
    flow = FunctionFlow(lambda t, x: jnp.stack([1.25 - jnp.sin(x[0]), jnp.sin(x[0]) - 0.25 * x[1]]))
    turn = jnp.asarray([2 * np.pi, 0.0])
    orbit = periodic_orbit(flow, jnp.asarray([0.0, 1.0]), 8.0, shift=turn)
    found = certified_periodic_orbit(flow, orbit, shift=turn)
    with flint.ctx.workprec(106):
        assert found.period.contains(8 * flint.arb.pi() / 3)  # the integral of d x / (w - sin x) over a turn
        assert found.multipliers[0].real.contains((-2 * flint.arb.pi() / 3).exp())
    assert found.least
    twice = periodic_orbit(flow, orbit.state, 2 * orbit.period, shift=2 * turn)
    assert not certified_periodic_orbit(flow, twice, shift=2 * turn).least


@pytest.mark.slow
def test_a_box_proves_nothing_unless_its_image_is_inside(circle, monkeypatch):
    monkeypatch.setattr(orbit_equations, "SHARES", (1e-25,))
    with pytest.raises(ValueError, match="but has a derivative that varies too much beside it"):
        certified_periodic_orbit(FunctionFlow(circles), circle)


def test_an_orbit_is_said_to_be_alone_only_as_far_as_the_next_one():
    size, gap = 1000.0, 5e-5

    def rhs(t, x):  # circles of radius 1 and 1 + gap, in other units
        r = jnp.sqrt(jnp.sum(x**2)) / size
        return (r - 1) * (r - 1 - gap) * x + 2 * jnp.stack([-x[1], x[0]])

    flow = FunctionFlow(rhs)
    start = np.array([size, 0.0])
    orbit = PeriodicOrbit(start, np.pi, start[None], np.ones(1, complex), 0.0, 0.0, "undecided")
    found = certified_periodic_orbit(flow, orbit)
    assert 1e-2 * gap < found.unique * (1 + size) / size < gap
    with flint.ctx.workprec(106):
        assert found.period.contains(flint.arb.pi())
        assert found.multipliers[0].real.contains((-ball(gap) * flint.arb.pi()).exp())
    assert (found.stability, found.least) == ("stable", True)
    assert abs(np.linalg.norm(found.state) - size) <= found.radius < 1e-9
    assert np.linalg.norm(found.nodes, axis=1) == pytest.approx(size, rel=1e-13)
    assert str(found).startswith("stable periodic orbit, certified: least period [3.141592653589793")


def test_a_rotation_is_certified_with_its_turn():
    flow, turn = FunctionFlow(lambda t, x: 1.25 - jnp.sin(x)), np.array([2 * np.pi])
    orbit = PeriodicOrbit(np.zeros(1), 8.3776, np.zeros((1, 1)), np.empty(0, complex), 0.0, 0.0, "undecided")
    found = certified_periodic_orbit(flow, orbit, shift=turn)
    with flint.ctx.workprec(106):
        assert found.period.contains(8 * flint.arb.pi() / 3)  # the integral of d x / (w - sin x) over a turn
    assert float(found.period.rad()) < 1e-15
    assert (found.least, found.multipliers) == (True, ())
    with pytest.raises(ValueError, match="Argument `shift` must hold whole periods of angles"):
        certified_periodic_orbit(flow, orbit, shift=[1.0])
    with pytest.raises(ValueError, match="Argument `shift` must have 1 entries, as the state, but has 2"):
        certified_periodic_orbit(flow, orbit, shift=[0.0, 2 * np.pi])


def test_a_multiplier_on_the_unit_circle_is_undecided():
    multiplier = lambda real, imag=0.0, radius=0.01: flint.acb(ball(real, radius), ball(imag, radius))
    for given, stability in (
        ([0.5, -0.9], "stable"), ([2.0, 0.5], "saddle"), ([-2.0, 1.5], "unstable"), ([1.0, 0.5], "undecided"),
        ([0.5, 1.0, 2.0], "undecided"), ([-0.99], "undecided"), ([], "stable"),
    ):  # fmt: skip
        assert _stability(tuple(multiplier(v) for v in given)) == stability
    assert _stability((multiplier(0.9, 0.6), multiplier(0.9, -0.6))) == "unstable"


@pytest.mark.slow
def test_on_a_sphere_normal_directions_have_no_multiplier():
    def rhs(t, x):  # the height is drawn to 1/2, and the sphere turns about the axis
        z = x[2] - 0.5
        return jnp.stack([-x[1] + x[0] * x[2] * z, x[0] + x[1] * x[2] * z, -(1 - x[2] ** 2) * z])

    flow = FunctionFlow(rhs, Sphere())
    found = certified_periodic_orbit(flow, periodic_orbit(flow, jnp.asarray([0.8, 0.0, 0.6]), 6.0))
    assert len(found.multipliers) == 1
    with flint.ctx.workprec(106):
        assert found.period.contains(2 * flint.arb.pi())
        assert found.multipliers[0].real.contains((-flint.arb.pi() * 3 / 2).exp())


@pytest.mark.slow
def test_the_cycle_of_van_der_pol_is_certified_from_weak_to_stiff():
    for mu, guess, start in ((0.1, 6.287, 2.0), (1.0, 6.66, 2.0), (5.0, 11.6, 2.02)):
        flow = VanDerPol(mu=mu)
        orbit = periodic_orbit(flow, jnp.asarray([start, 0.0]), guess)
        found = certified_periodic_orbit(flow, orbit)
        assert abs(float(found.period.mid()) - orbit.period) < 1e-7
        assert found.stability == "stable"
        assert found.least


@pytest.mark.slow
def test_what_cannot_be_certified_is_said_in_a_sentence(circle):
    family = periodic_orbit(Pendulum(), jnp.asarray([2.0, 0.0]), 8.3)
    with pytest.raises(ValueError, match="but has another multiplier 1, as orbits in families have"):
        certified_periodic_orbit(Pendulum(), family)
    said = "must be near a regular periodic orbit to be certified, but is not near a solution: Newton's method"
    with pytest.raises(ValueError, match=said):
        certified_periodic_orbit(VanDerPol(), circle)
    with pytest.raises(ValueError, match="Argument `flow` must be smooth along its orbit, but cannot be shown to be"):
        certified_periodic_orbit(FunctionFlow(lambda t, x: circles(t, x) * (1 + 1e-3 * jnp.abs(x[0]))), circle)
    with pytest.raises(ValueError, match="Argument `shift` must have 2 entries, as the state, but has 1"):
        certified_periodic_orbit(FunctionFlow(circles), circle, shift=[1.0])
    with pytest.raises(ValueError, match="Argument `shift` must hold whole periods of angles"):
        certified_periodic_orbit(FunctionFlow(circles), circle, shift=[1.0, 0.0])
    with pytest.raises(ValueError, match="Argument `period` must be positive"):
        certified_periodic_orbit(FunctionFlow(circles), circle, period=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "push",
    [
        lambda x: 0.05 * jnp.sign(x[0]),
        lambda x: jnp.where(x[0] > 0, 0.1, 0.2),
        lambda x: (x[1] > 0.1).astype(float) / 10.0,
    ],
    ids=["sign", "where", "comparison"],
)
def test_an_orbit_across_a_jump_is_not_certified(push):
    """The jump is of constants, whose series have no terms that would tell."""
    turning = lambda x: jnp.stack([x[0] - 2 * x[1], 2 * x[0] + x[1]]) - x * jnp.sum(x**2)
    flow = FunctionFlow(lambda t, x: turning(x) + jnp.stack([push(x), jnp.zeros(())]))
    orbit = PeriodicOrbit(
        jnp.asarray([1.0, 0.0]), np.pi, np.array([[1.0, 0.0]]), np.array([0.002 + 0j]), 0.0, 0.0, "stable"
    )
    with pytest.raises(ValueError, match="Argument `flow` must be smooth along its orbit, but cannot be shown to be"):
        certified_periodic_orbit(flow, orbit)


@pytest.mark.slow
def test_all_certified_digits_of_a_period_are_printed(circle):
    found = certified_periodic_orbit(FunctionFlow(circles), circle)
    with flint.ctx.workprec(106):
        printed = flint.arb(re.search(r"period (\[.*?\])", str(found))[1])
        assert printed.contains(flint.arb.pi())
    assert float(printed.rad()) < 10 * float(found.period.rad())

"""The catalogue: published numbers, closed forms and conserved quantities of every system."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

from analysis.dynamics.linearisation import tangent_jacobian
from dynsim.integrators import Event, Scipy
from dynsim.simulation.hybrid import crossings
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.base import AbstractMap
from dynsim.systems.catalogue.chaotic import HenonHeiles, Lorenz, Roessler
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.maps import CircleMap, Henon, Ikeda, Logistic, Standard
from dynsim.systems.catalogue.oscillators import (
    DoublePendulum,
    DoubleWell,
    Duffing,
    FitzHughNagumo,
    Josephson,
    Pendulum,
    VanDerPol,
)
from dynsim.systems.catalogue.populations import Brusselator, Kuramoto, LotkaVolterra

STARTS = {VanDerPol: [2.0, 0.1], FitzHughNagumo: [0.5, 0.3], Duffing: [0.7, -0.2], Pendulum: [1.0, 0.3],
    DoubleWell: [0.4], Josephson: [1.0, 0.3], DoublePendulum: [1.0, 0.3, -0.4, 0.7], CircleMap: [0.3],
    Lorenz: [1.0, 2.0, 20.0], Roessler: [1.0, 2.0, 0.5], HenonHeiles: [0.1, 0.2, 0.3, -0.1], LotkaVolterra: [0.7, 1.3],
    Brusselator: [1.1, 2.0], Kuramoto: [0.1, 1.0, 2.5], Logistic: [0.3], Henon: [0.1, 0.2], Standard: [2.0, 5.5],
    Ikeda: [0.1, -0.3]}  # fmt: skip


def printed(system, t, x):
    """Return the right-hand sides as the sources print them, in NumPy."""
    s = system
    match s:
        case VanDerPol():
            return [x[1], s.mu * (1 - x[0] ** 2) * x[1] - x[0]]
        case FitzHughNagumo():
            return [x[0] - x[0] ** 3 / 3 - x[1] + s.current, (x[0] + s.a - s.b * x[1]) / s.tau]
        case Duffing():
            return [x[1], -s.delta * x[1] - s.alpha * x[0] - s.beta * x[0] ** 3 + s.gamma * np.cos(s.omega * t)]
        case Pendulum():
            return [x[1], -np.sin(x[0]) - s.friction * x[1]]
        case Josephson():
            return [x[1], s.current - np.sin(x[0]) - s.alpha * x[1]]
        case DoublePendulum():
            m_1, m_2, l_1, l_2, g = (float(value) for value in jax.tree.leaves(s))
            c, d = np.cos(x[0] - x[1]), np.sin(x[0] - x[1])
            mass = [[(m_1 + m_2) * l_1**2, m_2 * l_1 * l_2 * c], [m_2 * l_1 * l_2 * c, m_2 * l_2**2]]
            force = [-m_2 * l_1 * l_2 * x[3] ** 2 * d - (m_1 + m_2) * g * l_1 * np.sin(x[0]),
                     m_2 * l_1 * l_2 * x[2] ** 2 * d - m_2 * g * l_2 * np.sin(x[1])]  # fmt: skip
            return [x[2], x[3], *np.linalg.solve(mass, force)]
        case CircleMap():
            return [(x[0] + s.Omega - s.K / (2 * np.pi) * np.sin(2 * np.pi * x[0])) % 1]
        case DoubleWell():
            return [s.a * x[0] - x[0] ** 3 + s.h]
        case Lorenz():
            return [s.sigma * (x[1] - x[0]), x[0] * (s.rho - x[2]) - x[1], x[0] * x[1] - s.beta * x[2]]
        case Roessler():
            return [-x[1] - x[2], x[0] + s.a * x[1], s.b + x[2] * (x[0] - s.c)]
        case LotkaVolterra():
            return [s.a * x[0] - s.b * x[0] * x[1], s.c * x[0] * x[1] - s.d * x[1]]
        case Brusselator():
            return [s.a + x[0] ** 2 * x[1] - s.b * x[0] - x[0], s.b * x[0] - x[0] ** 2 * x[1]]
        case Kuramoto():
            return np.asarray(s.frequencies) + float(s.coupling) * np.mean(np.sin(x[None] - x[:, None]), axis=1)
        case Logistic():
            return [s.r * x[0] * (1 - x[0])]
        case Henon():
            return [1 - s.a * x[0] ** 2 + x[1], s.b * x[0]]
        case Standard():
            p = x[1] + s.K * np.sin(x[0])
            return [(x[0] + p) % (2 * np.pi), p % (2 * np.pi)]
        case Ikeda():
            z = 1 + float(s.u) * (x[0] + 1j * x[1]) * np.exp(1j * (0.4 - 6 / (1 + x[0] ** 2 + x[1] ** 2)))
            return [z.real, z.imag]
    gradient = np.asarray(jax.jit(lambda y: jax.grad(s.energy)(y))(x))  # Henon and Heiles
    return np.concatenate([gradient[2:], -gradient[:2]])


@eqx.filter_jit
def moved(system, x):
    """Return the next state of a map, or the velocity of a flow at the time at which it is compared."""
    return system.step(3, x) if isinstance(system, AbstractMap) else system.velocity(1.7, x)


@pytest.mark.parametrize("kind", STARTS, ids=lambda kind: kind.__name__)
def test_the_right_hand_side_is_the_printed_one_for_any_parameters(kind):
    leaves, structure = jax.tree.flatten(kind())
    system = jax.tree.unflatten(structure, [0.7 + 0.37 * k + 0.1 * leaf for k, leaf in enumerate(leaves)])
    x = np.array(STARTS[kind])
    assert np.allclose(moved(system, x), printed(system, 1.7, x))
    assert len(system.names) == len(x)


def test_the_parameters_are_those_for_which_numbers_are_printed():
    values = {kind.__name__: [float(v) for leaf in jax.tree.leaves(kind()) for v in np.ravel(leaf)] for kind in STARTS}
    assert values == {
        "VanDerPol": [1.0], "FitzHughNagumo": [0.5, 0.7, 0.8, 12.5], "Duffing": [0.25, -1.0, 1.0, 0.3, 1.0],
        "Pendulum": [0.0], "DoubleWell": [1.0, 0.0], "Lorenz": [10.0, 28.0, 8 / 3], "Roessler": [0.2, 0.2, 5.7],
        "HenonHeiles": [], "LotkaVolterra": [1.0] * 4, "Brusselator": [1.0, 3.0], "Kuramoto": [-1.0, 0.0, 1.0, 1.0],
        "Josephson": [1.2, 0.5], "DoublePendulum": [1.0] * 5, "CircleMap": [0.606661063470, 1.0],
        "Logistic": [4.0], "Henon": [1.4, 0.3], "Standard": [0.971635], "Ikeda": [0.9],
    }  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_entries_have_a_start_in_their_window_and_a_line_of_text(name):
    entry = CATALOGUE[name]
    low, high = np.reshape(entry.box, (-1, 2)).T
    assert np.all((low < entry.start) & (entry.start < high))
    assert len(entry.system().names) == len(entry.start)
    assert entry.text
    assert "$" not in entry.text


def test_the_steps_of_a_forced_oscillator_see_its_forcing():
    assert Duffing(omega=4.0).step_limit() == Duffing(omega=-4.0).step_limit() == pytest.approx(np.pi / 4)
    assert Duffing(gamma=0.0).step_limit() == np.inf


def period(flow, start, until, component=0, samples=2):
    """Return the time between the last two upward zeros of a component."""
    event = Event(lambda t, x: x[component], 1)
    found = crossings(flow, jnp.asarray(start), [0.0, until], [event], integrator=Scipy())
    return float(np.diff([jump.time for jump in found.jumps])[-1])


@pytest.mark.slow
def test_van_der_pol_has_the_published_period():
    assert period(VanDerPol(), [2.0, 0.0], 60.0) == pytest.approx(6.6632868593231, abs=1e-8)


def test_the_pendulum_has_the_period_of_the_elliptic_integral():
    amplitude = 2.0
    expected = 4 * scipy.special.ellipk(np.sin(amplitude / 2) ** 2)
    assert period(Pendulum(), [amplitude, 0.0], 40.0) == pytest.approx(expected, abs=1e-9)


def growth_rates(flow, x):
    return np.sort_complex(np.linalg.eigvals(tangent_jacobian(flow, jnp.asarray(x))))


def test_hopf_bifurcations_are_where_they_are_printed():
    for current, sign in ((0.331281, -1), (1.418719, 1)):
        v = sign * np.sqrt(1 - 0.8 / 12.5)
        values = growth_rates(FitzHughNagumo(current=current), [v, (v + 0.7) / 0.8])
        assert np.allclose(values.real, 0, atol=1e-6)
        assert np.all(np.abs(values.imag) > 0.1)
    rho = 10 * (10 + 8 / 3 + 3) / (10 - 8 / 3 - 1)
    assert rho == pytest.approx(24.7368, abs=1e-4)
    s = np.sqrt(8 / 3 * (rho - 1))
    values = growth_rates(Lorenz(rho=rho), [s, s, rho - 1])
    assert np.allclose(np.sort(values.real)[1:], 0, atol=1e-9)
    values = growth_rates(Brusselator(a=1.5, b=1 + 1.5**2), [1.5, (1 + 1.5**2) / 1.5])
    assert np.allclose(values, [-1.5j, 1.5j])


def test_the_double_well_has_its_folds():
    a = 1.2
    h = 2 * (a / 3) ** 1.5
    x = np.array([-np.sqrt(a / 3)])
    assert np.allclose(DoubleWell(a=a, h=h).velocity(0.0, jnp.asarray(x)), 0, atol=1e-12)
    assert np.allclose(growth_rates(DoubleWell(a=a, h=h), x), 0, atol=1e-12)


def test_conserved_quantities_are_conserved():
    for flow, start, quantity in (
        (HenonHeiles(), [0.1, 0.2, 0.3, -0.1], "energy"),
        (LotkaVolterra(a=1.2, b=0.7, c=0.8, d=1.3), [0.7, 1.3], "conserved"),
    ):
        path = simulate(flow, jnp.asarray(start), np.linspace(0.0, 20.0, 5), integrator=Scipy())
        values = np.asarray(path.along(getattr(flow, quantity)))
        assert np.ptp(values) < 1e-9
        assert np.ptp(np.asarray(path.ys)[:, 0]) > 0.1


def test_power_and_loss_of_a_running_junction_balance():
    """Over a turn, I <v> = alpha <v^2>, because phase and velocity return."""
    flow = Josephson(current=1.2, alpha=0.5)
    ends = simulate(flow, jnp.asarray([0.5, 0.0]), [0.0, 60.0], integrator=Scipy(rtol=1e-10, atol=1e-12)).final
    path = simulate(flow, ends, np.linspace(0.0, 4.0, 4001), integrator=Scipy(rtol=1e-10, atol=1e-12))
    phase, v = np.asarray(path.ys).T
    turn = np.searchsorted(phase, phase[0] + 2 * np.pi)
    lost = scipy.integrate.simpson(v[:turn], x=phase[:turn]) + v[turn] * (phase[0] + 2 * np.pi - phase[turn - 1])
    assert 0.5 * lost == pytest.approx(1.2 * 2 * np.pi, rel=1e-6)
    assert np.allclose(flow.velocity(0.0, jnp.asarray([np.arcsin(0.7), 0.0])), [0.0, 0.5])


def test_the_double_pendulum_has_the_frequencies_of_landau_and_lifshitz():
    masses, lengths, g = np.array([1.3, 0.7]), np.array([0.9, 1.6]), 2.5
    flow = DoublePendulum(*masses, *lengths, g)
    M, L, product = masses.sum(), lengths.sum(), masses[0] * lengths.prod()
    squares = g * (M * L + np.array([-1, 1]) * np.sqrt(M * (M * L**2 - 4 * product))) / (2 * product)
    values = growth_rates(flow, np.zeros(4))
    assert np.allclose(np.sort(values.imag)[2:], np.sqrt(squares))
    x = jnp.asarray(STARTS[DoublePendulum])
    change = jax.jvp(flow.energy, (x,), (flow.velocity(0.0, x),))[1]
    assert float(change) == pytest.approx(0.0, abs=1e-14)
    assert np.allclose(
        np.sort(growth_rates(DoublePendulum(), np.zeros(4)).imag)[2:] ** 2, [2 - np.sqrt(2), 2 + np.sqrt(2)]
    )


def test_the_golden_circle_map_has_shenkers_ratio():
    orbit = np.asarray(iterate(CircleMap(), jnp.asarray([0.0]), 987).ys)[:, 0]
    apart = orbit[[89, 144, 233, 377, 610, 987]]
    apart = np.where(apart > 0.5, apart - 1, apart)
    assert apart[:-1] / apart[1:] == pytest.approx(-1.28857, abs=2e-3)
    tongue = CircleMap(Omega=0.1, K=1.0)
    x = jnp.asarray([np.arcsin(0.2 * np.pi) / (2 * np.pi)])
    assert float(tongue.step(0, x)[0]) == pytest.approx(float(x[0]))


def test_two_oscillators_lock_at_the_difference_of_their_frequencies():
    flow = Kuramoto([-0.5, 0.5], 1.0)
    assert np.allclose(flow.velocity(0.0, jnp.asarray([0.0, np.pi / 2])), 0, atol=1e-15)
    assert float(flow.order(jnp.asarray([0.0, np.pi]))) == pytest.approx(0, abs=1e-15)
    assert float(flow.order(jnp.asarray([0.3, 0.3 + np.pi / 2]))) == pytest.approx(np.sqrt(0.5))


def superstable(n: int, guess: float) -> float:
    """Return the parameter near a guess at which 1/2 is a point of period 2^n of the logistic map."""

    def returned(r: float) -> float:
        x = 0.5
        for _ in range(2**n):
            x = r * x * (1 - x)
        return x - 0.5

    return scipy.optimize.newton(returned, guess, tol=1e-14)


def test_period_doublings_of_the_logistic_map_have_feigenbaums_ratio():
    step = Logistic(r=3.2).step
    x = jnp.asarray([0.5130445])
    assert np.allclose(step(1, step(0, x)), x, atol=1e-7)  # a point of period two
    r = [2.0, 1 + np.sqrt(5)]
    for n in range(2, 9):
        r.append(superstable(n, r[-1] + (r[-1] - r[-2]) / 4.669))
    ratios = np.diff(r)[:-1] / np.diff(r)[1:]
    assert ratios[-1] == pytest.approx(4.669201, abs=1e-4)
    assert r[-1] == pytest.approx(3.569946, abs=1e-5)
    assert np.allclose(Logistic(r=r[1]).step(0, jnp.asarray([0.5])), r[1] / 4)


@pytest.mark.parametrize(
    ("system", "factor"), [(Henon(), -0.3), (Standard(K=2.0), 1.0), (Ikeda(), 0.81)], ids=["henon", "standard", "ikeda"]
)
def test_maps_of_the_plane_change_areas_by_a_constant_factor(system, factor):
    derivative = jax.jit(jax.jacfwd(lambda y: system.step(0, y)))
    for x in ([0.3, 0.2], [1.1, 2.0]):
        assert np.linalg.det(derivative(np.array(x))) == pytest.approx(factor)


def test_fixed_points_of_henons_map():
    x = (-0.7 + np.sqrt(0.49 + 4 * 1.4)) / 2.8
    assert np.allclose(Henon().step(0, jnp.asarray([x, 0.3 * x])), [x, 0.3 * x])


def test_bad_parameters_are_one_sentence():
    with pytest.raises(ValueError, match="Argument `rho` must be a real number, but is 'much'"):
        Lorenz(rho="much")
    with pytest.raises(ValueError, match="Argument `tau` must be positive, but is 0"):
        FitzHughNagumo(tau=0.0)
    with pytest.raises(ValueError, match="Argument `frequencies` must have shape"):
        Kuramoto(np.eye(2))

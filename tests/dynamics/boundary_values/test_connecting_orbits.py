"""Connecting orbits against closed forms and published parameter values."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.boundary_values import connecting
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit, connecting_orbit, homoclinic_orbit
from analysis.dynamics.boundary_values.connection_curve import continue_connection
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit, periodic_orbit
from dynsim.errors import ArgumentError
from dynsim.spaces import Cylinder
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.parameter import Parameter


def front(z, s, c=-0.3, a=0.25):
    """Travelling fronts of Nagumo's equation; that from 0 to 1 has c = -(1 - 2 a) / sqrt 2."""
    return jnp.stack([s[1], -c * s[1] - s[0] * (1 - s[0]) * (s[0] - a)])


NAGUMO = FunctionFlow(front, parameters={"c": -0.3, "a": 0.25})
SPEED = Parameter(NAGUMO, "c", -1.0, 1.0)


def test_nagumos_front_has_its_speed_along_a_parameter():
    found = connecting_orbit(SPEED, [0.0, 0.0], [1.0, 0.0])
    assert found.kind == "heteroclinic"
    assert found.parameter == pytest.approx(-0.5 / 2**0.5, abs=1e-8)
    u, v = found.states.T
    assert np.allclose(v, u * (1 - u) / 2**0.5, atol=1e-6)
    curve = continue_connection((SPEED, Parameter(NAGUMO, "a", 0.15, 0.35)), found, steps=Steps(first=0.5))
    assert np.allclose(curve.first, -(1 - 2 * curve.second) / 2**0.5, atol=1e-6)
    assert (np.min(curve.second), np.max(curve.second)) == pytest.approx((0.15, 0.35))


@pytest.mark.slow
def test_a_long_periodic_orbit_leads_to_the_homoclinic_one():
    def loop(t, s, a=0.001):
        energy = s[1] ** 2 / 2 - s[0] ** 2 / 2 + s[0] ** 3 / 3
        return jnp.stack([s[1], s[0] - s[0] ** 2 - (energy + a) * s[1]])

    flow = FunctionFlow(loop, parameters={"a": 0.001})
    orbit = periodic_orbit(flow, [1.45, 0.0], 11.0, method="collocation")
    found = homoclinic_orbit(Parameter(flow, "a", -0.1, 0.1), orbit)
    assert found.kind == "homoclinic"
    assert found.parameter == pytest.approx(0.0, abs=1e-7)
    x, y = found.states.T
    assert np.allclose(y**2 / 2 - x**2 / 2 + x**3 / 3, 0.0, atol=1e-6)
    assert np.max(x) > 1.49  # the top, 1.5, may lie between two places of the mesh


def test_a_rotation_is_cut_where_it_is_slowest_and_leads_one_turn_on(monkeypatch):
    """A rotor with torque, 1000 times as fast; its saddle is where sin x = torque and cos x < 0."""
    field = lambda t, s, torque=0.2: 1e3 * jnp.stack([s[1], torque - jnp.sin(s[0]) - 0.1 * s[1]])
    rotor = FunctionFlow(field, parameters={"torque": 0.2}, space=Cylinder({0: 2 * np.pi}))
    saddle = np.pi - np.arcsin(0.2)
    angles, times = np.linspace(0.02, 2 * np.pi - 0.05, 40), np.linspace(0.0, 1.0, 40, endpoint=False) ** 1.2
    nodes = np.column_stack([saddle + angles, 2 * np.sin(angles / 2)])
    cut, period = 13, 0.03
    rolled = np.roll(np.column_stack([(nodes[:, 0] + np.pi) % (2 * np.pi) - np.pi, nodes[:, 1]]), cut, axis=0)
    shares = (np.roll(times, cut) - times[-cut]) % 1
    orbit = PeriodicOrbit(rolled[0], period, rolled, np.zeros(1, complex), 0.0, 0.0, "saddle", shares)
    given = []

    def solve(*arguments):
        given.extend(arguments)
        raise LookupError

    monkeypatch.setattr(connecting, "solved_from", solve)
    with pytest.raises(LookupError):
        homoclinic_orbit(Parameter(rotor, "torque", -1.0, 1.0), orbit)
    units, _, (later, rows), rests, *_ = given
    turn, rows, (begin, end) = np.array([2 * np.pi, 0.0]), rows * units.scale, rests * units.scale
    np.testing.assert_allclose(rows - rows[0], np.vstack([nodes, nodes[0] + turn]) - nodes[0], atol=1e-12)
    np.testing.assert_allclose(later * units.time, period * np.append(times, 1.0), atol=1e-12)
    np.testing.assert_allclose(end - begin, turn, atol=1e-12)
    np.testing.assert_allclose(np.exp(1j * begin[0]), np.exp(1j * saddle), atol=1e-9)
    np.testing.assert_allclose(rows[0] - begin, nodes[0] - [saddle, 0.0], atol=1e-9)


def test_lorenzs_homoclinic_orbit_is_where_it_is_published():
    """C. Sparrow, The Lorenz Equations (1982): rho = 13.926557; at 14.5 the path from the origin returns near it."""
    found = connecting_orbit(Parameter(Lorenz(rho=14.5), "rho", 10.0, 20.0), np.zeros(3), np.zeros(3))
    assert found.parameter == pytest.approx(13.926557, abs=1e-6)
    assert found.saddle_quantity > 0  # chaos begins


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: connecting_orbit(SPEED, [0.25, 0.0], [0.25, 0.0]), "must be given unless"),
        (
            lambda: connecting_orbit(SPEED, [0.0, 0.0], [1.0, 0.0], guess=([0, 1], [[0, 1]])),
            "`guess` must be increasing",
        ),
        (
            lambda: connecting_orbit(SPEED, [0.25, 0.0], [1.0, 0.0], guess=([0, 1], [[0.25, 0], [1, 0]])),
            "leads from 2 unstable to 1 stable directions of 2",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()


def test_an_orbit_goes_on_beside_its_equilibria_within_their_subspaces():
    """Errors across them, in directions that decay at a rate of 100, would grow by 1e100."""
    linear = [np.diag([1.0, -100.0]), np.diag([50.0, -2.0])]
    rests, states = [np.array([3.0, 4.0]), np.array([5.0, 6.0])], np.array([[3.1, 4.0 + 1e-9], [5.0 + 1e-9, 6.2]])
    times, found = connecting.prolonged(np.array([0.0, 1.0]), states, rests, linear, np.array([10.0, 100.0]))
    before, after = np.log(10), np.log(100) / 2
    shares = np.arange(8) / 8
    np.testing.assert_allclose(
        times, [*(before * shares), before, before + 1, *(before + 1 + after * (shares + 1 / 8))]
    )
    begin = np.column_stack([3 + 0.01 * 10**shares, np.full(8, 4.0)])
    end = np.column_stack([np.full(8, 5.0), 6 + 0.2 * 0.01 ** (shares + 1 / 8)])
    np.testing.assert_allclose(found, [*begin, *states, *end], atol=1e-12)


def test_the_saddle_quantity_adds_the_leading_rates_at_the_end():
    values = np.array([[-1.0, 2.0, 3.0, 4.0], [-3.0, -1.0 + 2j, 0.25, 2.0]])
    found = ConnectingOrbit("homoclinic", 0.5, np.array([0.0, 12.0]), np.zeros((2, 4)), *np.zeros((2, 4)), values, 0.0)
    assert found.saddle_quantity == -0.75
    assert str(found) == "homoclinic orbit at 0.5, over a time of 12"

"""Stiff and other problems of the test set for initial value problem solvers, with its reference solutions.

Source: F. Mazzia and C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008).
"""

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Scipy
from dynsim.integrators.presets import stiff
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import FunctionFlow


def hires(t, y):
    product = 280 * y[5] * y[7]
    return [-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -product + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        product - 1.81 * y[6], -product + 1.81 * y[6]]  # fmt: skip


def vdpol(t, y):
    return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 1e-6]


def orego(t, y):
    first = 77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1]))
    return [first, (y[2] - (1 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])]


def rober(t, y):
    slow, fast = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [slow, -slow - fast, fast]


def e5(t, y):
    """A pyrolysis; the third velocity is a difference of others, so that rounding keeps y_2 = y_3 + y_4."""
    first, second, third, fourth = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3]
    made, left = first - third, second - fourth
    return [-first - second, made, made - left, left]


RATES = [
    0.35, 26.6, 12.3e3, 0.86e-3, 0.82e-3, 15e3, 0.13e-3, 24e3, 16.5e3, 9e3, 0.022, 12e3, 1.88, 16.3e3, 4.8e6, 0.35e-3,
    0.0175, 1e8, 4.44e11, 1.24e3, 2.1, 5.78, 0.0474, 1.78e3, 3.12,
]  # fmt: skip
REACTIONS = [
    "1 > 2 3", "2 4 > 1", "5 2 > 1 6", "7 > 5 5 8", "7 > 8", "7 6 > 5 8", "9 > 10 5 8", "9 6 > 11", "11 2 > 1 10 12",
    "11 1 > 13", "13 > 11 1", "10 2 > 14 1", "14 > 7 5", "1 6 > 15", "3 > 4", "4 > 16", "4 > 3", "16 > 6 6", "16 > 3",
    "17 6 > 18 5", "19 > 2", "19 > 1 3", "1 4 > 19", "19 1 > 20", "20 > 19 1",
]  # fmt: skip
"""The 25 reactions of Verwer's model of air pollution between 20 species."""


SIDES = [[np.array(side.split(), int) - 1 for side in reaction.split(">")] for reaction in REACTIONS]
USED = np.array([np.append(used, 20)[:2] for used, _ in SIDES])  # the last one stands for 1
CHANGES = np.array([np.bincount(made, minlength=20) - np.bincount(used, minlength=20) for used, made in SIDES], float).T


def pollution(t, y):
    return CHANGES @ (np.array(RATES) * jnp.prod(jnp.append(y, 1.0)[USED], axis=1))


def ring_modulator(t, y):
    """Voltages and currents of a circuit with four diodes that mixes two signals."""
    low, high = 0.5 * jnp.sin(2e3 * jnp.pi * t), 2 * jnp.sin(2e4 * jnp.pi * t)
    across = jnp.stack([y[2] - y[4] - y[6], -y[3] + y[5] - y[6], y[3] + y[4] + y[6], -y[2] - y[5] + y[6]])
    q = 40.67286402e-9 * (jnp.exp(17.7493332 * (across + high * np.array([-1.0, -1.0, 1.0, 1.0]))) - 1)
    return jnp.stack([
        (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / 25e3) / 1.6e-8,
        (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / 25e3) / 1.6e-8,
        (y[9] - q[0] + q[3]) / 2e-12,
        (-y[10] + q[1] - q[2]) / 2e-12,
        (y[11] + q[0] - q[2]) / 2e-12,
        (-y[12] - q[1] + q[3]) / 2e-12,
        (-y[6] / 50 + q[0] + q[1] - q[2] - q[3]) / 1e-8,
        -y[0] / 4.45,
        -y[1] / 4.45,
        (0.5 * y[0] - y[2] - 17.3 * y[9]) / 5e-4,
        (-0.5 * y[0] + y[3] - 17.3 * y[10]) / 5e-4,
        (0.5 * y[1] - y[4] - 17.3 * y[11]) / 5e-4,
        (-0.5 * y[1] + y[5] - 17.3 * y[12]) / 5e-4,
        (-y[0] + low - (50 + 36.3) * y[13]) / 2e-3,
        (-y[1] - (600 + 36.3) * y[14]) / 2e-3,
    ])  # fmt: skip


def medakzo(t, y):
    """Penetration of antibodies into a tissue: reaction and diffusion on 200 points, fed until t = 5."""
    u, v = y[::2], y[1::2]
    place = np.arange(1, 201) / 200 - 1
    left = jnp.concatenate([jnp.where(t <= 5, 2.0, 0.0)[None], u[:-1]])
    right = jnp.concatenate([u[1:], u[-1:]])
    along, across = place**3 / 8 * (right - left) * 100, place**4 / 16 * (left - 2 * u + right) * 200**2
    return jnp.stack([along + across - 100 * u * v, -100 * u * v], axis=1).ravel()


def pleiades(t, y):
    """Seven stars in the plane; the state holds x, y and their velocities."""
    x, y, vx, vy = jnp.split(y, 4)
    dx, dy = x[None] - x[:, None], y[None] - y[:, None]
    masses = jnp.arange(1.0, 8.0)[None] / (dx**2 + dy**2 + jnp.eye(7)) ** 1.5
    return jnp.concatenate([vx, vy, jnp.sum(masses * dx, axis=1), jnp.sum(masses * dy, axis=1)])


STARS = [3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0]
PROBLEMS = {
    "HIRES": (
        hires, [1, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, stiff(1e-7),
        [0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
         0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2],
    ),
    "VDPOL": (vdpol, [2, 0], 2.0, stiff(1e-7), [0.1706167732170483e1, -0.8928097010247975]),
    "OREGO": (
        orego, [1, 2, 3], 360.0, stiff(1e-7), [0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3],
    ),
    "ROBER": (
        rober, [1, 0, 0], 1e11, Scipy("Radau", 1e-7, 1e-20),
        [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050],
    ),
    "Pollution": (
        pollution, [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0], 60.0,
        Scipy("Radau", 1e-8, 1e-24),
        [0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2,
         0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
         0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
         0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
         0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4],
    ),
    "Pleiades": (
        pleiades, STARS, 3.0, Scipy(),
        [0.3706139143970502, 0.3237284092057233e1, -0.3222559032418324e1, 0.6597091455775310, 0.3425581707156584,
         0.1562172101400631e1, -0.7003092922212495, -0.3943437585517392e1, -0.3271380973972550e1,
         0.5225081843456543e1, -0.2590612434977470e1, 0.1198213693392275e1, -0.2429682344935824,
         0.1091449240428980e1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_reference_solution_is_reached_to_seven_digits(name):
    rhs, start, end, integrator, reference = PROBLEMS[name]
    run = simulate(FunctionFlow(rhs), np.array(start, float), [0.0, end], integrator=integrator)
    np.testing.assert_allclose(run.final[: len(reference)], reference, rtol=1e-7)


def test_e5_is_solved_with_an_absolute_tolerance_below_its_components():
    """The published y_2 and y_3, which are equal but for y_4 = 0, differ by rounding: their mean has more digits."""
    run = simulate(FunctionFlow(e5), [1.76e-3, 0.0, 0.0, 0.0], [0.0, 1e13], integrator=Scipy("Radau", 1e-7, 1e-28))
    np.testing.assert_allclose(run.final[1:3], [0.8867655517642120e-22, 0.8854814626268838e-22], rtol=2e-3)
    assert float(run.final[1] + run.final[2]) == pytest.approx(
        0.8867655517642120e-22 + 0.8854814626268838e-22, rel=1e-6
    )
    assert np.all(np.abs(run.final[::3]) < 1e-100)


@pytest.mark.slow
def test_the_antibodies_of_medakzo_are_reached():
    run = simulate(FunctionFlow(medakzo), np.tile([0.0, 1.0], 200), [0.0, 20.0], integrator=Scipy("Radau", 1e-7, 1e-12))
    found = np.asarray(run.final)[[78, 132, 170, 198, 199]]
    expected = [0.2339942217046434e-3, 0.3576835958481664e-3, 0.3085949832350532e-3, 0.1173741304462833e-3]
    np.testing.assert_allclose(found, [*expected, 0.6190822732534586e-5], rtol=1e-6)


@pytest.mark.slow
def test_the_ring_modulator_is_reached_to_four_digits():
    run = simulate(FunctionFlow(ring_modulator), np.zeros(15), [0.0, 1e-3], integrator=Scipy("Radau", 1e-5, 1e-8))
    expected = [
        -0.2339057358486745e-1, -0.7367485485540825e-2, 0.2582956709291169, -0.4064465721283450, -0.4039455665149794,
        0.2607966765422943, 0.1106761861269975, 0.2939904342435596e-6, -0.2840029933642329e-7, 0.7267198267264553e-3,
        0.7929487196960840e-3, -0.7255283495698965e-3, -0.7941401968526521e-3, 0.7088495416976114e-4,
        0.2390059075236570e-4,
    ]  # fmt: skip
    np.testing.assert_allclose(run.final, expected, rtol=2e-4)


@pytest.mark.parametrize("times", [[0.0, 1e13], [0.0, 1e3, 1e13]])
def test_the_tolerance_that_fails_on_e5_is_named(times):
    """Its components fall to 1e-22, and grow where an absolute tolerance of 1e-11 hides that they are negative."""
    with pytest.raises(RuntimeError, match="x_3, x_4 are near the absolute tolerance, 1e-11, or below it"):
        simulate(FunctionFlow(e5), [1.76e-3, 0.0, 0.0, 0.0], times, integrator=stiff())

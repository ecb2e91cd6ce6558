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
    return jnp.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -product + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        product - 1.81 * y[6],
        -product + 1.81 * y[6],
    ])  # fmt: skip


def vdpol(t, y):
    return jnp.stack([y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 1e-6])


def orego(t, y):
    first = 77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1]))
    return jnp.stack([first, (y[2] - (1 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])])


def rober(t, y):
    slow, fast = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return jnp.stack([slow, -slow - fast, fast])


def e5(t, y):
    first, second, third, fourth = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3]
    return jnp.stack([-first - second, first - third, first - third + fourth - second, second - fourth])


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


def test_the_tolerance_that_fails_on_e5_is_named():
    """Its components fall to 1e-22, and grow where an absolute tolerance of 1e-11 hides that they are negative."""
    with pytest.raises(RuntimeError, match="x_3, x_4 are near the absolute tolerance, 1e-11, or below it"):
        simulate(FunctionFlow(e5), [1.76e-3, 0.0, 0.0, 0.0], [0.0, 1e3, 1e13], integrator=stiff())

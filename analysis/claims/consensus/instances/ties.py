"""Three rational tokens of which two attain the least v^T y with different derivatives, and a solution through them."""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.tokens.flow import TokenFlow


class Tie(NamedTuple):
    """Tokens with v^T y_1 = v^T y_2 < v^T y_3, and l sqrt(d) d/dt v^T y_i along (11) for P = 0 and W = I."""

    tokens: Exact
    axis: Exact
    rates: list[Fraction]


def tie_of_two_tokens(key: Key) -> Tie:
    """Return tokens at the heights 3/5, 3/5 and 12/13; the second is turned away from the third by a random angle."""
    v = np.array([Fraction(1), Fraction(0), Fraction(0)], object)
    low, high = Fraction(3, 5), Fraction(4, 5)
    s = -Fraction(int(jax.random.randint(key, (), 1, 7)), 4)
    turn = np.array([2 * s, s * s - 1], object) / (s * s + 1)
    first = np.array([low, high, Fraction(0)], object)
    second = np.array([low, *(high * turn)], object)
    third = np.array([Fraction(12, 13), Fraction(5, 13), Fraction(0)], object)
    x = np.stack([first, second, third])
    rates = [sum(((x[j] @ v) - (x[i] @ x[j]) * (x[i] @ v) for j in range(3)), Fraction(0)) for i in range(3)]
    return Tie(x, v, rates)


def through_the_tie(tie: Tie, P: np.ndarray, ts: np.ndarray, integrator: AbstractIntegrator) -> Trajectory:
    """Return the solution of (11) for constant P that attains the tie at t = 1: followed backwards with U = -I."""
    x = jnp.asarray(tie.tokens.astype(float))
    start = simulate(TokenFlow(P, -1.0), x, [0.0, 1.0], integrator=integrator).final
    return simulate(TokenFlow(P), start, ts, integrator=integrator)

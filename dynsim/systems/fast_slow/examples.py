"""Fast-slow systems with critical manifolds in closed form."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike
from dynsim.spaces import Simplex
from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, Part

SATURATION = 1.0  # K_M, in units of the total enzyme concentration like x and y
TURNOVER = 1.0  # k_2, per unit of slow time


def _relaxing(x: Part, y: Part) -> Part:
    return y - x


def _minus_fast(x: Part, y: Part) -> Part:
    del y
    return -x


def linear_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Linear system $\varepsilon \dot x = y - x$, $\dot y = -x$ with the critical manifold $\varphi(y) = y$."""
    return FastSlowFlow(_relaxing, _minus_fast, epsilon)


def _cubic(x: Part, y: Part) -> Part:
    return y - (x**3 / 3 - x)


def van_der_pol_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Van der Pol's oscillator as a fast-slow system, $\varepsilon \dot x = y - (x^3/3 - x)$, $\dot y = -x$.

    The critical manifold attracts for |x| > 1 and repels for |x| < 1, with folds at (x, y) = (1, -2/3) and (-1, 2/3).
    """
    return FastSlowFlow(_cubic, _minus_fast, epsilon)


def _binding(x: Part, y: Part) -> Part:
    return (1 - x) * (y - x) - SATURATION * x


def _conversion(x: Part, y: Part) -> Part:
    del y
    return -TURNOVER * x


def michaelis_menten_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Michaelis-Menten reaction, $\varepsilon \dot x = (1 - x)(y - x) - x$, $\dot y = -x$.

    x is the concentration of the complex and y the total concentration of substrate, free and bound, both in units of
    the total enzyme concentration; K_M = 1. The smaller root of f = 0 attracts (the total quasi-steady-state
    approximation), and the larger root, x > 1, repels.
    """
    return FastSlowFlow(_binding, _conversion, epsilon)


def generator(y: Part) -> Float[Array, "3 3"]:
    """Generator of a three-state chain whose rates depend on the slow variable; its columns sum to zero."""
    up, down = 1 + jnp.exp(y), 1 + jnp.exp(-y)
    one = jnp.ones_like(y)
    rows = [[-up - one, down, one], [up, -down - one, one], [one, one, -2 * one]]
    return jnp.stack([jnp.stack(row) for row in rows])


def _jumping(x: Part, y: Part) -> Part:
    return generator(y) @ x


def _mean_force(x: Part, y: Part) -> Part:
    return x[0] - x[1] - y / 2


def switching_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Three-state Markov chain coupled to y, $\varepsilon \dot x = Q(y) x$, $\dot y = x_1 - x_2 - y/2$.

    x stays on the probability simplex, because its sum is conserved. On the critical manifold it is the stationary
    distribution of Q(y).

    Source: MULTIRATE, Theorem 28.
    """
    return FastSlowFlow(_jumping, _mean_force, epsilon, fast_space=Simplex())


def _crossing(x: Part, y: Part) -> Part:
    return x * (y - x)


def _passing(x: Part, y: Part) -> Part:
    del x
    return jnp.ones_like(y)


def transcritical_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Fast-slow system with a transcritical point at the origin, $\varepsilon \dot x = x (y - x)$, $\dot y = 1$.

    The lines x = 0 and x = y exchange stability there. The critical manifold is not normally hyperbolic at the origin,
    although it has no fold, so beyond it the reduced flow is not a limit of the full flow.
    """
    return FastSlowFlow(_crossing, _passing, epsilon)


def _stretching(x: Part, y: Part) -> Part:
    return jnp.stack([y - x[0], x[1] - y])


def _first_fast(x: Part, y: Part) -> Part:
    del y
    return -x[0]


def saddle_flow(epsilon: ArrayLike) -> FastSlowFlow:
    r"""Fast-slow system of saddle type, $\varepsilon \dot x = (y - x_1, x_2 - y)$, $\dot y = -x_1$."""
    return FastSlowFlow(_stretching, _first_fast, epsilon)


Coordinates = tuple[float, ...] | float  # of x


class Example(NamedTuple):
    """A fast-slow system with settings for its simulation; the slow variable y of these examples is scalar.

    Attributes:
        text: a description.
        flow: the flow as a function of epsilon.
        start: the initial state, off the critical manifold.
        path: the values of y, (points,), along which the critical manifold is continued.
        guess: the initial guess of x on the critical manifold at the first value of y.
        end: the final time of the simulation.
        compare: the time up to which the reduced flow is compared with the simulation; zero for no comparison.
    """

    text: str
    flow: Callable[[float], FastSlowFlow]
    start: FastSlow
    path: np.ndarray
    guess: np.ndarray
    end: float
    compare: float


def _example(
    text: str,
    flow: Callable[[float], FastSlowFlow],
    start: tuple[Coordinates, float],
    window: tuple[float, float],
    guess: Coordinates,
    times: tuple[float, float],
) -> Example:
    state = FastSlow(*(np.asarray(part, float) for part in start))
    return Example(text, flow, state, np.linspace(*window, 161), np.asarray(guess, float), *times)


EXAMPLES = {
    "linear": _example("eps x' = y - x, y' = -x", linear_flow, (2.0, 1.0), (-0.5, 1.5), -0.5, (1.0, 1.0)),
    "van-der-pol": _example(
        "eps x' = y - (x^3/3 - x), y' = -x: two folds", van_der_pol_flow, (2.5, 0.4), (-1.0, 1.0), -2.0, (4.0, 0.5)
    ),
    "michaelis-menten": _example(
        "eps x' = (1 - x)(y - x) - x, y' = -x", michaelis_menten_flow, (0.0, 2.0), (0.0, 2.5), 0.0, (2.0, 2.0)
    ),
    "switching": _example(
        "eps x' = Q(y) x on the simplex, y' = x1 - x2 - y/2", switching_flow, ((1.0, 0.0, 0.0), 1.0), (-2.0, 2.0),
        (1 / 3, 1 / 3, 1 / 3), (2.0, 2.0),
    ),
    "transcritical": _example(
        "eps x' = x (y - x), y' = 1: a transcritical point", transcritical_flow, (0.5, -1.0), (-1.0, 1.0), 0.0,
        (0.9, 0.5),
    ),
    "saddle": _example(
        "eps x' = (y - x1, x2 - y), y' = -x1: of saddle type", saddle_flow, ((1.0, 1.0), 1.0), (-1.0, 1.0),
        (-1.0, -1.0), (1.0, 0.0),
    ),
}  # fmt: skip

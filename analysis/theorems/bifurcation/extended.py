"""Bifurcation points as regular zeros of larger systems, certified in balls with all that their coefficients need."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction, Balls, balls
from analysis.dynamics.validated.enclosures import ball_box
from analysis.dynamics.validated.equilibria import certified_equilibrium
from analysis.theorems.fields import field_of
from dynsim.errors import ArgumentError
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter

Family = Callable[[Any, Any], Any]
"""The field of a state and the parameter, both in JAX."""


def family_of(parameter: Parameter, dimension: int, theorem: str) -> Family:
    """The field as a function of state and parameter.

    Raises:
        ValueError: for a system that is no autonomous flow on Euclidean space, naming the theorem.
    """
    field_of(parameter.system, dimension, theorem)
    velocity = lambda x, value: parameter.at(value).vector_field(jnp.zeros(()), x)
    return lambda x, value: jnp.reshape(velocity(x, value), (dimension,))


def certified_zero(equations: Callable[[Any], Any], near: np.ndarray) -> Balls | None:
    """Balls that hold a zero of equations near a point: a regular one and no other, or the point itself, exactly.

    None if there is neither, as near a degenerate point that is no sum of few powers of two.
    """
    place = balls(np.round(near, 12))
    if all(bool(value == 0) for value in BallFunction(equations, len(near))(place)):
        return place
    try:
        proof = certified_equilibrium(FunctionFlow(lambda t, z: equations(z)), near)
    except ArgumentError:
        return None
    sides = proof.enclosure
    return ball_box(sides[:, 0], sides[:, 1])


def in_balls(fn: Callable[[Any], Any], at: Balls) -> Any:
    """Enclose a scalar function on balls."""
    return BallFunction(lambda z: jnp.reshape(fn(z), (1,)), len(at))(at)[0]


def bordered_determinant(family: Family, at: Balls, q: Balls, p: Balls) -> Any:
    """Enclose the determinant of the Jacobian A bordered by its null vectors of both sides, q and p.

    It is zero if the null space has more than one dimension.

    Args:
        family: the field of a state and the parameter.
        at: the state and the parameter, (n + 1,).
        q: the null vector, A q = 0, (n,).
        p: the adjoint null vector, A' p = 0, (n,).
    """
    import flint

    n = len(q)
    J = BallFunction(lambda z: family(z[:n], z[n]), n + 1).jacobian(at)[:, :n]
    rows = [[*J[i], p[i]] for i in range(n)] + [[*q, flint.arb(0)]]
    return flint.arb_mat(rows).det()


def derivatives(family: Family) -> tuple[Callable[..., Any], ...]:
    """First, second and third directional derivatives by the state, and the first by the parameter.

    Returns:
        A(x, p, u), B(x, p, u, v), C(x, p, u, v, w) and F(x, p).
    """
    A = lambda x, p, u: jax.jvp(lambda y: family(y, p), (x,), (u,))[1]
    B = lambda x, p, u, v: jax.jvp(lambda y: A(y, p, u), (x,), (v,))[1]
    C = lambda x, p, u, v, w: jax.jvp(lambda y: B(y, p, u, v), (x,), (w,))[1]
    F = lambda x, p: jax.jvp(lambda q: family(x, q), (p,), (jnp.ones_like(p),))[1]
    return A, B, C, F

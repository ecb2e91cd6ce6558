"""Nonlinear least squares by the method of Levenberg and Marquardt, as a short loop that compiles quickly."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

POOR, GOOD = 0.01, 0.99  # of the reduction that is predicted: a step is taken back below, and the next is freer above
SHRINK, GROW = 0.25, 3.5  # the factors of the radius then


class _Place(NamedTuple):
    """The last point that was taken, its residual and Jacobian, the next trial, and the radius, one over the damping.

    `first` says that the trial is the start, `done` that a change was below the tolerances, or a step not finite.
    """

    x: Float[Array, " n"]
    r: Float[Array, " m"]
    J: Float[Array, "m n"]
    trial: Float[Array, " n"]
    radius: Float[Array, ""]
    first: Bool[Array, ""]
    done: Bool[Array, ""]
    steps: Int[Array, ""]


def least_squares(
    residual: Callable[[Float[Array, " n"]], Float[Array, " m"]],
    start: Float[Array, " n"],
    *,
    rtol: float = 1e-12,
    atol: float = 1e-14,
    max_steps: int = 100,
) -> Float[Array, " n"]:
    """Return a local minimum of the norm of a residual near a start, or the last point after `max_steps` evaluations.

    A step solves the damped linear equations by a QR decomposition; the damping follows the ratio of the reduction to
    that of the linear model. The iteration ends where neither the point nor the residual changes by more than the
    tolerances, and where a step is not finite.

    Source: D. Marquardt, SIAM Journal 11 (1963); constants of N. Gould et al., 4OR 3 (2005).
    """
    n, like = start.shape[0], jax.eval_shape(residual, start)
    zero = jnp.zeros(like.shape, like.dtype)
    begin = _Place(
        start, zero, jnp.zeros((*like.shape, n), like.dtype), start,
        jnp.ones((), start.dtype), jnp.ones((), bool), jnp.zeros((), bool), jnp.zeros((), int),
    )  # fmt: skip

    def step(place: _Place) -> _Place:
        J, r = jax.jacfwd(lambda x: (residual(x),) * 2, has_aux=True)(place.trial)
        moved, before = place.trial - place.x, jnp.sum(place.r**2)
        predicted = jnp.sum((place.J @ moved + place.r) ** 2) - before
        change = jnp.sum(r**2) - before
        taken = place.first | (change <= POOR * predicted)
        freer = ~place.first & (change < GOOD * predicted) & (predicted < 0)
        radius = place.radius * jnp.where(taken, jnp.where(freer, GROW, 1.0), SHRINK)
        still = _within(moved, place.trial, rtol, atol) & _within(r - place.r, r, rtol, atol)
        x, r, J = (jnp.where(taken, new, old) for new, old in zip((place.trial, r, J), place[:3], strict=True))
        move = _damped(J, r, radius)
        done = (taken & still) | ~jnp.all(jnp.isfinite(move))
        return _Place(x, r, J, x - move, radius, jnp.zeros((), bool), done, place.steps + 1)

    return jax.lax.while_loop(lambda place: ~place.done & (place.steps < max_steps), step, begin).x


def _within(change: Array, size: Array, rtol: float, atol: float) -> Bool[Array, ""]:
    """Return whether all entries of a change are below the tolerances of their sizes."""
    return jnp.max(jnp.abs(change) / (atol + rtol * jnp.abs(size))) < 1


def _damped(J: Array, r: Array, radius: Array) -> Array:
    """Return the y with the least |J y - r|^2 + |y|^2 / radius."""
    long = radius > jnp.finfo(radius.dtype).eps
    damping = jnp.where(long, 1 / jnp.where(long, radius, 1.0), jnp.finfo(radius.dtype).max)
    n = J.shape[1]
    Q, R = jnp.linalg.qr(jnp.concatenate([J, jnp.sqrt(damping) * jnp.eye(n, dtype=J.dtype)]))
    return solve_triangular(R, Q[: len(r)].T @ r)

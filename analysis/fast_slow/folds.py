"""Where the quasi-steady-state manifold is not normally hyperbolic: folds, crossing branches, imaginary pairs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array

from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from dynsim.systems.fast_slow.flow import FastSlowFlow, FastSubsystem
from dynsim.systems.fast_slow.reduced import fast_jacobian, nearby_root, residual

TRANSVERSE = 1e-6  # f_y beside f_xx and f_xy along the null vector: below it branches cross there, and it is no fold

Values = np.ndarray | np.floating  # NumPy makes a number of what has no axes


class Loss(NamedTuple):
    """A point at which a fast eigenvalue has no real part.

    `kind` is `fold` (the branch ends there, and another one begins), `crossing` (a zero eigenvalue, and the branch goes
    on) or `pair` (a pair of imaginary eigenvalues). `place` counts the slow variables of the path, fractions between.
    """

    kind: str
    fast: np.ndarray
    slow: np.ndarray
    place: float


def along(path: np.ndarray, place: float) -> Values:
    """Return the slow variable at a place of a path, which is straight between its points; the ends are continued."""
    left = min(max(int(np.floor(place)), 0), len(path) - 2)
    return path[left] + (place - left) * (path[left + 1] - path[left])


def fold_near(flow: FastSlowFlow, x: Values, path: np.ndarray, place: float, towards: float) -> Loss | None:
    r"""Return the fold next to a point of a branch, or None.

    Newton's method on $f = 0$, $D_x f v = 0$, $\langle c, v \rangle = 1$ for x, v and the place: regular at a fold,
    where f = 0 alone is not.

    Args:
        flow: the system.
        x: the fast variable at the point.
        path: slow variables, (points, ...).
        place: of the point on the path.
        towards: where on the path the fold is looked for, up to the next point of the path.
    """
    left = min(max(int(np.floor(min(place, towards))), 0), len(path) - 2)
    found = _fold(flow, jnp.asarray(x), jnp.asarray(path[left]), jnp.asarray(path[left + 1]), jnp.asarray(place - left))
    there, offset, push = (np.asarray(part) for part in found)
    at = left + float(offset)
    reach = 2 * abs(towards - place)
    ahead = -1e-9 <= (at - place) * np.sign(towards - place) <= reach
    if not (np.all(np.isfinite(there)) and push > TRANSVERSE and ahead):
        return None
    return Loss("fold", there, np.asarray(along(path, at)), at)


@eqx.filter_jit
def _fold(flow: FastSlowFlow, x: Array, a: Array, b: Array, offset: Array) -> tuple[Array, Array, Array]:
    """Return x and the offset between a and b at a fold, NaN if there is none, and the share of f_y there."""
    fast, space = flow.fast, flow.space.parts.fast
    slow = lambda s: a + s * (b - a)
    jacobian = lambda z, s: fast_jacobian(fast, space, z, slow(s))
    aim = jnp.linalg.svd(jacobian(x, offset))[2][-1]

    def extended(unknown: tuple[Array, Array, Array], _: None) -> tuple[Array, Array, Array]:
        z, v, s = unknown
        return residual(fast, space, z, slow(s)), jacobian(z, s) @ v, aim @ v - 1

    found = optx.root_find(extended, optx.Newton(1e-11, 1e-13), (x, aim, offset), max_steps=30, throw=False)
    z, v, s = found.value
    left = jnp.linalg.svd(jacobian(z, s))[0][:, -1]
    bend = lambda r: left @ jnp.ravel(residual(fast, space, z + r[0] * v.reshape(z.shape), slow(s + r[1] / size)))
    size = jnp.linalg.norm(jnp.ravel(b - a))
    (_, forcing), second = jax.jacfwd(bend)(jnp.zeros(2)), jax.hessian(bend)(jnp.zeros(2))
    push = jnp.abs(forcing) / (jnp.abs(forcing) + jnp.sum(jnp.abs(second[0])))
    reached = found.result == optx.RESULTS.successful
    return jnp.where(reached, space.project(z), jnp.nan), s, push


def loss_between(
    flow: FastSlowFlow, left: tuple[float, Values], right: tuple[float, Values], path: np.ndarray
) -> Loss | None:
    """Return where between two points (place, x) of one branch the number of growing fast modes changes, by bisection.

    None if it is the same at both. Of several changes one is found.
    """
    (a, xa), (b, xb) = left, right
    few = _growing(flow, xa, along(path, a))
    if _growing(flow, xb, along(path, b)) == few:
        return None
    for _ in range(60):
        middle = (a + b) / 2
        if middle in (a, b):
            break
        x = _between(flow, (xa + xb) / 2, along(path, middle), float(np.max(np.abs(xb - xa))))
        if _growing(flow, x, along(path, middle)) == few:
            a, xa = middle, x
        else:
            b, xb = middle, x
    slow = along(path, a)
    values = fast_eigenvalues(flow, xa, slow)
    nearest = values[np.argmin(np.abs(np.real(values)))]
    real = abs(np.imag(nearest)) <= 1e-6 * max(1.0, float(np.max(np.abs(values))))
    return Loss("crossing" if real else "pair", np.asarray(xa), np.asarray(slow), a)


def _between(flow: FastSlowFlow, guess: Values, slow: Values, spread: float) -> Values:
    """Return the root next to a guess; the guess itself where Newton's method leaves it, as at a double root."""
    root = root_near(flow, guess, slow)
    return root if np.all(np.abs(root - guess) <= spread) else guess


def _growing(flow: FastSlowFlow, x: Values, slow: Values) -> int:
    """Return how many fast modes grow."""
    return int(np.sum(np.real(fast_eigenvalues(flow, x, slow)) > 0))


def fast_eigenvalues(flow: FastSlowFlow, x: Values, slow: Values) -> np.ndarray:
    """Return the eigenvalues of D_x f in the tangent space of the fast variable: rates in fast time."""
    return eigenvalues(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x)))


def root_near(flow: FastSlowFlow, guess: Values, slow: Values) -> np.ndarray:
    """Return the quasi-steady state that Newton's method reaches from a guess, or NaN."""
    return np.asarray(_root(flow, jnp.asarray(guess), jnp.asarray(slow)))


@eqx.filter_jit
def _root(flow: FastSlowFlow, x: Array, slow: Array) -> Array:
    return nearby_root(flow.fast, flow.space.parts.fast, x, slow)

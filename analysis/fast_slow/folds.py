"""Points where the critical manifold is not normally hyperbolic: folds, crossings of branches, imaginary pairs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array

from analysis.dynamics.linearisation import eigenvalues, index, tangent_jacobian
from dynsim.systems.fast_slow.flow import FastSlowFlow, FastSubsystem
from dynsim.systems.fast_slow.reduced import fast_jacobian, nearby_root, residual

TRANSVERSE = 1e-6  # f_y relative to f_xx and f_xy along the null vector: if smaller, branches cross: it is no fold

Values = np.ndarray | np.floating  # a NumPy scalar for variables without axes


class Bifurcation(NamedTuple):
    """A point of the critical manifold at which a fast eigenvalue has zero real part: normal hyperbolicity is lost.

    `kind` is `fold` (two branches meet and end), `crossing` (a zero eigenvalue at which the branch continues) or `pair`
    (a pair of imaginary eigenvalues, as at a Hopf bifurcation). `fast` and `slow` are x and y; `place` is the position
    on the path, with integers at its points.
    """

    kind: str
    fast: np.ndarray
    slow: np.ndarray
    place: float


def along(path: np.ndarray, place: float) -> Values:
    """Return the slow variable at a position on a path, by linear interpolation, or extrapolation beyond its ends."""
    left = min(max(int(np.floor(place)), 0), len(path) - 2)
    return path[left] + (place - left) * (path[left + 1] - path[left])


def fold_near(flow: FastSlowFlow, x: Values, path: np.ndarray, place: float, towards: float) -> Bifurcation | None:
    r"""Return the fold near a point of a branch, or None if there is none.

    By Newton's method for $f = 0$, $D_x f v = 0$, $\langle c, v \rangle = 1$ in x, v and the position on the path, an
    extended system that is regular at a fold.

    Args:
        flow: the system.
        x: the fast variable of the point.
        path: slow variables, shape (points, ...).
        place: the position of the point on the path.
        towards: a position ahead; a fold is accepted up to twice that far, on the same side.
    """
    left = min(max(int(np.floor(min(place, towards))), 0), len(path) - 2)
    found = _fold(flow, jnp.asarray(x), jnp.asarray(path[left]), jnp.asarray(path[left + 1]), jnp.asarray(place - left))
    there, offset, transversality = (np.asarray(part) for part in found)
    at = left + float(offset)
    distance = 2 * abs(towards - place)
    ahead = -1e-9 <= (at - place) * np.sign(towards - place) <= distance
    if not (np.all(np.isfinite(there)) and transversality > TRANSVERSE and ahead):
        return None
    return Bifurcation("fold", there, np.asarray(along(path, at)), at)


@eqx.filter_jit
def _fold(flow: FastSlowFlow, x: Array, a: Array, b: Array, offset: Array) -> tuple[Array, Array, Array]:
    """Return x and the offset between a and b at a fold, NaN if there is none, and the relative size of f_y there."""
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
    transversality = jnp.abs(forcing) / (jnp.abs(forcing) + jnp.sum(jnp.abs(second[0])))
    reached = found.result == optx.RESULTS.successful
    return jnp.where(reached, space.project(z), jnp.nan), s, transversality


def bifurcation_between(
    flow: FastSlowFlow, left: tuple[float, Values], right: tuple[float, Values], path: np.ndarray
) -> Bifurcation | None:
    """Return a bifurcation between two points (place, x) of one branch, by bisection on the number of unstable modes.

    None if that number is the same at both points. Of several bifurcations one is found.
    """
    (a, xa), (b, xb) = left, right
    unstable = _unstable_dimension(flow, xa, along(path, a))
    if _unstable_dimension(flow, xb, along(path, b)) == unstable:
        return None
    for _ in range(60):
        middle = (a + b) / 2
        if middle in (a, b):
            break
        x = _between(flow, (xa + xb) / 2, along(path, middle), float(np.max(np.abs(xb - xa))))
        if _unstable_dimension(flow, x, along(path, middle)) == unstable:
            a, xa = middle, x
        else:
            b, xb = middle, x
    slow = along(path, a)
    values = fast_eigenvalues(flow, xa, slow)
    nearest = values[np.argmin(np.abs(np.real(values)))]
    real = abs(np.imag(nearest)) <= 1e-6 * max(1.0, float(np.max(np.abs(values))))
    return Bifurcation("crossing" if real else "pair", np.asarray(xa), np.asarray(slow), a)


def _between(flow: FastSlowFlow, guess: Values, slow: Values, spread: float) -> Values:
    """Return the root near a guess; the guess itself if Newton's method moves farther than `spread`: a double root."""
    root = root_near(flow, guess, slow)
    return root if np.all(np.abs(root - guess) <= spread) else guess


def _unstable_dimension(flow: FastSlowFlow, x: Values, slow: Values) -> int:
    """Return the number of fast eigenvalues with positive real part."""
    return index(fast_eigenvalues(flow, x, slow))


def fast_eigenvalues(flow: FastSlowFlow, x: Values, slow: Values) -> np.ndarray:
    """Return the eigenvalues of D_x f in the tangent space of x, per fast time unit, largest real part first."""
    return eigenvalues(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x)))


def root_near(flow: FastSlowFlow, guess: Values, slow: Values) -> np.ndarray:
    """Return the quasi-steady state to which Newton's method converges from a guess; NaN if it does not converge."""
    return np.asarray(_root(flow, jnp.asarray(guess), jnp.asarray(slow)))


@eqx.filter_jit
def _root(flow: FastSlowFlow, x: Array, slow: Array) -> Array:
    return nearby_root(flow.fast, flow.space.parts.fast, x, slow)

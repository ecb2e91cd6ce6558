"""Locate points where the critical manifold is not normally hyperbolic: folds, crossings, imaginary pairs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim.systems.fast_slow.flow import FastSlowFlow, FastSubsystem
from dynsim.systems.fast_slow.reduced import fast_jacobian, nearby_root, residual, unit_above

# Size of f_y, relative to f_xx and f_xy along the null vector, below which branches cross instead of folding.
TRANSVERSE = 1e-6

# Includes NumPy scalars, for variables without axes.
Values = np.ndarray | np.floating


class LossOfHyperbolicity(NamedTuple):
    """Point of the critical manifold where a fast eigenvalue has zero real part, so that normal hyperbolicity is lost.

    `kind` is `fold` (two branches meet and end), `crossing` (a zero eigenvalue at which the branch continues) or `pair`
    (a pair of imaginary eigenvalues, as at a Hopf bifurcation). `fast` and `slow` are x and y; `place` is the position
    on the path, with integers at its points.
    """

    kind: str
    fast: np.ndarray
    slow: np.ndarray
    place: float

    __repr__ = one_line
    __str__ = report


@checked
def fold_near(
    flow: FastSlowFlow, x: Values, path: np.ndarray, place: float, towards: float
) -> LossOfHyperbolicity | None:
    r"""Locate the fold near a point of a branch; None if there is none.

    Newton's method solves $f = 0$, $D_x f v = 0$, $\langle c, v \rangle = 1$ in x, v and the position on the path; this
    extended system is regular at a fold. Values of f are compared in a unit of their own, as in `nearby_root`.

    Args:
        flow: the system.
        x: the fast variable of the point.
        path: slow variables, shape (points, ...).
        place: the position of the point on the path.
        towards: a position ahead; a fold is accepted up to twice that far, on the same side.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.fast_slow import fold_near
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x**2, lambda x, y: -y, 0.01)
        >>> fold = fold_near(flow, np.array(0.1), np.array([1.0, -1.0]), 0.495, 0.6)
        >>> fold.kind, round(fold.place, 4)  # y = 0, halfway along the path
        ('fold', 0.5)
    """
    left = min(max(int(np.floor(min(place, towards))), 0), len(path) - 2)
    found = _fold(flow, jnp.asarray(x), jnp.asarray(path[left]), jnp.asarray(path[left + 1]), jnp.asarray(place - left))
    there, offset, transversality = (np.asarray(part) for part in found)
    at = left + float(offset)
    distance = 2 * abs(towards - place)
    ahead = -1e-9 <= (at - place) * np.sign(towards - place) <= distance
    if not (np.all(np.isfinite(there)) and transversality > TRANSVERSE and ahead):
        return None
    return LossOfHyperbolicity("fold", there, np.asarray(path[left] + (at - left) * (path[left + 1] - path[left])), at)


@eqx.filter_jit
def _fold(flow: FastSlowFlow, x: Array, a: Array, b: Array, offset: Array) -> tuple[Array, Array, Array]:
    """Solve for x and the offset between a and b at a fold, NaN if none; give the relative size of f_y, too."""
    fast, space = flow.fast, flow.space.parts.fast
    slow = lambda s: a + s * (b - a)
    jacobian = lambda z, s: fast_jacobian(fast, space, z, slow(s))
    aim = jnp.linalg.svd(jacobian(x, offset))[2][-1]

    def extended(unknown: tuple[Array, Array, Array], unit: Array) -> tuple[Array, Array, Array]:
        z, v, s = unknown
        return residual(fast, space, z, slow(s)) / unit, jacobian(z, s) @ v / unit, aim @ v - 1

    begin = (x, aim, offset)
    size = 1 + jnp.max(jnp.abs(ravel_pytree(begin)[0]))
    sizes = jax.tree.map(lambda part: jnp.max(jnp.abs(part)), jax.jacfwd(extended)(begin, jnp.ones(())))
    unit = unit_above(jnp.max(jnp.stack(jax.tree.leaves(sizes))) * size)
    # the last step, after which the error is about its square, may have rounding errors of states far from zero
    found = optx.root_find(extended, optx.Newton(1e-9, 1e-10), begin, unit, max_steps=30, throw=False)
    z, v, s = found.value
    left = jnp.linalg.svd(jacobian(z, s))[0][:, -1]
    bend = lambda r: left @ jnp.ravel(residual(fast, space, z + r[0] * v.reshape(z.shape), slow(s + r[1] / size)))
    size = jnp.linalg.norm(jnp.ravel(b - a))
    (_, forcing), second = jax.jacfwd(bend)(jnp.zeros(2)), jax.hessian(bend)(jnp.zeros(2))
    transversality = jnp.abs(forcing) / (jnp.abs(forcing) + jnp.sum(jnp.abs(second[0])))
    reached = found.result == optx.RESULTS.successful
    return jnp.where(reached, space.project(z), jnp.nan), s, transversality


@checked
def fast_eigenvalues(flow: FastSlowFlow, x: Values, slow: Values) -> np.ndarray:
    """Compute the eigenvalues of D_x f in the tangent space of x, per fast time unit, largest real part first.

    Args:
        flow: the system.
        x: the fast variable.
        slow: the slow variable y.

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from analysis.fast_slow import fast_eigenvalues
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: jnp.array([-3.0, -1.0]) * x, lambda x, y: -y, 0.01)
        >>> fast_eigenvalues(flow, np.zeros(2), np.array(1.0)).real.round(4).tolist()
        [-1.0, -3.0]
    """
    return eigenvalues(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x)))


@checked
def root_near(flow: FastSlowFlow, guess: Values, slow: Values) -> np.ndarray:
    """Find the quasi-steady state near a guess by Newton's method; NaN if it does not converge.

    Which of several roots is found depends on the guess.

    Args:
        flow: the system.
        guess: guess of the fast variable.
        slow: the slow variable y.

    Example:
        >>> import dynsim as ds
        >>> import numpy as np
        >>> from analysis.fast_slow import root_near
        >>> flow = ds.fast_slow.FastSlowFlow(lambda x, y: y - x**2, lambda x, y: -y, 0.01)
        >>> round(float(root_near(flow, np.array(1.0), np.array(4.0))), 4)
        2.0
    """
    return np.asarray(_root(flow, jnp.asarray(guess), jnp.asarray(slow)))


@eqx.filter_jit
def _root(flow: FastSlowFlow, x: Array, slow: Array) -> Array:
    return nearby_root(flow.fast, flow.space.parts.fast, x, slow)

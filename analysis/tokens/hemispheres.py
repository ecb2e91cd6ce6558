"""Find open hemispheres that contain all tokens: axis, margin, and the probability for random tokens."""

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike, Scalar, Tokens
from dynsim.errors import ArgumentError

# Corrections of an axis. Rounding of the nearest point, divided by its distance, is the error of its direction; without
# them the margin 1e-9 of two tokens was lost. Products with the axis are equal for the rows whose mean the point is.
REFINEMENTS = 2


@checked
def margin_along(x: Tokens, axis: Float[Array | np.ndarray, " d"]) -> Scalar:
    """Compute the least v^T x_i, which is positive if and only if all tokens lie in the open hemisphere of v.

    Source: CONSENSUS, Theorem 4.1.

    Args:
        x: tokens, (n, d).
        axis: the vector v, (d,).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import margin_along
        >>> float(margin_along(jnp.array([[1.0, 0.0], [0.6, 0.8]]), jnp.array([1.0, 0.0])))
        0.6
    """
    return jnp.min(x @ axis)


@checked
def hemisphere_axis(x: ArrayLike) -> np.ndarray | None:
    """Find the unit vector v that maximises min_i v^T x_i / |x_i|; None if no open hemisphere contains all tokens.

    It points to the point of conv{x_i / |x_i|} nearest to the origin. NumPy: not for `jit`.

    Raises:
        ValueError: unless x has shape (n, d) and is finite without a zero token.

    Example:
        >>> from analysis.tokens import hemisphere_axis
        >>> hemisphere_axis([[1.0, 0.0], [0.0, 1.0]]).round(6)
        array([0.707107, 0.707107])
        >>> hemisphere_axis([[1.0, 0.0], [-1.0, 0.0]]) is None
        True
    """
    directions = _directions(x)
    nearest, face = _nearest_point(directions)
    size = float(np.linalg.norm(nearest))
    if size == 0:
        return None
    axes = [nearest / size]
    for _ in range(REFINEMENTS):
        axis = axes[-1] + np.linalg.lstsq(face, size - face @ axes[-1])[0]
        length = float(np.linalg.norm(axis))
        if length < 0.5:  # no axis has equal products with rows whose hull holds the origin
            break
        axes.append(axis / length)
    best = max(axes, key=lambda axis: np.min(directions @ axis))
    return best if np.min(directions @ best) > 0 else None


@checked
def hemisphere_margin(x: ArrayLike) -> float:
    r"""Compute $\max_{|v| = 1} \min_i v^\top x_i / |x_i|$, or 0 if it is not positive, to about 1e-12.

    It is positive if and only if some open hemisphere contains all tokens. It is computed, in any dimension, from the
    point of the hull nearest to the origin, by non-negative least squares. NumPy: not for `jit`.

    Raises:
        ValueError: as for `hemisphere_axis`.

    Example:
        >>> from analysis.tokens import hemisphere_margin
        >>> round(hemisphere_margin([[1.0, 0.0], [0.0, 1.0]]), 6)
        0.707107
    """
    axis = hemisphere_axis(x)
    return 0.0 if axis is None else float(np.min(_directions(x) @ axis))


def _directions(x: ArrayLike) -> np.ndarray:
    x = np.asarray(x, float)
    if x.ndim != 2 or x.size == 0:
        raise ArgumentError("x", "have shape (n, d)", f"has shape {x.shape}")
    sizes = np.linalg.norm(x, axis=1, keepdims=True)
    if not np.all(np.isfinite(x)) or np.any(sizes == 0):
        raise ArgumentError("x", "be finite without a zero token", "is not")
    return x / sizes


def _nearest_point(directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the point of conv(rows) nearest to the origin, and the rows of which it is a mean.

    Its weights are proportional to the non-negative least-squares solution of [X^T; 1^T] w = [0; 1].
    """
    n, d = directions.shape
    system = np.vstack([directions.T, np.ones((1, n))])
    weights, _ = scipy.optimize.nnls(system, np.append(np.zeros(d), 1.0), maxiter=50 * (n + d))
    return directions.T @ (weights / np.sum(weights)), directions[weights > 0]


@checked
def wendel_probability(num_tokens: int, ambient_dimension: int) -> Fraction:
    r"""Compute the probability $2^{1-N} \sum_{k<D} \binom{N-1}{k}$ that N random vectors in $R^D$ lie in a half-space.

    The vectors are independent and uniform on the unit sphere.

    Source: Wendel (1962); CONSENSUS, Remark 4.2, with D = n + 1.

    Args:
        num_tokens: N.
        ambient_dimension: D.

    Example:
        >>> from analysis.tokens import wendel_probability
        >>> wendel_probability(4, 2)
        Fraction(1, 2)
    """
    N, D = _positive("num_tokens", num_tokens), _positive("ambient_dimension", ambient_dimension)
    return Fraction(sum(math.comb(N - 1, k) for k in range(D)), 2 ** (N - 1))


def printed_wendel_probability(num_tokens: int, sphere_dimension: int) -> Fraction:
    r"""Compute the probability as printed in the remark, $2^{1-\ell} \sum_{\mu=0}^{n-1} \binom{\ell-1}{\mu}$ on $S^n$.

    Source: CONSENSUS, Remark 4.2.
    """
    return wendel_probability(num_tokens, _positive("sphere_dimension", sphere_dimension))


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ArgumentError(name, "be at least 1", f"is {value}")
    return int(value)

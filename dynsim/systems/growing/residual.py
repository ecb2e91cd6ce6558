"""The residual of directed attention: its antisymmetric part outside the directions captured by heads.

Real antisymmetric matrices have imaginary eigenvalues in conjugate pairs, +-i s. The paper's "largest eigenvalue" is
computed here as the largest singular value s, which is also the largest eigenvalue of the Hermitian matrix i A. It
belongs to a real plane, and every unit vector of the plane is a dominant eigenvector. NumPy: not for `jit`.
"""

from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from dynsim._core.orientation import TIE, basis_of_range
from dynsim._core.types import ArrayLike
from dynsim._core.validation import choice, reals
from dynsim.errors import ArgumentError

Reading = Literal["features", "data", "tokens"]
"""The data that the residual matrix is built from: the interaction alone, the data-weighted one, or the tokens.

With P the projection on the directions that are not captured, M_a the antisymmetric part of the interaction, X the
tokens (n, d) and G = X^T X, the residual matrices are P M_a P, P G^{1/2} M_a G^{1/2} P / n, and X P M_a P X^T (n, n).
The product as printed, P X M_a X^T P, is defined only for n = d.
"""

Square = Float[np.ndarray, "d d"]


def antisymmetric_part(matrix: ArrayLike) -> Square:
    r"""Antisymmetric part $M_a = (M - M^\top) / 2$, the directed part of an attention product (d, d).

    Source: GROWING, Section 3.2.
    """
    found = _square("interaction", matrix)
    return (found - found.T) / 2


def uncaptured(frames: ArrayLike | None, dimension: int) -> Square:
    """Projection (d, d) on the complement of orthonormal rows (h, d); rows of zeros are ignored.

    Raises:
        ValueError: for rows of another length, or rows that are neither zero nor orthonormal.
    """
    if frames is None:
        return np.eye(dimension)
    rows = np.asarray(reals("frames", frames), float)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise ArgumentError("frames", f"have shape (h, {dimension})", f"have shape {rows.shape}")
    gram = rows @ rows.T
    if (
        np.max(np.abs(gram - np.diag(np.round(np.diag(gram)))), initial=0.0) > 1e-6
        or np.max(np.diag(gram), initial=0.0) > 1.5
    ):
        raise ArgumentError("frames", "be orthonormal rows or rows of zeros", "have other inner products")
    return np.eye(dimension) - rows.T @ rows


def residual_matrix(
    interaction: ArrayLike,
    frames: ArrayLike | None = None,
    *,
    tokens: ArrayLike | None = None,
    reading: str = "features",
) -> Float[np.ndarray, "s s"]:
    """Antisymmetric residual matrix of an attention product, (d, d), or (n, n) for the reading `tokens`.

    Args:
        interaction: the attention product M = W_Q W_K^T, (d, d), of which only the antisymmetric part matters.
        frames: the directions captured so far, orthonormal rows (h, d); rows of zeros are ignored.
        tokens: the tokens X, (n, d), required by the readings `data` and `tokens`.
        reading: one of the three readings of eq. (3), see `Reading`.

    Source: GROWING, eq. (3).

    Raises:
        ValueError: for shapes that do not match, an unknown reading, or missing tokens.
    """
    m = antisymmetric_part(interaction)
    return outside(m, uncaptured(frames, len(m)), tokens=tokens, reading=reading)


def outside(
    m: Square, projection: Square, *, tokens: ArrayLike | None = None, reading: str = "features"
) -> Float[np.ndarray, "s s"]:
    """Residual matrix of an antisymmetric interaction after a projection on the uncaptured directions."""
    kind = choice("reading", reading, get_args(Reading))
    if kind == "features":
        return _antisymmetric(projection @ m @ projection)
    x = _tokens(tokens, len(m), kind)
    if kind == "data":
        root = square_root(x.T @ x)
        return _antisymmetric(projection @ root @ m @ root @ projection / len(x))
    return _antisymmetric(x @ projection @ m @ projection @ x.T)


def dominant_value(matrix: ArrayLike) -> float:
    """Largest singular value s of an antisymmetric matrix A, which is the largest eigenvalue of i A."""
    found = _square("matrix", matrix)
    return float(np.linalg.norm(found, 2)) if np.any(found) else 0.0


def dominant_plane(matrix: ArrayLike) -> Float[np.ndarray, "2 d"]:
    """Orthonormal rows v, A v / s that span the dominant plane of an antisymmetric matrix A; zeros for A = 0.

    v depends only on A, not on the processor: it is the normalised projection, on the singular vectors of the largest
    singular value, of the coordinate axis closest to them. If several planes share that value, the result is one of
    them.
    """
    a = _square("matrix", matrix)
    values, vectors = np.linalg.eigh(a.T @ a)
    top = float(np.sqrt(max(values[-1], 0.0)))
    if top == 0:
        return np.zeros((2, len(a)))
    leading = vectors[:, np.sqrt(np.maximum(values, 0.0)) >= (1 - TIE) * top]
    v = basis_of_range(leading @ leading.T)[:, 0]
    w = a @ v
    w = w - v * (v @ w)
    return np.stack([v, w / np.linalg.norm(w)])


def square_root(gram: Square) -> Square:
    """Symmetric positive semidefinite square root of a Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _antisymmetric(matrix: np.ndarray) -> np.ndarray:
    """Remove the symmetric rounding errors from an antisymmetric matrix."""
    return (matrix - matrix.T) / 2


def _square(name: str, value: Any) -> Square:
    found = np.asarray(reals(name, value), float)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not len(found):
        raise ArgumentError(name, "be a square matrix", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return found


def _tokens(tokens: Any, dimension: int, reading: str) -> np.ndarray:
    if tokens is None:
        raise ArgumentError("tokens", f"be given for the reading `{reading}`", "is missing")
    found = np.asarray(reals("tokens", tokens), float)
    if found.ndim != 2 or found.shape[1] != dimension or not len(found):
        raise ArgumentError("tokens", f"have shape (n, {dimension})", f"has shape {found.shape}")
    return found

"""A sign convention for vectors known up to sign, and for bases of a subspace.

LAPACK returns eigenvectors, null vectors and principal axes with a sign that depends on the processor, and the basis
of a subspace with a rotation that does too. Everything that is printed, stored, drawn or compared follows this
convention: the entry of largest modulus is positive, and among entries equal up to rounding the first one counts.
"""

import numpy as np
from jaxtyping import Float

from dynsim._core.types import ArrayLike

TIE = 1e-6  # relative; moduli this close are considered equal, since they differ by rounding


def oriented(vectors: ArrayLike) -> Float[np.ndarray, "..."]:
    """Orient a vector (d,), or the columns of a matrix (d, k), by the sign convention."""
    found = np.asarray(vectors, float)
    columns = found.reshape(len(found), -1)
    sizes = np.abs(columns)
    first = np.argmax(sizes >= (1 - TIE) * np.max(sizes, axis=0), axis=0)
    signs = np.where(columns[first, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return (columns * signs).reshape(found.shape)


def basis_of_range(projection: ArrayLike) -> Float[np.ndarray, "d k"]:
    """Orthonormal basis, as columns, of the range of an orthogonal projection (d, d).

    The basis depends only on the projection. Coordinate axes are projected and orthonormalised, the one with the
    longest remainder first; among those equal up to rounding, the first axis is taken.
    """
    rest = np.array(projection, float)
    basis = np.empty((len(rest), 0))
    for _ in range(round(float(np.trace(rest)))):
        lengths = np.linalg.norm(rest, axis=0)
        v = rest[:, np.argmax(lengths >= (1 - TIE) * np.max(lengths))]
        v = v - basis @ (basis.T @ v)
        v = v / np.linalg.norm(v)
        basis = np.column_stack([basis, v])
        rest = rest - np.outer(v, v @ rest)
    return basis

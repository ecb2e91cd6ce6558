"""One convention for vectors that are known up to sign, and for bases of a subspace.

LAPACK returns eigenvectors, null vectors and principal axes with a sign that depends on the processor, and a basis of a
subspace of several dimensions with a rotation that does. What is printed, stored, drawn or compared follows this
convention: the entry of largest modulus is positive, and of several that are equal up to rounding the first one counts.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

TIE = 1e-6  # relative; entries of the same modulus differ by rounding errors only


def oriented(vectors: ArrayLike) -> Float[np.ndarray, "..."]:
    """Return a vector (d,), or the columns of a matrix (d, k), each with the sign of the convention."""
    found = np.asarray(vectors, float)
    columns = found.reshape(len(found), -1)
    sizes = np.abs(columns)
    first = np.argmax(sizes >= (1 - TIE) * np.max(sizes, axis=0), axis=0)
    signs = np.where(columns[first, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return (columns * signs).reshape(found.shape)


def basis_of_range(projection: ArrayLike) -> Float[np.ndarray, "d k"]:
    """Return an orthonormal basis, as columns, of the range of an orthogonal projection (d, d).

    The basis depends on the projection alone: coordinate axes are projected and orthonormalised, that with the longest
    remainder first, and of several that are equal up to rounding the first one.
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

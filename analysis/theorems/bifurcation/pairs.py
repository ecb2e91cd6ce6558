"""Points with a critical pair of complex eigenvalues: starts of the search, and equations of the eigenvectors."""

from typing import Any

import numpy as np

from analysis.dynamics.validated.balls import Balls, balls
from analysis.theorems.bifurcation.eigenspaces import NullSpace, complexes, imaginary_unit, inner, real_parts, solved
from analysis.theorems.bifurcation.extended import largest
from analysis.theorems.bifurcation.forms import Forms, Varying, along, joined
from dynsim.errors import ArgumentError


def nearest_pair(J: np.ndarray, *, is_map: bool = False) -> tuple[complex, np.ndarray, int]:
    """Find the complex eigenvalue nearest to the imaginary axis, or of a map to the unit circle.

    Returns:
        The eigenvalue, of positive imaginary part; its eigenvector with an entry one; and the index of this entry.

    Raises:
        ValueError: if all eigenvalues are real.
    """
    values, vectors = np.linalg.eig(J)
    pairs = [k for k in range(len(J)) if values[k].imag > 0]
    if not pairs:
        name = "multipliers" if is_map else "eigenvalues"
        raise ArgumentError("near", f"be near a point with a complex pair of {name}", f"has {values.tolist()}")
    k = min(pairs, key=lambda j: abs(abs(values[j]) - 1) if is_map else abs(values[j].real) / abs(values[j]))
    entry = largest(vectors[:, k])
    return complex(values[k]), vectors[:, k] / vectors[entry, k], entry


def eigenpair(forms: Forms, x: Varying, q: tuple[Varying, Varying], value: tuple[Varying, Varying], k: int) -> Varying:
    """Equations A q = lambda q with q_k = 1, all in real and imaginary parts."""
    (u, v), (real, imaginary) = q, value
    return joined(
        along(forms, x, u) - real * u + imaginary * v, along(forms, x, v) - real * v - imaginary * u,
        u[k : k + 1] - 1.0, v[k : k + 1],
    )  # fmt: skip


def rate(forms: Forms, x: Balls, M: Balls, null: NullSpace) -> Any:
    """Enclose the derivative of an eigenvalue by the last component of x, along the branch of the state.

    Args:
        forms: the derivatives of the field, or of the step of a map.
        x: the state and one parameter.
        M: the Jacobian of the equations of the state, f(x, a) = 0 or f(x, a) - x = 0, by state and parameter.
        null: the eigenvectors.

    Raises:
        ZeroDivisionError: if the branch may not be a graph over the parameter.
    """
    n = len(x) - 1
    branch = np.append(real_parts(solved(complexes(M[:, :n]), -M[:, n])), balls([1.0]))
    real, imaginary = real_parts(null.q), real_parts(null.q * -imaginary_unit())
    return inner(null.p, complexes(forms(x, real, branch)) + complexes(forms(x, imaginary, branch)) * imaginary_unit())

"""Quadratic functions: solutions of Lyapunov's equation as exact matrices, and their sublevel sets."""

import numpy as np
import scipy.linalg
from jaxtyping import Float

from analysis.theorems.regions import Region, written
from dynsim.exact import positive_definite, rationals

BITS = 24
"""Bits of the entries of a rounded matrix, so that products with short numbers are exact."""


def lyapunov_matrix(A: np.ndarray, Q: np.ndarray | None = None) -> np.ndarray | None:
    """Solve A' P + P A = -Q for a symmetric P, rounded to short binary fractions; Q is the identity by default.

    Returns:
        P, (n, n); None where two eigenvalues of A nearly sum to zero, so that there is no unique solution.
    """
    values = np.linalg.eigvals(A)
    if np.min(np.abs(values[:, None] + values[None, :])) < 1e-8 * (1 + np.max(np.abs(values))):
        return None
    return rounded(scipy.linalg.solve_continuous_lyapunov(A.T, -(np.eye(len(A)) if Q is None else Q)))


def rounded(P: np.ndarray) -> Float[np.ndarray, "n n"]:
    """Round a symmetric matrix to short binary fractions, relative to its largest entry."""
    unit = 2.0 ** (np.ceil(np.log2(np.max(np.abs(P)))) - BITS)
    return np.round((P + P.T) / (2 * unit)) * unit


def is_definite(P: np.ndarray) -> bool:
    """Whether a symmetric matrix is positive definite, by exact elimination of the binary fractions that it holds."""
    return positive_definite(rationals("matrix", P))


def ellipsoid(P: np.ndarray, centre: np.ndarray, level: float, core: float = 0.0) -> Region:
    """The region {core <= (x - x*)' P (x - x*) <= level} of a positive definite matrix."""
    form = lambda x: (x - centre) @ P @ (x - centre)
    half = 1.01 * np.sqrt(level * np.diag(np.linalg.inv(P)))
    inside = (lambda x: level - form(x), *([lambda x: form(x) - core] if core else []))
    bounds = f"{core:.4g} <= V <= {level:.4g}" if core else f"V <= {level:.4g}"
    sides = np.stack([centre - half, centre + half], axis=1)
    return Region(sides, inside, False, f"{{{bounds}}} about {written(centre)}", not core, not core)

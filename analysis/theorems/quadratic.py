"""Quadratic functions: solutions of Lyapunov's equation as exact matrices, and their sublevel sets."""

from fractions import Fraction

import numpy as np
import scipy.linalg
from jaxtyping import Float

from analysis.theorems.regions import Region, written
from dynsim.exact import Exact, positive_definite, rationals

BITS = 24
"""Bits of the entries of a rounded matrix, so that products with short numbers are exact."""


def lyapunov_matrix(A: np.ndarray, Q: np.ndarray | None = None) -> np.ndarray | None:
    """Solve A' P + P A = -Q for a symmetric P, rounded to short binary fractions; Q is the identity by default.

    Returns:
        P, (n, n); None where two eigenvalues of A nearly sum to zero, so that there is no unique solution.
    """
    values = np.linalg.eigvals(A)
    if np.min(np.abs(values[:, None] + values[None, :])) <= 1e-8 * np.max(np.abs(values)):
        return None
    return rounded(scipy.linalg.solve_continuous_lyapunov(A.T, -(np.eye(len(A)) if Q is None else Q)))


def lyapunov_solution(A: np.ndarray, Q: np.ndarray | None = None) -> tuple[np.ndarray, float] | None:
    """Solve Lyapunov's equation; where it has no unique solution, that of A - s, if its solution is not definite.

    Then an eigenvalue of A has a real part above s > 0.

    Returns:
        P, (n, n), and s; None if neither is solved.
    """
    P = lyapunov_matrix(A, Q)
    if P is not None:
        return P, 0.0
    shift = 2.0 ** np.floor(np.log2(1e-3 * (1e-300 + np.max(np.abs(np.linalg.eigvals(A))))))
    P = lyapunov_matrix(A - shift * np.eye(len(A)), Q)
    return None if P is None or is_definite(P) else (P, float(shift))


def is_unstable(A: Exact) -> bool:
    """Whether an exact matrix is shown to have an eigenvalue with a positive real part, by Lyapunov's equation.

    Where A' P + P A = -I and P is not positive definite, it has one. Where the equation has no unique solution, a
    matrix with slightly smaller real parts is taken.
    """
    for shift in (Fraction(0), Fraction(float(np.max(np.abs(np.array(A, float))))) / 1000):
        P = _exact_solution(A - shift * rationals("matrix", np.eye(len(A))))
        if P is not None:
            return not positive_definite(P)
    return False


def _exact_solution(A: Exact) -> Exact | None:
    """Solve A' P + P A = -I exactly; None where there is no unique solution."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

    n = len(A)
    exact = lambda v: QQ(v.numerator, v.denominator)
    entry = lambda i, j, k, m: Fraction((A[k, i] if j == m else 0) + (A[m, j] if i == k else 0))  # pyright: ignore
    pairs = [(i, j) for i in range(n) for j in range(n)]
    rows = [[exact(entry(i, j, k, m)) for k, m in pairs] for i, j in pairs]
    right = [[exact(Fraction(-int(i == j)))] for i, j in pairs]
    try:
        found = DomainMatrix(rows, (n * n, n * n), QQ).lu_solve(DomainMatrix(right, (n * n, 1), QQ))
    except DMNonInvertibleMatrixError:
        return None
    values = [Fraction(int(v.numerator), int(v.denominator)) for [v] in found.to_list()]
    return np.array(values, dtype=object).reshape(n, n)


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

r"""Name the type of an equilibrium or a fixed point: node, focus, saddle, centre, or not hyperbolic.

In the plane these are the names of the textbooks: a node has two real eigenvalues of one sign, a focus (spiral) a
complex pair. Of two equal real eigenvalues, a star node has all vectors as eigenvectors, and a degenerate (improper)
node only one direction. In higher dimensions a node has real eigenvalues only, a focus complex pairs only, a
focus-node both; a saddle has real eigenvalues only, and a saddle-focus also complex pairs. Eigenvalues count as equal
within their own errors, which are about the square root of those of the matrix at a degenerate node.

Source: S. H. Strogatz, Nonlinear Dynamics and Chaos, section 5.2; E. M. Izhikevich, Equilibrium, Scholarpedia
2(10):2014 (2007), for three dimensions; K. T. Alligood, T. D. Sauer and J. A. Yorke, Chaos (1996), for flip saddles.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Inexact

from dynsim._core.printing import one_line, report
from dynsim.errors import counted

CENTRE = "centre of the linearisation"
"""Type of an equilibrium whose eigenvalues are purely imaginary; terms of higher order decide about its stability."""
ENTRIES = 1e-10
"""Relative error of the entries of a Jacobian by which equal eigenvalues are recognised."""
ROUNDING = 16 * float(np.finfo(float).eps)
"""Error of the entries of a Jacobian relative to the largest one, in balanced units, for those that cancel."""
NO_SIGN = 1e-10
"""Size of a multiplier, relative to the largest one or to one, below which its sign is that of errors."""
SAME = 2.0
"""Two eigenvalues count as equal if they differ by at most so many times the sum of their errors."""


def entry_errors(A: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Estimate the errors of the entries of a Jacobian: a share of each entry, and rounding of the largest one.

    The largest one is that in balanced units of the components, in which rows and columns have equal sizes.
    """
    import scipy.linalg

    if not A.size:
        return np.zeros(A.shape)
    balanced, (units, _) = scipy.linalg.matrix_balance(A, permute=False, separate=True)
    return ENTRIES * np.abs(A) + ROUNDING * np.max(np.abs(balanced), initial=0.0) * units[:, None] / units


def equilibrium_type(
    A: Float[np.ndarray, "d d"], values: Inexact[np.ndarray, " d"], kind: str, tolerance: float, errors: np.ndarray
) -> str:
    """Name the type of an equilibrium of a flow by its Jacobian, such as `stable focus` or `saddle of index 1`.

    The index is the number of unstable directions; in the plane, where it is 1, it is left out. On a line the type is
    the stability alone.

    Args:
        A: the Jacobian, transverse to the orbit of symmetries.
        values: its eigenvalues.
        kind: `stable`, `saddle`, `unstable` or `undecided`; see `linearisation.kind`.
        tolerance: real parts up to this count as zero.
        errors: errors of the entries of A.

    Example:
        >>> A = np.array([[-1.0, 5.0], [0.0, -1.0]])
        >>> equilibrium_type(A, np.array([-1.0, -1.0]), "stable", 1e-7, entry_errors(A))
        'stable degenerate node'
    """
    neutral = np.abs(np.real(values)) <= tolerance
    if np.any(neutral):
        return _not_hyperbolic(values, neutral, kind, tolerance)
    if len(values) < 2:
        return kind
    groups = equal_eigenvalues(A, errors)
    turning = [one.turns for one in groups]
    if kind == "saddle":
        index = int(np.sum(np.real(values) > 0))
        return ("saddle-focus" if any(turning) else "saddle") + (f" of index {index}" if len(values) > 2 else "")
    if all(turning):
        return f"{kind} focus"
    if any(turning):
        return f"{kind} focus-node"
    if any(not one.is_semisimple for one in groups):
        return f"{kind} degenerate node"
    return f"{kind} star node" if len(groups) == 1 else f"{kind} node"


def fixed_point_type(multipliers: Inexact[np.ndarray, " d"], kind: str, tolerance: float) -> str:
    """Name the type of a fixed point of a map, or of a periodic orbit, by its multipliers, such as `flip saddle`.

    A flip saddle has an odd number of multipliers below -1. A node with reflection has a negative multiplier: points
    come from both sides in turn. Multipliers that are zero up to rounding have no sign.

    Args:
        multipliers: the eigenvalues of the derivative of the map.
        kind: `stable`, `saddle`, `unstable` or `undecided`.
        tolerance: multipliers whose modulus differs from one by at most this are not hyperbolic, and imaginary parts up
            to this, relative to the modulus, are zero.

    Example:
        >>> fixed_point_type(np.array([-1.5, 0.3]), "saddle", 1e-6)
        'flip saddle'
    """
    sizes = np.abs(multipliers)
    negative = np.real(multipliers) < -NO_SIGN * np.max(sizes, initial=1.0)
    neutral, turning = np.abs(sizes - 1) <= tolerance, np.abs(np.imag(multipliers)) > tolerance * sizes
    if np.any(neutral):
        found = []
        for value in (1, -1):
            count = int(np.sum(neutral & ~turning & (np.real(multipliers) * value > 0)))
            found += [f"{counted(count, 'multiplier')} {value}"] if count else []
        if np.any(neutral & turning):
            found.append(_pairs(int(np.sum(neutral & turning)), "on the unit circle"))
        return _said(kind, found)
    if len(sizes) < 2:
        return kind + (" with reflection" if np.any(negative) else "")
    if kind == "saddle":
        flips = np.sum((np.real(multipliers) < -1) & ~turning) % 2
        name = "flip saddle" if flips else "saddle-focus" if np.any(turning) else "saddle"
        return name + (f" of index {np.sum(sizes > 1)}" if len(sizes) > 2 else "")
    if np.all(turning):
        return f"{kind} focus"
    reflected = " with reflection" if np.any(negative & ~turning) else ""
    return f"{kind} {'focus-node' if np.any(turning) else 'node'}{reflected}"


def is_centre(values: Inexact[np.ndarray, " d"], tolerance: float) -> bool:
    """Test whether all eigenvalues of an equilibrium are purely imaginary and not zero, within a tolerance."""
    return bool(
        np.size(values) and np.all((np.abs(np.real(values)) <= tolerance) & (np.abs(np.imag(values)) > tolerance))
    )


def _not_hyperbolic(
    values: Inexact[np.ndarray, " d"], neutral: Bool[np.ndarray, " d"], kind: str, tolerance: float
) -> str:
    if is_centre(values, tolerance):
        return CENTRE
    zeros = int(np.sum(neutral & (np.abs(np.imag(values)) <= tolerance)))
    found = [counted(zeros, "zero eigenvalue")] if zeros else []
    if turning := int(np.sum(neutral)) - zeros:
        found.append(_pairs(turning, "imaginary"))
    return _said(kind, found)


def _pairs(count: int, where: str) -> str:
    number = counted(count // 2, "pair")
    return f"{number} on the unit circle" if where != "imaginary" else number.replace(" ", " imaginary ")


def _said(kind: str, reasons: list[str]) -> str:
    """Say that a point is not hyperbolic, and why; a direction that grows makes it unstable all the same."""
    return f"{'unstable, ' if kind in ('saddle', 'unstable') else ''}not hyperbolic ({' and '.join(reasons)})"


class EqualEigenvalues(NamedTuple):
    """Eigenvalues that are equal within their errors.

    Attributes:
        members: indices of the eigenvalues, in the order of `numpy.linalg.eig`.
        turns: whether they are complex, and differ from their conjugates by more than their errors.
        is_semisimple: whether they have as many eigenvectors.
    """

    members: tuple[int, ...]
    turns: bool
    is_semisimple: bool

    __repr__ = one_line
    __str__ = report


def equal_eigenvalues(A: Float[np.ndarray, "d d"], errors: Float[np.ndarray, "d d"]) -> list[EqualEigenvalues]:
    r"""Group the eigenvalues of a matrix that are equal within the errors of its entries.

    An eigenvalue with the unit eigenvectors x and y moves by at most $|y|^T E |x| / |y^* x|$ to first order. Beside
    another one, at the distance g, the product is of order g. So a pair counts as equal up to distances of the order of
    $\sqrt{|E| |A|}$, by which errors split it; no error is taken to be larger. Equal eigenvalues are semisimple if the
    matrix is a multiple of the identity on their invariant subspace, up to the errors. Eigenvalues that are further
    apart than any error could move them need no eigenvectors.
    """
    values, largest = np.linalg.eigvals(A), np.sqrt(np.linalg.norm(errors, 2) * np.linalg.norm(A, 2))
    turns = np.imag(values) != 0
    apart = np.abs(values[:, None] - values)[~np.eye(len(values), dtype=bool)]
    if np.all(np.append(apart, 2 * np.abs(np.imag(values[turns]))) > 2 * SAME * largest):
        return [EqualEigenvalues((k,), bool(turned), True) for k, turned in enumerate(turns)]
    import scipy.linalg

    found: Any = scipy.linalg.eig(A, left=True, right=True)
    values, left, right = found
    d, norm = len(values), float(np.linalg.norm(A, 2))
    moved = np.einsum("ik,ij,jk->k", np.abs(left), errors, np.abs(right))
    products = np.abs(np.sum(left.conj() * right, axis=0))
    own = np.minimum(moved / np.maximum(products, np.finfo(float).tiny), np.sqrt(moved * norm))
    near = np.abs(values[:, None] - values) <= SAME * (own[:, None] + own)
    real = np.abs(values[:, None] - values.conj()) <= SAME * (own[:, None] + own)
    group = np.arange(d)
    for i, j in zip(*np.nonzero(near), strict=True):
        group[group == group[j]] = group[i]
    groups = []
    for one in dict.fromkeys(group.tolist()):
        members = np.flatnonzero(group == one)
        turns = bool(np.any(np.abs(np.imag(values[members])) > 0) and not np.any(real[np.ix_(members, members)]))
        groups.append(EqualEigenvalues(tuple(members.tolist()), turns, _is_semisimple(A, errors, values, members)))
    return groups


def _is_semisimple(A: np.ndarray, errors: np.ndarray, values: np.ndarray, members: np.ndarray) -> bool:
    """Test whether a matrix is a multiple of the identity on an invariant subspace, up to errors of its entries."""
    import scipy.linalg

    if len(members) == 1:
        return True
    mean, others = np.mean(values[members]), np.delete(values, members)
    inside = np.max(np.abs(values[members] - mean))
    reach = inside + 0.5 * (np.min(np.abs(others - mean)) - inside) if len(others) else np.inf
    form: Any = scipy.linalg.schur(A, output="complex", sort=lambda value: abs(value - mean) <= reach)
    T, Q, count = form
    if count != len(members):
        return False
    Q, rest = np.abs(Q[:, :count]), T[:count, :count] - mean * np.eye(count)
    return bool(np.all(np.abs(rest) <= 2 * SAME * (Q.T @ errors @ Q)))

"""Linearise a flow in the tangent space: Jacobian, eigenvalues, stability, and zero eigenvalues due to symmetries."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.equilibrium_types import ROUNDING, entry_errors, equilibrium_type
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.scaling.linear_equations import balanced
from analysis.dynamics.sparse.matrices import SparseMatrix, row_sizes
from dynsim._core.checked import checked
from dynsim._core.orientation import TIE, basis_of_range
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line, report
from dynsim._core.types import ArrayLike, State, SymmetryGenerator, Time
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import check_flow, double_state
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

# Number of rows of matrices whose eigenvalues are computed together.
SMALL = 16
NEAR_ZERO = 1e-7
"""Real parts below this share of the Jacobian's norm may be zero (rounding moves a double zero by sqrt(eps))."""

LINEAR = 0.1
"""Largest errors of a matrix, relative to its norm, to which those of its eigenvalues are proportional."""
ROUNDED = 1e-12
"""Relative change of a state by which rounding errors of a Jacobian are estimated."""
OWN = 1e-10
"""Relative error of the entries of a Jacobian by which the error of an eigenvalue is bounded (see `own_eigenvalue`)."""
INVERSE = 3
"""Number of steps of inverse iteration; each one multiplies the error of an eigenvector by that of the eigenvalue."""
CONVERGED = 1e-14
"""Residual of an eigenvector, relative to the norm of the matrix, above which inverse iteration has not converged."""


def tangent_basis(space: AbstractSpace, x: State) -> np.ndarray:
    """Compute an orthonormal basis of the tangent space at `x`, (ambient, dimension). NumPy: not for `jit`."""
    if is_flat(space):
        return np.eye(sum(np.size(leaf) for leaf in jax.tree.leaves(x)))
    left, sizes, _ = np.linalg.svd(np.asarray(_projection(space, x)))
    span = left[:, sizes > 1e-9 * max(1.0, sizes[0])]
    return basis_of_range(span @ span.T)


@compiled
def _projection(space: AbstractSpace, x: State) -> jax.Array:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    along = lambda v: jax.flatten_util.ravel_pytree(space.tangent(x, unravel(v)))[0]
    return jax.jacfwd(along)(jnp.zeros_like(flat))


@on_host_by_default
def tangent_jacobian(flow: AbstractFlow, x: State, t: Time = 0.0) -> np.ndarray:
    """Compute the Jacobian of a flow at `x` in `tangent_basis`, (dimension, dimension), per time unit.

    Normal directions are left out: `vector_field` is constant along the fibres of the retraction, so that the ambient
    Jacobian vanishes on them. NumPy: not for `jit`.

    Args:
        flow: the system.
        x: a state.
        t: time at which the field is evaluated.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import tangent_jacobian
        >>> tangent_jacobian(ds.catalogue.VanDerPol(mu=1.0), [0.0, 0.0]).tolist()
        [[0.0, 1.0], [-1.0, 1.0]]
    """
    check_flow(flow)
    x = double_state("x", x)
    basis = tangent_basis(flow.space, x)
    return basis.T @ np.asarray(_ambient_jacobian(flow, x, np.asarray(t, float))) @ basis


@compiled
def _ambient_jacobian(flow: AbstractFlow, x: State, t: jax.Array) -> jax.Array:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    return jax.jacfwd(lambda y: jax.flatten_util.ravel_pytree(flow.vector_field(t, unravel(y)))[0])(flat)


def eigenvalues(jacobian: ArrayLike) -> np.ndarray:
    """Compute eigenvalues, sorted by decreasing real part, then by decreasing imaginary part.

    Real parts that differ only by rounding errors count as equal. NumPy: not for `jit`.
    """
    values = np.linalg.eigvals(_square("jacobian", jacobian))
    return values[_order(values)]


def eigenvalues_of(matrices: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compute eigenvalues of several square matrices, each sorted as by `eigenvalues`.

    Small matrices of one size are put together, since the calls take longer than the computation.
    """
    shapes = {np.shape(matrix) for matrix in matrices}
    if len(matrices) < 2 or len(shapes) > 1 or shapes.pop()[-1] > SMALL:
        return [eigenvalues(matrix) for matrix in matrices]
    values = np.linalg.eigvals(np.stack(matrices))
    rows = np.take_along_axis(values, _order(values), axis=-1)
    return [row if np.any(row.imag) else row.real for row in rows]


def _order(values: np.ndarray) -> np.ndarray:
    """Sort eigenvalues, along the last axis, by decreasing real part up to rounding, then by decreasing imaginary part.

    The result holds their indices.
    """
    real, imaginary = np.real(values), np.imag(values)
    first = np.argsort(-real, axis=-1, kind="stable")
    rounding = TIE * NEAR_ZERO * np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    apart = -np.diff(np.take_along_axis(real, first, axis=-1), axis=-1) > rounding
    group = np.cumsum(np.concatenate([np.zeros_like(first[..., :1]), apart], axis=-1), axis=-1)
    inner = np.lexsort((-np.take_along_axis(imaginary, first, axis=-1), group), axis=-1)
    return np.take_along_axis(first, inner, axis=-1)


def eigenvectors(A: Float[np.ndarray, "d d"], basis: Float[np.ndarray, "ambient d"]) -> np.ndarray:
    """Compute eigenvectors of a matrix in ambient coordinates, as columns of length one in the order of `eigenvalues`.

    The entry of largest modulus is real and positive, the first one among equal ones.
    """
    values, vectors = np.linalg.eig(A)
    found = np.asarray(basis @ vectors[:, _order(values)])
    sizes = np.abs(found)
    if not found.size:
        return found
    first = np.argmax(sizes >= (1 - TIE) * np.max(sizes, axis=0), axis=0)
    turned = found / (found[first, np.arange(found.shape[1])] / np.abs(found[first, np.arange(found.shape[1])]))
    return turned / np.linalg.norm(turned, axis=0)


def own_eigenvalue(
    A: Float[np.ndarray, "d d"] | SparseMatrix,
    value: complex,
    sizes: Float[np.ndarray, " d"] | float = 0.0,
    errors: Float[np.ndarray, "d d"] | float = 0.0,
) -> tuple[complex, float]:
    r"""Refine an eigenvalue, and bound its error by its own condition instead of by the norm of the matrix.

    With eigenvectors x and y, $A x = \lambda x$ and $y^* A = \lambda y^*$, relative errors $\epsilon$ of the entries of
    A move the eigenvalue by at most $\epsilon |y|^T |A| |x| / |y^* x|$. This does not depend on the units of the
    components, so that a slow eigenvalue keeps its accuracy beside fast ones. Rounding errors of the rows are added.
    Eigenvectors come from inverse iteration with equations divided by their sizes. The bound is infinite if x and y are
    perpendicular.

    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 7; F. L. Bauer and C. T. Fike, Norms
    and exclusion theorems, Numer. Math. 2 (1960), for the condition of one eigenvalue.

    Args:
        A: the matrix.
        value: an approximation of the eigenvalue.
        sizes: sizes of the diagonal entries that they have elsewhere, if they are small here.
        errors: further errors of the entries.
    """
    d, eps = len(A), float(np.finfo(float).eps)
    entries = row_sizes(A)
    rows = np.fmax(entries, sizes)
    rows = np.where(rows > 0, rows, np.max(rows) or 1.0)  # an equation without terms has no size of its own
    x, y = A.eigenvectors_near(value) if isinstance(A, SparseMatrix) else _inverse_iteration(A, value, rows)
    product = complex(np.vdot(y, x))
    terms = float(np.abs(y) @ (abs(A) @ np.abs(x) + np.broadcast_to(sizes, d) * np.abs(x)))
    if not abs(product) > eps or not np.isfinite(terms):
        return complex(value), np.inf
    rounding = 16 * eps * float(np.abs(y) @ rows) * float(np.sum(np.abs(x)))  # of entries that are small in their row
    further = float(np.abs(y) @ np.broadcast_to(errors, (d, d)) @ np.abs(x)) if np.any(errors) else 0.0
    moved, error = complex(np.vdot(y, A @ x)) / product, (OWN * terms + further + rounding) / abs(product)
    return (moved if abs(moved - value) <= NEAR_ZERO * float(np.max(entries)) else complex(value)), error


def _inverse_iteration(
    A: Float[np.ndarray, "d d"], value: complex, rows: Float[np.ndarray, " d"]
) -> tuple[Complex[np.ndarray, " d"], Complex[np.ndarray, " d"]]:
    """Compute unit right and left eigenvectors of the eigenvalue near a value; equations are divided by `rows`."""
    import scipy.linalg

    d, eps = len(A), float(np.finfo(float).eps)
    scaled = (A - value * np.eye(d)) / rows[:, None]
    (factorise,) = scipy.linalg.get_lapack_funcs(("getrf",), dtype=complex)  # without a warning for a zero pivot
    factors, pivots, _ = factorise(scaled + 4 * eps * np.eye(d))
    places = np.flatnonzero(np.abs(np.diagonal(factors)) < eps)
    factors[places, places] = eps  # a zero pivot belongs to an exact eigenvalue, and any small one finds its vector
    lu = factors, pivots
    x = y = np.random.default_rng(d).normal(size=d) + 0j
    for _ in range(INVERSE):
        x = scipy.linalg.lu_solve(lu, x / rows, check_finite=False)
        y = scipy.linalg.lu_solve(lu, y, trans=2, check_finite=False) / rows
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return x, y


def zero_tolerance(
    A: Float[np.ndarray, "d d"], values: np.ndarray, errors: Float[np.ndarray, "d d"] | float = 0.0
) -> tuple[np.ndarray, float]:
    """Refine small eigenvalues of a matrix, and find the modulus of the real part up to which they may be zero.

    Real parts count that exceed a share of the norm of the matrix, in balanced units, or the eigenvalue's own error, so
    that slow directions beside fast ones count, in any units of the components and of time.

    Args:
        A: the matrix.
        values: its eigenvalues, as by `eigenvalues`.
        errors: errors of its entries, beside a share of each one.

    Returns:
        The eigenvalues, and the tolerance.
    """
    if not len(values):
        return values, 0.0
    in_units, scale = balanced(A)
    norm, uncertain = (
        float(np.linalg.norm(part, 2)) for part in (in_units, np.multiply(errors, scale / scale[:, None]))
    )
    share = max(NEAR_ZERO * norm, uncertain)
    small = np.flatnonzero(np.abs(np.real(values)) <= share)
    if not len(small):
        return values, share
    found, own = np.array(values), np.zeros(len(values))
    for k in small:
        if k and k - 1 in small and values[k] != values[k - 1] and values[k] == np.conj(values[k - 1]):
            found[k], own[k] = np.conj(found[k - 1]), own[k - 1]
        else:
            value, own[k] = own_eigenvalue(A, complex(values[k]), errors=errors)
            found[k] = value if np.iscomplexobj(found) else value.real
    least = share if uncertain > LINEAR * norm else ROUNDING * norm
    sizes, own = np.abs(np.real(found)), np.clip(own, least, share)
    zero = float(np.max(sizes[small], where=sizes[small] <= own[small], initial=0.0))
    others = float(np.min(sizes, where=sizes > zero, initial=np.inf))
    return found, max(zero, min(float(np.max(own)), others / 2))


def _square(name: str, matrix: ArrayLike) -> np.ndarray:
    found = np.asarray(matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ArgumentError(name, "have shape (dimension, dimension)", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return found


def index(values: ArrayLike, *, tolerance: float = 0.0) -> int:
    """Count the eigenvalues with real part above `tolerance`: the dimension of the unstable subspace."""
    return int(np.sum(np.real(values) > tolerance))


class Spectrum(NamedTuple):
    """Eigenvalues of an equilibrium transverse to the orbit of its symmetries, and its stability type.

    Attributes:
        values: eigenvalues by decreasing real part, without those along the orbit.
        num_symmetries: number of zero eigenvalues along the orbit, which are left out.
        index: dimension of the unstable subspace.
        tolerance: real parts of smaller modulus count as zero.
        kind: `stable`, `saddle`, `unstable` (all real parts are positive), or `undecided` (a real part is within
            `tolerance` of zero, and none is above it).
        vectors: eigenvectors of length one as columns, (ambient, eigenvalues); nearly parallel ones belong to a
            repeated eigenvalue with fewer directions.
        description: the type in words, such as `stable focus`, `saddle of index 2` or `centre of the linearisation`;
            see `equilibrium_types`.
    """

    values: np.ndarray
    num_symmetries: int
    index: int
    tolerance: float
    kind: str
    vectors: np.ndarray = np.empty((0, 0))
    description: str = ""

    __repr__ = one_line
    __str__ = report


@on_host_by_default
def spectrum(flow: AbstractFlow, x: State, t: Time = 0.0, *, symmetries: Sequence[SymmetryGenerator] = ()) -> Spectrum:
    """Compute the spectrum of an equilibrium, without the zero eigenvalues due to its symmetries.

    Args:
        flow: the system.
        x: an equilibrium.
        t: time at which the field is evaluated.
        symmetries: infinitesimal generators of groups that commute with the flow. Each is a function from the state to
            the velocity of the group action, such as those of `rotations(d)`. Each velocity must be in the kernel of
            the Jacobian.

    Raises:
        ValueError: if a velocity is not in the kernel; either it generates no symmetry, or `x` is no equilibrium.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import spectrum
        >>> found = spectrum(ds.FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.2 * x[1]])), [0.0, 0.0])
        >>> found.kind, np.round(found.values.real, 6).tolist()
        ('stable', [-0.1, -0.1])
    """
    check_flow(flow)
    return transverse_jacobian(flow, x, t, symmetries).spectrum()


class TransverseJacobian(NamedTuple):
    """Jacobian across the orbit of symmetries, its coordinate directions, (ambient, d), and how many it leaves out.

    `errors` are bounds of the errors of the entries in ambient coordinates, (ambient, ambient).
    """

    matrix: Float[np.ndarray, "d d"]
    directions: Float[np.ndarray, "ambient d"]
    num_symmetries: int
    errors: Float[np.ndarray, "ambient ambient"]

    __repr__ = one_line
    __str__ = report

    def spectrum(self) -> Spectrum:
        """Compute the eigenvalues and eigenvectors, and classify the equilibrium."""
        A, along = self.matrix, np.abs(self.directions)
        values, least = zero_tolerance(A, eigenvalues(A), along.T @ self.errors @ along)
        word = kind(values, least)
        name = equilibrium_type(A, values, word, least, entry_errors(A))
        vectors = eigenvectors(A, self.directions)
        return Spectrum(values, self.num_symmetries, index(values, tolerance=least), least, word, vectors, name)


def transverse_jacobian(
    flow: AbstractFlow,
    x: State,
    t: Time = 0.0,
    symmetries: Sequence[SymmetryGenerator] = (),
    errors: Float[np.ndarray, "ambient ambient"] | None = None,
    near: State | None = None,
) -> TransverseJacobian:
    """Restrict the Jacobian at an equilibrium to the directions across the orbit of its symmetries; see `spectrum`.

    Errors of the entries are by default a share of them, and what a relative change of the state by `ROUNDED` changes,
    or one to `near`, the farthest state that may be the equilibrium.
    """
    x, at = double_state("x", x), np.asarray(t, float)
    basis, ambient = tangent_basis(flow.space, x), np.asarray(_ambient_jacobian(flow, x, at))
    J = basis.T @ ambient @ basis
    if errors is None:
        rounded = jax.tree.map(lambda y: y * (1 + ROUNDED * np.resize([1.0, -1.0], np.shape(y))), x)
        others = [rounded] if near is None else [rounded, near]
        changes = [np.abs(np.asarray(_ambient_jacobian(flow, one, at)) - ambient) for one in others]
        errors = np.asarray(NEAR_ZERO * np.abs(ambient) + np.max(changes, axis=0))
    orbit = orbit_basis(basis, x, symmetries)
    size = lambda matrix: float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0
    if (moves := size(J @ orbit)) > NEAR_ZERO * size(J) + size(errors):
        raise ArgumentError("symmetries", "give zero modes of the equilibrium `x`", f"move it at the rate {moves:.3g}")
    across = np.linalg.svd(orbit)[0][:, orbit.shape[1] :] if orbit.size else np.eye(len(J))
    return TransverseJacobian(across.T @ J @ across, basis @ across, orbit.shape[1], errors)


def kind(values: ArrayLike, tolerance: ArrayLike) -> str:
    """Classify an equilibrium by its eigenvalues as `stable`, `saddle`, `unstable` or `undecided`.

    The real parts are compared with one tolerance, or each with its own.
    """
    parts, least = np.real(values), np.asarray(tolerance)
    if np.all(parts < -least):
        return "stable"
    if np.any(parts > least):
        return "unstable" if np.all(parts > least) else "saddle"
    return "undecided"


def null_vectors(
    A: Float[np.ndarray, "d d"] | SparseMatrix,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Compute unit vectors q and p with A q = 0 and A^T p = 0, from the smallest singular value."""
    if isinstance(A, SparseMatrix):
        return A.null_vectors()
    left, _, right = np.linalg.svd(A)
    return right[-1], left[:, -1]


def eigenvectors_near(
    A: Float[np.ndarray, "d d"] | SparseMatrix, value: complex
) -> tuple[Complex[np.ndarray, " d"], Complex[np.ndarray, " d"], complex]:
    """Find the eigenvalue m nearest to a value, with unit vectors q, p such that A q = m q, A^T p = conj(m) p."""
    if isinstance(A, SparseMatrix):
        q, p = A.eigenvectors_near(value)
        return q, p, complex(np.vdot(q, A @ q))
    for begin in (lambda: value, lambda: min(np.linalg.eigvals(A), key=lambda one: abs(one - value))):
        q, p = _inverse_iteration(A, begin(), np.ones(len(A)))
        found = complex(np.vdot(q, A @ q))
        if max(_rest(A, q, found), _rest(A.T, p, np.conj(found))) <= CONVERGED * float(np.linalg.norm(A)):
            return q, p, found
    values, right = np.linalg.eig(A)
    others, left = np.linalg.eig(A.T)
    k, j = np.argmin(np.abs(values - value)), np.argmin(np.abs(others - np.conj(value)))
    q, p = right[:, k] / np.linalg.norm(right[:, k]), left[:, j] / np.linalg.norm(left[:, j])
    return q + 0j, p + 0j, complex(values[k])


def _rest(A: np.ndarray, vector: np.ndarray, value: complex) -> float:
    return float(np.linalg.norm(A @ vector - value * vector))


def orbit_basis(basis: np.ndarray, x: State, symmetries: Sequence[SymmetryGenerator]) -> np.ndarray:
    """Compute an orthonormal basis of the tangent space of the group orbit of `x`, in tangent coordinates."""
    if not symmetries:
        return np.empty((basis.shape[1], 0))
    flat, x = lambda v: np.asarray(jax.flatten_util.ravel_pytree(v)[0], float), jax.tree.map(jnp.asarray, x)
    moves = basis.T @ np.stack([flat(move(x)) for move in symmetries], axis=1)
    left, sizes, _ = np.linalg.svd(moves, full_matrices=False)
    rounding = 64 * float(np.finfo(float).eps) * float(np.max(np.abs(flat(x)), initial=0.0))
    return left[:, sizes > max(1e-9 * float(np.max(np.abs(moves), initial=0.0)), rounding)]


@checked
def rotations(d: int, *matrices: ArrayLike) -> list[SymmetryGenerator]:
    """Find generators of the rotations of R^d, applied to all tokens, that commute with all of `matrices`.

    For the token flow the matrices are P, U and W, each (d, d). Without matrices all rotations are given. States are
    arrays (..., d). Discrete symmetries, such as reflections and permutations, have no generators.

    >>> import numpy as np
    >>> from analysis.dynamics import rotations
    >>> len(rotations(3)), len(rotations(3, np.diag([1.0, 1.0, 2.0])))
    (3, 1)

    Args:
        d: dimension of the tokens.
        *matrices: matrices (d, d) with which the rotations must commute.

    Raises:
        ValueError: for a matrix of another shape, or one that is not finite.
    """
    integer("d", d, least=1)
    pairs = [(i, j) for i in range(d) for j in range(i)]
    skew = np.zeros((len(pairs), d, d))
    for k, (i, j) in enumerate(pairs):
        skew[k, i, j], skew[k, j, i] = 1.0, -1.0
    given = [_square("matrices", m) for m in matrices]
    if any(m.shape != (d, d) for m in given):
        raise ArgumentError("matrices", f"have shape ({d}, {d})", f"have shapes {[m.shape for m in given]}")
    brackets = [np.stack([(s @ m - m @ s).ravel() for s in skew], axis=1) for m in given]
    if brackets and pairs:
        _, sizes, right = np.linalg.svd(np.concatenate(brackets))
        full = np.append(sizes, np.zeros(len(pairs) - len(sizes)))
        kept = right[full <= 1e-9 * max(1.0, full[0])]
        skew = np.tensordot(basis_of_range(kept.T @ kept).T, skew, axes=1)
    return [lambda x, A=jnp.asarray(a): x @ A.T for a in skew]

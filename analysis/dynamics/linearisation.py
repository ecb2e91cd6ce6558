"""The linearisation of a flow in the tangent space: eigenvalues, index, and zero eigenvalues due to symmetries."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float
from numpy.typing import ArrayLike

from analysis.dynamics.flow_maps.compiled import compiled
from dynsim._core.orientation import TIE, basis_of_range
from dynsim._core.printing import one_line, report
from dynsim._core.types import State, SymmetryGenerator, Time
from dynsim.errors import ArgumentError
from dynsim.simulation.checks import as_state
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow
from dynsim.systems.rescaled import is_flat

NEAR_ZERO = 1e-7
"""Times the norm of the Jacobian: smaller real parts count as zero (rounding moves a double zero by sqrt(eps))."""


def tangent_basis(space: AbstractSpace, x: State) -> np.ndarray:
    """Return an orthonormal basis of the tangent space at `x`, shape (ambient, dimension). NumPy: not for `jit`."""
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


def tangent_jacobian(flow: AbstractFlow, x: State, t: Time = 0.0) -> np.ndarray:
    """Return the Jacobian of the flow at `x` in `tangent_basis`, shape (dimension, dimension), per time unit.

    Normal directions are left out: since `vector_field` is constant along the fibres of the retraction, the ambient
    Jacobian is zero on them. NumPy: not for `jit`.
    """
    x = as_state("x", x)
    basis = tangent_basis(flow.space, x)
    return basis.T @ np.asarray(_ambient_jacobian(flow, x, np.asarray(t, float))) @ basis


@compiled
def _ambient_jacobian(flow: AbstractFlow, x: State, t: jax.Array) -> jax.Array:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    return jax.jacfwd(lambda y: jax.flatten_util.ravel_pytree(flow.vector_field(t, unravel(y)))[0])(flat)


def eigenvalues(jacobian: ArrayLike) -> np.ndarray:
    """Return the eigenvalues, largest real part first, largest imaginary part first among equal real parts.

    Real parts that differ by rounding errors only count as equal. NumPy: not for `jit`.
    """
    values = np.linalg.eigvals(_square("jacobian", jacobian))
    values = values[np.argsort(-values.real, kind="stable")]
    rounding = TIE * NEAR_ZERO * float(np.max(np.abs(values), initial=0.0))
    group = np.cumsum(np.append(0, -np.diff(values.real) > rounding))[: len(values)]
    return values[np.lexsort((-values.imag, group))]


def _square(name: str, matrix: ArrayLike) -> np.ndarray:
    found = np.asarray(matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ArgumentError(name, "have shape (dimension, dimension)", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise ArgumentError(name, "be finite", "has an entry that is not")
    return found


def index(values: ArrayLike, *, tolerance: float = 0.0) -> int:
    """Return the number of eigenvalues with real part above `tolerance`: the dimension of the unstable subspace."""
    return int(np.sum(np.real(values) > tolerance))


class Spectrum(NamedTuple):
    """The eigenvalues of an equilibrium transverse to the orbit of its symmetries, and its type.

    `values` are sorted by decreasing real part; the `num_symmetries` zero eigenvalues along the orbit are left out.
    `index` is the dimension of the unstable subspace. `kind` is `stable`, `saddle`, `unstable` (all real parts are
    positive) or `undecided` (a real part is within `tolerance` of zero, and none is above it).
    """

    values: np.ndarray
    num_symmetries: int
    index: int
    tolerance: float
    kind: str

    __repr__ = one_line
    __str__ = report


def spectrum(flow: AbstractFlow, x: State, t: Time = 0.0, *, symmetries: Sequence[SymmetryGenerator] = ()) -> Spectrum:
    """Return the spectrum of an equilibrium, without the zero eigenvalues along the orbit of its symmetries.

    Args:
        flow: the system.
        x: an equilibrium of it.
        t: the time at which the field is evaluated.
        symmetries: infinitesimal generators of groups that commute with the flow, each a function from the state to the
            velocity of the group action, such as `rotations(d)`. Each velocity must be in the kernel of the Jacobian.

    Raises:
        ValueError: if a velocity is not in the kernel: it generates no symmetry, or `x` is no equilibrium.
    """
    x = as_state("x", x)
    basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, t)
    tolerance = NEAR_ZERO * max(1.0, float(np.linalg.norm(J, 2)) if J.size else 1.0)
    orbit = orbit_basis(basis, x, symmetries)
    moved = float(np.linalg.norm(J @ orbit, 2)) if orbit.size else 0.0
    if moved > tolerance:
        raise ArgumentError("symmetries", "give zero modes of the equilibrium `x`", f"move it at the rate {moved:.3g}")
    across = np.linalg.svd(orbit)[0][:, orbit.shape[1] :] if orbit.size else np.eye(len(J))
    values = eigenvalues(across.T @ J @ across)
    return Spectrum(values, orbit.shape[1], index(values, tolerance=tolerance), tolerance, kind(values, tolerance))


def kind(values: ArrayLike, tolerance: float) -> str:
    """Return the type of an equilibrium from its eigenvalues: `stable`, `saddle`, `unstable` or `undecided`."""
    parts = np.real(values)
    if np.all(parts < -tolerance):
        return "stable"
    if np.any(parts > tolerance):
        return "unstable" if np.all(parts > tolerance) else "saddle"
    return "undecided"


def null_directions(J: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "directions d"]:
    """Return an orthonormal basis of the null space of a Jacobian with at least as many rows as columns, as rows."""
    if not J.size:
        return np.empty((0, J.shape[1]))
    _, sizes, right = np.linalg.svd(J)
    return right[sizes <= NEAR_ZERO * max(1.0, float(sizes[0]))]


def null_vectors(A: Float[np.ndarray, "d d"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Return unit vectors q and p with A q = 0 and A^T p = 0, those of the least singular value."""
    left, _, right = np.linalg.svd(A)
    return right[-1], left[:, -1]


def eigenvectors_near(
    A: Float[np.ndarray, "d d"], value: complex
) -> tuple[Complex[np.ndarray, " d"], Complex[np.ndarray, " d"], complex]:
    """Return unit vectors q and p with A q = m q and A^T p = conj(m) p, and m, the eigenvalue nearest to a value."""
    values, right = np.linalg.eig(A)
    others, left = np.linalg.eig(A.T)
    k, j = np.argmin(np.abs(values - value)), np.argmin(np.abs(others - np.conj(value)))
    q, p = right[:, k] / np.linalg.norm(right[:, k]), left[:, j] / np.linalg.norm(left[:, j])
    return q + 0j, p + 0j, complex(values[k])


def orbit_basis(basis: np.ndarray, x: State, symmetries: Sequence[SymmetryGenerator]) -> np.ndarray:
    """Return an orthonormal basis of the tangent space of the group orbit of `x`, in tangent coordinates."""
    if not symmetries:
        return np.empty((basis.shape[1], 0))
    flat, x = lambda v: np.asarray(jax.flatten_util.ravel_pytree(v)[0], float), jax.tree.map(jnp.asarray, x)
    moves = basis.T @ np.stack([flat(move(x)) for move in symmetries], axis=1)
    left, sizes, _ = np.linalg.svd(moves, full_matrices=False)
    return left[:, sizes > 1e-9 * max(1.0, float(np.max(np.abs(moves))))]


def rotations(d: int, *matrices: ArrayLike) -> list[SymmetryGenerator]:
    """Return generators of the rotations of R^d, applied to all tokens, that commute with all of `matrices`.

    For the token flow the matrices are P, U and W, each (d, d); without matrices all rotations are returned. States are
    arrays (..., d). Discrete symmetries, such as reflections and permutations, have no generators.

    Raises:
        ValueError: for a matrix of another shape, or that is not finite.
    """
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

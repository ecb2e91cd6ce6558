"""The linearised flow in the tangent space: its spectrum, its index, and the modes that a symmetry explains."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from dynsim._types import State, Time
from dynsim.errors import argument_error
from dynsim.orientation import TIE, basis_of_range
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow

Generator = Callable[[State], State]

NEAR_ZERO = 1e-7
"""Times the size of the Jacobian: below this a real part is not told from zero (a double zero moves by sqrt(eps))."""


def tangent_basis(space: AbstractSpace, x: State) -> np.ndarray:
    """Return an orthonormal basis (ambient, dimension) of the tangent space at `x`. NumPy: not for `jit`."""
    left, sizes, _ = np.linalg.svd(np.asarray(_projection(space, x)))
    span = left[:, sizes > 1e-9 * max(1.0, sizes[0])]
    return basis_of_range(span @ span.T)


@eqx.filter_jit
def _projection(space: AbstractSpace, x: State) -> jax.Array:
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    along = lambda v: jax.flatten_util.ravel_pytree(space.tangent(x, unravel(v)))[0]
    return jax.jacfwd(along)(jnp.zeros_like(flat))


def tangent_jacobian(flow: AbstractFlow, x: State, t: Time = 0.0) -> np.ndarray:
    """Return the Jacobian of the flow at `x` in `tangent_basis`: as many rows as the space has dimensions.

    The lift is constant along the retraction's fibres, so the normal directions, which it leaves out, carry only zeros.
    NumPy: not for `jit`.
    """
    basis = tangent_basis(flow.space, x)
    return basis.T @ np.asarray(_ambient_jacobian(flow, x, jnp.asarray(t, float))) @ basis


@eqx.filter_jit
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
        raise argument_error(name, "have shape (dimension, dimension)", f"has shape {found.shape}")
    if not np.all(np.isfinite(found)):
        raise argument_error(name, "be finite", "has an entry that is not")
    return found


def index(values: ArrayLike, *, tolerance: float = 0.0) -> int:
    """Return the number of eigenvalues with real part above `tolerance`: the dimension of the unstable directions."""
    return int(np.sum(np.real(values) > tolerance))


class Spectrum(NamedTuple):
    """The eigenvalues across a symmetry's orbit, largest real part first, and what they say.

    `kind` is `stable`, `saddle`, `unstable` (all directions grow) or `undecided` (a real part within `tolerance` of
    zero, and none above it); `num_symmetries` zero modes, along the orbit, are left out of `values`.
    """

    values: np.ndarray
    num_symmetries: int
    index: int
    tolerance: float
    kind: str


def spectrum(flow: AbstractFlow, x: State, t: Time = 0.0, *, symmetries: Sequence[Generator] = ()) -> Spectrum:
    """Return the spectrum of an equilibrium across the orbit of its symmetries, and its kind.

    Args:
        flow: the system.
        x: an equilibrium of it.
        t: the time at which the field is taken.
        symmetries: generators of groups that commute with the flow, each a function of the state that returns the
            velocity of the group's action, such as `rotations(d)`. Each must give a zero mode at `x`, or be no motion.

    Raises:
        ValueError: if a generator's direction is no zero mode, for then it is no symmetry or `x` no equilibrium.
    """
    basis, J = tangent_basis(flow.space, x), tangent_jacobian(flow, x, t)
    tolerance = NEAR_ZERO * max(1.0, float(np.linalg.norm(J, 2)) if J.size else 1.0)
    orbit = _orbit(basis, x, symmetries)
    moved = float(np.linalg.norm(J @ orbit, 2)) if orbit.size else 0.0
    if moved > tolerance:
        raise argument_error("symmetries", "give zero modes of the equilibrium `x`", f"move it at the rate {moved:.3g}")
    across = np.linalg.svd(orbit)[0][:, orbit.shape[1] :] if orbit.size else np.eye(len(J))
    values = eigenvalues(across.T @ J @ across)
    return Spectrum(values, orbit.shape[1], index(values, tolerance=tolerance), tolerance, kind(values, tolerance))


def kind(values: ArrayLike, tolerance: float) -> str:
    """Return what eigenvalues say of an equilibrium: `stable`, `saddle`, `unstable` or `undecided`."""
    parts = np.real(values)
    if np.all(parts < -tolerance):
        return "stable"
    if np.any(parts > tolerance):
        return "unstable" if np.all(parts > tolerance) else "saddle"
    return "undecided"


def _orbit(basis: np.ndarray, x: State, symmetries: Sequence[Generator]) -> np.ndarray:
    """Return an orthonormal basis of the directions in which the symmetries move `x`, in tangent coordinates."""
    if not symmetries:
        return np.empty((basis.shape[1], 0))
    flat = lambda v: np.asarray(jax.flatten_util.ravel_pytree(v)[0], float)
    moves = basis.T @ np.stack([flat(move(x)) for move in symmetries], axis=1)
    left, sizes, _ = np.linalg.svd(moves, full_matrices=False)
    return left[:, sizes > 1e-9 * max(1.0, float(np.max(np.abs(moves))))]


def rotations(d: int, *matrices: ArrayLike) -> list[Generator]:
    """Return generators of the rotations of all tokens together in R^d that commute with every one of `matrices`.

    For the token flow these are P, U and W, each (d, d); with none given, all rotations. Reflections and permutations
    are no modes. States are arrays (..., d).
    """
    pairs = [(i, j) for i in range(d) for j in range(i)]
    skew = np.zeros((len(pairs), d, d))
    for k, (i, j) in enumerate(pairs):
        skew[k, i, j], skew[k, j, i] = 1.0, -1.0
    given = [_square("matrices", m) for m in matrices]
    if any(m.shape != (d, d) for m in given):
        raise argument_error("matrices", f"have shape ({d}, {d})", f"have shapes {[m.shape for m in given]}")
    brackets = [np.stack([(s @ m - m @ s).ravel() for s in skew], axis=1) for m in given]
    if brackets and pairs:
        _, sizes, right = np.linalg.svd(np.concatenate(brackets))
        full = np.append(sizes, np.zeros(len(pairs) - len(sizes)))
        kept = right[full <= 1e-9 * max(1.0, full[0])]
        skew = np.tensordot(basis_of_range(kept.T @ kept).T, skew, axes=1)
    return [lambda x, A=jnp.asarray(a): x @ A.T for a in skew]

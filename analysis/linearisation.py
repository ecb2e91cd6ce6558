"""The linearised flow in the tangent space."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from dynsim._types import State, Time
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow


def tangent_basis(space: AbstractSpace, x: State) -> np.ndarray:
    """Return an orthonormal basis (ambient, dimension) of the tangent space at `x`. NumPy: not for `jit`."""
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    along = lambda v: jax.flatten_util.ravel_pytree(space.tangent(x, unravel(v)))[0]
    projection = np.asarray(jax.jacfwd(along)(jnp.zeros_like(flat)))
    left, sizes, _ = np.linalg.svd(projection)
    return left[:, sizes > 1e-9 * max(1.0, sizes[0])]


def tangent_jacobian(flow: AbstractFlow, x: State, t: Time = 0.0) -> np.ndarray:
    """Return the Jacobian of the flow at `x` in `tangent_basis`: as many rows as the space has dimensions.

    The lift is constant along the retraction's fibres, so the normal directions, which it leaves out, carry only zeros.
    NumPy: not for `jit`.
    """
    flat, unravel = jax.flatten_util.ravel_pytree(x)
    field = lambda y: jax.flatten_util.ravel_pytree(flow.vector_field(t, unravel(y)))[0]
    basis = tangent_basis(flow.space, x)
    return basis.T @ np.asarray(jax.jacfwd(field)(flat)) @ basis


def eigenvalues(jacobian: np.ndarray) -> np.ndarray:
    """Return the eigenvalues, largest real part first. NumPy: not for `jit`."""
    values = np.linalg.eigvals(jacobian)
    return values[np.argsort(-values.real, kind="stable")]

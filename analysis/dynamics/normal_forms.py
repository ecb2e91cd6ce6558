"""Coefficients of normal forms at folds and Hopf points, from the second and third derivatives of the field."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.linearisation import tangent_basis, tangent_jacobian
from dynsim._types import State
from dynsim.systems.base import AbstractFlow

SINGULAR = 1e-10  # relative: with a smaller singular value of the Jacobian a coefficient is not defined


def lyapunov_coefficient(flow: AbstractFlow, state: State, frequency: float) -> float:
    r"""Return the first Lyapunov coefficient of an equilibrium with the eigenvalues +-i `frequency`.

    $$
        \ell_1 = \frac{1}{2 \omega} \mathrm{Re} \left[ \langle p, C(q, q, \bar q) \rangle
            - 2 \langle p, B(q, A^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (2 i \omega - A)^{-1} B(q, q)) \rangle \right]
    $$

    with A q = i omega q, |q| = 1, A^T p = -i omega p, <p, q> = 1, in coordinates of the space in which derivatives are
    those of the retraction. It is negative if the periodic orbits that begin here are stable on the centre manifold
    (supercritical), positive if they are unstable. NaN if another eigenvalue is zero.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.
    """
    basis, A = tangent_basis(flow.space, state), tangent_jacobian(flow, state)
    values, right = np.linalg.eig(A)
    others, left = np.linalg.eig(A.T)
    k = int(np.argmin(np.abs(values - 1j * frequency)))
    w, q = float(values[k].imag), right[:, k] / np.linalg.norm(right[:, k])
    p = left[:, int(np.argmin(np.abs(others + 1j * frequency)))]
    sizes = np.linalg.svd(A, compute_uv=False)
    if w <= 0 or sizes[-1] <= SINGULAR * sizes[0]:
        return math.nan
    p = p / np.conj(np.vdot(p, q))
    B = lambda u, v: _complex(lambda *parts: second_derivative(flow, state, basis, *parts), u, v)
    C = lambda u, v, w: _complex(lambda *parts: _third_derivative(flow, state, basis, *parts), u, v, w)
    steady = np.linalg.solve(A, B(q, q.conj()))
    double = np.linalg.solve(2j * w * np.eye(len(A)) - A, B(q, q))
    return float(np.vdot(p, C(q, q, q.conj()) - 2 * B(q, steady) + B(q.conj(), double)).real / (2 * w))


def fold_coefficient(flow: AbstractFlow, state: State, slope: Float[np.ndarray, " d"]) -> float:
    """Return c of a fold, near which the parameter is that of the fold and c s^2, at the distance s along the branch.

    Where c > 0 the two equilibria exist for larger parameters. NaN if the field does not depend on the parameter there.

    Args:
        flow: the system at the fold.
        state: the fold.
        slope: the derivative of the field by the parameter, in tangent coordinates.
    """
    basis, A = tangent_basis(flow.space, state), tangent_jacobian(flow, state)
    left, _, right = np.linalg.svd(A)
    w, v = left[:, -1], right[-1]
    across = float(w @ slope)
    if abs(across) <= SINGULAR * float(np.linalg.norm(slope)):
        return math.nan
    return -float(w @ np.asarray(second_derivative(flow, state, basis, v, v))) / (2 * across)


def second_derivative(flow: AbstractFlow, state: State, basis: Any, u: Any, v: Any) -> Array:
    """Return the second derivative of the field in two directions, all in the tangent coordinates of a basis."""
    return _second(flow, state, *(jnp.asarray(part, float) for part in (basis, u, v)))


def _third_derivative(flow: AbstractFlow, state: State, basis: Any, u: Any, v: Any, w: Any) -> Array:
    return _third(flow, state, *(jnp.asarray(part, float) for part in (basis, u, v, w)))


@eqx.filter_jit
def _second(flow: AbstractFlow, state: State, basis: Array, u: Array, v: Array) -> Array:
    return _along(_along(_in_chart(flow, state, basis), u), v)(jnp.zeros_like(u))


@eqx.filter_jit
def _third(flow: AbstractFlow, state: State, basis: Array, u: Array, v: Array, w: Array) -> Array:
    return _along(_along(_along(_in_chart(flow, state, basis), u), v), w)(jnp.zeros_like(u))


def _along(f: Callable[[Array], Array], v: Array) -> Callable[[Array], Array]:
    """Return the derivative of a function in a direction."""
    return lambda u: jax.jvp(f, (u,), (v,))[1]


def _in_chart(flow: AbstractFlow, state: State, basis: Array) -> Callable[[Array], Array]:
    """Return the field in the coordinates u of the point x + B u, retracted, exact up to the third order.

    The velocity u' solves D u' = r, with D = 1 + O(u) the derivative of the retraction and r = O(u) the field, both in
    the basis: two terms of its Neumann series leave an error of order four.
    """
    flat, restored = ravel_pytree(state)
    at = lambda u: ravel_pytree(flow.space.project(restored(flat + basis @ u)))[0]

    def field(u: Array) -> Array:
        r = basis.T @ ravel_pytree(flow.vector_field(jnp.zeros(()), restored(at(u))))[0]
        found = r
        for _ in range(2):
            found = found + r - basis.T @ jax.jvp(at, (u,), (found,))[1]
        return found

    return field


def _complex(form: Callable[..., Any], *vectors: Any) -> np.ndarray:
    """Return the value of a real multilinear form at complex vectors."""
    found = np.zeros(len(vectors[0]), complex)
    for chosen in itertools.product(*[((1.0, v.real), (1j, v.imag)) for v in vectors]):
        factors, parts = zip(*chosen, strict=True)
        found += math.prod(factors) * np.asarray(form(*parts))
    return found

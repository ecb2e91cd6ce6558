"""Compute energies and Lyapunov functions of token flows, and their derivatives along a flow."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, Time, Tokens
from dynsim.systems.base import AbstractFlow

Numbers = Float[Array | np.ndarray, " n"]


def consensus_potential(x: Tokens, query_key: Float[Array, "d d"]) -> Scalar:
    r"""Compute the consensus potential $V(x) = -\frac12 \sum_{ij} e^{x_i^\top P x_j}$, dimensionless.

    On the ellipsoid of P it is minimal at consensus.

    Source: CONSENSUS, eq. (10).
    """
    return -0.5 * jnp.sum(jnp.exp(x @ query_key @ x.T))


def consensus_potential_gradient(x: Tokens, query_key: Float[Array, "d d"]) -> Tokens:
    r"""Compute $\partial V / \partial x_k = -\sum_i e^{x_k^\top P x_i} P x_i$ in closed form, for symmetric P.

    Source: CONSENSUS, Lemma 3.2.
    """
    P = query_key
    return -jnp.exp(x @ P @ x.T) @ x @ P


def metric_factors(x: Tokens, query_key: Float[Array, "d d"]) -> Float[Array, " n"]:
    r"""Compute the factors $Z_i = \sqrt d \sum_j e^{x_i^\top P x_j}$ of the Riemannian metric (9), shape (n,).

    Source: CONSENSUS, eq. (9).
    """
    return jnp.sqrt(x.shape[-1]) * jnp.sum(jnp.exp(x @ query_key @ x.T), axis=1)


def hemisphere_lyapunov(x: Tokens, axis: Float[Array, " d"]) -> Scalar:
    r"""Compute the hemisphere Lyapunov function $V(x) = \max_i (1 - v^\top x_i)$.

    Source: CONSENSUS, eq. (13).
    """
    return jnp.max(1 - x @ axis)


def alignment_potential(a: Scalar) -> Scalar:
    r"""Compute the potential $V(a) = \frac23 - a + \frac{a^3}{3}$, which is zero at a = 1 and 4/3 at a = -1.

    Source: CONSENSUS, eq. (17).
    """
    return 2 / 3 - a + a**3 / 3


class DiniRate(NamedTuple):
    """Upper Dini derivative of a maximum, and the active indices, where the maximum is attained."""

    rate: Scalar
    active: Bool[Array, " n"]

    __repr__ = one_line
    __str__ = report


def upper_dini(values: Numbers, rates: Numbers, *, tolerance: float = 0.0) -> DiniRate:
    r"""Compute the upper Dini derivative of $\max_i f_i$: $\max_{i \in I} \dot f_i$ with the active indices $I$.

    `values` are the $f_i$ and `rates` the $\dot f_i$. An index is active if its value is within `tolerance` of the
    maximum; with tolerance 0, only exact ties are active.

    Source: CONSENSUS, eq. (12).
    """
    active = jnp.asarray(values) >= jnp.max(values) - tolerance
    return DiniRate(jnp.max(jnp.where(active, rates, -jnp.inf)), active)


def hemisphere_lyapunov_rate(
    flow: AbstractFlow, t: Time, x: Tokens, axis: Float[Array, " d"], *, tolerance: float = 0.0
) -> DiniRate:
    """Compute the upper Dini derivative of `hemisphere_lyapunov`, (13), along a flow, from its vector field.

    Source: CONSENSUS, proof of Theorem 4.1.
    """
    return upper_dini(1 - x @ axis, -flow.vector_field(t, x) @ axis, tolerance=tolerance)


def rate_along(flow: AbstractFlow, t: Time, x: Tokens, energy: Callable[[Tokens], Scalar]) -> Scalar:
    """Differentiate a smooth energy along a flow (its Lie derivative), by automatic differentiation."""
    return jax.jvp(energy, (x,), (flow.vector_field(t, x),))[1]

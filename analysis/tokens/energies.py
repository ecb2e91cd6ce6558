"""Compute energies and Lyapunov functions of token flows, and their derivatives along a flow."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, Time, Tokens
from dynsim.systems.base import AbstractFlow

Numbers = Float[Array | np.ndarray, " n"]


@checked
def consensus_potential(x: Tokens, query_key: Float[Array, "d d"]) -> Scalar:
    r"""Compute the consensus potential $V(x) = -\frac12 \sum_{ij} e^{x_i^\top P x_j}$, dimensionless.

    On the ellipsoid of P it is minimal at consensus.

    Source: CONSENSUS, eq. (10).

    Args:
        x: tokens, (n, d).
        query_key: the matrix P, (d, d).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import consensus_potential
        >>> float(consensus_potential(jnp.zeros((3, 2)), jnp.eye(2)))
        -4.5
    """
    return -0.5 * jnp.sum(jnp.exp(x @ query_key @ x.T))


@checked
def consensus_potential_gradient(x: Tokens, query_key: Float[Array, "d d"]) -> Tokens:
    r"""Compute $\partial V / \partial x_k = -\sum_i e^{x_k^\top P x_i} P x_i$ in closed form, for symmetric P.

    Source: CONSENSUS, Lemma 3.2.

    Args:
        x: tokens, (n, d).
        query_key: the symmetric matrix P, (d, d).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import consensus_potential_gradient
        >>> consensus_potential_gradient(jnp.zeros((3, 2)), jnp.eye(2)).shape
        (3, 2)
    """
    P = query_key
    return -jnp.exp(x @ P @ x.T) @ x @ P


@checked
def metric_factors(x: Tokens, query_key: Float[Array, "d d"]) -> Float[Array, " n"]:
    r"""Compute the factors $Z_i = \sqrt d \sum_j e^{x_i^\top P x_j}$ of the Riemannian metric (9), shape (n,).

    Source: CONSENSUS, eq. (9).

    Args:
        x: tokens, (n, d).
        query_key: the matrix P, (d, d).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import metric_factors
        >>> metric_factors(jnp.zeros((3, 4)), jnp.eye(4)).tolist()
        [6.0, 6.0, 6.0]
    """
    return jnp.sqrt(x.shape[-1]) * jnp.sum(jnp.exp(x @ query_key @ x.T), axis=1)


@checked
def hemisphere_lyapunov(x: Tokens, axis: Float[Array, " d"]) -> Scalar:
    r"""Compute the hemisphere Lyapunov function $V(x) = \max_i (1 - v^\top x_i)$.

    Source: CONSENSUS, eq. (13).

    Args:
        x: unit tokens, (n, d).
        axis: the unit vector v, (d,).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import hemisphere_lyapunov
        >>> float(hemisphere_lyapunov(jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([1.0, 0.0])))
        1.0
    """
    return jnp.max(1 - x @ axis)


@checked
def alignment_potential(a: Scalar) -> Scalar:
    r"""Compute the potential $V(a) = \frac23 - a + \frac{a^3}{3}$, which is zero at a = 1 and 4/3 at a = -1.

    Source: CONSENSUS, eq. (17).

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.tokens import alignment_potential
        >>> round(alignment_potential(jnp.array(-1.0)).item(), 6)
        1.333333
    """
    return 2 / 3 - a + a**3 / 3


class DiniRate(NamedTuple):
    """Upper Dini derivative of a maximum, and the active indices, where the maximum is attained."""

    rate: Scalar
    active: Bool[Array, " n"]

    __repr__ = one_line
    __str__ = report


@checked
def upper_dini(values: Numbers, rates: Numbers, *, tolerance: float = 0.0) -> DiniRate:
    r"""Compute the upper Dini derivative of $\max_i f_i$: $\max_{i \in I} \dot f_i$ with the active indices $I$.

    `values` are the $f_i$ and `rates` the $\dot f_i$. An index is active if its value is within `tolerance` of the
    maximum; with tolerance 0, only exact ties are active.

    Source: CONSENSUS, eq. (12).

    Args:
        values: the $f_i$, (n,).
        rates: the $\dot f_i$, (n,).
        tolerance: largest distance from the maximum of the value of an active index.

    Example:
        >>> import numpy as np
        >>> from analysis.tokens import upper_dini
        >>> float(upper_dini(np.array([1.0, 1.0, 0.0]), np.array([-2.0, -1.0, 5.0])).rate)
        -1.0
    """
    active = jnp.asarray(values) >= jnp.max(values) - tolerance
    return DiniRate(jnp.max(jnp.where(active, rates, -jnp.inf)), active)


@checked
def hemisphere_lyapunov_rate(
    flow: AbstractFlow, t: Time, x: Tokens, axis: Float[Array, " d"], *, tolerance: float = 0.0
) -> DiniRate:
    """Compute the upper Dini derivative of `hemisphere_lyapunov`, (13), along a flow, from its vector field.

    Source: CONSENSUS, proof of Theorem 4.1.

    Args:
        flow: the flow of the tokens.
        t: time, in the unit of the flow.
        x: unit tokens, (n, d).
        axis: the unit vector v, (d,).
        tolerance: see `upper_dini`.

    Example:
        >>> import jax.numpy as jnp
        >>> import dynsim as ds
        >>> from analysis.tokens import hemisphere_lyapunov_rate
        >>> flow = ds.tokens.TokenFlow(query_key=jnp.eye(2))
        >>> x = jnp.array([[0.6, 0.8], [0.6, -0.8]])
        >>> bool(hemisphere_lyapunov_rate(flow, 0.0, x, jnp.array([1.0, 0.0])).rate < 0)
        True
    """
    return upper_dini(1 - x @ axis, -flow.vector_field(t, x) @ axis, tolerance=tolerance)


@checked
def rate_along(flow: AbstractFlow, t: Time, x: Tokens, energy: Callable[[Tokens], Scalar]) -> Scalar:
    """Differentiate a smooth energy along a flow (its Lie derivative), by automatic differentiation.

    Args:
        flow: the flow.
        t: time, in its unit.
        x: the state.
        energy: a function of the state in JAX.

    Example:
        >>> import jax.numpy as jnp
        >>> import dynsim as ds
        >>> from analysis.tokens import rate_along
        >>> decay = ds.FunctionFlow(lambda t, x: -x)
        >>> float(rate_along(decay, 0.0, jnp.array([[3.0]]), lambda x: jnp.sum(x**2)))
        -18.0
    """
    return jax.jvp(energy, (x,), (flow.vector_field(t, x),))[1]

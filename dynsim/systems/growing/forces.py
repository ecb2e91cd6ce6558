"""Gradients of the losses of all heads, and the variances that drive cooling, from one set of squared distances."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim.systems.prototypes.assignments import variances_of
from dynsim.systems.prototypes.losses import PrototypeLoss

Inputs = Float[Array, "n m"] | Float[Array, "h n m"]
"""Inputs of the heads: tokens (n, m) shared by all heads, or (h, n, m) for each head."""


def head_forces(
    loss: PrototypeLoss, z: Inputs, p: Float[Array, "h k m"], temperatures: Float[Array, " h"]
) -> tuple[Float[Array, "h n m"], Float[Array, "h k m"], Float[Array, " h"]]:
    r"""Derivatives of each head's loss by inputs and prototypes, and each $\sum_n \mathrm{Var}_{q_n}(d_{n \cdot})$.

    Equivalent to `loss.gradients` and `distance_variance` of each head, in about a third of the time: squared distances
    are computed once, by matrix products, with the tokens last in memory. Their absolute error is therefore the
    rounding error of the squared extent of tokens and prototypes, even where a token is close to a prototype.
    """
    n, m = z.shape[-2:]
    shared = "nm" if z.ndim == 2 else "hnm"
    # only differences matter, and centring keeps the rounding error of squares small
    centre = jnp.mean(z, axis=-2, keepdims=True)
    y, r = z - centre, p - centre.reshape(-1, 1, m)
    products = jnp.einsum(f"hkm,{shared}->hkn", r, y)
    sizes = jnp.sum(y**2, axis=-1).reshape(-1, 1, n)
    d = sizes + jnp.sum(r**2, axis=-1)[:, :, None] - 2 * products
    T = temperatures[:, None, None]
    q = jax.nn.softmax(-d / T, axis=1)
    w, variances = loss.weights_of(q, d, T, axis=1), variances_of(q, d, axis=1)
    count = n if loss.reduction == "mean" else 1
    by_inputs = 2 * (y.reshape(-1, n, m) - jnp.einsum("hkn,hkm->hnm", w, r)) / count
    by_prototypes = 2 * (jnp.sum(w, axis=-1)[:, :, None] * r - jnp.einsum(f"hkn,{shared}->hkm", w, y)) / count
    return by_inputs, by_prototypes + jax.vmap(loss.penalty_gradient)(p), jnp.sum(variances, axis=-1)

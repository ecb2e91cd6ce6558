"""Gradients of the losses of all heads, and the variances that cool them, from one set of squared distances."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim.systems.prototypes.assignments import variances_of
from dynsim.systems.prototypes.losses import PrototypeLoss

Inputs = Float[Array, "n m"] | Float[Array, "h n m"]
"""What the heads see: tokens that all of them share, or those of each."""


def head_forces(
    loss: PrototypeLoss, z: Inputs, p: Float[Array, "h k m"], temperatures: Float[Array, " h"]
) -> tuple[Float[Array, "h n m"], Float[Array, "h k m"], Float[Array, " h"]]:
    r"""Return the derivatives of each loss by inputs and prototypes, and each $\sum_n \mathrm{Var}_{q_n}(d_{n \cdot})$.

    They are `loss.gradients` and `distance_variance` of each head, for about a third of the time: squared distances are
    made once, by matrix products, with the tokens last in memory. So they are accurate to rounding of the squared
    extent of tokens and prototypes, also where a token is near to a prototype.
    """
    n, m = z.shape[-2:]
    shared = "nm" if z.ndim == 2 else "hnm"
    centre = jnp.mean(z, axis=-2, keepdims=True)  # only differences count, and rounding grows with what is squared
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

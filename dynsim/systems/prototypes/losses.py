"""The loss of prototypes and embeddings, and its gradient in both modes: through the assignments, or at fixed ones."""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import Scalar
from dynsim._core.validation import choice, instance, not_negative
from dynsim.systems.prototypes.assignments import (
    Embeddings,
    Prototypes,
    Weights,
    barrier_gradient,
    competitive_loss,
    free_energy,
    inverse_square_barrier,
    squared_distances,
)

GradientMode = Literal["full", "frozen"]
"""`full`: the gradient goes through the assignments; `frozen`: they are constants when the loss is differentiated."""

Reduction = Literal["sum", "mean"]
"""Whether losses are summed over embeddings, or averaged."""


class PrototypeLoss(eqx.Module):
    r"""The loss $L_q + \frac\lambda2 \sum_{j \ne k} |p_j - p_k|^{-2} + \frac\rho2 |P|^2$ and its gradient in a mode.

    The two modes are different vector fields. In the mode `full` it is the gradient of the loss; in the mode `frozen`
    it is the gradient of the free energy F with the same barrier and ridge, and in general not that of the loss:
    `potential` returns the function of which it is the gradient. The mean over embeddings divides $L_q$ or F by their
    number, and leaves barrier and ridge as they are.

    Source: PROTOTYPES, eq. (2), (15), Proposition 2.
    """

    barrier: Float[Array, ""]
    ridge: Float[Array, ""]
    gradient: GradientMode = eqx.field(static=True)
    reduction: Reduction = eqx.field(static=True)

    def __init__(
        self,
        gradient: str = "full",
        *,
        barrier: Any = 0.0,
        ridge: Any = 0.0,
        reduction: str = "sum",
    ):
        """Store the mode, the coefficients lambda and rho, and the reduction.

        Raises:
            ValueError: for an unknown mode or reduction, or a negative coefficient.
        """
        self.gradient = choice("gradient", gradient, get_args(GradientMode))
        self.reduction = choice("reduction", reduction, get_args(Reduction))
        self.barrier, self.ridge = not_negative("barrier", barrier), not_negative("ridge", ridge)

    def value(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
        """Return the loss, with barrier and ridge."""
        return self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)

    def potential(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
        """Return the function whose gradient `gradients` is: the loss, or with F for L_q in the mode `frozen`."""
        energy = competitive_loss if self.gradient == "full" else free_energy
        return self._mean(energy(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)

    def penalty(self, p: Prototypes) -> Scalar:
        """Return the barrier and the ridge."""
        barrier, ridge = self.barrier.astype(p.dtype), self.ridge.astype(p.dtype)
        # Without a barrier coincident prototypes are allowed, and 0 times infinity is not.
        repulsion = jnp.where(barrier > 0, barrier * inverse_square_barrier(_apart(p, barrier)), 0.0)
        return repulsion + ridge / 2 * jnp.sum(p**2)

    def gradients(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> tuple[Embeddings, Prototypes]:
        r"""Return the derivatives of the loss by the embeddings and by the prototypes in the mode of the gradient.

        With $w_{nk} = q_{nk}$ (frozen) or $q_{nk} (1 - (d_{nk} - \langle d \rangle_n) / T)$ (full) they are
        $2 (z_n - \sum_k w_{nk} p_k)$ and $2 \sum_n w_{nk} (p_k - z_n)$, and the penalty's.
        """
        w = self.weights(z, p, temperature)
        by_embeddings = 2 * (z - w @ p)
        by_prototypes = 2 * (jnp.sum(w, axis=0)[:, None] * p - w.T @ z)
        return self._mean(by_embeddings, z), self._mean(by_prototypes, z) + self.penalty_gradient(p)

    def weights(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Weights:
        """Return the weights w of the gradient, whose rows sum to one; in the mode `full` some may be negative."""
        d, T = squared_distances(z, p), temperature.astype(z.dtype)
        q = jax.nn.softmax(-d / T, axis=-1)
        return self.weights_of(q, d, T)

    def weights_of(
        self, q: Float[Array, "..."], d: Float[Array, "..."], T: Float[Array, "..."], axis: int = -1
    ) -> Float[Array, "..."]:
        """Return the weights of the gradient at assignments and squared distances, the prototypes along an axis."""
        if self.gradient == "frozen":
            return q
        return q * (1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T)

    def penalty_gradient(self, p: Prototypes) -> Prototypes:
        """Return the derivative of barrier and ridge by the prototypes."""
        barrier, ridge = self.barrier.astype(p.dtype), self.ridge.astype(p.dtype)
        repulsion = jnp.where(barrier > 0, barrier * barrier_gradient(_apart(p, barrier)), 0.0)
        return repulsion + ridge * p

    def _mean(self, value: Array, z: Embeddings) -> Array:
        return value if self.reduction == "sum" else value / z.shape[0]


def as_loss(loss: PrototypeLoss | None) -> PrototypeLoss:
    """Return a loss, by default without barrier and ridge; raise `ValueError` for anything else."""
    return PrototypeLoss() if loss is None else instance("loss", loss, PrototypeLoss, "a `PrototypeLoss`")


def _apart(p: Prototypes, barrier: Scalar) -> Prototypes:
    """Return the prototypes, or distinct points in their place where there is no barrier to evaluate."""
    return jnp.where(barrier > 0, p, jnp.arange(p.shape[0], dtype=p.dtype)[:, None] * jnp.ones_like(p))

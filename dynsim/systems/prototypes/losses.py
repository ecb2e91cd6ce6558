"""The loss of prototypes and embeddings, with its gradient through the assignments or with these held fixed."""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.checked import checked
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
"""`full` differentiates the loss through the assignments; `frozen` holds the assignments constant."""

Reduction = Literal["sum", "mean"]
"""Whether losses are summed or averaged over embeddings."""


class PrototypeLoss(eqx.Module):
    r"""The loss $L_q + \frac\lambda2 \sum_{j \ne k} |p_j - p_k|^{-2} + \frac\rho2 |P|^2$, with a mode of its gradient.

    The two modes give different vector fields. The mode `full` gives the gradient of the loss. The mode `frozen` gives
    the gradient of the free energy F with the same barrier and ridge, which in general is not the gradient of the loss;
    `potential` returns the function that is descended. The mean over embeddings divides $L_q$ or F by their number, and
    leaves barrier and ridge unchanged.

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
        """Store the gradient mode, the coefficients lambda and rho, and the reduction over embeddings.

        Raises:
            ValueError: for an unknown mode or reduction, or a negative coefficient.
        """
        self.gradient = choice("gradient", gradient, get_args(GradientMode))
        self.reduction = choice("reduction", reduction, get_args(Reduction))
        self.barrier, self.ridge = not_negative("barrier", barrier), not_negative("ridge", ridge)

    @checked
    def value(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
        """The loss, including barrier and ridge."""
        return self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)

    @checked
    def potential(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Scalar:
        """The function whose gradient is `gradients`: the loss, with F in place of L_q in the mode `frozen`."""
        energy = competitive_loss if self.gradient == "full" else free_energy
        return self._mean(energy(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)

    @checked
    def penalty(self, p: Prototypes) -> Scalar:
        """The sum of barrier and ridge."""
        barrier, ridge = self.barrier.astype(p.dtype), self.ridge.astype(p.dtype)
        # Coincident prototypes are allowed without a barrier, so avoid 0 times infinity.
        repulsion = jnp.where(barrier > 0, barrier * inverse_square_barrier(_apart(p, barrier)), 0.0)
        return repulsion + ridge / 2 * jnp.sum(p**2)

    @checked
    def gradients(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> tuple[Embeddings, Prototypes]:
        r"""Derivatives with respect to the embeddings and the prototypes, in the mode of the gradient.

        With $w_{nk} = q_{nk}$ (frozen) or $q_{nk} (1 - (d_{nk} - \langle d \rangle_n) / T)$ (full) they are
        $2 (z_n - \sum_k w_{nk} p_k)$ and $2 \sum_n w_{nk} (p_k - z_n)$, plus the derivative of the penalty.
        """
        w = self.weights(z, p, temperature)
        by_embeddings = 2 * (z - w @ p)
        by_prototypes = 2 * (jnp.sum(w, axis=0)[:, None] * p - w.T @ z)
        return self._mean(by_embeddings, z), self._mean(by_prototypes, z) + self.penalty_gradient(p)

    def weights(self, z: Embeddings, p: Prototypes, temperature: Scalar) -> Weights:
        """Weights w of the gradient, whose rows sum to one; in the mode `full` some may be negative."""
        d, T = squared_distances(z, p), temperature.astype(z.dtype)
        q = jax.nn.softmax(-d / T, axis=-1)
        return self.weights_of(q, d, T)

    def weights_of(
        self, q: Float[Array, "..."], d: Float[Array, "..."], T: Float[Array, "..."], axis: int = -1
    ) -> Float[Array, "..."]:
        """Weights of the gradient from assignments and squared distances, with the prototypes along an axis."""
        if self.gradient == "frozen":
            return q
        return q * (1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T)

    def penalty_gradient(self, p: Prototypes) -> Prototypes:
        """Derivative of barrier and ridge with respect to the prototypes."""
        barrier, ridge = self.barrier.astype(p.dtype), self.ridge.astype(p.dtype)
        repulsion = jnp.where(barrier > 0, barrier * barrier_gradient(_apart(p, barrier)), 0.0)
        return repulsion + ridge * p

    def _mean(self, value: Array, z: Embeddings) -> Array:
        return value if self.reduction == "sum" else value / z.shape[0]


def as_loss(loss: PrototypeLoss | None) -> PrototypeLoss:
    """The given loss, or a loss without barrier and ridge for None; raise `ValueError` for anything else."""
    return PrototypeLoss() if loss is None else instance("loss", loss, PrototypeLoss, "a `PrototypeLoss`")


def _apart(p: Prototypes, barrier: Scalar) -> Prototypes:
    """The prototypes, or distinct points in their place if there is no barrier to evaluate."""
    return jnp.where(barrier > 0, p, jnp.arange(p.shape[0], dtype=p.dtype)[:, None] * jnp.ones_like(p))

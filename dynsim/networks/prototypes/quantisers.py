"""Vector quantisers: soft, and hard with the straight-through gradient."""

import abc
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.types import ArrayLike, Scalar
from dynsim._core.validation import choice, real
from dynsim.errors import ArgumentError
from dynsim.networks.prototypes.layer import floats, pairwise_distances
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights, soft_centroids
from dynsim.systems.prototypes.losses import GradientMode, PrototypeLoss


class Quantised(NamedTuple):
    """The result of a quantiser.

    Attributes:
        output: the embeddings that the decoder reads.
        assignments: the weights of the prototypes; each row sums to one, and is an indicator for the hard quantiser.
        loss: the mean loss of the quantiser per embedding, in the unit of a squared length.
    """

    output: Embeddings
    assignments: Weights
    loss: Scalar


class AbstractQuantiser(eqx.Module):
    """A map from embeddings to combinations of prototypes, the codebook."""

    codebook: eqx.AbstractVar[Prototypes]

    @abc.abstractmethod
    def __call__(self, z: Embeddings, temperature: Any) -> Quantised:
        """Quantise embeddings (n, m): output, assignments and loss."""


class SoftQuantiser(AbstractQuantiser):
    r"""A quantiser whose output is the soft centroid $\mu_n$, with the loss $L_q / n$ plus a barrier.

    The loss is differentiated in its mode, `full` or `frozen`; the output is always differentiated through the
    assignments.

    Source: PROTOTYPES, Section 5.1, Section 7.4.

    Attributes:
        codebook: the prototypes.
        barrier: lambda of the barrier (15), which is added to the mean of the competitive loss over embeddings.
        gradient: the gradient mode of the loss.
    """

    codebook: Prototypes
    barrier: Float[Array, ""]
    gradient: GradientMode = eqx.field(static=True)

    def __init__(self, codebook: ArrayLike, *, barrier: Any = 0.0, gradient: str = "full"):
        """Store the prototypes, (k, m), the coefficient of the barrier, and the gradient mode of the loss.

        Raises:
            ValueError: for prototypes of the wrong shape, a negative coefficient or an unknown mode.
        """
        self.codebook = _codebook(codebook)
        self.barrier = PrototypeLoss(barrier=barrier).barrier
        self.gradient = choice("gradient", gradient, get_args(GradientMode))

    def __call__(self, z: Embeddings, temperature: Any) -> Quantised:
        """Quantise embeddings: soft centroids, soft assignments and loss.

        Raises:
            ValueError: unless the temperature is positive.
        """
        p, T = self.codebook, real("temperature", temperature, positive=True).astype(z.dtype)
        d = pairwise_distances(z, p)
        q = jax.nn.softmax(-d / T, axis=-1)
        weights = jax.lax.stop_gradient(q) if self.gradient == "frozen" else q
        # The coefficient is chosen by the user and not trained.
        penalty = PrototypeLoss(barrier=jax.lax.stop_gradient(self.barrier)).penalty(p)
        return Quantised(soft_centroids(q, p), q, jnp.sum(weights * d) / z.shape[0] + penalty)


class HardQuantiser(AbstractQuantiser):
    r"""A quantiser whose output is the nearest prototype, with the straight-through gradient of VQ-VAE.

    The derivative of the output with respect to the embeddings is set to the identity, and with respect to the
    prototypes to zero. The loss is $\frac1n \sum_n |\mathrm{sg}[z_n] - p_{k(n)}|^2 + \beta\, |z_n -
    \mathrm{sg}[p_{k(n)}]|^2$, where sg (stop gradient) holds its argument constant. Among equally near prototypes the
    first is taken. Prototypes that are nearest to no embedding have zero gradient.

    Source: PROTOTYPES, Section 5.1, Proposition 4 (proof).

    Attributes:
        codebook: the prototypes.
        commitment: the weight beta.
    """

    codebook: Prototypes
    commitment: Float[Array, ""]

    def __init__(self, codebook: ArrayLike, *, commitment: Any = 0.25):
        """Store the prototypes, (k, m), and the weight beta of the commitment loss.

        Raises:
            ValueError: for prototypes of the wrong shape, or a weight that is not positive.
        """
        self.codebook, self.commitment = _codebook(codebook), real("commitment", commitment, positive=True)

    def __call__(self, z: Embeddings, temperature: Any) -> Quantised:
        """Quantise embeddings: nearest prototypes, their indicators and the loss; the temperature is ignored."""
        p, constant = self.codebook, jax.lax.stop_gradient
        nearest = jnp.argmin(pairwise_distances(constant(z), constant(p)), axis=-1)
        chosen = p[nearest]
        beta = constant(self.commitment).astype(z.dtype)
        codebook = jnp.sum((constant(z) - chosen) ** 2)
        committed = jnp.sum((z - constant(chosen)) ** 2)
        indicators = jax.nn.one_hot(nearest, p.shape[0], dtype=z.dtype)
        return Quantised(z + constant(chosen - z), indicators, (codebook + beta * committed) / z.shape[0])


def usage(assignments: Weights) -> Float[Array, " k"]:
    """Sum of the assignments of each prototype; for a hard quantiser the number of its embeddings."""
    return jnp.sum(assignments, axis=0)


def _codebook(value: ArrayLike) -> Prototypes:
    found = floats("codebook", value)
    if found.ndim != 2 or 0 in found.shape:
        raise ArgumentError("codebook", "have shape (k, m)", f"has shape {found.shape}")
    return found

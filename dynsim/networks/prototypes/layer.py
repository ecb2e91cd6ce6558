"""The prototype read-out layer: tokens plus projected soft centroids, normalised, with one head or several."""

import math
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.host import as_array
from dynsim._core.types import ArrayLike, Key, Scalar
from dynsim._core.validation import choice, float_dtype, instance, integer, random_key, real, reals, size
from dynsim.errors import ArgumentError
from dynsim.networks.decoder.transformer import LayerNorm
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights, entropy, separation
from dynsim.systems.prototypes.losses import GradientMode

Heads = Float[Array, "heads n width"]
HeadWeights = Float[Array, "heads n k"]
PerHead = Float[Array, " heads"]


class HeadLosses(NamedTuple):
    """Losses of each head, summed over tokens, each by its own formula, in the unit of a squared length.

    Attributes:
        competitive: $L_q$, the mean squared distances under the assignments.
        reconstruction: $R$, the squared distances of embeddings from their soft centroids.
        variance: $V$, the variance of the prototypes under the assignments; $L_q = R + V$ up to rounding.
        hard: $M$, the squared distances from the nearest prototypes.
    """

    competitive: PerHead
    reconstruction: PerHead
    variance: PerHead
    hard: PerHead


class PrototypeReadout(eqx.Module):
    r"""A layer that adds to every token a projection of the soft centroid of its prototypes.

    $$
        h_n = \mathrm{LayerNorm}\Bigl(z_n + W_O \bigl[\mu_n^{(1)}, \dots, \mu_n^{(H)}\bigr]\Bigr), \qquad
        \mu_n^{(h)} = \sum_k q_{nk}^{(h)} p_k^{(h)}
    $$

    Head h assigns $z_n^{(h)} = W_h z_n$ to its own prototypes. The matrix $W_O$ acts once, although (5) and (7)
    together would apply it twice. The layer acts on the tokens of one sequence, (n, m); use `jax.vmap(layer,
    in_axes=(0, None))` for several sequences. Prototypes are an ordinary leaf of the module, so an optimiser can give
    them their own rate.

    `gradient` is the mode of the losses: `full` differentiates through the assignments, `frozen` holds them constant.
    The output is always differentiated through the assignments.

    Source: PROTOTYPES, Definition 1, eq. (4)-(7).

    Attributes:
        prototypes: the prototypes of each head.
        projections: W_h, or None for one head that reads the tokens unchanged.
        output: W_O.
        norm: the normalisation.
        gradient: the gradient mode of the losses.
    """

    prototypes: Float[Array, "heads k width"]
    projections: Float[Array, "heads width m"] | None
    output: Float[Array, "m m"]
    norm: LayerNorm
    gradient: GradientMode = eqx.field(static=True)

    def __init__(
        self,
        prototypes: ArrayLike,
        projections: ArrayLike | None,
        output: ArrayLike,
        norm: LayerNorm,
        gradient: str = "full",
    ):
        """Store the parameters and the gradient mode of the losses.

        Raises:
            ValueError: if the shapes do not match, or the mode is unknown.
        """
        self.prototypes = floats("prototypes", prototypes)
        if self.prototypes.ndim != 3 or 0 in self.prototypes.shape:
            raise ArgumentError("prototypes", "have shape (heads, k, m / heads)", f"have shape {self.prototypes.shape}")
        heads, _, width = self.prototypes.shape
        m = heads * width
        if projections is None and heads > 1:
            raise ArgumentError("projections", "be given for several heads", "is None")
        self.projections = None if projections is None else _shaped("projections", projections, (heads, width, m))
        self.output = _shaped("output", output, (m, m))
        self.norm = instance("norm", norm, LayerNorm, "a `LayerNorm`")
        if jnp.shape(norm.gain) != (m,):
            raise ArgumentError("norm", f"have a gain of shape ({m},)", f"has one of shape {jnp.shape(norm.gain)}")
        self.gradient = choice("gradient", gradient, get_args(GradientMode))

    def __call__(self, z: Float[Array, "n m"], temperature: Any) -> Float[Array, "n m"]:
        """Normalised tokens with their projected soft centroids added.

        The product of prototypes and W_O is formed first where this takes fewer operations, as for few prototypes.

        Raises:
            ValueError: for tokens of the wrong shape, or a temperature that is not positive.
        """
        q = self.assignments(z, temperature)
        heads, k, width = self.prototypes.shape
        n, m = z.shape
        if heads * n * k * m + k * m * m < n * k * m + n * m * m:
            columns = self.output.reshape(m, heads, width)
            added = jnp.einsum("hnk,hkm->nm", q, jnp.einsum("hkw,mhw->hkm", self.prototypes, columns))
        else:
            added = _joined(q @ self.prototypes) @ self.output.T
        return self.norm(z + added)

    @checked
    def heads(self, z: Float[Array, "n m"]) -> Heads:
        """Inputs of the heads: projected tokens, or the tokens themselves."""
        heads, _, width = self.prototypes.shape
        if jnp.ndim(z) != 2 or z.shape[1] != heads * width:
            raise ArgumentError("z", f"have shape (n, {heads * width})", f"has shape {jnp.shape(z)}")
        return z[None] if self.projections is None else jnp.einsum("hwm,nm->hnw", self.projections, z)

    @checked
    def assignments(self, z: Float[Array, "n m"], temperature: Any) -> HeadWeights:
        """Soft assignments of each head; rows sum to one.

        Raises:
            ValueError: for tokens of the wrong shape, or a temperature that is not positive.
        """
        T = real("temperature", temperature, positive=True).astype(z.dtype)
        z, p = self.heads(z), self.prototypes
        if len(p) == 1:  # XLA compiles a matrix product to faster code than a batch of one
            return soft_assignments(z[0], p[0], T)[None]
        return jax.vmap(lambda z, p: soft_assignments(z, p, T))(z, p)

    @checked
    def soft_centroids(self, z: Float[Array, "n m"], temperature: Any) -> Float[Array, "n m"]:
        r"""Soft centroids $\mu_n$ of all heads, concatenated.

        Raises:
            ValueError: for tokens of the wrong shape, or a temperature that is not positive.
        """
        return _joined(self.assignments(z, temperature) @ self.prototypes)

    @checked
    def losses(self, z: Float[Array, "n m"], temperature: Any) -> HeadLosses:
        """Losses of each head, summed over tokens; divide them by n for means.

        Raises:
            ValueError: for tokens of the wrong shape, or a temperature that is not positive.
        """
        q = self.assignments(z, temperature)
        q = jax.lax.stop_gradient(q) if self.gradient == "frozen" else q
        return HeadLosses(*jax.vmap(_losses)(self.heads(z), self.prototypes, q))

    def separation(self) -> PerHead:
        """Smallest squared distance between two prototypes of each head, S(P)."""
        return jax.vmap(separation)(self.prototypes)

    @checked
    def entropy(self, z: Float[Array, "n m"], temperature: Any) -> PerHead:
        """Mean entropy of the assignments of each head, H(Q), in nats."""
        return jax.vmap(entropy)(self.assignments(z, temperature))


def soft_assignments(z: Embeddings, p: Prototypes, temperature: Scalar) -> Weights:
    r"""Soft assignments q (n, k), without arrays of size n k m even in the derivative.

    They are the softmax of $(2 z_n \cdot p_k - |p_k|^2) / T$, because $|z_n|^2$ is the same for all prototypes. The
    origin is chosen as in `pairwise_distances`.
    """
    z, p = _about_the_mean(z, p)
    return jax.nn.softmax(z @ (p * (2 / temperature)).T - (jnp.sum(p**2, axis=1) / temperature)[None], axis=-1)


def pairwise_distances(z: Embeddings, p: Prototypes) -> Weights:
    """Squared distances (n, k) by a matrix product, never negative.

    The origin is the mean of the prototypes, which limits cancellation. Derivatives are exact, because distances do not
    depend on the origin.
    """
    z, p = _about_the_mean(z, p)
    squares = jnp.sum(z**2, axis=1)[:, None] + jnp.sum(p**2, axis=1)[None]
    return jnp.maximum(squares - 2 * z @ p.T, 0)


def _about_the_mean(z: Embeddings, p: Prototypes) -> tuple[Embeddings, Prototypes]:
    origin = jax.lax.stop_gradient(jnp.mean(p, axis=0, keepdims=True))
    return z - origin, p - origin


def draw_readout(
    key: Key, m: int, k: int, *, heads: int = 1, gradient: str = "full", dtype: DTypeLike = float
) -> PrototypeReadout:
    """Initialise a layer: independent normal prototypes of variance 1 and matrices of variance 1 / m.

    Args:
        key: the random key.
        m: the dimension of the tokens.
        k: the number of prototypes of each head.
        heads: the number of heads.
        gradient: the gradient mode of the losses, `full` or `frozen`.
        dtype: the dtype of all parameters; tokens must have the same.

    Raises:
        ValueError: unless the numbers are positive and `heads` divides m, or if the mode is unknown.

    Example:
        >>> import dynsim as ds
        >>> layer = ds.networks.draw_readout(ds.random_key(0, "layer"), 4, 3, heads=2)
        >>> layer.prototypes.shape, layer.output.shape  # two heads with three prototypes of dimension 4 / 2
        ((2, 3, 2), (4, 4))
    """
    m, k, heads = size("m", m), size("k", k), integer("heads", heads, least=1)
    if m % heads:
        raise ArgumentError("heads", f"divide {m}, the dimension of the tokens", f"is {heads}")
    gradient, key = choice("gradient", gradient, get_args(GradientMode)), random_key("key", key)
    dtype = float_dtype("dtype", dtype)
    ours, project, out = jax.random.split(key, 3)
    prototypes = jax.random.normal(ours, (heads, k, m // heads), dtype)
    projections = None if heads == 1 else jax.random.normal(project, (heads, m // heads, m), dtype) / math.sqrt(m)
    output = jax.random.normal(out, (m, m), dtype) / math.sqrt(m)
    norm = LayerNorm(jnp.ones(m, dtype), jnp.zeros(m, dtype))
    return PrototypeReadout(prototypes, projections, output, norm, gradient)


def floats(name: str, value: ArrayLike) -> Array:
    """Convert to an array: floats keep their precision, other numbers become double precision.

    Raises:
        ValueError: for anything other than real numbers.
    """
    found = reals(name, value)
    return as_array(found) if jnp.issubdtype(found.dtype, jnp.floating) else jnp.asarray(found, float)


def _shaped(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    found = floats(name, value)
    if found.shape != shape:
        raise ArgumentError(name, f"have shape {shape}", f"has shape {found.shape}")
    return found


def _joined(x: Heads) -> Float[Array, "n m"]:
    return jnp.moveaxis(x, 0, 1).reshape(x.shape[1], -1)


def _losses(z: Embeddings, p: Prototypes, q: Weights) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    d, mu = pairwise_distances(z, p), q @ p
    spread = jnp.sum(q * pairwise_distances(mu, p))
    return jnp.sum(q * d), jnp.sum((z - mu) ** 2), spread, jnp.sum(jnp.min(d, axis=1))

"""A convolutional autoencoder of images whose latent tokens are quantised by prototypes."""

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from dynsim._core.types import Key, Scalar
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.networks.prototypes.quantisers import AbstractQuantiser, Quantised
from dynsim.networks.training import module_of_optimisers

if TYPE_CHECKING:
    import optax

Images = Float[Array, "batch height width channels"]
Map = Float[Array, "batch rows columns outputs"]


class Pointwise(eqx.Module):
    """An affine map of the channels of every pixel.

    After `merged` it is a 2 x 2 convolution with stride two, after `neighbourhoods` a 3 x 3 convolution with zero
    padding, and before `split` a transposed 2 x 2 convolution with stride two. As matrix products these are much faster
    than XLA's convolutions in a compiled loop on a CPU.
    """

    matrix: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Images) -> Map:
        """The map applied to the channels of every pixel."""
        return x @ self.matrix + self.bias[None, None, None]


def merged(x: Images) -> Map:
    """Merge squares of 2 x 2 pixels into pixels with four times the channels."""
    batch, rows, columns, channels = x.shape
    parts = x.reshape(batch, rows // 2, 2, columns // 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(batch, rows // 2, columns // 2, 4 * channels)


def split(x: Images) -> Map:
    """Split every pixel into 2 x 2 pixels with a quarter of its channels: the inverse of `merged`."""
    batch, rows, columns, channels = x.shape
    parts = x.reshape(batch, rows, columns, 2, 2, channels // 4).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(batch, 2 * rows, 2 * columns, channels // 4)


def neighbourhoods(x: Images) -> Map:
    """Channels of the 3 x 3 pixels around each pixel, row by row, with zeros beyond the border."""
    rows, columns = x.shape[1:3]
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return jnp.concatenate([padded[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)], axis=-1)


class Reconstruction(NamedTuple):
    """Reconstructed images, and the result of the quantiser for all latent tokens of the batch."""

    images: Images
    quantised: Quantised


class Autoencoder(eqx.Module):
    """An autoencoder of images whose decoder reads quantised latent tokens.

    Two 2 x 2 convolutions with stride two and one 3 x 3 convolution, with ReLU between them, map images of 32 x 32 x 3
    to 8 x 8 tokens of m channels. The decoder is their mirror image, with transposed convolutions and a final sigmoid.
    The paper states only the two sizes.

    Source: PROTOTYPES, Section 7.4.
    """

    encoder: tuple[Pointwise, Pointwise, Pointwise]
    quantiser: AbstractQuantiser
    decoder: tuple[Pointwise, Pointwise, Pointwise]

    def latent(self, images: Images) -> Map:
        """Encode images: the map of latent tokens before the quantiser."""
        first, second, third = self.encoder
        x = jax.nn.relu(second(merged(jax.nn.relu(first(merged(images))))))
        return third(neighbourhoods(x))

    def decoded(self, z: Images) -> Map:
        """Decode a map of tokens to images."""
        first, second, third = self.decoder
        x = jax.nn.relu(second(jax.nn.relu(first(neighbourhoods(z)))))
        return jax.nn.sigmoid(split(third(split(x))))

    def __call__(self, images: Images, temperature: Any) -> Reconstruction:
        """Reconstruct images; also the quantised tokens, in the order of images, rows and columns."""
        z = self.latent(images)
        found = self.quantiser(z.reshape(-1, z.shape[-1]), temperature)
        return Reconstruction(self.decoded(found.output.reshape(z.shape)), found)

    def with_quantiser(self, quantiser: AbstractQuantiser) -> "Autoencoder":
        """The same encoder and decoder with another quantiser."""
        return Autoencoder(self.encoder, quantiser, self.decoder)


def reconstruction_loss(model: Autoencoder, images: Images, temperature: Any, weight: float = 0.1) -> Scalar:
    """Mean squared error per pixel and channel, plus `weight` times the loss of the quantiser per token.

    Source: PROTOTYPES, Section 7.4.
    """
    found = model(images, temperature)
    return jnp.mean((found.images - images) ** 2) + weight * found.quantised.loss


def draw_autoencoder(
    key: Key, quantiser: AbstractQuantiser, *, hidden: int = 32, channels: int = 3, dtype: DTypeLike = jnp.float32
) -> Autoencoder:
    """Initialise an autoencoder: independent normal matrices of variance 2 / inputs, with zero biases.

    Args:
        key: the random key.
        quantiser: the quantiser, whose prototypes have the dimension of the latent tokens.
        hidden: the number of channels of the first layer; the second has twice as many.
        channels: the number of channels of the images.
        dtype: the dtype of all parameters except the quantiser's.

    Raises:
        ValueError: unless the numbers are positive.
    """
    hidden, channels = integer("hidden", hidden, least=1), integer("channels", channels, least=1)
    m = quantiser.codebook.shape[1]
    sizes = (
        (4 * channels, hidden),
        (4 * hidden, 2 * hidden),
        (9 * 2 * hidden, m),
        (9 * m, 2 * hidden),
        (2 * hidden, 4 * hidden),
        (hidden, 4 * channels),
    )
    layers = [
        Pointwise(math.sqrt(2 / size[0]) * jax.random.normal(k, size, dtype), jnp.zeros(size[1], dtype))
        for k, size in zip(jax.random.split(key, len(sizes)), sizes, strict=True)
    ]
    return Autoencoder((layers[0], layers[1], layers[2]), quantiser, (layers[3], layers[4], layers[5]))


@functools.cache  # a new object would trigger a new compilation
def two_rates(prototypes: float = 1e-3, rest: float = 1e-4) -> "optax.GradientTransformation":
    r"""Adam with one learning rate for prototypes, $\eta_P$, and another for everything else, $\eta_\theta$.

    Prototypes are the leaves of a model that are called `prototypes` or `codebook`.

    Source: PROTOTYPES, Algorithm 1, Section 7.1.

    Raises:
        ValueError: if a rate is not positive, or optax is not installed.
    """
    for name, rate in (("prototypes", prototypes), ("rest", rest)):
        if not rate > 0:
            raise ArgumentError(name, "be positive", f"is {rate}")
    optax = module_of_optimisers()
    return optax.multi_transform({"prototypes": optax.adam(prototypes), "rest": optax.adam(rest)}, _labels)


def images_between_zero_and_one(pixels: np.ndarray) -> Images:
    """Convert images of bytes, (count, height, width, channels), to numbers from 0 to 1 in float32.

    Raises:
        ValueError: for anything other than bytes of that shape.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 4:
        but = f"holds {pixels.dtype} of shape {pixels.shape}"
        raise ArgumentError("pixels", "hold bytes of shape (count, height, width, channels)", but)
    return jnp.asarray(pixels, jnp.float32) / 255


def _labels(model: Any) -> Any:
    """The learning rate of each leaf, by the names on its path."""

    def label(path: tuple, _: Any) -> str:
        names = {getattr(part, "name", "") for part in path}
        return "prototypes" if names & {"prototypes", "codebook"} else "rest"

    return jax.tree_util.tree_map_with_path(label, model)

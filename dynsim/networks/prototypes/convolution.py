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

from dynsim._types import Key, Scalar
from dynsim.conversion import integer
from dynsim.errors import argument_error
from dynsim.networks.prototypes.quantisers import AbstractQuantiser, Quantised

if TYPE_CHECKING:
    import optax

Images = Float[Array, "batch height width channels"]
LAYOUT = ("NHWC", "HWIO", "NHWC")


class Convolution(eqx.Module):
    """A convolution with zero padding, of stride one or two, or one of a doubled image, plus a bias.

    Attributes:
        kernel: (rows, columns, channels in, channels out).
        bias: one for each channel.
        stride: the distance of windows, 1 or 2.
        enlarged: whether every pixel is first repeated in a square of two by two.
    """

    kernel: Float[Array, "rows columns inputs outputs"]
    bias: Float[Array, " outputs"]
    stride: int = eqx.field(static=True, default=1)
    enlarged: bool = eqx.field(static=True, default=False)

    def __call__(self, x: Images) -> Float[Array, "batch rows columns outputs"]:
        """Return the convolved images."""
        if self.enlarged:
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
        strides = (self.stride, self.stride)
        found = jax.lax.conv_general_dilated(x, self.kernel, strides, "SAME", dimension_numbers=LAYOUT)
        return found + self.bias[None, None, None]


class Reconstruction(NamedTuple):
    """Reconstructed images, and the result of the quantiser on all latent tokens of the batch."""

    images: Images
    quantised: Quantised


class Autoencoder(eqx.Module):
    """An autoencoder of images whose decoder reads quantised latent tokens.

    Two convolutions of stride two and one of stride one, with ReLU between them, map images of 32 x 32 x 3 to 8 x 8
    tokens of m channels; the decoder is their mirror image, with repeated pixels in place of strides, and ends with a
    sigmoid. The paper states the two sizes and nothing else.

    Source: PROTOTYPES, Section 7.4.
    """

    encoder: tuple[Convolution, Convolution, Convolution]
    quantiser: AbstractQuantiser
    decoder: tuple[Convolution, Convolution, Convolution]

    def latent(self, images: Images) -> Float[Array, "batch rows columns m"]:
        """Return the map of latent tokens before the quantiser."""
        return _through(self.encoder, images)

    def __call__(self, images: Images, temperature: Any) -> Reconstruction:
        """Return the reconstructed images and the quantised tokens, in the order of images, rows and columns."""
        z = self.latent(images)
        found = self.quantiser(z.reshape(-1, z.shape[-1]), temperature)
        return Reconstruction(jax.nn.sigmoid(_through(self.decoder, found.output.reshape(z.shape))), found)

    def with_quantiser(self, quantiser: AbstractQuantiser) -> "Autoencoder":
        """Return the same encoder and decoder with another quantiser."""
        return Autoencoder(self.encoder, quantiser, self.decoder)


def reconstruction_loss(model: Autoencoder, images: Images, temperature: Any, weight: float = 0.1) -> Scalar:
    """Return the mean squared error of a pixel's channel, plus `weight` times the loss of the quantiser per token.

    Source: PROTOTYPES, Section 7.4.
    """
    found = model(images, temperature)
    return jnp.mean((found.images - images) ** 2) + weight * found.quantised.loss


def draw_autoencoder(
    key: Key, quantiser: AbstractQuantiser, *, hidden: int = 32, channels: int = 3, dtype: DTypeLike = jnp.float32
) -> Autoencoder:
    """Return an autoencoder before training: independent normal kernels of variance 2 / inputs, and zero biases.

    Args:
        key: the random key.
        quantiser: the quantiser, whose prototypes have the dimension of latent tokens.
        hidden: channels of the first layer; the second has twice as many.
        channels: channels of the images.
        dtype: of all parameters but the quantiser's.

    Raises:
        ValueError: unless the numbers are positive.
    """
    hidden, channels = integer("hidden", hidden, least=1), integer("channels", channels, least=1)
    m = quantiser.codebook.shape[1]
    keys = iter(jax.random.split(key, 6))

    def layer(size: int, inputs: int, outputs: int, stride: int = 1, *, enlarged: bool = False) -> Convolution:
        scale = math.sqrt(2 / (size * size * inputs))
        kernel = jax.random.normal(next(keys), (size, size, inputs, outputs), dtype) * jnp.asarray(scale, dtype)
        return Convolution(kernel, jnp.zeros(outputs, dtype), stride, enlarged)

    encoder = (layer(4, channels, hidden, 2), layer(4, hidden, 2 * hidden, 2), layer(3, 2 * hidden, m))
    decoder = (
        layer(3, m, 2 * hidden),
        layer(3, 2 * hidden, hidden, enlarged=True),
        layer(3, hidden, channels, enlarged=True),
    )
    return Autoencoder(encoder, quantiser, decoder)


@functools.cache  # another object would compile anew
def two_rates(prototypes: float = 1e-3, rest: float = 1e-4) -> "optax.GradientTransformation":
    r"""Return Adam with one rate for prototypes, $\eta_P$, and another for all else, $\eta_\theta$.

    Prototypes are the leaves of a model whose names are `prototypes` or `codebook`.

    Source: PROTOTYPES, Algorithm 1, Section 7.1.

    Raises:
        ValueError: if a rate is not positive, or optax is not installed.
    """
    for name, rate in (("prototypes", prototypes), ("rest", rest)):
        if not rate > 0:
            raise argument_error(name, "be positive", f"is {rate}")
    try:
        import optax
    except ImportError:
        raise argument_error("optimiser", "have optax (`pip install dynsim[train]`)", "it is missing") from None
    return optax.multi_transform({"prototypes": optax.adam(prototypes), "rest": optax.adam(rest)}, _labels)


def images_between_zero_and_one(pixels: np.ndarray) -> Images:
    """Return images of bytes, (count, height, width, channels), as numbers from 0 to 1 in float32.

    Raises:
        ValueError: for anything else than bytes of that shape.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 4:
        but = f"holds {pixels.dtype} of shape {pixels.shape}"
        raise argument_error("pixels", "hold bytes of shape (count, height, width, channels)", but)
    return jnp.asarray(pixels, jnp.float32) / 255


def _through(layers: tuple[Convolution, ...], x: Images) -> Float[Array, "batch rows columns outputs"]:
    for layer in layers[:-1]:
        x = jax.nn.relu(layer(x))
    return layers[-1](x)


def _labels(model: Any) -> Any:
    """Return which rate each leaf has, by the names on its path."""

    def label(path: tuple, _: Any) -> str:
        names = {getattr(part, "name", "") for part in path}
        return "prototypes" if names & {"prototypes", "codebook"} else "rest"

    return jax.tree_util.tree_map_with_path(label, model)

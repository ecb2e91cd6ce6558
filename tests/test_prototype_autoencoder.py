"""The convolutional autoencoder: shapes, its convolutions in NumPy, and which parameters have which rate."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import stream
from dynsim.networks.prototypes.convolution import (
    Convolution,
    draw_autoencoder,
    images_between_zero_and_one,
    reconstruction_loss,
    two_rates,
)
from dynsim.networks.prototypes.quantisers import HardQuantiser, SoftQuantiser
from dynsim.networks.training import train

KEY = stream(0, "autoencoder")
IMAGES = jax.random.uniform(KEY, (2, 8, 8, 3), jnp.float32)
BIAS = jnp.array([1.0, -1.0], jnp.float32)
CODEBOOK = jax.random.normal(KEY, (3, 4), jnp.float32)


@pytest.fixture(scope="module")
def model():
    draw = eqx.filter_jit(lambda key: draw_autoencoder(key, SoftQuantiser(CODEBOOK), hidden=5))
    return draw(KEY)  # one program


def by_loops(x, kernel, stride: int):
    """Return the convolution of one image with zero padding, the surplus at the end, as in TensorFlow's SAME."""
    size, outputs = x.shape[0] // stride, kernel.shape[-1]
    pad = max((size - 1) * stride + kernel.shape[0] - x.shape[0], 0)
    padded = np.pad(x, ((pad // 2, pad - pad // 2), (pad // 2, pad - pad // 2), (0, 0)))
    found = np.zeros((size, size, outputs))
    for row in range(size):
        for column in range(size):
            first, second = row * stride, column * stride
            window = padded[first : first + kernel.shape[0], second : second + kernel.shape[1]]
            found[row, column] = np.einsum("ijc,ijco->o", window, kernel)
    return found


@pytest.mark.parametrize(("size", "stride", "enlarged"), [(4, 2, False), (3, 1, True)])
def test_a_convolution_is_its_sum(size, stride, enlarged):
    kernel = jax.random.normal(KEY, (size, size, 3, 2), jnp.float32)
    found = Convolution(kernel, BIAS, stride, enlarged)(IMAGES)
    x = np.asarray(IMAGES[0])
    x = x.repeat(2, axis=0).repeat(2, axis=1) if enlarged else x
    expected = by_loops(x, np.asarray(kernel), stride) + np.asarray(BIAS)
    assert np.max(np.abs(np.asarray(found[0]) - expected)) < 1e-4


def test_images_become_tokens_and_images_again(model):
    shapes = jax.eval_shape(lambda x: (model.latent(x), model(x, 1.0)), jnp.zeros((2, 32, 32, 3), jnp.float32))
    assert shapes[0].shape == (2, 8, 8, 4)
    assert shapes[1].images.shape == (2, 32, 32, 3)
    assert shapes[1].images.dtype == jnp.float32
    assert shapes[1].quantised.assignments.shape == (128, 3)


def test_the_decoder_reads_the_quantised_tokens_in_their_places(model):
    model, images = model.with_quantiser(HardQuantiser(CODEBOOK)), np.asarray(IMAGES)
    parts = eqx.filter_jit(lambda model, x: (model.latent(x), model(x, 1.0), reconstruction_loss(model, x, 1.0, 0.1)))
    z, found, loss = parts(model, IMAGES)
    nearest = np.argmin(np.sum((np.asarray(z).reshape(-1, 1, 4) - np.asarray(CODEBOOK)) ** 2, axis=-1), axis=1)
    assert np.array_equal(found.quantised.assignments, np.eye(3)[nearest])
    moved = parts(model, jnp.asarray(images[::-1]))[1]
    assert np.max(np.abs(np.asarray(moved.images)[::-1] - np.asarray(found.images))) < 1e-6
    error = np.mean((np.asarray(found.images) - images) ** 2)
    assert abs(float(loss) - error - 0.1 * float(found.quantised.loss)) < 1e-6


def loss(model, batch, key):
    return reconstruction_loss(model, batch, 1.0)


def batches(step, key):
    return IMAGES


def test_training_moves_prototypes_at_their_own_rate(model):
    start = model
    end = train(start, loss, batches, KEY, num_steps=1, optimiser=two_rates(1e-2, 1e-5), shown=False).model
    moved = jax.tree.map(lambda a, b: float(np.max(np.abs(np.asarray(a) - np.asarray(b)))), start, end)
    assert abs(moved.quantiser.codebook - 1e-2) < 1e-4  # the first step of Adam is the rate
    assert moved.quantiser.barrier == 0
    others = [change for change in jax.tree.leaves(eqx.tree_at(lambda m: m.quantiser, moved, None)) if change]
    assert max(abs(change - 1e-5) for change in others) < 1e-6


def test_images_and_numbers_that_do_not_fit_are_refused():
    assert np.array_equal(images_between_zero_and_one(np.full((1, 2, 2, 3), 255, np.uint8)), np.ones((1, 2, 2, 3)))
    with pytest.raises(ValueError, match="`pixels` must hold bytes of shape"):
        images_between_zero_and_one(np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(ValueError, match="`prototypes` must be positive, but is 0"):
        two_rates(0.0)
    with pytest.raises(ValueError, match="`hidden` must be at least 1"):
        draw_autoencoder(KEY, SoftQuantiser(CODEBOOK), hidden=0)

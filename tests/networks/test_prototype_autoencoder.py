"""The convolutional autoencoder: shapes, its convolutions against those of XLA, and the rates of its parameters."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.prototypes import quantisation
from analysis.experiments.prototypes.kmeans import KMeans
from analysis.experiments.prototypes.quantisation import epochs_to_full, measured
from dynsim.keys import random_key
from dynsim.networks.prototypes.convolution import (
    Pointwise,
    draw_autoencoder,
    images_between_zero_and_one,
    merged,
    neighbourhoods,
    reconstruction_loss,
    split,
    two_rates,
)
from dynsim.networks.prototypes.quantisers import HardQuantiser, SoftQuantiser
from dynsim.networks.training import train

KEY = random_key(0, "autoencoder")
IMAGES = jnp.asarray(np.random.default_rng(0).uniform(size=(2, 8, 8, 3)), jnp.float32)
BIAS = jnp.array([1.0, -1.0], jnp.float32)
CODEBOOK = jnp.asarray(np.random.default_rng(1).normal(size=(3, 4)), jnp.float32)


@pytest.fixture(scope="module")
def model():
    draw = eqx.filter_jit(lambda key: draw_autoencoder(key, SoftQuantiser(CODEBOOK), hidden=5))
    return draw(KEY)  # one program


LAYOUT = ("NHWC", "HWIO", "NHWC")


def test_maps_of_windows_are_convolutions():
    for size, stride, windows in ((2, 2, merged), (3, 1, neighbourhoods)):
        kernel = jax.random.normal(KEY, (size, size, 3, 2), jnp.float32)
        found = Pointwise(kernel.reshape(-1, 2), BIAS)(windows(IMAGES))
        expected = jax.lax.conv_general_dilated(IMAGES, kernel, (stride, stride), "SAME", dimension_numbers=LAYOUT)
        assert np.max(np.abs(np.asarray(found) - np.asarray(expected) - np.asarray(BIAS))) < 1e-5


def test_split_maps_are_transposed_convolutions_and_undo_merged_ones():
    assert np.array_equal(split(merged(IMAGES)), IMAGES)
    kernel = jax.random.normal(KEY, (2, 2, 3, 4), jnp.float32)  # (rows, columns, outputs, inputs)
    matrix = np.moveaxis(np.asarray(kernel), -1, 0).reshape(4, 12)
    narrow = jax.random.normal(KEY, (2, 4, 4, 4), jnp.float32)
    found = split(Pointwise(jnp.asarray(matrix), jnp.zeros(12, jnp.float32))(narrow))
    expected = jax.lax.conv_transpose(narrow, kernel, (2, 2), "SAME", dimension_numbers=LAYOUT, transpose_kernel=True)
    assert np.max(np.abs(np.asarray(found) - np.asarray(expected))) < 1e-5


def test_layers_have_the_sizes_of_the_channels_and_the_type_that_is_given():
    shapes = jax.eval_shape(
        lambda key: draw_autoencoder(key, SoftQuantiser(CODEBOOK), hidden=5, channels=2, dtype=float), KEY
    )
    sizes = [layer.matrix.shape for layer in (*shapes.encoder, *shapes.decoder)]
    assert sizes == [(8, 5), (20, 10), (90, 4), (36, 10), (10, 20), (5, 8)]
    assert [layer.bias.shape for layer in (*shapes.encoder, *shapes.decoder)] == [size[1:] for size in sizes]
    assert {layer.matrix.dtype.name for layer in (*shapes.encoder, *shapes.decoder)} == {"float64"}


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


def test_there_are_relu_between_layers_and_a_sigmoid_at_the_end(model):
    biases = lambda m: [layer.bias for layer in (*m.encoder, *m.decoder)]
    rng = np.random.default_rng(2)
    moved = [jnp.asarray(rng.normal(size=bias.shape), jnp.float32) for bias in biases(model)]
    model = eqx.tree_at(biases, model, moved)
    tokens = jnp.asarray(rng.normal(size=(2, 2, 2, 4)), jnp.float32)
    latent, images, found, loss = eqx.filter_jit(
        lambda m: (m.latent(IMAGES), m.decoded(tokens), m(IMAGES, 1.0), reconstruction_loss(m, IMAGES, 1.0))
    )(model)
    affine = lambda layer, x: np.asarray(x) @ np.asarray(layer.matrix) + np.asarray(layer.bias)
    relu = lambda layer, x: jnp.asarray(np.maximum(affine(layer, x), 0))
    first, second, third = model.encoder
    expected = affine(third, neighbourhoods(relu(second, merged(relu(first, merged(IMAGES))))))
    np.testing.assert_allclose(latent, expected, rtol=1e-4, atol=1e-4)
    first, second, third = model.decoder
    last = split(jnp.asarray(affine(third, split(relu(second, relu(first, neighbourhoods(tokens)))))))
    np.testing.assert_allclose(images, 1 / (1 + np.exp(-np.asarray(last))), rtol=1e-4, atol=1e-5)
    error = np.mean((np.asarray(found.images) - np.asarray(IMAGES)) ** 2)
    assert abs(float(loss) - error - 0.1 * float(found.quantised.loss)) < 1e-5


def test_matrices_are_drawn_with_the_variance_of_two_over_their_inputs(model):
    matrices = [np.asarray(layer.matrix) for layer in (*model.encoder, *model.decoder)]
    units = np.concatenate([(matrix * np.sqrt(len(matrix) / 2)).ravel() for matrix in matrices])
    assert abs(np.mean(units**2) - 1) < 6 * np.sqrt(2 / units.size)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_a_codebook_starts_on_k_means_of_latent_tokens_or_at_random_near_zero(model, kind, monkeypatch):
    seen = []

    def clustered(key, z, count):
        seen.append(z)
        return KMeans(z[:count], jnp.zeros(len(z), int), jnp.zeros(()))

    monkeypatch.setattr(quantisation, "draw_autoencoder", lambda key, blank, hidden: model)
    monkeypatch.setattr(quantisation, "kmeans", clustered)
    config = quantisation.QuantisationConfig((), outputs=4, clustered=6, commitment=0.75)
    codebook = quantisation.Codebook("one", kind, 3, barrier=0.25, gradient="frozen")
    found = quantisation.start(config, codebook, IMAGES, KEY).quantiser
    z = np.asarray(eqx.filter_jit(model.latent)(IMAGES)).reshape(-1, 4)
    assert seen[0].shape == (6, 4)
    assert all(np.any(np.all(np.isclose(z, row, rtol=1e-4, atol=1e-6), axis=1)) for row in np.asarray(seen[0]))
    np.testing.assert_array_equal(found.codebook, seen[0][:3])
    if kind == "soft":
        assert (float(found.barrier), found.gradient) == (0.25, "frozen")
    else:
        assert float(found.commitment) == 0.75
    drawn = quantisation.start(config, replace(codebook, count=8, start="uniform"), IMAGES, KEY).quantiser.codebook
    assert drawn.shape == (8, 4)
    assert 0.1 < np.max(np.abs(drawn)) <= 1 / 8
    assert np.min(drawn) < 0 < np.max(drawn)


def test_what_is_measured_of_a_quantiser_are_means_over_tokens(model):
    evaluated = eqx.filter_jit(lambda m: (m.latent(IMAGES), measured(m, IMAGES, jnp.asarray(0.7, jnp.float32))))
    latent, found = evaluated(model)
    z, p = np.asarray(latent, float).reshape(-1, 4), np.asarray(CODEBOOK, float)
    d = np.sum((z[:, None] - p) ** 2, axis=2)
    q = np.exp(-d / 0.7) / np.sum(np.exp(-d / 0.7), axis=1, keepdims=True)
    around = lambda x: np.mean(np.sum((x - x.mean(axis=0)) ** 2, axis=1))
    expected = {
        "utilisation by nearest": len(np.unique(np.argmin(d, axis=1))) / 3,
        "least mean assignment": np.min(q.mean(axis=0)),
        "entropy": -np.sum(q * np.log(q)) / len(z),
        "separation": np.min(np.sum((p[[0, 0, 1]] - p[[1, 2, 2]]) ** 2, axis=1)),
        "variance": np.mean(np.sum(q * np.sum((p - (q @ p)[:, None]) ** 2, axis=2), axis=1)),
        "spread": around(p),
        "covariance": around(z),
    }
    np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-4)
    assert epochs_to_full(np.array([[1, 0.5, 1, 1], [1, 0.9, 0.9, 0.9]])).tolist() == [2, np.inf]


class Codes(eqx.Module):
    codebook: jax.Array


def test_prototypes_have_ten_times_the_rate_of_all_else_by_default():
    rule, weights = two_rates(), {"codes": Codes(jnp.ones(2)), "rest": jnp.ones(2)}
    with jax.numpy_dtype_promotion("standard"):
        change = rule.update(weights, rule.init(weights), weights)[0]
    np.testing.assert_allclose(change["rest"], -1e-4, rtol=1e-5)
    np.testing.assert_allclose(change["codes"].codebook, -1e-3, rtol=1e-5)


def loss(model, batch, key):
    return reconstruction_loss(model, batch, 1.0)


def batches(step, key):
    return IMAGES


@pytest.mark.slow
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

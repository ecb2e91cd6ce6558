"""The read-out layer against its formulas in NumPy, in both modes of the gradient, and its invariances."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from dynsim.keys import random_key
from dynsim.networks.decoder.transformer import LayerNorm
from dynsim.networks.prototypes.layer import PrototypeReadout, draw_readout
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.support.differences import central_differences

T = 0.7
KEY = random_key(0, "prototype layer")


def tokens(n: int = 5, m: int = 6):
    return jnp.asarray(np.random.default_rng(n).normal(size=(n, m)))


@functools.cache
def drawn(heads: int = 1, k: int = 4) -> PrototypeReadout:
    """Return a layer of the shapes of `draw_readout`, with numbers that NumPy draws."""
    rng, shapes = np.random.default_rng(heads), jax.eval_shape(lambda key: draw_readout(key, 6, k, heads=heads), KEY)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), shapes)


def test_a_layer_is_drawn_with_variances_one_and_one_over_the_dimension():
    layer = eqx.filter_jit(lambda key: draw_readout(key, 60, 200, heads=3))(KEY)
    assert layer.projections is not None
    for part, variance in ((layer.prototypes, 1.0), (layer.projections, 1 / 60), (layer.output, 1 / 60)):
        assert np.var(np.asarray(part)) == pytest.approx(variance, rel=0.1)  # of 3,600 numbers at least: 2.4 percent
        assert abs(np.mean(np.asarray(part))) < 0.1 * np.sqrt(variance)
    np.testing.assert_array_equal(layer.norm.gain, np.ones(60))
    np.testing.assert_array_equal(layer.norm.bias, np.zeros(60))


def with_prototypes(layer: PrototypeReadout, p) -> PrototypeReadout:
    return eqx.tree_at(lambda layer: layer.prototypes, layer, jnp.asarray(p))


@eqx.filter_jit
def everything(layer: PrototypeReadout, z):
    return layer.soft_centroids(z, T), layer(z, T), layer.losses(z, T), layer.assignments(z, T), layer.entropy(z, T)


def in_numpy(layer: PrototypeReadout, z, temperature: float):
    """Return soft centroids and output by loops over heads and tokens."""
    z, out = np.asarray(z), np.asarray(layer.output)
    heads, _, width = layer.prototypes.shape
    mu = np.zeros_like(z)
    for h in range(heads):
        p = np.asarray(layer.prototypes[h])
        for n, token in enumerate(z):
            own = token if layer.projections is None else np.asarray(layer.projections[h]) @ token
            weights = np.exp(-np.sum((own - p) ** 2, axis=1) / temperature)
            mu[n, h * width : (h + 1) * width] = weights @ p / np.sum(weights)
    x = z + mu @ out.T
    x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return mu, x * np.asarray(layer.norm.gain) + np.asarray(layer.norm.bias)


@pytest.mark.parametrize(("n", "k", "heads"), [(5, 4, 1), (5, 4, 3), (40, 3, 1)])
def test_the_layer_is_its_formula(n, k, heads):
    layer = eqx.tree_at(lambda layer: layer.norm, drawn(heads, k), LayerNorm(jnp.arange(1.0, 7.0), jnp.arange(6.0)))
    mu, h = in_numpy(layer, tokens(n), T)
    found = everything(layer, tokens(n))
    assert np.max(np.abs(np.asarray(found[0]) - mu)) < 1e-13
    assert np.max(np.abs(np.asarray(found[1]) - h)) < 1e-12


@pytest.mark.parametrize("heads", [1, 3])
def test_losses_of_a_head_are_those_of_its_projected_tokens(heads):
    layer = drawn(heads)
    found = everything(layer, tokens())[2]
    own = np.asarray(tokens())[None] if heads == 1 else np.asarray(layer.projections) @ np.asarray(tokens()).T
    for h, p in enumerate(np.asarray(layer.prototypes)):
        z = own[h] if heads == 1 else own[h].T
        d = np.sum((z[:, None] - p) ** 2, axis=2)
        q = np.exp(-d / T) / np.sum(np.exp(-d / T), axis=1, keepdims=True)
        mu = q @ p
        variance = np.sum(q * np.sum((p - mu[:, None]) ** 2, axis=2))
        expected = (np.sum(q * d), np.sum((z - mu) ** 2), variance, np.sum(np.min(d, axis=1)))
        assert max(abs(float(a[h]) - b) for a, b in zip(found, expected, strict=True)) < 1e-12


def in_mode(mode: str) -> PrototypeReadout:
    layer = drawn()
    return PrototypeReadout(layer.prototypes, None, layer.output, layer.norm, mode)


@eqx.filter_jit
def gradients(layer: PrototypeReadout, z):
    """Return the derivatives of the loss by layer and tokens, and that of a function of the output by the layer."""
    loss = lambda both: jnp.sum(both[0].losses(both[1], T).competitive)
    return eqx.filter_grad(loss)((layer, z)), eqx.filter_grad(lambda layer: jnp.sum(layer(z, T) ** 3))(layer)


def test_the_gradient_of_the_loss_is_that_of_the_mode_and_that_of_the_output_of_neither():
    found = {mode: gradients(in_mode(mode), tokens()) for mode in ("full", "frozen")}
    for mode, ((by_layer, by_tokens), _) in found.items():
        expected = eqx.filter_jit(PrototypeLoss(mode).gradients)(tokens(), drawn().prototypes[0], jnp.asarray(T))
        assert np.max(np.abs(np.asarray(by_tokens) - np.asarray(expected[0]))) < 1e-12
        assert np.max(np.abs(np.asarray(by_layer.prototypes[0]) - np.asarray(expected[1]))) < 1e-12
    modes = [found[mode][0][0].prototypes for mode in ("full", "frozen")]
    assert np.max(np.abs(np.asarray(modes[0]) - np.asarray(modes[1]))) > 0.1
    outputs = [np.asarray(found[mode][1].prototypes) for mode in ("full", "frozen")]
    assert np.max(np.abs(outputs[0] - outputs[1])) < 1e-14


@pytest.mark.parametrize(("heads", "k"), [pytest.param(1, 3, marks=pytest.mark.slow), (3, 4)])
def test_the_gradient_of_the_output_is_that_of_differences_for_every_parameter(heads, k):
    layer, z = drawn(heads, k), tokens(40 if heads == 1 else 5)  # in both orders of the products
    weights = jnp.asarray(np.random.default_rng(7).normal(size=z.shape))
    value = lambda both: jnp.sum(weights * both[0](both[1], T))
    both = eqx.filter_jit(lambda x: (eqx.filter_grad(value)(x), central_differences(value, x)))
    slopes, expected = both((layer, z))
    np.testing.assert_allclose(ravel_pytree(slopes)[0], expected, atol=1e-6)


def test_few_prototypes_take_the_cheaper_order_of_products():
    layer = drawn(1, 3)
    assert products(layer, tokens(2)) == 2 * 3 * 6 + 2 * 3 * 6 + 2 * 6 * 6  # distances, centroids, W_O of tokens
    assert products(layer, tokens(40)) == 40 * 3 * 6 + 3 * 6 * 6 + 40 * 3 * 6  # distances, W_O of prototypes, centroids


def equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for part in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
            if hasattr(part, "jaxpr"):
                yield from equations(part.jaxpr)


def products(layer, z):
    found = 0
    for equation in equations(jax.make_jaxpr(layer)(z, T).jaxpr):
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            found += equation.outvars[0].aval.size * int(np.prod([left[axis] for axis in contracted]))
    return found


def test_no_array_has_an_entry_for_each_token_prototype_and_coordinate():
    def loss(layer, z):
        return jnp.sum(layer(z, T)) + sum(jnp.sum(part) for part in layer.losses(z, T))

    made = jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(drawn(2), tokens(40))
    largest = max(out.aval.size for equation in equations(made.jaxpr) for out in equation.outvars)
    assert 2 * 40 * 4 <= largest < 40 * 4 * 6


def test_batches_of_sequences_are_mapped():
    z = np.stack([np.asarray(tokens()), np.asarray(tokens())[::-1]])
    together = eqx.filter_jit(jax.vmap(drawn(), in_axes=(0, None)))(jnp.asarray(z), T)
    assert np.max(np.abs(np.asarray(together[0]) - np.asarray(everything(drawn(), tokens())[1]))) < 1e-13
    assert np.max(np.abs(np.asarray(together[1])[::-1] - np.asarray(together[0]))) < 1e-13


def test_centroids_move_with_tokens_and_prototypes_and_forget_their_order():
    layer, z, p = drawn(), np.asarray(tokens()), np.asarray(drawn().prototypes)
    shift, turn = np.arange(6.0), np.linalg.qr(np.asarray(tokens(6)))[0]
    centroids = lambda z, p: np.asarray(everything(with_prototypes(layer, p), jnp.asarray(z))[0])
    mu = centroids(z, p)
    assert np.max(np.abs(centroids(z + shift, p + shift) - mu - shift)) < 1e-12
    assert np.max(np.abs(centroids(z @ turn, p @ turn) - mu @ turn)) < 1e-12
    assert np.max(np.abs(centroids(z, p[:, ::-1]) - mu)) < 1e-13


def test_float32_stays_float32_and_loses_no_more_far_from_the_origin_than_the_tokens_do():
    layer = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), drawn())
    z = tokens().astype(jnp.float32)
    near = everything(layer, z)
    far = everything(with_prototypes(layer, layer.prototypes + 512), z + 512)
    assert {leaf.dtype for leaf in jax.tree.leaves(near)} == {np.dtype(np.float32)}
    gap = np.asarray(far[3]) - np.asarray(near[3])
    assert np.max(np.abs(gap)) < 1e-3  # of 512, float32 keeps 6e-5; expanded about zero the products lose 2e-2


def test_diagnostics_of_equal_prototypes():
    assert np.all(drawn(3).separation() > 0)
    same = with_prototypes(drawn(3), np.ones((3, 4, 2)))
    assert np.array_equal(same.separation(), np.zeros(3))
    found = everything(same, tokens())
    assert np.max(np.abs(np.asarray(found[4]) - np.log(4))) < 1e-14
    assert np.max(np.abs(np.asarray(found[2].variance))) < 1e-14


@pytest.mark.parametrize(("options", "match"), [
    ({"heads": 4}, "`heads` must divide 6"),
    ({"heads": 0}, "`heads` must be at least 1"),
    ({"k": 0}, "`k` must be at least 1"),
    ({"gradient": "half"}, "`gradient` must be one of full, frozen"),
])  # fmt: skip
def test_numbers_that_make_no_layer_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        draw_readout(KEY, **{"m": 6, "k": 4, **options})


def test_parameters_that_do_not_fit_are_refused():
    p, W, out, norm = np.zeros((2, 4, 3)), np.zeros((2, 3, 6)), np.zeros((6, 6)), LayerNorm(jnp.ones(6), jnp.zeros(6))
    for parts, match in (
        ((p[0], W, out, norm), r"`prototypes` must have shape \(heads, k, m / heads\)"),
        ((p, None, out, norm), "`projections` must be given for several heads"),
        ((p, W[:, :2], out, norm), r"`projections` must have shape \(2, 3, 6\)"),
        ((p, W, out[:3], norm), r"`output` must have shape \(6, 6\)"),
        ((p, W, out, LayerNorm(jnp.ones(3), jnp.zeros(3))), r"`norm` must have a gain of shape \(6,\)"),
    ):
        with pytest.raises(ValueError, match=match):
            PrototypeReadout(*parts)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, "warm"])
def test_temperatures_that_are_not_positive_are_refused(temperature):
    for method in (drawn(), drawn().assignments, drawn().soft_centroids, drawn().losses, drawn().entropy):
        with pytest.raises(ValueError, match="`temperature` must be"):
            method(tokens(), temperature)


def test_tokens_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"`z` must have shape \(n, 6\), but has shape \(5, 4\)"):
        drawn()(tokens(5, 4), T)

"""The read-out layer against its formulas in NumPy, in both modes of the gradient, and its invariances."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import stream
from dynsim.networks.decoder.transformer import LayerNorm
from dynsim.networks.prototypes.layer import PrototypeReadout, draw_readout
from dynsim.systems.prototypes.assignments import competitive_loss, hard_loss, prototype_variance, reconstruction_error
from dynsim.systems.prototypes.losses import PrototypeLoss

T = 0.7
KEY = stream(0, "prototype layer")


def tokens(n: int = 5, m: int = 6, dtype=float):
    return jax.random.normal(jax.random.fold_in(KEY, n), (n, m), dtype)


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


@pytest.mark.parametrize(("n", "k", "heads"), [(5, 4, 1), (40, 2, 1), (5, 4, 3), (1, 1, 6)])
def test_the_layer_is_its_formula(n, k, heads):
    layer = draw_readout(KEY, 6, k, heads=heads)
    layer = eqx.tree_at(lambda layer: layer.norm, layer, LayerNorm(jnp.arange(1.0, 7.0), jnp.linspace(-1, 1, 6)))
    z = tokens(n)
    mu, h = in_numpy(layer, z, T)
    assert np.max(np.abs(layer.soft_centroids(z, T) - mu)) < 1e-13
    assert np.max(np.abs(layer(z, T) - h)) < 1e-12


@pytest.mark.parametrize("heads", [1, 3])
def test_losses_of_a_head_are_those_of_its_projected_tokens(heads):
    layer, z = draw_readout(KEY, 6, 4, heads=heads), tokens()
    found = layer.losses(z, T)
    for h, (own, p) in enumerate(zip(layer.heads(z), layer.prototypes, strict=True)):
        expected = (
            competitive_loss(own, p, jnp.asarray(T)),
            reconstruction_error(own, p, jnp.asarray(T)),
            prototype_variance(own, p, jnp.asarray(T)),
            hard_loss(own, p),
        )
        assert max(abs(float(a[h] - b)) for a, b in zip(found, expected, strict=True)) < 1e-12


@pytest.mark.parametrize("mode", ["full", "frozen"])
def test_the_gradient_of_the_loss_is_that_of_the_mode(mode):
    layer, z = draw_readout(KEY, 6, 4, gradient=mode), tokens()
    by_layer, by_tokens = jax.grad(lambda both: layer_loss(*both))((layer, z))
    expected = PrototypeLoss(mode).gradients(z, layer.prototypes[0], jnp.asarray(T))
    assert np.max(np.abs(by_tokens - expected[0])) < 1e-12
    assert np.max(np.abs(by_layer.prototypes[0] - expected[1])) < 1e-12


def layer_loss(layer: PrototypeReadout, z):
    return jnp.sum(layer.losses(z, T).competitive)


def test_the_modes_differ_in_the_loss_and_not_in_the_output():
    full, frozen = (draw_readout(KEY, 6, 4, gradient=mode) for mode in ("full", "frozen"))
    z = tokens()
    gap = jax.grad(layer_loss)(full, z).prototypes - jax.grad(layer_loss)(frozen, z).prototypes
    assert np.max(np.abs(gap)) > 0.1
    through = [jax.grad(lambda layer: jnp.sum(layer(z, T) ** 3))(layer).prototypes for layer in (full, frozen)]
    assert np.array_equal(through[0], through[1])


def test_both_orders_of_the_products_agree_and_few_prototypes_take_the_cheaper_one():
    layer, few, many = draw_readout(KEY, 6, 3), tokens(2), tokens(40)
    for z in (few, many):
        separate = layer.norm(z + layer.soft_centroids(z, T) @ layer.output.T)
        assert np.max(np.abs(layer(z, T) - separate)) < 1e-13
    assert products(layer, few) == 2 * 3 * 6 + 2 * 3 * 6 + 2 * 6 * 6  # distances, centroids, W_O of tokens
    assert products(layer, many) == 40 * 3 * 6 + 3 * 6 * 6 + 40 * 3 * 6  # distances, W_O of prototypes, centroids


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
    layer, z = draw_readout(KEY, 6, 7, heads=2), tokens(40)

    def loss(layer, z):
        return jnp.sum(layer(z, T)) + sum(jnp.sum(part) for part in layer.losses(z, T))

    made = jax.make_jaxpr(jax.grad(loss, argnums=(0, 1)))(layer, z)
    largest = max(out.aval.size for equation in equations(made.jaxpr) for out in equation.outvars)
    assert 2 * 40 * 7 <= largest < 40 * 7 * 6


def test_batches_of_sequences_are_mapped():
    layer, z = draw_readout(KEY, 6, 4, heads=2), tokens(12).reshape(3, 4, 6)
    together = jax.vmap(layer, in_axes=(0, None))(z, T)
    assert max(np.max(np.abs(found - layer(one, T))) for found, one in zip(together, z, strict=True)) < 1e-13


def test_centroids_move_with_tokens_and_prototypes_and_forget_their_order():
    layer, z = draw_readout(KEY, 6, 4), tokens()
    shift, turn = jnp.arange(6.0)[None], jnp.linalg.qr(tokens(6))[0]
    prototypes = lambda p: eqx.tree_at(lambda layer: layer.prototypes, layer, p)
    mu = layer.soft_centroids(z, T)
    shifted = prototypes(layer.prototypes + shift[None]).soft_centroids(z + shift, T)
    turned = prototypes(layer.prototypes @ turn).soft_centroids(z @ turn, T)
    assert np.max(np.abs(shifted - mu - shift)) < 1e-12
    assert np.max(np.abs(turned - mu @ turn)) < 1e-12
    assert np.max(np.abs(prototypes(layer.prototypes[:, ::-1]).soft_centroids(z, T) - mu)) < 1e-13


def test_far_from_the_origin_float32_loses_no_more_than_the_tokens_do():
    layer = draw_readout(KEY, 6, 4, dtype=jnp.float32)
    z, shift = tokens(dtype=jnp.float32), jnp.float32(64)
    far = eqx.tree_at(lambda layer: layer.prototypes, layer, layer.prototypes + shift)
    gap = far.assignments(z + shift, T) - layer.assignments(z, T)
    assert np.max(np.abs(gap)) < 1e-3  # of 64, float32 keeps 4e-6; expanded about zero the squares lose 2e-3


def test_float32_stays_float32():
    layer = draw_readout(KEY, 6, 4, heads=2, dtype=jnp.float32)
    z = tokens(dtype=jnp.float32)
    assert {leaf.dtype for leaf in jax.tree.leaves((layer(z, T), layer.losses(z, T)))} == {np.dtype(np.float32)}


def test_diagnostics_of_equal_prototypes():
    layer = draw_readout(KEY, 6, 4, heads=2)
    assert np.all(layer.separation() > 0)
    same = eqx.tree_at(lambda layer: layer.prototypes, layer, jnp.ones((2, 4, 3)))
    assert np.array_equal(same.separation(), np.zeros(2))
    assert np.allclose(same.entropy(tokens(), T), np.log(4), atol=1e-14)
    assert np.allclose(same.losses(tokens(), T).variance, 0, atol=1e-14)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"heads": 4}, "`heads` must divide 6"),
        ({"heads": 0}, "`heads` must be at least 1"),
        ({"k": 0}, "`k` must be at least 1"),
        ({"gradient": "half"}, "`gradient` must be one of full, frozen"),
    ],
)
def test_numbers_that_make_no_layer_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        draw_readout(KEY, **{"m": 6, "k": 4, **options})


def test_parameters_that_do_not_fit_are_refused():
    layer = draw_readout(KEY, 6, 4, heads=2)
    p, W, out, norm = layer.prototypes, layer.projections, layer.output, layer.norm
    for parts, match in (
        ((p[0], W, out, norm), r"`prototypes` must have shape \(heads, k, m / heads\)"),
        ((p, None, out, norm), "`projections` must be given for several heads"),
        ((p, W[:, :2], out, norm), r"`projections` must have shape \(2, 3, 6\)"),
        ((p, W, out[:3], norm), r"`output` must have shape \(6, 6\)"),
    ):
        with pytest.raises(ValueError, match=match):
            PrototypeReadout(*parts)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, "warm"])
def test_temperatures_that_are_not_positive_are_refused(temperature):
    layer = draw_readout(KEY, 6, 4)
    for method in (layer, layer.assignments, layer.soft_centroids, layer.losses, layer.entropy):
        with pytest.raises(ValueError, match="`temperature` must be"):
            method(tokens(), temperature)


def test_tokens_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"`z` must have shape \(n, 6\), but has shape \(5, 4\)"):
        draw_readout(KEY, 6, 4)(tokens(5, 4), T)

"""Spaces: retraction, its derivative, samples, refusals."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynsim.spaces import Circle, Cylinder, Ellipsoid, Euclidean, Product, Simplex, Sphere, Torus

W = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.7]])
SPACES = {"sphere": Sphere(), "ellipsoid": Ellipsoid(W), "simplex": Simplex(), "euclidean": Euclidean()} | {
    "circle": Circle(3.0),
    "torus": Torus(3, [1.0, 2.0, 3.0]),
    "cylinder": Cylinder({1: 2.0}),
}


class Codebook(NamedTuple):
    directions: object
    sizes: object


@pytest.mark.parametrize("name", SPACES)
def test_tangent_is_the_derivative_of_the_retraction(name):
    space = SPACES[name]
    x = space.sample(jax.random.key(0), (4, 3))
    v = jax.random.normal(jax.random.key(1), (4, 3))
    _, derivative = jax.jvp(space.project, (x,), (v,))
    np.testing.assert_allclose(space.tangent(x, v), derivative, atol=1e-14)


@pytest.mark.parametrize("name", SPACES)
def test_samples_lie_on_the_space_and_stay_under_the_retraction(name):
    space = SPACES[name]
    x = space.sample(jax.random.key(0), (50, 3))
    assert space.defect(x) < 1e-14
    np.testing.assert_allclose(space.project(x), x, atol=1e-15)


def test_samples_of_spheres_are_uniform_and_those_of_ellipsoids_are_their_images():
    u = Sphere().sample(jax.random.key(5), (40_000, 2))
    np.testing.assert_allclose(jnp.mean(u**4, axis=0), 3 / 8, atol=0.0105)  # six standard errors
    y = Ellipsoid(W).sample(jax.random.key(5), (40_000, 3))
    back = np.asarray(y) @ np.linalg.cholesky(W)  # y = W^{-1/2} u, with W = L L^T and W^{-1/2} = L^{-T}
    np.testing.assert_allclose(np.mean(back[:, :, None] * back[:, None], axis=0), np.eye(3) / 3, atol=0.009)


def test_samples_of_the_simplex_are_uniform_and_those_of_euclidean_space_normal():
    p = Simplex().sample(jax.random.key(5), (40_000, 3))
    np.testing.assert_allclose(jnp.mean(p**2, axis=0), 1 / 6, atol=0.0056)  # six standard errors
    z = Euclidean().sample(jax.random.key(5), (40_000,))
    for k, moment, deviation in ((1, 0.0, 1.0), (2, 1.0, np.sqrt(2.0)), (4, 3.0, np.sqrt(96.0))):
        np.testing.assert_allclose(jnp.mean(z**k), moment, atol=0.03 * deviation)


def test_parts_of_a_product_are_sampled_independently():
    x = Product(Codebook(Euclidean(), Euclidean())).sample(jax.random.key(0), Codebook((3,), (3,)))
    assert np.all(x.directions != x.sizes)


@pytest.mark.parametrize(("space", "off"), [(Sphere(), 0.5), (Ellipsoid(W), 0.5), (Simplex(), 0.5)])
def test_the_defect_sees_a_point_off_the_space(space, off):
    x = space.sample(jax.random.key(0), (3,))
    np.testing.assert_allclose(space.defect((1 + off) * x), off, rtol=1e-12)


def test_a_negative_probability_is_a_defect():
    np.testing.assert_allclose(Simplex().defect(jnp.array([1.2, -0.2, 0.0])), 0.2)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.floats(0.1, 10))
def test_the_retraction_forgets_the_length(y, c):
    y = jnp.asarray(y) + jnp.array([3.0, 0.0, 0.0])
    for space in (Sphere(), Ellipsoid(W)):
        np.testing.assert_allclose(space.project(c * y), space.project(y), atol=1e-14)


def test_the_ellipsoid_of_the_identity_is_the_sphere():
    y = jax.random.normal(jax.random.key(3), (5, 3))
    np.testing.assert_allclose(Ellipsoid(np.eye(3)).project(y), Sphere().project(y), atol=1e-15)


def test_a_product_acts_part_by_part_and_keeps_the_names():
    space = Product(Codebook(Sphere(), Euclidean()))
    y = space.sample(jax.random.key(0), Codebook((2, 3), (2,)))
    assert isinstance(y, Codebook)
    scaled = Codebook(2 * y.directions, 2 * y.sizes)
    projected = space.project(scaled)
    np.testing.assert_allclose(projected.directions, y.directions, atol=1e-15)
    np.testing.assert_allclose(projected.sizes, 2 * y.sizes)
    np.testing.assert_allclose(space.defect(scaled), 1.0)
    assert isinstance(space.tangent(y, scaled), Codebook)


@pytest.mark.parametrize(("matrix", "sentence"), [
    ([[1.0, 0.0]], r"`matrix` must have shape \(d, d\), but has shape \(1, 2\)"),
    ([[1.0, 0.5], [0.0, 1.0]], "`matrix` must be symmetric, but differs from its transpose by 0.5"),
    ([[1.0, 2.0], [2.0, 1.0]], "`matrix` must be positive definite, but has the eigenvalue -1"),
    ([[1.0, np.nan], [np.nan, 1.0]], "`matrix` must be finite"),
])  # fmt: skip
def test_a_bad_metric_is_refused(matrix, sentence):
    with pytest.raises(ValueError, match=sentence):
        Ellipsoid(matrix)


def test_a_product_of_something_else_is_refused():
    with pytest.raises(ValueError, match="must be a \\(named\\) tuple of spaces"):
        Product([Sphere()])


@pytest.mark.parametrize(("space", "shape", "sentence"), [
    (Euclidean(), (-1, 3), r"`shape` must be a shape such as \(3,\), but is \(-1, 3\)"),
    (Sphere(), (), r"`shape` must have a last axis of at least 1 entry, but is \(\)"),
    (Simplex(), (2, 0), r"`shape` must have a last axis of at least 1 entry, but is \(2, 0\)"),
    (Ellipsoid(W), (2, 4), r"`shape` must end in 3, the dimension of the space, but is \(2, 4\)"),
    (Product((Sphere(), Euclidean())), ((3,),), r"`shape` must have one shape for each of 2 parts, but is"),
])  # fmt: skip
def test_a_shape_that_no_point_has_is_refused(space, shape, sentence):
    with pytest.raises(ValueError, match=f"Argument {sentence}"):
        space.sample(jax.random.key(0), shape)

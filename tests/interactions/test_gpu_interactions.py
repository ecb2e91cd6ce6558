"""Sums over many tokens on a GPU: kernels and plain JAX against double precision, and derivatives of both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.kernels import why_no_kernels
from dynsim.spaces import Ellipsoid, Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.masks import Causal

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX's default device is no GPU"),
]
FEW = 200  # tokens whose means are compared


@pytest.fixture(params=["kernels", "plain"], autouse=True)
def kernels(request, monkeypatch):
    """Allow kernels or forbid them."""
    if request.param == "plain":
        monkeypatch.setenv("DYNSIM_KERNELS", "0")
    elif why := why_no_kernels():
        pytest.skip(why)
    jax.clear_caches()


def field(way, P, **options):
    flow = TokenFlow(P, scale=1.0, interaction=way, **options)
    return jax.jit(lambda x: flow.velocity(0.0, x))


def exact(x, *matrices):
    """Sum of the means of each head, for some of the tokens."""
    y, total = np.asarray(x, float), 0.0
    for P in matrices:
        s = y[:FEW] @ P @ y.T
        w = np.exp(s - s.max(axis=1, keepdims=True))
        total = total + w / w.sum(axis=1, keepdims=True) @ y
    return total


def tokens(n, d, dtype=jnp.float32):
    return Sphere().sample(jax.random.key(n), (n, d)).astype(dtype)


SIZES = [(1, 3), (1000, 2), (1000, 24), (1003, 40), (1000, 80), (100_000, 3), (100_000, 16), (100_000, 64)]


@pytest.mark.parametrize(("n", "d", "dtype", "atol"), [*((*size, jnp.float32, 3e-6) for size in SIZES),
    (1003, 3, jnp.float64, 1e-13), (1003, 16, jnp.float64, 1e-13), (1003, 40, jnp.float64, 1e-13)])  # fmt: skip
def test_exact_fields_have_the_means_of_double_precision(n, d, dtype, atol):
    x = tokens(n, d, dtype)
    np.testing.assert_allclose(field(Blocked(), 5 * np.eye(d))(x)[:FEW], exact(x, 5 * np.eye(d)), atol=atol)


@pytest.mark.parametrize("d", [3, 12, 40])
def test_weights_neither_overflow_nor_vanish(d):
    x, other = tokens(1003, d), np.random.default_rng(d).standard_normal((d, d))
    run = jax.jit(lambda P, x: TokenFlow(P, scale=1.0, interaction=Blocked()).velocity(0.0, x))
    for size in (-29.0, -31.0, 1e3, -1e3):
        P = np.stack([size * np.eye(d), other])
        np.testing.assert_allclose(run(P, x)[:FEW], exact(x, *P), atol=1e-6 * abs(size))


@pytest.mark.parametrize(("n", "dtype", "tolerance"), [(1, jnp.float32, 2e-6), (1000, jnp.float64, 1e-12),
    (1003, jnp.float32, 2e-6), (100_000, jnp.float32, 2e-6)])  # fmt: skip
@pytest.mark.parametrize("d", [2, 3])
def test_harmonics_have_the_means_of_double_precision(n, d, dtype, tolerance):
    x, P = tokens(n, d, dtype), np.stack([5 * np.eye(d), np.random.default_rng(d).standard_normal((d, d))])
    np.testing.assert_allclose(field(Harmonic(tolerance), P)(x)[:FEW], exact(x, *P), atol=20 * tolerance)


def test_an_ellipsoid_and_a_causal_mask():
    space = Ellipsoid(np.diag([1.0, 2.0, 3.0]))
    x = space.sample(jax.random.key(0), (5000, 3))
    dense = field(Dense(), 2 * np.eye(3), space=space)(x)
    for way in (Blocked(), Harmonic(1e-12)):
        np.testing.assert_allclose(field(way, 2 * np.eye(3), space=space)(x), dense, atol=1e-11)
    dense = field(Dense(), 2 * np.eye(3), space=space, mask=Causal())(x)
    for way in (Blocked(), Harmonic(1e-12)):
        np.testing.assert_allclose(field(way, 2 * np.eye(3), space=space, mask=Causal())(x), dense, atol=1e-11)


@pytest.mark.parametrize("way", [Blocked(), Harmonic(1e-12)], ids=["blocked", "harmonic"])
def test_gradients_are_those_of_the_dense_field(way):
    x = tokens(600, 3, jnp.float64)

    def gradient(way):
        flow = TokenFlow(3 * np.eye(3), interaction=way)
        return jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(flow.vector_field(0.0, x)))))(x)

    np.testing.assert_allclose(gradient(way), gradient(Dense()), atol=1e-11)


@pytest.mark.parametrize("way", [Blocked(), Harmonic(1e-12)], ids=["blocked", "harmonic"])
def test_a_batch_of_starts_has_the_answers_of_each(way):
    xs = Sphere().sample(jax.random.key(1), (3, 700, 3))
    one = field(way, 3 * np.eye(3))
    np.testing.assert_allclose(jax.jit(jax.vmap(one))(xs), np.stack([one(x) for x in xs]), atol=1e-13)


def test_a_program_placed_on_the_host_runs_there():
    x = jax.device_put(tokens(2000, 3, jnp.float64), jax.devices("cpu")[0])
    for way in (Blocked(), Harmonic(1e-12)):
        np.testing.assert_allclose(field(way, 5 * np.eye(3))(x)[:FEW], exact(x, 5 * np.eye(3)), atol=1e-11)

"""The interactions' CUDA text, run by the host, agrees with plain JAX; programs for CUDA call it where it fits."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax.extend.core import jaxprs_in_params

from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions import (
    blocked,
    choice,
    harmonic,
    harmonic_kernels,
    pair_kernel,
    product_kernel,
    reduced,
    tiles,
)
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic, _evaluated, _moments, _with_ones
from dynsim.systems.tokens.interactions.masks import Causal
from dynsim.systems.tokens.interactions.reduced import means_by_reduction
from tests.support.cuda_on_host import COMPILER, WHY_NOT, HostKernel, LaneKernel

pytestmark = pytest.mark.retraced

on_host = pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)


def tokens(n, d, dtype=np.float32, longest=1.0):
    x = np.random.default_rng(n + d).standard_normal((n, d))
    return jnp.asarray((longest * x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype))


def queries(x, *matrices):
    return jnp.asarray(np.stack([np.asarray(x, float) @ P for P in matrices]).astype(x.dtype))


def means(q, x):
    q, x = (np.asarray(a, float) for a in (q, x))
    return scipy.special.softmax(q @ x.T, axis=-1) @ x


def general(d, size):
    return size * np.random.default_rng(d).standard_normal((d, d))


@on_host
@pytest.mark.parametrize(
    ("n", "d", "dtype", "atol"),
    [
        pytest.param(1, 3, np.float32, 1e-7, marks=pytest.mark.slow),
        (2, 2, np.float64, 1e-15),
        (77, 17, np.float32, 1e-6),
    ],
)
def test_the_kernel_of_pairs_has_the_means_of_a_softmax(n, d, dtype, atol):
    x = tokens(n, d, dtype)
    q = queries(x, general(d, 1.0))
    np.testing.assert_allclose(pair_kernel.means_by_kernel(q, x, make=HostKernel), means(q, x), atol=atol)


@on_host
def test_the_kernel_of_pairs_keeps_its_accuracy_for_large_matrices_and_long_tokens(monkeypatch):
    """Of two heads whose weights overflow or vanish relative to the score of a token with itself, or do not."""
    monkeypatch.setattr(pair_kernel, "CHUNK", 16)  # several chunks in a part
    one, n = np.eye(3), 303
    for x in (tokens(n, 3), tokens(n, 3, longest=5.0).at[::7].multiply(0.1)):
        for matrices in ((general(3, 1.0), 5 * one), (-29 * one, -31 * one), (1e4 * one, -1e3 * one)):
            q = queries(x, *matrices)
            found = pair_kernel.means_by_kernel(q, x, make=HostKernel)
            np.testing.assert_allclose(found, means(q, x), atol=2e-5 * float(jnp.max(jnp.abs(q))) / 5 + 1e-6)
    lost = pair_kernel.means_by_kernel(q, x.at[5, 0].set(jnp.nan), make=HostKernel)
    assert np.all(np.isnan(np.asarray(lost)))


@on_host
def test_the_kernel_of_products_has_the_means_of_a_softmax(monkeypatch):
    monkeypatch.setattr(product_kernel, "FEWEST_GROUPS", 2)
    monkeypatch.setattr(product_kernel, "CHUNK", 1)  # several chunks in a part
    monkeypatch.setattr(product_kernel, "WARPS", 1)
    x = tokens(35, 11)
    q = queries(x, general(11, 1.0), 300 * np.eye(11))  # weights of the second head overflow without its shifts
    found = product_kernel.means_by_products(q, x, make=LaneKernel)
    np.testing.assert_allclose(found, means(q, x), atol=1e-5)


@on_host
@pytest.mark.parametrize(("n", "degree", "dtype", "rtol"), [(40, 9, np.float64, 1e-14),
                         pytest.param(1, 0, np.float32, 1e-6, marks=pytest.mark.slow),
                         pytest.param(151, 15, np.float32, 2e-6, marks=pytest.mark.slow)])  # fmt: skip
def test_the_kernels_of_harmonics_have_the_sums_of_plain_jax(n, degree, dtype, rtol):
    x = tokens(n, 3, dtype)
    v = (5 * tokens(n + 2, 3, dtype)).at[0].set(0.0)
    sums = harmonic_kernels.moments_by_kernel(degree, x, make=HostKernel)
    expected = jax.jit(_moments, static_argnums=0)(degree, _with_ones(x, jnp.asarray(0), n))
    np.testing.assert_allclose(sums, expected, atol=rtol * float(jnp.max(jnp.abs(expected))))
    values = harmonic_kernels.values_by_kernel(degree, v, sums, make=HostKernel)
    expected = jax.jit(_evaluated, static_argnums=0)(degree, v[:, None], sums)[:, 0]
    np.testing.assert_allclose(values, expected, atol=rtol * float(jnp.max(jnp.abs(expected))))


@pytest.mark.parametrize("d", [3, 12])
def test_sums_without_blocks_have_the_means_of_a_softmax(d, monkeypatch):
    monkeypatch.setattr(tiles, "SCORES", 1000)  # several tiles of queries
    x, one = tokens(70, d), np.eye(d)
    compiled = jax.jit(means_by_reduction)
    for matrices in ((general(d, 1.0), 5 * one), (-29 * one, 1e3 * one), (general(d, 20.0), -31 * one)):
        q = queries(x, *matrices)
        np.testing.assert_allclose(compiled(q, x), means(q, x), atol=1e-6 * float(jnp.max(jnp.abs(q))) + 1e-6)


@pytest.fixture
def gpu(monkeypatch):
    """A machine whose default device seems to be a GPU, with kernels; what runs on its host stays right."""
    device = types.SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": 2**27})
    for module in (blocked, harmonic):
        monkeypatch.setattr(module, "kernels_on", lambda: True)
    monkeypatch.setattr(blocked, "on_gpu", lambda: True)
    for module in (choice, tiles):
        monkeypatch.setattr(module, "current", lambda: device)
    jax.clear_caches()
    yield
    jax.clear_caches()


def field(way, d=3, mask=None):
    flow = TokenFlow(5 * np.eye(d), scale=1.0, interaction=way, mask=mask)
    return lambda x: flow.velocity(0.0, x)


def _called(fn, *args) -> set[str]:
    """Names of the kernels in the program of a function for CUDA."""
    text = jax.jit(fn).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    return {
        name for name in ("sums_over_pairs", "sums_by_products", "harmonic_moments", "harmonic_values") if name in text
    }


def test_programs_for_cuda_call_the_kernels_that_fit(gpu):
    x = tokens(300, 3)
    assert _called(field(Blocked()), x) == {"sums_over_pairs"}
    assert _called(field(Harmonic(1e-5)), x) == {"harmonic_moments", "harmonic_values"}
    plain = [field(Blocked(64, 64)), field(Blocked(), mask=Causal()), field(Harmonic(1e-5), mask=Causal())]
    plain += [jax.grad(lambda x, fn=field(way): jnp.sum(fn(x))) for way in (Blocked(), Harmonic(1e-5))]
    assert [_called(fn, x) for fn in plain] == [set()] * 5
    names = {d: _called(field(Blocked(), d), tokens(300, d)) for d in (12, 13, 64, 65)}
    assert names == {12: {"sums_over_pairs"}, 13: {"sums_by_products"}, 64: {"sums_by_products"}, 65: set()}
    double = lambda d: _called(field(Blocked(), d), tokens(300, d).astype(float))
    assert [double(24), double(25)] == [{"sums_over_pairs"}, set()]


def test_one_reduction_keeps_the_scores_of_some_queries_only(monkeypatch):
    """XLA may write all scores of a reduction to memory, where those of 100,000 tokens are 75 GiB."""
    x, shift, at = tokens(1000, 3), jnp.linspace(0, 1, 1000, dtype=np.float32), [1000]
    monkeypatch.setattr(reduced, "tile_size", lambda n, itemsize: at[0])
    ways = [lambda x: reduced._by_columns(x, shift, x), lambda x: reduced._largest_by_columns(x, x)]
    whole = [way(x) for way in ways]
    at[0] = 30
    assert max(size for way in ways for size in sizes(jax.make_jaxpr(way)(x).jaxpr)) <= 30 * 1000
    for way, values in zip(ways, whole, strict=True):
        np.testing.assert_allclose(way(x), values, rtol=1e-6)


def sizes(jaxpr):
    """Numbers in each result of a program and of the programs inside it."""
    for equation in jaxpr.eqns:
        yield from (out.aval.size for out in equation.outvars)
        for inner in jaxprs_in_params(equation.params):
            yield from sizes(inner)


def test_a_gpu_without_tensor_cores_makes_no_products(monkeypatch):
    x = tokens(3, 30)
    assert [product_kernel.products_fit(a) for a in (x, x.astype(float), tokens(3, 70))] == [True, False, False]
    old = types.SimpleNamespace(compute_capability="7.5")
    monkeypatch.setattr(product_kernel, "cuda_devices", lambda: (old,))
    assert not product_kernel.products_fit(x)


def test_the_host_of_a_machine_with_a_gpu_has_the_same_answers(gpu):
    x = Sphere().sample(jax.random.key(0), (300, 3))
    for way in (Blocked(), Harmonic(1e-12)):
        np.testing.assert_allclose(jax.jit(field(way))(x), means(5 * x[None], x)[0], atol=1e-12)


def test_sizes_of_blocks_follow_the_default_device(gpu, monkeypatch):
    assert tiles.block_size() == 4096
    assert tiles.chunk_size(3, 15, 2, 4, causal=False) == 2**27 // 8 // (16 * 16 * 2 * 4)
    assert tiles.chunk_size(3, 15, 2, 4, causal=True) == 4096
    assert [tiles.tile_size(n, 4) for n in (2**16, 2**30)] == [2**22 // 2**16, 1]
    monkeypatch.undo()
    assert [tiles.block_size(), *(tiles.chunk_size(d, 15, 1, 8, causal=False) for d in (2, 3))] == [512, 2048, 256]
    with jax.default_device("cpu"):
        assert tiles.current().platform == "cpu"


def test_the_choice_follows_the_machine(gpu):
    flow = TokenFlow(5 * np.eye(3), interaction=Auto(2e-6))
    way = flow.interaction
    assert isinstance(way, Auto)
    assert type(way.chosen(flow, 2000, np.float32).interaction) is Blocked
    assert type(way.chosen(flow, 10**6, np.float32).interaction) is Harmonic


def test_products_with_an_axis_of_length_one_are_not_split():
    """XLA makes one product of bfloat16 of them, wrong by a thousandth."""
    precision = lambda a, b: [
        e.params["precision"] for e in jax.make_jaxpr(reduced._product)(a, b).eqns if e.primitive.name == "dot_general"
    ]
    many, one = jnp.ones((40, 9), jnp.float32), jnp.ones((1, 9), jnp.float32)
    highest = (jax.lax.Precision.HIGHEST,) * 2
    assert precision(many, many.T) == [reduced.SPLIT]
    assert precision(one, many.T) == precision(many, one.T) == [highest]
    assert precision(many.astype(float), many.T.astype(float)) == [highest]

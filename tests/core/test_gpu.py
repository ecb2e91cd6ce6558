"""What must be the same on an accelerator: run with `pytest -m gpu` where JAX's default device is a GPU."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, InSpan, Scipy
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import iterate, simulate
from tests.quality.benchmarks.ensemble import TS, fast, flows, seen, starts
from tests.support.zoo import FLOWS, MAPS, flow_and_start, map_and_start

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX's default device is no GPU"),
]


@pytest.mark.parametrize("name", FLOWS)
def test_flows_agree_with_the_host(name):
    flow, x = flow_and_start(name)
    ts = np.linspace(0.0, 4.0, 5)
    here = simulate(flow, x, ts)
    there = simulate(flow, x, ts, integrator=Scipy())
    np.testing.assert_allclose(here.ys, there.ys, atol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_maps_agree_with_the_host(name):
    map, x = map_and_start(name)
    here = np.asarray(iterate(map, x, 10).ys)
    with jax.default_device(jax.devices("cpu")[0]):
        there = np.asarray(iterate(*map_and_start(name), 10).ys)
    np.testing.assert_allclose(here, there, atol=1e-10)


def test_float32_products_are_not_rounded_to_ten_bits():
    a = jax.random.normal(jax.random.key(0), (256, 256), jnp.float32)
    exact = np.asarray(a, float) @ np.asarray(a, float)
    assert float(np.max(np.abs(np.asarray(a @ a) - exact))) < 1e-3


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_the_ensemble_of_7_4_in_the_span_and_without(dtype):
    flow, y0s = flows(dtype)[0], starts(100, dtype)
    begin = time.perf_counter()
    span = ensemble(flow, y0s, TS, seen, integrator=InSpan(fast()))
    jax.block_until_ready(span.values)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    jax.block_until_ready(ensemble(flow, y0s, TS, seen, integrator=InSpan(fast())).values)
    print(f"{jax.devices()[0].device_kind}, {dtype.__name__}: {first:.2f} s with compilation, "  # noqa: T201
          f"{time.perf_counter() - begin:.3f} s again")  # fmt: skip
    exact = ensemble(flow, y0s, TS, seen, integrator=Diffrax(rtol=1e-5, atol=1e-7))
    np.testing.assert_allclose(span.values, exact.values, atol=2e-2)

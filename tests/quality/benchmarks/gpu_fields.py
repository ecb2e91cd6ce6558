"""Time one field of many tokens on a GPU: kernels, plain JAX and torch, with errors against double precision.

Usage: `python -m tests.quality.benchmarks.gpu_fields [--quick] [--launches]`.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim.kernels import why_no_kernels
from dynsim.keys import random_key
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions import reduced
from dynsim.systems.tokens.interactions.base import AbstractInteraction
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.pair_kernel import launch_for, means_by_kernel
from dynsim.systems.tokens.interactions.product_kernel import means_by_products
from dynsim.systems.tokens.interactions.reduced import means_by_reduction

BETA = 5.0
TOLERANCE = {"float32": 2e-6, "float64": 1e-12}


def tokens(n: int, d: int, dtype: str) -> jax.Array:
    """Return uniformly distributed tokens on the sphere."""
    return Sphere().sample(random_key(0, "tokens", n + d), (n, d)).astype(dtype)


def error(means: Any, x: Any) -> float:
    """Compare the first means with those of double precision."""
    y = np.asarray(x, float)
    few = max(4, min(100, 30_000_000 // len(y)))
    w = np.exp(BETA * (y[:few] @ y.T - 1))
    return float(np.max(np.abs(np.asarray(means[:few], float) - w / w.sum(axis=1, keepdims=True) @ y)))


def clock(run: Callable[[], Any], wait: Callable[[Any], Any] = jax.block_until_ready, calls: int = 7) -> float:
    """Return the median time of some calls in milliseconds, after one for warmth."""
    wait(run())
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        wait(run())
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


@contextmanager
def kernels_allowed(allowed: bool) -> Iterator[None]:
    """Allow or forbid kernels for programs that are traced inside."""
    kept = os.environ.get("DYNSIM_KERNELS")
    os.environ["DYNSIM_KERNELS"] = "1" if allowed else "0"
    jax.clear_caches()
    try:
        yield
    finally:
        del os.environ["DYNSIM_KERNELS"]
        os.environ |= {} if kept is None else {"DYNSIM_KERNELS": kept}
        jax.clear_caches()


def measure(work: str, run: Callable[[jax.Array], Any], x: jax.Array) -> dict[str, Any]:
    """Print and return the time of a compiled function of the tokens, its first call and its error."""
    begin = time.perf_counter()
    found = error(jax.block_until_ready(run(x)), x)
    first = time.perf_counter() - begin
    row = {"work": work, "ms": clock(lambda: run(x)), "error": found, "first s": first}
    print(f"{work}: {row['ms']:.3f} ms, error {found:.1e}, first {first:.1f} s", flush=True)
    return row


def field(way: AbstractInteraction, d: int) -> Callable[[jax.Array], Any]:
    """Return a compiled function of the tokens: their means."""
    flow = TokenFlow(BETA * np.eye(d), scale=1.0, interaction=way)
    return jax.jit(lambda x: flow.velocity(0.0, x))


def both(work: str, way: AbstractInteraction, d: int, x: jax.Array) -> list[dict[str, Any] | None]:
    """Measure a field with kernels, where there are any, and without."""
    rows = []
    for allowed in (True, False):
        name = f"{work}, {'kernel' if allowed else 'plain JAX'}"
        with kernels_allowed(allowed):
            if not allowed or why_no_kernels() is None:
                rows.append(attempt(name, lambda name=name: measure(name, field(way, d), x)))
    return rows


def attempt(work: str, run: Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
    """Run a measurement; an exception is printed and does not end the others."""
    try:
        return run()
    except Exception as problem:  # noqa: BLE001  (the next size may succeed)
        print(f"{work}: FAILED, {type(problem).__name__}: {str(problem).splitlines()[:1]}", flush=True)
        return {"work": work, "failed": str(problem)[:300]}


def torch_attention(n: int, d: int) -> dict[str, Any] | None:
    """Measure torch's attention of the same tokens on its GPU, if there is one."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    x = tokens(n, d, "float32")
    k = torch.as_tensor(np.array(x), device="cuda")[None, None]
    attend = lambda: torch.nn.functional.scaled_dot_product_attention(BETA * k, k, k, scale=1.0)
    with torch.no_grad():
        found = error(attend()[0, 0].cpu().numpy(), x)
        ms = clock(attend, lambda _: torch.cuda.synchronize())
    print(f"exact field, n = {n}, d = {d}, float32, torch SDPA: {ms:.3f} ms, error {found:.1e}", flush=True)
    return {"work": f"torch SDPA, n = {n}, d = {d}", "ms": ms, "error": found}


def launches() -> None:
    """Time the kernel of pairs with other numbers of queries in a thread, and other products of float32."""
    for n, d, choices in ((100_000, 3, (4, 8, 12)), (10_000, 3, (2, 4, 8)), (100_000, 16, (1, 2, 3, 4))):
        x = tokens(n, d, "float32")
        for rows in choices:
            launch = launch_for(n, d, 1, "float32", rows)
            run = jax.jit(lambda x, launch=launch: means_by_kernel((BETA * x)[None], x, launch=launch)[0])
            name = f"pairs, n = {n}, d = {d}, {launch}"
            attempt(name, lambda name=name, run=run, x=x: measure(name, run, x))
    kinds = jax.lax.DotAlgorithmPreset
    for d in (3, 8, 16, 24, 64):
        x = tokens(100_000, d, "float32")
        run = jax.jit(lambda x: means_by_products((BETA * x)[None], x)[0])
        name = f"tensor cores, n = 100000, d = {d}"
        attempt(name, lambda name=name, run=run, x=x: measure(name, run, x))
    for d in (16, 64):
        x = tokens(100_000, d, "float32")
        for split in (kinds.BF16_BF16_F32_X6, kinds.TF32_TF32_F32_X3, kinds.F32_F32_F32):
            reduced.SPLIT = split
            jax.clear_caches()
            run = jax.jit(lambda x: means_by_reduction((BETA * x)[None], x)[0])
            name = f"products, n = 100000, d = {d}, {split.name}"
            attempt(name, lambda name=name, run=run, x=x: measure(name, run, x))


def everything(*, quick: bool = False) -> list[dict[str, Any] | None]:
    """Measure exact fields and harmonics; small ones only if `quick`."""
    print(f"kernels: {why_no_kernels() or 'on'}", flush=True)
    rows = []
    sizes = [(1_000, 3, "float32")] if quick else [
        (10_000, 3, "float32"), (100_000, 3, "float32"), (100_000, 16, "float32"), (100_000, 64, "float32"),
        (10_000, 3, "float64"), (100_000, 3, "float64"),
    ]  # fmt: skip
    for n, d, dtype in sizes:
        rows += both(f"exact field, n = {n}, d = {d}, {dtype}", Blocked(), d, tokens(n, d, dtype))
        if dtype == "float32" and (
            row := attempt(f"torch SDPA, n = {n}, d = {d}", lambda n=n, d=d: torch_attention(n, d))
        ):
            rows.append(row)
    sizes = [(1_000, 3, "float32")] if quick else [
        (1_000_000, 3, "float32"), (10_000_000, 3, "float32"), (1_000_000, 3, "float64"), (1_000_000, 2, "float32"),
        (10_000, 3, "float32"),
    ]  # fmt: skip
    for n, d, dtype in sizes:
        way = Harmonic(TOLERANCE[dtype])
        rows += both(f"harmonics, n = {n}, d = {d}, {dtype}", way, d, tokens(n, d, dtype))
    return rows


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.benchmarks.gpu_fields", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few tokens: does it run at all")
    parser.add_argument("--launches", action="store_true", help="also other launches and other products")
    options = parser.parse_args()
    jnp.zeros(1).block_until_ready()
    everything(quick=options.quick)
    if options.launches:
        launches()


if __name__ == "__main__":
    main()

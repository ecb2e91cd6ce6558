"""Ensembles on a GPU: lanes by a kernel and in JAX beside `vmap` of diffrax; answers against a reference."""

import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dynsim as ds
from dynsim.integrators import Diffrax
from dynsim.kernels import why_no_kernels
from dynsim.systems.catalogue.oscillators import Duffing
from tests.quality.benchmarks.small_ensembles import by_vmap, lorenz

QUICK = bool(os.environ.get("QUICK"))  # tiny sizes, to try the code


def median(run: Callable[[], Any], rounds: int = 5) -> tuple[float, float, Any]:
    """Return the seconds of the first call, the median of the next ones, and the answer."""
    begin = time.perf_counter()
    answer = jax.block_until_ready(run())
    first, times = time.perf_counter() - begin, []
    for _ in range(rounds):
        begin = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - begin)
        if sum(times) > 5:
            break
    return first, float(np.median(times)), answer


def ring(t: Any, y: Any) -> Any:
    """Return the velocity of the Lorenz 96 system."""
    return (jnp.roll(y, -1) - jnp.roll(y, 2)) * jnp.roll(y, 1) - y + 8


CASES = {
    "lorenz 1e6 float32": (lorenz, "lorenz", 1_000_000, np.float32, 1e-5, np.linspace(0, 10, 11)),
    "lorenz 1e5 float32": (lorenz, "lorenz", 100_000, np.float32, 1e-5, np.linspace(0, 10, 11)),
    "lorenz 1e3 float32": (lorenz, "lorenz", 1_000, np.float32, 1e-5, np.linspace(0, 10, 11)),
    "lorenz 1e5 float64 rtol 1e-9": (lorenz, "lorenz", 100_000, np.float64, 1e-9, np.linspace(0, 10, 11)),
    "ring d=16 1e5 float32": (ring, "ring", 100_000, np.float32, 1e-5, np.linspace(0, 2, 3)),
    "duffing 160000 float64, 8 periods": (None, "duffing", 160_000, np.float64, 1e-6, 2 * np.pi * np.arange(9)),
}


def starts(kind: str, members: int, dtype: Any) -> np.ndarray:
    """Draw the initial states."""
    if kind == "duffing":
        side = int(np.sqrt(members))
        grid = [np.linspace(-2, 2, side)] * 2
        return np.stack(np.meshgrid(*grid, indexing="ij"), -1).reshape(-1, 2).astype(dtype)
    size, centre = (3, [1.0, 1.0, 20.0]) if kind == "lorenz" else (16, 8.0)
    return (np.random.default_rng(0).standard_normal((members, size)) + centre).astype(dtype)


def row(name: str, peer: bool = True) -> None:
    """Print one case: the ensemble, its lanes alone in JAX, and the peer; with steps and the error at early times."""
    field, kind, members, dtype, rtol, ts = CASES[name]
    members = min(members, 64) if QUICK else members
    flow = Duffing(delta=0.15, gamma=0.2) if kind == "duffing" else ds.FunctionFlow(field)
    y0, longest = starts(kind, members, dtype), flow.step_limit()
    on = jnp.asarray(y0)
    short = np.linspace(ts[0], ts[1], 3) if kind == "lorenz" else ts[:3]
    few = y0[:200].astype(float)
    exact = by_vmap(
        flow.vector_field, short, 1e-12, 1e-13, None if np.isinf(longest) else longest
    )(few)[0][:, -1]  # fmt: skip
    seen = lambda t, x: x
    solver = Diffrax(rtol=rtol, atol=rtol / 100)

    def lanes(times: Any = ts) -> Any:
        found = ds.ensemble(flow, on, times, seen, integrator=solver, shown=False)
        return found.values, found.stats.num_steps

    def plain() -> Any:
        os.environ["DYNSIM_KERNELS"] = "0"
        try:
            return lanes()
        finally:
            del os.environ["DYNSIM_KERNELS"]

    def told(what: str, run: Any) -> None:
        try:
            first, again, (values, steps) = median(run)
        except Exception as error:  # noqa: BLE001  (the other rows are wanted)
            print(f"lanes: {name}: {what}: FAILED {type(error).__name__} {' '.join(str(error).split())[:300]}")
            return
        print(
            f"lanes: {name}: {what}: {again * 1e3:.2f} ms, first {first:.2f} s, steps mean {np.mean(steps):.1f} "
            f"most {np.max(steps)}, finite {bool(np.isfinite(np.asarray(values[:100])).all())}", flush=True,
        )  # fmt: skip

    told("ensemble", lanes)
    early = np.asarray(ds.ensemble(flow, on[:200], short, seen, integrator=solver, shown=False).values)[:, -1]
    print(f"lanes: {name}: median error at t = {short[-1]:.3g}: {np.median(np.abs(early - exact)):.1e}", flush=True)
    told("ensemble without kernels", plain)
    if peer:
        cast = jnp.asarray(ts, dtype)
        work = by_vmap(
            lambda t, y: flow.vector_field(t, y), cast, rtol, rtol / 100, None if np.isinf(longest) else longest
        )  # fmt: skip
        told("vmap of diffeqsolve", lambda: work(on))


def main() -> None:
    """Print all rows."""
    print(f"lanes: {jax.devices()[0].device_kind}, jax {jax.__version__}; {why_no_kernels() or 'kernels'}", flush=True)
    flow = ds.FunctionFlow(lorenz)
    print(
        f"lanes: {Diffrax().lanes((flow,), starts('lorenz', 9, np.float64), np.linspace(0, 1, 3))!r:.200}", flush=True
    )
    for name in CASES:
        row(name)


if __name__ == "__main__":
    main()

"""Maps, noise and stiff ensembles on a GPU: by a kernel and by JAX's operations, with errors against the host."""

import os
from collections.abc import Callable
from typing import Any

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.orbit_diagrams import orbit_diagram
from dynsim.integrators import Diffrax, Rodas5P
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.parameter import Parameter
from tests.quality.benchmarks.gpu_lanes import median

QUICK = bool(os.environ.get("QUICK"))  # tiny sizes, to try the code
STANDARD = FunctionMap(lambda k, x: jnp.stack([x[0] + 0.7 * jnp.sin(x[1]), x[1] + x[0] + 0.7 * jnp.sin(x[1])]))
NOISY = NoisyFlow(FunctionFlow(lambda t, x: jnp.stack([x[1], x[0] - x[0] ** 3 - 0.3 * x[1]])), 0.2, calculus="ito")
STIFF = FunctionFlow(lambda t, x, mu: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]]), parameters={"mu": 1000.0})
state = lambda t, x: x


def told(name: str, run: Callable[[], Any], few: Callable[[], Any] | None, rounds: int = 5) -> None:
    """Print the times of a case with kernels and without, and the gap of its values to those of `few` on the host."""
    exact = None if few is None else np.asarray(few())
    for how, setting in (("ensemble", "1"), ("without kernels", "0")):
        os.environ["DYNSIM_KERNELS"] = setting
        try:
            first, again, values = median(run, rounds)
            values = np.asarray(values)
            gap = np.nan if exact is None else float(np.nanmedian(np.abs(values[: len(exact)] - exact)))
            print(f"steps: {name}: {how}: {1e3 * again:.2f} ms, first {first:.2f} s, median gap {gap:.1e}", flush=True)
        except Exception as error:  # noqa: BLE001  (the other rows are wanted)
            print(f"steps: {name}: {how}: FAILED {type(error).__name__} {' '.join(str(error).split())[:300]}")
    os.environ.pop("DYNSIM_KERNELS", None)


def runs(system: Any, members: int, ts: Any, dtype: Any, **given: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Make the calls of an ensemble of two unknowns, and of a few of its members on the host."""
    members = 64 if QUICK else members
    starts = np.random.default_rng(0).normal(size=(members, 2)).astype(dtype)
    there = jnp.asarray(starts)
    few = lambda: ensemble(system, starts[:50], ts, state, shown=False, device="cpu", **given).values
    return lambda: ensemble(system, there, ts, state, shown=False, **given).values, few


def main() -> None:
    """Print all rows."""
    print(f"steps: {jax.devices()[0].device_kind}, jax {jax.__version__}", flush=True)
    key = {"key": random_key(0, "noise")}
    for dtype in (np.float32, np.float64):
        kind = np.dtype(dtype).name
        told(f"standard map, 1e6 starts, 1,000 steps, {kind}", *runs(STANDARD, 1_000_000, [0, 10, 1000], dtype), 3)
        told(f"noisy double well, 1e5 paths, 1,000 steps, {kind}", *runs(NOISY, 100_000, [0, 1, 10], dtype, **key), 3)
        rtol = 1e-4 if dtype == np.float32 else 1e-6
        solver = Diffrax(Rodas5P(), rtol=rtol, atol=rtol / 100)
        told(
            f"van der Pol, mu = 1000, 1e5 members to t = 2000, {kind}",
            *runs(STIFF, 100_000, [0, 1000, 2000], dtype, integrator=solver), 3,
        )  # fmt: skip
    slow = Diffrax(dfx.Kvaerno5(), rtol=1e-6, atol=1e-8)
    run, _ = runs(STIFF, 1_000, [0, 1000, 2000], np.float64, integrator=slow)
    if not QUICK:
        first, again, _ = median(run, 1)
        print(f"steps: van der Pol, mu = 1000, 1,000 members, Kvaerno5: {1e3 * again:.0f} ms, first {first:.2f} s")
    values = np.linspace(2.5, 4.0, 100 if QUICK else 100_000)
    diagram = lambda: orbit_diagram(Parameter(Logistic(), "r", 0.0, 4.0), values, [0.3]).values
    told(f"orbit diagram of the logistic map, {len(values):,} values", diagram, None, 3)


if __name__ == "__main__":
    main()

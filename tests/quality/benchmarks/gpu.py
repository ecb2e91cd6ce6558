"""What a GPU is for, beside what else a user would take: the table of the page on GPUs.

`python -m tests.quality.benchmarks --gpu` runs every section in a process of its own with a time limit, so that one
that fails or hangs does not lose the others; `python -m tests.quality.benchmarks.gpu SECTION` runs one here. With
`QUICK=1` sizes are tiny, for a machine without a GPU.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory beside JAX

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.attractors.options import Search
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.portraits.plane import phase_plane
from dynsim.integrators import Diffrax, InSpan
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import Duffing, VanDerPol
from dynsim.systems.parameter import Parameter
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from tests.quality.benchmarks import ensemble as section_7_4
from tests.quality.benchmarks import opponents
from tests.quality.benchmarks.harness import machine

QUICK = bool(os.environ.get("QUICK"))
ALL = 235  # seconds for everything
MODULES = {
    "fields": 60,
    "lanes": 90,
    "steps": 60,
}  # sections in files of their own, `gpu_fields` etc., with their limits
HEAD = f"{'':58s} {'median':>11s} {'first call':>11s} {'error':>9s}"


def row(name: str, call: Callable[[], Any], error: Callable[[Any], float], repeats: int = 3) -> None:
    """Call once, with compilation, and several times more; print the median and the error, or why it fails."""
    try:
        begin = time.perf_counter()
        found = jax.block_until_ready(call())
        first = time.perf_counter() - begin
        times = []
        while len(times) < repeats and sum(times) < 10:
            begin = time.perf_counter()
            found = jax.block_until_ready(call())
            times.append(time.perf_counter() - begin)
        print(f"{name:58s} {1e3 * statistics.median(times):8.2f} ms {first:9.2f} s {error(found):9.1e}", flush=True)
    except Exception as failure:  # noqa: BLE001  (the other rows are wanted all the same)
        print(f"{name:58s} FAILED: {type(failure).__name__} {' '.join(str(failure).split())[:300]}", flush=True)


def gap(found: Any, exact: Any) -> float:
    """Return the largest difference of as many members as the shorter one has."""
    found, exact = np.asarray(found, float), np.asarray(exact, float)
    count = min(len(found), len(exact))
    return float(np.max(np.abs(found[:count] - exact[:count])))


# --- basins ---


def duffing_basins() -> None:
    """Basins of the forced Duffing oscillator; the error is the share of wrong labels among some starts."""
    side, some = (12, 16) if QUICK else (400, 256)
    flow = Duffing(delta=0.15, gamma=0.2)
    search = Search(period=2 * np.pi)
    call = lambda: basins(flow, [[-2.0, 2.0], [-2.0, 2.0]], [side, side], search=search, shown=False)
    where = np.random.default_rng(0).integers(side, size=(some, 2))

    def wrong(found: Any) -> float:
        starts = np.stack([np.asarray(found.axes[k])[where[:, k]] for k in (0, 1)], axis=1)
        end = 32 * 2 * np.pi
        tight = Diffrax(rtol=1e-11, atol=1e-13)
        ends = np.asarray(ensemble(flow, starts, [0.0, end], lambda t, x: x, integrator=tight, shown=False).final)
        gaps = np.linalg.norm(ends[:, None] - np.stack([np.asarray(a.state) for a in found.attractors]), axis=-1)
        settled = np.min(gaps, axis=1) < 0.01
        labels = np.asarray(found.labels)[where[:, 0], where[:, 1]]
        return float(np.mean(labels[settled] != np.argmin(gaps, axis=1)[settled])) if np.any(settled) else np.nan

    row(f"basins of the forced Duffing oscillator, {side} x {side}", call, wrong, 1)


# --- a million tokens ---


def million() -> None:
    """A million tokens on the sphere to t = 2 by harmonics; errors against float64 at a tighter tolerance."""
    n = 2_000 if QUICK else 1_000_000
    x = Sphere().sample(random_key(0, "x"), (n, 3))

    def ends(dtype: Any, tolerance: float, rtol: float) -> jax.Array:
        flow = TokenFlow(5.0 * np.eye(3)[None], interaction=Harmonic(tolerance))
        solver = Diffrax(rtol=rtol, atol=rtol / 100)
        return simulate(flow, x.astype(dtype), [0.0, 1.0, 2.0], integrator=solver).final

    exact = np.asarray(ends(jnp.float64, 1e-11, 1e-8))
    for dtype, tolerance in ((jnp.float32, 2e-6), (jnp.float64, 1e-10)):
        call = lambda dtype=dtype, tolerance=tolerance: ends(dtype, tolerance, 1e-4)
        row(f"simulate, {n:,} tokens by harmonics to t = 2, {dtype.__name__}", call, lambda y: gap(y, exact))


# --- small work ---


@contextlib.contextmanager
def told(device: Any) -> Iterator[None]:
    """Make a device JAX's own default, or leave the choice to dynsim."""
    with contextlib.nullcontext() if device is None else jax.default_device(device):
        yield


def small() -> None:
    """Small work where dynsim places it, beside the same on the host, in the same time; ten tokens also where told."""
    tokens = TokenFlow(np.eye(3)[None])
    x = np.asarray(tokens.space.sample(random_key(0, "x"), (10, 3)))
    duration = 50.0 if QUICK else 200.0
    fold = FunctionFlow(lambda t, x, a: a - x**2, parameters={"a": 1.0})
    cases = {
        "simulate, ten tokens": lambda: simulate(tokens, x, np.linspace(0.0, 50.0, 200)).final,
        f"lyapunov_spectrum of Lorenz, T = {duration:g}": lambda: (
            lyapunov_spectrum(Lorenz(), [1.0, 2.0, 20.0], duration, transient=10.0, rtol=1e-8).exponents
        ),
        "continue_equilibria through a fold": lambda: (
            continue_equilibria(Parameter(fold, "a", -0.5, 1.2), [1.0]).parameters
        ),
        "phase_plane of van der Pol": lambda: np.asarray(
            [np.ravel(e.state) for e in phase_plane(VanDerPol(), [[-3.0, 3.0], [-3.0, 3.0]]).equilibria]
        ),
    }
    host = jax.devices("cpu")[0]
    for name, call in cases.items():
        answers: dict[str, Any] = {}
        for where, device in (("host", host), ("default", None)):

            def placed(call: Any = call, device: Any = device) -> Any:
                with told(device):
                    return call()

            def error(found: Any, where: str = where, answers: dict = answers) -> float:
                answers[where] = np.asarray(found)
                return gap(found, answers["host"])

            row(f"{name}: {where}", placed, error)
    exact = np.asarray(cases["simulate, ten tokens"]())
    there = lambda: simulate(tokens, x, np.linspace(0.0, 50.0, 200), device=jax.devices()[0]).final
    row("simulate, ten tokens: told to use the default device", there, lambda y: gap(y, exact))


# --- Section 7.4 ---


def published_ensemble() -> None:
    """The ensemble of Section 7.4 in float32, beside torchdiffeq on the same device; errors of E against float64."""
    members, d = (4, 20) if QUICK else (100, 500)
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        torch = None
    for name, which, ts in (("U = I, T = 200", 0, section_7_4.TS), ("general U, T = 10", 1, section_7_4.SHORT)):
        ts = ts[:5] if QUICK else ts
        flow, y0 = section_7_4.flows(jnp.float32, d)[which], section_7_4.starts(members, jnp.float32, d)
        form = (lambda solver: solver) if which else InSpan
        with told(jax.devices("cpu")[0]):
            few = section_7_4.starts(min(members, section_7_4.FEW), jnp.float64, d)
            flow64 = section_7_4.flows(jnp.float64, d)[which]
            exact = np.asarray(section_7_4.solved(flow64, few, form(section_7_4.EXACT), ts)[0])
        error = lambda answer, exact=exact: gap(answer[0], exact)
        call = lambda flow=flow, y0=y0, form=form, ts=ts: section_7_4.solved(flow, y0, form(section_7_4.fast()), ts)
        title = f"Section 7.4, {members} members in R^{d}, {name}"
        row(f"{title}: dynsim", call, error)
        if torch is None:
            print(f"{title}: torch is not installed", flush=True)
            continue
        problem = section_7_4.problem(flow, y0, ts).cast(np.float32)
        theirs = lambda p=problem: opponents.torchdiffeq_dopri5(p, section_7_4.RTOL, section_7_4.ATOL)
        with _torch_on_gpu(torch):
            row(f"{title}: torchdiffeq", theirs, error)


@contextlib.contextmanager
def _torch_on_gpu(torch: Any) -> Iterator[None]:
    """Let torch make tensors on the GPU, and bring them back where they are asked for as arrays."""
    if not torch.cuda.is_available():
        yield
        return
    original = torch.Tensor.numpy
    torch.set_default_device("cuda")
    torch.Tensor.numpy = lambda self, *args, **options: original(self.cpu(), *args, **options)
    try:
        yield
    finally:
        torch.Tensor.numpy = original
        torch.set_default_device("cpu")


SECTIONS: dict[str, tuple[Callable[[], None], int]] = {
    "basins": (duffing_basins, 60),
    "million": (million, 60),
    "small": (small, 60),
    "published-ensemble": (published_ensemble, 75),
}
"""The sections of this file, with their limits in seconds."""


def everything(only: tuple[str, ...] = ()) -> None:
    """Run each section in a process of its own, one after another, within its limit and that of all."""
    print(f"{machine()}\n{HEAD}", flush=True)
    begin = time.perf_counter()
    limits = {name: limit for name, (_, limit) in SECTIONS.items()} | MODULES
    for name, limit in limits.items():
        if only and name not in only:
            continue
        left = min(limit, ALL - (time.perf_counter() - begin))
        module = f"gpu_{name}" if name in MODULES else "gpu"
        command = [sys.executable, "-u", "-m", f"tests.quality.benchmarks.{module}"]
        start = time.perf_counter()
        if left < 5:
            print(f"{name}: left out, {ALL} seconds are over", flush=True)
            continue
        try:
            done = subprocess.run([*command, *([] if name in MODULES else [name])], check=False, timeout=left)
            ended = "" if done.returncode == 0 else f" with exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = ", stopped at its limit"
        print(f"  ({name}: {time.perf_counter() - start:.0f} s{ended})", flush=True)


if __name__ == "__main__":
    SECTIONS[sys.argv[1]][0]()

"""What is the same and as fast on an accelerator: `pytest -m gpu` where JAX's default device is a GPU."""

import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.basins import basins
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.exponents import lyapunov_spectra
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.orbit_diagrams import orbit_diagram
from analysis.dynamics.portraits.plane import phase_plane
from dynsim._core import placement
from dynsim.cli.sweep.measures import Run, RunMeasures
from dynsim.integrators import Diffrax, InSpan, Rodas5P, Scipy
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import iterate, simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.parameter import Parameter
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.sharded import Sharded
from tests.core.faces import ROOT
from tests.quality.benchmarks.ensemble import TS, fast, flows, seen, starts
from tests.support.own_paper import CLAIMS, HEAD, write
from tests.support.zoo import FLOWS, MAPS, flow_and_start, map_and_start

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX's default device is no GPU"),
]

RUN = Run(0.0, 20.0, 101, 1e-9, None, None, reduced=False)
LIMIT = 120  # seconds after which a command is stopped


def assert_close(here, there, atol):
    """Compare states: arrays, named tuples of arrays of several shapes, and arrays of fractions."""
    assert jax.tree.structure(here) == jax.tree.structure(there)
    for a, b in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), atol=atol)


def platforms(tree) -> set[str]:
    return {d.platform for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array) for d in leaf.devices()}


@pytest.mark.parametrize("name", FLOWS)
def test_flows_agree_with_the_host(name):
    flow, x = flow_and_start(name)
    ts = np.linspace(0.0, 4.0, 5)
    here = simulate(flow, x, ts, device="gpu")
    assert platforms(here.ys) == {"gpu"}
    there = simulate(flow, x, ts, integrator=Scipy(), device="cpu")
    assert platforms(there.ys) <= {"cpu"}
    assert_close(here.ys, there.ys, 1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_maps_agree_with_the_host(name):
    map, x = map_and_start(name)
    here, there = (iterate(map, x, 10, device=device).ys for device in ("gpu", "cpu"))
    assert map.on_host or platforms(here) == {"gpu"}
    assert_close(here, there, 1e-10)


def test_spectra_and_sections_along_a_parameter_use_kernels():
    """Many values are solved by kernels, which agree with JAX on the host."""
    flows = [Lorenz(rho=rho) for rho in np.linspace(5.0, 20.0, 500)]
    found = lyapunov_spectra(flows, [1.0, 1.0, 1.0], 40.0)
    there = lyapunov_spectra(flows[:3], [1.0, 1.0, 1.0], 40.0)
    assert found.solved == "in lanes, by a kernel"
    assert there.solved == "in lanes, in JAX"
    for k in range(3):
        assert_close(found.spectra[k].exponents, there.spectra[k].exponents, 1e-4)
    made = RunMeasures(lambda values: SimpleNamespace(system=Lorenz(**values), begun=lambda: jnp.ones(3)), RUN)
    rows = [{"rho": rho} for rho in np.linspace(1.5, 20.0, 1000)]
    many = made.together(rows)
    assert_close(list(many[10].values()), list(made(**rows[10]).values()), 1e-5)


SMOOTH = FunctionMap(lambda k, x, a: jnp.stack([a * jnp.sin(x[1]), 0.5 * x[0] + 0.1 * jnp.cos(k.astype(x.dtype))]),
                     parameters={"a": 0.9})  # fmt: skip
NOISY = NoisyFlow(FunctionFlow(lambda t, x: -x), lambda t, x: 0.3 + 0.1 * x, calculus="ito")
RELAXING = FunctionFlow(
    lambda t, x, mu: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]]), parameters={"mu": 100.0}
)  # with mu = 1000, jumps take less than the rounding of times in float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps_noise_and_stiff_flows_use_kernels(dtype):
    """The same numbers as the lanes of the host, up to rounding."""
    starts = np.random.default_rng(0).normal(size=(2000, 2)).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-8
    stiff = {"integrator": Diffrax(Rodas5P(), rtol=rtol, atol=rtol / 100)}
    state = lambda t, x: x
    cases = {
        "map": (SMOOTH, [0, 10, 100], {}),
        "noise": (NOISY, [0.0, 0.5, 1.0], {"key": random_key(0, "noise")}),
        "stiff": (RELAXING, [0.0, 10.0, 20.0], stiff),
    }
    for name, (system, ts, given) in cases.items():
        here = ensemble(system, starts, ts, state, device="gpu", **given)
        there = ensemble(system, starts[:100], ts, state, device="cpu", **given)
        assert (here.solved, there.solved) == ("in lanes, by a kernel", "in lanes, in JAX"), name
        assert here.values.dtype == dtype
        close = 2e-2 if name == "stiff" and dtype == np.float32 else 1e-4 if dtype == np.float32 else 1e-6
        np.testing.assert_allclose(here.values[:100], there.values, rtol=close, atol=close, err_msg=name)


@pytest.mark.parametrize("size", [4, 8, 12])
def test_stiff_kernels_of_more_unknowns_compile(size):
    chain = FunctionFlow(lambda t, x: -1e3 * x + 900.0 * jnp.roll(x, 1) * jnp.cos(x) + jnp.sin(t))
    starts = np.random.default_rng(0).normal(size=(3000, size))
    solver = Diffrax(Rodas5P(), rtol=1e-6, atol=1e-8)
    begin = time.perf_counter()
    here = ensemble(chain, starts, [0.0, 1.0], lambda t, x: x, integrator=solver, device="gpu")
    print(f"{size} unknowns: {time.perf_counter() - begin:.1f} s, {here.solved}")  # noqa: T201
    there = ensemble(chain, starts[:20], [0.0, 1.0], lambda t, x: x, integrator=solver, device="cpu")
    assert_close(here.final[:20], there.final, 1e-5)


def test_diagrams_and_basins_of_maps_use_kernels():
    values = np.linspace(2.5, 3.5, 3000)  # before chaos
    found = orbit_diagram(Parameter(Logistic(), "r", 0.0, 4.0), values, [0.3], kept=16)
    few = orbit_diagram(Parameter(Logistic(), "r", 0.0, 4.0), values[::1500], [0.3], kept=16)
    assert (found.solved, few.solved) == ("in lanes, by a kernel", "in lanes, in JAX")
    assert_close(found.values[::1500], few.values, 1e-8)
    cubic = FunctionMap(lambda k, x: jnp.stack([x[0] + 0.2 * (x[0] - x[0] ** 3), 0.5 * x[1]]))
    wells = basins(cubic, [[-2.0, 2.0], [-1.0, 1.0]], [60, 40], shown=False)
    assert wells.shares == {0: 0.5, 1: 0.5}


def test_float32_products_are_not_rounded_to_ten_bits():
    a = jax.random.normal(jax.random.key(0), (256, 256), jnp.float32)
    exact = np.asarray(a, float) @ np.asarray(a, float)
    assert float(np.max(np.abs(np.asarray(a @ a) - exact))) < 1e-3


@pytest.mark.parametrize("name", ["published 7.2", "general heads on an ellipsoid", "a user's own, plane"])
def test_float32_stays_float32(name):
    flow, x = flow_and_start(name)
    flow = jax.tree.map(
        lambda a: a.astype(jnp.float32) if isinstance(a, jax.Array) and a.dtype == jnp.float64 else a, flow
    )
    ts, rough = np.linspace(0.0, 4.0, 5), Diffrax(rtol=1e-5, atol=1e-7)
    here = simulate(flow, x.astype(jnp.float32), ts, integrator=rough, device="gpu").ys
    assert here.dtype == jnp.float32
    assert platforms(here) == {"gpu"}
    assert_close(here, simulate(flow_and_start(name)[0], x, ts, device="cpu").ys, 1e-3)


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


# --- where work runs ---


def in_seconds(limit, call):
    """Call twice, the first time with compilation, and test how long the second call takes."""
    call()
    begin = time.perf_counter()
    found = call()
    assert time.perf_counter() - begin < limit
    return found


def test_ten_tokens_run_on_the_host_and_many_on_the_gpu():
    flow = TokenFlow(np.eye(3)[None])
    x = flow.space.sample(random_key(0, "tokens"), (1_000, 3))
    assert platforms(x) == {"gpu"}  # what JAX makes by itself
    few = in_seconds(1.0, lambda: simulate(flow, x[:10], np.linspace(0.0, 50.0, 200)))
    assert platforms((few.ts, few.ys, few.stats, few.final, few.along(jnp.sum))) == {"cpu"}
    assert "It ran on " in str(few.stats)
    many = simulate(flow, x, [0.0, 0.5])
    assert platforms((many.ts, many.ys, many.stats, many.final, many.along(jnp.sum))) == {"gpu"}
    assert platforms(few.final + x[:10]) == {"gpu"}  # states of the host go together with others
    put = simulate(flow, jax.device_put(x[:10], jax.devices("gpu")[0]), [0.0, 0.5])
    assert platforms(put.ys) == {"gpu"}
    assert_close(put.ys, simulate(flow, x[:10], [0.0, 0.5]).ys, 1e-8)


def test_the_workbench_runs_its_loops_on_the_host():
    gpu = lambda: sum(a.size for a in jax.live_arrays() if platforms(a) == {"gpu"})
    start = jnp.asarray([1.0, 2.0, 20.0])
    begin = time.perf_counter()
    before = gpu()
    found = in_seconds(10.0, lambda: lyapunov_spectrum(Lorenz(), start, 200.0, rtol=1e-8))
    np.testing.assert_allclose(found.exponents, [0.906, 0.0, -14.572], atol=0.1)
    branch = in_seconds(5.0, lambda: continue_equilibria(Parameter(Lorenz(), "rho", 0.0, 30.0), [0.0, 0.0, 0.0]))
    assert len(branch.parameters) > 3
    in_seconds(10.0, lambda: phase_plane(VanDerPol(), [[-3.0, 3.0], [-3.0, 3.0]]))
    assert gpu() <= before + 1_000
    assert time.perf_counter() - begin < 90


def test_the_report_names_the_gpu():
    said = placement.report()
    assert jax.devices()[0].device_kind in said
    assert "GiB" in said
    assert str(jax.devices("cpu")[0]) in said


def test_memory_that_does_not_suffice_is_said_in_one_sentence():
    """In a process that may use a fiftieth of the memory, so that tests beside it keep theirs."""
    program = """
import numpy as np, jax, jax.numpy as jnp, dynsim as ds
room = jax.devices()[0].memory_stats()["bytes_limit"]
x = jnp.ones(int(np.sqrt(room)) // 10, jnp.float32)
many = np.linspace(0.0, 1.0, 4 * room // x.nbytes)  # states at so many times do not fit
try:
    ds.simulate(ds.FunctionFlow(lambda t, x: -x), x, many, integrator=ds.Diffrax(rtol=1e-3, atol=1e-3))
except ValueError as error:
    print(error)
"""
    env = {**os.environ, "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.02"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=LIMIT)
    said = r"^Argument `y0` must fit into the memory of .*GiB\), .* could not be alloc"
    assert re.match(said, done.stdout), done.stdout + done.stderr


def test_a_million_tokens_by_harmonics():
    flow = TokenFlow(5.0 * np.eye(3)[None], interaction=Harmonic(2e-6))
    x = Sphere().sample(random_key(0, "x"), (1_000_000, 3)).astype(jnp.float32)
    rough = Diffrax(rtol=1e-4, atol=1e-6)
    path = in_seconds(15.0, lambda: jax.block_until_ready(simulate(flow, x, [0.0, 1.0, 2.0], integrator=rough)))
    assert platforms(path.ys) == {"gpu"}
    assert np.all(np.isfinite(path.final[:1000]))


@pytest.mark.skipif(len(jax.devices()) < 2, reason="JAX finds fewer than two GPUs")
def test_two_gpus_share_the_tokens():
    flow = TokenFlow(np.eye(3)[None])
    x = Sphere().sample(random_key(0, "x"), (4_096, 3))
    mesh = jax.make_mesh((2,), ("tokens",), devices=jax.devices()[:2])
    way = Sharded(Blocked(), mesh)
    there = simulate(flow.computed_by(way), way.placed(x), [0.0, 0.5]).ys
    assert len(there.devices()) == 2
    assert_close(there, simulate(flow, x, [0.0, 0.5]).ys, 1e-8)


# --- the command line, in processes of its own ---

MINE = """
import jax.numpy as jnp

def square(beta):
    return beta**2

def fold(t, x, a=1.0):
    return a - x**2
"""

COMMANDS = {
    "demo": "demo --out demo",
    "list": "list",
    "version": "--version --verbose",
    "simulate": "simulate lorenz --end 5 --out run.npz",
    "simulate, members": "simulate published-gradient --members 64 --end 5 --frames 11 --out many.npz",
    "simulate, told": "simulate lorenz --end 5 --out run.npz --device gpu",
    "sweep": "sweep --function mine.py:square --beta 0:3:4",
    "portrait": "portrait pendulum --figure portrait.png",
    "lyapunov": "lyapunov lorenz --duration 200",
    "section": "section henon --count 50",
    "basins": "basins double-well --h 0.1 --shape 40 --out wells.npz",
    "continue": "continue mine.py:fold --start 1 --parameter a=-0.5:1.2 --out fold.npz",
    "experiment": "experiment consensus/7.4 --out results",
    "check": "check theorem-6.1-equilibria --trials 2",
    "verifier": "verifier growing/theorem-1/convexity --out verifier.py",
    "figure": "figure consensus/figure-1 --out figures",
    "report": "report paper.py --trials 1 --markdown ledger.md",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_soon(name, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    write(str(tmp_path / "paper.py"), HEAD, CLAIMS)
    command = [sys.executable, "-m", "dynsim", *COMMANDS[name].split()]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=around, timeout=LIMIT)
    print(f"{name}: {time.perf_counter() - begin:.1f} s\n{done.stdout}")  # noqa: T201
    assert done.returncode == 0, done.stderr

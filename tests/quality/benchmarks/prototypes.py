"""The coupled gradient flow of encoder and prototypes by RKC2, against what one would otherwise use, at equal error."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate

from dynsim._runtime.cores import cores
from dynsim.integrators import RKC2, Diffrax
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.quality.benchmarks.harness import Contender, Row, in_fresh_process, race

TARGET = 1e-4  # of the largest entry of the last state: the error that every contender must reach
TOLERANCES = 10.0 ** -np.arange(3, 9)
STIFF_LIMIT = 500  # unknowns beyond which a dense Jacobian is out of the question


class Problem(NamedTuple):
    """Data around K centres, the first weights of a linear encoder, and prototypes at some of the embeddings."""

    data: np.ndarray
    weight: np.ndarray
    prototypes: np.ndarray
    temperature: float
    ratio: float
    end: float

    @property
    def start(self) -> np.ndarray:
        """The flat state."""
        return np.concatenate([self.weight.ravel(), self.prototypes.ravel()])

    def apart(self, y: Any) -> tuple[Any, Any]:
        """Return weights and prototypes of a flat state."""
        size = self.weight.size
        return y[:size].reshape(self.weight.shape), y[size:].reshape(self.prototypes.shape)


def problem(n: int, k: int, m: int, d: int, *, temperature: float, ratio: float = 1e-3, end: float = 5.0) -> Problem:
    """Return a problem drawn from a named stream."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(random_key(0, "prototypes benchmark"))))
    centres = 2 * rng.normal(size=(k, d))
    data = centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    weight = rng.normal(size=(m, d)) / np.sqrt(d)
    return Problem(data, weight, data[rng.choice(n, k, replace=False)] @ weight.T, temperature, ratio, end)


def flow(p: Problem) -> CoupledFlow:
    """Return the flow that ships: mean loss, gradient through the assignments, time of the encoder."""
    m, d = p.weight.shape
    loss = PrototypeLoss("full", reduction="mean")
    return CoupledFlow(p.data, LinearEncoder(d, m), p.temperature, loss=loss, prototype_rate=1 / p.ratio)


def dynsim(p: Problem, solver: Any, rtol: float) -> np.ndarray:
    """Solve by this package; the absolute tolerance is the relative one, for every contender."""
    start = Coupled(jnp.asarray(p.weight), jnp.asarray(p.prototypes))
    path = simulate(flow(p), start, [0.0, p.end], integrator=Diffrax(solver, rtol, rtol, max_steps=10**6))
    return np.concatenate([np.ravel(path.final.encoder), np.ravel(path.final.prototypes)])


def scipy_solver(p: Problem, method: str, rtol: float) -> np.ndarray:
    """Solve by SciPy on a NumPy field: distances and gradients are matrix products, the softmax is in place."""
    X, N, T = p.data, len(p.data), p.temperature

    def field(t: float, y: np.ndarray) -> np.ndarray:
        W, P = p.apart(y)
        z = X @ W.T
        d = z @ (-2 * P.T)
        d += np.sum(P**2, axis=1)  # less |z|^2, which the softmax and its gradient do not see
        q = d / -T
        q -= np.max(q, axis=1, keepdims=True)
        np.exp(q, out=q)
        q /= np.sum(q, axis=1, keepdims=True)
        d -= np.sum(q * d, axis=1, keepdims=True)
        d /= -T
        d += 1
        d *= q
        by_weight = (z - d @ P).T @ X
        by_prototypes = np.sum(d, axis=0)[:, None] * P - d.T @ z
        return np.concatenate([by_weight.ravel(), by_prototypes.ravel() / p.ratio]) * (-2 / N)

    found = scipy.integrate.solve_ivp(field, (0, p.end), p.start, method=method, t_eval=[p.end], rtol=rtol, atol=rtol)
    return found.y[:, -1] if found.success else np.full(p.start.shape, np.nan)


def plain_diffrax(p: Problem, solver: Any, rtol: float) -> np.ndarray:
    """Solve by diffrax on the gradient of the loss by `jax.grad`, as its user would write it."""
    start = (jnp.asarray(p.weight), jnp.asarray(p.prototypes))
    found = _plain(solver, start, jnp.asarray(p.data), p.temperature, (1.0, 1 / p.ratio), p.end, rtol)
    return np.concatenate([np.ravel(a) for a in found])


@partial(jax.jit, static_argnums=0)
def _plain(solver, start, data, temperature, rates, end, rtol):
    def loss(y):
        W, P = y
        d = jnp.sum(((data @ W.T)[:, None] - P[None]) ** 2, axis=-1)
        return jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d) / data.shape[0]

    field = lambda t, y, args: tuple(-rate * g for rate, g in zip(rates, jax.grad(loss)(y), strict=True))
    control = dfx.PIDController(rtol=rtol, atol=rtol)
    found = dfx.diffeqsolve(
        dfx.ODETerm(field), solver, 0.0, end, None, start, stepsize_controller=control, max_steps=10**6, throw=False
    )
    return jax.tree.map(lambda a: a[-1], found.ys)


def torch_solver(p: Problem, threads: int, rtol: float) -> np.ndarray:
    """Solve by torchdiffeq's dopri5."""
    import torch
    from torchdiffeq import odeint

    torch.set_num_threads(threads)
    X, N, T = torch.as_tensor(p.data), len(p.data), p.temperature

    def field(t: Any, y: Any) -> Any:
        W, P = p.apart(y)
        z = X @ W.T
        d = torch.addmm((P**2).sum(1), z, P.T, alpha=-2)
        q = torch.softmax(d / -T, dim=1)
        w = q * (1 - (d - (q * d).sum(1, keepdim=True)) / T)
        by_weight = torch.addmm(z, w, P, alpha=-1).T @ X
        by_prototypes = w.sum(0)[:, None] * P - w.T @ z
        return torch.cat([by_weight.ravel(), by_prototypes.ravel() / p.ratio]) * (-2 / N)

    with torch.no_grad():
        times = torch.tensor([0.0, p.end], dtype=torch.float64)
        return odeint(field, torch.as_tensor(p.start), times, rtol=rtol, atol=rtol, method="dopri5")[-1].numpy()


def loosest(name: str, solve: Callable[[float], np.ndarray], error: Callable[[Any], float]) -> float:
    """Return a tolerance at which the error is the target, or somewhat less: between two decades by interpolation."""
    last = np.inf
    for rtol in TOLERANCES:
        found = error(solve(float(rtol)))
        print(f"  {name}, rtol {rtol:.0e}: error {found:.1e}", file=sys.stderr, flush=True)
        if found <= TARGET:
            share = np.log(TARGET / found) / np.log(last / found) if np.isfinite(last) else 0.0
            return float(rtol * 10 ** (0.9 * share))
        last = found
    raise RuntimeError(f"{name} does not reach the error {TARGET:g}")


def race_flow(title: str, p: Problem, *, rounds: int, aim: float, threads: int) -> list[Row]:
    """Race all contenders, each at the loosest tolerance that reaches the target."""
    reference = dynsim(p, dfx.Dopri8(), 1e-11)
    error = lambda y: float(np.max(np.abs(y - reference)) / np.max(np.abs(reference)))
    small = p.start.size <= STIFF_LIMIT
    methods = ("RK45", "DOP853", "LSODA", "BDF", "Radau") if small else ("RK45", "LSODA")
    solvers: dict[str, Callable[[float], np.ndarray]] = {
        "dynsim, RKC2": partial(dynsim, p, RKC2()),
        "dynsim, Tsit5": partial(dynsim, p, dfx.Tsit5()),
        **{f"SciPy, {method}": partial(scipy_solver, p, method) for method in methods},
        "diffrax, Tsit5": partial(plain_diffrax, p, dfx.Tsit5()),
        **({"diffrax, Kvaerno5": partial(plain_diffrax, p, dfx.Kvaerno5())} if small else {}),
        **{f"torchdiffeq, dopri5, {k} threads": partial(torch_solver, p, k) for k in sorted({1, threads})},
    }
    contenders = []
    for name, solve in solvers.items():
        rtol = loosest(name, solve, error)
        contenders.append(Contender(f"{name}, rtol {rtol:.1e}", partial(solve, rtol)))
    rows = race(f"{title}: {p.start.size} unknowns", contenders, error, rounds=rounds, warm=False)
    ours, best = rows[0], min((row for row in rows[1:] if "dynsim" not in row.name), key=lambda row: row.seconds)
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"  RKC2 is {best.seconds / ours.seconds:.1f} x as fast as {best.name} (aim {aim:g}); load {load}")
    return rows


MEMORY = """
from tests.quality.benchmarks.prototypes import RKC2, dynsim, problem
p = problem({n}, 10, 32, 64, temperature=20.0, end=0.002)
dynsim(p, RKC2(), 1e-2)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak * 1024)  # of this program alone: `getrusage` counts the process that started it, too
"""


def memory(sizes: tuple[int, ...] = (2_000, 20_000, 80_000)) -> dict[str, float]:
    """Print and return the peak memory for growing numbers of data, in bytes for each float of N (d + m + K)."""
    peaks = {n: float(in_fresh_process(MEMORY.format(n=n))) for n in sizes}
    base = min(sizes)
    found = {}
    for n in sizes[1:]:
        each = (peaks[n] - peaks[base]) / ((n - base) * (64 + 32 + 10))
        found[str(n)] = each / 8
        print(f"  N = {n}: {peaks[n] / 2**20:.0f} MiB at most, {each / 8:.2f} floats for each of N (d + m + K)")
    return found


def everything(rounds: int, *, quick: bool = False) -> dict[str, object]:
    """Race at the size of 168 unknowns and at the full one, and measure memory."""
    # Threads of BLAS and PyTorch wait by spinning: on a busy machine set all `..._NUM_THREADS` to 1, or NumPy crawls.
    threads = int(os.environ.get("OMP_NUM_THREADS", cores()))
    small = problem(200, 8, 8, 13, temperature=10.0)
    found = {
        "small": [row._asdict() for row in race_flow("coupled, N = 200", small, rounds=rounds, aim=3, threads=threads)]
    }
    if quick:
        return found
    large = problem(2000, 10, 32, 64, temperature=20.0)
    found["large"] = [
        row._asdict() for row in race_flow("coupled, N = 2000", large, rounds=rounds, aim=4, threads=threads)
    ]
    return {**found, "memory": memory()}

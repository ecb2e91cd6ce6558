"""Ensembles of small systems on a processor: lanes beside `vmap` of diffrax and a loop over `solve_ivp`."""

import time
from collections.abc import Callable
from typing import Any

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from dynsim.integrators import Diffrax
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.base import FunctionFlow
from tests.quality.benchmarks.harness import Contender, race

WEIGHTS = np.random.default_rng(1).normal(size=(12, 12)) / np.sqrt(12) * 1.5


def van_der_pol(t: Any, y: Any, xp: Any = jnp) -> Any:
    """Return the velocity for mu = 2."""
    return xp.stack([y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]])


def lorenz(t: Any, y: Any, xp: Any = jnp) -> Any:
    """Return the velocity of the Lorenz system."""
    return xp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def network(t: Any, y: Any, xp: Any = jnp) -> Any:
    """Return the velocity of twelve rate units."""
    return -y + xp.tanh(xp.asarray(WEIGHTS).astype(y.dtype) @ y)


CASES = {"van der Pol": (van_der_pol, 2, 10.0), "Lorenz": (lorenz, 3, 2.0), "12 rate units": (network, 12, 20.0)}


def by_vmap(field: Callable[..., Any], ts: Any, rtol: float, atol: float, longest: float | None = None) -> Any:
    """Compile `vmap` of `diffeqsolve`, as a user would write it, for states and numbers of steps."""

    def one(y: Any) -> Any:
        control = dfx.PIDController(rtol=rtol, atol=atol, dtmax=longest)
        found = dfx.diffeqsolve(
            dfx.ODETerm(lambda t, y, args: field(t, y)), dfx.Tsit5(), ts[0], ts[-1], None, y,
            stepsize_controller=control, saveat=dfx.SaveAt(ts=ts), max_steps=100_000, throw=False,
        )  # fmt: skip
        return found.ys, found.stats["num_steps"]

    return jax.jit(jax.vmap(one))


def by_solve_ivp(field: Callable[..., Any], ts: np.ndarray, rtol: float, atol: float, y0s: np.ndarray) -> np.ndarray:
    """Solve one member after another with SciPy's RK45."""
    rhs = lambda t, y: field(t, y, np)
    found = [solve_ivp(rhs, (ts[0], ts[-1]), y, "RK45", ts, rtol=rtol, atol=atol).y.T for y in y0s]
    return np.stack(found)


def everything(rounds: int, *, quick: bool = False) -> dict[str, Any]:
    """Race on every case in both precisions; the loop over `solve_ivp` solves a twentieth of the members, once."""
    members, found = (40 if quick else 1000), {}
    for name, (field, size, end) in CASES.items():
        y0s = np.random.default_rng(0).normal(size=(members, size)) + 1
        ts = np.linspace(0.0, end, 11)
        exact = np.asarray(by_vmap(field, ts, 1e-12, 1e-13)(y0s[:20])[0])
        error = lambda y, exact=exact: float(np.max(np.abs(np.asarray(y)[:20] - exact)))
        for dtype, rtol, aims in ((np.float64, 1e-8, 3.0), (np.float32, 1e-5, 5.0)):
            flow, starts, solver = FunctionFlow(field), y0s.astype(dtype), Diffrax(rtol=rtol, atol=rtol / 100)
            state = lambda t, x: x
            ours = lambda flow=flow, starts=starts, solver=solver, ts=ts, state=state: (
                ensemble(flow, starts, ts, state, integrator=solver, shown=False).values
            )
            theirs = by_vmap(field, ts.astype(dtype), rtol, rtol / 100)
            title = f"{members:,} members, {name}, {np.dtype(dtype).name}, rtol {rtol:g}"
            contenders = [
                Contender("vmap of diffeqsolve", lambda theirs=theirs, starts=starts: theirs(starts)[0]),
                Contender("ensemble", ours, aims),
            ]
            found[title] = [row._asdict() for row in race(title, contenders, error, rounds=rounds)]
        few = max(2, members // 20)
        begin = time.perf_counter()
        values = by_solve_ivp(field, ts, 1e-8, 1e-10, y0s[:few])
        seconds = (time.perf_counter() - begin) * members / few
        ours_seconds = found[f"{members:,} members, {name}, float64, rtol 1e-08"][1]["seconds"]
        ratio = seconds / ours_seconds
        print(f"loop over solve_ivp: {seconds:.2f} s, error {error(values[:20]):.1e}: {ratio:.0f} times")
        found[f"solve_ivp, {name}"] = {"seconds": seconds, "ratio": ratio}
    return found

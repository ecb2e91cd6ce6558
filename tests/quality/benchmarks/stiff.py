"""Problems of the IVP test set: `Scipy("Radau")` on a JAX function against SciPy's Radau on one for NumPy."""

import functools
import time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import diags_array

from dynsim.integrators import Scipy
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import FunctionFlow
from tests.quality.benchmarks.harness import Contender, race
from tests.simulation import test_ivp_test_set as problems


def pollution(t, y):
    return problems.CHANGES @ (np.array(problems.RATES) * np.prod(np.append(y, 1.0)[problems.USED], axis=1))


def medakzo(t, y, fed):
    u, v = y[::2], y[1::2]
    place = np.arange(1, 201) / 200 - 1
    left, right = np.append(fed, u[:-1]), np.append(u[1:], u[-1])
    along, across = place**3 / 8 * (right - left) * 100, place**4 / 16 * (left - 2 * u + right) * 200**2
    return np.stack([along + across - 100 * u * v, -100 * u * v], axis=1).ravel()


def published(name: str) -> tuple[Any, ...]:
    """Function for JAX, start, end and error of a problem with published final values."""
    rhs, start, end, _, reference = problems.PROBLEMS[name]
    return rhs, np.array(start, float), end, lambda y: float(np.max(np.abs(y[: len(reference)] / reference - 1)))


def e5_error(y: np.ndarray) -> float:
    """Relative error of the sum of two components, of which the published digits are certain."""
    return abs(float(y[1] + y[2]) / (0.8867655517642120e-22 + 0.8854814626268838e-22) - 1)


def medakzo_error(y: np.ndarray) -> float:
    """Relative error of four published components."""
    reference = [0.2339942217046434e-3, 0.3576835958481664e-3, 0.3085949832350532e-3, 0.1173741304462833e-3]
    return float(np.max(np.abs(y[[78, 132, 170, 198]] / reference - 1)))


CASES = {
    "HIRES": (problems.hires, published("HIRES"), 1e-7, 1e-9),
    "VDPOL": (problems.vdpol, published("VDPOL"), 1e-7, 1e-9),
    "OREGO": (problems.orego, published("OREGO"), 1e-7, 1e-9),
    "ROBER": (problems.rober, published("ROBER"), 1e-7, 1e-20),
    "Pollution": (pollution, published("Pollution"), 1e-7, 1e-20),
    "E5": (problems.e5, (problems.e5, np.array([1.76e-3, 0.0, 0.0, 0.0]), 1e13, e5_error), 1e-7, 1e-28),
}


def ours(rhs, start, end, rtol, atol):
    """Solve with dynsim."""
    run = simulate(FunctionFlow(rhs), start, [0.0, end], integrator=Scipy("Radau", rtol, atol))
    return np.asarray(run.final)


def theirs(rhs, start, end, rtol, atol):
    """Solve with SciPy."""
    return solve_ivp(rhs, (0.0, end), start, "Radau", rtol=rtol, atol=atol).y[:, -1]


def medakzo_by_scipy(start, rtol, atol, sparsity=None):
    """Solve with SciPy in two parts, between which the field jumps."""
    for begin, end, fed in ((0.0, 5.0, 2.0), (5.0, 20.0, 0.0)):
        options = {"rtol": rtol, "atol": atol, "jac_sparsity": sparsity, "args": (fed,)}
        start = solve_ivp(medakzo, (begin, end), start, "Radau", **options).y[:, -1]
    return start


def everything(rounds: int, *, quick: bool) -> dict[str, Any]:
    """Race on every problem, in CPU time."""
    found = {}
    for name, (rhs, (for_jax, start, end, error), rtol, atol) in CASES.items():
        contenders = [
            Contender("SciPy, a Python function", functools.partial(theirs, rhs, start, end, rtol, atol)),
            Contender("dynsim, Radau", functools.partial(ours, for_jax, start, end, rtol, atol), 1.0),
        ]
        rows = race(f"{name}, rtol {rtol:g}", contenders, error, rounds=rounds, clock=time.process_time)
        found[name] = [row._asdict() for row in rows]
        if quick:
            return found
    start = np.tile([0.0, 1.0], 200)
    sparsity = diags_array([1.0] * 5, offsets=[-2, -1, 0, 1, 2], shape=(400, 400))
    contenders = [
        Contender("SciPy, NumPy", functools.partial(medakzo_by_scipy, start, 1e-6, 1e-9)),
        Contender("SciPy, NumPy, `jac_sparsity`", functools.partial(medakzo_by_scipy, start, 1e-6, 1e-9, sparsity)),
        Contender("dynsim, Radau", functools.partial(ours, problems.medakzo, start, 20.0, 1e-6, 1e-9), 1.0),
    ]
    rows = race("Medakzo, rtol 1e-6", contenders, medakzo_error, rounds=rounds, clock=time.process_time)
    return {**found, "Medakzo": [row._asdict() for row in rows]}

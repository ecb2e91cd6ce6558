"""Large systems: a point of a branch by dense and by sparse algebra, and reaction and diffusion against SciPy's BDF."""

import functools
import time
from typing import Any
from unittest import mock

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import diags_array

from analysis.dynamics.continuation import large_equilibria
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from dynsim import FunctionFlow, Parameter, simulate, stiff
from tests.quality.benchmarks.harness import Contender, race

# Numbers of unknowns, and the largest one for which a point by dense algebra takes seconds and not hours.
SIZES, DENSE = (100, 1000, 10_000), 1000
# Number of points in each direction, and the range of the parameter.
POINTS, LOW, HIGH = 6, 0.5, 3.0
UNKNOWNS, END, RTOL, ATOL = 10_000, 2.0, 1e-6, 1e-8


def bratu(t, u, a):
    """Reaction of Bratu's problem, with a stable branch below its fold at 3.5138."""
    return jnp.diff(jnp.pad(u, 1), 2) * (len(u) + 1) ** 2 + a * jnp.exp(u)


def branch(size: int, least: int) -> tuple[float, np.ndarray]:
    """Return the CPU time of a point, and the middle of the states at the end of the branch."""
    parameter = Parameter(FunctionFlow(bratu, parameters={"a": 1.0}), "a", LOW, HIGH)
    with mock.patch.object(large_equilibria, "LARGE", least):
        begin = time.process_time()
        found = continue_equilibria(parameter, np.full(size, 0.1), steps=Steps(points=POINTS))
    return (time.process_time() - begin) / len(found.kinds), np.asarray(found.states)[-1, size // 2]


def points(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Time a point of Bratu's problem, compilation included once and left out the second time."""
    found = {}
    print("\nCPU time of a point of Bratu's problem")
    for size in sizes:
        ways = {"sparse": 64, **({"dense": 10**9} if size <= DENSE else {})}
        answers = {name: [branch(size, least) for _ in range(2)][1] for name, least in ways.items()}
        gap = float(np.ptp([answer[1] for answer in answers.values()]))
        found[str(size)] = {name: answer[0] for name, answer in answers.items()} | {"gap": gap}
        print(
            f"{size:7d} unknowns", *(f"{name} {answer[0]:.3f} s" for name, answer in answers.items()), f"gap {gap:.1e}"
        )
    return found


def spreading(xp: Any, t, u):
    """Fisher's equation on a line with fixed ends at 0."""
    return xp.diff(xp.pad(u, 1), 2) * 1e-4 * (len(u) + 1) ** 2 + u * (1 - u)


def theirs(start: np.ndarray) -> np.ndarray:
    """Solve with SciPy's BDF, which is given the pattern of the Jacobian."""
    n = len(start)
    pattern = diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(n, n))
    field = functools.partial(spreading, np)
    return solve_ivp(field, (0, END), start, "BDF", rtol=RTOL, atol=ATOL, jac_sparsity=pattern).y[:, -1]


def ours(flow: FunctionFlow, start: np.ndarray) -> np.ndarray:
    """Solve with `stiff()`, which finds the pattern itself."""
    return np.asarray(simulate(flow, start, [0.0, END], integrator=stiff(RTOL)).final)


def everything(rounds: int, *, quick: bool) -> dict[str, Any]:
    """Time points by dense and sparse algebra, and race against SciPy's BDF, in CPU time."""
    size = 400 if quick else UNKNOWNS
    x = np.linspace(0, 1, size)
    start = np.exp(-(((x - 0.5) / 0.1) ** 2))
    reference = solve_ivp(
        functools.partial(spreading, np), (0, END), start, "BDF", rtol=1e-9, atol=1e-11,
        jac_sparsity=diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(size, size)),
    ).y[:, -1]  # fmt: skip
    flow = FunctionFlow(functools.partial(spreading, jnp))
    contenders = [
        Contender("SciPy, BDF, `jac_sparsity`", functools.partial(theirs, start)),
        Contender("dynsim, `stiff()`", functools.partial(ours, flow, start), 1.0),
    ]
    error = lambda answer: float(np.max(np.abs(answer - reference)))
    rows = race(f"Fisher's equation, {size} unknowns", contenders, error, rounds=rounds, clock=time.process_time)
    found = {"points": points(SIZES[:1] if quick else SIZES)}
    return {**found, "fisher": [row._asdict() for row in rows]}

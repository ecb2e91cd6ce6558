"""Branches of equilibria and periodic orbits, warm, in CPU seconds, beside AUTO-07p and JaxCont where they are found.

`AUTO_PYTHON` names a Python with `bifpy` and gfortran, `JAXCONT_PYTHON` one with `jaxcont`; without them this one is
tried. Compiled models are AUTO's way, in Fortran.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import dynsim as ds
from analysis.dynamics import Steps, continue_equilibria, orbits_from_hopf
from tests.quality.benchmarks.harness import Row, show

CELLS = 30
PREDATORS = ds.system("x' = 3*x*(1-x) - x*y - q*(1 - exp(-5*x)); y' = -y + 3*x*y; q = 0")


def brusselator(t, u, length=0.06):
    """Return the velocities of the Brusselator in cells between fixed ends, two for each."""
    x, y = (jnp.concatenate([ends, u[k::2], ends]) for k, ends in enumerate(jnp.array([[2.0], [2.725]])))
    spread = lambda z: (z[:-2] - 2 * z[1:-1] + z[2:]) * (CELLS + 1) ** 2 / length**2
    fast = x[1:-1] ** 2 * y[1:-1]
    moved = 0.008 * spread(x) + fast - 6.45 * x[1:-1] + 2.0, 0.004 * spread(y) + 5.45 * x[1:-1] - fast
    return jnp.stack(moved, axis=1).ravel()


def _lorenz(low: float = 1.5, high: float = 1e3, points: int = 1000) -> Any:
    at = ds.Parameter(ds.catalogue.Lorenz(rho=1.5), "rho", low, high)
    side = (8 / 3 * 0.5) ** 0.5
    return continue_equilibria(at, [side, side, 0.5], steps=Steps(first=0.3, largest=0.3, points=points))


def _cycles() -> Any:
    hopf = _hopf(_lorenz(high=30.0))
    at = ds.Parameter(ds.catalogue.Lorenz(rho=1.5), "rho", 1.5, 30.0)
    return lambda: orbits_from_hopf(at, hopf, segments=4, steps=Steps(first=0.1, largest=0.5, points=100))


def _brusselator() -> Any:
    at = ds.Parameter(ds.FunctionFlow(brusselator, parameters={"length": 0.06}), "length", 0.06, 3.0)
    start = np.tile([2.0, 2.725], CELLS)
    return continue_equilibria(at, start, steps=Steps(first=0.02, largest=0.05, points=67))


def _hunted() -> Any:
    at = ds.Parameter(PREDATORS, "q", 0.0, 1.0)
    hopf = _hopf(continue_equilibria(at, [1 / 3, 2.0]))
    return lambda: orbits_from_hopf(at, hopf, max_period=36.0)


def _hopf(branch: Any) -> Any:
    return next(one for one in branch.bifurcations if one.kind == "Hopf point")


CASES: dict[str, tuple[Callable[[], Callable[[], Any]], float]] = {
    "lorenz": (lambda: _lorenz, 0.3), "cycles": (_cycles, 0.5), "brusselator": (lambda: _brusselator, 0.5),
    "predators": (_hunted, 0.5),
}  # fmt: skip
"""What is continued, and the CPU seconds that are aimed at."""


PEERS = {"AUTO-07p": ("AUTO_PYTHON", "by_auto.py"), "JaxCont": ("JAXCONT_PYTHON", "by_jaxcont.py")}
"""Who is raced: the variable that names a Python that has it, and the script that this runs."""


def by(name: str) -> dict[str, Any]:
    """Return the CPU seconds and points of a peer, by branch; nothing, with a reason, where it is absent."""
    variable, script = PEERS[name]
    python = os.environ.get(variable, sys.executable)
    path = str(Path(__file__).with_name(script))
    done = subprocess.run([python, path], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or "no message").splitlines()[-1]
        print(f"  {name} is left out: {reason}", file=sys.stderr)
        return {}
    return json.loads(done.stdout)


def everything(rounds: int, *, quick: bool) -> list[dict[str, Any]]:
    """Time all branches, and print the ratios of the times of others where they are known."""
    others: dict[str, Any] = {} if quick else {name: by(name) for name in PEERS}
    rows = []
    for name, (prepared, aim) in CASES.items():
        if quick and name != "lorenz":
            continue
        run = prepared()
        times = []
        found = run()
        for _ in range(1 if quick else max(rounds, 2)):
            begin = time.process_time()
            found = run()
            times.append(time.process_time() - begin)
        seconds = float(np.median(times))
        spread, counted = (max(times) - min(times)) / seconds, f"{name}: {len(found.parameters)} points"
        rows.append(Row(counted, seconds, spread, 0.0, 1.0, aim, counted))
        for peer in (one for one in others if name in others[one]):
            theirs = others[peer][name]
            of = f"{name}: {theirs['points']} points, {peer}"
            rows.append(Row(of, theirs["seconds"], 0.0, 0.0, seconds / theirs["seconds"], 0.0, "dynsim"))
    show("branches (CPU seconds; aims in seconds)", rows)
    return [row._asdict() for row in rows]

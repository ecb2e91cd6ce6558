"""Branches by JaxCont, as a script of a Python that has it: CPU seconds of a second call as JSON.

A second call traces and compiles again, as users see it: JaxCont keeps no program for a problem.
"""

import json
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxcont import ContinuationPar, Fold, Hopf, bif_problem, continuation

CELLS = 30


def lorenz(u, p, args):
    return jnp.array([10 * (u[1] - u[0]), u[0] * (p - u[2]) - u[1], u[0] * u[1] - 8 * u[2] / 3])


def brusselator(u, p, args):
    x, y = (jnp.concatenate([ends, u[k::2], ends]) for k, ends in enumerate(jnp.array([[2.0], [2.725]])))
    spread = lambda z: (z[:-2] - 2 * z[1:-1] + z[2:]) * (CELLS + 1) ** 2 / p**2
    fast = x[1:-1] ** 2 * y[1:-1]
    moved = 0.008 * spread(x) + fast - 6.45 * x[1:-1] + 2.0, 0.004 * spread(y) + 5.45 * x[1:-1] - fast
    return jnp.stack(moved, axis=1).ravel()


def timed(field: Any, start: Any, low: float, high: float, **more: Any) -> dict[str, Any]:
    """Continue equilibria twice: the CPU seconds and points of the second call."""
    problem, steps = bif_problem(field, jnp.asarray(start), low), ContinuationPar(**more)
    used, points = 0.0, 0
    for _ in range(2):
        begin = time.process_time()
        found = continuation(problem, p_span=(low, high), settings=steps, events=[Fold(), Hopf()])
        used, points = time.process_time() - begin, found.branch.n_valid
    return {"seconds": used, "points": points}


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    side = (8 / 3 * 0.5) ** 0.5
    cells = np.tile([2.0, 2.725], CELLS)
    found = {
        "lorenz": timed(lorenz, [side, side, 0.5], 1.5, 1e3, ds=0.3, ds_max=0.3, max_steps=1000),
        "brusselator": timed(brusselator, cells, 0.06, 3.0, ds=0.02, ds_max=0.05, max_steps=67),
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

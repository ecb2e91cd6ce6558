"""Where arrays lie if the first of two simulated devices plays the accelerator and the second the host: JSON.

A process of its own (`python -m tests.support.two_devices`), since the number of devices is fixed before JAX starts.
"""

import os

os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 {os.environ.get('XLA_FLAGS', '')}"

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.linearisation import tangent_jacobian
from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim._core import placement
from dynsim._core import settings as _settings  # noqa: F401
from dynsim.integrators import Scipy
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.base import FunctionFlow, FunctionMap

ACCELERATOR, HOST = jax.devices()
placement.host = lambda: HOST
TS = [0.0, 0.5]


def decay(t, x):
    return -x


def half(k, x):
    return x / 2


FLOW, MAP = FunctionFlow(decay), FunctionMap(half)


def at(*trees: Any) -> str:
    """Where the arrays lie, and whether they are bound to it."""
    leaves = [leaf for leaf in jax.tree.leaves(trees) if isinstance(leaf, jax.Array)]
    devices = {device for leaf in leaves for device in leaf.devices()}
    name = {frozenset({HOST}): "host", frozenset({ACCELERATOR}): "accelerator"}.get(frozenset(devices), "both")
    return name + (", bound" if any(leaf.committed for leaf in leaves) else "")


def images(x0: Any, **options: Any) -> str:
    path = iterate(MAP, x0, 2, **options)
    return at(path.ts, path.ys, path.stats, path.final, path.along(jnp.sum))


def at_of_ensemble(members: int, size: int, **options: Any) -> str:
    """Where an ensemble is solved in a loop of the host, which is placed there."""
    starts = np.ones((members, size))
    with placement.placed(0, None):
        run = ensemble(FLOW, starts, TS, lambda t, x: x[0], integrator=Scipy(), shown=False, **options)
    return at(run.ts, run.values, run.final, run.stats)


def refused(**options: Any) -> str:
    try:
        iterate(MAP, [1.0], 2, **options)
    except ValueError as error:
        return str(error)
    return "not refused"


def solves() -> dict[str, str]:
    large, small = np.ones(2_000), np.ones(3)
    path = simulate(FLOW, small, TS)
    found = {
        "flow": at(path.ts, path.ys, path.stats, path.final),
        "large flow": at(simulate(FLOW, large, TS, integrator=Scipy()).ys),
        "flow, by SciPy": at(simulate(FLOW, small, TS, integrator=Scipy()).ys),
        "flow, told": at(simulate(FLOW, small, TS, integrator=Scipy(), device=ACCELERATOR).ys),
        "ensemble": at_of_ensemble(2, 3),
        "large ensemble": at_of_ensemble(2, 1_000),
        "ensemble, told": at_of_ensemble(2, 3, device=ACCELERATOR),
        "small": images(small),
        "small, made on the accelerator": images(jnp.ones(3)),
        "large": images(large),
        "small, put on the accelerator": images(jax.device_put(small, ACCELERATOR)),
        "large, put on the host": images(jax.device_put(large, HOST)),
        "small, device='cpu:0'": images(small, device="cpu:0"),
        "put on the accelerator, device=HOST": images(jax.device_put(small, ACCELERATOR), device=HOST),
        "with an array of the accelerator": at(path.final + jnp.ones(3)),
        "said": str(path.stats),
    }
    with jax.default_device(ACCELERATOR):
        found["small, JAX's default set"] = images(small)
    os.environ[placement.VARIABLE] = "cpu:0"
    found["small, variable"] = images(small)
    found["small, variable, device=HOST"] = images(small, device=HOST)
    found["put on the host, variable"] = images(jax.device_put(small, HOST))
    found["report, variable"] = placement.report()
    os.environ[placement.VARIABLE] = "auto"
    found["small, variable=auto"] = images(small)
    os.environ[placement.VARIABLE] = "gpv"
    found["bad variable"] = refused()
    found["report, bad variable"] = placement.report()
    del os.environ[placement.VARIABLE]
    found["report"] = placement.report()
    return found


def traced() -> dict[str, Any]:
    """Inside of a traced call nothing is moved: its program runs where its arguments are."""
    ends = lambda x: iterate(MAP, x, 2).final
    x = jax.device_put(jnp.ones(3), ACCELERATOR)
    return {
        "in a program": at(jax.jit(ends)(x)),
        "in a vectorised program": at(jax.vmap(ends)(jnp.ones((2, 3)))),
        "slope": at(jax.grad(lambda x: jnp.sum(ends(x)))(x)),
    }


def nested() -> dict[str, Any]:
    """Which device new arrays are made on inside contexts, also those in other contexts and other threads."""
    new = lambda: at(jnp.zeros(1))
    small, large = np.zeros(3), np.zeros(3_000)
    found = {}
    with placement.placed(3, small):
        found["small"] = new()
        with placement.placed(3_000, large):
            found["large in small"] = new()
        with ThreadPoolExecutor(1) as pool:
            found["in another thread"] = pool.submit(new).result()
            found["carried to another thread"] = pool.submit(placement.carried(new)).result()
    with placement.placed(3, small, ACCELERATOR), placement.placed(3, small):
        found["small in one that is told"] = new()
    with placement.placed(3, (jnp.ones(2), jnp.asarray(2.0) * 1, jnp.asarray(1.0, jnp.float32), 3, "word")) as moved:
        found["moved"] = at(moved)
    with placement.placed(3, (weak := jnp.add(1.0, 1.0),)) as moved:
        found["weak type"] = [bool(weak.weak_type), bool(moved[0].weak_type), at(moved)]
    calls = []
    program = jax.jit(lambda x: calls.append(1) or x + 1)
    for _ in range(3):
        for size in (3, 3_000):
            with placement.placed(size, program):
                program(np.ones(size))
        with placement.placed(3, program), placement.placed(3_000, program):
            program(np.ones(3_000))
    found["traced"] = len(calls)
    return found


def workbench() -> dict[str, Any]:
    """A spectrum in a loop of the host makes no array on the accelerator."""
    seen = []
    held = placement.on_host_by_default(lambda flow, x: seen.append(at(jnp.zeros(1), x)))
    held(FLOW, jnp.ones(3))
    held(FLOW, jnp.ones(20_000))
    held(FLOW, jax.device_put(jnp.ones(3), ACCELERATOR))
    with jax.transfer_guard_device_to_device("disallow"):
        matrix = tangent_jacobian(FLOW, np.ones(2))
        found = lyapunov_spectrum(FLOW, np.ones(2), 40.0, rtol=1e-3)
    return {"held": seen, "matrix": np.diag(matrix).tolist(), "exponents": np.asarray(found.exponents).tolist()}


def main() -> None:
    pairs = lambda t, x: jnp.sum(jnp.sin(x[:, None] - x), axis=1)
    numbers = {
        "field of pairs": placement.step_numbers(lambda x: pairs(0.0, x), jnp.ones(50)),
        "within a loop": placement.step_numbers(
            lambda x: jax.lax.fori_loop(0, 3, lambda k, y: pairs(k, y), x), [1.0] * 60
        ),
        "not traceable": placement.step_numbers(lambda x: float(x[0]), np.ones(50)),
        "ragged": placement.step_numbers(jnp.sum, [[1.0] * 30, [2.0] * 31]),
    }
    bad = {
        "word": refused(device="cpx"), "not here": refused(device="tpu"), "number": refused(device="cpu:2"),
        "object": refused(device=3), "digits": refused(device="cpu:one"),
    }  # fmt: skip
    found = {"solves": solves(), "traced": traced(), "nested": nested(), "workbench": workbench()}
    sys.stdout.write(json.dumps(found | {"numbers": numbers, "bad": bad}))


if __name__ == "__main__":
    main()

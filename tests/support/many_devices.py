"""One flow on eight simulated devices against the same flow on one: prints what it finds, as JSON.

A process of its own (`python -m tests.support.many_devices CASE ...`), since the number of devices is fixed before JAX
starts.
"""

import os

os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=8 {os.environ.get('XLA_FLAGS', '')}"  # as the tests

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core import settings as _settings  # noqa: F401
from dynsim._core.host import on_host
from dynsim.integrators import Diffrax, Stats
from dynsim.keys import random_key
from dynsim.simulation.run_files import load, rerun, save
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Ellipsoid, Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import AbstractInteraction, Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Window
from dynsim.systems.tokens.interactions.sharded import Sharded
from dynsim.systems.tokens.interactions.traffic import measured_traffic

N, D = 40, 3
TS = (0.0, 0.5, 1.0)


class Others(AbstractMask):
    """Every token attends to those of another parity: not reflexive, and some devices' tokens come first unseen."""

    def __call__(self, n: int) -> jax.Array:
        i = jnp.arange(n)
        return (i[:, None] + i[None]) % 2 == 1


def flow(mask: AbstractMask | None = None, space: Any = None, size: float = 2.0) -> TokenFlow:
    P, U = (jax.random.normal(random_key(11, name), (2, D, D)) for name in "PU")
    return TokenFlow(size * P, U, mask=mask, space=space)


CASES: dict[str, tuple[TokenFlow, AbstractInteraction]] = {
    "ring": (flow(), Blocked(3, 2)),
    "ring, causal": (flow(Causal()), Blocked(5, 5)),
    "ring, window, large scores": (flow(Window(9), size=1e3), Blocked(2, 3)),
    "ring, not reflexive": (flow(Others()), Blocked(3, 2)),
    "moments": (flow(), Harmonic(1e-13)),
    "moments, causal, ellipsoid": (flow(Causal(), Ellipsoid(np.eye(D) + 0.4)), Harmonic(1e-13)),
    "moments, differentiated": (flow(Causal()), Harmonic(1e-13)),
    "coarse moments": (TokenFlow(3 * np.eye(D)), Harmonic(0.04)),
    "coarse moments, causal": (TokenFlow(3 * np.eye(D), mask=Causal()), Harmonic(0.04)),
}
DIFFERENTIATED = ("ring", "moments, differentiated")
SIMULATED = ("ring", "moments")


@eqx.filter_jit
def field(flow: TokenFlow, x: jax.Array) -> jax.Array:
    return flow.vector_field(0.3, x)


@eqx.filter_jit
def slope(flow: TokenFlow, x: jax.Array) -> jax.Array:
    return jax.grad(lambda x: jnp.sum(jnp.sin(flow.vector_field(0.3, x))))(x)


def gap(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays, infinite if one has NaN where the other has not."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.nanmax(np.abs(a - b))) if np.array_equal(np.isnan(a), np.isnan(b)) else np.inf


def unsolved(flow: TokenFlow, *states: jax.Array) -> Trajectory:
    """Return a trajectory of given states, without an integration."""
    none, zero = np.asarray(0), np.asarray(0.0)
    ts = np.arange(float(len(states)))
    return Trajectory(ts, jnp.stack(states), flow, Stats(np.asarray(True), none, none, none, zero, zero), Diffrax())


def stored(path: Trajectory, *, again: bool) -> dict[str, Any]:
    """Return the interaction and the states of a file, whether these are saved to the bit, and the gap of a rerun."""
    own = ("tests/support/many_devices.py",)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        save(file, path)
        loaded: Any = load(file, trust=own)
        second: Any = rerun(file) if again else path
    same = np.array_equal(loaded.ys, path.ys, equal_nan=True) and loaded.ys.dtype == path.ys.dtype
    return {"loaded": type(loaded.system.interaction).__name__, "same": same, "rerun": gap(second.ys, path.ys)}


def _twice(xp: Any, x: Any) -> Any:
    """Return two copies of an array, the number of the copy first."""
    return xp.stack([x, x])


def compared(name: str, mesh: jax.sharding.Mesh) -> dict[str, Any]:
    flow, inner = CASES[name]
    way: Any
    many = flow.computed_by(Sharded(inner, mesh))
    one, way = flow.computed_by(inner if name.startswith("coarse") else Dense()), many.interaction
    x = flow.space.sample(random_key(11, "x"), (N, D))
    placed = way.placed(x)
    program = field.lower(many, placed).compile()
    found = program(many, placed)
    row = {
        "field": gap(found, field(one, x)),
        "unknown": int(np.sum(np.isnan(found[:, 0]))),
        "rows": [part.data.shape[0] for part in found.addressable_shards],
        "rows of two": [part.data.shape[1] for part in on_host(_twice, found).addressable_shards],
        "computed": way.traffic(many, x),
        "measured": measured_traffic(program.compiled.as_text()),
    }
    if name in DIFFERENTIATED:
        row["slope"] = gap(slope(many, placed), slope(one, x))
    row |= stored(unsolved(many, placed, found), again=False)
    if name in SIMULATED:
        path = simulate(many, placed, TS)
        row["path"] = gap(path.ys, simulate(one, x, TS).ys)
        row["path rows"] = [part.data.shape[1] for part in path.ys.addressable_shards]
        row |= stored(path, again=True)
    return row


def main(names: list[str]) -> None:
    warnings.simplefilter("error")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    mesh = jax.make_mesh((8,), ("tokens",))
    rows: dict[str, Any] = {name: compared(name, mesh) for name in names}
    x = Sphere().sample(random_key(11, "x"), (N + 1, D))
    many = flow().computed_by(Sharded(Blocked(), mesh))
    refused = []
    for call in (lambda: many.interaction.placed(x), lambda: simulate(many, x, TS)):  # pyright: ignore
        try:
            call()
        except ValueError as error:
            refused.append(str(error))
    sys.stdout.write(json.dumps({"cases": rows, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1:])

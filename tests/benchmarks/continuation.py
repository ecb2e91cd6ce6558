"""Branches of equilibria of tokens: a thousand points in sixty dimensions."""

import time

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.branches import Branch
from analysis.dynamics.continuation import continue_equilibria
from analysis.dynamics.equilibria import max_speed
from dynsim.keys import stream
from dynsim.simulation import simulate
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from tests.benchmarks.harness import Row, show

TOKENS, POINTS, AIM = 30, 1000, 20.0
BETA = lambda flow: flow.query_key.factor


def thousand_points(rounds: int) -> list[Row]:
    """Time a branch of equilibria of thirty tokens that repel each other on the sphere, against beta, once compiled.

    The value matrix has different eigenvalues, so that equilibria are isolated, in 60 dimensions. The error is the
    largest speed on the branch.
    """
    flow = TokenFlow(ScaledIdentity(1.0, 3), -jnp.diag(jnp.asarray([1.0, 0.8, 0.5]))[None])
    begun = flow.space.sample(stream(0, "tokens that repel"), (TOKENS, 3))
    start = simulate(flow, begun, [0.0, 1e3, 1e4]).final
    size = 0.2

    def branch(points: int):
        return continue_equilibria(flow, BETA, start, (-1e3, 1e3), step=size, max_step=size, max_points=points)

    branch(2)
    times, error = [], 0.0
    for _ in range(max(1, rounds)):
        begin = time.perf_counter()
        found = branch(POINTS // 2)
        times.append(time.perf_counter() - begin)
        error = worst(flow, found)
    seconds = float(np.median(times))
    name = f"{len(found.parameters)} points, {found.eigenvalues.shape[1]} dimensions"
    row = Row(name, seconds, (max(times) - min(times)) / seconds, error, AIM / seconds, 1.0, "20 s")
    show("continuation of tokens in beta", [row])
    return [row]


def worst(flow: TokenFlow, found: Branch) -> float:
    """Return the largest speed on a branch."""
    speeds = [
        max_speed(eqx.tree_at(BETA, flow, jnp.full(1, parameter)), jnp.asarray(state))
        for state, parameter in zip(found.states[::50], found.parameters[::50], strict=True)
    ]
    return float(np.max(speeds))

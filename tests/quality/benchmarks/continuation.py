"""Branches of equilibria of tokens: a thousand points in sixty dimensions."""

import time

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.newton import max_speed
from dynsim.systems.parameter import Parameter
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from tests.quality.benchmarks.harness import Row, show

TOKENS, POINTS, AIM = 30, 1000, 20.0
BETA = lambda flow: flow.query_key.factor


def thousand_points(rounds: int) -> list[Row]:
    """Time a branch of two antipodal clusters of thirty tokens on the sphere, against beta, once compiled.

    The value matrix has different eigenvalues, so that the clusters, at its first eigenvector and opposite, are an
    isolated equilibrium in 60 dimensions. The state stays, its eigenvalues do not. The error is the largest speed.
    """
    flow = TokenFlow(ScaledIdentity(1.0, 3), jnp.diag(jnp.asarray([1.0, 0.6, 0.3]))[None])
    side = jnp.where(jnp.arange(TOKENS) < TOKENS // 3, -1.0, 1.0)
    start = side[:, None] * jnp.asarray([[1.0, 0.0, 0.0]])
    size = 0.02

    def branch(points: int):
        return continue_equilibria(
            Parameter(flow, BETA, -1e3, 1e3), start, steps=Steps(first=size, largest=size, points=points)
        )

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

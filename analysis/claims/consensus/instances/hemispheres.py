"""Flows (11) on random ellipsoids, tokens in a hemisphere, of which some have the same v^T y, and their distances."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.modulated_heads import modulated_heads
from analysis.ledger.evidence import SOLVER, Measurement, at_most
from dynsim._core.types import Key
from dynsim.spaces import Ellipsoid
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import TokenFlow, identity_value_flow

D, HEADS = 3, 2
IDENTITIES = np.stack([np.eye(D)] * HEADS)
"""The value matrices of (11)."""


def random_metric(key: Key) -> np.ndarray:
    """Return a random W with eigenvalues of at least 0.3."""
    A = np.asarray(jax.random.normal(key, (D, D)))
    return A @ A.T / D + 0.3 * np.eye(D)


def random_flow(key: Key) -> tuple[TokenFlow, Modulated, np.ndarray]:
    """Return a flow (11), its bounded and uniformly continuous P_h(t), and the matrix W of its ellipsoid."""
    a, b = jax.random.split(key)
    P, W = modulated_heads(b, HEADS, D), random_metric(a)
    return identity_value_flow(P, space=Ellipsoid(W)), P, W


def longest_semi_axis(W: np.ndarray) -> float:
    """Return K, the largest norm of a point of the ellipsoid of W."""
    return float(1 / np.sqrt(np.linalg.eigvalsh(W)[0]))


def in_hemisphere(key: Key, W: np.ndarray, n: int) -> tuple[jax.Array, jax.Array]:
    """Return a random point v of the ellipsoid and n random tokens in its open hemisphere v^T y > 0."""
    a, b = jax.random.split(key)
    v = Ellipsoid(W).sample(a, (1, D))[0]
    x = Ellipsoid(W).sample(b, (n, D))
    return v, x * jnp.sign(x @ v)[:, None]


def at_height(W: np.ndarray, v: jax.Array, height: float, directions: jax.Array) -> jax.Array:
    """Return points y of the ellipsoid with v^T y = `height`, one for each direction (m, d)."""
    lift = jnp.linalg.solve(W, v)
    across = directions - jnp.outer(directions @ v, lift) / (v @ lift)  # v^T y = 0
    sizes = jnp.sqrt(jnp.sum((across @ W) * across, axis=1))
    room = jnp.sqrt(1 - height**2 / (v @ lift))
    return height * lift[None] / (v @ lift) + room * across / sizes[:, None]


def near_the_boundary(key: Key, W: np.ndarray, v: jax.Array, x: jax.Array, height: float) -> jax.Array:
    """Return the tokens with the first two of them (or all, if fewer) replaced by tokens with v^T y = `height`."""
    return x.at[:2].set(at_height(W, v, height, jax.random.normal(key, (2, D))[: len(x)]))


def chord(what: str, value: Any, bound: Any) -> Measurement:
    """Measure that a distance of points on the unit sphere is at most a bound, up to the error of a trajectory."""
    return at_most(what, value, bound, tolerance=SOLVER, within=(0, 2))

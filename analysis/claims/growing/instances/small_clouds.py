"""Growing systems of one shape, so that one compiled program serves all runs: few tokens, M_a with given values."""

from typing import Any

import numpy as np

from analysis.claims.growing.instances.rational_heads import rotation
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.simulation.growing import simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.residual import dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.losses import PrototypeLoss

TOKENS, DIMENSION, CAPACITY, PROTOTYPES = 8, 6, 4, 3
TIMES = 9  # at which states are saved


def with_values(key: Key, values: Any) -> np.ndarray:
    """Return a rotated antisymmetric matrix with these values, one for each pair."""
    R, m = rotation(numpy_rng(key, "rotation")).astype(float), np.zeros((DIMENSION, DIMENSION))
    for k, s in enumerate(values):
        m += s * (np.outer(R[2 * k + 1], R[2 * k]) - np.outer(R[2 * k], R[2 * k + 1]))
    return m


def growing_system(
    key: Key,
    values: Any,
    *,
    width: float,
    rates: tuple[float, float] = (0.05, 5.0),
    release: str = "release",
    **rules: Any,
) -> GrowingFlow:
    """Return a flow without heads; tokens of standard deviation `width`, rates of prototypes and temperatures."""
    z = width * numpy_rng(key, "tokens").normal(size=(TOKENS, DIMENSION))
    given = GrowthRules(capacity=CAPACITY, prototypes=PROTOTYPES, release=release, **rules)
    loss = PrototypeLoss("full", reduction="mean")
    given_rates = dict(zip(("prototype_rate", "temperature_rate"), rates, strict=True))
    return GrowingFlow(z, with_values(key, values), rules=given, loss=loss, **given_rates)


def run(flow: GrowingFlow, until: float, integrator: AbstractIntegrator, **options: Any) -> HybridTrajectory:
    """Return the run from no head to a time."""
    times = np.linspace(0.0, until, TIMES)
    return simulate_growing(flow, flow.start(random_key(0, "start")), times, integrator=integrator, **options)


def random_values(rng: np.random.Generator) -> np.ndarray:
    """Return decreasing values for the pairs of M_a, at least a tenth apart, the last one at least a tenth."""
    return np.cumsum(rng.uniform(0.1, 1.0, DIMENSION // 2))[::-1]


def rows_of_planes(m: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random unit vector of the plane of each pair of an antisymmetric matrix, in decreasing order."""
    angles = rng.uniform(0, 2 * np.pi, len(m) // 2)
    turned = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    planes = np.zeros((0, len(m)))
    for _ in turned:
        planes = np.concatenate([planes, dominant_plane(residual_matrix(m, planes))])
    return np.einsum("pi,pid->pd", turned, planes.reshape(-1, 2, len(m)))


def spectral_gap(a: np.ndarray) -> float:
    """Return the difference of the first two values of an antisymmetric matrix, each pair counted once."""
    return dominant_value(a) - dominant_value(residual_matrix(a, dominant_plane(a)))


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """Return orthonormal rows that span independent rows."""
    return np.linalg.qr(rows.T)[0].T

"""Measure a bank of prototypes along a trajectory: entropy, separation, variance, utilisation, covariance."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar, State
from dynsim._core.validation import instance
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import (
    Embeddings,
    Prototypes,
    assignments,
    entropy,
    prototype_variance,
    separation,
    utilisation,
)
from dynsim.systems.prototypes.descent import DescentMap
from dynsim.systems.prototypes.flow import CoupledFlow, PrototypeFlow


class Bank(NamedTuple):
    r"""Measures of prototypes and embeddings at one time; along a trajectory with a first axis of times.

    Attributes:
        entropy: entropy H in nats, at most log K.
        separation: S, the smallest squared distance of two prototypes.
        variance: V / N, the variance of the prototypes under the assignments of an embedding, averaged.
        spread: mean squared distance of the prototypes from their mean.
        utilisation: share of the prototypes with a mean assignment above a threshold.
        covariance: covariance of the embeddings, divided by n. It vanishes where the encoder collapses, which can
            happen while prototypes are separate and in use.
    """

    entropy: Array
    separation: Array
    variance: Array
    spread: Array
    utilisation: Array
    covariance: Array

    __repr__ = one_line
    __str__ = report


@checked
def bank_measures(z: Embeddings, p: Prototypes, temperature: Scalar, threshold: float = 0.01) -> Bank:
    """Measure prototypes and embeddings at a temperature, in JAX.

    Args:
        z: embeddings, (n, m).
        p: prototypes, (k, m).
        temperature: temperature T > 0, in the unit of a squared length.
        threshold: mean assignment above which a prototype counts as used.

    Example:
        >>> import jax.numpy as jnp
        >>> from analysis.prototypes import bank_measures
        >>> bank = bank_measures(jnp.array([[1.0], [1.0]]), jnp.array([[0.0], [2.0]]), jnp.array(1.0))
        >>> round(float(bank.entropy), 4), float(bank.separation), float(bank.variance), float(bank.utilisation)
        (0.6931, 4.0, 1.0, 1.0)
    """
    q = assignments(z, p, temperature)
    return Bank(
        entropy(q),
        separation(p),
        prototype_variance(z, p, temperature) / z.shape[0],
        jnp.mean(jnp.sum((p - jnp.mean(p, axis=0)[None]) ** 2, axis=1)),
        utilisation(q, threshold),
        covariance(z),
    )


def covariance(z: Embeddings) -> Float[Array, "m m"]:
    """Compute the covariance of the embeddings, divided by their number n and not by n - 1."""
    away = z - jnp.mean(z, axis=0)[None]
    return away.T @ away / z.shape[0]


@checked
def bank_along(path: Trajectory, threshold: float = 0.01) -> Bank:
    """Measure the bank at each time of a trajectory of a `PrototypeFlow` or `CoupledFlow`, at its temperature.

    Args:
        path: the trajectory, from `simulate`, or from `iterate` with a `DescentMap`.
        threshold: mean assignment above which a prototype counts as used.

    Raises:
        ValueError: for a trajectory of another system.

    Example:
        >>> import dynsim as ds
        >>> from analysis.prototypes import bank_along
        >>> flow = ds.prototypes.PrototypeFlow([[1.0], [1.0]], 1.0)
        >>> bank = bank_along(ds.simulate(flow, [[0.0], [2.0]], [0.0, 0.1]))
        >>> bank.separation.shape, float(bank.separation[0])
        ((2,), 4.0)
    """
    system, ts = path.system, jnp.asarray(path.ts, float)
    if isinstance(system, DescentMap):
        system, ts = system.flow, system.epoch(ts)
    flow = instance("path", system, PrototypeFlow | CoupledFlow, "a trajectory of a flow of prototypes")
    return _measured(flow, ts, path.ys, threshold)


@eqx.filter_jit
def _measured(flow: Any, ts: Array, ys: State, threshold: float) -> Bank:
    measured = lambda t, x: bank_measures(flow.embed(x), flow.prototypes(x), flow.temperature(t), threshold)
    return jax.vmap(measured)(ts, ys)

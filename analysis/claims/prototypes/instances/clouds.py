"""Embeddings for claims on collapse and on trajectories: random clouds, and two clusters with prototypes between."""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, matrix
from analysis.prototypes.collapse import critical_temperature
from dynsim._types import Key
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

N, K, M = 6, 3, 2
MODES = ("frozen", "full")


class RationalCloud(NamedTuple):
    """Rational embeddings (n, m) that do not all coincide, and their exact covariance."""

    z: Exact
    covariance: Exact


def rational_cloud(key: Key) -> RationalCloud:
    """Return embeddings with random coordinates in halves, of which the first two are not the same."""
    rng = numpy_rng(key, "cloud")
    z = matrix(rng.integers(-4, 5, (N, M))) / 2
    z[0] = z[1] + np.array([Fraction(1), Fraction(0)], object)
    away = z - (np.sum(z, axis=0) / N)[None]
    return RationalCloud(z, away.T @ away / N)


def mode_of(key: Key) -> str:
    """Return a random mode of the gradient."""
    return str(numpy_rng(key, "mode").choice(MODES))


def cloud_flow(key: Key, heat: float, gradient: str, *, barrier: float = 0.0) -> tuple[PrototypeFlow, Array]:
    """Return the flow of three prototypes for a random cloud, and random prototypes of about its width.

    The temperature is `heat` times the critical one. Losses are means, and the rate is such that prototypes move
    towards the mean together at the rate one.
    """
    rng = numpy_rng(key, "cloud")
    z = rng.normal(size=(N, M)) * rng.uniform(0.7, 1.5, M)
    loss = PrototypeLoss(gradient, reduction="mean", barrier=barrier)
    T = heat * critical_temperature(z, PrototypeLoss(gradient))
    return PrototypeFlow(z, T, loss=loss, rate=K / 2), jnp.asarray(rng.normal(size=(K, M)))


class TwoClusters(NamedTuple):
    """Embeddings in two clusters (n, m) and the cluster means, (2, m)."""

    z: np.ndarray
    means: np.ndarray


def two_clusters(key: Key) -> TwoClusters:
    """Return three embeddings about each of two opposite centres in a random direction."""
    rng = numpy_rng(key, "clusters")
    angle = rng.uniform(0, 2 * np.pi)
    centre = rng.uniform(0.8, 1.2) * np.array([np.cos(angle), np.sin(angle)])
    z = np.concatenate([centre + 0.05 * rng.normal(size=(3, 2)), -centre + 0.05 * rng.normal(size=(3, 2))])
    return TwoClusters(z, np.stack([z[:3].mean(axis=0), z[3:].mean(axis=0)]))

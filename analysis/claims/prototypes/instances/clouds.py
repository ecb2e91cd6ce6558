"""Embeddings for claims on collapse and on trajectories: random clouds, and two clusters with prototypes between."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.evidence import Trial
from analysis.prototypes.collapse import critical_temperature
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.flow import CoupledFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

N, K, M = 6, 3, 2
RATIO = 1e-3
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


def in_some_mode(trial: Callable[[str], Trial]) -> Trial:
    """Return the trials of both modes as one that contradicts a claim only if both do, by the better conclusions."""
    trials = {mode: trial(mode) for mode in MODES}
    better = max(trials, key=lambda mode: trials[mode].worst.slack)
    return Trial(
        tuple(m for each in trials.values() for m in each.hypotheses),
        trials[better].conclusions,
        {mode: each.witness for mode, each in trials.items()},
        parameters={**trials[better].parameters, "mode": " and ".join(MODES)},
    )


def random_cloud(key: Key) -> np.ndarray:
    """Return normal embeddings (n, m), with another variance in each direction."""
    rng = numpy_rng(key, "cloud")
    return rng.normal(size=(N, M)) * rng.uniform(0.7, 1.5, M)


def slow_flow(z: np.ndarray, heat: float, gradient: str, *, barrier: float = 0.0) -> CoupledFlow:
    """Return the flow of prototypes and a slow linear encoder, whose inputs are embeddings at the start, W = 1.

    The temperature is `heat` times the critical one at the start. Losses are means, and the rate of the prototypes is
    one, so that two prototypes move towards the mean together at the rate one.
    """
    T = heat * critical_temperature(z, PrototypeLoss(gradient))
    loss = PrototypeLoss(gradient, reduction="mean", barrier=barrier)
    return CoupledFlow(z, LinearEncoder(M, M), T, loss=loss, encoder_rate=RATIO)


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

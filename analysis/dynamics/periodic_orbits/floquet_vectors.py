"""Floquet vectors along periodic orbits, and their mean squares, which normalise normal forms of cycles."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Inexact

# Numbers of Gauss-Legendre nodes in a segment that are tried in turn.
NODES = (6, 12, 24, 48, 96)
# Relative change of an integral with the number of nodes, below which it counts as converged.
CONVERGED = 1e-8
# Relative change with the last doubling above which it is not resolved, as over a spike much shorter than a segment.
RESOLVED = 1e-4


def along_orbit(
    vectors: Inexact[np.ndarray, "m n"],
    maps: Float[np.ndarray, "m n n"],
    velocities: Float[np.ndarray, "m n"],
    multiplier: complex,
    period: float,
) -> tuple[Inexact[np.ndarray, "m n"], complex]:
    """Complete critical vectors across the velocities of an autonomous flow to Floquet vectors; give the drift, too.

    Floquet vectors are taken to each other by the derivatives of the segments, the last one to a multiple of the first.
    For the multiplier 1 that holds in the time of the moved orbit, whose period changes: the images have a part along
    the velocity that grows with time. The drift is its rate.

    Args:
        vectors: the critical vectors at the nodes.
        maps: derivatives of the segments, from each node to the next one.
        velocities: those at the nodes.
        multiplier: the critical multiplier.
        period: the period.
    """
    ends, m = np.roll(velocities, -1, axis=0), len(vectors)
    targets = np.roll(vectors, -1, axis=0)
    targets[-1] = multiplier * targets[-1]
    gaps = np.einsum("kij,kj->ki", maps, vectors) - targets
    parts = np.sum(gaps * ends, axis=1) / np.sum(ends**2, axis=1)
    if multiplier == 1:
        first, drift = 0.0, -np.sum(parts) / period
        parts = parts + drift * period / m
    else:
        first, drift = np.sum(parts) / (multiplier - 1), 0.0
    shares = first + np.concatenate([[0.0], np.cumsum(parts)[:-1]])
    return vectors + shares[:, None] * velocities, drift


def mean_square(
    passed: Callable[[float], tuple[np.ndarray, np.ndarray]],
    vectors: Inexact[np.ndarray, "m n"],
    drift: complex,
    duration: float,
    sizes: Float[np.ndarray, " n"],
    *,
    phase: bool,
) -> float:
    """Integrate the squared norm of Floquet vectors over one period, divided by the period; NaN if it is not resolved.

    Args:
        passed: takes a share of a segment; gives the derivatives from all nodes to there, (m, n, n), and velocities.
        vectors: Floquet vectors at the nodes, with their drift.
        drift: rate at which a part along the velocity grows.
        duration: time of a segment.
        sizes: units of the coordinates, in which the norm is measured.
        phase: whether the part along the velocity that is a shift of the whole orbit is removed.
    """
    before = found = np.inf
    for count in NODES:
        places, weights = np.polynomial.legendre.leggauss(count)
        total = np.zeros(3)
        for share, weight in zip((places + 1) / 2, weights / 2, strict=True):
            maps, speeds = passed(float(share))
            moved = np.einsum("kij,kj->ki", maps, vectors) + drift * share * duration * speeds
            moved, speeds = sizes * moved, sizes * speeds
            products = np.abs(moved) ** 2, np.real(moved) * speeds, speeds**2
            total += weight / len(vectors) * np.array([np.sum(part) for part in products])
        before, found = found, float(total[0] - (total[1] ** 2 / total[2] if phase else 0.0))
        if abs(found - before) <= CONVERGED * found:
            break
    return found if abs(found - before) <= RESOLVED * found else np.nan

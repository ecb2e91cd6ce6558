"""Recurrent sets that are neither equilibria nor periodic orbits: chaotic and quasiperiodic trajectories."""

import numpy as np
from scipy.spatial import KDTree

from analysis.dynamics.attractors.classification import CLOSE, Record
from analysis.dynamics.attractors.limit_set import LimitSet, with_principal_angles
from analysis.dynamics.flow_maps.time_map import states_of

PARTS = 16  # of half a trajectory: it recurs if each part is close to others


def recurrent_set(record: Record) -> LimitSet | None:
    """Return the set of the samples, if each half lies as closely to the other as to its own samples at other times.

    Distances are so those across a trajectory, not along it, and what drifts for a long time is no recurrent set.
    """
    halves = np.array_split(record.features / record.extent, 2)
    spacing = 0.0
    for one, other in (halves, halves[::-1]):
        cross = np.quantile(KDTree(one).query(other)[0], [0.5, 0.9, 0.99])
        if np.any(cross[[0, 2]] > 3 * np.quantile(_distances_at_other_times(one), [0.5, 0.99]) + CLOSE):
            return None
        spacing = max(spacing, float(cross[1]))
    states = states_of(record.time_map, record.states)
    found = LimitSet(
        "recurrent set", "undecided", states, record.features, float("nan"), np.empty(0, complex), spacing=spacing
    )
    return with_principal_angles(record.time_map, found)


def _distances_at_other_times(points: np.ndarray) -> np.ndarray:
    """Return the distances of the points of every other part of a trajectory from the parts between them."""
    parts = np.array_split(points, PARTS)
    return KDTree(np.concatenate(parts[::2])).query(np.concatenate(parts[1::2]))[0]

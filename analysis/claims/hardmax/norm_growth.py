"""How fast norms grow away from S: a constant that depends on K, delta and alpha alone, held against runs."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from analysis.claims.hardmax.instances.certified_limits import End, ended, tied
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.rational_instances import identity, matrix, rational_matrix
from analysis.ledger.evidence import ROUNDING, Trial, at_least, holds
from dynsim._types import Key

GRID = 600  # points on a side
LAYERS = 40


def growth_trial(key: Key, *, vertices_only: bool) -> Trial:
    """Measure whether tokens farther than delta from S, once they are near K, gain at least c in squared norm.

    Near the vertices and near the middles of faces alike; with `vertices_only` S is replaced by the vertices of K.
    """
    a, b = jax.random.split(key)
    found = tied(a, plain=True, dimension=2) if vertices_only or int(jax.random.randint(b, (), 0, 2)) else _shrinking(b)
    end = ended(found)
    if isinstance(end, Trial):
        return end
    alpha, S = float(found.alpha), np.asarray(end.candidates.points, float)
    delta = 0.35 * float(np.min([np.linalg.norm(s - t) for i, s in enumerate(S) for t in S[:i]]))
    width = delta**2 / (8 * float(np.max(np.linalg.norm(S, axis=1))))
    least = 2 * alpha / (1 + alpha) * _least_reach(end, S, delta, width)
    near = np.asarray(end.body.corners, float) if vertices_only else S
    states = np.asarray(end.states(LAYERS), float)
    first = next(k for k, x in enumerate(states) if np.all(_outside(end, x) <= width))
    gains = [
        float(after @ after - before @ before)
        for x, y in zip(states[first:-1], states[first + 1 :], strict=True)
        for before, after in zip(x, y, strict=True)
        if np.min(np.linalg.norm(near - before, axis=1)) > delta
    ]
    return Trial(
        hypotheses=(
            *end.measured(),
            at_least("c", least, 0.0, tolerance=ROUNDING),
            holds("some token is away from S after k_delta", bool(gains)),
        ),
        conclusions=(at_least("least gain in squared norm", min(gains, default=0.0), least, tolerance=ROUNDING),),
        witness={**found.witness(), "delta": delta, "k_delta": first},
    )


def _shrinking(key: Key) -> Case:
    """Return three leaders round the origin, A = I, one token beyond K, so that the hull shrinks, and more inside."""
    outer = matrix([[4, 0], [-3, 3], [-3, -3], [2, Fraction(9, 10)]])
    rows = dict.fromkeys(tuple(row) for row in np.concatenate([outer, rational_matrix(key, 6, 2)]) if any(row))
    return Case(matrix([list(row) for row in rows]), identity(2), Fraction(1, 7))


def _outside(end: End, x: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """Return how far points are beyond the farthest line of a facet of K, zero inside of K."""
    normals, offsets = np.asarray(end.body.normals, float), np.asarray(end.body.offsets, float)
    size = np.linalg.norm(normals, axis=1)
    return np.maximum(-np.min((x @ normals.T + offsets) / size, axis=1), 0.0)


def _least_reach(end: End, S: Any, delta: float, width: float) -> float:
    """Return a lower bound of max_l <v_l - x, x> over x within `width` of K and farther than delta from S.

    The least value on a grid, less what a Lipschitz constant allows between its points.
    """
    corners = np.asarray(end.body.corners, float)
    low, high = corners.min(axis=0) - width, corners.max(axis=0) + width
    axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
    x = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    step = float(np.hypot(*((high - low) / (GRID - 1)))) / 2  # no point is farther from the grid
    kept = x[_outside(end, x) <= width + step]
    kept = kept[np.min(np.linalg.norm(kept[:, None] - S, axis=2), axis=1) >= delta - step]
    steep = np.max(np.linalg.norm(corners - 2 * kept[:, None], axis=2), axis=1) + 2 * step  # of <v - x, x> near x
    return float(np.min(np.max(kept @ corners.T, axis=1) - np.sum(kept**2, axis=1) - steep * step))

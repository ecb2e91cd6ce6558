"""Growth of token norms away from S (Lemma 4.2): a constant computed from K, delta and alpha, compared with runs."""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from analysis.claims.hardmax.instances.certified_limits import CertifiedRun, certified_run, tied_case
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.rational_instances import identity, matrix, rational_matrix
from analysis.ledger.evidence import ROUNDING, Trial, at_least, holds
from dynsim._types import Key

GRID = 600  # points on each axis
LAYERS = 40  # over which the growth is measured


def growth_trial(key: Key, *, vertices_only: bool) -> Trial:
    """Measure whether tokens farther than delta from S gain at least c in squared norm per layer, once close to K.

    With `vertices_only` S is replaced by the vertices of K.
    """
    a, b = jax.random.split(key)
    given = (
        tied_case(a, with_identity=True, dimension=2)
        if vertices_only or int(jax.random.randint(b, (), 0, 2))
        else _shrinking(b)
    )
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    alpha, S = float(given.alpha), np.asarray(run.candidates.points, float)
    delta = 0.35 * float(np.min([np.linalg.norm(s - t) for i, s in enumerate(S) for t in S[:i]]))
    width = delta**2 / (8 * float(np.max(np.linalg.norm(S, axis=1))))
    least = 2 * alpha / (1 + alpha) * _least_reach(run, S, delta, width)
    near = np.asarray(run.body.vertex_points, float) if vertices_only else S
    states = np.asarray(run.states(LAYERS), float)
    first = next(k for k, x in enumerate(states) if np.all(_outside(run, x) <= width))
    gains = [
        float(after @ after - before @ before)
        for x, y in zip(states[first:-1], states[first + 1 :], strict=True)
        for before, after in zip(x, y, strict=True)
        if np.min(np.linalg.norm(near - before, axis=1)) > delta
    ]
    return Trial(
        hypotheses=(
            *run.measured(),
            at_least("constant c", least, 0.0, tolerance=ROUNDING),
            holds("some token is farther than delta from S after layer k_delta", bool(gains)),
        ),
        conclusions=(at_least("least gain in squared norm", min(gains, default=0.0), least, tolerance=ROUNDING),),
        witness={**given.witness(), "delta": delta, "k_delta": first},
    )


def _shrinking(key: Key) -> Case:
    """Return three leaders around the origin, a token outside K, so that the hull shrinks, and tokens inside; A = I."""
    outer = matrix([[4, 0], [-3, 3], [-3, -3], [2, Fraction(9, 10)]])
    rows = dict.fromkeys(tuple(row) for row in np.concatenate([outer, rational_matrix(key, 6, 2)]) if any(row))
    return Case(matrix([list(row) for row in rows]), identity(2), Fraction(1, 7))


def _outside(run: CertifiedRun, x: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
    """Return the largest distance of each point beyond the line of a facet of K, zero inside K."""
    normals, offsets = np.asarray(run.body.normals, float), np.asarray(run.body.offsets, float)
    size = np.linalg.norm(normals, axis=1)
    return np.maximum(-np.min((x @ normals.T + offsets) / size, axis=1), 0.0)


def _least_reach(run: CertifiedRun, S: Any, delta: float, width: float) -> float:
    """Return a lower bound of max_l <v_l - x, x> over x within `width` of K and farther than delta from S.

    It is the minimum over a grid less the Lipschitz constant times the distance to the nearest grid point.
    """
    corners = np.asarray(run.body.vertex_points, float)
    low, high = corners.min(axis=0) - width, corners.max(axis=0) + width
    axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
    x = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    step = float(np.hypot(*((high - low) / (GRID - 1)))) / 2  # the largest distance from a point to the grid
    kept = x[_outside(run, x) <= width + step]
    kept = kept[np.min(np.linalg.norm(kept[:, None] - S, axis=2), axis=1) >= delta - step]
    steep = np.max(np.linalg.norm(corners - 2 * kept[:, None], axis=2), axis=1) + 2 * step  # Lipschitz constant near x
    return float(np.min(np.max(kept @ corners.T, axis=1) - np.sum(kept**2, axis=1) - steep * step))

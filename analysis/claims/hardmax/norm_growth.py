"""Growth of token norms away from S (Lemma 4.2): a constant computed from K, delta and alpha, compared with runs."""

import itertools
from fractions import Fraction

import jax
import numpy as np
from jaxtyping import Float

from analysis.claims.hardmax.instances.certified_limits import CertifiedRun, certified_run, tied_case
from analysis.claims.hardmax.instances.clouds import ClusteringCase, distinct
from analysis.claims.hardmax.instances.zoo import posed
from analysis.claims.rational_instances import matrix, rational_matrix
from analysis.ledger.evidence import ROUNDING, Trial, at_least, holds
from dynsim._core.types import Key

LAYERS = 40  # over which the growth is measured
DEEPEST = 14  # halvings of a cube at most
MOST = 200_000  # cubes at a time at most
SHARES = (0.35, 0.2, 0.1)  # of the least distance of two points of S, or the largest norm if S is a point: delta
LINE = ((-1,), (Fraction(-1, 3),), (Fraction(1, 4),), (Fraction(1, 7),), (2,))

Points = Float[np.ndarray, "m d"]


def growth_trial(key: Key, *, vertices_only: bool) -> Trial:
    """Measure whether tokens farther than delta from S gain at least c in squared A-norm per layer, once close to K.

    All is measured in the coordinates y = B z, A = B^T B, in which A = I. With `vertices_only` S is replaced by the
    vertices of K.
    """
    given = _box(key) if vertices_only else _case(key)
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    alpha, S = float(given.alpha), _coordinates(run, run.candidates.points)
    apart = [np.linalg.norm(s - t) for i, s in enumerate(S) for t in S[:i]]
    shrinks = bool(np.any(_outside(run, _coordinates(run, given.tokens)) > 0))  # into K slowly: few layers are left
    share = SHARES[0 if shrinks else int(jax.random.randint(key, (), 0, len(SHARES)))]
    delta = share * float(np.min(apart, initial=np.max(np.linalg.norm(S, axis=1))))
    width = delta**2 / (8 * float(np.max(np.linalg.norm(S, axis=1))))
    least = 2 * alpha / (1 + alpha) * _least_reach(run, S, delta, width)
    near = _coordinates(run, run.body.vertex_points) if vertices_only else S
    states = np.stack([_coordinates(run, x) for x in run.states(LAYERS)])
    largest = float(np.max(np.sum(states**2, axis=2)))
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
        conclusions=(
            at_least(
                "least gain in squared norm",
                min(gains, default=0.0),
                least,
                tolerance=ROUNDING,
                within=(-largest, largest),
            ),
        ),
        witness={**given.witness(), "delta": delta, "k_delta": first},
        parameters={**run.parameters(), "delta": delta, "c": least},
    )


def _case(key: Key) -> ClusteringCase:
    """Return a case on a line, in the plane or in space, in the metric of a random A."""
    a, b = jax.random.split(key)
    kind = int(jax.random.randint(a, (), 0, 4))
    if kind == 0:
        scale = matrix([[Fraction(int(jax.random.randint(b, (), 2, 12)), 4)]])
        return posed(b, matrix(LINE) * scale, Fraction(1, 2))
    return _shrinking(b) if kind == 1 else _box(b)


def _box(key: Key) -> ClusteringCase:
    """Return tokens in ties, with a step that moves them in more than one layer."""
    return tied_case(key)._replace(alpha=Fraction(1, 2))


def _shrinking(key: Key) -> ClusteringCase:
    """Return three leaders around the origin, a token outside K, so that the hull shrinks, and tokens inside."""
    outer = matrix([[4, 0], [-3, 3], [-3, -3], [2, Fraction(9, 10)]])
    return posed(key, distinct(np.concatenate([outer, rational_matrix(key, 6, 2)])), Fraction(1, 7))


def _coordinates(run: CertifiedRun, x: np.ndarray) -> Points:
    """Return y = B z for tokens z, shape (m, d)."""
    return np.asarray(x @ run.case.factor.T, float)


def _outside(run: CertifiedRun, y: Points) -> Float[np.ndarray, " m"]:
    """Return the largest distance of each point beyond the hyperplane of a facet of K, zero inside K."""
    normals, offsets = np.asarray(run.body.normals, float), np.asarray(run.body.offsets, float)
    normals = normals @ np.linalg.inv(np.asarray(run.case.factor, float))
    size = np.linalg.norm(normals, axis=1)
    return np.maximum(-np.min((y @ normals.T + offsets) / size, axis=1), 0.0)


def _least_reach(run: CertifiedRun, S: Points, delta: float, width: float) -> float:
    """Return a lower bound of max_l <v_l - y, y> over y within `width` of K and farther than delta from S.

    By branch and bound: in a cube the maximum differs from that at the centre by at most a Lipschitz constant times the
    half diagonal. The bound is half of the least value found at a centre in the set; zero if it is not proved.
    """
    corners = _coordinates(run, run.body.vertex_points)
    low, high = corners.min(axis=0) - width, corners.max(axis=0) + width
    half, centres, best = float(np.max(high - low)) / 2, ((low + high) / 2)[None], np.inf
    signs = np.array(list(itertools.product((-1, 1), repeat=corners.shape[1])))
    for _ in range(DEEPEST):
        radius = half * corners.shape[1] ** 0.5
        beyond, far = _outside(run, centres), np.min(np.linalg.norm(centres[:, None] - S, axis=2), axis=1)
        met = (beyond <= width + radius) & (far >= delta - radius)
        centres, beyond, far = centres[met], beyond[met], far[met]
        value = np.max(centres @ corners.T, axis=1) - np.sum(centres**2, axis=1)
        best = min(best, np.min(value, initial=np.inf, where=(beyond <= width) & (far >= delta)))
        steep = np.max(np.linalg.norm(corners - 2 * centres[:, None], axis=2), axis=1) + 2 * radius
        centres = centres[value - steep * radius < best / 2]
        if not len(centres):
            return float(best) / 2
        if len(centres) * len(signs) > MOST:
            break
        half /= 2
        centres = (centres[:, None] + half * signs).reshape(-1, corners.shape[1])
    return 0.0

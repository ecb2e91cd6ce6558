"""Recursive bisection of cones of queries, keeping the tokens that can be best or second best in each.

In a cone with the generators $g_1, ..., g_d$ every query is $\\sum_k \\lambda_k g_k$ with $\\lambda \\ge 0$. A token v
dominates a token p there if $\\langle g_k, p \\rangle < \\langle g_k, v \\rangle$ for every k: its score is then larger
for every query in the cone. A token that is dominated by two tokens of different value is neither best nor second
best. No convex hull is computed, so flat, collinear and repeated tokens are not special cases: tokens that tie on an
edge or a face of the hull stay in the cones that contain its normal. If the tokens of a cone form a small cluster,
one of them is subtracted from all, so that the rounding error scales with the diameter of the cluster.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.leaves import Leaves, concatenated, scored
from dynsim.systems.hardmax.search.scores import EPSILON, Scores
from dynsim.systems.hardmax.search.ties import FollowerCandidates

DEEPEST = 30  # largest number of bisections of a cone
RECENTRED_EVERY = 4  # number of bisections after which the tokens of a cone are recentred
ENOUGH = 6  # a cone with at most this many tokens is not bisected
QUERIES = 12  # with at most this many queries, scoring them is cheaper than bisecting their cone
MANY = 2_000  # from this number of tokens on, those dominated by a sample are removed first
SHARE = 8  # one token in this many belongs to the sample
COARSE = {1: 0, 2: 2, 3: 3}  # number of bisections of the cones used with the sample, by dimension
SMALLEST_REACH = 2.0**-400  # squared norms of smaller vectors underflow
STEP = 2**12  # number of tokens compared with the sample at a time, to stay in the cache


class Cones(NamedTuple):
    """Simplicial cones, the tokens that may be best or second best in each, and the queries in each.

    Attributes:
        generators: cone c is spanned by the rows of `generators[c]`.
        origin: the point subtracted from the tokens of cone c.
        reach: the largest norm of these differences.
        starts: cone c holds the tokens `token[starts[c] : starts[c + 1]]`, in increasing order.
        token: the tokens of all cones, see `starts`.
        at: `at[p, k]` is the score of entry p of `token`, minus the origin, at generator k of its cone.
        query: indices of the queries.
        cone: query `query[i]` lies in cone `cone[i]`.
        weights: coefficients of query `query[i]` with respect to the generators.
    """

    generators: Float[np.ndarray, "c d d"]
    origin: Float[np.ndarray, "c d"]
    reach: Float[np.ndarray, " c"]
    starts: Int[np.ndarray, " bounds"]
    token: Int[np.ndarray, " pairs"]
    at: Float[np.ndarray, "pairs d"]
    query: Int[np.ndarray, " q"]
    cone: Int[np.ndarray, " q"]
    weights: Float[np.ndarray, "q d"]


class Margin(NamedTuple):
    """Score difference at unit generators beyond which domination is certain: part * reach + fixed."""

    part: float
    fixed: float


def near_best_by_cones(
    queries: Float[np.ndarray, "r d"],
    keys: Float[np.ndarray, "m d"],
    norm_bounds: Float[np.ndarray, " r"],
    margin: Margin,
) -> tuple[FollowerCandidates, Float[np.ndarray, " r"]]:
    """Find candidates and slack, as `near_best` does, from the tokens of each query's cone.

    The rows come in any order. `norm_bounds` are those of `Scores`.
    """
    cones = _orthants(keys, margin, queries)
    parts: list[tuple[FollowerCandidates, np.ndarray]] = []
    for depth in range(DEEPEST + 1):
        size = np.diff(cones.starts)
        count = np.bincount(cones.cone, minlength=len(size))
        split = (
            (size > ENOUGH) & (count > QUERIES) if depth < DEEPEST and keys.shape[1] > 1 else np.zeros(len(size), bool)
        )
        parts += scored(_leaves(cones, ~split), queries, keys, norm_bounds, margin.fixed)
        if not np.any(split):
            break
        cones = _some(cones, split)
        if depth % RECENTRED_EVERY == RECENTRED_EVERY - 1:
            cones = _pruned(_recentred(cones, keys), margin)
        cones = _pruned(_bisected(cones), margin)
    return concatenated(parts)


def margin_of(scores: Scores, rows: Int[np.ndarray, " r"] | slice) -> Margin:
    """Margin that covers the rounding errors of the scores of these queries and of `DEEPEST` bisections.

    The part `fixed` covers tokens that are rounded themselves, as indicated by `scores.equal`.
    """
    d, largest = scores.tokens.shape[1], scores.largest
    part = EPSILON * (16 * (d + 3) * float(np.max(scores.norm_bounds[rows] / scores.norms[rows])) + 16 * DEEPEST)
    return Margin(part, 0.0 if scores.equal is None else part * largest)


def possibly_best(tokens: Float[np.ndarray, "n d"], margin: Margin) -> Int[np.ndarray, " some"]:
    """A superset of the tokens that are best or second best for some query; all tokens if they are few."""
    n, d = tokens.shape
    return np.arange(n) if n < MANY else _undominated_by(tokens, tokens[:: max(SHARE, n // 4096)], COARSE[d], margin)


def _undominated_by(tokens: np.ndarray, sample: np.ndarray, depth: int, margin: Margin) -> Int[np.ndarray, " some"]:
    """Tokens that are not certainly dominated by two tokens of the sample in every cone."""
    directions, cones = _bisected_orthants(tokens.shape[1], depth)
    at = (directions @ sample.T)[cones.T]  # shape (d, cones, sample)
    reach = float(np.sqrt(np.max(np.einsum("nd,nd->n", tokens, tokens))))
    bounds = np.full(len(directions), np.inf)
    np.minimum.at(bounds, cones.T, domination_bounds(at, margin.part * reach + margin.fixed))
    kept, buffer = np.empty(len(tokens), bool), np.empty((len(directions), min(len(tokens), STEP)))
    for start in range(0, len(tokens), STEP):  # one reused buffer stays in the cache
        part = tokens[start : start + STEP]
        over = np.matmul(directions, part.T, out=buffer[:, : len(part)])
        over -= bounds[:, None]
        kept[start : start + STEP] = np.max(over, axis=0) >= 0
    return np.flatnonzero(kept)


def domination_bounds(at: Float[np.ndarray, "d c m"], margin: float) -> Float[np.ndarray, "d c"]:
    """Score bounds at the generators of each cone; a token below all of them is dominated by two tokens.

    `at[k, c]` are the scores of the m tokens at generator k of cone c. Domination is required by more than `margin`.
    The bounds are -inf where all tokens are equal.
    """
    middle, each = np.einsum("kcm->cm", at), np.arange(at.shape[1])
    first = np.argmax(middle, axis=1)
    middle = np.where(middle == middle[each, first][:, None], -np.inf, middle)  # equal tokens have equal sums
    second = np.argmax(middle, axis=1)
    least = np.minimum(at[:, each, first], at[:, each, second]) - margin
    return np.where(np.isinf(middle[each, second]), -np.inf, least)


@functools.cache
def _bisected_orthants(d: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthants bisected `depth` times: directions (directions, d), and cones (cones, d) as indices into them."""
    cones = _orthants(np.zeros((1, d)), Margin(0.0, 0.0), np.empty((0, d)))
    for _ in range(depth):
        cones = _bisected(cones)
    directions, which = np.unique(cones.generators.reshape(-1, d), axis=0, return_inverse=True)
    return directions, which.reshape(-1, d)


def _orthants(keys: np.ndarray, margin: Margin, queries: np.ndarray) -> Cones:
    """The $2^d$ orthants without their dominated tokens, and the queries in them."""
    (m, d), powers = keys.shape, 2 ** np.arange(keys.shape[1])
    signs = 1.0 - 2.0 * (np.arange(2**d)[:, None] // powers % 2)
    token = np.tile(np.arange(m), 2**d)
    at = (signs[:, None, :] * keys).reshape(-1, d)
    cone = (queries < 0) @ powers
    reach = np.full(2**d, np.sqrt(np.max(np.einsum("nd,nd->n", keys, keys))))
    tokens = np.zeros((2**d, d)), reach, m * np.arange(2**d + 1), token, at
    return _pruned(
        Cones(signs[:, :, None] * np.eye(d), *tokens, np.arange(len(queries)), cone, np.abs(queries)), margin
    )


def _recentred(cones: Cones, keys: np.ndarray) -> Cones:
    """The cones with one of their tokens as origin, where this makes the reach much smaller."""
    size = np.diff(cones.starts)
    place = keys[cones.token] - np.repeat(keys[cones.token[cones.starts[:-1]]], size, axis=0)
    reach = np.sqrt(np.maximum.reduceat(np.einsum("nd,nd->n", place, place), cones.starts[:-1]))
    nearer = (reach < cones.reach / 8) & (reach > SMALLEST_REACH)
    here = np.repeat(nearer, size)
    at = cones.at.copy()
    of = np.repeat(np.arange(len(size)), size)[here]
    at[here] = np.einsum("pd,pkd->pk", place[here], cones.generators[of])
    origin = np.where(nearer[:, None], keys[cones.token[cones.starts[:-1]]], cones.origin)
    return cones._replace(at=at, origin=origin, reach=np.where(nearer, reach, cones.reach))


def undominated(
    at: Float[np.ndarray, "d pairs"], starts: Int[np.ndarray, " bounds"], margin: Float[np.ndarray, "*c"] | float
) -> tuple[np.ndarray, np.ndarray]:
    """Mask of the tokens of each cone that two tokens of different value do not dominate, and the new `starts`.

    `at[k]` are the scores at generator k. Domination is required by more than `margin`, one number or one per cone.
    """
    bounds, size, place = starts[:-1], np.diff(starts), np.arange(at.shape[1])
    middle = np.einsum("kp->p", at)  # several times faster than `sum` over a short axis
    highest = middle == np.repeat(np.maximum.reduceat(middle, bounds), size)
    first = np.maximum.reduceat(np.where(highest, place, 0), bounds)
    middle = np.where(highest, -np.inf, middle)  # equal tokens have equal sums, so the next one differs in value
    top = np.maximum.reduceat(middle, bounds)
    second = np.maximum.reduceat(np.where(middle == np.repeat(top, size), place, 0), bounds)
    kept = np.zeros(len(place), bool)
    for scores in at:  # a loop, because `any` over a short axis is slow
        least = np.where(np.isinf(top), -np.inf, np.minimum(scores[first], scores[second]) - margin)
        kept |= scores >= np.repeat(least, size)
    return kept, np.concatenate([[0], np.cumsum(np.add.reduceat(kept, bounds, dtype=int))])


def _pruned(cones: Cones, margin: Margin) -> Cones:
    """The cones without the tokens that are dominated by two tokens of different value."""
    kept, starts = undominated(cones.at.T, cones.starts, margin.part * cones.reach + margin.fixed)
    return cones._replace(starts=starts, token=cones.token[kept], at=cones.at[kept])


def _bisected(cones: Cones) -> Cones:
    """Both halves of every cone, bisected at its widest angle: all first halves, then all second halves."""
    G, (c, d) = cones.generators, cones.generators.shape[:2]
    pairs = np.array([(i, j) for i in range(d) for j in range(i + 1, d)])
    cosines = np.stack([np.sum(G[:, i] * G[:, j], axis=1) for i, j in pairs], axis=1)
    i, j = pairs[np.argmin(cosines, axis=1)].T
    each = np.arange(c)
    length = np.linalg.norm(G[each, i] + G[each, j], axis=1)
    middle = (G[each, i] + G[each, j]) / length[:, None]
    generators = np.concatenate([G, G])
    generators[each, j], generators[c + each, i] = middle, middle
    size = np.diff(cones.starts)
    of, p = np.repeat(each, size), np.arange(len(cones.token))
    here = (cones.at[p, i[of]] + cones.at[p, j[of]]) / length[of]
    at = np.concatenate([cones.at, cones.at])
    at[p, j[of]], at[len(p) + p, i[of]] = here, here
    cone, weights = _sides(cones, i, j, length)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([size, size]))])
    origin, reach = np.concatenate([cones.origin] * 2), np.concatenate([cones.reach] * 2)
    return Cones(generators, origin, reach, starts, np.concatenate([cones.token] * 2), at, cones.query, cone, weights)


def _sides(cones: Cones, i: np.ndarray, j: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The half of the cone in which each query lies, and the coefficients of the query there.

    With $m = (g_i + g_j) / l$: $\\lambda_i g_i + \\lambda_j g_j = (\\lambda_i - \\lambda_j) g_i + l \\lambda_j m$.
    """
    c, weights = cones.cone, cones.weights.copy()
    one = weights.shape[1] == 2  # a cone with one edge only: indexing whole columns is faster
    at_i, at_j = ((slice(None), k) if one else (np.arange(len(c)), e[c]) for k, e in enumerate((i, j)))
    a, b = cones.weights[at_i], cones.weights[at_j]
    left, stretch = a >= b, length[c]
    weights[at_i] = np.where(left, a - b, stretch * a)
    weights[at_j] = np.where(left, stretch * b, b - a)
    return np.where(left, c, c + len(length)), weights


def _some(cones: Cones, chosen: np.ndarray) -> Cones:
    """The cones selected by the mask `chosen`, with their tokens and queries."""
    size = np.diff(cones.starts)
    pairs, inside = np.repeat(chosen, size), chosen[cones.cone]
    starts = np.concatenate([[0], np.cumsum(size[chosen])])
    number = (np.cumsum(chosen) - 1)[cones.cone[inside]]
    tokens = cones.origin[chosen], cones.reach[chosen], starts, cones.token[pairs], cones.at[pairs]
    return Cones(cones.generators[chosen], *tokens, cones.query[inside], number, cones.weights[inside])


def _leaves(cones: Cones, chosen: np.ndarray) -> Leaves:
    """The cones selected by the mask `chosen` as leaves, with their queries."""
    inside = chosen[cones.cone]
    return Leaves(cones.origin, cones.reach, cones.starts, cones.token, cones.query[inside], cones.cone[inside])

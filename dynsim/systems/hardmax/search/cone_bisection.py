"""Bisection of directions: cones of queries, each with the few tokens that can be best or second best in it.

In a cone with the generators $g_1, ..., g_d$ a query is $\\sum_k \\lambda_k g_k$ with $\\lambda \\ge 0$. A token p
scores less than v for all of them if $\\langle g_k, p \\rangle < \\langle g_k, v \\rangle$ for every k; a token that
two others of different value beat in this way is neither best nor second best there. No hull is formed, so that flat,
collinear and repeated tokens are no special cases: tokens that tie on an edge or a face stay in the cones that its
normal lies in. Where the tokens of a cone have become a small cluster, places are counted from one of them, so that the
rounding shrinks with it.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.leaves import Leaves, concatenated, scored
from dynsim.systems.hardmax.search.scores import EPSILON, Scores
from dynsim.systems.hardmax.search.ties import Candidates

DEEPEST = 30  # bisections
ZOOM = 4  # bisections after which the tokens of a cone are looked at from nearby
ENOUGH = 6  # tokens of a cone that need no further bisection: best, second best and those at its boundary
QUERIES = 12  # with fewer of them in a cone it costs more to bisect it than to score them
MANY = 2_000  # tokens from which a sample of them first removes those deep inside
SHARE = 8  # of the tokens are a sample
COARSE = {1: 0, 2: 2, 3: 3}  # bisections of the cones of a sample, by dimension
SMALLEST_REACH = 2.0**-400  # below it squares of lengths vanish
STEP = 2**12  # tokens held against a sample at a time


class Cones(NamedTuple):
    """Cones, the tokens that may be best or second best in each, and the queries that lie in it.

    `generators[c]` span cone c. Places are counted from `origin[c]` and at most `reach[c]` away. Its tokens are
    `token[starts[c] : starts[c + 1]]`, increasing, and `at[p, k]` is the score of such a token's place at generator k.
    Query i lies in cone `cone[i]`, with the coefficients `weights[i]`.
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
    """By how much a token must win at a unit generator to be certain to win: `part` of the reach, and `fixed`."""

    part: float
    fixed: float


def near_best_by_cones(
    queries: Float[np.ndarray, "r d"], keys: Float[np.ndarray, "m d"], sizes: Float[np.ndarray, " r"], margin: Margin
) -> tuple[Candidates, Float[np.ndarray, " r"]]:
    """Return what `near_best` returns, from the few tokens of each query's cone; rows may come in another order.

    `sizes` are those of `Scores`.
    """
    cones = _orthants(keys, margin, queries)
    parts: list[tuple[Candidates, np.ndarray]] = []
    for depth in range(DEEPEST + 1):
        size = np.diff(cones.starts)
        count = np.bincount(cones.cone, minlength=len(size))
        split = (
            (size > ENOUGH) & (count > QUERIES) if depth < DEEPEST and keys.shape[1] > 1 else np.zeros(len(size), bool)
        )
        parts += scored(_leaves(cones, ~split), queries, keys, sizes, margin.fixed)
        if not np.any(split):
            break
        cones = _some(cones, split)
        if depth % ZOOM == ZOOM - 1:
            cones = _pruned(_zoomed(cones, keys), margin)
        cones = _pruned(_bisected(cones), margin)
    return concatenated(parts)


def margin_of(scores: Scores, rows: Int[np.ndarray, " r"] | slice) -> Margin:
    """Return what covers the errors of scores of these queries at unit generators, and those of `DEEPEST` bisections.

    Where equal tokens are known from elsewhere the tokens themselves are rounded.
    """
    d, largest = scores.tokens.shape[1], scores.largest
    part = EPSILON * (16 * (d + 3) * float(np.max(scores.sizes[rows] / scores.norms[rows])) + 16 * DEEPEST)
    return Margin(part, 0.0 if scores.equal is None else part * largest)


def columns_within(tokens: Float[np.ndarray, "n d"], margin: Margin) -> Int[np.ndarray, " some"]:
    """Return the tokens that can be best or second best for any query, with some more; all of them if they are few."""
    n, d = tokens.shape
    return np.arange(n) if n < MANY else _outside(tokens, tokens[:: max(SHARE, n // 4096)], COARSE[d], margin)


def _outside(tokens: np.ndarray, sample: np.ndarray, depth: int, margin: Margin) -> Int[np.ndarray, " some"]:
    """Return which tokens are not certainly inside a sample: what a token of the sample beats, it beats among all."""
    directions, cones = _fan(tokens.shape[1], depth)
    at = (directions @ sample.T)[cones.T]  # (d, cones, sample)
    reach = float(np.sqrt(np.max(np.einsum("nd,nd->n", tokens, tokens))))
    bounds = np.full(len(directions), np.inf)
    np.minimum.at(bounds, cones.T, least_needed(at, margin.part * reach + margin.fixed))
    kept, room = np.empty(len(tokens), bool), np.empty((len(directions), min(len(tokens), STEP)))
    for start in range(0, len(tokens), STEP):  # in one piece of memory, which stays in the cache
        part = tokens[start : start + STEP]
        over = np.matmul(directions, part.T, out=room[:, : len(part)])
        over -= bounds[:, None]
        kept[start : start + STEP] = np.max(over, axis=0) >= 0
    return np.flatnonzero(kept)


def least_needed(at: Float[np.ndarray, "d c m"], room: float) -> Float[np.ndarray, "d c"]:
    """Return what a token must reach at some generator of a cone, lest two others beat it by `room` at all of them.

    `at[k, c]` are the scores of the same tokens for every cone at its generator k.
    """
    middle, each = np.einsum("kcm->cm", at), np.arange(at.shape[1])
    first = np.argmax(middle, axis=1)
    middle = np.where(middle == middle[each, first][:, None], -np.inf, middle)  # equal tokens have equal sums
    second = np.argmax(middle, axis=1)
    least = np.minimum(at[:, each, first], at[:, each, second]) - room
    return np.where(np.isinf(middle[each, second]), -np.inf, least)


@functools.cache
def _fan(d: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return directions (directions, d) and cones (cones, d) of them: the orthants, all bisected `depth` times."""
    cones = _orthants(np.zeros((1, d)), Margin(0.0, 0.0), np.empty((0, d)))
    for _ in range(depth):
        cones = _bisected(cones)
    directions, which = np.unique(cones.generators.reshape(-1, d), axis=0, return_inverse=True)
    return directions, which.reshape(-1, d)


def _orthants(keys: np.ndarray, margin: Margin, queries: np.ndarray) -> Cones:
    """Return the $2^d$ orthants, pruned, and the queries in them."""
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


def _zoomed(cones: Cones, keys: np.ndarray) -> Cones:
    """Return the cones with places counted from one token of each, where this makes them much smaller."""
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


def unbeaten(
    at: Float[np.ndarray, "d pairs"], starts: Int[np.ndarray, " bounds"], room: Float[np.ndarray, "*c"] | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return which tokens of each cone no two others of different value beat at every generator, and their bounds.

    `at[k]` are the scores at generator k; a token is beaten by more than `room`, one number or one for each cone.
    """
    bounds, size, place = starts[:-1], np.diff(starts), np.arange(at.shape[1])
    middle = np.einsum("kp->p", at)  # several times as fast as `sum` over a short axis
    highest = middle == np.repeat(np.maximum.reduceat(middle, bounds), size)
    first = np.maximum.reduceat(np.where(highest, place, 0), bounds)
    middle = np.where(highest, -np.inf, middle)  # equal tokens have equal sums: the next one has another value
    top = np.maximum.reduceat(middle, bounds)
    second = np.maximum.reduceat(np.where(middle == np.repeat(top, size), place, 0), bounds)
    kept = np.zeros(len(place), bool)
    for scores in at:  # `any` over a short axis is slow
        least = np.where(np.isinf(top), -np.inf, np.minimum(scores[first], scores[second]) - room)
        kept |= scores >= np.repeat(least, size)
    return kept, np.concatenate([[0], np.cumsum(np.add.reduceat(kept, bounds, dtype=int))])


def _pruned(cones: Cones, margin: Margin) -> Cones:
    """Return the cones without the tokens that two others of different value beat at every generator."""
    kept, starts = unbeaten(cones.at.T, cones.starts, margin.part * cones.reach + margin.fixed)
    return cones._replace(starts=starts, token=cones.token[kept], at=cones.at[kept])


def _bisected(cones: Cones) -> Cones:
    """Return the halves of every cone, cut at the middle of its longest edge: first all of one side, then the other."""
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
    """Return the half in which each query lies, and its coefficients there.

    With $m = (g_i + g_j) / l$: $\\lambda_i g_i + \\lambda_j g_j = (\\lambda_i - \\lambda_j) g_i + l \\lambda_j m$.
    """
    c, weights = cones.cone, cones.weights.copy()
    one = weights.shape[1] == 2  # one edge only: columns are faster than entries
    at_i, at_j = ((slice(None), k) if one else (np.arange(len(c)), e[c]) for k, e in enumerate((i, j)))
    a, b = cones.weights[at_i], cones.weights[at_j]
    left, stretch = a >= b, length[c]
    weights[at_i] = np.where(left, a - b, stretch * a)
    weights[at_j] = np.where(left, stretch * b, b - a)
    return np.where(left, c, c + len(length)), weights


def _some(cones: Cones, chosen: np.ndarray) -> Cones:
    """Return the chosen cones with their tokens and queries."""
    size = np.diff(cones.starts)
    pairs, inside = np.repeat(chosen, size), chosen[cones.cone]
    starts = np.concatenate([[0], np.cumsum(size[chosen])])
    number = (np.cumsum(chosen) - 1)[cones.cone[inside]]
    tokens = cones.origin[chosen], cones.reach[chosen], starts, cones.token[pairs], cones.at[pairs]
    return Cones(cones.generators[chosen], *tokens, cones.query[inside], number, cones.weights[inside])


def _leaves(cones: Cones, chosen: np.ndarray) -> Leaves:
    """Return the chosen cones as leaves, with their queries."""
    inside = chosen[cones.cone]
    return Leaves(cones.origin, cones.reach, cones.starts, cones.token, cones.query[inside], cones.cone[inside])

"""Scores of queries with the few tokens of the cone that contains each query."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.scores import EPSILON
from dynsim.systems.hardmax.search.ties import SMALLEST, FollowerCandidates

PAIRS = 2**17  # number of pairs of query and token scored at a time, so that they stay in the cache
NARROW = 16  # leaves with at most this many tokens are scored together, by number of tokens, as one rectangular array


class Leaves(NamedTuple):
    """Cones that are not divided further, the tokens that may be best or second best in each, and their queries.

    Attributes:
        origin: the point `origin[c]` subtracted from the tokens of cone c; None for zero.
        reach: the largest norm of these differences in cone c.
        starts: cone c holds the tokens `token[starts[c] : starts[c + 1]]`.
        token: the tokens of all cones, see `starts`.
        query: indices of the queries.
        cone: query `query[i]` lies in cone `cone[i]`.
    """

    origin: Float[np.ndarray, "c d"] | None
    reach: Float[np.ndarray, " c"]
    starts: Int[np.ndarray, " bounds"]
    token: Int[np.ndarray, " pairs"]
    query: Int[np.ndarray, " q"]
    cone: Int[np.ndarray, " q"]


def scored(
    leaves: Leaves, queries: np.ndarray, keys: np.ndarray, norm_bounds: np.ndarray, fixed: float
) -> list[tuple[FollowerCandidates, Float[np.ndarray, " r"]]]:
    """Find candidates and slack, as `near_best` does, for all queries of the leaves, in pieces of any order."""
    found = []
    for part, size in _pieces(np.diff(leaves.starts)[leaves.cone]):
        rows, cone = leaves.query[part], leaves.cone[part]
        errors = (16 * (keys.shape[1] + 3) * EPSILON * leaves.reach[cone] + fixed) * norm_bounds[rows] + SMALLEST
        score = _scored_rectangle if size else _scored_runs
        found.append(score(leaves, rows, cone, queries[rows], keys, errors))
    return found


def _pieces(sizes: Int[np.ndarray, " q"]) -> Iterator[tuple[Int[np.ndarray, " some"], int]]:
    """Yield queries in pieces, with the number of tokens of their leaves, or 0 if these numbers differ."""
    for size in np.flatnonzero(np.bincount(np.minimum(sizes, NARROW + 1))).tolist():
        here = np.flatnonzero(sizes == size if size <= NARROW else sizes > NARROW)
        if size <= NARROW:
            cuts = np.arange(PAIRS // size, len(here), PAIRS // size)
        else:
            total = np.cumsum(sizes[here])
            cuts = np.unique(np.searchsorted(total, np.arange(PAIRS, total[-1], PAIRS)))
        for part in np.split(here, cuts):
            if len(part):
                yield part, size if size <= NARROW else 0


def _scored_rectangle(
    leaves: Leaves, rows: np.ndarray, cone: np.ndarray, queries: np.ndarray, keys: np.ndarray, errors: np.ndarray
) -> tuple[FollowerCandidates, np.ndarray]:
    """Candidates and slack of queries whose leaves hold equally many tokens."""
    first = leaves.starts[cone]
    size = int(leaves.starts[cone[0] + 1] - first[0])
    token = leaves.token[first + np.arange(size)[:, None]]
    found = np.zeros(token.shape)
    for k in range(keys.shape[1]):
        place = keys[:, k][token]
        if leaves.origin is not None:
            place -= leaves.origin[cone, k]
        place *= queries[:, k]
        found += place
    best = np.max(found, axis=0)
    near = found >= best - errors
    found[near] = -np.inf
    sizes = np.count_nonzero(near, axis=0)
    at = np.flatnonzero(near.T)
    columns = token[at % size, at // size]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return FollowerCandidates(rows, starts, columns), best - np.max(found, axis=0) - errors


def _scored_runs(
    leaves: Leaves, rows: np.ndarray, cone: np.ndarray, queries: np.ndarray, keys: np.ndarray, errors: np.ndarray
) -> tuple[FollowerCandidates, np.ndarray]:
    """Candidates and slack of queries whose leaves hold different numbers of tokens."""
    size = np.diff(leaves.starts)[cone]
    bounds = np.concatenate([[0], np.cumsum(size)])
    token = leaves.token[np.repeat(leaves.starts[cone] - bounds[:-1], size) + np.arange(bounds[-1])]
    origin = None if leaves.origin is None else leaves.origin[cone]
    place = lambda k: keys[token, k] if origin is None else keys[token, k] - np.repeat(origin[:, k], size)
    found = sum(np.repeat(queries[:, k], size) * place(k) for k in range(keys.shape[1]))
    best = np.maximum.reduceat(found, bounds[:-1])
    near = found >= np.repeat(best - errors, size)
    second = np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1])
    return FollowerCandidates(rows, bounds, token).only(near), best - second - errors


def concatenated(
    parts: list[tuple[FollowerCandidates, np.ndarray]],
) -> tuple[FollowerCandidates, Float[np.ndarray, " r"]]:
    """Concatenate the candidates and the slack of all pieces."""
    near = [part for part, _ in parts]
    sizes = np.concatenate([[0], *(part.sizes for part in near)])
    rows, columns = (np.concatenate([part[k] for part in near]) for k in (0, 2))
    return FollowerCandidates(rows, np.cumsum(sizes), columns), np.concatenate([slack for _, slack in parts])

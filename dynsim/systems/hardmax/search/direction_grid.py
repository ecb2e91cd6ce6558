"""A grid of cones of directions over the faces of a cube, with the tokens that can be best or second best in each.

A cell is the cone over a box on a face of the cube, and its generators are the corners of the box. A query in the cell
is a nonnegative combination of them. A token is removed from the cell if two tokens of different value dominate it
at every corner, as in `cone_bisection`. All cells are halved alike, so the cell of a query follows from rounding,
without a search. Scores at new corners are means of old ones, and rounding may move a query slightly out of its
cell. Both errors are below the part of the margin that is reserved for `DEEPEST` bisections.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.cone_bisection import Margin, domination_bounds, near_best_by_cones, undominated
from dynsim.systems.hardmax.search.leaves import Leaves, concatenated, scored
from dynsim.systems.hardmax.search.ties import FollowerCandidates

SHORTEST = {2: 3, 3: 1}  # number of halvings along each axis before any token is removed, by dimension
MOST = {2: 10, 3: 6}  # largest number of halvings along each axis, by dimension
LIGHT = 3.5  # mean number of tokens of a cell below which further halving costs more than it saves
QUERIES = 16  # mean number of queries of a cell below which halving costs more than it saves
CROWD = 64  # with more tokens in a cell, its queries are left to `cone_bisection`
GROWTH = 1.5  # growth of the total number of tokens at a halving that indicates clusters of tokens
BLOCK = 2**16  # number of queries processed at a time
LARGEST = 2**23  # largest number of scores at the corners of the first cells
STRETCH = 2.0  # exceeds the norm of a corner of the cube


class Cells(NamedTuple):
    """The tokens of each cell of the grid, and their scores at the corners of the cell.

    Cell c holds the tokens `token[starts[c] : starts[c + 1]]`, and `at[k]` are their scores at corner k. Bit a of k is
    0 on the lower side and 1 on the upper side along axis a.
    """

    starts: Int[np.ndarray, " bounds"]
    token: Int[np.ndarray, " pairs"]
    at: Float[np.ndarray, "corners pairs"]


def near_best_by_cells(
    queries: Float[np.ndarray, "r d"],
    keys: Float[np.ndarray, "m d"],
    norm_bounds: Float[np.ndarray, " r"],
    margin: Margin,
) -> tuple[FollowerCandidates, Float[np.ndarray, " r"]]:
    """Find candidates and slack, as `near_best_by_cones` does, from a grid of cells; rows in any order."""
    if keys.shape[1] == 1 or _corners(keys.shape[1])[..., 0].size * len(keys) > LARGEST:
        return near_best_by_cones(queries, keys, norm_bounds, margin)
    reach = float(np.sqrt(np.max(np.einsum("md,md->m", keys, keys))))
    scaled = STRETCH * (margin.part * reach + margin.fixed)
    cells, halvings = _refined(keys, scaled, len(queries))
    size, lengths, parts = np.diff(cells.starts), np.full(len(cells.starts) - 1, reach), []
    full, left = np.zeros(len(size), bool), [np.empty(0, int)]
    for first in range(0, len(queries), BLOCK):
        cell = _cell_of(queries[first : first + BLOCK], halvings)
        crowded = size[cell] > CROWD
        rows = np.flatnonzero(~crowded)
        leaves = Leaves(None, lengths, cells.starts, cells.token, first + rows, cell[rows])
        parts += scored(leaves, queries, keys, norm_bounds, margin.fixed)
        full[cell[crowded]] = True
        left.append(first + np.flatnonzero(crowded))
    rows = np.concatenate(left)
    if len(rows):
        among = np.unique(cells.token[np.repeat(full, size)])
        near, slack = near_best_by_cones(queries[rows], keys[among], norm_bounds[rows], margin)
        parts.append((FollowerCandidates(rows[near.rows], near.starts, among[near.columns]), slack))
    return concatenated(parts)


def _refined(keys: np.ndarray, margin: float, num_queries: int) -> tuple[Cells, int]:
    """Halve the cells until further halving does not pay; also the number of halvings along each axis."""
    d = keys.shape[1]
    halvings, cells = SHORTEST[d], _first(keys, margin)
    while halvings < MOST[d]:
        count, before = len(cells.starts) - 1, len(cells.token)
        if before <= LIGHT * count or count * QUERIES > num_queries:
            break
        for axis in range(d - 1):
            cells = _pruned(_halved(cells, axis), margin)
        halvings += 1
        if len(cells.token) > max(GROWTH * before, CROWD * len(cells.starts)):
            break
    return cells, halvings


def _first(keys: np.ndarray, margin: float) -> Cells:
    """The cells after `SHORTEST` halvings along each axis, without dominated tokens."""
    corners = _corners(keys.shape[1])
    (K, C, d), m = corners.shape, len(keys)
    at = (corners.reshape(-1, d) @ keys.T).reshape(K, C, m)
    kept = np.zeros((C, m), bool)
    for scores, bound in zip(at, domination_bounds(at, margin), strict=True):
        kept |= scores >= bound[:, None]
    where = np.flatnonzero(kept)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])
    return Cells(starts, where % m, at.reshape(K, -1)[:, where])


@functools.cache
def _corners(d: int) -> Float[np.ndarray, "corners cells d"]:
    """Corners of the first cells: cell f + 2 d (c_0 + c_1 parts) lies on face f, at the grid indices c."""
    parts = 2 ** SHORTEST[d]
    steps = np.indices([parts] * (d - 1)).reshape(d - 1, -1)[::-1]  # the first axis varies fastest
    corners = np.empty((2 ** (d - 1), steps.shape[1], 2 * d, d))
    for k in range(len(corners)):
        for f in range(2 * d):
            corners[k, :, f, f % d] = 1 - 2 * (f // d)
            for a, axis in enumerate(_others(d)[f % d]):
                corners[k, :, f, axis] = -1 + 2 * (steps[a] + (k >> a & 1)) / parts
    return corners.reshape(len(corners), -1, d)


def _others(d: int) -> list[list[int]]:
    """For each axis, the other axes, along which the faces normal to it extend."""
    return [[a for a in range(d) if a != f] for f in range(d)]


def _halved(cells: Cells, axis: int) -> Cells:
    """Both halves of every cell along an axis: all lower halves, then all upper halves."""
    count, size = len(cells.token), np.diff(cells.starts)
    at = np.concatenate([cells.at, cells.at], axis=1)
    for low in (k for k in range(len(at)) if not k >> axis & 1):
        high = low | 1 << axis
        middle = (cells.at[low] + cells.at[high]) / 2
        at[high, :count], at[low, count:] = middle, middle
    starts = np.concatenate([[0], np.cumsum(np.concatenate([size, size]))])
    return Cells(starts, np.concatenate([cells.token, cells.token]), at)


def _pruned(cells: Cells, margin: float) -> Cells:
    """The cells without the tokens that two tokens of different value dominate at every corner."""
    kept, starts = undominated(cells.at, cells.starts, margin)
    return Cells(starts, cells.token[kept], cells.at[:, kept])


def _cell_of(queries: np.ndarray, halvings: int) -> Int[np.ndarray, " r"]:
    """The cell of each query; within rounding error of an edge it may be the adjacent cell."""
    d = queries.shape[1]
    longest, face = np.abs(queries[:, 0]), np.zeros(len(queries), int)
    for k in range(1, d):
        length = np.abs(queries[:, k])
        face = np.where(length > longest, k, face)
        longest = np.maximum(longest, length)
    axes, later = np.array(_others(d)).T, halvings - SHORTEST[d]
    rows, parts = np.arange(len(queries)), 2**halvings
    steps = [
        np.minimum(((queries[rows, axis[face]] / longest + 1) * (parts / 2)).astype(int), parts - 1) for axis in axes
    ]
    cell = face + d * (queries[rows, face] < 0)
    count = 2 * d
    for step in steps:
        cell += count * (step >> later)
        count *= 2 ** SHORTEST[d]
    for k in range(later - 1, -1, -1):
        for step in steps:
            cell += count * (step >> k & 1)
            count *= 2
    return cell

"""A grid of directions: the faces of a cube, halved along their axes, with the few tokens that matter in each cell.

A cell is a cone whose generators are the corners of a box on a face. A query in it is a combination of them with
coefficients that are not negative, and a token is left out there if two others of different value beat it at every
corner, as in `cones`. Cells are all halved alike, so that a query's cell is found by counting, without a search. Scores
at new corners are means of old ones, and a query may be a rounding beside its cell: both is less than the margin's
share for `DEEPEST` bisections.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dynsim.systems.hardmax.search.cone_bisection import Margin, least_needed, near_best_by_cones, unbeaten
from dynsim.systems.hardmax.search.leaves import Leaves, concatenated, scored
from dynsim.systems.hardmax.search.ties import Candidates

SHORTEST = {2: 3, 3: 1}  # halvings along each axis before any token is left out, by dimension
MOST = {2: 10, 3: 6}  # halvings along each axis
LIGHT = 3.5  # tokens of a cell, on average, from which on further halvings cost more than they save
QUERIES = 16  # of a cell, on average, below which it is not worth halving
CROWD = 64  # tokens of a cell above which its queries are left to `cones`
GROWTH = 1.5  # of the tokens of all cells when these are halved, from which on they are clusters that `cones` zoom into
BLOCK = 2**16  # queries at a time
LARGEST = 2**23  # scores of tokens at corners of the first cells
STRETCH = 2.0  # more than the length of a corner of the cube


class Cells(NamedTuple):
    """Cells in their order, the tokens of each, and the scores of these at the corners of its box.

    The tokens of cell c are `token[starts[c] : starts[c + 1]]`, and `at[k]` are their scores at corner k; bit a of k
    tells the lower from the upper side along axis a.
    """

    starts: Int[np.ndarray, " bounds"]
    token: Int[np.ndarray, " pairs"]
    at: Float[np.ndarray, "corners pairs"]


def near_best_by_cells(
    queries: Float[np.ndarray, "r d"], keys: Float[np.ndarray, "m d"], sizes: Float[np.ndarray, " r"], margin: Margin
) -> tuple[Candidates, Float[np.ndarray, " r"]]:
    """Return what `near_best_by_cones` returns; rows may come in another order."""
    if keys.shape[1] == 1 or _corners(keys.shape[1])[..., 0].size * len(keys) > LARGEST:
        return near_best_by_cones(queries, keys, sizes, margin)
    reach = float(np.sqrt(np.max(np.einsum("md,md->m", keys, keys))))
    room = STRETCH * (margin.part * reach + margin.fixed)
    cells, halvings = _refined(keys, room, len(queries))
    size, lengths, parts = np.diff(cells.starts), np.full(len(cells.starts) - 1, reach), []
    full, left = np.zeros(len(size), bool), [np.empty(0, int)]
    for first in range(0, len(queries), BLOCK):
        cell = _cell_of(queries[first : first + BLOCK], halvings)
        crowded = size[cell] > CROWD
        rows = np.flatnonzero(~crowded)
        leaves = Leaves(None, lengths, cells.starts, cells.token, first + rows, cell[rows])
        parts += scored(leaves, queries, keys, sizes, margin.fixed)
        full[cell[crowded]] = True
        left.append(first + np.flatnonzero(crowded))
    rows = np.concatenate(left)
    if len(rows):
        among = np.unique(cells.token[np.repeat(full, size)])
        near, slack = near_best_by_cones(queries[rows], keys[among], sizes[rows], margin)
        parts.append((Candidates(rows[near.rows], near.starts, among[near.columns]), slack))
    return concatenated(parts)


def _refined(keys: np.ndarray, room: float, num_queries: int) -> tuple[Cells, int]:
    """Return the cells, and into how many halves they are cut along each axis, as a power of two."""
    d = keys.shape[1]
    halvings, cells = SHORTEST[d], _first(keys, room)
    while halvings < MOST[d]:
        count, before = len(cells.starts) - 1, len(cells.token)
        if before <= LIGHT * count or count * QUERIES > num_queries:
            break
        for axis in range(d - 1):
            cells = _pruned(_halved(cells, axis), room)
        halvings += 1
        if len(cells.token) > max(GROWTH * before, CROWD * len(cells.starts)):
            break
    return cells, halvings


def _first(keys: np.ndarray, room: float) -> Cells:
    """Return the cells that are halved `SHORTEST` times along each axis, from the scores of all tokens."""
    corners = _corners(keys.shape[1])
    (K, C, d), m = corners.shape, len(keys)
    at = (corners.reshape(-1, d) @ keys.T).reshape(K, C, m)
    kept = np.zeros((C, m), bool)
    for scores, bound in zip(at, least_needed(at, room), strict=True):
        kept |= scores >= bound[:, None]
    where = np.flatnonzero(kept)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])
    return Cells(starts, where % m, at.reshape(K, -1)[:, where])


@functools.cache
def _corners(d: int) -> Float[np.ndarray, "corners cells d"]:
    """Return the corners of the first cells: cell f + 2 d (c_0 + c_1 parts) lies on face f, at the steps c."""
    parts = 2 ** SHORTEST[d]
    steps = np.indices([parts] * (d - 1)).reshape(d - 1, -1)[::-1]  # the first axis runs the fastest
    corners = np.empty((2 ** (d - 1), steps.shape[1], 2 * d, d))
    for k in range(len(corners)):
        for f in range(2 * d):
            corners[k, :, f, f % d] = 1 - 2 * (f // d)
            for a, axis in enumerate(_others(d)[f % d]):
                corners[k, :, f, axis] = -1 + 2 * (steps[a] + (k >> a & 1)) / parts
    return corners.reshape(len(corners), -1, d)


def _others(d: int) -> list[list[int]]:
    """Return the axes of the faces that stand on each axis."""
    return [[a for a in range(d) if a != f] for f in range(d)]


def _halved(cells: Cells, axis: int) -> Cells:
    """Return the halves of every cell along an axis: first all lower ones, then all upper ones."""
    count, size = len(cells.token), np.diff(cells.starts)
    at = np.concatenate([cells.at, cells.at], axis=1)
    for low in (k for k in range(len(at)) if not k >> axis & 1):
        high = low | 1 << axis
        middle = (cells.at[low] + cells.at[high]) / 2
        at[high, :count], at[low, count:] = middle, middle
    starts = np.concatenate([[0], np.cumsum(np.concatenate([size, size]))])
    return Cells(starts, np.concatenate([cells.token, cells.token]), at)


def _pruned(cells: Cells, room: float) -> Cells:
    """Return the cells without the tokens that two others of different value beat at every corner."""
    kept, starts = unbeaten(cells.at, cells.starts, room)
    return Cells(starts, cells.token[kept], cells.at[:, kept])


def _cell_of(queries: np.ndarray, halvings: int) -> Int[np.ndarray, " r"]:
    """Return the cell of each query; rounding moves it by a few units in the last place over an edge at most."""
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

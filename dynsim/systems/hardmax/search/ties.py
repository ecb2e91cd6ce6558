"""Exact comparison of nearly equal scores, by score differences first and then in integer arithmetic."""

import abc
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

SMALLEST = 2.0**-1060  # exceeds the underflow error of a product of numbers below one
INT64_BITS = 62  # sums of at most this many bits always fit in int64
PAIRS = 2**18  # number of pairs of row and candidate compared at a time


class FollowerCandidates(NamedTuple):
    """The tokens that may be in each follower set: of token `rows[r]`, `columns[starts[r] : starts[r + 1]]`."""

    rows: Int[np.ndarray, " r"]
    starts: Int[np.ndarray, " bounds"]
    columns: Int[np.ndarray, " candidates"]

    @property
    def sizes(self) -> Int[np.ndarray, " r"]:
        """The number of candidates of each row."""
        return np.diff(self.starts)

    @property
    def row(self) -> Int[np.ndarray, " candidates"]:
        """The row of each candidate."""
        return np.repeat(np.arange(len(self.rows)), self.sizes)

    def only(self, kept: Bool[np.ndarray, " candidates"]) -> "FollowerCandidates":
        """Keep the candidates that the mask `kept` selects, for all rows."""
        sizes = np.add.reduceat(kept, self.starts[:-1], dtype=int) if len(self.rows) else self.sizes
        return FollowerCandidates(self.rows, np.concatenate([[0], np.cumsum(sizes)]), self.columns[kept])

    def among(self, rows: Bool[np.ndarray, " r"]) -> "FollowerCandidates":
        """Keep the rows that the mask `rows` selects, with all their candidates."""
        return FollowerCandidates(
            self.rows[rows],
            np.concatenate([[0], np.cumsum(self.sizes[rows])]),
            self.columns[np.repeat(rows, self.sizes)],
        )


class AbstractTies(abc.ABC):
    """Exact comparison of the scores of candidates."""

    @abc.abstractmethod
    def best(
        self, near: FollowerCandidates, queries: Float[np.ndarray, "r d"], tokens: Float[np.ndarray, "n d"]
    ) -> tuple[Bool[np.ndarray, " candidates"], Float[np.ndarray, " r"]]:
        """Find the candidates that have exactly the best score of their row, and the slack of the others.

        `queries` (of the rows) and `tokens` are the floats of `Scores`. The slack of a row is a lower bound, in their
        units, of the best score minus that of every rejected candidate, infinite if none is rejected.
        """

    @abc.abstractmethod
    def integers_of(self, queries: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integers proportional to the given queries and tokens, each array up to one positive factor."""

    def exactly_best(self, near: FollowerCandidates) -> Bool[np.ndarray, " candidates"]:
        """Mask of the candidates that have the best score of their row, by integer arithmetic."""
        tokens, place = np.unique(near.columns, return_inverse=True)
        q, u = self.integers_of(near.rows, tokens)
        if _bits(q) + _bits(u) + u.shape[1].bit_length() > INT64_BITS:
            q, u = q.astype(object), u.astype(object)
        else:
            q, u = q.astype(np.int64), u.astype(np.int64)
        found = np.sum(q[near.row] * u[place], axis=1)
        return found == np.repeat(np.maximum.reduceat(found, near.starts[:-1]), near.sizes)


class FloatTies(AbstractTies):
    """Comparison of floats at their exact binary values; `values` (n, d) are the tokens, `attention` is A or None."""

    def __init__(self, values: Float[np.ndarray, "n d"], attention: Float[np.ndarray, "d d"] | None):
        self.values, self.attention = values, attention

    def best(self, near, queries, tokens):
        """Exactly best candidates and slack, by score differences, and by integers within their rounding error."""
        error = 0.0 if self.attention is None else _query_error(queries, self.attention)
        cuts = np.searchsorted(near.starts, np.arange(PAIRS, near.starts[-1], PAIRS))
        parts = [part for part in np.split(np.arange(len(near.rows)), np.unique(cuts)) if len(part)]
        found = [_by_differences(*_part(near, part, queries, error), tokens) for part in parts]
        kept, slack = (np.concatenate(piece) for piece in zip(*found, strict=True))
        left = near.only(kept)
        open_rows = left.sizes > 1
        if np.any(open_rows):
            exact = self.exactly_best(left.among(open_rows))
            inside = np.flatnonzero(kept)[np.repeat(open_rows, left.sizes)]
            kept[inside] = exact
            lost = np.logical_and.reduceat(exact, left.among(open_rows).starts[:-1])
            slack[np.flatnonzero(open_rows)[~lost]] = 0.0
        return kept, slack

    def integers_of(self, queries, tokens):
        """Integers proportional to the queries and tokens, as described in `AbstractTies`."""
        z, A = self.values[queries], self.attention
        return float_integers(z) if A is None else exact_queries(z, A), float_integers(self.values[tokens])


class IntegerTies(AbstractTies):
    """Comparison of integer `queries` and `tokens`, (n, d) arrays of dtype object."""

    def __init__(self, queries: np.ndarray, tokens: np.ndarray):
        self.queries, self.tokens = queries, tokens

    def best(self, near, queries, tokens):
        """Exactly best candidates and slack, by integers alone, because floats of rational numbers are rounded."""
        kept = self.exactly_best(near)
        return kept, np.where(np.logical_and.reduceat(kept, near.starts[:-1]), np.inf, 0.0)

    def integers_of(self, queries, tokens):
        """The stored integer queries and tokens."""
        return self.queries[queries], self.tokens[tokens]


def _part(near: FollowerCandidates, part: np.ndarray, queries: np.ndarray, error: float | np.ndarray):
    """Some consecutive rows, with their queries and errors."""
    first, last = int(part[0]), int(part[-1]) + 1
    starts = near.starts[first : last + 1]
    columns = near.columns[starts[0] : starts[-1]]
    some = FollowerCandidates(near.rows[first:last], starts - starts[0], columns)
    return some, queries[first:last], error if np.ndim(error) == 0 else np.asarray(error)[first:last]


def _by_differences(
    near: FollowerCandidates, queries: np.ndarray, query_error: float | np.ndarray, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Reject candidates whose score is certainly not the best, by differences $\\langle q, u_j - u_b\\rangle$."""
    q, u = queries[near.row], tokens[near.columns]
    lead, found, error = near.starts[:-1].copy(), np.empty(0), np.empty(0)
    for _ in range(4):  # repeat with a better candidate if one is found; rejections are valid with any
        difference = u - np.repeat(u[lead], near.sizes, axis=0)
        parts = q * difference
        found = np.sum(parts, axis=1)
        error = (u.shape[1] + 4) * 2.0**-52 * np.sum(np.abs(parts), axis=1) + SMALLEST
        if np.ndim(query_error):
            error = error + np.asarray(query_error)[near.row] * np.sum(np.abs(difference), axis=1)
        top = np.maximum.reduceat(found, near.starts[:-1])
        above = np.flatnonzero(found == np.repeat(top, near.sizes))
        if not np.any(found > error):
            break
        lead[near.row[above]] = above
    kept = found >= -error
    return kept, np.minimum.reduceat(np.where(kept, np.inf, -found - error), near.starts[:-1])


def _query_error(queries: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Bounds on the rounding error of queries A z, whose norms are at least $2^{-10} |A| |z|$ (see `Scores`)."""
    return 2.0**10 * (len(attention) + 4) * 2.0**-52 * np.linalg.norm(queries, axis=1)


def float_integers(values: Float[np.ndarray, "*shape"]) -> np.ndarray:
    """Integers N with N 2^e = `values` exactly, for a common e; int64 if they fit, otherwise Python ints."""
    mantissa, trailing, low, lowest, highest = _binary(values)
    if highest - lowest <= INT64_BITS:
        half = -lowest // 2  # applied in two steps, because 2^1074 is not a float
        return np.ldexp(np.ldexp(values, half), -lowest - half).astype(np.int64)
    return (mantissa >> trailing).astype(object) << (low - lowest).astype(object)


def binary_extent(values: Float[np.ndarray, "*shape"]) -> tuple[int, int]:
    """Exponents l and h such that every value is an integer multiple of $2^l$ with modulus below $2^h$."""
    return _binary(values)[3:]


def _binary(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Mantissas, their trailing zeros, exponents of the last bits, the smallest of these, and the top exponent."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    filled = mantissa != 0
    if not np.any(filled):
        return mantissa, mantissa, mantissa, 0, 0
    trailing = np.where(filled, np.frexp((mantissa & -mantissa).astype(float))[1] - 1, 0)
    low = np.where(filled, exponent - 53 + trailing, np.max(exponent))
    return mantissa, trailing, low, int(np.min(low)), int(np.max(exponent[filled]))


def exact_queries(values: Float[np.ndarray, "n d"], attention: Float[np.ndarray, "d d"]) -> np.ndarray:
    """Compute $A z_i$ exactly, up to one positive factor, in Python ints."""
    return float_integers(values).astype(object) @ float_integers(attention).astype(object).T


def _bits(numbers: np.ndarray) -> int:
    """Number of bits of the largest of these integers in absolute value."""
    return max(int(np.max(numbers)), -int(np.min(numbers)), 1).bit_length()

"""Random Markov chains in fractions: generators with rates from 1e-6 to 1e6, and softmax attention matrices."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from analysis.chains.stationary import stationary_distributions
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.exact_geometry import row_echelon
from analysis.ledger.evidence import Measurement, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.tokens.interactions.masks import AbstractMask, Full, Window

RATES = tuple(Fraction(r) for r in ("1/1000000", "1/7", "1", "5/2", "1000000"))
KINDS = ("dense", "sparse", "cycle", "line", "reversible")
LARGEST = 5  # number of states or tokens


class Chain(NamedTuple):
    """A continuous-time Markov chain: its generator Q, shape (k, k), with columns that sum to zero, and a name."""

    generator: Exact
    name: str = "random"

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.generator)

    @property
    def fastest(self) -> Fraction:
        """The largest exit rate, max |Q_jj|."""
        return max(-self.generator.diagonal())

    @property
    def half_step(self) -> Fraction:
        """Half of the step bound of forward Euler, 1 / (2 max |Q_jj|), or 1/2 for a chain without transitions."""
        return 1 / (2 * self.fastest) if self.fastest else Fraction(1, 2)

    @property
    def stationary_distributions(self) -> list[Exact]:
        """One stationary distribution for each closed class, by elimination without subtraction (GTH)."""
        return [stationary.probabilities for stationary in stationary_distributions(self.generator).distributions]

    def step(self, tau: Fraction) -> Exact:
        """Return I + tau Q, the matrix of a forward-Euler step."""
        return identity(self.size) + tau * self.generator

    def measured(self, *, irreducible: bool = True) -> tuple[Measurement, ...]:
        """Measure the generator structure (27), and irreducibility unless `irreducible` is False."""
        Q = self.generator
        rates = Q - np.diag(Q.diagonal())
        found = (
            holds("no rate is negative", bool(np.all(rates >= 0))),
            holds("every column sums to zero", all(column.sum() == 0 for column in Q.T)),
        )
        if not irreducible:
            return found
        return (*found, holds("Q is irreducible", is_irreducible(Q)))

    def witness(self) -> dict:
        """Return the data that determine the chain."""
        return {"Q": self.generator}

    def parameters(self) -> dict[str, int | str]:
        """Return the number of states and the name of the chain."""
        return {"k": self.size, "chain": self.name}


def from_rates(rates: Exact, name: str = "random") -> Chain:
    """Return the chain with the rate `rates[i, j]` from state j to state i; the diagonal of `rates` is zero."""
    return Chain(rates - np.diag(np.sum(rates, axis=0)), name)


def is_irreducible(Q: Exact) -> bool:
    """Return whether each state is accessible from each other: I + |Q| has a positive power."""
    linked = np.array(Q != 0) | np.eye(len(Q), dtype=bool)
    for _ in range(len(Q)):
        linked = linked @ linked
    return bool(np.all(linked))


def irreducible_chain(key: Key) -> Chain:
    """Return a random irreducible chain of two to five states with rates from 1e-6 to 1e6."""
    rng = numpy_rng(key, "chain")
    return _drawn(rng, KINDS[rng.integers(len(KINDS))], int(rng.integers(2, LARGEST + 1)))


def two_closed_classes(key: Key, *, transient: bool = True) -> Chain:
    """Return a random chain with two closed classes and, if `transient`, a transient state that leads into both."""
    rng = numpy_rng(key, "traps")
    a, b = (_drawn(rng, "dense", int(rng.integers(1, 4))) for _ in range(2))
    k = a.size + b.size
    Q = matrix(np.zeros((k + transient, k + transient), int))
    Q[: a.size, : a.size], Q[a.size : k, a.size : k] = a.generator, b.generator
    if transient:
        Q[0, k], Q[k - 1, k], Q[k, k] = Fraction(1), Fraction(2), Fraction(-3)
    return Chain(Q, "two closed classes")


def with_transient(key: Key) -> Chain:
    """Return a random chain with one closed class and a transient state, the last one."""
    inner = irreducible_chain(key)
    Q = matrix(np.zeros((inner.size + 1, inner.size + 1), int))
    Q[:-1, :-1] = inner.generator
    Q[0, -1], Q[-1, -1] = Fraction(1), Fraction(-1)
    return Chain(Q, "one transient state")


def uniform_cycle(size: int, rate: Fraction) -> Chain:
    """Return a directed cycle with the same rate on every edge; with two states it is a symmetric chain."""
    ring = np.roll(np.eye(size, dtype=int), 1, axis=0)
    return from_rates(rate * matrix(ring), f"cycle of {size} equal rates")


def _drawn(rng: np.random.Generator, kind: str, k: int) -> Chain:
    ring, line = np.roll(np.eye(k, dtype=int), 1, axis=0), np.eye(k, k=1, dtype=int)
    if kind == "reversible":
        weights, conductances = _rates(rng, k), _rates(rng, (k, k))
        R = (conductances + conductances.T) / weights[None]
    else:
        masks = {
            "dense": np.ones((k, k), int),
            "sparse": np.maximum(ring, rng.integers(0, 2, (k, k))),
            "cycle": ring,
            "line": line + line.T,
        }
        R = _rates(rng, (k, k)) * matrix(masks[kind])
    R[np.diag_indices(k)] = Fraction(0)
    return from_rates(R)


def _rates(rng: np.random.Generator, shape: int | tuple[int, ...]) -> Exact:
    return np.array([*RATES, None], object)[:-1][rng.integers(0, len(RATES), shape)]


def distribution(key: Key, size: int) -> Exact:
    """Return a random rational distribution, shape (size,), with at least two positive entries."""
    rng = numpy_rng(key, "distribution")
    weights = rng.integers(0, 6, size)
    weights[rng.permutation(size)[:2]] += 1
    return matrix(weights) / int(np.sum(weights))


def null_space(M: Exact) -> Exact:
    """Return a basis of the null space of M, as rows, shape (dimension, k), by Gaussian elimination."""
    rows, pivots = row_echelon(M)
    free = [j for j in range(M.shape[1]) if j not in pivots]
    basis = matrix(np.zeros((len(free), M.shape[1]), int))
    for n, j in enumerate(free):
        basis[n, j] = Fraction(1)
        basis[n, pivots] = -rows[:, j]
    return basis


def dobrushin_coefficient(M: Exact) -> Fraction:
    """Return Dobrushin's coefficient of a column-stochastic M: the largest total variation between two columns.

    M contracts the total variation distance of any two distributions at least by this factor.
    """
    k = len(M)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    return max((total_variation(M[:, i], M[:, j]) for i, j in pairs), default=Fraction(0))


def matrix_power(M: Exact, exponent: int) -> Exact:
    """Return a power of a square matrix."""
    found = identity(len(M))
    for _ in range(exponent):
        found = M @ found
    return found


def total_variation(p: Exact, q: Exact) -> Fraction:
    """Return the total variation distance of two distributions, (k,), exactly."""
    return sum(abs(p - q), Fraction(0)) / 2


def softmax_of_logarithms(weights: Exact, *, causal: bool = False) -> Exact:
    """Return the attention matrix whose scores are the logarithms of positive `weights`, shape (n, n).

    They are the scores of the queries log w_i, w_i being a row, with the unit vectors as keys. A causal mask sets the
    entries j > i to zero.
    """
    n = len(weights)
    seen = weights * matrix(np.tri(n, dtype=int)) if causal else weights
    return seen / np.sum(seen, axis=1)[:, None]


def attention(key: Key, *, causal: bool = False, least: int = 2) -> Exact:
    """Return a random attention matrix of `least` to five tokens, with integer queries and keys in the plane.

    The temperature is 1 / ln 2, at which the exponentials are powers of two.
    """
    rng = numpy_rng(key, "attention")
    n = int(rng.integers(least, LARGEST + 1))
    scores = rng.integers(-2, 3, (n, 2)) @ rng.integers(-2, 3, (n, 2)).T
    weights = [[Fraction(2) ** int(s) for s in row] for row in scores]
    return softmax_of_logarithms(matrix(weights), causal=causal)


def is_stochastic(A: Exact) -> bool:
    """Return whether no entry is negative and each row sums to one."""
    return bool(np.all(A >= 0)) and all(row.sum() == 1 for row in A)


def is_attention(A: Exact, mask: AbstractMask | None = None) -> Measurement:
    """Measure that A is softmax attention: rows sum to one, and just the entries that the mask allows are positive."""
    mask = Full() if mask is None else mask
    seen = seen_by(mask, len(A))
    positive = bool(np.all(A[seen] > 0) and np.all(A[~seen] == 0))
    return holds(f"A is softmax attention with the mask `{type(mask).__name__}`", positive and is_stochastic(A))


def seen_by(mask: AbstractMask, n: int) -> np.ndarray:
    """Return which token attends to which, (n, n), from the definition of the mask and not by calling it."""
    ahead = np.arange(n)[None] - np.arange(n)[:, None]
    back = mask.width - 1 if isinstance(mask, Window) else n
    return np.ones((n, n), bool) if isinstance(mask, Full) else (ahead <= 0) & (ahead >= -back)

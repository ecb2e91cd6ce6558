"""Random instances of the hardmax model in fractions: tokens, matrix A and step alpha, with measured hypotheses."""

from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.rational_instances import Exact, identity, integers, matrix, rational_matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.evidence import Measurement, holds
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.systems.base import AbstractMap
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap

N = 7  # tokens drawn; repeated and zero ones are left out
LAYERS = 6  # iterated where a statement holds at every layer
ALPHAS = tuple(Fraction(a) for a in ("1/1000000", "1/7", "1/2", "1", "5/2", "1000000"))
HYPOTHESES = {
    "symmetric": "A is symmetric",
    "definite": "A is positive definite",
    "positive_step": "alpha > 0",
    "distinct": "the tokens are distinct",
    "nonzero": "no token is zero",
}


class ClusteringCase(NamedTuple):
    """Tokens, shape (n, d), a factor B of A = B^T B, shape (d, d), and a step alpha."""

    tokens: Exact
    factor: Exact
    alpha: Fraction

    @property
    def attention(self) -> Exact:
        """The matrix A."""
        return self.factor.T @ self.factor

    @property
    def map(self) -> ExactHardmaxMap:
        """The layer map (1.1)."""
        return ExactHardmaxMap(self.alpha, self.attention)

    @property
    def with_identity(self) -> "ClusteringCase":
        """The case with A = I."""
        return self._replace(factor=identity(len(self.factor)))

    @property
    def mirrored(self) -> "ClusteringCase":
        """The tokens and their mirror images in the hyperplane that B maps to y_d = 0; none lies on it."""
        y = self.tokens @ self.factor.T
        y[:, -1] = [entry or Fraction(1, 3) for entry in y[:, -1]]
        image = y * matrix([1] * (y.shape[1] - 1) + [-1])
        return self._replace(tokens=distinct(solved(self.factor, np.concatenate([y, image]).T).T))

    @property
    def degenerate_map(self) -> ExactHardmaxMap:
        """The layer map with B^T diag(1, ..., 1, 0) B in place of A, for controls: A is semidefinite only."""
        d = len(self.factor)
        return ExactHardmaxMap(self.alpha, self.factor.T @ matrix(np.diag([1] * (d - 1) + [0])) @ self.factor)

    @property
    def with_negatives(self) -> "ClusteringCase":
        """The tokens and their negatives, with alpha = 1, for which -A sends the tokens of largest A-norm to 0."""
        return self._replace(tokens=distinct(np.concatenate([self.tokens, -self.tokens])), alpha=Fraction(1))

    @property
    def doubled(self) -> "ClusteringCase":
        """The case with every token repeated once."""
        return self._replace(tokens=np.concatenate([self.tokens, self.tokens]))

    @property
    def with_twin(self) -> "ClusteringCase":
        """The case with one token of largest A-norm repeated once; the twin is the last."""
        longest = max(range(len(self.tokens)), key=lambda i: self.tokens[i] @ self.attention @ self.tokens[i])
        return self._replace(tokens=np.concatenate([self.tokens, self.tokens[[longest]]]))

    @property
    def with_zero(self) -> "ClusteringCase":
        """The case with one more token, at the origin; it is the last."""
        zero = matrix(np.zeros((1, self.tokens.shape[1]), int))
        return self._replace(tokens=np.concatenate([self.tokens, zero]))

    def measured(self, *names: str) -> tuple[Measurement, ...]:
        """Measure the named hypotheses, by default all of Theorem 1.1."""
        found = hypotheses(self.map, self.tokens)
        return tuple(holds(HYPOTHESES[name], getattr(found, name)) for name in names or HYPOTHESES)

    def parameters(self, name: str = "cloud") -> dict[str, float | int | str]:
        """Return the sizes of the case and its name, as parameters of a trial."""
        n, d = self.tokens.shape
        return {"n": n, "d": d, "alpha": float(self.alpha), "instances": name}

    def witness(self) -> dict:
        """Return the data that determine the case."""
        return {"tokens": self.tokens, "A": self.attention, "alpha": self.alpha}


def case(key: Key) -> ClusteringCase:
    """Return distinct nonzero tokens in two or three dimensions, a positive definite A, and an alpha in 1e-6 to 1e6.

    The tokens are random fractions, points of a coarse lattice (with many ties) or points of a sphere about the origin.
    """
    a, b, c = jax.random.split(key, 3)
    kind, d, step, metric = (int(v) for v in integers(a, (4,), 0, 12))
    d = 2 + d % 2
    factor = identity(d) if metric % 3 == 0 else invertible(b, d)
    return ClusteringCase(cloud(c, d, kind % 3), factor, ALPHAS[step % len(ALPHAS)])


def cloud(key: Key, d: int, kind: int) -> Exact:
    """Return distinct nonzero tokens, shape (n, d): fractions (0), on a lattice (1) or of equal norm (2)."""
    if kind == 2:
        return distinct(np.stack([3 * rational_unit(k, d) for k in jax.random.split(key, N)]))
    return distinct(lattice(key, d) if kind == 1 else rational_matrix(key, N, d))


def lattice(key: Key, d: int) -> Exact:
    """Return tokens with integer entries from -2 to 2, shape (N, d); some may be equal, or zero."""
    return matrix(integers(key, (N, d), -2, 3))


def invertible(key: Key, d: int) -> Exact:
    """Return a random invertible matrix with entries k/4."""
    found = rational_matrix(key, d, d)
    return found if positive_definite(found.T @ found) else invertible(jax.random.fold_in(key, 0), d)


def distinct(x: Exact) -> Exact:
    """Return the nonzero rows without repetitions, in the order of first occurrence."""
    rows = dict.fromkeys(tuple(row) for row in x if any(entry != 0 for entry in row))
    return matrix([list(row) for row in rows])


def run(map: AbstractMap, x: Exact, num_layers: int = LAYERS) -> list[Exact]:
    """Return the tokens at layers 0 to `num_layers`."""
    states = [x]
    for k in range(num_layers):
        states.append(map.step(k, states[-1]))
    return states


def defined_sets(x: Exact, attention: Exact) -> list[list[int]]:
    """Return C_1, ..., C_n from their definition (1.1b): all maximisers of <A z_i, z_j> over j, for any matrix A."""
    scores = x @ attention.T @ x.T
    return [[j for j, score in enumerate(row) if score == max(row)] for row in scores]


def squared_norms(x: Exact, attention: Exact) -> list[Fraction]:
    """Return the square of every token's A-norm."""
    return [row @ attention @ row for row in x]

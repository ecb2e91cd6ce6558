"""Embeddings and prototypes whose soft assignments are rational numbers, and everything made of them, exactly.

For points whose coordinates are multiples of a number h, squared distances are multiples of h^2, so that at the
temperature h^2 / log b every weight exp(-d/T) is a power of b.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.claims.rational_instances import Exact, matrix
from analysis.ledger.evidence import Measurement, agrees, holds
from dynsim._core.types import Key, Scalar
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.assignments import Embeddings, Prototypes, Weights

N, K, M = 5, 3, 2


def squared_norms(x: Exact) -> Any:
    """Return |x_i|^2 for the rows of a matrix, or |x|^2 of one vector."""
    return np.sum(x * x, axis=-1)


class Parts(NamedTuple):
    """What is computed from embeddings, prototypes and given assignments, each by its own formula, in fractions."""

    centroids: Exact
    loss: Fraction
    hard: Fraction
    error: Fraction
    variance: Fraction
    covariance: Exact


def parts(z: Exact, p: Exact, q: Exact) -> Parts:
    """Return soft centroids, L_q, M, R, V and Sigma_q, for any weights q, (n, k)."""
    d, mu = distances(z, p), q @ p
    return Parts(
        mu,
        np.sum(q * d),
        np.sum(np.min(d, axis=1)),
        np.sum(squared_norms(z - mu)),
        np.sum(q * distances(mu, p)),
        np.sum([np.diag(row) - np.outer(row, row) for row in q], axis=0),
    )


def distances(z: Exact, p: Exact) -> Exact:
    """Return the squared distances, (n, k)."""
    return squared_norms(z[:, None] - p[None])


class RationalBank(NamedTuple):
    """Embeddings (n, m), prototypes (k, m) with coordinates in multiples of `spacing`, and T = spacing^2 / log base."""

    z: Exact
    p: Exact
    base: Fraction
    spacing: Fraction = Fraction(1)
    name: str = "random"

    @property
    def temperature(self) -> float:
        """The temperature T."""
        return float(self.spacing) ** 2 / float(np.log(float(self.base)))

    @property
    def q(self) -> Exact:
        """The soft assignments, base^(-d / spacing^2) with rows divided by their sums, (n, k)."""
        steps = distances(self.z, self.p) / self.spacing**2
        gaps = steps - np.min(steps, axis=1)[:, None]
        if any(gap.denominator != 1 for gap in gaps.flat):
            raise ValueError("Embeddings and prototypes must be multiples of the spacing.")
        weights = matrix([[1 / self.base ** int(gap) for gap in row] for row in gaps])
        return weights / np.sum(weights, axis=1)[:, None]

    @property
    def parts(self) -> Parts:
        """What is computed at the soft assignments."""
        return parts(self.z, self.p, self.q)

    @property
    def distinct(self) -> bool:
        """Whether no two prototypes coincide."""
        return len({tuple(row) for row in self.p}) == len(self.p)

    @property
    def floats(self) -> tuple[Embeddings, Prototypes, Scalar]:
        """Embeddings, prototypes and temperature in floating point."""
        z, p = (jnp.asarray(x.astype(float)) for x in (self.z, self.p))
        return z, p, jnp.asarray(self.temperature)

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """What varies between instances, for the ledger."""
        n, m = self.z.shape
        return {"n": n, "k": len(self.p), "m": m, "T": self.temperature, "bank": self.name}

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        return {"z": self.z, "p": self.p, "b": self.base, "spacing": self.spacing}


class BankMeasures(NamedTuple):
    """The quantities of the toolkit."""

    q: Weights
    centroids: Embeddings
    loss: Scalar
    hard: Scalar
    error: Scalar
    variance: Scalar
    covariance: Float[Array, "k k"]
    entropy: Scalar
    separation: Scalar


@jax.jit
def shipped(z: Embeddings, p: Prototypes, temperature: Scalar) -> BankMeasures:
    """Return the quantities of the toolkit at embeddings, prototypes and a temperature."""
    q = measures.assignments(z, p, temperature)
    return BankMeasures(
        q,
        measures.soft_centroids(q, p),
        measures.competitive_loss(z, p, temperature),
        measures.hard_loss(z, p),
        measures.reconstruction_error(z, p, temperature),
        measures.prototype_variance(z, p, temperature),
        measures.assignment_covariance(q),
        measures.entropy(q),
        measures.separation(p),
    )


def computed(bank: RationalBank) -> tuple[Measurement, ...]:
    """Measure that the toolkit computes assignments, centroids, Lq, M, R, V, Sigma_q, H and S of a bank as they are."""
    found, exact, q = shipped(*bank.floats), bank.parts, bank.q.astype(float)
    gaps = distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)]
    return (
        agrees("the assignments that ship", found.q, bank.q),
        agrees("the soft centroids that ship", found.centroids, exact.centroids),
        agrees("Lq that ships", found.loss, float(exact.loss)),
        agrees("M that ships", found.hard, float(exact.hard)),
        agrees("R that ships", found.error, float(exact.error)),
        agrees("V that ships", found.variance, float(exact.variance)),
        agrees("Sigma_q that ships", found.covariance, exact.covariance),
        agrees("H that ships", found.entropy, -np.sum(q * np.log(np.where(q > 0, q, 1.0))) / len(q)),
        holds("S that ships", float(found.separation) == float(min(gaps, default=np.inf))),
    )


def soft(bank: RationalBank) -> tuple[Measurement, ...]:
    """Measure that the temperature is positive, and that assignments are positive with rows that sum to one."""
    q = bank.q
    return (
        holds("the temperature is positive", bank.base > 1 and bank.spacing > 0),
        holds("assignments are positive", bool(np.all(q > 0))),
        holds("their rows sum to one", bool(np.all(np.sum(q, axis=1) == 1))),
    )


def _points(rng: np.random.Generator, count: int, m: int, *, distinct: bool = False) -> Exact:
    """Return random points with integer coordinates from -3 to 3."""
    sides = 7**m
    drawn = rng.choice(sides, count, replace=False) if distinct else rng.integers(sides, size=count)
    return matrix([[int(v) // 7**i % 7 - 3 for i in range(m)] for v in drawn])


def _base(rng: np.random.Generator) -> Fraction:
    """Return a base, for temperatures from about a tenth of a unit to eight units."""
    return Fraction(str(rng.choice(["9/8", "5/4", "3/2", "2", "10"])))


def random_bank(key: Key) -> RationalBank:
    """Return random embeddings and distinct prototypes on a lattice of spacing 1/2 or 1, at a random temperature."""
    rng = numpy_rng(key, "bank")
    h = Fraction(1, int(rng.integers(1, 3)))
    return RationalBank(h * _points(rng, N, M), h * _points(rng, K, M, distinct=True), _base(rng), h)


def between_bank(key: Key) -> RationalBank:
    """Return a bank whose embeddings all lie midway between two prototypes; a third one is farther away."""
    rng = numpy_rng(key, "between")
    centre, v = _points(rng, 1, M), _points(rng, 2, M, distinct=True)
    v = v[:1] if np.any(v[0] != 0) else v[1:]
    across = v[:, ::-1] * matrix([[-2, 2]])
    return RationalBank(centre[[0] * N], centre + np.concatenate([v, -v, across]), _base(rng), name="between")


def hard_bank(key: Key) -> RationalBank:
    """Return a random bank, or one in which something degenerates; prototypes coincide in `coincident` alone.

    Ties between prototypes, embeddings that coincide, all points on a line, an outlier, one tight cluster, a very low
    and a very high temperature, more prototypes than embeddings on a line, and one prototype.
    """
    rng = numpy_rng(key, "hard")
    kind = str(rng.choice([*HARD]))
    return hard(key, kind)


HARD = (
    "random",
    "tied",
    "duplicates",
    "coincident",
    "collinear",
    "outlier",
    "one cluster",
    "cold",
    "hot",
    "K > N, m = 1",
    "K = 1",
)


def hard(key: Key, kind: str) -> RationalBank:
    """Return the hard bank of a kind in `HARD`."""
    rng, bank = numpy_rng(key, kind), random_bank(key)
    z, p, b, h = bank.z, bank.p, bank.base, bank.spacing
    if kind == "tied":
        found = (z * matrix([[0, 1]]), h * matrix([[1, 0], [-1, 0], [0, 3]]), b)
    elif kind == "duplicates":
        found = (z[[0, 0, 0, 1, 1]], p, b)
    elif kind == "coincident":
        found = (z, p[[0, 0, 1]], b)
    elif kind == "collinear":
        line = matrix([[1, 2]])
        found = (z[:, :1] * line, h * matrix([[-2], [int(rng.integers(-1, 1))], [3]]) * line, b)
    elif kind == "outlier":
        found = (z + h * matrix([[30, -40], *[[0, 0]] * 4]), p, b)
    elif kind == "one cluster":
        found = (z[:1] + h * matrix([[0, 0], [0, 1], [1, 0], [0, 0], [1, 1]]), p, b)
    elif kind in ("cold", "hot"):
        found = (z, p, Fraction(10**6) if kind == "cold" else Fraction(1001, 1000))
    elif kind == "K > N, m = 1":
        found = (h * _points(rng, 2, 1), h * _points(rng, 4, 1, distinct=True), b)
    elif kind == "K = 1":
        found = (z, p[:1], b)
    else:
        found = (z, p, b)
    return RationalBank(*found, h, kind)

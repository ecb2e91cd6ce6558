"""Runs with a certified end: limits, limit polytope K and candidate set S, all in fractions; also clouds with ties."""

import itertools
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import Case, case, distinct, invertible
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.candidates import Candidates, candidate_set
from analysis.hardmax.certificate import Certificate, certify
from analysis.hardmax.exact_geometry import solved
from analysis.hardmax.polytopes import Polytope, polytope
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.simulation import iterate

LAYERS = 200  # within which a run must end to be of use
STEPS = tuple(Fraction(a) for a in ("1/7", "1/2", "1", "5/2", "1000000"))
CERTIFIED = "limits come with a certificate that the follower sets are final; K, S and comparisons are exact"
UNFINISHED = f"no certificate within {LAYERS} layers"


class End(NamedTuple):
    """A case, the certificate of its end, K, and S of (4.1) in the metric of A."""

    case: Case
    proof: Certificate
    body: Polytope
    candidates: Candidates

    @property
    def leaders(self) -> list[int]:
        """The leaders of Definition 1.1."""
        return np.flatnonzero(self.proof.leaders >= 0).tolist()

    @property
    def corners(self) -> set[tuple]:
        """The vertices of K."""
        return values(self.body.corners)

    def states(self, layers: int) -> Exact:
        """Return the first so many layers, layer 0 included, by the map."""
        tokens = self.case.map.rule.tokens(self.case.tokens)
        return iterate(self.case.map, tokens, layers).ys if layers else tokens[None]

    def measured(self) -> tuple[Measurement, ...]:
        """Measure the hypotheses of Theorem 1.1."""
        return self.case.measured()


def ended(found: Case) -> End | Trial:
    """Return the certified end of a case, or a trial that says that there is none yet."""
    proof = certify(found.map, found.tokens, max_layers=LAYERS)
    if not proof.certified:
        return Trial.unfinished(UNFINISHED)
    body = polytope(proof.limits)
    return End(found, proof, body, candidate_set(body, found.attention))


def moderate(key: Key) -> Case:
    """Return a case of `instances.case` whose step leaves few layers to the end, or one with exact ties."""
    a, b = jax.random.split(key)
    kind, step = (int(v) for v in jax.random.randint(a, (2,), 0, 60))
    return tied(b) if kind % 3 == 0 else case(b)._replace(alpha=STEPS[step % len(STEPS)])


def tied(key: Key, *, plain: bool = False, dimension: int | None = None) -> Case:
    """Return a box of leaders with tokens on its axes, which stay in exact ties and tend to the middles of faces.

    The box is turned by the inverse of a random factor B of A, unless `plain`; two more tokens are inside anywhere.
    It has two or three dimensions unless told.
    """
    a, b, c, d = jax.random.split(key, 4)
    kind, step = (int(v) for v in jax.random.randint(a, (2,), 0, 60))
    dimension = 2 + kind % 2 if dimension is None else dimension
    sides = matrix(np.asarray(jax.random.randint(b, (dimension,), 1, 7))) / 2
    corners = matrix(
        [[s * x for s, x in zip(signs, sides, strict=True)] for signs in itertools.product((1, -1), repeat=dimension)]
    )
    shares = matrix(np.asarray(jax.random.randint(c, (dimension + 2, dimension), -7, 8))) / 8
    axes = identity(dimension) * np.array([abs(s) or Fraction(1, 2) for s in np.diag(shares)])
    box = np.concatenate([corners, axes * sides, shares[dimension:] * sides])
    factor = identity(dimension) if plain else invertible(d, dimension)
    return Case(distinct(solved(factor, box.T).T), factor, STEPS[step % len(STEPS)])


def values(points: Exact) -> set[tuple]:
    """Return the distinct rows."""
    return {tuple(row) for row in points}


def inside(what: str, points: Exact, others: set[tuple]) -> Measurement:
    """Measure whether every row of `points` is one of `others`, exactly."""
    return holds(what, values(points) <= others)

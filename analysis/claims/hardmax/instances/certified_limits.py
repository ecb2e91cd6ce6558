"""Hardmax runs with certified limits, limit polytope K and set S of (4.1), all in fractions; cases with ties."""

import itertools
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import Case, case, distinct, invertible
from analysis.claims.rational_instances import Exact, identity, integers, matrix
from analysis.hardmax.candidates import Candidates, candidate_set
from analysis.hardmax.certificate import Certificate, certify
from analysis.hardmax.exact_geometry import solved
from analysis.hardmax.polytopes import Polytope, polytope
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.simulation import iterate

LAYERS = 200  # within which the follower sets must be proved final; otherwise the trial is undecided
STEPS = tuple(Fraction(a) for a in ("1/7", "1/2", "1", "5/2", "1000000"))
CERTIFIED = "the follower sets are proved to be final, so that limits, K, S and comparisons are exact"
UNFINISHED = f"no certificate within {LAYERS} layers"


class CertifiedRun(NamedTuple):
    """A case, the certificate of its limits, the limit polytope K (`body`), and S of (4.1) in the metric of A."""

    case: Case
    certificate: Certificate
    body: Polytope
    candidates: Candidates

    @property
    def leaders(self) -> list[int]:
        """The indices of the leaders of Definition 1.1."""
        return np.flatnonzero(self.certificate.leader_layers >= 0).tolist()

    @property
    def vertices(self) -> set[tuple]:
        """The vertices of K, as tuples of coordinates."""
        return values(self.body.vertex_points)

    def states(self, layers: int) -> Exact:
        """Return the tokens at layers 0 to `layers`, shape (layers + 1, n, d), by iterating the map."""
        tokens = self.case.map.rule.tokens(self.case.tokens)
        return iterate(self.case.map, tokens, layers).ys if layers else tokens[None]

    def measured(self) -> tuple[Measurement, ...]:
        """Measure the hypotheses of Theorem 1.1 for the case."""
        return self.case.measured()


def certified_run(given: Case) -> CertifiedRun | Trial:
    """Return the run of a case with its certified limits, or an undecided trial if no certificate is found."""
    certificate = certify(given.map, given.tokens, max_layers=LAYERS)
    if not certificate.certified:
        return Trial.unfinished(UNFINISHED)
    body = polytope(certificate.limits)
    return CertifiedRun(given, certificate, body, candidate_set(body, given.attention))


def certifiable_case(key: Key) -> Case:
    """Return a case that is certified within few layers, with no tiny step alpha; a third have exact ties."""
    a, b = jax.random.split(key)
    kind, step = (int(v) for v in integers(a, (2,), 0, 60))
    return tied_case(b) if kind % 3 == 0 else case(b)._replace(alpha=STEPS[step % len(STEPS)])


def tied_case(key: Key, *, with_identity: bool = False, dimension: int | None = None) -> Case:
    """Return leaders at the corners of a box, tokens on its axes, and two more tokens at random places inside.

    By symmetry the tokens on the axes are in exact ties at all layers and tend to the centres of faces.

    Args:
        key: random key.
        with_identity: take A = I; otherwise A = B^T B with a random B, and the tokens are mapped by B^{-1}.
        dimension: of the box; two or three at random if None.
    """
    a, b, c, d = jax.random.split(key, 4)
    kind, step = (int(v) for v in integers(a, (2,), 0, 60))
    dimension = 2 + kind % 2 if dimension is None else dimension
    sides = matrix(integers(b, (dimension,), 1, 7)) / 2
    corners = matrix(
        [[s * x for s, x in zip(signs, sides, strict=True)] for signs in itertools.product((1, -1), repeat=dimension)]
    )
    shares = matrix(integers(c, (dimension + 2, dimension), -7, 8)) / 8
    axes = identity(dimension) * np.array([abs(s) or Fraction(1, 2) for s in np.diag(shares)])
    box = np.concatenate([corners, axes * sides, shares[dimension:] * sides])
    factor = identity(dimension) if with_identity else invertible(d, dimension)
    return Case(distinct(solved(factor, box.T).T), factor, STEPS[step % len(STEPS)])


def values(points: Exact) -> set[tuple]:
    """Return the set of distinct rows, as tuples."""
    return {tuple(row) for row in points}


def is_subset(what: str, points: Exact, others: set[tuple]) -> Measurement:
    """Measure whether every row of `points` is an element of `others`, exactly."""
    return holds(what, values(points) <= others)

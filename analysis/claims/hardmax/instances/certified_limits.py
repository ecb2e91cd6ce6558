"""Hardmax runs with certified limits, limit polytope K and set S of (4.1), all in fractions; cases with ties."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import ClusteringCase, case, defined_sets, distinct, invertible
from analysis.claims.hardmax.instances.zoo import STEPS, ZOO, hard_case, late_leaders
from analysis.claims.rational_instances import Exact, identity, integers, matrix
from analysis.hardmax.candidates import Candidates, candidate_set
from analysis.hardmax.certificate import Certificate, certify
from analysis.hardmax.constant_follower_sets import closed_form_motion
from analysis.hardmax.exact_geometry import solved
from analysis.hardmax.leaders import leader_layers
from analysis.hardmax.polytopes import Polytope, polytope
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, Measurement, Trial, at_most, holds
from dynsim._core.types import Key
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.search.follower_sets import FollowerSets

LAYERS = 200  # within which the follower sets must be proved final; otherwise the trial is undecided
BEYOND = 40  # layers after the certificate in which the map is compared with it
CERTIFIED = (
    "the follower sets are proved to be final, so that limits, K, S and comparisons are exact; the map is iterated for "
    f"{BEYOND} more layers and compared with the certificate"
)
UNFINISHED = f"no certificate within {LAYERS} layers"


@dataclass
class CertifiedRun:
    """A case, the certificate of its limits, the limit polytope K (`body`), and S of (4.1) in the metric of A."""

    case: ClusteringCase
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

    @property
    def boundary_candidates(self) -> set[tuple]:
        """The points of S on the boundary of K, as tuples: all of them but the origin, if that is interior to K."""
        flat = self.body.dimension < self.body.points.shape[1]
        pairs = zip(self.candidates.points, self.candidates.faces, strict=True)
        return {tuple(x) for x, face in pairs if flat or face != self.body.vertices}

    @cached_property
    def path(self) -> Exact:
        """The tokens at layers 0 to `BEYOND` after the certificate, shape (layers + 1, n, d), by iterating the map."""
        tokens = self.case.map.rule.tokens(self.case.tokens)
        return iterate(self.case.map, tokens, self.certificate.num_layers + BEYOND).ys

    def states(self, layers: int) -> Exact:
        """Return the tokens at layers 0 to `layers`, at most `BEYOND` after the certificate."""
        return self.path[: layers + 1]

    def measured(self) -> tuple[Measurement, ...]:
        """Measure the hypotheses of Theorem 1.1 for the case."""
        return self.case.measured()

    def agreement(self) -> tuple[Measurement, ...]:
        """Measure that the map, iterated beyond the certificate, does what it says: tokens, follower sets, leaders.

        The follower sets are those of `constant_from` in every later layer, and not in the one before it. While they do
        not change in earlier layers, the closed form must hold too.
        """
        proof, map, states = self.certificate, self.case.map, self.path
        final, begin = proof.sets.lists(), proof.constant_from
        found = [map.follower_sets(x) for x in states]
        sets = [layer.lists() for layer in found]
        first = [next((k for k, layer in enumerate(sets) if layer[i] == [i]), -1) for i in range(len(final))]
        closed = all(np.all(states[k] == proof.tokens(k)) for k in range(proof.num_layers, len(states)))
        defined = all(sets[k] == defined_sets(states[k], self.case.attention) for k in {0, begin // 2, begin})
        early = all(self._moves(k, found) for k in range(begin) if sets[k] == sets[k + 1])
        leading = proof.leader_layers.tolist() == first
        return (
            holds(f"the map follows the certified closed form for {BEYOND} layers", closed),
            holds("the closed form holds while follower sets do not change", early),
            holds("the follower sets are those of (1.1b)", defined),
            holds("the follower sets are final from the certified layer on", all(c == final for c in sets[begin:])),
            holds("they are not before it", begin == 0 or sets[begin - 1] != final),
            holds("the layers at which leaders appear are those of the trajectory", leading),
            holds("`leader_layers` finds them", leader_layers(map, states).tolist() == first),
        )

    def _moves(self, layer: int, sets: list[FollowerSets]) -> bool:
        """Return whether the motion in closed form from a layer on is that of the map, until the sets change."""
        ones = np.ones(len(self.case.tokens), int)
        motion = closed_form_motion(self.path[layer], sets[layer], ones, self.case.alpha, self.case.attention)
        end = next((k for k in range(layer, len(sets)) if not sets[k].same_as(sets[layer])), len(sets) - 1)
        steps = range(1, min(end - layer, 4) + 1)
        return not motion.valid or all(bool(np.all(motion.after(m) == self.path[layer + m])) for m in steps)

    def parameters(self) -> dict[str, float | int]:
        """Return the sizes of the case, the dimension of K, and the layers of the last leader and of the final sets."""
        n, d = self.case.tokens.shape
        return {
            "n": n,
            "d": d,
            "alpha": float(self.case.alpha),
            "dimension of K": self.body.dimension,
            "vertices of K": len(self.body.vertices),
            "layer of the last leader": int(np.max(self.certificate.leader_layers)),
            "layer of the final follower sets": self.certificate.constant_from,
        }


def certified_run(given: ClusteringCase) -> CertifiedRun | Trial:
    """Return the run of a case with its certified limits, or an undecided trial if no certificate is found."""
    certificate = certify(given.map, given.tokens, max_layers=LAYERS)
    if not certificate.certified:
        return Trial.unfinished(UNFINISHED)
    body = polytope(certificate.limits)
    return CertifiedRun(given, certificate, body, candidate_set(body, given.attention))


Measures = Callable[..., tuple[Measurement, ...]]
"""Conclusions for a `CertifiedRun`, and for what else is given by name."""


def certified_trial(
    cases: Mapping[str, ClusteringCase],
    measures: Measures,
    hypotheses: Mapping[str, ClusteringCase] | None = None,
    **options: Any,
) -> Trial:
    """Return a trial of several cases, each with its hypotheses, the given conclusions and those of `agreement`.

    Args:
        cases: the cases that are run, by name.
        measures: return the conclusions for a run.
        hypotheses: cases by the same names whose hypotheses are measured instead, for controls.
        options: what `measures` takes besides the run.
    """
    met: list[Measurement] = []
    found: list[Measurement] = []
    witness, parameters = {}, {}
    for name, given in cases.items():
        run = certified_run(given)
        if isinstance(run, Trial):
            return run
        met += [
            replace(m, what=f"{name}: {m.what}") for m in (given if hypotheses is None else hypotheses[name]).measured()
        ]
        found += [replace(m, what=f"{name}: {m.what}") for m in (*measures(run, **options), *run.agreement())]
        leaders = run.certificate.leader_layers
        witness[name] = {**given.witness(), "limits": run.certificate.limits, "leader layers": leaders}
        own = run.parameters()
        parameters = {word: max(parameters.get(word, value), value) for word, value in own.items()}
    return Trial(tuple(met), tuple(found), witness, parameters={**parameters, "instances": " and ".join(cases)})


def with_late_leaders(key: Key, *names: str) -> dict[str, ClusteringCase]:
    """Return a case at random, tokens with a leader that appears after layer 0, and the named hard instances."""
    a, b, *others = jax.random.split(key, 2 + len(names))
    first, given = named_case(a)
    hard = {name: ZOO[name](k) for name, k in zip(names, others, strict=True)}
    return {first: given, "late leaders": late_leaders(b), **hard}


def trial_with_twins(key: Key, measures: Measures) -> Trial:
    """Return a trial with a token of largest norm repeated; the hypotheses are measured without the twin."""
    cases = with_late_leaders(key)
    return certified_trial({name: given.with_twin for name, given in cases.items()}, measures, cases)


def skewed(build: Callable[[Key], ClusteringCase], key: Key) -> ClusteringCase:
    """Return a case of this kind whose A is not a multiple of the identity."""
    given = build(key)
    A = given.attention
    return skewed(build, jax.random.fold_in(key, 0)) if bool(np.all(A[0, 0] * identity(len(A)) == A)) else given


def certifiable_case(key: Key) -> ClusteringCase:
    """Return a case that is certified within few layers: at random in general position, in ties, or a hard instance."""
    return named_case(key)[1]


def named_case(key: Key) -> tuple[str, ClusteringCase]:
    """Return such a case with its name."""
    a, b = jax.random.split(key)
    kind, step = (int(v) for v in integers(a, (2,), 0, 60))
    if kind % 3 == 0:
        return "box", tied_case(b)
    return ("cloud", case(b)._replace(alpha=STEPS[step % len(STEPS)])) if kind % 3 == 1 else hard_case(b)


def tied_case(key: Key, *, with_identity: bool = False, dimension: int | None = None) -> ClusteringCase:
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
    return ClusteringCase(distinct(solved(factor, box.T).T), factor, STEPS[step % len(STEPS)])


def values(points: Exact) -> set[tuple]:
    """Return the set of distinct rows, as tuples."""
    return {tuple(row) for row in points}


def is_subset(what: str, points: Exact, others: set[tuple]) -> Measurement:
    """Measure whether every row of `points` is an element of `others`, exactly."""
    return holds(what, values(points) <= others)


def no_more_than(what: str, value: Any, bound: float) -> Measurement:
    """Measure that an error or another size, which is not negative, is at most a bound, up to rounding."""
    return at_most(what, value, bound, tolerance=ROUNDING, within=NON_NEGATIVE)

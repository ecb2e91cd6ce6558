"""Claims of Section 4: finiteness of the set S, growth of norms away from it, convergence to S and to its points."""

from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certifiable_case,
    certified_run,
    is_subset,
    tied_case,
    values,
)
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.hardmax.norm_growth import growth_trial
from analysis.claims.hardmax.section_1_theorem import projection_trial
from analysis.claims.rational_instances import Exact, identity, matrix, rational_unit, rational_weights
from analysis.hardmax.candidates import support_gap
from analysis.hardmax.polytopes import polytope
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.exact import rational, rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2

INTERVAL = 30  # layers between comparisons of distances, after the follower sets are certified to be final


def _finite_trial(key: Key, given: Case, metric: Exact | None = None) -> Trial:
    """Measure that at most one convex combination of the vertices of a face, with positive weights, belongs to S."""
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    A = given.attention if metric is None else metric
    several = []
    for face in run.candidates.faces:
        weights = rational_weights(key, 16, len(face))
        mixtures = [w @ run.body.points[list(face)] / sum(w) for w in weights]
        known = run.candidates.points[run.candidates.faces.index(face)]
        zeros = values(np.stack([x for x in (*mixtures, known) if support_gap(run.body, x, A) == 0] or [known]))
        several += [sorted(zeros)] if len(zeros) > 1 else []
    count = len(run.candidates.points)
    return Trial(
        hypotheses=run.measured(),
        conclusions=(
            holds("no two elements of S are positive combinations of the same vertices", not several),
            holds("S has at most 2^m - 1 elements", count <= 2 ** len(run.body.vertices) - 1),
        ),
        witness={**given.witness(), "two of one face": several},
    )


@claim(
    "hardmax/lemma-4.1-finite",
    HARDMAX.at("Lemma 4.1", "(4.1)"),
    evidence="certified",
    num_trials=12,
    note="S in the metric of A, on limit polytopes; random convex combinations of the vertices of a face are compared "
    "with the element of S found on that face",
)
def candidates_are_finitely_many(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S is finite: at most one element of S is a convex combination, with positive weights, of given vertices of K."""
    a, b = jax.random.split(key)
    return _finite_trial(a, certifiable_case(b))


@candidates_are_finitely_many.with_control
def candidates_are_finitely_many(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A rectangle of leaders, with a degenerate metric in the first coordinate only: a whole edge belongs to S."""
    box = Case(matrix([[2, 1], [-2, 1], [-2, -1], [2, -1]]), identity(2), Fraction(1))
    return _finite_trial(key, box, matrix([[1, 0], [0, 0]]))


def _boundary_trial(given: Case, *, without_origin: bool) -> Trial:
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    flat = run.body.dimension < given.tokens.shape[1]
    points = [s for s in run.candidates.points if any(s) or not without_origin]
    inner = [s for s in points if not flat and all(run.body.slacks(s) > 0)]
    return Trial(
        hypotheses=run.measured(),
        conclusions=(holds("every point of S lies on the boundary of K", not inner),),
        witness={**given.witness(), "vertices of K": run.body.vertex_points, "inner points of S": inner},
    )


@claim(
    "hardmax/lemma-4.1-boundary",
    HARDMAX.at("Lemma 4.1"),
    evidence="certified",
    num_trials=1,
    note="the origin belongs to S as soon as it lies in K; the proof maximises the linear function <z, x>, "
    "which for x = 0 is constant; no control: the corrected claim is the positive case",
)
def candidates_lie_on_the_boundary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S is a subset of the boundary of K."""
    return _boundary_trial(
        Case(matrix([[1, 1], [-1, 1], [-1, -1], [1, -1]]), identity(2), rational("alpha", ALPHA)), without_origin=False
    )


@claim(
    "hardmax/lemma-4.1-boundary/corrected",
    HARDMAX.at("Lemma 4.1"),
    evidence="certified",
    num_trials=16,
    variant="corrected",
    note="added: the origin is excepted; no token with a nonzero initial value converges to it, so that in Theorem 1.1 "
    "S may be taken on the boundary",
)
def other_candidates_lie_on_the_boundary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S without the origin is a subset of the boundary of K."""
    return _boundary_trial(certifiable_case(key), without_origin=True)


@other_candidates_lie_on_the_boundary.with_control
def other_candidates_lie_on_the_boundary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The origin included, for boxes that contain it."""
    return _boundary_trial(tied_case(key), without_origin=False)


@claim(
    "hardmax/lemma-4.2",
    HARDMAX.at("Lemma 4.2", "(4.8)"),
    num_trials=6,
    note="A = I, in the plane; c is computed from K, delta and alpha alone, on a grid with a Lipschitz bound; "
    "the layer k_delta is that of the trajectory (read: the constant depends on nothing else, the layer may)",
)
def norms_grow_away_from_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every delta > 0 there are a layer k_delta and a constant c > 0, depending only on delta, K and alpha, such
    that for k >= k_delta the squared norm of every token farther than delta from S grows by at least c in layer k.
    """
    return growth_trial(key, vertices_only=False)


@norms_grow_away_from_candidates.with_control
def norms_grow_away_from_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Only the vertices in place of S, for tokens in ties: near the centres of faces norms do not grow."""
    return growth_trial(key, vertices_only=True)


def _attracting_trial(given: Case, *, vertices_only: bool) -> Trial:
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    S = run.body.vertex_points if vertices_only else run.candidates.points
    begin = run.certificate.num_layers
    far = [
        _squared_distances(run.certificate.tokens(begin + k), S, given.attention) for k in (0, INTERVAL, 2 * INTERVAL)
    ]
    closer = all(a == b == c == 0 or a > b > c for a, b, c in zip(*far, strict=True))
    return Trial(
        hypotheses=run.measured(),
        conclusions=(
            is_subset("every limit is in S", run.certificate.limits, values(S)),
            holds(f"distances to S decrease over two intervals of {INTERVAL} layers, or are zero", closer),
        ),
        witness=given.witness(),
    )


def _squared_distances(x: Exact, points: Exact, A: Exact) -> list[Fraction]:
    return [min((row - s) @ A @ (row - s) for s in points) for row in x]


@claim("hardmax/proposition-4.3", HARDMAX.at("Proposition 4.3"), evidence="certified", num_trials=12, note=CERTIFIED)
def candidates_attract(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token converges to S: its distance to S tends to zero."""
    return _attracting_trial(certifiable_case(key), vertices_only=False)


@candidates_attract.with_control
def candidates_attract(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Only the vertices in place of S, on tokens with ties."""
    return _attracting_trial(tied_case(key), vertices_only=True)


def _vertices_trial(given: Case, points: Exact | None = None) -> Trial:
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    body = run.body if points is None else polytope(points)
    beyond = [v for v in body.vertex_points if support_gap(body, v, given.attention) > 0]
    return Trial(
        hypotheses=run.measured(),
        conclusions=(holds("every vertex is in S", not beyond),),
        witness={**given.witness(), "vertices not in S": beyond},
    )


@claim(
    "hardmax/lemma-4.4-vertices",
    HARDMAX.at("Lemma 4.4"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; true of limit polytopes, not of every polytope: see the control",
)
def vertices_are_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The vertices of K belong to S."""
    return _vertices_trial(certifiable_case(key))


@vertices_are_candidates.with_control
def vertices_are_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The convex hull of the initial tokens in place of K, for Example 5.2."""
    given = Case(rationals("tokens", np.array(EXAMPLE_5_2, object)), identity(2), rational("alpha", ALPHA))
    return _vertices_trial(given, given.tokens)


@claim(
    "hardmax/lemma-4.4-projections",
    HARDMAX.at("Lemma 4.4"),
    evidence="certified",
    num_trials=12,
    note=f"{CERTIFIED}; A = I, as in Section 4; K counts as a face of itself, since otherwise the origin, when it is "
    f"interior to K, is a counterexample",
)
def other_candidates_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every point of S that is not a vertex is the projection of the origin onto a face of K."""
    return projection_trial(tied_case(key, with_identity=True))


@other_candidates_are_projections.with_control
def other_candidates_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The projection in a metric other than that of the map."""
    given = tied_case(key, with_identity=True)
    d = len(given.factor)
    skew = identity(d)
    skew[0, 1] = skew[1, 0] = Fraction(1, 2)
    return projection_trial(given, skew)


def _separation_trial(key: Key, *, with_tie: bool) -> Trial:
    """Measure the inequality (4.26) for a random s_0 in S at sampled points of the balls, and by the proof's bound."""
    a, b, c = jax.random.split(key, 3)
    run = certified_run(tied_case(a, with_identity=True))
    if isinstance(run, Trial):
        return run
    level = lambda s0: [s for s in run.candidates.points if s @ s0 == s0 @ s0 and any(s != s0)]
    choices = [s for s in run.candidates.points if any(s) and (level(s) or not with_tie)]
    s0 = choices[int(jax.random.randint(b, (), 0, len(choices)))]
    strict = [s for s in run.candidates.points if s @ s0 < s0 @ s0]
    gap = min(s0 @ s0 - s @ s0 for s in strict)
    largest = max(sum(abs(s)) for s in run.candidates.points)  # the 1-norm, an upper bound of the Euclidean norm
    radius = gap / (8 * largest)  # so that (2 max |s| + delta) delta < epsilon / 2
    others = level(s0) if with_tie else strict
    keys = jax.random.split(c, len(others))
    worst = min(_least_difference(k, s0, s, radius) for k, s in zip(keys, others, strict=True))
    bound = gap - radius * (3 * largest + largest + radius)  # of <x, x> - <y, x> over the balls
    return Trial(
        hypotheses=(*run.measured(), holds("<s, s_0> < <s_0, s_0> for every s in S'", bool(gap > 0))),
        conclusions=(
            holds("<y, x> < <x, x> at all sampled points", worst > 0),
            holds("<y, x> < <x, x> everywhere in the balls, by the bound of the proof", bound > 0),
        ),
        witness={"s_0": s0, "S'": others, "delta": radius},
    )


def _least_difference(key: Key, s0: Exact, s: Exact, radius: Fraction) -> Fraction:
    """Return the least <x, x> - <y, x> over sampled x and y on the spheres around s_0 and s, or in direction -s_0."""
    d = len(s0)
    units = [rational_unit(k, d) for k in jax.random.split(key, 6)]
    inward = -s0 / sum(abs(s0))  # of Euclidean norm at most one
    moves = [*units, *(-u for u in units), inward]
    return min((s0 + radius * u) @ (s0 + radius * u - s - radius * w) for u in moves for w in moves)


@claim(
    "hardmax/lemma-4.5",
    HARDMAX.at("Lemma 4.5", "(4.26)"),
    evidence="certified",
    num_trials=8,
    note="A = I; S' consists of all points of S that meet the hypothesis; for s_0 = 0 there are none",
)
def balls_are_separated(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If <s, s_0> < <s_0, s_0> for all s in S', there is delta > 0 with <y, x> < <x, x> for all x in B_delta(s_0) and
    y in B_delta(s), s in S'.
    """
    return _separation_trial(key, with_tie=False)


@balls_are_separated.with_control
def balls_are_separated(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Points s with <s, s_0> = <s_0, s_0> in place of S'."""
    return _separation_trial(key, with_tie=True)


def _balls_measures(run: CertifiedRun, squared_radius: Fraction) -> tuple[Measurement, ...]:
    S, A = run.candidates.points, run.case.attention
    begin = run.certificate.num_layers
    gaps = [(s - t) @ A @ (s - t) for i, s in enumerate(S) for t in S[:i]]
    stays = []
    for i, s in enumerate(run.certificate.limits):
        far = [(x[i] - s) @ A @ (x[i] - s) for x in (run.certificate.tokens(begin + INTERVAL * k) for k in range(1, 5))]
        stays.append(far[-1] < squared_radius and far == sorted(far, reverse=True))
    return (
        holds("the balls around the points of S are disjoint", all(4 * squared_radius < gap for gap in gaps)),
        holds("every token is in the ball of its limit, and its distance decreases", all(stays)),
    )


def _balls_trial(given: Case, share: Fraction) -> Trial:
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    S, A = run.candidates.points, given.attention
    gaps = [(s - t) @ A @ (s - t) for i, s in enumerate(S) for t in S[:i]]
    radius = share**2 * min(gaps, default=Fraction(1))
    return Trial(
        run.measured(),
        (*_balls_measures(run, radius), is_subset("every limit is in S", run.certificate.limits, values(S))),
        given.witness(),
    )


@claim(
    "hardmax/proposition-4.6",
    HARDMAX.at("Proposition 4.6"),
    evidence="certified",
    num_trials=10,
    note="the statement holds, but the equality (4.35) in its proof does not: the convex hull of the balls around S_1 "
    "and s_2 can contain other points of S, as in a rectangle; a token that jumps there would have to increase its "
    "norm, which closes the gap",
)
def tokens_stay_in_one_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For some delta > 0 the balls B_delta(s), s in S, are disjoint, and every token stays in one of them from some
    layer on.
    """
    return _balls_trial(certifiable_case(key), Fraction(1, 3))


@tokens_stay_in_one_ball.with_control
def tokens_stay_in_one_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Balls of a radius equal to the least distance between two points of S."""
    return _balls_trial(tied_case(key), Fraction(1))

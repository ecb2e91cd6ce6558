"""Claims of Section 4: the set S, the growth of norms away from it, and the balls in which tokens end."""

from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import CERTIFIED, End, ended, inside, moderate, tied, values
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.hardmax.norm_growth import growth_trial
from analysis.claims.hardmax.section_1_theorem import projection_trial
from analysis.claims.rational_instances import Exact, identity, matrix, rational_unit, rational_weights
from analysis.hardmax.candidates import reach
from analysis.hardmax.polytopes import polytope
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.exact import rational, rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2

LATER = 30  # layers for which tokens are watched after the end is certified


def _finite_trial(key: Key, found: Case, metric: Exact | None = None) -> Trial:
    """Measure that mixtures of the vertices of one face, all weights positive, hold at most one element of S."""
    end = ended(found)
    if isinstance(end, Trial):
        return end
    A = found.attention if metric is None else metric
    several = []
    for face in end.candidates.faces:
        weights = rational_weights(key, 16, len(face))
        mixtures = [w @ end.body.points[list(face)] / sum(w) for w in weights]
        known = end.candidates.points[end.candidates.faces.index(face)]
        zeros = values(np.stack([x for x in (*mixtures, known) if reach(end.body, x, A) == 0] or [known]))
        several += [sorted(zeros)] if len(zeros) > 1 else []
    count = len(end.candidates.points)
    return Trial(
        hypotheses=end.measured(),
        conclusions=(
            holds("no two elements are mixtures of the same vertices", not several),
            holds("there are at most 2^m - 1", count <= 2 ** len(end.body.vertices) - 1),
        ),
        witness={**found.witness(), "two of one face": several},
    )


@claim(
    "hardmax/lemma-4.1-finite",
    HARDMAX.at("Lemma 4.1", "(4.1)"),
    evidence="certified",
    num_trials=12,
    note="S in the metric of A, on limit polytopes; random mixtures of the vertices of a face are compared "
    "with the listed element",
)
def candidates_are_finitely_many(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S is finite: at most one element of S is a mixture, with positive weights, of the same vertices of K."""
    a, b = jax.random.split(key)
    return _finite_trial(a, moderate(b))


@candidates_are_finitely_many.with_control
def candidates_are_finitely_many(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A rectangle of leaders, with a metric that does not see the second coordinate: a whole edge belongs to S."""
    box = Case(matrix([[2, 1], [-2, 1], [-2, -1], [2, -1]]), identity(2), Fraction(1))
    return _finite_trial(key, box, matrix([[1, 0], [0, 0]]))


def _boundary_trial(found: Case, *, without_origin: bool) -> Trial:
    end = ended(found)
    if isinstance(end, Trial):
        return end
    flat = end.body.dimension < found.tokens.shape[1]
    points = [s for s in end.candidates.points if any(s) or not without_origin]
    inner = [s for s in points if not flat and all(end.body.slacks(s) > 0)]
    return Trial(
        hypotheses=end.measured(),
        conclusions=(holds("every point of S lies on the boundary of K", not inner),),
        witness={**found.witness(), "vertices of K": end.body.corners, "inner points of S": inner},
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
    note="added: the origin excepted; no token that begins elsewhere tends to it, so that Theorem 1.1 keeps "
    "its S on the boundary",
)
def other_candidates_lie_on_the_boundary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S without the origin is a subset of the boundary of K."""
    return _boundary_trial(moderate(key), without_origin=True)


@other_candidates_lie_on_the_boundary.with_control
def other_candidates_lie_on_the_boundary(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The origin included, for boxes round it."""
    return _boundary_trial(tied(key), without_origin=False)


@claim(
    "hardmax/lemma-4.2",
    HARDMAX.at("Lemma 4.2", "(4.8)"),
    num_trials=6,
    note="A = I, in the plane; c is computed from K, delta and alpha alone, by a grid and a Lipschitz bound; "
    "the layer k_delta is that of the run (read: the constant depends on nothing else, the layer may)",
)
def norms_grow_away_from_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For delta > 0 there are a layer k_delta and c > 0, c a function of delta, K and alpha alone, with this property:

    from layer k_delta on, the squared norm of every token farther than delta from S grows by at least c in a layer.
    """
    return growth_trial(key, vertices_only=False)


@norms_grow_away_from_candidates.with_control
def norms_grow_away_from_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The vertices alone in place of S, for tokens in ties: near the middles of faces norms do not grow."""
    return growth_trial(key, vertices_only=True)


def _attracting_trial(found: Case, *, vertices_only: bool) -> Trial:
    end = ended(found)
    if isinstance(end, Trial):
        return end
    S = end.body.corners if vertices_only else end.candidates.points
    begin = end.proof.layers
    far = [_squared_distances(end.proof.tokens(begin + k), S, found.attention) for k in (0, LATER, 2 * LATER)]
    closer = all(a == b == c == 0 or a > b > c for a, b, c in zip(*far, strict=True))
    return Trial(
        hypotheses=end.measured(),
        conclusions=(
            inside("every limit is in S", end.proof.limits, values(S)),
            holds(f"distances to S shrink over {LATER} layers, twice, or are zero", closer),
        ),
        witness=found.witness(),
    )


def _squared_distances(x: Exact, points: Exact, A: Exact) -> list[Fraction]:
    return [min((row - s) @ A @ (row - s) for s in points) for row in x]


@claim("hardmax/proposition-4.3", HARDMAX.at("Proposition 4.3"), evidence="certified", num_trials=12, note=CERTIFIED)
def candidates_attract(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token tends to S: its distance to S tends to zero."""
    return _attracting_trial(moderate(key), vertices_only=False)


@candidates_attract.with_control
def candidates_attract(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The vertices alone, on clouds with ties."""
    return _attracting_trial(tied(key), vertices_only=True)


def _vertices_trial(found: Case, points: Exact | None = None) -> Trial:
    end = ended(found)
    if isinstance(end, Trial):
        return end
    body = end.body if points is None else polytope(points)
    beyond = [v for v in body.corners if reach(body, v, found.attention) > 0]
    return Trial(
        hypotheses=end.measured(),
        conclusions=(holds("every vertex is in S", not beyond),),
        witness={**found.witness(), "vertices not in S": beyond},
    )


@claim(
    "hardmax/lemma-4.4-vertices",
    HARDMAX.at("Lemma 4.4"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; true of limit polytopes, not of any polytope: see the control",
)
def vertices_are_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The vertices of K belong to S."""
    return _vertices_trial(moderate(key))


@vertices_are_candidates.with_control
def vertices_are_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The hull of the first tokens in place of K, for Example 5.2."""
    found = Case(rationals("tokens", np.array(EXAMPLE_5_2, object)), identity(2), rational("alpha", ALPHA))
    return _vertices_trial(found, found.tokens)


@claim(
    "hardmax/lemma-4.4-projections",
    HARDMAX.at("Lemma 4.4"),
    evidence="certified",
    num_trials=12,
    note=f"{CERTIFIED}; A = I, as in Section 4; K counts as a face of itself, without which the origin, when it"
    f" is inside of K, is a counterexample",
)
def other_candidates_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every point of S that is no vertex is the projection of the origin onto a face of K."""
    return projection_trial(tied(key, plain=True))


@other_candidates_are_projections.with_control
def other_candidates_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """In another metric than that of the map."""
    found = tied(key, plain=True)
    d = len(found.factor)
    skew = identity(d)
    skew[0, 1] = skew[1, 0] = Fraction(1, 2)
    return projection_trial(found, skew)


def _separation_trial(key: Key, *, with_tie: bool) -> Trial:
    """Choose s_0 in S, the radius of the proof, and try points of the balls; a bound covers all of them."""
    a, b, c = jax.random.split(key, 3)
    end = ended(tied(a, plain=True))
    if isinstance(end, Trial):
        return end
    level = lambda s0: [s for s in end.candidates.points if s @ s0 == s0 @ s0 and any(s != s0)]
    choices = [s for s in end.candidates.points if any(s) and (level(s) or not with_tie)]
    s0 = choices[int(jax.random.randint(b, (), 0, len(choices)))]
    strict = [s for s in end.candidates.points if s @ s0 < s0 @ s0]
    room = min(s0 @ s0 - s @ s0 for s in strict)
    largest = max(sum(abs(s)) for s in end.candidates.points)  # at least every norm
    radius = room / (8 * largest)  # so that (2 max |s| + delta) delta < epsilon / 2
    others = level(s0) if with_tie else strict
    keys = jax.random.split(c, len(others))
    worst = min(_least_difference(k, s0, s, radius) for k, s in zip(keys, others, strict=True))
    bound = room - radius * (3 * largest + largest + radius)  # of <x, x> - <y, x> over the balls
    return Trial(
        hypotheses=(*end.measured(), holds("<s, s_0> < <s_0, s_0> for every s in S'", bool(room > 0))),
        conclusions=(
            holds("<y, x> < <x, x> at all points that were tried", worst > 0),
            holds("and everywhere in the balls, by the bound of the proof", bound > 0),
        ),
        witness={"s_0": s0, "S'": others, "delta": radius},
    )


def _least_difference(key: Key, s0: Exact, s: Exact, radius: Fraction) -> Fraction:
    """Return the least <x, x> - <y, x> over some x and y on the spheres round s_0 and s, inward ones among them."""
    d = len(s0)
    units = [rational_unit(k, d) for k in jax.random.split(key, 6)]
    inward = -s0 / sum(abs(s0))  # no longer than one
    moves = [*units, *(-u for u in units), inward]
    return min((s0 + radius * u) @ (s0 + radius * u - s - radius * w) for u in moves for w in moves)


@claim(
    "hardmax/lemma-4.5",
    HARDMAX.at("Lemma 4.5", "(4.26)"),
    evidence="certified",
    num_trials=8,
    note="A = I; S' are all points of S that meet the hypothesis; the origin as s_0 meets it for no s",
)
def balls_are_separated(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If <s, s_0> < <s_0, s_0> for s in S', there is delta > 0 with <y, x> < <x, x> for x in B(s_0), y in any B(s)."""
    return _separation_trial(key, with_tie=False)


@balls_are_separated.with_control
def balls_are_separated(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Points s with <s, s_0> = <s_0, s_0> in place of S'."""
    return _separation_trial(key, with_tie=True)


def _balls_measures(end: End, squared_radius: Fraction) -> tuple[Measurement, ...]:
    S, A = end.candidates.points, end.case.attention
    begin = end.proof.layers
    gaps = [(s - t) @ A @ (s - t) for i, s in enumerate(S) for t in S[:i]]
    stays = []
    for i, s in enumerate(end.proof.limits):
        far = [(x[i] - s) @ A @ (x[i] - s) for x in (end.proof.tokens(begin + LATER * k) for k in range(1, 5))]
        stays.append(far[-1] < squared_radius and far == sorted(far, reverse=True))
    return (
        holds("the balls are disjoint", all(4 * squared_radius < gap for gap in gaps)),
        holds("every token is in the ball of its limit, and comes closer", all(stays)),
    )


def _balls_trial(found: Case, share: Fraction) -> Trial:
    end = ended(found)
    if isinstance(end, Trial):
        return end
    S, A = end.candidates.points, found.attention
    gaps = [(s - t) @ A @ (s - t) for i, s in enumerate(S) for t in S[:i]]
    radius = share**2 * min(gaps, default=Fraction(1))
    return Trial(
        end.measured(),
        (*_balls_measures(end, radius), inside("limits are in S", end.proof.limits, values(S))),
        found.witness(),
    )


@claim(
    "hardmax/proposition-4.6",
    HARDMAX.at("Proposition 4.6"),
    evidence="certified",
    num_trials=10,
    note="the statement holds; of its proof the equality (4.35) does not: the hull of the balls of S_1 and s_2"
    " can hold other points of S, as in a rectangle; a token that jumps there would have to gain norm, "
    "which closes the gap",
)
def tokens_stay_in_one_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For some delta > 0 the balls B(s), s in S, are disjoint, and every token stays in one from some layer on."""
    return _balls_trial(moderate(key), Fraction(1, 3))


@tokens_stay_in_one_ball.with_control
def tokens_stay_in_one_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With balls as large as the least distance of two points of S."""
    return _balls_trial(tied(key), Fraction(1))

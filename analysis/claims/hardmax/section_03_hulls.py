"""Claims of Section 3: change of variables, distinctness of tokens, norms, and convex hulls that shrink."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    BEYOND,
    CertifiedRun,
    certified_trial,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import (
    LAYERS,
    ClusteringCase,
    case,
    defined_sets,
    distinct,
    run,
    squared_norms,
)
from analysis.claims.hardmax.instances.zoo import hard_case, late_leaders, posed
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix, rational_weights
from analysis.hardmax.polytopes import MAX_HULL, contains, nested, outside, polytope, vertices
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, at_least, holds
from dynsim._core.types import Key
from dynsim.systems.hardmax.maps import ExactHardmaxMap, MultiHeadMap


class CrowdedSimplex(NamedTuple):
    """Points in R^d, shape (d + 6, d), whose hull has the vertices `corners`, d + 1 of them, by their index."""

    points: Exact
    corners: tuple[int, ...]

    def facet(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the outward unit normal and the centre, in floats, of the facet opposite to the first corner."""
        first, *others = self.points[list(self.corners)].astype(float)
        across = np.linalg.svd(np.stack(others[1:]) - others[0])[2][-1]
        return across * np.sign(across @ (others[0] - first)), np.mean(others, axis=0)


def crowded_simplex(key: Key, d: int) -> CrowdedSimplex:
    """Return a random simplex in R^d, d >= 2: its corners, of which one comes twice, and five points that are none.

    Hard for what keeps the last of equal points, or points on edges and facets, or takes vertices in another order.
    """
    a, b, c = jax.random.split(key, 3)
    shear = identity(d) + matrix(np.triu(rational_matrix(a, d, d), 1))
    steps = matrix([[0] * d, *np.diag(np.arange(2, d + 2))]) @ shear
    corners = steps + rational_matrix(b, 1, d)
    inside = rational_weights(c, 3, d + 1)
    inside[2, 0] = 0 * inside[2, 0]  # on the facet opposite to the first corner
    within = inside @ corners / np.sum(inside, axis=1)[:, None]
    edge = (corners[1:2] + 2 * corners[-1:]) / 3
    points = np.concatenate([within[:1], edge, corners, corners[1:2], within[1:]])
    return CrowdedSimplex(points, tuple(range(2, d + 3)))


SIDES = (0.5e-9, 2e-9)
"""Distances from a hull of floats, over its extent, at which a point still counts as inside, and no longer does."""


def _map(given: ClusteringCase, *, normalised: bool) -> ExactHardmaxMap | MultiHeadMap:
    """Return the layer map, or the attention sublayer without the normalisation (2.4)."""
    value = given.alpha * identity(len(given.factor))
    return given.map if normalised else MultiHeadMap([given.map.rule], value[None])


def _corners_are_found(shape: CrowdedSimplex) -> tuple[Measurement, ...]:
    """Measure that the corners of a simplex are the vertices of its hull, by index, exactly and in floats."""
    d, known = shape.points.shape[1], list(shape.corners)
    corners, others = shape.points[known], np.delete(shape.points, known, axis=0)
    found = [vertices(x) == shape.corners for x in (shape.points, shape.points.astype(float))]
    return (
        holds(f"the vertices of a simplex in R^{d} are its corners, the first of equal ones", all(found)),
        holds(f"all points in R^{d} are in the hull of the corners", nested(shape.points, corners)),
        holds(f"no corner in R^{d} is in that of the others", not nested(np.delete(corners, 1, axis=0), others)),
    )


def _floats_near_a_facet(shape: CrowdedSimplex) -> Measurement:
    """Measure that floats beyond a facet are inside the hull up to 1e-9 of its extent.

    In more than seven dimensions distances are those of the maximum norm: s / |n|_1 at s n, n the unit normal.
    """
    x, d = shape.points.astype(float), shape.points.shape[1]
    normal, centre = shape.facet()
    unit = _extent(x) * (float(np.sum(np.abs(normal))) if d > MAX_HULL else 1.0)
    beyond = np.stack([centre + side * unit * normal for side in SIDES])
    inside = [contains(polytope(x), p) for p in beyond] if d <= MAX_HULL else [True, False]
    decided = outside(beyond, x).tolist() == [False, True] and inside == [True, False]
    return holds(f"floats near a facet in R^{d} are inside up to 1e-9 of the extent", decided)


def _floats_near_a_flat_hull(shape: CrowdedSimplex) -> Measurement:
    """Measure that floats off a flat hull count as in it up to 1e-9 of its extent, and hulls as flat about there."""
    x = shape.points.astype(float)
    extent, up = _extent(x), np.eye(x.shape[1] + 1)[-1]
    flat = np.concatenate([x, np.zeros((len(x), 1))], axis=1)
    inside = [contains(polytope(flat), flat[0] + side * extent * up) for side in SIDES]
    alternating = (-1.0) ** np.arange(len(x))[:, None] * extent * up
    dimensions = [polytope(flat + height * alternating).dimension for height in (1e-10, 1e-8)]
    decided = inside == [True, False] and dimensions == [len(up) - 1, len(up)]
    return holds("floats off a flat hull are in it up to 1e-9 of the extent", decided)


def _extent(x: np.ndarray) -> float:
    """Return the largest distance of a point from the first one."""
    return float(np.max(np.linalg.norm(x - x[0], axis=1)))


def _hull_trial(key: Key, given: ClusteringCase, *, normalised: bool = True) -> Trial:
    space, *higher = (crowded_simplex(key, d) for d in (3, 4, 9))
    states = run(_map(given, normalised=normalised), given.tokens, 3)
    kept = [
        nested(x, y) == ({tuple(x[i]) for i in vertices(x)} <= {tuple(z) for z in y})
        for x, y in itertools.pairwise(states)
    ]
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=(
            *(
                holds(f"the hull of layer {k + 1} is contained in that of layer {k}", nested(states[k + 1], states[k]))
                for k in range(3)
            ),
            holds("they are equal only if all vertices are tokens of both layers", all(kept)),
            *(m for shape in (space, *higher) for m in _corners_are_found(shape)),
            *(_floats_near_a_facet(shape) for shape in (space, *higher)),
            _floats_near_a_flat_hull(space),
        ),
        witness=given.witness(),
        parameters=given.parameters("cloud or hard"),
    )


hulls_shrink = certified(
    "hardmax/lemma-3.3",
    statement="For every layer k the convex hull of Z^{k+1} is a subset of the convex hull of Z^k.",
    trial=lambda key: _hull_trial(key, sometimes_zero(key)),
    control=lambda key: _hull_trial(key, case(key), normalised=False),  # Without the normalisation (2.4).
    num_trials=16,
    note="measured for general A too; holds for any follower sets, since a layer takes convex combinations of tokens; "
    "the hulls that ship are held against simplices in R^3, R^4 and R^9 with known vertices, exactly and in floats",
)


def _ball_trial(given: ClusteringCase, *, normalised: bool = True) -> Trial:
    later = np.concatenate(run(_map(given, normalised=normalised), given.tokens))
    lengths = squared_norms(given.tokens, identity(len(given.factor)))
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=(
            holds(
                f"the tokens of {LAYERS} layers are in the convex hull of the initial tokens",
                nested(later, given.tokens),
            ),
            holds("they are in the ball of radius max_l |z_l^0|", all(z @ z <= max(lengths) for z in later)),
        ),
        witness=given.witness(),
        parameters=given.parameters("cloud or hard"),
    )


tokens_stay_in_hull_and_ball = certified(
    "hardmax/corollary-3.3.1",
    statement="Every token stays in the convex hull of Z^0 and in the closed ball about the origin of radius max_l "
    "|z_l^0|.",
    trial=lambda key: _ball_trial(sometimes_zero(key)),
    control=lambda key: _ball_trial(case(key), normalised=False),  # Without the normalisation (2.4).
    num_trials=16,
    note="measured for general A too, with the Euclidean ball",
)


def _limit_measures(run: CertifiedRun, points: Callable[[CertifiedRun], Exact]) -> tuple[Measurement, ...]:
    """Measure that K is the convex hull of the given points, which are the limits of the tokens.

    A point of all hulls is within max_i |z_i^k - s_i| of the hull of the limits s_i, and this bound tends to zero.
    """
    corners, begin = points(run), run.certificate.num_layers
    away = lambda k: max((z - s) @ (z - s) for z, s in zip(run.path[k], run.certificate.limits, strict=True))
    inside = all(nested(corners, x) for x in run.path[: begin + 2])
    return (
        holds("their hull is contained in the hull of every layer", inside),
        holds(
            f"the largest distance from the limits falls by the factor (1 + alpha)^-{BEYOND} in {BEYOND} layers",
            away(-1) == away(begin) * (1 + run.case.alpha) ** (-2 * BEYOND),
        ),
        holds("their hull has vertices, all of them limits", run.vertices <= values(run.certificate.limits)),
        at_least("number of vertices", len(polytope(corners).vertices), 1, tolerance=0.0, within=(0, len(corners))),
    )


@certified(
    "hardmax/lemma-3.4",
    # The initial tokens in place of the limits.
    control=lambda key: certified_trial(
        {"late leaders": late_leaders(key)}, _limit_measures, points=lambda run: run.case.tokens
    ),
    num_trials=8,
    note="a single point counts as a polytope",
)
def intersection_of_hulls_is_a_polytope(key: Key) -> Trial:
    """For distinct nonzero initial tokens, A symmetric positive definite and alpha > 0, the intersection K of the
    convex hulls of all layers is a non-empty convex polytope.

    Measured as: it is the convex hull of the limits of the tokens, which are computed exactly.
    """
    return certified_trial(with_late_leaders(key, "arc"), _limit_measures, points=lambda run: run.certificate.limits)


SPD = ("symmetric", "definite", "positive_step")


def _variables_trial(given: ClusteringCase, *, transposed: bool = False) -> Trial:
    B = given.factor.T if transposed else given.factor
    x, y = given.tokens, given.tokens @ B.T
    values, sets = [], []
    for k in range(LAYERS):
        values.append(np.all(x @ B.T == y))
        sets.append(given.map.follower_sets(x).same_as(given.with_identity.map.follower_sets(y)))
        x, y = given.map.step(k, x), given.with_identity.map.step(k, y)
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=(
            holds("B z_i^k is the trajectory for A = I from B z_i^0", all(values)),
            holds("the follower sets are the same in every layer", all(sets)),
        ),
        witness={**given.witness(), "B": given.factor},
        parameters=given.parameters("cloud or hard"),
    )


@certified("hardmax/claim-change-of-variables", num_trials=16)
def factor_turns_attention_into_identity(key: Key) -> Trial:
    """For A = B^T B with B invertible, alpha > 0 and any tokens, z~_i = B z_i evolve by (1.1) with A replaced by I.

    Hence z_i = B^{-1} z~_i converge if z~_i do.
    """
    return _variables_trial(case(key).with_zero)


@factor_turns_attention_into_identity.with_control
def factor_turns_attention_into_identity(key: Key) -> Trial:
    """The transpose of B in place of B, for a B that is not a multiple of an orthogonal matrix."""
    return _variables_trial(_triangular(key), transposed=True)


def _triangular(key: Key) -> ClusteringCase:
    """Return a case with a triangular B whose transpose gives other follower sets."""
    given = case(key).with_zero
    given = given._replace(factor=matrix(3 * np.triu(np.ones(given.factor.shape, int))))
    x, other = given.tokens, given.with_identity.map.follower_sets(given.tokens @ given.factor)
    return _triangular(jax.random.fold_in(key, 0)) if given.map.follower_sets(x).same_as(other) else given


def sometimes_zero(key: Key) -> ClusteringCase:
    """Return a random case or a hard instance; half of them have a token at the origin."""
    a, b = jax.random.split(key)
    kind = int(jax.random.randint(a, (), 0, 4))
    given = case(b) if kind < 2 else hard_case(b)[1]
    return given.with_zero if kind % 2 else given


def _distinct_trial(given: ClusteringCase, map: ExactHardmaxMap) -> Trial:
    """Measure distances between tokens: in A-norm they shrink at most by 1/(1 + alpha), and so for equal C_i."""
    states, A, shrink = run(map, given.tokens), given.attention, (1 + given.alpha) ** -2
    apart, same = True, True
    for x, y in itertools.pairwise(states):
        sets = map.follower_sets(x).lists()
        for i, j in itertools.combinations(range(len(x)), 2):
            before, after = ((z[i] - z[j]) @ A @ (z[i] - z[j]) for z in (x, y))
            apart = apart and after >= shrink * before
            same = same and (sets[i] != sets[j] or after == shrink * before)
    return Trial(
        hypotheses=given.measured(*SPD, "distinct"),
        conclusions=(
            holds("the tokens are distinct in every layer", all(len({tuple(z) for z in x}) == len(x) for x in states)),
            holds("no distance shrinks by more than 1/(1 + alpha) in a layer", apart),
            holds("distances of tokens with equal C_i shrink by that factor", same),
        ),
        witness=given.witness(),
        parameters=given.parameters("cloud or hard"),
    )


@certified(
    "hardmax/lemma-3.1",
    num_trials=32,
    note="measured for general A too, and with a zero token, which the lemma does not need to exclude; the proof gives "
    "the bound |z_i' - z_j'|_A >= |z_i - z_j|_A / (1 + alpha) for each layer, which is measured as well",
)
def tokens_do_not_collide(key: Key) -> Trial:
    """If the initial tokens are distinct, z_i^k and z_j^k differ for all i other than j and all layers k.

    For A symmetric positive definite, including A = I, and alpha > 0.
    """
    given = sometimes_zero(key)
    return _distinct_trial(given, given.map)


@tokens_do_not_collide.with_control
def tokens_do_not_collide(key: Key) -> Trial:
    """An indefinite matrix with one negative eigenvalue in place of A: two opposite tokens meet half-way."""
    y = matrix([[0, 1], [0, -1], [2, 0], [Fraction(-1, 2), 0]])
    given = posed(key, y, Fraction(1))
    return _distinct_trial(given, ExactHardmaxMap(1, given.factor.T @ matrix(np.diag([1, -1])) @ given.factor))


def _norms_trial(given: ClusteringCase, *, euclidean: bool = False) -> Trial:
    """Measure squared norms, and their growth 2 a <m_i - z_i, z_i> + a^2 |m_i - z_i|^2 in each layer.

    Here a = alpha / (1 + alpha), and m_i is the mean of the tokens in C_i; the norm is that of A unless `euclidean`.
    """
    metric = identity(len(given.factor)) if euclidean else given.attention
    a, kept, grown = given.alpha / (1 + given.alpha), True, True
    for x, y in itertools.pairwise(run(given.map, given.tokens)):
        before, after = squared_norms(x, metric), squared_norms(y, metric)
        for z, p, q, members in zip(x, before, after, defined_sets(x, given.attention), strict=True):
            pull = sum(x[j] for j in members) / len(members) - z
            kept = kept and q >= p
            grown = grown and q - p == 2 * a * (pull @ metric @ z) + a**2 * (pull @ metric @ pull)
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=(
            holds("no token's norm decreases in any layer", kept),
            holds("the growth is that of the proof", grown),
        ),
        witness=given.witness(),
        parameters=given.parameters("cloud or hard"),
    )


norms_do_not_fall = certified(
    "hardmax/lemma-3.2",
    statement="For A = I, alpha > 0, every token and all layers l >= k, |z_i^l| >= |z_i^k|.",
    trial=lambda key: _norms_trial(sometimes_zero(key).with_identity),
    control=lambda key: _norms_trial(_inwards(key), euclidean=True),  # The Euclidean norm with an A other than I.
    num_trials=16,
    note="A = I, as fixed in Section 3",
)


attention_norms_do_not_fall = certified(
    "hardmax/lemma-3.2/attention-norm",
    statement="Read for general A: no token's A-norm decreases, for every symmetric positive definite A and alpha > 0.",
    trial=lambda key: _norms_trial(sometimes_zero(key)),
    control=lambda key: _norms_trial(_inwards(key), euclidean=True),  # The norm of A^2 in place of that of A.
    variant="reading",
    num_trials=16,
)


def _inwards(key: Key) -> ClusteringCase:
    """Return z and z + s u with <A z, u> > 0 > <z, u> and small s: z follows z + s u, so its Euclidean norm falls."""
    given = case(key)
    z, query = given.tokens[0], given.attention @ given.tokens[0]
    u = query - (query @ query / (z @ query) + z @ query / (z @ z)) / 2 * z
    length = u @ u
    if length == 0:  # z is an eigenvector of A
        return _inwards(jax.random.fold_in(key, 0))
    return given._replace(tokens=distinct(np.stack([z, z - (z @ u) / length * u])))


@certified(
    "hardmax/lemma-3.2/general-attention",
    variant="reading",
    num_trials=8,
    note="for general A the Euclidean norm may decrease, the A-norm may not; no control: the other claims are measured "
    "by the same function",
)
def euclidean_norms_do_not_fall(key: Key) -> Trial:
    """Read for general A: no Euclidean norm decreases, for every symmetric positive definite A and alpha > 0."""
    return _norms_trial(_inwards(key), euclidean=True)

"""Claims of Section 3: change of variables, distinctness of tokens, monotonicity of norms and of convex hulls."""

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import LAYERS, Case, case, distinct, run, squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.certificate import certify
from analysis.hardmax.polytopes import nested, polytope
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.maps import ExactHardmaxMap, MultiHeadMap

SPD = ("symmetric", "definite", "positive_step")


def _variables_trial(given: Case, B: Exact) -> Trial:
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
    )


@claim("hardmax/claim-change-of-variables", HARDMAX.at("Section 3"), evidence="certified", num_trials=16)
def factor_turns_attention_into_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For A = B^T B with B invertible, alpha > 0 and any tokens, z~_i = B z_i evolve by (1.1) with A replaced by I.

    Hence z_i = B^{-1} z~_i converge if z~_i do.
    """
    given = case(key).with_zero
    return _variables_trial(given, given.factor)


@factor_turns_attention_into_identity.with_control
def factor_turns_attention_into_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The transpose of B in place of B, for a B that is not a multiple of an orthogonal matrix."""
    given = case(key).with_zero
    given = given._replace(factor=matrix(3 * np.triu(np.ones(given.factor.shape, int))))
    return _variables_trial(given, given.factor.T)


def _sometimes_zero(key: Key) -> Case:
    """Return a random case; half of them have a token at the origin."""
    given = case(key)
    return given.with_zero if int(jax.random.randint(key, (), 0, 2)) else given


def _distinct_trial(given: Case, map: ExactHardmaxMap) -> Trial:
    states = run(map, given.tokens)
    return Trial(
        hypotheses=given.measured(*SPD, "distinct"),
        conclusions=(
            holds("the tokens are distinct in every layer", all(len({tuple(z) for z in x}) == len(x) for x in states)),
        ),
        witness=given.witness(),
    )


@claim(
    "hardmax/lemma-3.1",
    HARDMAX.at("Lemma 3.1"),
    evidence="certified",
    num_trials=32,
    note="measured for general A too, and with a zero token, which the lemma does not need to exclude",
)
def tokens_do_not_collide(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the initial tokens are distinct, z_i^k and z_j^k differ for all i other than j and all layers k.

    For A symmetric positive definite, including A = I, and alpha > 0.
    """
    given = _sometimes_zero(key)
    return _distinct_trial(given, given.map)


@tokens_do_not_collide.with_control
def tokens_do_not_collide(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-A in place of A: opposite tokens meet at the origin."""
    given = case(key).with_negatives
    return _distinct_trial(given, given.negated_map)


def _norms_trial(given: Case, map: ExactHardmaxMap, metric: Exact) -> Trial:
    norms = [squared_norms(x, metric) for x in run(map, given.tokens)]
    layers = zip(norms, norms[1:], strict=False)
    kept = all(q >= p for before, after in layers for p, q in zip(before, after, strict=True))
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=(holds("no token's norm decreases in any layer", kept),),
        witness=given.witness(),
    )


@claim(
    "hardmax/lemma-3.2",
    HARDMAX.at("Lemma 3.2"),
    evidence="certified",
    num_trials=16,
    note="A = I, as fixed in Section 3",
)
def norms_do_not_fall(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For A = I, alpha > 0, every token and all layers l >= k, |z_i^l| >= |z_i^k|."""
    given = _sometimes_zero(key).with_identity
    return _norms_trial(given, given.map, given.attention)


@norms_do_not_fall.with_control
def norms_do_not_fall(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-I in place of I."""
    given = case(key).with_identity.with_negatives
    return _norms_trial(given, given.negated_map, given.attention)


@claim(
    "hardmax/lemma-3.2/attention-norm",
    HARDMAX.at("Lemma 3.2"),
    variant="reading",
    evidence="certified",
    num_trials=16,
)
def attention_norms_do_not_fall(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read for general A: no token's A-norm decreases, for every symmetric positive definite A and alpha > 0."""
    given = _sometimes_zero(key)
    return _norms_trial(given, given.map, given.attention)


@attention_norms_do_not_fall.with_control
def attention_norms_do_not_fall(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-A in place of A."""
    given = case(key).with_negatives
    return _norms_trial(given, given.negated_map, given.attention)


def _inwards(key: Key) -> Case:
    """Return z and z + s u with <A z, u> > 0 > <z, u> and small s: z follows z + s u, so its Euclidean norm falls."""
    given = case(key)
    z, query = given.tokens[0], given.attention @ given.tokens[0]
    u = query - (query @ query / (z @ query) + z @ query / (z @ z)) / 2 * z  # u = 0 if z is an eigenvector
    length = u @ u
    return given._replace(tokens=distinct(np.stack([z, z - (z @ u) / length * u if length else 2 * z])))


@claim(
    "hardmax/lemma-3.2/general-attention",
    HARDMAX.at("Lemma 3.2"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="for general A the Euclidean norm may decrease, the A-norm may not; no control: the other claims are measured "
    "by the same function",
)
def euclidean_norms_do_not_fall(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read for general A: no Euclidean norm decreases, for every symmetric positive definite A and alpha > 0."""
    given = _inwards(key)
    return _norms_trial(given, given.map, identity(len(given.factor)))


def _unnormalised(given: Case) -> MultiHeadMap:
    """Return the attention sublayer without the normalisation (2.4)."""
    value = given.alpha * identity(len(given.factor))
    return MultiHeadMap([given.map.rule], value[None])


def _hull_trial(given: Case, map: ExactHardmaxMap | MultiHeadMap) -> Trial:
    states = run(map, given.tokens, 3)
    return Trial(
        hypotheses=given.measured(*SPD),
        conclusions=tuple(
            holds(
                f"the convex hull of layer {k + 1} is contained in that of layer {k}", nested(states[k + 1], states[k])
            )
            for k in range(3)
        ),
        witness=given.witness(),
    )


@claim(
    "hardmax/lemma-3.3",
    HARDMAX.at("Lemma 3.3"),
    evidence="certified",
    num_trials=16,
    note="measured for general A too; holds for any follower sets, since a layer takes convex combinations of tokens",
)
def hulls_shrink(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every layer k the convex hull of Z^{k+1} is a subset of the convex hull of Z^k."""
    given = _sometimes_zero(key)
    return _hull_trial(given, given.map)


@hulls_shrink.with_control
def hulls_shrink(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the normalisation (2.4)."""
    given = case(key)
    return _hull_trial(given, _unnormalised(given))


def _ball_trial(given: Case, map: ExactHardmaxMap | MultiHeadMap) -> Trial:
    later = np.concatenate(run(map, given.tokens))
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
    )


@claim(
    "hardmax/corollary-3.3.1",
    HARDMAX.at("Corollary 3.3.1"),
    evidence="certified",
    num_trials=16,
    note="measured for general A too, with the Euclidean ball",
)
def tokens_stay_in_hull_and_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token stays in the convex hull of Z^0 and in the closed ball about the origin of radius max_l |z_l^0|."""
    given = _sometimes_zero(key)
    return _ball_trial(given, given.map)


@tokens_stay_in_hull_and_ball.with_control
def tokens_stay_in_hull_and_ball(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the normalisation (2.4)."""
    given = case(key)
    return _ball_trial(given, _unnormalised(given))


def _limit_trial(key: Key, exact_limits: bool) -> Trial:
    """Measure that K is the convex hull of the limits, which the certificate proves the tokens to converge to.

    A point of all hulls is within max_i |z_i^k - s_i| of the hull of the limits s_i, and this bound tends to zero.
    """
    given = case(key)
    found = certify(given.map, given.tokens)
    limits = found.limits if exact_limits else given.tokens
    early = run(given.map, given.tokens, found.constant_from + 2)
    away = lambda k: max(z @ z for z in found.tokens(k) - found.limits)
    horizons = [away(found.num_layers + k) for k in (0, 40, 80)]
    return Trial(
        hypotheses=given.measured(),
        conclusions=(
            holds("the follower sets are proved to be final", found.certified),
            holds(
                "the hull of the limits is contained in the hull of every layer", all(nested(limits, x) for x in early)
            ),
            holds(
                "the largest distance from the limits decreases",
                horizons[2] < horizons[1] < horizons[0] or horizons[0] == 0,
            ),
            holds("the hull of the limits is a non-empty polytope", len(polytope(limits).vertices) >= 1),
        ),
        witness={**given.witness(), "vertices": polytope(limits).vertex_points},
    )


@claim(
    "hardmax/lemma-3.4",
    HARDMAX.at("Lemma 3.4"),
    evidence="certified",
    num_trials=8,
    note="a single point counts as a polytope",
)
def intersection_of_hulls_is_a_polytope(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For distinct nonzero initial tokens, A symmetric positive definite and alpha > 0, the intersection K of the
    convex hulls of all layers is a non-empty convex polytope.

    Measured as: it is the convex hull of the limits of the tokens, which are computed exactly.
    """
    return _limit_trial(key, True)


@intersection_of_hulls_is_a_polytope.with_control
def intersection_of_hulls_is_a_polytope(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The initial tokens in place of the limits."""
    return _limit_trial(key, False)

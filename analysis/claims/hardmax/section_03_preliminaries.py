"""Claims of Sections 3, 3.1 and 3.2: change of variables, distinctness of tokens, monotonicity of norms."""

import itertools
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import (
    LAYERS,
    ClusteringCase,
    case,
    defined_sets,
    distinct,
    run,
    squared_norms,
)
from analysis.claims.hardmax.instances.zoo import hard_case, posed
from analysis.claims.rational_instances import identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Trial, holds
from dynsim._core.types import Key
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.maps import ExactHardmaxMap

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


@certified("hardmax/claim-change-of-variables", HARDMAX.at("Section 3"), num_trials=16)
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
    HARDMAX.at("Lemma 3.1"),
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
    HARDMAX.at("Lemma 3.2"),
    statement="For A = I, alpha > 0, every token and all layers l >= k, |z_i^l| >= |z_i^k|.",
    trial=lambda key: _norms_trial(sometimes_zero(key).with_identity),
    control=lambda key: _norms_trial(_inwards(key), euclidean=True),  # The Euclidean norm with an A other than I.
    num_trials=16,
    note="A = I, as fixed in Section 3",
)


attention_norms_do_not_fall = certified(
    "hardmax/lemma-3.2/attention-norm",
    HARDMAX.at("Lemma 3.2"),
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
    HARDMAX.at("Lemma 3.2"),
    variant="reading",
    num_trials=8,
    note="for general A the Euclidean norm may decrease, the A-norm may not; no control: the other claims are measured "
    "by the same function",
)
def euclidean_norms_do_not_fall(key: Key) -> Trial:
    """Read for general A: no Euclidean norm decreases, for every symmetric positive definite A and alpha > 0."""
    return _norms_trial(_inwards(key), euclidean=True)

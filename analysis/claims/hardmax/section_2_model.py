"""Claims of Section 2: derivation of the layer (1.1), other normalisations, and the softmax limit; also Section 6.2."""

from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import Case, case, invertible, lattice
from analysis.claims.rational_instances import Exact, identity, integers, matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, at_most, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.maps import ExactHardmaxMap


def similarity(x: Exact, attention: Exact) -> Exact:
    """Return the similarity matrix (2.3), shape (n, n), evaluated from its definition."""
    scores = x @ attention @ x.T
    chosen = matrix([[int(value == max(row)) for value in row] for row in scores])
    return chosen / np.sum(chosen, axis=1)[:, None]


def _layer_trial(key: Key, normalised: bool) -> Trial:
    given = case(key).with_zero
    z, a = given.tokens, given.alpha
    weights = similarity(z, given.attention)
    attended = z + weights @ z @ (a * identity(z.shape[1]))  # (2.2) with V = alpha I
    layer = attended / (1 + a) if normalised else attended  # (2.4)
    sets = [np.flatnonzero(row) for row in weights]
    drifts = [sum(z[j] - z[i] for j in members) / len(members) for i, members in enumerate(sets)]
    return Trial(
        hypotheses=given.measured("symmetric", "definite", "positive_step"),
        conclusions=(
            holds("the rows of the similarity matrix sum to one", all(sum(row) == 1 for row in weights)),
            holds(
                "the layer equals the second form of (2.5)", bool(np.all(layer == z + a / (1 + a) * np.stack(drifts)))
            ),
            holds("the layer equals that of `ExactHardmaxMap`", bool(np.all(layer == given.map.step(0, z)))),
        ),
        witness=given.witness(),
    )


@claim("hardmax/equation-2.5", HARDMAX.at("Section 2.2", "(2.2)-(2.5)"), evidence="certified", num_trials=16)
def layer_is_normalised_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For A symmetric positive definite, V = alpha I, alpha > 0 and any tokens, the attention sublayer (2.2), (2.3)
    followed by the normalisation (2.4) is (2.5) in both its forms, which is (1.1).
    """
    return _layer_trial(key, True)


@layer_is_normalised_attention.with_control
def layer_is_normalised_attention(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the normalisation (2.4)."""
    return _layer_trial(key, False)


def _on_sphere(key: Key) -> Case:
    """Return unit tokens; the last is z_1 reflected in the line of A z_1, so that <A z_1, z> is the same for both."""
    given = case(key)
    units = [rational_unit(k, len(given.factor)) for k in jax.random.split(key, 4)]
    z, query = units[0], given.attention @ units[0]
    return given._replace(tokens=np.stack([*units, 2 * (z @ query) / (query @ query) * query - z]))


def _on_ellipsoid(key: Key) -> Case:
    """Return tokens with <A z, z> = 1, z = B^{-1} u for the unit vectors u."""
    given = _on_sphere(key)
    return given._replace(tokens=solved(given.factor, given.tokens.T).T)


def _fixed_trial(given: Case, metric: Exact, step: ExactHardmaxMap) -> Trial:
    """Measure whether tokens on the unit sphere of `metric` are fixed by a layer followed by projection to the sphere.

    A token is fixed if and only if the layer maps it to a positive multiple of itself.
    """
    moved = step.step(0, given.tokens)
    ahead = lambda z, w: np.all(np.outer(z, w) == np.outer(w, z)) and z @ w > 0
    fixed = all(ahead(z, w) for z, w in zip(given.tokens, moved, strict=True))
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("the tokens are on the unit sphere, exactly", all(z @ metric @ z == 1 for z in given.tokens)),
        ),
        conclusions=(holds("every token is fixed", fixed),),
        witness=given.witness(),
    )


@claim(
    "hardmax/claim-sphere-fixed",
    HARDMAX.at("Section 2.3"),
    evidence="certified",
    num_trials=16,
    note="stated for any positive definite A, before Section 3 fixes A = I: on the Euclidean unit sphere the score "
    "<A z_i, z_j> may be larger for another token than for z_i itself; no control: both repairs are measured by the "
    "same function",
)
def unit_tokens_stay(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every symmetric positive definite A, alpha > 0 and tokens on the unit sphere of R^d, all tokens remain fixed
    for all times if the projection to that sphere replaces (2.4).

    One layer suffices, since all layers are the same map. Sampled: A = diag(p^2, 1), where (3/5, 4/5) follows (1, 0).
    """
    p = int(jax.random.randint(key, (), 2, 6))
    given = case(key)._replace(
        tokens=matrix([[1, 0], [Fraction(3, 5), Fraction(4, 5)]]), factor=matrix(np.diag([p, 1]))
    )
    return _fixed_trial(given, identity(2), given.map)


@claim(
    "hardmax/claim-sphere-fixed/identity",
    HARDMAX.at("Section 2.3"),
    variant="special case",
    evidence="certified",
    num_trials=16,
)
def unit_tokens_stay_for_the_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For A = I, alpha > 0 and tokens on the unit sphere all tokens remain fixed. Added: A = I."""
    given = _on_sphere(key).with_identity
    return _fixed_trial(given, given.attention, given.map)


@unit_tokens_stay_for_the_identity.with_control
def unit_tokens_stay_for_the_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-I in place of I."""
    given = _on_sphere(key).with_identity
    return _fixed_trial(given, given.attention, given.negated_map)


@claim(
    "hardmax/claim-sphere-fixed/ellipsoid",
    HARDMAX.at("Section 2.3"),
    variant="corrected",
    evidence="certified",
    num_trials=16,
)
def tokens_of_the_ellipsoid_stay(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every symmetric positive definite A and alpha > 0, tokens with <A z, z> = 1 remain fixed if the projection to
    that ellipsoid replaces (2.4). Changed: the sphere is that of the norm of A.
    """
    given = _on_ellipsoid(key)
    return _fixed_trial(given, given.attention, given.map)


@tokens_of_the_ellipsoid_stay.with_control
def tokens_of_the_ellipsoid_stay(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-A in place of A."""
    given = _on_ellipsoid(key)
    return _fixed_trial(given, given.attention, given.negated_map)


def _review_trial(key: Key, decoder: bool) -> Trial:
    """Compare, exactly, the logits of a classifier with A and of one with I, for a review with repeated words."""
    a, b, c = jax.random.split(key, 3)
    given = case(a)
    words = integers(b, (10,), 0, len(given.tokens))
    parameters = matrix(integers(c, (4,), -5, 6))
    w, bias = parameters[: len(given.factor)], parameters[3]
    absorbed = solved(given.factor.T, w) if decoder else w
    encoder = given.tokens @ given.factor.T
    x, y, euclidean = given.tokens[words], encoder[words], given.with_identity.map
    logits = []
    for k in range(8):
        logits.append((np.mean(x, axis=0) @ w + bias, np.mean(y, axis=0) @ absorbed + bias))
        x, y = given.map.step(k, x), euclidean.step(k, y)
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("the decoder is not zero", any(entry != 0 for entry in w)),
        ),
        conclusions=(holds("the logits agree at every depth up to 7", all(p == q for p, q in logits)),),
        witness={**given.witness(), "words": words, "w": w, "v": bias},
    )


@claim(
    "hardmax/claim-identity-no-restriction",
    HARDMAX.at("Section 6.2"),
    evidence="certified",
    num_trials=16,
    note="the paper mentions only the encoder; the decoder must absorb B^{-T} as well. The statement is about the "
    "functions that can be represented, not about the course of training; a singular A has no invertible B",
)
def identity_restricts_nothing(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For every symmetric positive definite A = B^T B, encoder E, alpha > 0 and decoder w, v, the encoder E' = E B^T
    and the decoder w' = B^{-T} w, v give with A = I every review the same output at every depth.
    """
    return _review_trial(key, True)


@identity_restricts_nothing.with_control
def identity_restricts_nothing(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The decoder w unchanged."""
    return _review_trial(key, False)


def softmax_weights(scores: Exact, m: int) -> Exact:
    """Return the softmax of one token's scores at temperature 1/(m ln 2), at which exponentials are powers of two.

    Every difference of two scores times m must be an integer.
    """
    powers = m * (scores - max(scores))
    raw = np.array([Fraction(2) ** power for power in powers], object)
    return raw / sum(raw)


def _limit_trial(key: Key, ties: bool) -> Trial:
    a, b = jax.random.split(key)
    d = 2
    B = 4 * invertible(a, d)
    zero = matrix(np.zeros((1, d), int))
    given = Case(np.concatenate([lattice(b, d), zero]), B, Fraction(1, 2))  # integer data, hence integer scores
    scores = given.tokens @ given.attention @ given.tokens.T
    hard = similarity(given.tokens, given.attention)
    if not ties:
        hard = np.array([[Fraction(int(j == np.argmax(row))) for j in range(len(row))] for row in hard], object)
    gaps = [max(row) - max((v for v in row if v != max(row)), default=max(row) - 1) for row in scores]
    others = [sum(v != max(row) for v in row) for row in scores]
    within, last = True, Fraction(0)
    for m in (1, 4, 64):
        errors = [max(abs(softmax_weights(s, m) - h)) for s, h in zip(scores, hard, strict=True)]
        bounds = [count * Fraction(2) ** int(-m * gap) for count, gap in zip(others, gaps, strict=True)]
        within, last = within and all(e <= bound for e, bound in zip(errors, bounds, strict=True)), max(errors)
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite"),
            holds("some token has a tie", any(sum(v == max(row) for v in row) > 1 for row in scores)),
        ),
        conclusions=(
            holds("the weights are within (n - |C_i|) exp(-gap_i / tau) of (2.3)", within),
            at_most("largest error of a weight at tau = 1/(64 ln 2)", last, Fraction(1, 2**60), tolerance=0.0),
        ),
        witness=given.witness(),
    )


@claim(
    "hardmax/claim-softmax-limit",
    HARDMAX.at("Section 2.3", "(2.6)"),
    evidence="certified",
    num_trials=8,
    note="`formally` is read as: for fixed tokens. Fixed tokens need no compact set, and over a compact set the limit "
    "is not uniform, see `uniform`. Measured at temperatures at which the exponentials are powers of two",
)
def softmax_tends_to_hardmax(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For all tokens Z and every A, the weights (2.6) tend to (2.3) as tau -> 0: to 1 / |C_i| on each maximiser.

    The error is at most (n - |C_i|) exp(-gap_i / tau), gap_i being the gap between the largest score and the next.
    """
    return _limit_trial(key, True)


@softmax_tends_to_hardmax.with_control
def softmax_tends_to_hardmax(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A single maximiser in place of the set C_i."""
    return _limit_trial(key, False)


def _uniform_trial(key: Key, separated: bool) -> Trial:
    """Measure the weights of token 0, which follows token 1; the score of token 2 is smaller by `gap`."""
    m = 2 ** int(jax.random.randint(key, (), 6, 12))
    gap = Fraction(1, 4) if separated else Fraction(1, m)
    z = matrix([[Fraction(1, 2), 0], [1, 1], [1 - 2 * gap, -1]])
    scores = z @ z[0]
    error = softmax_weights(scores, m) - similarity(z, identity(2))[0]
    return Trial(
        hypotheses=(
            holds("the tokens are in the square [-1, 1]^2", all(abs(entry) <= 1 for entry in z.flat)),
            holds("the temperature 1/(m ln 2) is below 1/40", m >= 64),
        ),
        conclusions=(
            at_most("error of the weights of token 0", max(abs(error)), Fraction(1, 1000), tolerance=0.0),
            at_most("error of its weighted average", max(abs(error @ z)), Fraction(1, 1000), tolerance=0.0),
        ),
        witness={"tokens": z, "m": m},
    )


@claim(
    "hardmax/claim-softmax-limit/uniform",
    HARDMAX.at("Section 2.3", "(2.6)"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="at every temperature some tokens of a compact set are nearly tied; no control: tokens with a fixed gap are "
    "measured by the same function",
)
def softmax_tends_to_hardmax_uniformly(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: for tokens in a compact set the limit is uniform: there is a temperature below which all weights, and the
    weighted averages, are within 1/1000 of their limits.
    """
    return _uniform_trial(key, False)


@claim(
    "hardmax/claim-softmax-limit/gap",
    HARDMAX.at("Section 2.3", "(2.6)"),
    variant="special case",
    evidence="certified",
    num_trials=4,
)
def softmax_tends_to_hardmax_off_ties(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The limit is uniform over tokens in a compact set for which the gap between the two largest scores is bounded
    below.

    Added: the lower bound of the gap, here 1/4. The weights of token 0 of three tokens are measured.
    """
    return _uniform_trial(key, True)


@softmax_tends_to_hardmax_off_ties.with_control
def softmax_tends_to_hardmax_off_ties(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A gap that tends to zero with the temperature."""
    return _uniform_trial(key, False)

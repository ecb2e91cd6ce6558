"""Claim of Section 6.2: A = I does not restrict the classifier."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import skewed
from analysis.claims.hardmax.instances.clouds import ClusteringCase, case, distinct, invertible, run
from analysis.claims.rational_instances import Exact, integers, matrix, rational_matrix
from analysis.hardmax.exact_geometry import solved
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.networks.sentiment.classifier import ReviewClassifier, hardmax_logits
from dynsim.papers import HARDMAX


def _review_trial(key: Key, decoder: bool) -> Trial:
    """Compare the logits of a classifier with A and of one with I, exactly, and with those of `ReviewClassifier`.

    The review repeats words. B is not orthogonal, even up to a factor.
    """
    a, b, c = jax.random.split(key, 3)
    given = skewed(_general, a)
    words = integers(b, (10,), 0, len(given.tokens))
    parameters = matrix(2 * integers(c, (4,), 0, 3) - 3)  # odd, hence not zero
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
        conclusions=(
            holds("the logits agree at every depth up to 7", all(p == q for p, q in logits)),
            *(
                _shipped_logit(encoder, absorbed, bias, given.alpha, words, depth, logits[depth][0])
                for depth in (0, 1, 2)
            ),
        ),
        witness={**given.witness(), "words": words, "w": w, "v": bias},
        parameters={**given.parameters(), "n": len(words)},
    )


def _general(key: Key) -> ClusteringCase:
    """Return a case in general position, with alpha of order one, whose follower sets rounding does not change."""
    a, b, c = jax.random.split(key, 3)
    given = case(a)
    d = len(given.factor)
    tokens = distinct(rational_matrix(b, 7, d) + matrix(integers(c, (7, d), -50, 51)) / 997)
    found = given._replace(tokens=tokens, factor=invertible(c, d), alpha=Fraction(5, 4))
    clear = [np.min(found.map.follower_sets(x).gaps) > 1e-6 for x in run(found.map, tokens, 2)]
    return found if all(clear) else _general(jax.random.fold_in(key, 0))


def _shipped_logit(
    encoder: Exact, w: Exact, bias: Fraction, alpha: Fraction, words: np.ndarray, depth: int, expected: Fraction
) -> Measurement:
    """Compare the logit of the classifier that ships, in floats, with the exact one."""
    floats = lambda values: jnp.asarray(np.asarray(values, float))
    model = ReviewClassifier(
        floats(encoder), jnp.log(float(alpha)), floats(w), jnp.asarray(float(bias)), depth, temperature=1e-3
    )
    found = hardmax_logits(model, words[None])[0]
    scale = 1 + float(np.max(np.abs(encoder))) * float(np.sum(np.abs(w)))
    what = f"logit of `ReviewClassifier` of depth {depth} over its scale"
    return equal(what, found / scale, float(expected) / scale, tolerance=ROUNDING)


identity_restricts_nothing = certified(
    "hardmax/claim-identity-no-restriction",
    HARDMAX.at("Section 6.2"),
    statement="For every symmetric positive definite A = B^T B, encoder E, alpha > 0 and decoder w, v, the encoder E' "
    "= E B^T and the decoder w' = B^{-T} w, v give with A = I every review the same output at every depth.",
    trial=partial(_review_trial, decoder=True),
    control=partial(_review_trial, decoder=False),  # The decoder w unchanged.
    num_trials=16,
    note="the paper mentions only the encoder; the decoder must absorb B^{-T} as well. The statement is about the "
    "functions that can be represented, not about the course of training; a singular A has no invertible B",
)

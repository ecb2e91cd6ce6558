"""Claims of Section 6 on the classifier of film reviews: Theorem 1.1, depth, both layers, and A = I."""

import functools
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import no_more_than, skewed
from analysis.claims.hardmax.instances.clouds import ClusteringCase, case, distinct, invertible, run
from analysis.claims.hardmax.section_06_training import LEARNED, SAME
from analysis.claims.rational_instances import Exact, integers, matrix, rational_matrix
from analysis.experiments.hardmax.classifier_measures import HISTORY, history_row, measured
from analysis.experiments.hardmax.reviews import PAPER, table_1
from analysis.hardmax.candidates import candidate_set
from analysis.hardmax.certificate import Certificate, certify
from analysis.hardmax.exact_geometry import solved
from analysis.hardmax.leaders import leader_layers_by_value
from analysis.hardmax.polytopes import polytope
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, Measurement, Trial, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.io.data import data_file
from dynsim.networks.decoder.pretrained import read_tensors
from dynsim.networks.sentiment.classifier import (
    ReviewClassifier,
    forward_pass,
    hardmax_logits,
    load_classifier,
    mean_loss,
    softmax_logits,
)
from dynsim.networks.sentiment.forward_pass import ForwardPass, further_layers
from dynsim.networks.sentiment.reviews import Encoded, read_reviews
from dynsim.networks.sentiment.words import Vocabulary
from dynsim.systems.hardmax.hypotheses import hypotheses

BEYOND = 52  # layers after the last one, at which tokens are compared with the limits
FEW = 6  # reviews whose leaders are counted from the definition


def _errors(pairs: dict[str, tuple[object, object]]) -> tuple[Measurement, ...]:
    gap = lambda found, expected: np.max(np.abs(np.asarray(found, float) - np.asarray(expected, float)))
    return tuple(
        at_most(f"error of {name} in a record", gap(*both), 0.0, tolerance=100 * ROUNDING, within=NON_NEGATIVE)
        for name, both in pairs.items()
    )


def _layers(model: ReviewClassifier, ids: np.ndarray) -> list[np.ndarray]:
    """Return the tokens of a review at layers 0 to K and `BEYOND` further ones, (n, d) each, by the layer map alone."""
    states = [np.asarray(model.embedding)[ids].astype(float)]
    for k in range(model.depth + BEYOND):
        states.append(model.layer.step(k, states[-1]))
    return states


def history_measurements(
    model: ReviewClassifier, train: Encoded, logits: tuple[np.ndarray, np.ndarray]
) -> tuple[Measurement, ...]:
    """Measure a row of the training history, given the logits of the training reviews with both layers.

    The first `FEW` reviews stand for the test set.
    """
    few = Encoded(train.ids[:FEW], train.labels[:FEW])
    row = dict(zip(HISTORY, history_row(model, train, few, hard=True), strict=True))
    entropy = lambda s: np.mean(np.logaddexp(0.0, -np.where(train.labels == 1, 1.0, -1.0) * s))
    right = lambda s, count: np.mean((s[:count] > 0) == (train.labels[:count] == 1))
    leaders = []
    for ids in few.ids:
        states = _layers(model, ids)[: model.depth + 1]
        leading = leader_layers_by_value(model.layer, states) >= 0
        leaders.append(len({tuple(z) for z in states[0][leading]}))
    expected = {"mean leaders by value": np.mean(leaders)}
    for layer, s in zip(("softmax", "hardmax"), logits, strict=True):
        expected[f"{layer} loss"], expected[f"{layer} accuracy"] = entropy(s), right(s, len(s))
        expected[f"{layer} test accuracy"] = right(s, FEW)
    found = {**row}
    return _errors({name: (found[name], value) for name, value in expected.items()})


def review_measurements(
    model: ReviewClassifier, words: Vocabulary, ids: np.ndarray, end: Certificate
) -> tuple[Measurement, ...]:
    """Measure the measures of one review and its row of Table 1 against its certificate and the layer map."""
    one = Encoded(ids[None], np.array([1]))
    arrays = measured("one", model, one, one, words, BEYOND)
    states, depth = _layers(model, ids), model.depth
    within = partial(_count, states[0], depth=depth)
    led = {"by value": end.leader_layers_by_value, "by index": end.leader_layers}
    counts = {kind: within(layers, values=kind == "by value") for kind, layers in led.items()}
    first = _count(states[0], led["by value"], depth=0, values=True)
    logit = np.mean(states[depth], axis=0) @ np.asarray(model.weight, float) + float(model.bias)
    far = np.max(np.linalg.norm(states[-1] - states[depth], axis=1))
    size, m = np.max(np.linalg.norm(states[depth], axis=1)), counts["by value"]
    return _errors(
        {
            **{f"the number of leaders {kind}": (arrays[f"one: leaders {kind}"][0], n) for kind, n in counts.items()},
            "the number of leaders at layer 0": (arrays["one: initial leaders by value"][0], first),
            "the row of Table 1": (table_1(arrays, "one"), (m, 0.0, m, m, first / m)),
            "the logit with the hardmax layer": (arrays["one: hardmax logits"][0], logit),
            "the distance to the limit": (arrays["one: distance to the limit"][0], far),
            "the longest token": (arrays["one: longest token"][0], size),
        }
    )


def _count(tokens: np.ndarray, layers: np.ndarray, *, depth: int, values: bool) -> int:
    """Return how many tokens, or different values of tokens, lead at a layer up to `depth`."""
    leading = (layers >= 0) & (layers <= depth)
    return len({tuple(z) for z in tokens[leading]}) if values else int(np.sum(leading))


CLOSE = 0.05  # "sufficient to approximate": a distance of at most this fraction of the largest token norm
LAYERS = 400  # within which the follower sets of a review must be proved final; otherwise the trial is undecided


@functools.cache
def _published() -> tuple[ReviewClassifier, np.ndarray]:
    """Return the published classifier (d = 2) and the word indices of the test reviews, shape (reviews, 128)."""
    path = data_file(PAPER.published)
    return load_classifier(path)[0], read_tensors(path).raw("ids_test", None, None)


class Review(NamedTuple):
    """The published classifier, the word numbers of a test review, and its tokens, shape (128, 2)."""

    model: ReviewClassifier
    ids: np.ndarray
    tokens: np.ndarray

    @property
    def measured(self) -> ForwardPass:
        """The forward pass that ships, through all layers of the classifier."""
        return forward_pass(self.model, self.ids[None])

    def parameters(self) -> dict[str, float | int | str]:
        """Return the sizes of the review and the step."""
        n, d = self.tokens.shape
        return {"n": n, "distinct": len(_counts(self.tokens)), "d": d, "alpha": float(self.model.alpha)}


def _review(key: Key) -> Review:
    """Return a random test review."""
    model, ids = _published()
    row = ids[int(jax.random.randint(key, (), 0, len(ids)))]
    return Review(model, row, np.asarray(model.embedding)[row])


@claim(
    "hardmax/claim-theory-applies-to-reviews",
    num_trials=4,
    note="exact: equal rows of E are equal tokens. Reviews repeat words and are padded with one word, so that tokens "
    "are not distinct; no control: the corrected claim, on the same reviews, is the positive case",
)
def reviews_meet_the_hypotheses(key: Key) -> Trial:
    """The 128 tokens of a padded or truncated review are distinct and nonzero, as Theorem 1.1 assumes (published E)."""
    found = _review(key)
    model, tokens = found.model, found.tokens
    met = hypotheses(model.layer, tokens)
    distinct = len(np.unique(tokens, axis=0))
    return Trial(
        hypotheses=(holds("alpha is positive", met.positive_step), holds("no token is zero", met.nonzero)),
        conclusions=(holds("the tokens are distinct", met.distinct),),
        witness={
            "review": found.ids,
            "encoder": {int(i): row for i, row in zip(found.ids, tokens, strict=True)},
            "alpha": float(model.alpha),
            "layers": 1,
            "distinct": distinct,
            "most often": int(np.max(_counts(tokens))),
        },
        parameters=found.parameters(),
    )


def _counts(tokens: np.ndarray) -> np.ndarray:
    return np.unique(tokens, axis=0, return_counts=True)[1]


theorem_holds_for_values = certified(
    "hardmax/claim-theory-applies-to-reviews/corrected",
    statement="""
    For the tokens of a review, equal tokens taken as one with its multiplicity, (i) and (ii) of Theorem 1.1 hold.

    Every token converges to a point of S, and the vertices of K are attained by the values that follow only themselves.
    """,
    trial=lambda key: _values_trial(key, by_value=True),
    # Leaders by token index, as in Definition 1.1, in a review of 64 words given twice: none is a leader.
    control=lambda key: _values_trial(key, by_value=False),
    num_trials=3,
    note="changed: equal tokens are one token with its multiplicity, and a leader is a value whose follower set "
    "contains only tokens of that value; the certificate is exact for the published floating-point numbers, taken at "
    "their exact binary values",
)


def _values_trial(key: Key, *, by_value: bool) -> Trial:
    found = _review(key)
    if not by_value:
        found = found._replace(ids=np.tile(found.ids[:64], 2), tokens=np.tile(found.tokens[:64], (2, 1)))
    model, tokens = found.model, found.tokens
    end = certify(model.layer, tokens, max_layers=LAYERS)
    if not end.certified:
        return Trial.unfinished(f"the limits of a review are not certified within {LAYERS} layers")
    body = polytope(end.limits)
    S = {tuple(s) for s in candidate_set(body).points}
    leading = (end.leader_layers_by_value if by_value else end.leader_layers) >= 0
    return Trial(
        hypotheses=(
            holds("no token is zero", hypotheses(model.layer, tokens).nonzero),
            holds("some tokens are equal", len(_counts(tokens)) < len(tokens)),
        ),
        conclusions=(
            holds("every limit is in S", {tuple(s) for s in end.limits} <= S),
            holds(
                "the limits of leaders are the vertices of K",
                {tuple(s) for s in end.limits[leading]} == {tuple(v) for v in body.vertex_points},
            ),
            holds("the forward pass finds the leaders of its layers", _same_leaders(found, end)),
            *review_measurements(model, load_classifier(data_file(PAPER.published))[1], found.ids, end),
        ),
        witness={"distinct": len(_counts(tokens)), "leaders": int(np.sum(leading)), "vertices": len(body.vertices)},
        parameters=found.parameters(),
    )


def _same_leaders(review: Review, end: Certificate) -> bool:
    """Return whether the forward pass has the certified layers of leaders by value, up to its depth, and by index."""
    passed = review.measured
    which = passed.groups.which[0]
    early = lambda layers: np.where(layers <= review.model.depth, layers, -1)
    by_index = np.where(passed.by_index, passed.leading, -1)[0][which]
    return bool(
        np.all(passed.leading[0][which] == early(end.leader_layers_by_value))
        and np.all(by_index == early(end.leader_layers))
    )


eight_layers_are_enough = claim(
    "hardmax/claim-eight-layers",
    statement="Eight layers approximate the limit, in which all tokens are clustered at leaders.",
    trial=lambda key: _depth_trial(key, 8),
    control=lambda key: _depth_trial(key, 1),  # A single layer.
    num_trials=6,
    note=f"read: within {CLOSE:.0%} of the largest token norm, and every limit is the value of a leader; on test "
    "reviews with the published weights (d = 2, alpha = 2.35: distances contract by a factor 0.3 per layer), limits "
    "certified; with alpha near 1, as at the start of training, the distance can be larger",
)


def _depth_trial(key: Key, depth: int) -> Trial:
    found = _review(key)
    model, tokens = found.model, found.tokens
    end = certify(model.layer, tokens, max_layers=LAYERS)
    if not end.certified:
        return Trial.unfinished(f"the limits of a review are not certified within {LAYERS} layers")
    x = tokens
    for k in range(depth):
        x = model.layer.step(k, x)
    limits = np.asarray(end.limits, float)
    passed, largest = found.measured, np.max(np.linalg.norm(limits, axis=1))
    further = further_layers(passed, model.layer, 52)[0][0][passed.groups.which[0]]
    logit = float(np.mean(x, axis=0) @ np.asarray(model.weight, float) + model.bias)
    far = np.max(np.linalg.norm(x - limits, axis=1)) / np.max(np.linalg.norm(limits, axis=1))
    led = {tuple(s) for s in end.limits[end.leader_layers_by_value >= 0]}
    return Trial(
        hypotheses=(holds("no token is zero", hypotheses(model.layer, tokens).nonzero),),
        conclusions=(
            no_more_than(f"distance from the limit after {depth} layers, over the largest token norm", far, CLOSE),
            holds("every limit is the value of a leader", {tuple(s) for s in end.limits} <= led),
            no_more_than(
                "distance of the tokens of `further_layers` from the limits over that norm",
                np.max(np.abs(further - limits)) / largest,
                0.0,
            ),
            *(
                [equal("logit of `hardmax_logits`", hardmax_logits(model, found.ids[None])[0], logit, tolerance=1e-9)]
                if depth == model.depth  # of numbers up to about 30
                else []
            ),
        ),
        parameters=found.parameters(),
        witness={
            "alpha": float(model.alpha),
            "settled": end.constant_from,
            "leaders": int(np.sum(end.leader_layers_by_value >= 0)),
        },
    )


def _both_layers_trial(key: Key, temperature: float) -> Trial:
    """Compare the losses (6.1) of the published classifier with both layers on random training reviews."""
    model, _ = _published()
    ids = read_tensors(data_file(PAPER.published)).raw("ids_train", None, None)
    labels = read_reviews(data_file(PAPER.train.file), PAPER.train).labels
    rows = np.sort(np.asarray(jax.random.choice(key, len(ids), (400,), replace=False)))
    soft, hard = softmax_logits(replace(model, temperature=temperature), ids[rows]), hardmax_logits(model, ids[rows])
    losses = [mean_loss(logits, labels[rows]) for logits in (soft, hard)]
    return Trial(
        hypotheses=(at_most("loss of the hardmax layer", losses[1], LEARNED * np.log(2), tolerance=ROUNDING),),
        conclusions=(
            no_more_than("difference of the losses over ln 2", abs(losses[0] - losses[1]) / np.log(2), SAME),
            *history_measurements(
                replace(model, temperature=temperature), Encoded(ids[rows], labels[rows]), (soft, hard)
            ),
        ),
        witness={"reviews": rows, "losses": losses},
        parameters={"reviews": len(rows), "d": 2, "temperature": temperature},
    )


both_layers_give_the_published_classifier_the_same_loss = claim(
    "hardmax/claim-training-loss/published",
    statement="For the published classifier the losses (6.1) with the softmax layer (tau = 0.001) and with the "
    "hardmax layer almost coincide.",
    trial=partial(_both_layers_trial, temperature=1e-3),
    control=partial(_both_layers_trial, temperature=0.5),  # The softmax layer at temperature 1/2.
    variant="special case",
    num_trials=4,
    note=f"the published weights, d = 2, after training only, on 400 of 2,000 reviews; almost coincide means within "
    f"{SAME:.0%} of ln 2, the loss of the answer 1/2; the classifier has learned: its loss is at most {LEARNED} ln 2",
)


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
    statement="For every symmetric positive definite A = B^T B, encoder E, alpha > 0 and decoder w, v, the encoder E' "
    "= E B^T and the decoder w' = B^{-T} w, v give with A = I every review the same output at every depth.",
    trial=partial(_review_trial, decoder=True),
    control=partial(_review_trial, decoder=False),  # The decoder w unchanged.
    num_trials=16,
    note="the paper mentions only the encoder; the decoder must absorb B^{-T} as well. The statement is about the "
    "functions that can be represented, not about the course of training; a singular A has no invertible B",
)

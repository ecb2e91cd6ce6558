"""Errors in the classifier of reviews and in its measures, with the claims of `hardmax` that notice them."""

from tests.mutants import Mutant

CLASSIFIER = "dynsim.networks.sentiment.classifier"
PASS = "dynsim.networks.sentiment.forward_pass"
MEASURES = "analysis.experiments.hardmax.classifier_measures"
EXPERIMENT = "analysis.experiments.hardmax.reviews"
TRAINING = "analysis.claims.hardmax.section_6_training"

IDENTITY = "hardmax/claim-identity-no-restriction"
REVIEWS = "hardmax/claim-theory-applies-to-reviews/corrected"
EIGHT = "hardmax/claim-eight-layers"
BOTH = "hardmax/claim-training-loss/published"
ACCURACIES = ("tests/test_claims_hardmax.py",)

MUTANTS = (
    Mutant(
        "hardmax: the mean token of a review ignores repeated words",
        PASS,
        'return np.einsum("rn,rnd->rd", counts, self.final) / counts.sum(axis=1, keepdims=True)',
        'return np.einsum("rn,rnd->rd", counts > 0, self.final) / (counts > 0).sum(axis=1, keepdims=True)',
        (IDENTITY, EIGHT, BOTH),
    ),
    Mutant(
        "hardmax: the forward pass has a layer less",
        PASS,
        "            if k < depth:\n",
        "            if k < depth - 1:\n",
        (IDENTITY,),
    ),
    Mutant(
        "hardmax: leaders of a review are dated a layer late",
        PASS,
        "(leading[rows, :size] < 0), k, leading[rows, :size])",
        "(leading[rows, :size] < 0), k + 1, leading[rows, :size])",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the forward pass moves tokens by alpha",
        PASS,
        "return x + layer.alpha / (1 + layer.alpha) * (averages - x)",
        "return x + layer.alpha * (averages - x)",
        (IDENTITY, EIGHT),
    ),
    Mutant(
        "hardmax: repeated words are leaders by index",
        PASS,
        "return (self.leading >= 0) & (self.groups.counts == 1)",
        "return self.leading >= 0",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: an eighth of the further layers",
        PASS,
        "for _ in range(layers):",
        "for _ in range(layers // 8):",
        (EIGHT,),
    ),
    Mutant(
        "hardmax: the decoder has the opposite bias",
        CLASSIFIER,
        "return z @ np.asarray(model.weight, np.float64) + float(model.bias)",
        "return z @ np.asarray(model.weight, np.float64) - float(model.bias)",
        (IDENTITY, EIGHT),
    ),
    Mutant(
        "hardmax: the softmax classifier pools by the first token",
        CLASSIFIER,
        "return jnp.mean(x, axis=1) @ self.weight + self.bias",
        "return x[:, 0] @ self.weight + self.bias",
        (BOTH,),
    ),
    Mutant(
        "hardmax: the softmax classifier has a single layer",
        CLASSIFIER,
        "x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(self.depth))",
        "x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(1))",
        (BOTH,),
    ),
    Mutant(
        "hardmax: alpha of the classifier is its logarithm",
        CLASSIFIER,
        "return HardmaxMap(np.exp(np.float64(self.log_alpha)))",
        "return HardmaxMap(np.float64(self.log_alpha))",
        (IDENTITY,),
    ),
    Mutant(
        "hardmax: a row of Table 1 has another deviation",
        EXPERIMENT,
        "return np.array([np.mean(m), np.std(m), np.min(m), np.max(m), share])",
        "return np.array([np.mean(m), 1 + np.std(m), np.min(m), np.max(m), share])",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the initial share of Table 1 is inverted",
        EXPERIMENT,
        "share = np.mean(m_0[m > 0] / m[m > 0])",
        "share = np.mean(m[m > 0] / (m_0[m > 0] + 1))",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the history has the loss of the hardmax layer twice",
        MEASURES,
        "row[0] = mean_loss(soft, train.labels)",
        "row[0] = mean_loss(hardmax_logits(model, train.ids), train.labels)",
        (BOTH,),
    ),
    Mutant(
        "hardmax: the history has accuracies in the test set in place of the training set",
        MEASURES,
        "pairs = ((soft, train), (hard_train, train), (softmax_logits(model, test.ids), test), (hard_test, test))",
        "pairs = ((softmax_logits(model, test.ids), test), (hard_test, test), (soft, train), (hard_train, train))",
        (BOTH,),
    ),
    Mutant(
        "hardmax: the history counts the leaders at layer 0 only",
        MEASURES,
        "row[-1] = np.mean(np.sum(found.leading >= 0, axis=1))",
        "row[-1] = np.mean(np.sum(found.leading >= 1, axis=1))",
        (BOTH,),
    ),
    Mutant(
        "hardmax: leaders by value are counted by index",
        MEASURES,
        'counts = {"by value": np.ones_like(found.by_index), "by index": found.by_index}',
        'counts = {"by value": found.by_index, "by index": found.by_index}',
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the distance to the limit is that of the nearest token",
        MEASURES,
        '"distance to the limit": np.linalg.norm(far - found.final, axis=2).max(axis=1, initial=0.0, where=filled),',
        '"distance to the limit": np.linalg.norm(far - found.final, axis=2).min(axis=1, initial=9.0, where=filled),',
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the accuracy of the records is that of positive reviews",
        TRAINING,
        '(kept.arrays[f"d={d}: hardmax logits"] > 0) == labels for d in dimensions',
        '(kept.arrays[f"d={d}: hardmax logits"] > 0) >= labels for d in dimensions',
        tests=ACCURACIES,
    ),
    Mutant(
        "hardmax: around 80 % and 90 % are five points wide on each side",
        TRAINING,
        "AROUND = 0.025",
        "AROUND = 0.05",
        tests=ACCURACIES,
    ),
    Mutant(
        "hardmax: the accuracy printed for d = 16 is held against d = 8",
        TRAINING,
        "_recognised(kept, (dimensions[0], dimensions[-1]))",
        "_recognised(kept, (dimensions[0], dimensions[-2]))",
        tests=ACCURACIES,
    ),
    Mutant(
        "hardmax: an accuracy may fall by any number of standard errors",
        TRAINING,
        "np.diff(shares), 3 * np.hypot",
        "np.diff(shares), 30 * np.hypot",
        tests=ACCURACIES,
    ),
    Mutant(
        "hardmax: the growth of the accuracy is measured without its error",
        TRAINING,
        "shares[-1] - shares[0] - 3 * np.hypot(errors[-1], errors[0])",
        "shares[-1] - shares[0]",
        tests=ACCURACIES,
    ),
    Mutant(
        "hardmax: any number of test reviews counts as the printed one",
        TRAINING,
        "PRINTED_SIZES = (35_000, 15_000)",
        "PRINTED_SIZES = (35_000, 100)",
        tests=ACCURACIES,
    ),
)

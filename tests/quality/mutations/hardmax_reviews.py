"""Errors in the classifier of reviews and in its measures, with the claims of `hardmax` that notice them."""

from tests.quality.mutants import Mutant

IDENTITY = "hardmax/claim-identity-no-restriction"
REVIEWS = "hardmax/claim-theory-applies-to-reviews/corrected"
EIGHT = "hardmax/claim-eight-layers"
BOTH = "hardmax/claim-training-loss/published"

# fmt: off
MUTANTS = (
    Mutant("hardmax: the mean token of a review ignores repeated words", "ForwardPass.means",
           'np.einsum("rn,rnd->rd", counts, self.final) / counts.sum(axis=1, keepdims=True)',
           'np.einsum("rn,rnd->rd", counts > 0, self.final) / (counts > 0).sum(axis=1, keepdims=True)',
           (IDENTITY, EIGHT, BOTH)),
    Mutant("hardmax: the forward pass has a layer less", "apply_layers", "k < depth", "k < depth - 1", (IDENTITY,)),
    Mutant("hardmax: leaders of a review are dated a layer late", "apply_layers",
           "np.where(found.leads & (leading[rows, :size] < 0), k, leading[rows, :size])",
           "np.where(found.leads & (leading[rows, :size] < 0), k + 1, leading[rows, :size])", (REVIEWS,)),
    Mutant("hardmax: the forward pass moves tokens by alpha", "moved",
           "layer.alpha / (1 + layer.alpha)", "layer.alpha", (IDENTITY, EIGHT)),
    Mutant("hardmax: repeated words are leaders by index", "ForwardPass.by_index",
           "(self.leading >= 0) & (self.groups.counts == 1)", "self.leading >= 0", (REVIEWS,)),
    Mutant("hardmax: an eighth of the further layers", "further_layers",
           "range(layers)", "range(layers // 8)", (EIGHT,)),
    Mutant("hardmax: the decoder has the opposite bias", "decision_values",
           "z @ np.asarray(model.weight, np.float64) + float(model.bias)",
           "z @ np.asarray(model.weight, np.float64) - float(model.bias)", (IDENTITY, EIGHT)),
    Mutant("hardmax: the softmax classifier pools by the first token", "ReviewClassifier.soft_logits",
           "jnp.mean(x, axis=1)", "x[:, 0]", (BOTH,)),
    Mutant("hardmax: the softmax classifier has a single layer", "ReviewClassifier.soft_logits",
           "self.depth", "1", (BOTH,)),
    Mutant("hardmax: alpha of the classifier is its logarithm", "ReviewClassifier.layer",
           "np.exp(np.float64(self.log_alpha))", "np.float64(self.log_alpha)", (IDENTITY,)),
    Mutant("hardmax: a row of Table 1 has another deviation", "table_1", "np.std(m)", "1 + np.std(m)", (REVIEWS,)),
    Mutant("hardmax: the initial share of Table 1 is inverted", "table_1",
           "m_0[m > 0] / m[m > 0]", "m[m > 0] / (m_0[m > 0] + 1)", (REVIEWS,)),
    Mutant("hardmax: the history has the loss of the hardmax layer twice", "history_row",
           "mean_loss(soft, train.labels)", "mean_loss(hardmax_logits(model, train.ids), train.labels)", (BOTH,)),
    Mutant("hardmax: the history has accuracies in the test set in place of the training set", "history_row",
           "((soft, train), (hard_train, train), (softmax_logits(model, test.ids), test), (hard_test, test))",
           "((softmax_logits(model, test.ids), test), (hard_test, test), (soft, train), (hard_train, train))", (BOTH,)),
    Mutant("hardmax: the history counts the leaders at layer 0 only", "history_row",
           "found.leading >= 0", "found.leading >= 1", (BOTH,)),
    Mutant("hardmax: leaders by value are counted by index", "_leaders",
           "np.ones_like(found.by_index)", "found.by_index", (REVIEWS,)),
    Mutant("hardmax: the distance to the limit is that of the nearest token", "measured",
           "np.linalg.norm(far - found.final, axis=2).max(axis=1, initial=0.0, where=filled)",
           "np.linalg.norm(far - found.final, axis=2).min(axis=1, initial=9.0, where=filled)", (REVIEWS,)),
)
# fmt: on

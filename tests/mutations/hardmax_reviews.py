"""Errors in the classifier of reviews and in its measures, with the claims of `hardmax` that notice them."""

from tests.mutants import Mutant

CLASSIFIER = "dynsim.networks.sentiment.classifier"
PASS = "dynsim.networks.sentiment.forward_pass"

IDENTITY = "hardmax/claim-identity-no-restriction"
REVIEWS = "hardmax/claim-theory-applies-to-reviews/corrected"
EIGHT = "hardmax/claim-eight-layers"
BOTH = "hardmax/claim-training-loss/published"

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
)

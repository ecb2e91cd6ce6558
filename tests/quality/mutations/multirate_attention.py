"""Errors in entropies, attention, lumping and norms, and the claims of `multirate` on them that notice them."""

from tests.quality.mutants import Mutant

H_THEOREM = "multirate/claim-h-theorem"
STRICT = "multirate/claim-h-theorem/irreducible"
ENTROPY = "multirate/claim-attention-entropy"
TRANSITION = "multirate/claim-attention-transition"
SUMMARY = "multirate/remark-32/irreducible"
FULL = "multirate/claim-causal-irreducible/full"
CAUSAL = "multirate/claim-causal-irreducible/law"
SHARED = "multirate/claim-attention-exponential/shared"
IN_TIME = "multirate/claim-attention-exponential/causal-in-time"
LUMPED = "multirate/claim-lumpability"
POOLED = "multirate/claim-lumpability/pooling"
RMS = "multirate/remark-24-rmsnorm"
GAIN = "multirate/remark-24-rmsnorm/largest-gain"

# fmt: off
MUTANTS = (
    Mutant("attention: the relative entropy is that of the second argument to the first", "relative_entropy",
           "rel_entr(p, pi) - p + pi", "rel_entr(pi, p) - pi + p", (H_THEOREM, STRICT)),
    Mutant("attention: the series of the relative entropy has a wrong third moment", "relative_entropy",
           "1 / 6", "1 / 3", (H_THEOREM, STRICT)),
    Mutant("attention: the relative entropy is half of its second moment near p_st", "relative_entropy",
           "1 / 2", "1", (H_THEOREM, STRICT)),
    Mutant("attention: the entropy of attention is that of columns", "attention_entropy",
           "axis=1", "axis=0", (ENTROPY,)),
    Mutant("attention: the entropy of attention is its second moment", "attention_entropy",
           "np.sum(entr(dense), axis=1) + 0.0", "1 - np.sum(dense**2, axis=1)", (ENTROPY,)),
    Mutant("attention: the entropy rate is not weighted by the stationary distribution", "entropy_rate",
           'check_distribution(stationary, len(entropies), name="stationary").astype(float) @ entropies',
           "np.mean(entropies)",
           (ENTROPY,)),
    Mutant("attention: the causal mask shows the next token", "Causal.__call__",
           "jnp.tril(jnp.ones((n, n), bool))", "jnp.tril(jnp.ones((n, n), bool), 1)", (TRANSITION, CAUSAL, IN_TIME)),
    Mutant("attention: the window is wider by one", "Window.__call__", "1 - self.width", "-self.width", (TRANSITION,)),
    Mutant("attention: the softmax is over queries", "TokenFlow.weights",
           "axis=-1", "axis=-2", (TRANSITION, FULL, SHARED)),
    Mutant("attention: the scores of attention are transposed", "TokenFlow.weights",
           "self.query_key.bilinear(t, x, x)", "self.query_key.bilinear(t, x, x).swapaxes(1, 2)",
           (TRANSITION, FULL, CAUSAL)),
    Mutant("attention: the scores are divided by the square root of the dimension", "TokenFlow.weights",
           "self.query_key.bilinear(t, x, x)", "self.query_key.bilinear(t, x, x) / math.sqrt(x.shape[-1])",
           (TRANSITION, FULL, CAUSAL, IN_TIME, ENTROPY)),
    Mutant("attention: the generator of attention is not transposed", "attention_generator",
           "check_transition(weights).T", "check_transition(weights)", (TRANSITION, FULL, CAUSAL, SHARED, SUMMARY)),
    Mutant("attention: the generator of attention forgets its rate", "attention_generator",
           "rate * check_transition(weights).T", "check_transition(weights).T", (TRANSITION, SUMMARY)),
    Mutant("attention: a transition matrix is checked by columns", "check_transition",
           "axis=1", "axis=0", (TRANSITION,)),
    Mutant("attention: the defects of lumpability are exchanged", "lumping",
           "Lumping(blocks, lumped, _spread(into, blocks), _spread(received, blocks))",
           "Lumping(blocks, lumped, _spread(received, blocks), _spread(into, blocks))", (LUMPED, POOLED)),
    Mutant("attention: the defect of lumpability is the mean of two differences", "_spread",
           "return np.max(np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, "
           "axis=1))",
           "spans = np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1)\n"
           "return np.max(spans.sum(axis=0)) / 2", (LUMPED, POOLED)),
    Mutant("attention: the lumped generator is a sum over blocks in place of a mean", "lumping",
           "sizes.astype(object)", "sizes.astype(object) ** 0", (LUMPED, POOLED)),
    Mutant("attention: the lumped generator divides by the size of the target block", "lumping",
           '(rationals("labels", sizes.astype(object)) if exact else sizes)[None]',
           '(rationals("labels", sizes.astype(object)) if exact else sizes)[:, None]', (LUMPED,)),
    Mutant("attention: the mean of the last block divides by the length of a whole block", "causal_pool",
           "np.minimum(block, n - block * np.arange(blocks))", "np.full(blocks, block)", (POOLED,)),
    Mutant("attention: the normalisation divides by the norm of a token", "RMSNorm.__call__",
           "jnp.mean", "jnp.sum", (RMS, GAIN)),
    Mutant("attention: the normalisation subtracts the mean of a token", "RMSNorm.__call__",
           "jnp.mean(x**2, axis=-1, keepdims=True)", "jnp.var(x, axis=-1, keepdims=True)", (RMS, GAIN)),
    Mutant("attention: the normalisation squares its gain", "RMSNorm.__call__",
           "self.gain[None]", "self.gain[None] ** 2", (GAIN,)),
    Mutant("attention: the epsilon of the normalisation is added to the root", "RMSNorm.__call__",
           "jnp.sqrt(square + self.epsilon)", "jnp.sqrt(square) + self.epsilon", (RMS, GAIN)),
    Mutant("attention: negative weights are accepted", "check_transition", "values < 0", "values < -9", (TRANSITION,)),
    Mutant("attention: a matrix whose columns sum to one is accepted as a generator", "check_generator",
           "abs(sums)", "np.minimum(abs(sums), abs(sums - 1))", (TRANSITION,)),
)
# fmt: on

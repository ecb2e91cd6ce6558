"""Errors in entropies, attention, lumping and norms, and the claims of `multirate` on them that notice them."""

from tests.mutants import Mutant

GENERATORS = "dynsim.systems.master_equation.generators"
CHECKS = "dynsim.systems.master_equation.checks"
CHAINS = "analysis.chains."
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

MUTANTS = (
    Mutant(
        "attention: the relative entropy is that of the second argument to the first",
        CHAINS + "entropies",
        "rel_entr(p, pi) - p + pi",
        "rel_entr(pi, p) - pi + p",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "attention: the series of the relative entropy has a wrong third moment",
        CHAINS + "entropies",
        "(1 / 2 - y * (1 / 6 - y * (1 / 12",
        "(1 / 2 - y * (1 / 3 - y * (1 / 12",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "attention: the relative entropy is half of its second moment near p_st",
        CHAINS + "entropies",
        "close = pi * y**2 * (1 / 2",
        "close = pi * y**2 * (1",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "attention: the entropy of attention is that of columns",
        CHAINS + "entropies",
        "return -np.sum(xlogy(dense, dense), axis=1)",
        "return -np.sum(xlogy(dense, dense), axis=0)",
        (ENTROPY,),
    ),
    Mutant(
        "attention: the entropy of attention is its second moment",
        CHAINS + "entropies",
        "return -np.sum(xlogy(dense, dense), axis=1)",
        "return 1 - np.sum(dense**2, axis=1)",
        (ENTROPY,),
    ),
    Mutant(
        "attention: the entropy rate is not weighted by the stationary distribution",
        CHAINS + "entropies",
        "return float(np.asarray(stationary, float) @ attention_entropy(weights))",
        "return float(np.mean(attention_entropy(weights)))",
        (ENTROPY,),
    ),
    Mutant(
        "attention: the causal mask shows the next token",
        "dynsim.systems.tokens.masks",
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))',
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool), 1)',
        (TRANSITION, CAUSAL, IN_TIME),
    ),
    Mutant(
        "attention: the window is wider by one",
        "dynsim.systems.tokens.masks",
        "jnp.triu(jnp.ones((n, n), bool), 1 - self.width)",
        "jnp.triu(jnp.ones((n, n), bool), -self.width)",
        (TRANSITION,),
    ),
    Mutant(
        "attention: the softmax is over queries",
        "dynsim.systems.tokens.flow",
        "return jax.nn.softmax(self.mask.hide(self.query_key.bilinear(t, x, x)), axis=-1)",
        "return jax.nn.softmax(self.mask.hide(self.query_key.bilinear(t, x, x)), axis=-2)",
        (TRANSITION, FULL, SHARED),
    ),
    Mutant(
        "attention: the scores of attention are transposed",
        "dynsim.systems.tokens.flow",
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x).swapaxes(1, 2))",
        (TRANSITION, FULL, CAUSAL),
    ),
    Mutant(
        "attention: the scores are divided by the square root of the dimension",
        "dynsim.systems.tokens.flow",
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x) / math.sqrt(x.shape[-1]))",
        (TRANSITION, FULL, CAUSAL, IN_TIME, ENTROPY),
    ),
    Mutant(
        "attention: the generator of attention is not transposed",
        GENERATORS,
        "return _with_diagonal(rate * check_transition(weights).T)",
        "return _with_diagonal(rate * check_transition(weights))",
        (TRANSITION, FULL, CAUSAL, SHARED, SUMMARY),
    ),
    Mutant(
        "attention: the generator of attention forgets its rate",
        GENERATORS,
        "return _with_diagonal(rate * check_transition(weights).T)",
        "return _with_diagonal(check_transition(weights).T)",
        (TRANSITION, SUMMARY),
    ),
    Mutant(
        "attention: a transition matrix is checked by columns",
        CHECKS,
        "sums = np.asarray(A.sum(axis=1))",
        "sums = np.asarray(A.sum(axis=0))",
        (TRANSITION,),
    ),
    Mutant(
        "attention: the defects of lumpability are exchanged",
        CHAINS + "lumping",
        "return Lumping(blocks, lumped, _spread(into, blocks), _spread(received, blocks))",
        "return Lumping(blocks, lumped, _spread(received, blocks), _spread(into, blocks))",
        (LUMPED, POOLED),
    ),
    Mutant(
        "attention: the defect of lumpability is the mean of two differences",
        CHAINS + "lumping",
        "return np.max(np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1))",
        "spans = np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1)\n"
        "    return np.max(spans.sum(axis=0)) / 2",
        (LUMPED, POOLED),
    ),
    Mutant(
        "attention: the lumped generator is a sum over blocks in place of a mean",
        CHAINS + "lumping",
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[None]',
        'lumped = sums / (rationals("labels", sizes.astype(object) ** 0) if exact else sizes)[None]',
        (LUMPED, POOLED),
    ),
    Mutant(
        "attention: the lumped generator divides by the size of the target block",
        CHAINS + "lumping",
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[None]',
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[:, None]',
        (LUMPED,),
    ),
    Mutant(
        "attention: the mean of the last block divides by the length of a whole block",
        "dynsim.networks.multirate.pooling",
        "counts = np.minimum(block, n - block * np.arange(blocks))",
        "counts = np.full(blocks, block)",
        (POOLED,),
    ),
    Mutant(
        "attention: the normalisation divides by the norm of a token",
        "dynsim.networks.decoder.transformer",
        "square = jnp.mean(x**2, axis=-1, keepdims=True)",
        "square = jnp.sum(x**2, axis=-1, keepdims=True)",
        (RMS, GAIN),
    ),
    Mutant(
        "attention: the normalisation subtracts the mean of a token",
        "dynsim.networks.decoder.transformer",
        "square = jnp.mean(x**2, axis=-1, keepdims=True)",
        "square = jnp.var(x, axis=-1, keepdims=True)",
        (RMS, GAIN),
    ),
    Mutant(
        "attention: the normalisation squares its gain",
        "dynsim.networks.decoder.transformer",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None]",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None] ** 2",
        (GAIN,),
    ),
    Mutant(
        "attention: the epsilon of the normalisation is added to the root",
        "dynsim.networks.decoder.transformer",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None]",
        "return x / (jnp.sqrt(square) + self.epsilon) * self.gain[None]",
        (RMS, GAIN),
    ),
    Mutant(
        "attention: negative weights are accepted",
        CHECKS,
        "    bad = np.flatnonzero(values < 0)\n",
        "    bad = np.flatnonzero(values < -9)\n",
        (TRANSITION,),
    ),
    Mutant(
        "attention: a matrix whose columns sum to one is accepted as a generator",
        CHECKS,
        "bad = np.flatnonzero(abs(sums) > allowed)",
        "bad = np.flatnonzero(np.minimum(abs(sums), abs(sums - 1)) > allowed)",
        (TRANSITION,),
    ),
)

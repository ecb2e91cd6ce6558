"""Errors in master equations, the analysis of chains and attention, and the claims of `multirate` that notice them."""

from tests.mutants import Mutant

FLOW = "dynsim.systems.master_equation.flow"
GENERATORS = "dynsim.systems.master_equation.generators"
CHECKS = "dynsim.systems.master_equation.checks"
RATES = "dynsim.systems.master_equation.rates"
CHAINS = "analysis.chains."
KERNEL = "multirate/theorem-28-i"
UNIQUE = "multirate/theorem-28-ii"
RELAXES = "multirate/theorem-28-iii-flow"
INTEGRATED = "multirate/theorem-28-iii-flow/integrated"
EULER = "multirate/theorem-28-iii-euler"
H_THEOREM = "multirate/claim-h-theorem"
STRICT = "multirate/claim-h-theorem/irreducible"
ENTROPY = "multirate/claim-attention-entropy"
TRANSITION = "multirate/claim-attention-transition"
FULL = "multirate/claim-causal-irreducible/full"
CAUSAL = "multirate/claim-causal-irreducible/law"
SHARED = "multirate/claim-attention-exponential/shared"
IN_TIME = "multirate/claim-attention-exponential/causal-in-time"
LUMPED = "multirate/claim-lumpability"
POOLED = "multirate/claim-lumpability/pooling"
RMS = "multirate/remark-24-rmsnorm"
GAIN = "multirate/remark-24-rmsnorm/largest-gain"
CONTRACTS = "multirate/remark-25-norm-constraints/corrected"
MINIMUM = "multirate/corollary-29/divergence"
EQUILIBRIUM = "multirate/claim-qss-equals-stationary/irreducible"

MUTANTS = (
    Mutant(
        "chains: the generator is transposed in the flow",
        FLOW,
        "return p @ self.generator(t)[0].astype(p.dtype).T",
        "return p @ self.generator(t)[0].astype(p.dtype)",
        (KERNEL, RELAXES, INTEGRATED, EQUILIBRIUM, STRICT, CONTRACTS),
        quick=True,
    ),
    Mutant(
        "chains: a sparse generator is transposed in the flow",
        RATES,
        "return jnp.moveaxis(sums, 0, -1)",
        "return jnp.moveaxis(jax.ops.segment_sum(jnp.moveaxis(p, -1, 0)[self.rows] "
        "* self.values.reshape(-1, *(1,) * (p.ndim - 1)), self.columns, self.size), 0, -1)",
        (RELAXES,),
    ),
    Mutant(
        "chains: the generator is transposed in the Euler map",
        FLOW,
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + self.step_size * (p @ self.matrix())",
        (KERNEL, EULER, EQUILIBRIUM),
    ),
    Mutant(
        "chains: the Euler map forgets its step size",
        FLOW,
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + (self.matrix() @ p.T).T",
        (EULER,),
    ),
    Mutant(
        "chains: the step bound is that of the slowest state",
        FLOW,
        "fastest = np.max(exit_rates(generator))",
        "fastest = np.min(exit_rates(generator))",
        (EULER,),
    ),
    Mutant(
        "chains: a step beyond the bound is accepted",
        FLOW,
        "if self.step_size > bound:",
        "if self.step_size > 2 * bound:",
        (EULER,),
    ),
    Mutant(
        "chains: the exponential from a later time counts that time",
        CHAINS + "integrator",
        "times - times[0]",
        "times",
        (RELAXES,),
    ),
    Mutant(
        "chains: the dense exponential is transposed",
        CHAINS + "dense_exponential",
        "    return P, EPSILON",
        "    return P.T, EPSILON",
        (RELAXES,),
    ),
    Mutant(
        "chains: the dense exponential squares once too few",
        CHAINS + "dense_exponential",
        "for _ in range(squarings):",
        "for _ in range(squarings - 1):",
        (RELAXES,),
    ),
    Mutant(
        "chains: uniformisation keeps the transposed matrix",
        CHAINS + "polynomial_exponential",
        "now = stay @ now\n",
        "now = stay.T @ now\n",
        (RELAXES,),
    ),
    Mutant(
        "chains: Poisson weights are off by one",
        CHAINS + "polynomial_exponential",
        "steps = np.log(mean / np.arange(1, terms))",
        "steps = np.log(mean / np.arange(2, terms + 1))",
        (RELAXES,),
    ),
    Mutant(
        "chains: the first Chebyshev coefficient is doubled",
        CHAINS + "polynomial_exponential",
        "    series[:, 0] /= 2\n",
        "",
        (RELAXES,),
    ),
    Mutant(
        "chains: births and deaths are exchanged in the rational exponential",
        CHAINS + "rational_exponential",
        "np.asarray(generator.diagonal(-1), float), np.asarray(generator.diagonal(1), float)",
        "np.asarray(generator.diagonal(1), float), np.asarray(generator.diagonal(-1), float)",
        (RELAXES,),
    ),
    Mutant(
        "chains: sources are taken for closed classes",
        CHAINS + "classes",
        "left = np.unique(labels[begin[labels[begin] != labels[end]]])",
        "left = np.unique(labels[end[labels[begin] != labels[end]]])",
        (KERNEL,),
    ),
    Mutant(
        "chains: the period is off by one edge",
        CHAINS + "classes",
        "level[begin] + 1 - level[end]",
        "level[begin] - level[end]",
        (EULER,),
    ),
    Mutant(
        "chains: elimination by rows",
        CHAINS + "elimination",
        "share, inflow = R[:n, n] / exit_rate[n], R[n, :n]",
        "share, inflow = R[n, :n] / exit_rate[n], R[:n, n]",
        (UNIQUE,),
    ),
    Mutant(
        "chains: elimination substitutes back with the exit rate of the state before",
        CHAINS + "elimination",
        "p[n] = (R[n, :n] * p[:n]).sum() / exit_rate[n]",
        "p[n] = (R[n, :n] * p[:n]).sum() / exit_rate[n - 1]",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the factorisation fixes a probability on the wrong side",
        CHAINS + "elimination",
        "x[free] = solve(Q[free][:, [fixed]].toarray()[:, 0])",
        "x[free] = solve(Q[[fixed]][:, free].toarray()[0])",
        equivalent="two steps of iterative refinement follow, from residuals of Q",
    ),
    Mutant(
        "chains: the factorisation is that of the transpose",
        CHAINS + "elimination",
        "solve = lu_factors(scipy.sparse.csc_array(-Q[free][:, free])).solve",
        "solve = lu_factors(scipy.sparse.csc_array(-Q.T[free][:, free])).solve",
        (UNIQUE,),
    ),
    Mutant(
        "chains: the tree weighs states by their exit, not their entry",
        CHAINS + "reversibility",
        "weights = self.log_weights - np.max(self.log_weights)",
        "weights = np.max(self.log_weights) - self.log_weights",
        (UNIQUE,),
    ),
    Mutant(
        "chains: absorption forgets where transient states begin",
        CHAINS + "stationary",
        "inside = [p[classes.states(c)].sum() for c in range(classes.num_closed)]",
        "inside = [p[classes.states(c)].sum() * 0 for c in range(classes.num_closed)]",
        (KERNEL,),
    ),
    Mutant(
        "chains: the spectral gap is that of the fastest mode",
        CHAINS + "spectra",
        "slowest = order[np.argmax(values[order].real)]\n    angle",
        "slowest = order[np.argmin(values[order].real)]\n    angle",
        (RELAXES,),
    ),
    Mutant(
        "chains: the largest convergent step is halved",
        CHAINS + "spectra",
        "return EulerBounds(bound, 2 * _least_ratio(Q, closed), at_bound)",
        "return EulerBounds(bound, _least_ratio(Q, closed), at_bound)",
        (EULER,),
    ),
    Mutant(
        "chains: the mixing time takes the distance without its half",
        CHAINS + "mixing",
        "np.asarray(q, float)), axis=-1) / 2",
        "np.asarray(q, float)), axis=-1)",
        (RELAXES, MINIMUM),
    ),
    Mutant(
        "chains: columns that do not sum to zero are accepted",
        CHECKS,
        "bad = np.flatnonzero(abs(sums) > allowed)\n    if bad.size:\n        j = bad[0]",
        "bad = np.flatnonzero(abs(sums) > 1 + allowed)\n    if bad.size:\n        j = bad[0]",
        (KERNEL,),
    ),
    Mutant(
        "chains: negative rates are accepted",
        CHECKS,
        "bad = np.flatnonzero((rows != columns) & (values < 0))",
        "bad = np.flatnonzero((rows == columns) & (values < 0) & False)",
        (KERNEL,),
    ),
    Mutant(
        "chains: the diagonal of rates that depend on y is the sum of a row",
        RATES,
        "return (R - jnp.diag(jnp.sum(R, axis=0)))[None]",
        "return (R - jnp.diag(jnp.sum(R, axis=1)))[None]",
        (EQUILIBRIUM,),
    ),
    Mutant(
        "chains: the temperature of a walk is inverted",
        GENERATORS,
        "drop = (V.flat[low] - V.flat[high]) / (2 * temperature)",
        "drop = (V.flat[low] - V.flat[high]) * temperature / 2",
        (UNIQUE,),
    ),
    Mutant(
        "chains: a walk climbs its potential",
        GENERATORS,
        "values = rate * np.exp(np.concatenate([drop, -drop]))",
        "values = rate * np.exp(np.concatenate([-drop, drop]))",
        (UNIQUE,),
    ),
    Mutant(
        "chains: a walk takes the whole drop of the potential",
        GENERATORS,
        "drop = (V.flat[low] - V.flat[high]) / (2 * temperature)",
        "drop = (V.flat[low] - V.flat[high]) / temperature",
        (UNIQUE,),
    ),
    Mutant(
        "chains: exact births and deaths are exchanged",
        GENERATORS,
        'R[np.arange(1, k), np.arange(k - 1)] = rationals("birth", up)\n'
        '        R[np.arange(k - 1), np.arange(1, k)] = rationals("death", down)',
        'R[np.arange(k - 1), np.arange(1, k)] = rationals("birth", up)\n'
        '        R[np.arange(1, k), np.arange(k - 1)] = rationals("death", down)',
        (UNIQUE,),
    ),
    Mutant(
        "chains: the relative entropy is that of the second argument to the first",
        CHAINS + "entropies",
        "rel_entr(p, pi) - p + pi",
        "rel_entr(pi, p) - pi + p",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "chains: the series of the relative entropy has a wrong third moment",
        CHAINS + "entropies",
        "(1 / 2 - y * (1 / 6 - y * (1 / 12",
        "(1 / 2 - y * (1 / 3 - y * (1 / 12",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "chains: the relative entropy is half of its second moment near p_st",
        CHAINS + "entropies",
        "close = pi * y**2 * (1 / 2",
        "close = pi * y**2 * (1",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "chains: the dissipation exchanges source and target",
        CHAINS + "entropies",
        "_excess(relative[i], relative[j])",
        "_excess(relative[j], relative[i])",
        (H_THEOREM, STRICT),
    ),
    Mutant(
        "chains: the dissipation is that of the chi-square distance",
        CHAINS + "entropies",
        "far = y - np.where(y < -0.5, np.log(top / bottom), np.log1p(y))",
        "far = y**2 / 2 + 0 * np.log(np.where(y > -1, 1 + y, 0.0))",
        (STRICT,),
    ),
    Mutant(
        "chains: the entropy of attention is that of columns",
        CHAINS + "entropies",
        "return -np.sum(xlogy(dense, dense), axis=1)",
        "return -np.sum(xlogy(dense, dense), axis=0)",
        (ENTROPY,),
    ),
    Mutant(
        "chains: the entropy of attention is its second moment",
        CHAINS + "entropies",
        "return -np.sum(xlogy(dense, dense), axis=1)",
        "return 1 - np.sum(dense**2, axis=1)",
        (ENTROPY,),
    ),
    Mutant(
        "chains: the entropy rate is not weighted by the stationary distribution",
        CHAINS + "entropies",
        "return float(np.asarray(stationary, float) @ attention_entropy(weights))",
        "return float(np.mean(attention_entropy(weights)))",
        (ENTROPY,),
    ),
    Mutant(
        "chains: the causal mask shows the next token",
        "dynsim.systems.tokens.masks",
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))',
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool), 1)',
        (TRANSITION, CAUSAL, IN_TIME),
        quick=True,
    ),
    Mutant(
        "chains: the window is wider by one",
        "dynsim.systems.tokens.masks",
        "jnp.triu(jnp.ones((n, n), bool), 1 - self.width)",
        "jnp.triu(jnp.ones((n, n), bool), -self.width)",
        (TRANSITION,),
    ),
    Mutant(
        "chains: the softmax is over queries",
        "dynsim.systems.tokens.flow",
        "return jax.nn.softmax(self.mask.hide(self.query_key.bilinear(t, x, x)), axis=-1)",
        "return jax.nn.softmax(self.mask.hide(self.query_key.bilinear(t, x, x)), axis=-2)",
        (TRANSITION, FULL, SHARED),
    ),
    Mutant(
        "chains: the scores of attention are transposed",
        "dynsim.systems.tokens.flow",
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x).swapaxes(1, 2))",
        (TRANSITION, FULL, CAUSAL),
    ),
    Mutant(
        "chains: the scores are divided by the square root of the dimension",
        "dynsim.systems.tokens.flow",
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x) / math.sqrt(x.shape[-1]))",
        (TRANSITION, FULL, CAUSAL, IN_TIME, ENTROPY),
    ),
    Mutant(
        "chains: the generator of attention is not transposed",
        GENERATORS,
        "return _with_diagonal(rate * check_transition(weights).T)",
        "return _with_diagonal(rate * check_transition(weights))",
        (TRANSITION, FULL, CAUSAL, SHARED),
    ),
    Mutant(
        "chains: the generator of attention forgets its rate",
        GENERATORS,
        "return _with_diagonal(rate * check_transition(weights).T)",
        "return _with_diagonal(check_transition(weights).T)",
        (TRANSITION,),
    ),
    Mutant(
        "chains: a transition matrix is checked by columns",
        CHECKS,
        "sums = np.asarray(A.sum(axis=1))",
        "sums = np.asarray(A.sum(axis=0))",
        (TRANSITION,),
    ),
    Mutant(
        "chains: the defects of lumpability are exchanged",
        CHAINS + "lumping",
        "return Lumping(blocks, lumped, _spread(into, blocks), _spread(received, blocks))",
        "return Lumping(blocks, lumped, _spread(received, blocks), _spread(into, blocks))",
        (LUMPED, POOLED),
    ),
    Mutant(
        "chains: the defect of lumpability is the mean of two differences",
        CHAINS + "lumping",
        "return np.max(np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1))",
        "spans = np.maximum.reduceat(ordered, begins, axis=1) - np.minimum.reduceat(ordered, begins, axis=1)\n"
        "    return np.max(spans.sum(axis=0)) / 2",
        (LUMPED, POOLED),
    ),
    Mutant(
        "chains: the lumped generator is a sum over blocks in place of a mean",
        CHAINS + "lumping",
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[None]',
        'lumped = sums / (rationals("labels", sizes.astype(object) ** 0) if exact else sizes)[None]',
        (LUMPED, POOLED),
    ),
    Mutant(
        "chains: the lumped generator divides by the size of the target block",
        CHAINS + "lumping",
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[None]',
        'lumped = sums / (rationals("labels", sizes.astype(object)) if exact else sizes)[:, None]',
        (LUMPED,),
    ),
    Mutant(
        "chains: the mean of the last block divides by the length of a whole block",
        "dynsim.networks.multirate.pooling",
        "counts = np.minimum(block, n - block * np.arange(blocks))",
        "counts = np.full(blocks, block)",
        (POOLED,),
    ),
    Mutant(
        "chains: the normalisation divides by the norm of a token",
        "dynsim.networks.decoder.transformer",
        "square = jnp.mean(x**2, axis=-1, keepdims=True)",
        "square = jnp.sum(x**2, axis=-1, keepdims=True)",
        (RMS, GAIN),
    ),
    Mutant(
        "chains: the normalisation subtracts the mean of a token",
        "dynsim.networks.decoder.transformer",
        "square = jnp.mean(x**2, axis=-1, keepdims=True)",
        "square = jnp.var(x, axis=-1, keepdims=True)",
        (RMS, GAIN),
    ),
    Mutant(
        "chains: the normalisation squares its gain",
        "dynsim.networks.decoder.transformer",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None]",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None] ** 2",
        (GAIN,),
    ),
    Mutant(
        "chains: the epsilon of the normalisation is added to the root",
        "dynsim.networks.decoder.transformer",
        "return x / jnp.sqrt(square + self.epsilon) * self.gain[None]",
        "return x / (jnp.sqrt(square) + self.epsilon) * self.gain[None]",
        (RMS, GAIN),
    ),
)

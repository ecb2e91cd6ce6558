"""Errors in pooling, fixed-point methods, costs and fast-slow systems, and the claims that notice them."""

from tests.quality.mutants import Mutant

SPECIFICATION = "multirate/proposition-9"
CAUSALITY = "multirate/proposition-21"
SLOWNESS = "multirate/proposition-22"
POOL = "multirate/definition-3"
UPSAMPLE = "multirate/definition-6"
SECANT = "multirate/claim-anderson"
LEAST_SQUARES = "multirate/claim-anderson/least-squares"
REDUCTION = "multirate/claim-qss-reduction"
PERSISTENCE = "multirate/remark-25-hyperbolicity/corrected"
COST = "multirate/proposition-19/corrected"
SCORES = "multirate/proposition-19/scores"

# fmt: off
MUTANTS = (
    Mutant("multirate: the last block divided by P", "causal_pool",
           "np.minimum(block, n - block * np.arange(blocks))", "np.full(blocks, block)", (POOL,)),
    Mutant("multirate: blocks pooled to sums", "causal_pool",
           "sums / jnp.asarray(counts, x.dtype)[:, None]", "sums",
           (POOL, SPECIFICATION, SLOWNESS, "multirate/definition-6-shift/logits")),
    Mutant("multirate: blocks pooled from the end", "causal_pool",
           "(0, blocks * block - n)", "(blocks * block - n, 0)", (POOL, UPSAMPLE, SPECIFICATION, CAUSALITY)),
    Mutant("multirate: the context two blocks back", "causal_upsample",
           "jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])",
           "jnp.concatenate([jnp.zeros_like(y[:2]), y[:-2]])[: len(y)]",
           (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS)),
    Mutant("multirate: the context of a token's own block", "causal_upsample",
           "jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])", "y",
           (UPSAMPLE, SPECIFICATION, CAUSALITY, "multirate/proposition-21-full-slow/corrected", SLOWNESS)),
    Mutant("multirate: the context shifted by one token", "causal_upsample",
           "jnp.repeat(before, block, axis=0)", "jnp.roll(jnp.repeat(before, block, axis=0), -1, axis=0)",
           (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS)),
    Mutant("multirate: the first block reads its own mean", "causal_upsample",
           "jnp.zeros_like(y[:1])", "y[:1]", (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS)),
    Mutant("multirate: the leaking context of the next block", "leaking_upsample",
           "jnp.repeat(y, block, axis=0)", "jnp.repeat(jnp.roll(y, -1, axis=0), block, axis=0)",
           ("multirate/definition-6-shift",)),
    Mutant("multirate: one pass more", "FixedPointIteration.__call__",
           "length=self.passes", "length=self.passes + 1",
           (SPECIFICATION, "multirate/claim-truncated-iteration", "multirate/claim-truncated-iteration/network")),
    Mutant("multirate: Anderson's coefficient from the previous residual", "Anderson._coefficient",
           "new * change", "old * change", (SECANT, LEAST_SQUARES)),
    Mutant("multirate: Anderson's step back to the previous image with the other sign", "Anderson.__call__",
           "g - last", "last - g", (SPECIFICATION, SECANT, LEAST_SQUARES)),
    Mutant("multirate: Anderson mixes iterates in place of images", "Anderson.__call__",
           "g - last", "x - last", (SPECIFICATION, SECANT, LEAST_SQUARES)),
    Mutant("multirate: Anderson keeps the first residual", "Anderson.__call__",
           "(g - self._coefficient(new, residual) * (g - last), g, new)",
           "(g - self._coefficient(new, residual) * (g - last), g, residual)", (SPECIFICATION, LEAST_SQUARES)),
    Mutant("multirate: Anderson's spans exchanged", "Anderson._coefficient",
           '-1 if self.span == "token" else (-2, -1)', '(-2, -1) if self.span == "token" else -1',
           (SPECIFICATION, CAUSALITY, SECANT, LEAST_SQUARES)),
    Mutant("multirate: the coefficient 1 for equal residuals", "Anderson._coefficient",
           "jnp.where(changed, jnp.sum(new * change, axis=axes, keepdims=True) / jnp.where(changed, square, 1), 0)",
           "jnp.where(changed, jnp.sum(new * change, axis=axes, keepdims=True) / jnp.where(changed, square, 1), 1)",
           (LEAST_SQUARES,)),
    Mutant("multirate: f multiplied by epsilon", "FastSlowFlow.velocity",
           "f / self.epsilon.astype(f.dtype)", "f * self.epsilon.astype(f.dtype)", (REDUCTION, PERSISTENCE)),
    Mutant("multirate: g divided by epsilon, too", "FastSlowFlow.velocity",
           "g", "g / self.epsilon.astype(f.dtype)", (PERSISTENCE,)),
    Mutant("multirate: another ratio of time scales is squared", "FastSlowFlow.with_epsilon",
           "_ratio(epsilon)", "_ratio(epsilon**2)", (REDUCTION,)),
    Mutant("multirate: the tangent of the critical manifold with the other sign", "CriticalManifold.tangent",
           "-change.reshape(x.fast.shape)", "change.reshape(x.fast.shape)", (REDUCTION, PERSISTENCE)),
    Mutant("multirate: the reduced flow reads y in place of x", "ReducedFlow.velocity",
           "self.slow(x.fast, x.slow)", "self.slow(x.slow * jnp.ones_like(x.fast), x.slow)", (REDUCTION,)),
    Mutant("multirate: the critical manifold shifted by a thousandth", "residual",
           "space.tangent(on, fast(on, y)) + (x - on)", "space.tangent(on, fast(on, y)) + (x - on) + 1e-3",
           (REDUCTION, PERSISTENCE)),
    Mutant("multirate: the error of the fast variable is its distance from the critical manifold", "_errors",
           "reduced.fast", "critical.fast", (REDUCTION,)),
    Mutant("multirate: the first-order term is the drift", "first_order_correction",
           "jnp.linalg.solve(jacobian, jnp.ravel(drift))", "drift", (REDUCTION, PERSISTENCE)),
    Mutant("multirate: the first-order term with the other sign", "first_order_correction",
           "jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)",
           "-jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)", (REDUCTION, PERSISTENCE)),
    Mutant("multirate: the first-order term with the Jacobian transposed", "first_order_correction",
           "jnp.linalg.solve(jacobian, jnp.ravel(drift))", "jnp.linalg.solve(jacobian.T, jnp.ravel(drift))",
           (PERSISTENCE,)),
    Mutant("multirate: fast eigenvalues of the symmetric part", "fast_eigenvalues",
           "tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x))",
           "(lambda J: (J + J.T) / 2)(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x)))", (PERSISTENCE,)),
    Mutant("multirate: loops count once", "_counted",
           'equation.params["length"] if equation.primitive.name == "scan" else 1', "1", (COST, SCORES)),
    Mutant("multirate: multiplications only", "_counted", "2 * terms", "terms", (COST,)),
    Mutant("multirate: the paper's cost with 1/P in place of 1/P^2", "layer_equivalent_cost",
           "config.block**2", "config.block", (SCORES,)),
    Mutant("multirate: the paper's cost without the passes", "layer_equivalent_cost",
           "config.passes * config.layers_after", "config.layers_after", (SCORES,)),
    Mutant("multirate: equivalents in units of a slow layer", "layer_equivalents",
           "matmul_flops(layer, x)", "matmul_flops(layer, x[::2])", (COST,)),
    Mutant("chains: a violation of detailed balance of one percent is none", "BALANCED",
           "1e-11", "1e-2", ("multirate/theorem-28-ii",)),
    Mutant("chains: violations of detailed balance are not added up", "tree_balance",
           "np.sum", "np.max", ("multirate/theorem-28-ii",)),
    Mutant("chains: the error of the tree is that of rounding alone", "_from_tree",
           "found.accumulated + rounding", "rounding", ("multirate/theorem-28-ii",)),
)
# fmt: on

"""Errors in pooling, fixed-point methods, costs and fast-slow systems, and the claims that notice them."""

from tests.mutants import Mutant

POOLING = "dynsim.networks.multirate.pooling"
EQUILIBRIUM = "dynsim.networks.multirate.equilibrium"
CONFIG = "dynsim.networks.multirate.config"
FLOPS = "dynsim.networks.multirate.flops"
FLOW = "dynsim.systems.fast_slow.flow"
REDUCED = "dynsim.systems.fast_slow.reduced"
REDUCTIONS = "analysis.fast_slow.reductions"
FOLDS = "analysis.fast_slow.folds"

SPECIFICATION = "multirate/proposition-9"
CAUSALITY = "multirate/proposition-21"
CAUSAL_SLOW = "multirate/proposition-21-full-slow/corrected"
SLOWNESS = "multirate/proposition-22"
POOL = "multirate/definition-3"
UPSAMPLE = "multirate/definition-6"
LEAK = "multirate/definition-6-shift"
LEAKING_LOGITS = "multirate/definition-6-shift/logits"
SECANT = "multirate/claim-anderson"
LEAST_SQUARES = "multirate/claim-anderson/least-squares"
PASSES = "multirate/claim-truncated-iteration"
NETWORK_PASSES = "multirate/claim-truncated-iteration/network"
REDUCTION = "multirate/claim-qss-reduction"
PERSISTENCE = "multirate/remark-25-hyperbolicity/corrected"
COST = "multirate/proposition-19/corrected"
SCORES = "multirate/proposition-19/scores"

MUTANTS = (
    Mutant(
        "multirate: the last block divided by P",
        POOLING,
        "counts = np.minimum(block, n - block * np.arange(blocks))",
        "counts = np.full(blocks, block)",
        (POOL,),
    ),
    Mutant(
        "multirate: blocks pooled to sums",
        POOLING,
        "return sums / jnp.asarray(counts, x.dtype)[:, None]",
        "return sums",
        (POOL, SPECIFICATION, SLOWNESS, LEAKING_LOGITS),
    ),
    Mutant(
        "multirate: blocks pooled from the end",
        POOLING,
        "whole = jnp.pad(x, ((0, blocks * block - n), (0, 0)))",
        "whole = jnp.pad(x, ((blocks * block - n, 0), (0, 0)))",
        (POOL, UPSAMPLE, SPECIFICATION, CAUSALITY),
    ),
    Mutant(
        "multirate: the context two blocks back",
        POOLING,
        "before = jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])",
        "before = jnp.concatenate([jnp.zeros_like(y[:2]), y[:-2]])[: len(y)]",
        (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS),
    ),
    Mutant(
        "multirate: the context of a token's own block",
        POOLING,
        "before = jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])",
        "before = y",
        (UPSAMPLE, SPECIFICATION, CAUSALITY, CAUSAL_SLOW, SLOWNESS),
    ),
    Mutant(
        "multirate: the context shifted by one token",
        POOLING,
        "return jnp.repeat(before, block, axis=0)[:n]",
        "return jnp.roll(jnp.repeat(before, block, axis=0), -1, axis=0)[:n]",
        (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS),
    ),
    Mutant(
        "multirate: the first block reads its own mean",
        POOLING,
        "before = jnp.concatenate([jnp.zeros_like(y[:1]), y[:-1]])",
        "before = jnp.concatenate([y[:1], y[:-1]])",
        (UPSAMPLE, SPECIFICATION, CAUSALITY, SLOWNESS),
    ),
    Mutant(
        "multirate: the leaking context of the next block",
        POOLING,
        "    _check_rows(y, n, block)\n    return jnp.repeat(y, block, axis=0)[:n]",
        "    _check_rows(y, n, block)\n    return jnp.repeat(jnp.roll(y, -1, axis=0), block, axis=0)[:n]",
        (LEAK,),
    ),
    Mutant(
        "multirate: one pass more",
        EQUILIBRIUM,
        "length=self.passes)[0]",
        "length=self.passes + 1)[0]",
        (SPECIFICATION, PASSES, NETWORK_PASSES),
    ),
    Mutant(
        "multirate: Anderson's coefficient from the previous residual",
        EQUILIBRIUM,
        "jnp.sum(new * change, axis=axes, keepdims=True)",
        "jnp.sum(old * change, axis=axes, keepdims=True)",
        (SECANT, LEAST_SQUARES),
    ),
    Mutant(
        "multirate: Anderson's step back to the previous image with the other sign",
        EQUILIBRIUM,
        "self._coefficient(new, residual) * (g - last), g, new), None",
        "self._coefficient(new, residual) * (last - g), g, new), None",
        (SPECIFICATION, SECANT, LEAST_SQUARES),
    ),
    Mutant(
        "multirate: Anderson mixes iterates in place of images",
        EQUILIBRIUM,
        "return (g - self._coefficient(new, residual) * (g - last), g, new), None",
        "return (g - self._coefficient(new, residual) * (x - last), g, new), None",
        (SPECIFICATION, SECANT, LEAST_SQUARES),
    ),
    Mutant(
        "multirate: Anderson keeps the first residual",
        EQUILIBRIUM,
        "return (g - self._coefficient(new, residual) * (g - last), g, new), None",
        "return (g - self._coefficient(new, residual) * (g - last), g, residual), None",
        (SPECIFICATION, LEAST_SQUARES),
    ),
    Mutant(
        "multirate: Anderson's spans exchanged",
        EQUILIBRIUM,
        'axes = -1 if self.span == "token" else (-2, -1)',
        'axes = (-2, -1) if self.span == "token" else -1',
        (SPECIFICATION, CAUSALITY, SECANT, LEAST_SQUARES),
    ),
    Mutant(
        "multirate: the coefficient 1 for equal residuals",
        EQUILIBRIUM,
        "jnp.where(changed, square, 1), 0)",
        "jnp.where(changed, square, 1), 1)",
        (LEAST_SQUARES,),
    ),
    Mutant(
        "multirate: f multiplied by epsilon",
        FLOW,
        "return FastSlow(f / self.epsilon.astype(f.dtype), g)",
        "return FastSlow(f * self.epsilon.astype(f.dtype), g)",
        (REDUCTION, PERSISTENCE),
    ),
    Mutant(
        "multirate: g divided by epsilon, too",
        FLOW,
        "return FastSlow(f / self.epsilon.astype(f.dtype), g)",
        "return FastSlow(f / self.epsilon.astype(f.dtype), g / self.epsilon.astype(f.dtype))",
        (PERSISTENCE,),
    ),
    Mutant(
        "multirate: another ratio of time scales is squared",
        FLOW,
        "return eqx.tree_at(lambda flow: flow.epsilon, self, _ratio(epsilon))",
        "return eqx.tree_at(lambda flow: flow.epsilon, self, _ratio(epsilon**2))",
        (REDUCTION,),
    ),
    Mutant(
        "multirate: the tangent of the critical manifold with the other sign",
        REDUCED,
        "return FastSlow(-change.reshape(x.fast.shape), slow)",
        "return FastSlow(change.reshape(x.fast.shape), slow)",
        (REDUCTION, PERSISTENCE),
    ),
    Mutant(
        "multirate: the reduced flow reads y in place of x",
        REDUCED,
        "return FastSlow(jnp.zeros_like(x.fast), self.slow(x.fast, x.slow))",
        "return FastSlow(jnp.zeros_like(x.fast), self.slow(x.slow * jnp.ones_like(x.fast), x.slow))",
        (REDUCTION,),
    ),
    Mutant(
        "multirate: values of the fast field at a fold are below a fixed bound",
        FOLDS,
        "slow(s)) / unit, jacobian(z, s) @ v / unit",
        "slow(s)), jacobian(z, s) @ v",
        tests=("tests/test_slow_manifolds.py::test_a_fold_is_found_whatever_the_unit_of_the_field",),
    ),
    Mutant(
        "multirate: values of the fast field at a root are below a fixed bound",
        REDUCED,
        "residual(fast, space, x, y) / unit",
        "residual(fast, space, x, y)",
        tests=("tests/test_fast_slow.py::test_a_root_is_found_whatever_the_unit_of_the_field",),
    ),
    Mutant(
        "multirate: the critical manifold shifted by a thousandth",
        REDUCED,
        "return space.tangent(on, fast(on, y)) + (x - on)",
        "return space.tangent(on, fast(on, y)) + (x - on) + 1e-3",
        (REDUCTION, PERSISTENCE),
    ),
    Mutant(
        "multirate: the error of the fast variable is its distance from the critical manifold",
        REDUCTIONS,
        "largest(full.fast - reduced.fast)",
        "largest(full.fast - critical.fast)",
        (REDUCTION,),
    ),
    Mutant(
        "multirate: the first-order term is the drift",
        REDUCTIONS,
        "return jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)",
        "return drift.reshape(state.fast.shape)",
        (REDUCTION, PERSISTENCE),
    ),
    Mutant(
        "multirate: the first-order term with the other sign",
        REDUCTIONS,
        "return jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)",
        "return -jnp.linalg.solve(jacobian, jnp.ravel(drift)).reshape(state.fast.shape)",
        (REDUCTION, PERSISTENCE),
    ),
    Mutant(
        "multirate: the first-order term with the Jacobian transposed",
        REDUCTIONS,
        "return jnp.linalg.solve(jacobian, jnp.ravel(drift))",
        "return jnp.linalg.solve(jacobian.T, jnp.ravel(drift))",
        (PERSISTENCE,),
    ),
    Mutant(
        "multirate: fast eigenvalues of the symmetric part",
        FOLDS,
        "return eigenvalues(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x)))",
        "return eigenvalues((lambda J: (J + J.T) / 2)(tangent_jacobian(FastSubsystem(flow, slow), jnp.asarray(x))))",
        (PERSISTENCE,),
    ),
    Mutant(
        "multirate: loops count once",
        FLOPS,
        'equation.params["length"] if equation.primitive.name == "scan" else 1',
        "1",
        (COST, SCORES),
    ),
    Mutant(
        "multirate: multiplications only",
        FLOPS,
        "total += 2 * terms",
        "total += terms",
        (COST,),
    ),
    Mutant(
        "multirate: the paper's cost with 1/P in place of 1/P^2",
        CONFIG,
        "config.slow_layers / config.block**2)",
        "config.slow_layers / config.block)",
        (SCORES,),
    ),
    Mutant(
        "multirate: the paper's cost without the passes",
        CONFIG,
        "fast = config.passes * config.layers_after",
        "fast = config.layers_after",
        (SCORES,),
    ),
    Mutant(
        "multirate: equivalents in units of a slow layer",
        FLOPS,
        "return matmul_flops(model.apply_layers, x) / matmul_flops(layer, x)",
        "return matmul_flops(model.apply_layers, x) / matmul_flops(layer, x[::2])",
        (COST,),
    ),
    Mutant(
        "chains: a violation of detailed balance of one percent is none",
        "analysis.chains.reversibility",
        "BALANCED = 1e-11",
        "BALANCED = 1e-2",
        ("multirate/theorem-28-ii",),
    ),
    Mutant(
        "chains: violations of detailed balance are not added up",
        "analysis.chains.reversibility",
        "float(np.sum(at_state))",
        "float(np.max(at_state))",
        ("multirate/theorem-28-ii",),
    ),
    Mutant(
        "chains: the error of the tree is that of rounding alone",
        "analysis.chains.stationary",
        "np.expm1(found.accumulated + rounding)",
        "np.expm1(rounding)",
        ("multirate/theorem-28-ii",),
    ),
)

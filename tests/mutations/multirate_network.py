"""Errors in the multirate network, its fixed-point methods and fast-slow systems, and the claims that notice them."""

from tests.mutants import Mutant

LAYERS = "dynsim.networks.multirate.layers"
NETWORK = "dynsim.networks.multirate.network"
POOLING = "dynsim.networks.multirate.pooling"
EQUILIBRIUM = "dynsim.networks.multirate.equilibrium"
CONFIG = "dynsim.networks.multirate.config"
FLOPS = "dynsim.networks.multirate.flops"
TRAINING = "dynsim.networks.multirate.training"
DECODER = "dynsim.networks.decoder.transformer"
LEAKS = "analysis.networks.leaks"
MASKS = "dynsim.systems.tokens.masks"

SPECIFICATION = "multirate/proposition-9"
SPLITTING = "multirate/claim-euler-step/corrected"
CAUSALITY = "multirate/proposition-21"
CAUSAL_SLOW = "multirate/proposition-21-full-slow/corrected"
SLOWNESS = "multirate/proposition-22"
CLOSED = "multirate/proposition-23"
FIRST_STEP = "multirate/proposition-23/first-step"
POOL = "multirate/definition-3"
UPSAMPLE = "multirate/definition-6"
LEAK = "multirate/definition-6-shift"
LEAKING_LOGITS = "multirate/definition-6-shift/logits"
SECANT = "multirate/claim-anderson"
LEAST_SQUARES = "multirate/claim-anderson/least-squares"
PASSES = "multirate/claim-truncated-iteration"
NETWORK_PASSES = "multirate/claim-truncated-iteration/network"
RESIDUAL = "multirate/claim-residual-distance/corrected"

MUTANTS = (
    Mutant(
        "multirate: the causal mask shows the next token",
        MASKS,
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))',
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool), 1)',
        (SPECIFICATION, CAUSALITY, CAUSAL_SLOW),
    ),
    Mutant(
        "multirate: a token does not see itself",
        MASKS,
        '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))',
        '"""Return a lower triangular matrix of ones."""\n'
        "        return jnp.tril(jnp.ones((n, n), bool), -1).at[0].set(True)",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: softmax over the tokens that attend",
        LAYERS,
        "self.mask.hide(scores.reshape(-1, n, n)), axis=-1)",
        "self.mask.hide(scores.reshape(-1, n, n)), axis=-2)",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: scores are not divided by the root of the head size",
        LAYERS,
        "self._grouped(q / math.sqrt(q.shape[-1]))",
        "self._grouped(q)",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: keys and queries exchanged in the scores",
        LAYERS,
        '"ksim,kjm->ksij"',
        '"ksjm,kim->ksij"',
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: query heads interleaved over key heads",
        LAYERS,
        "return x.reshape(self.key.shape[0], -1, *x.shape[1:])",
        "return x.reshape(-1, self.key.shape[0], *x.shape[1:]).swapaxes(0, 1)",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: keys without normalisation",
        LAYERS,
        "rotated(jax.vmap(norm)(projected(W, b, x)), self.rotary_base)",
        "rotated(projected(W, b, x), self.rotary_base)",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: the attention output without its bias",
        LAYERS,
        "return out + self.output_bias[None]",
        "return out",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: the feed-forward part reads the tokens before attention",
        LAYERS,
        "return x + self.feedforward(self.feedforward_norm(x))",
        "return x + self.feedforward(self.feedforward_norm(x - self.attention(self.attention_norm(x))))",
        (SPECIFICATION, SPLITTING, RESIDUAL),
    ),
    Mutant(
        "multirate: the linear projector transposed",
        LAYERS,
        "return c @ self.matrix.T",
        "return c @ self.matrix",
        (SPECIFICATION, SPLITTING, LEAKING_LOGITS),
    ),
    Mutant(
        "multirate: the learned projector with the approximate GELU",
        LAYERS,
        "jax.nn.gelu(c @ self.inner.T, approximate=False)",
        "jax.nn.gelu(c @ self.inner.T, approximate=True)",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: GELU approximate where it should be exact",
        DECODER,
        "approximate=not self.exact",
        "approximate=self.exact",
        (SPECIFICATION, RESIDUAL),
    ),
    Mutant(
        "multirate: RMSNorm over tokens",
        DECODER,
        "square = jnp.mean(x**2, axis=-1, keepdims=True)",
        "square = jnp.mean(x**2, axis=0, keepdims=True)",
        (SPECIFICATION, CAUSALITY),
    ),
    Mutant(
        "multirate: rotation in the other direction",
        DECODER,
        "return jnp.stack([a * c - b * s, a * s + b * c], axis=-1)",
        "return jnp.stack([a * c + b * s, a * s + b * c], axis=-1)",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the gate before the norm",
        NETWORK,
        "return gate * self.projector(self.injection_norm(c))",
        "return self.projector(self.injection_norm(gate * c))",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: the gate squared",
        NETWORK,
        "return gate * self.projector(self.injection_norm(c))",
        "return gate**2 * self.projector(self.injection_norm(c))",
        (SPECIFICATION, SPLITTING, FIRST_STEP),
    ),
    Mutant(
        "multirate: the context injected without its norm",
        NETWORK,
        "return gate * self.projector(self.injection_norm(c))",
        "return gate * self.projector(c)",
        (SPECIFICATION, SPLITTING),
    ),
    Mutant(
        "multirate: the injection after Post",
        NETWORK,
        "return _through(self.after, x + forcing)",
        "return _through(self.after, x) + forcing",
        (SPECIFICATION, SPLITTING, NETWORK_PASSES),
    ),
    Mutant(
        "multirate: the slow layers before the pooling",
        NETWORK,
        "return _through(self.slow, causal_pool(x, block=self.block))",
        "return causal_pool(_through(self.slow, x), block=self.block)",
        (SPECIFICATION, SLOWNESS),
    ),
    Mutant(
        "multirate: only the last slow layer acts",
        NETWORK,
        "return _through(self.slow, causal_pool(x, block=self.block))",
        "return _through(self.slow[-1:], causal_pool(x, block=self.block))",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: the last round is dropped",
        NETWORK,
        "        x = _through(self.before, x)\n        for k in range(self.num_rounds):",
        "        x = _through(self.before, x)\n        for k in range(max(1, self.num_rounds - 1)):",
        (SPECIFICATION, FIRST_STEP),
    ),
    Mutant(
        "multirate: every round has the first one's weights",
        NETWORK,
        "            x = self.rounds[k % len(self.rounds)](x)",
        "            x = self.rounds[0](x)",
        (SPECIFICATION, FIRST_STEP),
    ),
    Mutant(
        "multirate: the residual of the last round only",
        NETWORK,
        "mean = jnp.mean(jnp.stack(residuals))",
        "mean = jnp.mean(residuals[-1])",
        (RESIDUAL,),
    ),
    Mutant(
        "multirate: the residual before the pass",
        NETWORK,
        "        x = self.method(lambda z: self.fast_map(z, forcing), x)\n        return x, ",
        "        return self.method(lambda z: self.fast_map(z, forcing), x), ",
        (RESIDUAL,),
    ),
    Mutant(
        "multirate: the logits without the last norm",
        NETWORK,
        "return self.final_norm(x) @ U.T",
        "return x @ U.T",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: an unembedding that is not used",
        NETWORK,
        "U = self.token_embedding if self.unembedding is None else self.unembedding",
        "U = self.token_embedding",
        (SPECIFICATION,),
    ),
    Mutant(
        "multirate: frozen gates keep their values",
        NETWORK,
        "uncoupled = with_gates(model, 0.0)",
        "uncoupled = model",
        (CLOSED,),
    ),
    Mutant(
        "multirate: frozen gates have a gradient",
        NETWORK,
        "gate = jnp.where(self.gate_frozen, jax.lax.stop_gradient(self.gate), self.gate)",
        "gate = self.gate",
        (FIRST_STEP,),
    ),
    Mutant(
        "multirate: gates that are open before training",
        NETWORK,
        "        jnp.zeros((), dtype),\n        jnp.array(False),",
        "        jnp.full((), 0.01, dtype),\n        jnp.array(False),",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the last block divided by P",
        POOLING,
        "counts = np.minimum(block, n - block * np.arange(blocks))",
        "counts = np.full(blocks, block)",
        (POOL, SPECIFICATION),
        quick=True,
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
        quick=True,
    ),
    Mutant(
        "multirate: the leaking context of the next block",
        POOLING,
        "    _check_rows(y, n, block)\n    return jnp.repeat(y, block, axis=0)[:n]",
        "    _check_rows(y, n, block)\n    return jnp.repeat(jnp.roll(y, -1, axis=0), block, axis=0)[:n]",
        (LEAK, LEAKING_LOGITS),
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
        (SPECIFICATION, SECANT, LEAST_SQUARES),
        quick=True,
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
        "multirate: the loss of the symbol itself",
        TRAINING,
        "return _cross_entropy(jax.vmap(model)(batch[:, :-1]), batch[:, 1:])",
        "return _cross_entropy(jax.vmap(model)(batch[:, :-1]), batch[:, :-1])",
        (FIRST_STEP,),
    ),
    Mutant(
        "multirate: the leak matrix transposed",
        LEAKS,
        "return jax.lax.map(column, jnp.arange(n)).T",
        "return jax.lax.map(column, jnp.arange(n))",
        (CAUSALITY,),
    ),
    Mutant(
        "multirate: leaks to the next position are not counted",
        LEAKS,
        "return jnp.max(jnp.triu(matrix, 1))",
        "return jnp.max(jnp.triu(matrix, 2))",
        (CAUSALITY,),
    ),
    Mutant(
        "multirate: leaks summed over the coordinates of a symbol",
        LEAKS,
        "axis=(0, 2))",
        "axis=2).sum(0)",
        (CAUSALITY,),
    ),
    Mutant(
        "multirate: affected positions compare a sequence with itself",
        LEAKS,
        "for part in (given, changed))",
        "for part in (given, given))",
        (CAUSALITY,),
    ),
)

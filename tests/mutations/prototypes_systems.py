"""Errors in the losses, gradients and flows of prototypes, and the claims of `prototypes` that notice them."""

from tests.mutants import Mutant

SYSTEMS = "dynsim.systems.prototypes."
ASSIGNMENTS, LOSSES, FLOW = SYSTEMS + "assignments", SYSTEMS + "losses", SYSTEMS + "flow"
HIERARCHY, ENCODERS, DESCENT = SYSTEMS + "hierarchy", SYSTEMS + "encoders", SYSTEMS + "descent"
IDENTITY = "prototypes/equation-3/corrected"
COVARIANCE = "prototypes/equation-3-gradient"
PULL = "prototypes/remark-3-gradient/corrected"
ENCODER = "prototypes/proposition-2/corrected"
SADDLE = "prototypes/claim-collapse-saddle/corrected"
KEPT_APART = "prototypes/claim-anti-collapse/corrected"
LEVELS = "prototypes/proposition-5-decomposition/corrected"
UNUSED = "prototypes/proposition-4-utilisation/corrected"
FALLS = "prototypes/theorem-2-decrease"
COERCIVE = "prototypes/theorem-2-coercive/corrected"
CONVERGES = "prototypes/theorem-2-convergence/corrected"
WARMER = "prototypes/theorem-3-derivative"
COOLING = "prototypes/theorem-3-monotone/frozen-corrected"
RESCALED = "prototypes/claim-rescaling/corrected"
STEPS = "prototypes/appendix-a-iv/corrected"

MUTANTS = (
    Mutant(
        "prototypes: distances in place of squared distances",
        ASSIGNMENTS,
        "return jnp.sum((z[:, None] - p[None]) ** 2, axis=-1)",
        "return jnp.sqrt(jnp.sum((z[:, None] - p[None]) ** 2, axis=-1))",
        (IDENTITY,),
    ),
    Mutant(
        "prototypes: the loss weighs distances with the wrong sign",
        ASSIGNMENTS,
        "return jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d)",
        "return jnp.sum(jax.nn.softmax(d / temperature, axis=-1) * d)",
        (IDENTITY,),
    ),
    Mutant(
        "prototypes: the loss is a mean over embeddings",
        ASSIGNMENTS,
        "return jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d)",
        "return jnp.mean(jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d, axis=-1))",
        (IDENTITY, FALLS),
    ),
    Mutant(
        "prototypes: V is the reconstruction error R",
        ASSIGNMENTS,
        "return jnp.sum(q * squared_distances(soft_centroids(q, p), p))",
        "return jnp.sum((z - soft_centroids(q, p)) ** 2)",
        (IDENTITY,),
    ),
    Mutant(
        "prototypes: the reconstruction error is the hard loss",
        ASSIGNMENTS,
        "    mu = soft_centroids(assignments(z, p, temperature), p)\n",
        "    mu = p[jnp.argmin(squared_distances(z, p), axis=-1)]\n",
        (IDENTITY,),
    ),
    Mutant(
        "prototypes: the covariance of the assignments is that of their sum",
        ASSIGNMENTS,
        "return jnp.diag(jnp.sum(q, axis=0)) - q.T @ q",
        "return jnp.diag(jnp.sum(q, axis=0)) - jnp.outer(jnp.sum(q, axis=0), jnp.mean(q, axis=0))",
        (COVARIANCE,),
    ),
    Mutant(
        "prototypes: prototypes with less than a tenth of a mean assignment count as unused",
        ASSIGNMENTS,
        "return jnp.mean((jnp.mean(q, axis=0) > threshold)",
        "return jnp.mean((jnp.mean(q, axis=0) > 10 * threshold)",
        (UNUSED,),
    ),
    Mutant(
        "prototypes: the variance of distances is not centred",
        ASSIGNMENTS,
        "return jnp.sum(q * (d - mean) ** 2, axis=axis)",
        "return jnp.sum(q * d**2, axis=axis)",
        (WARMER,),
    ),
    Mutant(
        "prototypes: the barrier counts every pair twice",
        ASSIGNMENTS,
        "jnp.where(same, 1.0, squared_distances(p, p)))) / 2",
        "jnp.where(same, 1.0, squared_distances(p, p))))",
        (FALLS, COERCIVE),
    ),
    Mutant(
        "prototypes: the force of the barrier counts every pair once",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength[:, :, None]",
        "return -jnp.sum(strength[:, :, None]",
        (FALLS,),
    ),
    Mutant(
        "prototypes: the barrier attracts",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength[:, :, None]",
        "return 2 * jnp.sum(strength[:, :, None]",
        (FALLS, KEPT_APART),
    ),
    Mutant(
        "prototypes: the modes of the gradient are confused",
        LOSSES,
        'if self.gradient == "frozen":',
        'if self.gradient == "full":',
        (PULL, ENCODER, FALLS),
    ),
    Mutant(
        "prototypes: the mode `full` stops the gradient",
        LOSSES,
        'if self.gradient == "frozen":',
        "if self.gradient:",
        (PULL, FALLS, SADDLE),
    ),
    Mutant(
        "prototypes: the mode `frozen` goes through the assignments",
        LOSSES,
        'if self.gradient == "frozen":',
        "if not self.gradient:",
        (PULL, ENCODER, SADDLE),
    ),
    Mutant(
        "prototypes: the weights of the mode `full` forget the temperature",
        LOSSES,
        "return q * (1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T)",
        "return q * (1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)))",
        (PULL, FALLS, SADDLE),
    ),
    Mutant(
        "prototypes: the gradient's assignments prefer distant prototypes",
        LOSSES,
        "q = jax.nn.softmax(-d / T, axis=-1)",
        "q = jax.nn.softmax(d / T, axis=-1)",
        (PULL, ENCODER, FALLS),
    ),
    Mutant(
        "prototypes: the potentials of the modes are exchanged",
        LOSSES,
        'energy = competitive_loss if self.gradient == "full" else free_energy',
        'energy = free_energy if self.gradient == "full" else competitive_loss',
        (COOLING,),
    ),
    Mutant(
        "prototypes: gradients are sums where means are asked for",
        LOSSES,
        'return value if self.reduction == "sum" else value / z.shape[0]',
        "return value",
        (SADDLE,),
    ),
    Mutant(
        "prototypes: gradients are means where sums are asked for",
        LOSSES,
        'return value if self.reduction == "sum" else value / z.shape[0]',
        "return value / z.shape[0]",
        (PULL, ENCODER),
    ),
    Mutant(
        "prototypes: the ridge has no factor one half",
        LOSSES,
        "return repulsion + ridge / 2 * jnp.sum(p**2)",
        "return repulsion + ridge * jnp.sum(p**2)",
        (COERCIVE,),
    ),
    Mutant(
        "prototypes: the force of the ridge points outwards",
        LOSSES,
        "return repulsion + ridge * p",
        "return repulsion - ridge * p",
        (CONVERGES,),
    ),
    Mutant(
        "prototypes: the rates of the coupled flow are exchanged",
        FLOW,
        "        slow = lambda g: -self.encoder_rate.astype(g.dtype) * g\n"
        "        return Coupled(jax.tree.map(slow, by_encoder), "
        "-self.prototype_rate.astype(by_prototypes.dtype) * by_prototypes)",
        "        slow = lambda g: -self.prototype_rate.astype(g.dtype) * g\n"
        "        return Coupled(jax.tree.map(slow, by_encoder), "
        "-self.encoder_rate.astype(by_prototypes.dtype) * by_prototypes)",
        (FALLS,),
    ),
    Mutant(
        "prototypes: the coupled flow ascends in the encoder",
        FLOW,
        "slow = lambda g: -self.encoder_rate.astype(g.dtype) * g",
        "slow = lambda g: self.encoder_rate.astype(g.dtype) * g",
        (FALLS,),
    ),
    Mutant(
        "prototypes: the ratio of the rates is inverted",
        FLOW,
        "return self.encoder_rate / self.prototype_rate",
        "return self.prototype_rate / self.encoder_rate",
        (RESCALED,),
    ),
    Mutant(
        "prototypes: the affine encoder forgets its bias",
        ENCODERS,
        "return x @ parameters.weight.T + parameters.bias[None]",
        "return x @ parameters.weight.T",
        (ENCODER,),
    ),
    Mutant(
        "prototypes: the perceptron is linear",
        ENCODERS,
        "second.embed(parameters.output, jnp.tanh(first.embed(parameters.hidden, x)))",
        "second.embed(parameters.output, first.embed(parameters.hidden, x))",
        ("prototypes/proposition-1/corrected",),
    ),
    Mutant(
        "prototypes: the entropy is a sum over embeddings",
        ASSIGNMENTS,
        "jnp.where(positive, q, 1.0)), 0.0)) / q.shape[0]",
        "jnp.where(positive, q, 1.0)), 0.0))",
        (COOLING,),
    ),
    Mutant(
        "prototypes: the free energy has the wrong sign",
        ASSIGNMENTS,
        "return -temperature * jnp.sum(jax.nn.logsumexp(",
        "return temperature * jnp.sum(jax.nn.logsumexp(",
        (COOLING,),
    ),
    Mutant(
        "prototypes: a step of descent moves the encoder at the rate of the prototypes",
        DESCENT,
        "slow = lambda a, g: a - self.flow.encoder_rate.astype(a.dtype) * g",
        "slow = lambda a, g: a - self.flow.prototype_rate.astype(a.dtype) * g",
        (STEPS,),
    ),
    Mutant(
        "prototypes: a step of descent clips the gradient that need not be",
        DESCENT,
        "factor = jnp.where(norm > self.clip_norm,",
        "factor = jnp.where(norm < self.clip_norm,",
        (STEPS,),
    ),
    Mutant(
        "levels: frozen assignments of level 1 move with level 2",
        "dynsim.systems.prototypes.hierarchy",
        'if self.loss.gradient == "frozen":',
        "if False:",
        ("prototypes/proposition-5-decomposition/corrected",),
    ),
    Mutant(
        "levels: the loss of level 2 does not reach the encoder",
        "dynsim.systems.prototypes.hierarchy",
        "by_z, by_first = by_z + more_z, by_first + more_first",
        "by_first = by_first + more_first",
        ("prototypes/proposition-5-decomposition/corrected",),
    ),
    Mutant(
        "levels: the encoder has the rate of the prototypes",
        "dynsim.systems.prototypes.hierarchy",
        "slow = jax.tree.map(lambda g: -self.encoder_rate.astype(g.dtype) * g, found.encoder)",
        "slow = jax.tree.map(lambda g: -self.prototype_rate.astype(g.dtype) * g, found.encoder)",
        ("prototypes/proposition-5-decomposition/corrected",),
    ),
)

"""Errors in the losses, gradients and flows of prototypes, and the claims of `prototypes` that notice them."""

from tests.quality.mutants import Mutant

IDENTITY = "prototypes/equation-3/corrected"
PULL = "prototypes/remark-3-gradient/corrected"
ENCODER = "prototypes/proposition-2/corrected"
SADDLE = "prototypes/claim-collapse-saddle/corrected"
LEVELS = "prototypes/proposition-5-decomposition/corrected"
FALLS = "prototypes/theorem-2-decrease"
COERCIVE = "prototypes/theorem-2-coercive/corrected"
COOLING = "prototypes/theorem-3-monotone/frozen-corrected"
STEPS = "prototypes/appendix-a-iv/corrected"

# fmt: off
MUTANTS = (
    Mutant("prototypes: distances in place of squared distances", "squared_distances",
           "jnp.sum((z[:, None] - p[None]) ** 2, axis=-1)", "jnp.sqrt(jnp.sum((z[:, None] - p[None]) ** 2, axis=-1))",
           (IDENTITY,)),
    Mutant("prototypes: the loss weighs distances with the wrong sign", "competitive_loss", "-d", "d", (IDENTITY,)),
    Mutant("prototypes: the loss is a mean over embeddings", "competitive_loss",
           "jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d)",
           "jnp.mean(jnp.sum(jax.nn.softmax(-d / temperature, axis=-1) * d, axis=-1))", (IDENTITY, FALLS)),
    Mutant("prototypes: V is the reconstruction error R", "prototype_variance",
           "q * squared_distances(soft_centroids(q, p), p)", "(z - soft_centroids(q, p)) ** 2", (IDENTITY,)),
    Mutant("prototypes: the reconstruction error is the hard loss", "reconstruction_error",
           "soft_centroids(assignments(z, p, temperature), p)", "p[jnp.argmin(squared_distances(z, p), axis=-1)]",
           (IDENTITY,)),
    Mutant("prototypes: the covariance of the assignments is that of their sum", "assignment_covariance",
           "q.T @ q", "jnp.outer(jnp.sum(q, axis=0), jnp.mean(q, axis=0))", ("prototypes/equation-3-gradient",)),
    Mutant("prototypes: prototypes with less than a tenth of a mean assignment count as unused", "utilisation",
           "jnp.mean(q, axis=0) > threshold", "jnp.mean(q, axis=0) > 10 * threshold",
           ("prototypes/proposition-4-utilisation/corrected",)),
    Mutant("prototypes: the variance of distances is not centred", "variances_of",
           "d - mean", "d", ("prototypes/theorem-3-derivative",)),
    Mutant("prototypes: the barrier counts every pair twice", "inverse_square_barrier",
           "jnp.sum(jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p)))) / 2",
           "jnp.sum(jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p))))", (FALLS, COERCIVE)),
    Mutant("prototypes: the force of the barrier counts every pair once", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "-jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)", (FALLS,)),
    Mutant("prototypes: the barrier attracts", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           (FALLS, "prototypes/claim-anti-collapse/corrected")),
    Mutant("prototypes: the modes of the gradient are confused", "PrototypeLoss.weights_of",
           '"frozen"', '"full"', (PULL, ENCODER, FALLS)),
    Mutant("prototypes: the mode `full` stops the gradient", "PrototypeLoss.weights_of",
           'self.gradient == "frozen"', "self.gradient", (PULL, FALLS, SADDLE)),
    Mutant("prototypes: the mode `frozen` goes through the assignments", "PrototypeLoss.weights_of",
           'self.gradient == "frozen"', "not self.gradient", (PULL, ENCODER, SADDLE)),
    Mutant("prototypes: the weights of the mode `full` forget the temperature", "PrototypeLoss.weights_of",
           "(d - jnp.sum(q * d, axis=axis, keepdims=True)) / T", "d - jnp.sum(q * d, axis=axis, keepdims=True)",
           (PULL, FALLS, SADDLE)),
    Mutant("prototypes: the gradient's assignments prefer distant prototypes", "PrototypeLoss.weights",
           "-d", "d", (PULL, ENCODER, FALLS)),
    Mutant("prototypes: the potentials of the modes are exchanged", "PrototypeLoss.potential",
           'competitive_loss if self.gradient == "full" else free_energy',
           'free_energy if self.gradient == "full" else competitive_loss', (COOLING,)),
    Mutant("prototypes: gradients are sums where means are asked for", "PrototypeLoss._mean",
           'value if self.reduction == "sum" else value / z.shape[0]', "value", (SADDLE,)),
    Mutant("prototypes: gradients are means where sums are asked for", "PrototypeLoss._mean",
           'value if self.reduction == "sum" else value / z.shape[0]', "value / z.shape[0]", (PULL, ENCODER)),
    Mutant("prototypes: the ridge has no factor one half", "PrototypeLoss.penalty", "ridge / 2", "ridge", (COERCIVE,)),
    Mutant("prototypes: the force of the ridge points outwards", "PrototypeLoss.penalty_gradient",
           "repulsion + ridge * p", "repulsion - ridge * p", ("prototypes/theorem-2-convergence/corrected",)),
    Mutant("prototypes: the rates of the coupled flow are exchanged", "CoupledFlow.velocity",
           "slow = lambda g: -self.encoder_rate.astype(g.dtype) * g\n"
           "return Coupled(jax.tree.map(slow, by_encoder), -self.prototype_rate.astype(by_prototypes.dtype) * "
           "by_prototypes)", "slow = lambda g: -self.prototype_rate.astype(g.dtype) * g\n"
           "return Coupled(jax.tree.map(slow, by_encoder), -self.encoder_rate.astype(by_prototypes.dtype) * "
           "by_prototypes)", (FALLS,)),
    Mutant("prototypes: the coupled flow ascends in the encoder", "CoupledFlow.velocity",
           "-self.encoder_rate.astype(g.dtype)", "self.encoder_rate.astype(g.dtype)", (FALLS,)),
    Mutant("prototypes: the ratio of the rates is inverted", "CoupledFlow.ratio",
           "self.encoder_rate / self.prototype_rate", "self.prototype_rate / self.encoder_rate",
           ("prototypes/claim-rescaling/corrected",)),
    Mutant("prototypes: the affine encoder forgets its bias", "AffineEncoder.embed",
           "x @ parameters.weight.T + parameters.bias[None]", "x @ parameters.weight.T", (ENCODER,)),
    Mutant("prototypes: the perceptron is linear", "MLPEncoder.embed",
           "jnp.tanh(first.embed(parameters.hidden, x))", "first.embed(parameters.hidden, x)",
           ("prototypes/proposition-1/corrected",)),
    Mutant("prototypes: the entropy is a sum over embeddings", "entropy",
           "-jnp.sum(jnp.where(positive, q * jnp.log(jnp.where(positive, q, 1.0)), 0.0)) / q.shape[0]",
           "-jnp.sum(jnp.where(positive, q * jnp.log(jnp.where(positive, q, 1.0)), 0.0))", (COOLING,)),
    Mutant("prototypes: the free energy has the wrong sign", "free_energy", "-temperature", "temperature", (COOLING,)),
    Mutant("prototypes: a step of descent moves the encoder at the rate of the prototypes", "DescentMap.step",
           "self.flow.encoder_rate", "self.flow.prototype_rate", (STEPS,)),
    Mutant("prototypes: a step of descent clips the gradient that need not be", "DescentMap._clipped",
           "norm > self.clip_norm", "norm < self.clip_norm", (STEPS,)),
    Mutant("levels: frozen assignments of level 1 move with level 2", "TwoLevelFlow._inputs",
           'self.loss.gradient == "frozen"', "False", (LEVELS,)),
    Mutant("levels: the loss of level 2 does not reach the encoder", "TwoLevelFlow.gradient",
           "by_z, by_first = by_z + more_z, by_first + more_first", "by_first = by_first + more_first", (LEVELS,)),
    Mutant("levels: the encoder has the rate of the prototypes", "TwoLevelFlow.velocity",
           "self.encoder_rate", "self.prototype_rate", (LEVELS,)),
)
# fmt: on

"""Errors in assignments, losses, levels and the read-out layer of prototypes, and the claims that notice them."""

from tests.quality.mutants import Mutant

IDENTITY = "prototypes/equation-3/corrected"
VARIANCE = "prototypes/equation-3-v-nonnegative"
COVARIANCE = "prototypes/equation-3-gradient"
MEAN = "prototypes/algorithm-1-line-12/corrected"
ASSERTION = "prototypes/algorithm-1-assertion"
GRADIENT = "prototypes/remark-3-gradient/corrected"
ENCODER = "prototypes/proposition-2/corrected"
USED = "prototypes/proposition-4-utilisation/corrected"
CENTROID = "prototypes/proposition-4-centroid/corrected"
SADDLE = "prototypes/claim-collapse-saddle/corrected"
FALLS = "prototypes/theorem-2-decrease"
READOUT = "prototypes/remark-1"
HEADS = "prototypes/claim-multihead/corrected"
TWO_LEVELS = "prototypes/proposition-5-decomposition/corrected"

# fmt: off
MUTANTS = (
    Mutant("losses: the softmax has the wrong sign", "assignments",
           "-squared_distances(z, p)", "squared_distances(z, p)", (IDENTITY, VARIANCE, COVARIANCE), quick=True),
    Mutant("losses: the softmax multiplies by the temperature", "assignments",
           "-squared_distances(z, p) / temperature", "-squared_distances(z, p) * temperature",
           (IDENTITY, MEAN, COVARIANCE)),
    Mutant("losses: assignments are normalised over embeddings", "assignments",
           "axis=-1", "axis=0", (IDENTITY, COVARIANCE)),
    Mutant("losses: distances are not squared", "squared_distances",
           "(z[:, None] - p[None]) ** 2", "jnp.abs(z[:, None] - p[None])", (IDENTITY, ASSERTION)),
    Mutant("losses: the hard loss takes the farthest prototype", "hard_loss",
           "jnp.min", "jnp.max", (ASSERTION, IDENTITY)),
    Mutant("losses: the variance is about the embeddings", "prototype_variance",
           "soft_centroids(q, p)", "z", (IDENTITY, VARIANCE)),
    Mutant("losses: V in place of R", "reconstruction_error",
           "jnp.sum((z - mu) ** 2)", "prototype_variance(z, p, temperature)", (IDENTITY,)),
    Mutant("losses: the covariance is not summed over embeddings", "assignment_covariance",
           "jnp.sum", "jnp.mean", (COVARIANCE, "prototypes/proposition-5-independence/corrected")),
    Mutant("losses: the entropy is in bits", "entropy", "jnp.log", "jnp.log2", (IDENTITY,)),
    Mutant("losses: the entropy has the wrong sign", "entropy",
           "-jnp.sum(jnp.where(positive, q * jnp.log(jnp.where(positive, q, 1.0)), 0.0))",
           "jnp.sum(jnp.where(positive, q * jnp.log(jnp.where(positive, q, 1.0)), 0.0))",
           ("prototypes/claim-entropy-decreases/near-collapse",)),
    Mutant("losses: the separation is that of the farthest pair", "separation",
           "jnp.min(distances)", "jnp.max(jnp.where(jnp.isfinite(distances), distances, 0.0))", (IDENTITY,)),
    Mutant("losses: utilisation counts the largest assignment", "utilisation",
           "jnp.mean(q, axis=0) > threshold", "jnp.mean(q, axis=0) > 10 * threshold", (USED,)),
    Mutant("losses: the barrier counts ordered pairs twice", "inverse_square_barrier",
           "jnp.sum(jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p)))) / 2",
           "jnp.sum(jnp.where(same, 0.0, 1 / jnp.where(same, 1.0, squared_distances(p, p))))", (CENTROID,)),
    Mutant("losses: the gradient of the barrier is half of it", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "-1 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)", (CENTROID,)),
    Mutant("losses: the barrier attracts", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           ("prototypes/claim-anti-collapse/corrected", CENTROID)),
    Mutant("losses: the modes are confused in the weights", "PrototypeLoss.weights_of",
           '"frozen"', '"full"', (GRADIENT, ENCODER, SADDLE)),
    Mutant("losses: the weights of the mode full have the wrong sign", "PrototypeLoss.weights_of",
           "1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T",
           "1 + (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T", (GRADIENT, SADDLE, FALLS)),
    Mutant("losses: the sum is the mean and the mean the sum", "PrototypeLoss._mean",
           'value if self.reduction == "sum" else value / z.shape[0]',
           'value / z.shape[0] if self.reduction == "sum" else value', (MEAN, ENCODER)),
    Mutant("losses: the gradient by embeddings lacks its factor", "PrototypeLoss.gradients",
           "2 * (z - w @ p)", "z - w @ p", (ENCODER, FALLS)),
    Mutant("losses: the gradient by prototypes forgets the embeddings", "PrototypeLoss.gradients",
           "w.T @ z", "w.T @ (w @ p)", (GRADIENT,)),
    Mutant("levels: detaching is forgotten", "TwoLevelFlow.gradient",
           "not self.detached", "True", ("prototypes/claim-no-interference/corrected",)),
    Mutant("levels: level 2 reads the embeddings", "TwoLevelFlow._inputs", "soft_centroids(q, p)", "z", (TWO_LEVELS,)),
    Mutant("levels: level 2 reads sums over groups", "TwoLevelFlow._inputs",
           "sums / sizes[:, None]", "sums", (TWO_LEVELS,)),
    Mutant("readout: the residual is forgotten", "PrototypeReadout.__call__", "z + added", "added", (READOUT,)),
    Mutant("readout: W_O is transposed", "PrototypeReadout.__call__", "self.output.T", "self.output", (HEADS,)),
    Mutant("readout: W_O is transposed where it is applied to prototypes", "PrototypeReadout.__call__",
           "self.output.reshape", "self.output.T.reshape", (READOUT,)),
    Mutant("readout: W_O is applied in the dearer order", "PrototypeReadout.__call__",
           "heads * n * k * m + k * m * m < n * k * m + n * m * m",
           "heads * n * k * m + k * m * m > n * k * m + n * m * m", ("prototypes/claim-complexity/corrected",)),
    Mutant("readout: the variance of heads is about their embeddings", "_losses",
           "pairwise_distances(mu, p)", "d", (HEADS,)),
    Mutant("collapse: the factors of the modes are exchanged", "FACTORS",
           '{"frozen": 2.0, "full": 4.0}', '{"frozen": 4.0, "full": 2.0}', (SADDLE,)),
    Mutant("prototypes: with a mean the force of the penalties is divided, too", "PrototypeLoss.gradients",
           "self._mean(by_prototypes, z) + self.penalty_gradient(p)",
           "self._mean(by_prototypes + self.penalty_gradient(p), z)", (MEAN,)),
    Mutant("prototypes: with a mean the penalties are divided, too", "PrototypeLoss.value",
           "self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)",
           "self._mean(competitive_loss(z, p, temperature.astype(z.dtype)) + self.penalty(p), z)", (MEAN,)),
    Mutant("losses: the value is a sum whatever the reduction", "PrototypeLoss.value",
           "self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z)",
           "competitive_loss(z, p, temperature.astype(z.dtype))", (MEAN,)),
    Mutant("prototypes: a mean assignment at the threshold counts as used", "utilisation",
           "jnp.mean(q, axis=0) > threshold", "jnp.mean(q, axis=0) >= threshold", (USED,)),
)
# fmt: on

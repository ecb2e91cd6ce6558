"""Errors in assignments, losses, levels and the read-out layer of prototypes, and the claims that notice them."""

from tests.mutants import Mutant

ASSIGNMENTS = "dynsim.systems.prototypes.assignments"
LOSSES = "dynsim.systems.prototypes.losses"
LEVELS = "dynsim.systems.prototypes.hierarchy"
LAYER = "dynsim.networks.prototypes.layer"
COLLAPSE = "analysis.prototypes.collapse"
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
BARRIER = "prototypes/claim-anti-collapse/corrected"
READOUT = "prototypes/remark-1"
HEADS = "prototypes/claim-multihead/corrected"
COST = "prototypes/claim-complexity/corrected"
TWO_LEVELS = "prototypes/proposition-5-decomposition/corrected"
DETACHED = "prototypes/claim-no-interference/corrected"

MUTANTS = (
    Mutant(
        "losses: the softmax has the wrong sign",
        ASSIGNMENTS,
        "return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=-1)",
        "return jax.nn.softmax(squared_distances(z, p) / temperature, axis=-1)",
        (IDENTITY, VARIANCE, COVARIANCE),
        quick=True,
    ),
    Mutant(
        "losses: the softmax multiplies by the temperature",
        ASSIGNMENTS,
        "return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=-1)",
        "return jax.nn.softmax(-squared_distances(z, p) * temperature, axis=-1)",
        (IDENTITY, MEAN, COVARIANCE),
    ),
    Mutant(
        "losses: assignments are normalised over embeddings",
        ASSIGNMENTS,
        "return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=-1)",
        "return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=0)",
        (IDENTITY, COVARIANCE),
    ),
    Mutant(
        "losses: distances are not squared",
        ASSIGNMENTS,
        "return jnp.sum((z[:, None] - p[None]) ** 2, axis=-1)",
        "return jnp.sum(jnp.abs(z[:, None] - p[None]), axis=-1)",
        (IDENTITY, ASSERTION),
    ),
    Mutant(
        "losses: the hard loss takes the farthest prototype",
        ASSIGNMENTS,
        "return jnp.sum(jnp.min(squared_distances(z, p), axis=-1))",
        "return jnp.sum(jnp.max(squared_distances(z, p), axis=-1))",
        (ASSERTION, IDENTITY),
    ),
    Mutant(
        "losses: the variance is about the embeddings",
        ASSIGNMENTS,
        "return jnp.sum(q * squared_distances(soft_centroids(q, p), p))",
        "return jnp.sum(q * squared_distances(z, p))",
        (IDENTITY, VARIANCE),
    ),
    Mutant(
        "losses: V in place of R",
        ASSIGNMENTS,
        "return jnp.sum((z - mu) ** 2)",
        "return prototype_variance(z, p, temperature)",
        (IDENTITY,),
    ),
    Mutant(
        "losses: the covariance is not summed over embeddings",
        ASSIGNMENTS,
        "return jnp.diag(jnp.sum(q, axis=0)) - q.T @ q",
        "return jnp.diag(jnp.mean(q, axis=0)) - q.T @ q",
        (COVARIANCE, "prototypes/proposition-5-independence/corrected"),
    ),
    Mutant(
        "losses: the entropy is in bits",
        ASSIGNMENTS,
        "q * jnp.log(jnp.where(positive, q, 1.0))",
        "q * jnp.log2(jnp.where(positive, q, 1.0))",
        (IDENTITY,),
    ),
    Mutant(
        "losses: the entropy has the wrong sign",
        ASSIGNMENTS,
        "return -jnp.sum(jnp.where(positive,",
        "return jnp.sum(jnp.where(positive,",
        ("prototypes/claim-entropy-decreases/near-collapse",),
    ),
    Mutant(
        "losses: the separation is that of the farthest pair",
        ASSIGNMENTS,
        "return jnp.min(distances)",
        "return jnp.max(jnp.where(jnp.isfinite(distances), distances, 0.0))",
        (IDENTITY,),
    ),
    Mutant(
        "losses: utilisation counts the largest assignment",
        ASSIGNMENTS,
        "(jnp.mean(q, axis=0) > threshold)",
        "(jnp.mean(q, axis=0) > 10 * threshold)",
        (USED,),
    ),
    Mutant(
        "losses: the barrier counts ordered pairs twice",
        ASSIGNMENTS,
        "squared_distances(p, p)))) / 2",
        "squared_distances(p, p))))",
        (CENTROID,),
    ),
    Mutant(
        "losses: the gradient of the barrier is half of it",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength",
        "return -1 * jnp.sum(strength",
        (CENTROID,),
    ),
    Mutant(
        "losses: the barrier attracts",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength",
        "return 2 * jnp.sum(strength",
        (BARRIER, CENTROID),
    ),
    Mutant(
        "losses: the modes are confused in the weights",
        LOSSES,
        'if self.gradient == "frozen":\n            return q',
        'if self.gradient == "full":\n            return q',
        (GRADIENT, ENCODER, SADDLE),
    ),
    Mutant(
        "losses: the weights of the mode full have the wrong sign",
        LOSSES,
        "return q * (1 - (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T)",
        "return q * (1 + (d - jnp.sum(q * d, axis=axis, keepdims=True)) / T)",
        (GRADIENT, SADDLE, FALLS),
    ),
    Mutant(
        "losses: the sum is the mean and the mean the sum",
        LOSSES,
        'return value if self.reduction == "sum" else value / z.shape[0]',
        'return value / z.shape[0] if self.reduction == "sum" else value',
        (MEAN, ENCODER),
    ),
    Mutant(
        "losses: the gradient by embeddings lacks its factor",
        LOSSES,
        "by_embeddings = 2 * (z - w @ p)",
        "by_embeddings = z - w @ p",
        (ENCODER, FALLS),
    ),
    Mutant(
        "losses: the gradient by prototypes forgets the embeddings",
        LOSSES,
        "by_prototypes = 2 * (jnp.sum(w, axis=0)[:, None] * p - w.T @ z)",
        "by_prototypes = 2 * (jnp.sum(w, axis=0)[:, None] * p - w.T @ (w @ p))",
        (GRADIENT,),
    ),
    Mutant(
        "levels: detaching is forgotten",
        LEVELS,
        "if not self.detached:",
        "if True:",
        (DETACHED,),
    ),
    Mutant(
        "levels: level 2 reads the embeddings",
        LEVELS,
        "mu = soft_centroids(q, p)",
        "mu = z",
        (TWO_LEVELS,),
    ),
    Mutant(
        "levels: level 2 reads sums over groups",
        LEVELS,
        "return sums / sizes[:, None]",
        "return sums",
        (TWO_LEVELS,),
    ),
    Mutant(
        "readout: the residual is forgotten",
        LAYER,
        "return self.norm(z + added)",
        "return self.norm(added)",
        (READOUT,),
    ),
    Mutant(
        "readout: W_O is transposed",
        LAYER,
        "added = _joined(q @ self.prototypes) @ self.output.T",
        "added = _joined(q @ self.prototypes) @ self.output",
        (HEADS,),
    ),
    Mutant(
        "readout: W_O is transposed where it is applied to prototypes",
        LAYER,
        "columns = self.output.reshape(m, heads, width)",
        "columns = self.output.T.reshape(m, heads, width)",
        (READOUT,),
    ),
    Mutant(
        "readout: W_O is applied in the dearer order",
        LAYER,
        "if heads * n * k * m + k * m * m < n * k * m + n * m * m:",
        "if heads * n * k * m + k * m * m > n * k * m + n * m * m:",
        (COST,),
    ),
    Mutant(
        "readout: the variance of heads is about their embeddings",
        LAYER,
        "spread = jnp.sum(q * pairwise_distances(mu, p))",
        "spread = jnp.sum(q * d)",
        (HEADS,),
    ),
    Mutant(
        "collapse: the factors of the modes are exchanged",
        COLLAPSE,
        'FACTORS = {"frozen": 2.0, "full": 4.0}',
        'FACTORS = {"frozen": 4.0, "full": 2.0}',
        (SADDLE,),
    ),
    Mutant(
        "prototypes: with a mean the force of the penalties is divided, too",
        "dynsim.systems.prototypes.losses",
        "self._mean(by_prototypes, z) + self.penalty_gradient(p)",
        "self._mean(by_prototypes + self.penalty_gradient(p), z)",
        ("prototypes/algorithm-1-line-12/corrected",),
    ),
    Mutant(
        "prototypes: with a mean the penalties are divided, too",
        "dynsim.systems.prototypes.losses",
        "return self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)",
        "return self._mean(competitive_loss(z, p, temperature.astype(z.dtype)) + self.penalty(p), z)",
        ("prototypes/algorithm-1-line-12/corrected",),
    ),
    Mutant(
        "losses: the value is a sum whatever the reduction",
        "dynsim.systems.prototypes.losses",
        "return self._mean(competitive_loss(z, p, temperature.astype(z.dtype)), z) + self.penalty(p)",
        "return competitive_loss(z, p, temperature.astype(z.dtype)) + self.penalty(p)",
        ("prototypes/algorithm-1-line-12/corrected",),
    ),
    Mutant(
        "prototypes: a mean assignment at the threshold counts as used",
        "dynsim.systems.prototypes.assignments",
        "(jnp.mean(q, axis=0) > threshold)",
        "(jnp.mean(q, axis=0) >= threshold)",
        ("prototypes/proposition-4-utilisation/corrected",),
    ),
)

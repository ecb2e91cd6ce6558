"""Errors in flows, losses and assignments of prototypes that corrected claims notice, besides those of other tables."""

from tests.mutants import Mutant

FLOW = "dynsim.systems.prototypes.flow"
LOSSES = "dynsim.systems.prototypes.losses"
ASSIGNMENTS = "dynsim.systems.prototypes.assignments"
HESSIAN = "analysis.prototypes.hessian"
FAST = "prototypes/appendix-a-ii/corrected"
SYSTEMS = "prototypes/appendix-a-systems/corrected"
IFF = "prototypes/proposition-3-iff/corrected"
NO_COLLAPSE = "prototypes/theorem-2-no-collapse"
ANNEALED = "prototypes/theorem-3-convergence/corrected"
RATIOS = "prototypes/remark-2/corrected"
BELOW = "prototypes/claim-anti-collapse/below-critical"

MUTANTS = (
    Mutant(
        "corrections: another ratio is that of the inverse rate of the prototypes",
        FLOW,
        'rate = real("ratio", ratio, positive=True) * self.prototype_rate',
        'rate = real("ratio", ratio, positive=True) / self.prototype_rate',
        ("prototypes/theorem-1/corrected", "prototypes/appendix-a-rate/corrected"),
    ),
    Mutant(
        "corrections: with its encoder fixed a flow has the encoder's rate",
        FLOW,
        "return PrototypeFlow(z, self.temperature, loss=self.loss, rate=self.prototype_rate)",
        "return PrototypeFlow(z, self.temperature, loss=self.loss, rate=self.encoder_rate)",
        (SYSTEMS, "prototypes/corollary-1/fixed-encoder"),
    ),
    Mutant(
        "corrections: prototypes of a coupled flow ascend",
        FLOW,
        "-self.prototype_rate.astype(by_prototypes.dtype) * by_prototypes)",
        "self.prototype_rate.astype(by_prototypes.dtype) * by_prototypes)",
        (BELOW, RATIOS),
    ),
    Mutant(
        "corrections: the encoder of a coupled flow ascends",
        FLOW,
        "slow = lambda g: -self.encoder_rate.astype(g.dtype) * g",
        "slow = lambda g: self.encoder_rate.astype(g.dtype) * g",
        (IFF, RATIOS, ANNEALED),
    ),
    Mutant(
        "corrections: the eigenvalues of J* descend",
        HESSIAN,
        "return np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)",
        "return np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)[::-1]",
        (IFF,),
    ),
    Mutant(
        "corrections: the force of the ridge has twice its strength",
        LOSSES,
        "return repulsion + ridge * p",
        "return repulsion + 2 * ridge * p",
        (FAST,),
    ),
    Mutant(
        "corrections: the force of the barrier has a hundredth of its strength",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength[:, :, None]",
        "return -0.02 * jnp.sum(strength[:, :, None]",
        (NO_COLLAPSE, FAST, ANNEALED),
    ),
    Mutant(
        "corrections: the products of assignments are averaged over embeddings",
        ASSIGNMENTS,
        "return jnp.diag(jnp.sum(q, axis=0)) - q.T @ q",
        "return jnp.diag(jnp.sum(q, axis=0)) - q.T @ q / q.shape[0]",
        (
            "prototypes/proposition-4-sigma/corrected",
            "prototypes/claim-gradient-nonzero",
            "prototypes/remark-3-nonzero/corrected",
            "prototypes/algorithm-1-line-20/corrected",
        ),
    ),
    Mutant(
        "corrections: the reconstruction error is that of the likeliest prototype",
        ASSIGNMENTS,
        "    mu = soft_centroids(assignments(z, p, temperature), p)\n",
        "    mu = p[jnp.argmax(assignments(z, p, temperature), axis=-1)]\n",
        ("prototypes/proposition-4-soft/corrected", "prototypes/proposition-1-inequality/corrected"),
    ),
    Mutant(
        "corrections: assignments are those of twice the temperature",
        ASSIGNMENTS,
        "return jax.nn.softmax(-squared_distances(z, p) / temperature, axis=-1)",
        "return jax.nn.softmax(-squared_distances(z, p) / (2 * temperature), axis=-1)",
        ("prototypes/proposition-4-smooth", "prototypes/algorithm-1-line-20/corrected"),
    ),
    Mutant(
        "corrections: the encoder of a coupled flow has twice its rate",
        FLOW,
        "slow = lambda g: -self.encoder_rate.astype(g.dtype) * g",
        "slow = lambda g: -2 * self.encoder_rate.astype(g.dtype) * g",
        ("prototypes/claim-rescaling/corrected", NO_COLLAPSE),
    ),
    Mutant(
        "corrections: the Hessian by the prototypes is halved",
        HESSIAN,
        "return HessianBlocks(H[:count, :count], H[:count, count:], H[count:, count:])",
        "return HessianBlocks(H[:count, :count], H[:count, count:], H[count:, count:] / 2)",
        ("prototypes/proposition-3-weak-coupling/corrected", IFF),
    ),
    Mutant(
        "corrections: level 2 reads centroids of assignments in another order",
        "dynsim.systems.prototypes.hierarchy",
        "mu = soft_centroids(q, p)",
        "mu = soft_centroids(q[:, ::-1] ** 2, p)",
        ("prototypes/proposition-5-independence/corrected", "prototypes/claim-no-interference/corrected"),
    ),
    Mutant(
        "corrections: collapse splits at the variance of the embeddings",
        "analysis.prototypes.collapse",
        "splitting = stiffness * (1 - FACTORS[loss.gradient] * spread / T) + ridge",
        "splitting = stiffness * (1 - spread / T) + ridge",
        (BELOW,),
    ),
    Mutant(
        "corrections: the linear encoder turns the sign of its output",
        "dynsim.systems.prototypes.encoders",
        "return x @ parameters.T",
        "return -x @ parameters.T",
        ("prototypes/proposition-1/corrected", "prototypes/proposition-2/corrected"),
    ),
)

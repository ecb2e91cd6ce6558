"""Errors in flows, losses and assignments of prototypes that corrected claims notice, besides those of other tables."""

from tests.quality.mutants import Mutant

FAST = "prototypes/appendix-a-ii/corrected"
IFF = "prototypes/proposition-3-iff/corrected"
NO_COLLAPSE = "prototypes/theorem-2-no-collapse"
ANNEALED = "prototypes/theorem-3-convergence/corrected"
RATIOS = "prototypes/remark-2/corrected"
BELOW = "prototypes/claim-anti-collapse/below-critical"

# fmt: off
MUTANTS = (
    Mutant("corrections: another ratio is that of the inverse rate of the prototypes", "CoupledFlow.with_ratio",
           'real("ratio", ratio, positive=True) * self.prototype_rate',
           'real("ratio", ratio, positive=True) / self.prototype_rate',
           ("prototypes/theorem-1/corrected", "prototypes/appendix-a-rate/corrected")),
    Mutant("corrections: with its encoder fixed a flow has the encoder's rate", "CoupledFlow.frozen_encoder",
           "self.prototype_rate", "self.encoder_rate",
           ("prototypes/appendix-a-systems/corrected", "prototypes/corollary-1/fixed-encoder")),
    Mutant("corrections: prototypes of a coupled flow ascend", "CoupledFlow.velocity",
           "-self.prototype_rate.astype(by_prototypes.dtype)", "self.prototype_rate.astype(by_prototypes.dtype)",
           (BELOW, RATIOS)),
    Mutant("corrections: the encoder of a coupled flow ascends", "CoupledFlow.velocity",
           "-self.encoder_rate.astype(g.dtype)", "self.encoder_rate.astype(g.dtype)", (IFF, RATIOS, ANNEALED)),
    Mutant("corrections: the eigenvalues of J* descend", "rate_spectrum",
           "np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)",
           "np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)[::-1]", (IFF,)),
    Mutant("corrections: the force of the ridge has twice its strength", "PrototypeLoss.penalty_gradient",
           "ridge * p", "2 * ridge * p", (FAST,)),
    Mutant("corrections: the force of the barrier has a hundredth of its strength", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "-0.02 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)", (NO_COLLAPSE, FAST, ANNEALED)),
    Mutant("corrections: the products of assignments are averaged over embeddings", "assignment_covariance",
           "q.T @ q", "q.T @ q / q.shape[0]",
           ("prototypes/proposition-4-sigma/corrected", "prototypes/claim-gradient-nonzero",
            "prototypes/remark-3-nonzero/corrected", "prototypes/algorithm-1-line-20/corrected")),
    Mutant("corrections: the reconstruction error is that of the likeliest prototype", "reconstruction_error",
           "soft_centroids(assignments(z, p, temperature), p)",
           "p[jnp.argmax(assignments(z, p, temperature), axis=-1)]",
           ("prototypes/proposition-4-soft/corrected", "prototypes/proposition-1-inequality/corrected")),
    Mutant("corrections: assignments are those of twice the temperature", "assignments",
           "-squared_distances(z, p) / temperature", "-squared_distances(z, p) / (2 * temperature)",
           ("prototypes/proposition-4-smooth", "prototypes/algorithm-1-line-20/corrected")),
    Mutant("corrections: the encoder of a coupled flow has twice its rate", "CoupledFlow.velocity",
           "-self.encoder_rate.astype(g.dtype)", "-2 * self.encoder_rate.astype(g.dtype)",
           ("prototypes/claim-rescaling/corrected", NO_COLLAPSE)),
    Mutant("corrections: the Hessian by the prototypes is halved", "hessian_blocks",
           "H[count:, count:]", "H[count:, count:] / 2", ("prototypes/proposition-3-weak-coupling/corrected", IFF)),
    Mutant("corrections: level 2 reads centroids of assignments in another order", "TwoLevelFlow._inputs",
           "soft_centroids(q, p)", "soft_centroids(q[:, ::-1] ** 2, p)",
           ("prototypes/proposition-5-independence/corrected", "prototypes/claim-no-interference/corrected")),
    Mutant("corrections: collapse splits at the variance of the embeddings", "collapse_spectrum",
           "FACTORS[loss.gradient] * spread", "spread", (BELOW,)),
    Mutant("corrections: the linear encoder turns the sign of its output", "LinearEncoder.embed",
           "x @ parameters.T", "-x @ parameters.T",
           ("prototypes/proposition-1/corrected", "prototypes/proposition-2/corrected")),
)
# fmt: on

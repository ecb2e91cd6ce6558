"""Errors in flows, losses and measures of prototypes, and the claims of Section 4 and Appendix A that notice them."""

from tests.quality.mutants import Mutant

DECREASE = "prototypes/theorem-2-decrease"
MONOTONE = "prototypes/theorem-3-monotone"
SUFFICIENT = "prototypes/proposition-3-sufficient"
ESCAPES = "prototypes/fact-1/certificates"

# fmt: off
MUTANTS = (
    Mutant("prototypes, section 4: the mode full is the mode frozen", "PrototypeLoss.weights_of",
           'self.gradient == "frozen"', "self.gradient", (DECREASE, MONOTONE)),
    Mutant("prototypes, section 4: the gradient of the barrier counts each pair once", "barrier_gradient",
           "-2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
           "-1 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)", (DECREASE,)),
    Mutant("prototypes, section 4: the variance of distances is divided by their number", "variances_of",
           "jnp.sum(q * (d - mean) ** 2, axis=axis)", "jnp.mean(q * (d - mean) ** 2, axis=axis)",
           ("prototypes/theorem-3-derivative", MONOTONE)),
    Mutant("prototypes, section 4: the fast-slow form has the ratio of the rates exchanged", "CoupledFlow.fast_slow",
           "self.ratio", "1 / self.ratio", ("prototypes/claim-rescaling/corrected",)),
    Mutant("prototypes, section 4: the bound of (14) has the largest fast eigenvalue above", "condition_bound",
           "fast[0]", "fast[-1]", ("prototypes/proposition-3-weak-coupling/corrected",)),
    Mutant("prototypes, section 4: the spectrum of J* leaves out the rates", "rate_spectrum",
           "root[:, None] * blocks.matrix * root", "blocks.matrix",
           (SUFFICIENT, "prototypes/proposition-3-proof/corrected", "prototypes/appendix-a-rate/corrected")),
    Mutant("prototypes, section 4: encoder and prototypes are not coupled in the Hessian", "HessianBlocks.matrix",
           "[[self.encoder, self.mixed], [self.mixed.T, self.prototypes]]",
           "[[self.encoder, 0 * self.mixed], [0 * self.mixed.T, self.prototypes]]", (SUFFICIENT,)),
    Mutant("prototypes: the curvature of symmetries is the least one", "symmetry_modes",
           "np.max(np.linalg.norm(H @ modes, axis=0), initial=0.0)",
           "np.min(np.linalg.norm(H @ modes, axis=0), initial=1e9)",
           ("prototypes/proposition-3-sufficient/across-symmetries",)),
    Mutant("prototypes: escape is certified from d > T on", "escaping_prototypes",
           "(T + B) * (1 + MARGIN)", "T", (ESCAPES,)),
    Mutant("prototypes: escape is certified from d above the loss on", "escaping_prototypes",
           "(T + B) * (1 + MARGIN)", "B", (ESCAPES,)),
    Mutant("prototypes: a prototype between two embeddings is certified to escape", "_shut_out",
           "np.all(d > threshold, axis=0) & np.all(acute, axis=(0, 1))", "np.all(d > threshold, axis=0)", (ESCAPES,)),
    Mutant("prototypes: the bound of the hard loss lacks log K", "_level",
           "points * float(flow.temperature(t)) * float(np.log(count))", "points * float(flow.temperature(t))",
           (ESCAPES,)),
    Mutant("prototypes: the bound of the hard loss is that of one embedding", "_level",
           "points * float(flow.temperature(t))", "float(flow.temperature(t))", (ESCAPES,)),
    Mutant("prototypes: the repulsion falls with the square of the distance", "_out_of_reach",
           "(np.sqrt(D) + np.sqrt(B)) ** 3", "(np.sqrt(D) + np.sqrt(B)) ** 2", (ESCAPES,)),
    Mutant("prototypes: the other prototype is at the embeddings", "_out_of_reach",
           "np.sqrt(D) + np.sqrt(B)", "np.sqrt(D)", (ESCAPES,)),
    Mutant("prototypes: the mean loss bounds that of every embedding", "escaping_prototypes",
           '_level(flow, x, t) * (len(z) if loss.reduction == "mean" else 1)', "_level(flow, x, t)", (ESCAPES,)),
    Mutant("prototypes: the attraction is that of one embedding", "escaping_prototypes",
           'len(z) if loss.reduction == "sum" else 1', "1", (ESCAPES,)),
    Mutant("prototypes: escape needs no repulsion", "_out_of_reach",
           "weaker & (max(B, 2 * T) * (1 + MARGIN) < D)", "max(B, 2 * T) * (1 + MARGIN) < D", (ESCAPES,)),
)
# fmt: on

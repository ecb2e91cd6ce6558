"""Errors in flows, losses and measures of prototypes, and the claims of Section 4 and Appendix A that notice them."""

from tests.mutants import Mutant

LOSSES = "dynsim.systems.prototypes.losses"
ASSIGNMENTS = "dynsim.systems.prototypes.assignments"
FLOW = "dynsim.systems.prototypes.flow"
HESSIAN = "analysis.prototypes.hessian"
CERTIFICATES = "analysis.prototypes.certificates"
DECREASE = "prototypes/theorem-2-decrease"
MONOTONE = "prototypes/theorem-3-monotone"
SUFFICIENT = "prototypes/proposition-3-sufficient"
SCHUR = "prototypes/proposition-3-proof/corrected"
WEAK = "prototypes/proposition-3-weak-coupling/corrected"
ESCAPES = "prototypes/fact-1/certificates"

MUTANTS = (
    Mutant(
        "prototypes, section 4: the mode full is the mode frozen",
        LOSSES,
        'if self.gradient == "frozen":\n            return q',
        "if self.gradient:\n            return q",
        (DECREASE, MONOTONE),
    ),
    Mutant(
        "prototypes, section 4: the gradient of the barrier counts each pair once",
        ASSIGNMENTS,
        "return -2 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
        "return -1 * jnp.sum(strength[:, :, None] * (p[:, None] - p[None]), axis=1)",
        (DECREASE,),
    ),
    Mutant(
        "prototypes, section 4: the variance of distances is divided by their number",
        ASSIGNMENTS,
        "return jnp.sum(q * (d - mean) ** 2, axis=axis)",
        "return jnp.mean(q * (d - mean) ** 2, axis=axis)",
        ("prototypes/theorem-3-derivative", MONOTONE),
    ),
    Mutant(
        "prototypes, section 4: the fast-slow form has the ratio of the rates exchanged",
        FLOW,
        "return FastSlowFlow(_Fast(derivatives), _Slow(derivatives), self.ratio)",
        "return FastSlowFlow(_Fast(derivatives), _Slow(derivatives), 1 / self.ratio)",
        ("prototypes/claim-rescaling/corrected",),
    ),
    Mutant(
        "prototypes, section 4: the bound of (14) has the largest fast eigenvalue above",
        HESSIAN,
        "return float(fast[0] / (",
        "return float(fast[-1] / (",
        (WEAK,),
    ),
    Mutant(
        "prototypes, section 4: the spectrum of J* leaves out the rates",
        HESSIAN,
        "return np.linalg.eigvalsh(root[:, None] * blocks.matrix * root)",
        "return np.linalg.eigvalsh(blocks.matrix)",
        (SUFFICIENT, SCHUR, "prototypes/appendix-a-rate/corrected"),
    ),
    Mutant(
        "prototypes, section 4: encoder and prototypes are not coupled in the Hessian",
        HESSIAN,
        "np.block([[self.encoder, self.mixed], [self.mixed.T, self.prototypes]])",
        "np.block([[self.encoder, 0 * self.mixed], [0 * self.mixed.T, self.prototypes]])",
        (SUFFICIENT,),
    ),
    Mutant(
        "prototypes: the curvature of symmetries is the least one",
        "analysis.prototypes.symmetries",
        "np.max(np.linalg.norm(H @ modes, axis=0), initial=0.0)",
        "np.min(np.linalg.norm(H @ modes, axis=0), initial=1e9)",
        ("prototypes/proposition-3-sufficient/across-symmetries",),
    ),
    Mutant(
        "prototypes: escape is certified from d > T on",
        CERTIFICATES,
        "_shut_out(d, between, (T + B) * (1 + MARGIN))",
        "_shut_out(d, between, T)",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: escape is certified from d above the loss on",
        CERTIFICATES,
        "_shut_out(d, between, (T + B) * (1 + MARGIN))",
        "_shut_out(d, between, B)",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: a prototype between two embeddings is certified to escape",
        CERTIFICATES,
        "np.all(d > threshold, axis=0) & np.all(acute, axis=(0, 1))",
        "np.all(d > threshold, axis=0)",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the bound of the hard loss lacks log K",
        CERTIFICATES,
        "float(flow.temperature(t)) * float(np.log(count))",
        "float(flow.temperature(t))",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the bound of the hard loss is that of one embedding",
        CERTIFICATES,
        "level += points *",
        "level +=",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the repulsion falls with the square of the distance",
        CERTIFICATES,
        "** 3 < barrier",
        "** 2 < barrier",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the other prototype is at the embeddings",
        CERTIFICATES,
        "(np.sqrt(D) + np.sqrt(B)) ** 3",
        "np.sqrt(D) ** 3",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the mean loss bounds that of every embedding",
        CERTIFICATES,
        ' * (len(z) if loss.reduction == "mean" else 1)',
        "",
        (ESCAPES,),
    ),
    Mutant(
        "prototypes: the attraction is that of one embedding",
        CERTIFICATES,
        'count = len(z) if loss.reduction == "sum" else 1',
        "count = 1",
        (ESCAPES,),
    ),
    Mutant("prototypes: escape needs no repulsion", CERTIFICATES, "return weaker &", "return", (ESCAPES,)),
)

"""Errors in flows, losses and measures of prototypes, and the claims of Section 4 and Appendix A that notice them."""

from tests.mutants import Mutant

LOSSES = "dynsim.systems.prototypes.losses"
ASSIGNMENTS = "dynsim.systems.prototypes.assignments"
FLOW = "dynsim.systems.prototypes.flow"
HESSIAN = "analysis.prototypes.hessian"
DECREASE = "prototypes/theorem-2-decrease"
MONOTONE = "prototypes/theorem-3-monotone"
SUFFICIENT = "prototypes/proposition-3-sufficient"
SCHUR = "prototypes/proposition-3-proof/corrected"
WEAK = "prototypes/proposition-3-weak-coupling/corrected"

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
        "prototypes: the curvature of symmetries is the least one",
        "analysis.prototypes.symmetries",
        "np.max(np.linalg.norm(H @ modes, axis=0), initial=0.0)",
        "np.min(np.linalg.norm(H @ modes, axis=0), initial=1e9)",
        ("prototypes/proposition-3-sufficient/across-symmetries",),
    ),
)

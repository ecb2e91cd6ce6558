"""Errors in what methods for chains state of their own errors, and the claims that notice them."""

from tests.mutants import Mutant

POLYNOMIALS, KRYLOV = "analysis.chains.polynomial_exponential", "analysis.chains.krylov_exponential"
SQUARING, ELIMINATION = "analysis.chains.dense_exponential", "analysis.chains.elimination"
SPECTRA, STATIONARY = "analysis.chains.spectra", "analysis.chains.stationary"
FLOW, LAW = "multirate/theorem-28-iii-flow", "multirate/theorem-28-ii"
UNIFORMISED = "abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(scaled))"

MUTANTS = (
    Mutant(
        "chain errors: those of a relaxation are what can be seen of them",
        "analysis.chains.relaxation",
        "np.maximum(errors, visible)",
        "visible",
        (FLOW,),
    ),
    Mutant(
        "chain errors: Chebyshev polynomials lose no digits",
        POLYNOMIALS,
        "rounding + abs(off) + TAIL",
        "TAIL + 0 * rounding",
        (FLOW,),
    ),
    Mutant(
        "chain errors: the tail of the coefficients is not weighed by the norm of the start",
        POLYNOMIALS,
        "norm = max(1.0, math.sqrt(np.sum(start**2 / stationary) * np.max(stationary)))",
        "norm = 1.0",
        (FLOW,),
    ),
    Mutant("chain errors: uniformisation has its tail alone", POLYNOMIALS, UNIFORMISED, "tail", (FLOW,)),
    Mutant(
        "chain errors: uniformisation states a hundred times its error",
        POLYNOMIALS,
        UNIFORMISED,
        f"100 * ({UNIFORMISED})",
        (FLOW,),
    ),
    Mutant(
        "chain errors: the dense exponential has none",
        SQUARING,
        "return P, EPSILON * len(Q) * (squarings + TERMS)",
        "return P, 0.0",
        (FLOW,),
    ),
    Mutant(
        "chain errors: the dense exponential states a hundred times its error",
        SQUARING,
        "return P, EPSILON * len(Q) * (squarings + TERMS)",
        "return P, 100 * EPSILON * len(Q) * (squarings + TERMS)",
        (FLOW,),
    ),
    Mutant("chain errors: the Krylov exponential has none", KRYLOV, "2 * change + rounding", "0 * rounding", (FLOW,)),
    Mutant(
        "chain errors: the Krylov exponential states a hundred times its error",
        KRYLOV,
        "2 * change + rounding",
        "100 * (2 * change + rounding)",
        (FLOW,),
    ),
    Mutant(
        "chain errors: elimination has none",
        ELIMINATION,
        "return p, max(float(np.max(abs(p - other) / seen)), len(p) * EPSILON)",
        "return p, 0.0",
        (LAW,),
    ),
    Mutant(
        "chain errors: the factorisation forgets the rounding of exit rates",
        ELIMINATION,
        "np.maximum(abs(correction), abs(rounded))",
        "abs(correction)",
        (LAW,),
    ),
    Mutant(
        "chain errors: a symmetric gap has none",
        SPECTRA,
        "4 * EPSILON * size * math.sqrt(num_states(S))",
        "0.0",
        (FLOW,),
    ),
    Mutant(
        "chain errors: that of a gap does not grow with the condition of its eigenvalue",
        SPECTRA,
        "math.sqrt(len(dense)) / float(max(angle, EPSILON))",
        "math.sqrt(len(dense))",
        (FLOW,),
    ),
    Mutant(
        "chain errors: the residual is the least one",
        STATIONARY,
        "np.max(abs(Q @ p)[through] / flux[through])",
        "np.min(abs(Q @ p)[through] / flux[through])",
        (LAW,),
    ),
    Mutant(
        "multirate: a matrix whose columns do not sum to zero is a generator",
        "dynsim.systems.master_equation.checks",
        "bad = np.flatnonzero(abs(sums) > allowed)",
        "bad = np.flatnonzero(abs(sums) > np.inf)",
        ("multirate/remark-30-column-sums/random-map",),
    ),
    Mutant(
        "multirate: blocks pooled to their sum over one more than their number",
        "dynsim.networks.multirate.pooling",
        "counts = np.minimum(block, n - block * np.arange(blocks))",
        "counts = np.minimum(block, n - block * np.arange(blocks)) + 1",
        ("multirate/definition-3", "multirate/definition-3/low-pass"),
    ),
    Mutant(
        "multirate: the Euler map of the transposed generator",
        "dynsim.systems.master_equation.flow",
        "return p + self.step_size * (self.matrix() @ p.T).T",
        "return p + self.step_size * (self.matrix().T @ p.T).T",
        ("multirate/remark-31",),
    ),
)

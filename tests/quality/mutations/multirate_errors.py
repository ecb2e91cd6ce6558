"""Errors in what methods for chains state of their own errors, and the claims that notice them."""

from tests.quality.mutants import Mutant

FLOW = "multirate/theorem-28-iii-flow"
LAW = "multirate/theorem-28-ii"

# fmt: off
MUTANTS = (
    Mutant("chain errors: those of a relaxation are what can be seen of them", "relaxation",
           "np.maximum(errors, visible)", "visible", (FLOW,)),
    Mutant("chain errors: Chebyshev polynomials lose no digits", "by_chebyshev",
           "rounding + abs(off) + TAIL", "TAIL + 0 * rounding", (FLOW,)),
    Mutant("chain errors: the tail of the coefficients is not weighed by the norm of the start", "by_chebyshev",
           "max(1.0, math.sqrt(np.sum(start**2 / stationary) * np.max(stationary)))", "1.0", (FLOW,)),
    Mutant("chain errors: uniformisation has its tail alone", "by_uniformisation",
           "abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(scaled))", "tail", (FLOW,)),
    Mutant("chain errors: uniformisation states a hundred times its error", "by_uniformisation",
           "abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(scaled))",
           "100 * (abs(total - 1) + tail + EPSILON * (16 + 4 * np.sqrt(scaled)))", (FLOW,)),
    Mutant("chain errors: the dense exponential has none", "transition_matrix",
           "EPSILON * len(Q) * (squarings + TERMS)", "0.0", (FLOW,)),
    Mutant("chain errors: the dense exponential states a hundred times its error", "transition_matrix",
           "EPSILON * len(Q)", "100 * EPSILON * len(Q)", (FLOW,)),
    Mutant("chain errors: the Krylov exponential has none", "_KrylovSpace.evolved",
           "2 * change + rounding", "0 * rounding", (FLOW,)),
    Mutant("chain errors: the Krylov exponential states a hundred times its error", "_KrylovSpace.evolved",
           "2 * change + rounding", "100 * (2 * change + rounding)", (FLOW,)),
    Mutant("chain errors: elimination has none", "by_elimination",
           "max(float(np.max(abs(p - other) / seen)), len(p) * EPSILON)", "0.0", (LAW,)),
    Mutant("chain errors: the factorisation forgets the rounding of exit rates", "_fixing",
           "np.maximum(abs(correction), abs(rounded))", "abs(correction)", (LAW,)),
    Mutant("chain errors: a symmetric gap has none", "_symmetric",
           "4 * EPSILON * size * math.sqrt(num_states(S))", "0.0", (FLOW,)),
    Mutant("chain errors: that of a gap does not grow with the condition of its eigenvalue", "_all",
           "EPSILON * float(np.linalg.norm(dense, 2)) * math.sqrt(len(dense)) / float(max(angle, EPSILON))",
           "EPSILON * float(np.linalg.norm(dense, 2)) * math.sqrt(len(dense))", (FLOW,)),
    Mutant("chain errors: the residual is the least one", "_residual",
           "np.max", "np.min", (LAW,), beside="stationary_distributions"),
    Mutant("multirate: a matrix whose columns do not sum to zero is a generator", "check_generator",
           "abs(sums) > allowed", "abs(sums) > np.inf", ("multirate/remark-30-column-sums/random-map",)),
    Mutant("multirate: blocks pooled to their sum over one more than their number", "causal_pool",
           "np.minimum(block, n - block * np.arange(blocks))", "np.minimum(block, n - block * np.arange(blocks)) + 1",
           ("multirate/definition-3", "multirate/definition-3/low-pass")),
    Mutant("multirate: the Euler map of the transposed generator", "MasterEquationMap.step",
           "self.matrix()", "self.matrix().T", ("multirate/remark-31",)),
)
# fmt: on

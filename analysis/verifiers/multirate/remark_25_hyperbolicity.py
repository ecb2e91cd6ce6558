"""Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: Fenichel's theorem requires normal hyperbolicity, the fast dynamics must be contractive transverse to the slow
manifold, for it to persist under perturbation. (Fenichel's theorem requires that no transverse eigenvalue has real part
zero. Contraction is what makes the manifold attracting.)

Instance: epsilon x' = A (x - phi(y)), y' = lambda y, with x in the plane and a polynomial phi(y) = sum_j b_j y^j. A is
regular, and the fast dynamics is not contractive.

The graph x = sum_j k_j y^j is invariant if and only if epsilon lambda j k_j = A (k_j - b_j) for all j. For all epsilon
with 2 epsilon |lambda| j |A^-1| <= 1 (norms: largest absolute row sums) there is one, by Neumann's series, with |k_j|
<= 2 |b_j|, so that |k_j - b_j| = |epsilon lambda j A^-1 k_j| <= 2 epsilon |lambda| j |A^-1| |b_j|: the
critical manifold x = phi(y) persists.
"""

from fractions import Fraction

from analysis.verifiers.frames.slow_manifolds import invariant_graph

STATEMENT = "multirate/remark-25-hyperbolicity"
WITNESS = {
    "A": [["1", "0"], ["0", "2"]],
    "phi": [["2", "1"], ["0", "1"], ["1", "0"]],
    "lambda": "-1/2",
    "epsilon": "1/10",
    "graph": [["40/21", "40/41"], ["0", "20/21"], ["20/23", "0"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    A, phi, graph = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "phi", "graph"))
    rate, epsilon = Fraction(witness["lambda"]), Fraction(witness["epsilon"])
    (a, b), (c, d) = A
    determinant, trace = a * d - b * c, a + d
    contracts = determinant > 0 > trace
    yield "the fast dynamics is not contractive: det A and tr A", (str(determinant), str(trace)), not contracts
    yield from invariant_graph(A, phi, graph, rate, epsilon)

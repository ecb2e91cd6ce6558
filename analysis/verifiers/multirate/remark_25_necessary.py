"""Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: norm constraints are necessary for a well-posed fast-slow reduction. Read: without a bound of the norm of the
fast state, there is no unique and attracting quasi-steady state for each y, or there is no slow manifold within
O(epsilon) of the critical manifold.

Instance: epsilon x' = A (x - phi(y)), y' = lambda y, with x in the plane and a polynomial phi(y) = sum_j b_j y^j. There
is no constraint. All eigenvalues of A have negative real part, so that for each y the quasi-steady state x = phi(y) is
unique and attracts; y follows the reduced flow.

The graph x = sum_j k_j y^j is invariant if and only if epsilon lambda j k_j = A (k_j - b_j) for all j. For all epsilon
with 2 epsilon |lambda| j |A^-1| <= 1 (norms: largest absolute row sums) there is one, by Neumann's series, with |k_j|
<= 2 |b_j|, so that |k_j - b_j| = |epsilon lambda j A^-1 k_j| <= 2 epsilon |lambda| j |A^-1| |b_j|: the
slow manifold is within O(epsilon) of the critical one. Its states are unbounded.
"""

from fractions import Fraction

from analysis.verifiers.frames.slow_manifolds import invariant_graph

STATEMENT = "multirate/remark-25-necessary"
WITNESS = {
    "A": [["-1", "0"], ["0", "-2"]],
    "phi": [["2", "1"], ["0", "1"], ["1", "0"]],
    "lambda": "-1/2",
    "epsilon": "1/10",
    "graph": [["40/19", "40/39"], ["0", "20/19"], ["20/17", "0"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    A, phi, graph = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("A", "phi", "graph"))
    rate, epsilon = Fraction(witness["lambda"]), Fraction(witness["epsilon"])
    (a, b), (c, d) = A
    determinant, trace = a * d - b * c, a + d
    contracts = determinant > 0 > trace
    yield (
        "x = phi(y) is the only quasi-steady state, and attracts: det A and tr A",
        (str(determinant), str(trace)),
        contracts,
    )
    unbounded = rate != 0 and any(map(any, phi))
    yield "it is unbounded: phi is not constant, and lambda is not 0", witness["phi"], unbounded
    yield from invariant_graph(A, phi, graph, rate, epsilon)

"""Verify an instance that refutes an inequality in the proof of Theorem 3.2 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for some lambda > 0, |V_P| <= lambda |grad V_P| on the product of ellipsoids, V_P = -(1/2) sum_{i,j}
exp(y_i.P y_j), which the proof calls the Lojasiewicz inequality.

Instance: l tokens at one point u of the ellipsoid u.P u = 1.

Argument. The derivative of V_P along tangent vectors z_1, ..., z_l is -(1/2) sum_{i,j} e (z_i.P u + u.P z_j), and
tangent vectors at u are those with z.P u = 0: it vanishes, so that grad V_P = 0 in any metric. But V_P = -l^2 e / 2 is
not zero, and no lambda makes |V_P| <= 0. (The inequality of Lojasiewicz has V_P - V_P(y*) and an exponent in it.)
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import pivots

STATEMENT = "consensus/theorem-3.2-lojasiewicz"
WITNESS = {"P": [["1", "0"], ["0", "4"]], "tokens": [["3/5", "2/5"], ["3/5", "2/5"], ["3/5", "2/5"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    P, tokens = ([[Fraction(x) for x in row] for row in witness[name]] for name in ("P", "tokens"))
    size = range(len(P))
    symmetric = all(P[i][j] == P[j][i] for i in size for j in range(i))
    signs = pivots(P)
    yield "P is symmetric and positive definite: pivots", [*map(str, signs)], symmetric and min(signs) > 0
    duals = [[sum(P[i][j] * y[j] for j in size) for i in size] for y in tokens]
    exponents = [sum(a * b for a, b in zip(x, dual, strict=True)) for x in tokens for dual in duals]
    yield (
        "tokens are on the ellipsoid and all exponents y_i.P y_j are 1",
        sorted({*map(str, exponents)}),
        {*exponents} == {1},
    )
    # moving token k along z changes the terms (k, j) and (j, k), each exponential being e: by -e z . sum_j P y_j
    drive = [sum(column) for column in zip(*duals, strict=True)]
    normal = [all(drive[i] * dual[j] == drive[j] * dual[i] for i in size for j in range(i)) for dual in duals]
    yield "that is zero for z with z.P y_k = 0: sum_j P y_j is a multiple of P y_k", [*map(str, drive)], all(normal)
    least = Fraction(len(exponents), 2) * (1 + 1 + Fraction(1, 2))
    yield "lower bound of |V_P|, with e > 5/2", least, least > 0

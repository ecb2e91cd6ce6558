"""Verify an instance that refutes the equivalence of (5) and (6) of Rodriguez Abella, Silvestre and Tabuada.

Printed: y(k+1) = pi_W(y + W V y D exp(y^T K^T Q y)), (5), "more explicitly" reads token by token y_i(k+1) = pi_W(y_i +
sum_j W V D_ii exp(y_j^T K^T Q y_i) y_j), (6), with D_ii^{-1} = sqrt(n+1) sum_l exp(y_l^T K^T Q y_i).

Instance: heads with rational matrices W_h V_h, d the square of an integer, and K_h^T Q_h = (log 2) M_h, so that all
numbers are rational: exp(y_j^T K^T Q y_i) = 2^(y_j.M y_i), with integer exponents. In the product y D exp(R) column i
is sum_j y_j D_jj exp(R)_{ji}: (5) divides by D_jj^{-1}, the sum of the key, where (6) has D_ii^{-1}, the sum of the
query. Two vectors have the same projection to the ellipsoid only if they are parallel.
"""

from fractions import Fraction
from math import isqrt

from analysis.verifiers.frames.linear_algebra import bilinear_form

STATEMENT = "consensus/equation-5"
WITNESS = {
    "tokens": [["1", "0", "0", "0"], ["0", "1", "0", "0"]],
    "W": [["1", "0", "0", "0"], ["0", "1", "0", "0"], ["0", "0", "1", "0"], ["0", "0", "0", "1"]],
    "W_h V_h": [[["1", "0", "0", "0"], ["0", "1", "0", "0"], ["0", "0", "1", "0"], ["0", "0", "0", "1"]]],
    "exponents of two": [[["0", "1", "0", "0"], ["0", "0", "0", "0"], ["0", "0", "0", "0"], ["0", "0", "0", "0"]]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, W = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("tokens", "W"))
    heads, forms = (
        [[[Fraction(v) for v in row] for row in M] for M in witness[name]] for name in ("W_h V_h", "exponents of two")
    )
    n, d = range(len(y)), len(W)
    root = isqrt(d)
    yield "d is a square, so that its root is rational", d, root**2 == d
    symmetric = all(W[i][j] == W[j][i] for i in range(d) for j in range(i))
    gaps = [W[i][i] - sum(abs(W[i][j]) for j in range(d) if j != i) for i in range(d)]
    yield "W is positive definite: diagonal less the others of its row", [*map(str, gaps)], symmetric and min(gaps) > 0
    norms = [bilinear_form(v, W, v) for v in y]
    yield "the tokens are on the ellipsoid of W", [*map(str, norms)], {*norms} == {1}
    five, six, whole = [v[:] for v in y], [v[:] for v in y], True
    for A, M in zip(heads, forms, strict=True):
        power = [[bilinear_form(y[j], M, y[i]) for i in n] for j in n]
        whole = whole and all(v.denominator == 1 for row in power for v in row)
        weight = [[Fraction(2) ** int(v) for v in row] for row in power]
        D = [Fraction(1) / (root * sum(weight[j][i] for j in n)) for i in n]
        values = [[sum(a * b for a, b in zip(row, v, strict=True)) for row in A] for v in y]
        for i in n:
            for k in range(d):
                five[i][k] += sum(D[j] * weight[j][i] * values[j][k] for j in n)
                six[i][k] += sum(D[i] * weight[j][i] * values[j][k] for j in n)
    yield "the exponents are integers", len(forms), whole
    yield "before the projection, (5)", [[*map(str, row)] for row in five], all(any(row) for row in five)
    yield "before the projection, (6)", [[*map(str, row)] for row in six], all(any(row) for row in six)
    turns = [
        max(abs(p[a] * q[b] - p[b] * q[a]) for a in range(d) for b in range(a)) for p, q in zip(five, six, strict=True)
    ]
    yield "some pair is not parallel: largest cross products", [*map(float, turns)], any(turns)

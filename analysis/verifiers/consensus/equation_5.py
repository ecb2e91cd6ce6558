"""Verify an instance that refutes the equivalence of (5) and (6) of Rodriguez Abella, Silvestre and Tabuada.

Printed: y(k+1) = pi_W(y + W V y D exp(y^T K^T Q y)), (5), "more explicitly" reads token by token y_i(k+1) = pi_W(y_i +
sum_j W V D_ii exp(y_j^T K^T Q y_i) y_j), (6), with D_ii^{-1} = sqrt(n+1) sum_l exp(y_l^T K^T Q y_i).

Instance: one head, W = I, weight matrix I, K^T Q = (log 2) M and V = sqrt(n+1) I, so that all numbers are rational:
exp(y_j^T K^T Q y_i) = 2^(y_j.M y_i), with integer exponents. In the product y D exp(R) column i is sum_j y_j D_jj
exp(R)_{ji}: (5) divides by D_jj^{-1}, the sum of the key, where (6) has D_ii^{-1}, the sum of the query. Two vectors
have the same projection to the sphere only if they are parallel.

Usage: python equation_5.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/equation-5"
WITNESS = {"tokens": [["1", "0"], ["0", "1"]], "M": [["0", "1"], ["0", "0"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, M = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("tokens", "M"))
    n, norms = range(len(y)), [str(a * a + b * b) for a, b in y]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(y)
    power = [[sum(y[j][a] * M[a][b] * y[i][b] for a in (0, 1) for b in (0, 1)) for i in n] for j in n]
    whole = all(v.denominator == 1 for row in power for v in row)
    yield "the exponents y_j.M y_i are integers", [[*map(str, row)] for row in power], whole
    weight = [[Fraction(2) ** int(v) for v in row] for row in power]
    D = [1 / sum(weight[j][i] for j in n) for i in n]
    five = [[y[i][a] + sum(D[j] * weight[j][i] * y[j][a] for j in n) for a in (0, 1)] for i in n]
    six = [[y[i][a] + sum(D[i] * weight[j][i] * y[j][a] for j in n) for a in (0, 1)] for i in n]
    yield "before the projection, (5)", [[*map(str, row)] for row in five], all(any(row) for row in five)
    yield "before the projection, (6)", [[*map(str, row)] for row in six], all(any(row) for row in six)
    turns = [p[0] * q[1] - p[1] * q[0] for p, q in zip(five, six, strict=True)]
    yield "some pair is not parallel: cross products", [*map(str, turns)], any(turns)


def main():
    """Print every check with OK or NOT; return 0 if all hold, 2 if the witness has other names, else 1."""
    given = json.loads(Path(sys.argv[1]).read_text()) if sys.argv[1:] else {"witness": WITNESS}
    witness = given.get("witness", given)  # a file of `dynsim check --witness` has more than the witness
    if not WITNESS.keys() <= witness.keys():
        print("the witness must have the names", ", ".join(WITNESS))
        return 2
    results = list(checks(witness))
    for what, value, fact in results:
        print("OK " if fact else "NOT", f"{what}: {value}")
    refuted = all(fact for _, _, fact in results)
    print(STATEMENT, "is refuted" if refuted else "is not refuted by this witness")
    return 0 if refuted else 1


if __name__ == "__main__":
    sys.exit(main())

"""Verify an instance that refutes an inequality in the proof of Theorem 3.2 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for some lambda > 0, |V_P| <= lambda |grad V_P| on the product of ellipsoids, V_P = -(1/2) sum_{i,j}
exp(y_i.P y_j), which the proof calls the Lojasiewicz inequality.

Instance: l tokens at one point u of the ellipsoid u.P u = 1, in the plane.

Argument. The derivative of V_P along tangent vectors z_1, ..., z_l is -(1/2) sum_{i,j} e (z_i.P u + u.P z_j), and
tangent vectors at u are those with z.P u = 0: it vanishes, so that grad V_P = 0 in any metric. But V_P = -l^2 e / 2 is
not zero, and no lambda makes |V_P| <= 0. (The inequality of Lojasiewicz has V_P - V_P(y*) and an exponent in it.)

Usage: python theorem_3_2_lojasiewicz.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/theorem-3.2-lojasiewicz"
WITNESS = {"P": [["1", "0"], ["0", "4"]], "tokens": [["3/5", "2/5"], ["3/5", "2/5"], ["3/5", "2/5"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    P, tokens = ([[Fraction(x) for x in row] for row in witness[name]] for name in ("P", "tokens"))
    form = lambda x, y: sum(x[i] * P[i][j] * y[j] for i in (0, 1) for j in (0, 1))
    minors = (P[0][0], P[0][0] * P[1][1] - P[0][1] * P[1][0])
    yield (
        "P is symmetric and positive definite: leading minors",
        [*map(str, minors)],
        P[0][1] == P[1][0] and min(minors) > 0,
    )
    exponents = [[form(x, y) for y in tokens] for x in tokens]
    flat = [e for row in exponents for e in row]
    yield "tokens are on the ellipsoid and all exponents y_i.P y_j are 1", sorted({*map(str, flat)}), {*flat} == {1}
    duals = [[sum(P[i][j] * y[j] for j in (0, 1)) for i in (0, 1)] for y in tokens]
    tangents = [(-d[1], d[0]) for d in duals]
    yield (
        "tangent vectors are tangent: z_i.P y_i",
        [str(form(z, y)) for z, y in zip(tangents, tokens, strict=True)],
        all(form(z, y) == 0 and any(z) for z, y in zip(tangents, tokens, strict=True)),
    )
    # moving token k along z: only the terms (k, j) and (j, k) change, each exponential being e
    slopes = [-sum(form(z, y) for y in tokens) for z in tangents]
    yield "derivatives of V_P / e along them, hence grad V_P, are zero", [*map(str, slopes)], not any(slopes)
    least = Fraction(len(flat), 2) * (1 + 1 + Fraction(1, 2))
    yield "lower bound of |V_P|, with e > 5/2", least, least > 0


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

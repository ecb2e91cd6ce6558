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

Usage: python remark_25_necessary.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

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
    inverse = max(abs(d) + abs(b), abs(c) + abs(a)) / abs(determinant)
    small = 2 * epsilon * abs(rate) * len(phi) * inverse
    yield "2 epsilon |lambda| j |A^-1|, at most 1", float(small), epsilon > 0 and small <= 1
    for j, (k, v) in enumerate(zip(graph, phi, strict=True), 1):
        gap = [p - q for p, q in zip(k, v, strict=True)]
        image = [a * gap[0] + b * gap[1], c * gap[0] + d * gap[1]]
        residual = [epsilon * rate * j * p - q for p, q in zip(k, image, strict=True)]
        yield f"the graph is invariant: residual of the coefficient {j}", [*map(str, residual)], not any(residual)
        bound = 2 * epsilon * abs(rate) * j * inverse * max(map(abs, v))
        yield f"|k_{j} - b_{j}| and its bound", (float(max(map(abs, gap))), float(bound)), max(map(abs, gap)) <= bound


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

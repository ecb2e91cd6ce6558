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

Usage: python remark_25_hyperbolicity.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

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

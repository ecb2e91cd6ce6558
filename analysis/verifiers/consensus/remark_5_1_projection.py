"""Verify an instance that refutes a word in Remark 5.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for U regular, W = U^T U and y on the ellipsoid y.W y = 1, Pi = U^{-1} (I - U y y^T U^T) is a projection to the
tangent space of the ellipsoid at y. Read: a linear map onto the tangent space that fixes tangent vectors. (It maps onto
the tangent space, and the remark needs no more; but it is not idempotent.)

Instance: U = diag(u_1, u_2) and a tangent vector X, W y turned through a right angle, that Pi moves.

Usage: python remark_5_1_projection.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/remark-5.1-projection"
WITNESS = {"U": ["2", "1"], "y": ["3/10", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    u, y = ([Fraction(v) for v in witness[name]] for name in ("U", "y"))
    yield "U is regular: its determinant", u[0] * u[1], u[0] * u[1] != 0
    z = [a * b for a, b in zip(u, y, strict=True)]
    yield "y is on the ellipsoid: y.W y", z[0] ** 2 + z[1] ** 2, z[0] ** 2 + z[1] ** 2 == 1
    X = [-u[1] * z[1], u[0] * z[0]]
    tangent = X[0] * u[0] * z[0] + X[1] * u[1] * z[1]
    yield "X is tangent: y.W X", tangent, tangent == 0 and any(X)
    inner = z[0] * X[0] + z[1] * X[1]
    image = [(x - inner * w) / a for x, w, a in zip(X, z, u, strict=True)]
    yield "X and its image, which differ", ([*map(str, X)], [*map(str, image)]), image != X


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

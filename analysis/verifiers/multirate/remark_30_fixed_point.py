"""Verify an instance that refutes a sentence of Remark 30 of "Attention is just another name for coupling?".

Printed: the fixed point of the trained network, which is not a generator, is a least-contracting eigendirection rather
than a stationary distribution. Read for a one-step map that is a contraction with a fixed point.

Instance: the affine map x -> M x + b, M diagonal. Its fixed point (I - M)^{-1} b is not an eigenvector of M, whereas
the least-contracting eigendirection is that of the eigenvalue of largest modulus. (It is the direction from which
generic iterates approach the fixed point. For b = 0 a contraction has only the fixed point 0, which is no direction.)

Usage: python remark_30_fixed_point.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/remark-30-fixed-point"
WITNESS = {"M": ["3/4", "1/4"], "b": ["1", "1"], "fixed point": ["4", "4/3"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    M, b, x = ([Fraction(v) for v in witness[name]] for name in ("M", "b", "fixed point"))
    yield "the map is a contraction: its constant", max(map(abs, M)), max(map(abs, M)) < 1
    yield "the one-step map is not stochastic: column sums of M", witness["M"], any(v != 1 for v in M)
    gap = [m * v + c - v for m, v, c in zip(M, x, b, strict=True)]
    yield "x is the fixed point: M x + b - x", [*map(str, gap)], not any(gap)
    image = [m * v for m, v in zip(M, x, strict=True)]
    turn = image[0] * x[1] - image[1] * x[0]
    yield "x is not an eigenvector of M: cross product of M x and x", turn, turn != 0


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

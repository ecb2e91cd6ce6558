"""Verify an instance that refutes a sentence of Remark 25 of "Attention is just another name for coupling?".

Printed: Fenichel's theorem requires normal hyperbolicity, the fast dynamics must be contractive transverse to the slow
manifold, for it to persist under perturbation. (Fenichel's theorem requires that no transverse eigenvalue has real part
zero. Contraction is what makes the manifold attracting.)

Instance: epsilon x' = a (x - b y), y' = r y with a > 0: the fast dynamics expands. The line x = k y is invariant if and
only if epsilon r k = a (k - b), that is k = a b / (a - epsilon r), and for 0 < epsilon <= a / (2 |r|) it is within
|k - b| = epsilon |r b| / (a - epsilon r) <= epsilon (2 |r b| / a) of the critical manifold x = b y: this persists. The
formula is checked for a list of epsilon; the bound follows from a - epsilon r >= a / 2.

Usage: python remark_25_hyperbolicity.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/remark-25-hyperbolicity"
WITNESS = {"a": "1", "b": "2", "r": "-1/2", "epsilon": ["1", "1/10", "1/1000", "1/1000000"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, b, r = (Fraction(witness[name]) for name in ("a", "b", "r"))
    yield "the fast dynamics is not contractive: its rate a", a, a > 0
    constant = 2 * abs(r * b) / a
    for epsilon in map(Fraction, witness["epsilon"]):
        yield "epsilon is at most a / (2 |r|)", epsilon, 0 < epsilon <= a / (2 * abs(r))
        k = a * b / (a - epsilon * r)
        residual = epsilon * r * k - a * (k - b)
        yield "the line x = k y is invariant: residual", residual, residual == 0
        gap = abs(k - b)
        yield f"|k - b| / epsilon, at most {constant}, a constant", float(gap / epsilon), gap <= constant * epsilon


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

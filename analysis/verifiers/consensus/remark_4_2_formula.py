"""Verify an instance that refutes the formula in Remark 4.2 of Rodriguez Abella, Silvestre and Tabuada.

Printed: l tokens drawn uniformly at random on S^n lie on the same hemisphere with the probability 2^(1-l)
sum_{mu=0}^{n-1} binom(l-1, mu). (Tokens on S^n are in R^(n+1), so that the sum of Wendel's theorem ends at n.)

Instance: 2 <= l <= n + 1. Then the tokens are almost surely linearly independent, there is a vector v with v.y_i = 1
for all i, and the probability is 1. For l = n + 1 the printed formula leaves out the term mu = n = l - 1.

Usage: python remark_4_2_formula.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/remark-4.2-formula"
WITNESS = {"l": 2, "n": 1}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    l, n = witness["l"], witness["n"]
    yield "2 <= l <= n + 1, so that the probability is 1: l and n", (l, n), 2 <= l <= n + 1
    printed = Fraction(sum(math.comb(l - 1, mu) for mu in range(n)), 2 ** (l - 1))
    yield "the printed formula, less than 1", printed, printed < 1
    full = Fraction(sum(math.comb(l - 1, mu) for mu in range(n + 1)), 2 ** (l - 1))
    yield "the same sum up to n", full, full == 1


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

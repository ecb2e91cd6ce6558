"""Verify an instance that refutes Corollary 1 of "DDCL-Attention".

Printed: each of Fact 1, Theorem 1 and Theorems 2-3 strictly subsumes the previous one.

Instances. Of Theorem 1: two data (+-a, +-y), the encoder z = (x_0, theta x_1), prototypes at (+-a r, 0), without a
barrier, gradients at fixed assignments; see proposition_3_proof.py for the Hessian, positive definite if 0 < r < 1.
There Theorem 2, which needs lambda > 2 eta_P C(2, 2) > 0, does not apply. Of Fact 1: one embedding at 0, prototypes
at rest at +-b, lambda = 4 b^4, T = 2 b^2, where the fast subsystem has the eigenvalue 1 - 2 b^2 / T = 0, so that (ii)
of Theorem 1 fails.

Usage: python corollary_1.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/corollary-1"
WITNESS = {"y": "1", "r": "3/5", "lambda of Theorem 1": "0", "eta_P": "1", "b": "1", "T": "2", "lambda of Fact 1": "4"}


def least_and_largest(r):
    """Return a lower bound of the first coordinates' eigenvalues, and an upper bound."""
    low, high = r, r + r**3 / (3 * (1 - r * r))
    falls = (2 * (1 - r * r) / r, 2 * r * (1 - r * r))
    return min(2 - fall * high for fall in falls), max(2 - fall * low for fall in falls)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    y, r, none, eta, b, T, lam = (Fraction(witness[k]) for k in WITNESS)
    low = least_and_largest(r)[0]
    yield "Theorem 1: least eigenvalue in the first coordinates, positive", float(low), low > 0 < r < 1 and y != 0
    yield "Theorem 2 does not apply: lambda - 2 eta_P C(2, 2), not positive", str(none - 2 * eta), none <= 2 * eta
    yield "Fact 1 applies: lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    yield "at rest: gradient b - 2 lambda / (2 b)^3", str(b - 2 * lam / (2 * b) ** 3), b == 2 * lam / (2 * b) ** 3
    yield "(ii) fails: 1 - 2 b^2 / T, not positive", str(1 - 2 * b * b / T), 1 - 2 * b * b / T <= 0


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

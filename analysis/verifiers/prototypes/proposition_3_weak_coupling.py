"""Verify an instance that refutes Proposition 3 on weak coupling of "DDCL-Attention".

Printed: if H_thetaP = 0, condition (14) is eta_theta < eta_P.

Instance: two data (+-a, +-y), the encoder z = (x_0, theta x_1), both prototypes at 0, theta = 0, all assignments 1/2,
and gradients at fixed assignments. H_thetatheta = 4 y^2, H_thetaP = 0; in the second coordinates H_PP = 2 I, in the
first it is 2 I - (2 a^2 / T)((1, -1), (-1, 1)), with the eigenvalues 2 and 2 - 4 a^2 / T.

(14) is then eta_theta / eta_P < lambda_min(H_PP) / lambda_max(H_PP) = 1 - 2 a^2 / T.

Usage: python proposition_3_weak_coupling.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-3-weak-coupling"
WITNESS = {"a": "1", "y": "1", "1 / T": "1/4", "ratio": "3/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, y, cold, ratio = (Fraction(witness[k]) for k in ("a", "y", "1 / T", "ratio"))
    least = 2 - 4 * a * a * cold
    yield "least eigenvalue of H_PP, positive", str(least), least > 0 != y and cold > 0
    yield "eta_theta / eta_P, below 1", str(ratio), 0 < ratio < 1
    yield "the bound of (14), not above the ratio", str(least / 2), least / 2 <= ratio


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

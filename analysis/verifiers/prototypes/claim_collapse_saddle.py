"""Verify an instance that refutes a sentence of Section 2.2 of "DDCL-Attention".

Printed: collapse of the prototypes is an unstable saddle of Lq, the embeddings being fixed.

Instance: two prototypes c + s and c - s for embeddings z_n on a line with mean 0. With u = z - c the squared distances
are (u - s)^2 and (u + s)^2, and q_1 - q_2 = tanh(2 u s / T), so that

    Lq = sum_n (u_n^2 + s^2 - 2 u_n s tanh(2 u_n s / T)) >= sum_n (u_n^2 + s^2 - 4 u_n^2 s^2 / T)

since x tanh x <= x^2. With sum u_n^2 = sum z_n^2 + N c^2 this is the value at collapse, sum z_n^2, plus
N c^2 + s^2 (N - (4 / T)(sum z_n^2 + N c^2)). If N > (4 / T) sum z_n^2 that is positive for all small (c, s) other than
(0, 0): collapse is a strict local minimum of Lq. For frozen assignments the free energy has a Hessian with
N (1 - (2 / T) mean z^2) in place of N (1 - (4 / T) mean z^2), which is larger.

Usage: python claim_collapse_saddle.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/claim-collapse-saddle"
WITNESS = {"z": ["2", "-2", "1", "-1"], "T": "12"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, T = [Fraction(v) for v in witness["z"]], Fraction(witness["T"])
    yield "the temperature is positive", T, T > 0
    yield "the embeddings have mean 0", sum(z), sum(z) == 0
    yield "they do not coincide: sum of squares", sum(v * v for v in z), any(z)
    full, frozen = (len(z) - a * sum(v * v for v in z) / T for a in (4, 2))
    yield "coefficient of s^2 through the assignments", full, full > 0
    yield "coefficient of s^2 at frozen assignments", frozen, frozen > 0


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

"""Verify an argument that refutes a sentence of Section 11.2 of "Attention is just another name for coupling?".

Printed: the passes converge if Post is a contraction (plausible under RMSNorm). Read: a pre-norm layer, x -> x +
Attention(RMSNorm(x)) + MLP(RMSNorm(x)) or the two in sequence, is a contraction, with a constant L < 1.

Argument, for one token and any weights. |RMSNorm(x)| <= sqrt(d), the attention of one token is W_o W_v RMSNorm(x), and
|gelu(u)| <= |u|: the displacement |Post(x) - x| is at most C = sqrt(d) (|W_o| |W_v| + |W_2| |W_1|), norms of matrices
being at most Frobenius norms. Hence |Post(x) - Post(-x)| >= 2 |x| - 2 C, which is more than L 2 |x| as soon as
|x| > C / (1 - L): no constant L < 1 will do. The inequality is checked for a list of L.

Usage: python claim_rmsnorm_contraction.py [WITNESS.json]
"""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/claim-rmsnorm-contraction"
WITNESS = {
    "W_o": [["-1/2", "1/4"], ["0", "-1/2"]],
    "W_v": [["1", "0"], ["1/3", "1"]],
    "W_1": [["1/2", "1"], ["-1", "1/4"], ["1/8", "1/8"]],
    "W_2": [["1/4", "-1/2", "1"], ["0", "1/2", "1/4"]],
    "L and |x|": [["0", "5"], ["9/10", "50"], ["999/1000", "5000"], ["999999999/1000000000", "5000000000"]],
}


def above(square):
    """Return a rational number at least as large as the square root of a rational number."""
    return Fraction(math.isqrt(math.ceil(square * 10**12)) + 1, 10**6)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    norm = {
        name: above(sum(Fraction(v) ** 2 for row in witness[name] for v in row))
        for name in ("W_o", "W_v", "W_1", "W_2")
    }
    d = len(witness["W_o"])
    C = above(d) * (norm["W_o"] * norm["W_v"] + norm["W_2"] * norm["W_1"])
    yield "bound C of the displacement", float(C), C > 0
    for L, size in (map(Fraction, pair) for pair in witness["L and |x|"]):
        yield "a constant L of a contraction", float(L), 0 <= L < 1
        excess = 2 * size - 2 * C - L * 2 * size
        yield f"at |x| = {size}, |Post(x) - Post(-x)| - L |x - (-x)| is at least", float(excess), excess > 0


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

"""Verify an instance that refutes a reading of "Attention is just another name for coupling?" (Sections 1, 7, 12).

Printed: under the linear generator assumption x' = Q x the equilibrium of the fast dynamics is exactly the stationary
distribution p_st. Read: among distributions, a set that is invariant, p_st is the only equilibrium.

Instance: a generator with two closed classes, which has two stationary distributions, and a segment between them.

Usage: python claim_qss_equals_stationary_distributions.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/claim-qss-equals-stationary/distributions"
WITNESS = {
    "Q": [["-1", "2", "0", "0"], ["1", "-2", "0", "0"], ["0", "0", "-3", "1"], ["0", "0", "3", "-1"]],
    "distributions": [["2/3", "1/3", "0", "0"], ["0", "0", "1/4", "3/4"]],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    n = len(Q)
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    sums = [str(sum(row[j] for row in Q)) for j in range(n)]
    yield "Q is a generator: column sums", sums, sums == ["0"] * n and min(rates) >= 0
    found = [[Fraction(v) for v in p] for p in witness["distributions"]]
    for p in found:
        field = [sum(a * b for a, b in zip(row, p, strict=True)) for row in Q]
        yield (
            f"{[*map(str, p)]} is a distribution, and the field there is",
            [*map(str, field)],
            (sum(p) == 1 and min(p) >= 0 and not any(field)),
        )
    yield "the number of different stationary distributions", len({*map(tuple, found)}), len({*map(tuple, found)}) > 1


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

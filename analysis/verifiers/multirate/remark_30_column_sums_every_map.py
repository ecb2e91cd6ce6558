"""Verify an instance that refutes a reading of Remark 30 of "Attention is just another name for coupling?".

Printed: the linearised one-step map I + tau J of a trained block has column sums that would be expected to differ from
1, since the block is not a generator. Read: whenever J is not a generator (off-diagonal entries >= 0, columns of sum
zero). (For almost every J it is so.)

Instance: J with columns of sum zero and a negative rate. Column sums of 1 mean conservation, not nonnegative rates.

Usage: python remark_30_column_sums_every_map.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/remark-30-column-sums/every-map"
WITNESS = {"J": [["-1", "-1/4", "1"], ["1/2", "3/4", "1"], ["1/2", "-1/2", "-2"]], "tau": "1/4"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    J, tau = [[Fraction(v) for v in row] for row in witness["J"]], Fraction(witness["tau"])
    n = range(len(J))
    yield "tau > 0", tau, tau > 0
    least = min(J[i][j] for i in n for j in n if i != j)
    yield "J is not a generator: its least rate", least, least < 0
    sums = [str(sum((i == j) + tau * J[i][j] for i in n)) for j in n]
    yield "column sums of I + tau J", sums, sums == ["1"] * len(J)


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

"""Verify an instance that refutes a sentence of "Attention is just another name for coupling?" (Sections 1, 7, 12).

Printed: under the linear generator assumption x' = Q x the equilibrium manifold of the fast dynamics is exactly the
stationary distribution p_st. (Theorem 28 itself adds irreducibility and, in its last clause, mass one.)

Instance: any generator Q. With p_st all its multiples are equilibria, 0 and 2 p_st among them: the set is a subspace.

Usage: python claim_qss_equals_stationary.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "multirate/claim-qss-equals-stationary"
WITNESS = {"Q": [["-1", "2"], ["1", "-2"]], "p_st": ["2/3", "1/3"], "another equilibrium": ["4/3", "2/3"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    Q = [[Fraction(v) for v in row] for row in witness["Q"]]
    n = len(Q)
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    sums = [str(sum(row[j] for row in Q)) for j in range(n)]
    yield "Q is a generator: column sums", sums, sums == ["0"] * n and min(rates) >= 0
    p, x = ([Fraction(v) for v in witness[name]] for name in ("p_st", "another equilibrium"))
    yield "p_st is a distribution", witness["p_st"], sum(p) == 1 and min(p) >= 0
    for name, y in (("p_st", p), ("the other point", x)):
        field = [sum(a * b for a, b in zip(row, y, strict=True)) for row in Q]
        yield f"the field at {name}", [*map(str, field)], not any(field)
    yield "they differ", witness["another equilibrium"], x != p


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

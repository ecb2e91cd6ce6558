"""Verify an instance that refutes a reading of Theorem 4 of "DDCL-INCRT".

Read: I_DDCL < I_MLP, where the MLP has captured its best aligned row w alone, unless w is a multiple of v_1.

Instance: d = 4 and M_a maps e_2 to a e_1, e_1 to -a e_2, e_4 to a e_3 and e_3 to -a e_4, so that v_1 = e_1 is a
dominant direction. For a unit vector u the projected matrix has the squared norm |M_a|_F^2 - 2 |M_a u|^2, since u^T
M_a u = 0.

Usage: python theorem_4_best_row.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-4/best-row"
WITNESS = {"a": "1", "w": ["1", "2", "3", "4"]}


def left_by(m, w):
    """Return |P M_a P|_F^2, with the projection P on the complement of w."""
    size = sum(v * v for v in w)
    p = [[Fraction(int(i == j)) - w[i] * w[j] / size for j in range(4)] for i in range(4)]
    times = lambda a, b: [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    return sum(v * v for row in times(times(p, m), p) for v in row)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    a, w, zero = Fraction(witness["a"]), [Fraction(v) for v in witness["w"]], Fraction(0)
    yield "a > 0", a, a > 0
    yield "w is no multiple of e_1", [str(v) for v in w], any(v != 0 for v in w[1:])
    m = [[zero, a, zero, zero], [-a, zero, zero, zero], [zero, zero, zero, a], [zero, zero, -a, zero]]

    adaptive, fixed = left_by(m, [Fraction(1), zero, zero, zero]), left_by(m, w)
    yield "squared norm left by e_1", adaptive, True
    yield "that left by w is not larger", fixed, fixed <= adaptive


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

"""Verify an instance that refutes a sentence in the proof of Theorem 4.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: V = max_i (1 - v.y_i), (13), is a strict Lyapunov function for the consensus set of the open hemisphere of v.
A strict Lyapunov function for a set is constant on the set, where it is least, and larger elsewhere. (What remains true
is that V decreases strictly off the set.)

Instance: two points of the consensus set, with W = I. V is zero at (v, ..., v) and positive at (u, ..., u) for every
other u in the hemisphere.

Usage: python theorem_4_1_lyapunov.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "consensus/theorem-4.1-lyapunov"
WITNESS = {"v": ["1", "0"], "u": ["3/5", "4/5"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    v, u = ([Fraction(x) for x in witness[name]] for name in ("v", "u"))
    dot = lambda x, y: sum(s * t for s, t in zip(x, y, strict=True))
    norms = [str(dot(v, v)), str(dot(u, u))]
    yield "|v|^2 and |u|^2", norms, norms == ["1", "1"]
    yield "u is in the open hemisphere: v.u", dot(v, u), dot(v, u) > 0
    values = [1 - dot(v, v), 1 - dot(v, u)]
    yield "V at (v, ..., v) and at (u, ..., u), which differ", [*map(str, values)], values[0] != values[1]


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

"""Verify an instance that refutes a sentence of Proposition 4 of "DDCL-Attention".

Printed: L_OLS = sum_n min_k |z_n - p_k|^2 is a soft commitment loss without hard argmin, and gradients flow
continuously.

Instance: an embedding z, the first, at equal distances of its two nearest prototypes, moved by h v to either side with
v = (p_1 - p_2) / 2. The gradient 2 (z - p_k), k being the nearest, jumps by 4 (h - 1) v, which does not tend to zero.

Usage: python proposition_4_soft.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-4-soft"
WITNESS = {"z": [["0"]], "p": [["1"], ["-1"]], "h": ["1/1024", "1/1048576", "1/1073741824"]}


def squared(u, v):
    """Return |u - v|^2."""
    return sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = [Fraction(v) for v in witness["z"][0]], [[Fraction(v) for v in row] for row in witness["p"]]
    d = [squared(z, y) for y in p]
    tied = d[0] == d[1] > 0 and all(d[0] < v for v in d[2:]) and p[0] != p[1]
    yield "the embedding is tied between two prototypes: squared distances", [*map(str, d)], tied
    v = [(a - b) / 2 for a, b in zip(*p[:2], strict=True)]
    for h in map(Fraction, witness["h"]):
        slopes = []
        for side in (h, -h):
            at = [a + side * b for a, b in zip(z, v, strict=True)]
            nearest = min(p, key=lambda y, at=at: squared(at, y))
            slopes.append([2 * (a - b) for a, b in zip(at, nearest, strict=True)])
        jump, gap = squared(*slopes), squared(*p[:2])
        yield (
            f"the squared jump across 2 h, h = {h}, is at least |p_1 - p_2|^2",
            (str(jump), str(gap)),
            h > 0 < gap <= jump,
        )


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

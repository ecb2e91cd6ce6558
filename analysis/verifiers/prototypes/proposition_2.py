"""Verify an instance that refutes (10) in Proposition 2 of "DDCL-Attention".

Printed: at fixed assignments the gradient of Lq by theta is sum_n (d z_n / d theta)^T (z_n - mu_n). Its proof has
2 (z_n - mu_n).

Instance: the linear encoder z = w x with one datum. At fixed assignments Lq is a quadratic polynomial in w, of which a
central difference with any step is the derivative.

Usage: python proposition_2.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/proposition-2"
WITNESS = {"x": "1", "w": "1", "p": ["0", "3"], "b": "2"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, w, b = (Fraction(witness[name]) for name in ("x", "w", "b"))
    p, z = [Fraction(v) for v in witness["p"]], Fraction(witness["w"]) * Fraction(witness["x"])
    steps = [(z - v) ** 2 for v in p]
    yield (
        "T = 1 / log b is positive, and distances are integers: b",
        b,
        b > 1 and all(d.denominator == 1 for d in steps),
    )
    weights = [1 / b ** int(d) for d in steps]
    q = [v / sum(weights) for v in weights]
    printed = x * (z - sum(a * v for a, v in zip(q, p, strict=True)))
    ends = [sum(a * ((w + s) * x - v) ** 2 for a, v in zip(q, p, strict=True)) for s in (1, -1)]
    slope = (ends[0] - ends[1]) / 2
    yield "the derivative and the printed gradient differ", (str(slope), str(printed)), slope != printed


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

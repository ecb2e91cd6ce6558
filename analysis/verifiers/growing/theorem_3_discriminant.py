"""Verify an instance that refutes Theorem 3 (3) of "DDCL-INCRT".

Printed: sigma(0) is proportional to lambda_max(A_res) S(P)(0) for a new head.

Instance: directed attention M_a with the entries (1, 3) = 1 and (3, 1) = -1, and f M_a. The dominant plane and its
vector e_1 are the same, and so are the prototypes at +-spread on e_1, tokens, temperature, sigma(0) and S(P)(0).
lambda is f times as large. At T = spacing^2 / log b the assignments are rational if squared distances of each token
differ by multiples of spacing^2.

Usage: python theorem_3_discriminant.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-3-discriminant"
WITNESS = {"f": "2", "z": [["1", "0", "0"], ["-1", "2", "0"]], "spread": "1", "b": "2", "spacing": "1"}


def activity(z, p, b, unit):
    """Return the mean variance of the squared distances at T = unit / log b."""
    total = Fraction(0)
    for point in z:
        d = [sum((x - y) ** 2 for x, y in zip(point, prototype, strict=True)) for prototype in p]
        gaps = [(v - min(d)) / unit for v in d]
        if any(gap.denominator != 1 for gap in gaps):
            raise ValueError("squared distances must differ by multiples of spacing^2")
        w = [1 / b ** int(gap) for gap in gaps]
        q = [v / sum(w) for v in w]
        mean = sum(v * u for v, u in zip(q, d, strict=True))
        total += sum(v * (u - mean) ** 2 for v, u in zip(q, d, strict=True))
    return total / len(z)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    f, b, spread, h = (Fraction(witness[name]) for name in ("f", "b", "spread", "spacing"))
    z = [[Fraction(v) for v in row] for row in witness["z"]]
    yield "f, spread, spacing > 0 and b > 1", [str(v) for v in (f, spread, h, b)], min(f, spread, h) > 0 and b > 1
    p = [[s * spread] + [Fraction(0)] * (len(z[0]) - 1) for s in (1, -1)]
    sigma, S = activity(z, p, b, h**2), sum((x - y) ** 2 for x, y in zip(*p, strict=True))
    yield "sigma(0) of both is positive", sigma, sigma > 0
    ratios = [sigma / (value * S) for value in (Fraction(1), f)]
    yield "sigma(0) over lambda S(P)(0) differs", (str(ratios[0]), str(ratios[1])), ratios[0] != ratios[1]


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

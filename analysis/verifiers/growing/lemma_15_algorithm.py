"""Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT" for the rule of the Algorithm.

Read: if S(P), the least squared distance of two prototypes, is below phi_g < theta_w, then sigma is at most phi_g times
the mean over n of max_k |z_n - p_k|^2. Instance: two prototypes near each other and a third one far away.

Usage: python lemma_15_algorithm.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-15/algorithm"
WITNESS = {
    "z": [["0", "0"], ["1", "0"]],
    "p": [["0", "0"], ["0", "1/8"], ["1", "1"]],
    "b": "65/64",
    "spacing": "1/8",
    "phi_g": "1/32",
    "theta_w": "1/2",
}


def numbers(rows):
    """Return rows of fractions."""
    return [[Fraction(v) for v in row] for row in rows]


def squared(u, v):
    """Return |u - v|^2."""
    return sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0))


def assignments(z, p, b, h=Fraction(1)):
    """Return q_nk = exp(-|z_n - p_k|^2 / T) over its row's sum at T = h^2 / log b, where exp(-h^2 / T) = 1 / b."""
    found = []
    for point in z:
        d = [squared(point, prototype) / h**2 for prototype in p]
        gaps = [v - min(d) for v in d]
        if any(gap.denominator != 1 for gap in gaps):
            raise ValueError("squared distances must differ by multiples of h^2")
        weights = [1 / b ** int(gap) for gap in gaps]
        found.append([w / sum(weights) for w in weights])
    return found


def activity(z, p, q):
    """Return sigma, the mean over n of the variance of |z_n - p_k|^2 under q_n."""
    total = Fraction(0)
    for point, row in zip(z, q, strict=True):
        d = [squared(point, prototype) for prototype in p]
        mean = sum(w * v for w, v in zip(row, d, strict=True))
        total += sum(w * (v - mean) ** 2 for w, v in zip(row, d, strict=True))
    return total / len(z)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, p = numbers(witness["z"]), numbers(witness["p"])
    b, h, phi, theta = (Fraction(witness[name]) for name in ("b", "spacing", "phi_g", "theta_w"))
    S = min(squared(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "0 < S(P) < phi_g < theta_w", str(S), 0 < S < phi < theta and b > 1
    farthest = sum(max(squared(x, y) for y in p) for x in z) / len(z)
    sigma = activity(z, p, assignments(z, p, b, h))
    yield "sigma over its bound exceeds one", float(sigma / (phi * farthest)), sigma > phi * farthest


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

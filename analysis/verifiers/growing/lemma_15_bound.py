"""Verify an instance that refutes (36) of Lemma 15 of "DDCL-INCRT".

Printed: if Gamma < phi_g then sigma <= C phi_g S(P). Read: with C at most 1000. Gamma = |B u|, B = M_a / |M_a|_F, is s
/ sqrt(2 sum s^2) for the head of the pair of value s, here the last. It depends on M_a alone, and what the layer is
made of does not depend on M_a.

Usage: python lemma_15_bound.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-15/bound"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["1", "0"], ["-1", "1"], ["0", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["2000000", "1000000", "1"],
    "phi_g": "1/1000000",
    "theta_w": "1/2",
}
LIMITS = ("phi_g", "theta_w")


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


def weak(values, phi, theta):
    """Return Gamma^2 = s^2 / (2 sum s^2) of the last value of M_a, and whether Gamma < phi < theta < every value."""
    square = values[-1] ** 2 / (2 * sum(s * s for s in values))
    return square, square < phi**2 and 0 < phi < theta < min(values)


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
    z, p, b = numbers(witness["z"]), numbers(witness["P"][-1]), Fraction(witness["b"][-1])
    values, phi, theta = [Fraction(s) for s in witness["values of M_a"]], *(Fraction(witness[n]) for n in LIMITS)
    square, small = weak(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    S = min(squared(x, y) for i, x in enumerate(p) for y in p[:i])
    yield "T = 1 / log b is positive, and S(P) too", str(S), b > 1 and S > 0
    sigma = activity(z, p, assignments(z, p, b))
    yield "sigma exceeds 1000 phi_g S(P)", float(sigma), sigma > 1000 * phi * S


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

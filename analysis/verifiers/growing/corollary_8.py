"""Verify an instance that refutes Corollary 8 of "DDCL-INCRT".

Printed: pruning a head of Gamma < phi_g, F_red / (H - 1) >= F_full / H - O(phi_g^2 / (H - 1)). Read: with a constant of
at most 10^9. Gamma = |B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s, here the
last. It depends on M_a alone, and what the layer is made of does not depend on M_a.

Usage: python corollary_8.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-8"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
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


def force(z, p, b):
    """Return F_sep = 4 sum_k |sum_n q_nk (p_k - mu_n)|^2."""
    q, total = assignments(z, p, b), Fraction(0)
    mu = [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]
    for k, prototype in enumerate(p):
        pairs = list(zip(q, mu, strict=True))
        total += 4 * sum(sum(row[k] * (v - m[i]) for row, m in pairs) ** 2 for i, v in enumerate(prototype))
    return total


def weak(values, phi, theta):
    """Return Gamma^2 = s^2 / (2 sum s^2) of the last value of M_a, and whether Gamma < phi < theta < every value."""
    square = values[-1] ** 2 / (2 * sum(s * s for s in values))
    return square, square < phi**2 and 0 < phi < theta < min(values)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = numbers(witness["z"]), [numbers(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = [Fraction(s) for s in witness["values of M_a"]], *(Fraction(witness[n]) for n in LIMITS)
    square, small = weak(values, phi, theta)
    yield "Gamma of the last head < phi_g < theta_w < every value of M_a: Gamma^2", float(square), small
    heads = len(banks) == len(bases) == len(values)
    yield (
        "each T = 1 / log b is positive, and there is a head for each value",
        [str(b) for b in bases],
        heads and min(bases) > 1,
    )
    forces, H = [force(z, p, b) for p, b in zip(banks, bases, strict=True)], len(banks)
    fall = sum(forces) / H - sum(forces[:-1]) / (H - 1)
    yield "the mean force falls by more than 10^9 phi_g^2 / (H - 1)", str(fall), fall > 10**9 * phi**2 / (H - 1)


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

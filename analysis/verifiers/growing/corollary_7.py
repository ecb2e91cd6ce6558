"""Verify an instance that refutes Corollary 7 of "DDCL-INCRT".

Printed: after j prunings of heads of Gamma < phi_g, F_sep^(j) >= F_sep^(0) - j O(phi_g^2), and all of at most d
prunings lower F_sep by at most O(d phi_g^2). Read: F_sep is the sum over heads, the constant at most 10^9. Gamma =
|B u|, B = M_a / |M_a|_F, is s / sqrt(2 sum s^2) for the head of the pair of value s. It depends on M_a alone, and what
the layer is made of does not depend on M_a. All heads but the first are pruned, the last one first.

Usage: python corollary_7.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-7"
WITNESS = {
    "z": [["0", "0"], ["1", "2"]],
    "P": [[["0", "0"], ["1", "0"]], [["0", "1"], ["1", "1"]], [["2", "0"], ["-1", "2"]]],
    "b": ["2", "2", "2"],
    "values of M_a": ["4000000", "2", "1"],
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
    """Return Gamma^2 = s^2 / (2 sum s^2) of every value of M_a but the first, and whether each Gamma < phi < theta."""
    squares = [s * s / (2 * sum(v * v for v in values)) for s in values[1:]]
    return squares, max(squares) < phi**2 and 0 < phi < theta < min(values)


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = numbers(witness["z"]), [numbers(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    values, phi, theta = [Fraction(s) for s in witness["values of M_a"]], *(Fraction(witness[n]) for n in LIMITS)
    squares, small = weak(values, phi, theta)
    yield "Gamma < phi_g < theta_w < every value of M_a but for the first head: Gamma^2", [*map(float, squares)], small
    heads, order = len(banks) == len(bases) == len(values), sorted(values, reverse=True) == values
    yield (
        "each T = 1 / log b is positive, and there is a head for each value, in their order",
        [str(b) for b in bases],
        heads and order and min(bases) > 1,
    )
    forces, d = [force(z, p, b) for p, b in zip(banks, bases, strict=True)], len(z[0])
    for j in range(1, len(banks)):
        fall = sum(forces[len(banks) - j :])
        yield f"F_sep falls by more than 10^9 {j} phi_g^2 in {j} prunings", str(fall), fall > j * 10**9 * phi**2
    yield "and by more than 10^9 d phi_g^2 in all", str(fall), fall > d * 10**9 * phi**2


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

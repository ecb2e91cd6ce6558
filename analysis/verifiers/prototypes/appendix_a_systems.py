"""Verify an instance that refutes (A.3) of "DDCL-Attention".

Printed: in the time eta_P t, eps dtheta/dt = -F with F = grad_theta L_q, eps = eta_theta / eta_P.

Instance: free embeddings and prototypes at integer points, T = 1 / log 2, gradients at fixed q. In that time
dtheta/dt = -(eta_theta / eta_P) F = -eps F, so that the left side is -eps^2 F.

Usage: python appendix_a_systems.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/appendix-a-systems"
WITNESS = {
    "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "eta_theta": "1/4",
    "eta_P": "1/2",
}


def points(rows):
    """Return rows of integers."""
    found = [[Fraction(v) for v in row] for row in rows]
    if any(v.denominator != 1 for row in found for v in row):
        raise ValueError("coordinates must be integers")
    return found


def gradients(z, p):
    """Return L_q and its derivatives by embeddings and prototypes at fixed q, for integer points and T = 1 / log 2."""
    by_z, by_p, loss = [[0] * len(v) for v in z], [[0] * len(v) for v in p], 0
    for n, a in enumerate(z):
        d = [sum((x - y) ** 2 for x, y in zip(a, c, strict=True)) for c in p]
        powers = [Fraction(1, 2 ** int(k)) for k in d]
        for k, c in enumerate(p):
            q = powers[k] / sum(powers)
            loss += q * d[k]
            for i, (x, y) in enumerate(zip(a, c, strict=True)):
                by_z[n][i] += 2 * q * (x - y)
                by_p[k][i] -= 2 * q * (x - y)
    return loss, by_z, by_p


def inner(a, b):
    """Return the sum of products of the entries of two matrices."""
    return sum(x * y for r, s in zip(a, b, strict=True) for x, y in zip(r, s, strict=True))


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    slow, fast = Fraction(witness["eta_theta"]), Fraction(witness["eta_P"])
    epsilon, (_, by_z, _) = slow / fast, gradients(points(witness["z"]), points(witness["p"]))
    yield "|F|^2, positive", float(inner(by_z, by_z)), inner(by_z, by_z) > 0
    yield "eps^2, not 1", str(epsilon**2), 0 < epsilon**2 != 1


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

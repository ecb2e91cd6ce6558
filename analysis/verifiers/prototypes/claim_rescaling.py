"""Verify an instance that refutes the rescaled equations of Section 4.2 of "DDCL-Attention".

Printed: with tau = t / eps, eps = eta_theta / eta_P, (11) and (12) become eps dtheta/dtau = -grad_theta L_q / eta_P
and dP/dtau = -grad_P L_q.

Instance: a linear encoder z = x W^T and prototypes at integer points, T = 1 / log 2, gradients at fixed q. As dtau =
dt / eps, d/dtau = eps d/dt: the left sides are -eps^2 eta_theta grad_theta and -eps eta_P grad_P.

Usage: python claim_rescaling.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/claim-rescaling"
WITNESS = {
    "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "W": [["1", "0"], ["-1", "1"]],
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
    x, W, p = (points(witness[name]) for name in ("x", "W", "p"))
    z = [[sum(u * v for u, v in zip(row, w, strict=True)) for w in W] for row in x]
    epsilon, (_, by_z, by_p) = slow / fast, gradients(z, p)
    by_W = [
        [sum(g[i] * row[j] for g, row in zip(by_z, x, strict=True)) for j in range(len(x[0]))] for i in range(len(W))
    ]
    yield "eps, between 0 and 1", str(epsilon), 0 < epsilon < 1
    yield "|grad_theta L_q|^2, positive", float(inner(by_W, by_W)), inner(by_W, by_W) > 0
    yield "|grad_P L_q|^2, positive", float(inner(by_p, by_p)), inner(by_p, by_p) > 0
    yield "eps^2 eta_theta eta_P, not 1", str(epsilon**2 * slow * fast), epsilon**2 * slow * fast != 1
    yield "eps eta_P, not 1", str(epsilon * fast), epsilon * fast != 1


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

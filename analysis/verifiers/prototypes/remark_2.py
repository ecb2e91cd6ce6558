"""Verify an instance that refutes Remark 2 of "DDCL-Attention".

Printed: a ratio eps in [.01, .1] reliably gives the stable regime, with separated prototypes.

Instance: a linear encoder z = x W^T at integer points, gradients at fixed assignments, T = 1 / log 2. Along the flow
|W|^2 / eta_theta + |P|^2 / eta_P decreases at the rate 4 L_q at every state, so that no state with distinct
prototypes, where L_q > 0, is an equilibrium, and every trajectory, which is bounded, ends where all prototypes
coincide.

Usage: python remark_2.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/remark-2"
WITNESS = {
    "x": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "W": [["1", "0"], ["-1", "1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "eps": "1/20",
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
    x, W, p, epsilon = *(points(witness[name]) for name in ("x", "W", "p")), Fraction(witness["eps"])
    yield "eps, in [.01, .1]", str(epsilon), Fraction(1, 100) <= epsilon <= Fraction(1, 10)
    yield "the prototypes are distinct", witness["p"], len({tuple(c) for c in p}) == len(p)
    z = [[sum(u * v for u, v in zip(row, w, strict=True)) for w in W] for row in x]
    loss, by_z, by_p = gradients(z, p)
    by_W = [
        [sum(g[i] * row[j] for g, row in zip(by_z, x, strict=True)) for j in range(len(x[0]))] for i in range(len(W))
    ]
    rate = -2 * inner(W, by_W) - 2 * inner(p, by_p)
    yield "rate of the norm + 4 L_q", str(rate + 4 * loss), rate == -4 * loss
    yield "rate of the norm, negative", float(rate), rate < 0


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

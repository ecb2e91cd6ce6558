"""Verify an instance that refutes Lemma 20, with equation (46) as printed, of "DDCL-INCRT".

Printed: dW/dt <= 0 on every dwell interval, with dP/dt = -eta_P grad_P L_q, without the barrier.

Instance: two heads on integer points at T = T_min = 1 / log 2, losses as means over tokens. dW/dt = -eta_P <g + lambda
r, g> with the derivatives g of L_q, through the assignments, and lambda r of the barrier. <r, g> is affine in log 2,
|g|^2 convex.

Usage: python lemma_20_equation_46.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/lemma-20/equation-46"
WITNESS = {
    "z": [[0, 0, -1, -1], [1, -1, 0, 0], [0, -1, 0, 1]],
    "banks": [[[-1, -1, -1, 0], [-1, 1, 1, 0]], [[-1, 0, -1, 1], [0, -1, -1, -1]]],
    "lambda": "140",
    "eta_P": "1/4",
    "low": "69/100",
    "high": "7/10",
}


def integers(rows):
    """Return rows of integers."""
    return [[int(v) for v in row] for row in rows]


def assignments(z, p):
    """Return the squared distances and the assignments at T = 1 / log 2, for integer points."""
    d = [[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in p] for a in z]
    powers = [[Fraction(1, 2**k) for k in row] for row in d]
    return d, [[q / sum(row) for q in row] for row in powers]


def gradient(z, p, log_2):
    """Return the derivative of the mean loss by the prototypes, through the assignments, for a value of log 2."""
    found = [[Fraction(0)] * len(b) for b in p]
    for a, d, q in zip(z, *assignments(z, p), strict=True):
        mean = sum(x * y for x, y in zip(q, d, strict=True))
        for k, b in enumerate(p):
            w = q[k] * (1 - (d[k] - mean) * log_2)
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                found[k][i] += 2 * w * (y - x) / len(z)
    return found


def repulsion(p):
    """Return the derivative of sum_{j < k} |p_j - p_k|^-2 by the prototypes."""
    found = [[Fraction(0)] * len(b) for b in p]
    for k, a in enumerate(p):
        for j, b in enumerate(p):
            square = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
            if j != k:
                found[k] = [f - Fraction(2 * (x - y), square**2) for f, x, y in zip(found[k], a, b, strict=True)]
    return found


def inner(a, b):
    """Return the sum of products of the entries of two matrices."""
    return sum(x * y for r, s in zip(a, b, strict=True) for x, y in zip(r, s, strict=True))


def log_2_is_within(low, high):
    """Return whether low < log 2 < high, by 2 sum z^(2 n + 1) / (2 n + 1) at z = 1 / 3, and a bound of the rest."""
    partial = 2 * sum(Fraction(1, (2 * n + 1) * 3 ** (2 * n + 1)) for n in range(8))
    return low < partial and partial + Fraction(1, 3**16) < high


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks = integers(witness["z"]), [integers(p) for p in witness["banks"]]
    lam, eta, low, high = (Fraction(witness[k]) for k in ("lambda", "eta_P", "low", "high"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    slopes = [[gradient(z, p, log_2) for p in banks] for log_2 in (low, high)]
    crossed = max(sum(inner(g, repulsion(p)) for g, p in zip(pair, banks, strict=True)) for pair in slopes)
    steepest = max(sum(inner(g, g) for g in pair) for pair in slopes)
    bound = eta * (-lam * crossed - steepest)
    yield "dW/dt, at least, positive", float(bound), bound > 0


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

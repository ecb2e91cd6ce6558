"""Verify instances that refute Corollary 10 of "DDCL-INCRT".

Printed: the level (iv) of stability results, with trained temperatures, extends those with a fixed temperature, (i) and
(ii), and with any decreasing schedule, (iii).

Instances. Two heads on integer points at T = 1 / log 2, losses as means over tokens, fixed embeddings, prototypes that
descend W. Without Phi dW/dt = -eta_P |grad_P W|^2 for a fixed T, as in (i). With Phi of (iv) it is sum sigma - eta_P
|grad_P W|^2 - eta_T sum sigma^2 / T^4 for every eta_T > 0; the square is convex in log 2, and T^-4 below high^4. And
one token at 0 with prototypes at -b and b: all distances are equal, sigma = 0, so that a trained T does not fall.

Usage: python corollary_10.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/corollary-10"
WITNESS = {
    "z": [[0, 1, 1, -1], [-1, 0, -1, -1], [1, 0, -1, 0]],
    "banks": [[[-1, -1, -1, 0], [0, -1, -1, 0]], [[-1, -1, 0, 1], [-1, 1, -1, -1]]],
    "lambda": "1/4",
    "eta_P": "1/100",
    "eta_T": "1/2500",
    "b": "3/2",
    "T of (iii)": ["2", "1"],
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


def activity(z, p):
    """Return sigma, the mean over tokens of the variance of the squared distances."""
    total = Fraction(0)
    for d, q in zip(*assignments(z, p), strict=True):
        mean = sum(a * b for a, b in zip(q, d, strict=True))
        total += sum(a * (b - mean) ** 2 for a, b in zip(q, d, strict=True))
    return total / len(z)


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
    lam, eta, eta_T, low, high, b = (Fraction(witness[k]) for k in ("lambda", "eta_P", "eta_T", "low", "high", "b"))
    yield "log 2 is between the bounds", f"{low} and {high}", log_2_is_within(low, high)
    yield "lambda - 2 eta_P C(2, 2), positive", str(lam - 2 * eta), lam > 2 * eta > 0
    sigma = [activity(z, p) for p in banks]
    yield "activities, positive and different", [float(s) for s in sigma], min(sigma) > 0 and sigma[0] != sigma[1]
    steepest = []
    for log_2 in (low, high):
        slopes = [
            [
                [g + lam * r for g, r in zip(*rows, strict=True)]
                for rows in zip(gradient(z, p, log_2), repulsion(p), strict=True)
            ]
            for p in banks
        ]
        steepest.append(sum(inner(slope, slope) for slope in slopes))
    bound = sum(sigma) - eta * max(steepest) - eta_T * sum(s * s for s in sigma) * high**4
    yield "dW/dt with Phi, for this eta_T and all smaller ones, at least, positive", float(bound), bound > 0 < eta_T
    first, last = (Fraction(v) for v in witness["T of (iii)"])
    yield "squared distances of the pair", f"{b * b}, {(-b) ** 2}", b * b == (-b) ** 2 > 0
    yield "fall of the schedule of (iii), positive", str(first - last), first > last > 0


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

"""Verify an instance that refutes Theorem 1 of "DDCL-Attention".

Printed: under (i)-(iv) and for small eps the coupled system has a locally exponentially stable equilibrium with
distinct prototypes.

Instance: free embeddings, gradients at fixed assignments, T = 1 / log 2 at the integer points of the witness. For
every state theta . grad_theta + P . grad_P = 2 L_q, which is positive unless all prototypes coincide with all
embeddings: no state with distinct prototypes is an equilibrium, whatever eps. In either mode the gradient does not
change under a common translation, so that no equilibrium is isolated. The hypotheses hold near two embeddings at +-a
with both prototypes at 0 and T > 2 a^2: L_q is smooth; mu_P / eta_P is the least of 2 and 2 - 4 a^2 / T; the
effective loss is sum |z - mean z|^2, whose Hessian is at most L = 2.

Usage: python theorem_1.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "prototypes/theorem-1"
WITNESS = {
    "z": [["1", "0"], ["-1", "1"], ["0", "2"], ["2", "-1"]],
    "p": [["1", "1"], ["-1", "0"], ["0", "-1"]],
    "shift": "3",
    "a": "1",
    "T": "3",
    "eps": "1/10",
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
    z, p, shift = points(witness["z"]), points(witness["p"]), Fraction(witness["shift"])
    a, T, epsilon = (Fraction(witness[k]) for k in ("a", "T", "eps"))
    mu = min(Fraction(2), 2 - 4 * a * a / T)
    yield "(ii) mu_P / eta_P, positive", str(mu), mu > 0
    yield "(iv) eps, below mu_P / L", str(epsilon), 0 < epsilon < mu / 2
    yield "the prototypes are distinct", witness["p"], len({tuple(c) for c in p}) == len(p)
    loss, by_z, by_p = gradients(z, p)
    total = inner(z, by_z) + inner(p, by_p)
    yield "theta . grad_theta + P . grad_P - 2 L_q", str(total - 2 * loss), total == 2 * loss
    yield "L_q, positive", float(loss), loss > 0
    moved = gradients([[x + shift for x in row] for row in z], [[x + shift for x in row] for row in p])
    yield "the gradient after a translation is the same", shift, shift != 0 and moved == (loss, by_z, by_p)


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

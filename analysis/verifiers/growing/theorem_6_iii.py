"""Verify an instance that refutes Theorem 6 (iii) of "DDCL-INCRT".

Printed: at a pruning the relative weight of each surviving head on the backbone grows by H / (H - 1). Read: its share
in the sum over heads of the norms of the gradients of their losses by the embeddings, 2 |z - mu_h| at fixed
assignments.

Instance: one token on a line with all prototypes, the last of the heads being pruned. The shares of the others grow by
1 / (1 - its share).

Usage: python theorem_6_iii.py [WITNESS.json]
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

STATEMENT = "growing/theorem-6-iii"
WITNESS = {"z": [["0"]], "P": [[["1"], ["0"]], [["0"], ["1"]], [["2"], ["-1"]]], "b": ["2", "2", "2"]}


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


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = numbers(witness["z"]), [numbers(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
    H, moving = len(banks), {i for p in banks for x in p for i, v in enumerate(x) if v != z[0][i]}
    yield (
        "there is one token, and one coordinate in which prototypes differ from it",
        str(moving),
        len(z) == len(moving) == 1,
    )
    yield (
        "each T = 1 / log b is positive, and prototypes of a head differ",
        [str(b) for b in bases],
        min(bases) > 1 and all(len({tuple(x) for x in p}) == len(p) for p in banks),
    )
    pulls = []
    for p, b in zip(banks, bases, strict=True):
        (q,) = assignments(z, p, b)
        mu = [sum(w * v for w, v in zip(q, column, strict=True)) for column in zip(*p, strict=True)]
        pulls.append(2 * sum(abs(v - m) for v, m in zip(z[0], mu, strict=True)))
    yield "every head has a gradient: the least", str(min(pulls)), min(pulls) > 0
    factor = sum(pulls) / sum(pulls[:-1])
    yield "the factor is not H / (H - 1)", str(factor), factor != Fraction(H, H - 1)


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

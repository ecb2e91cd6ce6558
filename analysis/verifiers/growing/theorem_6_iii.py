"""Verify an instance that refutes Theorem 6 (iii) of "DDCL-INCRT".

Printed: at a pruning the relative weight of each surviving head on the backbone grows by H / (H - 1). Read: its share
in the sum over heads of the norms of the gradients of their losses by the embeddings, 2 |z - mu_h| at fixed
assignments.

Instance: one token on a line with all prototypes, the last of the heads being pruned. The shares of the others grow by
1 / (1 - its share).
"""

from fractions import Fraction

from analysis.verifiers.frames.assignments import exact_assignments
from analysis.verifiers.frames.linear_algebra import matrix

STATEMENT = "growing/theorem-6-iii"
WITNESS = {"z": [["0"]], "P": [[["1"], ["0"]], [["0"], ["1"]], [["2"], ["-1"]]], "b": ["2", "2", "2"]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z, banks, bases = matrix(witness["z"]), [matrix(p) for p in witness["P"]], [Fraction(b) for b in witness["b"]]
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
        (q,) = exact_assignments(z, p, b)
        mu = [sum(w * v for w, v in zip(q, column, strict=True)) for column in zip(*p, strict=True)]
        pulls.append(2 * sum(abs(v - m) for v, m in zip(z[0], mu, strict=True)))
    yield "every head has a gradient: the least", str(min(pulls)), min(pulls) > 0
    factor = sum(pulls) / sum(pulls[:-1])
    yield "the factor is not H / (H - 1)", str(factor), factor != Fraction(H, H - 1)

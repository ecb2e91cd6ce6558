"""Verify an instance of full codebook utilisation with all prototypes at one point (Cirrincione et al., Section 7.4).

Printed: 100% utilisation, the fraction of prototypes with mean assignment above .01, "directly confirms Proposition 4",
by which prototypes are separated, none sits at the global centroid of the embeddings, and V > 0.

Instance: all K prototypes at the centroid of the embeddings. At any temperature T > 0 the assignments
q_nk = exp(-d_nk/T) / sum_j exp(-d_nj/T) are 1/K, since d_nk does not depend on k: no exponential need be evaluated.
"""

from fractions import Fraction

STATEMENT = "prototypes/experiment-7.4-utilisation"
WITNESS = {"K": 64, "prototype": ["1/2", "0"], "embeddings": [["1", "0"], ["0", "1"], ["1/2", "-1"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    z = [[Fraction(v) for v in row] for row in witness["embeddings"]]
    p = [[Fraction(v) for v in witness["prototype"]]] * witness["K"]
    centroid = [sum(column) / len(z) for column in zip(*z, strict=True)]
    yield "the centroid of the embeddings", [*map(str, centroid)], centroid == p[0]
    d = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in p] for x in z]
    yield "squared distances of each embedding", [str(row[0]) for row in d], all(len(set(row)) == 1 for row in d)
    means = [Fraction(1, len(p))] * len(p)
    used = sum(mean > Fraction(1, 100) for mean in means)
    yield "prototypes with mean assignment above 1/100", f"{used} of {len(p)}", used == len(p)
    S = min(sum((a - b) ** 2 for a, b in zip(p[0], y, strict=True)) for y in p[1:])
    yield "the least squared distance of two prototypes", str(S), S == 0

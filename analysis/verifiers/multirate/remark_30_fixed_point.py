"""Verify an instance that refutes a sentence of Remark 30 of "Attention is just another name for coupling?".

Printed: the fixed point of the trained network, which is not a generator, is a least-contracting eigendirection rather
than a stationary distribution. Read for a one-step map that is a contraction with a fixed point.

Instance: an affine map x -> M x + b. Its fixed point (I - M)^{-1} b is not an eigenvector of the eigenvalue of largest
modulus, the least-contracting eigendirection. (That is the direction from which generic iterates approach the fixed
point. For b = 0 a contraction has only the fixed point 0, which is no direction.)
"""

from fractions import Fraction

STATEMENT = "multirate/remark-30-fixed-point"
WITNESS = {
    "M": [["3/4", "0"], ["0", "1/4"]],
    "b": ["1", "1"],
    "eigenvectors": [["1", "0"], ["0", "1"]],
    "eigenvalues": ["3/4", "1/4"],
    "fixed point": ["4", "4/3"],
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    M, vectors = ([[Fraction(v) for v in row] for row in witness[name]] for name in ("M", "eigenvectors"))
    b, values, x = ([Fraction(v) for v in witness[name]] for name in ("b", "eigenvalues", "fixed point"))
    apply = lambda y: [sum(m * v for m, v in zip(row, y, strict=True)) for row in M]
    pairs = [*zip(values, vectors, strict=True)]
    fact = all(any(v) and apply(v) == [value * e for e in v] for value, v in pairs)
    yield (
        "eigenvalues of M, all different, with eigenvectors",
        witness["eigenvalues"],
        fact and len({*values}) == len(M),
    )
    sizes = [abs(value) for value in values]
    yield "iterates converge: the largest modulus, that of the first alone", sizes[0], max(sizes[1:]) < sizes[0] < 1
    sums = [str(sum(column)) for column in zip(*M, strict=True)]
    yield "the one-step map is not stochastic: column sums of M, and b", sums, {*sums} != {"1"} or any(b)
    gap = [m + c - v for m, v, c in zip(apply(x), x, b, strict=True)]
    yield "x is the fixed point: M x + b - x", [*map(str, gap)], any(x) and not any(gap)
    away = [m - values[0] * v for m, v in zip(apply(x), x, strict=True)]
    yield "x is no eigenvector of the first: M x less its multiple", [*map(str, away)], any(away)

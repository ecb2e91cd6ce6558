"""Verify an instance that refutes a step in the proof of Theorem 6.1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: for e = 0 and lambda > 0 the only equilibria b_i of (23) in [-1, 1] are 1 and -1. (On [0, 1] this is so, and
the theorem needs no more.)

Instance: causal tokens on the circle, P = 0, U = diag(lambda, mu) with mu < 0 < lambda, y_1, ..., y_(i-1) = v = e_1
(so e = 0) and y_i = (b, s) with b = -(i - 1) lambda / (lambda - mu). With equal weights, b' is a multiple of (1 - b^2)
((i - 1) lambda + (lambda - mu) b) = 0; the whole field of (21) is zero at this state.
"""

from fractions import Fraction

STATEMENT = "consensus/theorem-6.1-equilibria"
WITNESS = {"lambda": "1", "mu": "-2/3", "tokens": [["1", "0"], ["-3/5", "4/5"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    u = [Fraction(witness["lambda"]), Fraction(witness["mu"])]
    tokens = [[Fraction(v) for v in y] for y in witness["tokens"]]
    yield "lambda > 0 is the simple top eigenvalue", witness["lambda"], u[0] > max(u[1], 0)
    norms = [y[0] ** 2 + y[1] ** 2 for y in tokens]
    yield "the tokens are on the circle", [*map(str, norms)], {*norms} == {1}
    yield "the earlier tokens are v", len(tokens) - 1, len(tokens) > 1 and all(y == [1, 0] for y in tokens[:-1])
    for i, y in enumerate(tokens):
        drive = [f * sum(column) for f, column in zip(u, zip(*tokens[: i + 1], strict=True), strict=True)]
        along = drive[0] * y[0] + drive[1] * y[1]
        field = [f - along * v for f, v in zip(drive, y, strict=True)]
        yield f"the field of token {i + 1} without the common weight", [*map(str, field)], not any(field)
    b = tokens[-1][0]
    yield "b is in (-1, 1)", b, -1 < b < 1

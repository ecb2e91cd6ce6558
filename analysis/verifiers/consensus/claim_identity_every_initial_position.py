"""Verify an instance that refutes a claim of Section 1 of Rodriguez Abella, Silvestre and Tabuada.

Printed: with one head, U = I and P symmetric and positive definite the tokens converge to an equilibrium, guaranteed to
be of consensus type when P = I, for every initial position of the tokens.

Instance: P = I and tokens at y or -y, both taken. For every token, y_j - (y_i.y_j) y_i = 0 for all j, whatever the
weights are: the initial position is an equilibrium, at which two tokens differ.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "consensus/claim-identity-every-initial-position"
WITNESS = {"tokens": [["2/3", "-1/3", "2/3"], ["-2/3", "1/3", "-2/3"], ["2/3", "-1/3", "2/3"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    terms = [[v - dot(x, y) * u for u, v in zip(x, y, strict=True)] for x in tokens for y in tokens]
    largest = max(abs(v) for term in terms for v in term)
    yield "largest entry of a term y_j - (y_i.y_j) y_i of the field", largest, largest == 0
    gap = max(2 - 2 * dot(tokens[0], y) for y in tokens)
    yield "largest squared distance from the first token, for all t", gap, gap > 0

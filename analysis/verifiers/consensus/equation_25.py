"""Verify an instance that refutes a sentence on (25) in Section 7.4 of Rodriguez Abella, Silvestre and Tabuada.

Printed: E = 1 - (1/l) sum_i |y_1.y_i| / (|y_1| |y_i|) only becomes zero when all the tokens are located at the same
configuration. (The printed sum starts at i = 0; there is no y_0, and it is read from i = 1.)

Instance: tokens y and -y on the sphere. The absolute value makes E zero although they differ.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import dot

STATEMENT = "consensus/equation-25"
WITNESS = {"tokens": [["2/3", "-1/3", "2/3"], ["-2/3", "1/3", "-2/3"], ["2/3", "-1/3", "2/3"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    tokens = [[Fraction(v) for v in row] for row in witness["tokens"]]
    norms = [str(dot(y, y)) for y in tokens]
    yield "squared norms of the tokens", norms, norms == ["1"] * len(tokens)
    gap = max(dot(tokens[0], tokens[0]) - dot(tokens[0], y) for y in tokens)
    yield "the tokens do not coincide: largest 1 - y_1.y_i", gap, gap > 0
    E = 1 - sum(abs(dot(tokens[0], y)) for y in tokens) / len(tokens)
    yield "E", E, E == 0

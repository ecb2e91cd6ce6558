"""Verify an instance that refutes the interlacing in the proof of Lemma 25, for A_res = X P M_a P X^T, of "DDCL-INCRT".

Printed: projecting out a unit direction never raises the top eigenvalue of A_res.

Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values s and r, two tokens, and the direction e_3. A_res is
2 x 2 and antisymmetric, and its top value is the modulus of its entry x_1^T P M_a P x_2.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-25-interlacing/tokens"
WITNESS = {"s": "11/4", "r": "1/2", "tokens": [["1", "0", "1", "0"], ["0", "1", "0", "-1"]]}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, r = Fraction(witness["s"]), Fraction(witness["r"])
    yield "values, in descending order", f"{s}, {r}", s > r > 0
    m = [[0, s, 0, 0], [-s, 0, 0, 0], [0, 0, 0, r], [0, 0, -r, 0]]
    x, y = ([Fraction(v) for v in token] for token in witness["tokens"])
    value = lambda a, b: abs(sum(a[i] * m[i][j] * b[j] for i in range(4) for j in range(4)))
    without = lambda v: [0 if i == 2 else w for i, w in enumerate(v)]
    before, after = value(x, y), value(without(x), without(y))
    yield "top value before", str(before), before >= 0
    yield "top value after, above it", str(after), after > before

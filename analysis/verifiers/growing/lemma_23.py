"""Verify an instance that refutes Lemma 23 of "DDCL-INCRT".

Printed: |u - v_1(A_res)| <= C_gate eps_1 on a dwell interval, after a transient.

Instance: A_res with the planes (e_1, e_2) and (e_3, e_4) of values s > r. E = A^T A is s^2 on the first plane: the
gate rests at e_1, and it rests at e_2, from the start and for every eps_1. For a unit vector v, one of |<v, e_1>| and
|<v, e_2>| is at most 1 / sqrt 2, and the square of that vector's distance from v and -v at least 2 - sqrt 2 > 9/16.
"""

from fractions import Fraction

STATEMENT = "growing/lemma-23"
WITNESS = {"s": "25/4", "r": "17/4", "C_gate": "16", "eps_1": "1/32"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    s, r, C, epsilon = (Fraction(witness[k]) for k in ("s", "r", "C_gate", "eps_1"))
    yield "gap between the pairs, positive", str(s - r), s > r > 0
    a = [[0, s, 0, 0], [-s, 0, 0, 0], [0, 0, 0, r], [0, 0, -r, 0]]
    E = [[sum(a[k][i] * a[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    for k in (0, 1):
        w = [Fraction(i == k) for i in range(4)]
        pull = [sum(x * y for x, y in zip(row, w, strict=True)) for row in E]
        size = sum(x * y for x, y in zip(pull, w, strict=True))
        speed = [x - size * y for x, y in zip(pull, w, strict=True)]
        yield f"velocity of the gate at e_{k + 1}", [str(v) for v in speed], not any(speed)
    yield "sqrt 2, below 23/16", "23/16", Fraction(23, 16) ** 2 > 2
    yield "C_gate eps_1, below 3/4", str(C * epsilon), 0 < C * epsilon < Fraction(3, 4)

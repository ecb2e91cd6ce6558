"""Verify an instance that refutes Lemma 25 of "DDCL-INCRT".

Printed: T_inf^(1) <= T_inf^(2) for heads in the order of their values.

Instance: M_a with the planes (e_1, e_2) and (e_3, e_4) of values 2 and 1, tokens at -z and z on e_3, banks at -p and p
on e_1 (first head) and on e_3 (second), which stay symmetric. The first has equal distances p^2 + z^2 from each token,
so that sigma = 0 and T = T_init for ever. For the second p' = eta (-p + v z + lambda / (4 p^3)), losses as means over
tokens, with v = tanh(x/2) + x / (2 cosh^2(x/2)), x = 4 z p / T; 0 <= v <= 3/2, since cosh^2(x/2) >= 1 + x^2/4. sigma
>= (4 z p)^2 / (4 e^x) > 0 until T = T_min, which it therefore reaches.
"""

import math
from fractions import Fraction

from analysis.verifiers.frames.barriers import invariant_interval

STATEMENT = "growing/lemma-25"
WITNESS = {
    "z": "7/8",
    "lambda": "4",
    "least p": "1/2",
    "largest p": "2",
    "T_min": "1/4",
    "T_init": "1",
    "values": ["2", "1"],
    "first bank": "e_1",
}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    yield from invariant_interval(witness)
    z, low, high = (Fraction(witness[k]) for k in ("z", "least p", "largest p"))
    first, second = (Fraction(v) for v in witness["values"])
    yield "values of the pairs, in descending order", f"{first}, {second}", first > second > 0
    token, bank = (0, 0, z, 0), [(low, 0, 0, 0), (-low, 0, 0, 0)]
    if witness["first bank"] != "e_1":
        bank = [(0, 0, low, 0), (0, 0, -low, 0)]
    d = [sum((x - y) ** 2 for x, y in zip(token, p, strict=True)) for p in bank]
    yield "difference of the distances of a token in the first head", str(d[0] - d[1]), d[0] == d[1]
    coldest, hot = Fraction(witness["T_min"]), Fraction(witness["T_init"])
    sigma = (4 * z * low) ** 2 / (4 * 3 ** math.ceil(4 * z * high / coldest))
    yield "sigma of the second head, at least, positive", str(sigma), sigma > 0
    yield "T_inf^(1) - T_inf^(2), positive", str(hot - coldest), hot > coldest > 0

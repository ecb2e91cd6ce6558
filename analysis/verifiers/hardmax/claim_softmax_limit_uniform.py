"""Verify an instance that refutes a reading of Section 2.3 of Alcalde, Fantuzzi and Zuazua.

Printed: when the tokens are assumed to be in a compact set, then the hardmax formulation is formally obtained from the
softmax weights (2.6) by letting the temperature tau -> 0. Read: uniformly over tokens in the compact set. (For fixed
tokens the limit holds, and no compact set is needed.)

Instance: A = I, three tokens in the square [-1, 1]^2, and the temperatures tau = 1 / (m log 2), at which exponentials
exp(s / tau) = 2^(m s) of suitable scores are rational. The scores of token 1 are 1/4, 1/2 and 1/2 - 1/m: hardmax gives
token 2 the weight 1 and softmax less than 2/3, whatever m is.
"""

from fractions import Fraction

STATEMENT = "hardmax/claim-softmax-limit/uniform"
WITNESS = {"m": [64, 1024, 16384], "gap times m": "1"}


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    for m in witness["m"]:
        gap = Fraction(witness["gap times m"]) / m
        z = [[Fraction(1, 2), Fraction(0)], [Fraction(1), Fraction(1)], [1 - 2 * gap, Fraction(-1)]]
        largest = max(abs(v) for row in z for v in row)
        yield f"m = {m}: the tokens are in the square", largest, largest <= 1
        scores = [sum(s * t for s, t in zip(z[0], y, strict=True)) for y in z]
        powers = [m * (s - max(scores)) for s in scores]
        yield (
            "token 1 follows token 2 alone: m (score - largest score)",
            [*map(str, powers)],
            (powers[1] == 0 > max(powers[0], powers[2]) and all(v.denominator == 1 for v in powers)),
        )
        weight = 1 / sum(Fraction(2) ** int(v) for v in powers)
        yield "the softmax weight of token 2, where hardmax has 1", float(weight), weight < Fraction(2, 3)
